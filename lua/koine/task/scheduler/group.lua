--- Groups: tasks that one task waits for, and that end with its wait. A group is an array of its tasks, with the fields
-- run, left (how many have not ended), failed (the first that failed), gone (the task that waited has left).

local errors = require "koine.data.errors"
local runs = require "koine.task.scheduler.run"
local tasks = require "koine.task.scheduler.task"
local wait = require "koine.task.wait"

local groups = {}

local group_mt = {}
tasks.inside[group_mt] = true

local function new(run) return setmetatable({ run = run, left = 0, failed = false, gone = false }, group_mt) end

-- The task whose own coroutine is running, or nil.
local function here()
  local task = wait.task()
  return task and task:yields() and task or nil
end

-- Cancels what is left of a group. Raises an error of that, unless there is one already; an error from before
-- belonged to the caller, which is being closed if there is none.
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
function groups.gather(...)
  for i = 1, select("#", ...) do tasks.check_function("function " .. i, (select(i, ...))) end
  local task = here()
  if not task then return runs.run(groups.gather, ...) end
  local group <close> = new(task.run)
  local n = select("#", ...)
  for i = 1, n do tasks.spawn(task.run, group, task.depth + 1, (select(i, ...))) end
  join(group)
  local results = {}
  for i = 1, n do results[i] = group[i]:wait() end
  return table.unpack(results, 1, n)
end

--- Runs f(…) for at most `seconds`: its results, or nil, err (kind "timeout") after cancelling it. Raises what f
-- raises. Outside of koine.run, blocks.
function groups.timeout(seconds, f, ...)
  if type(seconds) ~= "number" or seconds ~= seconds then errors.argument("seconds", "number", seconds) end
  tasks.check_function("f", f)
  local task = here()
  if not task then return runs.run(groups.timeout, seconds, f, ...) end
  local group <close> = new(task.run)
  local child = tasks.spawn(task.run, group, task.depth + 1, f, ...)
  if join(group, seconds) then return child:wait() end
  return nil, errors.new { kind = "timeout", message = ("no result within %g s"):format(seconds) }
end

return groups
