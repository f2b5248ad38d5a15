-- The dispatcher: cancelling and shutdown, failures of all kinds, the record of each turn.

local chat_lab = require "spec.lua.dispatch.kit"
local koine = require "koine"

local thread = chat_lab.thread

describe("cancelling", function()
  -- A thread with a turn under way and so many messages behind it.
  local function busy(behind, options)
    local lab = chat_lab.new(options)
    lab:say("T1", "alice", "m0")
    lab:settle()
    for i = 1, behind do lab:say("T1", "alice", "m" .. i) end
    lab:words()
    return lab
  end

  it("37: a turn leaves what waits, which comes next", function()
    local lab = busy(2)
    assert.is_true(lab.d:cancel_turn(thread "T1"))
    lab:settle()
    assert.are.equal("cancel:slack:T1 end:m0 error:m0:cancelled record:cancelled queued:m1 queued:m2 turn:m1+m2",
      lab:words())
    lab:finish()
    assert.is_false(lab.d:cancel_turn(thread "T1"))
    assert.is_false(lab.d:cancel_turn(thread "T9"))
  end)

  it("37: all drops what waits; what comes after starts anew", function()
    local lab = busy(2)
    assert.are.same({ dropped = 2, in_flight = 1 }, lab.d:cancel_all(thread "T1"))
    lab:say("T1", "alice", "later")
    lab:settle()
    assert.are.equal("cancel:slack:T1 end:m0 error:m0:cancelled record:cancelled queued:later turn:later", lab:words())
  end)

  it("17: all of a thread leaves another thread's, and counts nothing where nothing is", function()
    local lab = chat_lab.new()
    lab:say("T1", "alice", "m1")
    lab:say("T2", "alice", "m2")
    assert.are.same({ dropped = 1, in_flight = 0 }, lab.d:cancel_all(thread "T1"))
    assert.are.same({ dropped = 0, in_flight = 0 }, lab.d:cancel_all(thread "T1"))
    assert.are.same({ dropped = 0, in_flight = 0 }, lab.d:cancel_all(thread "T3"))
    lab:settle()
    assert.are.equal("queued:m2 turn:m2", lab:words())
  end)

  it("18, 19: all lanes of the thread, and of no other: not of T10, not of another platform", function()
    local lab = chat_lab.new { mode = "per-lane" }
    for _, at in ipairs { "T1", "T10", "discord:T1" } do
      lab:say(at, "alice", at)
      lab:say(at, "bob", at)
    end
    assert.are.same({ dropped = 2, in_flight = 0 }, lab.d:cancel_all(thread "T1"))
    assert.are.equal(4, lab.d:stats().queued)
  end)

  it("54: counts the message that was held back", function()
    local lab = chat_lab.new { max_batch_tokens = 100, count_envelope = false }
    for i = 1, 3 do lab:say("T1", "alice", "m" .. i, { estimated_tokens = 80 }) end
    lab:settle() -- m1 runs, m2 is held, m3 is queued
    assert.are.same({ dropped = 2, in_flight = 1 }, lab.d:cancel_all(thread "T1"))
    assert.are.equal(0, lab.d:stats().queued)
  end)

  it("I2: the session stays with a turn that does not stop, until it has returned", function()
    local lab = busy(1)
    lab.obeys = false
    lab.d:cancel_turn(thread "T1")
    assert.is_true(lab.turns[1].ctx.cancelled())
    lab:settle()
    assert.are.equal("cancel:slack:T1", lab:words())
    lab:finish() -- returns a result although it was cancelled
    assert.are.equal("end:m0 done:m0:answer record:ok queued:m1 turn:m1", lab:words())
  end)

  it("a turn that has not returned half a minute after is closed by a sweep", function()
    local lab = busy(1)
    lab.obeys = false
    lab.d:cancel_turn(thread "T1")
    lab.now = 20000
    lab.d:cancel_turn(thread "T1") -- the half minute goes on
    lab:words()
    assert.are.equal(0, lab.d:sweep(29999))
    lab:settle()
    assert.are.equal("", lab:words())
    lab.d:sweep(30000)
    table.remove(lab.turns, 1)
    lab:settle()
    assert.are.equal("error:m0:cancelled record:cancelled queued:m1 turn:m1", lab:words())
    lab:finish()
    assert.are.equal(0, lab.d:stats().turns)
  end)

  it("before the session is ready: the turn does not begin, and whether there is a session does not matter", function()
    for _, session in ipairs { true, false } do
      local lab = chat_lab.new()
      local over = false
      function lab.target.ensure_session()
        while not over do coroutine.yield() end
        return session
      end
      lab:say("T1", "alice", "m1")
      lab.d:step()
      lab.d:cancel_turn(thread "T1")
      over = true
      lab:settle()
      assert.are.equal("queued:m1 cancel:slack:T1 error:m1:cancelled record:cancelled", lab:words())
    end
  end)

  it("reset cancels all and forgets the session, after the turn has returned", function()
    local lab = busy(1)
    assert.are.same({ dropped = 1, in_flight = 1 }, lab.d:reset(thread "T1"))
    lab:say("T1", "alice", "anew")
    lab:settle()
    assert.are.equal("cancel:slack:T1 end:m0 reset:slack:T1 error:m0:cancelled record:cancelled queued:anew turn:anew",
      lab:words())
    lab:finish()
    assert.are.equal("end:anew done:anew:answer record:ok", lab:words()) -- forgotten once
    assert.are.same({ dropped = 0, in_flight = 0 }, lab.d:reset(thread "T7"))
    assert.are.equal("reset:slack:T7", lab:words())
    assert.are.equal(1, lab.d:stats().threads)
  end)
end)

