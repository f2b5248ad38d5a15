--- The coroutines that turns and hooks run in: tasks where a task of koine.run starts them, else coroutines of the
-- dispatcher's own, which its step resumes. A dispatcher keeps two arrays of them: `launched`, those that perhaps have
-- not begun, and `running`, those of its own that yielded.

local loop = require "koine.task.scheduler"
local wait = require "koine.task.wait"

local coroutines = {}

local methods = {}
local metatable = { __index = methods }

--- Whether the caller is in a task's own coroutine, which Koine may suspend.
function coroutines.in_task() return wait.task() ~= nil and wait.suspends() end

-- Calls the function. A launch whose run ended before it got here is made again.
local function begin(self)
  self.begun = true
  self.f(self.dispatcher, self.what)
end

-- Resumes a coroutine of the dispatcher's own, and keeps it in dispatcher.running unless it came to its end.
local function resume(self)
  if coroutine.status(self.co) == "suspended" then assert(coroutine.resume(self.co, self)) end
  if coroutine.status(self.co) == "dead" then return end
  local running = self.dispatcher.running
  running[#running + 1] = self
end

local function launch(self)
  if coroutines.in_task() then
    local launched = self.dispatcher.launched
    launched[#launched + 1], self.task = self, loop.spawn(begin, self)
  else
    self.co = coroutine.create(begin)
    resume(self)
  end
end

--- Closes the coroutine, once it has begun: its to-be-closed variables run, and what they raise goes no further. One
-- that is running goes on: a task to its next wait, any other to its end.
function methods:cancel()
  if not self.begun then return end
  if self.task then
    self.task:dismiss()
  elseif coroutine.status(self.co) == "suspended" then
    coroutine.close(self.co)
  end
end

--- Starts f(dispatcher, what), as a task, or as a coroutine that runs at once: what it returns has a method `cancel`.
function coroutines.start(dispatcher, f, what)
  local self = setmetatable({ dispatcher = dispatcher, f = f, what = what, begun = false }, metatable)
  launch(self)
  return self
end

--- Starts again what never began, because the run of its task ended before; resumes each of dispatcher.running once.
function coroutines.resume(dispatcher)
  local launched, running = dispatcher.launched, dispatcher.running
  dispatcher.launched, dispatcher.running = {}, {}
  for _, one in ipairs(launched) do
    if not one.begun then
      if one.task.done then launch(one) else table.insert(dispatcher.launched, one) end
    end
  end
  for _, one in ipairs(running) do resume(one) end
end

return coroutines
