--- The side queue of a thread: calls of the host's hooks, one after the other, in the order they were issued.
-- A hook may wait (it talks to the chat platform); the turn does not wait for it. What a hook raises is counted, and
-- otherwise has no effect.

local due = require "koine.dispatch.due"
local fifo = require "koine.task.queue"

local side = {}

--- Whether a thread has calls that nobody makes yet.
function side.waits(thread)
  return thread.side ~= nil and not thread.draining and fifo.count(thread.side) > 0
end

--- How many calls wait, the one under way included.
function side.count(thread) return (thread.side and fifo.count(thread.side) or 0) + (thread.draining and 1 or 0) end

--- Enters a call of the hook of that name, if the host has one; the next step makes it.
function side.issue(dispatcher, thread, name, ...)
  local hook = dispatcher.hooks[name]
  if not hook then return end
  thread.side = thread.side or fifo.new()
  fifo.push(thread.side, table.pack(hook, ...))
  due.add(dispatcher, thread)
end

-- The calls of a thread are being made until this is closed, also when the coroutine is.
local function hold(dispatcher, thread)
  thread.draining = true
  return setmetatable({}, { __close = function()
    thread.draining = false
    if side.waits(thread) then due.add(dispatcher, thread) end
  end })
end

--- Makes the calls until none is left: the body of a coroutine.
function side.drain(dispatcher, thread)
  if not side.waits(thread) then return end
  local held <close> = hold(dispatcher, thread) -- luacheck: ignore held
  local call = fifo.pop(thread.side)
  while call do
    local ok = pcall(call[1], table.unpack(call, 2, call.n))
    if not ok then dispatcher.hook_errors = dispatcher.hook_errors + 1 end
    call = fifo.pop(thread.side)
  end
end

return side
