-- The value of a JSON text, as the core reads it; raises what is wrong with it.

local core = require "koine.core"

return function(text)
  local value, err = core.decode(text)
  if value == nil then error(text .. ": " .. tostring(err)) end
  return value
end
