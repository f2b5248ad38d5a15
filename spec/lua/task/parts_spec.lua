-- The parts that tasks and other rooms are made of: queues of any values, lines of tables that take no memory to enter,
-- what is done at the end of a block, however that comes; and what several coroutines need at once and one fetches.

local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local exclusive = require "koine.task.exclusive"
local koine = require "koine"
local mutex = require "koine.task.mutex"
local queue = require "koine.task.queue"
local single_flight = require "koine.task.single_flight"
local wait = require "koine.task.wait"

-- The entries, taken out.
local function drained(q)
  local list = {}
  while q:count() > 0 do list[#list + 1] = q:pop() end
  return list
end

describe("koine.task.queue", function()
  it("gives the entries in the order in which they came, then nil", function()
    local q = queue.new()
    assert.are.equal(0, q:count())
    assert.is_nil(q:peek())
    assert.is_nil(q:pop())
    for i = 1, 3 do q:push(i) end
    assert.are.equal(3, q:count())
    assert.are.equal(1, q:peek())
    assert.are.equal(1, q:pop())
    q:push(4)
    assert.are.same({ 2, 3, 4 }, drained(q))
    assert.is_nil(q:pop())
    q:push(5)
    assert.are.same({ 5 }, drained(q))
  end)

  it("tells its entries in order, and keeps them", function()
    local q, seen = queue.new(), {}
    for _ in q:entries() do error "none" end
    for i = 1, 4 do q:push(i * 10) end
    q:pop()
    for _, value in q:entries() do seen[#seen + 1] = value end
    assert.are.same({ 20, 30, 40 }, seen)
    assert.are.same({ 20, 30, 40 }, drained(q))
  end)

  it("takes false for a value", function()
    local q = queue.new()
    q:push(false)
    q:push(1)
    assert.are.equal(2, q:count())
    assert.is_false(q:pop())
    assert.are.equal(1, q:pop())
  end)

  it("takes one out wherever it stands, and the others keep their order", function()
    for _, case in ipairs { { 1, { 2, 3, 4 } }, { 3, { 1, 2, 4 } }, { 4, { 1, 2, 3 } }, { 9, { 1, 2, 3, 4 } } } do
      local q = queue.new()
      for i = 0, 4 do q:push(i) end
      q:pop()
      q:remove(case[1])
      assert.are.same(case[2], drained(q))
      q:push(5)
      assert.are.same({ 5 }, drained(q))
    end
  end)

  it("is as a plain array says it should be, whatever is done to it", function()
    local q, list, state = queue.new(), {}, 1
    local function random(n)
      state = (state * 1103515245 + 12345) & 0x7FFFFFFF
      return (state >> 12) % n + 1
    end
    for i = 1, 5000 do
      local what = random(5)
      if what <= 2 then
        q:push(i)
        list[#list + 1] = i
      elseif what <= 4 then
        assert.are.equal(table.remove(list, 1), q:pop())
      elseif list[1] then
        local victim = table.remove(list, random(#list))
        q:remove(victim)
      end
      assert.are.equal(#list, q:count())
      assert.are.equal(list[1], q:peek())
    end
    assert.are.same(list, drained(q))
  end)
end)

describe("koine.task.queue's line", function()
  local function entry(i) return { i = i, following = false } end

  it("gives the entries in the order in which they came, then nil", function()
    local l, a, b, c = queue.line(), entry(1), entry(2), entry(3)
    assert.is_nil(l:pop())
    l:push(a)
    l:push(b)
    assert.are.equal(2, l:count())
    assert.are.equal(a, l:pop())
    l:push(c)
    l:push(a)
    assert.are.same({ b, c, a }, drained(l))
    assert.are.equal(0, l:count())
    assert.is_nil(l:pop())
  end)

  it("takes no memory", function()
    local l, entries = queue.line(), {}
    for i = 1, 1000 do entries[i] = entry(i) end
    l:push(entries[1]) -- what a first call may make
    l:pop()
    collectgarbage()
    collectgarbage "stop"
    local before = collectgarbage "count"
    for i = 1, 1000 do l:push(entries[i]) end
    local after = collectgarbage "count"
    collectgarbage "restart"
    assert.are.equal(before, after)
    for i = 1, 1000 do assert.are.equal(entries[i], l:pop()) end
    for i = 1, 1000 do assert.is_false(entries[i].following) end
  end)
end)

describe("koine.task.defer", function()
  it("calls the function once, at the end of the block", function()
    local log = {}
    do
      local first <close> = defer(function(raised) log[#log + 1] = { "first", raised } end) -- luacheck: ignore
      local second <close> = defer(function(raised) log[#log + 1] = { "second", raised } end) -- luacheck: ignore
      assert.are.same({}, log)
    end
    assert.are.same({ { "second" }, { "first" } }, log)
  end)

  it("hands over the error that is on its way, and lets it go on", function()
    local mine, seen = { "mine" }, nil
    local ok, err = pcall(function()
      local _ <close> = defer(function(raised) seen = raised end)
      error(mine)
    end)
    assert.is_false(ok)
    assert.are.equal(mine, err)
    assert.are.equal(mine, seen)
  end)

  it("calls it when the task is cancelled", function()
    local called = 0
    koine.run(function()
      local task = koine.spawn(function()
        local _ <close> = defer(function() called = called + 1 end)
        koine.sleep(1000)
      end)
      koine.sleep(0)
      assert.is_true(task:cancel())
      assert.are.equal(1, called)
    end)
    assert.are.equal(1, called)
  end)

  it("calls nothing after cancel", function()
    local called = false
    do
      local it <close> = defer(function() called = true end)
      it:cancel()
    end
    assert.is_false(called)
  end)
end)

describe("koine.task.exclusive", function()
  local what = { field = "thing", expected = "one user at a time",
    message = "thing: one user at a time expected, got a second one" }

  -- Uses the object, and does something meanwhile.
  local function use(object, meanwhile)
    local _ <close> = exclusive(object, what)
    meanwhile()
  end

  it("refuses a second user, and the first goes on", function()
    local object, done = {}, false
    use(object, function()
      local ok, err = pcall(use, object, function() end)
      assert.is_false(ok)
      assert.are.equal("ArgumentError", err.class)
      assert.are.equal("thing", err.field)
      assert.are.equal("one user at a time", err.expected)
      assert.is_truthy(err.message:find(what.message, 1, true))
      ok = pcall(use, object, function() end)
      assert.is_false(ok)
      done = true
    end)
    assert.is_true(done)
  end)

  it("lets the next one in, also after an error and a cancelled task", function()
    local object, users = {}, 0
    local function count() users = users + 1 end
    use(object, count)
    assert.is_false(pcall(use, object, error))
    use(object, count)
    koine.run(function()
      local task = koine.spawn(use, object, function() koine.sleep(1000) end)
      koine.sleep(0)
      assert.is_false(pcall(use, object, count))
      task:cancel()
      use(object, count)
    end)
    assert.are.equal(3, users)
  end)

  it("holds each object by itself", function()
    local users = 0
    use({}, function() use({}, function() users = users + 1 end) end)
    assert.are.equal(1, users)
  end)
end)

describe("koine.task.mutex", function()
  it("lets one work at a time, in any order, also behind one that raised or was cancelled", function()
    local one, inside, done = mutex(), 0, 0
    local function work(seconds, fail)
      local held <close> = assert(one:hold()) -- luacheck: ignore held
      inside = inside + 1
      local left <close> = defer(function() inside = inside - 1 end) -- luacheck: ignore left
      assert.are.equal(1, inside)
      koine.sleep(seconds)
      if fail then error("broken", 0) end
      done = done + 1
    end
    koine.run(function()
      local tasks = { koine.spawn(work, 60) }
      for _ = 1, 5 do tasks[#tasks + 1] = koine.spawn(work, 0) end
      tasks[#tasks + 1] = koine.spawn(pcall, work, 0, true)
      tasks[#tasks + 1] = koine.spawn(work, 0)
      koine.sleep(0)
      assert.are.same({ 1, 0 }, { inside, done })
      tasks[1]:cancel()
      for i = 2, #tasks do tasks[i]:wait() end
    end)
    assert.are.same({ 0, 6 }, { inside, done })
    work(0)
    assert.are.equal(7, done)
  end)

  it("is refused to a caller that blocks, and with that stops the holder", function()
    local one, refused = mutex(), {}
    local function try() refused[#refused + 1] = select(2, one:hold()) end
    koine.run(function()
      local holder = koine.spawn(function()
        local held <close> = assert(one:hold()) -- luacheck: ignore held
        koine.sleep(0)
      end)
      koine.sleep(0)
      coroutine.wrap(try)()
      holder:wait()
    end)
    do
      local held <close> = assert(one:hold()) -- luacheck: ignore held
      try()
    end
    for i = 1, 2 do assert.are.same({ "timeout", "lock" }, { refused[i].kind, refused[i].code }) end
    local free <close> = assert(one:hold()) -- luacheck: ignore free
  end)
end)

describe("koine.task.single_flight: a flight", function()
  -- A first coroutine's flight takes 0.05 s and ends with `err`. Returns the results of two others, and
  -- how many flights there were.
  local function after(err)
    local slot, flights, results = {}, 0, {}
    koine.run(function()
      koine.spawn(function()
        single_flight(slot, function()
          flights = flights + 1
          wait.sleep(0.05)
          return nil, err
        end, 1)
      end)
      for i = 1, 2 do
        koine.spawn(function()
          wait.sleep(0.01)
          local value, problem = single_flight(slot, function()
            flights = flights + 1
            wait.sleep(0.01)
            return "mine"
          end, 5)
          results[i] = value or problem.kind
        end)
      end
    end)
    return results, flights
  end

  it("that ended by its own time limit is flown again, once for all that wait", function()
    for _, kind in ipairs { "timeout", "cancelled" } do
      local results, flights = after(errors.new { kind = kind, message = "over" })
      assert.are.same({ "mine", "mine" }, results)
      assert.are.equal(2, flights)
    end
  end)

  it("that failed otherwise failed for all that wait, also where a server says that its time is over", function()
    for _, fields in ipairs { { kind = "auth" }, { kind = "timeout", status_code = 504 } } do
      fields.message = "no"
      local results, flights = after(errors.new(fields))
      assert.are.same({ fields.kind, fields.kind }, results)
      assert.are.equal(1, flights)
    end
  end)

  it("is waited for until the waiter's limit, however many follow each other", function()
    local slot, began, ended = {}, wait.now(), nil
    koine.run(function()
      for _ = 1, 6 do
        koine.spawn(function()
          single_flight(slot, function()
            wait.sleep(0.1)
            return nil, errors.new { kind = "timeout", message = "over" }
          end, 60)
        end)
      end
      koine.spawn(function()
        wait.sleep(0.01)
        assert.are.equal("mine", single_flight(slot, function()
          ended = wait.now()
          return "mine"
        end, 0.25))
      end)
    end)
    assert.is_true(ended - began < 0.5, ended - began .. " s")
  end)
end)
