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

  it("keeps few bytes for a session that is not known yet", function()
    collectgarbage()
    local before = collectgarbage "count"
    local session = bench:session [[local new = agent.on["session/new"]
      agent.on["session/new"] = function(params)
        for _ = 1, 24 do update("nobody", { sessionUpdate = "plan", x = ("x"):rep(1 << 20) }) end
        update("s1", { sessionUpdate = "session_info_update", title = "late" })
        return new(params)
      end]]
    collectgarbage()
    assert.is_true(collectgarbage "count" - before < 8 << 10, "KiB kept")
    assert.is_true(session.link.peer.counts.unknown > 0)
  end)

  it("keeps few bytes that the reader of a turn has not taken, and loses none", function()
    local sent
    local session = bench:session([[prompt(function(_, id)
        for i = 1, 6 do text(id, ("x"):rep(1 << 20), "m" .. i) end
        io.stderr:write "sent\n"
        return "end_turn"
      end)]], { on_log = function() sent = true end })
    local turn <close> = assert(session:start "go")
    while not sent do session.link:poll() end
    for _ = 1, 100 do session.link:poll() end
    assert.is_true(turn.items:count() < 6)
    local outputs = assert(turn:result()).outputs
    assert.equal(6, #outputs)
    for _, output in ipairs(outputs) do assert.equal(1 << 20, #output) end
  end)

  describe("counts to what a turn may say", function()
    local function is_too_much(body)
      local _, _, err = bench:turn(body .. "\nreturn 'end_turn'", { output_max = 1 << 20 })
      assert.same({ "limit", "output" }, { err.kind, err.code })
    end

    it("questions for permission", function()
      is_too_much [[
        for i = 1, 20 do
          ask("session/request_permission", { sessionId = id, options = OPTIONS,
            toolCall = { toolCallId = "t" .. i, rawInput = { x = ("x"):rep(1 << 16) } } })
        end]]
    end)

    it("what is deep inside, names, and numbers", function()
      is_too_much [[
        local deep = ("x"):rep(2 << 20)
        for _ = 1, 60 do deep = { x = deep } end
        update(id, { sessionUpdate = "tool_call", toolCallId = "t", rawInput = deep })]]
      is_too_much [[update(id, { sessionUpdate = "next_year", [("x"):rep(2 << 20)] = true })]]
      is_too_much [[local list = {}
        for i = 1, 100000 do list[i] = 0 end
        update(id, { sessionUpdate = "next_year", x = array(list) })]]
    end)
  end)

  describe("ends a list of sessions", function()
    local function list(body, given)
      local connection = bench:connect([[agent.init.agentCapabilities = { sessionCapabilities = { list = {} } }
        local n = 0
        agent.on["session/list"] = function() n = n + 1 ]] .. body .. " end", given)
      local found, err = connection:list()
      assert.is_nil(found)
      return err.kind .. " " .. tostring(err.code)
    end

    it("whose cursors go in a circle", function()
      assert.equal("protocol nil", list [[return { sessions = array {}, nextCursor = "c" .. n % 3 }]])
      assert.equal(4, #bench:heard "session/list")
    end)

    it("that does not end", function()
      assert.equal("limit pages", list [[return { sessions = array {}, nextCursor = "c" .. n }]])
      assert.equal("limit bytes", list [[return { sessions = array { { sessionId = "s", title = ("x"):rep(8 << 20) } },
        nextCursor = "c" .. n }]])
    end)

    it("that takes too long, however fast its pages come", function()
      assert.equal("timeout total", list([[local latest = os.clock() + 0.001
        repeat until os.clock() > latest
        return { sessions = array {}, nextCursor = "c" .. n }]], { timeout = { session = 0.1 } }))
    end)
  end)

  it("raises at the next call what a function of the host's for questions raised, or wrongly answered", function()
    local answers = { function() error("a bug", 0) end, function() return { action = "perhaps" } end,
      function() return 5 end, function() return "decline" end }
    local session = bench:session([[prompt(function(_, id)
        local answer, err = ask("elicitation/create", { sessionId = id, mode = "form", message = "?" })
        text(id, answer and answer.action or tostring(err.code))
        return "end_turn"
      end)]], { on_elicit = function() return table.remove(answers, 1)() end })
    local function prompt() return assert(session:prompt "go").text end
    assert.equal("-32603", prompt())
    assert.same({ false, "a bug" }, { pcall(prompt) })
    assert.equal("-32603", prompt())
    local _, wrong = pcall(prompt)
    assert.same({ "ArgumentError", "on_elicit" }, { wrong.class, wrong.field })
    assert.equal("-32603", prompt())
    assert.is_false((pcall(prompt)))
    assert.equal("decline", prompt())
  end)

  it("raises at the next call what a policy raised that no turn tells", function()
    local connection = bench:connect(kit.OPTIONS .. [[
      agent.init.agentCapabilities = { loadSession = true }
      agent.on["session/load"] = function(params)
        ask("session/request_permission", { sessionId = params.sessionId, toolCall = { toolCallId = "t" },
          options = OPTIONS })
        return {}
      end]], { permission = function() error("a bug", 0) end })
    local session = assert(connection:load "s9")
    assert.same({ false, "a bug" }, { pcall(session.prompt, session, "go") })
    assert.equal("end_turn", assert(session:prompt "go").stop_reason)
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
