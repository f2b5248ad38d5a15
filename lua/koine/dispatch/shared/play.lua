--- The turn of a claimed thread: begun, watched over while it runs, stored when it has returned, and only then told.
-- The record of the history is the turn's end: what comes before it is done again when the process dies, what comes
-- behind it is not.

local coroutines = require "koine.dispatch.coroutines"
local due = require "koine.dispatch.due"
local errors = require "koine.data.errors"
local hooks = require "koine.dispatch.hooks"
local records = require "koine.dispatch.shared.record"
local session = require "koine.dispatch.session"
local storing = require "koine.dispatch.shared.storing"
local threads = require "koine.dispatch.threads"
local turns = require "koine.dispatch.turn"
local wait = require "koine.task.wait"

local play = {}

local LOOK = 1 -- seconds between two looks at a turn that was told to end, and at an engine that is away

--- Starts the calls of hooks that wait.
function play.tell(self)
  coroutines.resume(self)
  for _ = 1, due.count(self) do
    local thread = due.next(self)
    if not thread then return end
    if hooks.waits(thread) then coroutines.start(self, threads.call_hooks, thread) end
    threads.tidy(self.threads, thread)
  end
end

-- Adds to the context of the target what a store has to do with.
local function extend(claim, turn)
  local ctx = turn.ctx
  ctx.history, ctx.tries = claim.record.history, 1
  for _, event in ipairs(turn.batch) do ctx.tries = math.max(ctx.tries, event.plays) end
  ctx.lease = { key = claim.queue, fence = claim.fence, owner = claim.owner }
  ctx.keep = function(history)
    if history ~= nil and type(history) ~= "string" then errors.argument("history", "string or nil", history) end
    claim.kept = { history }
  end
end

--- Has a turn end without an effect: its messages belong to others by now ("lost"), or shall ("given_back").
function play.withdraw(self, turn, why)
  turn.withdrawn = turn.withdrawn or why
  session.cancel(self, turn)
  wait.wake(turn)
end

--- Cancels a turn for its user.
function play.cancel(self, turn)
  session.cancel(self, turn)
  wait.wake(turn)
end

-- The body of the turn's coroutine. What is raised in it is the turn's outcome.
local function body(self, turn)
  pcall(turns.run, self, turn, function()
    turn.returned = true
    wait.wake(turn)
  end)
end

-- Waits until the turn has returned; meanwhile renews the lease, and closes a turn that does not heed its cancel.
local function watch_over(self, claim, turn)
  local every = self.ttl / 3
  local renew_at = claim.at + every
  while not turn.returned do
    local now = wait.now()
    if now >= renew_at and turn.withdrawn ~= "lost" then
      local renewed = storing.renew(self, claim)
      if renewed == false then play.withdraw(self, turn, "lost") end
      renew_at = wait.now() + (renewed == nil and math.min(every, LOOK) or every)
    end
    session.close_overdue(turn, self.now_ms())
    if not turn.returned then
      local pause = turn.withdrawn == "lost" and LOOK or math.max(0, renew_at - wait.now())
      wait.park(turn, turn.cancelled_at and math.min(pause, LOOK) or pause)
    end
  end
end

-- Plays a turn that was formed.
local function run(self, claim, turn)
  turns.announce(self, turn)
  play.tell(self)
  turn.coroutine = coroutines.start(self, body, turn)
  watch_over(self, claim, turn)
end

-- Stores the end of a turn: true when that is done; else its messages belong to others.
local function store(self, claim, turn)
  if turn.withdrawn == "given_back" and turn.outcome == "ok" then turn.withdrawn = false end
  if turn.withdrawn == "lost" then return false end
  local batch, before = {}, claim.record
  for _, event in ipairs(turn.batch) do batch[event.seq] = true end
  if turn.withdrawn then
    if not claim.broken then storing.note(self, claim, records.after(before, claim.items, batch, claim.fence, true)) end
    return false
  end
  local record = records.after(before, claim.items, batch, claim.fence)
  record.lane = turn.lane.sender_id
  if claim.kept then record.history = claim.kept[1] end
  if claim.broken then
    claim.record = record -- in memory: what is there stays for whoever mends it
    return true
  end
  local put, err = storing.put(self, claim, record)
  if put == nil and err.kind == "limit" and claim.kept then
    record.history, turn.outcome, turn.err = before.history, "error", err
    put, err = storing.put(self, claim, record)
  end
  if put then return true end
  turn.withdrawn, turn.err = "lost", err or false
  return false
end

-- The turn has neither its thread nor a place in the counts any more.
local function release(self, turn)
  if turn.thread.turn == turn then turn.thread.turn, self.turns = nil, self.turns - 1 end
end

-- Enters a turn without an effect in the counts.
local function note_withdrawal(self, claim, turn)
  turn.outcome = turn.withdrawn
  self[turn.withdrawn] = self[turn.withdrawn] + 1
  if turn.withdrawn == "lost" then return end
  local address, thread = turn.ctx.thread, turn.thread
  claim.given_back = true
  self.returned[#self.returned + 1] = { thread_id = thread.id, channel = address.channel_id or thread.id,
    adapter = thread.platform, messages = #turn.batch }
end

--- Plays a batch of the lane, stores and tells its end: whether what the claim has done may be acknowledged.
function play.turn(self, claim, lane)
  local turn = turns.form(self, lane)
  claim.turn, turn.later, turn.returned = turn, true, false
  extend(claim, turn)
  if claim.broken then
    turn.outcome, turn.err = "session_error", claim.broken
  else
    run(self, claim, turn)
  end
  local stored = store(self, claim, turn)
  if turn.withdrawn then note_withdrawal(self, claim, turn) end
  claim.turn = nil
  release(self, turn)
  turns.finish(turn)
  play.tell(self)
  return stored
end

--- Ends what is left of a claim whose task is closed.
function play.drop(self, claim)
  local turn = claim.turn
  if not turn then return end
  if turn.coroutine then turn.coroutine:cancel() end
  claim.turn = nil
  turns.unobserve(turn)
  release(self, turn)
end

return play
