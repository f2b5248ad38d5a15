-- The dispatcher among those who misbehave: turns that do not return, errors in closing them, hooks that hang, callers
-- who change what they gave. In tasks and in plain Lua.

local chat_lab = require "spec.lua.dispatch.kit"
local koine = require "koine"
local wait = require "koine.task.wait"

local thread, message = chat_lab.thread, chat_lab.message

-- Plays f(lab) twice: stepped in plain Lua, and as a task beside the dispatcher's run().
local function both(options, f)
  f(chat_lab.new(options))
  koine.run(function()
    local lab = chat_lab.new(options)
    local running = koine.spawn(lab.d.run, lab.d)
    f(lab)
    lab.d:shutdown()
    assert.is_true(running:wait())
  end)
end

local function raising_close() return setmetatable({}, { __close = function() error("in close", 0) end }) end

-- Has a turn under way in thread T1 that does not obey, and holds `close` (nil: nothing) as a to-be-closed variable.
local function stuck(lab, close)
  local run_turn = lab.target.run_turn
  lab.obeys = false
  function lab.target.run_turn(...)
    local held <close> = close -- luacheck: ignore held
    close = nil
    return run_turn(...)
  end
  lab:say("T1", "alice", "m1")
  lab:settle()
end

describe("a turn that does not return", function()
  it("after shutdown is known until it has returned, and can be cancelled again", function()
    both(nil, function(lab)
      stuck(lab)
      lab.d:shutdown()
      lab:settle()
      assert.are.same({ 1, 1, 0 }, { lab.d:stats().turns, lab.d:stats().threads, lab.d:stats().lanes })
      assert.is_true(lab.d:cancel_turn(thread "T1"))
      lab:finish()
      lab:settle()
      assert.are.same({ 0, 0 }, { lab.d:stats().turns, lab.d:stats().threads })
      assert.is_false(lab.d:cancel_turn(thread "T1"))
    end)
  end)

  it("after shutdown is closed by a sweep half a minute later: then run returns", function()
    both(nil, function(lab)
      stuck(lab)
      lab.d:shutdown()
      lab:words()
      lab.d:sweep(29999)
      lab:settle()
      assert.are.equal("", lab:words())
      lab.d:sweep(30000)
      lab:settle()
      assert.are.equal("error:m1:cancelled record:cancelled", lab:words())
      assert.are.equal(0, lab.d:stats().turns)
    end)
  end)

  it("and raises in being closed ends alone; its error is told", function()
    both(nil, function(lab)
      stuck(lab, raising_close())
      lab:say("T2", "bob", "m2")
      lab:settle()
      lab:say("T1", "alice", "m3")
      lab.d:cancel_turn(thread "T1")
      lab:words()
      lab.d:sweep(30000)
      table.remove(lab.turns, 1)
      lab:settle()
      assert.are.equal("error:m1:other record:cancelled queued:m3 turn:m3", lab:words())
      lab:finish() -- m2's: it went on
      assert.are.equal("end:m2 done:m2:answer record:ok", lab:words())
      lab.d:cancel_turn(thread "T1")
      lab.d:sweep(60000)
      table.remove(lab.turns, 1)
      lab:settle()
      assert.are.equal(3, lab.d:stats().dispatches)
    end)
  end)

  it("of an agent whose tool raises in being closed ends alone", function()
    local kit = require "spec.lua.agent.kit"
    local began
    local slow = kit.add(function()
      local held <close> = raising_close() -- luacheck: ignore held
      began = true
      koine.sleep(3600)
    end)
    local log = {}
    koine.run(function()
      local agent = kit.make(kit.play(kit.calls(kit.use "c1"), { content = "Well." }), { tools = { slow } })
      local d = koine.dispatcher { target = koine.dispatcher.agents(function() return agent end),
        on_error = function(_, _, err) log[#log + 1] = err.kind end,
        on_done = function(_, _, result) log[#log + 1] = result.text end }
      koine.spawn(d.run, d)
      d:submit(thread "T1", message("alice", "m1"))
      repeat koine.sleep(0) until began
      d:submit(thread "T1", message("alice", "m2"))
      d:cancel_turn(thread "T1")
      repeat koine.sleep(0) until log[2]
      d:shutdown()
    end)
    assert.are.same({ "cancelled", "Well." }, log)
  end)
end)

describe("a hook that hangs", function()
  it("is seen in stats: the calls that wait, and the one under way", function()
    local open = false
    both({ on_queued = function()
      while not open do
        if wait.suspends() then wait.park({}, 0) else coroutine.yield() end
      end
    end }, function(lab)
      open = false
      assert.are.equal(0, lab.d:stats().hooks)
      for i = 1, 3 do
        lab:say("T1", "alice", "m" .. i)
        lab:settle()
        lab:finish()
      end
      assert.are.equal(9, lab.d:stats().hooks) -- of each turn: on_queued, on_done, on_dispatch
      open = true
      lab:settle()
      assert.are.equal(0, lab.d:stats().hooks)
      assert.are.equal(3, #lab.records)
    end)
  end)

  it("is not overtaken, though two steps came before it was called", function()
    local gate, lab = {}, nil
    lab = chat_lab.new { on_queued = function(one)
      wait.park(gate)
      lab.log[#lab.log + 1] = "queued:" .. one.prompt
    end }
    koine.run(function()
      lab:say("T1", "alice", "m1")
      lab.d:step()
      lab.d:step()
      koine.spawn(lab.d.run, lab.d)
      lab:settle()
      lab:finish()
      assert.are.equal("turn:m1 end:m1", lab:words())
      wait.wake(gate)
      lab:settle()
      assert.are.equal("queued:m1 done:m1:answer record:ok", lab:words())
      lab.d:shutdown()
    end)
  end)

  it("is not forgotten at shutdown", function()
    local gate = {}
    koine.run(function()
      local lab = chat_lab.new { on_queued = function() wait.park(gate) end }
      local running = koine.spawn(lab.d.run, lab.d)
      lab:say("T1", "alice", "m1")
      lab:settle()
      lab:say("T1", "alice", "m2")
      lab.d:shutdown()
      assert.is_true(running:wait())
      assert.is_true(lab.d:stats().hooks > 1)
      wait.wake(gate)
      lab:settle()
      assert.are.equal(0, lab.d:stats().hooks)
      assert.are.equal(0, lab.d:stats().threads)
    end)
  end)
end)

describe("a user's coroutine in a task", function()
  it("steps: closing its turn closes the turn, and not the task", function()
    local ended
    koine.run(function()
      local lab = chat_lab.new()
      local steps = coroutine.wrap(function()
        lab:say("T1", "alice", "m1")
        while true do coroutine.yield(lab.d:step()) end
      end)
      function lab.target.run_turn() coroutine.yield() end
      steps()
      lab.d:cancel_turn(thread "T1")
      lab.d:sweep(30000)
      koine.sleep(0)
      steps()
      ended = lab:words()
    end)
    assert.are.equal("queued:m1 cancel:slack:T1 error:m1:cancelled record:cancelled", ended)
  end)
end)

describe("a run that is broken off", function()
  it("before a hook was called leaves the call to the next step", function()
    local lab = chat_lab.new()
    pcall(koine.run, function()
      lab:say("T1", "alice", "m1")
      lab.d:step()
      error "the ship sinks"
    end)
    assert.are.equal("", lab:words())
    lab.d:step()
    assert.are.equal("queued:m1 turn:m1", lab:words())
    lab:finish()
  end)

  it("while a hook waits leaves the calls behind it to the next step", function()
    local lab = chat_lab.new { on_queued = function() wait.park {} end }
    pcall(koine.run, function()
      koine.spawn(lab.d.run, lab.d)
      lab:say("T1", "alice", "m1")
      lab:settle()
      lab:finish()
      error "the ship sinks"
    end)
    assert.are.equal("turn:m1 end:m1", lab:words())
    lab.d:step()
    assert.are.equal("done:m1:answer record:ok", lab:words())
  end)
end)

describe("a host's cancel", function()
  -- Resumes a host's coroutine with what its park returns: what resume returns.
  local function hosted(co, ...)
    koine.set_host { park = function(token, seconds) return coroutine.yield(token, seconds) end,
      wake = function() end }
    local results = table.pack(coroutine.resume(co, ...))
    koine.set_host(nil)
    return table.unpack(results, 1, results.n)
  end

  it("ends run, which raises it: the turn under way is cancelled, and what waits can be had", function()
    local lab = chat_lab.new()
    lab:say("T1", "alice", "m1")
    local co = coroutine.create(function() return lab.d:run() end)
    while not lab.turns[1] do assert(hosted(co, true)) end
    lab:say("T1", "alice", "m2")
    local left = koine.errors.new { kind = "cancelled", message = "the host left" }
    local ok, err = hosted(co, nil, left)
    coroutine.close(co) -- as a host does with a coroutine that failed
    assert.is_false(ok)
    assert.are.equal(left, err)
    lab.turns = {}
    lab:settle()
    assert.is_truthy(lab:words():find("error:m1:cancelled record:cancelled queued:m2 turn:m2", 1, true))
    lab:finish()
  end)

  it("ends the wait of a submitter, which leaves the line", function()
    local lab = chat_lab.new { mode = "per-message" }
    lab:say("T1", "alice", "m1")
    local co = coroutine.create(function() return lab:say("T1", "alice", "m2") end)
    assert(hosted(co))
    assert.are.equal(1, lab.d:stats().parked)
    local left = koine.errors.new { kind = "cancelled", message = "the host left" }
    assert.are.same({ true, nil, "cancelled" }, { hosted(co, nil, left) })
    assert.are.equal(0, lab.d:stats().parked)
  end)

  it("is too late for a submitter whose message is in the lane already", function()
    local lab = chat_lab.new { mode = "per-message" }
    lab:say("T1", "alice", "m1")
    local co = coroutine.create(function() return lab:say("T1", "alice", "m2") end)
    assert(hosted(co))
    lab:settle() -- m1's turn begins, m2 enters the lane
    local left = koine.errors.new { kind = "cancelled", message = "the host left" }
    assert.are.same({ true, true }, { hosted(co, nil, left) })
    lab:finish()
    assert.is_truthy(lab:words():find("turn:m2", 1, true))
    lab:finish()
  end)
end)

describe("the caller's options", function()
  it("may be changed: hooks stay those that were given", function()
    local lab
    local given = { target = { run_turn = function() return "answer" end } }
    local seen = {}
    given.on_done = function() seen[#seen + 1] = "first" end
    lab = koine.dispatcher(given)
    given.on_done = function() seen[#seen + 1] = "second" end
    given.on_error = 5
    lab:submit(thread "T1", message("alice", "m1"))
    repeat until not lab:step()
    assert.are.same({ "first" }, seen)
  end)
end)
