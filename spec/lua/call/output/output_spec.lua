-- The option output: how it is asked for, what comes of the answer. HTTP goes through libcurl to the loopback provider.

local core = require "koine.core"
local kit = require("spec.lua.call.output.kit").new()
local koine = require "koine"
local raised = require "spec.support.raised"

local PERSON, ADA = kit.PERSON, kit.ADA

describe("output", function()
  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.begin)
  after_each(kit.restore)

  local ask, codes = kit.ask, kit.codes

  it("is the value, decoded and judged, beside the text as the model wrote it", function()
    local r = ask(kit.gpt(), { { content = " \n" .. ADA .. "\n" } }, { mode = "native" })
    assert.are.same({ name = "Ada", age = 36 }, r.output)
    assert.is_nil(r.output_error)
    assert.are.equal("native", r.output_mode)
    assert.are.equal(" \n" .. ADA .. "\n", r:text())
  end)

  it("keeps its arrays arrays in the table of the Response", function()
    local text = '{"a":[],"b":{},"c":[[]],"d":[null,{"e":[]}]}'
    local r = ask(kit.gpt(), { { content = text } }, { schema = { type = "object" }, mode = "prompt" })
    local again = koine.response(r:to_table())
    for _, response in ipairs { r, r:to_table(), again, again:to_table() } do
      assert.are.equal(text, core.encode(response.output))
    end
  end)

  it("makes 1 of 1.0 where the schema wants an integer", function()
    local r = ask(kit.gpt(), { { content = '{"name":"Ada","age":36.0}' } }, { mode = "native" })
    assert.are.equal("integer", math.type(r.output.age))
  end)

  it("makes 1 of 1.0 behind references and alternatives too, before the caller's check", function()
    local maybe = { anyOf = { { ["$ref"] = "#/$defs/n" }, { type = "null" } } }
    local checked
    local r = ask(kit.gpt(), { { content = '{"a":1.0,"b":[2.0],"c":3.0}' } }, { mode = "prompt", schema = {
      type = "object", properties = { a = maybe, b = { type = "array", items = maybe }, c = { type = "number" } },
      ["$defs"] = { n = { type = "integer" } } }, check = function(value)
        checked = math.type(value.a)
        return true
      end })
    assert.are.same({ "integer", "integer", "float" }, { math.type(r.output.a), math.type(r.output.b[1]),
      math.type(r.output.c) })
    assert.are.equal("integer", checked)
  end)

  it("keeps whole characters of a long text that does not fit", function()
    local r = ask(kit.gpt(), { { content = "x" .. ("é"):rep(40000) } }, { mode = "native" })
    assert.are.equal("not_json", r.output_error.code)
    assert.is_truthy(utf8.len(r.output_error.text))
    assert.is_true(#r.output_error.text > 65000)
  end)

  it("says what is wrong with a value that does not fit, and is no error of the call", function()
    local r = ask(kit.gpt(), { { content = '{"name":"Ada","age":"36"}' } }, { mode = "native" })
    assert.is_nil(r.output)
    assert.are.same({ "invalid", "/age" }, { r.output_error.code, r.output_error.path })
    assert.is_truthy(r.output_error.message:find("integer", 1, true))
    assert.are.equal('{"name":"Ada","age":"36"}', r.output_error.text)
    assert.are.equal(1, #kit.requests())
  end)

  it("tells no JSON from an empty, a cut and a refused answer", function()
    local cases = {
      { "not_json", { content = "Ada is 36." } }, { "empty", { content = "" } },
      { "truncated", { content = ADA, stop_reason = "max_tokens" } },
      { "refused", { content = { { type = "refusal", text = "I will not." } } } },
    }
    for _, case in ipairs(cases) do
      local r = ask(kit.gpt { retry = false }, { case[2] }, { mode = "native", repair = 0 })
      assert.are.equal(case[1], r.output_error.code)
      assert.is_nil(r.output)
    end
    assert.are.equal("I will not.", ask(kit.gpt(), { cases[4][2] }, { mode = "native" }).output_error.message)
  end)

  it("wraps a root that is no object, and unwraps the value", function()
    local strings = { type = "array", items = { type = "string" } }
    local r = ask(kit.gpt(), { { content = '{"value":["a","b"]}' } }, { mode = "native", schema = strings })
    assert.are.same({ "a", "b" }, r.output)
    local schema = kit.body(1).response_format.json_schema.schema
    assert.are.same({ "value" }, schema.required)
    assert.are.equal("array", schema.properties.value.type)
    r = ask(kit.gpt(), { { content = '{"value":["a",1]}' } }, { mode = "native", schema = strings })
    assert.is_nil(r.output_error.message:find("value.value", 1, true))
    assert.are.equal("/1", r.output_error.path)
    local either = { anyOf = { { type = "string" }, { type = "object", properties = { a = { type = "string" } },
      required = { "a" }, additionalProperties = false } } }
    r = ask(kit.gpt(), { { content = '{"value":{"a":"x"}}' } }, { mode = "native", schema = either })
    assert.are.same({ a = "x" }, r.output)
    r = ask(kit.gpt(), { { content = '{"value":"x"}' } }, { mode = "native", schema = either })
    assert.are.equal("x", r.output)
  end)

  it("lets the model write properties in the order that is asked for", function()
    ask(kit.gpt(), { { content = ADA } }, { mode = "native", order = { "age", "name" } })
    assert.is_truthy(kit.requests()[1].body:find('"properties":{"age":{"type":"integer"},"name"', 1, true))
  end)

  it("asks the caller's own check about a whole value", function()
    local seen = {}
    local function check(value)
      seen[#seen + 1] = value.age
      return false, "too young"
    end
    local r = ask(kit.gpt(), { { content = ADA } }, { mode = "native", check = check })
    assert.are.same({ 36 }, seen)
    assert.are.same({ "invalid", "too young" }, { r.output_error.code, r.output_error.message })
  end)

  it("has none yet where the model calls the caller's tools", function()
    local r = ask(kit.gpt(), { { content = { { type = "tool_use", name = "look_up", arguments = {} } } } },
      { mode = "native" }, { tools = { kit.LOOK_UP } })
    assert.are.equal("tool_use", r.stop_reason)
    assert.is_nil(r.output)
    assert.is_nil(r.output_error)
  end)

  it("raises for what the option may not be, and names the field", function()
    local adapter = kit.gpt()
    local function refused(output) return raised(function() adapter:chat("Who?", { output = output }) end) end
    assert.are.equal("output.schema", refused({}).field)
    assert.are.equal("output.name", refused({ schema = PERSON, name = "a person" }).field)
    assert.are.equal("output.mode", refused({ schema = PERSON, mode = "json" }).field)
    assert.are.equal("output.repair", refused({ schema = PERSON, repair = -1 }).field)
    assert.are.equal("output.order[2]", refused({ schema = PERSON, order = { "age", "size" } }).field)
    assert.are.equal("output.schema.type", refused({ schema = { type = "objekt" } }).field)
    assert.are.equal("output.shema", refused({ shema = PERSON }).field)
  end)

  it("shows what the option is where a schema, fields or a text stand in its place", function()
    local wrong = { "name, age int", PERSON, { "name", "age" }, { anyOf = { { type = "object" } } } }
    for i, got in ipairs { '"name, age int"', "a JSON Schema alone", "an array", "a JSON Schema alone" } do
      local err = raised(function() kit.gpt():chat("Who?", { output = wrong[i] }) end)
      assert.are.equal('output: table {schema = JSON Schema}, or with a short text {schema = "name, age int"} '
        .. "expected, got " .. got, (err.message:gsub("^.-: output", "output")))
    end
    assert.are.equal("output.schema", raised(function()
      kit.gpt():chat("Who?", { output = { name = "person", description = "d" } })
    end).field)
  end)

  it("keeps the schema as it was when the call began, whatever becomes of the caller's table", function()
    local schema = { type = "object", properties = { name = { type = "string" } }, required = { "name" } }
    local function spoil()
      schema.properties.self, schema.type, schema.required = schema, "array", 5
      schema.properties.name.type = "integer"
    end
    for _, opts in ipairs { { on_delta = spoil }, {} } do
      assert(kit.server:reset())
      local r = ask(kit.gpt(), { { content = '{"name":"Ada"}', chunk = 3 }, { content = '{"name":"Bob"}' } }, {
        schema = schema, repair = 1, check = function(value)
          spoil()
          return value.name == "Bob", "another"
        end }, opts)
      assert.are.same({ name = "Bob" }, r.output)
      assert.are.equal(2, #kit.requests())
      schema = { type = "object", properties = { name = { type = "string" } }, required = { "name" } }
    end
  end)

  describe("as a tool", function()
    local CALL = { type = "tool_use", name = "person", arguments = { name = "Ada", age = 36 } }
    local LOOK = { type = "tool_use", name = "look_up", arguments = {} }

    it("is forced, is no call to make, and ends the turn", function()
      local r = ask(kit.claude(), { { content = { CALL } } }, { mode = "tool", description = "A person." })
      assert.are.same({ name = "Ada", age = 36 }, r.output)
      assert.are.same({}, r.tool_calls)
      assert.are.same({ "end_turn", "tool_use" }, { r.stop_reason, r.raw_stop_reason })
      assert.is_true(r.content[1].output)
      local sent = kit.body(1)
      assert.are.same({ type = "tool", name = "person" }, sent.tool_choice)
      assert.is_truthy(sent.tools[1].description:find("A person.", 1, true))
    end)

    it("comes last among the caller's tools, of which any may be called, under a name of its own", function()
      ask(kit.claude(), { { content = { CALL } } }, { mode = "tool", name = "look_up" }, { tools = { kit.LOOK_UP } })
      local sent = kit.body(1)
      assert.are.same({ "look_up", "look_up_2" }, { sent.tools[1].name, sent.tools[2].name })
      assert.are.equal("any", sent.tool_choice.type)
    end)

    it("lets thinking stay where a choice would end it", function()
      local r = ask(kit.claude { thinking = { budget_tokens = 2048 }, max_tokens = 8000 }, { { content = { CALL } } },
        { mode = "tool" })
      local sent = kit.body(1)
      assert.are.equal("enabled", sent.thinking.type)
      assert.is_nil(sent.tool_choice)
      assert.is_truthy(sent.system:find("calling the tool person", 1, true))
      assert.are.same({}, codes(r))
    end)

    it("warns of calls that are left undone", function()
      local r = ask(kit.claude(), { { content = { LOOK, CALL } } }, { mode = "tool" }, { tools = { kit.LOOK_UP } })
      assert.are.same({ name = "Ada", age = 36 }, r.output)
      assert.are.equal("end_turn", r.stop_reason)
      assert.are.same({ "calls_undone" }, codes(r))
      assert.are.same({ "calls_undone" }, codes(r:to_table()))
    end)

    it("goes back as text, so that nothing has to answer the call", function()
      local adapter = kit.claude()
      local r = ask(adapter, { { content = { CALL } } }, { mode = "tool" })
      kit.server:script { { content = "Yes." } }
      assert(adapter:chat { { role = "user", content = "Who?" }, r:message(), { role = "user", content = "Sure?" } })
      local block = kit.body(#kit.requests()).messages[2].content[1]
      assert.are.equal("text", block.type)
      assert.are.same({ name = "Ada", age = 36 }, core.decode(block.text))
    end)
  end)

  describe("as a prompt", function()
    it("stands last in the system prompt, with the schema's order", function()
      local r = ask(kit.claude(), { { content = "Here it is:\n```json\n" .. ADA .. "\n```" } }, { mode = "prompt" },
        { system = "Be brief." })
      local sent = kit.body(1)
      assert.are.equal("Be brief.", sent.system[1].text)
      assert.is_truthy(sent.system[2].text:find('"properties":{"name":{"type":"string"},"age"', 1, true))
      assert.are.same({ name = "Ada", age = 36 }, r.output)
      assert.are.same({ "output_extracted" }, codes(r))
    end)

    it("does not take JSON out of words where the wire promised JSON alone", function()
      local r = ask(kit.gpt(), { { content = "```json\n" .. ADA .. "\n```" } }, { mode = "native" })
      assert.are.equal("not_json", r.output_error.code)
    end)
  end)

  it("is any object in words beside tools, where the wire's own field would rule the tools out", function()
    for name, options in pairs { gemini = { model = "gemini-2.5-flash", base_url = kit.server.url .. "/v1beta" },
      ollama = { model = "m", base_url = kit.server.url }, llamacpp = { model = "m", base_url = kit.server.url } } do
      assert(kit.server:reset())
      options.key = name == "gemini" and "test-key-1" or nil
      local call = { type = "tool_use", name = "look_up", arguments = {} }
      local r = ask(koine[name](options), { { content = { call } } }, { mode = "object" }, { tools = { kit.LOOK_UP } })
      assert.are.equal(1, #r.tool_calls)
      local body = kit.requests()[1].body
      kit.body(1)
      for _, word in ipairs { "responseMimeType", '"format"', "response_format" } do
        assert.is_nil(body:find(word, 1, true), name)
      end
      assert.is_truthy(body:find("one JSON object", 1, true))
    end
  end)

  it("takes any object in mode object, and nothing else", function()
    kit.server:script { { content = '{"a":1}' }, { content = "[1]" } }
    local adapter = kit.claude()
    local r = assert(adapter:chat("Who?", { output = { mode = "object" } }))
    assert.are.same({ a = 1 }, r.output)
    r = assert(adapter:chat("Who?", { output = { mode = "object" } }))
    assert.are.equal("invalid", r.output_error.code)
  end)

  it("ends a stream that is closed before its end", function()
    kit.server:script { { content = ADA } }
    local stream = assert(kit.gpt():open("Who?", { output = { schema = PERSON, mode = "native" } }))
    stream:close()
    stream:close()
    local r, err = stream:response()
    assert.is_nil(r)
    assert.are.equal("cancelled", err.kind)
  end)
end)
