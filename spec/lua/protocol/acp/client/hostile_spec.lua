-- Agents that say what the protocol has not, ask at the wrong time, or say too much.

local kit = require "spec.lua.protocol.acp.kit"

describe("a client of agents", function()
  local bench

  before_each(function() bench = kit.bench() end)
  after_each(function() bench:close() end)

  it("takes any answer to a prompt for the end of the turn", function()
    local session = bench:session [[local answers = { null, 5, false, true, "x", array {}, { stopReason = array {} } }
      local n = 0
      agent.on["session/prompt"] = function() n = n + 1 return answers[n] end]]
    for _ = 1, 7 do
      local result = assert(session:prompt "go")
      assert.same({ "end_turn", "none", "stop_reason" }, { result.stop_reason, result.raw_stop_reason,
        result.warnings[1].code })
    end
  end)

  it("raises at the next call what a function of the host's raised between turns", function()
    local session, connection = bench:session([[local new = agent.on["session/new"]
      agent.on["session/new"] = function(params)
        update("s1", { sessionUpdate = "plan", entries = array {} })
        return new(params)
      end]], { on_update = function() error("a bug", 0) end })
    assert.same({ false, "a bug" }, { pcall(session.prompt, session, "go") })
    assert.equal("You said: go", assert(session:prompt "go").text)
    assert.is_truthy(connection:new())
    assert.same({ false, "a bug" }, { pcall(session.set, session, "model", "x") })
    assert.is_truthy(connection:new())
    assert.same({ false, "a bug" }, { pcall(connection.new, connection) })
  end)

  it("decides about a tool while a session is loaded", function()
    local connection = bench:connect(kit.OPTIONS .. [[
      agent.init.agentCapabilities = { loadSession = true }
      agent.on["session/load"] = function(params)
        local reply = ask("session/request_permission", { sessionId = params.sessionId,
          toolCall = { toolCallId = "t" }, options = OPTIONS })
        return { modes = { currentModeId = reply and reply.outcome.optionId or "raised" } }
      end]])
    local session = assert(connection:load "s9")
    assert.equal("r", session.options[1].value)
  end)
end)
