--- A lane: the events that wait for one consumer of a thread, and the submitters that wait for room.
-- A lane is {thread, sender_id, events, held, batch, waiters, wants, following, deaths, idle_since}:
--   thread, sender_id   whose it is
--   events              a queue
--   held                an event that did not fit into the last batch: the first of the next one, outside of the queue
--   batch               a batch that was taken out and has not reached the target, because the lane's code failed
--   waiters             a queue of parked submitters {event, state}, made when the first one comes; `state` is false
--                       while they wait, then "queued" or why their event was dropped
--   wants, following    it stands in line for the thread's session; who stands behind it
--   deaths              failures of the lane's own code since its last dispatch
--   idle_since          milliseconds of the dispatcher's clock, when it last became idle or was made

local queue = require "koine.task.queue"
local wait = require "koine.task.wait"

local lane = {}

--- A lane without events. `sender_id` is "" where lanes are not of senders.
function lane.new(thread, sender_id, now)
  return { thread = thread, sender_id = sender_id, events = queue.new(), wants = false, following = false,
    deaths = 0, idle_since = now }
end

--- Its name in records: "platform:thread", and ":sender" behind it where lanes are of senders.
function lane.key(self)
  return self.sender_id == "" and self.thread.key or self.thread.key .. ":" .. self.sender_id
end

--- Whether there is something to dispatch.
function lane.has_work(self) return self.events:count() > 0 or self.held ~= nil or self.batch ~= nil end

--- Whether there is neither work nor a turn; then no submitter is parked either.
function lane.is_idle(self)
  local turn = self.thread.turn
  return not lane.has_work(self) and not (turn and turn.lane == self)
end

--- Whether an event may go into the queue. Where there is room nobody is parked: whatever leaves the queue makes room
-- for the next submitter at once.
function lane.has_room(self, cap) return self.events:count() < cap end

--- How many events the lane holds, without those of parked submitters, and how many of these there are.
function lane.counts(self)
  local events = self.events:count() + (self.held and 1 or 0) + (self.batch and #self.batch or 0)
  return events, self.waiters and self.waiters:count() or 0
end

--- Puts an event into the queue; from `now` on (milliseconds) it waits.
function lane.push(self, event, now)
  event.arrived_at = now
  self.events:push(event)
end

--- Makes the submitter of an event wait for room: its waiter, the token that it is woken with.
function lane.enlist(self, event)
  self.waiters = self.waiters or queue.new()
  local waiter = { event = event, state = false }
  self.waiters:push(waiter)
  return waiter
end

local function tell(waiter, state)
  waiter.state = state
  wait.wake(waiter)
end

--- Forgets a submitter that does not wait any more.
function lane.desert(self, waiter) self.waiters:remove(waiter) end

-- Takes the oldest event out of the queue, and those of submitters into it as long as there is room, the oldest first.
-- One that is told already stands there because memory was short.
local function pop(self, cap, now)
  self.events:pop()
  local waiter = self.waiters and self.waiters:peek()
  while waiter and (waiter.state or lane.has_room(self, cap)) do
    if not waiter.state then lane.push(self, waiter.event, now) end
    tell(waiter, "queued")
    self.waiters:pop()
    waiter = self.waiters:peek()
  end
end

--- Takes the next batch out, into the field `batch`, and returns it: the oldest event whatever it costs, then those
-- behind it while there are fewer than `cap` and their tokens together are at most `max_tokens`. The first that does
-- not fit is held; nothing passes it. A batch that is there is returned as it is. An event leaves its place when it has
-- the next one, so that none is lost where memory is short; one that has both then leaves its old one here.
function lane.drain(self, cap, max_tokens, now)
  local batch, oldest = self.batch, self.events:peek()
  if oldest and (oldest == self.held or batch and oldest == batch[#batch]) then pop(self, cap, now) end
  if batch then return batch end
  batch = { self.held or self.events:peek() }
  self.batch = batch
  if self.held then self.held = nil else pop(self, cap, now) end
  local sum, event = batch[1].cost, self.events:peek()
  while event and #batch < cap do
    sum = sum + event.cost
    if sum > max_tokens then
      self.held = event
      pop(self, cap, now)
      break
    end
    batch[#batch + 1] = event
    pop(self, cap, now)
    event = self.events:peek()
  end
  return batch
end

--- Empties the lane; parked submitters are told why. Returns the events that it held, and those of the submitters, in
-- order.
function lane.drop(self, why)
  local events = self.batch or {}
  events[#events + 1] = self.held
  self.batch, self.held = nil, nil
  while self.events:count() > 0 do events[#events + 1] = self.events:pop() end
  local parked, waiter = {}, self.waiters and self.waiters:pop()
  while waiter do
    parked[#parked + 1] = waiter.event
    tell(waiter, why)
    waiter = self.waiters:pop()
  end
  return events, parked
end

return lane
