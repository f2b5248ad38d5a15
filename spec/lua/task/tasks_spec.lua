-- The tasks of koine.run: how they are spawned, waited for, cancelled, and what they leave behind.

local koine = require "koine"
local wait = require "koine.task.wait"

describe("koine.spawn", function()
  it("needs a run", function()
    local ok, err = pcall(koine.spawn, function() end)
    assert.is_false(ok)
    assert.are.equal("ArgumentError", err.class)
    assert.is_truthy(tostring(err):find("koine.run", 1, true))
  end)

  it("gives a task whose end can be waited for by many, before and after", function()
    koine.run(function()
      local task = koine.spawn(function(...)
        koine.sleep(0.001)
        return ...
      end, "a", nil, "c")
      local other = koine.spawn(function() return table.pack(task:wait()) end)
      assert.are.same({ "a", nil, "c", n = 3 }, table.pack(task:wait()))
      assert.are.same({ "a", nil, "c", n = 3 }, other:wait())
      assert.are.equal("a", (task:wait()))
      assert.are.equal("koine.task (done)", tostring(task))
    end)
  end)

  it("cancels: closes the coroutine at once, and says so to who waits", function()
    koine.run(function()
      local closed = false
      local task = koine.spawn(function()
        local mark <close> = setmetatable({}, { __close = function() closed = true end }) -- luacheck: ignore
        koine.sleep(1000)
      end)
      local waiter = koine.spawn(function() return table.pack(task:wait()) end)
      coroutine.yield()
      assert.is_true(task:cancel())
      assert.is_true(closed)
      assert.is_false(task:cancel())
      assert.are.equal("koine.task (cancelled)", tostring(task))
      local result = waiter:wait()
      assert.is_nil(result[1])
      assert.are.equal("CancelledError", result[2].class)
    end)
  end)

  it("cancels a task that has not begun, and one that is running at its next wait", function()
    koine.run(function()
      local begun, after = false, false
      koine.spawn(function() begun = true end):cancel()
      local task
      task = koine.spawn(function()
        task:cancel()
        koine.sleep(0.001)
        after = true
      end)
      local _, err = task:wait()
      assert.are.equal("cancelled", err.kind)
      assert.is_false(begun)
      assert.is_false(after)
    end)
  end)

  it("closes the task with its variable", function()
    koine.run(function()
      local task
      do
        local scoped <close> = koine.spawn(koine.sleep, 1000)
        task = scoped
      end
      local _, err = task:wait()
      assert.are.equal("cancelled", err.kind)
    end)
  end)

  it("fails the run with an error of a to-be-closed variable", function()
    local ok, err = pcall(koine.run, function()
      local task = koine.spawn(function()
        local bad <close> = setmetatable({}, { __close = function() error("in close", 0) end }) -- luacheck: ignore
        koine.sleep(1000)
      end)
      coroutine.yield()
      task:cancel()
      koine.sleep(1000)
    end)
    assert.is_false(ok)
    assert.is_truthy(tostring(err):find("in close", 1, true))
  end)

  it("dismisses: what closing raises goes no further, where a cancelled one would end the run", function()
    local function failing()
      local _ <close> = setmetatable({}, { __close = function() error "closing" end })
      koine.sleep(60)
    end
    local first, text = koine.run(function()
      local task = koine.spawn(failing)
      koine.sleep(0)
      assert.is_true(task:dismiss())
      assert.is_false(task:dismiss())
      local results, err = task:wait()
      assert.is_nil(results)
      return "went on", tostring(err)
    end)
    assert.are.equal("went on", first)
    assert.is_truthy(text:find("closing", 1, true))
    local ok, err = pcall(koine.run, function()
      local task = koine.spawn(failing)
      koine.sleep(0)
      task:cancel()
      koine.sleep(60)
    end)
    assert.is_false(ok)
    assert.is_truthy(tostring(err):find("closing", 1, true))
  end)

  it("may wait inside a to-be-closed variable of a cancelled task", function()
    koine.run(function()
      local slept
      local task = koine.spawn(function()
        local slow <close> = setmetatable({}, { __close = function() slept = koine.sleep(0.001) end }) -- luacheck: ignore
        koine.sleep(1000)
      end)
      coroutine.yield()
      task:cancel()
      assert.is_true(slept)
    end)
  end)

  it("refuses new tasks while the run is being closed", function()
    local refused
    pcall(koine.run, function()
      koine.spawn(function()
        local mark <close> = setmetatable({}, { __close = function() -- luacheck: ignore
          refused = select(2, pcall(koine.spawn, function() end))
        end })
        koine.sleep(1000)
      end)
      coroutine.yield()
      error "over"
    end)
    assert.are.equal("ArgumentError", refused.class)
  end)
end)

describe("waits that cannot end", function()
  local function refused(f)
    local err
    koine.run(function()
      local other = koine.spawn(koine.sleep, 1000)
      coroutine.yield()
      err = select(2, pcall(f, other))
      other:cancel()
    end)
    assert.are.equal("ArgumentError", err.class)
    assert.are.equal("task", err.field)
  end

  it("are refused: for oneself", function() refused(function() wait.task():wait() end) end)

  it("are refused: in a coroutine of the user's own", function()
    refused(function(other) error(select(2, coroutine.resume(coroutine.create(other.wait), other)), 0) end)
  end)

  it("are refused: in a to-be-closed variable of a task being closed", function()
    refused(function(other)
      local err
      local closing = koine.spawn(function()
        local mark <close> = setmetatable({}, { __close = function() err = select(2, pcall(other.wait, other)) end })
        return koine.sleep(1000), mark
      end)
      coroutine.yield()
      closing:cancel()
      error(err, 0)
    end)
  end)
end)

