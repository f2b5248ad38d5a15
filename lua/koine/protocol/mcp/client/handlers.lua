--- What becomes of messages that a server sends by itself: requests, changes of lists, lines of a log. For a connection
-- of connection.lua.

local core = require "koine.core"
local redacted = require("koine.protocol.rpc.failure").redacted
local text = require "koine.data.text"

local INVALID_REQUEST = -32600
local LINE_MAX = 64 << 10 -- bytes of a log message

-- The requests of the legacy era are served in a session only; ping always is.
local function guarded(connection, handler)
  return function(params, request)
    if not connection.in_session then return nil, { code = INVALID_REQUEST, message = "not in a session" } end
    return handler(params, request)
  end
end

local function requests(connection)
  local served = { ping = function() return {} end }
  for method, handler in next, connection.inputs:handlers() do
    served[method] = guarded(connection, handler)
  end
  return served
end

local function table_of(params) return type(params) == "table" and params or {} end

-- The strings that nobody is shown: those of the options, and tokens and ids that the transport met.
local function secrets_of(connection)
  local transport = connection.transport or connection.opening
  return transport and transport.peer and transport.peer:secrets() or connection.options.secrets
end

-- A log message as one text: what it says, or the JSON of that.
local function said(params)
  local data = params.data
  local whole = type(data) == "string" and data or core.encode(data == nil and core.null or data)
  return (text.cut(whole, LINE_MAX))
end

local function notifications(connection)
  local heard, events = {}, connection.events
  for _, kind in ipairs { "tools", "prompts", "resources" } do
    heard[("notifications/%s/list_changed"):format(kind)] = function(params) events.changed(kind, table_of(params)) end
  end
  heard["notifications/resources/updated"] = function(params) events.changed("resource", table_of(params)) end
  heard["notifications/subscriptions/acknowledged"] = function(params) events.acknowledged(table_of(params)) end
  heard["notifications/message"] = function(params)
    local on_log = connection.options.on_log
    if not on_log then return end
    params = redacted(table_of(params), secrets_of(connection)) -- before it is cut
    connection:tell(on_log, said(params), params)
  end
  heard["notifications/cancelled"] = function(params)
    local transport, id = connection.transport, table_of(params).requestId
    if transport and transport.abort and id ~= nil then transport:abort(id) end
  end
  return heard
end

--- The handlers of a transport, for a connection.
return function(connection)
  local options = connection.options
  return { requests = requests(connection), notifications = notifications(connection), secrets = options.secrets,
    on_log = function(line) connection:tell(options.on_log, line) end,
    warn = function(warning) connection:warn(warning) end }
end
