--- Configurations of servers, as many programs read them: a JSON object `mcpServers` of name → entry. What an entry
-- means that other programs understand and Koine does not is told as a warning; an entry that cannot be used fails
-- alone. No error shows a value: files of this kind hold credentials.

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local files = require "koine.data.files"
local variables = require "koine.protocol.mcp.servers.variables"

local config = {}

local FILE_MAX = 4 << 20 -- bytes

local TYPES = { stdio = "program", http = "remote", ["streamable-http"] = "remote", streamablehttp = "remote" }
local URLS = { "url", "httpUrl", "serverUrl" }

-- Checkers of members ------------------------------------------------------------------------------------------------

local function is_list_of_strings(value)
  if type(value) ~= "table" or getmetatable(value) ~= core.array_mt then return false end
  for _, member in ipairs(value) do
    if type(member) ~= "string" then return false end
  end
  return true
end

local function is_map_of_strings(value)
  if type(value) ~= "table" or getmetatable(value) == core.array_mt then return false end
  for _, member in next, value do
    if type(member) ~= "string" then return false end
  end
  return true
end

local function is_string(value) return type(value) == "string" and value ~= "" end

local STRING = { "a string", is_string }
local STRINGS = { "an array of strings", is_list_of_strings }
local MAP = { "an object of strings", is_map_of_strings }
local BOOLEAN = { "true or false", function(value) return type(value) == "boolean" end }
local POSITIVE = { "a number of milliseconds, more than 0",
  function(value) return type(value) == "number" and value > 0 and value < math.huge end }

local MEMBERS = { type = STRING, command = STRING, args = STRINGS, env = MAP, cwd = STRING, url = STRING,
  httpUrl = STRING, serverUrl = STRING, headers = MAP, disabled = BOOLEAN, timeout = POSITIVE, includeTools = STRINGS,
  excludeTools = STRINGS, trust = BOOLEAN }

-- Of the whole file, where only one of them counts.
local TOP = { mcpServers = true }

-- Entries ------------------------------------------------------------------------------------------------------------

local function failure(path, place, words, code)
  return errors.new { kind = "other", code = code or "bad_config", retryable = false,
    message = ("%s: %s%s"):format(path, place and place .. ": " or "", words) }
end

local function is_object(value) return type(value) == "table" and getmetatable(value) ~= core.array_mt end

-- What a warning says of a key that means nothing here, and may be one of the table's, misspelled.
local function unknown(key, known)
  local near = check.nearest(key, known)
  return near and ('unknown, ignored; did you mean "%s"?'):format(near) or "unknown, ignored"
end

-- Warns of members that mean nothing here; returns the first that has a wrong value, in words, or nil.
local function look(entry, place, warn)
  local problem
  for _, key in ipairs(check.names(entry)) do
    local member = MEMBERS[key]
    if not member then
      warn("unknown_key", ("%s.%s"):format(place, key), unknown(key, MEMBERS))
    elseif not member[2](entry[key]) then
      problem = problem or ("%s: %s expected"):format(key, member[1])
    end
  end
  return problem
end

local function first_url(entry)
  for _, key in ipairs(URLS) do
    if entry[key] then return entry[key] end
  end
end

-- Whether an entry means a program or a remote server; or nil, why it means neither.
local function kind_of(entry)
  local url = first_url(entry)
  if entry.type then
    local kind = TYPES[entry.type:lower()]
    if not kind then return nil, ("the type %s is not supported"):format(errors.describe(entry.type)) end
    if kind == "program" and not entry.command then return nil, "a command is missing" end
    if kind == "remote" and not url then return nil, "a url is missing" end
    return kind
  end
  if entry.command and url then return nil, "a command and a url: the type has to say which counts" end
  if not entry.command and not url then return nil, "a command or a url is missing" end
  return url and "remote" or "program"
end

-- What koine.mcp.connect takes for an entry.
local function options_of(name, kind, entry, secrets)
  local options = { name = name, trusted = entry.trust, secrets = secrets,
    timeout = entry.timeout and { total = entry.timeout / 1000 } or nil }
  if kind == "program" then
    options.command, options.args, options.env, options.cwd = entry.command, entry.args, entry.env, entry.cwd
  else
    options.url, options.headers = first_url(entry), entry.headers
  end
  return options
end

-- Reads one entry: {name, options, only, except} or {name, err}; nil for one that is disabled.
local function read_entry(path, name, entry, get, warn)
  local place = "server " .. errors.describe(name)
  local function refuse(words, code) return { name = name, err = failure(path, place, words, code) } end
  if not is_object(entry) then return refuse "an object expected" end
  local problem = look(entry, name, warn)
  if problem then return refuse(problem) end
  if entry.disabled then return nil end
  local secrets = {}
  local filled, missing = variables.fill(entry, get, secrets)
  if not filled then return refuse(missing, "missing_variable") end
  local kind, why = kind_of(filled)
  if not kind then return refuse(why) end
  return { name = name, options = options_of(name, kind, filled, secrets), only = filled.includeTools,
    except = filled.excludeTools }
end

-- The file -----------------------------------------------------------------------------------------------------------

-- The line and the column of a byte's offset, and what stands there.
local function place_of(text, offset)
  local before = text:sub(1, offset)
  local _, lines = before:gsub("\n", "")
  return ("line %d, column %d"):format(lines + 1, #before:match "[^\n]*$" + 1), text:sub(offset + 1, offset + 2)
end

-- The object in a file's text; or nil, err.
local function decode(path, text)
  local value, err = core.decode(text)
  if is_object(value) then return value end
  if not err then return nil, failure(path, nil, "a JSON object expected") end
  local words, offset = err.message:match "^(.-) at byte (%d+)"
  if not words then return nil, failure(path, nil, err.message) end
  local place, there = place_of(text, math.tointeger(offset))
  if there == "//" or there == "/*" or there:sub(1, 1) == "#" then words = "JSON has no comments" end
  return nil, failure(path, place, words)
end

-- The object of servers; warns of what else there is.
local function servers_of(path, value, warn)
  local key = value.mcpServers ~= nil and "mcpServers" or "servers"
  local servers = value[key]
  if not is_object(servers) then return nil, failure(path, nil, 'an object "mcpServers" or "servers" expected') end
  for _, other in ipairs(check.names(value)) do
    if other ~= key and other ~= "$schema" then warn("unknown_key", other, unknown(other, TOP)) end
  end
  return servers
end

--- Reads the configuration in the file at `path`: an array of entries, sorted by name: {name, options (for
-- koine.mcp.connect), only, except (arrays of tools' names, or nil)}, or {name, err} for one that cannot be used; and
-- an array of warnings {code, field, message}. Or nil, err where the file cannot be read, is no JSON, or has no
-- servers. `get(name)` returns the value of a variable, or nil. Starts nothing.
function config.read(path, get)
  local text, err = files.read(path, FILE_MAX)
  if not text then return nil, err end
  local warnings, entries = core.array {}, {}
  local function warn(code, field, words)
    field = core.error_line(field)
    warnings[#warnings + 1] = { code = code, field = field, message = ("%s: %s: %s"):format(path, field, words) }
  end
  local value, servers
  value, err = decode(path, (text:gsub("^\xEF\xBB\xBF", "   ")))
  if not value then return nil, err end
  servers, err = servers_of(path, value, warn)
  if not servers then return nil, err end
  for _, name in ipairs(check.names(servers)) do
    entries[#entries + 1] = read_entry(path, name, servers[name], get, warn)
  end
  return entries, warnings
end

return config
