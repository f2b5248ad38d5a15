-- Turns that are cancelled or take too long, agents that die, and what comes between turns.

local kit = require "spec.lua.protocol.acp.kit"
local koine = require "koine"

local OPTIONS, play, short = kit.OPTIONS, kit.play, kit.short

describe("a turn", function()
  local bench

  before_each(function() bench = kit.bench() end)
  after_each(function() bench:close() end)

  local function turn(...) return bench:turn(...) end

  describe("is cancelled", function()
    -- Cancels as soon as an event of that kind is there, or at once: the error and the session.
    local function cancel(body, kind, given)
      local session = bench:session(OPTIONS
        .. "prompt(function(words, id)\nif words == 'again' then return 'end_turn' end\n"
        .. body .. "\nend)", given)
      local begun <close> = assert(session:start "go")
      if not kind then assert.is_true(session:cancel()) end
      for event in begun do
        if event.kind == kind then
          assert.is_true(session:cancel())
          assert.equal("stopping", session.state)
        end
      end
      local result, err = begun:result()
      assert.is_nil(result)
      assert.is_false(session:cancel())
      return err, session
    end

    it("before it said anything", function()
      local err, session = cancel [[until_cancelled(id) text(id, "late") return "cancelled"]]
      assert.same({ "CancelledError", "late" }, { err.class, err.partial.text })
      assert.equal("completed", assert(session:prompt "again").status)
    end)

    it("in a tool", function()
      local err = cancel([[update(id, { sessionUpdate = "tool_call", toolCallId = "t", title = "T",
        status = "in_progress" })
        until_cancelled(id) return "cancelled"]], "tool_call")
      assert.same({ "cancelled", "cancelled" }, { err.kind, err.partial.calls[1].status })
    end)

    it("while it waits for permission, which is answered", function()
      local session
      session = bench:session(OPTIONS .. [[prompt(function(_, id)
        local reply = ask("session/request_permission", { sessionId = id, toolCall = { toolCallId = "t" },
          options = OPTIONS })
        update(id, { sessionUpdate = "tool_call_update", toolCallId = "t", status = "failed",
          rawOutput = reply.outcome.outcome })
        until_cancelled(id) return "cancelled" end)]], { permission = function()
        session:cancel()
        koine.sleep(kit.SAFETY)
      end })
      local events, _, err = play(session, "go")
      assert.equal("cancelled", err.kind)
      assert.equal("tool_result cancelled", short(events)[2])
      assert.equal("cancelled", err.partial.calls[1].reason)
    end)

    it("and the agent answers with an error", function()
      assert.equal("cancelled", cancel([[until_cancelled(id) return nil, { code = -32800, message = "stopped" }]]).kind)
      assert.equal("cancelled", cancel([[until_cancelled(id) return nil, { code = -32603, message = "aborted" }]]).kind)
    end)

    it("and the agent does not answer: it is ended, and the next prompt begins anew", function()
      local err, session = cancel([[while hear() do end os.exit(1)]], nil, { timeout = { stop = 0.05 } })
      assert.same({ "timeout", "stop" }, { err.kind, err.code })
      assert.equal("dead", session.state)
      local result = assert(session:prompt "again")
      assert.is_true(result.reset)
    end)

    it("by a task that leaves it, and the next one waits for its end", function()
      local session = bench:session [[prompt(function(words, id)
        if words == "again" then text(id, "fresh") return "end_turn" end
        text(id, "old") until_cancelled(id) text(id, "old too") return "cancelled" end)]]
      koine.run(function()
        local started = false
        local task = koine.spawn(function()
          session:prompt("go", { on_delta = function() started = true end })
        end)
        while not started do koine.sleep(0.001) end
        task:cancel()
        assert.equal("fresh", assert(session:prompt "again").text)
      end)
    end)

    it("where a function of the host's raises, which the caller gets", function()
      local session = bench:session [[prompt(function(words, id)
        text(id, words) if words == "go" then until_cancelled(id) end return "end_turn" end)]]
      local ok, err = pcall(session.prompt, session, "go", { on_delta = function() error("no", 0) end })
      assert.same({ false, "no" }, { ok, err })
      assert.equal("again", assert(session:prompt "again").text)
    end)
  end)

  describe("does not take what the agent still says of one that was broken off", function()
    -- Two turns, of which the first is cancelled: texts, kinds of events and what went to on_update of the second.
    local function second(body, given)
      local between = {}
      given = given or {}
      given.on_update = function(update) between[#between + 1] = update.sessionUpdate end
      local session = bench:session([[prompt(function(words, id)
        if words == "go" then
          text(id, "old", "m1")
          update(id, { sessionUpdate = "tool_call", toolCallId = "t1", title = "T", status = "in_progress" })
          until_cancelled(id)
          return "cancelled"
        end
        ]] .. body .. " return 'end_turn' end)", given)
      local first <close> = assert(session:start "go")
      for event in first do
        if event.kind == "tool_call" then session:cancel() end
      end
      local events, result = play(session, "again")
      return short(events), between, session, result
    end

    it("by the ids of its messages and tool calls", function()
      local events, between = second [[
        text(id, " and old", "m1")
        update(id, { sessionUpdate = "agent_thought_chunk", messageId = "m1", content = { type = "text", text = "x" } })
        update(id, { sessionUpdate = "tool_call_update", toolCallId = "t1", status = "failed" })
        text(id, "no id, ") text(id, "fresh", "m2") text(id, " still old", "m1") text(id, " text", "m2")]]
      assert.same({ "output no id, ", "output fresh text" }, events)
      assert.same({ "agent_message_chunk", "agent_thought_chunk", "tool_call_update", "agent_message_chunk" }, between)
    end)

    it("but a new call that has the id of an old one", function()
      local events = second [[
        update(id, { sessionUpdate = "tool_call", toolCallId = "t1", title = "N" })
        update(id, { sessionUpdate = "tool_call_update", toolCallId = "t1", status = "completed", rawOutput = "ok" })]]
      assert.same({ "tool_call N{}", "tool_result ok" }, events)
    end)

    it("and takes ids of a turn that ended in order", function()
      local _, _, session = second [[text(id, words, "m2")]]
      assert.equal("three", assert(session:prompt "three").text)
    end)

    it("and ids of another process", function()
      local _, _, session = second [[if words == "die" then os.exit(7) end text(id, words, words)]]
      assert.equal("connect", select(2, session:prompt "die").kind)
      local result = assert(session:prompt "m1")
      assert.same({ "m1", true }, { result.text, result.reset })
    end)

    it("and remembers the last ids, where there are many", function()
      local session = bench:session [[prompt(function(words, id)
        for i = 1, 1500 do text(id, "x", words .. i) end
        if words == "go" then text(id, "end", "last") until_cancelled(id) return "cancelled" end
        text(id, "late", "last")
        return "end_turn" end)]]
      local first <close> = assert(session:start("go", { on_delta = function(delta)
        if delta.text == "end" then session:cancel() end
      end }))
      assert.is_nil((first:result()))
      assert.equal(1500, #assert(session:prompt "b").outputs)
    end)
  end)

  it("is one at a time: a second one waits", function()
    local session = bench:session [[local n = 0
      prompt(function(words, id) n = n + 1 text(id, words .. n) return "end_turn" end)]]
    local texts = {}
    koine.run(function()
      koine.gather(function() texts[1] = session:prompt("a").text end,
        function() texts[2] = session:prompt("b").text end)
    end)
    assert.same({ "a1", "b2" }, texts)
    local begun <close> = assert(session:start "c")
    assert.same({ "timeout", "lock" }, { select(2, session:start "d").kind, select(2, session:start "d").code })
    assert.equal("c3", assert(begun:result()).text)
  end)

  describe("ends in time", function()
    it("when the agent is silent", function()
      local _, _, err = turn([[text(id, "a") until_cancelled(id) return "cancelled"]], nil,
        { timeout = { idle = 0.05 } })
      assert.same({ "timeout", "idle", "a" }, { err.kind, err.code, err.partial.text })
    end)

    it("when it takes too long, however much the agent says", function()
      local _, _, err = turn([[repeat text(id, "a") os.execute "sleep 0.01" until false]], { timeout = { stop = 0.05 },
        grace = 0.05 }, { timeout = { total = 0.1 } })
      assert.same({ "timeout", "total" }, { err.kind, err.code })
    end)
  end)

  describe("survives an agent that dies", function()
    local STORED = [[
      agent.init.agentCapabilities = { loadSession = LOAD, sessionCapabilities = { resume = RESUME } }
      agent.on["session/resume"] = function() return {} end
      agent.on["session/load"] = function(params)
        text(params.sessionId, "an old answer")
        update(params.sessionId, { sessionUpdate = "usage_update", used = 9, size = 10, cost = { amount = 3,
          currency = "USD" } })
        return null
      end
      prompt(function(words, id)
        if words == "die" then text(id, "my last words") io.stderr:write "out of ideas\n" os.exit(7) end
        text(id, words .. " in " .. id)
        update(id, { sessionUpdate = "usage_update", used = 9, size = 10, cost = { amount = 4, currency = "USD" } })
        return "end_turn"
      end)]]

    local function begin(load, resume)
      return (bench:session("local FILE, LOAD, RESUME = 'f', " .. load .. ", " .. resume .. "\n" .. STORED))
    end

    it("in a turn: an error with its last words", function()
      local session = begin("true", "null")
      local events, _, err = play(session, "die")
      assert.equal("connect", err.kind)
      assert.is_truthy(err.message:find("exit code 7", 1, true) and err.message:find("out of ideas", 1, true))
      assert.same({ "output my last words" }, short(events))
      assert.equal("dead", session.state)
    end)

    it("in a turn: an error whose last words show none of many secrets", function()
      local env = { LAST_TOKEN = "a secret of words alone" }
      for i = 1, 20 do env["TOKEN_" .. i] = ("the secret of %d"):format(i) end
      local made = bench:options([[prompt(function()
        io.stderr:write(os.getenv "TOKEN_20", " ", ("."):rep(475), os.getenv "LAST_TOKEN") os.exit(7) end)]])
      for name, value in pairs(env) do made.env[name] = value end
      local connection <close> = assert(koine.acp.connect(made))
      local _, err = assert(connection:new()):prompt "die"
      assert.equal("connect", err.kind)
      assert.is_truthy(err.message:find("it said: [redacted] ...", 1, true), err.message)
      assert.is_nil(err.message:find "secret", err.message)
    end)

    for _, how in ipairs { { "true", "{}", "session/resume" }, { "true", "null", "session/load" },
      { "false", "null", "session/new" } } do
      it("and is taken up by " .. how[3], function()
        local session = begin(how[1], how[2])
        assert(session:prompt "one")
        play(session, "die")
        local events, result = play(session, "two")
        assert.same({ "output two in s1" }, short(events))
        assert.equal(how[3] == "session/new" or nil, result.reset)
        assert.equal(how[3] == "session/new" and 2 or 1, #bench:heard "session/new")
        assert.equal(how[3] ~= "session/new" and 1 or 0, #bench:heard "session/resume" + #bench:heard "session/load")
        assert.is_nil(assert(session:prompt "three").reset)
      end)
    end

    it("and begins anew where the agent lost the session", function()
      local session = bench:session [[
        agent.init.agentCapabilities = { loadSession = true, sessionCapabilities = { resume = {} } }
        local function lost() return nil, { code = -32002, message = "not found" } end
        agent.on["session/resume"], agent.on["session/load"] = lost, lost
        prompt(function(words, id) if words == "die" then os.exit(7) end text(id, words) return "end_turn" end)]]
      play(session, "die")
      assert.is_true(assert(session:prompt "two").reset)
      assert.same({ 1, 1, 2 }, { #bench:heard "session/resume", #bench:heard "session/load",
        #bench:heard "session/new" })
    end)

    it("between turns", function()
      local session = bench:session [[prompt(function(words, id)
        text(id, words) say { jsonrpc = "2.0", id = 3, result = { stopReason = "end_turn" } } os.exit(0) end)]]
      assert.equal("one", assert(session:prompt "one").text)
      while session.link:poll() do koine.sleep(0.001) end
      local result = assert(session:prompt "two")
      assert.same({ "two", true }, { result.text, result.reset })
    end)

    it("and takes up a session of another process by its id", function()
      local connection = bench:connect(
        "local FILE, LOAD, RESUME = 'f', true, null\n" .. STORED)
      local session = assert(connection:take_up "s9")
      assert.is_false(session.reset)
      local result = assert(session:prompt "x")
      assert.same({ "x in s9", 1.0 }, { result.text, result.cost_usd })
      assert.equal("s9", assert(connection:load "s9").id)
    end)
  end)

  it("gives what comes between turns to on_update alone", function()
    local between = {}
    local session = bench:session([[
      local new = agent.on["session/new"]
      agent.on["session/new"] = function(params)
        update("s1", { sessionUpdate = "available_commands_update", availableCommands = array { { name = "web" } } })
        return new(params)
      end
      local say_before = agent.on["session/prompt"]
      prompt(function(words, id) text(id, words) return "end_turn" end)]],
      { on_update = function(update, session) between[#between + 1] = { update.sessionUpdate, session.id } end })
    assert.equal("web", session.commands[1].name)
    assert.equal("x", assert(session:prompt "x").text)
    assert.same({ { "available_commands_update", "s1" } }, between)
  end)
end)
