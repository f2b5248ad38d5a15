--- Variables in the texts of a configuration: ${NAME}, ${NAME:-default}, ${env:NAME}. A value comes from the user's
-- environment, and counts as a secret.

local variables = {}

local NAME = "^[A-Za-z_][A-Za-z0-9_]*$"

-- The value of what stands between the braces, or nil and why there is none.
local function value_of(inner, get, secrets)
  local name, default = inner:match "^(.-):%-(.*)$"
  name = (name or inner):gsub("^env:", "")
  if not name:find(NAME) then return nil, ("${%s} is no variable of the environment"):format(inner) end
  local value = get(name)
  if value and value ~= "" then
    secrets[#secrets + 1] = value
    return value
  end
  if default then return default end
  if value then return "" end
  return nil, ("the variable %s is not set"):format(name)
end

-- Fills a text: the text, or nil, why.
local function fill_text(text, get, secrets)
  local problem
  local filled = text:gsub("%${([^{}]*)}", function(inner)
    local value, why = value_of(inner, get, secrets)
    problem = problem or why
    return value or ""
  end)
  if problem then return nil, problem end
  return filled
end

--- A value (decoded JSON) with the variables of all strings in it replaced, but for names of members: a new one; or
-- nil and why not, in words that name the first variable that is missing. `get(name)` returns a variable's value, or
-- nil; each that is used is added to the array `secrets`.
function variables.fill(value, get, secrets)
  if type(value) == "string" then return fill_text(value, get, secrets) end
  if type(value) ~= "table" then return value end
  local made = setmetatable({}, getmetatable(value))
  for key, member in next, value do
    local filled, why = variables.fill(member, get, secrets)
    if filled == nil then return nil, why end
    made[key] = filled
  end
  return made
end

return variables
