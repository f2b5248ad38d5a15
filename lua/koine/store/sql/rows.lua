--- What the operations of the engine on SQL read and write: literals, columns, the clock, and the rows of leases.
-- `ask` is what runs a statement of a transaction.

local core = require "koine.core"

local rows = {}

--- The functions of a dialect (dialects.lua).
function rows.new(dialect)
  local r = { bytes = dialect.bytes, decode = dialect.decode, column = dialect.column }

  --- A number as a literal, exactly, whatever the locale.
  r.number = core.encode

  --- An integer of a column; nil where it holds none.
  function r.whole(value) return math.tointeger(tonumber(value)) end

  --- The clock's seconds.
  function r.now(ask) return tonumber(ask("SELECT " .. dialect.now() .. " AS now")[1].now) end

  --- A number that is greater than all before it, and the clock's seconds. Tells those who watch.
  function r.next(ask)
    if dialect.bump then ask(dialect.bump) end
    local row = ask(dialect.next:format(dialect.now()))[1]
    return r.whole(row.n), tonumber(row.now)
  end

  --- Locks the row of a queue that has items; before those of leases.
  function r.lock_queue(ask, queue)
    if dialect.lock ~= "" then
      ask(("SELECT at FROM koine_ready WHERE queue = %s%s"):format(dialect.bytes(queue), dialect.lock))
    end
  end

  local function entry(row)
    return { owner = dialect.decode(row.owner), fence = r.whole(row.fence), ends = tonumber(row.until_time) }
  end

  --- Locks the lease of a key, which is made where there is none: its entry, as store/state/leases.lua has it.
  function r.open_lease(ask, key)
    ask(("INSERT INTO koine_leases (key, owner, fence, until) VALUES (%s, %s, 0, 0) "
      .. "ON CONFLICT (key) DO UPDATE SET key = excluded.key"):format(dialect.bytes(key), dialect.bytes ""))
    return r.read_lease(ask, key)
  end

  --- The same; nil where there is none.
  function r.read_lease(ask, key)
    local row = ask(("SELECT %s, fence, until AS until_time FROM koine_leases WHERE key = %s%s"):format(
      dialect.column "owner", dialect.bytes(key), dialect.lock))[1]
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
    return row and r.whole(row.fence)
  end

  return r
end

return rows
