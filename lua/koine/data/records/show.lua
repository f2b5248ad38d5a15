--- Values as one line of text, for people who print them: `koine.usage {input_tokens = 3, output_tokens = 4}`.
-- Long texts are cut, deep tables are not followed, fields without a value are left out.

local core = require "koine.core"
local cut = require("koine.data.text").cut

local TEXT_MAX, ITEMS_MAX, LEVELS = 60, 20, 4 -- bytes of a text; members of a table; tables in tables

local ESCAPES = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ['"'] = '\\"', ["\\"] = "\\\\" }

local function quoted(text)
  local kept, was_cut = cut(text, TEXT_MAX)
  kept = kept:gsub('[%c"\\]', function(c) return ESCAPES[c] or ("\\%d"):format(c:byte()) end)
  return '"' .. kept .. (was_cut and '…"' or '"')
end

local shown

-- The keys of a table in order: those of `names` first, then the others, sorted as text.
local function keys_of(value, names)
  local keys, rest, seen = {}, {}, {}
  for _, name in ipairs(names or {}) do
    if value[name] ~= nil then keys[#keys + 1], seen[name] = name, true end
  end
  for key in next, value do
    if not seen[key] then rest[#rest + 1] = key end
  end
  table.sort(rest, function(a, b) return core.before(tostring(a), tostring(b)) end)
  return table.move(rest, 1, #rest, #keys + 1, keys)
end

local function members(value, names, level)
  if level > LEVELS then return "{…}" end
  local parts, listed = {}, #value
  for i = 1, math.min(listed, ITEMS_MAX) do parts[i] = shown(value[i], level) end
  for _, key in ipairs(keys_of(value, names)) do
    local in_list = math.type(key) == "integer" and key >= 1 and key <= listed
    if not in_list and #parts < ITEMS_MAX then
      local name = type(key) == "string" and key:find "^[%a_][%w_]*$" and key or "[" .. shown(key, LEVELS) .. "]"
      parts[#parts + 1] = name .. " = " .. shown(value[key], level)
    elseif not in_list or key == ITEMS_MAX + 1 then
      parts[ITEMS_MAX + 1] = "…"
    end
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

function shown(value, level)
  if value == core.null then return "koine.null" end
  if type(value) == "string" then return quoted(value) end
  if type(value) ~= "table" then return tostring(value) end
  return members(value, { "type", "role" }, level + 1)
end

--- The table as text behind `name`; `names` is an array of the fields that come first, in this order.
return function(value, name, names) return name .. " " .. members(value, names, 1) end
