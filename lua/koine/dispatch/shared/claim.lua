--- What becomes of a thread that was claimed: one thing at a time, a turn for the most part; then it goes back to its
-- place behind the others. A claim is
--   queue, fence, items   as the store gave them; owner: its name there
--   at                    seconds of wait.now, from which on the lease counts at the least
--   record, version       the history (record.lua), and its version in the store; broken: why it cannot be read
--   orders                the commands (commands.lua)
--   events, marks         of the items that are not done, in order: events have seq, plays (turns begun, this one
--                         included), given_back (those of them that a shutdown gave back), text
--   turn                  the turn that runs
--   kept                  {history}: what the target wants stored

local check = require "koine.data.check"
local commands = require "koine.dispatch.shared.commands"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local hooks = require "koine.dispatch.hooks"
local item = require "koine.dispatch.shared.item"
local lanes = require "koine.dispatch.lane"
local observe = require "koine.dispatch.observe"
local play = require "koine.dispatch.shared.play"
local records = require "koine.dispatch.shared.record"
local session = require "koine.dispatch.session"
local storing = require "koine.dispatch.shared.storing"
local threads = require "koine.dispatch.threads"
local turns = require "koine.dispatch.turn"
local wait = require "koine.task.wait"

local claims = {}

local UNTOLD = "the process that played messages died before it called the hooks, and their answer may be missing: %d"
local UNFIT = "items that hold no message are in %s: %d"
local TOO_OFTEN = "given up: its turn was begun %d times and did not come to an end"

-- Reads the history and the commands: true, or nil, err.
local function read(self, claim)
  local key = item.history(claim.queue)
  local text, version = storing.insist(self, self.store.get, self.store, key)
  if not text and version then return nil, version end
  claim.record, claim.version = records.new(), version
  if text then
    local record, broken = records.decode(key, text)
    claim.record, claim.broken = record or claim.record, broken
  end
  local orders, err = storing.insist(self, commands.read, self, claim.queue)
  if not orders and err.kind ~= "protocol" then return nil, err end
  claim.orders = orders or {}
  return true
end

