--- What the operations of the engine on SQL read and write: literals, columns, the clock, and the rows of leases.
-- `ask` is what runs a statement of a transaction.

local connections = require "koine.store.sql.connection"
local core = require "koine.core"
local failure = require "koine.store.sql.failure"

local rows = {}

--- The functions of a dialect (dialects.lua) and its name. Those that take a row, nil where none came, and a column end
-- the operation where that does not hold what it must.
function rows.new(dialect, name)
  local r = { bytes = dialect.bytes, column = dialect.column }

  --- A number as a literal, exactly, whatever the locale.
  r.number = core.encode

  local function in_row(row, column, expected, keep)
    local value = type(row) == "table" and row[column]
    local kept = value and keep(value)
    if kept == nil or kept == false then connections.fail(failure.odd(name, row, column, expected)) end
    return kept
  end

  --- The number of a column.
  function r.number_in(row, column) return in_row(row, column, "a number", tonumber) end

  local function whole(value) return math.tointeger(tonumber(value)) end

  --- The integer of a column.
  function r.whole_in(row, column) return in_row(row, column, "an integer", whole) end

  local function decoded(value) return type(value) == "string" and dialect.decode(value) end

  --- The bytes of a column that was asked for by r.column.
  function r.bytes_in(row, column) return in_row(row, column, "bytes", decoded) end

  --- The text of a column.
  function r.text_in(row, column) return in_row(row, column, "text", tostring) end

  --- The clock's seconds.
  function r.now(ask) return r.number_in(ask("SELECT " .. dialect.now() .. " AS now")[1], "now") end

  --- A number that is greater than all before it, and the clock's seconds. Tells those who watch.
  function r.next(ask)
    if dialect.bump then ask(dialect.bump) end
    local row = ask(dialect.next:format(dialect.now()))[1]
    return r.whole_in(row, "n"), r.number_in(row, "now")
  end

  --- Locks the row of a queue that has items; before those of leases.
  function r.lock_queue(ask, queue)
    if dialect.lock ~= "" then
      ask(("SELECT at FROM koine_ready WHERE queue = %s%s"):format(dialect.bytes(queue), dialect.lock))
    end
  end

  local function entry(row)
    return { owner = r.bytes_in(row, "owner"), fence = r.whole_in(row, "fence"), ends = r.number_in(row, "until_time") }
  end

  local function lease_row(ask, key)
    return ask(("SELECT %s, fence, until AS until_time FROM koine_leases WHERE key = %s%s"):format(
      dialect.column "owner", dialect.bytes(key), dialect.lock))[1]
  end

  --- Locks the lease of a key, which is made where there is none: its entry, as store/state/leases.lua has it.
  function r.open_lease(ask, key)
    ask(("INSERT INTO koine_leases (key, owner, fence, until) VALUES (%s, %s, 0, 0) "
      .. "ON CONFLICT (key) DO UPDATE SET key = excluded.key"):format(dialect.bytes(key), dialect.bytes ""))
    return entry(lease_row(ask, key))
  end

  --- The same; nil where there is none.
  function r.read_lease(ask, key)
    local row = lease_row(ask, key)
    return row and entry(row)
  end

  --- Writes the entry back.
  function r.write_lease(ask, key, lease)
    ask(("UPDATE koine_leases SET owner = %s, fence = %d, until = %s WHERE key = %s"):format(dialect.bytes(lease.owner),
      lease.fence, r.number(lease.ends), dialect.bytes(key)))
  end

  --- The newest fence of a key, nil where there was none; nobody leases it before the transaction ends.
  function r.fence(ask, key)
    local row = ask(("SELECT fence FROM koine_leases WHERE key = %s%s"):format(dialect.bytes(key), dialect.share))[1]
    return row and r.whole_in(row, "fence")
  end

  return r
end

return rows
