--- Mutexes: of several coroutines one works at a time, the others wait.

local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local wait = require "koine.task.wait"

local methods = {}
local metatable = { __index = methods, __name = "koine.mutex" }

-- Whether a caller that waits would stop the holder for ever: it blocks the thread, and the holder is a task, or
-- further up the stack.
local function stops(held) return not wait.suspends() and (wait.alone() or held.task and wait.task()) end

--- Waits until nobody holds it, and holds it: a value for <close>, which gives it back; or nil, err where a host
-- cancelled the caller, or where a caller that blocks would wait for ever (kind "timeout", code "lock"): in a
-- coroutine of the user's own in a task, or in a finalizer. A holder that calls it again in its task waits for ever.
function methods:hold()
  while self.held do
    if stops(self.held) then
      return nil, errors.new { kind = "timeout", code = "lock", retryable = false,
        message = "another operation is running, and cannot continue while this call blocks the thread" }
    end
    local _, err = wait.park(self.held)
    if err then return nil, err end
  end
  local token = { task = wait.task() }
  local gone = defer(function()
    self.held = false
    wait.wake(token)
  end)
  self.held = token
  return gone
end

--- A mutex that nobody holds.
return function() return setmetatable({ held = false }, metatable) end
