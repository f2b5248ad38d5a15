--- Whether a value fits a schema: what every keyword says of it. init.lua lists the keywords.

local core = require "koine.core"
local errors = require "koine.data.errors"
local parts = require "koine.data.schema.parts"
local pattern = require "koine.data.schema.pattern"
local records = require "koine.data.records"

local judges = {}

local DEPTH = 128        -- of schemas within schemas while one value is judged; a reference to itself ends here
local STEPS = 50         -- of a regular expression that take as long as a judgement, at least
local BUDGET = 1000000   -- of schemas that one value is judged by; references in several ways end here

local is_integer, is_object = parts.is_integer, parts.is_object

-- What a table may be: of values that users make, and of those that the core read as JSON, whose arrays are all marked.
local LOOSE = { array = parts.is_array, object = parts.is_object }
local EXACT = { array = function(value) return getmetatable(value) == core.array_mt end,
  object = function(value) return type(value) == "table" and getmetatable(value) ~= core.array_mt end }

local function fits_type(value, names, kinds)
  if type(names) == "string" then
    local fits = kinds[names] or parts.types[names]
    return not fits or fits(value)
  end
  for _, name in ipairs(names) do
    if fits_type(value, name, kinds) then return true end
  end
  return false
end

-- Judging -----------------------------------------------------------------------------------------------------------
-- A rule is function(s, value, path, context) → nil, or what is wrong. context = {root, depth, left = of the budget,
-- sets = enums as sets, kinds = what tables may be}. A path is {path around it, name or index, trace, its text once it
-- was needed}; that of the value itself is {false, false, trace, its name}. trace.failed is the path of the problem
-- whose words were made last: the one that is returned, because the first problem ends everything but alternatives,
-- whose problem is worded after theirs.

local judge

-- Returns the name of a value in messages.
local function described(value)
  if type(value) ~= "table" then return errors.describe(value) end
  return is_object(value) and "an object" or "an array"
end

local function below(path, key) return { path, key, path[3], false } end

-- The path in messages: `city`, `days[2].date`. It is kept: a schema may fail at one place many times.
local function shown(path)
  local up, key, text = path[1], path[2], path[4]
  if text then return text end
  local before = shown(up)
  if math.type(key) == "integer" then text = ("%s[%d]"):format(before == "" and "value" or before, key)
  else text = before == "" and key or before .. "." .. key end
  path[4] = text
  return text
end

-- The path of a problem, for its words.
local function at(path)
  path[3].failed = path
  local text = shown(path)
  return text == "" and "value" or text
end

-- The path as a JSON pointer, without the value's own name.
local function pointer(path)
  local up, key = path[1], path[2]
  if not up then return "" end
  if math.type(key) == "integer" then return ("%s/%d"):format(pointer(up), key - 1) end
  return pointer(up) .. "/" .. key:gsub("~", "~0"):gsub("/", "~1")
end

local function expected(path, what, value)
  return ("%s: %s expected, got %s"):format(at(path), what, described(value))
end

