--- Where a request differs from the one of a recording that is nearest to it.

local core = require "koine.core"
local cut = require("koine.data.text").cut

local difference = {}

local SHOWN_MAX = 60  -- bytes of a value
local COUNT_MAX = 500 -- differences that are counted

local NONE = {} -- there is no value

local function is_list(value) return #value > 0 or getmetatable(value) == core.array_mt end

-- All keys of two tables, in order.
local function keys_of(a, b)
  local keys, seen = {}, {}
  for _, value in ipairs { a, b } do
    for key in next, value do
      if not seen[key] then seen[key], keys[#keys + 1] = true, key end
    end
  end
  table.sort(keys, function(x, y)
    if math.type(x) and math.type(y) then return x < y end
    return tostring(x) < tostring(y)
  end)
  return keys
end

-- Counts how `sent` differs from `recorded`; notes the first place in `found`.
local function compare(recorded, sent, path, found)
  if found.count >= COUNT_MAX then return end
  if type(recorded) == "table" and type(sent) == "table" and recorded ~= NONE and sent ~= NONE then
    local list = is_list(recorded) or is_list(sent)
    for _, key in ipairs(keys_of(recorded, sent)) do
      local inner = list and ("%s[%s]"):format(path, key) or (path == "" and "" or path .. ".") .. tostring(key)
      local a, b = recorded[key], sent[key]
      compare(a == nil and NONE or a, b == nil and NONE or b, inner, found)
    end
    return
  end
  if recorded == sent then return end
  found.count = found.count + 1
  if not found.path then found.path, found.recorded, found.sent = path, recorded, sent end
end

-- A value in words.
local function shown(value)
  if value == NONE then return "nothing" end
  local text, was_cut = cut(core.encode(value), SHOWN_MAX)
  return was_cut and text .. "…" or text
end

-- The difference of two requests (request.compared).
local function between(recorded, sent)
  local found = { count = 0 }
  for _, name in ipairs { "method", "url", "headers", "body" } do
    compare(recorded[name], sent[name], name == "body" and "" or name, found)
  end
  for _, name in ipairs { "method", "url" } do
    if recorded[name] ~= sent[name] then found.count = found.count + COUNT_MAX end
  end
  return found
end

--- Returns words that name the nearest of `candidates` (array of {name, compared}) and the first place where `sent` (a
-- request.compared) differs from it, with both values.
function difference.words(candidates, sent)
  local best, name
  for _, candidate in ipairs(candidates) do
    local found = between(candidate.compared, sent)
    if not best or found.count < best.count then best, name = found, candidate.name end
  end
  if not best then return "it has no recordings" end
  if not best.path then return ("nearest is %s, which differs in an empty list or object"):format(name) end
  return ("nearest is %s, where %s is %s and not %s"):format(name,
    best.path == "" and "the body" or best.path, shown(best.recorded), shown(best.sent))
end

return difference
