--- Stores: state that outlives a process, or that several share: values, leases, rate limits, queues. One interface,
-- and an engine behind it.
--
--   koine.store.memory { clock = f }       one Lua state; the reference
--   koine.store.file { dir = … }           one machine, many processes
--   koine.store.redis { url = … }          a Redis server, many machines
--   koine.store.sql { connect = f, … }     a database, SQLite or PostgreSQL, with the tables of koine.store.schema
--   koine.store.engine(operations)         an engine of your own: store/interface.lua says what it needs
--
-- THE INTERFACE. An engine is an object with these methods, called with a colon; store/interface.lua has each in full.
--   get(key)                                        value, version | nil, nil: absent
--   put(key, value, {if_version = v | "absent", ttl, fence = {lease_key, fence}})
--                                                   version | false, current version (nil: none)
--   delete(key, {if_version})                       true | false
--   list(prefix, {after, limit = 1000})             sorted keys, next (nil: no more)
--   lease(key, owner, ttl)                          fence | false, seconds left
--   release(key, owner)                             true | nothing: another one's
--   take(key, n, {capacity, per, cost = 1, force, block})   0 | seconds to wait
--   push(queue, item, {id})                         sequence
--   claim(owner, ttl, {queues = prefix})            queue, fence, {{seq, item, tries, at}, …} | nil
--   ack(queue, owner, fence, seq)                   true | false
--   unclaim(queue, owner, fence, {after = 0})       true | false
--   watch(prefix, seconds)                          true | false
--   describe()                                      {name, version, durable, clock, warnings}
--   close()                                         true
--
-- Keys, owners, queues, ids: strings of 1 to 512 bytes without NUL. Values and items: strings of any bytes, at most
-- 16 MiB. Times: seconds, by the engine's clock. Versions are opaque and never come again for a key. Values on one
-- side, leases and queues on the other, buckets on a third have names of their own; a claim is a lease on the queue's
-- name, so that lease() renews it, and put{fence = {queue, fence}} is bound to it.
-- What counts for a fence is whether it is the newest that was handed out, not whether its lease lives.
--
-- Every method may wait, through koine's own parking, and returns nil, err for trouble: kinds connect, timeout (a write
-- may have happened), auth, permission, limit (full, too large), overloaded, protocol (what is stored cannot be read),
-- cancelled, other. Wrong arguments raise an ArgumentError naming the argument or option.
-- koine.testing.store_contract judges an engine.

local ENGINES = { memory = "memory", file = "file", redis = "redis", sql = "sql" }

local store = {}

return setmetatable(store, { __index = function(_, name)
  if name == "engine" then
    store.engine = require("koine.store.interface").new
  elseif name == "schema" then
    store.schema = require "koine.store.sql.schema"
  elseif ENGINES[name] then
    store[name] = require("koine.store." .. ENGINES[name])
  end
  return rawget(store, name)
end })
