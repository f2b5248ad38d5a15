--- Builders of schemas: functions that return plain tables, which any other code may look at and change.
--
--   local schema = koine.schema
--   local verdict = schema.object {
--     { "why", "string", "The reasons, step by step." },
--     { "answer", schema.integer { minimum = 0 } },
--     { "unit?", schema.enum { "c", "f" } },
--     description = "What was found.",
--   }
--
-- An object's fields are an array: tables of Lua have no order, and models write the fields in the order in which a
-- schema lists them. Where a schema belongs there may be a table (a JSON Schema, built or not), true or false, or a
-- type in short: "int", "[string]", "string|null" (short.lua).
-- A builder makes a new table, but for the schemas in it, which are the caller's own tables. It raises an ArgumentError
-- whose field says where: `object.answer`. Values of keywords are judged by schema.check, which knows the whole schema.

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local parts = require "koine.data.schema.parts"
local short = require "koine.data.schema.short"

local build = {}

-- The schema that a caller gave.
local function part(given, path)
  if type(given) == "string" then return short.type(given, path) end
  if type(given) == "boolean" then return given end
  if type(given) ~= "table" or given[1] ~= nil then errors.argument(path, "schema or type in short", given) end
  return given
end

-- A new table of the keywords: of a table, or of text, which is the description.
local function keywords(given, path)
  if given == nil then return {} end
  if type(given) == "string" then return { description = given } end
  if type(given) ~= "table" or given[1] ~= nil then errors.argument(path, "description or table of keywords", given) end
  local made = {}
  for name, value in next, given do
    if type(name) ~= "string" then errors.argument(path, "strings as keywords", name) end
    made[name] = value
  end
  return made
end

-- The builder of values of one type: function(given) → a schema with these keywords, or with this description.
local function of_type(word)
  return function(given)
    local made = keywords(given, word)
    if made.type ~= nil and made.type ~= word then errors.argument(word .. ".type", '"' .. word .. '"', made.type) end
    made.type = word
    return made
  end
end

--- A string, a number, an integer, true or false. The argument is a table of keywords, `{ minimum = 0 }`, or the
-- description alone; nothing for neither.
build.string, build.number, build.integer, build.boolean =
  of_type "string", of_type "number", of_type "integer", of_type "boolean"

--- An array of what fits `items`, a schema. `given`: more keywords, or the description.
function build.array(items, given)
  local made = keywords(given, "array")
  made.type, made.items = "array", part(items, "array.items")
  return made
end

-- The schema with a description; the caller's table is left alone.
local function described(schema, description, path)
  if description == nil then return schema end
  if type(schema) ~= "table" then errors.argument(path, "schema in a table, beside a description", schema) end
  local made = keywords(schema, path)
  made.description = check.string(description, path .. ".description")
  return made
end

local FIELD <const> = { true, true, true } -- the keys of a field

-- Raises for a table of name = schema, whose names would pass as keywords: it has no fields, and a name that is no
-- keyword with a value that a schema may be.
local function refuse_map(given)
  for name, value in next, given do
    if type(name) == "string" and name:find "^[%w_]" and parts.unjudged { [name] = value }
        and (type(value) == "string" or type(value) == "table") then
      core.raise_argument("object." .. name, "array of {name, schema}", "a name as key: its fields would have no order")
    end
  end
end

--- An object: an array of fields {name, schema, description (nil: none)}, in the order in which the model shall write
-- them; "?" ends the name of a field that may be missing. Named members of the table are more keywords.
function build.object(given)
  if type(given) ~= "table" then errors.argument("object", "array of {name, schema}", given) end
  if given[1] == nil then refuse_map(given) end
  local made = { type = "object", properties = {}, required = core.array {}, propertyOrdering = core.array {} }
  for key, value in next, given do
    if type(key) == "string" then made[key] = value end
  end
  for i, field in ipairs(given) do
    local at = ("object[%d]"):format(i)
    if type(field) ~= "table" or type(field[1]) ~= "string" then errors.argument(at, "{name, schema}", field) end
    for key in next, field do
      if not FIELD[key] then core.raise_argument(at, "{name, schema, description}", "the key " .. tostring(key)) end
    end
    local name, optional = field[1]:match "^(.-)(%??)$"
    local path = "object." .. name
    if made.properties[name] ~= nil then core.raise_argument(path, "every name once", "it twice") end
    made.properties[name] = described(part(field[2], path), field[3], path)
    made.propertyOrdering[i] = name
    if optional == "" then made.required[#made.required + 1] = name end
  end
  return made
end

--- One of the values of an array. `given`: more keywords, or the description.
function build.enum(values, given)
  if not check.is_list(values) or #values == 0 then errors.argument("enum", "array of values, one at least", values) end
  local made = keywords(given, "enum")
  made.enum = core.array(table.move(values, 1, #values, 1, {}))
  for _, value in ipairs(values) do
    if type(value) ~= "string" then return made end
  end
  made.type = "string"
  return made
end

--- Makes a schema for values that fit any of the schemas of an array. `given`: more keywords, or the description.
function build.any_of(schemas, given)
  if not check.is_list(schemas) or #schemas == 0 then
    errors.argument("any_of", "array of schemas, one at least", schemas)
  end
  local made = keywords(given, "any_of")
  made.anyOf = core.array {}
  for i, one in ipairs(schemas) do made.anyOf[i] = part(one, ("any_of[%d]"):format(i)) end
  return made
end

return build
