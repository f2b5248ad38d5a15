--- Reads the value that an answer holds: JSON text in the text blocks, or the arguments of the call that is the answer.
-- Nothing is repaired: quotes, commas and comments stay as they are. What a model says around its JSON is cut off only
-- where the wire did not promise JSON alone (`loose`). Pure; nothing here raises.

local core = require "koine.core"
local errors = require "koine.data.errors"
local nulls = require "koine.data.schema.nulls"

local read = {}

-- Numbers are numbers, whatever their size: an answer is no message that has to come back unchanged.
local function decode(text) return core.decode(text, true) end

-- Why a text is no JSON, in words for people and models: `err` is the reader's error.
local function no_json(text, err)
  local why = err.message:gsub("^JSON: ", "")
  local expected, at = why:match "^(.*) expected at byte (%d+), found 0x%x%x$"
  if at == "0" then return "the answer is not JSON: it begins with " .. errors.describe(text) end
  if at then why = ("%s expected before %s (byte %d)"):format(expected, errors.describe(text:sub(at + 1)), at) end
  return "the answer is not JSON: " .. why
end

-- White space and a byte order mark around JSON are no part of it.
local function trimmed(text)
  local from = text:find("[^ \t\r\n]", text:sub(1, 3) == "\xEF\xBB\xBF" and 4 or 1)
  return from and text:match("^.*[^ \t\r\n]", from) or ""
end

-- Where the object or array that begins at `from` ends: the index of its closing bracket, nil when it does not end.
-- Brackets in strings are not counted.
local function closing(text, from)
  local depth, at = 0, from
  while true do
    at = text:find('["{}%[%]]', at)
    if not at then return nil end
    local byte = text:sub(at, at)
    if byte == '"' then
      repeat
        at = text:find('["\\]', at + 1)
        if not at then return nil end
        local escaped = text:sub(at, at) == "\\"
        if escaped then at = at + 1 end
      until not escaped
    else
      depth = depth + ((byte == "{" or byte == "[") and 1 or -1)
      if depth == 0 then return at end
    end
    at = at + 1
  end
end

-- The value when the text is two whole values in a row, the first of them; nil else.
local function first_of_two(text)
  if not text:find "^[{%[]" then return nil end
  local last = closing(text, 1)
  if not last or last == #text then return nil end
  local first, rest = decode(text:sub(1, last)), decode(trimmed(text:sub(last + 1)))
  if first ~= nil and rest ~= nil then return first end
end

-- Returns the content of the one fenced block that the text is, or nil.
local function unfenced(text)
  local info, inside = text:match "^```([^\n`]*)\n(.*)\n?```$"
  if info and not inside:find("\n```", 1, true) then return trimmed(inside) end
end

-- The first balanced {…} of the text that is JSON, or nil.
local function first_object(text)
  local from = text:find("{", 1, true)
  local last = from and closing(text, from)
  return last and decode(text:sub(from, last))
end

--- Reads JSON text: the value and nil; the value and what was cut off, in words for a warning; nil, code, message: code
-- is "empty" or "not_json". `loose`: also takes one fenced block, or the first object among other words.
function read.text(text, loose)
  text = trimmed(text)
  if text == "" then return nil, "empty", "the answer has no text" end
  local value, err = decode(text)
  if value ~= nil then return value end
  value = first_of_two(text)
  if value ~= nil then return value, "the answer was two values: the first was taken" end
  if loose then
    local inside = unfenced(text)
    value = inside and decode(inside)
    if value == nil then value = first_object(text) end
    if value ~= nil then return value, "what stood around the JSON was left out" end
  end
  return nil, "not_json", no_json(text, err)
end

-- Whether one of the schemas of a place wants integers: `type` is or holds "integer".
local function wants_integer(place)
  for _, s in ipairs(place) do
    if s.type == "integer" then return true end
    for _, name in ipairs(type(s.type) == "table" and s.type or {}) do
      if name == "integer" then return true end
    end
  end
  return false
end

local function with_integers(value, place)
  if math.type(value) == "float" then return wants_integer(place) and math.tointeger(value) or value end
  if #place == 0 then return value end
  for name, member in next, value do
    if math.type(member) == "float" or type(member) == "table" then
      value[name] = with_integers(member, nulls.step(place, name))
    end
  end
  return value
end

--- `value` with 1 in place of 1.0 wherever the schemas of a place (nulls.lua) want an integer: JSON Schema takes both.
-- Changes tables in place.
function read.integers_at(value, place)
  if math.type(value) ~= "float" and type(value) ~= "table" then return value end
  return with_integers(value, place)
end

--- The same with the place of the whole value of `schema` (a JSON Schema).
function read.integers(value, schema) return read.integers_at(value, nulls.root(schema)) end

return read
