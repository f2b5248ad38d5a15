--- Random JSON Schemas, values that may fit them, and what a model may write instead: all from a die (spec/chaos/dice).
-- Values are as core.decode makes them, arrays marked.

local core = require "koine.core"

local made = {}

local WORDS = { "a", "b", "name", "é", "with space", "x-y", "$ref", "value", "type" }
local TEXTS = { "", "a", "abc", "ABC", "é😀", "12", "null", "{", '"\\', "```", "a\nb", "2026-01-02", "true", " " }
local PATTERNS = { "^a", "b$", "^[a-z]+$", "[0-9]{2}", "^(a|b)c?$", "\\d", "^$", "." }
local NUMBERS = { 0, 1, -1, 2, 10, 0.5, -0.5, 1.0, 3.25, 1e3, 100, 4503599627370497, -7, 1e20 }

local array = core.array
local schema -- (die, depth, defs) → a schema

-- Some of a list, each with that chance, in order.
local function some(die, list, n)
  local kept = array {}
  for _, one in ipairs(list) do
    if die:chance(n or 2) then kept[#kept + 1] = one end
  end
  return kept
end

local function names_of(die, n)
  local list, seen = {}, {}
  for _ = 1, n do
    local name = die:pick(WORDS)
    if not seen[name] then list[#list + 1], seen[name] = name, true end
  end
  return list
end

-- Sets members of `s`, each with a chance of one in three.
local function perhaps(die, s, members)
  for _, name in ipairs { "a", "b", "c", "d", "e", "f" } do
    local one = members[name]
    if one and die:chance(3) then s[one[1]] = one[2]() end
  end
  return s
end

local kinds = {}

function kinds.string(die)
  return perhaps(die, { type = "string" }, { a = { "minLength", function() return die:between(0, 3) end },
    b = { "maxLength", function() return die:between(0, 5) end },
    c = { "pattern", function() return die:pick(PATTERNS) end } })
end

function kinds.number(die)
  return perhaps(die, { type = die:pick { "number", "integer" } }, {
    a = { "minimum", function() return die:between(-3, 3) end },
    b = { "maximum", function() return die:between(0, 20) end },
    c = { "exclusiveMinimum", function() return die:between(-5, 1) end },
    d = { "exclusiveMaximum", function() return die:pick { 5, 10, 2.5 } end },
    e = { "multipleOf", function() return die:pick { 1, 2, 0.5, 5 } end } })
end

function kinds.plain(die) return { type = die:pick { "boolean", "null", "string", "integer" } } end

function kinds.enum(die)
  local values = some(die, { "a", "b", 1, 2.5, true, core.null, "abc", array { 1 }, { a = 1 } })
  if #values == 0 then values[1] = "a" end
  if die:chance(3) then return { const = values[1] } end
  return { enum = values }
end

function kinds.array(die, depth, defs)
  local s = { type = "array" }
  if not die:chance(6) then s.items = schema(die, depth - 1, defs) end
  if die:chance(6) then s.prefixItems = array { schema(die, depth - 1, defs), schema(die, depth - 1, defs) } end
  if die:chance(8) then s.items = die:chance(2) end
  -- Not both: ajv 8.20 takes [] for {"prefixItems": […], "contains": …}, which has no such item.
  if not s.prefixItems and die:chance(8) then s.contains = schema(die, 0, defs) end
  return perhaps(die, s, { a = { "minItems", function() return die:between(0, 2) end },
    b = { "maxItems", function() return die:between(0, 4) end }, c = { "uniqueItems", function() return true end } })
end

function kinds.object(die, depth, defs)
  local s, names = { type = "object", properties = {} }, names_of(die, die:between(0, 4))
  for _, name in ipairs(names) do s.properties[name] = schema(die, depth - 1, defs) end
  if not die:chance(4) then s.required = some(die, names) end
  if die:chance(2) then s.additionalProperties = false
  elseif die:chance(4) then s.additionalProperties = schema(die, 0, defs) end
  if die:chance(8) then s.patternProperties = { [die:pick { "^x", "a" }] = schema(die, 0, defs) } end
  if die:chance(12) then s.propertyNames = { maxLength = 5 } end
  if die:chance(12) then s.minProperties = 1 end
  if die:chance(12) then s.maxProperties = 3 end
  if die:chance(12) and #names > 1 then s.dependentRequired = { [names[1]] = array { names[2] } } end
  return s
end

function kinds.any(die, depth, defs)
  local list = array {}
  for i = 1, die:between(1, 3) do list[i] = schema(die, depth - 1, defs) end
  return { [die:pick { "anyOf", "oneOf", "anyOf", "allOf" }] = list }
end

function kinds.nullable(die, depth, defs)
  local s = schema(die, depth - 1, defs)
  if type(s) == "table" and type(s.type) == "string" and s.type ~= "null" and die:chance(2) then
    s.type = array { s.type, "null" }
    return s
  end
  return { anyOf = array { s, { type = "null" } } }
end

function kinds.reference(die, _, defs)
  if #defs.names == 0 then return { type = "string" } end
  local s = { ["$ref"] = "#/$defs/" .. die:pick(defs.names) }
  if die:chance(4) then s.description = "which" end
  return s
end

function kinds.odd(die, depth, defs)
  return die:pick { function() return true end, function() return {} end,
    function() return { ["not"] = { type = "string" } } end,
    function()
      return { ["if"] = { type = "string" }, ["then"] = { minLength = 1 }, ["else"] = { type = "integer" } }
    end,
    function() return { type = array { "string", "integer" }, description = "d", title = "t", default = "x" } end,
    function() return { allOf = array { schema(die, depth - 1, defs) }, description = "d" } end }()
end

local DEEP = { "object", "object", "array", "any", "nullable", "reference", "string", "number", "plain", "enum", "odd" }
local FLAT = { "string", "number", "plain", "enum", "string" }

function schema(die, depth, defs)
  local s = kinds[die:pick(depth > 0 and DEEP or FLAT)](die, depth, defs)
  if type(s) == "table" and s.description == nil and die:chance(8) then s.description = "said {of it}" end
  return s
end

--- A schema, most often of an object. Definitions may lead back to themselves below an object.
function made.schema(die)
  local defs, found = { names = {} }, {}
  if die:chance(3) then
    defs.names = die:chance(2) and { "x" } or { "x", "y" }
    for _, name in ipairs(defs.names) do found[name] = kinds.object(die, 1, defs) end
  end
  local s = die:chance(5) and schema(die, 3, defs) or kinds.object(die, 3, defs)
  if type(s) == "boolean" then s = {} end
  if next(found) then s["$defs"] = found end
  return s
end

-- Values ------------------------------------------------------------------------------------------------------------

local value

local function target(s, root)
  local name = s["$ref"]:match "^#/%$defs/(.*)$"
  return name and root["$defs"][name]
end

local function number(die, s)
  local n = die:pick(NUMBERS)
  if s.type == "integer" and math.type(n) == "float" and not die:chance(8) then n = math.floor(n) end
  local low, high = s.minimum or s.exclusiveMinimum, s.maximum or s.exclusiveMaximum
  if low and n < low then n = low + (s.exclusiveMinimum and 1 or 0) end
  if high and n > high then n = high - (s.exclusiveMaximum and 1 or 0) end
  if s.multipleOf and not die:chance(8) then n = n // s.multipleOf * s.multipleOf end
  return n
end

local function text(die, s)
  local t = die:pick(TEXTS)
  if s.pattern and not die:chance(4) then t = die:pick { "ab", "abc", "a", "12", "b", "c", "" } end
  while utf8.len(t) < (s.minLength or 0) do t = t .. "a" end
  return t
end

local function object(die, s, root, depth)
  local v, required = {}, {}
  for _, name in ipairs(s.required or {}) do required[name] = true end
  for name, one in pairs(s.properties or {}) do
    if required[name] or die:chance(2) then v[name] = value(die, one, root, depth - 1) end
  end
  if s.additionalProperties ~= false and die:chance(4) then
    v.other = value(die, s.additionalProperties or true, root, depth - 1)
  end
  if s.patternProperties and die:chance(2) then v.xa = value(die, select(2, next(s.patternProperties)), root, 0) end
  return v
end

local function list(die, s, root, depth)
  local v = array {}
  for i, one in ipairs(s.prefixItems or {}) do v[i] = value(die, one, root, depth - 1) end
  for i = #v + 1, math.max(s.minItems or 0, #v + die:between(0, 2)) do
    if s.items == false or s.maxItems and i > s.maxItems then break end
    v[i] = value(die, s.items == nil and true or s.items, root, depth - 1)
  end
  return v
end

local BY_TYPE = { string = text, number = number, integer = number, object = object, array = list,
  boolean = function(die) return die:chance(2) end, null = function() return core.null end }
local TYPES = { "string", "number", "boolean", "null", "object", "array" }

--- A value that most often fits the schema `s` of the root `root`.
function value(die, s, root, depth)
  if depth < -12 then return core.null end
  if s == true or s == false then s = {} end
  if s["$ref"] then return value(die, target(s, root) or true, root, depth - 1) end
  if s.const ~= nil then return s.const end
  if s.enum then return die:pick(s.enum) end
  local any = s.anyOf or s.oneOf or s.allOf
  if any then return value(die, die:pick(any), root, depth) end
  local kind = s.type
  if type(kind) == "table" then kind = die:pick(kind) end
  kind = kind or s.properties and "object" or die:pick(TYPES)
  return BY_TYPE[kind](die, s, root, depth)
end

-- Changes something somewhere in a value; returns the value.
local function spoil(die, v)
  if type(v) == "table" and next(v) ~= nil and not die:chance(3) then
    local names = {}
    for name in pairs(v) do names[#names + 1] = name end
    table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
    local name = die:pick(names)
    if getmetatable(v) ~= core.array_mt and die:chance(4) then v[name] = nil
    else v[name] = spoil(die, v[name]) end
    return v
  end
  if type(v) == "table" and getmetatable(v) ~= core.array_mt and die:chance(2) then
    v.more = 1
    return v
  end
  return die:pick { core.null, "text", 7, 1.5, true, array {}, {}, -0.0, array { 1, 1 }, array { 1, 1.0 } }
end

local function copy(v)
  if type(v) ~= "table" then return v end
  local t = {}
  for name, one in pairs(v) do t[name] = copy(one) end
  return setmetatable(t, getmetatable(v))
end

--- A value that most often fits, or one that was changed.
function made.value(die, s)
  local v = copy(value(die, s, s, 4))
  for _ = 1, die:pick { 0, 0, 1, 1, 2 } do v = spoil(die, v) end
  return v
end

-- Texts -------------------------------------------------------------------------------------------------------------

local TEXTS_OF = {
  function(t) return t end, function(t) return " \n" .. t .. "\t\n" end, function(t) return "\xEF\xBB\xBF" .. t end,
  function(t) return "```json\n" .. t .. "\n```" end, function(t) return "Here: " .. t .. " That is it." end,
  function(t) return t .. t end, function(t) return t .. "," end, function(t, die) return t:sub(1, die:roll(#t)) end,
  function(t) return t:gsub('"', "'") end, function(t) return t:gsub(":", ": ") end, function() return "" end,
  function() return "I cannot." end, function(t) return "// so\n" .. t end,
  function(t) return t:gsub("%d", "1e9") end, function(t) return t:gsub("%d+", "12345678901234567890") end,
  function(t) return (t:gsub('"(%a)', function(c) return ('"\\u%04x'):format(c:byte()) end)) end,
  function(t) return t:gsub("null", "NaN") end, function(t) return ("["):rep(200) .. t end,
  function(t) return (t:gsub('^{', '{"a":1,"a":"2",')) end, function(t) return t:gsub("1", "1.0") end,
}

--- What a model may write for a value: its JSON, most often as it is.
function made.text(die, v)
  local t = core.encode(v)
  if die:chance(2) then return t end
  return (die:pick(TEXTS_OF)(t, die))
end

return made
