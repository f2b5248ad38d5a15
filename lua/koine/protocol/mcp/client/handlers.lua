--- What a client does with messages that the server sends by itself: requests, changes of lists, lines of a log.

local core = require "koine.core"
local failure = require "koine.protocol.mcp.client.failure"

local INVALID_REQUEST = -32600
local LINE_MAX = 64 << 10 -- bytes of a log message

-- The requests of the legacy era are served between the handshake and the end only; ping always is.
local function guarded(client, handler)
  return function(params, request)
    if client.era ~= "legacy" or not client.transport then
      return nil, { code = INVALID_REQUEST, message = "not in a session" }
    end
    return handler(params, request)
  end
end

local function requests(client)
  local served = { ping = function() return {} end }
  for method, handler in next, client.inputs and client.inputs:handlers() or {} do
    served[method] = guarded(client, handler)
  end
  return served
end

local function table_of(params) return type(params) == "table" and params or {} end

local function notifications(client)
  local heard = {}
  for _, kind in ipairs { "tools", "prompts", "resources" } do
    heard[("notifications/%s/list_changed"):format(kind)] = function(params)
      client:changed(kind, table_of(params))
    end
  end
  heard["notifications/resources/updated"] = function(params) client:changed("resource", table_of(params)) end
  heard["notifications/subscriptions/acknowledged"] = function(params) client:acknowledged(table_of(params)) end
  heard["notifications/message"] = function(params)
    params = table_of(params)
    local line = failure.line(params.data == nil and core.null or params.data)
    client:log(core.redact(line:sub(1, LINE_MAX), client.options.secrets), params)
  end
  heard["notifications/cancelled"] = function(params)
    local transport, id = client.transport, table_of(params).requestId
    if transport and transport.abort and id ~= nil then transport:abort(id) end
  end
  return heard
end

--- The handlers of a transport to a client's server.
return function(client)
  return { requests = requests(client), notifications = notifications(client), secrets = client.options.secrets,
    on_log = function(line) client:log(line) end }
end
