--- The connection that a client has to its server: starts it, agrees with it on an era, and starts it again after it
-- ended by itself, at most three times in a minute.

local core = require "koine.core"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local failure = require "koine.protocol.mcp.client.failure"
local handlers = require "koine.protocol.mcp.client.handlers"
local handshake = require "koine.protocol.mcp.client.handshake"
local programs = require "koine.protocol.mcp.transport.stdio"
local wait = require "koine.task.wait"

local link = {}

local RESTARTS, WITHIN = 3, 60 -- so many in so many seconds

-- Options of a server, as its transport takes them.
local function pick(options, names)
  local picked = {}
  for _, name in ipairs(names) do picked[name] = options[name] end
  return picked
end

-- A transport to the server: or nil, err.
local function open(client)
  local options, made = client.options, handlers(client)
  if options.url then
    return nil, errors.new { kind = "not_implemented", message = "servers with a url cannot be asked yet" }
  end
  return programs.open(pick(options,
    { "command", "args", "env", "cwd", "grace", "protect" }), made)
end

local function cannot_start(client, err)
  if err.kind == "cancelled" then return err end
  return failure.new(client, "connect", "cannot start: " .. core.redact(errors.words(err), client.options.secrets),
    err.code)
end

-- Starts the server, and agrees with it: a transport, or nil, err.
local function start(client)
  local options = client.options
  local transport, err = open(client)
  if not transport then return nil, cannot_start(client, err) end
  local failing <close> = defer(function() transport:close() end)
  client.opening = transport
  local known
  known, err = handshake.begin(transport, { era = client.era or options.era, capabilities = client.offered,
    probe_timeout = options.probe_timeout, timeout = options.timeout.connect })
  client.opening = false
  if not known then return nil, failure.of(client, transport, "initialize", err) end
  if client.closed then return nil, link.closed(client) end
  failing:cancel()
  client.era, client.version = known.era, known.version
  client.server = known.server or client.server
  client.capabilities = known.capabilities or client.capabilities
  client.instructions = known.instructions or client.instructions
  client.transport = transport
  return transport
end

-- Starts a server again that ended: a transport, or nil, err.
local function restart(client, old)
  local starts, now = client.starts, wait.now()
  while starts[1] and now - starts[1] > WITHIN do table.remove(starts, 1) end
  if #starts >= RESTARTS then return nil, failure.ended(client, old) end
  starts[#starts + 1] = now
  old:close()
  client:forget_all()
  return start(client)
end

--- The error of a call to a client that was closed.
function link.closed(client)
  return errors.new { kind = "cancelled", message = client.name .. ": the client was closed" }
end

--- The transport to ask the server on, which is started where it does not run: or nil, err.
function link.get(client)
  if client.closed then return nil, link.closed(client) end
  local transport = client.transport
  if transport and transport:is_alive() then return transport end
  local held <close>, err = client.starting:hold() -- luacheck: ignore held
  if not held then return nil, err end
  if client.closed then return nil, link.closed(client) end
  local now = client.transport
  if now and now ~= transport and now:is_alive() then return now end
  if not now then return start(client) end
  return restart(client, now)
end

--- Ends the connection for ever. Waits until the program is gone.
function link.close(client)
  client.closed = true
  local transport, opening = client.transport, client.opening
  if opening then opening:close() end
  if transport then transport:close() end
end

return link
