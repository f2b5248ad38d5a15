--- The service that gives access tokens for Google Cloud, as the loopback provider plays it: POST /token with what a
-- service account signed, whose signature it cannot know, or with a user's refresh token. Pure but for the clock.

local core = require "koine.core"
local json = require "koine.testing.loopback.json"

local JWT_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
local LIFETIME, TOLERANCE = 3600, 300 -- seconds

-- The fields of a form.
local function read_form(text)
  local fields = {}
  for name, value in text:gmatch("([^&=]+)=([^&]*)") do
    fields[name] = value:gsub("%%(%x%x)", function(hex)
      return string.char(tonumber(hex, 16))
    end)
  end
  return fields
end

-- The object in a part of a token, nil when it is not one.
local function part_of(text)
  local bytes = core.base64_decode(text:gsub("-", "+"):gsub("_", "/") .. ("="):rep(-#text % 4))
  local value = bytes and json.decode(bytes)
  return json.is_object(value) and value or nil
end

-- The problem with an assertion, nil when there is none.
local function problem_of(assertion)
  local first, second, third = (assertion or ""):match("^([%w_-]+)%.([%w_-]+)%.([%w_-]+)$")
  local header, claims = first and part_of(first), second and part_of(second)
  if not header or not claims or #third < 100 then
    return "Invalid JWT"
  elseif header.alg ~= "RS256" or header.typ ~= "JWT" then
    return "Invalid JWT: alg RS256 and typ JWT expected"
  elseif type(claims.iss) ~= "string" or type(claims.scope) ~= "string" or type(claims.aud) ~= "string" then
    return "Invalid JWT: iss, scope and aud expected"
  elseif math.type(claims.iat) ~= "integer" or math.type(claims.exp) ~= "integer" or claims.exp - claims.iat > LIFETIME
    or math.abs(claims.iat - core.wall()) > TOLERANCE then
    return "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. " ..
      "Check your iat and exp values in the JWT claim."
  end
end

local function refusal(word, why)
  return 400, json.encode(json.object("error", word, "error_description", why))
end

--- The status and body of the answer to a request.
return function(request)
  local form = read_form(request.body)
  local kind = request.headers["content-type"]
  if kind ~= "application/x-www-form-urlencoded" then
    return refusal("invalid_request", "a form expected")
  elseif form.grant_type == JWT_GRANT then
    local problem = problem_of(form.assertion)
    if problem then
      return refusal("invalid_grant", problem)
    end
  elseif form.grant_type ~= "refresh_token" then
    return refusal("unsupported_grant_type", "Invalid grant_type: " .. tostring(form.grant_type))
  elseif not (form.client_id and form.client_secret and form.refresh_token) then
    return refusal("invalid_request", "client_id, client_secret and refresh_token expected")
  end
  local token = "ya29.loopback-" .. core.sha256(request.body):sub(1, 8):gsub(".", function(c)
    return ("%02x"):format(c:byte())
  end)
  return 200, json.encode(json.object("access_token", token, "expires_in", LIFETIME - 1, "token_type", "Bearer"))
end
