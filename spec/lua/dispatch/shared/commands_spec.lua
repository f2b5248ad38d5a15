-- cancel_turn, cancel_all, reset and shutdown of a dispatcher on a store, from any machine.

local kit = require "spec.lua.dispatch.shared.kit"
local koine = require "koine"
local wait = require "koine.task.wait"

describe("a command to a dispatcher on a store", function()
  local lab, a, b
  local T1 = kit.thread "T1"

  before_each(function() lab, a, b = kit.pair() end)

  -- Runs f while A runs, with m1 in a turn of A's that waits.
  local function with_turn(f)
    koine.run(function()
      lab.hold = true
      a:start()
      assert(a:say("T1", "ann", "m1"))
      lab:settle()
      assert.are.equal("A:m1", lab:words())
      f()
      lab:settle()
      a:crash()
    end)
  end

  it("cancel_turn of another machine cancels the turn; what waits comes next, and runs", function()
    with_turn(function()
      assert(b:say("T1", "ann", "m2"))
      assert.is_true(b.d:cancel_turn(T1))
      lab:settle()
      assert.are.equal("A:error:m1:cancelled A:cancelled A:m2", lab:words())
      lab:go()
      assert.are.equal("A:done:m2 A:ok", lab:words())
    end)
    assert.are.equal("<m2>", lab:history "T1")
    assert.are.equal(0, lab:left "T1")
  end)

  it("cancel_turn without a turn does nothing, also to later turns", function()
    assert.is_true(b.d:cancel_turn(T1))
    assert(a:say("T1", "ann", "m1"))
    a:drain()
    assert.are.equal("A:m1 A:done:m1 A:ok", lab:words())
    assert.is_true(b.d:cancel_turn(T1))
    with_turn(function()
      assert.is_true(b.d:cancel_turn(kit.thread "T2")) -- has A look at the commands of its threads
      lab:settle()
      lab:go()
      assert.are.equal("A:done:m1 A:ok", lab:words())
    end)
  end)

  it("cancel_turn means one thread: not T10 for T1", function()
    koine.run(function()
      lab.hold = true
      a:start()
      assert(a:say("T10", "ann", "m1"))
      lab:settle()
      assert(b.d:cancel_all(T1))
      assert(b.d:cancel_turn(T1))
      lab:settle()
      assert.are.equal("A:m1", lab:words())
      lab:go()
      assert.are.equal("A:done:m1 A:ok", lab:words())
      a:crash()
    end)
  end)

  it("cancel_all cancels the turn and drops what waits, told to on_error; later messages are played", function()
    with_turn(function()
      for i = 2, 4 do assert(b:say("T1", "ann", "m" .. i)) end
      assert.is_true(b.d:cancel_all(T1))
      assert(b:say("T1", "ann", "m5"))
      lab.hold = false
      lab:settle()
      assert.are.equal("A:error:m1:cancelled A:cancelled A:error:m2:cancelled A:error:m3:cancelled "
        .. "A:error:m4:cancelled A:m5 A:done:m5 A:ok", lab:words())
    end)
    assert.are.equal(3, a.d:stats().dropped)
    assert.are.equal("<m5>", lab:history "T1")
    assert.are.equal(0, lab:left "T1")
  end)

  it("cancel_all drops more messages than a claim shows", function()
    for i = 1, 250 do assert(a:say("T1", "ann", "m" .. i)) end
    assert(a.d:cancel_all(T1))
    assert(a:say("T1", "ann", "last"))
    a:drain()
    local words = lab:words()
    assert.are.equal(250, select(2, words:gsub(":cancelled", "")))
    assert.are.equal("A:last A:done:last A:ok", words:match "A:last.*$")
    assert.are.equal("<last>", lab:history "T1")
  end)

  it("cancel_all that died before its value was put drops by its mark alone", function()
    assert(a:say("T1", "ann", "m1"))
    b.before.put = kit.fail()
    local done, err = b.d:cancel_all(T1)
    assert.is_nil(done)
    assert.are.equal("connect", err.kind)
    a:drain()
    assert.are.equal("A:error:m1:cancelled", lab:words())
  end)

  it("reset forgets the history, once, and has the target forget its own", function()
    assert(a:say("T1", "ann", "m1"))
    a:drain()
    assert.are.equal("<m1>", lab:history "T1")
    assert(b.d:reset(T1))
    assert(b:say("T1", "ann", "m2"))
    lab:words()
    a:drain()
    assert.are.equal("reset:slack:T1 A:m2 A:done:m2 A:ok", lab:words())
    assert.are.equal("<m2>", lab:history "T1")
    assert(b:say("T1", "ann", "m3"))
    a:drain()
    assert.are.equal("<m2><m3>", lab:history "T1")
  end)

  it("reset that is broken off is done by the next owner, and takes no later history", function()
    assert(a:say("T1", "ann", "m1"))
    a:drain()
    for _, name in ipairs { "put", "ack" } do
      assert(b.d:reset(T1))
      koine.run(function()
        local one = lab:machine "C"
        one.before[name] = kit.hang
        one:start()
        lab:settle()
        one:crash()
        lab.time = lab.time + 61
        assert(b:say("T1", "ann", "m2"))
        a:drain()
      end)
      assert.are.equal("<m2>", lab:history "T1")
    end
  end)

  it("a mark of a command that this version does not have drops nothing", function()
    assert(a:say("T1", "ann", "m1"))
    lab.store:push("dispatch:slack:T1",
      (require("koine.dispatch.shared.item").mark(kit.thread "T1", "cancel_all"):gsub("cancel_all", "later")))
    b:drain()
    assert.are.equal("B:warning B:m1 B:done:m1 B:ok", lab:words())
    assert.are.equal(1, (lab:left("T1", true)))
  end)

  it("two commands at once are both kept", function()
    assert(a:say("T1", "ann", "m1"))
    local raced = false
    a.before.put = function()
      if raced then return end
      raced = true
      assert(b.d:reset(T1))
    end
    assert(a.d:cancel_turn(T1))
    local value = lab.store:get "c:dispatch:slack:T1"
    assert.is_truthy(value:find '"cancel":%d+' and value:find '"forget":%d+')
  end)

  it("closes a turn that never returns half a minute after its cancel", function()
    local now = 0
    a = lab:machine("A", { now_ms = function() return now end, ttl = 0.03 }) -- it looks a hundred times a second
    a.obeys = false
    with_turn(function()
      assert(b.d:cancel_turn(T1))
      lab:settle()
      assert.are.equal("", lab:words())
      now = 29999
      assert(b:say("T1", "ann", "m2"))
      koine.sleep(0.05)
      assert.are.equal("", lab:words())
      now, lab.hold = 30000, false
      lab:await "A:error:m1:cancelled A:cancelled A:m2 A:done:m2 A:ok"
    end)
  end)

  it("is refused for a thread that is none", function()
    for _, name in ipairs { "cancel_turn", "cancel_all", "reset" } do
      local _, err = koine.try(a.d[name], a.d, { platform = "slack" })
      assert.are.equal("thread.thread_id", err.field)
    end
  end)

  describe("shutdown", function()
    it("gives the turn back, which is played elsewhere; submits and steps are refused", function()
      with_turn(function()
        local given = a.d:shutdown()
        assert.are.same({ { thread_id = "T1", channel = "C1", adapter = "slack", messages = 1 } }, given)
        lab:settle()
        assert.are.equal("A:given_back", lab:words())
        assert.is_true(a.task.done)
        local accepted, err = a:say("T1", "ann", "m2")
        assert.is_nil(accepted)
        assert.are.equal("closed", err.code)
        assert.is_false(a.d:step())
        lab.hold = false
        b:drain()
        lab:settle()
        assert.are.equal("B:m1(2) B:done:m1 B:ok", lab:words())
      end)
    end)

    it("lets turns end that do so in time", function()
      with_turn(function()
        koine.spawn(function()
          koine.sleep(0.01)
          lab:go()
        end)
        assert.are.same({}, a.d:shutdown(5))
        lab:settle()
        assert.are.equal("A:done:m1 A:ok", lab:words())
        assert.are.equal(0, lab:left "T1")
      end)
    end)

    it("cancels them when their time is over", function()
      with_turn(function()
        assert.are.equal(1, #a.d:shutdown(0.01))
        lab:settle()
        assert.are.equal("A:given_back", lab:words())
      end)
    end)

    it("keeps the end of a turn that returned an answer in spite of it", function()
      a.d.target.run_turn = function(_, _, _, ctx)
        while not ctx.cancelled() do koine.sleep(0.001) end
        ctx.keep "answered"
        return "done"
      end
      koine.run(function()
        a:start()
        assert(a:say("T1", "ann", "m1"))
        lab:settle()
        assert.are.same({}, a.d:shutdown())
        lab:settle()
      end)
      assert.are.equal("A:done:m1 A:ok", lab:words())
      assert.are.equal("answered", lab:history "T1")
    end)

    it("gives back a thread whose claim was under way", function()
      local answered = false
      a.after.claim = function()
        while not answered do wait.park(lab) end
      end
      assert(a:say("T1", "ann", "m1"))
      koine.run(function()
        a:start()
        lab:settle()
        local stopped = koine.spawn(function() a.d:shutdown() end)
        lab:settle()
        assert.is_false(a.task.done)
        assert.is_false(stopped.done)
        answered = true
        lab:go()
        assert.is_true(a.task.done)
        assert.is_true(stopped.done)
      end)
      assert.are.equal("", lab:words())
      assert.are.equal(1, lab:left "T1")
    end)

    it("returns at once without a run, any number of times", function()
      assert.are.same({}, a.d:shutdown())
      assert.are.same({}, a.d:shutdown(1))
      assert.is_true(a.d:run())
      local _, err = koine.try(a.d.shutdown, a.d, -1)
      assert.are.equal("seconds", err.field)
    end)
  end)
end)
