--- Finds schemas that their author cannot mean: unknown words as type, limits that are no numbers, references to
-- nothing or to themselves, tables that hold themselves, an array of fields or an example where an object of keywords
-- belongs.

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local parts = require "koine.data.schema.parts"

local NUMBERS = { "minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems",
  "minProperties", "maxProperties", "minContains", "maxContains" }
local ARRAYS = { "enum", "prefixItems", "anyOf", "oneOf", "allOf" }
local NAMES = { "required", "propertyOrdering" }
local TABLES = { "properties", "patternProperties", "dependentSchemas", "dependentRequired", "dependencies", "$defs",
  "definitions" }

local function check_type(given, path)
  if given == nil then return end
  if type(given) == "table" and not check.is_list(given) then
    core.raise_argument(path .. ".type", "word or array of words", "a table with holes or other keys")
  end
  if type(given) == "string" and parts.types[given] then return end
  for _, name in ipairs(type(given) == "table" and given or { given }) do
    if not parts.types[name] then
      errors.argument(path .. ".type", "string, number, integer, boolean, null, array or object", name)
    end
  end
end

local LEVELS <const> = 512        -- of tables in tables
local TABLES_MAX <const> = 200000 -- each counted wherever it stands, as it is when the schema is copied or written

-- Raises for a schema that has no end as a tree, or none that is worth waiting for: all who go through it rely on that.
local function check_size(given, path)
  local count = 0
  local function walk(value, level)
    count = count + 1
    if level > LEVELS then
      core.raise_argument(path, ("at most %d levels of tables"):format(LEVELS), "more, or one that holds itself")
    end
    if count > TABLES_MAX then core.raise_argument(path, ("at most %d tables"):format(TABLES_MAX), "more") end
    for _, member in next, value do
      if type(member) == "table" then walk(member, level + 1) end
    end
  end
  if type(given) == "table" then walk(given, 1) end
end

-- Whether references lead from one to the next in a circle, and to nothing else.
local function is_circle(root, s)
  if s["$ref"] == nil then return false end
  local seen = {}
  while type(s) == "table" and type(s["$ref"]) == "string" do
    if seen[s] then return true end
    seen[s] = true
    s = parts.resolve(root, s["$ref"])
  end
  return false
end

local NUMBER, ARRAY, STRINGS = check.number(), check.list(check.any), check.list(check.string, "array of strings")

-- Whether a table is an array, also an empty one that is marked.
local function is_array(given) return given[1] ~= nil or getmetatable(given) == core.array_mt end

-- An empty array passes: some programs write one where they mean an object without members.
local MAP = check.that("object of name = schema", function(given)
  if type(given) ~= "table" then return nil end
  if given[1] ~= nil then return nil, "an array" end
  return given
end)

-- Raises for the keywords in `names` whose values do not fit the checker.
local function check_kind(s, path, names, c)
  for i = 1, #names do
    local name = names[i]
    if s[name] ~= nil then c(s[name], path .. "." .. name) end
  end
end

local function check_schema(root, s, path, seen)
  if type(s) == "boolean" then return end
  if type(s) ~= "table" then errors.argument(path, "schema", s) end
  if is_array(s) then
    core.raise_argument(path, "schema (koine.schema.object makes one of an array of fields)", "an array")
  end
  if seen[s] then return end
  seen[s] = true
  check_type(s.type, path)
  check_kind(s, path, NUMBERS, NUMBER)
  check_kind(s, path, ARRAYS, ARRAY)
  check_kind(s, path, NAMES, STRINGS)
  check_kind(s, path, TABLES, MAP)
  if s.pattern ~= nil then check.string(s.pattern, path .. ".pattern") end
  if s.multipleOf then check.positive(s.multipleOf, path .. ".multipleOf") end
  local reference = s["$ref"]
  if reference ~= nil and (type(reference) ~= "string" or parts.resolve(root, reference) == nil) then
    errors.argument(path .. ".$ref", "reference to a part of the schema", reference)
  end
  if is_circle(root, s) then
    core.raise_argument(path .. ".$ref", "reference to a schema", "one that leads back to itself")
  end
  parts.each(s, function(part, where) check_schema(root, part, path .. "." .. where, seen) end)
end

--- Raises an ArgumentError for such a schema; `name` begins the path of what is wrong.
return function(given, name)
  check_size(given, name)
  if type(given) == "table" and not is_array(given) and parts.is_no_schema(given) then
    core.raise_argument(name, "JSON Schema (koine.schema.expand makes one of an example)", "a table without keywords")
  end
  check_schema(given, given, name, {})
end
