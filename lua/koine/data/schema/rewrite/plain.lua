--- A schema as it is, for providers of whose dialect nothing is known: a copy, whose root is an object.

local core = require "koine.core"
local parts = require "koine.data.schema.parts"
local records = require "koine.data.records"

local plain = {}

-- Makes references to the root lead to where it stands now.
local function lead(s)
  if type(s) ~= "table" then return end
  local reference = s["$ref"]
  local moved = type(reference) == "string" and parts.is_local(reference)
    and not (reference:find "^#/%$defs/" or reference:find "^#/definitions/")
  if moved then s["$ref"] = "#/properties/value" .. reference:sub(2) end
  parts.each(s, lead)
end

--- A deep copy.
plain.copy = records.to_table

--- A deep copy as the only property, `value`, of an object; its definitions stand beside.
function plain.wrap(root)
  local value = type(root) == "table" and records.to_table(root) or root
  local made = { type = "object", properties = { value = value }, required = core.array { "value" },
    additionalProperties = false }
  if type(value) ~= "table" then return made end
  lead(value)
  for _, name in ipairs { "$defs", "definitions" } do made[name], value[name] = value[name], nil end
  return made
end

return plain
