--- The editor's MCP servers: connected for a session, their tools given to it. One that fails is told to the user.

local errors = require "koine.data.errors"
local scheduler = require "koine.task.scheduler"

local servers = {}

-- Pairs {name, value} as a table.
local function map_of(list)
  local map = {}
  for _, pair in ipairs(type(list) == "table" and list or {}) do
    if type(pair) == "table" and type(pair.name) == "string" and type(pair.value) == "string" then
      map[pair.name] = pair.value
    end
  end
  return map
end

-- What koine.mcp.connect takes for a server as ACP names it; nil and why not. Programs run in the session's directory.
local function options_of(given, cwd)
  if type(given) ~= "table" or type(given.name) ~= "string" then return nil, "it has no name" end
  if given.type == "http" then
    return { name = given.name, url = given.url, headers = map_of(given.headers) }
  elseif given.type ~= nil and given.type ~= "stdio" then
    return nil, "servers of type " .. errors.describe(given.type) .. " are not spoken with"
  end
  local args = {}
  for i, arg in ipairs(type(given.args) == "table" and given.args or {}) do args[i] = arg end
  return { name = given.name, command = given.command, args = args, env = map_of(given.env), cwd = cwd }
end

-- A connection and its tools, or nil, err.
local function connect(given, cwd)
  local opts, why = options_of(given, cwd)
  if not opts then return nil, why end
  local mcp = require "koine.protocol.mcp"
  local one, err = errors.try(mcp.connect, opts)
  if not one then return nil, err end
  local ok, tools, failure = pcall(function() return one:tools() end)
  if ok and tools then return one, tools end
  one:close()
  return nil, ok and failure or tools
end

--- Connects them: array of ACP's McpServer. Waits until each is there or has failed; a session's `connections` and
-- `tools` have them then.
function servers.connect(session, given)
  if type(given) ~= "table" or not session.server.options.mcp then return end
  local jobs = {}
  for i, one in ipairs(given) do
    jobs[i] = function()
      local connection, tools = connect(one, session.cwd)
      if not connection then
        local name = type(one) == "table" and type(one.name) == "string" and one.name or i
        return session:note("The MCP server %s cannot be used: %s", name, errors.words(tools))
      end
      table.insert(session.connections, connection)
      for _, tool in ipairs(tools) do table.insert(session.tools, tool) end
    end
  end
  if #jobs > 0 then scheduler.gather { table.unpack(jobs) } end
end

return servers
