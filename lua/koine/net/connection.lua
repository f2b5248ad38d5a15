--- A server's side of a connection, on libuv: bytes in and out, deadlines, the end. Its coroutine reads and writes as
-- if it blocked.

local core = require "koine.core"
local uv = require "luv"

local connection = {}

local methods = {}
local Connection = { __index = methods, __name = "koine.net.connection" }

local function resume(conn, ...)
  local ok, err = coroutine.resume(conn.task, ...)
  if not ok then
    io.stderr:write("koine.net: ", core.traceback(conn.task, tostring(err)), "\n")
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
  if self.served then
    self:limit(self.bounds.close)
  end
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

--- Lets the loop look at all sockets twice: it accepts the connections that came before this call, then reads what they
-- had sent. True, or nil, "closed".
function methods:wait_for_earlier()
  local idle, check, looks = uv.new_idle(), uv.new_check(), 0
  idle:start(function() end) -- so that the loop does not sleep
  local ok, err = wait(self, function(wake)
    check:start(function() -- first at the end of the look that called this
      looks = looks + 1
      if looks > 2 then wake(true) end
    end)
  end)
  idle:close()
  check:close()
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

--- From now on the peer has so many seconds; then `late` is called, or the connection is reset. nil: without
-- limit.
function methods:limit(seconds, late)
  if self.timer then
    self.timer:stop()
  end
  if seconds and not self.tcp:is_closing() then
    self.timer = self.timer or uv.new_timer()
    self.timer:start(math.ceil(seconds * 1000), 0, late or function() self:reset() end)
  end
end

--- Takes the connection out of the queue of those that the server has not admitted.
function methods:leave()
  if self.waiting_queue then
    self.waiting_queue:remove(self)
  end
end

--- Forgets a connection's socket, by a reset or in order.
local function drop(conn, by_reset)
  conn:leave()
  if conn.timer then
    conn.timer:close()
    conn.timer = nil
  end
  if conn.tcp:is_closing() then
    return
  elseif by_reset then
    conn.tcp:close_reset()
  else
    conn.tcp:close()
  end
end

--- Ends the connection with a TCP reset.
function methods:reset()
  self.ended = true
  drop(self, true)
end

--- Ends the connection in order: our side is shut, what the peer still sends is discarded, then the socket is closed.
function methods:close()
  if self.tcp:is_closing() or self.closing then
    return
  end
  self.closing = true
  local function finish() drop(self) end
  if self.ended then
    return finish()
  end
  if self.bounds then
    self:limit(self.bounds.close)
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
    if not conn.closing and not conn.served then
      conn.inbox[#conn.inbox + 1] = chunk
      if conn.on_data then
        conn.on_data()
      end
    end
    return
  end
  conn.ended = true
  if err then
    drop(conn)
  elseif conn.finish then
    conn.finish()
  end
  if conn.wake then
    conn.wake(nil, "closed")
  end
end

--- The next bytes that the peer sent, or nil when no more will come, or too late.
local function more(conn)
  while #conn.inbox == 0 do
    if conn.ended or conn.late then
      return nil
    end
    wait(conn, function(wake) conn.on_data = wake end)
    conn.on_data = nil
  end
  local all = table.concat(conn.inbox)
  conn.inbox = {}
  return all
end

--- Gives the peer so many seconds for what is being read; after that nothing more is.
function methods:expect(seconds)
  self:limit(seconds, function()
    self.late = true
    if self.on_data then
      self.on_data()
    end
  end)
end

--- Bytes up to and including `mark`, or nil, status when they grow past `max` (431) or the peer closed (no status).
function methods:take_through(mark, max)
  local _, last = self.buffer:find(mark, self.at, true)
  if last then
    local text = self.buffer:sub(self.at, last)
    self.at = last + 1
    return text
  end
  local chunk = self.buffer:sub(self.at)
  local parts, size, tail = { chunk }, #chunk, chunk:sub(1 - #mark) -- the mark may begin in the tail
  while size <= max do
    chunk = more(self)
    if not chunk then
      return nil
    end
    local seen = tail .. chunk
    _, last = seen:find(mark, 1, true)
    if last then
      parts[#parts + 1] = seen:sub(#tail + 1, last)
      self.buffer, self.at = seen, last + 1
      return table.concat(parts)
    end
    parts[#parts + 1], size, tail = chunk, size + #chunk, seen:sub(1 - #mark)
  end
  return nil, 431
end

--- Exactly n bytes, or nil when the peer closed before.
function methods:take(n)
  local have = #self.buffer - self.at + 1
  if have < n then
    local parts = { self.buffer:sub(self.at) }
    while have < n do
      local chunk = more(self)
      if not chunk then
        return nil
      end
      parts[#parts + 1] = chunk
      have = have + #chunk
    end
    self.buffer, self.at = table.concat(parts), 1
  end
  self.at = self.at + n
  return self.buffer:sub(self.at - n, self.at - 1)
end

--- Makes one of an accepted socket; `id` is its number, `bounds` those of http_server.listen or nil. Its coroutine
-- runs serve(connection, …) at once. Returns it.
function connection.start(tcp, id, bounds, serve, ...)
  local conn = setmetatable({ tcp = tcp, buffer = "", at = 1, inbox = {}, id = id, bounds = bounds }, Connection)
  conn.task = coroutine.create(serve)
  tcp:read_start(function(err, chunk) on_read(conn, err, chunk) end)
  resume(conn, conn, ...)
  return conn
end

return connection
