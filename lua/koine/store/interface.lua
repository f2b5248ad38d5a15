--- The interface of stores: every method, with its arguments checked, on top of an engine's operations. Memory, file
-- and the engines of users are made by it, so that all check alike.
-- An engine is a table whose operations have the methods' names and get checked arguments (store/check.lua): options
-- are always a table, take gets the amount (n times cost) in place of n. They return what the methods return.
-- Every method may wait. Trouble is nil, err: see store/init.lua.

local arguments = require "koine.store.check"
local check = require "koine.data.check"
local errors = require "koine.data.errors"

local checked = arguments.methods

local methods = {}
local Store = { __index = methods, __name = "koine.store" }

-- nil, err of a store that was closed; else nothing.
local function closed(self)
  if not self.open then
    return errors.new { kind = "connect", code = "closed", retryable = false, message = "store: it was closed" }
  end
end

-- Calls an operation of the engine with arguments that were checked.
local function call(self, name, ...)
  local err = closed(self)
  if err then return nil, err end
  return self.engine[name](self.engine, ...)
end

-- A method that checks its arguments and passes them on.
local function method(name)
  local arguments_of = checked[name]
  return function(self, ...) return call(self, name, arguments_of(...)) end
end

-- The same of a method that keeps bytes, the argument `field`, which may be too large.
local function keeping(name, field)
  local arguments_of = checked[name]
  return function(self, ...)
    local key, bytes, options = arguments_of(...)
    local err = arguments.too_large(field, bytes)
    if err then return nil, err end
    return call(self, name, key, bytes, options)
  end
end

--- get(key): the value (string) and its version (an opaque string); nil, nil where there is none.
methods.get = method "get"

--- put(key, value, {if_version = a version | "absent", ttl = seconds, fence = {lease_key, fence}}): the new version, or
-- false and the version there is (nil: none) where a condition failed: the value has another version, or the fence is
-- not the newest of lease_key. A new value has the new ttl or none. A value of more than 16 MiB is nil, err: kind
-- "limit".
methods.put = keeping("put", "value")

--- delete(key, {if_version}): true, also where there is none; false where the version is another one.
methods.delete = method "delete"

--- list(prefix, {after = key, limit = 1000}): array of at most `limit` (1 to 10,000) keys of values that begin with
-- `prefix` ("": all) and come behind `after`, sorted by bytes; and what to give as `after` for the next ones (nil:
-- there are no more). Keys that come or go meanwhile may be in it or not; all others are in exactly one page.
methods.list = method "list"

--- lease(key, owner, ttl): the fence, an integer greater than every one of this key before; or false and the seconds
-- that another owner's lease still has. The owner of a live lease gets the same fence, and the ttl anew. Keys of leases
-- are names of their own beside those of values; a queue that is claimed is leased under its name.
methods.lease = method "lease"

--- release(key, owner): true: nobody holds it now; nothing where another owner holds it. The fence stays the newest.
methods.release = method "release"

--- take(key, n, {capacity, per, cost = 1, force, block}): takes n times `cost` out of a bucket of `capacity` that gains
-- `per` a second, full at first: 0: granted; else the seconds until there is enough, and nothing was taken.
-- With force it takes in any case, also a negative n (gives back, up to capacity), and the bucket may go below zero: 0.
-- With block nothing is granted (but by force) for so many seconds; of two blocks the one that ends later counts.
-- The block comes first: take(key, 0, {…, force = true, block = 30}) only blocks, and returns 0. A bucket never owes
-- more than 1e15 tokens. Raises an ArgumentError where n times cost is more than the capacity without force, or more
-- than 1e15 in size; for a capacity above 1e15, and for `per` outside of 1e-9 to 1e15.
methods.take = method "take"

--- push(queue, item, {id}): the sequence of the item (an integer that grows in the queue); with an id that the queue
-- has seen within 24 hours, that item's, and nothing is added. More than 16 MiB are nil, err: kind "limit".
methods.push = keeping("push", "item")

--- claim(owner, ttl, {queues = prefix}): leases the queue that has been ready longest: its name, the fence, and an
-- array of its first items, at least one and at most 100, each {seq, item, tries, at}: tries is how often it was
-- claimed, this time included, at the Unix time of the push by the engine's clock. nil where no queue is ready. A queue
-- is ready while it has items and nobody, the same owner included, holds a lease on its name, and no unclaim defers it.
-- lease(queue, owner, ttl) renews it.
methods.claim = method "claim"

--- ack(queue, owner, fence, seq): true: the items up to seq are gone; false where the fence is not the newest of the
-- queue, and nothing changed. The queue stays leased.
methods.ack = method "ack"

--- unclaim(queue, owner, fence, {after = 0}): true: the lease has ended, and what is left in the queue is ready after
-- so many seconds; false where the fence is not the newest.
methods.unclaim = method "unclaim"

--- watch(prefix, seconds): true when something may be new in values or queues whose names begin with `prefix`; false
-- when the time is over. A hint, which may be late, wrong or lost: look again every second or so in any case. Counts
-- from the call on. The time is the caller's, not the engine's clock.
methods.watch = method "watch"

--- describe(): {name, version (strings), durable = where a write is that returned: "memory" (lost with the process),
-- "process" (outlives the process, not a crash of the machine), "machine" (on its disk), "replicated" (on several
-- machines); clock = whose clock counts: "process", "machine", "server" or "given"; warnings = array of strings, what
-- the engine's settings do not promise}.
function methods:describe() return call(self, "describe") end

--- close(): true. Those who wait get nil, err, as do all later calls (kind "connect", code "closed"). Any number of
-- times.
function methods:close()
  if self.open then
    self.open = false
    self.engine:close()
  end
  return true
end

check.colons(methods, Store, "store")
Store.__close = methods.close

local OPERATIONS = { "get", "put", "delete", "list", "lease", "release", "take", "push", "claim", "ack", "unclaim",
  "watch", "describe", "close" }

local interface = {}

--- Makes a store of an engine: a table or userdata with all operations. Raises an ArgumentError naming one that is
-- missing.
function interface.new(engine)
  for _, name in ipairs(OPERATIONS) do check.method(name, "engine with an operation " .. name)(engine, "engine") end
  return setmetatable({ engine = engine, open = true }, Store)
end

--- The checker of a store: any object with the methods.
interface.store = check.method("take", "store (koine.store.file, for example)")

--- The engine of a store that was made here; nil for another object.
function interface.engine_of(store) return getmetatable(store) == Store and store.engine or nil end

--- The error of a store that was closed while somebody waited.
interface.closed_error = function() return closed {} end

return interface
