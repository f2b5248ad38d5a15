--- Values: versions, conditions, bytes, ttl, lists.

local core = require "koine.core"

local ODD_NAMES = { "a b", "ä€", "%d%s%%", "../x", "a/b//c", "*?[a]{b}", "line\nfeed\r", "\1\127\255\254", "'\";--",
  "NULL", "{x}", ("k"):rep(100) }

local function all_bytes()
  local list = {}
  for byte = 0, 255 do list[byte + 1] = string.char(byte) end
  return table.concat(list)
end

-- All keys with the prefix, page by page; `between` is called after each page.
local function pages(kit, store, short, limit, between)
  local all, after, n = {}, nil, 0
  repeat
    local page, more = kit.fine("list", store:list(kit:name(short), { limit = limit, after = after }))
    kit.check(#page <= limit, "list: %d keys in a page of %d", #page, limit)
    for _, key in ipairs(page) do all[#all + 1] = key end
    after, n = more, n + 1
    kit.check(n < 1000, "list: a thousand pages and no end")
    if between then between(n) end
  until not after
  for i = 2, #all do kit.check(core.before(all[i - 1], all[i]), "list: %q comes before %q", all[i - 1], all[i]) end
  return all
end

return function(item)
  item("a value that was put is there, on every machine, and its version is a string", function(kit)
    local one, two = kit:open(), kit:open()
    local value, version = one:get(kit:name "k")
    kit.check(value == nil and version == nil, "get of an absent key: nil, nil expected")
    version = kit:put(one, "k", "first")
    kit.equal("string", type(version), "type of the version")
    local got, seen = kit.fine("get", two:get(kit:name "k"))
    kit.equal("first", got, "value on another machine")
    kit.equal(version, seen, "its version")
    kit.check(kit:put(two, "k", "second") ~= version, "a new value has the version of the old one")
    kit:holds(one, "k", "second")
  end)

  item("conditions: if_version and absent", function(kit)
    local store = kit:open()
    local old = kit:put(store, "k", "1", { if_version = "absent" })
    local done, current = store:put(kit:name "k", "2", { if_version = "absent" })
    kit.equal(false, done, "put absent over a value")
    kit.equal(old, current, "the current version")
    local new = kit:put(store, "k", "2", { if_version = old })
    done, current = store:put(kit:name "k", "3", { if_version = old })
    kit.equal(false, done, "put with an old version")
    kit.equal(new, current, "the current version")
    kit:holds(store, "k", "2")
    done, current = store:put(kit:name "other", "1", { if_version = new })
    kit.equal(false, done, "put with a version where there is no value")
    kit.equal(nil, current, "the current version of nothing")
    kit:holds(store, "other", nil)
  end)

  item("delete, and versions that never come again", function(kit)
    local store = kit:open()
    kit.equal(true, kit.fine("delete", store:delete(kit:name "k")), "delete of nothing")
    local version = kit:put(store, "k", "1")
    local newer = kit:put(store, "k", "2")
    kit.equal(false, kit.fine("delete", store:delete(kit:name "k", { if_version = version })), "delete of an old one")
    kit:holds(store, "k", "2")
    kit.equal(true, kit.fine("delete", store:delete(kit:name "k", { if_version = newer })), "delete")
    kit.equal(true, kit.fine("delete", store:delete(kit:name "k", { if_version = newer })), "delete once more")
    kit:holds(store, "k", nil)
    local again = kit:put(store, "k", "3")
    kit.check(again ~= version and again ~= newer, "the version %s came again after a delete", again)
  end)

  item("S1. of many puts with one version exactly one wins", function(kit)
    local machines, wins, rounds = kit:machines(6), {}, 5
    kit:put(machines[1], "n", "0")
    local tasks = {}
    for i, store in ipairs(machines) do
      tasks[i] = function()
        for _ = 1, rounds do
          repeat
            local value, version = kit.done("get", store:get(kit:name "n"))
            local won = kit.fine("put", store:put(kit:name "n", ("%d"):format(value + 1), { if_version = version }))
            if won then
              kit.check(not wins[version], "two puts with the version %s won", version)
              wins[version] = true
            end
          until won
        end
      end
    end
    kit.together(tasks)
    kit:holds(machines[1], "n", ("%d"):format(#machines * rounds))
    local firsts = 0
    for i, store in ipairs(machines) do
      tasks[i] = function()
        if kit.fine("put", store:put(kit:name "new", "x", { if_version = "absent" })) then firsts = firsts + 1 end
      end
    end
    kit.together(tasks)
    kit.equal(1, firsts, "puts with absent that won")
  end)

  item("values and keys keep their bytes", function(kit)
    local store = kit:open()
    for i, value in ipairs { "", "\0", "a\0b", all_bytes(), "\r\n", ("x"):rep(100000), "12", "nil" } do
      kit:put(store, "v" .. i, value)
      kit:holds(store, "v" .. i, value)
    end
    for i, name in ipairs(ODD_NAMES) do kit:put(store, "odd:" .. name, "odd " .. i) end
    for i, name in ipairs(ODD_NAMES) do kit:holds(store, "odd:" .. name, "odd " .. i) end
    kit.equal(#ODD_NAMES, #pages(kit, store, "odd:", 5), "keys with odd names in the list")
    local long = kit:name(("l"):rep(512 - #kit:name ""))
    kit.done("put", store:put(long, "long"))
    kit.equal("long", store:get(long), "value of a key of 512 bytes")
  end)

  item("the largest value, and one byte more", function(kit)
    local store, max = kit:open(), kit.spec.value_max
    local value = ("0123456789abcdef"):rep(max // 16 + 1):sub(1, max)
    kit:put(store, "k", value)
    kit.check(store:get(kit:name "k") == value, "a value of %d bytes has changed", max)
    kit.fails("limit", "put of one byte more", store:put(kit:name "k", value .. "x"))
    kit.fails("limit", "push of one byte more", store:push(kit:name "q", value .. "x"))
    kit.check(store:get(kit:name "k") == value, "the value changed by a put that failed")
    kit.equal(true, store:delete(kit:name "k"), "delete")
  end)

  item("a value with a ttl goes, and comes back with another version", function(kit)
    local store = kit:open()
    local version = kit:put(store, "k", "1", { ttl = kit.unit })
    kit:put(store, "stays", "1", { ttl = kit.unit })
    kit:put(store, "stays", "2")
    kit:holds(store, "k", "1")
    kit:pass(1.5)
    kit:holds(store, "k", nil)
    kit:holds(store, "stays", "2")
    kit.equal(1, #pages(kit, store, "", 10), "keys in the list when the time is over")
    kit.equal(false, (kit.fine("put", store:put(kit:name "k", "2", { if_version = version }))), "put with its version")
    kit.check(kit:put(store, "k", "2", { if_version = "absent" }) ~= version, "its version came again")
  end)

  item("lists are sorted, in pages, and hold values alone", function(kit)
    local store, names = kit:open(), {}
    for i = 1, 25 do names[i] = ("l:%02d"):format(i) end
    for i = 25, 1, -1 do kit:put(store, names[i], "x") end
    kit:put(store, "m", "x")
    kit:put(store, "l", "x")
    kit:push(store, "l:queue", "x")
    kit.done("lease", store:lease(kit:name "l:lease", "me", kit.unit))
    kit.done("take", store:take(kit:name "l:bucket", 1, { capacity = 1, per = 1 }))
    local all = pages(kit, store, "l:", 7)
    kit.equal(25, #all, "keys of all pages")
    for i, key in ipairs(all) do kit.equal(kit:name(names[i]), key, "key " .. i) end
    local page, more = store:list(kit:name "l:", { limit = 25 })
    kit.check(#page == 25 and more == nil, "a page that holds all says that there are more")
    kit.equal(3, #store:list(kit:name "l:", { after = kit:name "l:22" }), "keys behind one")
    kit.equal(3, #store:list(kit:name "l:", { after = kit:name "l:22x" }), "keys behind a name that is none")
    kit.equal(0, #store:list(kit:name "nothing"), "keys of another prefix")
    kit.equal(0, #store:list(kit:name "l:%"), "keys of a prefix with a sign of patterns")
  end)

  item("lists are sorted by bytes, whatever the language of the machine", function(kit)
    local store = kit:open()
    local names = { "", "A", "B", "Ba", "Z", "_", "a", "b", "ch", "d", "h", "z", "~", "\u{e4}", "\u{10D}", "\255" }
    for i = #names, 1, -1 do kit:put(store, "s:" .. names[i], "x") end
    for _, limit in ipairs { 100, 3 } do
      local all = pages(kit, store, "s:", limit)
      for i, key in ipairs(all) do kit.equal(kit:name("s:" .. names[i]), key, "key " .. i) end
      kit.equal(#names, #all, "keys of all pages")
    end
    kit.equal(#names, #store:list(kit:name "s:", { after = "B" }), "keys behind a name before the prefix")
    kit.equal(0, #store:list(kit:name "s:", { after = "z" }), "keys behind a name behind the prefix")
  end)

  item("lists in pages while others write have every key that stays exactly once", function(kit)
    local store, other = kit:open(), kit:open()
    for i = 1, 60 do kit:put(store, ("l:%03d"):format(i * 2), "x") end
    local all = pages(kit, store, "l:", 7, function(n)
      kit:put(other, ("l:%03d"):format(n * 13 % 120 | 1), "new")
      kit:put(other, ("l:%03d"):format(n * 2), "changed")
    end)
    local seen = 0
    for _, key in ipairs(all) do
      if tonumber(key:match "%d+$") % 2 == 0 then seen = seen + 1 end
    end
    kit.equal(60, seen, "keys that were there all the time")
  end)
end
