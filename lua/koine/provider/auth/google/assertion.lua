--- Assertions: what a service account signs with its key to ask for a token, a JSON Web Token of an hour (RFC 7523).
-- The signature (RS256) is made by luaossl, which is required on first use.

local base64 = require "koine.data.base64"
local check = require "koine.data.check"
local core = require "koine.core"
local private_key = require "koine.provider.auth.google.private_key"

local LIFETIME = 3600 -- seconds: no more is taken
local SCOPE = "https://www.googleapis.com/auth/cloud-platform"

local MISSING = "a service account's key is used with luaossl, which is not installed (Debian: lua-luaossl, LuaRocks: "
  .. "luaossl); without it give the option token = function, which returns an access token"
local UNFIT = "private_key: RSA key in PEM (PKCS #8), without a password, expected"

-- f's result, or nil and the error; Lua's own when no memory is left is raised again.
local function try(f, ...)
  local ok, result = pcall(f, ...)
  if ok then return result end
  if check.is_memory(result) then error(result, 0) end
  return nil, result
end

-- Base64 for URLs, without padding.
local function encoded(bytes)
  return (base64(bytes):gsub("[+/=]", { ["+"] = "-", ["/"] = "_", ["="] = "" }))
end

local function signature(pkey, digest, key, text)
  local hash = digest.new "sha256"
  hash:update(text)
  return pkey.new(key, "DER", "private"):sign(hash)
end

--- The assertion of a service account for a token from `audience` (a URL): a string, or nil and why not, in words that
-- show nothing of the key. `account` is {client_email, private_key, private_key_id (may be nil)}, `now` Unix seconds.
return function(account, audience, now)
  local pkey, digest = try(require, "openssl.pkey"), try(require, "openssl.digest")
  if not pkey or not digest then return nil, MISSING end
  local key = private_key(account.private_key)
  if not key then return nil, UNFIT end
  local time = math.floor(now)
  local header = core.encode { alg = "RS256", typ = "JWT", kid = account.private_key_id }
  local claims = core.encode { iss = account.client_email, scope = SCOPE, aud = audience, iat = time,
    exp = time + LIFETIME }
  local text = encoded(header) .. "." .. encoded(claims)
  local signed = try(signature, pkey, digest, key, text)
  if not signed then return nil, UNFIT end
  return text .. "." .. encoded(signed)
end
