--- The tools that a command gives the model: those of files of Lua (-T) and of servers (--mcp), and who is asked before
-- they run.

local failure = require "koine.cli.failure"
local mcp_tools = require "koine.cli.mcp.tools"
local terminal = require "koine.cli.terminal"
local tool_files = require "koine.cli.talk.tool_files"

local toolbox = {}

local metatable = { __close = function(self)
  if self.servers then getmetatable(self.servers).__close(self.servers) end
end }

-- Takes out the tools that nobody can be asked for; says which.
local function leave_out(tools)
  local kept, names = {}, {}
  for _, tool in ipairs(tools) do
    local waits = tool.needs_approval == true and not terminal.input
    table.insert(waits and names or kept, waits and tool.name or tool)
  end
  if names[1] then
    terminal.say("nobody can be asked, so these tools are left out (--yes allows them): %s", table.concat(names, ", "))
  end
  return kept
end

--- The tools for the arguments of a command, or nil where it gives none: a table to close, with `list`, the array of
-- tools, `needed`, which says whether a call needs approval, for work.new, and `always`, the tools that the user
-- allowed for good. Where the standard input is no terminal, tools that need approval are left out. Fails as wrong use
-- for a bad file, and for --yes without tools.
function toolbox.open(args)
  if #args.tools == 0 and #args.mcp == 0 then
    if args.yes then failure.fail(failure.WRONG_USE, "--yes: tools are required (-T FILE or --mcp FILE)") end
    return nil
  end
  local list = tool_files.load(args.tools)
  local self = setmetatable({ always = {} }, metatable)
  if #args.mcp > 0 then
    self.servers = mcp_tools.open(args.mcp, args.yes)
    table.move(self.servers.list, 1, #self.servers.list, #list + 1, list)
  end
  self.list = args.yes and list or leave_out(list)
  local needs = {}
  for _, tool in ipairs(self.list) do needs[tool.name] = tool.needs_approval or false end
  function self.needed(tool, given)
    local need = needs[tool.name]
    if type(need) == "function" then return need(given) end
    return need
  end
  return self
end

return toolbox
