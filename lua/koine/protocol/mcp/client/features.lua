--- What a server offers: its tools, resources and prompts, and completion, as requests of a connection.

local core = require "koine.core"
local failure = require "koine.protocol.mcp.client.failure"
local pages = require "koine.protocol.mcp.client.pages"
local send = require "koine.protocol.mcp.client.send"
local tools = require "koine.protocol.mcp.tools"
local wait = require "koine.task.wait"

local features = {}

local HEADER_MISMATCH = "-32020"
local VALUES_MAX = 100 -- of a completion

local function is_array(value) return type(value) == "table" and getmetatable(value) == core.array_mt end

local function malformed(connection, method, what)
  return nil, failure.new(connection, "protocol", ("%s: a result without %s"):format(method, what))
end

-- Seconds for which something may be kept: what the server says, or in a session that tells of changes until then.
local function lifetime(connection, kind, ttl, private)
  local capabilities = connection.known.capabilities
  local said = capabilities and capabilities[kind]
  if connection:tells_changes() then
    return kind and type(said) == "table" and said.listChanged == true and math.huge or 0
  end
  if private and type(connection.options.token) == "function" then return 0 end
  return connection.known.era == "modern" and ttl or 0
end

--- A list, an array of entries as they came: or nil, err. `method` is that of the protocol, `key` the field of a page
-- that has the entries, `limits` the time limits of all pages (nil: the client's). `client` here and below:
-- {connection, changes, limits}.
function features.list(client, method, key, limits)
  local kept, connection = client.changes.kept, client.connection
  local transport = connection.transport
  if transport and not transport.closed then transport:is_alive() end -- it may have told of a change
  local items = kept:get(method)
  if items then return items end
  local err
  items, err = pages.read(connection, method, key, limits or client.limits)
  if not items then return nil, err end
  local ttl, private = items.ttl, items.private
  items = core.array(table.move(items, 1, #items, 1, {}))
  kept:put(method, items, lifetime(connection, method:match "^%a+", ttl, private))
  return items
end

-- Asks for a call, within what is left of its time: as send.request. What describe() has to ask is within it, too.
local function ask_tool(client, params, opts, latest)
  local function left() return latest and math.max(latest - wait.now(), 0) end
  if opts.describe then
    opts.headers, opts.repeatable = opts.describe { timeout = left(), idle = opts.idle, parent = opts.parent }
  end
  opts.timeout = left()
  return send.request(client.connection, "tools/call", params, opts)
end

--- Calls a tool: {content, structured, is_error, meta}, or nil, err. `opts` as for send.request, and describe(limits) →
-- the headers that the tool has to have (nil: none), and whether it may be called twice; it is asked again where the
-- server finds the headers wrong. All of it ends within opts.timeout.
function features.call(client, name, arguments, opts)
  local latest = opts.timeout and wait.now() + opts.timeout
  local params = { name = name, arguments = not opts.arguments_json and (arguments or {}) or nil }
  local result, err = ask_tool(client, params, opts, latest)
  if not result and err.code == HEADER_MISMATCH and opts.describe then
    client.changes.kept:drop "tools/list"
    result, err = ask_tool(client, params, opts, latest)
  end
  if not result then return nil, err end
  local content = result.content
  if content == nil or content == core.null then content = core.array {} end
  if not is_array(content) then return malformed(client.connection, "tools/call", "content") end
  local structured, said = result.structuredContent, result._meta
  if structured == core.null then structured = nil end
  return { content = content, structured = structured, is_error = result.isError == true,
    meta = type(said) == "table" and said or nil }
end

--- Reads a resource: an array of contents as they came, or nil, err.
function features.read(client, uri)
  local kept, key = client.changes.kept, "resources/read " .. uri
  local contents = kept:get(key)
  if contents then return contents end
  local limits = client.limits
  local result, asked = send.request(client.connection, "resources/read", { uri = uri },
    { timeout = limits.timeout, idle = limits.idle, name = uri })
  if not result then return nil, asked end
  contents = result.contents
  if not is_array(contents) then return malformed(client.connection, "resources/read", "contents") end
  local ttl, private = pages.freshness(result)
  if not asked then kept:put(key, contents, lifetime(client.connection, nil, ttl, private)) end
  return contents
end

-- The messages of a prompt for `chat`; nil where they are none. A message has one item; blocks of the same role in a
-- row stay messages of their own, as the server meant them.
local function messages_of(listed)
  local messages = {}
  for i, message in ipairs(listed) do
    local role = type(message) == "table" and message.role
    if role ~= "user" and role ~= "assistant" then return nil end
    local items = is_array(message.content) and message.content or { message.content }
    messages[i] = { role = role, content = tools.blocks { content = items } }
  end
  return messages
end

--- Asks for a prompt: an array of messages for `chat`, and its description or nil; or nil, err.
function features.prompt(client, name, arguments)
  local limits = client.limits
  local result, err = send.request(client.connection, "prompts/get", { name = name, arguments = arguments },
    { timeout = limits.timeout, idle = limits.idle, name = name })
  if not result then return nil, err end
  local messages = is_array(result.messages) and messages_of(result.messages)
  if not messages then return malformed(client.connection, "prompts/get", "messages") end
  return messages, type(result.description) == "string" and result.description or nil
end

--- Asks for values of an argument of a prompt or of a template: {values (array of strings), total, has_more}, or nil,
-- err. `ref` is {type, name | uri}, `argument` {name, value}, `known` the values of other arguments, or nil.
function features.complete(client, ref, argument, known)
  local result, err = send.request(client.connection, "completion/complete",
    { ref = ref, argument = argument, context = known and { arguments = known } or nil }, client.limits)
  if not result then return nil, err end
  local said = type(result.completion) == "table" and result.completion or {}
  if not is_array(said.values) then return malformed(client.connection, "completion/complete", "values") end
  local values = {}
  for i = 1, math.min(#said.values, VALUES_MAX) do
    if type(said.values[i]) == "string" then values[#values + 1] = said.values[i] end
  end
  return { values = values, total = math.type(said.total) and math.tointeger(said.total) or nil,
    has_more = said.hasMore == true }
end

return features
