-- Waits of stores that are cancelled: for a lock, for a database or server that is busy, for a bucket. The error is
-- that of the cancel, it comes at once, and nothing was changed.

local core = require "koine.core"
local fake = require "spec.lua.store.redis.fake"
local folder = require "spec.support.folder"
local koine = require "koine"

local SOON = 0.03 -- seconds

-- Runs operate, a wait for something that does not come, and cancels it: by its time limit, and by its task's end.
local function check(operate)
  koine.run(function()
    local began = core.monotonic()
    local done, err = koine.timeout(SOON, operate)
    assert.is_nil(done)
    assert.are.equal("timeout", err.kind)
    local returned
    local task = koine.spawn(function()
      operate()
      returned = true
    end)
    koine.sleep(SOON)
    task:cancel()
    assert.is_nil((task:wait()))
    assert.is_nil(returned)
    assert.is_true(core.monotonic() - began < 3)
  end)
end

describe("a wait that is cancelled", function()
  local dir
  before_each(function() dir = folder.in_memory() end)
  after_each(function() folder.remove(dir) end)

  it("for the lock of files leaves the store as it was, and free", function()
    local store <close> = assert(koine.store.file { dir = dir .. "/store" })
    assert(store:put("k", "kept"))
    local lock = assert(core.file_lock(dir .. "/store/journal"))
    for _, operate in ipairs { function() return store:put("k", "new") end, function() return store:get "k" end,
      function() return store:push("q", "new") end, function() return store:claim("o", 1) end,
      function() return store:lease("l", "o", 1) end } do
      check(operate)
    end
    lock:close()
    assert.are.equal("kept", (store:get "k"))
    assert.is_nil((store:claim("o", 1)))
    assert.are.equal(1, (store:lease("l", "other", 1)))
  end)

  it("for a database that is busy leaves it as it was", function()
    local found, driver = pcall(require, "luasql.sqlite3")
    if not found then return pending "lua-sql-sqlite3 is not installed (tools/deps.sh test)" end
    local path = dir .. "/store.sqlite"
    local other = assert(driver.sqlite3():connect(path))
    for statement in koine.store.schema "sqlite":gmatch "[^;]+;" do
      local cursor = assert(other:execute(statement))
      if type(cursor) == "userdata" then cursor:close() end
    end
    local store <close> = koine.store.sql { dialect = "sqlite", connect = function()
      local conn = assert(driver.sqlite3():connect(path))
      return { close = function() conn:close() end, execute = function(_, sql)
        if sql:find "^PRAGMA busy_timeout" then return 0 end -- so that the wait is the engine's
        return conn:execute(sql)
      end }
    end }
    assert(store:put("k", "kept"))
    assert(other:execute "BEGIN IMMEDIATE")
    check(function() return store:put("k", "new") end)
    check(function() return store:push("q", "new") end)
    assert(other:execute "ROLLBACK")
    other:close()
    assert.are.equal("kept", (store:get "k"))
    assert.is_nil((store:claim("o", 1)))
  end)

  it("for a Redis server that is busy sends nothing more", function()
    local log = fake.run(function(command)
      return command[1] == "EVALSHA" and "-LOADING later\r\n" or false
    end, function(store, heard)
      local task = koine.spawn(function() store:put("k", "v") end)
      repeat koine.sleep(0.001) until fake.scripts(heard)[1]
      task:cancel()
      koine.sleep(0.2)
    end)
    assert.are.equal(1, #fake.scripts(log))
  end)

  it("for a bucket takes nothing more", function()
    local time = 0
    local store = koine.store.memory { clock = function() return time end }
    local limiter = koine.rate_limiter { store = store, key = "b", capacity = 1, per = 0.01 }
    assert(limiter:wait())
    check(function() return limiter:wait() end)
    time = 100
    assert.are.equal(0, store:take("b", 1, { capacity = 1, per = 0.01 }))
  end)
end)
