-- What an observer is told of dispatchers: turns with all their parts, and what becomes of messages.

local chat_lab = require "spec.lua.dispatch.kit"
local core = require "koine.core"
local koine = require "koine"
local observed = require "spec.lua.data.observer.kit"

local thread, message = chat_lab.thread, chat_lab.message

local function step_out(d)
  repeat until not d:step()
end

-- "type phase" of the records of these types.
local function lines_of(records, types)
  local list = {}
  for _, record in ipairs(records) do
    if types[record.type] then list[#list + 1] = record.type .. " " .. record.phase end
  end
  return list
end

describe("an observed dispatcher", function()
  it("is one tree a turn: turn, run, chat, attempt; its chats have the session as their conversation", function()
    local server <close> = assert(koine.testing.start { script = { { content = "Hello." } } })
    local observer, records = observed.keep()
    local d = koine.dispatcher { observer = observer, mode = "per-thread", target = koine.dispatcher.agents(function()
      return koine.agent { adapter = koine.anthropic { model = "claude-sonnet-4-5", key = "test-key",
        base_url = server.url } }
    end) }
    for i = 1, 2 do d:submit(thread "T1", message(i == 1 and "alice" or "bob", "canary")) end
    step_out(d)
    observed.check(records)
    assert.are.same({ "queued point", "queued point", "turn start", "agent start", "chat start", "attempt start",
      "attempt end", "chat end", "agent end", "turn end" }, observed.lines(records))
    local start, over = records[3], records[#records]
    assert.are.same({ "slack:T1", "per-thread", 2, 2 }, { start.session, start.mode, start.messages, start.senders })
    assert.is_true(start.blocks >= 2 and start.waited >= 0)
    for i = 4, 6 do assert.are.equal(records[i - 1].id, records[i].parent) end
    assert.are.equal("slack:T1", records[5].conversation)
    assert.are.same({ "ok", 2, "slack:T1", "slack" }, { over.outcome, over.events_per_dispatch, over.session_key,
      over.adapter })
    assert.is_nil(over.error)
    local text = core.encode(records)
    for _, word in ipairs { "canary", "alice", "Hello" } do assert.is_nil(text:find(word, 1, true), word) end
  end)

  it("tells the outcomes of its turns, and messages that are dropped", function()
    local observer, records = observed.keep()
    local outcomes = { "ok", "error", "cancelled" }
    local n, d = 0, nil
    d = koine.dispatcher { observer = observer, target = { run_turn = function(_, _, _, ctx)
      n = n + 1
      assert(ctx.observe)
      if n == 1 then return "fine" end
      if n == 2 then error "out of tea" end
      d:submit(thread "T1", message("alice", "late"))
      d:cancel_all(thread "T1")
      return nil, "gone"
    end } }
    for i = 1, 3 do
      d:submit(thread "T1", message("alice", "m" .. i))
      step_out(d)
    end
    d:submit(thread "T2", message("alice", "lost"))
    d:shutdown()
    step_out(d)
    observed.check(records)
    local ends, dropped = observed.of(records, "turn", "end"), observed.of(records, "dropped", "point")
    for i, outcome in ipairs(outcomes) do assert.are.equal(outcome, ends[i].outcome) end
    assert.is_truthy(ends[2].error.message:find("out of tea", 1, true))
    assert.are.same({ "slack:T1", 1, "cancelled" }, { dropped[1].session, dropped[1].messages, dropped[1].reason })
    assert.are.same({ "slack:T2", 1, "closed" }, { dropped[2].session, dropped[2].messages, dropped[2].reason })
    assert.are.equal(2, #dropped)
    assert.are.equal(5, #lines_of(records, { queued = true }))
  end)

  it("ends a turn that is closed in the middle", function()
    local observer, records = observed.keep()
    local now = 0
    local d = koine.dispatcher { observer = observer, now_ms = function() return now end,
      target = { run_turn = function() while true do coroutine.yield() end end } }
    d:submit(thread "T1", message("alice", "m"))
    d:step()
    d:cancel_turn(thread "T1")
    now = 60000
    d:sweep()
    step_out(d)
    observed.check(records)
    assert.are.equal("cancelled", observed.of(records, "turn", "end")[1].outcome)
  end)

  it("goes on where the observer may be told of no more: in its work with the records of its own work", function()
    local played, others, depth = {}, {}, 0
    local observer = koine.observe.new { to = function(record)
      if record.type ~= "queued" then return end
      depth = depth + 1
      if depth > 2 then return end
      others[depth]:submit(thread("T" .. depth), message("alice", "m"))
      step_out(others[depth])
    end }
    local function new(name)
      return koine.dispatcher { observer = observer, mode = "per-thread", target = { cancel = print, reset = print,
        ensure_session = function() return true end, run_turn = function(_, key)
          played[#played + 1] = name .. key
          return "done"
        end } }
    end
    others[1], others[2] = new "first ", new "second "
    local d = new "outer "
    d:submit(thread "T0", message("alice", "m"))
    step_out(d)
    assert.are.same({ "first slack:T1", "second slack:T2", "outer slack:T0" }, played)
  end)

  it("is the same on a store", function()
    local observer, records = observed.keep()
    local n = 0
    local d = koine.dispatcher.shared { store = koine.store.memory(), observer = observer,
      target = { run_turn = function(_, _, _, ctx)
        n = n + 1
        assert.are.equal(#observed.of(records, "turn", "start"), n)
        if n == 2 then return nil, "no" end
        return tostring(ctx.observe)
      end } }
    for i = 1, 2 do assert(d:submit(thread "T1", message("alice", "m" .. i))) end
    repeat until not d:step()
    assert(d:submit(thread "T1", message("alice", "m3")))
    assert(d:cancel_all(thread "T1"))
    repeat until not d:step()
    observed.check(records)
    assert.are.same({ "turn start", "turn end", "turn start", "turn end", "dropped point" },
      lines_of(records, { turn = true, dropped = true }))
    local ends = observed.of(records, "turn", "end")
    assert.are.same({ "ok", "error" }, { ends[1].outcome, ends[2].outcome })
    assert.are.equal(3, #lines_of(records, { queued = true }))
  end)
end)
