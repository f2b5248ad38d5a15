--- What a user gives to connect, to a session and to a turn; all of it is checked before a program is started.

local check = require "koine.data.check"
local errors = require "koine.data.errors"
local observer = require "koine.data.observer"
local transport = require "koine.system.transport"

local options = {}

-- Seconds.
local TIMES = { start = 30, session = 120, idle = 600, permission = 600, stop = 30 }
local GRACE = 2
local OUTPUT_MAX = 64 << 20 -- bytes of a turn

local ENV = check.secret(check.map(check.secret(check.text), "table of strings by name"))

local SECONDS = check.time_limit
local TIMEOUT = check.record({ start = check.default(SECONDS, TIMES.start),
  session = check.default(SECONDS, TIMES.session), idle = check.default(SECONDS, TIMES.idle),
  permission = check.default(SECONDS, TIMES.permission), stop = check.default(SECONDS, TIMES.stop), total = SECONDS },
  "table of seconds")

--- The policies of permissions.
local POLICY = check.either('function, "deny", "read" or "allow"', check.func, check.one_of { "deny", "read", "allow" })

local NAMES = check.list(check.name, "array of names")

local EXECUTOR = check.that("koine.executor with a working directory", function(value)
  if type(value) == "table" and type(value.read_text) == "function" and type(value.workdir) == "string" then
    return value
  end
end)

local ABSOLUTE = check.that("absolute path", function(value)
  if type(value) == "string" and value:find "^/" and not value:find("\0", 1, true) then return value end
end)

local SERVERS = check.that("array, or table by name, of MCP servers", function(value)
  if type(value) == "table" then return value end
end)

local SESSION = { cwd = check.path, mcp_servers = SERVERS, directories = check.list(ABSOLUTE, "array of paths"),
  model = check.name, mode = check.name, thinking = check.name, permission = POLICY, allowed_tools = NAMES,
  on_update = check.func, observer = observer.option }

local CONNECT = { command = check.required(check.called(check.nonempty, "name of a program")),
  args = check.default(check.list(check.text, "array of strings"), function() return {} end),
  env = check.default(ENV, function() return {} end), auth = check.name, permission = check.default(POLICY, "deny"),
  executor = EXECUTOR, on_elicit = check.func, on_log = check.func, share = check.default(check.boolean, false),
  timeout = check.default(TIMEOUT, function() return {} end), grace = check.default(check.seconds, GRACE),
  output_max = check.default(check.integer(1), OUTPUT_MAX), transport = transport.option }
for name, checker in next, SESSION do CONNECT[name] = CONNECT[name] or checker end

--- Checks the options of connect. Raises an ArgumentError.
options.connect = check.options(CONNECT, { first = { "command" } })

--- Checks the options of a session. Raises an ArgumentError.
options.session = check.options(SESSION)

--- Checks the options of a turn. Raises an ArgumentError.
options.turn = check.options { on_event = check.func, on_delta = check.func, on_update = check.func,
  parent = observer.parent,
  timeout = check.record({ idle = SECONDS, total = SECONDS }, "table of seconds") }

--- The time limits of a turn: `given` (nil: none) before those of the connection.
function options.times(given, usual)
  local made = {}
  for name, seconds in next, usual do made[name] = seconds end
  for name, seconds in next, given or {} do made[name] = seconds end
  return made
end

--- The options of a session: what is given (nil: nothing) before what the connection has. Raises an ArgumentError.
function options.of_session(given, usual)
  local kept = options.session(given == nil and {} or given)
  for name in next, SESSION do
    if kept[name] == nil then kept[name] = usual[name] end
  end
  return kept
end

--- The id of a session. Raises an ArgumentError.
function options.id(value)
  if type(value) ~= "string" or value == "" then errors.argument("id", "id of a session", value) end
  return value
end

return options
