--- How adapters of Ollama find their server and log in there: OLLAMA_HOST in the forms that Ollama's own programs take,
-- no key on the user's own server, a key in the cloud.

local core = require "koine.core"
local check = require "koine.data.check"
local key_source = require "koine.provider.key_source"
local errors = require "koine.data.errors"
local getenv = require "koine.data.host.getenv"

local ollama = {}

local CLOUD = "^https://ollama%.com$"
local KEY = "OLLAMA_API_KEY"

local PORTS = { http = "80", https = "443" } -- where a scheme was given

-- Host and port ("" for none) of an authority; nil where it is not one.
local function split(authority)
  for _, pattern in ipairs { "^(%[[%x:.]+%]):?(%d*)$", "^([%w._-]*):?(%d*)$" } do
    local name, port = authority:match(pattern)
    if name then return name, port end
  end
  if authority:find "^[%x:.]*:[%x:.]*:[%x:.]*$" then return "[" .. authority .. "]", "" end
end

-- Where a server listens everywhere, and where it is then.
local EVERYWHERE = { [""] = "127.0.0.1", ["0.0.0.0"] = "127.0.0.1", ["[::]"] = "[::1]" }

--- The address that a value of OLLAMA_HOST stands for: HOST, HOST:PORT, SCHEME://HOST[:PORT][/PATH], in quotes or not.
-- nil where it is not one.
function ollama.address(value)
  local host = value:gsub("^[%s\"']+", ""):gsub("[%s\"']+$", "")
  if host == "ollama.com" then return "https://ollama.com" end
  local scheme, rest = host:match "^(%a+)://(.*)$"
  local default = not scheme and "11434" or PORTS[scheme]
  local authority, path = (rest or host):match "^([^/]*)(.-)/*$"
  local name, port = split(authority)
  if not name or not default or path:find "[%c%s?#]" then return nil end
  if port == "" or tonumber(port) > 65535 then port = default end
  scheme = scheme or "http"
  return ("%s://%s%s%s"):format(scheme, EVERYWHERE[name] or name, port == PORTS[scheme] and "" or ":" .. port, path)
end

--- Puts the address of OLLAMA_HOST into the state, unless the caller gave one. Raises an ArgumentError for a value that
-- is not an address.
function ollama.setup(state)
  local host = not state.settings.base_url and getenv "OLLAMA_HOST" or ""
  if host == "" then return end
  local address = ollama.address(host)
  if not address then
    core.raise_argument("OLLAMA_HOST", "host, host:port or scheme://host[:port][/path] in the environment",
      "another value")
  end
  state.base_url = address
end

-- The key for this attempt: nil where none is needed, or nil, err. The variable's goes to the cloud alone.
local function key_of(state)
  local row = state.row
  local key, err = key_source.given(row, state.settings)
  if key or err or not state.base_url:find(CLOUD) then return key, err end
  key = getenv(KEY)
  if not key or key == "" then
    return nil, errors.new { kind = "auth", provider = row.name,
      message = ("%s: no key: set %s or give the option key"):format(row.title, KEY) }
  end
  local problem = check.key_problem(key)
  if not problem then return key end
  return nil, errors.new { kind = "auth", provider = row.name,
    message = ("%s: the key in %s is %s"):format(row.title, KEY, problem) }
end

-- True when the caller said what goes in the authorization header.
local function is_given(state)
  local headers = state.settings.headers
  return headers ~= nil and headers.authorization ~= nil
end

--- The credentials of an attempt: see koine.provider.credentials.
function ollama.prepare(adapter)
  local state = core.state(adapter)
  if is_given(state) then return {} end
  local key, err = key_of(state)
  if err then return nil, err end
  local applied = state.credentials
  if not applied or applied.key ~= key then
    applied = { key = key, headers = key and { authorization = "Bearer " .. key } }
    state.credentials = applied
  end
  return applied
end

--- True, or nil, err: there is a key, or none is needed.
function ollama.authenticate(adapter)
  local prepared, err = ollama.prepare(adapter)
  if not prepared then return nil, err end
  return true
end

--- Whether a call would have what it needs; calls no function of the user's.
function ollama.authenticated(adapter)
  local state = core.state(adapter)
  if state.settings.key ~= nil or is_given(state) or not state.base_url:find(CLOUD) then return true end
  return (getenv(KEY) or "") ~= ""
end

return ollama
