--- Credentials: the headers that authenticate an attempt, made anew for each one, and the bytes that no error may show.
-- A row's `auth` is a way to send a key ("bearer", "x-api-key", "api-key", "x-goog-api-key"), "none", or the name of a
-- module koine.provider.auth.NAME that logs in on its own:
--   prepare(adapter, request, deadline) → {headers = {name = value}, base_url = URL, codec = name}, of which all may be
--                               missing (the row says then), or nil, err; called once per attempt, request nil for
--                               lists; deadline: a time of wait.now, when the call ends, nil = never
-- and may have
--   sign(adapter, attempt)    → headers to add ({name = value}), which replace others of the same name, and an array of
--                               what no error may show besides (nil: nothing); or nil, err; called last, once per
--                               attempt; attempt is what will be sent: {method, url, headers (lower-case names), body
--                               ("" for none), credentials (what prepare returned)}. libcurl adds host,
--                               accept-encoding, content-length and the connection's own headers
--   setup(state)              checks the constructor's options; raises an ArgumentError
--   amend(request, state)     changes the canonical request, not the caller's tables in it, before it is rendered
--   format(state)             → the wire format in which prepare will have a chat sent, by what is known now (name);
--                               nil: the row's. Called before the canonical request is rendered
--   formats(request, state)   → all in which it may have it sent (array of names); required where it has format. Called
--                               after that, before the caller may change the tables: the time to note what headers say
--   rejected(adapter, err, applied) → true when the attempt that the provider refused should be sent once more; applied
--                               is what prepare returned for it
--   advise(adapter, err, applied) → words that say what to do about the refusal that a call ends with, for its message;
--                               nil: nothing
--   relieve(adapter, err, request) → true when what the provider refused was taken out of the canonical request, which
--                               is rendered and sent once more; false from then on for the same request
--   authenticate(adapter)     → true, or nil, err
--   authenticated(adapter)    → boolean
--   logout(adapter)           → nothing, or nil, err
--   model(adapter, entry, info) → the fields of a ModelInfo for an entry of the provider's list, nil to leave it out;
--                               info is what the row knows of the model
--   usage_report(adapter)     → a usage_report, or nil, err

local key_source = require "koine.provider.key_source"
local WAYS = require("koine.provider.auth").ways

local credentials = {}

-- Words in the names of headers whose values no error may show.
local SECRET_WORDS = { "auth", "key", "token", "secret", "cookie" }
local NOTHING = {}

local function missing(row)
  local variables = table.concat(row.env or {}, " or ")
  return key_source.refusal(row, "no key: " .. (variables ~= "" and ("set %s or give the option key"):format(variables)
    or "give the option key"))
end

-- The key for this attempt, nil when the row can do without, or nil, err.
local function key_of(row, settings)
  local key, err = key_source.given(row, settings)
  if not key and not err then key, err = key_source.from_environment(row) end
  if key or err then return key, err end
  if row.key_optional then return nil end
  return missing(row)
end

-- True when the caller gave the headers that authenticate the request.
local function given_by_hand(headers)
  for _, way in next, headers and WAYS or NOTHING do
    if headers[way[1]] then return true end
  end
end

--- The credentials of an attempt: {headers, base_url, codec}, of which all may be nil: the row says then.
-- The same table as long as the key is the same.
-- `request` and `deadline` are what goes to a login module. nil, err: an AuthenticationError that names the variable to
-- set, or the module's error. An error that a function of the caller's raises goes on unchanged.
function credentials.apply(adapter, state, settings, request, deadline)
  local row, kept = state.row, state.credentials
  if state.auth then return state.auth.prepare(adapter, request, deadline) end
  if kept and kept.key == settings.key and not settings.headers then return kept end
  if row.auth == "none" or given_by_hand(settings.headers) then return NOTHING end
  local key, err = key_of(row, settings)
  if err then return nil, err end
  if not key then return NOTHING end
  local applied, way = kept, WAYS[row.auth]
  if not applied or applied.key ~= key then
    applied = { key = key, headers = { [way[1]] = way[2] .. key } }
    state.credentials = applied
  end
  return applied
end

-- Adds the password in an address ("http://name:password@host"), as it stands there, decoded, and as it goes out in a
-- header.
local function add_password(found, address)
  local login = (address:match "^%a[%w+.-]*://([^/?#]*)" or address:match "^[^/?#]*"):match "^(.*)@"
  local password = login and login:match ":(.+)$"
  if not password then return end
  local decoded = login:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end)
  found[#found + 1] = password
  found[#found + 1] = decoded:match ":(.+)$"
  found[#found + 1] = require "koine.data.base64"(decoded)
end

--- The credentials in an attempt's headers, without the word before them, and in its addresses (the URL; the proxy, nil
-- for none): what no error may show. The core looks for those of 8 bytes and more.
function credentials.secrets(headers, url, proxy)
  local found = {}
  for name, value in pairs(headers) do
    for _, word in ipairs(SECRET_WORDS) do
      if name:lower():find(word, 1, true) then
        found[#found + 1] = value:match "^%a+ +(.+)$" or value
        break
      end
    end
  end
  add_password(found, url)
  if proxy then add_password(found, proxy) end
  return found
end

--- Logs in where a row needs it, or makes sure of a key: true, or nil, err.
function credentials.authenticate(adapter, state)
  if state.auth then
    if not state.auth.authenticate then return true end
    return state.auth.authenticate(adapter)
  end
  local applied, err = credentials.apply(adapter, state, state.settings)
  if not applied then return nil, err end
  return true
end

--- True when a chat would have credentials; never starts a login, calls no function of the user's.
function credentials.authenticated(adapter, state)
  if state.auth then return not state.auth.authenticated or state.auth.authenticated(adapter) end
  local row, settings = state.row, state.settings
  return row.auth == "none" or row.key_optional or settings.key ~= nil or given_by_hand(settings.headers) == true
    or key_source.from_environment(row) ~= nil
end

--- Forgets what a login left behind; nil, err when a part of it cannot be removed. Keys that the caller gave are the
-- caller's.
function credentials.logout(adapter, state)
  if state.auth and state.auth.logout then return state.auth.logout(adapter) end
end

return credentials
