--- The hook calls of a thread: calls of the host's hooks, one after the other, in the order they were issued.
-- A hook may wait (it talks to the chat platform); the turn does not wait for it. What a hook raises is counted, the
-- last of it is kept for stats, and otherwise it has no effect.

local defer = require "koine.task.defer"
local due = require "koine.dispatch.due"
local queue = require "koine.task.queue"

local hooks = {}

--- Whether a thread has calls waiting and no coroutine that makes them.
function hooks.waits(thread)
  return thread.hooks ~= nil and not thread.draining and thread.hooks:count() > 0
end

--- How many calls wait, the one under way included.
function hooks.count(thread) return thread.hooks and thread.hooks:count() or 0 end

--- Enters a call of the hook of that name, if the host has one; the next step makes it. The caller wakes the
-- dispatcher.
function hooks.issue(dispatcher, thread, name, ...)
  local hook = dispatcher.hooks[name]
  if not hook then return end
  local call = table.pack(hook, ...)
  call.begun = false
  thread.hooks = thread.hooks or queue.new()
  due.add(dispatcher, thread)
  thread.hooks:push(call)
end

-- The calls of a thread are being made until this is closed, also when the coroutine is. The first one stays in the
-- queue until it has ended.
local function hold(dispatcher, thread)
  local held = defer(function()
    thread.draining = false
    local first = thread.hooks:peek()
    if first and first.begun then thread.hooks:pop() end
    if not hooks.waits(thread) then return end
    if pcall(due.add, dispatcher, thread) then due.wake(dispatcher) else due.recover(dispatcher) end
  end)
  thread.draining = true
  return held
end

--- Counts what a hook, or a method of the target that does not wait, raised.
function hooks.count_error(dispatcher, raised)
  dispatcher.hook_errors, dispatcher.hook_error = dispatcher.hook_errors + 1, raised
end

local function make(call)
  call.begun = true
  call[1](table.unpack(call, 2, call.n))
end

--- Makes the calls until none is left: the body of a coroutine.
function hooks.drain(dispatcher, thread)
  local held <close> = hooks.waits(thread) and hold(dispatcher, thread) or nil
  dispatcher.trouble = dispatcher.trouble - 1 -- from here on the calls are not lost
  if not held then return end
  local call = thread.hooks:peek()
  while call do
    local ok, raised = pcall(make, call)
    if not ok then hooks.count_error(dispatcher, raised) end
    thread.hooks:pop()
    call = thread.hooks:peek()
  end
end

return hooks
