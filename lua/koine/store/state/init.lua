--- What a store holds, and how each operation changes it: no clock, no files, no waiting. The time is the last argument
-- of each operation, so that the same operations at the same times give the same state in every process. What they
-- return is what the interface has, and behind it what only engines need.
-- `changed(name)` is called for each value or queue that is new in some way, for those who watch.

local buckets = require "koine.store.state.buckets"
local leases = require "koine.store.state.leases"
local queues = require "koine.store.state.queues"
local values = require "koine.store.state.values"

local state = {}

local methods = {}
local metatable = { __index = methods }

--- An empty state. changed = function(name); dropped = function(kind, number) (nil: none) is told which "value" (by its
-- version) or "item" (by its sequence) a record of another process replaced or removed. `time` and `skew` are for the
-- engine's clock.
function state.new(changed, dropped)
  local held = leases.new()
  return setmetatable({ changed = changed, dropped = dropped, time = 0, skew = 0, leases = held,
    values = values.new(held), buckets = buckets.new(), queues = queues.new(held) }, metatable)
end

--- As the interface has it, as are those that say nothing else.
function methods:get(key, now) return self.values:get(key, now) end

--- Third result: the version of the entry that was replaced.
function methods:put(key, value, options, now)
  local version, current, replaced = self.values:put(key, value, options, now)
  if version then self.changed(key) end
  return version, current, replaced
end

--- Second result: the version of the entry that is gone.
function methods:delete(key, options, now)
  local done, gone = self.values:delete(key, options, now)
  if gone then self.changed(key) end
  return done, gone
end

--- A page of the names of values.
function methods:list(prefix, options, now) return self.values:list(prefix, options, now) end

--- The fence, or false and the seconds left.
function methods:lease(key, owner, ttl, now)
  self.queues:expect(key, now + ttl)
  local fence, left = self.leases:lease(key, owner, ttl, now)
  if fence then self.queues:renewed(key, now + ttl) end
  return fence, left
end

--- True, or nothing where another owner holds it.
function methods:release(key, owner, now)
  self.queues:expect(key, now)
  local done, ended = self.leases:release(key, owner, now)
  if ended then
    self.queues:released(key, now)
    self.changed(key)
  end
  return done
end

--- 0, or the seconds to wait.
function methods:take(key, amount, options, now) return self.buckets:take(key, amount, options, now) end

--- Second result: whether the item was added.
function methods:push(queue, item, options, now)
  local seq, added = self.queues:push(queue, item, options.id, now)
  if added then self.changed(queue) end
  return seq, added
end

--- What claim would claim at this time: the name of a queue and its items; nothing where none is ready.
function methods:offer(prefix, now)
  local queue = self.queues:first(prefix, now)
  if queue then return queue, self.queues:offer(queue) end
end

--- Claims what `offer` returned for the same time: the fence.
function methods:grant(queue, items, owner, ttl, now) return self.queues:grant(queue, items, owner, ttl, now) end

--- Second result: an array of the sequences that are gone.
function methods:ack(queue, _, fence, seq) return self.queues:ack(queue, fence, seq) end

--- True, or false where the fence is not the newest.
function methods:unclaim(queue, _, fence, options, now)
  local done = self.queues:unclaim(queue, fence, options.after, now)
  if done then self.changed(queue) end
  return done
end

return state
