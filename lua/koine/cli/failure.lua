--- How the command line fails: exit codes, and failures in words.
-- A command ends by raising: a table {exit = code, message = a line for the user}, or an error of Koine's.

local koine = require "koine"

local failure = {}

--- Exit codes, see docs/cli.md; 0 is success.
failure.FAILED, failure.WRONG_USE, failure.NO_CREDENTIALS, failure.REFUSED = 1, 2, 3, 4
failure.INTERRUPTED, failure.CLOSED_PIPE = 130, 141

local EXIT = { ArgumentError = failure.WRONG_USE, NotImplementedError = failure.WRONG_USE,
  AuthenticationError = failure.NO_CREDENTIALS }

--- Ends the command, with an exit code and a line for the user: a format and its arguments.
function failure.fail(exit, format, ...) error({ exit = exit, message = format:format(...) }, 0) end

--- Ends the command as wrong use of `name`, a file or a flag; of `why` only what stands behind the last colon.
function failure.cannot(name, why) failure.fail(failure.WRONG_USE, "%s: %s", name, (why:gsub("^.*: ", ""))) end

--- Whether what was raised says that nobody reads the output any more.
function failure.is_closed_pipe(raised) return type(raised) == "table" and raised.exit == failure.CLOSED_PIPE end

-- " (overloaded, status 529, 3 attempts)" for an error that came after retries, else "".
local function after_retries(raised)
  local attempts = raised.attempts and #raised.attempts or 0
  if attempts < 2 then return "" end
  local status = raised.status_code and (", status %d"):format(raised.status_code) or ""
  return (" (%s%s, %d attempts)"):format(raised.kind, status, attempts)
end

--- The message of what was raised (a table), in words that fit a command line: without a place in a source file, with a
-- command where it speaks of a function, and with what the attempts came to.
function failure.words(raised)
  local words = koine.errors.is_error(raised) and koine.errors.words(raised) or tostring(raised.message)
  words = words:gsub(" or give the option key$", "")
    :gsub("authenticate%(%) logs in", ("`koine login %s` logs in"):format(raised.provider or "PROVIDER"))
  return words .. after_retries(raised)
end

--- The exit code for what was raised (a table).
function failure.code(raised) return raised.exit or EXIT[raised.class] or failure.FAILED end

return failure
