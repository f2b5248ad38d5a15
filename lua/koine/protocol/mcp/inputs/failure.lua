--- What becomes of a request of the server that cannot be answered. Each function returns nil, the error for the user,
-- and what the server is told: {code, message}. A server is a stranger: it hears what is wrong with its own request,
-- and nothing of what went wrong here.

local errors = require "koine.data.errors"

local failure = {}

local INVALID_PARAMS, INTERNAL, REFUSED, USED_UP = -32602, -32603, -1, -32000

local function told(kind, code, words)
  return nil, errors.new { kind = kind, code = tostring(code), retryable = false, message = words },
    { code = code, message = words }
end

--- The server's request is not as the protocol says; `words` say what is wrong.
function failure.invalid(method, words) return told("protocol", INVALID_PARAMS, method .. ": " .. words) end

--- The user refused.
function failure.refused(method) return told("other", REFUSED, method .. ": the user refused the request") end

--- A bound of this connection is reached.
function failure.used_up(method, words) return told("limit", USED_UP, method .. ": " .. words) end

--- An error that stays here: an adapter's, for example.
function failure.kept(err) return nil, err, { code = INTERNAL, message = "the client could not answer the request" } end

--- The user's function `name` raised `err`.
function failure.raised(name, err)
  return failure.kept(errors.new { kind = "other", retryable = false, message = ("%s raised: %s"):format(name, err) })
end

--- The user's function `name` returned what it may not: `field` names it, `expected` says what belongs there; `words`
-- (nil: the usual ones) say both.
function failure.unfit(name, field, expected, value, words)
  return failure.kept(errors.new { kind = "invalid_request", field = field, expected = expected, retryable = false,
    message = ("%s: %s"):format(name, words
      or ("%s: %s expected, got %s"):format(field, expected, errors.describe(value))) })
end

return failure
