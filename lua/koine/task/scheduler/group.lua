--- Groups: tasks that one task waits for, and that end with its wait. A group is an array of its tasks, with the fields
-- run, left (how many have not ended), full (the task that waits goes on when fewer than so many are left), failed (the
-- first that failed), gone (the task that waited has left).

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local runs = require "koine.task.scheduler.run"
local tasks = require "koine.task.scheduler.task"
local wait = require "koine.task.wait"

local groups = {}

local group_mt = {}
tasks.inside[group_mt] = true

local function new(run)
  return setmetatable({ run = run, left = 0, full = 1, failed = false, gone = false }, group_mt)
end

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

-- Waits until fewer than `full` of the group are left or one has failed (true), or the time is over (false). Raises
-- what a task of the group raised.
local function join(group, seconds)
  while group.left >= group.full and not group.failed do
    local woken, err = wait.park(group, seconds)
    if err then error(err, 0) end
    if woken == false then break end
  end
  local failed = group.failed
  if not failed then return group.left < group.full end
  wait.task().origin = failed
  error(failed.err, 0)
end

-- Runs the functions (an array of n), each as a task, at most `limit` at once: a table of the first result of each.
local function run_all(functions, n, limit)
  local task = here()
  if not task then return runs.run(run_all, functions, n, limit) end
  local group <close> = new(task.run)
  for i = 1, n do
    if group.left == limit then
      group.full = limit
      join(group)
    end
    tasks.spawn(task.run, group, task.depth + 1, functions[i])
  end
  group.full = 1
  join(group)
  local results = {}
  for i = 1, n do results[i] = group[i]:wait() end
  return results
end

local LIMIT = check.integer(1)

-- Raises for what is no function: often what it would return, or options behind functions.
local function check_member(field, f)
  if type(f) == "function" then return end
  local expected = "function (not its result)"
  if type(f) == "table" and f.limit ~= nil then expected = "function (or one table: {f, g, …, limit = n})" end
  errors.argument(field, expected, f)
end

-- The functions of {f, g, …, limit = n}, a new array, how many they are, and the limit.
local function checked(given)
  local functions = {}
  for name, value in next, given do
    if math.type(name) == "integer" then
      functions[name] = value
    elseif name ~= "limit" then
      core.raise_argument(tostring(name), "functions, and no field but limit", "an unknown field")
    end
  end
  if not check.is_list(functions) then
    core.raise_argument("functions", "array of functions", "a table with holes or other keys")
  end
  local n = #functions
  for i = 1, n do check_member(("functions[%d]"):format(i), functions[i]) end
  return functions, n, given.limit == nil and math.huge or LIMIT(given.limit, "limit")
end

--- Runs the functions at once, each as a task: the first result of each, in order. When one raises, the others are
-- cancelled and its error is raised (so wrap in assert what should count as a failure). Outside of koine.run, blocks.
-- Of one table {f, g, …, limit = n} it runs at most n at once (nil: all), in their order, and returns the results in a
-- table too, with their number as `n`; after an error the functions that were not started are not. Raises an
-- ArgumentError for what is no function, another field, and a limit that is no integer above 0.
function groups.gather(...)
  local n, given = select("#", ...), ...
  if n == 1 and type(given) == "table" then
    local functions, count, limit = checked(given)
    local results = run_all(functions, count, limit)
    results.n = count
    return results
  end
  for i = 1, n do check_member("function " .. i, (select(i, ...))) end
  return table.unpack(run_all({ ... }, n, n), 1, n)
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
