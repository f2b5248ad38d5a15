-- The dispatcher: lanes, the sessions that they share, and idleness.

local chat_lab = require "spec.lua.dispatch.kit"
local coroutines = require "koine.dispatch.coroutines"
local koine = require "koine"
local wait = require "koine.task.wait"

-- The lanes that hold something, as the dispatcher names them in its records: submits, lets all turns end.
local function keys(mode, submits)
  local lab = chat_lab.new { mode = mode }
  for _, one in ipairs(submits) do assert.is_true(lab:say(one[1], one[2], "m")) end
  lab:settle()
  while lab.turns[1] do lab:finish() end
  local seen = {}
  for i, record in ipairs(lab.records) do seen[i] = record.thread_key end
  table.sort(seen)
  return seen
end

describe("lanes", function()
  it("15: two senders share the lane of their thread", function()
    assert.are.same({ "discord:T1" }, keys("per-thread", { { "discord:T1", "alice" }, { "discord:T1", "bob" } }))
  end)

  it("16: are of senders in per-lane; other threads and platforms have others", function()
    assert.are.same({ "discord:T1:Ualice", "discord:T1:Ubob", "discord:T2:Ualice", "slack:T1:Ualice" },
      keys("per-lane", { { "discord:T1", "alice" }, { "discord:T1", "bob" }, { "discord:T2", "alice" },
        { "slack:T1", "alice" } }))
  end)

  it("58, D5: ids that contain colons are not confused", function()
    local lab = chat_lab.new { mode = "per-lane", max_buffered_messages = 1 }
    local function say(id, sender_id)
      local message = chat_lab.message("x", id .. "/" .. sender_id)
      message.sender.sender_id = sender_id
      return lab.d:submit({ platform = "slack", thread_id = id }, message)
    end
    assert.is_true(say("T", "1:U"))
    assert.is_true(say("T:1", "U"))
    assert.are.equal(2, lab.d:stats().lanes)
    assert.are.equal(2, lab.d:stats().threads)
    lab:settle()
    assert.are.same({ "slack:T", "slack:T:1" }, { lab.turns[1].key, lab.turns[2].key })
    assert.are.same({ dropped = 0, in_flight = 1 }, lab.d:cancel_all { platform = "slack", thread_id = "T" })
    lab:settle()
    assert.are.equal("slack:T:1", lab.turns[1].key)
  end)

  it("a thread without an id is its channel", function()
    local lab = chat_lab.new()
    lab.d:submit({ platform = "slack", channel_id = "C1" }, chat_lab.message("alice", "root"))
    lab:settle()
    assert.are.equal("slack:C1", lab:finish().key)
    assert.are.equal("C1", lab.records[1].channel_id)
  end)

  it("a thread without a channel stands for it in the record, and in what shutdown loses", function()
    local lab = chat_lab.new()
    local at = { platform = "slack", thread_id = "T1" }
    lab.d:submit(at, chat_lab.message("alice", "m1"))
    lab:settle()
    lab:finish()
    assert.are.equal("T1", lab.records[1].channel_id)
    lab.d:submit(at, chat_lab.message("alice", "m2"))
    assert.are.equal("T1", lab.d:shutdown()[1].channel)
  end)

  it("33: what else an address carries makes no other lane, and is kept", function()
    local lab, seen = chat_lab.new(), {}
    local d = koine.dispatcher { mode = "per-thread", target = lab.target, on_done = function(_, at) seen[1] = at end,
      on_dispatch = function(record) seen[2] = record.channel_id end }
    local given = {}
    for i = 1, 2 do
      given[i] = { platform = "slack", thread_id = "T1", channel_id = "C" .. i, origin_event_id = "e" .. i }
      assert.is_true(d:submit(given[i], chat_lab.message("alice", "m" .. i)))
    end
    assert.are.same({ 1, 1 }, { d:stats().threads, d:stats().lanes })
    d:step()
    assert.are.equal(2, #lab.turns[1].ctx.messages)
    assert.are.equal(given[2], lab.turns[1].ctx.thread)
    lab.turns[1].outcome = "ok"
    repeat until not d:step()
    assert.are.equal(given[2], seen[1])
    assert.are.equal("e2", seen[1].origin_event_id)
    assert.are.equal("C2", seen[2])
  end)

  it("36, I2: of one thread take turns, and these never overlap", function()
    local lab = chat_lab.new { mode = "per-lane" }
    lab:say("T1", "alice", "a1")
    lab:say("T1", "bob", "b1")
    lab:say("T2", "carol", "c1")
    lab:settle()
    assert.are.equal("queued:a1 turn:a1 queued:c1 turn:c1", lab:words()) -- threads do not wait for each other
    lab:finish()
    assert.are.equal("end:a1 done:a1:answer record:ok queued:b1 turn:b1", lab:words())
  end)

  it("49, D7: take what came while they waited for the session, and go round", function()
    local lab = chat_lab.new { mode = "per-lane", max_buffered_messages = 2 }
    lab:say("T1", "alice", "a1")
    lab:settle()
    lab:say("T1", "bob", "b1")
    lab:say("T1", "alice", "a2")
    lab:say("T1", "alice", "a3")
    lab:say("T1", "carol", "c1")
    lab:say("T1", "bob", "b2") -- after carol's, but bob's lane is in line already
    lab:settle()
    for _ = 1, 4 do lab:finish() end
    local turns = {}
    for batch in lab:words():gmatch "turn:(%S+)" do turns[#turns + 1] = batch end
    assert.are.same({ "a1", "b1+b2", "c1", "a2+a3" }, turns)
  end)

  it("49, D7: stand in line once, however much waits in them", function()
    local lab = chat_lab.new { mode = "per-lane", max_batch_tokens = 100, count_envelope = false }
    lab:say("T1", "carol", "c1")
    lab:settle()
    for i = 1, 3 do lab:say("T1", "alice", "a" .. i, { estimated_tokens = 80 }) end
    lab:say("T1", "bob", "b1")
    for _ = 1, 5 do lab:finish() end
    local turns = {}
    for batch in lab:words():gmatch "turn:(%S+)" do turns[#turns + 1] = batch end
    assert.are.same({ "c1", "a1", "b1", "a2", "a3" }, turns)
  end)

  it("D7: one that never runs dry does not keep the others from their turns", function()
    local lab = chat_lab.new { mode = "per-lane", max_buffered_messages = 1 }
    lab:say("T1", "alice", "a1")
    lab:say("T1", "bob", "b1")
    lab:settle()
    local order = {}
    for i = 1, 6 do
      lab:say("T1", "alice", "a") -- true or "full": there is always another
      lab:say("T1", "bob", "b")
      order[i] = lab:finish().ctx.messages[1].prompt:sub(1, 1)
    end
    assert.are.equal("ababab", table.concat(order))
  end)
end)

describe("a step", function()
  it("ends, though every answer brings the next message", function()
    local d
    local answered = 0
    local function say() assert(d:submit(chat_lab.thread "T1", chat_lab.message("alice", "again"))) end
    d = koine.dispatcher { target = { run_turn = function() return true end }, on_done = function()
      answered = answered + 1
      if answered < 1000 then say() end
    end }
    say()
    assert.is_true(d:step())
    assert.is_true(answered < 5)
    repeat until not d:step()
    assert.are.equal(1000, answered)
  end)

  it("within a turn goes on with the other threads, and loses none", function()
    local lab = chat_lab.new()
    lab:say("T1", "alice", "m1")
    lab:settle()
    local turn = lab.turns[1]
    local cancelled = turn.ctx.cancelled
    turn.ctx.cancelled = function() -- what the turn looks at whenever it is resumed
      lab.d:step()
      return cancelled()
    end
    lab:say("T2", "alice", "m2")
    lab:settle()
    assert.are.equal(2, #lab.turns)
    lab:finish()
    lab:finish()
    lab:settle()
    assert.are.equal(2, #lab.records)
    assert.is_false(lab.d:step())
  end)

  it("within a hook goes on with the other threads, and starts each turn once", function()
    local lab
    lab = chat_lab.new { on_queued = function(message)
      lab.d:step()
      lab.log[#lab.log + 1] = "queued:" .. message.prompt
    end }
    for i = 1, 3 do lab:say("T" .. i, "alice", "m" .. i) end
    lab.d:step()
    assert.are.equal("turn:m1 turn:m2 turn:m3 queued:m3 queued:m2 queued:m1", lab:words())
    for _ = 1, 3 do lab:finish() end
    assert.are.equal(3, #lab.records)
    assert.is_false(lab.d:step())
  end)

  it("that raises is made up for by the next, also when a step within the broken one went well", function()
    local d, failing, answered = nil, false, {}
    local function say(name, prompt) d:submit(chat_lab.thread(name), chat_lab.message("alice", prompt)) end
    d = koine.dispatcher { target = { run_turn = function(_, _, _, ctx)
      local prompt = ctx.messages[1].prompt
      if prompt == "m1" then
        d:step()
        say("T2", "m3")
        failing = true
      end
      answered[#answered + 1] = prompt
      return "answer"
    end } }
    local start = coroutines.start
    finally(function() coroutines.start = start end)
    function coroutines.start(...)
      if failing then
        failing = false
        error("not enough memory", 0)
      end
      return start(...)
    end
    say("T1", "m1")
    say("T2", "m2")
    assert.is_false((pcall(d.step, d)))
    d:step()
    assert.are.same({ "m2", "m1", "m3" }, answered)
  end)
end)

describe("a host", function()
  after_each(function() wait.set_host(nil) end)

  -- Has each wake of the lab's dispatcher make a step at once.
  local function step_in_wake(lab)
    wait.set_host { park = function(token, seconds) return coroutine.yield(token, seconds) end,
      suspends = coroutine.isyieldable, wake = function(token) if token == lab.d then lab.d:step() end end }
  end

  it("may step in its wake: each hook is called once", function()
    local lab = chat_lab.new()
    function lab.target.run_turn(_, _, _, ctx)
      lab.log[#lab.log + 1] = "turn:" .. ctx.messages[1].prompt
      coroutine.yield() -- to the step
      return "answer"
    end
    step_in_wake(lab)
    lab:say("T1", "alice", "m1")
    lab:say("T1", "alice", "m2")
    while lab.d:step() do end -- luacheck: ignore
    assert.are.equal("queued:m1 turn:m1 done:m1:answer record:ok queued:m2 turn:m2 done:m2:answer record:ok",
      lab:words())
    assert.are.equal(0, lab.d:stats().hooks)
  end)

  it("that steps in its wake finds what shutdown loses, and what the second death of a lane does", function()
    for _, stop in ipairs { "shutdown", "death" } do
      local lab = chat_lab.new()
      lab.obeys = false
      lab:say("T1", "alice", "m1")
      lab:settle()
      lab:say("T1", "alice", "m2")
      step_in_wake(lab)
      if stop == "shutdown" then
        lab.d:shutdown()
      else
        lab.d.now_ms = function() error "the clock stopped" end
        lab:finish()
      end
      wait.set_host(nil)
      assert.is_truthy(lab:words():find "warning:")
      assert.are.equal(0, lab.d:stats().hooks)
    end
  end)
end)

describe("idle lanes", function()
  local function spent(options)
    local lab = chat_lab.new(options)
    for i = 1, 2 do lab:say("T" .. i, "alice", "m") end
    lab:settle()
    lab:finish()
    lab:finish()
    return lab
  end

  it("12, 20, 27: are removed by a sweep once their time is over, without a dispatch", function()
    local lab = spent { idle_timeout = 5 }
    lab.now = 4999
    assert.are.equal(0, lab.d:sweep())
    assert.are.equal(0, lab.d:sweep(4999))
    assert.are.equal(2, lab.d:sweep(5000))
    assert.are.equal(2, #lab.records)
    local stats = lab.d:stats()
    assert.are.same({ 0, 0 }, { stats.lanes, stats.threads })
  end)

  it("21: are not those with work, or with a turn", function()
    local lab = chat_lab.new()
    lab:say("T1", "alice", "m1")
    lab:settle()
    lab:say("T2", "alice", "m2")
    lab.now = 1e9
    assert.are.equal(0, lab.d:sweep())
    lab:settle()
    lab:finish()
    lab:finish()
    assert.are.equal(0, lab.d:sweep()) -- the time of the turn does not count
    lab.now = lab.now + 300000
    assert.are.equal(2, lab.d:sweep())
  end)

  it("are idle from when cancel_all emptied them", function()
    local lab = chat_lab.new()
    lab:say("T1", "alice", "m1")
    lab.now = 1000
    lab.d:cancel_all(chat_lab.thread "T1")
    assert.are.equal(0, lab.d:sweep(300999))
    assert.are.equal(1, lab.d:sweep(301000))
  end)

  it("14: there are none at first", function() assert.are.equal(0, chat_lab.new().d:sweep()) end)

  it("44: stay ten seconds in per-message, five minutes else", function()
    for mode, seconds in pairs { ["per-message"] = 10, ["per-thread"] = 300, ["per-lane"] = 300 } do
      local lab = spent { mode = mode }
      assert.are.equal(0, lab.d:sweep(seconds * 1000 - 1))
      assert.are.equal(2, lab.d:sweep(seconds * 1000))
    end
  end)

  it("13, 28: removed, make room for a new one: the next message is dispatched once", function()
    local lab = spent()
    lab.d:sweep(1e9)
    lab:words()
    lab:say("T1", "alice", "again")
    assert.are.equal(0, lab.d:sweep(2e9)) -- a new lane, not the old one
    lab:settle()
    lab:finish()
    assert.are.equal("queued:again turn:again end:again done:again:answer record:ok", lab:words())
  end)
end)
