--- What the editor asks and tells: the requests and notifications of ACP, and what we answer.

local calls = require "koine.protocol.acp.serve.turn.calls"
local core = require "koine.core"
local errors = require "koine.data.errors"
local failure = require "koine.protocol.acp.serve.failure"
local observer = require "koine.data.observer"
local prompt = require "koine.protocol.acp.serve.prompt"
local replay = require "koine.protocol.acp.serve.replay"
local saved = require "koine.protocol.acp.serve.saved"
local sessions = require "koine.protocol.acp.serve.session"
local settings = require "koine.protocol.acp.serve.settings"

local methods = {}

local VERSION = 1 -- of the protocol

-- Requests: f(server, params, request) → result, or nil, err. Params are a table.
local requests = {}

-- The beginning ----------------------------------------------------------------------------------------------------

local function auth_methods(server)
  local list = core.array {}
  for i, one in ipairs(server.options.login or {}) do
    list[i] = { id = one.id, name = one.name, description = one.description }
  end
  return list
end

local function text_or_nil(value) return type(value) == "string" and value or nil end

function requests.initialize(server, params)
  if math.type(params.protocolVersion) ~= "integer" or params.protocolVersion < 1 then
    return failure.params("protocolVersion: this agent speaks version %d, the editor asked for %s", VERSION,
      errors.describe(params.protocolVersion))
  end
  local info = type(params.clientInfo) == "table" and params.clientInfo or {}
  server.capabilities = type(params.clientCapabilities) == "table" and params.clientCapabilities or {}
  server.client = { name = text_or_nil(info.name), version = text_or_nil(info.version),
    capabilities = server.capabilities }
  local opts, keeps = server.options, server.saved and {} or nil
  return { protocolVersion = VERSION, authMethods = auth_methods(server),
    agentInfo = { name = opts.name, title = opts.title, version = opts.version },
    agentCapabilities = { loadSession = keeps ~= nil, auth = { logout = opts.logout and {} or nil },
      promptCapabilities = { image = true, audio = false, embeddedContext = true },
      mcpCapabilities = { http = opts.mcp, sse = false },
      sessionCapabilities = { list = keeps, resume = keeps, delete = keeps, close = {} } } }
end

function requests.authenticate(server, params)
  for _, one in ipairs(server.options.login or {}) do
    if one.id == params.methodId then
      local ok, err = one.run()
      if not ok then return failure.of(err) end
      return {}
    end
  end
  return failure.params("methodId: no such way to log in: %s", errors.describe(params.methodId))
end

function requests.logout(server)
  local ok, err = server.options.logout()
  if not ok then return failure.of(err) end
  return {}
end

-- Sessions ---------------------------------------------------------------------------------------------------------

local ABSENT = { [2] = true, [20] = true } -- ENOENT, ENOTDIR: there is no such directory

-- true, or nil and the error of a path that is no directory, or that cannot be opened.
local function check_directory(path)
  local file, words, code = io.open(path .. "/.")
  if file then return file:close() end
  if ABSENT[code] then return failure.params("cwd: no directory: %s", path) end
  return failure.of("cwd: " .. words)
end

-- The directory and the others that a session is about: {cwd, additional, mcp_servers}, or nil, err.
local function place_of(params)
  local cwd, more = params.cwd, params.additionalDirectories
  if type(cwd) ~= "string" or cwd:sub(1, 1) ~= "/" or cwd:find "\0" then
    return failure.params "cwd: an absolute path expected"
  end
  local there, problem = check_directory(cwd)
  if not there then return nil, problem end
  local additional = {}
  for i, path in ipairs(type(more) == "table" and more or {}) do
    if type(path) ~= "string" then return failure.params "additionalDirectories: array of paths expected" end
    additional[i] = path
  end
  return { cwd = cwd, additional = additional, mcp_servers = params.mcpServers }
end

-- What a session that was opened is to the editor.
local function shown(server, session)
  local opts = server.options
  return { modes = settings.modes(opts, session.values),
    configOptions = settings.list(opts, session.values, server.capabilities) }
end

requests["session/new"] = function(server, params)
  local place, problem = place_of(params)
  if not place then return nil, problem end
  place.id = saved.id()
  local session, err = sessions.open(server, place)
  if not session then return failure.of(err) end
  local result = shown(server, session)
  result.sessionId = session.id
  return result
end

