--- A port of this machine that was free a moment ago: nobody listens there.

local socket = require "socket"

return function()
  local listener = assert(socket.bind("127.0.0.1", 0))
  local _, port = listener:getsockname()
  listener:close()
  return math.tointeger(tonumber(port))
end
