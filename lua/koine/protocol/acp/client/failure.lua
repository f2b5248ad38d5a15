--- Errors of an agent, as Koine's: what it answered, and how it ended. None shows a secret.

local errors = require "koine.data.errors"
local read = require "koine.protocol.acp.client.read"
local text = require "koine.data.text"

local failure = {}

local AUTH_REQUIRED, NOT_FOUND, CANCELLED = "-32000", "-32002", "-32800"
local WORDS_MAX = 500 -- bytes of the agent's own words

--- Whether the agent asks for a login.
function failure.needs_login(err) return err.code == AUTH_REQUIRED end

--- Whether the agent says that the call was cancelled.
function failure.is_cancelled(err) return err.code == CANCELLED end

--- Whether the process or the connection is over, so that only another process can help.
function failure.is_end(err) return err.kind == "connect" or err.kind == "protocol" and err.code ~= "version" or
  err.kind == "limit" end

--- The error of a login that is missing. `methods` is an array of {id, name}; `why` (nil: nothing) comes before.
function failure.login(methods, why)
  local names = {}
  for i, method in ipairs(methods) do names[i] = method.id end
  return errors.new { kind = "auth", code = AUTH_REQUIRED, retryable = false,
    message = ("%s; its methods of login: %s"):format(why or "the agent asks for a login",
      #names > 0 and table.concat(names, ", ") or "none") }
end

-- The error with the details that the protocol's library puts beside "Internal error".
local function detailed(err)
  local details = read.text(read.at(err.data, "details"))
  if not details or details == "" or err.message:find(details, 1, true) then return err end
  return errors.new { kind = err.kind, code = err.code, retryable = false, data = err.data,
    message = ("%s: %s"):format(err.message, text.cut(details, WORDS_MAX)) }
end

--- The error for a call that the agent answered with an error.
function failure.answered(err)
  if err.code == AUTH_REQUIRED then
    return errors.new { kind = "auth", code = err.code, retryable = false, message = "the agent: " .. err.message }
  elseif err.code == NOT_FOUND then
    return errors.new { kind = "not_found", code = err.code, retryable = false, message = "the agent: " .. err.message }
  end
  return detailed(err)
end

--- The error of a process that ended, or that was never there to be asked. `result` is what its program's result is
-- (nil: not known yet), `secrets` an array of strings.
function failure.ended(err, result, secrets)
  local words = errors.words(err)
  local how = result and (result.code and "exit code " .. result.code or "signal " .. tostring(result.signal))
  if how then words = ("%s (%s)"):format(words, how) end
  local last
  for line in (result and result.stderr or ""):gmatch "[^\r\n]+" do
    if text.is_word(line) then last = line end
  end
  if last and not text.may_be_secret(last) then
    words = ("%s; it said: %s"):format(words, (text.cut(text.redact(last, secrets), WORDS_MAX)))
  end
  return errors.new { kind = err.kind == "limit" and "limit" or err.kind == "protocol" and "protocol" or "connect",
    code = err.code, retryable = false, message = "the agent: " .. words }
end

--- The error for what the agent cannot do.
function failure.unsupported(what)
  return errors.new { kind = "other", code = "unsupported", retryable = false,
    message = "the agent does not offer " .. what }
end

--- The error of a list that has no end: of kind protocol or limit.
function failure.endless(kind, code, words)
  return errors.new { kind = kind, code = code, retryable = false, message = "the agent's list of sessions: " .. words }
end

--- The error of what we cancelled.
function failure.cancelled() return errors.new { kind = "cancelled", message = "the turn was cancelled" } end

--- The error of a time that is over: `code` says which, `words` what did not come.
function failure.late(code, words)
  return errors.new { kind = "timeout", code = code, retryable = false, message = words }
end

return failure
