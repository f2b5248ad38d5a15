--- The session of a thread: lanes stand in line for it, a turn of the first one has it and then gives it back. `self`
-- is the dispatcher.

local check = require "koine.data.check"
local due = require "koine.dispatch.due"
local errors = require "koine.data.errors"
local hooks = require "koine.dispatch.hooks"
local lanes = require "koine.dispatch.lane"
local observe = require "koine.dispatch.observe"
local threads = require "koine.dispatch.threads"
local turns = require "koine.dispatch.turn"

local FAILED = "dispatch consumer exited unexpectedly"

local session = {}

--- Puts a lane in line for its thread's session; `grant` passes over a lane without work. The caller wakes the
-- dispatcher.
function session.want(self, lane)
  local thread = lane.thread
  if thread.turn and thread.turn.lane == lane then return end
  if not lane.wants then thread.ready:push(lane) end
  lane.wants = true
  if not thread.turn then due.add(self, thread) end
end

-- Gives back the events of a lane that failed twice, and removes it. After a lack of memory the caller calls it again.
local function give_up(self, lane)
  local thread, events = lane.thread, lanes.list(lane)
  local err = errors.new { kind = "other", message = FAILED }
  for i = lane.told + 1, #events do
    hooks.issue(self, thread, "on_error", events[i].message, events[i].thread, err)
    lane.told = i
  end
  local last = events[#events]
  if last and lane.told == #events then
    hooks.issue(self, thread, "on_warning", FAILED, last.thread, { err = err })
    lane.told = #events + 1
  end
  if self.observer then observe.cleared(self, lane, "consumer_dead") end
  lanes.clear(lane, "consumer_dead")
  if thread.lanes[lane.sender_id] == lane then thread.lanes[lane.sender_id] = nil end
  threads.tidy(self.threads, thread)
end

-- Notes that the dispatcher's code failed for a lane: the first time the lane gets another try.
local function note_failure(self, lane)
  lane.failures = lane.failures + 1
  if lane.failures > 1 then return give_up(self, lane) end
  self.respawns = self.respawns + 1
  if self.observer then observe.respawn(self, lane) end
  if lanes.has_work(lane) then session.want(self, lane) end
end

--- The turn of the next lane in line, nil when none has work.
function session.grant(self, thread)
  local lane = thread.ready:pop()
  while lane do
    lane.wants = false
    if lane.failures > 1 then
      give_up(self, lane)
    elseif lanes.has_work(lane) then
      local ok, turn = pcall(turns.form, self, lane)
      if ok then
        lanes.refill(lane, self.cap, turn.began)
        return turn
      end
      if check.is_memory(turn) then error(turn, 0) end
      note_failure(self, lane)
    end
    lane = thread.ready:pop()
  end
end

--- Calls a method of the target that does not wait, if it has it.
function session.tell(self, method, thread)
  local target = self.target
  if not target[method] then return end
  local ok, raised = pcall(target[method], target, thread.key)
  if not ok then hooks.count_error(self, raised) end
end

local GRACE = 30000 -- milliseconds that a cancelled turn has until it is closed

--- Asks a turn to return soon.
function session.cancel(self, turn)
  turn.cancelled_at = turn.cancelled_at or self.now_ms()
  session.tell(self, "cancel", turn.thread)
end

--- Closes a turn that was cancelled half a minute before `now` and has not returned.
function session.close_overdue(turn, now)
  if turn.coroutine and now - (turn.cancelled_at or now) >= GRACE then turn.coroutine:cancel() end
end

-- Gives the session of a turn that is over to the next lane in line.
local function release(self, turn)
  local thread, lane = turn.thread, turn.lane
  if thread.turn == turn then thread.turn, self.turns = nil, self.turns - 1 end
  if thread.forget then
    thread.forget = nil
    session.tell(self, "reset", thread)
  end
  due.add(self, thread)
  if lanes.has_work(lane) then session.want(self, lane) else lane.idle_since = self.now_ms() end
  due.wake(self)
end

--- Plays a turn that was granted: the body of its coroutine.
function session.play(self, turn)
  local ok, raised = pcall(turns.run, self, turn, release)
  if ok then return end
  if not check.is_memory(raised) then
    note_failure(self, turn.lane)
    return due.wake(self)
  end
  turn.ended = turn.begun
  due.recover(self)
end

return session
