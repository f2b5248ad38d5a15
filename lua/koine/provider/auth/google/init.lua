--- How adapters of Vertex AI log in, and where they find it. Credentials are looked for in this order: the option key
-- (an API key, of express mode), the option token (an access token, or a function that returns one and is called for
-- each attempt), the file that the option credentials_file or GOOGLE_APPLICATION_CREDENTIALS names. The file is the key
-- of a service account or a user's login; with it an access token is asked for, and anew within five minutes of the
-- token's end.

local core = require "koine.core"
local account = require "koine.provider.auth.google.account"
local addresses = require "koine.provider.auth.google.addresses"
local check = require "koine.data.check"
local key_source = require "koine.provider.key_source"
local service = require "koine.provider.login_service"

local google = {}

--- Checks the constructor's options; puts the base URL into the state, and the project.
function google.setup(state)
  local settings = state.settings
  for _, name in ipairs { "token", "credentials_file" } do
    if settings.key ~= nil and settings[name] ~= nil then
      core.raise_argument(name, "nothing beside the option key", "a second credential")
    end
  end
  state.login = {}
  addresses.setup(state)
end

-- True when the caller gave credentials.
local function is_given(settings)
  local headers = settings.headers
  return headers ~= nil and (headers.authorization ~= nil or headers["x-goog-api-key"] ~= nil)
end

-- The adapter's account, or nil, err.
local function account_of(state)
  local one, err = state.login.account, nil
  if not one then one, err = account.of(state) end
  state.login.account = one
  if one or err then return one, err end
  return nil, service.refusal(state.row, "no credentials: set GOOGLE_APPLICATION_CREDENTIALS to the path of a "
    .. "credentials file, or give the option credentials_file or token")
end

-- The credentials of an attempt: {header, value, account, token}, or nil, err.
local function found(state, deadline)
  local settings = state.settings
  local key, err = key_source.given(state.row, settings)
  if err then return nil, err end
  if key then return { header = "x-goog-api-key", value = key } end
  local given = settings.token
  if type(given) == "function" then given, err = key_source.from_function(state.row, "token", given, check.key) end
  if err then return nil, err end
  if given then return { header = "authorization", value = "Bearer " .. given } end
  local one, token
  one, err = account_of(state)
  if not one then return nil, err end
  token, err = account.token(state, one, deadline)
  if not token then
    state.login.account = nil -- the file may be another one by the next attempt
    return nil, err
  end
  return { header = "authorization", value = "Bearer " .. token.value(), account = one, token = token }
end

--- The credentials of an attempt: see koine.provider.credentials. A user's login is billed to the project that its file
-- names, else to the adapter's. `account` and `token` are for `rejected`.
function google.prepare(adapter, _, deadline)
  local state = core.state(adapter)
  if is_given(state.settings) then return {} end
  local one, err = found(state, deadline)
  if not one then return nil, err end
  local applied = state.credentials
  if applied and applied.headers[one.header] == one.value then return applied end
  local headers = { [one.header] = one.value }
  if one.account then
    headers["x-goog-user-project"] = one.account.quota_project or one.account.is_user and state.project or nil
  end
  state.credentials = { headers = headers, account = one.account, token = one.token }
  return state.credentials
end

--- True when a refused attempt is worth another one: after a 401, with a new token or what the caller's function gives.
function google.rejected(adapter, err, applied)
  if err.status_code ~= 401 then return false end
  local state = core.state(adapter)
  if applied.account then
    account.reject(applied.account, applied.token)
    state.login.account = nil
    return true
  end
  return type(state.settings.token) == "function" or type(state.settings.key) == "function"
end

--- Makes sure of a token: true, or nil, err.
function google.authenticate(adapter)
  local applied, err = google.prepare(adapter)
  if not applied then return nil, err end
  return true
end

--- True when there are credentials: what the caller gave, or a fit file; sends nothing, calls no function of the
-- user's.
function google.authenticated(adapter)
  local state = core.state(adapter)
  local settings = state.settings
  if settings.key ~= nil or settings.token ~= nil or is_given(settings) then return true end
  return account_of(state) ~= nil
end

--- Forgets the access token; what the caller gave is left alone.
function google.logout(adapter)
  local state = core.state(adapter)
  local one = state.login.account
  if one then account.reject(one, one.token) end
  state.login.account, state.credentials = nil, nil
end

return google
