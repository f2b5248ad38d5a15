--- Token buckets.

local wait = require "koine.task.wait"

local SLACK = 1e-6 -- tokens: floats

return function(item)
  item("a bucket is full at first, says how long to wait, and is right", function(kit)
    local store = kit:open()
    local key, rate = kit:name "b", { capacity = 3, per = 1 / kit.unit }
    for i = 1, 3 do kit.equal(0, kit.fine("take", store:take(key, 1, rate)), "take " .. i) end
    local seconds = kit.fine("take", store:take(key, 2, rate))
    kit.check(seconds > 0 and seconds <= 2.1 * kit.unit, "wait of %s s for two", seconds)
    kit.check(store:take(key, 1, rate) <= 1.1 * kit.unit, "a take that was refused took something")
    kit:pass(seconds / kit.unit + 0.01)
    kit.equal(0, kit.fine("take", store:take(key, 2, rate)), "take after the wait")
    kit.check(store:take(key, 1, rate) > 0, "there is more than there was waited for")
    kit.equal(0, kit.fine("take", store:take(kit:name "other", 3, rate)), "take from another bucket")
    kit.equal(0, kit.fine("take", store:take(kit:name "other", 0, rate)), "take of nothing")
    kit:pass(20)
    kit.equal(0, store:take(key, 3, rate), "take of all after a long time")
    kit.check(store:take(key, 1, rate) > 0, "a bucket holds more than its capacity")
  end)

  item("cost multiplies, and more than the capacity is refused at once", function(kit)
    local store = kit:open()
    local key = kit:name "b"
    kit.equal(0, store:take(key, 2, { capacity = 10, per = 1, cost = 5 }), "take of two times five")
    kit.check(store:take(key, 1, { capacity = 10, per = 1e-3 }) > 0, "the cost was not taken")
    kit.refused("n", "take of 11 from 10", store.take, store, key, 11, { capacity = 10, per = 1 })
    kit.refused("n", "take of 3 times 4 from 10", store.take, store, key, 3, { capacity = 10, per = 1, cost = 4 })
  end)

  item("S7. many machines never get more than the capacity and what flows in", function(kit)
    local machines, rate = kit:machines(5), { capacity = 5, per = 2 / kit.unit }
    local granted, began, passed = 0, wait.now(), 0
    for _ = 1, 3 do
      local tasks = {}
      for i, store in ipairs(machines) do
        tasks[i] = function()
          for _ = 1, 4 do
            if kit.fine("take", store:take(kit:name "b", 1, rate)) == 0 then granted = granted + 1 end
          end
        end
      end
      kit.together(tasks)
      local time = kit.spec.pass and passed * kit.unit or wait.now() - began
      kit.check(granted <= rate.capacity + rate.per * time + SLACK, "%d granted in %g s", granted, time)
      kit.check(granted >= rate.capacity, "only %d granted of %d", granted, rate.capacity)
      kit:pass(1)
      passed = passed + 1
    end
  end)

  item("force takes what is not there, and gives back", function(kit)
    local store = kit:open()
    local key, rate = kit:name "b", { capacity = 4, per = 1 / kit.unit }
    local force = { capacity = 4, per = 1 / kit.unit, force = true }
    kit.equal(0, kit.fine("take", store:take(key, 10, force)), "take by force")
    local seconds = kit.fine("take", store:take(key, 1, rate))
    kit.check(seconds > 5 * kit.unit and seconds <= 7.1 * kit.unit, "wait of %s s below zero", seconds)
    kit.equal(0, kit.fine("take", store:take(key, -100, force)), "giving back")
    kit.equal(0, store:take(key, 4, rate), "take of all")
    kit.check(store:take(key, 1, rate) > 0, "more than the capacity was given back")
    kit.refused("n", "take of a negative number", store.take, store, key, -1, rate)
  end)

  item("block stops all grants for its time; the longer one counts", function(kit)
    local one, two = kit:open(), kit:open()
    local key, rate = kit:name "b", { capacity = 4, per = 100 / kit.unit }
    local function block(units)
      local options = { capacity = 4, per = 100 / kit.unit, force = true, block = units * kit.unit }
      kit.equal(0, kit.fine("take", one:take(key, 0, options)), "block")
    end
    block(3)
    block(1)
    local seconds = kit.fine("take", two:take(key, 1, rate))
    kit.check(seconds > 1.5 * kit.unit and seconds <= 3.1 * kit.unit, "wait of %s s for the end of a block", seconds)
    kit.equal(0, two:take(kit:name "other", 1, rate), "take from another bucket")
    kit:pass(1.5)
    kit.check(two:take(key, 1, rate) > 0, "the block ended with the shorter one")
    kit:pass(2)
    kit.equal(0, two:take(key, 4, rate), "take after the block")
  end)

  item("however much is forced, waits are numbers, and a bucket owes no more than 1e15 tokens", function(kit)
    local store, most = kit:open(), 1e15
    local key, rate = kit:name "b", { capacity = most, per = 1e-9 }
    local force = { capacity = most, per = 1e-9, force = true }
    for _ = 1, 4 do kit.equal(0, kit.fine("take", store:take(key, most, force)), "take by force") end
    local seconds = kit.fine("take", store:take(key, most, rate))
    kit.check(math.type(seconds) and seconds > 1e20 and seconds < math.huge, "wait of %s s", tostring(seconds))
    for _ = 1, 2 do kit.equal(0, kit.fine("take", store:take(key, -most, force)), "giving back") end
    kit.equal(0, kit.fine("take", store:take(key, most, rate)), "take of all")
    kit.check(store:take(key, most, rate) > 1e20, "more than the capacity was given back")
  end)
end
