--- Errors as ACP says them: {code, message, data}, for handlers of requests.

local errors = require "koine.data.errors"

local failure = {}

local INVALID_REQUEST, INVALID_PARAMS, INTERNAL = -32600, -32602, -32603
local AUTH_REQUIRED, NOT_FOUND = -32000, -32002

local AUTH = { auth = true, permission = true }

--- nil and the error of a request that comes at the wrong time.
function failure.request(...) return nil, { code = INVALID_REQUEST, message = string.format(...) } end

--- nil and the error of bad params.
function failure.params(...) return nil, { code = INVALID_PARAMS, message = string.format(...) } end

--- nil and the error of a session that is not there.
function failure.no_session(id)
  return nil, { code = NOT_FOUND, message = "no such session", data = { sessionId = id } }
end

--- nil and what an error of ours is to the editor: one of credentials asks for a login.
function failure.of(err)
  local is_auth = errors.is_error(err) and AUTH[err.kind]
  return nil, { code = is_auth and AUTH_REQUIRED or INTERNAL, message = errors.words(err),
    data = errors.is_error(err) and { kind = err.kind } or nil }
end

return failure
