--- The errors that functions raise.

local raised = {}

-- raised(f, …): what f raises when it is called with the arguments; raises where it raises nothing.
local function call(_, f, ...)
  local ok, err = pcall(f, ...)
  assert(not ok, "nothing was raised")
  return err
end

--- The same, of this class.
function raised.as(class, f, ...)
  local err = call(nil, f, ...)
  assert(type(err) == "table" and err.class == class, ("%s expected, got %s"):format(class, tostring(err)))
  return err
end

return setmetatable(raised, { __call = call })
