--- The engine on SQL: a store in SQLite or PostgreSQL, over a connection of the user's. Each operation is a transaction
-- that locks the rows it decides by; the database's clock counts. Tables: sql/schema.lua.

local buckets = require "koine.store.state.buckets"
local behind = require "koine.store.prefix"
local check = require "koine.data.check"
local connections = require "koine.store.sql.connection"
local core = require "koine.core"
local dialects = require "koine.store.sql.dialects"
local interface = require "koine.store.interface"
local leases = require "koine.store.state.leases"
local queues = require "koine.store.sql.queues"
local fits = require("koine.store.state.values").fits
local rows = require "koine.store.sql.rows"
local settings = require "koine.store.sql.settings"
local watchers = require "koine.store.watchers"

local FIRST_LOOK, LOOK = 0.01, 0.25 -- seconds between two looks of watch, at first and at most
local MICRO = 1e6                   -- per second: what times of this size keep of a difference
local SETTLE = 0.01                 -- seconds: a change may be seen so long before it is committed
local SWEEP = 256                   -- changes of one store between two removals of what has no use any more
local SWEPT = 500                   -- rows of a table that one of them removes at most

local engine = {}
local Sql = { __index = engine, __name = "koine.store.sql" }

-- Removes what has expired.
local function sweep(self)
  self.changes = self.changes + 1
  if self.changes % SWEEP ~= 0 then return end
  local d = self.dialect
  for _, case in ipairs { { "koine_values", "key", "expires <= %s" }, { "koine_queue", "seq",
    "item IS NULL AND at <= %s - 86400" }, { "koine_buckets", "key",
    "blocked <= %s AND tokens + (%s - time) * per >= capacity" } } do
    local where = case[3]:gsub("%%s", (d.now()))
    self.connection:transact(function(ask)
      ask(("DELETE FROM %s WHERE %s IN (SELECT %s FROM %s WHERE %s LIMIT %d%s)"):format(case[1], case[2], case[2],
        case[1], where, SWEPT, d.skip))
      return true
    end)
  end
end

-- Runs an operation that may change something about a name: its results, nil, err. operate(ask) as for transact.
local function change(self, name, operate)
  local results = table.pack(self.connection:transact(operate))
  if results[1] then
    sweep(self)
    self.watchers:note(name)
    self.watchers:tell()
  end
  return table.unpack(results, 1, results.n)
end

-- Values ------------------------------------------------------------------------------------------------------------

function engine:get(key)
  local r = self.rows
  local sql = ("SELECT %s, version FROM koine_values WHERE key = %s AND (expires IS NULL OR expires > %s)"):format(
    r.column "value", r.bytes(key), self.dialect.now())
  return self.connection:read(sql, function(found)
    local row = found[1]
    if not row then return nil, nil end
    return r.bytes_in(row, "value"), ("%d"):format(r.whole_in(row, "version"))
  end)
end

-- Locks the row of a key's value: whether there is one, and the version of a value that is not expired.
local function look_at(self, ask, key)
  local r = self.rows
  local row = ask(("SELECT version, expires FROM koine_values WHERE key = %s%s"):format(r.bytes(key),
    self.dialect.lock))[1]
  local now = r.now(ask)
  if not row then return false, nil end
  local version, expires = ("%d"):format(r.whole_in(row, "version")), tonumber(row.expires)
  return true, (not expires or expires > now) and version or nil
end

function engine:put(key, value, options)
  local r, fence = self.rows, options.fence
  local k, v = r.bytes(key), r.bytes(value)
  return change(self, key, function(ask)
    local holds = not fence or r.fence(ask, fence[1]) == fence[2]
    local there, current = look_at(self, ask, key)
    if not holds or not fits(options.if_version, current) then return false, false, current end
    local n, now = r.next(ask)
    local expires = options.ttl and r.number(now + options.ttl) or "NULL"
    if there then
      ask(("UPDATE koine_values SET value = %s, version = %d, expires = %s WHERE key = %s"):format(v, n, expires, k))
    else
      ask(("INSERT INTO koine_values (key, version, expires, value) VALUES (%s, %d, %s, %s) "
        .. "ON CONFLICT (key) DO NOTHING"):format(k, n, expires, v))
      local made = ask("SELECT version FROM koine_values WHERE key = " .. k)[1]
      if not made or r.whole_in(made, "version") ~= n then connections.again() end
    end
    return true, ("%d"):format(n)
  end)
