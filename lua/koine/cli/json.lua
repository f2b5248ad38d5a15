--- JSON as the command line writes and reads it: sorted keys, whole numbers as integers.

local cjson = require("cjson").new()
local koine = require "koine"

local json = {}

local ARRAY = getmetatable(koine.array {})

-- Koine's own fields that are lists also when they are empty, and fields with members of others: in these what is
-- marked with koine.array is a list.
local LISTS = { attempts = true, content = true, history = true, limits = true, list = true, notes = true,
  tool_calls = true, warnings = true }
local FOREIGN = { arguments = true, extra = true, metadata = true, provider_data = true, raw = true }

--- A value as JSON text; `name` is the field that it stands in (nil: none), `foreign` true within a field with members
-- of others. cjson alone would cut floats and write {} for empty lists.
function json.encode(value, name, foreign)
  if math.type(value) == "integer" then return tostring(value) end
  if math.type(value) == "float" and tonumber(("%.14g"):format(value)) ~= value then return ("%.17g"):format(value) end
  if type(value) ~= "table" then return cjson.encode(value) end
  local parts, list = {}, getmetatable(value) == ARRAY or #value > 0
    or next(value) == nil and LISTS[name] and not foreign
  foreign = foreign or FOREIGN[name]
  for key in pairs(value) do parts[#parts + 1] = key end
  table.sort(parts)
  for i, key in ipairs(parts) do
    parts[i] = (list and "" or cjson.encode(key) .. ":") .. json.encode(value[key], key, foreign)
  end
  return (list and "[%s]" or "{%s}"):format(table.concat(parts, ","))
end

--- The value with whole numbers as integers, which cjson makes floats; tables are changed in place.
function json.integral(value)
  if type(value) == "table" then
    for key, member in pairs(value) do value[key] = json.integral(member) end
  end
  return type(value) == "number" and math.tointeger(value) or value
end

--- The table that a text holds, or nil where it is no JSON object or array.
function json.decode(text)
  local ok, value = pcall(cjson.decode, text)
  return ok and type(value) == "table" and json.integral(value) or nil
end

return json
