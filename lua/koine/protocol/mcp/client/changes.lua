--- What changes at a server while we know it: its lists, and resources. What was kept is forgotten, and the user is
-- told. A server of the legacy era tells by itself; one of the modern era tells those who listen.

local cache = require "koine.protocol.mcp.client.cache"
local core = require "koine.core"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local meta = require "koine.protocol.mcp.client.meta"
local queue = require "koine.task.queue"
local scheduler = require "koine.task.scheduler"
local wait = require "koine.task.wait"

local FIRST, LONGEST = 1, 60 -- seconds before a stream that ended is opened again, doubled each time
local PENDING_MAX = 10000    -- resources whose change waits to be told
local PENDING_BYTES = 8 << 20 -- of their URIs

local LISTS = { tools = "toolsListChanged", prompts = "promptsListChanged", resources = "resourcesListChanged" }

local methods = {}
local metatable = { __index = methods }

-- Forgetting ---------------------------------------------------------------------------------------------------------

-- Forgets what a change makes wrong.
local function forget(self, kind, uri)
  if kind == "resource" then return self.kept:drop("resources/read " .. tostring(uri)) end
  self.kept:drop_all(kind .. "/list")
  if kind == "resources" then
    self.kept:drop_all "resources/templates"
    self.kept:drop_all "resources/read"
  end
end

--- Forgets all; returns nothing.
function methods:forget_all() self.kept:drop_all "" end

-- Telling ------------------------------------------------------------------------------------------------------------

-- Adds a change to those that a listener has not heard of yet, each once. Where too much waits, it hears that some
-- resource changed.
local function note(listener, kind, uri)
  local size = uri and #uri or 0
  if listener.changed:count() >= PENDING_MAX or listener.bytes + size > PENDING_BYTES then uri, size = nil, 0 end
  local key = uri and kind .. " " .. uri or kind
  if listener.pending[key] then return end
  listener.pending[key], listener.bytes = true, listener.bytes + size
  listener.changed:push { key = key, kind = kind, uri = uri }
  wait.wake(listener)
end

local function wants(listener, kind, id)
  if id ~= nil then return listener.id == id end
  return kind == "resource" and listener.uris[1] ~= nil or listener.kinds[kind]
end

local function id_of(params)
  local id = meta.field(params, "subscriptionId")
  return math.type(id) and math.tointeger(id) or id
end

--- A message of the server's that something changed: `kind` is "tools", "prompts", "resources", or "resource" with the
-- `uri` of params. Returns nothing.
function methods:changed(kind, params)
  local uri, id = kind == "resource" and params.uri or nil, id_of(params)
  if kind == "resource" and type(uri) ~= "string" then return end
  forget(self, kind, uri)
  local told = false
  for listener in next, self.listeners do
    if wants(listener, kind, id) and listener.on_change then
      told = true
      note(listener, kind, uri)
    end
  end
  if not told then self.connection:tell(self.connection.options.on_change, kind, uri) end
end

-- Listening ----------------------------------------------------------------------------------------------------------

