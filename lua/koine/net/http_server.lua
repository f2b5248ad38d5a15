--- An HTTP/1.1 server on libuv, for the loopback provider and for an executor's service: connections, requests, bytes
-- out. Every connection is one coroutine, so that the code above reads and writes as if it blocked. Knows nothing of
-- JSON, scripts or providers. A broken request is answered 400, 408, 413 or 431 and its connection closed.

local connection = require "koine.net.connection"
local core = require "koine.core"
local queue = require "koine.task.queue"
local uv = require "luv"

local http_server = {}

local MAX_HEAD = 256 * 1024
local MAX_BODY = 64 * 1024 * 1024
local MAX_DIGITS = 8 -- of a chunk's size

local REASONS = {
  [200] = "OK", [201] = "Created", [204] = "No Content", [400] = "Bad Request", [401] = "Unauthorized",
  [402] = "Payment Required", [403] = "Forbidden", [404] = "Not Found", [405] = "Method Not Allowed",
  [408] = "Request Timeout", [413] = "Content Too Large", [421] = "Misdirected Request",
  [422] = "Unprocessable Content", [429] = "Too Many Requests",
  [431] = "Request Header Fields Too Large", [500] = "Internal Server Error", [502] = "Bad Gateway",
  [503] = "Service Unavailable", [504] = "Gateway Timeout", [529] = "Overloaded",
}

