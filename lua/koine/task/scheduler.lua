--- Many conversations in one thread: a small scheduler of tasks.
--
--   koine.run(function()
--     local a, b = koine.gather(
--       function() return assert(claude:chat(q)) end,
--       function() return assert(gpt:chat(q)) end)
--   end)
--
-- A task is a coroutine. Inside, whatever of Koine waits (chat, streams, retries, the rate limiter, sleep, processes)
-- yields; outside, the very same calls block. Tasks are run in the order in which they became ready. While all wait,
-- the run itself waits the way its caller does: it blocks in plain Lua, and parks inside another run or a host's loop.
-- A run ends when all of its tasks have. A task that fails ends the run: every other task is closed, then koine.run
-- raises the error; gather and timeout hand it to their caller instead, also an error of a to-be-closed variable.
-- Errors of Koine's type get a field `traceback`, the task's; other errors that are strings carry it in their text once
-- they leave the run.
-- Cancelling a task closes its coroutine at once (its to-be-closed variables run), and the streams it opened. An error
-- that was on its way to the task ends with it; one that a to-be-closed variable raises counts as the task's.

local core = require "koine.core"
local errors = require "koine.data.errors"
local timers = require "koine.task.timers"
local wait = require "koine.task.wait"

local loop = {}

local close, create, isyieldable, resume, running, status, yield = coroutine.close, coroutine.create,
  coroutine.isyieldable, coroutine.resume, coroutine.running, coroutine.status, coroutine.yield

local WEAK = { __mode = "k" }
local KOINE = {} -- what a task yields when Koine waits; any other yield is the user's

-- Tasks -------------------------------------------------------------------------------------------------------------
-- {run, co, args | results | err, group, token, outside (whether it waits for something else than other tasks), timer,
-- queued, following (behind it in the queue), older, newer (of the tasks that are left), answer, streams, done, failed,
-- cancelled, doomed (it is to be cancelled), dismissed, closing, origin (the task of a group whose error it was
-- handed), depth}
-- What is set while others wait is there from the start, false: waking, ending and closing a task makes nothing new, so
-- that where memory ends none is lost. All that these may lack is room for their calls: see cancel_doomed.

local methods = {}
local task_mt = { __index = methods, __name = "koine.task" }
local group_mt, run_mt = {}, { __name = "koine.run" }
local INSIDE = { [task_mt] = true, [group_mt] = true, [run_mt] = true } -- what a task waits for that others will end

local function cancelled() return errors.new { kind = "cancelled", message = "the task was cancelled" } end

local function stop_timer(task)
  if task.timer then task.run.timers:cancel(task.timer) end
  task.timer = false
end

-- Notes what a task waits for from now on, false for nothing; its run counts those that wait for no other task.
local function set_token(task, token)
  local run, mt = task.run, getmetatable(token)
  if task.outside then run.outside = run.outside - 1 end
  task.outside = token and not (mt ~= nil and INSIDE[mt])
  if task.outside then run.outside = run.outside + 1 end
  task.token = token
end

-- Has the task wait for nothing any more.
local function stop_waiting(task)
  if task.token then wait.forget(task.token, task) end
  stop_timer(task)
  set_token(task, false)
end

-- Puts a task behind those that are ready to run; `woken` is what its park returns.
local function ready(task, woken)
  if task.queued or task.done then return end
  local run = task.run
  stop_timer(task)
  set_token(task, false)
  task.queued, task.answer = true, woken
  if run.last then run.last.following = task else run.first = task end
  run.last = task
  if run.idle then wait.wake(run) end
end

--- Whether the code that runs is in the task's own coroutine, and may yield: not in a function that C called.
function methods:yields() return self.co == running() and not self.closing and isyieldable() end

--- Suspends the task: what wait.park does in one.
function methods:park(token, seconds)
  stop_waiting(self) -- an earlier park may have broken off where memory was short
  if not self.cancelled then
    set_token(self, token)
    wait.register(token, self)
    if seconds then self.timer = self.run.timers:add { at = wait.now() + seconds, task = self } end
  end
  return yield(KOINE)
end

--- The token was woken.
function methods:woken() ready(self, true) end

--- Remembers what the task opened, as long as somebody else does.
function methods:adopt(closable)
  if not self.streams then self.streams = setmetatable({}, WEAK) end
  self.streams[closable] = true
