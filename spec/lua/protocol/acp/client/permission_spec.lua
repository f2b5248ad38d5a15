-- Permissions: policies, the host's function, time limits, and what the agent withdraws.

local kit = require "spec.lua.protocol.acp.kit"
local koine = require "koine"
local wait = require "koine.task.wait"

local OPTIONS, short = kit.OPTIONS, kit.short

describe("a turn", function()
  local bench

  before_each(function() bench = kit.bench() end)
  after_each(function() bench:close() end)

  local function turn(...) return bench:turn(...) end

  describe("asks for permission:", function()
    local ASK = [[local function allowed(options, call)
        local reply = ask("session/request_permission", { sessionId = id, toolCall = call or { toolCallId = "t" },
          options = options })
        return reply.outcome.optionId or reply.outcome.outcome
      end
    ]]
    local ALLOW, ALWAYS, REJECT, NEVER, ODD = '{ optionId = "1", name = "n", kind = "allow_once" }',
      '{ optionId = "2", name = "n", kind = "allow_always" }', '{ optionId = "3", name = "n", kind = "reject_once" }',
      '{ optionId = "4", name = "n", kind = "reject_always" }', '{ optionId = "5", name = "n", kind = "new_kind" }'

    local function answer(permission, options, kind)
      local _, result, err = turn(ASK .. ([[text(id, allowed(array { %s }, { toolCallId = "t", kind = %q }))
        return "end_turn"]])
        :format(options, kind or "edit"), { permission = permission })
      return assert(result, err).text, result.calls[1]
    end

    it("each policy, by the kinds of the options", function()
      local ALL = table.concat({ NEVER, ALWAYS, REJECT, ODD, ALLOW }, ", ")
      assert.equal("3", (answer(nil, ALL)))
      assert.equal("3", (answer("deny", ALL)))
      assert.equal("4", (answer("deny", ALWAYS .. "," .. NEVER)))
      assert.equal("cancelled", (answer("deny", ALLOW)))
      assert.equal("cancelled", (answer("deny", "")))
      assert.equal("3", (answer("read", ALL, "edit")))
      assert.equal("1", (answer("read", ALL, "search")))
      assert.equal("3", (answer("read", ALWAYS .. "," .. REJECT, "read")))
      assert.equal("1", (answer("allow", ALL)))
      assert.equal("2", (answer("allow", REJECT .. "," .. ALWAYS)))
      assert.equal("3", (answer("allow", ODD .. "," .. REJECT)))
      assert.equal("cancelled", (answer("allow", ODD)))
    end)

    it("the host's function, which knows what was told of the call", function()
      local seen
      local events, result = turn(ASK .. [[
        update(id, { sessionUpdate = "tool_call", toolCallId = "t", title = "Write", kind = "edit", rawInput = {} })
        text(id, allowed(OPTIONS, { toolCallId = "t", title = "Write a", rawInput = { path = "a" } }))
        return "end_turn"]], { permission = function(request)
        seen = request
        return request.options[2].id
      end })
      assert.same({ "tool_call Write a" .. '{"path":"a"}', "output A" }, short(events))
      assert.same({ "Write a", "edit", { path = "a" }, "t", "s1" }, { seen.title, seen.kind, seen.input,
        seen.tool_call_id, seen.session.id })
      assert.same({ id = "a", name = "Allow", kind = "allow_once" }, seen.options[1])
      assert.is_false(result.calls[1].blocked)
    end)

    it("its nil, its faults and its unknown ids are denials", function()
      local text, call = answer(function() return nil, "not today" end, ALLOW .. "," .. REJECT)
      assert.same({ "3", true, "not today" }, { text, call.blocked, call.reason })
      text, call = answer(function() error "oops" end, ALLOW .. "," .. REJECT)
      assert.same({ "3", true }, { text, call.blocked })
      assert.is_truthy(call.reason:find("oops", 1, true))
      text, call = answer(function() return "99" end, ALLOW .. "," .. REJECT)
      assert.same({ "3", true }, { text, call.blocked })
      text, call = answer(function() return "3" end, ALLOW .. "," .. REJECT)
      assert.same({ "3", true, "denied" }, { text, call.blocked, call.reason })
    end)

    it("with a denial, which is the result of the call where the agent tells none", function()
      local events, result = turn(ASK .. [[
        for _, t in ipairs { "told", "untold" } do
          update(id, { sessionUpdate = "tool_call", toolCallId = t, title = t, rawInput = { x = 1 } })
          allowed(OPTIONS, { toolCallId = t })
        end
        update(id, { sessionUpdate = "tool_call_update", toolCallId = "told", status = "failed", rawOutput = "no" })
        update(id, { sessionUpdate = "tool_call", toolCallId = "ran", title = "ran" })
        allowed(OPTIONS, { toolCallId = "ran" })
        update(id, { sessionUpdate = "tool_call_update", toolCallId = "ran", status = "completed", rawOutput = "yes" })
        text(id, "I may not.")
        return "end_turn"]], { permission = function() return nil, "not today" end })
      assert.same({ 'tool_call told{"x":1}', 'tool_call untold{"x":1}', "tool_result no", "tool_call ran{}",
        "tool_result yes", "output I may not.", "tool_result denied: not today" }, short(events))
      assert.same({ "untold", true }, { events[7].tool_call_id, events[7].is_error })
      for i, call in ipairs(result.calls) do
        assert.same({ i < 3 and "failed" or "completed", i < 3, "not today" },
          { call.status, call.blocked, call.reason })
      end
    end)

    it("but a call that waits when the turn is cancelled has no result", function()
      local events, _, err = turn(ASK .. [[allowed(OPTIONS, { toolCallId = "t" }) return "cancelled"]],
        { permission = function(request) request.session:cancel() end })
      assert.same({ "tool_call t{}" }, short(events))
      assert.equal("cancelled", err.partial.calls[1].status)
    end)

    it("denies what is not in allowed_tools, by name or kind, and marks what ran unasked", function()
      local _, result = turn(ASK .. [[
        for _, name in ipairs { "Bash", "Read", "Write" } do
          update(id, { sessionUpdate = "tool_call", toolCallId = name, title = name, rawInput = { x = 1 },
            kind = name == "Read" and "read" or "execute" })
        end
        for _, name in ipairs { "Bash", "Read" } do
          local chosen = allowed(OPTIONS, { toolCallId = name })
          update(id, { sessionUpdate = "tool_call_update", toolCallId = name, status = chosen == "a"
            and "completed" or "failed" })
        end
        update(id, { sessionUpdate = "tool_call_update", toolCallId = "Write", status = "completed" })
        return "end_turn"]], { permission = "allow", allowed_tools = { "read" } })
      local said = {}
      for i, call in ipairs(result.calls) do said[i] = { call.name, call.blocked, call.reason } end
      assert.same({ { "Bash", true, "not_allowed" }, { "Read", false, nil }, { "Write", false, "not_allowed" } }, said)
    end)

    it("two at once, one answered while the other waits", function()
      local first
      local session = bench:session(OPTIONS .. [[prompt(function(_, id)
        local options, heard = OPTIONS, {}
        for _, one in ipairs { 10, "ten" } do
          say { jsonrpc = "2.0", id = one, method = "session/request_permission",
            params = { sessionId = id, toolCall = { toolCallId = tostring(one) }, options = options } }
        end
        local line = io.read "l" .. "\n" .. io.read "l"
        text(id, line:match '"id":"ten"' and line:find '"ten"' < line:find '"id":10' and "the second first" or line)
        return "end_turn"
      end)]], { permission = function(request)
        if request.tool_call_id == "10" then
          first = {}
          koine.park(first)
          return "a"
        end
        koine.sleep(0.01)
        wait.wake(first)
        return "a"
      end })
      assert.equal("the second first", assert(session:prompt "go").text)
    end)

    it("a time-out rejects", function()
      local _, result = turn(ASK .. [[text(id, allowed(OPTIONS)) return "end_turn"]],
        { permission = function() koine.sleep(kit.SAFETY) end, timeout = { permission = 0.02 } })
      assert.same({ "r", true, "no decision in time" }, { result.text, result.calls[1].blocked,
        result.calls[1].reason })
    end)

    it("stops the clock of silence", function()
      local _, result, err = turn(ASK .. [[text(id, allowed(OPTIONS)) return "end_turn"]],
        { permission = function()
          koine.sleep(0.2)
          return "a"
        end, timeout = { idle = 0.1 } })
      assert.equal("a", assert(result, err).text)
    end)

    it("an agent that withdraws it is told so", function()
      local session = bench:session(OPTIONS .. [[prompt(function(_, id)
        say { jsonrpc = "2.0", id = 5, method = "session/request_permission",
          params = { sessionId = id, toolCall = { toolCallId = "t" }, options = OPTIONS } }
        say { jsonrpc = "2.0", method = "$/cancel_request", params = { requestId = 5 } }
        text(id, io.read "l")
        return "end_turn"
      end)]], { permission = function() koine.sleep(kit.SAFETY) end })
      assert.is_truthy(assert(session:prompt "go").text:find("-32800", 1, true))
    end)

    it("for a session that is not there is an error", function()
      local _, result = turn [[local _, err = ask("session/request_permission", { sessionId = "other",
        toolCall = {}, options = array {} })
        text(id, tostring(err.code)) return "end_turn"]]
      assert.equal("-32602", result.text)
    end)
  end)
end)
