--- A small HTTP/1.1 server on libuv, for the loopback provider and executors: connections, requests, bytes out.
-- Every connection is one coroutine, so that the code above reads and writes as if it blocked. Knows nothing of JSON,
-- scripts or providers. A broken request is answered 400, 413 or 431 and its connection closed.

local uv = require "luv"

local http = {}

local MAX_HEAD = 256 * 1024
local MAX_BODY = 64 * 1024 * 1024

local REASONS = {
  [200] = "OK", [201] = "Created", [204] = "No Content", [400] = "Bad Request", [401] = "Unauthorized",
  [402] = "Payment Required", [403] = "Forbidden", [404] = "Not Found", [405] = "Method Not Allowed",
  [408] = "Request Timeout", [413] = "Content Too Large", [421] = "Misdirected Request",
  [422] = "Unprocessable Content", [429] = "Too Many Requests",
  [431] = "Request Header Fields Too Large", [500] = "Internal Server Error", [502] = "Bad Gateway",
  [503] = "Service Unavailable", [504] = "Gateway Timeout", [529] = "Overloaded",
}

local methods = {}
local Connection = { __index = methods, __name = "koine.net.connection" }

local function resume(conn, ...)
  local ok, err = coroutine.resume(conn.task, ...)
  if not ok then
    io.stderr:write("koine.testing: ", debug.traceback(conn.task, tostring(err)), "\n")
    conn:reset()
  end
end

--- Suspends the connection's task. `start(wake)` begins what is waited for; wake(...) resumes once with its arguments.
-- When the peer goes away meanwhile, returns nil, "closed".
local function wait(conn, start)
  if conn.ended then
    return nil, "closed"
  end
  local waiting = {} -- a late callback of an earlier wait must not end this one
  local function wake(...)
    if conn.waiting == waiting then
      conn.waiting = nil
      resume(conn, ...)
    end
  end
  conn.waiting, conn.wake = waiting, wake
  start(wake)
  return coroutine.yield()
end

--- Sends bytes. True once the kernel took them; nil, "closed" when the peer went away.
function methods:send(bytes)
  return wait(self, function(wake)
    self.tcp:write(bytes, function(err)
      if err then
        wake(nil, "closed")
      else
        wake(true)
      end
    end)
  end)
end

--- Lets ms milliseconds pass. True, or nil, "closed".
function methods:pause(ms)
  local timer = uv.new_timer()
  local ok, err = wait(self, function(wake)
    timer:start(ms, 0, function() wake(true) end)
  end)
  timer:stop()
  timer:close()
  return ok, err
end

--- Where this connection's server is reached; nil when the connection is gone.
function methods:url()
  local name = self.tcp:getsockname()
  return name and "http://127.0.0.1:" .. name.port
end

--- Does nothing until the peer closes. Returns nil, "closed".
function methods:hang()
  return wait(self, function() end)
end

--- Ends the connection with a TCP reset.
function methods:reset()
  self.ended = true
  if not self.tcp:is_closing() then
    self.tcp:close_reset()
  end
end

--- Ends the connection in order: our side is shut, what the peer still sends is discarded, then the socket is closed.
function methods:close()
  if self.tcp:is_closing() or self.closing then
    return
  end
  self.closing = true
  local function finish()
    if not self.tcp:is_closing() then
      self.tcp:close()
    end
  end
  if self.ended then
    return finish()
  end
  self.finish = finish
  self.tcp:shutdown(function(err)
    if err then
      finish()
    end
  end)
end

