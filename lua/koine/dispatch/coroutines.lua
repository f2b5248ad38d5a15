--- The coroutines that turns and hooks run in: tasks where a task of koine.run starts them, else coroutines of the
-- dispatcher's own, which its step resumes. A dispatcher keeps two arrays of them: `launched`, those that perhaps have
-- not begun, and `running`, those of its own that yielded.

local scheduler = require "koine.task.scheduler"
local wait = require "koine.task.wait"

local coroutines = {}

local methods = {}
local metatable = { __index = methods }

--- Whether the caller is in a task's own coroutine, which Koine may suspend.
function coroutines.in_task() return wait.task() ~= nil and wait.suspends() end

-- Calls the function, which lowers `trouble` again once its work cannot be lost: where memory is short before that, the
-- next step looks for the work. A launch that did not get this far is made again.
local function begin(self)
  local dispatcher = self.dispatcher
  self.begun, dispatcher.trouble = true, dispatcher.trouble + 1
  self.f(dispatcher, self.what)
end

-- Resumes a coroutine of the dispatcher's own.
local function resume(self)
  if coroutine.status(self.co) == "suspended" then assert(coroutine.resume(self.co, self)) end
end

-- Enters it in the list before anything begins: where memory is short, `resume` launches it again.
local function launch(self)
  if coroutines.in_task() then
    local launched = self.dispatcher.launched
    if not self.listed then launched[#launched + 1] = self end
    self.listed = true
    self.task = scheduler.spawn(begin, self)
  else
    local running, co = self.dispatcher.running, coroutine.create(begin)
    running[#running + 1] = self
    self.co = co
    resume(self)
  end
end

local function is_launched(self) return not self.begun and not self.co end
local function is_alive(self) return coroutine.status(self.co) ~= "dead" end

-- Removes from a list all but those that `keep` accepts; keeps their order. Where memory is short, all stay.
local function sift(list, keep)
  local n, count = 0, #list
  for i = 1, count do
    local one = list[i]
    if keep(one) then
      n = n + 1
      list[i], list[n] = list[n], one
    end
  end
  for i = n + 1, count do list[i] = nil end
end

--- Whether one of dispatcher.running yielded.
function coroutines.waiting(dispatcher)
  sift(dispatcher.running, is_alive)
  return #dispatcher.running > 0
end

--- Closes the coroutine, once it has begun: its to-be-closed variables run, and their errors are dropped. One
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
-- f counts dispatcher.trouble down by one as soon as it holds what it works on.
function coroutines.start(dispatcher, f, what)
  local self = setmetatable({ dispatcher = dispatcher, f = f, what = what, begun = false, task = false,
    co = false, listed = false }, metatable)
  launch(self)
  return self
end

--- Launches once more what did not begin because the run of its task ended before. Then resumes once each of
-- dispatcher.running.
function coroutines.resume(dispatcher)
  local launched, running = dispatcher.launched, dispatcher.running
  sift(launched, is_launched)
  sift(running, is_alive)
  local count = #running
  for i = 1, #launched do
    local one = launched[i]
    if one and is_launched(one) and not (one.task and not one.task.done) then launch(one) end
  end
  for i = 1, count do
    local one = running[i] -- none where a step within has taken it out
    if one then resume(one) end
  end
end

return coroutines
