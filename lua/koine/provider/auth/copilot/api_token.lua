--- Copilot tokens: what a GitHub token is exchanged for, for about half an hour. Every adapter of one GitHub token and
-- host shares an account, so that a process exchanges once, however many adapters and coroutines it has.
-- Tokens are kept in closures: no key, field or name of a table shows one.

local core = require "koine.core"
local check = require "koine.data.check"
local login_tokens = require "koine.provider.login_tokens"
local service = require "koine.provider.login_service"
local addresses = require "koine.provider.auth.copilot.addresses"

local api_token = {}

local PATH = "/copilot_internal/v2/token"
local LIFETIME = 1500 -- seconds, where the answer does not say
local LIFETIME_MAX = 86400 -- seconds, whatever it says

--- Returns the Unix seconds that tokens expire in; specs put their own function here.
api_token.clock = core.wall

-- The set of accounts, {host = name, github = function → token, token = nil | {…}, models, closed}, as long as somebody
-- holds them.
local known = setmetatable({}, { __mode = "k" }) -- luacheck: ignore 241
local tokens = login_tokens.new(function() return api_token.clock() end)

local function hidden(text) return function() return text end end

--- The account of a GitHub token at a host (addresses.of).
function api_token.of(host, token)
  tokens:sweep()
  for one in next, known do
    if one.host == host.name and one.github() == token then return one end
  end
  local made = { host = host.name, github = hidden(token), models = {} }
  known[made] = true
  return made
end

--- Forgets an account; adapters that have it look for a token again.
function api_token.close(one)
  one.closed, known[one] = true, nil
  tokens:reject(one, one.token)
end

local HINTS = {
  [401] = "; authenticate() logs in again",
  [403] = "; has the account a Copilot plan, and may this token use it?",
  [404] = "; the account has no Copilot plan, or the token is of a kind that is not exchanged: give such a one as key",
}

-- The error of an answer outside 200–299: the server's fault or a limit as always, else a refusal of the token.
local function refusal(state, answer, secrets)
  local err = service.answer_error(state.row, answer, secrets)
  local what = "GitHub cannot exchange the token now"
  if answer.status ~= 429 and answer.status < 500 then
    err.kind, err.class, err.retryable = "auth", core.error_class "auth", false
    what = "GitHub refuses the token"
  end
  err.message = ("%s: %s (HTTP %d): %s%s"):format(state.row.title, what, answer.status, err.message,
    HINTS[answer.status] or "")
  return err
end

local function nonsense(state, status, what)
  return service.failure(state.row, { kind = "protocol", status_code = status,
    message = "the token exchange " .. what })
end

-- The seconds from now on that a token is good for.
local function lifetime(reply)
  local said = LIFETIME
  if type(reply.expires_at) == "number" then said = reply.expires_at - api_token.clock()
  elseif type(reply.refresh_in) == "number" then said = reply.refresh_in + login_tokens.MARGIN end
  return math.min(said, LIFETIME_MAX)
end

-- Reads a successful answer into the table that api_token.access returns; nil, err where that fails.
local function read(state, status, reply)
  if not reply then return nil, nonsense(state, status, "gave no JSON object") end
  if reply.chat_enabled == false then
    return nil, service.refusal(state.row, "chat is switched off for this account", "chat_disabled")
  end
  local problem = check.key_problem(reply.token)
  if problem then return nil, nonsense(state, status, "gave no token but " .. problem) end
  local endpoints = type(reply.endpoints) == "table" and reply.endpoints or {}
  local url, stranger = addresses.service(state.login.host, endpoints.api, reply.token)
  return { token = hidden(reply.token), expires = api_token.clock() + lifetime(reply), base_url = url,
    stranger = stranger }
end

-- Exchanges the account's GitHub token.
local function fetch(state, one, deadline)
  local token = one.github()
  local headers, secrets = { authorization = "token " .. token }, { token }
  for name, value in pairs(state.login.headers) do headers[name] = value end
  local status, reply, answer = service.call(state, { method = "GET", url = state.login.host.api .. PATH,
    headers = headers, secrets = secrets }, deadline)
  if not status then return nil, reply end
  if status < 200 or status > 299 then
    if status == 401 then api_token.close(one) end
    return nil, refusal(state, answer, secrets)
  end
  return read(state, status, reply)
end

--- The account's Copilot token, exchanged when there is none or it is about to expire: {token = function → token,
-- expires = Unix seconds, base_url, or stranger = the URL that the answer named and that is not GitHub's}, or nil, err.
-- A GitHub token that is refused closes the account. Ends at the deadline (a time of wait.now, nil = none).
function api_token.access(state, one, deadline)
  return tokens:get(one, function() return fetch(state, one, deadline) end, deadline)
end

--- Takes back a Copilot token that was refused; another one in its place stays.
function api_token.reject(one, token) tokens:reject(one, token) end

return api_token
