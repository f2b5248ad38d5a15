-- The store in memory: the contract, with a clock of the test's and with the machine's.

local eager = require "spec.lua.store.eager"
local koine = require "koine"
local raised = require "spec.support.raised"

local time = 1000
local first = koine.store.memory { clock = function() return time end }

koine.testing.store_contract.describe("memory, a clock of the test's", {
  describe = describe, it = it,
  open = function() return koine.store.memory { same_as = first } end,
  pass = function(seconds) time = time + seconds end,
  unit = 10, seeds = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 },
})

describe("koine.store.memory", function()
  it("forgets an id after 24 hours, and the queue with it", function()
    local now = 0
    local store = koine.store.memory { clock = function() return now end }
    local seq = store:push("q", "1", { id = "m" })
    local queue, fence = store:claim("a", 10)
    assert(store:ack(queue, "a", fence, seq))
    now = 24 * 3600 - 1
    assert.are.equal(seq, store:push("q", "1", { id = "m" }))
    now = 24 * 3600
    assert.is_true(store:push("q", "1", { id = "m" }) > seq)
  end)

  it("claims one of 10,000 queues without looking at the others", function()
    -- The instructions of Lua that a claim takes after the first one of its prefix, among n queues.
    local function instructions(n, prefix)
      local store, count = koine.store.memory {}, 0
      for i = 1, n do assert(store:push("many:" .. i, "item")) end
      assert(store:push("rare:1", "item"))
      assert(store:push("rare:2", "item"))
      assert(store:claim("me", 60, { queues = prefix }))
      debug.sethook(function() count = count + 1 end, "", 1)
      local queue = store:claim("me", 60, { queues = prefix })
      debug.sethook()
      assert.are.equal(prefix == "rare:" and "rare:2" or "many:2", queue)
      return count
    end
    for _, prefix in ipairs { "", "many:", "rare:" } do
      local few, many = instructions(100, prefix), instructions(10000, prefix)
      assert.is_true(many < 2 * few, ("%d, %d"):format(few, many))
    end
  end)

  it("is not entered a second time by finalizers in the middle of an operation", function()
    local store, calling, failed = koine.store.memory {}, false, nil
    local function work(i)
      store:push("q", "item")
      local queue, fence, items = store:claim("o" .. i, 60)
      if not queue then return end
      store:ack(queue, "o" .. i, fence, items[1].seq)
      store:unclaim(queue, "o" .. i, fence)
    end
    local function finalize()
      if calling then return end
      calling = true
      local ok, err = pcall(work, 0)
      failed, calling = failed or not ok and err, false
    end
    collectgarbage()
    local as_before = eager()
    for i = 1, 3000 do
      for _ = 1, 3 do setmetatable({}, { __gc = finalize }) end
      work(i)
    end
    as_before()
    assert.is_falsy(failed, tostring(failed))
  end)

  it("lists what is there after any order of puts and deletes", function()
    local store, there, seed = koine.store.memory {}, {}, 3
    local function pick(n)
      seed = seed * 48271 % 2147483647
      return seed % n + 1
    end
    for i = 1, 3000 do
      local key = ("k%03d"):format(pick(300))
      if pick(2) == 1 then
        assert(store:put(key, "v"))
        there[key] = true
      else
        assert(store:delete(key))
        there[key] = nil
      end
      if i % 100 == 0 then
        local expected = {}
        for name in pairs(there) do expected[#expected + 1] = name end
        table.sort(expected)
        assert.are.same(expected, (store:list "k"))
      end
    end
  end)

  it("stands behind an engine that passes its arguments on, which takes n times cost once", function()
    local inner, operations = koine.store.memory { clock = function() return 0 end }, {}
    for _, name in ipairs { "get", "put", "delete", "list", "lease", "release", "take", "push", "claim", "ack",
      "unclaim", "watch", "describe", "close" } do
      operations[name] = function(_, ...) return inner[name](inner, ...) end
    end
    local outer <close> = koine.store.engine(operations)
    local rate = { capacity = 10, per = 1, cost = 3 }
    assert.are.equal(0, outer:take("b", 3, rate))
    assert.are.equal(2, outer:take("b", 1, rate)) -- one is left
    assert.are.equal(3, rate.cost)
  end)

  it("shares contents and clock with same_as, and each handle is closed alone", function()
    local one = koine.store.memory { clock = function() return 5 end }
    local two = koine.store.memory { same_as = one }
    assert(one:put("k", "v"))
    assert.are.equal("given", two:describe().clock)
    one:close()
    assert.are.equal("v", (two:get "k"))
    assert.are.equal("clock", raised(koine.store.memory, { same_as = two, clock = os.time }).field)
    assert.are.equal("same_as", raised(koine.store.memory, { same_as = {} }).field)
    assert.are.equal("store", raised(two.get, {}, "k").field)
  end)
end)
