--- The start of servers: each in a task of its own, so that a silent one holds up nobody.

local check = require "koine.data.check"
local client = require "koine.protocol.mcp.client"
local errors = require "koine.data.errors"
local scheduler = require "koine.task.scheduler"

local start = {}

local function timeout(name, seconds, may_come)
  return errors.new { kind = "timeout", code = "start", retryable = false,
    message = ("%s: not ready in %g s%s"):format(name, seconds, may_come and "; it may still come" or "") }
end

-- Connects: a client, or nil, err. Raises for a lack of memory only: whatever else goes wrong is that server's failure.
local function connect(options, seconds)
  local ran, made, err = pcall(scheduler.timeout, seconds, client.connect, options)
  if check.is_memory(made) then error(made, 0) end
  if not ran then
    if errors.is_error(made) then return nil, made end
    return nil, errors.new { kind = "other", message = options.name .. ": " .. errors.words(made) }
  end
  return made, err
end

-- What the task of a server runs.
local function run(group, entry)
  local name = entry.name
  local made, err = connect(entry.options, group.join_timeout)
  group.starting[name] = nil
  if made then
    group.clients[name], group.failed[name] = made, nil
  else
    group.failed[name] = err.kind == "timeout" and err.code == nil and timeout(name, group.join_timeout) or err
  end
  group.shared:wake(group.token)
end

--- Begins to start all servers that neither run nor are on their way; does not wait.
function start.begin(group)
  for _, entry in ipairs(group.entries) do
    local name = entry.name
    if entry.options and not group.clients[name] and not group.starting[name] then
      group.starting[name], group.failed[name] = true, nil
      group.starting[name] = group.shared:spawn(run, group, entry)
    end
  end
end

--- Notes those that are still on their way as failed, for now.
function start.note_late(group)
  for name in next, group.starting do group.failed[name] = timeout(name, group.start_timeout, true) end
end

--- Ends the starts that are under way.
function start.give_up(group)
  for name, task in next, group.starting do
    task:dismiss()
    group.starting[name] = nil
  end
end

return start
