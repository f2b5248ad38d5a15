--- Credentials: the headers that let an attempt in, made afresh for each one, and the bytes that no error may show.
-- A row's `auth` is a way to send a key ("bearer", "x-api-key", "api-key"), "none", or the name of a module
-- koine.auth.NAME that logs in on its own:
--   prepare(adapter, request) → {headers = {name = value}, base_url = URL, codec = name, path = string}, of which all may be
--                               missing (the row says then), or nil, err; called once per attempt, request nil for lists
--   rejected(adapter, err)    → true when the attempt that the provider refused (401) should be sent once more
--   authenticate(adapter) → true or nil, err; authenticated(adapter) → boolean; logout(adapter): each may be missing.
--
-- May call: errors, options.

local errors = require "koine.errors"
local options = require "koine.options"

local credentials = {}

-- How a key goes out: header and what stands before it.
local WAYS = {
  bearer = { "authorization", "Bearer " },
  ["x-api-key"] = { "x-api-key", "" },
  ["api-key"] = { "api-key", "" },
}

local SECRET_HEADERS = { "authorization", "x-api-key", "api-key", "cookie" }
local NOTHING = {}

--- The login module of a row, or nil when it goes in with a key or without.
function credentials.module(row)
  if WAYS[row.auth] or row.auth == "none" then return nil end
  return require("koine.auth." .. row.auth)
end

local function refusal(row, message)
  return nil, errors.new { kind = "auth", provider = row.name, message = row.title .. ": " .. message }
end

-- The key out of the environment: the first of the row's variables that is set; nil when none is, or nil, err.
local function from_environment(row)
  for _, variable in ipairs(row.env or {}) do
    local key = os.getenv(variable)
    if key and key ~= "" then
      local problem = options.key_problem(key)
      if problem then return refusal(row, ("the key in %s is %s"):format(variable, problem)) end
      return key
    end
  end
end

local function missing(row)
  local variables = table.concat(row.env or {}, " or ")
  return refusal(row, "no key: " .. (variables ~= "" and ("set %s or give the option key"):format(variables)
    or "give the option key"))
end

-- What the caller's function returns: a string, or nil and why.
local function from_function(row, f)
  local key, why = f()
  if key == nil then
    if errors.is_error(why) then return nil, why end
    return refusal(row, "the function key gave no key" .. (why and ": " .. tostring(why) or ""))
  end
  options.check_key(key)
  return key
end

-- The key for this attempt, nil when the row can do without, or nil, err.
local function key_of(row, settings)
  local given = settings.key
  if type(given) == "string" then return given end
  if given then return from_function(row, given) end
  local key, err = from_environment(row)
  if key or err then return key, err end
  if row.key_optional then return nil end
  return missing(row)
end

-- True when the caller gave the headers that let the request in.
local function given_by_hand(headers)
  for _, way in pairs(WAYS) do
    if headers and headers[way[1]] then return true end
  end
end

--- What lets an attempt of this row in: {headers, base_url, codec, path}, of which all may be nil: the row says then.
-- `request` is what goes to a login module. nil, err: an AuthenticationError that names the variable to set, or the
-- module's error. Raises an ArgumentError when the caller's key function returns something unfit.
function credentials.access(adapter, state, settings, request)
  local row = state.row
  if state.auth then return state.auth.prepare(adapter, request) end
  if row.auth == "none" or given_by_hand(settings.headers) then return NOTHING end
  local key, err = key_of(row, settings)
  if err then return nil, err end
  if not key then return NOTHING end
  local way = WAYS[row.auth]
  return { headers = { [way[1]] = way[2] .. key } }
end

--- The credentials among an attempt's headers, without the word before them: what must never be shown.
function credentials.secrets(headers)
  local found = {}
  for _, name in ipairs(SECRET_HEADERS) do
    if headers[name] then found[#found + 1] = headers[name]:match "^%a+ +(.+)$" or headers[name] end
  end
  return found
end

--- Logs in where a row needs it, or makes sure of a key: true, or nil, err.
function credentials.authenticate(adapter, state)
  if state.auth then
    if not state.auth.authenticate then return true end
    return state.auth.authenticate(adapter)
  end
  local access, err = credentials.access(adapter, state, state.settings)
  if not access then return nil, err end
  return true
end

--- True when a chat would have credentials to go in with; asks nobody, calls no function of the user's.
function credentials.authenticated(adapter, state)
  if state.auth then return not state.auth.authenticated or state.auth.authenticated(adapter) end
  local row, settings = state.row, state.settings
  return row.auth == "none" or row.key_optional or settings.key ~= nil or given_by_hand(settings.headers) == true
    or from_environment(row) ~= nil
end

--- Forgets what a login left behind. Keys that the caller gave are the caller's.
function credentials.logout(adapter, state)
  if state.auth and state.auth.logout then state.auth.logout(adapter) end
end

return credentials
