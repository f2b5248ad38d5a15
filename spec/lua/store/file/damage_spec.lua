-- The store in files when things go wrong: cut and damaged journals, operations that break off, disks without room,
-- files that others may read, a clock that is set back.

local core = require "koine.core"
local files = require "spec.support.files"
local folder = require "spec.support.folder"
local interface = require "koine.store.interface"
local koine = require "koine"
local lfs = require "lfs"
local records = require "koine.store.state.records"

local HEAD = 48 -- bytes of a journal before its first frame

-- Replaces what is in a file; its mode stays.
local function overwrite(path, bytes)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(bytes))
end

describe("koine.store.file", function()
  local dir, time

  before_each(function() dir, time = folder.in_memory(), 1e9 end)
  after_each(function() folder.remove(dir) end)

  local function open(options)
    options = options or {}
    options.dir, options.clock = options.dir or dir .. "/store", function() return time end
    return assert(koine.store.file(options))
  end

  -- The records of a store's whole state, sorted, but for its time.
  local function dump(store)
    local value, err = store:get "none"
    assert.is_nil(value)
    assert.is_nil(err, err and tostring(err))
    local list = {}
    records.each(interface.engine_of(store).journal.state, function(bytes)
      if bytes:sub(1, 1) ~= "t" then list[#list + 1] = bytes end
    end)
    table.sort(list)
    return table.concat(list, "\n")
  end

  local function count(where)
    local n = 0
    for name in lfs.dir(dir .. "/store/" .. where) do
      if name:sub(1, 1) ~= "." then n = n + 1 end
    end
    return n
  end

  -- One operation of each kind, in an order in which each does something.
  local STEPS = {
    function(s) return s:put("k", "one") end,
    function(s) return s:put("k", "two", { ttl = 100 }) end,
    function(s) return s:put("other", "x") end,
    function(s) return s:delete "other" end,
    function(s) return s:lease("l", "me", 50) end,
    function(s) return s:release("l", "me") end,
    function(s) return s:take("b", 1, { capacity = 5, per = 1 }) end,
    function(s) return s:push("q", "first", { id = "m" }) end,
    function(s) return s:push("q", "second") end,
    function(s) return s:claim("me", 20) end,
    function(s) return s:ack("q", "me", 1, 1) end,
    function(s) return s:unclaim("q", "me", 1, { after = 5 }) end,
    function(s) return s:ack("q", "me", 1, 2) end,
  }

  it("has the state before the last operation wherever its frame is cut, and goes on from there", function()
    local store, path = open(), dir .. "/store/journal"
    local before = dump(store)
    for i, step in ipairs(STEPS) do
      local size = #files.read(path)
      assert(step(store))
      local whole, after = files.read(path), dump(store)
      assert.are_not.equal(before, after, "step " .. i .. " does nothing")
      for last = size, #whole - 1 do
        overwrite(path, whole:sub(1, last))
        assert.are.equal(before, dump(open()), ("step %d cut at byte %d"):format(i, last))
      end
      for at = size + 1, #whole, 3 do
        overwrite(path, whole:sub(1, at - 1) .. string.char(whole:byte(at) ~ 0x10) .. whole:sub(at + 1))
        assert.are.equal(before, dump(open()), ("step %d with another byte %d"):format(i, at))
      end
      overwrite(path, whole .. ("\0"):rep(100))
      local again = open()
      assert.are.equal(after, dump(again))
      assert(again:put("more", "x"))
      assert.are.equal("x", (open():get "more"))
      overwrite(path, whole)
      store, before = open(), after
      dump(store)
    end
  end)

  it("calls a journal damaged that was whole once", function()
    local store, path = open(), dir .. "/store/journal"
    for _, step in ipairs(STEPS) do assert(step(store)) end
    local whole = files.read(path)
    local function refused(bytes)
      overwrite(path, bytes)
      local value, err = open():get "k"
      assert.is_nil(value)
      assert.are.equal("protocol", err.kind, tostring(err))
      assert.is_truthy(err.message:find(path, 1, true))
    end
    for _, at in ipairs { 1, HEAD + 1, HEAD + 20, #whole // 2 } do
      refused(whole:sub(1, at - 1) .. string.char(whole:byte(at) ~ 0x10) .. whole:sub(at + 1))
    end
    refused(whole:sub(1, #whole // 2))
    refused(whole:sub(1, HEAD - 1))
    overwrite(path, whole)
    assert.are.equal("two", (open():get "k"))
  end)

  it("writes nothing to a journal that became shorter than it was read", function()
    local store, path = open(), dir .. "/store/journal"
    assert(store:put("k", "one"))
    local early = files.read(path)
    for _, step in ipairs(STEPS) do assert(step(store)) end
    for _, cut in ipairs { early, early:sub(1, HEAD), "" } do
      overwrite(path, cut)
      for _ = 1, 2 do
        local version, err = store:put("k", "three")
        assert.is_nil(version)
        assert.are.equal("protocol", err.kind, tostring(err))
        assert.is_truthy(err.message:find(path, 1, true))
      end
      assert.are.equal(cut, files.read(path))
    end
  end)

  -- Runs step i of a new store while the call `name` of `home` raises, before or behind its work.
  local function break_off(i, home, name, late)
    local store = open { dir = ("%s/%d-%s-%s"):format(dir, i, name, tostring(late)) }
    for before = 1, i - 1 do assert(STEPS[before](store)) end
    local before, real = dump(store), home[name]
    home[name] = function(...)
      if late then real(...) end
      error("dies here", 0)
    end
    local ok, err = pcall(STEPS[i], store)
    home[name] = real
    assert.is_true(ok or err == "dies here", tostring(err))
    return store, before
  end

  it("has all of an operation that breaks off at any call, or nothing", function()
    local lock <close> = assert(core.file_lock(dir .. "/any"))
    local homes = { file_write = core, file_remove = core, append = getmetatable(lock).__index }
    local reference, whole = open(), {}
    for i, step in ipairs(STEPS) do
      assert(step(reference))
      whole[i] = dump(reference)
    end
    for i, step in ipairs(STEPS) do
      for name, home in pairs(homes) do
        for _, late in ipairs { false, true } do
          local store, before = break_off(i, home, name, late)
          local where = interface.engine_of(store).journal.path
          local now = dump(assert(koine.store.file { dir = where:match "^(.*)/", clock = function() return time end }))
          assert.are.equal(dump(store), now)
          assert.is_true(now == before or now == whole[i], where)
          if now == before then
            assert(step(store))
            assert.are.equal(whole[i], dump(store), where)
          end
        end
      end
    end
  end)

  it("removes what a process that was killed left, when the journal is replaced", function()
    local store, remove = open(), core.file_remove
    core.file_remove = function() end
    for i = 1, 20 do assert(store:put("k", "v" .. i)) end
    core.file_remove = remove
    assert.are.equal(20, count "values")
    local other = open()
    for _ = 1, 8000 do assert(other:take("b", 1, { capacity = 1e9, per = 1 })) end
    assert.are.equal(1, count "values")
    assert.are.equal("v20", (store:get "k"))
    assert.is_true(lfs.attributes(dir .. "/store/journal", "size") < 300 << 10)
    assert.are.equal(dump(store), dump(other))
  end)

  it("goes on with a long journal where there is no room for a new one", function()
    local store, lock = open(), assert(core.file_lock(dir .. "/any"))
    local methods = getmetatable(lock).__index
    local write, tried = methods.write, 0
    lock:close()
    assert(store:put("k", "v"))
    methods.write = function()
      tried = tried + 1
      return nil, koine.errors.new { kind = "limit", code = "full", message = "full" }
    end
    for _ = 1, 8000 do assert(store:take("b", 1, { capacity = 1e9, per = 1 })) end
    methods.write = write
    assert.are.equal(1, tried) -- and not again with each operation
    assert.are.equal("v", (store:get "k"))
    assert.are.equal(dump(store), dump(open()))
  end)

  it("keeps two handles alike over random operations and new journals", function()
    local stores, seed = { open(), open() }, 7
    local function pick(n)
      seed = seed * 48271 % 2147483647
      return seed % n + 1
    end
    for i = 1, 3000 do
      local s, key = stores[pick(2)], "k" .. pick(9)
      local what = pick(8)
      if what == 1 then assert(s:put(key, ("x"):rep(pick(50)), pick(2) == 1 and { ttl = pick(20) } or nil))
      elseif what == 2 then assert(s:delete(key))
      elseif what == 3 then s:lease(key, "o" .. pick(2), pick(10))
      elseif what == 4 then s:release(key, "o" .. pick(2))
      elseif what == 5 then s:take(key, pick(3), { capacity = 4, per = 1 })
      elseif what == 6 then assert(s:push(key, "i" .. i, pick(2) == 1 and { id = "m" .. pick(20) } or nil))
      else
        local queue, fence, items = s:claim("o" .. pick(2), pick(10))
        if queue and pick(3) > 1 then assert(s:ack(queue, "o", fence, items[pick(#items)].seq)) end
        if queue and pick(3) > 1 then assert(s:unclaim(queue, "o", fence, { after = pick(3) - 1 })) end
      end
      time = time + pick(100) / 100
      if i % 500 == 0 then assert.are.equal(dump(stores[1]), dump(stores[2]), "after operation " .. i) end
      if i % 1000 == 0 then assert.are.equal(dump(stores[1]), dump(open()), "read anew after operation " .. i) end
    end
  end)

  it("keeps what it had where the disk is full, and says so", function()
    local code = ([[
      package.path, package.cpath = %q, %q
      local store = assert(require("koine").store.file { dir = %q })
      for i = 1, 100000 do
        local seq, err = store:push("q", ("x"):rep(3000))
        if not seq then
          print(i - 1, err.kind, err.code)
          print(store:push("q", ("y"):rep(60000)) == nil, (store:get "k"))
          break
        end
      end]]):format(package.path, package.cpath, dir .. "/store")
    assert(open():put("k", "kept"))
    local child = assert(io.popen(([[trap "" XFSZ; ulimit -f 16; exec %s -e '%s' 2>&1]]):format(
      os.getenv "KOINE_LUA" or "lua5.4", code:gsub("'", "'\\''")), "r"))
    local said = child:read "a"
    child:close()
    local pushed, kind, reason, rest = said:match "^(%d+)\t(%a+)\t(%a+)\n(.*)"
    assert.is_truthy(pushed, said)
    assert.are.same({ "limit", "full", "true\tkept\n" }, { kind, reason, rest })
    local store, n = open(), 0
    local queue, fence, items = store:claim("a", 100)
    while queue do
      for _, item in ipairs(items) do
        assert.are.equal(3000, #item.item)
        n = n + 1
      end
      assert(store:ack(queue, "a", fence, items[#items].seq))
      assert(store:unclaim(queue, "a", fence))
      queue, fence, items = store:claim("a", 100)
    end
    assert.are.equal(tonumber(pushed), n)
    assert.are.equal(0, count "items")
  end)

  it("makes directories of mode 0700 and files of mode 0600, and refuses others and links", function()
    local store = open()
    assert(store:put("k", "v"))
    assert(store:push("q", "i"))
    for path, mode in pairs { [""] = "rwx------", ["/values"] = "rwx------", ["/items"] = "rwx------",
      ["/journal"] = "rw-------", ["/values/1"] = "rw-------", ["/items/1"] = "rw-------" } do
      assert.are.equal(mode, lfs.attributes(dir .. "/store" .. path, "permissions"), path)
    end
    local function refused(words)
      local made, err = koine.store.file { dir = dir .. "/store" }
      if made then made, err = made:get "k" end
      assert.is_nil(made)
      assert.are.equal("other", err.kind)
      assert.is_truthy(err.message:find(words, 1, true), err.message)
    end
    assert(os.execute(("chmod 0755 '%s'"):format(dir .. "/store")))
    refused "0700 is needed"
    assert(os.execute(("chmod 0700 '%s' && chmod 0640 '%s/journal'"):format(dir .. "/store", dir .. "/store")))
    refused "others may read"
    assert(os.execute(("chmod 0600 '%s/journal' && mv '%s' '%s' && ln -s '%s' '%s'"):format(dir .. "/store",
      dir .. "/store", dir .. "/moved", dir .. "/moved", dir .. "/store")))
    refused "symbolic link"
    os.remove(dir .. "/store")
    assert(os.rename(dir .. "/moved", dir .. "/store"))
    assert(os.execute(("mv '%s/journal' '%s/j' && ln -s j '%s/journal'"):format(dir .. "/store", dir .. "/store",
      dir .. "/store")))
    refused "symbolic link"
  end)

  it("names the file of a value that is not what was stored, and claims other queues", function()
    local store = open()
    assert(store:put("k", "value"))
    assert(store:push("bad", "one"))
    time = time + 1
    assert(store:push("good", "two"))
    overwrite(dir .. "/store/values/1", "\1\0xother")
    overwrite(dir .. "/store/items/1", "")
    local value, err = store:get "k"
    assert.is_nil(value)
    assert.are.equal("protocol", err.kind)
    assert.is_truthy(err.message:find("values/1", 1, true), err.message)
    local queue
    queue, err = store:claim("a", 10)
    assert.is_nil(queue)
    assert.are.equal("protocol", err.kind)
    assert.are.equal("good", (store:claim("a", 10)))
    assert(store:put("k", "new"))
    assert.are.equal("new", (store:get "k"))
  end)

  it("waits for the lock so long, and then changes nothing", function()
    local store = open { timeout = 0.05 }
    assert(store:put("k", "v"))
    local lock = assert(core.file_lock(dir .. "/store/journal"))
    local done, err = store:put("k", "w")
    assert.is_nil(done)
    assert.are.same({ "timeout", "lock" }, { err.kind, err.code })
    lock:close()
    assert.are.equal("v", (store:get "k"))
  end)

  it("goes on from the time it had where the clock is set back, in all processes", function()
    local one, two = open(), open()
    assert(one:lease("l", "a", 10))
    time = time - 3600
    assert.is_false((two:lease("l", "b", 10)))
    assert(two:put("k", "v"))
    time = time + 9
    local granted, left = one:lease("l", "b", 10)
    assert.is_false(granted)
    assert.is_true(left <= 1.001)
    time = time + 2
    assert.are.equal(2, (one:lease("l", "b", 10)))
  end)
end)
