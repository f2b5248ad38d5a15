--- A dispatcher: messages of many people, in many threads of a chat platform, become turns of an agent.
-- Each thread has one session, and one turn at a time. What arrives while a turn runs waits in a lane and is packed
-- into the next turn, every message under its sender's name; when nothing runs, a message starts its turn at once.
--
--   local d = koine.dispatcher { target = koine.dispatcher.agents(new_agent), mode = "per-thread",
--     on_done = function(message, thread, result) platform:reply(thread, result.text) end }
--   d:submit({ platform = "slack", thread_id = "T1", channel_id = "C1" }, { sender = sender, prompt = "Hello" })
--   koine.run(function() d:run() end)        -- or, in plain Lua: while d:step() do end
--
-- Everything happens in one thread of the machine. `step` starts what is due: inside a task of koine.run as further
-- tasks, which yield while they wait; anywhere else as coroutines of its own, in which the target blocks or yields of
-- its own accord, to be resumed by the next step.

local agents = require "koine.dispatch.agents"
local check = require "koine.data.check"
local coroutines = require "koine.dispatch.coroutines"
local defer = require "koine.task.defer"
local due = require "koine.dispatch.due"
local turns = require "koine.dispatch.turn"
local errors = require "koine.data.errors"
local queue = require "koine.task.queue"
local lanes = require "koine.dispatch.lane"
local observe = require "koine.dispatch.observe"
local scheduler = require "koine.task.scheduler"
local session = require "koine.dispatch.session"
local settings = require "koine.dispatch.settings"
local shared = require "koine.dispatch.shared"
local hooks = require "koine.dispatch.hooks"
local threads = require "koine.dispatch.threads"
local wait = require "koine.task.wait"

local SWEEP = 60 -- seconds between two sweeps of run()

local methods = {}
local metatable = { __index = methods, __name = "koine.dispatcher" }

-- Public methods ----------------------------------------------------------------------------------------------------

-- Waits until the event gets room in its lane or is dropped: true, or nil and why.
local function park(lane, event)
  local waiter
  local left <close> = defer(function() -- luacheck: ignore left
    if waiter and not waiter.state then lanes.desert(lane, waiter) end
  end)
  waiter = lanes.enlist(lane, event)
  while not waiter.state do
    local _, err = wait.park(waiter)
    if err and not waiter.state then return nil, "cancelled" end
  end
  if waiter.state == "queued" then return true end
  return nil, waiter.state
end

--- Hands in a message that arrived: true once it is in its lane, or nil and a word:
--   "full"           the lane is, and the caller cannot be suspended; in a task of koine.run and in a host's coroutine
--                    the call waits instead, behind those before it
--   "closed"         the dispatcher is shut down
--   "cancelled"      it waited, and cancel_all dropped it, or a host cancelled the caller
--   "consumer_dead"  it waited, and the lane failed twice
-- `thread` is {platform = name without a colon, thread_id | channel_id = string, …}; `message` is {sender = table |
-- sender_json = string, sender_id (per-lane, with sender_json), sender_name, prompt, extras, other_bot_present =
-- boolean, estimated_tokens = integer, …}; extras are an array of text, image and document blocks. Hooks and target get
-- the same two tables; do not change them afterwards. Raises an ArgumentError naming the bad field.
function methods:submit(thread, message)
  settings.check_thread(thread)
  local event = settings.event(self, thread, message)
  if self.closed then return nil, "closed" end
  local now = self.now_ms()
  local lane = threads.obtain_lane(self.threads, thread, event.sender_id, now)
  if lanes.has_room(lane, self.cap) then
    session.want(self, lane)
    if lane.thread.due then due.wake(self) end
    if self.observer then observe.queued(self, lane.thread.key) end
    lanes.push(lane, event, now) -- the last to take memory: a message whose submit raises is not in its lane
    local turn = lane.thread.turn
    if not lane.wants and not (turn and turn.lane == lane) then -- a host's wake made a step
      session.want(self, lane)
      due.wake(self)
    end
    return true
  end
  if not wait.suspends() then return nil, "full" end
  if self.observer then observe.queued(self, lane.thread.key) end
  return park(lane, event)
end

-- Makes up for what a lack of memory left undone: turns that are over, submitters that were not told, lanes that do not
-- stand in line, threads that are not due.
local function recover(self)
  for _, thread in ipairs(threads.list(self.threads)) do
    if thread.turn and thread.turn.ended then turns.settle(thread.turn) end
    for _, lane in ipairs(threads.lanes(thread)) do
      local _, parked = lanes.counts(lane)
      if parked > 0 then lanes.refill(lane, self.cap, self.now_ms()) end
      if lanes.has_work(lane) then session.want(self, lane) end
    end
    if hooks.waits(thread) or thread.turn and not thread.turn.begun then due.add(self, thread) end
  end
end

