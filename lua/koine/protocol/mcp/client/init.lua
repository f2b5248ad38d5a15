--- The client of one server: what koine.mcp.connect returns. It owns the connection; closing it, or forgetting it, ends
-- a server that is a program of ours. Methods wait as all of Koine does. The world's failures are nil, err (failure.lua
-- has their kinds), wrong use raises an ArgumentError.

local check = require "koine.data.check"
local changes = require "koine.protocol.mcp.client.changes"
local core = require "koine.core"
local connections = require "koine.protocol.mcp.client.connection"
local features = require "koine.protocol.mcp.client.features"
local observer = require "koine.data.observer"
local options_of = require "koine.protocol.mcp.client.options"
local tools = require "koine.protocol.mcp.client.tools"

local client = {}

local methods = {}
local metatable = { __index = methods, __name = "koine.mcp.client", __close = function(self) self:close() end }

-- Arguments ----------------------------------------------------------------------------------------------------------

local CALL = check.options { timeout = check.time_limit, idle = check.time_limit, on_progress = check.func,
  traceparent = check.text, parent = observer.parent }
local NAMES = check.list(check.nonempty, "array of names of tools")
local TOOLS = check.options { only = NAMES, except = NAMES, search = check.boolean,
  timeouts = check.map(check.time_limit, "table of seconds by names of tools"),
  prefix = check.either("string, true or false", check.boolean, check.nonempty) }
local ARGUMENTS = check.that("table, or text of a JSON object", function(value)
  if type(value) == "string" then value = core.decode(value) end
  if type(value) == "table" and getmetatable(value) ~= core.array_mt then return value end
end)
local WORDS = check.map(check.string, "table of strings by name")
local REF = check.options({ prompt = check.name, resource = check.name }, { path = "ref", what = "field" })
local ARGUMENT = check.options({ name = check.required(check.name), value = check.default(check.string, "") },
  { path = "argument", what = "field" })
local LISTEN = check.options { tools = check.boolean, prompts = check.boolean, resources = check.boolean,
  uris = check.list(check.name), on_change = check.required(check.func), on_open = check.func }

-- A prompt or a template, as the protocol names it.
local function ref_of(given)
  local kept = REF(given, "ref.")
  if (kept.prompt == nil) == (kept.resource == nil) then
    check.refuse("ref", "{prompt = name} or {resource = uri}", given)
  end
  if kept.prompt then return { type = "ref/prompt", name = kept.prompt } end
  return { type = "ref/resource", uri = kept.resource }
end

-- Tools --------------------------------------------------------------------------------------------------------------

--- The tools of the server for models: an array of koine.tool, in the server's order, each with the field `mcp` =
-- {server, name, annotations, output_schema}; or nil, err. What cannot be a tool is left out, with a warning for
-- on_warning. Options (nil: none):
--   only, except  arrays of the server's own names: which tools
--   prefix        what the tools' names begin with: a string; true (the default): the client's name; false: nothing
--   timeouts      {name = seconds}: of calls of these tools in all, in place of the client's
--   search        true: two tools in place of all, PREFIX_search and PREFIX_call, which stay when the list changes
-- Raises an ArgumentError, and what callbacks raised.
function methods:tools(opts) return tools.all(self, TOOLS(opts or {})) end

