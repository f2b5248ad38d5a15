-- Schemas that are beyond what a provider can hold the model to, though all that is in them may be asked for: limits of
-- a whole request, and refusals that no limit foretells.

local core = require "koine.core"
local kit = require("spec.lua.call.output.kit").new()
local raised = require "spec.support.raised"

-- An object with so many optional properties, and so many that may be a string or null.
local function object(optional, unions)
  local made = { type = "object", properties = {}, required = core.array {}, additionalProperties = false }
  for i = 1, optional do made.properties["o" .. i] = { type = "string" } end
  for i = 1, unions or 0 do
    made.properties["u" .. i] = { type = { "string", "null" } }
    made.required[i] = "u" .. i
  end
  return made
end

local function tool(name, parameters, strict)
  return { name = name, description = "d", parameters = parameters, strict = strict }
end

local function tools(n, parameters, strict)
  local list = {}
  for i = 1, n do list[i] = tool("t" .. i, parameters, strict) end
  return list
end

describe("a request of Anthropic's", function()
  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.begin)
  after_each(kit.restore)

  local CALL = { type = "tool_use", name = "person", arguments = { o1 = "x" } }

  it("takes no schema beside documents to be cited, nor the beginning of the answer", function()
    local function ask(messages, mode)
      assert(kit.server:reset())
      kit.server:script { { content = { CALL } } }
      return kit.claude():chat(messages, { output = { schema = object(1), name = "person", mode = mode } })
    end
    local document = { type = "document", source = "d29yZHM=", media_type = "text/plain",
      citations = { enabled = true } }
    local question = { type = "text", text = "Who?" }
    for _, messages in ipairs { { { role = "user", content = { document, question } } },
      { { role = "user", content = "Who?" }, { role = "assistant", content = "{" } } } do
      local r = assert(ask(messages))
      assert.are.same({ "tool", "x" }, { r.output_mode, r.output.o1 })
      assert.are.equal("schema_not_native", kit.codes(r)[1])
      kit.body(1)
      local err = raised(function() ask(messages, "native") end)
      assert.are.equal("output.schema", err.field)
    end
    document.citations = { enabled = false }
    assert.are.equal("native", assert(ask { { role = "user", content = { document, question } } }).output_mode)
  end)

  -- How a schema was asked for beside tools, and the warnings.
  local function asked(schema, list, adapter)
    assert(kit.server:reset())
    local r = kit.ask(adapter or kit.claude(), { { content = { CALL } } }, { schema = schema }, { tools = list })
    return r.output_mode, kit.codes(r), r
  end

  local REFUSED = { "schema_not_native" }

  it("has 24 optional properties in the shape and the strict tools together", function()
    local mode, codes = asked(object(12), tools(1, object(12), true))
    assert.are.same({ "native" }, { mode, table.unpack(codes) })
    mode, codes = asked(object(13), tools(1, object(12), true))
    assert.are.same({ "tool", REFUSED }, { mode, codes })
    local sent = kit.body(1)
    assert.are.same({ true }, { sent.tools[1].strict, sent.tools[2].strict })
    assert.is_nil(sent.output_config)
  end)

  it("has 16 union types in them", function()
    assert.are.equal("native", (asked(object(0, 10), tools(2, object(0, 3), true))))
    assert.are.equal("tool", (asked(object(0, 11), tools(2, object(0, 3), true))))
  end)

  it("has 20 strict tools", function()
    assert.are.equal("native", (asked(object(1), tools(20, object(0), true))))
    assert(kit.server:reset())
    local _, err = kit.claude():chat("Who?", { output = { schema = object(1) }, tools = tools(21, object(0), true) })
    assert.are.equal("invalid_request", err.kind) -- the caller's tools alone are too many
    assert.is_nil(kit.server:requests()[1].body:find("output_config", 1, true))
  end)

  it("does not count tools that are not strict", function()
    assert.are.equal("native", (asked(object(24), tools(3, object(12)))))
    assert.are.equal("native", (asked(object(24), tools(30, object(12), false))))
  end)

  it("counts parameters that are text", function()
    local text = core.encode(object(12))
    assert.are.equal("native", (asked(object(12), tools(1, text, true))))
    assert.are.equal("tool", (asked(object(13), tools(1, text, true))))
  end)

  it("leaves it to the request to say what is wrong with a tool", function()
    for _, parameters in ipairs { { required = "x" }, { properties = 5 }, { anyOf = { 5 } }, "{", 5,
      { properties = { a = { type = "objekt" } } } } do
      kit.server:script { { content = { CALL } } }
      local adapter = kit.claude()
      local ok, err = pcall(adapter.chat, adapter, "Who?", { output = { schema = object(1) },
        tools = tools(1, parameters, true) })
      assert.is_true(ok or err.field == "tools[1].parameters", tostring(err))
    end
  end)

  it("is no matter of a provider that counts each schema alone", function()
    assert.are.equal("native", (asked(object(30), tools(25, object(0, 1), true), kit.gpt())))
  end)

  it("raises where the caller wants the wire's own field", function()
    local err = raised(function()
      kit.claude():chat("Who?", { tools = tools(1, object(12), true),
        output = { schema = object(13), mode = "native" } })
    end)
    assert.are.equal("output.schema", err.field)
    assert.are.equal(0, #kit.requests())
  end)

  describe("that is too complex in other ways", function()
    local COMPLEX = { error = { status = 400, message = "output_config.format.schema: Schema is too complex." } }
    local LARGE = { error = { status = 400, message = "The compiled grammar is too large, which would cause issues." } }
    local PERSON = { type = "tool_use", name = "person", arguments = { name = "Ada", age = 36 } }

    it("goes by a tool then, with one warning, and at once the next time", function()
      for _, refusal in ipairs { COMPLEX, LARGE } do
        assert(kit.server:reset())
        local adapter = kit.claude()
        local r = kit.ask(adapter, { refusal, { content = { PERSON } } })
        assert.are.same({ "tool", REFUSED }, { r.output_mode, kit.codes(r) })
        assert.are.same({ name = "Ada", age = 36 }, r.output)
        assert.are.same({ 2, "invalid_request" }, { #r.attempts, r.attempts[1].kind })
        assert.is_nil(r.attempts[2].kind)
        assert.is_nil(kit.body(2).output_config)
        assert.is_nil(kit.body(2).tools[1].strict)
        r = kit.ask(adapter, { { content = { PERSON } } })
        assert.are.same({ "tool", REFUSED, 1 }, { r.output_mode, kit.codes(r), #r.attempts })
        assert.are.equal(3, #kit.requests())
      end
    end)

    it("is remembered by schema, strict tools beside it, and adapter", function()
      local adapter = kit.claude()
      kit.ask(adapter, { COMPLEX, { content = { PERSON } } })
      assert.are.equal("native", kit.ask(adapter, { { content = '{"o1":"x"}' } }, { schema = object(1) }).output_mode)
      assert.are.equal("native", kit.ask(kit.claude(), { { content = kit.ADA } }).output_mode)
      local strict = { tools = tools(1, object(1), true) }
      assert.are.equal("native", kit.ask(adapter, { { content = kit.ADA } }, nil, strict).output_mode)
      assert.are.equal("tool", kit.ask(adapter, { { content = { PERSON } } }).output_mode)
    end)

    it("forgets the oldest of many", function()
      local adapter = kit.claude()
      for i = 1, 65 do
        local schema = object(1)
        schema.description = "number " .. i
        kit.ask(adapter, { COMPLEX, { content = { CALL } } }, { schema = schema })
      end
      assert(kit.server:reset())
      local schema = object(1)
      schema.description = "number 1"
      assert.are.equal("native", kit.ask(adapter, { { content = '{"o1":"x"}' } }, { schema = schema }).output_mode)
      schema.description = "number 2"
      assert.are.equal("tool", kit.ask(adapter, { { content = { CALL } } }, { schema = schema }).output_mode)
    end)

    it("goes by a tool in a stream, too, without a reset", function()
      kit.server:script { COMPLEX, { content = { PERSON }, chunk = 5 } }
      local stream <close> = assert(kit.claude():open("Who?", { output = { schema = kit.PERSON, name = "person" } }))
      local types = {}
      for delta in stream:deltas() do types[delta.type] = true end
      assert.is_true(types.output_delta)
      assert.is_nil(types.output_reset)
      assert.are.same({ name = "Ada", age = 36 }, stream:output())
      assert.are.equal("tool", stream:response().output_mode)
    end)

    it("is asked for by a tool in a repair as well", function()
      local wrong = { type = "tool_use", name = "person", arguments = { name = "Ada" } }
      local r = kit.ask(kit.claude(), { COMPLEX, { content = { wrong } }, { content = { PERSON } } }, { repair = 1 })
      assert.are.equal(36, r.output.age)
      assert.are.same({ 3, "invalid_request", "repair" }, { #r.attempts, r.attempts[1].kind, r.attempts[3].kind })
      assert.are.equal(3, #kit.requests())
    end)

    it("is an error where the caller wants the wire's own field, or the model held to it", function()
      for _, output in ipairs { { mode = "native" }, { strict = true } } do
        output.schema = kit.PERSON
        kit.server:script { COMPLEX }
        local _, err = kit.claude():chat("Who?", { output = output })
        assert.are.equal("invalid_request", err.kind)
      end
      assert.are.equal(2, #kit.requests())
    end)

    it("is an error where another refusal follows", function()
      kit.server:script { COMPLEX, { error = { status = 400, message = "no" } } }
      local _, err = kit.claude():chat("Who?", { output = { schema = kit.PERSON, repair = 1 } })
      assert.are.same({ "invalid_request", 2 }, { err.kind, #err.attempts })
    end)

    it("is no refusal of other kinds, or at other providers", function()
      kit.server:script { { error = { status = 400, message = "no" } } }
      local _, err = kit.claude():chat("Who?", { output = { schema = kit.PERSON } })
      assert.are.equal("invalid_request", err.kind)
      kit.server:script { COMPLEX }
      _, err = kit.gpt():chat("Who?", { output = { schema = kit.PERSON } })
      assert.are.equal("invalid_request", err.kind)
      assert.are.equal(2, #kit.requests())
    end)
  end)
end)
