--- Elements of an array in a value that grows: where they are, and whether one fits what the schema says of the array's
-- items.

local judge = require "koine.data.schema.judge"
local nulls = require "koine.data.schema.nulls"

local elements = {}

-- The steps of a JSON pointer.
local function steps(path)
  local list = {}
  for step in path:gmatch "/([^/]*)" do list[#list + 1] = step:gsub("~1", "/"):gsub("~0", "~") end
  return list
end

--- The element of that index (from 1) of the array at `path` in a value.
function elements.at(value, path, index)
  for _, step in ipairs(steps(path)) do
    local key = value[step] == nil and math.tointeger(tonumber(step))
    value = value[key and key + 1 or step]
  end
  return value[index]
end

--- A function that judges an element of the array at `path` by the schema (nil: none): nil, or what is wrong.
function elements.judge(schema, path)
  if schema == nil then return function() end end
  local place = nulls.root(schema)
  for _, step in ipairs(steps(path)) do place = nulls.step(place, math.tointeger(tonumber(step)) or step) end
  return function(element)
    for _, s in ipairs(place) do
      if s.items ~= nil then
        local fits, why = judge.validate(schema, s.items, element, "")
        if not fits then return why end
      end
    end
  end
end

return elements
