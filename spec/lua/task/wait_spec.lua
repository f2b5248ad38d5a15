local core = require "koine.core"
local koine = require "koine"
local wait = require "koine.task.wait"

describe("wait", function()
  local turn, ready, now = core.turn, core.ready, wait.now

  after_each(function()
    core.turn, core.ready, wait.now = turn, ready, now
    wait.set_host(nil)
  end)

  -- Turns of the engine that are written down: {ready = {tokens…}, takes = seconds}. Returns the seconds that each was
  -- asked to wait for: an array.
  local function scripted(steps)
    local clock, asked, queue, given = 0, {}, {}, nil
    wait.now = function() return clock end
    core.turn = function(_, seconds)
      asked[#asked + 1] = seconds or "forever"
      local step = assert(table.remove(steps, 1), "one step too many")
      clock = clock + (step.takes or 0)
      table.move(step.ready or {}, 1, #(step.ready or {}), #queue + 1, queue)
    end
    core.ready = function(_, done)
      if given ~= nil and given ~= done then return given, true end
      given = table.remove(queue, 1)
      return given
    end
    return asked
  end

  it("steps the engine until the token is ready", function()
    local token, other = {}, {}
    local asked = scripted { {}, { ready = { other } }, { ready = { other, token } } }
    assert.is_true(wait.park(token))
    assert.are.same({ 1, 1, 1 }, asked)
  end)

  it("gives up when the time is over", function()
    local asked = scripted { { takes = 1 }, { takes = 1.5 }, { takes = 0.5 } }
    assert.is_false(wait.park({}, 3))
    assert.are.same({ 1, 1, 0.5 }, asked)
  end)

  it("goes on waiting after a signal", function()
    local token = {}
    local asked = scripted { { takes = 1 }, { ready = { token } } }
    assert.is_true(wait.park(token, 3))
    assert.are.same({ 1, 1 }, asked)
  end)

  it("sleeps", function()
    local asked = scripted { { takes = 0.25 } }
    assert.is_true(wait.sleep(0.25))
    assert.are.same({ 0.25 }, asked)
    assert.is_true(wait.sleep(0))
  end)

  it("sleeps for real on the core's engine", function()
    assert.is_true(wait.sleep(0.001))
    assert.is_false(wait.park({}, 0))
  end)

  describe("with a host", function()
    it("parks in the host", function()
      local parked = {}
      wait.set_host { park = function(...)
        parked[#parked + 1] = { ... }
        return true
      end, wake = function() end }
      local token = {}
      assert.is_true(wait.park(token, 2))
      assert.are.equal(token, parked[1][1])
      assert.are.equal(2, parked[1][2])
    end)

    it("pumps: wakes every token that became ready, also when waking steps the engine", function()
      local a, b, woken = { "a" }, { "b" }, {}
      local asked = scripted { { ready = { a, b } }, {} }
      wait.set_host { park = function() end, wake = function(token)
        woken[#woken + 1] = token
        if #woken == 1 then wait.pump(0) end
      end }
      wait.pump(0)
      assert.are.same({ 0, 0 }, asked)
      assert.are.same({ a, b }, woken)
    end)

    it("keeps what is behind a waiter that raises for the next pump", function()
      local a, b, c, woken = { "a" }, { "b" }, { "c" }, {}
      local asked = scripted { { ready = { a, b } }, { ready = { c } } }
      wait.set_host { park = function() end, wake = function(token)
        if token == a then error "from the waiter" end
        woken[#woken + 1] = token
      end }
      assert.is_false((pcall(wait.pump, 5)))
      wait.pump(5)
      assert.are.same({ b, c }, woken)
      assert.are.same({ 5, 5 }, asked)
    end)

    it("wakes others while a caller blocks", function()
      local mine, other, woken = { "mine" }, { "other" }, {}
      scripted { { ready = { other } }, { ready = { mine } } }
      wait.set_host { park = function() end, wake = function(token) woken[#woken + 1] = token end }
      assert.is_true(wait.block(mine))
      assert.are.same({ other, mine }, woken) -- the host may have a waiter for that one, too
    end)

    it("wakes a token that a caller made up; plain Lua has no coroutine to wake", function()
      local mine, woken = {}, {}
      wait.wake(mine)
      wait.set_host { park = function() end, wake = function(token) woken[#woken + 1] = token end }
      wait.wake(mine)
      assert.are.equal(1, #woken)
      assert.are.equal(mine, woken[1])
    end)

    it("keeps a waiter that cannot be woken, and those behind it, for the next time", function()
      local token, log = {}, {}
      local function waiter(name)
        wait.register(token, { woken = function(self)
          log[#log + 1] = name
          if #log == 1 then error "no room" end
          wait.forget(token, self)
        end })
      end
      waiter "a"
      waiter "b"
      assert.is_false((pcall(wait.wake, token)))
      wait.wake(token)
      wait.wake(token)
      assert.are.same({ "a", "a", "b" }, log)
    end)

    it("wakes in the next pump whom memory kept from being woken", function()
      local token, woken, tries = {}, 0, 0
      scripted { { ready = { token } }, {}, {} }
      for _ = 1, 2 do
        wait.register(token, { woken = function(self)
          tries = tries + 1
          if tries == 2 then error "no room" end
          wait.forget(token, self)
          woken = woken + 1
        end })
      end
      assert.is_false((pcall(wait.pump, 0)))
      wait.pump(0)
      wait.pump(0)
      assert.are.same({ 2, 3 }, { woken, tries })
    end)

    it("ends a wake though who is woken comes back in it", function()
      local token, count, run = {}, 0, nil
      local function resume(co)
        local ok, problem = coroutine.resume(co)
        if not ok then error(problem, 0) end
      end
      wait.set_host { park = function(what) return coroutine.yield(what) end, suspends = coroutine.isyieldable,
        wake = function() if coroutine.status(run) == "suspended" then resume(run) end end }
      run = coroutine.create(function()
        koine.run(function()
          while true do
            wait.park(token)
            count = count + 1
            if count > 10 then error "for ever" end
          end
        end)
      end)
      resume(run)
      wait.wake(token)
      assert.are.equal(1, count)
      wait.wake(token)
      assert.are.equal(2, count)
      coroutine.close(run)
    end)

    it("asks the host where park suspends; else it does wherever Lua can yield", function()
      local inside = coroutine.wrap(function() return wait.suspends() end)
      assert.is_false(wait.suspends())
      wait.set_host { park = function() end, wake = function() end }
      assert.is_false(wait.suspends())
      assert.is_true(inside())
      local answer = true
      wait.set_host(nil)
      wait.set_host { park = function() end, wake = function() end, suspends = function() return answer end }
      assert.is_true(wait.suspends())
      answer = false
      assert.is_false(coroutine.wrap(function() return wait.suspends() end)())
    end)

    it("is the only one, until it goes", function()
      local function nothing() end
      local one, other = { park = nothing, wake = nothing }, { park = nothing, wake = nothing }
      wait.set_host(one)
      wait.set_host(one)
      local ok, err = pcall(wait.set_host, other)
      assert.are.same({ false, "ArgumentError", "host" }, { ok, err.class, err.field })
      wait.set_host(nil)
      wait.set_host(other)
    end)

    it("must have both halves", function()
      local ok, err = pcall(wait.set_host, { park = function() end })
      assert.is_false(ok)
      assert.are.equal("host.wake", err.field)
      ok, err = pcall(wait.set_host, { park = function() end, wake = function() end, suspends = true })
      assert.is_false(ok)
      assert.are.equal("host.suspends", err.field)
    end)
  end)

  it("is offered to users with its arguments checked", function()
    local mailbox = {}
    assert.is_false(koine.park(mailbox, -1))
    assert.is_false(koine.block(mailbox, -1))
    assert.is_false(koine.block(mailbox, 0))
    koine.run(function()
      koine.spawn(function() koine.wake(mailbox) end)
      assert.is_true(koine.park(mailbox, 5))
    end)
    for _, name in ipairs { "park", "block" } do
      for _, bad in ipairs { "1", {}, 0 / 0 } do
        local ok, err = pcall(koine[name], mailbox, bad)
        assert.is_false(ok)
        assert.are.equal("seconds", err.field)
        assert(err.message:find "wait_spec.lua:%d+: seconds", err.message)
      end
    end
    for _, name in ipairs { "park", "block", "wake" } do
      local ok, err = pcall(koine[name], nil, 1)
      assert.is_false(ok)
      assert.are.equal("token", err.field)
    end
  end)

  it("lets the core step for a token only while nobody waits for it", function()
    local token, waiter = {}, { woken = function() end, after = false, before = false, order = 0 }
    assert.is_true(wait.only_steps(token))
    wait.register(token, waiter)
    assert.is_false(wait.only_steps(token))
    assert.is_true(wait.only_steps {})
    wait.forget(token, waiter)
    local pump, within = wait.pump, nil
    wait.pump = function() within = wait.only_steps(token) end -- where a finalizer would run
    wait.block(token, 0)
    wait.pump = pump
    assert.is_false(within)
    assert.is_true(wait.only_steps(token))
  end)
end)
