--- Whether two JSON Schemas mean the same: what only differs in words is not told.

local core = require "koine.core"
local parts = require "koine.data.schema.parts"

local same = {}

-- What says nothing about values, and nothing to a model.
local SILENT = { ["$schema"] = true, title = true, ["$defs"] = true, definitions = true }

local function is_null(s)
  return type(s) == "table" and s.type == "null" and next(s) == "type" and next(s, "type") == nil
end

-- `X or null` as one schema, where X has one type: the members of X, null among its types.
local function nullable(s)
  local any = s.anyOf
  if not any or #any ~= 2 or not is_null(any[2]) or type(any[1].type) ~= "string" then return s end
  local made = {}
  for _, from in ipairs { any[1], s } do
    for name, value in pairs(from) do made[name] = value end
  end
  made.anyOf, made.type = nil, { any[1].type, "null" }
  if made.enum then made.enum = table.move(made.enum, 1, #made.enum, 1, { [#made.enum + 1] = core.null }) end
  return made
end

-- A description, what is told in it of keywords (`{minimum: 1, maximum: 2}`) in order.
local function description(text)
  local words, told = text:match "^(.-)%s*{(.*)}$"
  if not told then return text end
  local list = {}
  for one in (told .. ", "):gmatch "(.-), " do
    if not one:find "^%$schema:" then list[#list + 1] = one end
  end
  table.sort(list)
  local all = words .. table.concat(list, ", ")
  return all ~= "" and all or nil
end

local plain -- (schema, root, open) → the schema in the words that are compared

-- A schema with what its reference stands for in place; a reference that leads back to itself is a mark.
local function follow(s, root, open)
  local target = s["$ref"] and parts.resolve(root, s["$ref"])
  if not target then return s, open end
  if open[target] then return { recursive = true }, open end
  local made, inner = {}, { [target] = true }
  for name, value in pairs(target) do made[name] = value end
  for name, value in pairs(s) do made[name] = value end
  for one in pairs(open) do inner[one] = true end
  made["$ref"] = nil
  return made, inner
end

function plain(s, root, open)
  if type(s) ~= "table" then return s end
  local made = {}
  if s[1] ~= nil or getmetatable(s) == core.array_mt then
    for i, one in ipairs(s) do made[i] = plain(one, root, open) end
    return made
  end
  s, open = follow(s, root, open)
  for name, value in pairs(s) do
    if name == "properties" then
      made[name] = {}
      for property, one in pairs(value) do made[name][property] = plain(one, root, open) end
    elseif name == "description" then
      made[name] = description(value)
    elseif name == "required" then
      made[name] = #value > 0 and value or nil
    elseif not SILENT[name] then
      made[name == "oneOf" and "anyOf" or name] = plain(value, root, open)
    end
  end
  return nullable(made)
end

local function text_of(value) return value == nil and "nothing" or core.encode(value) end

local function compare(a, b, path, found)
  if type(a) ~= "table" or type(b) ~= "table" then
    if a ~= b then found[#found + 1] = ("%s: %s, ours %s"):format(path, text_of(a), text_of(b)) end
    return
  end
  local names, seen = {}, {}
  for _, t in ipairs { a, b } do
    for name in pairs(t) do
      if not seen[name] then names[#names + 1], seen[name] = name, true end
    end
  end
  table.sort(names, function(x, y) return tostring(x) < tostring(y) end)
  for _, name in ipairs(names) do
    compare(a[name], b[name], path == "" and tostring(name) or path .. "." .. name, found)
  end
end

--- Lists the differences of `theirs` and `ours` in meaning: an array of lines "PATH: THEIRS, ours OURS".
function same.differences(theirs, ours)
  local found = {}
  compare(plain(theirs, theirs, { [theirs] = true }), plain(ours, ours, { [ours] = true }), "", found)
  return found
end

return same
