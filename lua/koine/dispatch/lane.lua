--- A lane: the events that wait for one consumer of a thread, and the submitters that wait for room.
-- A lane is its own queue (a fifo), so that an idle one is one small table. Besides it holds
--   thread, sender_id   whose it is
--   held                an event that did not fit into the last batch: the first of the next one, outside of the queue
--   batch               a batch that was taken out and has not reached the target, because the lane's code failed
--   waiters             a fifo of parked submitters {event, state}, made when the first one comes; `state` is nil while
--                       they wait, then "queued" or why their event was dropped
--   wants               it stands in line for the thread's session
--   deaths              failures of the lane's own code since its last dispatch
--   idle_since          milliseconds of the dispatcher's clock, when it last became idle or was made

local fifo = require "koine.task.queue"
local wait = require "koine.task.wait"

local lane = {}

--- A lane without events. `sender_id` is "" where lanes are not of senders.
function lane.new(thread, sender_id, now)
  return { thread = thread, sender_id = sender_id, first = 1, last = 0, wants = false, deaths = 0, idle_since = now }
end

--- Its name in records: "platform:thread", and ":sender" behind it where lanes are of senders.
function lane.key(self)
  return self.sender_id == "" and self.thread.key or self.thread.key .. ":" .. self.sender_id
end

--- Whether there is something to dispatch.
function lane.has_work(self) return self.last >= self.first or self.held ~= nil or self.batch ~= nil end

--- Whether there is neither work nor a turn; then no submitter is parked either.
function lane.is_idle(self)
  local turn = self.thread.turn
  return not lane.has_work(self) and not (turn and turn.lane == self)
end

--- Whether an event may go into the queue. Where there is room nobody is parked: whatever leaves the queue makes room
-- for the next submitter at once.
function lane.has_room(self, cap) return fifo.count(self) < cap end

--- How many events the lane holds, without those of parked submitters, and how many of these there are.
function lane.counts(self)
  local events = fifo.count(self) + (self.held and 1 or 0) + (self.batch and #self.batch or 0)
  return events, self.waiters and fifo.count(self.waiters) or 0
end

--- Puts an event into the queue; from `now` on (milliseconds) it waits.
function lane.push(self, event, now)
  event.arrived_at = now
  fifo.push(self, event)
end

--- Makes the submitter of an event wait for room: its waiter, the token that it is woken with.
function lane.enlist(self, event)
  self.waiters = self.waiters or fifo.new()
  local waiter = { event = event }
  fifo.push(self.waiters, waiter)
  return waiter
end

local function tell(waiter, state)
  waiter.state = state
  wait.wake(waiter)
end

--- Forgets a submitter that does not wait any more.
function lane.desert(self, waiter) fifo.remove(self.waiters, waiter) end

-- Takes the oldest event out of the queue, and the oldest submitter's into it.
local function pop(self, now)
  local event = fifo.pop(self)
  local waiter = self.waiters and fifo.pop(self.waiters)
  if waiter then
    lane.push(self, waiter.event, now)
    tell(waiter, "queued")
  end
  return event
end

--- Takes the next batch out: the oldest event whatever it costs, then those behind it while there are fewer than `cap`
-- and their tokens together are at most `max_tokens`. The first that does not fit is held; nothing passes it.
function lane.drain(self, cap, max_tokens, now)
  local batch = self.batch
  if batch then
    self.batch = nil
    return batch
  end
  local event = self.held or pop(self, now)
  self.held, batch = nil, { event }
  local sum = event.cost
  while #batch < cap and fifo.count(self) > 0 do
    event = pop(self, now)
    sum = sum + event.cost
    if sum > max_tokens then
      self.held = event
      break
    end
    batch[#batch + 1] = event
  end
  return batch
end

--- Empties the lane; parked submitters are told why. Returns the events that it held, and those of the submitters, in
-- order.
function lane.drop(self, why)
  local events = self.batch or {}
  events[#events + 1] = self.held
  self.batch, self.held = nil, nil
  for i = self.first, self.last do
    events[#events + 1] = self[i]
    self[i] = nil
  end
  self.first, self.last = 1, 0
  local parked, waiter = {}, self.waiters and fifo.pop(self.waiters)
  while waiter do
    parked[#parked + 1] = waiter.event
    tell(waiter, why)
    waiter = fifo.pop(self.waiters)
  end
  return events, parked
end

return lane
