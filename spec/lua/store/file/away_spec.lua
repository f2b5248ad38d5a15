-- The store in files whose directory is away, read-only or full: typed errors, and nothing is lost.

local folder = require "spec.support.folder"
local koine = require "koine"

local function sh(command) return os.execute(command .. " >/dev/null 2>&1") end

-- Every operation that changes something; each returns nil, err where it fails.
local CHANGES = {
  function(s) return s:put("k", "new") end,
  function(s) return s:delete "k" end,
  function(s) return s:lease("l", "me", 10) end,
  function(s) return s:take("b", 1, { capacity = 1, per = 1 }) end,
  function(s) return s:push("q", "new", { id = "m" }) end,
  function(s) return s:claim("me", 10) end,
}

describe("koine.store.file", function()
  local dir, store

  before_each(function() dir = folder.in_memory() end)
  after_each(function()
    store:close()
    sh(("mountpoint -q '%s' && umount '%s'"):format(dir, dir))
    folder.remove(dir)
  end)

  local function open() return assert(koine.store.file { dir = dir .. "/store" }) end

  local function filled()
    store = open()
    assert(store:put("k", "kept"))
    assert(store:push("q", "item"))
  end

  local function holds(s)
    assert.are.equal("kept", (s:get "k"))
    local queue, fence, items = assert(s:claim("o", 10))
    assert.are.same({ "item", 1 }, { items[1].item, #items })
    assert(s:unclaim(queue, "o", fence))
  end

  local function all_fail(kind)
    for i, change in ipairs(CHANGES) do
      local done, err = change(store)
      assert.is_nil(done, "change " .. i)
      assert.are.equal(kind, err.kind, ("change %d: %s"):format(i, tostring(err)))
      assert.is_truthy(err.message:find(dir, 1, true), err.message)
    end
  end

  it("fails while its directory is away, makes no other, and goes on when it is back", function()
    filled()
    assert(os.rename(dir .. "/store", dir .. "/elsewhere"))
    all_fail "connect"
    local value, err = store:get "k"
    assert.is_nil(value)
    assert.are.same({ "connect", "absent" }, { err.kind, err.code })
    assert.is_false(sh(("test -e '%s/store'"):format(dir)) or false)
    assert(os.rename(dir .. "/elsewhere", dir .. "/store"))
    holds(store)
    holds(open())
  end)

  -- A file system of its own; false where none may be mounted.
  local function mounted(options) return sh(("mount -t tmpfs -o %s none '%s'"):format(options, dir)) end

  it("changes nothing on a file system that is read-only, and says so", function()
    if not mounted "size=1m,mode=700" then
      store = open()
      return pending "nothing may be mounted here"
    end
    filled()
    assert(sh(("mount -o remount,ro '%s'"):format(dir)))
    all_fail "permission"
    assert(sh(("mount -o remount,rw '%s'"):format(dir)))
    holds(store)
  end)

  it("keeps what it has on a file system that is full, and says so", function()
    if not mounted "size=1m,mode=700" then
      store = open()
      return pending "nothing may be mounted here"
    end
    filled()
    local n, err = 0
    repeat
      local seq
      seq, err = store:push("full", ("x"):rep(30000))
      n = n + (seq and 1 or 0)
    until not seq
    assert.are.same({ "limit", "full" }, { err.kind, err.code })
    assert.is_true(n > 10)
    local other <close> = open()
    local found = 0
    local queue, fence, items = other:claim("a", 60, { queues = "full" })
    while queue do
      found = found + #items
      assert(other:ack(queue, "a", fence, items[#items].seq))
      assert(other:unclaim(queue, "a", fence))
      queue, fence, items = other:claim("a", 60, { queues = "full" })
    end
    assert.are.equal(n, found)
    assert(store:push("full", "there is room again"))
    holds(store)
  end)
end)
