--- Lets specs find Lua's own globals at once. busted calls a function for each use of a global in a spec file, and asks
-- every block around it: in a loop that costs more than the loop. What the blocks and busted define goes that way as
-- before. `print` does, too, which a spec may exchange.

local NAMES = { "collectgarbage", "coroutine", "debug", "error", "getmetatable", "io", "ipairs", "load", "math", "next",
  "os", "package", "pairs", "pcall", "rawequal", "rawget", "rawlen", "rawset", "require", "select", "setmetatable",
  "string", "table", "tonumber", "tostring", "type", "utf8", "xpcall" }

-- The environment that busted gave a file, or what is called in its place.
local function environment_of(file)
  local run = (debug.getmetatable(file.run) or {}).__call or file.run
  for i = 1, math.huge do
    local name, value = debug.getupvalue(run, i)
    if not name or name == "_ENV" then return value end
  end
end

require("busted").subscribe({ "file", "start" }, function(file)
  local environment = environment_of(file)
  for _, name in ipairs(environment and NAMES or {}) do rawset(environment, name, _G[name]) end
  return nil, true
end)
