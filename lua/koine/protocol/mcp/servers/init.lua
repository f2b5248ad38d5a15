--- Many servers, from a configuration: koine.mcp.load reads it and starts nothing, `start` starts all of them at once.
-- The group owns the clients that it makes: closing it closes them. A server that fails is in `failed`, and never makes
-- the whole fail. Between the group's methods, servers that are not ready yet make no progress in plain Lua.

local check = require "koine.data.check"
local config = require "koine.protocol.mcp.servers.config"
local core = require "koine.core"
local errors = require "koine.data.errors"
local gather = require "koine.protocol.mcp.servers.gather"
local getenv = require "koine.data.host.getenv"
local observer = require "koine.data.observer"
local scheduler = require "koine.task.scheduler"
local shared_run = require "koine.task.shared_run"
local start = require "koine.protocol.mcp.servers.start"
local wait = require "koine.task.wait"

local servers = {}

local START, JOIN = 10, 60 -- seconds

local methods = {}
local metatable = { __index = methods, __name = "koine.mcp.servers", __close = function(self) self:close() end }

local OPTIONS = check.options { start_timeout = check.default(check.time_limit, START),
  join_timeout = check.default(check.time_limit, JOIN), each = check.func, on_warning = check.func,
  observer = observer.option,
  variables = check.default(check.secret(check.map(check.secret(check.string))), function() return {} end) }
local TOOLS = check.options { prefix = check.default(check.boolean, true), search = check.boolean }

-- Starting -----------------------------------------------------------------------------------------------------------

local function closed()
  return nil, errors.new { kind = "cancelled", retryable = false, message = "the group of servers was closed" }
end

--- Starts all servers that do not run, at once, also those that failed before, and waits until each runs or has failed,
-- for at most `start_timeout`: true; or nil, err of kind cancelled, where a host cancelled the caller or the group was
-- closed. Who is late is in `failed` meanwhile, and joins until `join_timeout` is over.
function methods:start()
  if self.closed then return closed() end
  start.begin(self)
  self.token = {}
  local token = { deadline = wait.now() + self.start_timeout }
  self.token = token
  local _, err = self.shared:await(token, function() return next(self.starting) == nil end)
  if err then return nil, err end
  start.note_late(self)
  return true
end

-- Lets those join who are ready by now.
local function let_join(self)
  if next(self.starting) == nil then return end
  self.shared:turn()
  wait.park({}, 0)
  self.shared:turn()
end

-- Using --------------------------------------------------------------------------------------------------------------

-- The tools of one client, or nil, err, whatever goes wrong.
local function tools_of(self, entry, client, opts)
  if client.capabilities and not client.capabilities.tools then return {} end
  local ran, made, err = pcall(scheduler.timeout, self.start_timeout, client.tools, client,
    { prefix = opts.prefix and entry.name, search = opts.search, only = entry.only, except = entry.except })
  if check.is_memory(made) then error(made, 0) end
  if ran then return made, err end
  if errors.is_error(made) then return nil, made end
  return nil, errors.new { kind = "other", message = entry.name .. ": " .. errors.words(made) }
end

-- Asks all clients at once: an array of {server, tools}, in the order of the names; or nil, err.
local function list_all(self, opts)
  local listed, left, token = {}, 0, {}
  for i, entry in ipairs(self.entries) do
    local client = self.clients[entry.name]
    listed[i] = { server = entry.name, tools = {} }
    if client then
      left = left + 1
      self.shared:spawn(function()
        local made, err = tools_of(self, entry, client, opts)
        listed[i].tools, self.failed[entry.name] = made or {}, err
        left = left - 1
        self.shared:wake(token)
      end)
    end
  end
  local _, err = self.shared:await(token, function() return left == 0 end)
  if err then return nil, err end
  return listed
end

