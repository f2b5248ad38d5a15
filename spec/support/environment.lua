--- Environment variables of the test's own, in the place of this machine's.

local environment = {}

local getenv = os.getenv

--- From now on os.getenv gives what `variables` has of the names that `is_ours`, a pattern or a set, holds, and of all
-- names where it is nil. Other names are the machine's. Returns `variables`.
function environment.replace(variables, is_ours)
  os.getenv = function(name) -- luacheck: ignore
    local ours = is_ours == nil or (type(is_ours) == "table" and is_ours[name] ~= nil)
      or type(is_ours) == "string" and name:find(is_ours) ~= nil
    if ours then return variables[name] or nil end
    return getenv(name)
  end
  return variables
end

--- All variables are the machine's again.
function environment.restore() os.getenv = getenv end -- luacheck: ignore

--- f(…) with these variables (see replace; without `is_ours` the names in them, of which one that is false is not set):
-- returns what it returns, raises what it raises.
function environment.with(variables, is_ours, f, ...)
  environment.replace(variables, is_ours or variables)
  local results = table.pack(pcall(f, ...))
  environment.restore()
  if not results[1] then error(results[2], 0) end
  return table.unpack(results, 2, results.n)
end

return environment
