--- A port of this machine without a listener. It stays taken, as long as this module is loaded: another process that
-- asks for a port gets another one, but a server that is told this one may listen there (it sets SO_REUSEADDR).

local socket = require "socket"

local taken = {}

return function()
  local holder = assert(socket.tcp4())
  assert(holder:setoption("reuseaddr", true))
  assert(holder:bind("127.0.0.1", 0)) -- without listen: a connection is refused
  taken[#taken + 1] = holder
  local _, port = holder:getsockname()
  return math.tointeger(tonumber(port))
end
