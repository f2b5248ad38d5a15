--- Strict schemas as OpenAI judges them: `strict = true` on a function, and on a JSON Schema for the answer. This file
-- refuses what OpenAI refuses, in its words. Pure.

local json = require "koine.testing.loopback.json"
local words = require "koine.testing.loopback.strict.words"

local is, set, sorted = words.is, words.set, words.sorted

local strict = {}

-- The keywords there are; any other is not permitted.
local KEYWORDS = set [[type properties required additionalProperties items enum const anyOf $ref $defs definitions title
  description pattern format multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems]]
local ROOT = set "$schema $id" -- beside these, at the root
local FORMATS = set "date-time time date duration email hostname ipv4 ipv6 uuid"
local MAX_DEPTH = 10        -- of objects
local MAX_PROPERTIES = 5000 -- of one schema, all objects together
local MAX_VALUES, MAX_CHARACTERS = 1000, 120000 -- of its enums; of names, enums and constants

-- A place in a schema as OpenAI writes it: ('properties', 'a').
local function context(place)
  local steps = {}
  for i, word in ipairs(place) do
    steps[i] = type(word) == "number" and tostring(word) or "'" .. word .. "'"
  end
  return "(" .. table.concat(steps, ", ") .. (#steps == 1 and "," or "") .. ")"
end

local function below(place, ...)
  local list = table.move(place, 1, #place, 1, {})
  for _, word in ipairs { ... } do
    list[#list + 1] = word
  end
  return list
end

local check -- (schema, place, state) → what is wrong with it, or nil

local function check_object(schema, place, state)
  if schema.additionalProperties ~= false then
    return ("In context=%s, 'additionalProperties' is required to be supplied and to be false."):format(context(place))
  end
  local required = {}
  for _, name in ipairs(json.is_array(schema.required) and schema.required or {}) do
    required[name] = true
  end
  local names = sorted(schema.properties)
  for _, name in ipairs(names) do
    if not required[name] then
      return ("In context=%s, 'required' is required to be supplied and to be an array including every key in " ..
        "properties. Missing '%s'."):format(context(place), name)
    end
    required[name] = nil
  end
  local extra = sorted(required)[1]
  if extra then
    return ("In context=%s, 'required' is required to be supplied and to be an array including every key in " ..
      "properties. Extra required key '%s' supplied."):format(context(place), extra)
  end
  state.properties = state.properties + #names
  if state.properties > MAX_PROPERTIES then
    return ("Schema exceeds the limit of %d properties in total."):format(MAX_PROPERTIES)
  end
  for _, name in ipairs(names) do
    local problem = check(schema.properties[name], below(place, "properties", name), state)
    if problem then
      return problem
    end
  end
end

local function check_keywords(schema, place, state)
  for _, key in ipairs(sorted(schema)) do
    if not KEYWORDS[key] and not (#place == 0 and ROOT[key]) then
      return ("In context=%s, '%s' is not permitted."):format(context(place), key)
    elseif schema["$ref"] ~= nil and key ~= "$ref" and key ~= "$defs" and key ~= "definitions" then
      return ("In context=%s, $ref cannot have keywords {'%s'}."):format(context(place), key)
    end
  end
  if schema.format ~= nil and not FORMATS[schema.format] then
    return ("In context=%s, '%s' is not a valid format."):format(context(place), tostring(schema.format))
  elseif schema["$ref"] ~= nil and not words.target(state.root, schema["$ref"]) then
    return ("In context=%s, reference can only point to definitions defined at the top level of the schema."):format(
      context(place))
  elseif tostring(schema.pattern):find "%(%?[=!<]" then
    return ("In context=%s, look-around is not supported in 'pattern'."):format(context(place))
  end
end

-- Counts names and values; what is too much of them.
local function check_size(schema, state)
  local values = json.is_array(schema.enum) and schema.enum or {}
  state.values = state.values + #values
  for _, text in ipairs(sorted(schema.properties)) do
    state.characters = state.characters + #text
  end
  for _, value in ipairs { schema.const, table.unpack(values, 1, math.min(#values, MAX_VALUES)) } do
    state.characters = state.characters + (type(value) == "string" and utf8.len(value) or 0)
  end
  if state.values > MAX_VALUES then
    return ("Expected at most %d enum values in total within a schema when using structured outputs."):format(
      MAX_VALUES)
  elseif state.characters > MAX_CHARACTERS then
    return ("Expected at most %d characters of names, enum and const values in total within a schema."):format(
      MAX_CHARACTERS)
  end
end

-- Every schema that stands in one of the others' lists and groups, but for an object's properties.
local function check_parts(schema, place, state)
  for _, group in ipairs { "$defs", "definitions" } do
    for _, name in ipairs(sorted(schema[group])) do
      local problem = check(schema[group][name], below(place, group, name), state)
      if problem then
        return problem
      end
    end
  end
  for i, one in ipairs(json.is_array(schema.anyOf) and schema.anyOf or {}) do
    local problem = check(one, below(place, "anyOf", tostring(i - 1)), state)
    if problem then
      return problem
    end
  end
  if is(schema, "array") then
    if schema.items == nil then
      return ("In context=%s, array schema missing items."):format(context(place))
    end
    return check(schema.items, below(place, "items"), state)
  end
end

function check(schema, place, state)
  if not json.is_object(schema) then
    return ("In context=%s, a JSON Schema object was expected."):format(context(place))
  end
  local problem = check_keywords(schema, place, state) or check_size(schema, state)
  if problem then
    return problem
  elseif schema.type == nil and not (schema.anyOf or schema["$ref"] or schema.enum or schema.const ~= nil) then
    return ("In context=%s, schema must have a 'type' key."):format(context(place))
  end
  local deeper = is(schema, "object") and 1 or 0
  state.depth = state.depth + deeper
  if state.depth > MAX_DEPTH then
    return ("Schema exceeds the limit of %d levels of nesting."):format(MAX_DEPTH)
  end
  problem = deeper == 1 and check_object(schema, place, state) or check_parts(schema, place, state)
  state.depth = state.depth - deeper
  return problem
end

--- OpenAI's objection to a strict schema, in its words, or nil. `what` names the owner of the schema: "function
-- 'NAME'" or "response_format 'NAME'".
function strict.problem(what, schema)
  local problem
  if not json.is_object(schema) or schema.type ~= "object" then
    problem = ("schema must be a JSON Schema of 'type: \"object\"', got 'type: \"%s\"'."):format(
      tostring(json.is_object(schema) and schema.type or "None"))
  else
    problem = schema.anyOf and "In context=(), 'anyOf' is not permitted."
      or check(schema, {}, { root = schema, depth = 0, properties = 0, values = 0, characters = 0 })
  end
  return problem and ("Invalid schema for %s: %s"):format(what, problem)
end

return strict
