--- One schema as a dialect takes it, and those within it. A context `c` is {root, dialect, lost = array of the paths at
-- which something was told in the description, nullable = array of the paths that may be null now, names = target of a
-- reference → its name in `defs`, defs = name → rewritten schema, open = set of the targets that are being rewritten,
-- levels, inlined = counts, wrapped, refuse = method that raises a refusal}. New tables all over: the caller's are left
-- alone.

local core = require "koine.core"
local check = require "koine.data.check"
local gather = require "koine.data.schema.rewrite.gather"
local judge = require "koine.data.schema.judge"
local parts = require "koine.data.schema.parts"

local LEVELS = 100 -- of schemas in schemas

local rewrite

-- Keywords ----------------------------------------------------------------------------------------------------------

-- A rule is function(c, name, value, node) for one keyword; node is {s = the schema, made = the new one, lost = set of
-- keywords to tell in the description, path}.
local rules = {}

function rules.keep(_, name, value, node) node.made[name] = value end

function rules.drop() end

function rules.describe(_, name, value, node)
  if value ~= false or name ~= "uniqueItems" then node.lost[name] = value end
end

function rules.refuse(c, name, _, node) c:refuse(node.path, name) end

function rules.format(c, name, value, node)
  local formats = c.dialect.formats
  local keeps = formats == true or formats[value]
  rules[keeps and "keep" or "describe"](c, name, value, node)
end

