--- The tables of the engine on SQL, as text for each dialect. Koine never runs it by itself.

local check = require "koine.data.check"
local dialects = require "koine.store.sql.dialects"

-- The tables. Each key and name is a BLOB, so that bytes are kept and compared as such. HEAD is a queue's name up to
-- its first colon.
local TABLES = [[
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS koine_numbers (n INTEGER NOT NULL);
INSERT INTO koine_numbers SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM koine_numbers);
CREATE TABLE IF NOT EXISTS koine_values (key BLOB PRIMARY KEY, version INTEGER NOT NULL, expires REAL,
  value BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS koine_values_expires ON koine_values (expires) WHERE expires IS NOT NULL;
CREATE TABLE IF NOT EXISTS koine_leases (key BLOB PRIMARY KEY, owner BLOB NOT NULL, fence INTEGER NOT NULL,
  until REAL NOT NULL);
CREATE TABLE IF NOT EXISTS koine_queue (queue BLOB NOT NULL, seq INTEGER NOT NULL, id BLOB, at REAL NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0, item BLOB, PRIMARY KEY (queue, seq));
CREATE UNIQUE INDEX IF NOT EXISTS koine_queue_id ON koine_queue (queue, id) WHERE id IS NOT NULL;
CREATE INDEX IF NOT EXISTS koine_queue_open ON koine_queue (queue, seq) WHERE item IS NOT NULL;
CREATE INDEX IF NOT EXISTS koine_queue_done ON koine_queue (at) WHERE item IS NULL;
CREATE TABLE IF NOT EXISTS koine_ready (queue BLOB PRIMARY KEY, at REAL NOT NULL, claimed INTEGER);
CREATE INDEX IF NOT EXISTS koine_ready_at ON koine_ready (at, queue);
CREATE INDEX IF NOT EXISTS koine_ready_head ON koine_ready (HEAD, at, queue);
CREATE TABLE IF NOT EXISTS koine_buckets (key BLOB PRIMARY KEY, tokens REAL NOT NULL, time REAL NOT NULL,
  blocked REAL NOT NULL, capacity REAL NOT NULL, per REAL NOT NULL);
]]

local function with_head(tables, name)
  return (tables:gsub("HEAD", function() return dialects[name].head "queue" end))
end

-- In PostgreSQL numbers come from a sequence, so that changes of different keys do not wait for each other.
local TEXTS = { sqlite = with_head(TABLES, "sqlite"), postgres = "CREATE SEQUENCE IF NOT EXISTS koine_numbers;\n"
  .. with_head(TABLES:match "CREATE TABLE IF NOT EXISTS koine_values.*"
    :gsub("%f[%w]BLOB%f[%W]", "bytea"):gsub("%f[%w]INTEGER%f[%W]", "bigint")
    :gsub("%f[%w]REAL%f[%W]", "double precision"), "postgres") }

local DIALECT = check.one_of { "sqlite", "postgres" }

--- schema(dialect): the statements that make the tables of koine.store.sql, each ending with a semicolon, for "sqlite"
-- or "postgres": text, to be run once, by whoever may create tables. Running it again changes nothing. Raises an
-- ArgumentError for another dialect.
return function(dialect) return TEXTS[DIALECT(dialect, "dialect")] end
