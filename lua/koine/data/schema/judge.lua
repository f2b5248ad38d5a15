--- Whether a value fits a schema: what every keyword says of it. init.lua lists the keywords.

local core = require "koine.core"
local errors = require "koine.data.errors"
local parts = require "koine.data.schema.parts"
local records = require "koine.data.records"

local judges = {}

local DEPTH = 128        -- of schemas within schemas while one value is judged; a reference to itself ends here
local BUDGET = 1000000   -- of schemas that one value is judged by; references in several ways end here

local is_array, is_integer, is_object = parts.is_array, parts.is_integer, parts.is_object

local function fits_type(value, names)
  if type(names) == "string" then
    local fits = parts.types[names]
    return not fits or fits(value)
  end
  for _, name in ipairs(names) do
    if fits_type(value, name) then return true end
  end
  return false
end

-- Judging -----------------------------------------------------------------------------------------------------------
-- A rule is function(s, value, path, context) → nil, or what is wrong. context = {root, depth, left = of the budget}.

local judge

-- What a value is called in messages.
local function described(value)
  if type(value) ~= "table" then return errors.describe(value) end
  return is_object(value) and "an object" or "an array"
end

-- The path of the value itself is "": "value" in messages.
local function at(path) return path == "" and "value" or path end

local function expected(path, what, value)
  return ("%s: %s expected, got %s"):format(at(path), what, described(value))
end

