--- The tools of several servers as one array, in which no two names are alike.

local core = require "koine.core"
local name = require "koine.protocol.mcp.tools.name"

-- The same tool by another name.
local function renamed(tool, made)
  local copy = {}
  for field, value in next, tool do copy[field] = value end
  copy.name = made
  return setmetatable(copy, getmetatable(tool))
end

--- The tools of servers, in the order of the servers, each with a name of its own. `listed` is an array of {server
-- (key), tools (array of koine.tool)}; `keys` has the keys of all servers that are configured, running or not, so that
-- a name does not depend on who runs today. `prefixed` says whether the names begin with the keys.
return function(listed, keys, prefixed)
  local all, taken = core.array {}, {}
  for _, one in ipairs(listed) do
    for _, tool in ipairs(one.tools) do
      local keeps = not taken[tool.name] and not (prefixed and name.is_ambiguous(tool.name, one.server, keys))
      if keeps then taken[tool.name] = true end
      all[#all + 1] = { tool = tool, server = one.server, keeps = keeps }
    end
  end
  for i, one in ipairs(all) do
    local tool = one.tool
    if not one.keeps then
      tool = renamed(tool, name.marked(tool.name, one.server, tool.mcp.name, taken))
      taken[tool.name] = true
    end
    all[i] = tool
  end
  return all
end
