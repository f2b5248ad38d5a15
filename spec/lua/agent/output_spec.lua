-- Agents whose answer shall have a shape (options.output), by loopback.

local kit = require("spec.lua.call.output.kit").new()
local koine = require "koine"

local PERSON, ADA = kit.PERSON, kit.ADA

describe("an agent with a shape to give", function()
  setup(kit.start)
  teardown(kit.stop)
  before_each(function() assert(kit.server:reset()) end)

  local CALL = { type = "tool_use", name = "person", arguments = { name = "Ada", age = 36 } }

  local function agent(adapter, mode, more)
    local spec = { adapter = adapter, options = { output = { schema = PERSON, name = "person", mode = mode } } }
    for name, value in pairs(more or {}) do spec[name] = value end
    return koine.agent(spec)
  end

  local ran
  local LOOK_UP = { name = "look_up", description = "d", example = {}, run = function()
    ran = ran + 1
    return "36"
  end }

  before_each(function() ran = 0 end)

  it("runs its tools first and ends with the value", function()
    kit.server:script { { content = { { type = "tool_use", name = "look_up", arguments = {} } } }, { content = ADA } }
    local result = assert(agent(kit.gpt(), "native", { tools = { LOOK_UP } }):run "Who?")
    assert.are.same({ name = "Ada", age = 36 }, result.output)
    assert.are.same({ 1, "completed", 2 }, { ran, result.status, result.steps })
  end)

  it("ends at the call that holds the answer, whatever else was called", function()
    kit.server:script { { content = { { type = "tool_use", name = "look_up", arguments = {} }, CALL } } }
    local result = assert(agent(kit.claude(), "tool", { tools = { LOOK_UP } }):run "Who?")
    assert.are.same({ name = "Ada", age = 36 }, result.output)
    assert.are.same({ 0, "completed", 1 }, { ran, result.status, result.steps })
    kit.server:script { { content = "Yes." } }
    assert(kit.claude():chat(table.move({ { role = "user", content = "Sure?" } }, 1, 1, #result.messages + 1,
      result.messages)))
    assert.are.same({}, kit.requests()[#kit.requests()].problems)
  end)

  it("ends at that call behind others of two tools, and is no call in the history", function()
    local ADD = { name = "add", description = "d", example = {}, run = function()
      ran = ran + 1
      return "2"
    end }
    local function use(name) return { type = "tool_use", name = name, arguments = {} } end
    kit.server:script { { content = { use "look_up", use "add" } }, { content = { CALL } } }
    local result = assert(agent(kit.claude(), "tool", { tools = { LOOK_UP, ADD } }):run "Who?")
    assert.are.same({ name = "Ada", age = 36 }, result.output)
    assert.are.same({ 2, "completed", 2 }, { ran, result.status, result.steps })
    kit.server:script { { content = "Yes." } }
    local messages = table.move(result.messages, 1, #result.messages, 1, {})
    messages[#messages + 1] = { role = "user", content = "Sure?" }
    assert(kit.claude():chat(messages, { tools = { { name = "look_up", description = "d" },
      { name = "add", description = "d" } } }))
    local sent = kit.body(3)
    assert.are.same({ "text", "user" }, { sent.messages[4].content[1].type, sent.messages[5].role })
  end)

  it("asks once more by itself, and counts both model calls", function()
    kit.server:script { { content = "{}" }, { content = ADA } }
    local result = assert(agent(kit.gpt(), "native"):run "Who?")
    assert.are.equal("Ada", result.output.name)
    assert.are.same({ 1, 2 }, { result.steps, result.usage.model_calls })
  end)

  it("says why there is none", function()
    kit.server:script { { content = "{}" }, { content = "{}" } }
    local result = assert(agent(kit.gpt(), "native"):run "Who?")
    assert.is_nil(result.output)
    assert.are.equal("invalid", result.output_error.code)
  end)

  it("keeps the value in a dump", function()
    kit.server:script { { content = ADA } }
    local one = agent(kit.gpt(), "native")
    local _, run = assert(one:run "Who?")
    local summary = assert(one:load(run:dump())):summary()
    assert.are.same({ name = "Ada", age = 36 }, summary.output)
    assert.are.equal("native", summary.output_mode)
  end)

  describe("that is saved on its way", function()
    local core = require "koine.core"

    -- Saves a run whenever a delta says `when`, or (nil) at each checkpoint, and ends it at the nth time: the dump.
    local function broken_off(adapter, mode, answers, when, nth)
      kit.server:script(answers)
      local run, dump, seen = nil, nil, 0
      local function save()
        seen = seen + 1
        if seen == nth then
          dump = run:dump()
          run:cancel()
        end
      end
      local more = { tools = { LOOK_UP } }
      if when then
        more.on_delta = function(delta)
          if delta.type == when then save() end
        end
      else
        more.checkpoint = save
      end
      run = agent(adapter, mode, more):start "Who?"
      koine.run(function() run:result() end)
      return assert(dump)
    end

    local WRONG = '{"name":"Ada"}'
    local WRONG_CALL = { type = "tool_use", name = "person", arguments = { name = "Ada" } }
    local LOOK = { type = "tool_use", name = "look_up", arguments = {} }

    -- Goes on with a dump, as another process would: the summary.
    local function go_on(dump, adapter, mode, answers)
      assert(kit.server:reset())
      kit.server:script(answers)
      local run = assert(koine.agent.load(agent(adapter, mode, { tools = { LOOK_UP } }), dump))
      local summary = assert(run:result())
      for _, request in ipairs(kit.requests()) do assert.are.same({}, request.problems) end
      return summary
    end

    it("between the answer that does not fit and the next one, asks anew, with nothing of it", function()
      for _, case in ipairs { { kit.gpt, "native", WRONG, ADA }, { kit.claude, "tool", { WRONG_CALL }, { CALL } } } do
        local adapter, mode, wrong, right = table.unpack(case)
        assert(kit.server:reset())
        local dump = broken_off(adapter(), mode, { { content = wrong }, { content = right } }, "output_reset", 1)
        assert.are.equal(1, #core.decode(dump).state.messages)
        local summary = go_on(dump, adapter(), mode, { { content = wrong }, { content = right } })
        assert.are.same({ name = "Ada", age = 36 }, summary.output)
        assert.are.same({ "completed", mode, 2 }, { summary.status, summary.output_mode, #summary.messages })
      end
    end)

    it("in the middle of the value, asks anew", function()
      local dump = broken_off(kit.gpt(), "native", { { content = ADA, chunk = 4 } }, "output_delta", 2)
      assert.is_nil(core.decode(dump).state.output)
      assert.are.equal("Ada", go_on(dump, kit.gpt(), "native", { { content = ADA } }).output.name)
    end)

    it("before its tools ran, runs them once, and ends in the value", function()
      local dump = broken_off(kit.claude(), "tool", { { content = { LOOK } } }, nil, 1)
      assert.are.equal(0, ran)
      local summary = go_on(dump, kit.claude(), "tool", { { content = { CALL } } })
      assert.are.same({ 1, 36 }, { ran, summary.output.age })
    end)

    it("beside a value that did not fit, runs the call that it waits for, on another wire too", function()
      local spec = { schema = PERSON, name = "person", mode = "tool", repair = 0 }
      kit.server:script { { content = { WRONG_CALL, LOOK } } }
      local run = koine.agent { adapter = kit.claude(), tools = { LOOK_UP }, options = { output = spec } }:start "Who?"
      assert(run:step())
      local summary = run:summary()
      assert.are.same({ "running", "invalid" }, { summary.status, summary.output_error.code })
      local result = go_on(run:dump(), kit.gpt(), "native", { { content = ADA } })
      assert.are.same({ 1, 36 }, { ran, result.output.age })
      assert.is_nil(result.output_error)
    end)

    it("keeps values that JSON has and Lua has not", function()
      for _, value in ipairs { "null", "false", "[]", "{}", "1", '"x"' } do
        assert(kit.server:reset())
        kit.server:script { { content = ('{"value":%s}'):format(value) } }
        local one = koine.agent { adapter = kit.gpt(), options = { output = { mode = "native",
          schema = { anyOf = { { type = "null" }, { type = "boolean" }, { type = "integer" }, { type = "string" },
            { type = "array", items = { type = "string" } }, { type = "object", additionalProperties = false,
              properties = {} } } } } } }
        local result, run = assert(one:run "What?")
        assert.are.equal("completed", result.status)
        assert.is_nil(result.output_error, value)
        assert.are.equal(value, core.encode(result.output))
        assert.are.equal(value, core.encode(assert(one:load(run:dump())):summary().output))
      end
    end)
  end)

  it("is left by a time limit around the second answer, and can go on", function()
    kit.server:script { { content = "{}" }, { content = ADA, fault = { delay_ms = 5000 } } }
    local run = agent(kit.gpt(), "native"):start "Who?"
    koine.run(function()
      local _, err = koine.timeout(0.5, function() return run:result() end)
      assert.are.equal("timeout", err.kind)
    end)
    assert.are.equal(2, #kit.requests())
    assert(kit.server:reset())
    kit.server:script { { content = ADA } }
    assert.are.equal("Ada", assert(run:result()).output.name)
    assert.is_true(run:summary().usage.incomplete)
  end)

  it("takes other tools from a step to the next, also one named as the shape", function()
    kit.server:script { { content = { { type = "tool_use", name = "look_up", arguments = {} } } },
      { content = { { type = "tool_use", name = "person_2", arguments = { name = "Ada", age = 36 } } } } }
    local named = { name = "person", description = "d", example = {}, run = function() return "" end }
    local result = assert(agent(kit.claude(), "tool", { prepare = function(step)
      return { tools = step.number == 1 and { LOOK_UP } or { LOOK_UP, named } }
    end }):run "Who?")
    assert.are.equal(36, result.output.age)
    assert.are.equal("person_2", kit.body(2).tools[3].name)
  end)
end)
