-- koine.gather and koine.timeout, and conversations in the tasks of koine.run. Order is shown by what is written down,
-- never by how long a thing took.

local gate = require "spec.lua.task.gate"
local koine = require "koine"
local wait = require "koine.task.wait"

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

  -- Has a task wait by calling wait_for(f), and cancels it between the failure of f and its own turn: the two results
  -- of the run, and what the task was closed with.
  local function cancelled_late(wait_for)
    local waiter, closed
    local function cancel() waiter:cancel() end
    local ok, said = pcall(koine.run, function()
      waiter = koine.spawn(function()
        local mark <close> = setmetatable({}, { __close = function(_, err) closed = { err } end }) -- luacheck: ignore
        pcall(wait_for, function()
          coroutine.yield()
          koine.spawn(cancel)
          error("for the waiter's pcall", 0)
        end)
        koine.sleep(1000)
      end)
      return select(2, waiter:wait()).kind
    end)
    return ok, said, closed
  end

  it("keeps its error to itself when its caller is cancelled before he hears of it", function()
    assert.are.same({ true, "cancelled", {} }, { cancelled_late(koine.gather) })
    assert.are.same({ true, "cancelled", {} }, { cancelled_late(function(f) koine.timeout(1000, f) end) })
  end)

  it("raises only what comes up while its cancelled caller is closed", function()
    assert.are.same({ false, "in close", { "in close" } },
      { cancelled_late(function(f) koine.gather(bad_to_close, f) end) })
  end)

  it("is not told what closing a dismissed task of it raised", function()
    koine.run(function()
      local inner
      assert.are.same({ nil, "on", n = 2 }, table.pack(koine.gather(function()
        inner = wait.task()
        bad_to_close()
      end, function()
        inner:dismiss()
        koine.sleep(0)
        return "on"
      end)))
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

describe("koine.gather of a table", function()
  -- n functions of which each sleeps a few times and returns its number, and the counts of those that began, that run,
  -- and of the most that ran at once.
  local function counted(n)
    local jobs, count = {}, { begun = 0, running = 0, most = 0 }
    for i = 1, n do
      jobs[i] = function()
        count.begun, count.running = count.begun + 1, count.running + 1
        count.most = math.max(count.most, count.running)
        local mark <close> = setmetatable({}, { __close = function() count.running = count.running - 1 end }) -- luacheck: ignore
        for _ = 0, i * 7 % 5 do koine.sleep(0) end
        return i, "lost"
      end
    end
    return jobs, count
  end

  it("runs at most `limit` at once, always as many as it may, and keeps the order", function()
    for limit = 1, 12 do
      local jobs, count = counted(10)
      jobs.limit = limit
      local results = koine.gather(jobs)
      assert.are.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, n = 10 }, results)
      assert.are.same({ begun = 10, running = 0, most = math.min(limit, 10) }, count)
    end
  end)

  it("starts the next as soon as one has ended", function()
    local first, order = gate(), {}
    koine.gather { limit = 2,
      function() first.wait() order[#order + 1] = 1 end,
      function() order[#order + 1] = 2 end,
      function() order[#order + 1] = 3 end,
      function() order[#order + 1] = 4 first.open() end }
    assert.are.same({ 2, 3, 4, 1 }, order)
  end)

  it("runs all at once without a limit, and none of none", function()
    local jobs, count = counted(30)
    assert.are.equal(30, koine.gather(jobs).n)
    assert.are.equal(30, count.most)
    assert.are.same({ n = 0 }, koine.gather {})
    assert.are.same({ n = 0 }, koine.gather { limit = 3 })
  end)

  it("counts results that are nil", function()
    local results = koine.gather { limit = 1, function() return nil end, function() return nil, "why" end }
    assert.are.same({ n = 2 }, results)
  end)

  it("starts no more after one raised, cancels those that run, and raises the same value", function()
    koine.run(function()
      local jobs, count = counted(10)
      local mine = {}
      jobs[4], jobs.limit = function() error(mine) end, 3
      local ok, err = pcall(koine.gather, jobs)
      assert.is_false(ok)
      assert.are.equal(mine, err)
      assert.are.equal(0, count.running)
      local begun = count.begun
      assert.is_true(begun < 9)
      koine.sleep(0.001)
      assert.are.equal(begun, count.begun)
    end)
  end)

  it("ends with its caller: those that run are cancelled, the others never start", function()
    koine.run(function()
      local jobs, count = counted(10)
      for i = 1, 10 do
        local job = jobs[i]
        jobs[i] = function() job() koine.sleep(1000) end
      end
      jobs.limit = 2
      local task = koine.spawn(koine.gather, jobs)
      while count.begun < 2 do koine.sleep(0) end
      task:cancel()
      koine.sleep(0.001)
      assert.are.same({ begun = 2, running = 0, most = 2 }, count)
    end)
    assert.are.equal("timeout", select(2, koine.timeout(0.001, koine.gather, { limit = 1,
      function() koine.sleep(1000) end, error })).kind)
  end)

  it("bounds groups one in the other, each by itself", function()
    local running, most = 0, 0
    local function inner()
      running = running + 1
      most = math.max(most, running)
      koine.sleep(0)
      running = running - 1
    end
    local function outer() koine.gather { inner, inner, inner, limit = 2 } end
    koine.gather { outer, outer, outer, limit = 2 }
    assert.are.same({ 0, 4 }, { running, most })
  end)

  it("refuses what is wrong before it starts any", function()
    local begun = false
    local function job() begun = true end
    for field, given in pairs { ["functions[2]"] = { job, 5 }, functions = { job, nil, job },
      limits = { job, limits = 2 } } do
      local ok, err = pcall(koine.gather, given)
      assert.are.same({ false, "ArgumentError", field }, { ok, err.class, err.field })
    end
    for _, limit in ipairs { 0, -1, 1.5, "2", false, math.huge, 0 / 0 } do
      local ok, err = pcall(koine.gather, { job, limit = limit })
      assert.are.same({ false, "ArgumentError", "limit" }, { ok, err.class, err.field })
    end
    assert.are.equal("function 1", select(2, pcall(koine.gather, { job }, job)).field)
    assert.is_false(begun)
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
