--- Elements of an array in a value that grows: where they are, and whether one fits what the schema says of the array's
-- items.

local judge = require "koine.data.schema.judge"
local nulls = require "koine.data.schema.nulls"
local read = require "koine.call.output.read"

local NONE <const> = {}

local elements = {}

-- The steps of a JSON pointer.
local function steps(path)
  local list = {}
  for step in path:gmatch "/([^/]*)" do list[#list + 1] = step:gsub("~1", "/"):gsub("~0", "~") end
  return list
end

-- What stands at a path in a value; nil where nothing does.
local function find(value, path)
  for _, step in ipairs(steps(path)) do
    if type(value) ~= "table" then return nil end
    local key = value[step] == nil and math.tointeger(tonumber(step))
    value = value[key and key + 1 or step]
  end
  return value
end

--- How many elements the array at `path` in a value has; 0 where there is none.
function elements.count(value, path)
  local array = find(value, path)
  return type(array) == "table" and #array or 0
end

--- The element of that index (from 1) of the array at `path` in a value; nil where it is gone: the model wrote another
-- member of that name, or the caller took it out while the value grew.
function elements.at(value, path, index)
  local array = find(value, path)
  if type(array) == "table" then return array[index] end
end

-- The place one step below: a number is a member's name or an item's index, whichever the schemas know.
local function below(place, step)
  local member, index = nulls.step(place, step), math.tointeger(tonumber(step))
  if not index then return member end
  local items = nulls.step(place, index + 1)
  local both = { root = place.root, has_alternatives = member.has_alternatives or items.has_alternatives }
  table.move(member, 1, #member, 1, both)
  return table.move(items, 1, #items, #both + 1, both)
end

-- Whether a schema lets its value be of that kind: a word of `type`.
local function allows(s, kind)
  if s.type == nil then return true end
  for _, word in ipairs(type(s.type) == "table" and s.type or { s.type }) do
    if word == kind then return true end
  end
  return false
end

-- Whether a schema leaves it to others what its value is.
local function is_frame(s) return s["$ref"] ~= nil or s.anyOf ~= nil or s.oneOf ~= nil or s.allOf ~= nil end

-- Whether an object may have the member, whatever that is then. One that has properties and says nothing of others has
-- no others here: so it goes out to providers that are strict.
local function is_open_object(s, step)
  local own, others = s.properties, s.additionalProperties
  if own and own[step] ~= nil then return own[step] == true end
  if others == nil then return s.patternProperties ~= nil or own == nil and not is_frame(s) end
  return others == true
end

-- Whether an array may have the item, whatever that is then.
local function is_open_array(s, index)
  local own = (s.prefixItems or {})[index]
  if own ~= nil then return own == true end
  return s.items == true or s.items == nil and not is_frame(s)
end

-- Whether anything may stand at a step from a value of which the schema speaks.
local function is_open(s, step)
  local index = math.tointeger(tonumber(step))
  if (s.properties or allows(s, "object")) and is_open_object(s, step) then return true end
  local may_be_array = allows(s, "array") and not (s.type == nil and s.properties)
  return index ~= nil and may_be_array and is_open_array(s, index + 1)
end

-- Whether a value of which these schemas speak may be an array.
local function may_be_array(place)
  for _, s in ipairs(place) do
    local says = s.type ~= nil or not is_frame(s) and not s.properties and not s.enum and s.const == nil
    if says and allows(s, "array") then return true end
  end
  return false
end

--- Whether an array may be at `path` in a value that fits the schema. False is sure, but for members of an object that
-- the schema does not name and does not exclude: those are taken for a mistake.
function elements.may_be(schema, path)
  local place = nulls.root(schema)
  for _, step in ipairs(steps(path)) do
    for _, s in ipairs(place) do
      if is_open(s, step) then return true end
    end
    place = below(place, step)
  end
  return may_be_array(place)
end

-- What the schemas of a place say of the element of that index: nil, or what is wrong. Of alternatives one is enough.
local function judge_element(place, schema, element, index)
  local first
  for _, s in ipairs(place) do
    local part = (s.prefixItems or NONE)[index]
    if part == nil then part = s.items end
    if part ~= nil then
      local fits, why = judge.validate(schema, part, element, "", true)
      if fits and place.has_alternatives then return nil end
      if not fits and not place.has_alternatives then return why end
      first = first or why
    end
  end
  return first
end

--- A function of an element of the array at `path` and its index (from 1): the element as the schema (nil: none) has
-- it, with 1 in the place of 1.0, and nil or what is wrong with it.
function elements.judge(schema, path)
  if schema == nil then return function(element) return element end end
  local place = nulls.root(schema)
  for _, step in ipairs(steps(path)) do place = below(place, step) end
  return function(element, index)
    element = read.integers_at(element, nulls.step(place, index))
    return element, judge_element(place, schema, element, index)
  end
end

return elements
