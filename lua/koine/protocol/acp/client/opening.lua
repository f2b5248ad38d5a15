--- How a session begins in a link: made anew, loaded, resumed, or taken up in the best way that the agent offers; with
-- one login in between, where the agent asks for it and the user named its method.

local core = require "koine.core"
local executors = require "koine.system.executor"
local failure = require "koine.protocol.acp.client.failure"
local servers = require "koine.protocol.acp.client.servers"

local opening = {}

-- Logs in with the method that the user named: true, or nil, err.
local function login(link)
  local wanted = link.options.auth
  if not wanted then return nil, failure.login(link.auth_methods) end
  for _, method in ipairs(link.auth_methods) do
    if method.id == wanted then
      if method.type == "terminal" then
        return nil, failure.login(link.auth_methods, ("the login %s needs a terminal"):format(wanted))
      end
      local ok, err = link:request("authenticate", { methodId = wanted }, link.options.timeout.session)
      if not ok then return nil, err end
      return true
    end
  end
  return nil, failure.login(link.auth_methods, ("the agent has no login %s"):format(wanted))
end

-- Asks; where the agent wants a login first, logs in once and asks again.
local function ask(link, method, params, session)
  local reply, err = link:request(method, params, link.options.timeout.session, session)
  if reply or not failure.needs_login(err) then return reply, err end
  local ok, problem = login(link)
  if not ok then return nil, problem end
  reply, err = link:request(method, params, link.options.timeout.session, session)
  if not reply and failure.needs_login(err) then return nil, failure.login(link.auth_methods, err.message) end
  return reply, err
end

--- The absolute path of a directory (nil: this process's): or nil, err where it cannot be entered.
function opening.directory(path)
  if path and path:find "^/" then
    local there <close> = io.open(path .. "/.", "rb")
    if there then return path end
  end
  local executor, err = executors { workdir = path or ".", protect = false }
  if not executor then return nil, err end
  local found = executor.workdir
  executor:close()
  return found
end

-- The params of a session with these options: {sessionId, cwd, mcpServers, …}.
local function params_of(link, options, id)
  local list, err = servers.convert(options.mcp_servers, link.capabilities)
  if not list then return nil, err end
  local more = options.directories
  if more and not link.capabilities.directories then return nil, failure.unsupported "further directories" end
  return { sessionId = id, cwd = options.cwd, mcpServers = list, additionalDirectories = more and core.array(more) }
end

--- Makes a session: the agent's answer, which has its id; or nil, err.
function opening.new(link, options)
  local params, err = params_of(link, options)
  if not params then return nil, err end
  local reply, problem = ask(link, "session/new", params)
  if not reply then return nil, problem end
  if type(reply.sessionId) ~= "string" or reply.sessionId == "" then
    return nil, failure.ended(failure.unsupported "an id for a new session", nil, {})
  end
  return reply
end

-- Loads or resumes the session of an object that the link knows.
local function again(link, how, session)
  if not link.capabilities[how] then return nil, failure.unsupported("session/" .. how) end
  local params, err = params_of(link, session.settings, session.id)
  if not params then return nil, err end
  return ask(link, "session/" .. how, params, session.id)
end

--- Loads a session: its history comes first and is dropped. The answer, or nil, err.
function opening.load(link, session) return again(link, "load", session) end

--- Resumes a session, without its history. The answer, or nil, err.
function opening.resume(link, session) return again(link, "resume", session) end

--- Takes a session up as well as the agent can: resumes it, else loads it. The answer; nil where a new one is needed;
-- nil, err where the agent ended, or asks for a login.
function opening.take_up(link, session)
  for _, how in ipairs { "resume", "load" } do
    if link.capabilities[how] then
      local reply, err = again(link, how, session)
      if reply then return reply end
      if err.kind == "auth" or err.kind == "timeout" or err.kind == "cancelled" or not link:is_alive() then
        return nil, err
      end
    end
  end
  return nil
end

return opening
