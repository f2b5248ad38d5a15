--- Connections to servers that speak no HTTP: bytes and lines over TCP or a UNIX socket, with TLS or without.
--
--   local conn <close> = assert(connect.open { host = "localhost", port = 6379, timeout = 5 })
--   assert(conn:write "PING\r\n")
--   print(conn:line())
--
-- Names, certificates and the offline rule are those of HTTP; no proxy is used. One coroutine reads at a time, another
-- may write meanwhile. Adds what waits to the methods of the core's `koine.connection` userdata; __close and __gc are
-- C's. In a child made by fork the connection is its parent's, and must be left alone.

local core = require "koine.core"
local check = require "koine.data.check"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local wait = require "koine.task.wait"

local connect = {}
local methods = core.connection_methods
local take, take_line, put, waiting, ready, close = methods.take, methods.take_line, methods.put, methods.waiting,
  methods.ready, methods.close

local TIMEOUT = 30 -- seconds to connect

-- The reader of a connection; a second one would take half of the first one's bytes.
local reading = setmetatable({}, { __mode = "k" })

local function late(what, seconds)
  return nil, errors.new { kind = "timeout", code = what, message = ("nothing within %g s (%s)"):format(seconds, what) }
end

-- Calls poll(self, …) until it returns something else than false, or the time is over.
local function await(self, what, seconds, poll, ...)
  local deadline = seconds and wait.now() + seconds
  while true do
    local result, err = poll(self, ...)
    if result ~= false then return result, err end
    local left = deadline and deadline - wait.now()
    if left and left <= 0 then return late(what, seconds) end
    local _, cancelled = wait.park(self, left)
    if cancelled then return nil, cancelled end
  end
end

local release = { __close = function(guard) reading[guard.connection] = nil end }

local function read(self, seconds, poll, ...)
  local result, err = poll(self, ...)
  if result ~= false then return result, err end
  if reading[self] then
    core.raise(errors.new { kind = "argument", field = "connection", expected = "one reader at a time",
      message = "connection: already read by another coroutine" })
  end
  local _ <close> = setmetatable({ connection = self }, release)
  reading[self] = true
  return await(self, "read", seconds, poll, ...)
end

local SECONDS = check.seconds

local function check_seconds(seconds) return seconds and SECONDS(seconds, "seconds") end

local COUNT = check.integer(1)

--- Up to n bytes as soon as there are any; nil at the end. nil, err when the connection failed, with the kinds connect,
-- cancelled (it was closed) and, where nothing came for `seconds` (nil: no limit), timeout: reading may go on then.
-- Raises an ArgumentError, also while another coroutine reads.
function methods:read(n, seconds) return read(self, check_seconds(seconds), take, COUNT(n, "n")) end

--- The next line, without its LF and a CR before that; what is behind the last LF counts as one; nil at the end.
-- nil, err as read has it, and of kind limit for a line longer than line_max: the connection is of no use then.
function methods:line(seconds) return read(self, check_seconds(seconds), take_line) end

local function room(self)
  local bytes, full = waiting(self)
  if not bytes then return nil, full end
  return not full
end

local function written(self)
  local bytes, err = waiting(self)
  if not bytes then return nil, err end
  return bytes == 0
end

--- Queues the bytes, all of them, and waits while more than high_water bytes are queued: true. nil, err when the
-- connection failed; of kind timeout when that took longer than `seconds` (nil: no limit): the bytes are queued all the
-- same. Raises an ArgumentError.
function methods:write(bytes, seconds)
  seconds = check_seconds(seconds)
  local ok, err = put(self, check.string(bytes, "bytes"))
  if not ok then return nil, err end
  return await(self, "write", seconds, room)
end

--- Waits until all that was queued is on its way: true; nil, err as write has it.
function methods:flush(seconds) return await(self, "write", check_seconds(seconds), written) end

--- Ends the connection; what is queued is dropped. Any number of times. Who waits gets an error of kind cancelled.
function methods:close()
  close(self)
  wait.wake(self)
end

local PATH_MAX = 107 -- bytes of a UNIX socket's path, on Linux

local PATH = check.that(("path of at most %d bytes"):format(PATH_MAX), function(value)
  local fits = type(value) == "string" and value ~= "" and #value <= PATH_MAX and not value:find("\0", 1, true)
  return fits and value or nil
end)

local OPTIONS = check.options {
  host = check.called(check.text, "name or address of a host"), port = check.integer(1, 65535), path = PATH,
  tls = check.boolean, ca_file = check.path, timeout = check.default(check.seconds, TIMEOUT),
  high_water = check.integer(1), line_max = check.integer(1),
}

--- Connects: a connection with the methods above, or nil, err. Options:
--   host, port   where to; or
--   path         of a UNIX socket; `host` is then the name that a certificate must have (default: localhost)
--   tls          true: with TLS, whose certificate must be good for `host`
--   ca_file      the certificates to trust, a file; else the system's
--   timeout      seconds until the connection is there, TLS included; default 30; 0: no limit
--   high_water   bytes that write queues without waiting, default 256 KiB
--   line_max     bytes of a line, default 32 MiB
-- Errors: connect (offline: code "offline"; a certificate that is not good is not retryable), timeout, cancelled.
-- A task that is cancelled takes the connections along that it opened, but for those that are `shared` (true): they
-- belong to others, too, who close them. Raises an ArgumentError.
function connect.open(options, shared)
  local spec = OPTIONS(options)
  if not spec.path then
    if not spec.host then errors.argument("host", "name or address of a host", nil) end
    if not spec.port then errors.argument("port", "integer from 1 to 65535", nil) end
  end
  local made, err = core.connect(spec)
  if not made then return nil, err end
  local opening <close> = defer(function() close(made) end)
  local ok
  ok, err = await(made, "connect", nil, ready)
  if not ok then
    -- libcurl names a host and a port
    if spec.path and err.kind == "connect" and not spec.tls then err.message = "cannot connect to " .. spec.path end
    return nil, err
  end
  opening:cancel()
  if not shared then wait.adopt(made) end
  return made
end

return connect
