--- How large a rewritten schema is, against what a dialect takes.

local parts = require "koine.data.schema.parts"

local limits = {}

local function count_values(counts, values)
  local characters = 0
  for _, value in ipairs(values) do
    characters = characters + (type(value) == "string" and utf8.len(value) or 0)
  end
  counts.enum_values, counts.characters = counts.enum_values + #values, counts.characters + characters
  if #values > counts.long_enum.values then counts.long_enum = { values = #values, characters = characters } end
end

local function count_properties(counts, s)
  local required = {}
  for _, name in ipairs(s.required or {}) do required[name] = true end
  for name in next, s.properties do
    counts.properties, counts.characters = counts.properties + 1, counts.characters + (utf8.len(name) or #name)
    if not required[name] then counts.optional = counts.optional + 1 end
  end
end

local function count(counts, s, level)
  if type(s) ~= "table" then return end
  if s.properties then
    level = level + 1
    count_properties(counts, s)
  end
  counts.levels = math.max(counts.levels, level)
  if s.anyOf or s.oneOf or type(s.type) == "table" and #s.type > 1 then counts.unions = counts.unions + 1 end
  if s.enum then count_values(counts, s.enum) end
  if type(s.const) == "string" then count_values(counts, { s.const }) end
  for name in next, s["$defs"] or {} do counts.characters = counts.characters + (utf8.len(name) or #name) end
  parts.each(s, function(part, where) count(counts, part, where:find "^%$defs" and 0 or level) end)
end

--- Counts what the limits speak of: {properties, levels (of objects in objects), characters (of names and values of
-- enums), enum_values, long_enum = {values, characters} of the longest, optional (properties), unions, strict_tools}.
-- `beside` is an array of the schemas of strict tools that count with it, nil for none.
function limits.count(s, beside)
  local counts = { properties = 0, levels = 0, characters = 0, enum_values = 0, optional = 0, unions = 0,
    long_enum = { values = 0, characters = 0 }, strict_tools = #(beside or {}) }
  count(counts, s, 0)
  for _, other in ipairs(beside or {}) do count(counts, other, 0) end
  return counts
end

-- limit → the keyword that is to blame, and what is counted, in words
local KEYWORDS = { properties = { "properties", "properties" }, levels = { "properties", "levels of objects" },
  characters = { "properties", "characters of names and enum values" }, enum_values = { "enum", "enum values" },
  optional = { "required", "optional properties" }, unions = { "anyOf", "union types" },
  strict_tools = { "", "strict tools" } }
local ORDER = { "properties", "levels", "characters", "enum_values", "optional", "unions", "strict_tools" }

--- Returns the keyword of the first limit that is exceeded, and words for it; nil when none is.
function limits.beyond(counts, most)
  for _, name in ipairs(ORDER) do
    if most[name] and counts[name] > most[name] then
      local keyword, what = table.unpack(KEYWORDS[name])
      return keyword, ("%d %s, where at most %d are taken"):format(counts[name], what, most[name])
    end
  end
  local long, longest = most.long_enum, counts.long_enum
  if long and longest.values > long.values and longest.characters > long.characters then
    return "enum", ("%d characters of one enum, where at most %d are taken"):format(longest.characters, long.characters)
  end
end

return limits