--- The tools of all servers that run, as an array of koine.tool: servers by name, each in its own order; or nil, err of
-- kind cancelled. A server that does not list its tools within `start_timeout` is in `failed`, and has none. `opts`
-- (nil: none): prefix = whether the names begin with the server's, true; where they do not, the second of two tools
-- with one name gets a hash; search = true: for each server two tools, which search and call its own. Raises an
-- ArgumentError.
function methods:tools(opts)
  local kept = TOOLS(opts or {})
  if self.closed then return closed() end
  let_join(self)
  local listed, err = list_all(self, kept)
  if not listed then return nil, err end
  return gather(listed, self.names, kept.prefix)
end

--- The client of the server with that name, or nil, err: why it does not run. Raises an ArgumentError for a name that
-- the configuration does not have.
function methods:client(name)
  if not self.by_name[name] then check.unknown("server", name, self.by_name, "name") end
  let_join(self)
  if self.clients[name] then return self.clients[name] end
  return nil, self.failed[name] or errors.new { kind = "other", code = "not_started", retryable = false,
    message = name .. ": not started" }
end

-- The end ------------------------------------------------------------------------------------------------------------

-- Closes the clients, all at once; those that are left where that breaks off, one after the other.
local function close_all(self)
  local open, token = {}, {}
  for name, client in next, self.clients do
    open[name] = client
    self.shared:spawn(function()
      pcall(client.close, client)
      open[name] = nil
      self.shared:wake(token)
    end)
  end
  self.shared:await(token, function() return next(open) == nil end)
  for _, client in next, open do pcall(client.close, client) end
end

--- Closes all clients, and ends servers that are starting; waits until their programs are gone. Returns nothing; any
-- number of times.
function methods:close()
  if self.closed then return end
  self.closed = true
  start.give_up(self)
  close_all(self)
  self.shared:close()
end

local function count(map)
  local n = 0
  for _ in next, map do n = n + 1 end
  return n
end

function metatable:__tostring()
  return ("%s (%s, %d of %d running)"):format(metatable.__name, core.error_line(self.path), count(self.clients),
    #self.entries)
end

-- The options of an entry as `each` wants them; what names the server stays.
local function adjust(each, entry)
  local made = each(entry.name, entry.options)
  if made ~= nil and type(made) ~= "table" then errors.argument("each", "a table or nothing returned", made) end
  entry.options = made or entry.options
  entry.options.name = entry.name
end

--- Reads a configuration (JSON, see config.lua), and starts nothing: a group of servers, or nil, err where the file
-- cannot be read or is no such configuration. Its fields: failed {name = err}, clients {name = client}, names (array,
-- sorted), warnings (array of {code, field, message}). `opts` (nil: none):
--   start_timeout  seconds that `start` waits, 10
--   join_timeout   seconds after which a server that is not ready has failed, 60
--   observer       function of one record, or object with a method record: is told of all requests
--   variables      {NAME = value}: for ${NAME}, before the environment
--   on_warning     function(warning), called here with each of `warnings`, and later with those of the servers whose
--                  options have no function of their own
--   each           function(name, options) → options of koine.mcp.connect, nil for those it was given, which it may
--                  change: approval, pins, on_log and whatever else no file says
-- Raises an ArgumentError, and what `each` and on_warning raise.
function servers.load(path, opts)
  check.path(path, "path")
  local kept = OPTIONS(opts or {})
  local entries, warnings = config.read(path, function(name) return kept.variables[name] or getenv(name) end)
  if not entries then return nil, warnings end
  local self = setmetatable({ path = path, entries = entries, warnings = warnings, names = {}, by_name = {},
    clients = {}, failed = {}, starting = {}, token = {}, closed = false, shared = shared_run(),
    start_timeout = kept.start_timeout, join_timeout = kept.join_timeout }, metatable)
  for i, entry in ipairs(entries) do
    self.names[i], self.by_name[entry.name] = entry.name, entry
    if entry.err then self.failed[entry.name] = entry.err end
    if entry.options then entry.options.observer = kept.observer end
    if entry.options and kept.each then adjust(kept.each, entry) end
    if entry.options and entry.options.on_warning == nil then entry.options.on_warning = kept.on_warning end
  end
  for _, warning in ipairs(kept.on_warning and warnings or {}) do kept.on_warning(warning) end
  return self
end

return servers
