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

-- The place one step below: a number is a member's name or an item's index, whichever the schemas know.
local function below(place, step)
  local made, index = nulls.step(place, step), math.tointeger(tonumber(step))
  if not index then return made end
  local items = nulls.step(place, index + 1)
  return table.move(items, 1, #items, #made + 1, made)
end

--- A function that judges an element of the array at `path` by the schema (nil: none): nil, or what is wrong.
function elements.judge(schema, path)
  if schema == nil then return function() end end
  local place = nulls.root(schema)
  for _, step in ipairs(steps(path)) do place = below(place, step) end
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
