-- The store on a real PostgreSQL server: the contract, crashes, eight processes, lost connections. For make engines:
-- KOINE_ENGINE_SEEDS=n random runs.

local folder = require "spec.support.folder"
local koine = require "koine"
local postgres = require "spec.lua.store.sql.postgres"
local processes = require "spec.lua.store.kit.processes"

if postgres.missing then
  describe("koine.store.sql on PostgreSQL", function() pending("keeps the contract: " .. postgres.missing) end)
  return
end

local UNIT = 0.15 -- seconds
local MANY = math.tointeger(tonumber(os.getenv "KOINE_ENGINE_SEEDS"))

local function seeds(n)
  local list = {}
  for i = 1, n do list[i] = i end
  return list
end

describe("koine.store.sql on PostgreSQL", function()
  local server

  setup(function() server = postgres.start() end)
  teardown(function() server:stop() end)

  koine.testing.store_contract.describe("postgres", { describe = describe, it = it, unit = UNIT,
    open = function() return server:open() end, seeds = seeds(MANY),
    restart = function()
      server:crash()
      server:start()
    end })

  for name, more in pairs { ["keeps S1 to S7 with eight processes"] = { seeds = seeds(MANY // 20 + 2) },
    ["keeps them where three of eight are killed"] = { seeds = seeds(2), killed = 3 } } do
    it(name, function()
      server:run "TRUNCATE koine_values, koine_leases, koine_queue, koine_ready, koine_buckets"
      more.folder, more.code = folder.in_memory(),
        ("return require('koine').store.sql { dialect = 'postgres', connect = %q }"):format(server:source())
      finally(function() folder.remove(more.folder) end)
      assert.are.same({}, processes.problems(more, processes.run(more)))
    end)
  end

  it("claims another queue while one is locked", function()
    local store <close> = server:open()
    assert(store:push("lock:1", "a"))
    assert(store:push("lock:2", "b"))
    local other = server:connect()
    assert(other:execute "BEGIN")
    assert(other:execute("SELECT 1 FROM koine_ready WHERE queue = 'lock:1'::bytea FOR UPDATE")):close()
    assert.are.equal("lock:2", (store:claim("me", 1, { queues = "lock:" })))
    assert(other:execute "ROLLBACK")
    assert.are.equal("lock:1", (store:claim("me", 1, { queues = "lock:" })))
    other:close()
  end)

  it("claims one of 10,000 queues without looking at the others", function()
    local seen, conn
    local store <close> = server:open { connect = function()
      conn = server:connect()
      return { close = function() conn:close() end, execute = function(_, sql)
        if sql:find "FROM koine_ready r" then seen = sql end
        return conn:execute(sql)
      end }
    end }
    -- Counts the pages that the server reads for a claim; a page holds more than a hundred rows.
    local function claimed(queue, prefix)
      local found, fence = store:claim("me", 60, { queues = prefix })
      assert.are.equal(queue, found)
      if found then assert(store:unclaim(found, "me", fence)) end
      local cursor = assert(conn:execute("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF) " .. seen))
      local plan, line = {}, cursor:fetch()
      while line do
        plan[#plan + 1], line = line, cursor:fetch()
      end
      cursor:close()
      plan = table.concat(plan, "\n"):gsub("\nPlanning:.*", "")
      local pages = 0
      for kind, n in plan:match "Buffers: ([^\n]*)":gmatch "(%a+)=(%d+)" do
        if kind == "hit" or kind == "read" then pages = pages + tonumber(n) end
      end
      assert.is_true(pages <= 20, plan)
    end
    server:run "TRUNCATE koine_leases, koine_queue, koine_ready"
    server:run "INSERT INTO koine_queue (queue, seq, at, item) VALUES ('rare:1', 1, 1, 'x'), ('many:1', 1, 1, 'x')"
    server:run "INSERT INTO koine_ready (queue, at) VALUES ('rare:1', 20000)"
    server:run("INSERT INTO koine_ready (queue, at) SELECT ('many:' || i)::bytea, i FROM generate_series(1, 10000) i")
    server:run "INSERT INTO koine_leases SELECT queue, ''::bytea, 1, 0 FROM koine_ready"
    for _ = 1, 2 do -- before the server knows what the tables hold, and after
      claimed("rare:1", "rare:")
      claimed("rare:1", "rare:1")
      claimed(nil, "none:")
      claimed("many:1", "many:")
      server:run "UPDATE koine_ready SET at = 1 WHERE queue = 'many:1'"
      claimed("many:1", "")
      server:run "UPDATE koine_ready SET at = 1 WHERE queue = 'many:1'"
      server:run "ANALYZE"
    end
  end)

  it("goes on where the server ended its connection, and not where it was committing", function()
    local conns, cut = {}, nil
    local store <close> = server:open { connect = function()
      local conn = server:connect()
      local cursor = assert(conn:execute "SELECT pg_backend_pid() AS pid")
      local pid = cursor:fetch({}, "a").pid
      cursor:close()
      conns[#conns + 1] = pid
      return { close = function() conn:close() end, execute = function(_, sql)
        if cut and sql:find(cut) then
          cut = nil
          server:run(("SELECT pg_terminate_backend(%s, 1000)"):format(pid))
        end
        return conn:execute(sql)
      end }
    end }
    local version = assert(store:put("k", "1"))
    for i, place in ipairs { "^BEGIN", "^SELECT version", "^UPDATE koine_values" } do
      cut = place
      version = assert(store:put("k", "again", { if_version = version }))
      assert.are.equal(i + 1, #conns)
    end
    cut = "^COMMIT"
    local done, err = store:put("k", "perhaps")
    assert.is_nil(done)
    assert.are.same({ "connect", "commit", true }, { err.kind, err.code, err.retryable })
    cut = "^SELECT encode"
    assert.are.same({ "again", version }, { store:get "k" })
  end)

  it("says what is wrong: rights, roles, tables, the server", function()
    server:run "CREATE ROLE stranger LOGIN"
    local store <close> = server:open { connect = server:source "stranger" }
    local done, err = store:put("k", "1")
    assert.is_nil(done)
    assert.are.equal("permission", err.kind)
    local nobody <close> = server:open { connect = server:source "nobody" }
    done, err = nobody:get "k"
    assert.is_nil(done)
    assert.are.equal("auth", err.kind)
    local away <close> = server:open { connect = "host=/nowhere dbname=x password=hunter2" }
    done, err = away:get "k"
    assert.is_nil(done)
    assert.are.equal("connect", err.kind)
    local odd <close> = server:open { connect = "host=/nowhere =hunter2 password=hunter2" }
    done, err = odd:get "k"
    assert.is_nil(done)
    assert.is_nil(err.message:find("hunter2", 1, true))
    server:run "CREATE DATABASE empty"
    local empty <close> = server:open { connect = server:source():gsub("dbname=postgres", "dbname=empty") }
    done, err = empty:get "k"
    assert.is_nil(done)
    assert.are.equal("no_tables", err.code)
  end)

  it("describes the server", function()
    local store <close> = server:open()
    local about = assert(store:describe())
    assert.are.same({ "postgres", "machine", "server", {} }, { about.name, about.durable, about.clock, about.warnings })
    local conn = server:connect()
    local lazy <close> = server:open { connect = function()
      assert(conn:execute "SET synchronous_commit = off")
      return conn
    end }
    about = assert(lazy:describe())
    assert.are.same({ "memory", 1 }, { about.durable, #about.warnings })
    local reader <close> = server:open { connect = function()
      local reading = server:connect()
      assert(reading:execute "SET default_transaction_read_only = on")
      return reading
    end }
    assert.are.same({ "the database is read-only, a replica say: it refuses all changes" },
      assert(reader:describe()).warnings)
    server:run "CREATE DATABASE bare"
    local bare <close> = server:open { connect = server:source():gsub("dbname=postgres", "dbname=bare") }
    assert.is_truthy(assert(bare:describe()).warnings[1]:find("the tables koine_numbers, koine_values", 1, true))
  end)
end)
