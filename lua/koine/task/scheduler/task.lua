--- The tasks of a run: coroutines that park, are woken, end and are cancelled. A task is
-- {run, co, args | results | err, group, token (what it waits for), timer, queued, following (behind it in the queue),
-- older, newer (of the tasks that are left), answer, streams, done, failed, cancelled, doomed (it is to be cancelled),
-- dismissed, closing, origin (the task of a group whose error it was handed), depth, background (its run does not wait
-- for it)}
-- Fields that are set while others wait exist from the start, as false: waking, ending and closing a task makes nothing
-- new, so that where memory ends none is lost. All that these may lack is room for their calls: see cancel_doomed.

local core = require "koine.core"
local errors = require "koine.data.errors"
local wait = require "koine.task.wait"

local tasks = {}

local close, create, isyieldable, resume, running, status, yield = coroutine.close, coroutine.create,
  coroutine.isyieldable, coroutine.resume, coroutine.running, coroutine.status, coroutine.yield

local WEAK = { __mode = "k" }
local KOINE = {} -- what a task yields when Koine waits; any other yield is the user's

local methods = {}
local task_mt = { __index = methods, __name = "koine.task" }

--- The metatables of tokens that other tasks wake: tasks, and what run.lua and group.lua enter.
tasks.inside = { [task_mt] = true }

--- Whether a task that its run waits for waits for something else than other tasks.
function tasks.is_outside(task)
  local token = task.token
  if not token or task.background then return false end
  return not tasks.inside[getmetatable(token)]
end

local function cancelled() return errors.new { kind = "cancelled", message = "the task was cancelled" } end

-- Ends the wait of the task. The task keeps its token until all is done: after a lack of memory the caller calls this
-- again.
local function stop_waiting(task)
  if task.token then wait.forget(task.token, task) end
  if task.timer then task.run.timers:cancel(task.timer) end
  task.timer, task.token = false, false
end

-- Puts a task behind those that are ready to run; its park returns false where `woken` is, else true. After a lack of
-- memory that leaves it waiting, the caller calls this again. Runs have a line (task/queue.lua) of their own, written
-- out: calling its methods makes a step an eighth slower.
local function ready(task, woken)
  local run = task.run
  if not task.queued and not task.done then
    task.queued, task.answer = true, woken ~= false
    local last = run.last
    if last then last.following = task else run.first = task end
    run.last = task
  end
  if run.idle then wait.wake(run) end -- a host may run the task in this
  if task.queued and task.token then stop_waiting(task) end
end

--- Whether the code that runs is in the task's own coroutine, and may yield: not in a function that C called.
function methods:yields() return self.co == running() and not self.closing and isyieldable() end

--- Suspends the task: what wait.park does in one.
function methods:park(token, seconds)
  if self.token then stop_waiting(self) end -- an earlier park broke off where memory was short
  if not self.cancelled then
    self.token = token
    wait.register(token, self)
    if seconds then self.timer = self.run.timers:add { at = wait.now() + seconds, task = self } end
  end
  return yield(KOINE)
end

--- The token was woken.
methods.woken = ready

--- Remembers what the task opened, without keeping it from the collector.
function methods:adopt(closable)
  if not self.streams then self.streams = setmetatable({}, WEAK) end
  self.streams[closable] = true
end

--- Forgets what the task opened for somebody else.
function methods:disown(closable)
  if self.streams then self.streams[closable] = nil end
end

-- Takes the task out of its run's list.
local function unlink(task)
  local run = task.run
  if task.older then task.older.newer = task.newer else run.oldest = task.newer end
  if task.newer then task.newer.older = task.older else run.newest = task.older end
  task.older, task.newer = false, false -- who keeps a task keeps no others
end

