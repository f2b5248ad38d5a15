-- file_server.lua DIR: serves the files of a directory on the loopback interface, prints its port, and ends when its
-- standard input does. For tests of installing: LuaRocks fetches from it.
local socket = require "socket"

local dir = assert(arg[1])
local server = assert(socket.bind("127.0.0.1", 0))
local _, port = server:getsockname()
print(port)
io.stdout:flush()

-- The bytes of the file that a path names, or nil.
local function read(path)
  if path:find("..", 1, true) then return nil end
  local f = io.open(dir .. path, "rb")
  local bytes = f and f:read "a"
  if f then f:close() end
  return bytes
end

while true do
  local client = assert(server:accept())
  client:settimeout(10)
  local method, path = (client:receive "*l" or ""):match "^(%u+) (/%S*)"
  repeat local line = client:receive "*l" until not line or line == ""
  local bytes = path and read(path)
  client:send(("HTTP/1.0 %s\r\nContent-Length: %d\r\n\r\n"):format(bytes and "200 OK" or "404 Not Found",
    bytes and #bytes or 0))
  if bytes and method ~= "HEAD" then client:send(bytes) end
  client:close()
end