-- Sorts the items: events, marks, what can be neither, and how many messages were done already, and not acknowledged.
local function sort(self, claim)
  claim.events, claim.marks, claim.unfit, claim.untold = {}, {}, {}, 0
  for _, one in ipairs(claim.items) do
    local event = item.decode(self, claim.queue, one.item)
    claim.address = claim.address or event and event.thread
    if one.seq <= claim.record.seq then
      claim.untold = claim.untold + (event and not event.command and 1 or 0)
    elseif not event and not records.is_done(claim.record, one.seq) then
      claim.unfit[#claim.unfit + 1] = one
    elseif event and event.command then
      claim.marks[#claim.marks + 1] = one.seq
      commands.heed(claim.orders, event.command, one.seq)
    elseif event and not records.is_done(claim.record, one.seq) then
      event.seq, event.text = one.seq, one.item
      event.plays, event.given_back = records.plays(claim.record, one)
      claim.events[#claim.events + 1] = event
    end
  end
end

-- The thread that the hooks are called for.
local function thread_of(self, claim) return threads.obtain(self.threads, claim.address) end

-- Tells on_error for each of the events, and once on_warning where there is a warning.
local function fail(self, claim, events, err, warning)
  local thread = thread_of(self, claim)
  for _, event in ipairs(events) do hooks.issue(self, thread, "on_error", event.message, event.thread, err) end
  if warning then hooks.issue(self, thread, "on_warning", warning, claim.address, { err = err }) end
  play.tell(self)
end

-- Stores that the items with these sequences (keys of a table) are done: whether they are. `forget`: without a history.
local function finish(self, claim, done, forget)
  local record = records.after(claim.record, claim.items, done, claim.fence)
  if forget then record.history = nil end
  if claim.broken and not forget then
    claim.record = record
    return true
  end
  return storing.put(self, claim, record) == true
end

-- Drops what commands say: whether that may be acknowledged.
local function drop(self, claim)
  local limit, done, dropped = claim.orders.drop, {}, {}
  for _, seq in ipairs(claim.marks) do done[seq] = true end
  for _, event in ipairs(claim.events) do
    if event.seq < limit then
      dropped[#dropped + 1] = event
      done[event.seq] = true
    end
  end
  local mark = claim.orders.forget or 0 -- which stays in the queue until this is done
  local forget = mark >= claim.items[1].seq and mark > claim.record.seq
  if not finish(self, claim, done, forget) then return false end
  if forget then session.tell(self, "reset", thread_of(self, claim)) end
  self.dropped = self.dropped + #dropped
  if self.observer then observe.dropped(self, thread_of(self, claim).key, #dropped, "cancelled") end
  fail(self, claim, dropped, turns.cancelled())
  return true
end

-- Puts items aside as dead letters: whether they are there, and done.
local function bury(self, claim, list)
  local done, queue = {}, item.dead(claim.queue)
  for _, one in ipairs(list) do
    local seq = storing.insist(self, self.store.push, self.store, queue, one.text or one.item,
      { id = ("%d"):format(one.seq) })
    if not seq then return false end
    done[one.seq] = true
  end
  if not finish(self, claim, done) then return false end
  self.dead = self.dead + #list
  if self.observer and claim.address then observe.dropped(self, thread_of(self, claim).key, #list, "dead") end
  return true
end

-- Puts aside what is no message of ours: whether that may be acknowledged.
local function refuse(self, claim)
  if not bury(self, claim, claim.unfit) then return false end
  local text = UNFIT:format(item.dead(claim.queue), #claim.unfit)
  if claim.address then fail(self, claim, {}, errors.new { kind = "protocol", message = text }, text) end
  return true
end

-- The lane that is next, with its events: those of the first sender who was not the last one, where lanes are of
-- senders.
local function next_lane(self, claim)
  local thread, now, id = thread_of(self, claim), self.now_ms(), ""
  if self.by_sender and not claim.broken then
    id = claim.events[1].sender_id
    for _, event in ipairs(claim.events) do
      if event.sender_id ~= claim.record.lane then
        id = event.sender_id
        break
      end
    end
  end
  local lane = lanes.new(thread, id, now)
  for _, event in ipairs(claim.events) do
    if id == "" or event.sender_id == id then lanes.push(lane, event, now - event.waited) end
  end
  return lane
end

-- Plays the next batch, or gives it up: whether that may be acknowledged.
local function go_on(self, claim)
  local lane, worn = next_lane(self, claim), {}
  for _, event in ipairs(lanes.drain(lane, self.cap, self.max_batch_tokens)) do
    if event.plays - event.given_back > self.max_tries then worn[#worn + 1] = event end
  end
  if not storing.holds(self, claim) then return false end -- the process was stopped, or the engine away
  if not worn[1] or claim.broken then return play.turn(self, claim, lane) end
  if not bury(self, claim, worn) then return false end
  local text = TOO_OFTEN:format(self.max_tries)
  fail(self, claim, worn, errors.new { kind = "other", code = "max_tries", message = text }, text)
  return true
end

-- Does the one thing that is next: whether what is done may be acknowledged, and the queue given back.
local function work(self, claim)
  if not read(self, claim) then return false end
  sort(self, claim)
  if claim.untold > 0 then
    local text = UNTOLD:format(claim.untold)
    self.untold = self.untold + claim.untold
    fail(self, claim, {}, errors.new { kind = "other", code = "untold", message = text }, text)
  end
  if claim.unfit[1] then return refuse(self, claim) end
  local first = claim.events[1]
  if claim.marks[1] or first and (claim.orders.drop or 0) > first.seq then return drop(self, claim) end
  if not first or self.closing and wait.now() >= self.closing then return true end
  return go_on(self, claim)
end

-- Waits until an earlier turn of the thread in this process, whose lease was lost, has returned: whether the claim
-- still holds then.
local function wait_for_earlier(self, claim)
  local every = math.min(1, self.ttl / 3)
  while self.claims[claim.queue] do
    wait.park(claim, every)
    if storing.renew(self, claim) == false then return false end
  end
  return true
end

-- Leaves no trace of a claim in this process, however its task ends.
local function forget(self, claim)
  play.drop(self, claim)
  if self.claims[claim.queue] == claim then self.claims[claim.queue] = nil end
  local thread = claim.address and threads.find(self.threads, claim.address)
  if thread then threads.tidy(self.threads, thread) end
end

--- Works on a claim: in a task. What its own code raises is counted; the queue then waits for the end of the lease.
-- Raises where memory is short.
function claims.run(self, claim)
  local gone <close> = defer(function() forget(self, claim) end) -- luacheck: ignore gone
  if not wait_for_earlier(self, claim) then return end
  self.claims[claim.queue] = claim
  local ok, done = pcall(work, self, claim)
  if not ok then
    if check.is_memory(done) then error(done, 0) end
    self.failures, self.failure = self.failures + 1, done
  elseif done or claim.given_back then
    if done then storing.ack(self, claim) end
    storing.unclaim(self, claim)
  end
end

return claims
