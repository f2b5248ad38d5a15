--- A JSON Schema from an example of the arguments, for tools whose arguments are simple.
-- A string stands for any string, an integer for an integer, another number for a number, true and false for a
-- boolean, an array for an array of what its first item stands for (an empty one, marked with koine.array: of
-- anything), another table for an object with all of these members. The words "string", "number", "integer", "boolean",
-- "array" and "object" stand for these types. A name that ends in "?" is of a member that may be left out.
-- The same example gives the same bytes on the wire.

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"

local example = {}

local WORDS = { string = true, number = true, integer = true, boolean = true, array = true, object = true }

local expand

local function expand_array(value, path)
  if not check.is_list(value) then core.raise_argument(path, "array", "a table with holes or other keys") end
  if value[1] == nil then return { type = "array" } end
  return { type = "array", items = expand(value[1], path .. "[1]") }
end

local function expand_object(value, path)
  local properties, required = {}, core.array {}
  for key, member in next, value do
    if type(key) ~= "string" then errors.argument(path, "strings as keys, or 1..n", key) end
    local name, optional = key:match "^(.-)(%??)$"
    properties[name] = expand(member, path .. "." .. name)
    if optional == "" then required[#required + 1] = name end
  end
  table.sort(required, core.before)
  return { type = "object", properties = properties, required = #required > 0 and required or nil }
end

-- The schema of one value of an example.
function expand(value, path)
  local kind = type(value)
  if kind == "string" then return { type = WORDS[value] and value or "string" } end
  if kind == "number" then return { type = math.type(value) == "integer" and "integer" or "number" } end
  if kind == "boolean" then return { type = "boolean" } end
  if kind ~= "table" then errors.argument(path, "string, number, boolean or table", value) end
  if #value > 0 or getmetatable(value) == core.array_mt then return expand_array(value, path) end
  return expand_object(value, path)
end

--- The schema of an object like `given`. Raises an ArgumentError naming the member that is no example; `name` begins
-- its path.
function example.expand(given, name)
  if type(given) ~= "table" or #given > 0 then errors.argument(name, "table of named arguments", given) end
  return expand_object(given, name)
end

return example
