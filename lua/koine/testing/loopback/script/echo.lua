--- The answer that repeats what was said: the user's last text, or the results of tools behind it. Where the request
-- carries the schema of a value, the answer is such a value: its texts are that, its numbers are small. Pure; raises
-- where the schema is none.

local json = require "koine.testing.loopback.json"

local MANY = 4      -- where so many values are around, members that may be left out are, and lists are short
local DEEP = 30     -- a schema that nests deeper is given up: null
local BUDGET = 1000 -- values, of a schema that holds itself more than once; the rest is null

-- The text of a content: a string, an array of blocks, or a value that a tool returned. `result` is the wire's: what a
-- block has of a tool's result; nil where that is the block's content.
local function text_of(content, result)
  if content == nil or content == json.null then
    return ""
  elseif type(content) ~= "table" then
    return tostring(content)
  elseif not json.is_array(content) then
    return json.encode(content)
  end
  local parts = {}
  for _, block in ipairs(content) do
    block = type(block) == "table" and block or { text = tostring(block) }
    local returned = result and result(block) or block.content
    parts[#parts + 1] = block.text or returned and text_of(returned, result) or nil
  end
  return table.concat(parts, "\n")
end

-- What was said last in a history, in words: neighbouring results of tools together.
local function last_said(history, result)
  local results = {}
  for i = #history, 1, -1 do
    local message = history[i]
    if message.role == "tool" or message.output ~= nil then
      table.insert(results, 1, text_of(message.content or message.output, result))
    elseif results[1] then
      break
    elseif message.role == "user" then
      return "You said: " .. text_of(message.content or message.parts, result)
    end
  end
  return results[1] and "You said: " .. table.concat(results, "\n") or "You said nothing."
end

-- The schema that a reference such as "#/$defs/name" means, in the whole schema; nil: none.
local function referred(whole, reference)
  for written in reference:gsub("^#", ""):gmatch "/([^/]*)" do
    local name = written:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end)
    name = name:gsub("~1", "/"):gsub("~0", "~")
    local key = json.is_array(whole) and (tonumber(name) or -1) + 1 or name
    whole = type(whole) == "table" and whole[key] or nil
  end
  return whole
end

local function is_null(choice)
  return choice == json.null or choice == "null" or json.is_object(choice) and choice.type == "null"
end

-- The first choice that is not null, deep inside the first that is; the first where there is none.
local function choose(choices, depth)
  for _, choice in ipairs(choices) do
    if is_null(choice) == (depth >= MANY) then
      return choice
    end
  end
  return choices[1]
end

-- A number within a schema's bounds, 1 where it may be; from an exclusive bound it is 1 away, or half of what lies
-- between the bounds.
local function number(schema)
  local low, high = schema.exclusiveMinimum or schema.minimum, schema.exclusiveMaximum or schema.maximum
  local step = low and high and math.min((high - low) / 2, 1) or 1
  local least = low and low + (schema.exclusiveMinimum and step or 0)
  local most = high and high - (schema.exclusiveMaximum and step or 0)
  local value = 1
  if least and value < least then
    value = least
  elseif most and value > most then
    value = most
  end
  return schema.multipleOf and math.ceil(value / schema.multipleOf) * schema.multipleOf or value
end

-- The same for an integer.
local function integer(schema)
  local value = number { multipleOf = schema.multipleOf, minimum = schema.minimum and math.ceil(schema.minimum),
    maximum = schema.maximum and math.floor(schema.maximum),
    exclusiveMinimum = schema.exclusiveMinimum and math.floor(schema.exclusiveMinimum),
    exclusiveMaximum = schema.exclusiveMaximum and math.ceil(schema.exclusiveMaximum) }
  return math.ceil(value)
end

-- The names of an object's members, sorted: those of its properties, and others that it must have.
local function names_of(schema, required)
  local names = {}
  for name in pairs(schema.properties or {}) do
    names[#names + 1] = name
  end
  for name in pairs(required) do
    names[#names + 1] = not (schema.properties or {})[name] and name or nil
  end
  table.sort(names)
  return names
end

-- A text of at least and at most so many characters (nil: any).
local function fitted(text, least, most)
  local missing = (least or 0) - utf8.len(text)
  if missing > 0 then
    text = text .. ("."):rep(math.min(missing, BUDGET))
  end
  local at = most and utf8.offset(text, most + 1)
  return at and text:sub(1, at - 1) or text
end

local value

local MAKE = {
  string = function(schema, about) return fitted(about.text, schema.minLength, schema.maxLength) end,
  integer = integer,
  number = number,
  boolean = function() return true end,
  null = function() return json.null end,
  array = function(schema, about, depth)
    local count = math.max(schema.minItems or 0, depth < MANY and schema.maxItems ~= 0 and 1 or 0)
    local list, heads = json.array {}, schema.prefixItems or json.is_array(schema.items) and schema.items or {}
    for i = 1, math.min(count, BUDGET) do
      list[i] = value(heads[i] or not json.is_array(schema.items) and schema.items, about, depth + 1)
    end
    return list
  end,
  object = function(schema, about, depth)
    local required, made = {}, json.object()
    for _, name in ipairs(schema.required or {}) do
      required[name] = true
    end
    for _, name in ipairs(names_of(schema, required)) do
      if required[name] or depth < MANY then
        json.put(made, name, value((schema.properties or {})[name], about, depth + 1))
      end
    end
    return made
  end,
}

-- A value of a schema. `about`: {whole = the whole schema, text = what texts are, left = how many values may still be
-- made}; `depth`: how many values are around.
function value(schema, about, depth)
  about.left = about.left - 1
  if not json.is_object(schema) then
    return about.text
  elseif depth > DEEP or about.left < 0 then
    return json.null
  elseif schema["$ref"] then
    return value(referred(about.whole, schema["$ref"]), about, depth + 1)
  elseif schema.const ~= nil then
    return schema.const
  elseif schema.enum then
    return choose(schema.enum, 0)
  end
  local choices = schema.anyOf or schema.oneOf or schema.allOf
  if choices then
    return value(choose(choices, depth), about, depth + 1)
  end
  local kind = type(schema.type) == "table" and choose(schema.type, depth) or schema.type
    or schema.properties and "object" or schema.items and "array" or "string"
  local make = MAKE[kind:lower()] or MAKE.string -- some wires have the names in capitals
  return make(schema, about, depth)
end

--- The text that repeats what a history (array of decoded messages) says. `result`: a function of a block that returns
-- what it has of a tool's result, nil for none; nil where that is the block's content. `schema`: that of the value to
-- answer with, a decoded JSON Schema; nil: none.
return function(history, result, schema)
  local said = last_said(history, result)
  if not schema then
    return said
  end
  return json.encode(value(schema, { whole = schema, text = said, left = BUDGET }, 0))
end
