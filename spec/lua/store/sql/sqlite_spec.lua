-- The store on SQLite: the contract, eight processes, and what goes wrong in a database.

local dialects = require "koine.store.sql.dialects"
local folder = require "spec.support.folder"
local koine = require "koine"
local processes = require "spec.lua.store.kit.processes"
local raised = require "spec.support.raised"
local sqlite = require "spec.lua.store.sql.sqlite"

if sqlite.missing then
  describe("koine.store.sql on SQLite", function() pending("keeps the contract: " .. sqlite.missing) end)
  return
end

local query_of, connect = sqlite.query_of, sqlite.connect

describe("koine.store.sql on SQLite", function()
  local dir, path

  local function make() dir, path = sqlite.make() end

  local function open(more)
    local options = { dialect = "sqlite" }
    for name, value in pairs(more or { connect = path }) do options[name] = value end
    return koine.store.sql(options)
  end

  describe("", function()
    local clock, time = dialects.sqlite.now, 1e9
    local function pass(seconds) time = time + seconds end
    setup(function()
      make()
      dialects.sqlite.now = function() return ("%.17g"):format(time) end
    end)
    teardown(function()
      dialects.sqlite.now = clock
      folder.remove(dir)
    end)
    koine.testing.store_contract.describe("sqlite", { describe = describe, it = it, unit = 10, pass = pass,
      open = function() return open() end, restart = function() end, seeds = processes.seeds(10) })

    -- One connection for all, whose statements wait: a database behind a network.
    local conn
    local function slow()
      conn = conn or connect(path)
      local query = query_of(conn)
      return function(sql)
        koine.sleep(0)
        return query(sql)
      end
    end
    for _, item in ipairs(koine.testing.store_contract.items { unit = 10, pass = pass, seeds = { 1, 2 },
      open = function() return open { query = slow() } end }) do
      -- one machine: several would mix their transactions
      if item.name:find "random" or item.name:find "ack in parts" or item.name:find "conditions" then
        it("a query that waits: " .. item.name, function() koine.run(item.run) end)
      end
    end
    for _, item in ipairs(koine.testing.store_contract.items { unit = 10, pass = pass, seeds = { 1, 2 },
      open = function()
        return open { connect = function()
          local own = connect(path)
          local query = query_of(own)
          return { close = function() own:close() end, query = function(_, sql)
            if sql:find "^PRAGMA busy_timeout" then return {} end -- so that the wait is the engine's
            koine.sleep(0)
            return query(sql)
          end }
        end }
      end }) do
      if item.name:find "random" or item.name:find "S10" or item.name:find "close ends" then
        it("connections that wait: " .. item.name, function() koine.run(item.run) end)
      end
    end
    teardown(function() if conn then conn:close() end end)
  end)

  describe("", function()
    before_each(make)
    after_each(function() folder.remove(dir) end)

    it("keeps S1 to S7 with eight processes", function()
      local run = { folder = dir, seeds = processes.seeds(3), code =
        ("return require('koine').store.sql { dialect = 'sqlite', connect = %q }"):format(path) }
      assert.are.same({}, processes.problems(run, processes.run(run)))
    end)

    it("keeps them where three are killed", function()
      local run = { folder = dir, seeds = processes.seeds(1), killed = 3, code =
        ("return require('koine').store.sql { dialect = 'sqlite', connect = %q }"):format(path) }
      assert.are.same({}, processes.problems(run, processes.run(run)))
    end)

    it("makes no table unasked, and its schema may be run again", function()
      local empty <close> = open { connect = dir .. "/empty.sqlite" }
      for _, call in ipairs { function() return empty:get "k" end, function() return empty:put("k", "v") end } do
        local done, err = call()
        assert.is_nil(done)
        assert.are.same({ "other", "no_tables" }, { err.kind, err.code })
        assert.is_truthy(err.message:find('koine.store.schema "sqlite"', 1, true))
      end
      local store <close> = open()
      local version = assert(store:put("k", "v"))
      local conn = connect(path)
      sqlite.run(conn, koine.store.schema "sqlite")
      conn:close()
      assert.are.same({ "v", version }, { store:get "k" })
      assert.are.equal("dialect", raised(koine.store.schema, "mysql").field)
    end)

    it("takes a query that returns true where a statement has no rows", function()
      local conn = connect(path)
      local query = query_of(conn)
      local store <close> = open { query = function(sql)
        local rows, err = query(sql)
        return rows and (rows[1] and rows or sql:find "^SELECT" and rows or true), err
      end }
      assert(store:put("k", "v"))
      assert.are.equal("v", (store:get "k"))
      assert(store:push("q", "i"))
      assert(store:claim("o", 1))
      conn:close()
    end)

    it("refuses wrong options, without showing how to connect", function()
      for field, options in pairs { dialect = { connect = path }, connect = { dialect = "sqlite" },
        query = { dialect = "sqlite", connect = path, query = print } } do
        assert.are.equal(field, raised.as("ArgumentError", koine.store.sql, options).field)
      end
      local err = raised.as("ArgumentError", koine.store.sql, { dialect = "sqlite", connect = { "pa55word" } })
      assert.is_nil(tostring(err):find("pa55word", 1, true))
    end)

    it("takes no text for PostgreSQL, which would be the name of a file that shows a password", function()
      for _, text in ipairs { "postgres://me:pa55word@db/app", "postgresql://me:pa55word@db", "mysql://me:pa55word@db",
        "host=db dbname=app password=pa55word", "dbname=app password = 'pa55word'", "host=db user=me" } do
        local err = raised.as("ArgumentError", koine.store.sql, { dialect = "sqlite", connect = text })
        assert.are.same({ "connect", "path of SQLite's file, not a text for a server" }, { err.field, err.expected })
        assert.is_nil(tostring(err):find("pa55word", 1, true))
        koine.store.sql { dialect = "postgres", connect = text, blocking = true }:close()
      end
      for _, name in ipairs { ":memory:", "file:" .. dir .. "/x.sqlite", "file:///x.sqlite", dir .. "/host=x" } do
        koine.store.sql({ dialect = "sqlite", connect = name }):close()
      end
    end)

    it("names the package that is missing", function()
      local loaded, searchers = package.loaded["luasql.sqlite3"], package.searchers
      package.loaded["luasql.sqlite3"], package.searchers = nil, {}
      local store <close> = open()
      local done, err = store:get "k"
      package.loaded["luasql.sqlite3"], package.searchers = loaded, searchers
      assert.is_nil(done)
      assert.is_truthy(err.message:find("lua-sql-sqlite3", 1, true))
      assert.is_true(select("#", store:get "k") == 2)
    end)

    it("asks again while the database is busy, and gives up after a time", function()
      local conn = connect(path)
      local query, busy, n = query_of(conn), 3, 0
      local store <close> = open { query = function(sql)
        if sql:find "^BEGIN" then n = n + 1 end
        if sql:find "^BEGIN" and n <= busy then return nil, "LuaSQL: database is locked" end
        return query(sql)
      end }
      assert(store:put("k", "v"))
      assert.are.equal(4, n)
      busy = math.huge
      local now, sleep = 0, koine.sleep
      local wait = require "koine.task.wait"
      local clock, real = wait.now, wait.sleep
      wait.now = function() return now end
      wait.sleep = function(seconds)
        now = now + seconds
        return true
      end
      local done, err = store:put("k", "w")
      wait.now, wait.sleep = clock, real
      assert.is_function(sleep)
      assert.is_nil(done)
      assert.are.same({ "overloaded", true }, { err.kind, err.retryable })
      assert.is_true(now > 3 and now <= 5)
      conn:close()
    end)

    it("waits for a writer of another connection", function()
      local other = connect(path)
      sqlite.run(other, "BEGIN IMMEDIATE; INSERT INTO koine_values VALUES (X'6b', 7, NULL, X'76');")
      local store <close> = open { connect = function()
        local conn = connect(path)
        return { close = function() conn:close() end, execute = function(_, sql)
          if sql:find "^PRAGMA busy_timeout" then return 0 end -- so that the wait is the engine's
          return conn:execute(sql)
        end }
      end }
      koine.run(function()
        local task = koine.spawn(function() return store:put("k", "mine", { if_version = "7" }) end)
        koine.sleep(0.01)
        assert(other:execute "COMMIT")
        assert.is_string((task:wait()))
      end)
      assert.are.equal("mine", (store:get "k"))
      other:close()
    end)

    it("takes a failed change back: the disk is full", function()
      local conn
      local store <close> = open { connect = function()
        conn = connect(path)
        return conn
      end }
      local version = assert(store:put("k", "small"))
      local cursor = conn:execute "PRAGMA page_count"
      local pages = math.tointeger(tonumber((cursor:fetch())))
      cursor:close()
      conn:execute("PRAGMA max_page_count = " .. pages + 20):close()
      local done, err = store:put("k", ("x"):rep(1000000))
      assert.is_nil(done)
      assert.are.same({ "limit", "full" }, { err.kind, err.code })
      assert.are.same({ "small", version }, { store:get "k" })
      done, err = store:push("q", ("x"):rep(1000000))
      assert.is_nil(done)
      assert.are.equal("limit", err.kind)
      assert.is_nil((store:claim("me", 1)))
      conn:execute("PRAGMA max_page_count = 1000000"):close()
      assert(store:put("k", ("x"):rep(1000000), { if_version = version }))
    end)

    it("goes on with another connection, but for a commit that failed", function()
      local opened, cut = 0, nil
      local store <close> = open { connect = function()
        opened = opened + 1
        local conn = connect(path)
        return { close = function() conn:close() end, execute = function(_, sql)
          if cut and sql:find(cut) then
            cut = nil
            conn:close()
          end
          return conn:execute(sql)
        end }
      end }
      local version = assert(store:put("k", "1"))
      for i, place in ipairs { "^BEGIN", "^SELECT", "^UPDATE koine_values" } do
        cut = place
        version = assert(store:put("k", "again", { if_version = version }))
        assert.are.equal(i + 1, opened)
      end
      cut = "^COMMIT"
      local done, err = store:put("k", "perhaps", { if_version = version })
      assert.is_nil(done)
      assert.are.same({ "connect", "commit" }, { err.kind, err.code })
      cut = "^SELECT value"
      assert.are.same({ "again", version }, { store:get "k" })
    end)

    it("rolls back what was cancelled in the middle, and does not mix two operations", function()
      local conn = connect(path)
      local query, stop = query_of(conn), nil
      local store <close> = open { query = function(sql)
        koine.sleep(stop and sql:find(stop) and 0.05 or 0)
        return query(sql)
      end }
      assert(store:put("k", "old"))
      koine.run(function()
        stop = "^UPDATE koine_values"
        local done, err = koine.timeout(0.02, function() return store:put("k", "half") end)
        assert.is_nil(done)
        assert.are.equal("timeout", err.kind)
        stop = nil
        assert.are.equal("old", (store:get "k"))
        local jobs = {}
        for i = 1, 10 do
          jobs[i] = function()
            assert(store:put("k" .. i % 3, "v"))
            assert(store:push("q" .. i % 2, "i"))
            return assert(store:lease("l" .. i, "me", 10))
          end
        end
        koine.gather(table.unpack(jobs))
      end)
      local _, _, items = store:claim("me", 1, { queues = "q0" })
      assert.are.equal(5, #items)
      conn:close()
    end)

    it("forgets ids after a day, and removes what has expired", function()
      local store <close> = open()
      local conn = connect(path)
      local function age() assert(conn:execute "UPDATE koine_queue SET at = at - 86401") end
      local function count(table_name)
        local cursor = conn:execute("SELECT count(*) FROM " .. table_name)
        local n = tonumber((cursor:fetch()))
        cursor:close()
        return n
      end
      local first = assert(store:push("q", "1", { id = "m" }))
      age()
      local second = assert(store:push("q", "2", { id = "m" }))
      assert.is_true(second > first)
      assert.are.equal(second, store:push("q", "2", { id = "m" }))
      local _, fence, items = store:claim("me", 100, { queues = "q" })
      assert.are.equal(2, #items)
      assert(store:ack("q", "me", fence, second))
      assert.are.equal(second, store:push("q", "2", { id = "m" }))
      assert.are.equal(1, count "koine_queue")
      age()
      for i = 1, 20 do assert(store:put("gone" .. i, "x", { ttl = 0.001 })) end
      assert.are.equal(0, store:take("b", 1, { capacity = 1, per = 1e6 }))
      for i = 1, 256 do assert(store:put("k" .. i % 5, "x")) end
      assert.are.same({ 5, 0, 0 }, { count "koine_values", count "koine_queue", count "koine_buckets" })
      conn:close()
    end)

    it("finds the next queue by an index, whatever the prefix", function()
      local conn, seen = connect(path), nil
      local query = query_of(conn)
      local store <close> = open { query = function(sql)
        if sql:find "FROM koine_ready r" then seen = sql end
        return query(sql)
      end }
      for prefix, index in pairs { [""] = "koine_ready_at (at<?", ["q"] = "koine_ready_at (at<?",
        ["q:"] = "koine_ready_head (<expr>=? AND at<?", ["q:1"] = "koine_ready_head (<expr>=? AND at<?" } do
        assert(store:push("q:1", "x"))
        assert(store:claim("me", 0.001, { queues = prefix }))
        local plan = ""
        for _, row in ipairs(query("EXPLAIN QUERY PLAN " .. seen)) do plan = plan .. row.detail .. "\n" end
        assert.is_truthy(plan:find("INDEX " .. index, 1, true), plan)
        assert.is_nil(plan:find("TEMP B-TREE", 1, true))
        koine.sleep(0.002)
      end
      conn:close()
    end)

    it("gets over items that somebody took away", function()
      local store <close> = open()
      assert(store:push("a", "1"))
      assert(store:push("b", "2"))
      local conn = connect(path)
      assert(conn:execute "DELETE FROM koine_queue WHERE queue = X'61'")
      conn:close()
      assert.is_nil((store:claim("me", 10)))
      assert.are.equal("b", (store:claim("me", 10)))
    end)

    it("describes the database", function()
      local store <close> = open()
      local about = assert(store:describe())
      assert.are.same({ "sqlite", "machine", "machine", {} },
        { about.name, about.durable, about.clock, about.warnings })
      local memory <close> = open { connect = ":memory:" }
      assert.are.equal("memory", assert(memory:describe()).durable)
      local lazy <close> = open { connect = function()
        local conn = connect(dir .. "/other.sqlite")
        conn:execute "PRAGMA synchronous = NORMAL"
        return conn
      end }
      about = assert(lazy:describe())
      assert.are.same({ "process", 3 }, { about.durable, #about.warnings })
    end)

    it("tells of a database without tables, or that is read-only", function()
      local conn = connect(dir .. "/empty.sqlite")
      local store <close> = open { query = query_of(conn) }
      local about = assert(store:describe())
      assert.are.equal("the tables koine_numbers, koine_values, koine_leases, koine_queue, koine_ready, koine_buckets "
        .. 'are missing; run the text of koine.store.schema "sqlite" once', about.warnings[1])
      sqlite.run(conn, koine.store.schema "sqlite")
      assert(conn:execute "DROP TABLE koine_leases")
      about = assert(store:describe())
      assert.is_truthy(about.warnings[1]:find("the tables koine_leases are missing", 1, true))
      sqlite.run(conn, koine.store.schema "sqlite")
      assert.are.same({}, assert(store:describe()).warnings)
      assert(conn:execute "PRAGMA query_only = ON")
      assert.are.same({ "the database is read-only, a replica say: it refuses all changes" },
        assert(store:describe()).warnings)
      conn:close()
    end)

    it("warns once of PostgreSQL in a task that would block, unless told not to", function()
      local said = {}
      local function try(more)
        local options = { dialect = "postgres", connect = function() return nil, "connection refused" end,
          on_warning = function(text) said[#said + 1] = text end }
        for name, value in pairs(more) do options[name] = value end
        local store <close> = koine.store.sql(options)
        assert.are.equal("connect", select(2, store:get "k").kind)
        koine.run(function()
          store:get "k"
          store:get "k"
        end)
      end
      try {}
      assert.are.equal(1, #said)
      assert.is_truthy(said[1]:find("blocks the thread", 1, true))
      try { blocking = true }
      try { connect = function()
        return { query = function() return nil, "connection refused" end, close = function() end }
      end }
      assert.are.equal(1, #said)
    end)
  end)
end)
