--- The processes of a connection: one for each session, or one for all. The first is started when the connection is
-- made, and goes to the first session.

local check = require "koine.data.check"
local errors = require "koine.data.errors"
local links = require "koine.protocol.acp.client.link"
local mutex = require "koine.task.mutex"
local servers = require "koine.protocol.acp.client.servers"

local pool = {}

local methods = {}
local metatable = { __index = methods }

local function closed() return errors.new { kind = "cancelled", message = "the connection was closed" } end

-- Starts a process.
local function open(self)
  if self.closed then return nil, closed() end
  local link, err = links.open(self.settings, self.settings.cwd, function(...) return self:tell(...) end)
  if not link then return nil, err end
  if self.closed then
    link:close()
    return nil, closed()
  end
  self.links[link] = true
  return link
end

--- Starts the first process: a link, or nil, err.
function methods:begin()
  local link, err = open(self)
  self.spare = link or false
  return link, err
end

-- The process that is free, where it lives; else a new one.
local function free(self)
  local spare = self.spare
  if spare and spare:poll() then return spare end
  if spare then spare:close() end
  self.spare = false
  for link in next, self.links do
    if link.closed then self.links[link] = nil end
  end
  return open(self)
end

--- A process for a session with these options (options.of_session): a link, or nil, err.
function methods:link_for(kept)
  local held <close>, busy = self.gate:hold() -- luacheck: ignore held
  if busy then return nil, busy end
  local link, err = free(self)
  if not link then return nil, err end
  self.spare = self.is_shared and link or false
  link:hide(servers.secrets(kept.mcp_servers))
  return link
end

--- Takes back a link that no session needs.
function methods:give_back(link)
  if self.closed or self.spare then
    if self.spare ~= link then link:close() end
  else
    self.spare = link
  end
end

--- Calls a function of the user's (nil: none) in the middle of the protocol, which goes on where it raises; `check`
-- raises that then. Returns true and its result, or false where it raised.
function methods:tell(f, ...)
  if not f then return true end
  local ok, result = pcall(f, ...)
  if ok then return true, result end
  if check.is_memory(result) then error(result, 0) end
  if not self.raised then self.raised = { err = result } end
  return false
end

--- Raises what a function of the user's raised; returns nothing.
function methods:check()
  local raised = self.raised
  self.raised = false
  if raised then error(raised.err, 0) end
end

--- Enters a session that lives.
function methods:remember(session) self.sessions[session] = true end

--- Forgets a session that was closed.
function methods:forget(session) self.sessions[session] = nil end

--- Ends all sessions and processes. Any number of times.
function methods:close()
  if self.closed then return end
  self.closed = true
  for session in next, self.sessions do session.state = "closed" end
  for link in next, self.links do
    if not link.closed then link.program:stop() end -- so that all end at once
  end
  for link in next, self.links do link:close() end
  self.links, self.sessions, self.spare = {}, {}, false
end

--- No process yet; `settings` are the options of connect.
function pool.new(settings)
  return setmetatable({ settings = settings, is_shared = settings.share, links = {}, sessions = {}, spare = false,
    closed = false, raised = false, gate = mutex() }, metatable)
end

return pool
