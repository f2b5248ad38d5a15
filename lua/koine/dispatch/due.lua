--- The threads that the next step of a dispatcher looks at, in the order in which they became due.

local wait = require "koine.task.wait"

local due = {}

--- Has the next step look at a thread. Takes no memory of its own.
function due.add(dispatcher, thread)
  if thread.due then return end
  dispatcher.due:push(thread)
  thread.due = true
end

--- Wakes the caller that waits to make the next step. A host may make it at once, so enter first what it has to find.
function due.wake(dispatcher) wait.wake(dispatcher) end

--- Has the next step look at every thread, after memory was short; wakes the caller that waits to make it.
function due.recover(dispatcher)
  dispatcher.trouble = dispatcher.trouble + 1
  due.wake(dispatcher)
end

--- How many there are.
function due.count(dispatcher) return dispatcher.due:count() end

--- The first one, taken out; nil when there is none.
function due.next(dispatcher)
  local thread = dispatcher.due:pop()
  if thread then thread.due = false end
  return thread
end

return due
