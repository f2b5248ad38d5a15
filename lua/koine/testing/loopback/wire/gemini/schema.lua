--- How Gemini judges schemas: those of `parametersJsonSchema` and `responseJsonSchema`, which are JSON Schemas, and
-- those of `parameters` and `responseSchema`, a subset of OpenAPI's, where a keyword that it does not have is refused.
-- Pure; what is wrong goes to a collector of problems (see testing/loopback/check.lua).

local check = require "koine.testing.loopback.check"
local json = require "koine.testing.loopback.json"

local set = check.set

local SUBSET = set [[type format title description nullable enum items minItems maxItems properties required
  propertyOrdering minProperties maxProperties minimum maximum minLength maxLength pattern example anyOf default]]
local TYPES = set "string number integer boolean array object null"

local schema = {}

-- Every schema below one: f(path, schema).
local function each_below(path, value, f)
  for _, key in ipairs { "properties", "$defs", "definitions" } do
    for name, sub in pairs(json.is_object(value[key]) and value[key] or {}) do
      f(("%s.%s[%s]"):format(path, key, name), sub)
    end
  end
  for _, key in ipairs { "anyOf", "oneOf", "allOf", "prefixItems" } do
    for i, sub in ipairs(json.is_array(value[key]) and value[key] or {}) do
      f(("%s.%s[%d]"):format(path, key, i - 1), sub)
    end
  end
  for _, key in ipairs { "items", "additionalProperties", "not" } do
    if json.is_object(value[key]) then
      f(path .. "." .. key, value[key])
    end
  end
end

local function type_of(value)
  return json.is_object(value) and type(value.type) == "string" and value.type:lower() or nil
end

-- The keys that only schemas of one type have, and that type.
local OF = { properties = "OBJECT", required = "OBJECT", propertyOrdering = "OBJECT", minProperties = "OBJECT",
  maxProperties = "OBJECT", items = "ARRAY", minItems = "ARRAY", maxItems = "ARRAY", enum = "STRING" }

-- Enums are of strings, named properties exist, an array says what is in it, and what belongs to a type has that.
local function check_subset_words(c, path, value)
  local kind = type_of(value)
  for _, key in ipairs(check.keys(value)) do
    if OF[key] and kind ~= OF[key]:lower() then
      c:add(path .. "." .. key, "only allowed for %s type", OF[key])
    end
  end
  for i, word in ipairs(json.is_array(value.enum) and value.enum or {}) do
    c:string(("%s.enum[%d]"):format(path, i - 1), word)
  end
  for _, key in ipairs { "required", "propertyOrdering" } do
    for i, name in ipairs(json.is_array(value[key]) and value[key] or {}) do
      if not (json.is_object(value.properties) and value.properties[name] ~= nil) then
        c:add(("%s.%s[%d]"):format(path, key, i - 1), "property is not defined: %s", tostring(name))
      end
    end
  end
  if kind == "array" and value.items == nil then
    c:add(path .. ".items", "missing field.")
  elseif kind == "string" and not (value.format == nil or value.format == "enum" or value.format == "date-time") then
    c:add(path .. ".format", "only 'enum' and 'date-time' are supported for STRING type")
  elseif json.is_object(value.properties) and next(value.properties) == nil then
    c:add(path .. ".properties", "should be non-empty for OBJECT type")
  end
end

local function check_subset(c, path, value)
  if not c:object(path, value, SUBSET) then
    return
  end
  if value.type ~= nil and not (type(value.type) == "string" and TYPES[value.type:lower()]) then
    c:add(path .. ".type", "one of the types expected, in a string")
  end
  check_subset_words(c, path, value)
  each_below(path, value, function(below, sub) check_subset(c, below, sub) end)
end

--- Checks a schema in the subset; absent is fine. `whole`: of a function's parameters, which are an object with
-- properties.
function schema.check_subset(c, path, value, whole)
  if value == nil then
    return
  end
  check_subset(c, path, value)
  if whole and type_of(value) ~= "object" then
    c:add(path .. ".type", "\"object\" expected")
  elseif whole and value.properties == nil then
    c:add(path .. ".properties", "should be non-empty for OBJECT type")
  end
end

-- Checks that all keys beside a $ref begin with $.
local function check_refs(c, path, value)
  for key in pairs(json.is_object(value) and value["$ref"] ~= nil and value or {}) do
    if key:sub(1, 1) ~= "$" then
      c:add(path .. "." .. key, "no neighbour of a $ref but those that begin with $")
    end
  end
  if json.is_object(value) then
    each_below(path, value, function(below, sub) check_refs(c, below, sub) end)
  end
end

--- Checks a JSON Schema; absent is fine. `whole`: of a function's parameters, which are an object.
function schema.check(c, path, value, whole)
  if value == nil then
    return
  end
  if whole then
    c:tool_schema(path, value)
  else
    c:schema(path, value)
  end
  check_refs(c, path, value)
end

return schema
