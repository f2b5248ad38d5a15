--- Forms: the flat schemas of elicitation, their defaults, and whether what was filled in fits. Nothing here raises or
-- waits.

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local schema = require "koine.data.schema"

local form = {}

local SIMPLE = { string = true, number = true, integer = true, boolean = true }

-- The formats that the protocol names, as far as their look tells.
local FORMATS = {
  email = "^[^%s@]+@[^%s@]+$",
  uri = "^%a[%w+.-]*:[^%s%c]+$",
  date = "^%d%d%d%d%-[01]%d%-[0-3]%d$",
  ["date-time"] = "^%d%d%d%d%-[01]%d%-[0-3]%d[Tt ]%d%d:%d%d:%d%d%.?%d*[Zz+-]?[%d:]*$",
}

local function present(value)
  if value ~= core.null then return value end
end

-- Whether a list holds strings only, or tables with a string as their member `pick`.
local function are_strings(list, pick)
  if not check.is_list(list) or #list == 0 then return false end
  for _, member in ipairs(list) do
    if pick then member = type(member) == "table" and member[pick] end
    if type(member) ~= "string" then return false end
  end
  return true
end

-- Whether a schema lists its values: `enum`, or alternatives with `const`.
local function is_choice(s)
  if s.type ~= nil and s.type ~= "string" then return false end
  return are_strings(s.enum) or are_strings(s.oneOf, "const") or are_strings(s.anyOf, "const")
end

local function is_flat(s)
  if type(s) ~= "table" then return false end
  if s.type == "array" then return type(s.items) == "table" and is_choice(s.items) end
  return SIMPLE[s.type] or is_choice(s)
end

--- A form of a server's `requestedSchema`: {type = "object", properties, required}; or nil, and what is wrong with it.
function form.read(given)
  if type(given) ~= "table" or given.type ~= "object" then return nil, 'requestedSchema: type "object" expected' end
  local properties, required = present(given.properties) or {}, present(given.required)
  if type(properties) ~= "table" or #properties > 0 then return nil, "requestedSchema.properties: object expected" end
  for _, name in ipairs(check.names(properties)) do
    if not is_flat(properties[name]) then
      return nil, ("requestedSchema.properties.%s: string, number, integer, boolean, enum or array of enum expected")
        :format(name)
    end
  end
  local made = { type = "object", properties = properties, required = required }
  local _, err = errors.try(schema.check, made, "requestedSchema")
  if err then return nil, errors.words(err) end
  return made
end

-- A copy of a value: a list as an array, so that an empty one stays one in JSON.
local function copy(s, value)
  if s.type ~= "array" or not check.is_list(value) then return value end
  return core.array(table.move(value, 1, #value, 1, {}))
end

-- The default of a property, when it has one that fits it.
local function default(s)
  local value = present(s.default)
  if value ~= nil and schema.validate(s, value) then return copy(s, value) end
end

local function fits_format(s, value)
  local pattern = type(value) == "string" and FORMATS[s.format]
  return not pattern or value:find(pattern) ~= nil
end

-- What does not belong in the content: its field, what is expected, and the words for it.
local function stranger(made, content)
  for _, name in ipairs(check.names(content)) do
    local s = made.properties[name]
    if not s then
      local expected = "one of " .. table.concat(check.names(made.properties), ", ")
      return "content." .. tostring(name), expected, ("content.%s: unknown field; %s"):format(name, expected)
    elseif not fits_format(s, content[name]) then
      return "content." .. name, s.format, ("content.%s: %s expected, got %s"):format(name, s.format,
        errors.describe(content[name]))
    end
  end
end

--- The content of a form (from `read`) that `given` (nil: nothing) makes: a new table with the defaults of what was
-- left out; or nil, the field that is wrong (`content.age`), what is expected, and the words for both.
function form.fill(made, given)
  if given == nil then given = {} end
  if type(given) ~= "table" then
    return nil, "content", "table", "content: table expected, got " .. errors.describe(given)
  end
  local field, expected, words = stranger(made, given)
  if field then return nil, field, expected, words end
  local content = {}
  for name, s in next, made.properties do
    local value = given[name]
    if value == nil then value = default(s) end
    content[name] = copy(s, value)
  end
  local ok, said, pointer = schema.validate(made, content, "content")
  if ok then return content end
  local name = pointer:match "^/([^/]*)"
  return nil, name and "content." .. name:gsub("~1", "/"):gsub("~0", "~") or "content",
    said:match ": (.*)$" or said, said
end

return form
