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

local groups = require "koine.task.scheduler.group"
local runs = require "koine.task.scheduler.run"
local wait = require "koine.task.wait"

--- run, spawn, background: see run.lua; gather, timeout: see group.lua; sleep(seconds): true, or nil, err when a
-- host cancelled the caller.
return { run = runs.run, spawn = runs.spawn, background = runs.background, gather = groups.gather,
  timeout = groups.timeout, sleep = wait.sleep }
