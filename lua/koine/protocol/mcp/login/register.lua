--- Who we are to an authorisation server: a client that the user registered there, one that is described by a document
-- at a URL, one that was registered before, or one that is registered now (RFC 7591).

local call = require "koine.protocol.mcp.login.call"
local check = require "koine.data.check"
local core = require "koine.core"
local has = require("koine.protocol.mcp.login.metadata").has

local register = {}

local BASIC, POST, NONE = "client_secret_basic", "client_secret_post", "none"
local KNOWN = { [BASIC] = true, [POST] = true, [NONE] = true }

-- How a client with a secret shows it, where its registration does not say.
local function method_of(meta, secret)
  local listed = meta.token_endpoint_auth_methods_supported
  if not secret then return NONE end
  if listed == nil or has(listed, BASIC) then return BASIC end
  return has(listed, POST) and POST or has(listed, NONE) and NONE or BASIC
end

-- How a client that is registered now is to show who it is: by PKCE alone, where that is enough.
local function wanted_method(meta)
  local listed = meta.token_endpoint_auth_methods_supported
  if listed == nil or has(listed, NONE) then return NONE end
  return has(listed, BASIC) and BASIC or POST
end

local function text(value) return type(value) == "string" and value ~= "" and not value:find "%c" and value or nil end

-- Registers: a client, or nil, err.
local function ask(login, meta, redirect_uri)
  local answer, err = call.send(login.options, { method = "POST", url = meta.registration_endpoint,
    headers = { ["content-type"] = "application/json" },
    body = core.encode { client_name = login.options.client_name, application_type = "native",
      redirect_uris = core.array { redirect_uri }, grant_types = core.array { "authorization_code", "refresh_token" },
      response_types = core.array { "code" }, token_endpoint_auth_method = wanted_method(meta),
      scope = login.options.scope } })
  if not answer then return nil, err end
  local said = answer.object or {}
  local id, secret = text(said.client_id), text(said.client_secret)
  if answer.status < 200 or answer.status > 299 or not id then
    local code = text(said.error)
    return nil, call.failure("auth", ("the authorisation server registers no client (%d%s); register one there and "
      .. "give the option client_id"):format(answer.status, code and " " .. code:sub(1, 60) or ""), "registration",
      answer.status)
  end
  local method = text(said.token_endpoint_auth_method) or method_of(meta, secret)
  if not KNOWN[method] or method ~= NONE and not secret then
    return nil, call.failure("auth", "the authorisation server wants credentials that Koine does not have",
      "registration")
  end
  local ends = secret and math.type(said.client_secret_expires_at) and said.client_secret_expires_at or 0
  return { id = id, secret = method ~= NONE and secret or nil, method = method, redirect_uri = redirect_uri,
    expires = ends > 0 and ends or nil }
end

-- Whether a client that was registered before can be used again.
local function is_good(client, redirect_uri)
  return client and client.redirect_uri == redirect_uri and (not client.expires or client.expires > core.wall())
end

--- The client to be: {id, secret (or nil), method (how it shows the secret), redirect_uri}, and whether it is a new
-- one; or nil, err. `kept` is one that was registered before, or nil.
function register.client(login, meta, redirect_uri, kept)
  local options = login.options
  if options.client_id then
    return { id = options.client_id, secret = options.client_secret, redirect_uri = redirect_uri,
      method = method_of(meta, options.client_secret) }
  elseif options.client_metadata_url and meta.client_id_metadata_document_supported == true then
    return { id = options.client_metadata_url, method = NONE, redirect_uri = redirect_uri }
  elseif is_good(kept, redirect_uri) then
    return kept
  elseif meta.registration_endpoint then
    local client, err = ask(login, meta, redirect_uri)
    return client, err or true
  end
  return nil, call.failure("auth", "the authorisation server registers no clients by itself; register one there and "
    .. "give the option client_id", "registration")
end

--- The checker of the URL of a client's metadata document, https with a path: returns it, or raises an ArgumentError.
register.metadata_url = check.that("https:// URL with a path", function(value)
  if type(value) == "string" and value:find "^https://[^/?#%s%c]+/[^#%s%c]+$" then return value end
end)

return register
