--- Schemas as Anthropic judges them: that of `output_config.format`, those of tools with `strict = true`, and those of
-- Converse, which hands them on. This file refuses what Anthropic refuses, in its words where a refusal is known. Pure.

local json = require "koine.testing.loopback.json"
local words = require "koine.testing.loopback.strict.words"

local is, set, sorted = words.is, words.set, words.sorted

local strict = {}

local KEYWORDS = set [[type properties required additionalProperties items enum const anyOf allOf $ref $defs definitions
  $schema title description default format pattern minItems]]
local FORMATS = set "date-time time date duration email hostname uri ipv4 ipv6 uuid"
-- Keywords that no value of a type may be bounded by, by type; those of objects and arrays are told one by one.
local BOUNDS = {
  integer = set "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
  number = set "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
  string = set "minLength maxLength",
  array = set "maxItems uniqueItems contains minContains maxContains prefixItems",
  object = set "minProperties maxProperties patternProperties propertyNames",
}
local TYPES = { "integer", "number", "string", "array", "object" }
-- Limits of a request: all its strict schemas together.
local MAX_OPTIONAL, MAX_UNIONS, MAX_TOOLS = 24, 16, 20

-- True of a value of a scalar type.
local function is_scalar(v)
  return v == json.null or type(v) ~= "table"
end

-- What is wrong with the bounds that a schema sets.
local function check_bounds(schema)
  for _, kind in ipairs(TYPES) do
    local found = {}
    for _, key in ipairs(is(schema, kind) and sorted(schema) or {}) do
      found[#found + 1] = BOUNDS[kind][key] and key or nil
    end
    if found[1] then
      return ("For '%s' type, %s %s not supported"):format(kind, (found[2] and "properties " or "property ") ..
        table.concat(found, ", "), found[2] and "are" or "is")
    end
  end
  if is(schema, "array") and schema.minItems ~= nil and schema.minItems ~= 0 and schema.minItems ~= 1 then
    return "For 'array' type, 'minItems' values other than 0 or 1 are not supported"
  elseif is(schema, "object") and schema.additionalProperties ~= false then
    return "For 'object' type, 'additionalProperties' must be explicitly set to false"
  elseif schema.format ~= nil and not FORMATS[schema.format] then
    return ("For 'string' type, format '%s' is not supported"):format(tostring(schema.format))
  end
end

-- What is wrong with a schema's own keywords.
local function check_keywords(schema)
  local problem = check_bounds(schema)
  if problem then
    return problem
  end
  for _, key in ipairs(sorted(schema)) do
    if not KEYWORDS[key] then
      return ("Schema type '%s' is not supported"):format(key)
    end
  end
  for _, value in ipairs(json.is_array(schema.enum) and schema.enum or {}) do
    if not is_scalar(value) then
      return "enum values must be strings, numbers, booleans or null"
    end
  end
  if not is_scalar(schema.const) then
    return "a const must be a string, number, boolean or null"
  end
  if schema.type == nil and not (schema.anyOf or schema.allOf or schema["$ref"] or schema.enum)
    and schema.const == nil then
    return "schema must have a type defined if anyOf/allOf/enum/const are not used"
  end
end

local check -- (schema, state) → what is wrong with it, or nil

-- The target of a reference, which may not lead back to itself.
local function check_reference(schema, state)
  local target, name = words.target(state.root, schema["$ref"])
  if not target then
    return ("Invalid schema: reference %s leads nowhere"):format(tostring(schema["$ref"]))
  elseif state.open[target] then
    return ("Invalid schema: Circular reference detected in schema definitions: %s -> %s. Self-referencing or " ..
      "mutually-referencing definitions are not supported."):format(name, name)
  end
  state.open[target] = true
  local problem = check(target, state)
  state.open[target] = nil
  return problem
end

-- Counts what a request may have only so many of: optional properties, and properties of several types.
local function count(schema, state)
  local required = {}
  for _, name in ipairs(json.is_array(schema.required) and schema.required or {}) do
    required[name] = true
  end
  for _, name in ipairs(sorted(schema.properties)) do
    local property = schema.properties[name]
    state.optional = state.optional + (required[name] and 0 or 1)
    local union = json.is_object(property) and (property.anyOf ~= nil or type(property.type) == "table")
    state.unions = state.unions + (union and 1 or 0)
  end
end

local function check_parts(schema, state)
  for _, name in ipairs(sorted(schema.properties)) do
    local problem = check(schema.properties[name], state)
    if problem then
      return problem
    end
  end
  for _, key in ipairs { "anyOf", "allOf" } do
    for _, one in ipairs(json.is_array(schema[key]) and schema[key] or {}) do
      local problem = check(one, state)
      if problem then
        return problem
      end
    end
  end
  return schema.items ~= nil and check(schema.items, state) or nil
end

function check(schema, state)
  if not json.is_object(schema) then
    return "Input should be an object"
  end
  local problem = check_keywords(schema)
  if problem then
    return problem
  elseif schema["$ref"] ~= nil then
    return check_reference(schema, state)
  end
  if not state.counted[schema] then
    state.counted[schema] = true
    count(schema, state)
  end
  return check_parts(schema, state)
end

--- A judge of one request's schemas.
function strict.new()
  return { optional = 0, unions = 0, tools = 0, counted = {} }
end

--- Anthropic's objection to one of them, in its words, or nil; counts what the limits speak of.
function strict.problem(judge, schema)
  judge.root, judge.open = schema, { [schema] = true }
  if json.is_object(schema) and schema.type ~= "object" and schema["$ref"] == nil then
    return "the root must be of type 'object'"
  end
  return check(schema, judge)
end

--- Adds to `problems` (check.lua) Anthropic's objection to the schema of the strict tool of that index (from 1).
function strict.tool(judge, problems, index, schema)
  judge.tools = judge.tools + 1
  local problem = strict.problem(judge, schema)
  if problem then
    problems:add(("tools.%d.custom"):format(index - 1), "%s", problem)
  end
end

--- Anthropic's objection to all of them together, or nil.
function strict.beyond(judge)
  if judge.tools > MAX_TOOLS then
    return ("Too many strict tools (%d). The maximum number of strict tools supported is %d."):format(judge.tools,
      MAX_TOOLS)
  elseif judge.optional > MAX_OPTIONAL then
    return ("Schemas contains too many optional parameters (%d), which would make grammar compilation inefficient. " ..
      "Reduce the number of optional parameters in your tool schemas (limit: %d)."):format(judge.optional, MAX_OPTIONAL)
  elseif judge.unions > MAX_UNIONS then
    return ("Schemas contains too many parameters with union types (%d parameters with type arrays or anyOf). This " ..
      "causes exponential compilation cost. Reduce the number of nullable or union-typed parameters (limit: %d " ..
      "parameters with unions)."):format(judge.unions, MAX_UNIONS)
  end
end

return strict
