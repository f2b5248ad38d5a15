-- Whether a value is what a type for editors says: function(value, type, path) → nothing, or the text of what is wrong.
-- A table with a field that its class does not have is wrong too, so that no field of a real value is left untyped.

local typed = require "spec.lua.whole.docs.types.typed"

local fits

local PLAIN = { string = "string", boolean = "boolean", table = "table", ["function"] = "function", number = "number",
  userdata = "userdata", lightuserdata = "userdata", ["file*"] = "userdata", ["nil"] = "nil", ["true"] = "boolean",
  ["false"] = "boolean" }

-- The parts of a text at a mark that stands outside of brackets and quotes.
local function split(text, mark)
  local parts, depth, from, quoted = {}, 0, 1, false
  for at = 1, #text do
    local c = text:sub(at, at)
    if c == '"' then quoted = not quoted end
    if c:find "[%({%[<]" then depth = depth + 1 elseif c:find "[%)}%]>]" then depth = depth - 1 end
    if c == mark and depth == 0 and not quoted then
      parts[#parts + 1], from = text:sub(from, at - 1), at + 1
    end
  end
  parts[#parts + 1] = text:sub(from)
  for i, part in ipairs(parts) do parts[i] = part:match "^%s*(.-)%s*$" end
  return parts
end

local function wrong(path, type, value)
  return ("%s: %s expected, got %s"):format(path, type, tostring(value))
end

-- The first problem of each member of a table.
local function each(value, path, problem_of)
  for key, member in pairs(value) do
    local problem = problem_of(key, member, ("%s.%s"):format(path, tostring(key)))
    if problem then return problem end
  end
end

-- A field by its name: {type, optional}; nil where there is none. Keys of any name are under true.
local function member_problem(fields, value, path)
  local problem = each(value, path, function(key, member, at)
    local field = fields[key] or fields[math.type(key)] or fields[true]
    if not field then return at .. ": no such field is typed" end
    return fits(member, field.type, at)
  end)
  if problem then return problem end
  for name, field in pairs(fields) do
    if type(name) == "string" and name ~= "integer" and not field.optional and value[name] == nil
        and fits(nil, field.type, "") then
      return wrong(path .. "." .. name, field.type, nil)
    end
  end
end

-- The fields of a class as members of it have them.
local function fields_of(name)
  local fields = {}
  local item = typed.all.classes[name]
  for _, parent in ipairs(item.class.parents) do
    for key, field in pairs(fields_of(parent)) do fields[key] = field end
  end
  for _, field in ipairs(item.class.fields) do
    local key = field.key and (field.name:find "integer" and "integer" or true) or field.name
    fields[key] = field
  end
  return fields
end

-- "{ a: T, b?: U }" as fields.
local function fields_in(text)
  local fields = {}
  for _, part in ipairs(split(text:sub(2, -2), ",")) do
    local name, optional, type = part:match "^([%w_]+)(%??): (.*)$"
    local key, of = part:match "^%[(.-)%]: (.*)$"
    if name then fields[name] = { type = type, optional = optional ~= "" }
    else fields[tonumber(key) or true] = { type = of } end
  end
  return fields
end

-- The fields of an object that is no table: those that it shows.
local function shown(value, fields)
  local copy = {}
  for name in pairs(fields) do
    if type(name) == "string" then copy[name] = value[name] end
  end
  return copy
end

-- A class: objects with methods may have fields of their own besides.
local function class_problem(name, value, path)
  local fields, is_object = fields_of(name), next(typed.methods_of(name)) ~= nil
  if type(value) == "userdata" or type(value) == "table" and is_object then
    value = shown(value, fields)
  elseif type(value) ~= "table" then
    return wrong(path, name, value)
  end
  return member_problem(fields, value, path)
end

-- The problem of the member that a value most likely is: the one with the word in its field `type`, else the one in
-- which the problem lies deepest.
local function union_problem(members, value, path)
  local likely, deepest = nil, ""
  for _, member in ipairs(members) do
    local problem = fits(value, member, path)
    if not problem then return nil end
    local class = typed.all.classes[member] and typed.fields_of(member).type
    local word = type(value) == "table" and ('"%s"'):format(tostring(value.type))
    if class and class.type == word then likely = problem end
    if #problem:match "^[^:]*" > #deepest:match "^[^:]*" then deepest = problem end
  end
  return likely or deepest
end

function fits(value, text, path)
  local members = split(text, "|")
  if members[2] then return union_problem(members, value, path) end
  if text == "any" then return nil end
  if text:find "%?$" then return value ~= nil and fits(value, text:sub(1, -2), path) or nil end
  if text:find "%[%]$" then
    if type(value) ~= "table" then return wrong(path, text, value) end
    return each(value, path, function(key, member, at)
      if math.type(key) ~= "integer" then return at .. ": no member of an array" end
      return fits(member, text:sub(1, -3), at)
    end)
  end
  if text:find "^%(.*%)$" then return fits(value, text:sub(2, -2), path) end
  if text:find "^fun%(" then return type(value) ~= "function" and wrong(path, text, value) or nil end
  if text:find '^"' then return value ~= text:sub(2, -2) and wrong(path, text, value) or nil end
  if text:find "^table<" then
    local of = split(text:match "^table<(.*)>$", ",")
    if type(value) ~= "table" then return wrong(path, text, value) end
    return each(value, path, function(key, member, at) return fits(key, of[1], at) or fits(member, of[2], at) end)
  end
  if text:find "^{" then
    if type(value) ~= "table" then return wrong(path, text, value) end
    return member_problem(fields_in(text), value, path)
  end
  if typed.all.classes[text] then return class_problem(text, value, path) end
  if typed.all.aliases[text] then return union_problem(typed.members_of_types(text), value, path) end
  if text == "integer" then return math.type(value) ~= "integer" and wrong(path, text, value) or nil end
  if tonumber(text) then return value ~= tonumber(text) and wrong(path, text, value) or nil end
  local plain = PLAIN[text] or error(path .. ": what is the type " .. text .. "?", 0)
  if type(value) ~= plain then return wrong(path, text, value) end
  if (text == "true" or text == "false") and tostring(value) ~= text then return wrong(path, text, value) end
end

return fits
