--- A real PostgreSQL server for specs: on a UNIX socket in a folder of its own, without TCP; it ends with the process
-- that started it. postgres.missing says in words why there is none; specs are pending then.

local folder = require "spec.support.folder"
local koine = require "koine"

local postgres = {}

local function output(command)
  local pipe <close> = assert(io.popen(command))
  return (pipe:read "a":gsub("%s+$", ""))
end

-- Debian has the server's programs outside of PATH.
local BIN = output "ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1"
if BIN == "" then BIN = output "dirname $(command -v initdb) 2>/dev/null" end

-- The server refuses to run as root.
local AS = output "id -u" == "0" and "setpriv --reuid=nobody --regid=nogroup --clear-groups --" or ""

local function missing()
  if not os.getenv "KOINE_ENGINE_SEEDS" then return "real servers are for make engines" end
  if BIN == "" then return "PostgreSQL is not installed (tools/deps.sh engines)" end
  if not pcall(require, "luasql.postgres") then return "lua-sql-postgres is not installed (tools/deps.sh engines)" end
end

postgres.missing = missing()

local methods = {}
local Server = { __index = methods }

--- The text that connects to it.
function methods:source(user) return ("host=%s dbname=postgres user=%s"):format(self.folder, user or "koine") end

--- A connection of luasql's.
function methods:connect() return assert(require "luasql.postgres".postgres():connect(self:source())) end

--- Runs statements.
function methods:run(sql)
  local conn = self:connect()
  assert(conn:execute(sql))
  conn:close()
end

--- Opens a store, whose tables are there.
function methods:open(more)
  local options = { dialect = "postgres", connect = self:source(), blocking = true }
  for name, value in pairs(more or {}) do options[name] = value end
  return koine.store.sql(options)
end

--- Starts the server in its folder.
function methods:start()
  -- The shell waits for the end of its input: it comes with `stop`, and with the end of this process, however it ends.
  self.shell = assert(io.popen(([[cd %s && { %s %s/postgres -D %s/data -k %s -c listen_addresses= \
    -c max_connections=60 -c deadlock_timeout=100ms -c shared_buffers=16MB >log 2>&1 & echo $! >pid; read -r line; \
    kill -QUIT $(cat pid); wait; } 2>/dev/null]]):format(self.folder, AS, BIN, self.folder, self.folder), "w"))
  assert(os.execute(("for i in $(seq 400); do %s/pg_isready -q -h %s && exit 0; sleep 0.02; done; exit 1"):format(BIN,
    self.folder)), "PostgreSQL does not start")
  return self
end

--- Ends it at once, without a checkpoint, so that it recovers at its next start as after a crash; its folder stays.
function methods:crash()
  self.shell:write "\n"
  self.shell:close()
end

--- Ends it and removes its folder.
function methods:stop()
  self:crash()
  folder.remove(self.folder)
end

--- Starts a server with the tables.
function postgres.start()
  local path = folder.in_memory()
  assert(os.execute(("chmod 777 %s && %s %s/initdb -D %s/data -U koine -A trust -E UTF8 --locale=C --no-sync "
    .. ">%s/initdb.log 2>&1"):format(path, AS, BIN, path, path)), "initdb failed")
  local server = setmetatable({ folder = path }, Server):start()
  server:run(koine.store.schema "postgres")
  return server
end

return postgres
