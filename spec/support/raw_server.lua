--- A server for specs that answers as it is told, whatever it is asked: one child process. It judges nothing, unlike
-- koine.testing, so that it can stand for any provider. A connection ends with its answer, unless that says
-- "connection: keep-alive".

local raw_server = {}

local SERVE = [[
local socket = require "socket"
local listener = assert(socket.bind("127.0.0.1", 0))
print((select(2, listener:getsockname())))
io.stdout:flush()
listener:settimeout(30)
local kept, count = { [listener] = 0 }, 0
for _, answer in ipairs { %s } do
  local peer, line
  repeat
    local list = {}
    for one in pairs(kept) do list[#list + 1] = one end
    peer = assert(socket.select(list, nil, 30)[1], "nobody asks")
    if peer == listener then
      count = count + 1
      kept[assert(listener:accept())] = count
    else
      line = peer:receive "*l"
      if not line then kept[peer] = nil end
    end
  until line
  local head, length = {}, 0
  repeat
    head[#head + 1] = line
    line = assert(peer:receive "*l")
    length = tonumber(line:lower():match "^content%%-length:%%s*(%%d+)") or length
  until line == ""
  local body = length > 0 and assert(peer:receive(length)) or ""
  print(head[1]:match "^%%S+ (%%S+)", (table.concat(head, "\n") .. "\n\n" .. body):gsub(".", function(c)
    return ("%%02x"):format(c:byte())
  end), #body, kept[peer])
  io.stdout:flush()
  peer:send(answer)
  if not answer:find "connection: keep%%-alive" then
    kept[peer] = nil
    peer:close()
  end
end
]]

local methods = {}
methods.__index = methods

--- Returns the requests, one for each answer: {target, head (text), body, connection = its number}. Waits until all
-- were given.
function methods:requests()
  local list = {}
  for line in self.child:lines() do
    local target, hex, size, connection = line:match "^(%S+)\t(%x*)\t(%d+)\t(%d+)$"
    local text = hex:gsub("%x%x", function(byte) return string.char(tonumber(byte, 16)) end)
    local at = #text - math.tointeger(tonumber(size))
    list[#list + 1] = { target = target, head = text:sub(1, at), body = text:sub(at + 1),
      connection = math.tointeger(tonumber(connection)) }
  end
  self.child:close()
  return list
end

--- An answer that keeps its connection, else as raw_server.answer.
function raw_server.kept(status, body, content_type)
  return ("HTTP/1.1 %d X\r\ncontent-type: %s\r\nconnection: keep-alive\r\ncontent-length: %d\r\n\r\n%s"):format(status,
    content_type or "application/json", #body, body)
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
