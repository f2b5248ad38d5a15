--- The secrets of one login: the verifier that only who began it knows (PKCE, RFC 7636), and the state that ties the
-- answer to it.

local core = require "koine.core"

local pkce = {}

local BYTES = 32

local function text(bytes)
  return (core.base64_encode(bytes):gsub("[+/=]", { ["+"] = "-", ["/"] = "_", ["="] = "" }))
end

--- The challenge of a verifier, by S256.
function pkce.challenge(verifier) return text(core.sha256(verifier)) end

--- Fresh ones: {verifier, challenge, state}, 43 characters each, 256 bits of the system's randomness in verifier and
-- state.
function pkce.new()
  local verifier = text(core.random(BYTES))
  return { verifier = verifier, challenge = pkce.challenge(verifier), state = text(core.random(BYTES)) }
end

return pkce