-- Whether a turn has yet to be started: it was not, or its coroutine broke off before it began.
local function is_new(turn) return not turn.begun and not (turn.coroutine and not turn.coroutine.begun) end

-- Starts what is due. A step made meanwhile, by a hook, by the target or by a coroutine that a host resumes, may have
-- done so already.
local function start(self)
  if self.trouble > 0 then
    self.trouble = 0
    recover(self)
  end
  coroutines.resume(self)
  for _ = 1, due.count(self) do
    local thread = due.next(self)
    if not thread then break end
    local turn = thread.turn or session.grant(self, thread)
    if turn and is_new(turn) then turns.announce(self, turn) end
    if hooks.waits(thread) then coroutines.start(self, threads.call_hooks, thread) end
    if turn and is_new(turn) then turn.coroutine = coroutines.start(self, session.play, turn) end
    threads.tidy(self.threads, thread)
  end
end

--- Starts the turns and the hooks that are due; in plain Lua also resumes once each coroutine that yielded. Returns
-- whether another step would find something to do now. Raises where memory is short; another step then goes on.
function methods:step()
  local ok, raised = pcall(start, self)
  if not ok then
    self.trouble = self.trouble + 1
    error(raised, 0)
  end
  return due.count(self) > 0 or coroutines.waiting(self) or self.trouble > 0
end

--- Steps whenever there is work, and sweeps every minute, until the dispatcher is shut down and the last turn has
-- returned: true. Outside of koine.run it starts one, which blocks in plain Lua and runs beside others in a host's
-- loop; raises the CancelledError of a host that cancels it there, the turns under way being cancelled.
function methods:run()
  if not coroutines.in_task() then return scheduler.run(methods.run, self) end
  local sweep_at = wait.now() + SWEEP
  while true do
    if wait.now() >= sweep_at then
      self:sweep()
      sweep_at = wait.now() + SWEEP
    end
    local more = self:step()
    if self.closed and not more and self.turns == 0 then return true end
    wait.park(self, more and 0 or sweep_at - wait.now())
  end
end

--- Removes the lanes that have been idle for their time, and closes turns that were cancelled half a minute ago and
-- have not returned: the number of lanes removed. `now` is in milliseconds of the dispatcher's clock (nil: its now);
-- raises an ArgumentError unless it is a number.
function methods:sweep(now)
  if now == nil then now = self.now_ms() end
  if type(now) ~= "number" or now ~= now then errors.argument("now", "number of milliseconds", now) end
  local removed = 0
  for _, thread in ipairs(threads.list(self.threads)) do
    if thread.turn then session.close_overdue(thread.turn, now) end
    for _, lane in ipairs(threads.lanes(thread)) do
      if lanes.is_idle(lane) and now - lane.idle_since >= self.idle_ms then
        removed = removed + 1
        thread.lanes[lane.sender_id] = nil
      end
    end
    threads.tidy(self.threads, thread)
  end
  return removed
end

-- Cancels the turn of a thread: the number of its events, 0 when none runs.
local function cancel_running(self, thread)
  local turn = thread.turn
  if not turn then return 0 end
  session.cancel(self, turn)
  return #turn.batch
end

--- Cancels the turn that runs in the thread: whether there was one. It keeps the session until it has returned; what
-- waits comes next.
function methods:cancel_turn(thread)
  settings.check_thread(thread)
  local known = threads.find(self.threads, thread)
  return known ~= nil and cancel_running(self, known) > 0
end

-- Empties every lane of the thread: how many events were dropped, those of parked submitters among them.
local function drop_all(self, thread)
  local dropped = 0
  for _, lane in ipairs(threads.lanes(thread)) do
    local events, parked = lanes.counts(lane)
    if self.observer then observe.cleared(self, lane, "cancelled") end
    lanes.clear(lane, "cancelled")
    dropped, lane.idle_since = dropped + events + parked, self.now_ms()
  end
  return dropped
end

--- Drops all events that wait in the thread, those of parked submitters too, and cancels the turn that runs: {dropped =
-- messages that will not be answered, in_flight = messages in the cancelled turn}. The session stays.
function methods:cancel_all(thread)
  settings.check_thread(thread)
  local known = threads.find(self.threads, thread)
  if not known then return { dropped = 0, in_flight = 0 } end
  return { dropped = drop_all(self, known), in_flight = cancel_running(self, known) }
end

--- cancel_all, then forgets the session, once the turn has returned: what cancel_all returns.
function methods:reset(thread)
  local counts = self:cancel_all(thread)
  local known = threads.obtain(self.threads, thread)
  if known.turn then
    known.forget = true
  else
    session.tell(self, "reset", known)
    threads.tidy(self.threads, known)
  end
  return counts
end

