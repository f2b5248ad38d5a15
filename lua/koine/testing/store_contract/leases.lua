--- Leases and fences.

return function(item)
  item("S3. a lease is one owner's until its ttl", function(kit)
    local one, two = kit:open(), kit:open()
    local key = kit:name "k"
    local fence = kit.done("lease", one:lease(key, "a", 4 * kit.unit))
    kit.equal("integer", math.type(fence), "type of the fence")
    local got, left = kit.fine("lease", two:lease(key, "b", kit.unit))
    kit.equal(false, got, "lease of what another owner has")
    kit.check(type(left) == "number" and left > 0 and left <= 4 * kit.unit, "seconds left: %s", tostring(left))
    kit:pass(2)
    kit.equal(false, (kit.fine("lease", two:lease(key, "b", kit.unit))), "lease before the ttl")
    kit.equal(fence, kit.fine("lease", one:lease(key, "a", 4 * kit.unit)), "fence of the same owner")
    kit:pass(3)
    kit.equal(false, (kit.fine("lease", two:lease(key, "b", kit.unit))), "lease before the renewed ttl")
    kit:pass(2)
    kit.check(kit.done("lease after the ttl", two:lease(key, "b", kit.unit)) > fence, "the fence did not grow")
  end)

  item("release: by the owner, by another, of nothing", function(kit)
    local store = kit:open()
    local key = kit:name "k"
    kit.equal(true, store:release(key, "a"), "release of nothing")
    local fence = kit.done("lease", store:lease(key, "a", 10 * kit.unit))
    local done, err = store:release(key, "b")
    kit.check(done == nil and err == nil, "release by another owner: nothing expected, got %s", tostring(done or err))
    kit.equal(false, (kit.fine("lease", store:lease(key, "b", kit.unit))), "lease after another's release")
    kit.equal(true, store:release(key, "a"), "release")
    kit.check(kit.done("lease after the release", store:lease(key, "b", kit.unit)) > fence, "the fence did not grow")
  end)

  item("S2. fences only grow: after expiry, release, by the same owner, whatever else has the name", function(kit)
    local store, last = kit:open(), 0
    local key = kit:name "k"
    for round = 1, 9 do
      local owner = round % 3 == 0 and "a" or "b"
      local fence = kit.done("lease", store:lease(key, owner, kit.unit))
      kit.check(fence > last, "fence %d after %d", fence, last)
      last = fence
      if round % 2 == 0 then
        kit.equal(true, store:release(key, owner), "release")
      else
        kit:pass(1.2)
      end
      if round == 5 then
        kit:put(store, "k", "a value of the same name")
        kit.equal(true, store:delete(key), "delete of it")
      end
    end
  end)

  item("S2. fences grow over a restart", function(kit)
    local store = kit:open()
    local key = kit:name "k"
    local fence = kit.done("lease", store:lease(key, "a", kit.unit))
    kit:pass(1.2)
    store = kit:restart()
    kit.check(kit.done("lease", store:lease(key, "b", kit.unit)) > fence, "the fence did not grow")
  end, "restart")

  item("S3. of many machines that want a lease exactly one gets it", function(kit)
    local machines, last = kit:machines(6), 0
    for _ = 1, 3 do
      local tasks, winners, fence = {}, 0, nil
      for i, store in ipairs(machines) do
        tasks[i] = function()
          local got = kit.fine("lease", store:lease(kit:name "k", "owner " .. i, 100 * kit.unit))
          if got then
            winners, fence = winners + 1, got
            tasks.winner = i
          end
        end
      end
      kit.together(tasks)
      kit.equal(1, winners, "owners that have the lease")
      kit.check(fence > last, "fence %d after %d", fence, last)
      last = fence
      local winner = tasks.winner
      kit.equal(true, machines[winner]:release(kit:name "k", "owner " .. winner), "release")
    end
  end)

  item("S4. a put with a fence that is not the newest fails", function(kit)
    local one, two = kit:open(), kit:open()
    local key = kit:name "k"
    local function put(store, value, fence) return store:put(kit:name "v", value, { fence = { key, fence } }) end
    kit.equal(false, (kit.fine("put", put(one, "x", 1))), "put with a fence of no lease")
    local first = kit.done("lease", one:lease(key, "a", kit.unit))
    local version = kit.done("put", put(one, "1", first))
    kit.equal(false, (kit.fine("put", put(one, "x", first + 1))), "put with a fence that was not handed out")
    kit:pass(1.2)
    version = kit.done("put after the ttl, nobody else had it", put(one, "2", first)) or version
    local second = kit.done("lease", two:lease(key, "b", kit.unit))
    local done, current = put(one, "late", first)
    kit.equal(false, done, "put of the one that slept")
    kit.equal(version, current, "the current version")
    kit:holds(two, "v", "2")
    kit.done("put of the new owner", put(two, "3", second))
    kit.equal(false, (one:put(kit:name "v", "late", { fence = { key, first }, if_version = version })), "put with both")
    kit:holds(one, "v", "3")
  end)
end