-- Takes up a session that was saved: it, or nil, err.
local function take_up(server, params)
  local place, problem = place_of(params)
  if not place then return nil, problem end
  local open = server.sessions[params.sessionId]
  if open then
    open:cancel()
    local held <close> = open:hold() -- luacheck: ignore held
    open:close()
  end
  local kept, err = server.saved:get(params.sessionId)
  if not kept and err then return failure.of(err) end
  if not kept then return failure.no_session(params.sessionId) end
  place.id, place.kept = params.sessionId, kept
  local session
  session, err = sessions.open(server, place)
  if not session then return failure.of(err) end
  return session
end

requests["session/load"] = function(server, params)
  local session, err = take_up(server, params)
  if not session then return nil, err end
  local tools = session:watched((session:agent()).spec.tools)
  replay.tell(session, function(block)
    return (calls.shown(session, tools, block.name, block.arguments_json or core.encode(block.arguments)))
  end)
  return shown(server, session)
end

requests["session/resume"] = function(server, params)
  local session, err = take_up(server, params)
  if not session then return nil, err end
  return shown(server, session)
end

requests["session/list"] = function(server, params)
  local cwd, cursor = params.cwd, params.cursor
  local list, after = server.saved:list(type(cwd) == "string" and cwd or nil, cursor)
  if not list then return failure.of(after) end
  return { sessions = list, nextCursor = after }
end

-- Ends an open session once its turn is over.
local function close(session)
  session:cancel()
  local held <close> = session:hold() -- luacheck: ignore held
  session:close()
end

requests["session/close"] = function(server, params)
  local session = server.sessions[params.sessionId]
  if not session then return failure.no_session(params.sessionId) end
  close(session)
  return {}
end

requests["session/delete"] = function(server, params)
  local session = server.sessions[params.sessionId]
  if session then close(session) end
  local ok, err = server.saved:delete(params.sessionId)
  if not ok then return failure.of(err) end
  return {}
end

-- What needs a session that is open: f(server, session, params, request).
local function of_session(f)
  return function(server, params, request)
    local session = type(params.sessionId) == "string" and server.sessions[params.sessionId]
    if not session then return failure.no_session(params.sessionId) end
    return f(server, session, params, request)
  end
end

requests["session/prompt"] = of_session(function(_, session, params, request)
  local blocks, err = prompt.blocks(params.prompt)
  if not blocks then return nil, err end
  local meta = params._meta
  return session:prompt(blocks, request.id, observer.sent(type(meta) == "table" and meta.traceparent))
end)

-- Sets an option: true where it changed, false where not; nil, err.
local function set(server, session, id, value)
  local changed, err = settings.set(server.options, session.values, id, value)
  if changed then session.stale = true end
  return changed, err
end

requests["session/set_config_option"] = of_session(function(server, session, params)
  local changed, err = set(server, session, params.configId, params.value)
  if changed == nil then return nil, err end
  if changed and settings.is_mode(params.configId) then
    session:send { sessionUpdate = "current_mode_update", currentModeId = session.values.mode }
  end
  return { configOptions = settings.list(server.options, session.values, server.capabilities) or core.array {} }
end)

requests["session/set_mode"] = of_session(function(server, session, params)
  if #server.options.modes == 0 then return failure.params "this agent has no modes" end
  local changed, err = set(server, session, "mode", params.modeId)
  if changed == nil then return nil, err end
  if changed then
    session:send { sessionUpdate = "config_option_update",
      configOptions = settings.list(server.options, session.values, server.capabilities) }
  end
  return {}
end)

-- Both directions --------------------------------------------------------------------------------------------------

local KEPT = { "session/load", "session/resume", "session/list", "session/delete" }

-- The handlers of requests that there are, as rpc.new takes them.
local function handlers_of(server)
  local handlers = {}
  for method, f in next, requests do
    handlers[method] = function(params, request)
      if not server.client and method ~= "initialize" then
        return failure.request("%s: initialize comes first", method)
      end
      return f(server, type(params) == "table" and params or {}, request)
    end
  end
  for _, method in ipairs(server.saved and {} or KEPT) do handlers[method] = nil end
  if not server.options.logout then handlers.logout = nil end
  return handlers
end

-- Ends whatever a request of the editor's does; a turn is answered as cancelled.
local function cancel_request(server, id)
  for _, session in next, server.sessions do
    if session:cancel_request(id) then return end
  end
  server.peer:abort(id)
end

--- The options of a peer (protocol/rpc) that serves a server.
function methods.handlers(server)
  return { requests = handlers_of(server), notifications = {
    ["session/cancel"] = function(params)
      local session = type(params) == "table" and server.sessions[params.sessionId]
      if session then session:cancel() end
    end,
    ["$/cancel_request"] = function(params)
      if type(params) == "table" and params.requestId ~= nil then cancel_request(server, params.requestId) end
    end,
  }, cancel = function(id) return "$/cancel_request", { requestId = id } end }
end

return methods