local function words(list)
  local quoted = {}
  for i, item in ipairs(list) do quoted[i] = #quoted < 20 and core.encode(item) or nil end
  return table.concat(quoted, ", ") .. (#list > #quoted and ", …" or "")
end

local function member_path(path, name) return path == "" and name or path .. "." .. name end

local function index_path(path, i) return ("%s[%d]"):format(at(path), i) end

local function judge_enum(s, value, path)
  if s.const ~= nil and not records.equal(s.const, value) then
    return expected(path, core.encode(s.const), value)
  end
  if not s.enum then return nil end
  for _, one in ipairs(s.enum) do
    if records.equal(one, value) then return nil end
  end
  return expected(path, "one of " .. words(s.enum), value)
end

-- Fractions count as a multiple when they are one but for rounding.
local function is_multiple(value, step)
  if math.type(value) == "integer" and math.type(step) == "integer" then return value % step == 0 end
  local quotient = value / step
  return math.abs(quotient - math.floor(quotient + 0.5)) <= 1e-9 * math.max(1, math.abs(quotient))
end

local function judge_number(s, value, path)
  if s.minimum and value < s.minimum then return expected(path, s.minimum .. " or more", value) end
  if s.maximum and value > s.maximum then return expected(path, s.maximum .. " or less", value) end
  if type(s.exclusiveMinimum) == "number" and value <= s.exclusiveMinimum then
    return expected(path, "more than " .. s.exclusiveMinimum, value)
  end
  if type(s.exclusiveMaximum) == "number" and value >= s.exclusiveMaximum then
    return expected(path, "less than " .. s.exclusiveMaximum, value)
  end
  if s.multipleOf and not is_multiple(value, s.multipleOf) then
    return expected(path, "a multiple of " .. s.multipleOf, value)
  end
end

local function counted(path, least, most, n, what)
  if least and n < least then return ("%s: at least %g %s expected, got %d"):format(at(path), least, what, n) end
  if most and n > most then return ("%s: at most %g %s expected, got %d"):format(at(path), most, what, n) end
end

local function judge_string(s, value, path)
  if s.minLength or s.maxLength then
    return counted(path, s.minLength, s.maxLength, utf8.len(value) or #value, "characters")
  end
end

-- A value as text that is the same for equal values.
local function canonical(value)
  if is_integer(value) then return core.encode(math.tointeger(value) or value) end
  if type(value) ~= "table" then return core.encode(value) end
  local texts = {}
  if is_array(value) then
    for i, item in ipairs(value) do texts[i] = canonical(item) end
    return "[" .. table.concat(texts, ",") .. "]"
  end
  for name, member in next, value do texts[#texts + 1] = core.encode(name) .. ":" .. canonical(member) end
  table.sort(texts)
  return "{" .. table.concat(texts, ",") .. "}"
end

local function judge_array(s, value, path, context)
  local wrong = counted(path, s.minItems, s.maxItems, #value, "items")
  if wrong then return wrong end
  local first = type(s.prefixItems) == "table" and s.prefixItems or {}
  local seen = {}
  for i, item in ipairs(value) do
    local part = first[i]
    if part == nil then part = s.items end
    if part ~= nil then
      wrong = judge(part, item, index_path(path, i), context)
      if wrong then return wrong end
    end
    if s.uniqueItems == true then
      local text = canonical(item)
      if seen[text] then return ("%s: items that differ expected, got two like %s"):format(at(path),
        index_path(path, i)) end
      seen[text] = true
    end
  end
end

-- The names of an object's members, sorted, so that the same value has the same first fault.
local function sorted_names(value)
  local names = {}
  for name in next, value do names[#names + 1] = tostring(name) end
  table.sort(names)
  return names
end

local function judge_object(s, value, path, context)
  for _, name in ipairs(s.required or {}) do
    if value[name] == nil then return expected(member_path(path, name), "a value", nil) end
  end
  local names = sorted_names(value)
  local wrong = counted(path, s.minProperties, s.maxProperties, #names, "members")
  if wrong then return wrong end
  local properties, others = s.properties or {}, s.additionalProperties
  if s.patternProperties then others = nil end
  for _, name in ipairs(names) do
    local part = properties[name]
    if part == nil then part = others end
    if part == false then
      local known = table.concat(sorted_names(properties), ", ")
      return ("%s: unknown; there are: %s"):format(member_path(path, name), known)
    end
    if part ~= nil then
      wrong = judge(part, value[name], member_path(path, name), context)
      if wrong then return wrong end
    end
  end
end

local function judge_any(s, value, path, context)
  if not s.anyOf then return nil end
  local first
  for _, part in ipairs(s.anyOf) do
    local wrong = judge(part, value, path, context)
    if not wrong then return nil end
    first = first or wrong
  end
  return ("%s: fits none of %d alternatives (the first: %s)"):format(at(path), #s.anyOf, first or "none")
end

local function judge_one(s, value, path, context)
  if not s.oneOf then return nil end
  local fitting, first, vague = 0, nil, false
  for _, part in ipairs(s.oneOf) do
    local wrong = judge(part, value, path, context)
    if not wrong then
      fitting, vague = fitting + 1, vague or parts.is_vague(context.root, part)
    end
    first = first or wrong
  end
  if fitting == 1 or fitting > 1 and vague then return nil end
  if fitting > 1 then return ("%s: fits %d alternatives where only one may fit"):format(at(path), fitting) end
  return ("%s: fits none of %d alternatives (the first: %s)"):format(at(path), #s.oneOf, first or "none")
end

local function judge_combined(s, value, path, context)
  for _, part in ipairs(s.allOf or {}) do
    local wrong = judge(part, value, path, context)
    if wrong then return wrong end
  end
  local wrong = judge_any(s, value, path, context) or judge_one(s, value, path, context)
  if wrong or s["not"] == nil then return wrong end
  if not judge(s["not"], value, path, context) and not parts.is_vague(context.root, s["not"]) then
    return at(path) .. ": fits what is excluded"
  end
end

local function judge_reference(s, value, path, context)
  local target = parts.resolve(context.root, s["$ref"])
  if target == nil then errors.argument("schema.$ref", "reference to a part of the schema", s["$ref"]) end
  return target and judge(target, value, path, context)
end

local BY_TYPE = { number = judge_number, string = judge_string }

local function judge_all(s, value, path, context)
  if s.type ~= nil and not fits_type(value, s.type) then
    return expected(path, type(s.type) == "table" and table.concat(s.type, " or ") or s.type, value)
  end
  local wrong = judge_enum(s, value, path) or BY_TYPE[type(value)] and BY_TYPE[type(value)](s, value, path)
  if not wrong and is_array(value) then wrong = judge_array(s, value, path, context) end
  if not wrong and is_object(value) then wrong = judge_object(s, value, path, context) end
  return wrong or s["$ref"] and judge_reference(s, value, path, context) or judge_combined(s, value, path, context)
end

-- What is wrong with a value, or nil.
function judge(s, value, path, context)
  if s == true then return nil end
  if s == false then return at(path) .. ": no value is allowed here" end
  context.left = context.left - 1
  if context.left < 0 then return "too much" end -- validate says it
  if context.depth == DEPTH then return ("%s: at most %d levels of schemas expected"):format(at(path), DEPTH) end
  context.depth = context.depth + 1
  local wrong = judge_all(s, value, path, context)
  context.depth = context.depth - 1
  return wrong
end

--- Whether `value` fits the schema `s`, whose references are to `root`: true, or nil and "PATH: what was expected" as
-- schema.validate says it, `name` before the path. Raises an ArgumentError for a reference to nowhere.
function judges.validate(root, s, value, name)
  local context = { root = root, depth = 0, left = BUDGET }
  local wrong = judge(s, value, name, context)
  if context.left < 0 then return nil, ("%s: at most %d judgements of its parts expected"):format(at(name), BUDGET) end
  if wrong then return nil, wrong end
  return true
end

return judges
