--- The option `output`: what shape an answer shall have.
--   schema       JSON Schema of the value: a table, or text as schema.parse takes it; required unless mode is "object"
--   name         what the shape is called: 1 to 64 of A-Z, a-z, 0-9, _ and -; "response" unless given
--   description  string for the model
--   mode         "auto", "native", "tool", "prompt", or "object" (any JSON object, no schema)
--   strict       true, false or "auto": whether the wire shall hold the model to the schema
--   order        array of the names of properties, or of their paths (`address.city`; `lines.price` in the items of an
--                array), in the order in which the model shall write them
--   repair       integer: how often the model is asked again when its answer does not fit
--   check        function(value) → true | nil, why: the caller's own judgement of a whole value

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local ordered = require "koine.call.output.order"
local records = require "koine.data.records"
local schema = require "koine.data.schema"

local NAME = check.that("1 to 64 of A-Z, a-z, 0-9, _ and -", function(value)
  if type(value) == "string" and #value <= 64 and value:find "^[%w_-]+$" then return value end
end)

local STRICT = check.that('true, false or "auto"', function(value)
  if type(value) == "boolean" or value == "auto" then return value end
end)

local SCHEMA = check.either("JSON Schema: a table or text", check.string, check.table)

local EXPECTED <const> = 'table {schema = JSON Schema}, or with a short text {schema = "name, age int"}'

local FIELDS = check.record({ schema = SCHEMA, name = check.default(NAME, "response"), description = check.string,
  mode = check.default(check.one_of { "auto", "native", "tool", "prompt", "object" }, "auto"),
  strict = check.default(STRICT, "auto"), order = check.list(check.name, "array of names"),
  repair = check.default(check.integer(0), 0), check = check.func }, EXPECTED)

local KEYWORDS <const> = { "type", "properties", "items", "enum", "const", "anyOf", "oneOf", "allOf", "$ref" }

-- Raises for a schema, or an array of fields, in the place of the option.
local function refuse_schema(value, field)
  if type(value) ~= "table" or value.schema ~= nil or value.mode ~= nil then return end
  if value[1] ~= nil then core.raise_argument(field, EXPECTED, "an array") end
  for _, name in ipairs(KEYWORDS) do
    if value[name] ~= nil then core.raise_argument(field, EXPECTED, "a JSON Schema alone") end
  end
end

--- Checks the option: a new table of its fields, `schema` a table of its own, so that what the caller does to his while
-- the call goes on changes nothing. Raises an ArgumentError that names the field.
return function(value, field)
  refuse_schema(value, field)
  local spec = FIELDS(value, field)
  if spec.schema == nil then
    if spec.mode ~= "object" then errors.argument(field .. ".schema", "JSON Schema, or mode = \"object\"", nil) end
    return spec
  end
  local path = field .. ".schema"
  local is_text = type(spec.schema) == "string"
  if is_text then spec.schema = schema.parse(spec.schema, path) end
  schema.check(spec.schema, path)
  if spec.order then spec.schema = ordered(spec.schema, spec.order, field .. ".order")
  elseif not is_text then spec.schema = records.to_table(spec.schema) end
  return spec
end
