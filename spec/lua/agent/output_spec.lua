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
    assert.are.same({ name = "Ada", age = 36 }, assert(one:load(run:dump())):summary().output)
  end)
end)
