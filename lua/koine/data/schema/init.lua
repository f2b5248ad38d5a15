--- JSON Schema, as far as tools need it: whether a value fits a schema, and a schema from an example.
--
-- Judged: type (a word or an array of words), enum, const; properties, required, additionalProperties,
-- patternProperties, propertyNames, minProperties, maxProperties, dependentRequired, dependentSchemas; items,
-- prefixItems, contains, minContains, maxContains, minItems, maxItems, uniqueItems; minLength, maxLength (code points),
-- pattern; minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf; anyOf, oneOf, allOf, not, if, then, else;
-- $ref within the document; and of older drafts dependencies, and items as an array with additionalItems.
-- Not judged, whatever else a schema says: format, unevaluatedItems and unevaluatedProperties, references to other
-- documents and to anchors, patterns with look-around, back-references or \p, and all other keywords; `unjudged` lists
-- them. They reach the model as they are, but a value is never refused for them: where a schema with such a keyword
-- stands in not, if, contains or oneOf, that keyword is not judged either.
-- A schema may refer to itself in several ways, so that judging by it has no end: a value that takes more than 1000000
-- judgements is refused.
--
-- Values are what the core's JSON reader makes: an integer is a number without a fraction, 1.0 too; koine.null is null;
-- arrays are sequences or marked with koine.array; an empty table without the mark is an empty object and an empty
-- array.
--
-- Written here: Debian packages no JSON Schema validator for Lua.

local core = require "koine.core"
local build = require "koine.data.schema.build"
local check = require "koine.data.schema.check"
local checks = require "koine.data.check"
local errors = require "koine.data.errors"
local example = require "koine.data.schema.example"
local judge = require "koine.data.schema.judge"
local parts = require "koine.data.schema.parts"
local short = require "koine.data.schema.short"

local schema = {}

-- The name of a schema in errors: the caller's, nil for the default.
local function named(name, default)
  if name == nil then return default end
  return checks.string(name, "name")
end

--- Whether `value` fits `given` (a JSON Schema: a table, or true or false): true; or nil, "PATH: what was expected",
-- and PATH as a JSON pointer in the value. PATH is the member's (`city`, `days[2].date`; as pointer `/days/1/date`),
-- with `name` (nil = none) before it; the value itself is `name`, or "value" (pointer ""). Raises an ArgumentError
-- for a schema that `check` refuses.
function schema.validate(given, value, name)
  if type(given) ~= "table" and type(given) ~= "boolean" then
    errors.argument("schema", "table, true or false (parse makes one of text)", given)
  end
  name = named(name, "")
  check(given, "schema")
  return judge.validate(given, given, value, name)
end

--- Raises an ArgumentError for a schema that its author cannot mean: an unknown type, a limit that is no number, a
-- reference to nowhere. `name` (default "schema") begins the path of what is wrong.
function schema.check(given, name) check(given, named(name, "schema")) end

--- Lists the keywords that are not judged: an array of {path, keyword}, sorted by path; empty when all are. `name`
-- (default "schema") begins the paths.
function schema.unjudged(given, name)
  local found, seen = {}, {}
  local function look(s, path)
    if type(s) ~= "table" or seen[s] then return end
    seen[s] = true
    local keyword = parts.unjudged(s)
    if keyword then found[#found + 1] = { path = path, keyword = keyword } end
    parts.each(s, function(part, where) look(part, path .. "." .. where) end)
  end
  look(given, named(name, "schema"))
  table.sort(found, function(a, b) return core.before(a.path, b.path) end)
  return found
end

--- A JSON Schema from arguments by example, see example.lua: `{ city = "Paris", days = 1, tags = { "a" } }`.
-- Raises an ArgumentError for a value that cannot be an example; `name` (default "example") begins the path of what is
-- wrong.
function schema.expand(given, name) return example.expand(given, named(name, "example")) end

--- A JSON Schema from text: JSON, whose order of properties is kept as `propertyOrdering` at every level; else fields
-- in short (short.lua): `"name, age int, tags [string]"`, or an array: `"[string]"`. Raises an ArgumentError that says
-- where the text is wrong; `name` (default "text") is the text's in it.
function schema.parse(text, name)
  name = named(name, "text")
  if type(text) ~= "string" then errors.argument(name, "JSON Schema as text", text) end
  text = text:gsub("^\xEF\xBB\xBF", "") -- a file may begin with one
  if not text:find "^%s*{" then return short.fields(text, name) end
  local made, err = core.read_schema(text)
  if made == nil then
    local known = text:find '^%s*{%s*["}]' and "" or " (fields in short have no braces around them)"
    core.raise_argument(name, "JSON Schema as text" .. known, err.message)
  end
  return made
end

--- Builders, see build.lua: schema.object { { "why", "string" }, { "answer", schema.integer() } }.
for name, builder in next, build do schema[name] = builder end

return schema
