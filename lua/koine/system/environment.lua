--- The environment that programs for others start with: what a tool's command or a server needs to run, and no
-- credential of this process.

local getenv = require "koine.data.host.getenv"

local environment = {}

--- Names of the variables that such programs inherit, an array.
environment.names = { "PATH", "HOME", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ", "USER", "LOGNAME", "SHELL" }

--- The environment {NAME = value}: what this process has of `names` (an array), and what `set` ({NAME = value}) puts
-- over it.
function environment.of(names, set)
  local env = {}
  for _, name in ipairs(names) do env[name] = getenv(name) end
  for name, value in next, set do env[name] = value end
  return env
end

return environment
