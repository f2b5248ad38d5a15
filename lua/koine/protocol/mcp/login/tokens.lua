--- Tokens of an authorisation server: for a code, and for a refresh token. Each names the resource that it is for.

local base64 = require "koine.data.base64"
local call = require "koine.protocol.mcp.login.call"
local check = require "koine.data.check"
local core = require "koine.core"
local percent = require("koine.data.text").percent

local tokens = {}

local EARLY = 30       -- seconds before its end in which a token is no longer used; of short ones half their time
local SHOWN_MAX = 200  -- bytes of a server's words in an error

-- Until when a token is used, Unix seconds; nil where the server does not say.
local function expiry(seconds)
  seconds = type(seconds) == "string" and tonumber(seconds) or seconds
  if type(seconds) ~= "number" or seconds ~= seconds or seconds <= 0 then return nil end
  return core.wall() + math.min(seconds, 1e9) - math.min(EARLY, seconds / 2)
end

local function text(value) return type(value) == "string" and value ~= "" and value or nil end

-- The error of an answer that has no token. `refused`: the server has judged, and does not merely have trouble.
local function no_token(answer, secrets)
  local said = answer.object or {}
  local code, words = text(said.error), text(said.error_description)
  local refused = answer.status >= 400 and answer.status < 500 and answer.status ~= 429 and code ~= nil
  local message = "the authorisation server gave no token: " .. (code or tostring(answer.status))
  if words then message = ("%s (%s)"):format(message, words) end
  message = core.redact(message:gsub("%c", " "), secrets)
  local err = call.failure(refused and "auth" or answer.status >= 500 and "server" or "protocol",
    message:sub(1, SHOWN_MAX), code and core.redact(code:sub(1, 60), secrets), answer.status)
  err.refused = refused
  return nil, err
end

-- Reads an answer: {access_token, refresh_token, expires, scope}, of which the last three may be nil; or nil, err.
local function read(answer, secrets)
  local said = answer.object
  if answer.status ~= 200 or not said or not text(said.access_token) then return no_token(answer, secrets) end
  if type(said.token_type) ~= "string" or said.token_type:lower() ~= "bearer" then
    return nil, call.failure("protocol", "the authorisation server gave a token of another type than Bearer")
  end
  local problem = check.key_problem(said.access_token)
  if problem then
    return nil, call.failure("protocol", "the authorisation server's token is " .. problem)
  end
  return { access_token = said.access_token, refresh_token = text(said.refresh_token),
    expires = expiry(said.expires_in), scope = text(said.scope) }
end

-- Asks the token endpoint. `client` as register.lua makes it.
local function ask(login, endpoint, client, fields, secrets)
  local headers = { ["content-type"] = "application/x-www-form-urlencoded" }
  secrets[#secrets + 1] = client.secret
  if client.method == "client_secret_basic" then
    local pair = base64(percent(client.id) .. ":" .. percent(client.secret))
    headers.authorization = "Basic " .. pair
    secrets[#secrets + 1] = pair
  else
    fields.client_id = client.id
    if client.method == "client_secret_post" then fields.client_secret = client.secret end
  end
  local answer, err = call.send(login.options, { method = "POST", url = endpoint, headers = headers,
    body = call.form(fields), secrets = secrets })
  if not answer then return nil, err end
  return read(answer, secrets)
end

--- The tokens for a code: a table as `read` says, or nil, err.
function tokens.exchange(login, endpoint, client, resource, code, verifier)
  return ask(login, endpoint, client, { grant_type = "authorization_code", code = code, code_verifier = verifier,
    redirect_uri = client.redirect_uri, resource = resource }, { code, verifier })
end

--- The tokens for a refresh token, which stays where the server gives no other one: as `exchange`; the error has
-- `refused` = true where the server no longer takes it.
function tokens.refresh(login, endpoint, client, resource, refresh_token)
  local made, err = ask(login, endpoint, client, { grant_type = "refresh_token", refresh_token = refresh_token,
    resource = resource }, { refresh_token })
  if not made then return nil, err end
  made.refresh_token = made.refresh_token or refresh_token
  return made
end

return tokens