end

function engine:delete(key, options)
  local r = self.rows
  return change(self, key, function(ask)
    local there, current = look_at(self, ask, key)
    if current and not fits(options.if_version, current) then return false, false end
    if not there then return false, true end
    ask("DELETE FROM koine_values WHERE key = " .. r.bytes(key))
    r.next(ask)
    return true, true
  end)
end

function engine:list(prefix, options)
  local r, last, after, limit = self.rows, behind(prefix), options.after, options.limit
  if after and core.before(after, prefix) then after = nil end
  local where = ("key %s %s"):format(after and ">" or ">=", r.bytes(after or prefix))
  if last then where = where .. " AND key < " .. r.bytes(last) end
  local sql = ("SELECT %s FROM koine_values WHERE %s AND (expires IS NULL OR expires > %s) "
    .. "ORDER BY koine_values.key LIMIT %d"):format(r.column "koine_values.key", where, self.dialect.now(), limit + 1)
  return self.connection:read(sql, function(found)
    local names = {}
    for i = 1, math.min(#found, limit) do names[i] = r.bytes_in(found[i], "key") end
    return names, #found > limit and names[limit] or nil
  end)
end

-- Leases and buckets: store/state decides, on the one entry that is read and written back ---------------------------

function engine:lease(key, owner, ttl)
  local r = self.rows
  return self.connection:transact(function(ask)
    r.lock_queue(ask, key)
    local state, entry = leases.new(), r.open_lease(ask, key)
    state.entries[key] = entry
    local fence, left = state:lease(key, owner, ttl, r.now(ask))
    if not fence then return false, false, math.floor(left * MICRO + 0.5) / MICRO end
    r.write_lease(ask, key, entry)
    ask(("UPDATE koine_ready SET at = %s WHERE queue = %s AND claimed = %d"):format(r.number(entry.ends), r.bytes(key),
      fence))
    return true, fence
  end)
end

function engine:release(key, owner)
  local r = self.rows
  return change(self, key, function(ask)
    r.lock_queue(ask, key)
    local state, entry = leases.new(), r.read_lease(ask, key)
    if not entry then return false, true end
    state.entries[key] = entry
    local now = r.now(ask)
    local done, ended = state:release(key, owner, now)
    if not ended then return false, done end
    r.write_lease(ask, key, entry)
    ask(("UPDATE koine_ready SET at = %s, claimed = NULL WHERE queue = %s AND claimed = %d"):format(r.number(now),
      r.bytes(key), entry.fence))
    r.next(ask)
    return true, true
  end)
end

function engine:take(key, amount, options)
  local r = self.rows
  local k = r.bytes(key)
  return self.connection:transact(function(ask)
    ask(("INSERT INTO koine_buckets (key, tokens, time, blocked, capacity, per) VALUES (%s, 0, -1, 0, 1, 1) "
      .. "ON CONFLICT (key) DO UPDATE SET key = excluded.key"):format(k)) -- and is locked
    local row = ask("SELECT tokens, time, blocked FROM koine_buckets WHERE key = " .. k)[1]
    local state, now = buckets.new(), r.now(ask)
    local at = r.number_in(row, "time")
    if at >= 0 then
      state.entries[key] = { tokens = r.number_in(row, "tokens"), time = at, blocked = r.number_in(row, "blocked") }
    end
    local seconds = state:take(key, amount, options, now)
    local entry = state.entries[key]
    ask(("UPDATE koine_buckets SET tokens = %s, time = %s, blocked = %s, capacity = %s, per = %s "
      .. "WHERE key = %s"):format(r.number(entry.tokens), r.number(entry.time), r.number(entry.blocked),
      r.number(options.capacity), r.number(options.per), k))
    return true, seconds
  end)
end

-- Queues ------------------------------------------------------------------------------------------------------------

function engine:push(queue, item, options)
  return change(self, queue, function(ask) return queues.push(self, ask, queue, item, options.id) end)
end

function engine:claim(owner, ttl, options)
  return self.connection:transact(function(ask) return queues.claim(self, ask, owner, ttl, options.queues) end)
end

function engine:ack(queue, _, fence, seq)
  return self.connection:transact(function(ask) return queues.ack(self, ask, queue, fence, seq) end)
end

function engine:unclaim(queue, _, fence, options)
  return change(self, queue, function(ask) return queues.unclaim(self, ask, queue, fence, options.after) end)
end

-- The rest ----------------------------------------------------------------------------------------------------------

function engine:watch(prefix, seconds)
  local first, pause, seen = nil, FIRST_LOOK, false
  local function last_number(found) return self.rows.whole_in(found[1], "n") end
  return self.watchers:wait(prefix, seconds, self, function()
    if seen then
      self.watchers:note()
      self.watchers:tell()
      return 0
    end
    local n, err = self.connection:read(self.dialect.last, last_number)
    if not n then return nil, err end
    first = first or n
    if n ~= first then
      seen = true
      return SETTLE
    end
    pause = math.min(pause * 1.5, LOOK)
    return pause
  end)
end

function engine:describe()
  local version, durable, warnings = settings.read(self.connection, self.rows, self.name)
  if not version then return nil, durable end
  return { name = self.name, version = version, durable = durable,
    clock = self.name == "sqlite" and "machine" or "server", warnings = warnings }
end

function engine:close()
  self.open = false
  self.connection:close()
  self.watchers:close()
end

local OPTIONS = check.options { query = check.func, connect = check.secret(check.either(
  "function that returns a connection, or the text to connect with", check.func, check.text)),
  dialect = check.required(check.one_of { "sqlite", "postgres" }), blocking = check.default(check.boolean, false),
  on_warning = check.default(check.func, function() return warn end) }

-- Whether a text to connect with is one for a server, which SQLite would take for the name of a file.
local function is_for_server(text)
  local scheme = text:match "^(%a[%w+.-]*)://"
  if scheme then return scheme:lower() ~= "file" end
  return text:find "^%s*[%a_]+%s*=" ~= nil or text:find "%f[%a]password%s*=" ~= nil
end

--- Makes a store in a database. Nothing is connected before the first operation, and no table is made: see
-- koine.store.schema. Options:
--   dialect    "sqlite" or "postgres"
--   connect    function() → a connection of luasql's, or an object with query(self, sql), which returns rows as
--              `query` does, and close(self); or nil and why. Called at first, and anew when the connection was lost
--              or an operation was cancelled in its middle. Or the text that luasql's driver connects with, a path or
--              "dbname=… host=…"; the driver is required then. For SQLite it is no URL but file:
--   query      in its place: function(sql) → rows, an array of tables by column, nil for NULL; or nil and why: a text,
--              or one of Koine's errors. Always of one and the same connection, and of no one else's transaction. In
--              koine.run it is called in tasks of its own, and what was cancelled goes on until its reply. Where it
--              ends without one, all later operations are nil, err (kind "connect", code "cut_short")
--   blocking   true: it is known that each operation blocks the thread; else on_warning is told once, where a task uses
--              PostgreSQL by luasql
--   on_warning function(message), Lua's warn
-- Raises an ArgumentError, which does not show `connect`; so do operations for which `query` returns no rows.
return function(options)
  local kept = OPTIONS(options == nil and {} or options)
  if kept.query and kept.connect then check.refuse("query", "query or connect", kept.query) end
  if not kept.query and not kept.connect then check.refuse("connect", "connect or query", nil) end
  if kept.dialect == "sqlite" and type(kept.connect) == "string" and is_for_server(kept.connect) then
    check.refuse("connect", "path of SQLite's file, not a text for a server", kept.connect)
  end
  local dialect = dialects[kept.dialect]
  local connection = connections.new { dialect = dialect, name = kept.dialect, query = kept.query,
    connect = kept.connect, blocking = kept.blocking, on_warning = kept.on_warning }
  return interface.new(setmetatable({ dialect = dialect, name = kept.dialect, connection = connection,
    rows = rows.new(dialect, kept.dialect), watchers = watchers.new(), changes = 0, open = true }, Sql))
end
