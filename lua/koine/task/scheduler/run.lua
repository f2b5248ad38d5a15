--- Runs: the tasks that koine.run has, and the loop that drives them. A run is {outer (the task around it), oldest,
-- newest (of the tasks that are left), alive (how many it waits for), outsider (one of these that waited for something
-- else than other tasks, or false), first, last (of those that are ready), timers, idle (it waits), doomed (tasks are
-- to be cancelled), over (it is being closed), failure (the task that failed)}.

local core = require "koine.core"
local errors = require "koine.data.errors"
local tasks = require "koine.task.scheduler.task"
local timers = require "koine.task.timers"
local wait = require "koine.task.wait"

local runs = {}

local is_outside, ready, step, stop_waiting, unwind = tasks.is_outside, tasks.ready, tasks.step, tasks.stop_waiting,
  tasks.unwind

local run_mt = { __name = "koine.run" }
tasks.inside[run_mt] = true

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

-- Steps of tasks for which the collector is told of a KiB more than they allocate. A thousand streams hold five times
-- as much outside of Lua as inside, and would leave as much garbage as they hold inside.
local STEPS_A_KIB = 4

-- Runs every task that is ready now, in order; those that become ready meanwhile have to wait for the next round.
local function round(run)
  if run.doomed then cancel_doomed(run) end
  local task, last, steps = run.first, run.last, 0
  while task do
    steps = steps + 1
    if task.token then stop_waiting(task) end -- memory was short for that when it was woken
    run.first, task.following = task.following, false
    if not run.first then run.last = false end
    if not task.done then
      task.queued = false
      local args = task.args
      if args then
        task.args = nil
        step(task, table.unpack(args, 1, args.n))
      else
        step(task, task.answer)
      end
    end
    if run.failure or task == last then break end
    task = run.first
  end
  if steps >= STEPS_A_KIB then core.tell_collector(steps // STEPS_A_KIB) end
end

-- Whether every task of the run, and of the runs within, waits for another one, for any length of time: nothing that
-- comes from outside would end that. A task that waits for anything else may be woken, e.g. by a signal's handler;
-- mostly it is the one that was found the last time. Tasks in the background do not count: no other waits for them.
local function is_ring(run)
  if run.first or run.outsider and is_outside(run.outsider) then return false end
  local first = run.timers:first()
  if first and not first.task.background then return false end
  local task = run.oldest
  while task do
    if not task.background then
      if task.timer then return false end
      if is_outside(task) then
        run.outsider = task
        return false
      end
      if rawequal(getmetatable(task.token), run_mt) and not is_ring(task.token) then return false end
    end
    task = task.newer
  end
  return true
end

-- Waits until a task is ready; when some are, only lets the engine and the host do the work that is ready.
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

-- Closes every task that is left, the oldest first, so that a task that waits for others closes them; one that is being
-- closed already, further up the stack, ends there. Raises an error of that, unless there is one already; an error from
-- before belonged to the caller, which does not go on if there is none.
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

--- Runs f(…) as a task, and whatever tasks it spawns, until all have ended: f's results. Raises the error of a task
-- that failed, after closing the others, and in plain Lua an ArgumentError when all wait for each other. Every
-- caller may call it; inside a task or a host's loop others go on meanwhile.
function runs.run(f, ...)
  tasks.check_function("f", f)
  local outer = wait.task()
  local run <close> = setmetatable({ outer = outer, oldest = false, newest = false, alive = 0, outsider = false,
    first = false, last = false, timers = timers.new(), idle = false, doomed = false, over = false,
    failure = false }, run_mt)
  local main = tasks.spawn(run, nil, outer and outer.depth + 1 or 0, f, ...)
  while run.alive > 0 and not run.failure do
    round(run)
    if run.alive > 0 and not run.failure then idle(run) end
  end
  local failed = run.failure
  if failed then error(explained(failed), 0) end
  return main:wait()
end

--- Starts f(…) as another task of the run: the task. It runs when the caller waits next. Raises an ArgumentError
-- outside of koine.run.
function runs.spawn(f, ...)
  tasks.check_function("f", f)
  local task = wait.task()
  if not task then core.raise_argument("spawn", "a call inside koine.run", "one outside") end
  return tasks.spawn(task.run, nil, 0, f, ...)
end

--- Starts f(…) as a task of the outermost run that the caller is in, which that run does not wait for: it is cancelled
-- when the others have ended. Returns the task; nil outside of koine.run, and where no such run goes on by itself.
function runs.background(f, ...)
  local task = wait.task()
  local run = task and task.run
  while run and run.outer do run = run.outer.run end
  if not run or run.over then return nil end
  return tasks.background(run, f, ...)
end

return runs
