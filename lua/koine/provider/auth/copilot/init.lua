--- How adapters of GitHub Copilot log in and what each of their requests needs: a GitHub token (found, or got with a
-- device code), exchanged for a Copilot token; the API host and the wire format that these lead to; who began the
-- exchange.

local core = require "koine.core"
local check = require "koine.data.check"
local key_source = require "koine.provider.key_source"
local device = require "koine.provider.auth.copilot.device"
local endpoint = require "koine.provider.auth.copilot.endpoint"
local single_flight = require "koine.task.single_flight"
local service = require "koine.provider.login_service"
local addresses = require "koine.provider.auth.copilot.addresses"
local models = require "koine.provider.auth.copilot.models"
local rate_limiter = require "koine.store.rate_limiter"
local api_token = require "koine.provider.auth.copilot.api_token"
local github_token = require "koine.provider.auth.copilot.github_token"
local usage = require "koine.provider.auth.copilot.usage"

local copilot = {}

local API = check.one_of { "chat", "responses" }

local MODELS_VERSION = "2025-10-01" -- of the list's shape
local WAIT_MAX = 1000               -- seconds that a coroutine waits for another one's login

local logins = {} -- "host file" → slot of the login that is under way

-- The limiter that the options ask for; the row's own where there is a place for its file.
local function limiter_of(state)
  local settings = state.settings
  local interval, path = settings.min_request_interval, settings.rate_limit_path
  if not path and state.login.token_path then
    path = state.login.token_path:gsub("[^/]*$", "") .. "copilot_rate_limit"
  end
  if interval == nil then interval = path and state.row.login.min_request_interval or 0 end
  return rate_limiter.new { rate_limit_path = path, min_request_interval = interval, rate_limit = settings.rate_limit }
end

--- Checks the constructor's options; puts `login` and, unless the caller gave one, `rate_limiter` into the state.
function copilot.setup(state)
  local settings, facts = state.settings, state.row.login
  if settings.api ~= nil then API(settings.api, "api") end
  state.login = {
    host = addresses.of(settings.github_host),
    client_id = settings.client_id or facts.client_id,
    token_path = github_token.path(settings),
    headers = {
      ["editor-version"] = settings.editor_version or facts.editor_version,
      ["copilot-integration-id"] = settings.integration_id or facts.integration_id,
    },
  }
  state.rate_limiter = state.rate_limiter or limiter_of(state)
end

local INITIATOR, FORMATS = check.one_of { "user", "agent" }, { "chat", "responses" }

-- Requests ------------------------------------------------------------------------------------------------------------

