--- MCP servers that a session is given, in the form of the protocol: from an array of {name, command, args, env} and
-- {name, url, headers}, or from a table of the same by name, as configuration files have them.

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local getenv = require "koine.data.host.getenv"

local servers = {}

local VALUES = check.secret(check.map(check.secret(check.string), "table of strings by name"))
local SERVER = check.record({ name = check.name, type = check.one_of { "stdio", "http", "sse" }, command = check.path,
  args = check.default(check.list(check.string, "array of strings"), function() return {} end),
  env = check.default(VALUES, function() return {} end), url = check.url,
  headers = check.default(VALUES, function() return {} end) }, "MCP server")

-- {name, value} of each, sorted.
local function pairs_of(values)
  local list = core.array {}
  for i, name in ipairs(check.names(values)) do list[i] = { name = name, value = values[name] } end
  return list
end

-- The absolute path of a program, looked for in PATH; nil where there is none.
local function program(name)
  if name:find "^/" then return name end
  if name:find("/", 1, true) then return nil end
  for folder in (getenv "PATH" or ""):gmatch "[^:]+" do
    local path = folder .. "/" .. name
    local file <close> = folder:find "^/" and io.open(path, "rb") or nil
    if file then return path end
  end
end

local function unfit(name, words)
  return errors.new { kind = "invalid_request", code = "mcp_server", retryable = false,
    message = ("MCP server %s: %s"):format(name, words) }
end

local function convert(server, name, can)
  if server.url then
    local kind = server.type == "sse" and "sse" or "http"
    if not can[kind] then return nil, unfit(name, "the agent takes no servers over " .. kind) end
    return { type = kind, name = name, url = server.url, headers = pairs_of(server.headers) }
  end
  local command = program(server.command)
  if not command then return nil, unfit(name, "no program " .. server.command) end
  return { name = name, command = command, args = core.array(server.args), env = pairs_of(server.env) }
end

-- The servers as an array of {server, name}, each checked.
local function listed(given)
  local list = {}
  local is_list = check.is_list(given)
  for i, key in ipairs(check.names(given)) do
    local path = is_list and ("mcp_servers[%d]"):format(key) or "mcp_servers." .. tostring(key)
    local server = SERVER(given[key], path)
    local name = tostring(key)
    if is_list then name = server.name end
    if not name then errors.argument(path .. ".name", "name of the server", nil) end
    if (server.command == nil) == (server.url == nil) then
      core.raise_argument(path, "either command or url", server.url and "both" or "neither")
    end
    list[i] = { server = server, name = name }
  end
  return list
end

--- The servers (nil: none) for an agent with these capabilities: array; or nil, err where the agent cannot take one, or
-- its program is not there. Raises an ArgumentError.
function servers.convert(given, can)
  local made = core.array {}
  for i, one in ipairs(listed(given or {})) do
    local server, err = convert(one.server, one.name, can)
    if not server then return nil, err end
    made[i] = server
  end
  return made
end

--- The values of the servers that no error may show: array.
function servers.secrets(given)
  local secrets = {}
  for _, one in ipairs(listed(given or {})) do
    for _, values in ipairs { one.server.env, one.server.headers } do
      for _, value in next, values do secrets[#secrets + 1] = value end
    end
  end
  return secrets
end

return servers
