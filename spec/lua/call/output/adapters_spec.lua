-- The option output on adapters that are made of others or written in Lua, and adapter:object.

local kit = require("spec.lua.call.output.kit").new()
local koine = require "koine"
local raised = require "spec.support.raised"

local PERSON, ADA = kit.PERSON, kit.ADA

describe("an answer with a shape", function()
  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.begin)
  after_each(kit.restore)

  local WANTED = { output = { schema = PERSON, mode = "native", repair = 1 } }

  it("is asked of each adapter of a fallback in its own way", function()
    local first, second = kit.claude { retry = false }, kit.gpt { retry = false }
    kit.server:script { { error = { status = 529, message = "busy" } }, { content = ADA } }
    local r = assert(koine.fallback { first, second }:chat("Who?", { output = { schema = PERSON, mode = "native" } }))
    assert.are.equal("Ada", r.output.name)
    assert.is_truthy(kit.body(1).output_config)
    assert.is_truthy(kit.body(2).response_format)
  end)

  it("comes through the stream of a fallback, with the mark of another answer", function()
    kit.server:script { { content = "{}" }, { content = ADA } }
    local seen = {}
    for delta in koine.fallback { kit.gpt(), kit.claude() }:stream("Who?", WANTED) do seen[delta.type] = true end
    assert.is_true(seen.output_reset)
  end)

  it("stays with the member of a fallback that began it, and keeps what that one had", function()
    kit.server:script { { content = ADA, chunk = 3,
      stream_error = { type = "server_error", message = "no", after = 5 } } }
    local both = koine.fallback { kit.gpt { retry = false }, kit.claude() }
    local stream <close> = assert(both:open("Who?", WANTED))
    local last, err, delta
    repeat
      delta, err = stream:next()
      if delta and delta.type == "output_delta" then last = delta.value end
    until not delta
    assert.are.same({ "server", "truncated" }, { err.kind, err.partial.output_error.code })
    assert.are.same(last, err.partial.output)
    assert.are.equal(1, #kit.requests())
    local _, again = stream:response()
    assert.are.equal(err.message, again.message)
  end)

  it("goes to the next member where the first one fails before, or as a whole", function()
    local fails = { content = ADA, chunk = 3, stream_error = { type = "server_error", message = "no", after = 5 } }
    for _, streamed in ipairs { true, false } do
      assert(kit.server:reset())
      kit.server:script { streamed and { error = { status = 500, message = "no" } } or fails, { content = ADA } }
      local both = koine.fallback { kit.gpt { retry = false }, kit.claude { retry = false } }
      local r = assert(both:chat("Who?", { stream = streamed, output = { schema = PERSON } }))
      assert.are.same({ "Ada", "anthropic", 2 }, { r.output.name, r.provider, #r.attempts })
    end
  end)

  it("goes to the next member where the first one fails in a repair, once nothing was shown", function()
    kit.server:script { { content = "{}" }, { error = { status = 500, message = "no" } }, { content = ADA } }
    local both = koine.fallback { kit.gpt { retry = false }, kit.claude { retry = false } }
    local r = assert(both:chat("Who?", WANTED))
    assert.are.same({ "Ada", "anthropic", 3 }, { r.output.name, r.provider, #r.attempts })
    assert(kit.server:reset())
    kit.server:script { { content = "{}" }, { error = { status = 500, message = "no" } }, { content = ADA } }
    local stream <close> = assert(both:open("Who?", WANTED))
    local _, err = stream:response()
    assert.are.equal("server", err.kind)
    assert.are.equal("{}", err.partial:text())
  end)

  it("passes over a member that cannot hold its model to the shape", function()
    kit.server:script { { error = { status = 500, message = "no" } }, { content = ADA } }
    local schema = { type = "object", required = { "name" }, properties = { name = { type = "string" },
      age = { type = "integer" } }, patternProperties = { ["^x"] = { type = "string" } } }
    local all = koine.fallback { kit.claude { retry = false }, kit.gpt { retry = false }, kit.claude() }
    local r = assert(all:chat("Who?", { output = { schema = schema, strict = true } }))
    assert.are.same({ "Ada", "anthropic", "ArgumentError" }, { r.output.name, r.provider, r.attempts[2].class })
  end)

  it("is an option of calls, not of constructors", function()
    for _, make in ipairs { kit.gpt, function(options)
      return koine.custom_adapter { name = "mine", open = function() end, options = options }
    end } do
      local err = raised(make, { model = "m", output = { schema = PERSON } })
      assert.are.same({ "ArgumentError", "output" }, { err.class, err.field })
      assert.is_truthy(tostring(err):find("option of chat, stream, open and object", 1, true))
    end
  end)

  it("is asked for in words of an adapter that is written in Lua", function()
    local asked = {}
    local adapter = koine.custom_adapter { name = "mine", options = { model = "m" }, open = function(_, messages, opts)
      asked[#asked + 1] = { messages = messages, opts = opts }
      local text = #asked == 1 and "Ada." or "Yes: " .. ADA
      return { next = function() end, response = function()
        return { model = "m", stop_reason = "end_turn", content = text, usage = { output_tokens = 1 } }
      end }
    end }
    local r = assert(adapter:chat("Who?", { system = "Be brief.", output = { schema = PERSON, repair = 1 } }))
    assert.are.equal("Ada", r.output.name)
    assert.are.equal("prompt", r.output_mode)
    assert.is_nil(asked[1].opts.output)
    assert.is_truthy(asked[1].opts.system[2].text:find('"properties"', 1, true))
    assert.are.equal(3, #asked[2].messages)
    assert.are.equal(2, r.usage.output_tokens)
  end)

  describe("from an adapter that is written in Lua", function()
    local function made(deltas, response, more)
      local definition = { name = "mine", options = { model = "m" }, open = function()
        local i = 0
        return { next = function()
          i = i + 1
          return deltas[i]
        end, response = function() return response end }
      end }
      for name, value in pairs(more or {}) do definition[name] = value end
      return koine.custom_adapter(definition)
    end

    local ENDED = { model = "m", stop_reason = "end_turn", content = ADA }

    it("grows with its deltas of text, whatever other deltas there are", function()
      local adapter = made({ { type = "thinking_delta", thinking = "{}" },
        { type = "text_delta", text = 'So: {"name":' },
        { type = "tool_use_start", tool_call_id = "c", tool_name = "person" },
        { type = "tool_use_delta", tool_call_id = "c", argument_delta = "{}" },
        { type = "text_delta", text = '"Ada","age":36}' } }, ENDED)
      local seen = {}
      for delta in adapter:stream("Who?", { output = { schema = PERSON } }) do
        if delta.type == "output_delta" then seen[#seen + 1] = delta.value end
      end
      assert.are.same({ name = "Ada", age = 36 }, seen[#seen])
    end)

    it("is there whatever is in the place of a delta's text", function()
      for _, odd in ipairs { 5, {}, true } do
        local adapter = made({ { type = "text_delta", text = odd }, { type = "output_delta", complete = true },
          { type = "tool_use_delta", tool_call_id = "c", argument_delta = odd } }, ENDED)
        local stream <close> = assert(adapter:open("Who?", { output = { schema = PERSON } }))
        for _ in stream:deltas() do end
        assert.are.equal("Ada", stream:output().name)
      end
    end)

    it("is there without deltas, without text, and where the answer has odd fields", function()
      assert.are.equal("Ada", (assert(made({}, ENDED):object("Who?", { output = { schema = PERSON } }))).name)
      for code, response in pairs { empty = { model = "m", stop_reason = "end_turn", content = {} },
        refused = { model = "m", stop_reason = "refusal", content = "No." },
        truncated = { model = "m", stop_reason = "max_tokens", content = ADA },
        not_json = { model = "m", stop_reason = "end_turn", content = "Ada" } } do
        local r = assert(made({}, response):chat("Who?", { output = { schema = PERSON } }))
        assert.are.equal(code, r.output_error.code)
      end
    end)

    it("is an error of its own where it fails, with what there was", function()
      local adapter = made({}, nil, { open = function()
        local deltas = { { type = "text_delta", text = '{"name":"A' } }
        return { next = function()
          if deltas[1] then return table.remove(deltas) end
          return nil, "the line is dead"
        end, response = function() end }
      end })
      local r, err = adapter:chat("Who?", { stream = true, output = { schema = PERSON, repair = 2 } })
      assert.is_nil(r)
      assert.is_truthy(tostring(err):find("the line is dead", 1, true))
    end)

    it("is its own affair where it carries the option", function()
      local given
      local adapter = made({}, ENDED, { carries_output = true, open = function(_, _, opts)
        given = opts.output
        return { next = function() end, response = function() return ENDED end }
      end })
      local r = assert(adapter:chat("Who?", { output = { schema = PERSON, repair = 1 } }))
      assert.are.same({ schema = PERSON, repair = 1 }, given)
      assert.is_nil(r.output)
      local value, err = adapter:object("Who?", { output = { schema = PERSON } })
      assert.is_nil(value)
      assert.are.equal("output", err.kind)
    end)
  end)

  it("comes from a playbook too", function()
    local adapter = koine.testing.playbook { { step = 1, type = "message", content = ADA } }
    assert.are.equal("Ada", (assert(adapter:object("Who?", { output = { schema = PERSON } }))).name)
  end)

  describe("by object", function()
    it("is the value and the Response", function()
      kit.server:script { { content = ADA } }
      local value, r = kit.gpt():object("Who?", WANTED)
      assert.are.same({ name = "Ada", age = 36 }, value)
      assert.are.equal(ADA, r:text())
    end)

    it("is an error of kind output, with the Response, where it does not fit", function()
      kit.server:script { { content = "{}" }, { content = "{}" } }
      local value, err = kit.gpt():object("Who?", WANTED)
      assert.is_nil(value)
      assert.are.same({ "Error", "output", "invalid", false }, { err.class, err.kind, err.code, err.retryable })
      assert.are.equal("invalid", err.partial.output_error.code)
    end)

    it("is an error of the call's own where that fails", function()
      kit.server:script { { error = { status = 401, message = "no" } } }
      local _, err = kit.gpt():object("Who?", WANTED)
      assert.are.equal("auth", err.kind)
    end)

    it("wants the option", function()
      assert.are.equal("output", raised(function() kit.gpt():object("Who?") end).field)
      assert.are.equal("output", raised(function() kit.gpt():object("Who?", {}) end).field)
      assert.are.equal("options", raised(function() kit.gpt():object("Who?", "name, age int") end).field)
      local err = raised(function() kit.gpt():object("Who?", { schema = PERSON }) end)
      assert.are.equal("schema", err.field)
      assert.is_truthy(tostring(err):find("did you mean output = {schema = …}?", 1, true))
    end)
  end)

  it("ends within the total of the call, all rounds together", function()
    kit.server:script { { content = "{}" }, { content = ADA, fault = { delay_ms = 3000 } } }
    local r, err = kit.gpt { retry = false }:chat("Who?", { timeout = { total = 1 }, output = WANTED.output })
    assert.is_nil(r)
    assert.are.same({ "timeout", "total" }, { err.kind, err.code })
  end)
end)
