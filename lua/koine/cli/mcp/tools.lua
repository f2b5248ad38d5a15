--- The tools of the servers of several configurations, for a model: `--mcp FILE`, any number of times.

local failure = require "koine.cli.failure"
local json = require "koine.cli.json"
local servers = require "koine.cli.mcp.servers"

local tools = {}

local metatable = { __close = function(self)
  for _, group in ipairs(self.groups) do group:close() end
end }

-- The call as a person has to see it who decides: with all its arguments.
local function title_of(tool)
  return function(arguments) return ("%s/%s %s"):format(tool.mcp.server, tool.mcp.name, json.value(arguments)) end
end

-- Loads all files. Fails as wrong use for a server that two of them have.
local function load(self, files, each)
  local file_of = {}
  for _, file in ipairs(files) do
    local group = servers.load(file, each)
    self.groups[#self.groups + 1] = group
    for _, name in ipairs(group.names) do
      if file_of[name] then
        failure.fail(failure.WRONG_USE, "--mcp: %s and %s both have a server %s", file_of[name], file, name)
      end
      file_of[name] = file
    end
  end
end

--- Starts the servers of `files` (an array of paths): a table to close, whose `list` is the array of their tools. All
-- tools need approval but those that a server marks as reading only which the configuration trusts; with `yes` none
-- does. Says which servers failed.
function tools.open(files, yes)
  local self = setmetatable({ groups = {}, list = {} }, metatable)
  local opened, raised = pcall(function()
    load(self, files, function(_, options) options.approval = yes and "none" or "writes" end)
    for _, group in ipairs(self.groups) do
      for _, tool in ipairs(servers.start(group)) do
        tool.title = title_of(tool)
        self.list[#self.list + 1] = tool
      end
      servers.say_failures(group)
    end
  end)
  if opened then return self end
  metatable.__close(self)
  error(raised, 0)
end

return tools
