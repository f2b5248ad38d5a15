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
