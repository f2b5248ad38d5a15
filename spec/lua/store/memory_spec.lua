-- The store in memory: the contract, with a clock of the test's and with the machine's.

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
