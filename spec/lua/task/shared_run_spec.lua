-- Tasks of an object's own, which go on while anybody waits for it. What they do for a real one: protocol/rpc/waiters.

local defer = require "koine.task.defer"
local koine = require "koine"
local loops = require("spec.lua.net.peers").loops()
local shared_run = require "koine.task.shared_run"
local wait = require "koine.task.wait"

describe("a shared run", function()
  local shared

  before_each(function() shared = shared_run() end)
  after_each(function() shared:close() end)

  -- Starts a task that counts to n, with pauses, and then wakes the token: a function that tells whether it has.
  local function count_to(n, token)
    local count = 0
    shared:spawn(function()
      while count < n do
        koine.sleep(0.001)
        count = count + 1
      end
      shared:wake(token)
    end)
    return function() return count == n end, function() return count end
  end

  local function wait_for(n)
    local token = {}
    local is_done = count_to(n, token)
    return shared:await(token, is_done)
  end

  it("goes on in plain Lua, in a user's own coroutine, in tasks, and rests in between", function()
    local token = { deadline = 0 }
    local is_done, count = count_to(5, token)
    assert.equal(0, count())
    assert.is_false(shared:await(token, is_done))
    token.deadline = nil
    assert.is_true(shared:await(token, is_done))
    assert.is_true(coroutine.wrap(wait_for)(3))
    assert.is_true(koine.run(wait_for, 3))
    assert.is_true(koine.run(function() return coroutine.wrap(wait_for)(3) end))
  end)

  for name, loop in pairs(loops) do
    it("goes on for several in " .. name .. ", whoever leaves first", function()
      local order = {}
      local function waiter(n)
        return function()
          assert.is_true(wait_for(n))
          order[#order + 1] = n
        end
      end
      loop(waiter(3), waiter(30), waiter(60), function() koine.sleep(0.002) end)
      assert.same({ 3, 30, 60 }, order)
    end)
  end

  it("goes on for one who is woken early, or whose deadline is put off meanwhile", function()
    local parks, park = 0, wait.park
    koine.run(function()
      local token, done = { deadline = wait.now() + 0.001 }, false
      shared:spawn(function()
        token.deadline = nil
        koine.sleep(0.01)
        done = true
        shared:wake(token)
      end)
      -- luacheck: push ignore 122
      wait.park = function(on, seconds)
        if rawequal(on, token) then parks = parks + 1 end
        return park(on, seconds)
      end
      local _ <close> = defer(function() wait.park = park end)
      -- luacheck: pop
      assert.is_true(shared:await(token, function() return done end))
    end)
    assert.equal(0, parks) -- who carries the tasks waits for them, and not for a token of its own
  end)

  it("goes on for others when the task that carries it is cancelled", function()
    koine.run(function()
      local tasks = {}
      for i = 1, 3 do tasks[i] = koine.spawn(wait_for, 20) end
      koine.sleep(0.003)
      tasks[1]:cancel()
      assert.is_true(tasks[2]:wait())
      assert.is_true(tasks[3]:wait())
    end)
  end)

  it("has tasks that wait for another one's, both ways", function()
    local other <close> = shared_run()
    local depth = 0
    local function descend(one, two, n)
      local done, inner = false, {}
      one:spawn(function()
        depth = math.max(depth, n)
        if n < 10 then descend(two, one, n + 1) end
        koine.sleep(0.001)
        done = true
        one:wake(inner)
      end)
      assert.is_true(one:await(inner, function() return done end))
    end
    descend(shared, other, 1)
    koine.run(descend, shared, other, 1)
    assert.equal(10, depth)
    assert.is_nil(next(shared.waiting) or next(other.waiting))
  end)

  it("rests with a task that carries another one, which then goes on without it", function()
    local other <close> = shared_run()
    local count, token = 0, {}
    other:spawn(function()
      while true do
        koine.sleep(0.001)
        count = count + 1
        other:wake(token)
      end
    end)
    shared:spawn(function() other:await({}, function() return false end) end)
    shared:turn() -- the other one is carried by a task that now rests
    koine.run(function()
      assert.is_true(other:await(token, function() return count >= 5 end))
    end)
    local before = count
    assert.is_true(other:await(token, function() return count >= before + 5 end))
  end)

  it("gives a user's own yields to who resumed it", function()
    local got
    local token = {}
    shared:spawn(function()
      got = coroutine.yield "mine"
      shared:wake(token)
    end)
    local co = coroutine.create(function() return shared:await(token, function() return got end) end)
    assert.same({ true, "mine" }, { coroutine.resume(co) })
    assert.same({ true, true }, { coroutine.resume(co, "answer") })
    assert.equal("answer", got)
  end)

  it("raises what a task raises, to all who wait", function()
    koine.run(function()
      local caught = {}
      local tasks = {}
      for i = 1, 2 do
        tasks[i] = koine.spawn(function() caught[i] = select(2, pcall(wait_for, 1000)) end)
      end
      koine.sleep(0)
      shared:spawn(function() error("no", 0) end)
      for i = 1, 2 do
        tasks[i]:wait()
        assert.is_truthy(caught[i]:find "^no\n")
      end
    end)
  end)

  it("is closed: tasks end, waiters are told, also by a task of its own", function()
    local ended = 0
    local function sleeper()
      local gone <close> = setmetatable({}, { __close = function() ended = ended + 1 end }) -- luacheck: ignore gone
      koine.sleep(60)
    end
    shared:spawn(sleeper)
    shared:spawn(function()
      koine.sleep(0.001)
      shared:close()
      sleeper()
    end)
    local ok, err = shared:await({}, function() return false end)
    assert.is_nil(ok)
    assert.equal("cancelled", err.kind)
    assert.equal(2, ended)
    local refused, why = pcall(shared.spawn, shared, sleeper)
    assert.is_false(refused)
    assert.equal("ArgumentError", why.class)
  end)
end)