end

-- The task is over: tells its group, or fails the run where nobody listens any more.
local function settle(task)
  local run, group = task.run, task.group
  task.done, run.alive = true, run.alive - 1
  if task.older then task.older.newer = task.newer else run.oldest = task.newer end
  if task.newer then task.newer.older = task.older else run.newest = task.older end
  task.older, task.newer = false, false -- who keeps a task keeps no others
  if task.failed and (not group or group.gone) and not task.dismissed and not run.failure then run.failure = task end
  if group then
    group.left = group.left - 1
    if task.failed and not task.dismissed and not group.failed then group.failed = task end
    if group.left == 0 or group.failed then wait.wake(group) end
  end
  wait.wake(task)
  if run.idle and (run.alive == 0 or run.failure) then wait.wake(run) end
end

-- Closes what the task leaves open: its coroutine's variables, then its streams. What coroutine.close returns.
local function close_all(task)
  task.closing = true
  local before = wait.switch(task)
  local clean, err = close(task.co)
  if task.streams then
    for stream in next, task.streams do pcall(stream.close, stream) end
  end
  wait.switch(before)
  return clean, err
end

-- A task that raised: keeps the error with the traceback of where it came from.
local function fail(task, err)
  local origin = task.origin
  local same = origin and rawequal(origin.err, err)
  stop_waiting(task)
  task.failed, task.err, task.traceback = true, err, same and origin.traceback or debug.traceback(task.co)
  if errors.is_error(err) and err.traceback == nil then
    err.traceback, err.where = task.traceback, err.where or core.where(task.co)
  end
  close_all(task)
  settle(task)
end

-- Ends a suspended task.
local function unwind(task)
  stop_waiting(task)
  local clean, err = close_all(task)
  if not clean then task.failed, task.err = true, err end
  settle(task)
end

local function back(before, ...)
  wait.switch(before)
  return ...
end

-- Runs a task until its next wait: what resume returns.
local function step(task, ...) return back(wait.switch(task), resume(task.co, ...)) end

local settled

-- Resumes a task that yielded by itself, unless it was closed meanwhile or its run has failed.
local function go_on(task, ...)
  if task.done or task.run.failure then return end
  return settled(task, step(task, ...))
end

-- What a resume gave: the end, an error, a wait of Koine's, or a yield of the user's own, which goes to whoever resumed
-- the run where that is possible; elsewhere it lets the others run.
function settled(task, ok, ...)
  if not ok then return fail(task, (...)) end
  if status(task.co) == "dead" then
    task.results = table.pack(...)
    stop_waiting(task)
    return settle(task)
  end
  if task.cancelled then return unwind(task) end
  if (...) == KOINE then return end
  if not isyieldable() then return ready(task) end
  return go_on(task, yield(...))
end

