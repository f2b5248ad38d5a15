--- Values as OTLP's JSON writes them. Nothing here fails: what JSON has no number for becomes a string.

local check = require "koine.data.check"
local core = require "koine.core"

local value = {}

local encode

local function kvlist(of)
  local values = core.array {}
  for _, name in ipairs(check.names(of)) do
    values[#values + 1] = { key = tostring(name), value = encode(of[name]) }
  end
  return { kvlistValue = { values = values } }
end

local function list(of)
  local values = core.array {}
  for i, member in ipairs(of) do values[i] = encode(member) end
  return { arrayValue = { values = values } }
end

local function number(of)
  if math.type(of) == "integer" then return { intValue = ("%d"):format(of) } end
  if of ~= of or math.abs(of) == math.huge then return { stringValue = tostring(of) } end
  return { doubleValue = of }
end

-- A value of a record: {stringValue}, {boolValue}, {intValue} (a decimal string), {doubleValue}, {arrayValue} or
-- {kvlistValue}.
function encode(of)
  local kind = type(of)
  if kind == "boolean" then return { boolValue = of } end
  if kind == "number" then return number(of) end
  if kind ~= "table" then return { stringValue = tostring(of) } end
  local is_list = check.is_list(of) and (of[1] ~= nil or getmetatable(of) == core.array_mt)
  return is_list and list(of) or kvlist(of)
end

--- Adds an attribute to `attributes` (an array of {key, value}), unless the value is nil.
function value.add(attributes, key, of)
  if of ~= nil and of ~= core.null then attributes[#attributes + 1] = { key = key, value = encode(of) } end
end

--- The attributes of a table {name = value}: a new array of {key, value}, sorted by name.
function value.attributes(of)
  local attributes = core.array {}
  for _, name in ipairs(check.names(of)) do value.add(attributes, tostring(name), of[name]) end
  return attributes
end

return value
