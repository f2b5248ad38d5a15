--- The queues of the engine on SQL. A queue with items has a row in koine_ready, which every operation on it locks: so
-- its items get their sequences in the order in which they are committed. An item that was acknowledged and has an id
-- stays for a day, without its bytes. The functions return as operations of connection:transact do: whether to keep
-- what changed, then the results.

local behind = require "koine.store.prefix"
local connections = require "koine.store.sql.connection"
local leases = require "koine.store.state.leases"

local queues = {}

local REMEMBERED = 24 * 3600  -- seconds that an id is known
local CLAIM_MAX = 100         -- items of a claim
local CLAIM_BYTES = 16 << 20  -- their bytes, but for the first one's
local NEW = -1                -- koine_ready.at of a row that was just made

-- The sequence of an item that was pushed with this id within a day; forgets an older one.
local function known(self, ask, q, id, now)
  local r = self.rows
  local row = ask(("SELECT seq, at, CASE WHEN item IS NULL THEN 1 ELSE 0 END AS done FROM koine_queue "
    .. "WHERE queue = %s AND id = %s"):format(q, id))[1]
  if not row then return nil end
  local seq = r.whole_in(row, "seq")
  if r.number_in(row, "at") + REMEMBERED > now then return seq end
  ask((r.whole_in(row, "done") == 1 and "DELETE FROM koine_queue WHERE queue = %s AND seq = %d"
    or "UPDATE koine_queue SET id = NULL WHERE queue = %s AND seq = %d"):format(q, seq))
end

--- push: the sequence.
function queues.push(self, ask, queue, item, id)
  local r = self.rows
  local q, bytes = r.bytes(queue), r.bytes(item)
  id = id and r.bytes(id)
  ask(("INSERT INTO koine_ready (queue, at) VALUES (%s, %d) ON CONFLICT (queue) DO UPDATE "
    .. "SET queue = excluded.queue"):format(q, NEW))
  local at = r.number_in(ask("SELECT at FROM koine_ready WHERE queue = " .. q)[1], "at")
  local n, now = r.next(ask)
  local seq = id and known(self, ask, q, id, now)
  if seq then return false, seq end
  if at == NEW then
    ask(("UPDATE koine_ready SET at = %s WHERE queue = %s"):format(r.number(now), q))
  end
  ask(("INSERT INTO koine_queue (queue, seq, id, at, item) VALUES (%s, %d, %s, %s, %s)"):format(q, n, id or "NULL",
    r.number(now), bytes))
  return true, n
end

-- The condition that a queue's name begins with prefix. That up to a first colon is one value of an index (schema.lua),
-- which finds the queue that has been ready longest without the names of others; what is left is compared.
local function begins(self, prefix)
  local r, d, head, last = self.rows, self.dialect, prefix:match "^[^:]*:", behind(prefix)
  local where = head and (" AND %s = %s"):format(d.head "r.queue", r.bytes(head)) or ""
  if prefix == "" or prefix == head then return where end
  where = ("%s AND %sr.queue >= %s"):format(where, d.by_time, r.bytes(prefix))
  return last and ("%s AND %sr.queue < %s"):format(where, d.by_time, r.bytes(last)) or where
end

-- The name of the queue that has been ready longest, locked; nil where none is.
local function first(self, ask, prefix)
  local r = self.rows
  local now = r.number(r.now(ask))
  local row = ask(("SELECT %s FROM koine_ready r LEFT JOIN koine_leases l ON l.key = r.queue WHERE r.at <= %s%s "
    .. "AND (l.until IS NULL OR l.until <= %s) ORDER BY r.at, r.queue LIMIT 1%s"):format(r.column "r.queue", now,
    begins(self, prefix), now, self.dialect.skip_ready))[1]
  return row and r.bytes_in(row, "queue")
end

-- The first items of a queue.
local function items_of(self, ask, q)
  local r, items = self.rows, {}
  local found = ask(("SELECT seq, at, tries, %s FROM (SELECT seq, at, tries, item, "
    .. "sum(length(item)) OVER (ORDER BY seq) AS bytes, row_number() OVER (ORDER BY seq) AS place "
    .. "FROM (SELECT seq, at, tries, item FROM koine_queue WHERE queue = %s AND item IS NOT NULL "
    .. "ORDER BY seq LIMIT %d) t) u WHERE place = 1 OR bytes <= %d ORDER BY seq"):format(r.column "item", q,
    CLAIM_MAX, CLAIM_BYTES))
  for i, row in ipairs(found) do
    items[i] = { seq = r.whole_in(row, "seq"), item = r.bytes_in(row, "item"), tries = r.whole_in(row, "tries") + 1,
      at = r.number_in(row, "at") }
  end
  return items
end

--- claim: the queue, the fence, the items.
function queues.claim(self, ask, owner, ttl, prefix)
  local r = self.rows
  local queue = first(self, ask, prefix)
  if not queue then return false, nil end
  local q, state, entry = r.bytes(queue), leases.new(), r.open_lease(ask, queue)
  local now = r.now(ask)
  if entry.ends > now then connections.again() end -- leased just now
  state.entries[queue] = entry
  local fence = state:lease(queue, owner, ttl, now)
  r.write_lease(ask, queue, entry)
  local items = items_of(self, ask, q)
  if not items[1] then -- somebody took rows away by hand
    ask("DELETE FROM koine_ready WHERE queue = " .. q)
    return true, nil
  end
  ask(("UPDATE koine_queue SET tries = tries + 1 WHERE queue = %s AND item IS NOT NULL AND seq <= %d"):format(q,
    items[#items].seq))
  ask(("UPDATE koine_ready SET at = %s, claimed = %d WHERE queue = %s"):format(r.number(entry.ends), fence, q))
  return true, queue, fence, items
end

--- ack: true, or false where the fence is not the newest.
function queues.ack(self, ask, queue, fence, seq)
  local r = self.rows
  r.lock_queue(ask, queue)
  if r.fence(ask, queue) ~= fence then return false, false end
  local q = r.bytes(queue)
  ask(("UPDATE koine_queue SET item = NULL WHERE queue = %s AND seq <= %d AND item IS NOT NULL "
    .. "AND id IS NOT NULL"):format(q, seq))
  ask(("DELETE FROM koine_queue WHERE queue = %s AND seq <= %d AND id IS NULL"):format(q, seq))
  ask(("DELETE FROM koine_ready WHERE queue = %s AND NOT EXISTS (SELECT 1 FROM koine_queue WHERE queue = %s "
    .. "AND item IS NOT NULL)"):format(q, q))
  return true, true
end

--- unclaim: true, or false where the fence is not the newest.
function queues.unclaim(self, ask, queue, fence, after)
  local r = self.rows
  r.lock_queue(ask, queue)
  local state, entry = leases.new(), r.read_lease(ask, queue)
  if not entry or entry.fence ~= fence then return false, false end
  local now = r.now(ask)
  state.entries[queue] = entry
  state:finish(queue, now)
  r.write_lease(ask, queue, entry)
  ask(("UPDATE koine_ready SET at = %s, claimed = NULL WHERE queue = %s"):format(r.number(now + after), r.bytes(queue)))
  r.next(ask)
  return true, true
end

return queues