local function chunked_body(conn)
  local parts, total = {}, 0
  while true do
    local line, status = conn:take_through("\r\n", 1024)
    if not line then
      return nil, status
    end
    local digits = line:match("^%x+")
    if not digits then
      return nil, 400
    elseif #digits > MAX_DIGITS then
      return nil, 413
    end
    local size = tonumber(digits, 16)
    total = total + size
    if total > MAX_BODY then
      return nil, 413
    end
    if size == 0 then
      break
    end
    local data = conn:take(size + 2)
    if not data then
      return nil
    elseif data:sub(-2) ~= "\r\n" then
      return nil, 400
    end
    parts[#parts + 1] = data:sub(1, -3)
  end
  local room = MAX_HEAD
  repeat -- trailers
    local line, status = conn:take_through("\r\n", room)
    if not line then
      return nil, status
    end
    room = room - #line
    if room < 0 then
      return nil, 431
    end
  until line == "\r\n"
  return table.concat(parts)
end

local function read_body(conn, headers)
  if (headers["expect"] or ""):lower() == "100-continue" then
    if not conn:send("HTTP/1.1 100 Continue\r\n\r\n") then
      return nil
    end
  end
  local coding = headers["transfer-encoding"]
  if coding then
    if coding:lower() ~= "chunked" or headers["content-length"] then
      return nil, 400
    end
    return chunked_body(conn)
  end
  local length = headers["content-length"] or "0"
  if not length:find("^%d+$") then
    return nil, 400
  end
  length = math.tointeger(tonumber(length)) or math.maxinteger
  if length > MAX_BODY then
    return nil, 413
  end
  return conn:take(length)
end

local function parse_headers(text)
  local lists, headers = {}, {}
  for line in text:gmatch("(.-)\r\n") do
    local name, value = line:match("^([%w!#$%%&'*+.^_`|~-]+):[ \t]*(.*)$")
    if line ~= "" and not name then
      return nil
    elseif name then
      name = name:lower()
      lists[name] = lists[name] or {}
      table.insert(lists[name], value:match("^.*[^ \t]") or "")
    end
  end
  for name, values in pairs(lists) do
    headers[name] = table.concat(values, ", ")
  end
  return headers
end

local function unescape(s)
  return (s:gsub("+", " "):gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

--- The fields of a query or a form, decoded.
function http_server.parse_query(text)
  local query = {}
  for name, value in (text or ""):gmatch("([^&=]+)=?([^&]*)") do
    query[unescape(name)] = unescape(value)
  end
  return query
end

--- Reads the body that belongs to a request: nil as read_request does. Reads no body of a peer that is not admitted.
local function add_body(conn, request)
  local bounds = conn.bounds
  if bounds then
    request.admitted = bounds.admits(request)
    if not request.admitted then
      request.body = ""
      return request
    end
    conn:leave()
    conn:expect(bounds.body)
  end
  local body, status = read_body(conn, request.headers)
  if not body then
    return nil, status
  end
  request.body = body
  return request
end

--- Reads one request: {method, target, path, query, version, headers, body, admitted}. nil when the peer closed before
-- it was whole; nil, status when it is not a request that can be served.
local function read_request(conn)
  if conn.bounds then
    conn:expect(conn.bounds.head)
  end
  local head, status = conn:take_through("\r\n\r\n", MAX_HEAD)
  if not head then
    return nil, status
  end
  local method, target, version = head:match("^([A-Z]+) (%S+) HTTP/(1%.[01])\r\n")
  local headers = method and parse_headers(head:match("\r\n(.*)$"))
  if not headers then
    return nil, 400
  end
  local path, query = target:match("^([^?]*)%??(.*)$")
  return add_body(conn, { method = method, target = target, path = path, query = http_server.parse_query(query),
                          version = version, headers = headers })
end

--- The status line and headers, ready to send. `headers` is an array of {name, value}.
function http_server.head(status, headers)
  local lines = { ("HTTP/1.1 %d %s"):format(status, REASONS[status] or "Status") }
  for _, header in ipairs(headers) do
    -- A line break in a scripted value would end the header: it becomes a space.
    lines[#lines + 1] = header[1] .. ": " .. tostring(header[2]):gsub("[\r\n]+", " ")
  end
  return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

--- True when the peer wants the connection kept after this request.
function http_server.keeps_alive(request)
  local wish = (request.headers["connection"] or ""):lower()
  if request.version == "1.0" then
    return wish:find("keep-alive", 1, true) ~= nil
  end
  return not wish:find("close", 1, true)
end

--- Adds a connection to the queue of those that are not admitted; resets the oldest when there are too many.
local function join(conn, waiting)
  conn.waiting_queue = waiting
  waiting:push(conn)
  if waiting:count() > conn.bounds.waiting then
    waiting:pop():reset()
  end
end

local function serve(conn, handler, waiting)
  if conn.bounds then
    join(conn, waiting)
  end
  while not conn.ended do
    local request, status = read_request(conn)
    conn:limit(nil)
    conn.served = conn.bounds ~= nil
    if not request then
      status = conn.late and 408 or status
      if status then
        conn:send(http_server.head(status, { { "content-length", 0 }, { "connection", "close" } }))
      end
      break
    end
    if not handler(conn, request) or conn.bounds then
      break
    end
  end
  conn:close()
end

-- Ends once what a listener began: nobody writes for it any more.
local function quiet()
  local ended = false
  core.begin_quiet() -- libuv writes with SIGPIPE, by which a peer that goes away would end the process
  return function()
    if ended then return end
    ended = true
    core.end_quiet()
  end
end

--- Listens at `port` (0: a free one) of `address` (nil: 127.0.0.1) and serves every connection with
-- handler(connection, request) → true to go on with the next request on it. Returns the port, and a function that stops
-- listening and resets the connections that are not at their end; raises when it cannot listen. The caller runs the
-- loop. Until it stops, SIGPIPE does not end the process. `bounds` (nil: none) is for servers that strangers can reach:
--   head, body   seconds until a request's head, and after it the body, has to be there; else it is answered 408
--   close        seconds for the peer to take its answer, from its first byte on, and to go after it; else it is reset
--   admits       function(request) → whether the peer is admitted, asked when the head is there. The server reads no
--                body of others: they reach the handler with an empty one
--   waiting      how many connections there may be that are not admitted; one more resets the oldest
-- With bounds each connection has one request.
function http_server.listen(handler, port, address, bounds)
  local server = uv.new_tcp()
  assert(server:bind(address or "127.0.0.1", port))
  local count, waiting, open = 0, queue.new(), setmetatable({}, { __mode = "k" })
  assert(server:listen(4096, function(err)
    if err then
      return
    end
    local tcp = uv.new_tcp()
    if not server:accept(tcp) then
      return tcp:close()
    end
    tcp:nodelay(true)
    count = count + 1
    open[connection.start(tcp, count, bounds, serve, handler, waiting)] = true
  end))
  local end_quiet = quiet()
  return server:getsockname().port, function()
    if not server:is_closing() then server:close() end
    for conn in next, open do
      if not conn.closing then conn:reset() end
    end
    end_quiet()
  end
end

return http_server
