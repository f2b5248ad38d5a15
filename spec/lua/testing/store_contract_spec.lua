-- The contract of stores itself: engines that break it are found out. Each saboteur is the reference in memory with one
-- defect; the items that have to fail are looked for among the failures.

local koine = require "koine"

local contract = koine.testing.store_contract

-- The names of the items that fail for a reference that `sabotage(store, clock)` changed, in one text.
local function failures(sabotage)
  local time, shared = 1000, {}
  local first = koine.store.memory { clock = function() return time end }
  local report = contract.run {
    open = function()
      local store = koine.store.memory { same_as = first }
      local broken = setmetatable({}, { __index = function(_, name)
        return function(_, ...) return store[name](store, ...) end
      end })
      sabotage(broken, store, shared)
      return broken
    end,
    pass = function(seconds) time = time + seconds end,
    restart = function() end, unit = 10, value_max = 16 << 20, seeds = { 1 },
  }
  local names = {}
  for i, failure in ipairs(report.failures) do names[i] = failure.name end
  assert.are.equal(report.failed, #report.failures)
  return table.concat(names, "\n"), report
end

local SABOTEURS = {
  ["S1."] = function(broken, store)
    function broken.put(_, key, value, options)
      return store:put(key, value, options and { ttl = options.ttl, fence = options.fence })
    end
  end,
  ["S2."] = function(broken, store)
    function broken.lease(_, ...)
      local fence, left = store:lease(...)
      return fence and fence % 3, left
    end
  end,
  ["S3."] = function(broken, store)
    function broken.lease(_, key, _, ttl) return store:lease(key, "everybody", ttl) end
  end,
  ["S4."] = function(broken, store)
    function broken.put(_, key, value, options)
      return store:put(key, value, options and { ttl = options.ttl, if_version = options.if_version })
    end
  end,
  ["S5."] = function(broken, store)
    function broken.claim(_, ...)
      local queue, fence, items = store:claim(...)
      if items then table.sort(items, function(a, b) return a.seq > b.seq end) end
      return queue, fence, items
    end
  end,
  ["S6."] = function(broken, store)
    function broken.claim(_, ...)
      local queue, fence, items = store:claim(...)
      if items then store:ack(queue, "x", fence, items[#items].seq) end
      return queue, fence, items
    end
  end,
  ["S7."] = function(broken, store)
    function broken.take(_, key, n, options)
      return store:take(key, n, options) * (key:find "S7" and 0 or 1)
    end
  end,
  ["S9."] = function(broken, store)
    function broken.push(_, queue, item) return store:push(queue, item) end
  end,
  ["watch hears"] = function(broken, store)
    function broken.watch(_, prefix, seconds)
      local news, err = store:watch(prefix, math.min(seconds, 0.1))
      return news and false, err
    end
  end,
  ["S10."] = function(broken, store, shared)
    function broken.push(_, queue, item, options)
      if options and options.id then
        koine.sleep(1e-4)
        shared[#shared + 1] = store:push(queue, item)
        koine.sleep(1e-3)
      end
      return store:push(queue, item, options)
    end
  end,
  ["a value with a ttl"] = function(broken, store)
    function broken.put(_, key, value, options)
      return store:put(key, value, options and { if_version = options.if_version, fence = options.fence })
    end
  end,
  ["lists are sorted"] = function(broken, store)
    function broken.list(_, prefix, options)
      local page, more = store:list(prefix, options)
      return { table.unpack(page, 1, #page - 1) }, more
    end
  end,
  ["wrong arguments"] = function(broken, store)
    function broken.unclaim(_, queue, owner, fence) return store:unclaim(queue, owner, fence) end
  end,
  ["block stops"] = function(broken, store)
    function broken.take(_, key, n, options)
      return store:take(key, n, { capacity = options.capacity, per = options.per, cost = options.cost,
        force = options.force })
    end
  end,
  ["a lease that is renewed for less"] = function(broken, store, shared)
    function broken.lease(_, key, owner, ttl)
      shared[key] = math.max(shared[key] or 0, ttl)
      return store:lease(key, owner, shared[key])
    end
    function broken.claim(_, owner, ttl, options)
      local queue, fence, items = store:claim(owner, ttl, options)
      if queue then shared[queue] = ttl end
      return queue, fence, items
    end
  end,
  ["queues come in the order"] = function(broken, store)
    function broken.claim(_, owner, ttl, options)
      for _, letter in ipairs { "a", "b", "c", "" } do
        local queue, fence, items = store:claim(owner, ttl, { queues = options.queues .. letter })
        if queue then return queue, fence, items end
      end
    end
  end,
}

describe("the contract of stores", function()
  it("passes the reference", function()
    local names, report = failures(function() end)
    assert.are.equal("", names .. report.text)
    assert.is_true(report.passed > 30)
  end)

  it("waits seconds, not minutes, for an engine whose watch does not end", function()
    local longest = 0
    failures(function(broken, store)
      function broken.watch(_, prefix, seconds)
        longest = math.max(longest, seconds)
        return store:watch(prefix, seconds)
      end
    end)
    assert.is_true(longest > 1 and longest <= 10, longest .. " s")
  end)

  for number, sabotage in pairs(SABOTEURS) do
    it("finds out an engine that breaks " .. number, function()
      local names = failures(sabotage)
      assert.is_truthy(("\n" .. names):find("\n" .. number, 1, true), "no such item failed, but: " .. names)
    end)
  end
end)
