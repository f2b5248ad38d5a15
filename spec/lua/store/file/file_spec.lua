-- The store in files: the contract, with a clock of the test's.

local core = require "koine.core"
local folder = require "spec.support.folder"
local koine = require "koine"

local time, directory = 1e9, nil

describe("koine.store.file", function()
  setup(function() directory = folder.in_memory() end)
  teardown(function() folder.remove(directory) end)

  koine.testing.store_contract.describe("file, a clock of the test's", {
    describe = describe, it = it,
    open = function() return koine.store.file { dir = directory .. "/store", clock = function() return time end } end,
    pass = function(seconds) time = time + seconds end,
    restart = function() end,
    unit = 10, seeds = { 1, 2, 3, 4, 5, 6, 7, 8 },
  })

  -- The calls of the core that f makes for files, by name, and how many bytes these read.
  local function calls_of(f)
    local path = directory .. "/probe"
    local lock = assert(core.file_lock(path))
    local lock_methods = getmetatable(lock).__index
    lock:close()
    local counts, real = { bytes = 0 }, {}
    for _, home in ipairs { core, lock_methods } do
      for name, call in pairs(home) do
        if name:find "^file_" or name:find "^read" or name == "append" or home == lock_methods and name == "write" then
          real[name] = { home, call }
          home[name] = function(...)
            counts[name] = (counts[name] or 0) + 1
            local first, err = call(...)
            if type(first) == "string" then counts.bytes = counts.bytes + #first end
            return first, err
          end
        end
      end
    end
    local ok, err = pcall(f)
    for name, one in pairs(real) do one[1][name] = one[2] end
    assert(ok, err)
    return counts
  end

  local function open(name)
    return assert(koine.store.file { dir = directory .. "/" .. name, clock = function() return time end })
  end

  it("claims one of 10,000 queues without looking at the others", function()
    local store, write = open "queues", core.file_write
    core.file_write = function(path, bytes) -- without the disk, which takes most of the time
      local file <close> = assert(io.open(path, "wb"))
      return file:write(bytes) and true
    end
    for i = 1, 10000 do assert(store:push("q" .. i, "item")) end
    core.file_write = write
    assert(os.execute(("chmod 600 '%s/queues/items/1' '%s/queues/items/2'"):format(directory, directory)))
    store:get "none"
    for i = 1, 2 do
      local counts = calls_of(function() assert.are.equal("q" .. i, (store:claim("a", 60))) end)
      assert.are.same({ file_lock = 1, read_from = 2, file_read = 1, append = 1, bytes = counts.bytes }, counts)
      assert.is_true(counts.bytes < 100, counts.bytes)
    end
  end)

  it("ends the waits for its lock when it is closed", function()
    local store = open "closed"
    assert(store:put("k", "before"))
    local err
    koine.run(function()
      local lock = assert(core.file_lock(directory .. "/closed/journal"))
      local task = koine.spawn(function() err = select(2, store:put("k", "after")) end)
      koine.sleep(0.01)
      store:close()
      task:wait()
      lock:close()
    end)
    assert.are.same({ "connect", "closed" }, { err.kind, err.code })
    assert.are.equal("before", (open "closed":get "k"))
  end)

  it("does not wait for itself where a finalizer calls it in the middle of an operation", function()
    local store, err, began
    store = assert(koine.store.file { dir = directory .. "/finalizer", timeout = 10, clock = function()
      collectgarbage()
      return os.time()
    end })
    setmetatable({}, { __gc = function() err = select(2, store:put("k", "finalizer")) end })
    began = core.monotonic()
    assert(store:put("k", "operation"))
    assert.is_true(core.monotonic() - began < 5)
    assert.are.same({ "timeout", "lock" }, { err.kind, err.code })
    assert.are.equal("operation", (store:get "k"))
  end)

  it("lists 5,000 keys in pages without reading them, while others write", function()
    local store, other = open "keys", open "keys"
    for i = 1, 5000 do assert(other:put(("k%05d"):format(i), "x")) end
    local after, n = nil, 0
    store:get "none"
    repeat
      local page, more
      local counts = calls_of(function() page, more = store:list("k", { after = after, limit = 700 }) end)
      assert.are.same({ file_lock = 1, read_from = 2, bytes = counts.bytes }, counts)
      assert.is_true(counts.bytes < 200, counts.bytes)
      n, after = n + #page, more
      assert(other:put("z" .. n, "x"))
    until not after
    assert.are.equal(5000, n)
  end)
end)