-- Who began the exchange: the user, where the last message is the user's and more than tool results; else the agent.
local function initiator(messages)
  local last = messages[#messages]
  if last.role ~= "user" then return "agent" end
  if type(last.content) == "string" then return "user" end
  for _, block in ipairs(last.content) do
    if block.type ~= "tool_result" then return "user" end
  end
  return "agent"
end

local function has_image(content)
  if type(content) ~= "table" then return false end
  for _, block in ipairs(content) do
    if block.type == "image" or block.type == "tool_result" and has_image(block.content) then return true end
  end
  return false
end

local function any_image(messages)
  for _, message in ipairs(messages) do
    if has_image(message.content) then return true end
  end
  return false
end

-- By request: {initiator, has_image}, which headers tell of it.
local facts = setmetatable({}, { __mode = "k" })

-- They are found out once, as the caller may change the messages.
local function facts_of(request)
  local own = facts[request] or {}
  facts[request] = own
  own.initiator = own.initiator or initiator(request.messages)
  if own.has_image == nil then own.has_image = any_image(request.messages) end
  return own
end

--- Takes metadata.initiator ("user" or "agent") out of the request: it becomes a header; and notes in it whether the
-- model takes an effort, where that was learnt. Raises an ArgumentError for another initiator.
function copilot.amend(request, state)
  local no_effort = endpoint.has_no_effort(state)
  if no_effort ~= nil then request.thinking_mode = no_effort and "none" or nil end
  local given = request.metadata and request.metadata.initiator
  if given == nil then return end
  facts[request] = { initiator = INITIATOR(given, "metadata.initiator") }
  local rest = {}
  for name, value in next, request.metadata do rest[name] = value end
  rest.initiator = nil
  request.metadata = next(rest) ~= nil and rest or nil
end

--- The wire format that a chat is sent in, as far as that is known: see credentials.
function copilot.format(state) return (endpoint.choose(state)) end

--- Notes what headers tell of the request, and returns the wire formats that it may be sent in: see credentials.
function copilot.formats(request, state)
  facts_of(request)
  local api = state.settings.api or state.login.api
  return api and { api } or FORMATS
end

local function headers_for(state, request)
  local headers = {}
  for name, value in pairs(state.login.headers) do headers[name] = value end
  if not request then
    headers["x-github-api-version"] = MODELS_VERSION
    return headers
  end
  local own = facts_of(request)
  headers["x-initiator"] = own.initiator
  if request.stream then headers.accept = "text/event-stream" end
  if own.has_image then headers["copilot-vision-request"] = "true" end
  return headers
end

-- Tokens --------------------------------------------------------------------------------------------------------------

-- True when the caller said what goes in the authorization header.
local function is_given(state)
  local headers = state.settings.headers
  return state.settings.key ~= nil or headers ~= nil and headers.authorization ~= nil
end

-- Logs the user in and keeps the token: the token, or nil, err. Coroutines that need the same login share it.
local function log_in(state, deadline)
  local login = state.login
  local key = login.host.name .. " " .. tostring(login.token_path)
  logins[key] = logins[key] or {}
  return single_flight(logins[key], function()
    local made, err = github_token.make_room(state)
    if not made then return nil, err end
    local token
    token, err = device.login(state, deadline)
    if not token then return nil, err end
    login.account = api_token.of(login.host, token)
    made, err = github_token.keep(state, token)
    if not made then return nil, err end
    return token
  end, service.within(deadline, WAIT_MAX))
end

-- The adapter's account, or nil, err; `quietly`: does not ask the user to log in, nil then.
local function account_of(state, quietly, deadline)
  local login = state.login
  if login.account and not login.account.closed then return login.account end
  local token, err = github_token.find(state)
  if not token and not err and not quietly then token, err = log_in(state, deadline) end
  if not token then return nil, err end
  login.account = api_token.of(login.host, token)
  return login.account
end

-- The credentials of a request: {token = string, base_url; where it was exchanged account, copilot = the table of
-- api_token.access}, or nil, err.
local function credentials_of(state, deadline)
  local settings = state.settings
  local base_url = settings.api_base or settings.base_url
  if is_given(state) then
    local key, err = key_source.given(state.row, settings)
    if err then return nil, err end
    base_url = base_url or addresses.service(state.login.host, nil, key or "") or state.login.host.chat
    return { token = key, base_url = base_url }
  end
  local one, err = account_of(state, false, deadline)
  if not one then return nil, err end
  local held
  held, err = api_token.access(state, one, deadline)
  if not held then return nil, err end
  base_url = base_url or held.base_url
  if base_url then return { token = held.token(), base_url = base_url, account = one, copilot = held } end
  return nil, service.failure(state.row, { kind = "protocol",
    message = ("the token exchange names an API host that is not GitHub's, %s; the option api_base overrides it")
      :format(held.stranger:sub(1, 100)) })
end

--- Builds headers and base URL of an attempt: see credentials. `api`, `account` and `copilot` in it are for `rejected`.
function copilot.prepare(adapter, request, deadline)
  local state = core.state(adapter)
  local headers = headers_for(state, request)
  local found, err = credentials_of(state, deadline)
  if not found then return nil, err end
  if found.token then headers.authorization = "Bearer " .. found.token end
  local prepared = { headers = headers, base_url = found.base_url, account = found.account,
    copilot = found.copilot }
  if not request then return prepared end
  prepared.api, err = endpoint.choose(state)
  if err then return nil, err end
  if prepared.api ~= state.row.codec then prepared.codec = prepared.api end
  return prepared
end

--- Whether a refused attempt is worth another one: with a new Copilot token after a 401, in the other wire format where
-- the model is not spoken to in this one. Says in the error which option is meant where an editor's name is asked for.
function copilot.rejected(adapter, err, applied)
  local state = core.state(adapter)
  if err.status_code == 401 then
    if applied.account then api_token.reject(applied.account, applied.copilot) end
    return applied.account ~= nil or type(state.settings.key) == "function"
  end
  if err.message:find("Editor-Version", 1, true) then
    err.message = err.message .. ' (the option editor_version sets that header, e.g. "vscode/1.99.0")'
  end
  return endpoint.switch(state, err, applied.api)
end

--- Whether a refused request is worth another one without what was refused, which is noted in the request: the effort,
-- of a model that takes none. The adapter remembers it.
function copilot.relieve(adapter, err, request)
  if request.thinking_mode == "none" or not endpoint.refuses_effort(err) then return false end
  core.state(adapter).login.no_effort = true
  request.thinking_mode = "none"
  return true
end

-- Logging in and out --------------------------------------------------------------------------------------------------

-- Exchanges a GitHub token: true, or nil, err.
local function try(state, token)
  local one = api_token.of(state.login.host, token)
  local held, err = api_token.access(state, one)
  if not held then return nil, err end
  state.login.account = one
  return true
end

--- Makes sure of a token that GitHub takes: one of those that are there, or a new one for which the user logs in. true,
-- or nil, err.
function copilot.authenticate(adapter)
  local state = core.state(adapter)
  if is_given(state) then return true end
  local held = state.login.account
  if held and not held.closed then
    local done, err = try(state, held.github())
    if done or err.status_code ~= 401 then return done, err end
  end
  local token, err, source = github_token.find(state)
  while token do
    local done
    done, err = try(state, token)
    if done then return true end
    if source == 1 or err.status_code ~= 401 then return nil, err end -- what the caller gave is not replaced
    token, err, source = github_token.find(state, source + 1)
  end
  if not err then token, err = log_in(state) end
  if not token then return nil, err end
  return try(state, token)
end

--- True when there is a token; sends nothing.
function copilot.authenticated(adapter)
  local state = core.state(adapter)
  return is_given(state) or account_of(state, true) ~= nil
end

--- Forgets the tokens and removes the file: nothing, or nil, err.
function copilot.logout(adapter)
  local state = core.state(adapter)
  local login, kept = state.login, github_token.kept(state)
  if kept then api_token.close(api_token.of(login.host, kept)) end
  if login.account then api_token.close(login.account) end
  login.account, login.api = nil, nil
  local removed, err = github_token.forget(state)
  if not removed then return nil, err end
end

-- Models and quotas ---------------------------------------------------------------------------------------------------

--- The fields of a ModelInfo for an entry of the list; nil to leave it out. Remembers where the model answers.
function copilot.model(adapter, entry, info)
  endpoint.remember(core.state(adapter).login.account, entry)
  return models.fields(entry, info)
end

--- The quotas of the account: a usage_report, or nil, err. Does not ask the user to log in.
function copilot.usage_report(adapter)
  local state = core.state(adapter)
  local one, err = account_of(state, true)
  if one then return usage.report(state, one.github()) end
  return nil, err or service.refusal(state.row, "no GitHub token to ask for quotas with; authenticate() logs in")
end

return copilot
