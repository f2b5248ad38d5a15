--- JSON as the command line writes and reads it: sorted keys, whole numbers as integers.

local cjson = require("cjson").new()
local koine = require "koine"

local json = {}

local ARRAY = getmetatable(koine.array {})

-- Koine's own fields that are lists also when they are empty, and fields with members of others: in these what is
-- marked with koine.array is a list.
local LISTS = { attempts = true, content = true, history = true, limits = true, list = true, notes = true,
  tool_calls = true, top = true, warnings = true }
local FOREIGN = { arguments = true, extra = true, metadata = true, output = true, provider_data = true, raw = true }

-- What a U+FFFD stands for at the beginning of bytes that are no UTF-8: a surrogate, or a character that is not
-- finished; any other byte alone.
local MALFORMED = { "^\xED[\xA0-\xBF][\x80-\xBF]", "^\xE0[\xA0-\xBF]", "^\xED[\x80-\x9F]",
  "^[\xE1-\xEC\xEE\xEF][\x80-\xBF]", "^\xF0[\x90-\xBF][\x80-\xBF]?", "^[\xF1-\xF3][\x80-\xBF][\x80-\xBF]?",
  "^\xF4[\x80-\x8F][\x80-\xBF]?" }

local function malformed(bytes, at)
  for _, pattern in ipairs(MALFORMED) do
    local _, last = bytes:find(pattern, at)
    if last then return last end
  end
  return at
end

-- Bytes that are not ASCII, in UTF-8; nil where they are.
local function mended(bytes)
  local at, parts = 1, {}
  while true do
    local fine, bad = utf8.len(bytes, at)
    if fine and at == 1 then return nil end
    parts[#parts + 1] = bytes:sub(at, fine and -1 or bad - 1)
    if fine then return table.concat(parts) end
    parts[#parts + 1], at = "\u{FFFD}", malformed(bytes, bad) + 1
  end
end

--- The text with U+FFFD for what is no UTF-8, as Koine sends it.
function json.legal(text) return utf8.len(text) and text or (text:gsub("[\x80-\xFF]+", mended)) end

-- The text of what is no table. cjson alone would cut floats, and writes each slash with a backslash.
local function scalar(value)
  if math.type(value) == "integer" then return tostring(value) end
  if math.type(value) == "float" and tonumber(("%.14g"):format(value)) ~= value then return ("%.17g"):format(value) end
  if type(value) == "string" then value = json.legal(value) end
  return (cjson.encode(value):gsub("\\/", "/"))
end

-- The text of a value; `name` is the field that it stands in (nil: none), `foreign` true within a field with members of
-- others; `margin` the line end and blanks before it where each member has a line of its own, nil for one line.
-- cjson alone would write {} for empty lists.
local function encode(value, name, foreign, margin)
  if name == "bytes" and type(value) == "string" and not foreign then value = { value:byte(1, -1) } end -- no text
  if type(value) ~= "table" then return scalar(value) end
  local parts, list = {}, getmetatable(value) == ARRAY or #value > 0
    or next(value) == nil and LISTS[name] and not foreign
  local inner, colon = margin and margin .. "  ", margin and ": " or ":"
  foreign = foreign or FOREIGN[name]
  for key in pairs(value) do parts[#parts + 1] = key end
  table.sort(parts)
  for i, key in ipairs(parts) do
    parts[i] = (list and "" or scalar(key) .. colon) .. encode(value[key], key, foreign, inner)
  end
  local text = table.concat(parts, "," .. (inner or ""))
  if inner and parts[1] then text = inner .. text .. margin end
  return (list and "[" or "{") .. text .. (list and "]" or "}")
end

--- A table of Koine's as JSON text in one line; `name` is the field whose kind of table it is, nil for none.
function json.encode(value, name) return encode(value, name) end

--- A value of others as JSON text: in one line, or with `indented` true in a line for each member.
function json.value(value, indented) return encode(value, nil, true, indented and "\n" or nil) end

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
