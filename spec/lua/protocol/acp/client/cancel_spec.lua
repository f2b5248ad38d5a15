-- A caller that is cancelled while it waits, at each place where calls of a client of agents wait: nothing is left.

local kit = require "spec.lua.protocol.acp.kit"
local koine = require "koine"
local process_kit = require "spec.lua.system.process_kit"
local wait = require "koine.task.wait"

local AGENT = kit.OPTIONS .. [[
  agent.init.agentCapabilities = { loadSession = true, sessionCapabilities = { list = {}, close = {} } }
  agent.session = { modes = { currentModeId = "m", availableModes = array { { id = "m" }, { id = "n" } } } }
  local function nothing() return {} end
  for _, method in ipairs { "session/set_mode", "session/close" } do agent.on[method] = nothing end
  agent.on["session/list"] = function() return { sessions = array {} } end
  prompt(function(words, id)
    text(id, words)
    ask("session/request_permission", { sessionId = id, toolCall = { toolCallId = "t" }, options = OPTIONS })
    ask("terminal/create", { sessionId = id, command = "sleep", args = array { "60" } })
    if words == "break" then until_cancelled(id) return "cancelled" end
    return "end_turn"
  end)]]

describe("a client of agents", function()
  local bench, executor, park

  before_each(function()
    bench, park = kit.bench(), wait.park
    executor = assert(koine.executor { workdir = bench.dir })
  end)

  after_each(function()
    wait.park = park
    executor:close()
    bench:close()
  end)

  -- All calls, in the caller's own task.
  local function talk(given)
    local connection <close> = assert(koine.acp.connect(given))
    assert(connection:list())
    local session <close> = assert(connection:new { mode = "n" })
    assert(session:prompt "one")
    local turn <close> = assert(session:start "break")
    assert.truthy(turn())
    turn:close()
    assert(session:prompt "two")
    session:close()
  end

  -- Talks, and cancels the caller when it waits for the nth time: whether it did.
  local function cancel_at(n, given)
    local waits, caller = 0, nil
    function wait.park(token, seconds)
      if caller and wait.task() == caller then
        waits = waits + 1
        if waits == n then koine.spawn(function() caller:cancel() end) end
      end
      return park(token, seconds)
    end
    koine.run(function()
      koine.spawn(function()
        caller = wait.task()
        talk(given)
      end)
    end)
    return waits >= n
  end

  it("leaves nothing, wherever its caller is cancelled", function()
    local given = bench:options(AGENT, { executor = executor, grace = 0.05, permission = function(request)
      koine.sleep(0)
      return request.options[1].id
    end })
    local n = 1
    while cancel_at(n, given) do
      assert.equal(0, process_kit.supervisors(), "at wait " .. n)
      n = n + 1
    end
    assert.is_true(n > 12, "it waited but " .. n - 1 .. " times")
    assert.equal(0, process_kit.supervisors())
  end)
end)
