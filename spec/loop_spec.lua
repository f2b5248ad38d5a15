-- koine.run and what goes with it. Order is shown by what is written down, never by how long a thing took.

local errors = require "koine.errors"
local koine = require "koine"
local timers = require "koine.loop.timers"
local wait = require "koine.wait"

-- A place where tasks meet: wait() parks until open() was called.
local function gate()
  local self = { opened = false }
  function self.wait()
    while not self.opened do wait.park(self) end
  end
  function self.open()
    self.opened = true
    wait.wake(self)
  end
  return self
end

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
        assert.is_nil(one.off)
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
    assert.is_nil(err)
    ok, err = pcall(koine.run, function() koine.spawn(error, false) end)
    assert.is_false(ok)
    assert.is_false(err)
  end)

  it("carries the task's traceback", function()
    local function deep(value) error(value) end
    local function fails(value) return function() deep(value) end end
    local _, text = pcall(koine.run, function() koine.spawn(fails "boom") end)
    assert.is_truthy(text:find("boom\nstack traceback:", 1, true))
    assert.is_truthy(text:find("loop_spec.lua:%d+: in upvalue 'deep'"))
    local _, same = pcall(koine.run, function() koine.gather(fails "boom") end)
    assert.is_truthy(same:find("loop_spec.lua:%d+: in upvalue 'deep'"))

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

  it("blocks in a coroutine of the user's own, and loses nobody's turn", function()
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

  it("refuses what is no function", function()
    local ok, err = pcall(koine.run, "f")
    assert.is_false(ok)
    assert.are.equal("f", err.field)
  end)
end)

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

  it("go with a run that nobody finishes", function()
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

describe("koine.gather", function()
  it("returns the first result of each in order, whoever ends first", function()
    koine.run(function()
      local late = gate()
      local a, b, c = koine.gather(
        function()
          late.wait()
          return "a", "lost"
        end,
        function() return nil end,
        function()
          late.open()
          return "c"
        end)
      assert.are.same({ "a", nil, "c" }, { a, b, c })
      assert.are.equal(0, select("#", koine.gather()))
    end)
  end)

  it("works outside of koine.run", function()
    local met = gate()
    local a, b = koine.gather(function() met.wait() return 1 end, function() met.open() return 2 end)
    assert.are.same({ 1, 2 }, { a, b })
  end)

  it("cancels the rest when one raises, and raises the same value", function()
    koine.run(function()
      local mine, closed = {}, 0
      local function sleeper()
        local mark <close> = setmetatable({}, { __close = function() closed = closed + 1 end }) -- luacheck: ignore
        koine.sleep(1000)
      end
      local ok, err = pcall(koine.gather, sleeper, function()
        coroutine.yield()
        error(mine)
      end, sleeper)
      assert.is_false(ok)
      assert.are.equal(mine, err)
      assert.are.equal(2, closed)
    end)
  end)

  it("cancels all of them with its caller", function()
    koine.run(function()
      local closed = 0
      local function sleeper()
        local mark <close> = setmetatable({}, { __close = function() closed = closed + 1 end }) -- luacheck: ignore
        koine.sleep(1000)
      end
      local task = koine.spawn(koine.gather, sleeper, sleeper)
      koine.sleep(0.001)
      task:cancel()
      assert.are.equal(2, closed)
    end)
  end)

  local function bad_to_close()
    local bad <close> = setmetatable({}, { __close = function() error("in close", 0) end }) -- luacheck: ignore
    koine.sleep(1000)
  end

  it("raises the first error when closing the others raises too, and the run goes on", function()
    koine.run(function()
      local ok, err = pcall(koine.gather, bad_to_close, function()
        coroutine.yield()
        error("first", 0)
      end)
      assert.is_false(ok)
      assert.are.equal("first", err)
      koine.sleep(0)
    end)
  end)

  it("raises what closing a cancelled task of it raised", function()
    koine.run(function()
      local ok, err = pcall(koine.timeout, 0.001, bad_to_close)
      assert.is_false(ok)
      assert.are.equal("in close", err)
      local inner
      ok, err = pcall(koine.gather, function()
        inner = wait.task()
        bad_to_close()
      end, function()
        inner:cancel()
        koine.sleep(1000)
      end)
      assert.is_false(ok)
      assert.are.equal("in close", err)
      koine.sleep(0)
    end)
  end)

  it("refuses what is no function before it starts any", function()
    local started = false
    local ok, err = pcall(koine.gather, function() started = true end, 5)
    assert.is_false(ok)
    assert.are.equal("function 2", err.field)
    assert.is_false(started)
  end)
end)

describe("koine.timeout", function()
  it("returns what the function returns in time", function()
    assert.are.same({ 1, nil, 3, n = 3 }, table.pack(koine.timeout(1000, function() return 1, nil, 3 end)))
  end)

  it("cancels it when the time is over", function()
    local closed = false
    local result, err = koine.timeout(0.001, function()
      local mark <close> = setmetatable({}, { __close = function() closed = true end }) -- luacheck: ignore
      koine.sleep(1000)
    end)
    assert.is_nil(result)
    assert.are.equal("timeout", err.kind)
    assert.are.equal("ConnectionError", err.class)
    assert.is_true(closed)
  end)

  it("raises what the function raises", function()
    local mine = {}
    local ok, err = pcall(koine.timeout, 1000, error, mine)
    assert.is_false(ok)
    assert.are.equal(mine, err)
  end)

  it("wants a number and a function", function()
    for field, call in pairs { seconds = { "1", print }, f = { 1 } } do
      local ok, err = pcall(koine.timeout, table.unpack(call))
      assert.is_false(ok)
      assert.are.equal(field, err.field)
    end
  end)
end)

describe("conversations under koine.run", function()
  local server, adapter

  setup(function()
    server = assert(koine.testing.start())
    adapter = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "k", retry = { max = 0 } }
  end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  it("go on side by side: every chat has begun before the first is answered", function()
    server:script "echo"
    local begun, log = 0, {}
    koine.run(function()
      for i = 1, 20 do
        koine.spawn(function()
          begun = begun + 1
          local r = assert(adapter:chat("number " .. i))
          log[#log + 1] = begun
          assert.are.equal("You said: number " .. i, r:text())
        end)
      end
    end)
    assert.are.equal(20, #log)
    assert.are.equal(20, log[1])
  end)

  it("take retries, streams and a rate limiter along", function()
    local turns = {}
    for i = 1, 4 do
      turns[i] = { error = { status = 529, message = "busy", headers = { ["retry-after"] = "0" } } }
      turns[i + 4] = { content = "four words of text" }
    end
    server:script(turns)
    local patient = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "k",
      retry = { max = 8 } }
    local function read()
      local text = {}
      for delta in patient:stream "Hello?" do text[#text + 1] = delta.text end
      return table.concat(text)
    end
    assert.are.same({ "four words of text", "four words of text", "four words of text", "four words of text" },
      { koine.gather(read, read, read, read) })
  end)

  it("end at once when their task is cancelled in silence, streams outside of variables too", function()
    server:script { { content = "a long answer", chunk = 1, fault = { stall_after = 800 } } }
    koine.run(function()
      local stream
      local task = koine.spawn(function()
        stream = assert(adapter:open "Hello?")
        while stream:next() do end
      end)
      while not stream or stream:stats().events < 1 do koine.sleep(0.001) end
      assert.is_true(task:cancel())
      local _, err = stream:next()
      assert.are.equal("cancelled", err.kind)
      assert.are.equal("koine.engine (0 in flight)", tostring(koine.engine()))
    end)
  end)

  it("end with the run when another task fails", function()
    server:script { { content = "a long answer", chunk = 1, fault = { stall_after = 0 } } }
    local ok = pcall(koine.run, function()
      koine.spawn(function() return adapter:chat "Hello?" end)
      koine.sleep(0.005)
      error "over"
    end)
    assert.is_false(ok)
    assert.are.equal("koine.engine (0 in flight)", tostring(koine.engine()))
  end)
end)
