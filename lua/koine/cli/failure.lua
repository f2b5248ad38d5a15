--- How the command line fails: exit codes, and what goes wrong in words.
-- What ends a command is raised: a table {exit = code, message = a line for the user}, or an error of Koine's.

local failure = {}

--- Exit codes, see docs/cli.md; 0 is success.
failure.FAILED, failure.WRONG_USE, failure.NO_CREDENTIALS, failure.REFUSED = 1, 2, 3, 4
failure.INTERRUPTED, failure.CLOSED_PIPE = 130, 141

local EXIT = { ArgumentError = failure.WRONG_USE, NotImplementedError = failure.WRONG_USE,
  AuthenticationError = failure.NO_CREDENTIALS }

--- Ends what is being done, with an exit code and a line for the user: a format and its arguments.
function failure.fail(exit, format, ...) error({ exit = exit, message = format:format(...) }, 0) end

--- Ends what is being done as wrong use of `name`, a file or a flag; of `why` only what stands behind the last colon.
function failure.cannot(name, why) failure.fail(failure.WRONG_USE, "%s: %s", name, (why:gsub("^.*: ", ""))) end

--- The message of what was raised (a table), in words that fit a command line: without a place in a source file, and
-- with a command where it speaks of a function.
function failure.words(raised)
  local words = tostring(raised.message)
  if EXIT[raised.class] == failure.WRONG_USE and not raised.flag then -- the place of wrong use
    words = words:gsub("^.-:%d+: ", "", 1)
  end
  return (words:gsub(" or give the option key$", "")
    :gsub("authenticate%(%) logs in", ("`koine login %s` logs in"):format(raised.provider or "PROVIDER")))
end

--- The exit code for what was raised (a table).
function failure.code(raised) return raised.exit or EXIT[raised.class] or failure.FAILED end

return failure
