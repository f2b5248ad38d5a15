--- The tools of a client's server for models: what the room of tools makes of its list, called on this connection.

local core = require "koine.core"
local failure = require "koine.protocol.mcp.client.failure"
local features = require "koine.protocol.mcp.client.features"
local room = require "koine.protocol.mcp.tools"

local tools = {}

local TOLD_MAX = 1000 -- warnings that are remembered, so that each is told once

-- Warns of what was not warned of before.
local function warn(client, warning)
  local key = ("%s %s"):format(warning.code, warning.message)
  if client.told[key] then return end
  if client.told.count >= TOLD_MAX then client.told = { count = 0 } end
  client.told[key], client.told.count = true, client.told.count + 1
  client.connection:warn(warning)
end

-- Whether tools ask for headers here: in the modern protocol over HTTP.
local function has_headers(client)
  local connection = client.connection
  return connection.known.era == "modern" and connection.options.url ~= nil
end

-- What the server listed of a tool, or nil; `limits` are the time limits of the listing.
local function entry_of(client, name, limits)
  for _, entry in ipairs(features.list(client, "tools/list", "tools", limits) or {}) do
    if entry.name == name then return entry end
  end
end

-- The headers that a call of a listed tool (nil: not listed) has to have with these arguments, nil for none.
local function headers_of(entry, arguments)
  if not entry or type(entry.inputSchema) ~= "table" then return nil end
  local plan = room.header.plan(entry.inputSchema)
  return plan and room.header.values(plan, arguments)
end

-- Whether a tool may be called twice where it is not known that it was called once.
local function is_repeatable(hints) return hints.readOnlyHint or hints.idempotentHint end

-- Calls a tool for a model. A client that was closed meanwhile is trouble of the tool, and no end of the model's work.
local function send(client, entry, arguments_json, headers, parent)
  local limits, first = client.limits, has_headers(client)
  local result, err = features.call(client, entry.name, nil, { arguments_json = arguments_json,
    describe = first and function(limits_now)
      if not first then headers = headers_of(entry_of(client, entry.name, limits_now), core.decode(arguments_json)) end
      first = false
      return headers, is_repeatable(entry.hints)
    end, repeatable = is_repeatable(entry.hints), name = entry.name,
    timeout = entry.timeout or limits.timeout, idle = limits.idle, parent = parent })
  if not result and err.kind == "cancelled" and client.connection.closed then
    return nil, failure.new(client.connection, "connect", "the client was closed", "closed")
  end
  return result, err
end

-- All tools that the server lists; or nil, err.
local function all(client, opts)
  local listed, err = features.list(client, "tools/list", "tools")
  if not listed then return nil, err end
  local options = client.connection.options
  local made
  made, err = room.build(listed, { server = client.name, prefix = opts.prefix, only = opts.only, except = opts.except,
    timeouts = opts.timeouts,
    trusted = options.trusted, approval = options.approval, pins = client.pins, headers = has_headers(client),
    description_max = options.description_max, words = failure.for_model,
    warn = function(warning) warn(client, warning) end,
    send = function(entry, arguments_json, ctx, headers)
      return send(client, entry, arguments_json, headers, ctx and ctx.observe)
    end })
  client.connection:check()
  return made, err
end

--- The tools of the server as an array of koine.tool; or nil, err. `opts` has only, except, prefix, timeouts and
-- search, as client:tools takes them.
function tools.all(client, opts)
  if not opts.search then return all(client, opts) end
  return room.search { server = client.name, prefix = opts.prefix, approval = client.connection.options.approval,
    words = failure.for_model, list = function() return all(client, opts) end }
end

--- Adds to the options of a call what the server's list says of the tool, asked when it is called: the headers of its
-- arguments, and whether it may be called again. Only over HTTP. Returns nothing.
function tools.complete(client, name, arguments, opts)
  if not has_headers(client) then return end
  opts.describe = function(limits)
    local entry = entry_of(client, name, limits)
    local trusted = client.connection.options.trusted
    return headers_of(entry, arguments), entry and trusted and is_repeatable(room.hints(entry.annotations, true))
  end
end

--- The pins in a file (nil: none).
function tools.pins(path) return path and room.pins(path) or nil end

return tools
