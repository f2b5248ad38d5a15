--- Queues of items, which are claimed as a whole. Time is an argument everywhere. An item is its bytes, or how many
-- these are where an engine keeps them elsewhere. Each change first does all that takes memory, and what that leaves
-- behind has no effect alone: a place in `ready`, an id without a sequence.

local fifo = require "koine.task.queue"
local ready = require "koine.store.state.ready"

local queues = {}

local methods = {}
local metatable = { __index = methods }

local REMEMBERED = 24 * 3600  -- seconds that an id is known
local CLAIM_MAX = 100         -- items of a claim
local CLAIM_BYTES = 16 << 20  -- their bytes, but for the first one's

--- No queues. `leases` (state/leases.lua) knows who holds which.
function queues.new(leases)
  local entries = {}
  return setmetatable({ leases = leases, entries = entries, seq = 0, ids = fifo.new(), ready = ready.new(entries) },
    metatable)
end

local function open(self, name)
  local queue = self.entries[name]
  if not queue then
    queue = { name = name, items = fifo.new(), ids = {}, at = 0, claimed = false }
    self.entries[name] = queue
  end
  return queue
end

-- Forgets a queue of which nothing has to be known.
local function prune(self, queue)
  if not queue.items:peek() and next(queue.ids) == nil then self.entries[queue.name] = nil end
end

-- Forgets the ids that are older than a day.
local function forget(self, now)
  local oldest = self.ids:peek()
  while oldest and oldest.at + REMEMBERED <= now do
    self.ids:pop()
    local queue = self.entries[oldest.queue]
    if queue and queue.ids[oldest.id] == oldest.seq then queue.ids[oldest.id] = nil end
    if queue then prune(self, queue) end
    oldest = self.ids:peek()
  end
end

--- Enters an item behind the others: bytes (or how many), time of the push, tries so far.
function methods:add(name, seq, item, at, tries)
  local queue = open(self, name)
  if not queue.items:peek() then self.ready:enter(queue, queue.at) end
  queue.items:push { seq = seq, item = item, at = at, tries = tries }
  self.seq = math.max(self.seq, seq)
end

--- Remembers the id of an item (seq = false: of one that is still to come): the entry of the id.
function methods:remember(name, id, seq, at)
  local queue, entry = open(self, name), { queue = name, id = id, seq = seq, at = at }
  self.ids:push(entry)
  queue.ids[id] = seq
  return entry
end

--- As the interface has it; second result: whether it was added.
function methods:push(name, item, id, now)
  forget(self, now)
  local queue = self.entries[name]
  if id and queue and queue.ids[id] then return queue.ids[id], false end
  if not queue or not queue.items:peek() then self:set(name, now, false) end
  local seq, entry = self.seq + 1, id and self:remember(name, id, false, now)
  self:add(name, seq, item, now, 0)
  if id then
    entry.seq, self.entries[name].ids[id] = seq, seq
  end
  return seq, true
end

--- Makes a queue ready at a time; claimed = the fence of its claim, or false.
function methods:set(name, at, claimed)
  local queue = open(self, name)
  if queue.items:peek() then self.ready:enter(queue, math.min(queue.at, at)) end
  queue.at, queue.claimed = at, claimed
end

--- Counts a try for each item up to seq.
function methods:count_try(name, seq)
  for _, item in self.entries[name].items:entries() do
    if item.seq > seq then return end
    item.tries = item.tries + 1
  end
end

--- The name of the queue to claim next, or nil.
function methods:first(prefix, now)
  local queue = self.ready:first(prefix, now, function(name) return self.leases:ends(name, now) end)
  return queue and queue.name
end

--- The items that a claim of a queue would give now.
function methods:offer(name)
  local items, bytes = {}, 0
  for _, item in self.entries[name].items:entries() do
    bytes = bytes + (math.tointeger(item.item) or #item.item)
    if items[1] and (bytes > CLAIM_BYTES or #items == CLAIM_MAX) then break end
    items[#items + 1] = { seq = item.seq, item = item.item, tries = item.tries + 1, at = item.at }
  end
  return items
end

--- Claims a queue that `first` returned, with the items that `offer` returned: the fence.
function methods:grant(name, items, owner, ttl, now)
  local fence = self.leases:lease(name, owner, ttl, now)
  local queue = self.entries[name]
  self:count_try(name, items[#items].seq)
  queue.at, queue.claimed = now + ttl, fence
  return fence
end

--- Removes the items up to seq: an array of their sequences.
function methods:drop(name, seq)
  local queue, gone = self.entries[name], {}
  if not queue then return gone end
  for _, item in queue.items:entries() do
    if item.seq > seq then break end
    gone[#gone + 1] = item.seq
  end
  for _ = 1, #gone do queue.items:pop() end
  if gone[1] and not queue.items:peek() then
    prune(self, queue)
    self.ready:leave(queue)
  end
  return gone
end

--- True and what drop returns; false where the fence is not the newest.
function methods:ack(name, fence, seq)
  if self.leases:fence(name) ~= fence then return false end
  return true, self:drop(name, seq)
end

--- As the interface has it.
function methods:unclaim(name, fence, after, now)
  if self.leases:fence(name) ~= fence then return false end
  local queue = self.entries[name]
  local is_left = queue and queue.items:peek() ~= nil
  if is_left then self.ready:enter(queue, now) end
  self.leases:finish(name, now)
  if is_left then
    queue.at, queue.claimed = now + after, false
  end
  return true
end

--- The lease on this name shall end at `ends`: the queue, if it is one, is looked at then at the latest.
function methods:expect(name, ends)
  local queue = self.entries[name]
  if queue then self.ready:expect(queue, ends) end
end

--- The lease on this name ends at `ends`: a claimed queue is ready then.
function methods:renewed(name, ends)
  local queue = self.entries[name]
  if queue and queue.claimed == self.leases:fence(name) then queue.at = ends end
end

--- A lease on this name, of which expect(name, now) told, has ended before its time: a claimed queue is ready now.
function methods:released(name, now)
  local queue = self.entries[name]
  if queue and queue.claimed == self.leases:fence(name) then
    queue.at, queue.claimed = now, false
  end
end

return queues