-- Ends the task: tells its group, or fails the run where the group no longer waits.
local function settle(task)
  local run, group = task.run, task.group
  task.done = true
  if not task.background then run.alive = run.alive - 1 end
  unlink(task)
  if task.failed and (not group or group.gone) and not task.dismissed and not run.failure then run.failure = task end
  if run.outsider == task then run.outsider = false end
  if group then
    group.left = group.left - 1
    if task.failed and not task.dismissed and not group.failed then group.failed = task end
    if group.left < group.full or group.failed then wait.wake(group) end
  end
  wait.wake(task)
  if run.idle and (run.alive == 0 or run.failure) then wait.wake(run) end
end

-- Closes what the task leaves open: its coroutine's variables, then its streams. Returns as coroutine.close does.
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
  task.failed, task.err, task.traceback = true, err, same and origin.traceback or core.traceback(task.co)
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

local step

-- Resumes a task that yielded by itself, unless it was closed meanwhile or its run has failed.
local function go_on(task, ...)
  if not task.done and not task.run.failure then return step(task, ...) end
end

-- Handles the results of a resume but for a wait of Koine's: an error, the end, or a yield of the user's own, which
-- goes to the coroutine that resumed the run where that is possible; elsewhere it lets the others run.
local function settled(task, ok, ...)
  if not ok then return fail(task, (...)) end
  if status(task.co) == "dead" then
    task.results = table.pack(...)
    stop_waiting(task)
    return settle(task)
  end
  if task.cancelled then return unwind(task) end
  if not isyieldable() then return ready(task) end
  return go_on(task, yield(...))
end

-- The same for all results; `before` is the task that ran before.
local function back(task, before, ok, ...)
  wait.switch(before)
  if not rawequal((...), KOINE) then return settled(task, ok, ...) end
  if task.cancelled then unwind(task) end
end

-- Runs a task up to its next wait or its end. Its wait returns the further arguments.
function step(task, ...) return back(task, wait.switch(task), resume(task.co, ...)) end

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

--- As cancel, but drops the errors of its to-be-closed variables.
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

local DEEPEST = 1000 -- closing what is nested recurses in C

--- A new task of the run, ready to start: it calls f(…). `group` is told of its end, nil for none;
-- `depth` counts the tasks that wait for it, one around the other. Raises an ArgumentError when there are too many of
-- these, and for a run that is being closed.
function tasks.spawn(run, group, depth, f, ...)
  if run.over then core.raise_argument("task", "an open run", "a run that is being closed") end
  if depth > DEEPEST then core.raise_argument("task", "at most 1000 runs and groups around it", "more") end
  local task = setmetatable({ run = run, group = group, depth = depth, co = create(f), args = table.pack(...),
    results = false, err = false, traceback = false, token = false, timer = false, queued = false,
    following = false, older = false, newer = false, order = 0, after = false, before = false, answer = false,
    streams = false, done = true, failed = false, cancelled = false, doomed = false, dismissed = false,
    closing = false, origin = false, background = false }, task_mt)
  if group then group[#group + 1] = task end -- the last that takes memory, and may collect garbage
  if group then group.left = group.left + 1 end
  task.done, task.older, run.alive = false, run.newest, run.alive + 1
  if run.newest then run.newest.newer = task else run.oldest = task end
  run.newest = task
  ready(task)
  return task
end

--- The same for a task that its run does not wait for: it is cancelled when the others have ended.
function tasks.background(run, f, ...)
  local task = tasks.spawn(run, nil, 0, f, ...)
  task.background, run.alive = true, run.alive - 1
  return task
end

--- Raises an ArgumentError unless f is a function.
function tasks.check_function(field, f)
  if type(f) ~= "function" then errors.argument(field, "function", f) end
end

--- For runs. ready(task, woken): puts a task behind those that are ready to run. step(task, …): runs one that is, up to
-- its next wait or its end. stop_waiting(task): has it wait for nothing. unwind(task): ends a suspended task.
tasks.ready, tasks.step, tasks.stop_waiting, tasks.unwind = ready, step, stop_waiting, unwind

return tasks
