--- The option `output`: what shape an answer shall have.
--   schema       JSON Schema of the value: a table, or text as schema.parse takes it; required unless mode is "object"
--   name         what the shape is called: 1 to 64 of A-Z, a-z, 0-9, _ and -; "response" unless given
--   description  string for the model
--   mode         "auto", "native", "tool", "prompt", or "object" (any JSON object, no schema)
--   strict       true, false or "auto": whether the wire shall hold the model to the schema
--   order        array of the names of properties, or of their paths (`address.city`), in the order in which the model
--                shall write them
--   repair       integer: how often the model is asked again when its answer does not fit
--   check        function(value) → true | nil, why: the caller's own judgement of a whole value

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local records = require "koine.data.records"
local schema = require "koine.data.schema"

local NAME = check.that("1 to 64 of A-Z, a-z, 0-9, _ and -", function(value)
  if type(value) == "string" and #value <= 64 and value:find "^[%w_-]+$" then return value end
end)

local STRICT = check.that('true, false or "auto"', function(value)
  if type(value) == "boolean" or value == "auto" then return value end
end)

local SCHEMA = check.either("JSON Schema: a table or text", check.string, check.table)

local FIELDS = check.record { schema = SCHEMA, name = check.default(NAME, "response"), description = check.string,
  mode = check.default(check.one_of { "auto", "native", "tool", "prompt", "object" }, "auto"),
  strict = check.default(STRICT, "auto"), order = check.list(check.name, "array of names"),
  repair = check.default(check.integer(0), 0), check = check.func }

-- The schema as a new table in which the names in `order` say which properties come first. A name with dots is the path
-- of a property within others.
local function ordered(given, order, field)
  local made = records.to_table(given)
  local lists = {}
  for i, path in ipairs(order) do
    local at, name = made, path:match "[^.]*$"
    for step in path:sub(1, #path - #name):gmatch "[^.]+" do
      at = type(at) == "table" and type(at.properties) == "table" and at.properties[step]
    end
    if type(at) ~= "table" or type(at.properties) ~= "table" or at.properties[name] == nil then
      errors.argument(("%s[%d]"):format(field, i), "property of the schema, or a path with dots", path)
    end
    local list = lists[at] or core.array {}
    list[#list + 1], lists[at] = name, list
  end
  for at, list in next, lists do at.propertyOrdering = list end
  return made
end

--- Checks the option: a new table of its fields, `schema` a table. Raises an ArgumentError that names the field.
return function(value, field)
  local spec = FIELDS(value, field)
  if spec.schema == nil then
    if spec.mode ~= "object" then errors.argument(field .. ".schema", "JSON Schema, or mode = \"object\"", nil) end
    return spec
  end
  local path = field .. ".schema"
  if type(spec.schema) == "string" then spec.schema = schema.parse(spec.schema, path) end
  schema.check(spec.schema, path)
  if spec.order then spec.schema = ordered(spec.schema, spec.order, field .. ".order") end
  return spec
end
