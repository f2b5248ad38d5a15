--- The parts of schemas and values: the kinds of values that JSON Schema tells apart, the schemas within a schema,
-- references, and which keywords are judged.

local core = require "koine.core"
local errors = require "koine.data.errors"
local pattern = require "koine.data.schema.pattern"

local parts = {}

-- Kinds of values ---------------------------------------------------------------------------------------------------

--- Whether a value may be an array: a sequence, or marked, or an empty table.
function parts.is_array(value)
  if type(value) ~= "table" then return false end
  return #value > 0 or next(value) == nil or getmetatable(value) == core.array_mt
end

--- Whether a value may be an object: a table that is neither a sequence nor marked.
function parts.is_object(value)
  return type(value) == "table" and #value == 0 and getmetatable(value) ~= core.array_mt
end

--- Whether a value is a number without a fraction.
function parts.is_integer(value)
  if math.type(value) == "integer" then return true end
  return math.type(value) == "float" and value - value == 0 and math.floor(value) == value
end

--- The words of the keyword type: word → function(value) → boolean.
parts.types = {
  string = function(value) return type(value) == "string" end,
  number = function(value) return type(value) == "number" end,
  integer = parts.is_integer,
  boolean = function(value) return type(value) == "boolean" end,
  null = function(value) return value == core.null end,
  array = parts.is_array,
  object = parts.is_object,
}

--- Why JSON cannot hold a value, in words; nil when it can. `levels` (nil = none) are those of the tables that will be
-- around it: a value may be nested so deeply that a message, a request or a dump has no room for it.
function parts.unfit(value, levels)
  for _ = 1, levels or 0 do value = { value } end
  local fit, err = errors.try(core.encode, value) -- goes on with Lua's own errors: a lack of memory is no fault of it
  if fit then return nil end
  local text = tostring(err)
  return text:sub(text:find(err.field .. ":", 1, true) or 1) -- without the position
end

-- Schemas within schemas --------------------------------------------------------------------------------------------

