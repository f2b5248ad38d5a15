--- The order in which a model writes properties, where the caller gives it beside the schema. A path of names with dots
-- leads into properties, and through arrays into what is in them: `lines.price` is the price in each item of `lines`.
-- References and alternatives are gone through, too.

local core = require "koine.core"
local errors = require "koine.data.errors"
local parts = require "koine.data.schema.parts"
local records = require "koine.data.records"

local collect

local function collect_all(root, list, found, seen)
  for _, s in ipairs(type(list) == "table" and list or {}) do collect(root, s, found, seen) end
end

-- Adds the schemas with properties that a schema says of its value, or of what is in it where that is an array.
function collect(root, s, found, seen)
  if type(s) ~= "table" or seen[s] then return end
  seen[s] = true
  if s.properties then found[#found + 1] = s end
  if s["$ref"] then collect(root, parts.resolve(root, s["$ref"]), found, seen) end
  for _, name in ipairs { "allOf", "anyOf", "oneOf", "prefixItems" } do collect_all(root, s[name], found, seen) end
  if parts.has_tuple(s) then collect_all(root, s.items, found, seen) else collect(root, s.items, found, seen) end
end

-- Enters the property at the end of the path into `lists`, schema → names: true, or false where there is none. A name
-- may itself have dots.
local function enter(root, s, path, lists)
  local objects, entered = {}, false
  collect(root, s, objects, {})
  for _, object in ipairs(objects) do
    if object.properties[path] ~= nil then
      local list = lists[object] or core.array {}
      list[#list + 1], lists[object], entered = path, list, true
    end
    for dot in path:gmatch "()%." do
      local inner = object.properties[path:sub(1, dot - 1)]
      if inner ~= nil and enter(root, inner, path:sub(dot + 1), lists) then entered = true end
    end
  end
  return entered
end

-- Puts the names that the list lacks behind it, in the order that the schema has without it.
local function complete(object, list)
  local there = {}
  for _, name in ipairs(list) do there[name] = true end
  for _, name in ipairs(parts.order(object)) do
    if not there[name] then list[#list + 1] = name end
  end
  object.propertyOrdering = list
end

--- The schema as a new table in which the paths in `order` (array of strings) say which properties come first. Raises
-- an ArgumentError for a path that leads to no property; `field` names the order in it.
return function(given, order, field)
  local made, lists = records.to_table(given), {}
  for i, path in ipairs(order) do
    if not enter(made, made, path, lists) then
      errors.argument(("%s[%d]"):format(field, i), "property of the schema, or a path with dots", path)
    end
  end
  for object, list in next, lists do complete(object, list) end
  return made
end
