-- 5,000 keys, listed in pages while another client writes, on each engine: every key that stays is there once. That of
-- files has a test of its own (file/file_spec.lua), which counts what it reads.

local folder = require "spec.support.folder"
local koine = require "koine"
local postgres = require "spec.lua.store.sql.postgres"
local redis = require "spec.lua.store.redis.server"

local KEYS, LIMIT = 5000, 700

local function key(i) return ("k%05d"):format(i) end

local function check(one, two)
  for i = 1, KEYS do assert(two:put(key(2 * i), "x")) end
  local seen, last, rounds = {}, "", 0
  local page, after
  repeat
    page, after = assert(one:list("k", { after = after, limit = LIMIT }))
    assert.is_true(#page <= LIMIT)
    for _, name in ipairs(page) do
      assert.is_true(name > last)
      last, seen[name] = name, true
    end
    rounds = rounds + 1
    for i = 1, 20 do -- keys come and go behind and before the page
      assert(two:put(key((rounds * 977 + i * 499) % KEYS * 2 + 1), "new"))
      assert(two:delete(key((rounds * 977 + i * 251) % KEYS * 2 + 1)))
      assert(two:put(key((rounds * 31 + i) % KEYS * 2 + 2), "changed"))
    end
  until not after
  for i = 1, KEYS do assert.is_true(seen[key(2 * i)], key(2 * i)) end
  one:close()
  two:close()
end

describe("5,000 keys in pages while others write", function()
  it("are each there once in memory", function()
    local one = koine.store.memory {}
    check(one, koine.store.memory { same_as = one })
  end)

  it("are each there once on Redis", function()
    if redis.missing then return pending(redis.missing) end
    local server = redis.start()
    finally(function() server:stop() end)
    local open = server:opener()
    check(open(), open())
  end)

  it("are each there once on SQLite", function()
    local found, driver = pcall(require, "luasql.sqlite3")
    if not found then return pending "lua-sql-sqlite3 is not installed (tools/deps.sh test)" end
    local dir = folder.in_memory()
    finally(function() folder.remove(dir) end)
    local conn = assert(driver.sqlite3():connect(dir .. "/store.sqlite"))
    for statement in koine.store.schema "sqlite":gmatch "[^;]+;" do
      local cursor = assert(conn:execute(statement))
      if type(cursor) == "userdata" then cursor:close() end
    end
    conn:close()
    local function open() return koine.store.sql { dialect = "sqlite", connect = dir .. "/store.sqlite" } end
    check(open(), open())
  end)

  it("are each there once on PostgreSQL", function()
    if postgres.missing then return pending(postgres.missing) end
    local server = postgres.start()
    finally(function() server:stop() end)
    check(server:open(), server:open())
  end)
end)
