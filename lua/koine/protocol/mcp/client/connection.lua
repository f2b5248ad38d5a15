--- The connection that a client has to its server: starts it, agrees with it on an era, and starts it again after it
-- ended by itself, at most three times in a minute. It owns the transport. `known` is what is known of the server (see
-- handshake.lua), `options` are those of connect, `offered` our capabilities.

local check = require "koine.data.check"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local failure = require "koine.protocol.mcp.client.failure"
local handlers = require "koine.protocol.mcp.client.handlers"
local handshake = require "koine.protocol.mcp.client.handshake"
local inputs = require "koine.protocol.mcp.inputs"
local mutex = require "koine.task.mutex"
local programs = require "koine.protocol.mcp.transport.stdio"
local redact = require("koine.data.text").redact
local scheduler = require "koine.task.scheduler"
local wait = require "koine.task.wait"

local RESTARTS, WITHIN = 3, 60 -- so many in so many seconds

local methods = {}
local metatable = { __index = methods, __name = "koine.mcp.connection" }

-- Starting -----------------------------------------------------------------------------------------------------------

-- Options of a server, as its transport takes them.
local function pick(options, names)
  local picked = {}
  for _, name in ipairs(names) do picked[name] = options[name] end
  return picked
end

-- A transport to the server: or nil, err.
local function open(self)
  local options, made = self.options, handlers(self)
  if options.url then
    return require("koine.protocol.mcp.transport.http").open(pick(options,
      { "url", "headers", "token", "proxy", "ca_file", "transport" }), made)
  end
  return programs.open(pick(options, { "command", "args", "env", "cwd", "grace", "protect", "transport" }), made)
end

local function cannot_start(self, err)
  if err.kind == "cancelled" then return err end
  return failure.new(self, "connect", "cannot start: " .. redact(errors.words(err), self.options.secrets),
    err.code)
end

-- Asks a session for log messages, where it has them: a server that refuses sends what it likes.
local function set_log_level(self, transport, latest)
  local capabilities, level = self.known.capabilities, self.options.log_level
  if level and self.known.era == "legacy" and capabilities and capabilities.logging then
    transport:request("logging/setLevel", { level = level }, { timeout = math.max(latest - wait.now(), 0) })
  end
end

-- Starts the server, and agrees with it: a transport, or nil, err. `latest` is the time of the monotonic clock at which
-- the caller's patience ends (nil: that of a start alone does).
local function start(self, latest)
  local options = self.options
  latest = math.min(wait.now() + options.timeout.connect, latest or math.huge)
  local transport, err = open(self)
  if not transport then return nil, cannot_start(self, err) end
  local failing <close> = defer(function()
    self.opening = false
    transport:close(false, math.max(latest - wait.now(), 0))
  end)
  self.opening, self.in_session = transport, false
  local known
  known, err = handshake.begin(transport, { era = self.known.era or options.era, capabilities = self.offered,
    probe_timeout = options.probe_timeout, latest = latest,
    on_session = function() self.in_session = true end })
  if self.closed then return nil, self:closed_error() end
  if not known then return nil, failure.of(self, transport, "initialize", err) end
  failing:cancel()
  self.opening, self.transport = false, transport
  for field, value in next, known do self.known[field] = value end
  self.events.began(self.known)
  set_log_level(self, transport, latest)
  return transport
end

-- Whether a program may be started again now, which counts then.
local function may_start(self)
  local starts, now = self.starts, wait.now()
  while starts[1] and now - starts[1] > WITHIN do table.remove(starts, 1) end
  if #starts >= RESTARTS then return false end
  starts[#starts + 1] = now
  return true
end

-- Starts a server again that ended, or begins another session: a transport, or nil, err.
local function restart(self, old, latest)
  if old.kind == "stdio" and not may_start(self) then return nil, failure.ended(self, old) end
  old:close(true)
  self.events.restarted()
  return start(self, latest)
end

--- The error of a call to a client that was closed.
function methods:closed_error()
  return errors.new { kind = "cancelled", message = self.name .. ": the client was closed" }
end

-- The transport that takes the place of `old` (nil: there was none), which one caller starts for all, until `latest`
-- (nil: as `start`): or nil, err.
local function replace(self, old, latest)
  local held <close>, err = self.starting:hold() -- luacheck: ignore held
  if not held then return nil, err end
  if self.closed then return nil, self:closed_error() end
  local now = self.transport
  if now and now ~= old and now:is_alive() then return now end
  if not now then return start(self, latest) end
  return restart(self, now, latest)
end

--- The transport to ask the server on, which is started where it does not run, for at most `seconds` (nil: no limit but
-- that of a start): or nil, err, which is of kind timeout, code "total" where they are over.
function methods:get(seconds)
  if self.closed then return nil, self:closed_error() end
  local old = self.transport
  if old and old:is_alive() then return old end
  if not seconds then return replace(self, old) end
  local made, err = scheduler.timeout(seconds, replace, self, old, wait.now() + seconds)
  if not made and err.kind == "timeout" and not err.server then
    return nil, failure.new(self, "timeout", "the server did not start in time", err.code or "total")
  end
  return made, err
end

--- Ends the connection for ever, and waits until a program is gone. Returns nothing; any number of times.
function methods:close()
  self.closed = true
  local transport, opening = self.transport, self.opening
  if opening then opening:close() end
  if transport then transport:close() end
end

--- Whether messages can come by themselves that tell of changes: those of a program's session do.
function methods:tells_changes()
  return self.known.era == "legacy" and self.transport and self.transport.kind == "stdio"
end

-- Callbacks ----------------------------------------------------------------------------------------------------------

--- Calls a function of the user's (nil: none) in the middle of the protocol, which goes on where it raises; `check`
-- raises that then. Returns nothing.
function methods:tell(f, ...)
  if not f then return end
  local ok, err = pcall(f, ...)
  if ok then return end
  if check.is_memory(err) then error(err, 0) end
  if not self.raised then self.raised = { err = err } end
end

--- Tells of something that went wrong and fails no call: {code, field, message}. Returns nothing.
function methods:warn(warning) self:tell(self.options.on_warning, warning) end

--- Raises what a callback raised; returns nothing.
function methods:check()
  local raised = self.raised
  self.raised = false
  if raised then error(raised.err, 0) end
end

-- What answers the questions of the server.
local function inputs_of(self)
  local given = { server = self.name, warn = function(warning) self:warn(warning) end }
  for name in next, inputs.options do given[name] = self.options[name] end
  return inputs.new(given)
end

--- A connection with the options of connect, as options.lua checked them; nothing is started. Its `events` are
-- functions that are called when the server tells of something: changed(kind, params), acknowledged(params),
-- restarted(), and began(known).
return function(options)
  local self = setmetatable({ name = options.name, options = options, known = {}, transport = false, opening = false,
    closed = false, starting = mutex(), starts = {}, slots = { taken = 0, most = options.concurrency },
    in_session = false, raised = false, events = {} }, metatable)
  self.inputs = inputs_of(self)
  self.offered = self.inputs:capabilities()
  return self
end
