-- The dispatcher inside koine.run and in a host's loop: submitters that wait, turns that wait, ends of all kinds.

local chat_lab = require "spec.lua.dispatch.kit"
local koine = require "koine"
local toy_host = require "spec.lua.task.toy_host"
local wait = require "koine.task.wait"

local thread = chat_lab.thread

-- Runs f(lab) as a task beside the dispatcher's run(), then shuts it down.
local function beside(options, f)
  local lab = chat_lab.new(options)
  koine.run(function()
    local running = koine.spawn(lab.d.run, lab.d)
    f(lab)
    lab.d:shutdown()
    assert.is_true(running:wait())
  end)
  return lab
end

-- Submits as a task of its own; what submit returns goes into the log: "m1=true", "m1=cancelled".
local function send(lab, at, name, prompt, more)
  return koine.spawn(function()
    local accepted, why = lab:say(at, name, prompt, more)
    lab.log[#lab.log + 1] = prompt .. "=" .. tostring(accepted or why)
  end)
end

local function send_all(lab, n)
  for i = 1, n do send(lab, "T1", "alice", "m" .. i) end
  lab:settle()
end

describe("submitters", function()
  it("40: wait for room in the lane, in order, without a mark; everything is delivered", function()
    beside({ max_buffered_messages = 2 }, function(lab)
      send_all(lab, 1)
      lab:words()
      for i = 2, 6 do send(lab, "T1", "alice", "m" .. i) end
      lab:settle()
      assert.are.equal("m2=true m3=true", lab:words())
      assert.are.equal(3, lab.d:stats().parked)
      lab.now = 100
      lab:finish()
      assert.are.equal("end:m1 m4=true m5=true done:m1:answer record:ok queued:m2 queued:m3 turn:m2+m3", lab:words())
      lab.now = 150
      lab:finish()
      lab:finish()
      assert.are.same({ { 0 }, { 100, 100 }, { 50, 50 } }, { lab.records[1].wait_ms, lab.records[2].wait_ms,
        lab.records[3].wait_ms }) -- from when submit returned
      assert.are.equal("end:m2+m3 m6=true done:m3:answer record:ok queued:m4 queued:m5 turn:m4+m5 "
        .. "end:m4+m5 done:m5:answer record:ok queued:m6 turn:m6", lab:words())
      lab:finish()
      assert.are.equal(0, lab.d:stats().parked)
    end)
  end)

  it("55: are not overtaken by one that comes when there is room again", function()
    beside({ mode = "per-message" }, function(lab)
      send_all(lab, 1)
      for i = 2, 4 do send(lab, "T1", "alice", "m" .. i) end
      lab:settle()
      lab:finish() -- m3 enters the queue
      send(lab, "T1", "alice", "m5")
      lab:settle()
      for _ = 1, 4 do lab:finish() end
      local sizes = {}
      for i, record in ipairs(lab.records) do sizes[i] = record.events_per_dispatch end
      assert.are.same({ 1, 1, 1, 1, 1 }, sizes)
      assert.is_truthy(lab:words():find "turn:m1.*turn:m2.*turn:m3.*turn:m4.*turn:m5")
    end)
  end)

  it("D10: cancel_all sends them away, and counts them with what is held and queued", function()
    beside({ max_buffered_messages = 1, max_batch_tokens = 100, count_envelope = false }, function(lab)
      for i = 1, 4 do send(lab, "T1", "alice", "m" .. i, { estimated_tokens = 80 }) end
      lab:settle()
      lab:words()
      assert.are.same({ dropped = 3, in_flight = 1 }, lab.d:cancel_all(thread "T1"))
      lab:settle()
      local words = lab:words()
      assert.is_truthy(words:find("m3=cancelled m4=cancelled", 1, true))
      assert.is_nil(words:find("turn", 1, true))
    end)
  end)

  it("D11: shutdown sends them away", function()
    local lab
    beside({ mode = "per-message" }, function(one)
      lab = one
      send_all(lab, 3)
      assert.are.equal(1, lab.d:shutdown()[1].buffered_lost) -- m2; m3 hears it itself
      lab:settle()
    end)
    assert.is_truthy(lab:words():find("m3=closed", 1, true))
  end)

  it("leave the line when their task is cancelled", function()
    beside({ mode = "per-message" }, function(lab)
      send_all(lab, 2)
      local gone = send(lab, "T1", "alice", "gone")
      for i = 3, 5 do send(lab, "T1", "alice", "m" .. i) end
      lab:settle()
      gone:cancel()
      assert.are.equal(3, lab.d:stats().parked)
      lab:words()
      for _ = 1, 5 do lab:finish() end
      local order = {}
      for prompt in lab:words():gmatch "end:(%S+)" do order[#order + 1] = prompt end
      assert.are.same({ "m1", "m2", "m3", "m4", "m5" }, order)
    end)
  end)

  it("C8, D12: hear of the second death of a lane; the first is none of theirs", function()
    local bad, lab = 0, nil
    local function now_ms()
      if bad == 0 then return lab.now end
      bad = bad - 1
      error "the clock stopped"
    end
    local options = { max_buffered_messages = 1, now_ms = now_ms }
    lab = chat_lab.new(options)
    koine.run(function()
      koine.spawn(lab.d.run, lab.d)
      for deaths, expected in ipairs { "end:m1 done:m1:answer queued:m2 turn:m2",
        "end:m1 m3=consumer_dead done:m1:answer error:m2:other error:m3:other "
          .. "warning:dispatch consumer exited unexpectedly" } do
        send_all(lab, 3)
        lab:words()
        bad = deaths -- once in the end of the turn, then in the replacement
        lab:finish()
        local words = lab:words()
        assert.are.equal(expected, (words:gsub(" m3=true", "")))
        while lab.turns[1] do lab:finish() end
        lab:words()
      end
      lab.d:shutdown()
    end)
  end)

  it("39: two that meet a lane that fails are both delivered by its one replacement", function()
    local bad, lab = 0, nil
    lab = chat_lab.new { now_ms = function()
      if bad == 0 then return lab.now end
      bad = bad - 1
      error "the clock stopped"
    end }
    koine.run(function()
      send(lab, "T1", "alice", "m1")
      send(lab, "T1", "bob", "m2")
      lab:settle()
      bad = 1
      koine.spawn(lab.d.run, lab.d)
      lab:settle()
      assert.are.equal("m1=true m2=true queued:m1 queued:m2 turn:m1+m2", lab:words())
      assert.are.equal(1, lab.d:stats().respawns)
      lab:finish()
      lab.d:shutdown()
    end)
  end)
end)

describe("run", function()
  it("I1: starts the turn of a message without any timer", function()
    beside(nil, function(lab)
      lab:settle()
      lab:say("T1", "alice", "hello")
      lab:settle()
      assert.are.equal("queued:hello turn:hello", lab:words())
    end)
  end)

  it("43: the marks of receipt come before the turn", function()
    beside(nil, function(lab)
      for i = 1, 3 do lab:say("T1", "alice", "m" .. i) end
      lab:settle()
      assert.are.equal("queued:m1 queued:m2 queued:m3 turn:m1+m2+m3", lab:words())
    end)
  end)

  it("turns of several threads wait side by side", function()
    beside(nil, function(lab)
      for i = 1, 3 do lab:say("T" .. i, "alice", "m" .. i) end
      lab:settle()
      assert.are.equal(3, #lab.turns)
      lab:finish()
      assert.are.equal(2, #lab.turns)
    end)
  end)

  it("sweeps every minute", function()
    local now, real = wait.now(), wait.now
    wait.now = function() return now end
    finally(function() wait.now = real end)
    beside({ idle_timeout = 0 }, function(lab)
      lab:say("T1", "alice", "m1")
      lab:settle()
      lab:finish()
      now = now + 59
      lab:settle()
      assert.are.equal(1, lab.d:stats().lanes)
      now = now + 1
      lab:settle()
      assert.are.equal(0, lab.d:stats().lanes)
    end)
  end)

  it("ends after shutdown, once the last turn has returned", function()
    local lab = chat_lab.new()
    lab.obeys = false
    koine.run(function()
      local running = koine.spawn(lab.d.run, lab.d)
      lab:say("T1", "alice", "m1")
      lab:settle()
      lab.d:shutdown()
      lab:settle()
      assert.are.equal("koine.task (waiting)", tostring(running))
      lab:finish()
      assert.are.equal("koine.task (done)", tostring(running))
    end)
  end)

  it("brings its own koine.run in plain Lua", function()
    local d
    local answered = {}
    d = koine.dispatcher { target = { run_turn = function(_, _, blocks) return #blocks end },
      on_done = function(message, _, result)
        answered[#answered + 1] = message.prompt .. "=" .. result
        if #answered == 2 then d:shutdown() end
      end }
    d:submit(thread "T1", chat_lab.message("alice", "m1"))
    d:submit(thread "T2", chat_lab.message("bob", "m2"))
    assert.is_true(d:run())
    assert.are.same({ "m1=2", "m2=2" }, answered)
  end)

  it("goes along with a host's own coroutines", function()
    local lab = chat_lab.new()
    toy_host.run {
      function() assert.is_true(lab.d:run()) end,
      function()
        lab:say("T1", "alice", "m1")
        repeat assert(koine.sleep(0.001)) until lab.turns[1]
        lab.turns[1].outcome = "ok"
        wait.wake(lab.turns[1])
        repeat assert(koine.sleep(0.001)) until lab.records[1]
        lab.d:shutdown()
      end,
    }
    assert.are.equal("queued:m1 turn:m1 end:m1 done:m1:answer record:ok", lab:words())
  end)

  -- A run that fails while a turn is under way, one has been formed, and one message waits.
  local function broken_off(lab)
    local ok, err = pcall(koine.run, function()
      koine.spawn(lab.d.run, lab.d)
      lab:say("T1", "alice", "m1")
      lab:settle()
      lab:say("T1", "alice", "m2")
      koine.spawn(function()
        lab:say("T2", "alice", "m3")
        wait.park({}, 0)
        error("the ship sinks", 0)
      end)
      lab:settle()
    end)
    assert.is_false(ok)
    assert.is_truthy(tostring(err):find("the ship sinks", 1, true))
  end

  it("I2, C8: broken off in the midst, leaves sessions free and messages where they can be had", function()
    local lab = chat_lab.new()
    broken_off(lab)
    lab.turns = {}
    lab:words()
    koine.run(function()
      koine.spawn(lab.d.run, lab.d)
      lab:settle()
      while lab.turns[1] do lab:finish() end
      lab.d:shutdown()
    end)
    local words = lab:words()
    assert.is_truthy(words:find("error:m1:cancelled record:cancelled", 1, true))
    assert.is_truthy(words:find("turn:m2", 1, true))
    local seen = 0
    for _, record in ipairs(lab.records) do seen = seen + record.events_per_dispatch end
    assert.are.equal(3, seen)
  end)

  it("40, 55: submitters in a host's own coroutines wait as well, first come first served", function()
    local lab, log = chat_lab.new { mode = "per-message" }, {}
    local function submitter(name)
      return function()
        assert(lab:say("T1", "alice", name))
        log[#log + 1] = name
      end
    end
    toy_host.run { submitter "m1", submitter "m2", submitter "m3", function()
      koine.run(function()
        koine.spawn(lab.d.run, lab.d)
        for _ = 1, 3 do
          lab:settle()
          lab:finish()
        end
        lab.d:shutdown()
      end)
    end }
    assert.are.same({ "m1", "m2", "m3" }, log)
  end)

  it("I2, C8: broken off before a turn that step formed began, starts it with the next step", function()
    for steps = 1, 2 do
      local lab = chat_lab.new()
      pcall(koine.run, function()
        lab:say("T1", "alice", "m1")
        for _ = 1, steps do lab.d:step() end
        error "the ship sinks"
      end)
      assert.is_nil(lab:words():find("turn:", 1, true))
      lab:settle()
      lab:finish()
      assert.are.equal("ok", lab.records[1].outcome)
      assert.are.equal(0, lab.d:stats().turns)
    end
  end)

  it("D11: broken off and shut down before a turn began, does not call the target any more", function()
    local lab = chat_lab.new()
    function lab.target.ensure_session()
      lab.log[#lab.log + 1] = "session"
      return true
    end
    pcall(koine.run, function()
      lab:say("T1", "alice", "m1")
      lab.d:step()
      error "the ship sinks"
    end)
    lab.d:shutdown()
    lab:settle()
    assert.are.equal("cancel:slack:T1 queued:m1 error:m1:cancelled record:cancelled", lab:words())
    assert.are.equal("cancelled", lab.records[1].outcome)
    assert.is_false(lab.d:step())
  end)

  it("I2: a cancelled turn that does not return is closed by a sweep after half a minute, and not before", function()
    beside(nil, function(lab)
      lab.obeys = false
      lab:say("T1", "alice", "m1")
      lab:settle()
      lab:say("T1", "alice", "m2")
      lab.d:cancel_turn(thread "T1")
      lab.d:sweep(29999)
      lab:settle()
      assert.are.equal("queued:m1 turn:m1 cancel:slack:T1", lab:words())
      lab.d:sweep(30000)
      table.remove(lab.turns, 1)
      lab:settle()
      assert.are.equal("error:m1:cancelled record:cancelled queued:m2 turn:m2", lab:words())
      lab:finish()
    end)
  end)

  it("D8: hooks wait as tasks, and hold up no turn", function()
    local gate, lab = {}, nil
    lab = chat_lab.new { on_queued = function(message)
      if message.prompt == "m1" then wait.park(gate) end
      lab.log[#lab.log + 1] = "queued:" .. message.prompt
    end }
    koine.run(function()
      koine.spawn(lab.d.run, lab.d)
      lab:say("T1", "alice", "m1")
      lab:say("T2", "alice", "m2")
      lab:settle()
      assert.are.equal("turn:m1 queued:m2 turn:m2", lab:words())
      lab:finish()
      lab:finish()
      assert.is_nil(lab:words():find("done:m1", 1, true)) -- stays behind the mark that is not set yet
      wait.wake(gate)
      lab:settle()
      assert.are.equal("queued:m1 done:m1:answer record:ok", lab:words())
      lab.d:shutdown()
    end)
  end)
end)
