--- The servers of configurations, for commands: started, with what went wrong said on standard error.

local failure = require "koine.cli.failure"
local koine = require "koine"
local terminal = require "koine.cli.terminal"

local servers = {}

local START = 30 -- seconds: package runners download a server when it starts for the first time

local function warn(warning) terminal.say("warning: %s", warning.message) end

--- The servers of a file, not started: a group of koine.mcp.load, which the caller closes. `each(name, options)` (nil:
-- none) may change the options of a server, `seconds` (nil: 30) is how long one may take to start. Fails as wrong use
-- for a file that cannot be read or is no configuration.
function servers.load(path, each, seconds)
  local group, err = koine.mcp.load(path, { start_timeout = seconds or START, join_timeout = seconds or START,
    each = function(name, options)
      options.on_warning = warn
      if each then each(name, options) end
    end })
  if not group then failure.fail(failure.WRONG_USE, "%s", koine.errors.words(err)) end
  return group
end

--- Starts the servers of a group: the array of their tools. Says the warnings of its file. Raises where that was broken
-- off.
function servers.start(group)
  for _, warning in ipairs(group.warnings) do warn(warning) end
  terminal.progress(("waiting for %d servers"):format(#group.names))
  local done, err = group:start()
  if not done then error(err, 0) end
  local tools
  tools, err = group:tools()
  terminal.progress()
  return tools or error(err, 0)
end

--- Says which servers of a group failed, and why; returns whether there are any.
function servers.say_failures(group)
  local any = false
  for _, name in ipairs(group.names) do
    local err = group.failed[name]
    if err then
      any = true
      terminal.say("%s", koine.errors.words(err))
    end
  end
  return any
end

return servers