-- Removes a lane at shutdown, and enters in the list what on_warning is told, if it held something. After a lack
-- of memory the caller calls it again.
local function lose(self, lane, list)
  local thread, events, count = lane.thread, lanes.list(lane)
  if count > 0 and not lane.lost then
    local address = events[1].thread
    local warning = { thread_id = thread.id, channel = address.channel_id or thread.id, adapter = thread.platform,
      buffered_lost = count }
    hooks.issue(self, thread, "on_warning", ("%d buffered messages lost"):format(count), address, warning)
    lane.lost = warning
  end
  if self.observer then observe.cleared(self, lane, "closed") end
  lanes.clear(lane, "closed")
  if thread.lanes[lane.sender_id] ~= lane then return end -- a hook shut the dispatcher down, too
  list[#list + 1] = lane.lost or nil
  thread.lanes[lane.sender_id] = nil
end

--- Refuses further messages, removes every lane and cancels every turn; never waits. Returns what on_warning is told
-- for each lane that held messages: an array of {thread_id, channel, adapter, buffered_lost = how many}. Parked
-- submitters get "closed". Steps that follow let the turns return and call the hooks. Raises where memory is short;
-- another shutdown then goes on, and returns all.
function methods:shutdown()
  if self.closed and not self.lost then return {} end
  local lost = self.lost or {}
  self.lost, self.closed = lost, true
  for _, thread in ipairs(threads.list(self.threads)) do
    for _, lane in ipairs(threads.lanes(thread)) do lose(self, lane, lost) end
    cancel_running(self, thread)
    threads.tidy(self.threads, thread)
  end
  due.wake(self)
  self.lost = false
  return lost
end

--- Counts of the moment: {threads, lanes, queued = messages in lanes, parked = submitters that wait, turns = those that
-- run, hooks = calls of hooks that wait or are under way, dispatches = turns so far, respawns, hook_errors =
-- calls of hooks that raised, hook_error = what the last of them raised}. Looks at every lane.
function methods:stats()
  local stats = { threads = 0, lanes = 0, queued = 0, parked = 0, hooks = 0, turns = self.turns,
    dispatches = self.dispatches, respawns = self.respawns, hook_errors = self.hook_errors,
    hook_error = self.hook_error }
  for _, thread in ipairs(threads.list(self.threads)) do
    stats.threads, stats.hooks = stats.threads + 1, stats.hooks + hooks.count(thread)
    for _, lane in next, thread.lanes do
      local queued, parked = lanes.counts(lane)
      stats.lanes, stats.queued, stats.parked = stats.lanes + 1, stats.queued + queued, stats.parked + parked
    end
  end
  return stats
end

--- koine.dispatcher(options): a dispatcher. `options`:
--   target                 required: a table with the methods
--                            run_turn(key, blocks, ctx) → the result | nil, err: plays one turn; may wait
--                            ensure_session(key, ctx) → true | nil, err: called before; may wait; optional
--                            cancel(key): asks run_turn to return soon; must not wait; optional
--                            reset(key): forgets the session; must not wait; optional
--                          `key` names the session ("platform:thread"), `blocks` are the content of one message of the
--                          user, `ctx` is {thread, messages = those that were submitted, spans = which blocks are
--                          whose, other_bot_present = what the last message said, cancelled() → boolean,
--                          observe = what the target's calls take as their `parent` where the dispatcher is observed}
--   mode                   "per-message" (default: a turn for each message), "per-thread" (what waits in a thread is
--                          one turn), "per-lane" (what one sender has waiting in a thread is one turn)
--   max_buffered_messages  integer, 10: how many a lane holds, and a turn has at most; 1 in per-message
--   max_batch_tokens       integer, 24000: estimated tokens of a turn; a larger message goes alone
--   count_envelope         true: envelopes count for that
--   layout                 of koine.packing.pack: "split" or "combined"
--   idle_timeout           seconds, 300 (10 in per-message): how long sweep leaves an idle lane
--   observer               function of one record, or object with a method record: is told of turns and all their parts
--   now_ms                 function → milliseconds of a clock that does not go back
--   on_queued(message, thread), on_done(message, thread, result), on_error(message, thread, err),
--   on_warning(text, thread, details), on_dispatch(record)
--                          hooks: may wait, nothing waits for them; called in order, thread by thread. `text` is fit
--                          for the thread: details.err also knows where in the program it came up
-- Raises an ArgumentError naming the bad field.
local function new(_, options)
  local self = settings.constructor(options)
  self.threads, self.due, self.launched, self.running = {}, queue.line(), {}, {}
  self.turns, self.dispatches, self.respawns, self.hook_errors, self.trouble = 0, 0, 0, 0, 0
  self.closed, self.lost = false, false
  return setmetatable(self, metatable)
end

check.colons(methods, metatable, "dispatcher")

local public = { agents = agents.new, shared = shared.new }

--- koine.dispatcher.acp(opts): a target of agents of other programs; see acp/init.lua.
function public.acp(opts) return require("koine.dispatch.acp").new(opts) end

return setmetatable(public, { __call = new })
