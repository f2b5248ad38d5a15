--- The coroutines that turns and hooks run in: tasks where a task of koine.run starts them, else coroutines of the
-- dispatcher's own, which its step resumes.
--
-- May call: loop, wait.

local loop = require "koine.loop"
local wait = require "koine.wait"

local coroutines = {}

local own = {}
own.__index = own

--- What a task's cancel does: closes the coroutine, unless it is running.
function own:cancel()
  if coroutine.status(self.co) == "suspended" then coroutine.close(self.co) end
end

--- Whether the caller is in a task's own coroutine, which Koine may suspend.
function coroutines.in_task()
  local task = wait.task()
  return task ~= nil and task:yields()
end

-- Resumes one, and keeps it in dispatcher.running unless it came to its end.
local function resume(dispatcher, one, ...)
  if coroutine.status(one.co) == "suspended" then assert(coroutine.resume(one.co, ...)) end
  if coroutine.status(one.co) == "dead" then return end
  dispatcher.running[#dispatcher.running + 1] = one
end

--- Starts f(dispatcher, what): a task, or a coroutine that runs at once and is kept in the array dispatcher.running
-- when it yields. Both have a method `cancel`.
function coroutines.start(dispatcher, f, what)
  if coroutines.in_task() then return loop.spawn(f, dispatcher, what) end
  local started = setmetatable({ co = coroutine.create(f) }, own)
  resume(dispatcher, started, dispatcher, what)
  return started
end

--- Resumes each of dispatcher.running once.
function coroutines.resume(dispatcher)
  local yielded = dispatcher.running
  dispatcher.running = {}
  for _, one in ipairs(yielded) do resume(dispatcher, one) end
end

return coroutines
