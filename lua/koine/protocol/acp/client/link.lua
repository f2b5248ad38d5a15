--- One process of an agent, and the peer on it: started, greeted, asked, ended. A connection has one for each session,
-- or one for all. It belongs to the connection, not to the task that opened it.
-- It knows the sessions that live in it, and gives each what the agent says about it.

local defer = require "koine.task.defer"
local environment = require "koine.system.environment"
local errors = require "koine.data.errors"
local failure = require "koine.protocol.acp.client.failure"
local read = require "koine.protocol.acp.client.read"
local rpc = require "koine.protocol.rpc"
local sessions = require "koine.protocol.acp.client.session"
local services = require "koine.protocol.acp.client.services"
local process = require "koine.system.process"
local text = require "koine.data.text"
local transport = require "koine.system.transport"
local version = require "koine.protocol.acp.version"
local wait = require "koine.task.wait"

local link = {}

local INHERITED = { "HOME", "PATH", "USER", "LANG", "TMPDIR" } -- what logins need; prompts can make an agent tell it
local EARLY_MAX, EARLY_BYTES = 1000, 4 << 20 -- updates for sessions that are not known yet; their bytes
local CLOSE_TIME = 5   -- seconds for session/close
local NOT_FOUND = -32002

local methods = {}
local metatable = { __index = methods, __name = "koine.acp.link" }

-- Starting -----------------------------------------------------------------------------------------------------------