describe("shutdown", function()
  it("22, 23, D11, 51: reports what is lost, empties the map, stops the turns, refuses what comes", function()
    local lab = chat_lab.new { mode = "per-lane" }
    lab:say("T1", "alice", "m1")
    lab:settle()
    lab:say("T1", "alice", "m2")
    lab:say("T1", "alice", "m3")
    lab:say("T1", "bob", "m4")
    lab:words()
    local lost = lab.d:shutdown()
    table.sort(lost, function(a, b) return a.buffered_lost < b.buffered_lost end)
    assert.are.same({ { thread_id = "T1", channel = "C1", adapter = "slack", buffered_lost = 1 },
      { thread_id = "T1", channel = "C1", adapter = "slack", buffered_lost = 2 } }, lost)
    local stats = lab.d:stats()
    assert.are.same({ 0, 1, 0 }, { stats.lanes, stats.threads, stats.queued }) -- the turn keeps its thread
    local accepted, why = lab:say("T1", "alice", "m5")
    assert.is_nil(accepted)
    assert.are.equal("closed", why)
    lab:settle()
    local words = lab:words()
    stats = lab.d:stats()
    assert.are.same({ 0, 0 }, { stats.turns, stats.threads })
    assert.are.equal(2, select(2, words:gsub("buffered messages lost", "")))
    table.sort(lab.warnings, function(a, b) return a.buffered_lost < b.buffered_lost end)
    assert.are.same(lost, lab.warnings)
    assert.is_truthy(words:find("end:m1 .*error:m1:cancelled record:cancelled$"))
    assert.are.equal(1, #lab.records)
    assert.are.same({}, lab.d:shutdown())
    assert.is_false(lab.d:step())
  end)
end)

describe("a dispatcher without hooks", function()
  it("22: forgets a thread, too, whose last turn returns after shutdown", function()
    local lab = chat_lab.new()
    local d = koine.dispatcher { target = lab.target }
    d:submit(thread "T1", chat_lab.message("alice", "m1"))
    d:step()
    d:shutdown()
    assert.are.equal(1, d:stats().threads)
    repeat until not d:step()
    assert.are.same({ 0, 0 }, { d:stats().turns, d:stats().threads })
  end)
end)

describe("failures", function()
  it("53: of a turn: marked on its last message, told once; what waits comes next", function()
    for outcome, kind in pairs { fail = "server", raise = "other" } do
      local lab = chat_lab.new()
      lab:say("T1", "alice", "m1")
      lab:say("T1", "alice", "m2")
      lab:settle()
      lab:say("T1", "alice", "m3")
      lab:words()
      lab:finish(outcome)
      assert.are.equal(("end:m1+m2 error:m2:%s warning:%s record:error queued:m3 turn:m3"):format(kind,
        outcome == "fail" and "it failed" or "out of tea"), lab:words())
      assert.are.equal(1, #lab.warnings)
      assert.are.equal(kind, lab.warnings[1].err.kind)
    end
  end)

  it("are told to the thread without places in files; details.err has them", function()
    local lab_of, line = {}, debug.getinfo(1, "l").currentline
    for words, raise in pairs { ["out of tea"] = function() error "out of tea" end,
      ["attempt to index a nil value (field 'nothing')"] = function() return lab_of.nothing.there end,
      ["city: string expected, got 7"] = function() koine.errors.argument("city", "string", 7) end,
      ["boom"] = function() koine.run(function() error "boom" end) end } do
      local lab = chat_lab.new { target = { run_turn = raise } }
      lab:say("T1", "alice", "m1")
      lab:settle()
      lab:settle()
      assert.is_truthy(lab:words():find("warning:" .. words .. " record:error", 1, true), words)
      local at = tonumber(lab.warnings[1].err.message:match "ends_spec%.lua:(%d+): ")
      assert.is_true(at ~= nil and at > line and at < line + 6, lab.warnings[1].err.message)
    end
  end)

  it("of the session: marked on every message, told once", function()
    local reasons = { function() return nil, koine.errors.new { kind = "connect", message = "no host" } end,
      function() error("no host", 0) end, function() return nil, "no host" end }
    for _, ensure in ipairs(reasons) do
      local lab = chat_lab.new()
      lab.target.ensure_session = function(_, key, ctx)
        assert.are.equal("slack:T1", key)
        assert.are.equal("C1", ctx.thread.channel_id)
        return ensure()
      end
      lab:say("T1", "alice", "m1")
      lab:say("T1", "alice", "m2")
      lab:settle()
      local words = lab:words():gsub(":other", ":kind"):gsub(":connect", ":kind")
      assert.are.equal("queued:m1 queued:m2 error:m1:kind error:m2:kind warning:no host record:session_error", words)
    end
  end)

  it("a turn that says itself that it was cancelled counts as cancelled: no warning", function()
    local lab = chat_lab.new()
    lab.target.run_turn = function() return nil, koine.errors.new { kind = "cancelled", message = "the host left" } end
    lab:say("T1", "alice", "m1")
    lab:settle()
    assert.are.equal("queued:m1 error:m1:cancelled record:cancelled", lab:words())
  end)

  it("a turn that returns nothing has failed", function()
    local lab = chat_lab.new()
    lab.target.run_turn = function() end
    lab:say("T1", "alice", "m1")
    lab:settle()
    assert.is_truthy(lab:words():find("warning:run_turn returned nothing record:error", 1, true))
  end)

  -- A dispatcher whose clock fails so many times from the next step on.
  local function with_bad_clock(times, options)
    local lab
    options = options or {}
    local bad = 0
    options.now_ms = function()
      if bad > 0 then
        bad = bad - 1
        error "the clock stopped"
      end
      return lab.now
    end
    lab = chat_lab.new(options)
    return lab, function() bad = times end
  end

  it("D12: of the lane's own code: it is tried once more, silently, and nothing is lost", function()
    local lab, spoil = with_bad_clock(1)
    lab:say("T1", "alice", "m1")
    lab:say("T1", "alice", "m2")
    spoil()
    lab:settle()
    assert.are.equal("queued:m1 queued:m2 turn:m1+m2", lab:words())
    assert.are.equal(1, lab.d:stats().respawns)
    lab:finish()
    lab:words()
    lab:say("T1", "alice", "m3")
    spoil() -- a dispatch was completed: the next failure is a first one again
    lab:settle()
    assert.is_truthy(lab:words():find("turn:m3", 1, true))
  end)

  it("38, C8: of the lane's own code, twice: every message is marked on its own, one text, lane removed", function()
    local lab, spoil = with_bad_clock(2)
    for i = 1, 3 do lab:say("T1", "alice", "m" .. i) end
    spoil()
    lab:settle()
    assert.are.equal("error:m1:other error:m2:other error:m3:other warning:dispatch consumer exited unexpectedly",
      lab:words())
    assert.are.equal("other", lab.warnings[1].err.kind)
    assert.are.equal(0, lab.d:stats().lanes)
    assert.are.equal(0, #lab.records)
    lab:say("T1", "alice", "m4") -- a new lane
    lab:settle()
    assert.are.equal("queued:m4 turn:m4", lab:words())
    lab:finish()
    lab.d:sweep(1e9)
    assert.are.equal(0, lab.d:stats().threads)
  end)

  it("D12: of packing, since an extra was broken after submit: the batch that was taken out is not lost", function()
    for _, mended in ipairs { true, false } do
      local extra, lab = { type = "text", text = "voice" }, nil
      lab = chat_lab.new { now_ms = function()
        if lab and lab.d:stats().respawns == 1 then
          assert.are.equal(2, lab.d:stats().queued)
          if mended then extra.text = "voice" end
        end
        return 0
      end }
      lab:say("T1", "alice", "m1", { extras = { extra } })
      lab:say("T1", "bob", "m2")
      extra.text = nil
      lab:settle()
      assert.are.equal(mended and "queued:m1 queued:m2 turn:m1+m2"
        or "error:m1:other error:m2:other warning:dispatch consumer exited unexpectedly", lab:words())
      assert.are.equal(0, lab.d:stats().queued)
    end
  end)

  it("D12: after the turn had run: its batch is not sent again, and the session is free", function()
    local lab, spoil = with_bad_clock(1)
    lab:say("T1", "alice", "m1")
    lab:settle()
    lab:say("T1", "alice", "m2")
    lab:words()
    spoil()
    lab:finish()
    assert.are.equal("end:m1 done:m1:answer queued:m2 turn:m2", lab:words())
    lab:finish()
    assert.are.equal("end:m2 done:m2:answer record:ok", lab:words())
  end)
end)

describe("the record", function()
  it("has every figure and every label, the waits from before the hooks", function()
    local lab
    lab = chat_lab.new { mode = "per-lane", on_queued = function() lab.now = lab.now + 20 end }
    lab.now = 1000
    lab:say("T1", "alice", ("x"):rep(400))
    lab.now = 1040
    lab:say("T1", "alice", "", { extras = { { type = "image", media_type = "image/png", source = "aW1n" } } })
    lab.now = 1100
    lab:say("T1", "alice", "", { estimated_tokens = 9, sender_name = "Alice of Ops" })
    lab.now = 1150
    lab:settle()
    assert.are.equal(1210, lab.now)
    lab.now = 1400
    local blocks = #lab:finish().blocks
    local envelope = koine.packing.envelope_tokens(chat_lab.message("alice", ""))
    assert.are.same({ events_per_dispatch = 3, packed_block_count = blocks, wait_ms = { 150, 110, 50 },
      context_tokens_per_event = { envelope, envelope, envelope }, tokens_per_event = { 101, 513, 9 },
      envelope_tokens_per_dispatch = 3 * envelope, agent_dispatch_ms = 250, senders = { "alice", "Alice of Ops" },
      thread_key = "slack:T1:Ualice", session_key = "slack:T1", channel_id = "C1", adapter = "slack",
      mode = "per-lane", outcome = "ok" }, lab.records[1])
  end)

  it("56, D9: comes once for each dispatch, whatever became of it", function()
    local lab = chat_lab.new()
    local session = true
    lab.target.ensure_session = function() return session end
    local function dispatch(outcome)
      lab:say("T1", "alice", "m")
      lab:settle()
      if outcome == "cancel" then lab.d:cancel_turn(thread "T1") elseif outcome then lab:finish(outcome) end
      lab:settle()
    end
    dispatch "ok"
    dispatch "fail"
    dispatch "raise"
    dispatch "cancel"
    session = false
    dispatch()
    local outcomes = {}
    for i, record in ipairs(lab.records) do outcomes[i] = record.outcome end
    assert.are.same({ "ok", "error", "error", "cancelled", "session_error" }, outcomes)
    assert.are.equal(5, lab.d:stats().dispatches)
  end)

  it("feeds the alarm for envelopes that cost too much", function()
    local lab = chat_lab.new()
    local alarm = koine.packing.overhead_alarm { threshold = 40, sustain = 10, min = 2 }
    local state
    for hour = 1, 30 do
      lab:say("T1", "alice", "m")
      lab:settle()
      lab:finish()
      state = alarm:add(lab.records[hour], hour)
    end
    assert.is_true(state.raised)
  end)
end)
