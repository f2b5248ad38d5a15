-- Turns: what an agent says as events, how it ends, what it used and cost; blocks that go out.

local core = require "koine.core"
local kit = require "spec.lua.protocol.acp.kit"
local koine = require "koine"

local short = kit.short

describe("a turn", function()
  local bench

  before_each(function() bench = kit.bench() end)
  after_each(function() bench:close() end)

  local function turn(...) return bench:turn(...) end

  for name, loop in pairs(kit.all) do
    it("is pulled event by event in " .. name, function()
      loop(function()
        local session = bench:session [[prompt(function(_, id)
          text(id, "one", "m1") text(id, "two", "m2") return "end_turn" end)]]
        local begun <close> = assert(session:start "go")
        local seen = {}
        for event in begun do seen[#seen + 1] = event.content end
        assert.same({ "one", "two" }, seen)
        local result = assert(begun:result())
        assert.same({ "completed", "end_turn", "one\n\ntwo" }, { result.status, result.stop_reason, result.text })
        assert.equal("idle", session.state)
        session:close()
      end)
    end)
  end

  describe("makes messages of chunks:", function()
    it("one of those without ids, ended by a thought, a tool call, the turn", function()
      local events, result = turn [[
        text(id, "") text(id, "a") text(id, "") text(id, "b")
        update(id, { sessionUpdate = "agent_thought_chunk", content = { type = "text", text = "hm" } })
        text(id, "c")
        update(id, { sessionUpdate = "plan", entries = array {} })
        text(id, "d")
        update(id, { sessionUpdate = "tool_call", toolCallId = "t", title = "T" })
        text(id, "e") text(id, "")
        return "end_turn"]]
      assert.same({ "output ab", "reasoning hm", "output cd", "output e", "tool_call T{}" }, short(events))
      assert.same({ "ab", "cd", "e" }, { table.unpack(result.outputs) })
    end)

    it("one for each id", function()
      local events = turn [[
        text(id, "a", "m1") text(id, "b", "m1") text(id, "c", "m2") text(id, "", "m3") text(id, "d", "m2")
        return "end_turn"]]
      assert.same({ "output ab", "output cd" }, short(events))
    end)

    it("also of what is no text, and none of the user's", function()
      local events = turn [[
        update(id, { sessionUpdate = "user_message_chunk", content = { type = "text", text = "go" } })
        for _, block in ipairs { { type = "resource_link", uri = "file:///a", name = "a" }, { type = "image",
          data = "" },
          { type = "resource", resource = { text = "T", uri = "u" } }, null, 5 } do
          update(id, { sessionUpdate = "agent_message_chunk", content = block })
        end
        return "end_turn"]]
      assert.same({ "output file:///a[image]T" }, short(events))
    end)

    it("and tells them as they come", function()
      local deltas, updates = {}, {}
      turn([[
        text(id, "a") text(id, "b")
        update(id, { sessionUpdate = "agent_thought_chunk", content = { type = "text", text = "c" } })
        update(id, { sessionUpdate = "next_year", x = 1 })
        return "end_turn"]], nil,
          { on_delta = function(delta) deltas[#deltas + 1] = delta.type .. " " .. delta.text end,
        on_update = function(update) updates[#updates + 1] = update.sessionUpdate end })
      assert.same({ "text_delta a", "text_delta b", "thinking_delta c" }, deltas)
      assert.same({ "agent_message_chunk", "agent_message_chunk", "agent_thought_chunk", "next_year" }, updates)
    end)
  end)

  describe("makes events of tool calls:", function()
    it("a call when its input is known, as claude-agent-acp tells it", function()
      local events, result = turn [[
        update(id, { sessionUpdate = "tool_call", toolCallId = "t1", title = "Write", kind = "edit", status = "pending",
          rawInput = {}, content = array {}, locations = array {}, _meta = { claudeCode = { toolName = "Write" } } })
        update(id, { sessionUpdate = "tool_call_update", toolCallId = "t1", title = "Write a.txt",
          rawInput = { path = "a.txt" },
          locations = array { { path = "/w/a.txt", line = 3 }, { line = 1 } } })
        update(id, { sessionUpdate = "tool_call_update", toolCallId = "t1", status = "completed", content = array {
          { type = "diff", path = "/w/a.txt", oldText = null, newText = "new" },
          { type = "content", content = { type = "text", text = "ok" } } } })
        update(id, { sessionUpdate = "tool_call_update", toolCallId = "t1", status = "completed" })
        return "end_turn"]]
      assert.same({ "tool_call", "tool_result" }, { events[1].kind, events[2].kind })
      local call, result_event = events[1], events[2]
      assert.same({ "Write", '{"path":"a.txt"}', "t1", "edit" },
        { call.tool_name, call.tool_input, call.tool_call_id, call.tool_kind })
      assert.same({ { path = "/w/a.txt", line = 3 } }, { table.unpack(call.locations) })
      assert.same({ "/w/a.txt\nok", "t1", { path = "/w/a.txt", new = "new" } },
        { result_event.content, result_event.tool_call_id, result_event.diffs[1] })
      assert.is_nil(result_event.is_error)
      assert.equal(2, #events)
      assert.same({ "Write", "edit", "completed", false }, { result.calls[1].name, result.calls[1].kind,
        result.calls[1].status, result.calls[1].blocked })
    end)

    it("a call without updates at the end, an update without a call as both", function()
      local events, result = turn [[
        update(id, { sessionUpdate = "tool_call", toolCallId = "t1", title = "Think" })
        update(id, { sessionUpdate = "tool_call_update", toolCallId = "t2", title = "Run", status = "failed",
          rawOutput = { code = 1 } })
        update(id, { sessionUpdate = "tool_call_update", status = "failed" })
        return "end_turn"]]
      assert.same({ "tool_call Run{}", 'tool_result {"code":1}', "tool_call Think{}" }, short(events))
      assert.is_true(events[2].is_error)
      assert.same({ "cancelled", "failed" }, { result.calls[1].status, result.calls[2].status })
    end)

    it("what a command printed, where the agent tells it beside the call, as codex-acp does", function()
      local events = turn [[
        local function call(t, content)
          update(id, { sessionUpdate = "tool_call", toolCallId = t, title = t, status = "in_progress",
            content = content })
        end
        local function ended(t, key, words, content)
          update(id, { sessionUpdate = "tool_call_update", toolCallId = t, status = "completed", content = content,
            rawOutput = "raw", _meta = { [key] = { data = words, terminal_id = t }, terminal_exit = {} } })
        end
        call("a", array { { type = "terminal", terminalId = "a" } })
        update(id, { sessionUpdate = "tool_call_update", toolCallId = "a",
          _meta = { terminal_output_delta = { data = "one\n", terminal_id = "a" } } })
        ended("a", "terminal_output_delta", "two\n")
        call("b")
        ended("b", "terminal_output", "three")
        call("c")
        ended("c", "terminal_output", 3)
        call("d")
        ended("d", "terminal_output", "four", array { { type = "content", content = { type = "text", text = "x" } } })
        return "end_turn"]]
      assert.same({ "tool_call a{}", "tool_result one\ntwo\n", "tool_call b{}", "tool_result three", "tool_call c{}",
        "tool_result raw", "tool_call d{}", "tool_result x" }, short(events))
    end)

    it("two at once", function()
      local events = turn [[
        for _, t in ipairs { "a", "b" } do
          update(id, { sessionUpdate = "tool_call", toolCallId = t, title = t, status = "in_progress" })
        end
        for _, t in ipairs { "b", "a" } do
          update(id, { sessionUpdate = "tool_call_update", toolCallId = t, status = "completed",
            rawOutput = "of " .. t })
        end
        return "end_turn"]]
      assert.same({ "tool_call a{}", "tool_call b{}", "tool_result of b", "tool_result of a" }, short(events))
    end)

    it("and bounds what a turn may say", function()
      local _, _, err = turn([[
        for i = 1, 100 do text(id, ("x"):rep(1000)) end
        until_cancelled(id)
        return "cancelled"]], { output_max = 50000 })
      assert.same({ "limit", "output" }, { err.kind, err.code })
      assert.is_true(#err.partial.text < 50000)
    end)
  end)

  describe("ends with", function()
    local ENDS = { end_turn = "completed end_turn", max_tokens = "completed max_tokens", refusal = "completed refusal",
      max_turn_requests = "stopped max_turn_requests", cancelled = "cancelled cancelled",
        new_word = "completed end_turn" }
    for word, expected in pairs(ENDS) do
      it("the stop reason " .. word, function()
        local _, result = turn(("return %q"):format(word))
        assert.equal(expected, result.status .. " " .. result.stop_reason)
        assert.equal(word, result.raw_stop_reason)
        assert.equal(word == "new_word" and 1 or 0, #result.warnings)
        assert.equal(word == "max_tokens" or nil, result.truncated)
        assert.equal(({ max_turn_requests = "limit:max_rounds", cancelled = "cancelled" })[word], result.reason)
        assert.is_true(result.usage.incomplete)
      end)
    end

    it("an error of the agent, which keeps what was said", function()
      local _, _, err = turn [[text(id, "so far") return nil, { code = -32603,
        message = "Internal error: API Error: 400" }]]
      assert.same({ "server", "-32603", "Internal error: API Error: 400", "so far" },
        { err.kind, err.code, err.message, err.partial.text })
      local _, _, details = turn [[return nil, { code = -32603, message = "Internal error",
        data = { details = "no rollout found" } }]]
      assert.same({ "server", "Internal error: no rollout found" }, { details.kind, details.message })
      local _, _, login = turn [[return nil, { code = -32000, message = "log in" }]]
      assert.same({ "auth", "AuthenticationError" }, { login.kind, login.class })
      local _, _, foreign = turn [[return nil, { code = -32800, message = "cancelled" }]]
      assert.equal("cancelled", foreign.kind)
    end)

    it("what it used, in each form", function()
      local _, result = turn [[
        return { stopReason = "end_turn", usage = { inputTokens = 5, outputTokens = 7,
        cachedReadTokens = 3, cachedWriteTokens = null, thoughtTokens = 2, totalTokens = 17 } }]]
      assert.same({ input_tokens = 5, output_tokens = 7, cache_read_tokens = 3, reasoning_tokens = 2 }, result.usage)
      _, result = turn [[return { stopReason = "end_turn",
        _meta = { quota = { token_count = { input_tokens = 1, output_tokens = 2 } } } }]]
      assert.same({ input_tokens = 1, output_tokens = 2 }, result.usage)
      _, result = turn [[return { stopReason = "end_turn", usage = { inputTokens = 5.5, outputTokens = "7" } }]]
      assert.same({ incomplete = true }, result.usage)
    end)
  end)

  it("costs the difference to the turn before, in dollars", function()
    local session = bench:session [[local n = 0
      prompt(function(words, id)
        n = n + 1
        if words ~= "free" then
          local amount = words == "anew" and 0.25 or n
          update(id, { sessionUpdate = "usage_update", used = n, size = 100,
            cost = { amount = amount / 4, currency = "USD" } })
          update(id, { sessionUpdate = "usage_update", used = n, size = 100,
            cost = { amount = amount / 2, currency = words == "euro" and "EUR" or "USD" } })
        end
        return "end_turn"
      end)]]
    local function cost(words) return assert(session:prompt(words)).cost_usd end
    assert.equal(0.5, cost "a")
    assert.equal(0.5, cost "b")
    assert.same({ used = 2, size = 100 }, session.context)
    assert.is_nil(cost "free")
    assert.equal(0.0, cost "euro" - 0)
    assert.equal(0.125, cost "anew")
  end)

  it("answers methods that it does not know", function()
    local _, result = turn [[
      local _, one = ask("fs/read_text_file", { sessionId = id, path = "/etc/passwd" })
      local _, two = ask("terminal/create", { sessionId = id, command = "id" })
      local _, three = ask("_x/y", {})
      text(id, one.code .. two.code .. three.code) return "end_turn"]]
    assert.equal("-32601-32601-32601", result.text)
  end)

  it("keeps plan, title and mode", function()
    local _, _, _, session = turn [[
      update(id, { sessionUpdate = "plan", entries = array { { content = "do", priority = "high",
        status = "pending" } } })
      update(id, { sessionUpdate = "session_info_update", title = "A title" })
      return "end_turn"]]
    assert.same({ "do", "A title" }, { session.plan[1].content, session.title })
  end)

  describe("takes blocks", function()
    local ECHO = [[prompt(function(_, id, params)
      text(id, require('koine.core').encode(params.prompt)) return 'end_turn' end)]]
    local PNG, TEXT = koine.image { source = "iVBORw0KGgo=", media_type = "image/png" },
      koine.document { source = koine.base64 "Hi", media_type = "text/plain", title = "a.txt" }
    local PDF = koine.document { source = koine.base64 "%PDF", media_type = "application/pdf", title = "b" }
    local LINK = koine.image { source = "https://example.org/x/y.png?z" }

    local function sent(can, blocks)
      local session = bench:session("agent.init.agentCapabilities = { promptCapabilities = " .. can .. " }\n" .. ECHO)
      local result, err = session:prompt(blocks)
      return result and core.decode(result.text), err
    end

    it("in their order, unchanged", function()
      assert.same({ { type = "text", text = "a" }, { type = "text", text = "" }, { type = "text", text = "b" } },
        { table.unpack((sent("{}", { koine.text { text = "a" }, koine.text { text = "" },
          koine.text { text = "b" } }))) })
    end)

    it("of media where the agent takes them, and links always", function()
      assert.same({ { type = "image", data = "iVBORw0KGgo=", mimeType = "image/png" },
        { type = "resource", resource = { uri = "file:///a.txt", mimeType = "text/plain", text = "Hi" } },
        { type = "resource", resource = { uri = "file:///b", mimeType = "application/pdf",
          blob = koine.base64 "%PDF" } } },
        { table.unpack((sent("{ image = true, embeddedContext = true }", { PNG, TEXT, PDF }))) })
      assert.same({ { type = "text", text = "--- a.txt ---\nHi" },
        { type = "resource_link", uri = LINK.source, name = "y.png" } }, { table.unpack((sent("{}", { TEXT, LINK }))) })
    end)

    it("and names the one that it cannot send", function()
      local _, err = sent("{}", { TEXT, PNG })
      assert.same({ "invalid_request", "block" }, { err.kind, err.code })
      assert.is_truthy(err.message:find("blocks[2]: the agent takes no images", 1, true))
      assert.is_truthy(select(2, sent("{ image = true }", { PDF })).message:find("blocks[1]", 1, true))
    end)
  end)
end)
