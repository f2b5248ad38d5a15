-- koine.run, and the timers beneath it. Order is shown by what is written down, never by how long a thing took.

local errors = require "koine.data.errors"
local gate = require "spec.lua.task.gate"
local koine = require "koine"
local timers = require "koine.task.timers"
local wait = require "koine.task.wait"

describe("timers", function()
  it("come out by time, equals in the order they went in", function()
    local heap, seed = timers.new(), 42
    for i = 1, 500 do
      seed = (seed * 1103515245 + 12345) % 2147483648
      local one = heap:add { at = seed % 37, number = i }
      if i % 3 == 1 then heap:cancel(one) end
    end
    local last, count = { at = -1, number = 0 }, 0
    for now = 0, 36 do
      local one = heap:due(now)
      while one do
        assert.is_falsy(one.off)
        assert.are.equal(now, one.at)
        assert.is_true(one.at > last.at or one.number > last.number)
        last, count = one, count + 1
        one = heap:due(now)
      end
    end
    assert.are.equal(333, count)
    assert.is_nil(heap:first())
  end)
end)

local function bad_to_close()
  local bad <close> = setmetatable({}, { __close = function() error("in close", 0) end }) -- luacheck: ignore
  koine.sleep(1000)
end

describe("koine.run", function()
  it("returns what its function returns, nils too", function()
    assert.are.same({ 1, nil, 3, n = 3 }, table.pack(koine.run(function(...) return ... end, 1, nil, 3)))
    assert.are.equal(0, select("#", koine.run(function() end)))
  end)

  it("runs tasks in the order in which they became ready", function()
    local log = {}
    koine.run(function()
      for i = 1, 3 do
        koine.spawn(function(name)
          for round = 1, 2 do
            log[#log + 1] = name .. round
            coroutine.yield()
          end
        end, "t" .. i)
      end
      log[#log + 1] = "main"
    end)
    assert.are.same({ "main", "t11", "t21", "t31", "t12", "t22", "t32" }, log)
  end)

  it("ends when every task has ended", function()
    local done = false
    koine.run(function()
      koine.spawn(function()
        koine.sleep(0.001)
        koine.spawn(function() done = true end)
      end)
    end)
    assert.is_true(done)
  end)

  it("sleeps in the order of the times", function()
    local log, now = {}, wait.now
    local moment = now()
    koine.run(function()
      for _, ms in ipairs { 30, 10, 20 } do
        koine.spawn(function()
          koine.sleep(ms / 1000)
          log[#log + 1] = ms
        end)
      end
      wait.now = function() return moment end -- all begin at one moment
      coroutine.yield()
      wait.now = now
    end)
    assert.are.same({ 10, 20, 30 }, log)
  end)

  it("raises the error of a task and closes the others first", function()
    local log, mine = {}, { "mine" }
    local ok, err = pcall(koine.run, function()
      koine.spawn(function()
        local mark <close> = setmetatable({}, { __close = function() log[#log + 1] = "closed" end }) -- luacheck: ignore
        wait.park({})
      end)
      koine.spawn(function() error(mine) end)
      wait.park({})
    end)
    assert.is_false(ok)
    assert.are.equal(mine, err)
    assert.are.same({ "closed" }, log)
  end)

  it("raises errors that are false or nil", function()
    local ok, err = pcall(koine.run, function() error(nil) end)
    assert.is_false(ok)
    if _VERSION == "Lua 5.4" then assert.is_nil(err)
    else assert.matches("^<no error object>", err) end -- what Lua itself makes of nil
    ok, err = pcall(koine.run, function() koine.spawn(error, false) end)
    assert.is_false(ok)
    assert.is_false(err)
  end)

  it("compares neither results nor errors with anything of its own", function()
    local function compare() error "compared" end
    local value = setmetatable({}, { __eq = compare })
    assert.is_true(rawequal(value, koine.run(function() return value end)))
    local ok, err = pcall(koine.run, function() error(value) end)
    assert.is_false(ok)
    assert.is_true(rawequal(value, err))
    assert.is_true(rawequal(value, coroutine.wrap(function() koine.run(coroutine.yield, value) end)()))
    assert.is_true(rawequal(value, (koine.run(koine.gather, function() return value end))))
  end)

  it("carries the task's traceback", function()
    local function deep(value) error(value) end
    local function fails(value) return function() deep(value) end end
    local _, text = pcall(koine.run, function() koine.spawn(fails "boom") end)
    assert.is_truthy(text:find("boom\nstack traceback:", 1, true))
    assert.is_truthy(text:find("scheduler_spec.lua:%d+: in upvalue 'deep'"))
    local _, same = pcall(koine.run, function() koine.gather(fails "boom") end)
    assert.is_truthy(same:find("scheduler_spec.lua:%d+: in upvalue 'deep'"))

    local _, nested = pcall(koine.run, koine.run, koine.run, fails "boom")
    assert.are.equal(1, select(2, nested:gsub("stack traceback:", "")))

    local ours = errors.new { kind = "other", message = "an error of ours" }
    local _, err = pcall(koine.run, function() koine.spawn(fails(ours)) end)
    assert.are.equal("an error of ours", tostring(err))
    assert.are.equal(ours, err)
    assert.is_truthy(err.traceback:find "in upvalue 'deep'")
  end)

  it("works inside itself while the outer tasks go on", function()
    local log, there, back = {}, gate(), gate()
    koine.run(function()
      koine.spawn(function()
        there.wait()
        log[#log + 1] = "outer"
        back.open()
      end)
      local result = koine.run(function()
        there.open()
        back.wait()
        log[#log + 1] = "inner"
        return "inner's result"
      end)
      log[#log + 1] = result
    end)
    assert.are.same({ "outer", "inner", "inner's result" }, log)
  end)

  it("blocks in a coroutine of the user's own, and loses no other wake-up", function()
    local log = {}
    koine.run(function()
      local side = koine.spawn(function()
        koine.sleep(0.001)
        log[#log + 1] = "side"
      end)
      local generator = coroutine.wrap(function()
        koine.sleep(0.02)
        log[#log + 1] = "generator"
        coroutine.yield(1)
      end)
      assert.are.equal(1, generator())
      side:wait()
    end)
    assert.are.same({ "generator", "side" }, log)
  end)

  it("blocks where C called: in a function of string.gsub, in a comparator", function()
    koine.run(function()
      assert.are.equal("yes", (("x"):gsub("x", function() return koine.sleep(0.001) and "yes" end)))
      assert.are.equal("both", (("x"):gsub("x", function() return koine.gather(function() return "both" end) end)))
    end)
  end)

  it("hands yields that are not Koine's to whoever resumed the run", function()
    local outer = coroutine.wrap(function()
      return koine.run(function() return "got " .. coroutine.yield("wanted") end)
    end)
    assert.are.equal("wanted", outer())
    assert.are.equal("got it", outer "it")
  end)

  it("closes its tasks when the coroutine it runs in is closed", function()
    local closed = false
    local outer = coroutine.create(function()
      koine.run(function()
        local mark <close> = setmetatable({}, { __close = function() closed = true end }) -- luacheck: ignore
        coroutine.yield()
      end)
    end)
    assert.is_true(coroutine.resume(outer))
    assert.is_true(coroutine.close(outer))
    assert.is_true(closed)
  end)

  it("raises what closing its tasks raises when its caller is cancelled", function()
    local ok, err = pcall(koine.run, function()
      local task = koine.spawn(koine.run, bad_to_close)
      koine.sleep(0)
      task:cancel()
      koine.sleep(1000)
    end)
    assert.are.same({ false, "in close" }, { ok, err })
  end)

  it("ends at once when somebody outside cancels a task of it whose closing raises", function()
    koine.run(function()
      local inner
      local task = koine.spawn(pcall, koine.run, function()
        inner = koine.spawn(bad_to_close)
        koine.sleep(1)
      end)
      koine.sleep(0)
      koine.sleep(0)
      inner:cancel()
      koine.sleep(0)
      assert.are.equal("koine.task (done)", tostring(task))
      assert.are.same({ false, "in close", n = 2 }, table.pack(task:wait()))
    end)
  end)

  it("may be closed while one of its tasks is", function()
    koine.run(function()
      local outer, inner
      outer = koine.spawn(koine.run, function()
        inner = koine.spawn(function()
          local mark <close> = setmetatable({}, { __close = function() outer:cancel() end }) -- luacheck: ignore
          koine.sleep(1000)
        end)
        koine.sleep(1000)
      end)
      koine.sleep(0)
      koine.sleep(0)
      assert.is_true(inner:cancel())
      assert.are.equal("koine.task (cancelled)", tostring(outer))
      assert.are.equal("koine.task (cancelled)", tostring(inner))
    end)
  end)

  it("closes its tasks the oldest first", function()
    local log = {}
    pcall(koine.run, function()
      for i = 1, 9 do
        koine.spawn(function()
          local mark <close> = setmetatable({}, { __close = function() log[#log + 1] = i end }) -- luacheck: ignore
          koine.sleep(1000)
        end)
      end
      koine.sleep(0)
      error "over"
    end)
    assert.are.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9 }, log)
  end)

  -- Runs a run in a task; one of its tasks yields by itself, and outside of the run another of them is cancelled in
  -- that moment: what the run gave by pcall, and whether the task went on.
  local function cancelled_in_yield(which)
    local tasks, yielded, went_on, results = {}, false, false, nil
    koine.run(function()
      local outer = koine.spawn(function()
        results = table.pack(pcall(koine.run, function()
          tasks.fragile = koine.spawn(bad_to_close)
          koine.sleep(0)
          tasks.yielding = koine.spawn(function()
            yielded = true
            coroutine.yield()
            went_on = true
          end)
          tasks.yielding:wait()
          tasks.fragile:dismiss()
        end))
      end)
      while not yielded do koine.sleep(0) end
      tasks[which]:cancel()
      outer:wait()
    end)
    return results, went_on
  end

  it("resumes no task that was closed while it yielded by itself", function()
    local results, went_on = cancelled_in_yield "yielding"
    assert.are.same({ true, n = 1 }, results)
    assert.is_false(went_on)
  end)

  it("resumes no task once it has failed, also one that yielded by itself", function()
    local results, went_on = cancelled_in_yield "fragile"
    assert.are.same({ false, "in close", n = 2 }, results)
    assert.is_false(went_on)
  end)

  it("refuses what is no function", function()
    local ok, err = pcall(koine.run, "f")
    assert.is_false(ok)
    assert.are.equal("f", err.field)
  end)
end)