--- Takes a tool (the server's own name of it) that was withheld because it changed as it is now: true, or nil, err: of
-- kind not_found where none of that name was withheld the last time that `tools` was called.
function methods:accept(name)
  check.name(name, "name")
  if not self.pins then core.raise_argument("accept", "a client with the option pins", "one without") end
  return self.pins:accept(self.name, name)
end

--- Calls a tool of the server by its own name: {content (array of items as they came), structured (a table, or nil),
-- is_error, meta (a table, or nil)}, or nil, err. `arguments` is a table, or the text of a JSON object, in which nulls
-- and empty arrays are what they are; nil for none. Options:
--   timeout, idle  seconds in all, and without progress; else those of the client
--   on_progress    function{progress, total, message}; else the client's
--   traceparent    of a trace that the call belongs to
--   parent         context (ctx.observe of a tool) or traceparent: what the call is a part of for observers
-- A server that ended is started again first; what was pending when it ended failed. Raises an ArgumentError, and what
-- callbacks raised.
function methods:call(name, arguments, opts)
  check.name(name, "name")
  if arguments ~= nil then arguments = ARGUMENTS(arguments, "arguments") end
  local kept = CALL(opts or {})
  kept.timeout, kept.idle, kept.name = kept.timeout or self.limits.timeout, kept.idle or self.limits.idle, name
  tools.complete(self, name, arguments or {}, kept)
  return features.call(self, name, arguments, kept)
end

-- Resources, prompts, completion -------------------------------------------------------------------------------------

--- The resources of the server: an array of tables as it lists them (uri, name, title, description, mimeType, …), or
-- nil, err.
function methods:resources() return features.list(self, "resources/list", "resources") end

--- The templates of its resources: an array of tables as it lists them (uriTemplate, name, …), or nil, err.
function methods:resource_templates()
  return features.list(self, "resources/templates/list", "resourceTemplates")
end

--- Reads a resource: an array of {uri, mimeType, text | blob (base64)}, or nil, err; kind not_found where there is
-- none.
function methods:read(uri) return features.read(self, check.name(uri, "uri")) end

--- The prompts of the server: an array of tables as it lists them (name, title, description, arguments), or nil, err.
function methods:prompts() return features.list(self, "prompts/list", "prompts") end

--- Asks for a prompt: an array of messages for `chat`, and its description or nil; or nil, err. `arguments` is a table
-- of strings by name, or nil.
function methods:prompt(name, arguments)
  check.name(name, "name")
  return features.prompt(self, name, arguments and WORDS(arguments, "arguments"))
end

--- Asks for values that begin as an argument does: {values (array of at most 100 strings), total (integer or nil),
-- has_more}, or nil, err. `ref` is {prompt = name} or {resource = URI or template}, `argument` {name, value}, `known` a
-- table of the other arguments, or nil.
function methods:complete(ref, argument, known)
  return features.complete(self, ref_of(ref), ARGUMENT(argument, "argument."),
    known and WORDS(known, "known"))
end

-- Changes and the end ------------------------------------------------------------------------------------------------

--- Hears of changes until the client is closed or the task is cancelled: nil, err. Options:
--   tools, prompts, resources  true: changes of these lists
--   uris       array: changes of these resources
--   on_change  function(kind, uri): "tools", "prompts", "resources", or "resource" and its URI
--   on_open    function{tools, prompts, resources, uris}: what the server will tell, each time that it agreed
-- A stream that ended is opened again, after 1 to 60 seconds. Raises an ArgumentError, and what the functions raise.
function methods:listen(opts) return self.changes:listen(LISTEN(opts)) end

--- Ends the connection, and a program with all that it started; waits for that. Calls that are pending fail with kind
-- cancelled. Returns nothing; any number of times.
function methods:close() self.connection:close() end

function metatable.__tostring(self)
  local known = self.connection.known
  local state = self.connection.closed and "closed" or ("%s %s"):format(known.era, known.version)
  return ("%s (%s, %s)"):format(metatable.__name, self.name, state)
end

--- Connects to a server: a client, or nil, err. Its fields: name, era ("legacy" or "modern"), version, server (what it
-- says of itself: name, version, …), capabilities, instructions (a stranger's words: put into no prompt by themselves);
-- the last three nil where it says none. Options: docs/mcp.md.
function client.connect(given)
  local options, unfit = options_of(given)
  if not options then return nil, unfit end
  local connection = connections(options)
  local limits = { timeout = options.timeout.total, idle = options.timeout.idle }
  local self = setmetatable({ name = options.name, connection = connection, limits = limits, told = { count = 0 },
    pins = tools.pins(options.pins) or false,
    changes = changes(connection, limits) }, metatable)
  function connection.events.began(known)
    for field, value in next, known do self[field] = value end
  end
  local transport, err = connection:get()
  if not transport then return nil, err end
  connection:check()
  return self
end

return client
