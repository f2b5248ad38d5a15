-- Real databases that are away, read-only, slow, full, or want another password: typed errors, nothing is lost, and no
-- password is shown. PostgreSQL for make engines.

local folder = require "spec.support.folder"
local koine = require "koine"
local postgres = require "spec.lua.store.sql.postgres"

local found, driver = pcall(require, "luasql.sqlite3")

local function sh(command) return os.execute(command .. " >/dev/null 2>&1") end

-- The error of a put that must fail.
local function failed(store)
  local done, err = store:put("k", "new")
  assert.is_nil(done)
  return err
end

local function fill(store)
  assert(store:put("k", "kept"))
  assert(store:push("q", "item"))
end

local function holds(store)
  assert.are.equal("kept", (store:get "k"))
  local queue, fence, items = assert(store:claim("o", 10))
  assert.are.same({ "item", 1 }, { items[1].item, #items })
  assert(store:unclaim(queue, "o", fence))
end

describe("SQLite", function()
  if not found then return pending "lua-sql-sqlite3 is not installed (tools/deps.sh test)" end

  local dir, path
  before_each(function()
    dir = folder.in_memory()
    path = dir .. "/here/store.sqlite"
    assert(sh("mkdir " .. dir .. "/here"))
    local conn = assert(driver.sqlite3():connect(path))
    for statement in koine.store.schema "sqlite":gmatch "[^;]+;" do
      local cursor = assert(conn:execute(statement))
      if type(cursor) == "userdata" then cursor:close() end
    end
    conn:close()
  end)
  after_each(function() folder.remove(dir) end)

  local function open(connect) return koine.store.sql { dialect = "sqlite", connect = connect or path } end

  it("that is away is connect, and is found when it is back", function()
    local first <close> = open()
    fill(first)
    first:close()
    assert(os.rename(dir .. "/here", dir .. "/elsewhere"))
    local store <close> = open()
    local err = failed(store)
    assert.are.same({ "connect", true }, { err.kind, err.retryable })
    assert(os.rename(dir .. "/elsewhere", dir .. "/here"))
    holds(store)
  end)

  it("that is read-only is permission, and may be read", function()
    local conn
    local store <close> = open(function()
      conn = assert(driver.sqlite3():connect(path))
      return conn
    end)
    fill(store)
    assert(conn:execute "PRAGMA query_only = ON")
    assert.are.equal("permission", failed(store).kind)
    for _, call in ipairs { { "push", "q", "new" }, { "lease", "l", "o", 1 }, { "claim", "o", 1 },
      { "take", "b", 1, { capacity = 1, per = 1 } }, { "delete", "k" } } do
      local done, err = store[call[1]](store, table.unpack(call, 2))
      assert.are.same({ nil, "permission" }, { done, err.kind }, call[1])
    end
    assert.are.equal("kept", (store:get "k"))
    assert(conn:execute "PRAGMA query_only = OFF")
    holds(store)
  end)

  it("that is none is protocol, and stays as it is", function()
    local other = dir .. "/other"
    local file <close> = assert(io.open(other, "w"))
    file:write(("no database "):rep(1000))
    file:flush()
    local store <close> = open(other)
    assert.are.equal("protocol", failed(store).kind)
    assert.is_true(sh(("test $(wc -c <%s) = 12000"):format(other)))
  end)
end)

describe("PostgreSQL", function()
  if postgres.missing then return pending(postgres.missing) end

  local server
  setup(function() server = postgres.start() end)
  teardown(function() server:stop() end)
  before_each(function() server:run "TRUNCATE koine_values, koine_leases, koine_queue, koine_ready, koine_buckets" end)

  -- A store whose connections begin with a statement.
  local function beginning(statement)
    return server:open { connect = function()
      local conn = server:connect()
      assert(conn:execute(statement))
      return conn
    end }
  end

  it("that is away is connect, and what was stored is there when it is back", function()
    local store <close> = server:open()
    fill(store)
    server:crash()
    for _ = 1, 2 do
      local err = failed(store)
      assert.are.same({ "connect", true }, { err.kind, err.retryable })
    end
    server:start()
    holds(store)
  end)

  it("that is read-only is overloaded, and may be read", function()
    local store <close> = server:open()
    fill(store)
    local reader <close> = beginning "SET default_transaction_read_only = on"
    local err = failed(reader)
    assert.are.same({ "overloaded", true }, { err.kind, err.retryable })
    assert.are.equal("kept", (reader:get "k"))
    holds(store)
  end)

  it("that is slow is timeout, and nothing is changed", function()
    local store <close> = server:open()
    fill(store)
    local other = server:connect()
    assert(other:execute "BEGIN")
    assert(other:execute "LOCK TABLE koine_values")
    local hasty <close> = beginning "SET statement_timeout = 100"
    assert.are.equal("timeout", failed(hasty).kind)
    assert(other:execute "ROLLBACK")
    other:close()
    holds(hasty)
  end)

  it("that wants another password is auth, and no password is shown", function()
    local right, wrong = "the-right-pa55word", "a-wrong-pa55word"
    server:run(("CREATE ROLE guarded LOGIN SUPERUSER PASSWORD '%s'"):format(right))
    assert(sh(("sed -i '1i local all guarded scram-sha-256' %s/data/pg_hba.conf"):format(server.folder)))
    server:run "SELECT pg_reload_conf()"
    koine.sleep(0.2)
    local function open(password)
      return server:open { connect = server:source "guarded" .. (password and " password=" .. password or "") }
    end
    for _, password in ipairs { wrong, false } do
      local store <close> = open(password)
      local err = failed(store)
      assert.are.equal("auth", err.kind, tostring(err))
      for _, text in ipairs { tostring(err), tostring(store), err.message, tostring(err.raw) } do
        assert.is_nil(text:find("pa55word", 1, true), text)
      end
    end
    local store <close> = open(right)
    fill(store)
    holds(store)
  end)

  it("whose disk is full is limit, and keeps what it has", function()
    local small = server.folder .. "/small"
    if not sh(("mkdir %s && mount -t tmpfs -o size=2m,mode=777 none %s"):format(small, small)) then
      return pending "nothing may be mounted here"
    end
    local store <close> = server:open()
    finally(function()
      store:close()
      server:run "ALTER TABLE koine_values SET TABLESPACE pg_default"
      server:run "DROP TABLESPACE small"
      sh("umount " .. small)
    end)
    assert(sh(("chown nobody:nogroup %s; true"):format(small)))
    server:run(("CREATE TABLESPACE small LOCATION '%s'"):format(small))
    server:run "ALTER TABLE koine_values SET TABLESPACE small"
    fill(store)
    local dice, n = io.open("/dev/urandom", "rb"), 0 -- bytes that cannot be packed
    local done, err
    repeat
      done, err = store:put("big" .. n, dice:read(200000))
      if done then n = n + 1 end
    until not done
    dice:close()
    assert.are.same({ "limit", "full" }, { err.kind, err.code })
    assert.is_true(n > 2)
    for i = 0, n - 1 do assert.are.equal(200000, #assert(store:get("big" .. i))) end
    assert.is_nil((store:get("big" .. n)))
    holds(store)
  end)
end)