local function words(list)
  local quoted = {}
  for i, item in ipairs(list) do quoted[i] = #quoted < 20 and core.encode(item) or nil end
  return table.concat(quoted, ", ") .. (#list > #quoted and ", …" or "")
end

local LOOKED_UP <const> = 32 -- values of an enum from which on they are looked up

-- The values of an enum that are no tables, as a set, which is made once for a judgement.
local function set_of(list, context)
  local set = context.sets[list]
  if set then return set end
  set = {}
  for _, one in ipairs(list) do
    if type(one) ~= "table" and one == one then set[one] = true end
  end
  context.sets[list] = set
  return set
end

-- Whether one of an enum's values equals the value.
local function is_among(list, value, context)
  if #list >= LOOKED_UP and type(value) ~= "table" then return set_of(list, context)[value] == true end
  for _, one in ipairs(list) do
    if records.equal(one, value) then return true end
  end
  return false
end

local function judge_enum(s, value, path, context)
  if s.const ~= nil and not records.equal(s.const, value) then
    return expected(path, core.encode(s.const), value)
  end
  if not s.enum or is_among(s.enum, value, context) then return nil end
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

-- Whether a text has a match of the regular expression; nil when that cannot be judged.
local function matches(text, value, context)
  local program = pattern.compile(text)
  if not program then return nil end
  context.left = context.left - #value * program.size // STEPS
  return context.left >= 0 and program.fits(value)
end

local function judge_string(s, value, path, context)
  if s.minLength or s.maxLength then
    local wrong = counted(path, s.minLength, s.maxLength, utf8.len(value) or #value, "characters")
    if wrong then return wrong end
  end
  if s.pattern and matches(s.pattern, value, context) == false then
    return expected(path, "text that matches " .. s.pattern, value)
  end
end

-- A value as text that is the same for equal values.
local function canonical(value, kinds)
  if is_integer(value) then return core.encode(math.tointeger(value) or value) end
  if type(value) ~= "table" then return core.encode(value) end
  local texts = {}
  if kinds.array(value) then
    for i, item in ipairs(value) do texts[i] = canonical(item, kinds) end
    return "[" .. table.concat(texts, ",") .. "]"
  end
  for name, member in next, value do texts[#texts + 1] = core.encode(name) .. ":" .. canonical(member, kinds) end
  table.sort(texts, core.before)
  return "{" .. table.concat(texts, ",") .. "}"
end

local function judge_contains(s, value, path, context)
  local least, most, n = s.minContains or 1, s.maxContains, 0
  for i, item in ipairs(value) do
    if not judge(s.contains, item, below(path, i), context) then n = n + 1 end
  end
  if most and n > most and parts.is_vague(context.root, s.contains) then return nil end
  return counted(path, least, most, n, "items that fit `contains`")
end

-- The schemas of the first items, and that of the others.
local function tuple(s)
  if parts.has_tuple(s) then return s.items, s.additionalItems end
  return type(s.prefixItems) == "table" and s.prefixItems or {}, s.items
end

local function judge_array(s, value, path, context)
  local wrong = counted(path, s.minItems, s.maxItems, #value, "items")
  local may_be_object = value[1] == nil and getmetatable(value) ~= core.array_mt
  if not wrong and s.contains ~= nil and not may_be_object then wrong = judge_contains(s, value, path, context) end
  if wrong then return wrong end
  local first, others = tuple(s)
  local seen = {}
  for i, item in ipairs(value) do
    local part = first[i]
    if part == nil then part = others end
    if part ~= nil then
      wrong = judge(part, item, below(path, i), context)
      if wrong then return wrong end
    end
    if s.uniqueItems == true then
      local text = canonical(item, context.kinds)
      if seen[text] then
        return ("%s: items that differ expected, got two like %s"):format(at(path), shown(below(path, i)))
      end
      seen[text] = true
    end
  end
end

-- The names of an object's members, sorted, so that the same value has the same first fault.
local function sorted_names(value)
  local names = {}
  for name in next, value do names[#names + 1] = tostring(name) end
  table.sort(names, core.before)
  return names
end

-- The first of the names that is no member.
local function judge_required(names, value, path)
  for _, name in ipairs(names) do
    if value[name] == nil then return expected(below(path, name), "a value", nil) end
  end
end

local NONE = {}
local DEPENDENT = { "dependencies", "dependentRequired", "dependentSchemas" }

-- Judges the members that demand that others be there, or that the whole fit.
local function judge_dependencies(s, value, path, context)
  for _, key in ipairs(DEPENDENT) do
    for _, name in ipairs(s[key] and sorted_names(s[key]) or NONE) do
      local part, wrong = s[key][name], nil
      if value[name] ~= nil then
        if parts.is_names(part) then wrong = judge_required(part, value, path)
        elseif key ~= "dependentRequired" then wrong = judge(part, value, path, context) end
      end
      if wrong then return wrong end
    end
  end
end

-- Judges a member by the patterns that its name matches: what is wrong, and whether one matches, or might.
local function judge_patterns(s, texts, name, value, path, context)
  local known = false
  for _, text in ipairs(texts) do
    local found = matches(text, name, context)
    local wrong = found and judge(s.patternProperties[text], value, path, context)
    if wrong then return wrong, true end
    known = known or found ~= false
  end
  return nil, known
end

local function judge_member(s, texts, name, value, path, context)
  local part = (s.properties or {})[name]
  local wrong, known = judge_patterns(s, texts, name, value, path, context)
  if wrong then return wrong end
  if part == nil and not known then part = s.additionalProperties end
  if part == false then
    local names = table.concat(sorted_names(s.properties or {}), ", ")
    return ("%s: unknown; there are: %s"):format(at(path), names)
  end
  return part ~= nil and judge(part, value, path, context) or nil
end

local function judge_object(s, value, path, context)
  local wrong = judge_required(s.required or {}, value, path)
  if wrong then return wrong end
  local names = sorted_names(value)
  wrong = counted(path, s.minProperties, s.maxProperties, #names, "members")
    or judge_dependencies(s, value, path, context)
  if wrong then return wrong end
  local texts = s.patternProperties and sorted_names(s.patternProperties) or NONE
  for _, name in ipairs(names) do
    local member = below(path, name)
    if s.propertyNames ~= nil and judge(s.propertyNames, name, member, context) then
      return at(member) .. ": a member may not be called so"
    end
    wrong = judge_member(s, texts, name, value[name], member, context)
    if wrong then return wrong end
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

-- `then` or `else`, by whether `if` fits; where that is not known for sure, neither.
local function judge_condition(s, value, path, context)
  if s["if"] == nil then return nil end
  local part = s["else"]
  if not judge(s["if"], value, path, context) then
    part = s["then"]
    if parts.is_vague(context.root, s["if"]) then return nil end
  end
  return part ~= nil and judge(part, value, path, context) or nil
end

local function judge_combined(s, value, path, context)
  for _, part in ipairs(s.allOf or {}) do
    local wrong = judge(part, value, path, context)
    if wrong then return wrong end
  end
  local wrong = judge_any(s, value, path, context) or judge_one(s, value, path, context)
    or judge_condition(s, value, path, context)
  if wrong or s["not"] == nil then return wrong end
  if not judge(s["not"], value, path, context) and not parts.is_vague(context.root, s["not"]) then
    return at(path) .. ": fits what is excluded"
  end
end

local function judge_reference(s, value, path, context)
  local target = parts.resolve(context.root, s["$ref"])
  if target == nil then errors.argument("schema.$ref", "reference to a part of the schema", s["$ref"]) end
  return judge(target, value, path, context)
end

local BY_TYPE = { number = judge_number, string = judge_string }

local function judge_all(s, value, path, context)
  if s.type ~= nil and not fits_type(value, s.type, context.kinds) then
    return expected(path, type(s.type) == "table" and table.concat(s.type, " or ") or s.type, value)
  end
  local wrong = judge_enum(s, value, path, context)
    or BY_TYPE[type(value)] and BY_TYPE[type(value)](s, value, path, context)
  if not wrong and context.kinds.array(value) then wrong = judge_array(s, value, path, context) end
  if not wrong and context.kinds.object(value) then wrong = judge_object(s, value, path, context) end
  return wrong or s["$ref"] ~= nil and judge_reference(s, value, path, context)
    or judge_combined(s, value, path, context)
end

-- Judges a value: words for its first problem, or nil.
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
-- schema.validate says it, `name` before the path, and PATH as a JSON pointer. `exact`: the core read the value as
-- JSON, so that an empty table without the mark of arrays is an object and nothing else. Raises an ArgumentError for a
-- reference to nowhere.
function judges.validate(root, s, value, name, exact)
  local context = { root = root, depth = 0, left = BUDGET, kinds = exact and EXACT or LOOSE, sets = {} }
  local trace = {}
  local path = { false, false, trace, name }
  local wrong = judge(s, value, path, context)
  if context.left < 0 then
    return nil, ("%s: at most %d judgements of its parts expected"):format(at(path), BUDGET), ""
  end
  if wrong then return nil, wrong, pointer(trace.failed) end
  return true
end

return judges