-- Calls what the listener has to hear; raises what that raises.
local function hear(listener)
  local granted = listener.granted
  if granted then
    listener.granted = false
    if listener.on_open then listener.on_open(granted) end
  end
  local entry = listener.changed:pop()
  while entry do
    listener.pending[entry.key] = nil
    listener.bytes = listener.bytes - (entry.uri and #entry.uri or 0)
    listener.on_change(entry.kind, entry.uri)
    entry = listener.changed:pop()
  end
end

-- What a listener asks for, as the protocol says it.
local function wanted(listener)
  local notifications = { resourceSubscriptions = listener.uris[1] and core.array(listener.uris) or nil }
  for kind, field in next, LISTS do notifications[field] = listener.kinds[kind] or nil end
  return notifications
end

--- The server says which of the changes that were asked for it will tell. Returns nothing.
function methods:acknowledged(params)
  local id, said = id_of(params), type(params.notifications) == "table" and params.notifications or {}
  for listener in next, self.listeners do
    if listener.id == id then
      local uris = {}
      for i, uri in ipairs(type(said.resourceSubscriptions) == "table" and said.resourceSubscriptions or {}) do
        uris[i] = uri
      end
      local granted = { uris = uris }
      for kind, field in next, LISTS do granted[kind] = said[field] == true end
      if listener.opened then -- something may have changed in between
        for kind in next, LISTS do
          if granted[kind] then self:changed(kind, params) end
        end
        for _, uri in ipairs(uris) do self:changed("resource", { uri = uri, _meta = params._meta }) end
      end
      listener.granted, listener.opened, listener.delay = granted, true, FIRST
      wait.wake(listener)
    end
  end
end

-- One stream of the modern era, until it ends: as transport:request.
local function listen_once(self, listener, transport)
  local connection = self.connection
  return transport:request("subscriptions/listen", function(id)
    listener.id = id
    return { _meta = meta.of_request(connection.known.version, connection.offered), notifications = wanted(listener) }
  end, { listens = true })
end

-- The same in a session of the legacy era, which tells what it tells without being asked, but for resources.
local function follow(self, listener, transport)
  local capabilities = self.connection.known.capabilities or {}
  local granted = { uris = listener.uris }
  for kind in next, LISTS do
    local said = capabilities[kind]
    granted[kind] = listener.kinds[kind] and type(said) == "table" and said.listChanged == true or false
  end
  for _, uri in ipairs(listener.uris) do
    local result, err = transport:request("resources/subscribe", { uri = uri }, self.limits)
    if result == nil then return nil, err end
  end
  listener.granted, listener.delay = granted, FIRST
  wait.wake(listener)
  return transport:serve()
end

-- Runs f(…) as a task, and tells meanwhile what there is to hear: f's results.
local function attend(listener, f, ...)
  local results
  local task <close> = scheduler.spawn(function(...) -- luacheck: ignore task
    results = table.pack(f(...))
    wait.wake(listener)
  end, ...)
  while not results do
    hear(listener)
    if not results then wait.park(listener) end
  end
  hear(listener)
  return table.unpack(results, 1, results.n)
end

-- Errors after which it is of no use to ask again.
local FINAL = { cancelled = true, invalid_request = true, not_found = true, auth = true, permission = true,
  not_implemented = true, protocol = true }

local function listen_on(self, listener)
  while true do
    local connection = self.connection
    local transport, err = connection:get()
    if transport then
      local is_modern = connection.known.era == "modern"
      listener.id = false
      err = select(2, attend(listener, is_modern and listen_once or follow, self, listener, transport))
    end
    if connection.closed then return nil, connection:closed_error() end
    if errors.is_error(err) and FINAL[err.kind] then return nil, err end
    local _, cancelled = wait.sleep(listener.delay)
    if cancelled then return nil, cancelled end
    listener.delay = math.min(listener.delay * 2, LONGEST)
  end
end

--- Hears of changes until the client is closed: nil, err. A stream that ends is opened again, after 1 to 60 seconds.
-- `opts`: tools, prompts, resources (true: changes of these lists), uris (array: changes of these resources),
-- on_change(kind, uri), on_open(granted). Raises what these two raise.
function methods:listen(opts)
  local listener = { id = false, kinds = {}, uris = opts.uris or {}, on_change = opts.on_change, on_open = opts.on_open,
    pending = {}, bytes = 0, changed = queue.new(), granted = false, opened = false, delay = FIRST }
  for kind in next, LISTS do listener.kinds[kind] = opts[kind] or false end
  local gone <close> = defer(function() self.listeners[listener] = nil end) -- luacheck: ignore gone
  self.listeners[listener] = true
  return scheduler.run(listen_on, self, listener)
end

--- What changes at the server of a connection. `limits` are the time limits of a small request: {timeout, idle}.
return function(connection, limits)
  local self = setmetatable({ connection = connection, kept = cache(), listeners = {}, limits = limits }, metatable)
  connection.events.changed = function(kind, params) self:changed(kind, params) end
  connection.events.acknowledged = function(params) self:acknowledged(params) end
  connection.events.restarted = function() self:forget_all() end
  return self
end
