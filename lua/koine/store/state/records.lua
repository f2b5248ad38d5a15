--- What changed in a state, as records of bytes: an engine writes them, and another process reads them and has the same
-- state. A record says what is now, not how it came: code that decides otherwise later reads old records alike.
-- A record is a letter and fields, of string.pack; times are Unix seconds by the engine's clock, for ever is infinite.

local check = require "koine.data.check"
local errors = require "koine.data.errors"

local records = {}

local function drop_value(state, key)
  local entry = state.values.entries[key]
  if entry then state.dropped("value", math.tointeger(entry.version)) end
end

-- letter → {format of the fields, function(state, fields…)}
local KINDS = {
  v = { "<s2 i8 i8 d", function(state, key, size, version, ends)
    drop_value(state, key)
    state.values:set(key, size, version, ends)
    state.changed(key)
  end },
  d = { "<s2", function(state, key)
    drop_value(state, key)
    state.values:remove(key)
    state.changed(key)
  end },
  l = { "<s2 s2 i8 d", function(state, key, owner, fence, ends)
    state.queues:expect(key, ends)
    state.leases:set(key, owner, fence, ends)
  end },
  b = { "<s2 d d d d d", function(state, ...) state.buckets:set(...) end },
  q = { "<s2 d i8", function(state, name, at, claimed)
    state.queues:set(name, at, claimed ~= 0 and claimed)
    if claimed == 0 then state.changed(name) end
  end },
  i = { "<s2 i8 i8 d i4", function(state, name, ...)
    state.queues:add(name, ...)
    state.changed(name)
  end },
  m = { "<s2 s2 i8 d", function(state, name, id, seq, at) state.queues:remember(name, id, seq, at) end },
  c = { "<s2 i8", function(state, name, seq) state.queues:count_try(name, seq) end },
  a = { "<s2 i8", function(state, name, seq)
    for _, gone in ipairs(state.queues:drop(name, seq)) do state.dropped("item", gone) end
  end },
  n = { "<i8 i8", function(state, version, seq) state.values.version, state.queues.seq = version, seq end },
  t = { "<d d", function(state, time, skew) state.time, state.skew = time, skew end },
}

--- A record: v key, bytes, version, end of its ttl: a value; d key: no value; l key, owner, fence, end: a lease;
-- b key, tokens, time, end of the block, capacity, per: a bucket; q name, time ready, fence of the claim or 0: a queue
-- (before its items); i queue, seq, bytes, time, tries: an item behind the others; m queue, id, seq, time: an id;
-- c queue, seq: the items up to seq were claimed; a queue, seq: they are gone; n version, seq: the highest so far;
-- t time, skew: the engine's clock.
function records.pack(kind, ...) return kind .. string.pack(KINDS[kind][1], ...) end

--- Applies the records that a string holds: true, or nil, err (kind "protocol").
function records.apply(state, bytes)
  local at = 1
  while at <= #bytes do
    local kind = KINDS[bytes:sub(at, at)]
    local fields = kind and table.pack(pcall(string.unpack, kind[1], bytes, at + 1))
    if not fields or not fields[1] then
      return nil, errors.new { kind = "protocol", message = ("no record at byte %d of %d"):format(at, #bytes) }
    end
    local fits, reason = pcall(kind[2], state, table.unpack(fields, 2, fields.n - 1))
    if not fits then
      if check.is_memory(reason) then error(reason, 0) end
      return nil, errors.new { kind = "protocol", message = ("a record at byte %d does not fit the state"):format(at) }
    end
    at = fields[fields.n]
  end
  return true
end

--- Records of the whole state, for an empty one: calls emit(bytes) many times.
function records.each(state, emit)
  local function out(...) emit(records.pack(...)) end
  out("t", state.time, state.skew)
  out("n", state.values.version, state.queues.seq)
  for key, entry in pairs(state.values.entries) do
    out("v", key, entry.value, math.tointeger(entry.version), entry.ends or math.huge)
  end
  for key, lease in pairs(state.leases.entries) do out("l", key, lease.owner, lease.fence, lease.ends) end
  for key, bucket in pairs(state.buckets.entries) do
    out("b", key, bucket.tokens, bucket.time, bucket.blocked, bucket.capacity, bucket.per)
  end
  for name, queue in pairs(state.queues.entries) do
    if queue.items:peek() then out("q", name, queue.at, queue.claimed or 0) end
    for _, item in queue.items:entries() do out("i", name, item.seq, item.item, item.at, item.tries) end
  end
  for _, id in state.queues.ids:entries() do out("m", id.queue, id.id, id.seq, id.at) end
end

return records
