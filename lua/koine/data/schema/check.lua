--- Schemas that can be nobody's intention: unknown words as type, limits that are no numbers, references to nowhere.

local core = require "koine.core"
local errors = require "koine.data.errors"
local parts = require "koine.data.schema.parts"
local records = require "koine.data.records"

local NUMBERS = { "minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems",
  "minProperties", "maxProperties" }
local ARRAYS = { "enum", "required", "prefixItems", "anyOf", "oneOf", "allOf" }
local TABLES = { "properties", "$defs", "definitions" }

local function check_type(given, path)
  if given == nil then return end
  if type(given) == "table" and not records.is_list(given) then
    core.raise_argument(path .. ".type", "word or array of words", "a table with holes or other keys")
  end
  for _, name in ipairs(type(given) == "table" and given or { given }) do
    if not parts.types[name] then
      errors.argument(path .. ".type", "string, number, integer, boolean, null, array or object", name)
    end
  end
end

-- Raises for the keywords in `names` whose values are not what `fits` says.
local function check_kind(s, path, names, fits, expected)
  for _, name in ipairs(names) do
    if s[name] ~= nil and not fits(s[name]) then errors.argument(path .. "." .. name, expected, s[name]) end
  end
end

local function is_table(value) return type(value) == "table" end

local function check(root, s, path, seen)
  if type(s) == "boolean" then return end
  if type(s) ~= "table" then errors.argument(path, "schema", s) end
  if seen[s] then return end
  seen[s] = true
  check_type(s.type, path)
  check_kind(s, path, NUMBERS, parts.types.number, "number")
  check_kind(s, path, ARRAYS, records.is_list, "array")
  check_kind(s, path, TABLES, is_table, "table")
  if s.multipleOf and s.multipleOf <= 0 then
    errors.argument(path .. ".multipleOf", "number, more than 0", s.multipleOf)
  end
  local reference = s["$ref"]
  if reference ~= nil and (type(reference) ~= "string" or parts.resolve(root, reference) == nil) then
    errors.argument(path .. ".$ref", "reference to a part of the schema", reference)
  end
  parts.each(s, function(part, where) check(root, part, path .. "." .. where, seen) end)
end

--- Raises an ArgumentError for such a schema; `name` (default "schema") begins the path of what is wrong.
return function(given, name) check(given, given, name or "schema", {}) end
