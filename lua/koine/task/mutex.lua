--- Mutexes: of several coroutines one works at a time, the others wait.

local defer = require "koine.task.defer"
local wait = require "koine.task.wait"

local methods = {}
local metatable = { __index = methods, __name = "koine.mutex" }

--- Waits until nobody holds it, and holds it: a value for <close>, which gives it back; or nil, err where a host
-- cancelled the caller. A holder that calls it again waits for ever.
function methods:hold()
  while self.held do
    local _, err = wait.park(self.held)
    if err then return nil, err end
  end
  local token = {}
  local gone = defer(function()
    self.held = false
    wait.wake(token)
  end)
  self.held = token
  return gone
end

--- A mutex that nobody holds.
return function() return setmetatable({ held = false }, metatable) end
