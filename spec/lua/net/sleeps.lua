--- Sleeps that are written down instead of slept.

local wait = require "koine.task.wait"

local sleeps = {}

local park = wait.park

--- From now on a wait for a time alone ends at once; returns the array that its seconds are written to. Other waits,
-- for the engine, are as always.
function sleeps.record()
  local slept = {}
  wait.park = function(token, seconds)
    if type(token) ~= "table" then return park(token, seconds) end
    slept[#slept + 1] = seconds
    return false
  end
  return slept
end

--- Sleeps take their time again.
function sleeps.restore() wait.park = park end

return sleeps
