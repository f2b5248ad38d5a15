--- Checks cassettes before they are published.

local failure = require "koine.cli.failure"
local koine = require "koine"
local terminal = require "koine.cli.terminal"

local cassette = {}

--- The command `cassette check`: says which files hold what looks like a credential, or are no cassettes; the exit
-- code.
function cassette.command(args)
  local code = 0
  for _, path in ipairs(args.files) do
    local ok, err = koine.testing.cassette.check(path, args.allow)
    if not ok then
      terminal.say("%s", koine.errors.words(err))
      code = failure.FAILED
    end
  end
  return code
end

return cassette
