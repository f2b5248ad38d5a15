--- A server for specs that answers as it is told, whatever it is asked: one child process, one connection per answer.
-- It judges nothing, unlike koine.testing, so that it can stand for any provider.

local raw_server = {}

local SERVE = [[
local socket = require "socket"
local listener = assert(socket.bind("127.0.0.1", 0))
print((select(2, listener:getsockname())))
io.stdout:flush()
listener:settimeout(30)
for _, answer in ipairs { %s } do
  local peer = assert(listener:accept())
  local head, length, line = {}, 0, nil
  repeat
    line = assert(peer:receive "*l")
    head[#head + 1] = line
    length = tonumber(line:lower():match "^content%%-length:%%s*(%%d+)") or length
  until line == ""
  local body = length > 0 and assert(peer:receive(length)) or ""
  print(head[1]:match "^%%S+ (%%S+)", (table.concat(head, "\n") .. "\n" .. body):gsub(".", function(c)
    return ("%%02x"):format(c:byte())
  end), #body)
  io.stdout:flush()
  peer:send(answer)
  peer:close()
end
]]

local methods = {}
methods.__index = methods

--- What was asked, one for each answer: {target, head (text), body}. Waits until all were given.
function methods:requests()
  local list = {}
  for line in self.child:lines() do
    local target, hex, size = line:match "^(%S+)\t(%x*)\t(%d+)$"
    local text = hex:gsub("%x%x", function(byte) return string.char(tonumber(byte, 16)) end)
    local at = #text - math.tointeger(tonumber(size))
    list[#list + 1] = { target = target, head = text:sub(1, at), body = text:sub(at + 1) }
  end
  self.child:close()
  return list
end

--- An answer as bytes: status, body (string), and its content type (JSON unless given). It ends with the connection.
function raw_server.answer(status, body, content_type)
  return ("HTTP/1.1 %d X\r\ncontent-type: %s\r\nconnection: close\r\n\r\n%s"):format(status,
    content_type or "application/json", body)
end

--- Starts a server that gives these answers (bytes), in turn: an object with url and requests().
function raw_server.start(...)
  local answers = {}
  for i, answer in ipairs { ... } do answers[i] = ("%q"):format(answer) end
  local name <const> = os.tmpname()
  local file = assert(io.open(name, "wb"))
  file:write(SERVE:format(table.concat(answers, ",")))
  file:close()
  local child = assert(io.popen((os.getenv "KOINE_LUA" or "lua5.4") .. " " .. name))
  local port = child:read "l"
  os.remove(name)
  return setmetatable({ child = child, url = "http://127.0.0.1:" .. port }, methods)
end

return raw_server
