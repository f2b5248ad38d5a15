--- What koine.mcp.connect takes, checked: a table with every default filled in.

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local inputs = require "koine.protocol.mcp.inputs"
local login = require "koine.protocol.mcp.login"
local observer = require "koine.data.observer"
local programs = require "koine.system.transport"
local text = require "koine.data.text"
local transport = require "koine.net.transport"

local PROBE, CONNECT, IDLE = 5, 60, 60 -- seconds
local AT_ONCE = 8                      -- calls
local SECRET_MIN = 8                   -- bytes; what is shorter is no credential, and stands in any text

local VALUES = check.secret(check.map(check.secret(check.text), "table of strings by name"))

local TIMES = check.record { connect = check.default(check.time_limit, CONNECT), total = check.time_limit,
  idle = check.default(check.time_limit, IDLE) }

-- A number is the total.
local function TIMEOUT(value, path)
  if type(value) == "number" then value = { total = check.time_limit(value, path) } end
  return TIMES(value == nil and {} or value, path)
end

local LEVEL = check.one_of { "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency" }
local APPROVAL = check.either('"none", "writes", "all" or a function', check.one_of { "none", "writes", "all" },
  check.func)

local PROGRAM = { command = check.text, args = check.list(check.text, "array of strings"), env = VALUES,
  cwd = check.called(check.text, "path of a directory"), grace = check.seconds, protect = check.boolean }
local REMOTE = { url = check.exact_url, proxy = check.text, ca_file = check.path, headers = VALUES,
  token = check.secret(check.either("string, function or login", check.key, check.func, login.source)),
  login = login.own_options }
local MEMBERS = { name = check.required(check.name), era = check.one_of { "legacy", "modern" },
  probe_timeout = check.default(check.time_limit, PROBE), timeout = check.default(TIMEOUT),
  concurrency = check.default(check.integer(1), AT_ONCE), fatal = check.default(check.boolean, false),
  on_log = check.func, on_warning = check.func, log_level = LEVEL, on_change = check.func, on_progress = check.func,
  transport = check.either("object with a method begin or program", transport.option, programs.option),
  trusted = check.default(check.boolean, false), approval = check.default(APPROVAL, "none"), pins = check.path,
  description_max = check.integer(1), observer = observer.option,
  secrets = check.default(check.secret(check.list(check.secret(check.string))), function() return {} end) }

for _, members in ipairs { PROGRAM, REMOTE, inputs.options } do
  for name, checker in next, members do MEMBERS[name] = checker end
end

local OPTIONS = check.options(MEMBERS, { hints = { cmd = "command", uri = "url", environment = "env",
  directory = "cwd" }, first = { "name" } })

-- The strings that no error and no line of a log shows.
local function secrets_of(kept)
  local secrets = kept.secrets
  local function add(value)
    if #value >= SECRET_MIN then secrets[#secrets + 1] = value end
  end
  for name, value in next, kept.env or {} do
    if text.is_credential(name, value) then add(value) end
  end
  for name, value in next, kept.headers or {} do
    if text.is_credential(name, value) then add(value) end
  end
  if type(kept.token) == "string" then add(kept.token) end
  return secrets
end

-- Raises where a member of the other kind of server is given.
local function refuse(kept, members, expected)
  for _, name in ipairs(check.names(members)) do
    if kept[name] ~= nil then core.raise_argument(name, expected, "both") end
  end
end

-- Turns a login into the function that the transport asks for tokens, and gives the first connection the time that a
-- person needs: nil, or the error of a file of tokens that is of no use.
local function take_login(kept, given)
  local source = type(kept.token) == "table" and kept.token
  if kept.login then
    if kept.token then core.raise_argument("login", "a login, or a token", "both") end
    local own = { url = kept.url, proxy = kept.proxy, ca_file = kept.ca_file, transport = kept.transport }
    for name, value in next, kept.login do own[name] = value end
    local err
    source, err = login.new(own)
    if not source then return err end
  end
  if not source then return nil end
  kept.token = function(asked, refused) return source:token(asked, refused) end
  if type(given.timeout) ~= "table" or given.timeout.connect == nil then
    kept.timeout.connect = kept.timeout.connect + login.longest(source)
  end
end

--- The options of connect, checked; or nil, err, where a login's file is of no use.
-- `secrets` has all strings that may not be shown. Raises an ArgumentError.
return function(given)
  local kept = OPTIONS(given)
  if kept.url then
    refuse(kept, PROGRAM, "a server with a url, or one with a command")
    if kept.transport then transport.option(kept.transport, "transport") end
  elseif kept.command then
    refuse(kept, REMOTE, "a server with a command, or one with a url")
    if kept.transport then programs.option(kept.transport, "transport") end
  else
    errors.argument("command", "a command, or a url", nil)
  end
  local err = take_login(kept, given)
  if err then return nil, err end
  kept.secrets = secrets_of(kept)
  return kept
end