--- Waits for the task's end: the results of its function; nil, err (CancelledError) when it was cancelled. A task that
-- fails ends the whole run. Raises an ArgumentError where the wait could never end: in the task itself, and where the
-- tasks of its run cannot go on (a coroutine of the user's own, a to-be-closed variable of a task being closed).
function methods:wait()
  local caller = wait.task()
  if not self.done and caller and caller.run == self.run and (caller == self or not caller:yields()) then
    core.raise_argument("task", "a task that can run while this one waits", caller == self and "the waiting task itself"
      or tostring(self))
  end
  while not self.done do
    local _, err = wait.park(self)
    if err then return nil, err end
  end
  if self.results then return table.unpack(self.results, 1, self.results.n) end
  if not self.err and not self.failed then self.err = cancelled() end
  return nil, self.err
end

--- Ends the task at once: its to-be-closed variables are closed, then the streams it opened, also while the provider
-- is silent. A task that is running ends at its next wait. True, or false when it had ended before.
function methods:cancel()
  if self.done or self.closing then return false end
  local run = self.run
  local before = run.doomed
  self.doomed, run.doomed = true, true
  if status(self.co) == "suspended" then
    unwind(self)
  else
    self.doomed, self.cancelled = false, true
  end
  run.doomed = before
  return true
end

--- As cancel, so that what its to-be-closed variables raise goes no further.
function methods:dismiss()
  self.dismissed = true
  return self:cancel()
end

task_mt.__close = methods.cancel

--- Says what the task does: "koine.task (waiting)", "(done)", "(failed)", "(cancelled)".
function task_mt:__tostring()
  local what = not self.done and "waiting" or self.failed and "failed" or self.results and "done" or "cancelled"
  return task_mt.__name .. " (" .. what .. ")"
end

-- Runs --------------------------------------------------------------------------------------------------------------

local DEEPEST = 1000 -- closing what is nested recurses in C

-- A new task of the run, ready to start. `depth` counts the tasks that wait for it, one around the other.
local function spawn(run, group, depth, f, ...)
  if run.over then core.raise_argument("task", "an open run", "a run that is being closed") end
  if depth > DEEPEST then core.raise_argument("task", "at most 1000 runs and groups around it", "more") end
  local task = setmetatable({ run = run, group = group, depth = depth, co = create(f), args = table.pack(...),
    results = false, err = false, traceback = false, token = false, outside = false, timer = false, queued = false,
    following = false, older = false, newer = false, after = false, before = false, answer = false,
    streams = false, done = true, failed = false, cancelled = false, doomed = false, dismissed = false,
    closing = false, origin = false }, task_mt)
  if group then group[#group + 1] = task end -- the last that takes memory, and may collect garbage
  if group then group.left = group.left + 1 end
  task.done, task.older, run.alive = false, run.newest, run.alive + 1
  if run.newest then run.newest.newer = task else run.oldest = task end
  run.newest = task
  ready(task)
  return task
end

-- Cancels what was to be cancelled when there was no memory left for the calls that this takes.
local function cancel_doomed(run)
  run.doomed = false
  local task = run.oldest
  while task do
    local newer = task.newer
    if task.doomed then
      task.closing = false
      unwind(task)
      newer = run.oldest
    end
    task = newer
  end
end

-- Runs every task that is ready now, in order; those that become ready meanwhile have to wait for the next round.
local function round(run)
  if run.doomed then cancel_doomed(run) end
  local task, last = run.first, run.last
  while task do
    run.first, task.following = task.following, false
    if not run.first then run.last = false end
    if not task.done then
      task.queued = false
      local args = task.args
      if args then
        task.args = nil
        settled(task, step(task, table.unpack(args, 1, args.n)))
      else
        settled(task, step(task, task.answer))
      end
    end
    if run.failure or task == last then return end
    task = run.first
  end
end

-- Whether every task of the run, and of the runs within, waits for another one, for any length of time: nothing that
-- comes from outside would end that. What waits for anything else may be woken, by a signal's handler for instance.
local function is_ring(run)
  if run.outside > 0 or run.first or run.timers:first() then return false end
  local task = run.oldest
  while task do
    if getmetatable(task.token) == run_mt and not is_ring(task.token) then return false end
    task = task.newer
  end
  return true
end

-- Waits until a task is ready; when some are, only lets the engine and the host do what is at hand.
local function idle(run)
  if wait.alone() and is_ring(run) then
    core.raise(errors.new { kind = "argument", field = "run", expected = "a task that can go on",
      message = "run: deadlock: every task waits for another task" })
  end
  local first = run.timers:first()
  local seconds = run.first and 0 or first and math.max(0, first.at - wait.now())
  run.idle = true
  local _, err = wait.park(run, seconds)
  run.idle = false
  if err then error(err, 0) end
  run.timers:expire(ready)
end

-- The oldest task that is left and is not being closed.
local function oldest(run)
  local task = run.oldest
  while task and task.closing do task = task.newer end
  return task
end

-- Closes every task that is left, the oldest first, so that who waits for others closes them; one that is being closed
-- already, further up the stack, comes to its end there. An error that comes up in that is raised, unless there is one
-- already; what failed before was for the caller, who does not go on if there is none.
local function finish(run, err)
  local current = wait.task()
  if current and current.run == run then wait.switch(run.outer) end -- memory was short for the end of a step
  run.over, run.failure, run.idle = true, false, false
  local task = oldest(run)
  while task do
    unwind(task)
    task = oldest(run)
  end
  if err == nil and run.failure then error(run.failure.err, 0) end
end

run_mt.__close = finish

-- The error of a task as it leaves the run: a string takes the traceback along, once.
local function explained(failed)
  local err, traceback = failed.err, failed.traceback
  if type(err) ~= "string" or not traceback or err:find("\nstack traceback:", 1, true) then return err end
  return err .. "\n" .. traceback
end

local function check_function(field, f)
  if type(f) ~= "function" then errors.argument(field, "function", f) end
end

--- Runs f(…) as a task, and whatever tasks it spawns, until all have ended: f's results. Raises the error of a task
-- that failed, after closing the others, and in plain Lua an ArgumentError when all wait for each other. May be called
-- anywhere; inside a task or a host's loop others go on meanwhile.
function loop.run(f, ...)
  check_function("f", f)
  local outer = wait.task()
  local run <close> = setmetatable({ outer = outer, oldest = false, newest = false, alive = 0, outside = 0,
    first = false, last = false, timers = timers.new(), idle = false, doomed = false, over = false,
    failure = false }, run_mt)
  local main = spawn(run, nil, outer and outer.depth + 1 or 0, f, ...)
  while run.alive > 0 and not run.failure do
    round(run)
    if run.alive > 0 and not run.failure then idle(run) end
  end
  local failed = run.failure
  if failed then error(explained(failed), 0) end
  return main:wait()
end

-- The task whose own coroutine is running, or nil.
local function here()
  local task = wait.task()
  return task and task:yields() and task or nil
end

--- Starts f(…) as another task of the run: the task. It runs when the caller waits next. Raises an ArgumentError
-- outside of koine.run.
function loop.spawn(f, ...)
  check_function("f", f)
  local task = wait.task()
  if not task then core.raise_argument("spawn", "koine.run around it", "none") end
  return spawn(task.run, nil, 0, f, ...)
end

-- Cancels what is left of a group. An error that comes up in that is raised, unless there is one already; what failed
-- before was for the caller, who is being closed if there is none.
local function cancel_all(group, err)
  local run = group.run
  local before = run.doomed
  for i = 1, #group do group[i].doomed, run.doomed = true, true end
  group.failed = false
  for i = #group, 1, -1 do group[i]:cancel() end
  group.gone, run.doomed = true, before
  if err == nil and group.failed then error(group.failed.err, 0) end
end

group_mt.__close = cancel_all

-- Waits until all of the group have ended or one has failed (true), or the time is over (false). Raises what a task of
-- the group raised.
local function join(group, seconds)
  while group.left > 0 and not group.failed do
    local woken, err = wait.park(group, seconds)
    if err then error(err, 0) end
    if woken == false then break end
  end
  local failed = group.failed
  if not failed then return group.left == 0 end
  wait.task().origin = failed
  error(failed.err, 0)
end

--- Runs the functions at once, each as a task: the first result of each, in order. When one raises, the others are
-- cancelled and its error is raised (so wrap in assert what should count as a failure). Outside of koine.run, blocks.
function loop.gather(...)
  for i = 1, select("#", ...) do check_function("function " .. i, (select(i, ...))) end
  local task = here()
  if not task then return loop.run(loop.gather, ...) end
  local group <close> = setmetatable({ run = task.run, left = 0, failed = false, gone = false }, group_mt)
  local n = select("#", ...)
  for i = 1, n do spawn(task.run, group, task.depth + 1, (select(i, ...))) end
  join(group)
  local results = {}
  for i = 1, n do results[i] = group[i]:wait() end
  return table.unpack(results, 1, n)
end

--- Runs f(…) for at most `seconds`: its results, or nil, err (kind "timeout") after cancelling it. Raises what f
-- raises. Outside of koine.run, blocks.
function loop.timeout(seconds, f, ...)
  if type(seconds) ~= "number" or seconds ~= seconds then errors.argument("seconds", "number", seconds) end
  check_function("f", f)
  local task = here()
  if not task then return loop.run(loop.timeout, seconds, f, ...) end
  local group <close> = setmetatable({ run = task.run, left = 0, failed = false, gone = false }, group_mt)
  local child = spawn(task.run, group, task.depth + 1, f, ...)
  if join(group, seconds) then return child:wait() end
  return nil, errors.new { kind = "timeout", message = ("no result within %g s"):format(seconds) }
end

--- Sleeps for so many seconds: true, or nil, err when a host cancelled the caller.
loop.sleep = wait.sleep

return loop
