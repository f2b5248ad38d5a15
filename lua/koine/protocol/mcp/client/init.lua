--- The client of one server: what koine.mcp.connect returns. It owns the connection; closing it, or forgetting it, ends
-- a server that is a program of ours.

local check = require "koine.data.check"
local failure = require "koine.protocol.mcp.client.failure"
local link = require "koine.protocol.mcp.client.link"
local mutex = require "koine.task.mutex"
local options_of = require "koine.protocol.mcp.client.options"
local pages = require "koine.protocol.mcp.client.pages"
local send = require "koine.protocol.mcp.client.send"

local client = {}

local methods = {}
local metatable = { __index = methods, __name = "koine.mcp.client", __close = function(self) self:close() end }

-- For the other files of this folder ---------------------------------------------------------------------------------

-- Calls a function of the user's in the middle of the protocol; see check.
local function tell(self, f, ...)
  if not f then return end
  local ok, err = pcall(f, ...)
  if not ok and not self.raised then self.raised = { err = err } end
end

--- Raises what a function of the user's raised that was called in the middle of the protocol; returns nothing.
function methods:check()
  local raised = self.raised
  self.raised = false
  if raised then error(raised.err, 0) end
end

--- Tells on_log a line, and of a log message of the protocol its params; returns nothing.
function methods:log(line, message) tell(self, self.options.on_log, line, message) end

--- Tells on_change of something that changed at the server; returns nothing.
function methods:changed(kind, params) tell(self, self.options.on_change, kind, params.uri) end

--- Hears which changes the server will tell; returns nothing.
function methods.acknowledged() end

--- Forgets what was kept of the server's lists; returns nothing.
function methods.forget_all() end

-- The time limits of a request, in seconds.
local function limits(self)
  local times = self.options.timeout
  return { timeout = times.total, idle = times.idle }
end

--- The tools of the server as it lists them, or nil, err: for the room of tools.
function methods:listed_tools() return pages.read(self, "tools/list", "tools", limits(self)) end

-- For users ----------------------------------------------------------------------------------------------------------

local CALL = check.options { timeout = check.time_limit, idle = check.time_limit, on_progress = check.func,
  traceparent = check.text }

--- Calls a tool: {content (array of items as they came), structured, is_error, meta}, or nil, err. `arguments` is a
-- table or nil. Options: timeout and idle (seconds), on_progress, traceparent. Raises an ArgumentError.
function methods:call(name, arguments, opts)
  check.name(name, "name")
  local kept = CALL(opts or {})
  local times = self.options.timeout
  kept.timeout, kept.idle, kept.name = kept.timeout or times.total, kept.idle or times.idle, name
  local result, err = send.request(self, "tools/call", { name = name, arguments = arguments or {} }, kept)
  if not result then return nil, err end
  return { content = result.content, structured = result.structuredContent, is_error = result.isError == true,
    meta = result._meta }
end

--- Ends the connection.
function methods:close()
  if not self.closed then link.close(self) end
end

function metatable.__tostring(self)
  local state = self.closed and "closed" or self.version and ("%s %s"):format(self.era, self.version) or "not connected"
  return ("%s (%s, %s)"):format(metatable.__name, self.name, state)
end

--- Connects: a client, or nil, err.
function client.connect(given)
  local options = options_of(given)
  local self = setmetatable({ name = options.name, options = options, transport = false, opening = false,
    closed = false, starting = mutex(), starts = {}, slots = { taken = 0, most = options.concurrency }, raised = false,
    offered = {}, inputs = false }, metatable)
  local transport, err = link.get(self)
  if not transport then return nil, err end
  self:check()
  return self
end

--- The words of an error of a call for a model.
client.for_model = failure.for_model

return client
