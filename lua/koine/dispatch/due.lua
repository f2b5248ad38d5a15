--- The threads that the next step of a dispatcher looks at, in the order in which they became due.

local fifo = require "koine.task.queue"
local wait = require "koine.task.wait"

local due = {}

--- Has the next step look at a thread; wakes whoever waits to make it.
function due.add(dispatcher, thread)
  if thread.due then return end
  thread.due = true
  fifo.push(dispatcher.due, thread)
  wait.wake(dispatcher)
end

--- How many there are.
function due.count(dispatcher) return fifo.count(dispatcher.due) end

--- The first one, taken out.
function due.next(dispatcher)
  local thread = fifo.pop(dispatcher.due)
  thread.due = false
  return thread
end

return due