-- Look-around is (?=, (?!, (?<; back-references are \1 and \k.
function rules.pattern(c, name, value, node)
  local bare = type(value) == "string" and value:gsub("\\\\", "")
  local refused = not bare or bare:find "%(%?[=!<]" or bare:find "\\[1-9k]"
  rules[refused and "describe" or "keep"](c, name, value, node)
end

function rules.anchored(c, name, value, node)
  local whole = type(value) == "string" and value:find "^%^.*%$$"
  rules[whole and "pattern" or "describe"](c, name, value, node)
end

function rules.few(c, name, value, node)
  rules[(value == 0 or value == 1) and "keep" or "describe"](c, name, value, node)
end

-- The inclusive keyword, and the step to the next integer.
local INCLUSIVE = { exclusiveMinimum = { "minimum", 1 }, exclusiveMaximum = { "maximum", -1 } }

-- Keywords are gone through by name: the inclusive one comes later, where there is one.
function rules.exclusive(c, name, value, node)
  if node.s.type ~= "integer" or type(value) ~= "number" then return rules.describe(c, name, value, node) end
  local inclusive, step = table.unpack(INCLUSIVE[name])
  node.made[inclusive] = (step > 0 and math.floor(value) or math.ceil(value)) + step
end

function rules.bound(_, name, value, node)
  local there = node.made[name]
  if there then value = (name == "minimum" and math.max or math.min)(there, value) end
  node.made[name] = value
end

function rules.schemas(c, name, value, node)
  node.made[name] = core.array {}
  for i, one in ipairs(value) do
    node.made[name][i] = rewrite(c, one, ("%s.%s[%d]"):format(node.path, name, i))
  end
end

local function has_type(s, word)
  if type(s.type) ~= "table" then return s.type == word end
  for _, one in ipairs(s.type) do
    if one == word then return true end
  end
  return false
end

-- Values ------------------------------------------------------------------------------------------------------------

local function put_values(c, node)
  local s, made = node.s, node.made
  made.type = type(s.type) == "table" and core.array(table.move(s.type, 1, #s.type, 1, {})) or s.type
  if type(s.const) == "table" and c.dialect.enum == "scalars" then
    node.lost.const = s.const
  elseif s.const ~= nil and c.dialect.constant == "enum" then
    made.enum = core.array { s.const }
  else
    made.const = s.const
  end
  if s.enum == nil or made.enum then return end
  for _, value in ipairs(s.enum) do
    if type(value) == "table" and c.dialect.enum == "scalars" then
      node.lost.enum = s.enum
      return
    end
  end
  made.enum = core.array(table.move(s.enum, 1, #s.enum, 1, {}))
end

-- A rewritten schema that takes null, too.
local function or_null(s)
  local null = { type = "null" }
  if s["$ref"] or s.const ~= nil then return { anyOf = core.array { s, null } } end
  if s.anyOf then
    s.anyOf[#s.anyOf + 1] = null
    return s
  end
  if s.enum then s.enum[#s.enum + 1] = core.null end
  if type(s.type) == "table" then s.type[#s.type + 1] = "null"
  elseif s.type then s.type = core.array { s.type, "null" } end
  return s
end

-- Objects -----------------------------------------------------------------------------------------------------------

-- Every property required, an optional one or null.
local function require_all(c, node, order)
  local required = {}
  for _, name in ipairs(node.s.required or {}) do
    if not node.made.properties[name] then c:refuse(node.path, "required") end
    required[name] = true
  end
  for _, name in ipairs(order) do
    local path = node.path .. ".properties." .. name
    if not required[name] and not judge.validate(c.root, node.s.properties[name], core.null, "") then
      node.made.properties[name] = or_null(node.made.properties[name])
      c.nullable[#c.nullable + 1] = path
    end
  end
  node.made.required = core.array(order)
end

-- Whether properties whose names fit a pattern are told alone: what the schema says of other ones is not true then.
local function has_told_patterns(c, s)
  return s.patternProperties ~= nil and c.dialect.keywords.patternProperties == "describe"
end

-- No other properties, where the dialect wants that said. An object that has none besides would always be empty.
local function close(c, node)
  local others, named = node.s.additionalProperties, next(node.made.properties or {}) ~= nil
  local open = type(others) == "table" or not named and others ~= false or has_told_patterns(c, node.s)
  node.made.additionalProperties = false
  if not open then return end
  if c.dialect.closed == "refuse" or not named then c:refuse(node.path, "additionalProperties") end
  if others == nil then others = true end
  node.lost.additionalProperties = others
end

local function put_object(c, node)
  local s, made, order = node.s, node.made, parts.order(node.s)
  local is_object = has_type(s, "object") or s.properties ~= nil
  if s.properties ~= nil or is_object and c.dialect.required == "all" then made.properties = {} end
  for _, name in ipairs(order) do
    made.properties[name] = rewrite(c, s.properties[name], node.path .. ".properties." .. name)
  end
  if s.propertyOrdering and #order > 0 then made.propertyOrdering = core.array(order) end
  if is_object and c.dialect.required == "all" then
    require_all(c, node, order)
  elseif s.required then
    made.required = core.array(table.move(s.required, 1, #s.required, 1, {}))
  end
  if is_object and c.dialect.closed ~= "keep" then
    close(c, node)
  elseif has_told_patterns(c, s) then
    node.lost.additionalProperties = s.additionalProperties
  elseif type(s.additionalProperties) == "table" then
    made.additionalProperties = rewrite(c, s.additionalProperties, node.path .. ".additionalProperties")
  else
    made.additionalProperties = s.additionalProperties
  end
end

-- Schemas in schemas ------------------------------------------------------------------------------------------------

-- The objects of an anyOf that begin with the same property cannot be told apart, unless its values do.
local function check_first_keys(c, any, path)
  local seen = {}
  for _, one in ipairs(any) do
    local first = type(one) == "table" and one.properties and (one.required or {})[1]
    if first then
      local s = one.properties[first]
      local value = s.const
      if value == nil and s.enum and #s.enum == 1 then value = s.enum[1] end
      local mark = value ~= nil and core.encode { first, value } or first
      if seen[first] or value == nil and seen["any " .. first] or seen[mark] then c:refuse(path, "anyOf") end
      seen[mark], seen["any " .. first] = true, true
    end
  end
end

local function put_alternatives(c, node)
  local s, made = node.s, node.made
  if s.anyOf and s.oneOf and c.dialect.one_of == "anyOf" then c:refuse(node.path, "oneOf") end
  if s.anyOf then rules.schemas(c, "anyOf", s.anyOf, node) end
  if s.oneOf then
    rules.schemas(c, "oneOf", s.oneOf, node)
    if c.dialect.one_of == "anyOf" then made.anyOf, made.oneOf = made.oneOf, nil end
  end
  if s.allOf then rules.schemas(c, "allOf", s.allOf, node) end
  if made.anyOf and c.dialect.first_keys then check_first_keys(c, made.anyOf, node.path) end
end

local function put_items(c, node)
  local s, made = node.s, node.made
  if s.prefixItems and c.dialect.keywords.prefixItems == "describe" then
    node.lost.items = s.items -- of those behind the first ones alone, of which the copy does not know
  elseif s.items ~= nil then
    made.items = rewrite(c, s.items, node.path .. ".items")
  end
  if c.dialect.items == "required" and has_type(s, "array") and made.items == nil then c:refuse(node.path, "items") end
end

-- References --------------------------------------------------------------------------------------------------------

local function escaped(name) return (name:gsub("~", "~0"):gsub("/", "~1"):gsub("%%", "%%25")) end

-- A name in `defs` that no other target has: the last step of the reference.
local function free_name(c, reference)
  local name = reference:match "([^/]+)$"
  name = name == "#" and "root" or name:gsub("~1", "/"):gsub("~0", "~")
  local free, n = name, 1
  while c.defs[free] ~= nil do
    n = n + 1
    free = name .. "_" .. n
  end
  return free
end

-- Returns the schema that a reference goes out as; its target is rewritten when it is met first.
local function reference_to(c, reference, path)
  local target = gather.target(c, reference, path)
  if type(target) == "boolean" then return rewrite(c, target, path) end
  if c.open[target] and c.dialect.recursive == "refuse" then c:refuse(path, "$ref", gather.RECURSIVE) end
  if target == c.root and not c.wrapped then return { ["$ref"] = "#" } end
  local name = c.names[target]
  if not name then
    name = free_name(c, reference)
    c.names[target], c.defs[name], c.open[target] = name, true, true
    c.defs[name] = rewrite(c, target, path)
    c.open[target] = nil
  end
  return { ["$ref"] = "#/$defs/" .. escaped(name) }
end

-- A schema with a reference, and what may stand beside it.
local function put_reference(c, node)
  local s, made = node.s, reference_to(c, node.s["$ref"], node.path)
  if c.dialect.references == "alone" then
    for name in next, s do
      if name ~= "$ref" and not gather.is_annotation(name) then
        c.lost[#c.lost + 1] = node.path
        break
      end
    end
    return made
  end
  s["$ref"] = nil
  local beside = rewrite(c, s, node.path, true)
  if next(beside) == nil then return made end
  if c.dialect.references == "wrap" then
    if beside.anyOf or beside.oneOf then c:refuse(node.path, "$ref") end
    beside.anyOf = core.array { made }
  else
    beside["$ref"] = made["$ref"]
  end
  return beside
end

-- The whole ---------------------------------------------------------------------------------------------------------

-- Appends the lost keywords to the description, as text.
local function tell(c, node)
  if next(node.lost) == nil then return end
  local told = {}
  for _, name in ipairs(check.names(node.lost)) do told[#told + 1] = name .. ": " .. core.encode(node.lost[name]) end
  local text = "{" .. table.concat(told, ", ") .. "}"
  local description = node.made.description
  node.made.description = type(description) == "string" and description ~= "" and description .. " " .. text or text
  c.lost[#c.lost + 1] = node.path
end

local function says_string(names)
  return names == true or type(names) == "table" and names.type == "string" and next(names, next(names)) == nil
end

-- The same in words that more dialects have: an array of items, as older schemas have it, is prefixItems; no further
-- items are a maximum; names of properties are strings anyway.
local function modern(s)
  if type(s.items) == "table" and s.items[1] ~= nil then
    s.prefixItems, s.items, s.additionalItems = s.items, s.additionalItems, nil
  end
  if s.items == false then
    local first = s.prefixItems and #s.prefixItems or 0
    s.items, s.maxItems = nil, math.min(s.maxItems or first, first)
  end
  if says_string(s.propertyNames) then s.propertyNames = nil end
  return s
end

-- Whether nothing says what the values are.
local function is_untyped(s)
  return s.type == nil and not s.anyOf and not s.oneOf and s.enum == nil and s.const == nil
end

local function rewrite_table(c, s, path, beside)
  local node = { s = s, made = {}, lost = {}, path = path }
  for _, name in ipairs(check.names(s)) do
    local rule = c.dialect.keywords[name]
    if rule then rules[rule](c, name, s[name], node) end
  end
  put_values(c, node)
  put_object(c, node)
  put_items(c, node)
  put_alternatives(c, node)
  tell(c, node)
  if not beside and c.dialect.untyped == "refuse" and is_untyped(node.made) then c:refuse(path, "type") end
  return node.made
end

-- A rewritten copy. `beside`: of what stands beside a reference.
function rewrite(c, s, path, beside)
  local opened = {}
  if type(s) == "boolean" then
    if c.dialect.booleans == "keep" then return s end
    if c.dialect.booleans == "refuse" or not s then c:refuse(path, tostring(s)) end
    return {}
  end
  if c.levels == LEVELS then c:refuse(path, "") end
  c.levels = c.levels + 1
  s = modern(gather.one(c, s, path, c.dialect.references == "inline", c.dialect.all_of == "merge", opened))
  local made = s["$ref"] and put_reference(c, { s = s, path = path }) or rewrite_table(c, s, path, beside)
  for _, target in ipairs(opened) do c.open[target] = nil end
  c.levels = c.levels - 1
  return made
end

return rewrite