-- Keywords with one schema, with an array of them, with an object of them.
local ONE = { "additionalItems", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames" }
local LIST = { "prefixItems", "anyOf", "oneOf", "allOf" }
local MAP = { "properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions" }
local SEVERAL = table.move(MAP, 1, #MAP, #LIST + 1, { table.unpack(LIST) })
local HOLDS = { items = true } -- those with any schemas
for _, names in ipairs { ONE, SEVERAL } do
  for _, name in ipairs(names) do HOLDS[name] = true end
end

--- Whether `items` is an array of schemas, as drafts before 2020-12 have it.
function parts.has_tuple(s)
  return type(s.items) == "table" and (s.items[1] ~= nil or getmetatable(s.items) == core.array_mt)
end

--- Whether what stands in `dependencies` is an array of names.
function parts.is_names(part)
  return type(part) == "table" and (part[1] ~= nil or getmetatable(part) == core.array_mt)
end

-- The same for those within the keyword `name`, whose value is a table.
local function each_of(s, name, f)
  for key, part in next, s[name] do
    if name ~= "dependencies" or not parts.is_names(part) then
      local found = f(part, name .. (math.type(key) and "[" .. key .. "]" or "." .. tostring(key)))
      if found then return found end
    end
  end
end

-- Whether a schema has a keyword with schemas in it: most have none, and few keywords at all.
local function holds_any(s)
  for name in next, s do
    if HOLDS[name] then return true end
  end
end

--- Calls f(part, where) for every schema directly within `s`, until it returns something: that.
function parts.each(s, f)
  if not holds_any(s) then return nil end
  for i = 1, #ONE do
    local name = ONE[i]
    local found = s[name] ~= nil and f(s[name], name)
    if found then return found end
  end
  for i = 1, #SEVERAL do
    local found = type(s[SEVERAL[i]]) == "table" and each_of(s, SEVERAL[i], f)
    if found then return found end
  end
  if parts.has_tuple(s) then return each_of(s, "items", f) end
  return s.items ~= nil and f(s.items, "items") or nil
end

--- The names of a schema's properties in the order in which they go out: those of propertyOrdering, then those of
-- required, then the others by bytes (core/json/schema.h). A new array; empty where there are no properties.
function parts.order(s)
  local properties, order, placed = type(s.properties) == "table" and s.properties or {}, {}, {}
  for _, key in ipairs { "propertyOrdering", "required" } do
    for _, name in ipairs(type(s[key]) == "table" and s[key] or {}) do
      if properties[name] ~= nil and not placed[name] then order[#order + 1], placed[name] = name, true end
    end
  end
  local rest = {}
  for name in next, properties do
    if not placed[name] then rest[#rest + 1] = name end
  end
  table.sort(rest, core.before)
  return table.move(rest, 1, #rest, #order + 1, order)
end

--- Whether a reference names a part of the document, and not another document or an anchor.
function parts.is_local(reference) return reference == "#" or reference:sub(1, 2) == "#/" end

--- The schema that a reference names: nil when there is none, true when it is not local, as nothing is known of it.
function parts.resolve(root, reference)
  if not parts.is_local(reference) then return true end
  local pointer = reference:sub(2)
  local at = root
  for part in pointer:gmatch "/([^/]*)" do
    if type(at) ~= "table" then return nil end
    local step = part:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end)
    step = step:gsub("~1", "/"):gsub("~0", "~")
    local index = math.tointeger(tonumber(step))
    local found = at[step]
    if found == nil and index then found = at[index + 1] end
    at = found
  end
  if type(at) ~= "table" and type(at) ~= "boolean" then return nil end
  return at
end

-- Keywords that are judged, or say nothing about a value.
local KNOWN = { title = true, description = true, default = true, examples = true, deprecated = true, readOnly = true,
  writeOnly = true, type = true, enum = true, const = true, required = true, minProperties = true,
  maxProperties = true, minItems = true, maxItems = true, uniqueItems = true, minLength = true, maxLength = true,
  pattern = true, items = true, minContains = true, maxContains = true, dependentRequired = true,
  minimum = true, maximum = true, exclusiveMinimum = true, exclusiveMaximum = true, multipleOf = true,
  propertyOrdering = true, ["$schema"] = true, ["$id"] = true, ["$comment"] = true, ["$ref"] = true }
for _, names in ipairs { ONE, LIST, MAP } do
  for _, name in ipairs(names) do KNOWN[name] = true end
end

-- Keywords that say nothing about a value, and those of others that do without being judged.
local NOTES = { title = true, description = true, default = true, examples = true, deprecated = true, readOnly = true,
  writeOnly = true, propertyOrdering = true }
local OTHERS = { format = true, nullable = true, example = true, unevaluatedItems = true, unevaluatedProperties = true,
  contentEncoding = true, contentMediaType = true, contentSchema = true }

--- Whether a table has members, but none of them is a keyword that says what fits: an example in the place of a schema.
function parts.is_no_schema(s)
  local unknown = false
  for name in next, s do
    local noted = type(name) ~= "string" or NOTES[name]
    if not noted and (KNOWN[name] or OTHERS[name] or name:find "^%$" or name:find "^x%-") then return false end
    unknown = unknown or not noted
  end
  return unknown
end

-- Whether a regular expression cannot be judged.
local function is_strange(text) return type(text) ~= "string" or not pattern.compile(text) end

--- The first keyword, in sorted order, of a schema itself that is not judged; nil when all are. Names that begin with
-- "x-" are somebody's notes.
function parts.unjudged(s)
  local first
  local function note(name) first = (not first or name < first) and name or first end
  for name, value in next, s do
    if not KNOWN[name] and not (type(name) == "string" and name:sub(1, 2) == "x-") then note(tostring(name)) end
    if name == "pattern" and is_strange(value) then note(name) end
    if name == "$ref" and type(value) == "string" and not parts.is_local(value) then note(name) end
  end
  for text in next, type(s.patternProperties) == "table" and s.patternProperties or {} do
    if is_strange(text) then note "patternProperties" end
  end
  return first
end

local function is_vague(root, s, seen)
  if type(s) ~= "table" or seen[s] then return false end
  seen[s] = true
  if parts.unjudged(s) then return true end
  local target = s["$ref"] and parts.resolve(root, s["$ref"])
  if s["$ref"] and target == nil or is_vague(root, target, seen) then return true end
  return parts.each(s, function(part) return is_vague(root, part, seen) end) or false
end

--- Whether a schema, or one within it, has a keyword that is not judged: what fits it may in truth not fit.
function parts.is_vague(root, s) return is_vague(root, s, {}) end

return parts
