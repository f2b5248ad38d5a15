--- A lane: the events that wait for one consumer of a thread, and the submitters that wait for room.
-- A lane is {thread, sender_id, events, held, batch, waiters, wants, following, failures, told, lost, idle_since}:
--   thread, sender_id   whose it is
--   events              a queue
--   held                an event that did not fit into the last batch: the first of the next one, outside of the queue
--   batch               a batch that was taken out and has not reached the target, because the lane's code failed
--   waiters             a queue of parked submitters {event, state}, made when the first one comes; `state` is false
--                       while they wait, then "queued" or why their event was dropped
--   wants, following    it stands in line for the thread's session; the lane behind it
--   failures            those of the lane's own code since its last dispatch
--   told                how many events of a lane that failed twice were given back
--   lost                what on_warning was told of it at shutdown
--   idle_since          milliseconds of the dispatcher's clock, when it last became idle or was made

local queue = require "koine.task.queue"
local wait = require "koine.task.wait"

local lane = {}

local NO_WAITERS = queue.new() -- of a lane whose submitters never had to wait

--- A lane without events. `sender_id` is "" where lanes are not of senders.
function lane.new(thread, sender_id, now)
  return { thread = thread, sender_id = sender_id, events = queue.new(), wants = false, following = false,
    failures = 0, told = 0, lost = false, idle_since = now }
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

--- Whether a new event may go into the queue: there is room, and no submitter waits for it.
function lane.has_room(self, cap)
  return self.events:count() < cap and not (self.waiters and self.waiters:peek())
end

-- Whether the oldest event of the queue is in the batch or held already: memory was short before it left the queue.
local function is_doubled(self)
  local oldest, batch = self.events:peek(), self.batch
  return oldest ~= nil and (oldest == self.held or batch ~= nil and oldest == batch[#batch])
end

--- How many events the lane holds, without those of parked submitters, and how many of these there are.
function lane.counts(self)
  local events = self.events:count() + (self.held and 1 or 0) + (self.batch and #self.batch or 0)
  if is_doubled(self) then events = events - 1 end
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

--- Forgets a submitter that does not wait any more.
function lane.desert(self, waiter) self.waiters:remove(waiter) end

-- Wakes the oldest submitter, and takes it out of the line, unless a coroutine that a host resumed meanwhile did so.
local function dismiss(self, waiter)
  wait.wake(waiter)
  if self.waiters:peek() == waiter then self.waiters:pop() end
end

--- Takes the events of submitters into the queue as long as there is room, the oldest first; from `now` on they wait.
-- Called once the session has the events that left the queue. After a lack of memory the caller calls it again.
function lane.refill(self, cap, now)
  local waiter = self.waiters and self.waiters:peek()
  while waiter and (waiter.state or self.events:count() < cap) do
    if not waiter.state then
      lane.push(self, waiter.event, now)
      waiter.state = "queued"
    end
    dismiss(self, waiter)
    waiter = self.waiters:peek()
  end
end

--- Takes the next batch out, into the field `batch`, and returns it: the oldest event whatever it costs, then those
-- behind it while there are fewer than `cap` and their tokens together are at most `max_tokens`. The first that does
-- not fit is held; nothing passes it. A batch that is there is returned as it is. An event leaves its place when it has
-- the next one, so that none is lost where memory is short; one that has both then leaves its old one here.
function lane.drain(self, cap, max_tokens)
  local events, batch = self.events, self.batch
  if is_doubled(self) then events:pop() end
  if batch then return batch end
  batch = { self.held or events:peek() }
  self.batch = batch
  if self.held then self.held = nil else events:pop() end
  local sum, event = batch[1].cost, events:peek()
  while event and #batch < cap do
    sum = sum + event.cost
    if sum > max_tokens then
      self.held = event
      events:pop()
      break
    end
    batch[#batch + 1] = event
    events:pop()
    event = events:peek()
  end
  return batch
end

--- The events that the lane holds, and behind them those of parked submitters, in order: an array, and how many it
-- holds. They stay where they are.
function lane.list(self)
  local events = {}
  if is_doubled(self) then self.events:pop() end
  if self.batch then table.move(self.batch, 1, #self.batch, 1, events) end
  events[#events + 1] = self.held
  for _, event in self.events:entries() do events[#events + 1] = event end
  local count = #events
  for _, waiter in (self.waiters or NO_WAITERS):entries() do
    if not waiter.state then events[#events + 1] = waiter.event end
  end
  return events, count
end

--- Empties the lane; parked submitters are told why. After a lack of memory the caller calls it again.
function lane.clear(self, why)
  local waiters = self.waiters or NO_WAITERS
  for _, waiter in waiters:entries() do waiter.state = waiter.state or why end
  while self.events:pop() do end -- luacheck: ignore
  self.batch, self.held = nil, nil
  local waiter = waiters:peek()
  while waiter do
    dismiss(self, waiter)
    waiter = waiters:peek()
  end
end

return lane
