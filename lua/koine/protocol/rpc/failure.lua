--- Errors of a peer: those that the other side answers, those of its end, and those that we answer. None shows a
-- secret.

local core = require "koine.core"
local errors = require "koine.data.errors"
local message = require "koine.protocol.rpc.message"
local redact = require("koine.data.text").redact
local text = require "koine.data.text"

local failure = {}

local WORDS_MAX = 500 -- bytes of a message
local DEPTH_MAX = 32  -- of data whose strings are redacted; what is deeper is left out

local KINDS = { [-32600] = "invalid_request", [-32602] = "invalid_request", [-32601] = "not_found" }

--- A copy of decoded JSON whose strings, keys among them, show none of `secrets` (an array of strings). What is more
-- than 32 levels deep is left out. `depth` is for the function itself.
function failure.redacted(value, secrets, depth)
  depth = depth or 0
  if type(value) == "string" then return redact(value, secrets) end
  if type(value) ~= "table" then return value end
  if depth == DEPTH_MAX then return nil end
  local copy = setmetatable({}, getmetatable(value))
  for key, member in next, value do
    local shown = type(key) == "string" and redact(key, secrets) or key
    copy[shown] = failure.redacted(member, secrets, depth + 1)
  end
  return copy
end

--- The error that an answer says: kind invalid_request, not_found or server, `code` as a string of digits, `data` as it
-- came; of kind protocol for an answer that is malformed. `secrets` is an array of strings.
function failure.of_answer(answer, secrets)
  local said = answer.error
  if type(said) ~= "table" or math.type(said.code) == nil then
    return errors.new { kind = "protocol", message = "an answer with neither a result nor a proper error" }
  end
  local code = math.tointeger(said.code) or said.code
  local words = type(said.message) == "string" and redact(said.message, secrets) or "no message"
  local data
  if said.data ~= core.null then data = failure.redacted(said.data, secrets) end
  return errors.new { kind = KINDS[code] or "server", code = tostring(code), retryable = false, message = words,
    data = data }
end

--- The words of an error of the peer's, with what the other side said last that was no message (nil: nothing).
function failure.with_last_words(words, said, secrets)
  if not said or said == "" or text.may_be_secret(said) then return words end
  return ("%s; it said: %s"):format(words, redact(said, secrets))
end

--- A copy, as every caller may add to its error.
function failure.copy(err)
  local copy = {}
  for field, value in next, err do copy[field] = value end
  return setmetatable(copy, getmetatable(err))
end

local function words_of(err, secrets) return (text.cut(redact(errors.words(err), secrets), WORDS_MAX)) end

--- What we answer for an error that a handler returned or raised: {code, message, data}. A table with an integer
-- `code` is taken as it is; an error of Koine's whose code is a negative number keeps that.
function failure.for_answer(err, secrets)
  if type(err) ~= "table" then return { code = message.INTERNAL_ERROR, message = words_of(err, secrets) } end
  local code = math.tointeger(tonumber(err.code))
  if errors.is_error(err) then
    return { code = code and code < 0 and code or message.INTERNAL_ERROR, message = words_of(err, secrets) }
  end
  local words = type(err.message) == "string" and err.message or "an error"
  return { code = code or message.INTERNAL_ERROR, message = words_of(words, secrets),
    data = failure.redacted(err.data, secrets) }
end

return failure