describe("tasks that wait for each other in a ring", function()
  -- Runs f(first) beside a task that waits for what f returns: pcall's results, and whether all was closed.
  local function ring(f)
    local closed = 0
    local mark = setmetatable({}, { __close = function() closed = closed + 1 end })
    local ok, err = pcall(koine.run, function()
      local first, second
      first = koine.spawn(function()
        local held <close> = mark -- luacheck: ignore held
        return second:wait()
      end)
      second = koine.spawn(function()
        local held <close> = mark -- luacheck: ignore held
        return f(first)
      end)
    end)
    return ok, err, closed
  end

  local function refused(f)
    local ok, err, closed = ring(f)
    assert.is_false(ok)
    assert.are.same({ "ArgumentError", "run", 2 }, { err.class, err.field, closed })
    assert.is_truthy(err.message:find("deadlock: every task waits for another task", 1, true), err.message)
  end

  it("end the run with an error: two of them", function() refused(function(first) return first:wait() end) end)

  it("end the run with an error: by way of gather", function()
    refused(function(first) return koine.gather(function() return first:wait() end) end)
  end)

  it("end the run with an error: by way of a run within", function()
    refused(function(first)
      return koine.run(function() return koine.gather(function() return koine.run(first.wait, first) end) end)
    end)
  end)

  it("end the run once no other task is left", function()
    local slept = false
    refused(function(first)
      koine.spawn(function() slept = koine.sleep(0.001) end)
      return first:wait()
    end)
    assert.is_true(slept)
  end)

  it("end the run where one of them waited for something else before", function()
    local token = {}
    refused(function(first)
      koine.spawn(function() koine.timeout(0.001, function() while true do wait.park(token) end end) end)
      while wait.park(token, 0.002) do end
      return first:wait()
    end)
  end)

  it("go on where a time ends one of the waits", function()
    local kind
    local ok, err = ring(function(first)
      kind = select(2, koine.timeout(0.001, first.wait, first)).kind
    end)
    assert.are.same({ true, "timeout" }, { ok, kind }, err)
  end)

  it("go on where another task cancels one of them", function()
    local class
    local ok, err = ring(function(first)
      koine.spawn(function()
        koine.sleep(0.001)
        first:cancel()
      end)
      class = select(2, first:wait()).class
    end)
    assert.are.same({ true, "CancelledError" }, { ok, class }, err)
  end)

  it("are not those that wait for what a signal's handler may wake", function()
    local token, woken = {}, false
    finally(function() debug.sethook() end)
    koine.run(function()
      local sleeper = koine.spawn(function() woken = wait.park(token) end)
      koine.spawn(function() return sleeper:wait() end)
      sleeper:wait()
    end, debug.sethook(function() wait.wake(token) end, "", 1)) -- a handler's way into Lua
    assert.is_true(woken)
  end)
end)

describe("tasks", function()
  it("that wait for one token are woken in the order of their coming, cancelled ones left out", function()
    local log, token, tasks = {}, {}, {}
    koine.run(function()
      for i = 1, 6 do
        tasks[i] = koine.spawn(function()
          wait.park(token)
          log[#log + 1] = i
        end)
      end
      coroutine.yield()
      for _, i in ipairs { 1, 4, 6 } do tasks[i]:cancel() end
      wait.wake(token)
    end)
    assert.are.same({ 2, 3, 5 }, log)
  end)

  it("let the others run when they sleep for no time", function()
    koine.run(function()
      local flag = false
      koine.spawn(function() flag = true end)
      while not flag do koine.sleep(0) end
    end)
  end)

  it("leave no timers behind that were not needed", function()
    koine.run(function()
      local sleeper <close> = koine.spawn(koine.sleep, 1000)
      for _ = 1, 1000 do koine.timeout(2000, coroutine.yield) end
      assert.is_true(sleeper.run.timers.n <= 130)
    end)
  end)

  it("end with a run that is not finished", function()
    local streams = setmetatable({}, { __mode = "k" })
    for _ = 1, 10 do
      coroutine.wrap(function()
        koine.run(function()
          koine.spawn(function()
            local token = {}
            streams[token] = true
            wait.park(token)
          end)
          coroutine.yield()
          coroutine.yield()
        end)
      end)()
    end
    collectgarbage()
    collectgarbage()
    assert.is_nil(next(streams))
  end)

  it("that fail close what they opened, and may spawn while they do", function()
    local spawned = false
    local ok = pcall(koine.run, function()
      koine.spawn(function()
        local mark <close> = setmetatable({}, { __close = function() -- luacheck: ignore
          spawned = wait.task() ~= nil and koine.spawn(function() end) ~= nil
        end })
        coroutine.yield()
        error "over"
      end)
      koine.sleep(1000)
    end)
    assert.is_false(ok)
    assert.is_true(spawned)
  end)

  it("of a group whose caller is gone fail the run", function()
    local ok, err = pcall(koine.run, function()
      local parent = wait.task()
      koine.gather(function()
        parent:cancel()
        error("heard", 0)
      end)
    end)
    assert.is_false(ok)
    assert.is_truthy(tostring(err):find("heard", 1, true))
  end)

  it("cannot be nested without end", function()
    local function nest() return koine.gather(nest) end
    local ok, err = pcall(koine.run, nest)
    assert.is_false(ok)
    assert.are.equal("ArgumentError", err.class)
  end)

  it("refuse times that are no numbers", function()
    for _, bad in ipairs { 0 / 0, "1", true } do
      local ok, err = pcall(koine.sleep, bad)
      assert.is_false(ok)
      assert.are.equal("seconds", err.field)
    end
  end)
end)
