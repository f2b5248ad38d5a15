--- A key that a program prints, a password manager for example.

local failure = require "koine.cli.failure"
local koine = require "koine"
local terminal = require "koine.cli.terminal"

local TIMEOUT = 120 -- seconds: a person may have to unlock it
local OUTPUT_MAX = 64 << 10

--- The first line of what the command prints, without blanks around it. `command` is an array: a program and its
-- arguments; no shell. Fails with the program's name, and no byte of what it wrote, which may hold a key.
return function(command, provider)
  local function fail(format, ...)
    failure.fail(failure.NO_CREDENTIALS, "the key for %s: `%s` " .. format, provider, command[1], ...)
  end
  terminal.progress("waiting for " .. command[1])
  local result, err = koine.process.run(command, { timeout = TIMEOUT, output_max = OUTPUT_MAX })
  terminal.progress()
  if not result then fail(err.code == "absent" and "is not there" or "could not be started") end
  if result.timed_out then fail("did not end within %d s", TIMEOUT) end
  if result.code ~= 0 then
    fail("%s", result.code and ("ended with exit code %d"):format(result.code) or "was ended by a signal")
  end
  local key = result.stdout:match "^%s*([^\r\n]-)%s*%f[\r\n\0]"
  if not key or key == "" then fail "printed nothing" end
  return key
end
