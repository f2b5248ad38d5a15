-- Turns of a served agent: what an editor is told of one, approval, its end. Numbers are those of the plan
-- of tests.

local core = require "koine.core"
local folder = require "spec.support.folder"
local kit = require "spec.lua.protocol.acp.serve.kit"
local koine = require "koine"
local peers = require "spec.lua.net.peers"
local process_kit = require "spec.lua.system.process_kit"

local choose, calls, text = kit.choose, kit.calls, kit.text

describe("a turn of a served agent", function()
  local dir

  before_each(function() dir = folder.new() end)
  after_each(function() folder.remove(dir) end)

  it("tells text and thoughts, each block with an id of its own", function()
    local editor <close> = kit.open { steps = {
      { type = "message", thinking = "Let me see.", content = "All is well." } } }
    local id = editor:session()
    assert.equal("end_turn", editor:prompt(id, "How are things?\nWell?"))
    assert.equal("Let me see.", editor:said "agent_thought_chunk")
    assert.equal("All is well.", editor:said "agent_message_chunk")
    local ids = {}
    for _, one in ipairs(editor.told) do
      assert.equal(id, one.sessionId)
      local update = one.update
      if update.messageId then ids[update.sessionUpdate] = ids[update.sessionUpdate] or update.messageId end
      if update.messageId then assert.equal(ids[update.sessionUpdate], update.messageId) end
    end
    assert.are_not.equal(ids.agent_thought_chunk, ids.agent_message_chunk)
    assert.same({ sessionUpdate = "session_info_update", title = "How are things?" }, editor.told[#editor.told].update)
  end)

  it("tells calls: pending, in_progress, completed or failed, with title, kind and places", function()
    local editor <close> = kit.open { tools = { "look", "fails", "picture" }, steps = {
      calls({ "look", { what = "a.txt" } }, { "fails" }, { "nobody" }, { "look", { what = 3 } }),
      calls { "picture" }, text "Done." } }
    assert.equal("end_turn", editor:prompt(editor:session(dir), "go"))
    assert.equal("c1 pending, c2 pending, c3 pending, c4 pending, c1 in_progress, c1 completed, c2 in_progress, "
      .. "c2 failed, c3 failed, c4 failed, c1#2 pending, c1#2 in_progress, c1#2 completed", editor:statuses())
    local all = editor:calls()
    assert.same({ sessionUpdate = "tool_call", toolCallId = "c1", status = "pending", title = "Look at a.txt",
      name = "look", kind = "read", rawInput = { what = "a.txt" },
      locations = { { path = dir .. "/a.txt" }, { path = "/etc/x", line = 3 } } }, koine.try(function()
        return core.decode(core.encode(all[1]), false)
      end))
    assert.equal("saw a.txt", all[6].content[1].content.text)
    assert.equal("it broke", all[8].content[1].content.text)
    assert.equal("nobody", all[3].title)
    assert.equal("look", all[4].title)
    assert.same({ "a dot", "image/png" }, { all[13].content[1].content.text, all[13].content[2].content.mimeType })
  end)

  it("is a part of what the editor says that its prompt is a part of", function()
    local log = dir .. "/log.jsonl"
    local editor <close> = kit.open { log = log, steps = { text "One.", text "Two." } }
    local id = editor:session()
    local trace, parent = ("0af7"):rep(8), ("b7ad"):rep(4)
    for _, sent in ipairs { ("00-%s-%s-01"):format(trace, parent), "nonsense" } do
      editor:ask("session/prompt", { sessionId = id, prompt = { { type = "text", text = "go" } },
        _meta = { traceparent = sent } })
    end
    local starts = {}
    for _, record in ipairs(assert(koine.observe.read(log))) do
      if record.type == "agent" and record.phase == "start" then starts[#starts + 1] = record end
    end
    assert.same({ trace, parent }, { starts[1].trace, starts[1].parent })
    assert.is_nil(starts[2].parent)
    assert.equal(2, #starts)
  end)

  it("ends as the run ended", function()
    local function ends(config)
      local editor <close> = kit.open(config)
      return editor:prompt(editor:session(), "go"), editor:said "agent_message_chunk"
    end
    assert.same({ "max_tokens", "Cut" }, { ends { steps = { { type = "answer", content = "Cut",
      stop_reason = "max_tokens" } } } })
    assert.equal("max_turn_requests", (ends { stop = "steps", tools = { "fails" }, steps = { calls { "fails" } } }))
    local usage = { input_tokens = 5, output_tokens = 5 }
    local first = calls { "fails" }
    first.usage = usage
    assert.same({ "end_turn", "[stopped: tokens]" },
      { ends { stop = "tokens", tools = { "fails" }, steps = { first } } })
  end)

  it("that is refused is said, and forgotten", function()
    local editor <close> = kit.open { store = dir .. "/store", steps = { text "Yes.",
      { type = "answer", content = { { type = "refusal", text = "Never." } }, stop_reason = "refusal" } } }
    local id = editor:session()
    editor:prompt(id, "one")
    assert.equal("refusal", editor:prompt(id, "two"))
    assert.equal("Yes.Never.", editor:said "agent_message_chunk")
    editor.told = {}
    editor:ask("session/load", { sessionId = id, cwd = dir, mcpServers = core.array {} })
    assert.equal("one", editor:said "user_message_chunk")
  end)

  it("that fails is an error with its words, and one of credentials asks for a login", function()
    local editor <close> = kit.open { steps = {
      { type = "error", error = { status = 529, type = "overloaded_error", message = "too busy" } },
      { type = "error", error = { status = 401, message = "no such key" } }, text "Now." } }
    local id = editor:session()
    local params = { sessionId = id, prompt = { { type = "text", text = "go" } } }
    local code, words = editor:refused("session/prompt", params)
    assert.same({ -32603, true }, { code, words:find "too busy" ~= nil })
    assert.equal(-32000, (editor:refused("session/prompt", params)))
    assert.equal("end_turn", editor:prompt(id, "again"))
  end)

  it("tells what the context holds", function()
    local step = text "Hi."
    step.usage = { input_tokens = 100, output_tokens = 20, cache_read_tokens = 3, cache_creation_tokens = 0 }
    local editor <close> = kit.open { steps = { step } }
    editor:prompt(editor:session(), "go")
    local found
    for _, one in ipairs(editor.told) do
      if one.update.sessionUpdate == "usage_update" then found = one.update end
    end
    assert.same({ 123, 1000 }, { found.used, found.size })
  end)

  it("[30] has all its updates before its answer, whatever their number", function()
    local long = ("word "):rep(20000)
    local step = { type = "answer", content = long, chunk = 20 }
    local editor <close> = kit.open { steps = { step } }
    local id = editor:session()
    editor:prompt(id, "go")
    assert.equal(long, editor:said "agent_message_chunk")
    assert.is_true(#editor.told >= 5000)
  end)

  it("[30] stops while the editor does not read", function()
    local step = { type = "answer", fill = 4 << 20, chunk = 16 << 10 }
    local editor <close> = kit.open({ steps = { step, text "no" } })
    local id = editor:session()
    editor.peer:close() -- nobody reads any more
    assert(editor.program:write(core.encode { jsonrpc = "2.0", id = 77, method = "session/prompt", params = {
      sessionId = id, prompt = { { type = "text", text = "go" } } } } .. "\n"))
    assert(editor.program:write(core.encode { jsonrpc = "2.0", method = "session/cancel",
      params = { sessionId = id } } .. "\n"))
    local got, line = 0, {}
    while line.id ~= 77 do
      line = core.decode(assert(editor.program:line()))
      if line.method and line.params.update.content then got = got + #line.params.update.content.text end
    end
    assert.equal("cancelled", line.result.stopReason)
    assert.is_true(got < 2 << 20, got)
  end)

  describe("[31] asks before a call", function()
    local STEPS = { calls { "pay" }, text "one", calls { "pay" }, text "two" }

    local function open(answer, config)
      config = config or {}
      config.tools, config.steps = { "pay" }, STEPS
      return kit.open(config, { requests = { ["session/request_permission"] = answer } })
    end

    it("and runs it once allowed", function()
      local editor <close> = open(function() return choose "allow" end)
      local id = editor:session()
      for _ = 1, 2 do assert.equal("end_turn", editor:prompt(id, "go")) end
      assert.equal(2, #editor.asked)
      local asked = editor.asked[1].params
      assert.same({ id, "c1", "Pay", "pending" },
        { asked.sessionId, asked.toolCall.toolCallId, asked.toolCall.title, asked.toolCall.status })
      local kinds = {}
      for i, option in ipairs(asked.options) do kinds[i] = option.kind end
      assert.same({ "allow_once", "allow_always", "reject_once" }, kinds)
      assert.truthy(editor:statuses():find "c1 in_progress, c1 completed")
    end)

    it("and not again where that is always allowed, as long as the session is open", function()
      local editor <close> = open(function() return choose "allow_always" end)
      local id = editor:session()
      for _ = 1, 2 do editor:prompt(id, "go") end
      assert.equal(1, #editor.asked)
      assert.equal("onetwo", editor:said "agent_message_chunk")
    end)

    it("and once for all of a step that are allowed with the first", function()
      local editor <close> = kit.open({ tools = { "pay" }, steps = { calls({ "pay" }, { "pay" }), text "ok" } },
        { requests = { ["session/request_permission"] = function() return choose "allow_always" end } })
      assert.equal("end_turn", editor:prompt(editor:session(), "go"))
      assert.equal(1, #editor.asked)
      assert.truthy(editor:statuses():find "c2 completed")
    end)

    it("and offers nothing for ever where the host does not want it", function()
      local editor <close> = open(function() return choose "allow_always" end, { serve = { always = false } })
      local id = editor:session()
      editor:prompt(id, "go")
      assert.equal(2, #editor.asked[1].params.options)
      assert.equal("c1 pending, c1 failed", editor:statuses())
    end)

    it("and tells the model that it was rejected, or could not be asked", function()
      for _, answer in ipairs { function() return choose "reject" end, function() error "no window" end,
        function() return {} end } do
        local editor <close> = open(answer)
        local id = editor:session()
        assert.equal("end_turn", editor:prompt(id, "go"))
        assert.equal("c1 pending, c1 failed", editor:statuses())
        assert.truthy(editor:calls()[2].content[1].content.text:find "^denied: ")
      end
    end)

    it("and takes what is no answer for a rejection", function()
      local odd = { core.null, false }
      local editor <close> = open(function() return table.remove(odd, 1) end)
      local id = editor:session()
      for _ = 1, 2 do assert.equal("end_turn", editor:prompt(id, "go")) end
      assert.equal("c1 pending, c1 failed, c1#2 pending, c1#2 failed", editor:statuses())
    end)

    it("and ends the turn where that was cancelled", function()
      local editor <close> = open(function() return { outcome = { outcome = "cancelled" } } end)
      local id = editor:session()
      assert.equal("cancelled", editor:prompt(id, "go"))
      assert.equal("c1 pending, c1 failed", editor:statuses())
      assert.equal(1, #editor.asked)
    end)

    it("and ends while it waits, though the editor never answers", function()
      koine.run(function()
        local editor <close> = open(function() koine.sleep(600) end)
        local id = editor:session()
        local turn = koine.spawn(function() return editor:prompt(id, "go") end)
        editor:await(function() return #editor.asked == 1 end)
        editor.peer:notify("session/cancel", { sessionId = id })
        assert.equal("cancelled", turn:wait())
      end)
    end)

    it("of those that the host names too", function()
      local editor <close> = kit.open({ approval_of = "look", tools = { "look" },
        steps = { calls { "look", { what = "x" } }, text "ok" } },
        { requests = { ["session/request_permission"] = function() return choose "allow" end } })
      editor:prompt(editor:session(), "go")
      assert.equal(1, #editor.asked)
    end)
  end)

  describe("is cancelled", function()
    it("[29] while the model is silent, and the session goes on", function()
      koine.run(function()
        local editor <close> = kit.open { steps = { text "Here." } }
        local id = editor:session()
        local turn = koine.spawn(function() return editor:prompt(id, "be silent") end)
        koine.sleep(0)
        editor.peer:notify("session/cancel", { sessionId = id })
        assert.equal("cancelled", turn:wait())
        assert.equal("end_turn", editor:prompt(id, "more"))
        assert.equal("Here.", editor:said "agent_message_chunk")
      end)
    end)

    it("by the id of its request, and so are those that wait for it", function()
      koine.run(function()
        local editor <close> = kit.open { tools = { "sleep" }, steps = { calls { "sleep", { file = dir .. "/pids" } },
          text "no" } }
        local id = editor:session()
        local first = koine.spawn(function() return editor:prompt(id, "one") end)
        local second = koine.spawn(function() return editor:prompt(id, "two") end)
        editor:await(function() return editor:statuses():find "c1 in_progress" end)
        editor.peer:notify("$/cancel_request", { requestId = 4 }) -- after initialize, session/new and the first prompt
        assert.equal("cancelled", second:wait() and "cancelled" or nil)
        editor.peer:notify("$/cancel_request", { requestId = 3 })
        assert.equal("cancelled", first:wait())
        assert.truthy(editor:statuses():find "c1 failed")
      end)
    end)
  end)

  it("is cancelled with those that wait for it", function()
    koine.run(function()
      local editor <close> = kit.open { tools = { "sleep" }, steps = { calls { "sleep", { file = dir .. "/pids" } },
        text "ok" } }
      local id, turns = editor:session(), {}
      for i = 1, 3 do turns[i] = koine.spawn(function() return editor:prompt(id, "go") end) end
      editor:await(function() return editor:statuses():find "c1 in_progress" end)
      editor.peer:notify("session/cancel", { sessionId = id })
      assert.equal("end_turn", editor:prompt(id, "go"))
      for i = 1, 3 do assert.equal("cancelled", turns[i]:wait()) end
    end)
  end)

  it("[32] goes on beside that of another session", function()
    koine.run(function()
      local release = {}
      local editor <close> = kit.open({ by_session = true, tools = { "pay" }, steps = {
        { calls { "pay" }, text "first" }, { text "second", text "third" } } },
        { requests = { ["session/request_permission"] = function()
          koine.park(release)
          return choose "allow"
        end } })
      local one, two = editor:session(), editor:session()
      local turn = koine.spawn(function() return editor:prompt(one, "go") end)
      editor:await(function() return #editor.asked == 1 end)
      assert.equal("end_turn", editor:prompt(two, "go"))
      assert.equal("end_turn", editor:prompt(two, "go"))
      assert.equal("secondthird", editor:said("agent_message_chunk", two))
      koine.wake(release)
      assert.equal("end_turn", turn:wait())
      assert.equal("first", editor:said("agent_message_chunk", one))
    end)
  end)

  for name in pairs(peers.loops()) do
    it("is the same in " .. name, function()
      local editor <close> = kit.open({ loop = name, tools = { "pay", "sleep" }, steps = { calls { "pay" },
        text "Paid.", calls { "sleep", { file = dir .. "/pids" } } } },
        { requests = { ["session/request_permission"] = function() return choose "allow" end } })
      koine.run(function()
        local id = editor:session()
        assert.equal("end_turn", editor:prompt(id, "go"))
        assert.equal("Paid.", editor:said "agent_message_chunk")
        local turn = koine.spawn(function() return editor:prompt(id, "sleep") end)
        editor:await(function() return editor:statuses():find "c1#2 in_progress" end)
        editor.peer:notify("session/cancel", { sessionId = id })
        assert.equal("cancelled", turn:wait())
        assert.equal(0, editor:finish().code)
        assert.equal("after\ttrue\tnil", editor.peer.said)
      end)
    end)
  end

  it("[33] ends with the editor, and leaves no process behind", function()
    koine.run(function()
      local file = dir .. "/pids"
      local editor <close> = kit.open { tools = { "sleep" }, steps = { calls { "sleep", { file = file } } } }
      local id, stop = editor:session(), nil
      koine.spawn(function() stop = editor:prompt(id, "go") end)
      editor:await(function() return process_kit.read(file .. ".ready") ~= "" end)
      local done = editor:finish()
      assert.same({ 0, "cancelled" }, { done.code, stop })
      assert.equal(0, process_kit.survivors(file .. ".ready"))
    end)
  end)

  it("[34] hears no stray print", function()
    local editor <close> = kit.open { tools = { "shout" }, steps = { calls { "shout" }, text "ok" } }
    assert.equal("end_turn", editor:prompt(editor:session(), "go"))
    assert.equal(0, editor.peer.counts.stray)
    local done = editor:finish()
    for _, word in ipairs { "print", "write", "child" } do assert.truthy(done.stderr:find("stray " .. word), word) end
    assert.equal(1, editor.peer.counts.stray) -- what the program prints afterwards
    assert.equal("after\ttrue\tnil", editor.peer.said)
  end)
end)
