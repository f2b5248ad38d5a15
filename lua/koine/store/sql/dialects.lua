--- How SQLite and PostgreSQL write what the engine's statements need. Bytes go out as literals of digits and letters
-- alone and come back so where a driver would change them, whatever the encoding and the settings of a connection: no
-- byte of a user's stands in a statement.

local core = require "koine.core"

local dialects = {}

local HEX = {}
for byte = 0, 255 do HEX[string.char(byte)] = ("%02x"):format(byte) end

--- SQLite 3.25 or later. Its clock is the machine's, which Koine reads more finely than SQLite does; specs put a
-- function of their own there. A transaction that begins so waits for the others at once, not in its middle. No
-- statement has RETURNING: luasql runs such a one twice.
dialects.sqlite = {
  bytes = function(value) return "X'" .. value:gsub(".", HEX) .. "'" end,
  column = function(name) return name end,
  decode = function(value) return value end,
  now = function() return core.encode(core.wall()) end,
  begin = "BEGIN IMMEDIATE",
  bump = "UPDATE koine_numbers SET n = n + 1",
  next = "SELECT n, %s AS now FROM koine_numbers",
  last = "SELECT n FROM koine_numbers",
  head = function(name) return ("substr(%s, 1, instr(%s, X'3a'))"):format(name, name) end, -- up to a first colon
  by_time = "+", -- before a name by which an index shall not be chosen
  lock = "", share = "", skip = "", skip_ready = "",
  driver = "luasql.sqlite3", package = "lua-sql-sqlite3", rock = "luasql-sqlite3",
  prepare = { "PRAGMA busy_timeout = 5000" },
}

--- PostgreSQL 13 or later. Rows are locked in this order: a queue's, a lease's, a value's.
dialects.postgres = {
  bytes = function(value) return "decode('" .. core.base64_encode(value) .. "', 'base64')" end,
  column = function(name) return ("encode(%s, 'base64') AS %s"):format(name, name:match "[%w_]+$") end,
  decode = function(value) return value and core.base64_decode((value:gsub("%s", ""))) end,
  now = function() return "extract(epoch from clock_timestamp())::float8" end,
  begin = "BEGIN ISOLATION LEVEL READ COMMITTED",
  next = "SELECT nextval('koine_numbers') AS n, %s AS now",
  last = "SELECT last_value AS n FROM koine_numbers",
  head = function(name) return ("substring(%s FROM 1 FOR position(decode('3a', 'hex') IN %s))"):format(name, name) end,
  by_time = "",
  lock = " FOR UPDATE", share = " FOR SHARE", skip = " FOR UPDATE SKIP LOCKED",
  skip_ready = " FOR UPDATE OF r SKIP LOCKED",
  driver = "luasql.postgres", package = "lua-sql-postgres", rock = "luasql-postgres",
  prepare = {},
}

return dialects