-- The values of an environment that no error may show.
local function secrets_of(env)
  local secrets = {}
  for name, value in next, env do
    if value ~= "" and text.is_credential(name, value) then secrets[#secrets + 1] = value end
  end
  return secrets
end

-- Gives an update to its session; one for a session that is not known yet waits for that.
local function update(self, params)
  local id = read.text(params.sessionId)
  local session = self.sessions[id]
  if session then return sessions.take(session, params.update) end
  local early, size = self.early, read.size(params)
  if not id or early.count == EARLY_MAX or early.size + size > EARLY_BYTES then
    self.peer.counts.unknown = self.peer.counts.unknown + 1
    return
  end
  local list = early.lists[id] or { size = 0 }
  early.lists[id], early.count, early.size = list, early.count + 1, early.size + size
  list[#list + 1], list.size = params.update, list.size + size
end

-- The handlers of services, for sessions that there are: what the agent asks is no silence. A question to the user may
-- belong to no session.
local function services_of(self)
  local requests = {}
  for method, handler in next, services.requests(self) do
    requests[method] = function(params, request)
      local session = self.sessions[read.at(params, "sessionId")]
      if not session and method ~= "elicitation/create" then
        return nil, { code = NOT_FOUND, message = "unknown session" }
      end
      local heard <close> = session and sessions.hears(session) or nil -- luacheck: ignore heard
      return handler(params, request)
    end
  end
  return requests
end

local function handlers(self)
  local requests = services_of(self)
  requests["session/request_permission"] = function(params)
    local session = self.sessions[read.at(params, "sessionId")]
    if not session then return nil, { code = -32602, message = "unknown session" } end
    return sessions.ask(session, params)
  end
  return { requests = requests, secrets = secrets_of(self.options.env),
    notifications = {
      ["session/update"] = function(params) if read.object(params) then update(self, params) end end,
      ["$/cancel_request"] = function(params) self.peer:abort(read.at(params, "requestId")) end,
      ["elicitation/complete"] = function() end,
    },
    session = function(_, params)
      local session = self.sessions[read.at(params, "sessionId")]
      if session and sessions.listens(session) then return session.id end
    end,
    cancel = function(id) return "$/cancel_request", { requestId = id } end }
end

-- Starts the program, or what stands in its place: a live program, or nil, err.
local function start(options, cwd, tell)
  local argv = table.move(options.args, 1, #options.args, 2, { options.command })
  local on_stderr = options.on_log and function(line) tell(options.on_log, line) end or nil
  local call = { argv = argv, secrets = secrets_of(options.env), on_stderr = on_stderr }
  return transport.open(options.transport, call, function(told)
    local program, err = process.open(argv, { cwd = cwd, env = environment.of(INHERITED, options.env),
      grace = options.grace, on_stderr = told })
    if program then wait.disown(program) end
    return program, err
  end)
end

-- What we say that we can do.
local function capabilities(options)
  local declared = services.capabilities(options)
  declared.session = { configOptions = { boolean = {} } }
  return declared
end

-- What the agent can do: booleans by name, and the agent's own table as `raw`.
local function offered(raw)
  local function has(name) return read.object(read.at(raw, "sessionCapabilities", name)) ~= nil end
  local function is(...) return read.at(raw, ...) == true end
  return { load = is "loadSession", resume = has "resume", list = has "list", close = has "close",
    directories = has "additionalDirectories", image = is("promptCapabilities", "image"),
    audio = is("promptCapabilities", "audio"), embedded = is("promptCapabilities", "embeddedContext"),
    http = is("mcpCapabilities", "http"), sse = is("mcpCapabilities", "sse"), raw = read.object(raw) or {} }
end

local function greet(self, options)
  local reply, err = self:request("initialize", { protocolVersion = version.PROTOCOL,
    clientCapabilities = capabilities(options), clientInfo = version.info() }, options.timeout.start)
  if not reply then return nil, err end
  if read.at(reply, "protocolVersion") ~= version.PROTOCOL then
    return nil, version.refuse(read.at(reply, "protocolVersion"))
  end
  self.agent = read.object(reply.agentInfo) or {}
  self.capabilities = offered(read.any(reply.agentCapabilities))
  for _, method in ipairs(read.list(reply.authMethods)) do
    local id = read.text(read.at(method, "id"))
    if id then
      self.auth_methods[#self.auth_methods + 1] = { id = id, name = read.text(method.name) or id,
        type = read.text(method.type) or "agent", description = read.text(method.description) }
    end
  end
  return true
end

--- Starts the agent in a directory (nil: this process's), and greets it: a link, or nil, err: kind connect where it
-- cannot be started or ends, protocol (code "version") where it speaks another version, timeout. tell(f, …), which the
-- link has as `host`, calls a function of the user's, and keeps what it raises: whether it did not, and its result.
function link.open(options, cwd, tell)
  local program, err = start(options, cwd, tell)
  if not program then
    return nil, errors.new { kind = "connect", code = err.code, retryable = false,
      message = ("%s: %s"):format(options.command, errors.words(err)) }
  end
  local self = setmetatable({ program = program, options = options, sessions = {},
    early = { lists = {}, count = 0, size = 0 }, auth_methods = {}, closed = false, peer = false, agent = false,
    capabilities = false, ended = false, host = tell }, metatable)
  local failed <close> = defer(function() self:close() end)
  self.peer = rpc.new(program, handlers(self))
  local ok, problem = greet(self, options)
  if not ok then return nil, problem end
  failed:cancel()
  return self
end

-- Talking ------------------------------------------------------------------------------------------------------------

--- Whether the agent can be asked.
function methods:is_alive() return not self.closed and self.peer and self.peer:is_open() end

--- Adds strings (an array) that no error shows.
function methods:hide(secrets)
  for _, secret in ipairs(secrets) do
    self.peer:hide(secret)
    if self.program.hide then self.program:hide(secret) end
  end
end

--- Takes what the agent has said: whether it can be asked.
function methods:poll() return self:is_alive() and self.peer:poll() end

-- The error of a call, with what is known about the end of the agent, which is ended where it cannot be asked again.
local function explain(self, err)
  if not failure.is_end(err) or self.peer:is_open() then return failure.answered(err) end
  if not self.ended then
    self.program:stop()
    local result = self.program:result()
    self.ended = result or true
  end
  return failure.ended(err, self.ended ~= true and self.ended or nil, self.peer:secrets())
end

--- Asks the agent: the result (a table, {} for null), or nil, err. `session` is the key whose updates are taken before
-- the answer, nil for none.
function methods:request(method, params, seconds, session)
  local result, err = self.peer:request(method, params, { timeout = seconds, session = session })
  if err then return nil, explain(self, err) end
  return read.object(result) or {}
end

--- The error `err` of a call with what is known about the end of the agent. May wait for that.
function methods:explain(err) return explain(self, err) end

--- Tells the agent something, without waiting.
function methods:tell(method, params)
  if not self:is_alive() then return end
  self.peer:spawn(self.peer.notify, self.peer, method, params, { timeout = self.options.timeout.stop })
  self.peer:turn()
end

--- Enters a session, which gets what came for it before.
function methods:enter(session)
  self.sessions[session.id], session.link = session, self
  local early = self.early
  local list = early.lists[session.id]
  if not list then return end
  early.lists[session.id], early.count, early.size = nil, early.count - #list, early.size - list.size
  for _, one in ipairs(list) do sessions.take(session, one) end
end

--- Forgets a session, and ends what it left running here.
function methods:leave(session)
  if self.sessions[session.id] == session then self.sessions[session.id] = nil end
  services.leave(self, session.id)
end

--- Has the agent close a session, where it offers that. Its answer does not matter.
function methods:close_session(id)
  if self:is_alive() and self.capabilities and self.capabilities.close then
    self.peer:request("session/close", { sessionId = id }, { timeout = CLOSE_TIME })
  end
end

--- Ends the agent: its input ends, and what is still there after the grace period is ended. Any number of times.
function methods:close()
  if self.closed then return end
  self.closed = true
  if self.peer then self.peer:close() end
  services.leave(self)
  self.program:close()
end

--- Ends an agent that does not do what it was asked: calls fail.
function methods:kill() self:close() end

return link
