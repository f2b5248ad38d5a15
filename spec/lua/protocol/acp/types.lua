-- Types of JSON values, to write down what messages look like, and to judge by. A type is a function of a decoded value
-- and its path: nil where it fits, else what is wrong, in words. `_meta` may stand in every object, with any members.

local core = require "koine.core"

local types = {}

local function is_array(value) return type(value) == "table" and getmetatable(value) == core.array_mt end
local function is_object(value) return type(value) == "table" and not is_array(value) end

-- A type of which f tells whether a value is of it.
local function simple(name, f)
  return function(value, path)
    if not f(value) then return ("%s: %s expected, got %s"):format(path, name, core.encode(value)) end
  end
end

types.text = simple("a string", function(value) return type(value) == "string" end)
types.flag = simple("true or false", function(value) return type(value) == "boolean" end)
types.number = simple("a number", function(value) return type(value) == "number" end)
types.integer = simple("an integer", function(value) return math.type(value) == "integer" end)
types.count = simple("an integer from 0", function(value) return math.type(value) == "integer" and value >= 0 end)
types.id = simple("a string or an integer", function(value)
  return type(value) == "string" or math.type(value) == "integer"
end)

--- Any value.
function types.any() return nil end

--- One of these words.
function types.word(...)
  local known = {}
  for _, word in ipairs { ... } do known[word] = true end
  return simple("one of " .. table.concat({ ... }, ", "), function(value) return known[value] == true end)
end

--- An array of values of one type.
function types.list(of)
  return function(value, path)
    if not is_array(value) then return path .. ": an array expected" end
    for i, one in ipairs(value) do
      local problem = of(one, ("%s[%d]"):format(path, i))
      if problem then return problem end
    end
  end
end

--- A member of an object that may be left out; `blank`: or be null.
function types.optional(of) return { of = of, optional = true } end
function types.blank(of)
  return types.optional(function(value, path)
    if value ~= core.null then return of(value, path) end
  end)
end

local META = types.blank(function(value, path)
  if not is_object(value) then return path .. ": an object expected" end
end)

-- Members as {name = {of = type, optional = boolean}}: those of several tables.
local function members_of(...)
  local members = { _meta = META }
  for _, given in ipairs { ... } do
    for name, of in next, given do members[name] = type(of) == "table" and of or { of = of } end
  end
  return members
end

--- An object of the members {name = type} of all these tables, and no others.
function types.object(...)
  local members = members_of(...)
  return function(value, path)
    if not is_object(value) then return path .. ": an object expected" end
    for name in next, value do
      if not members[name] then return ("%s.%s: no such member"):format(path, name) end
    end
    for name, member in next, members do
      local problem
      if value[name] ~= nil then
        problem = member.of(value[name], path .. "." .. name)
      elseif not member.optional then
        problem = ("%s.%s: missing"):format(path, name)
      end
      if problem then return problem end
    end
  end
end

--- An object of one of these kinds, {word = members}; its member `tag` says which. `shared` are members of all kinds.
function types.one_of(tag, kinds, shared)
  local objects = {}
  for word, members in next, kinds do objects[word] = types.object(members, shared or {}, { [tag] = types.any }) end
  return function(value, path)
    if not is_object(value) then return path .. ": an object expected" end
    local of = objects[value[tag]]
    if not of then return ("%s.%s: no such kind: %s"):format(path, tag, core.encode(value[tag] or core.null)) end
    return of(value, path)
  end
end

return types