local function on_read(conn, err, chunk)
  if chunk then
    if not conn.closing then
      conn.inbox[#conn.inbox + 1] = chunk
      if conn.on_data then
        conn.on_data()
      end
    end
    return
  end
  conn.ended = true
  if err and not conn.tcp:is_closing() then
    conn.tcp:close()
  elseif conn.finish then
    conn.finish()
  end
  if conn.wake then
    conn.wake(nil, "closed")
  end
end

--- The next bytes that the peer sent, or nil when no more will come.
local function more(conn)
  while #conn.inbox == 0 do
    if conn.ended then
      return nil
    end
    wait(conn, function(wake) conn.on_data = wake end)
    conn.on_data = nil
  end
  return table.remove(conn.inbox, 1)
end

--- Bytes up to and including `mark`, or nil, status when they grow past `max` (431) or the peer closed (no status).
local function take_through(conn, mark, max)
  while true do
    local _, last = conn.buffer:find(mark, 1, true)
    if last then
      local text = conn.buffer:sub(1, last)
      conn.buffer = conn.buffer:sub(last + 1)
      return text
    end
    if #conn.buffer > max then
      return nil, 431
    end
    local chunk = more(conn)
    if not chunk then
      return nil
    end
    conn.buffer = conn.buffer .. chunk
  end
end

--- Exactly n bytes, or nil when the peer closed before.
local function take(conn, n)
  local parts, have = { conn.buffer }, #conn.buffer
  while have < n do
    local chunk = more(conn)
    if not chunk then
      return nil
    end
    parts[#parts + 1] = chunk
    have = have + #chunk
  end
  local all = table.concat(parts)
  conn.buffer = all:sub(n + 1)
  return all:sub(1, n)
end

local function chunked_body(conn)
  local parts, total = {}, 0
  while true do
    local line, status = take_through(conn, "\r\n", 1024)
    if not line then
      return nil, status
    end
    local size = tonumber(line:match("^%x+") or "", 16)
    if not size then
      return nil, 400
    end
    total = total + size
    if total > MAX_BODY then
      return nil, 413
    end
    if size == 0 then
      break
    end
    local data = take(conn, size + 2)
    if not data then
      return nil
    elseif data:sub(-2) ~= "\r\n" then
      return nil, 400
    end
    parts[#parts + 1] = data:sub(1, -3)
  end
  repeat -- trailers
    local line, status = take_through(conn, "\r\n", MAX_HEAD)
    if not line then
      return nil, status
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
  return take(conn, length)
end

local function parse_headers(text)
  local headers = {}
  for line in text:gmatch("(.-)\r\n") do
    local name, value = line:match("^([%w!#$%%&'*+.^_`|~-]+):[ \t]*(.-)[ \t]*$")
    if line ~= "" and not name then
      return nil
    elseif name then
      name = name:lower()
      headers[name] = headers[name] and headers[name] .. ", " .. value or value
    end
  end
  return headers
end

local function unescape(s)
  return (s:gsub("+", " "):gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

--- The fields of a query or a form, decoded.
function http.parse_query(text)
  local query = {}
  for name, value in (text or ""):gmatch("([^&=]+)=?([^&]*)") do
    query[unescape(name)] = unescape(value)
  end
  return query
end

--- Reads one request: {method, target, path, query, version, headers, body}. nil when the peer closed before it was
-- whole; nil, status when it is not a request that can be served.
local function read_request(conn)
  local head, status = take_through(conn, "\r\n\r\n", MAX_HEAD)
  if not head then
    return nil, status
  end
  local method, target, version = head:match("^([A-Z]+) (%S+) HTTP/(1%.[01])\r\n")
  local headers = method and parse_headers(head:match("\r\n(.*)$"))
  if not headers then
    return nil, 400
  end
  local body
  body, status = read_body(conn, headers)
  if not body then
    return nil, status
  end
  local path, query = target:match("^([^?]*)%??(.*)$")
  return { method = method, target = target, path = path, query = http.parse_query(query), version = version,
           headers = headers, body = body }
end

--- The status line and headers, ready to send. `headers` is an array of {name, value}.
function http.head(status, headers)
  local lines = { ("HTTP/1.1 %d %s"):format(status, REASONS[status] or "Status") }
  for _, header in ipairs(headers) do
    -- A line break in a scripted value would end the header: it becomes a space.
    lines[#lines + 1] = header[1] .. ": " .. tostring(header[2]):gsub("[\r\n]+", " ")
  end
  return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

--- True when the peer wants the connection kept after this request.
function http.keeps_alive(request)
  local wish = (request.headers["connection"] or ""):lower()
  if request.version == "1.0" then
    return wish:find("keep-alive", 1, true) ~= nil
  end
  return not wish:find("close", 1, true)
end

local function serve(conn, handler)
  while not conn.ended do
    local request, status = read_request(conn)
    if not request then
      if status then
        conn:send(http.head(status, { { "content-length", 0 }, { "connection", "close" } }))
      end
      break
    end
    if not handler(conn, request) then
      break
    end
  end
  conn:close()
end

--- Listens at `port` (0: a free one) of `address` (nil: 127.0.0.1) and serves every connection with
-- handler(connection, request) → true to go on with the next request on it. Returns the port; raises when it cannot
-- listen. The caller runs the loop.
function http.listen(handler, port, address)
  local server = uv.new_tcp()
  assert(server:bind(address or "127.0.0.1", port))
  local count = 0
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
    local conn = setmetatable({ tcp = tcp, buffer = "", inbox = {}, id = count }, Connection)
    conn.task = coroutine.create(serve)
    tcp:read_start(function(read_err, chunk) on_read(conn, read_err, chunk) end)
    resume(conn, conn, handler)
  end))
  return server:getsockname().port
end

return http
