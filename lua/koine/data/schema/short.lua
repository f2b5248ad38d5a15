--- Schemas in short: text for a command line or a quick script, with the fields in the order in which they stand.
--
--   name, age int, tags [string], unit? c|f: how to measure, place {city, country}
--
-- A field is a name, "?" where it may be missing, a type, and ": description". Fields are divided by commas; in a text
-- of several lines by the ends of lines too, and a description then goes on to its line's end. A type is
--   string (none, or str), integer (int), number (float), boolean (bool), null, object, array, any
--   [TYPE]         an array of these
--   {FIELDS}       an object
--   a|b|c          one of these words; of types, any of these types

local core = require "koine.core"
local check = require "koine.data.check"

local short = {}

local WORDS = { string = "string", str = "string", integer = "integer", int = "integer", number = "number",
  float = "number", boolean = "boolean", bool = "boolean", null = "null", object = "object", array = "array",
  any = "any" }
local TYPES = "type (string, int, number, bool, null, object, array, any, [TYPE], {FIELDS}, a|b)"
local NAME = "^[%w_$][%w_$.-]*"
local DEPTH = 64 -- of types in types

-- A reader is {text, at = the next byte, name = what errors call the text, lines = whether lines divide fields, depth,
-- has_fields = whether it read fields}.

local function refuse(reader, expected)
  local rest = reader.text:sub(reader.at, reader.at + 20)
  core.raise_argument(reader.name, ("%s at byte %d"):format(expected, reader.at),
    rest == "" and "its end" or ("%q"):format(rest))
end

-- The hints for what other notations put behind a type.
local BEHIND = { ["?"] = 'comma ("?" belongs behind the name)', ["["] = "comma (an array is [TYPE])",
  of = "comma (an array is [TYPE])" }
-- Types of other notations, and how they are called here.
local ELSEWHERE = { list = "[TYPE]", set = "[TYPE]", dict = "{FIELDS}", map = "{FIELDS}", text = '"string"',
  double = '"number"', decimal = '"number"', long = '"int"' }
local QUOTED = "type (a|b: words have no quotes)"

local function skip(reader, pattern)
  local _, last = reader.text:find(pattern, reader.at)
  reader.at = (last or reader.at - 1) + 1
end

-- Returns the text that stands next and fits, and passes over it; nil when none does.
local function take(reader, pattern)
  local found = reader.text:match(pattern, reader.at)
  reader.at = reader.at + #(found or "")
  return found
end

local function blanks(reader) skip(reader, reader.lines and "^[ \t\r]*" or "^%s*") end

local function expect(reader, pattern, what)
  blanks(reader)
  return take(reader, pattern) or refuse(reader, what)
end

-- Raises for a word that is no type; `mixed` where types stand beside it.
local function refuse_word(reader, word, mixed)
  local near = ELSEWHERE[word] or check.nearest(word, WORDS)
  if near and not ELSEWHERE[word] then near = ("%q"):format(near) end
  local expected = near and ("type (did you mean %s?)"):format(near)
    or mixed and 'words alone or types alone between "|" (the builder any_of takes both)' or TYPES
  if reader.has_fields and not mixed then expected = expected .. ", or a comma between fields" end
  core.raise_argument(reader.name, expected, ("%q"):format(word))
end

-- The schema of words divided by "|".
local function of_words(reader, words)
  local types, unknown = 0, nil
  for _, word in ipairs(words) do
    if WORDS[word] then types = types + 1 else unknown = word end
  end
  if types == 0 and #words > 1 then return { type = "string", enum = core.array(words) } end
  if unknown then refuse_word(reader, unknown, types > 0) end
  for i, word in ipairs(words) do
    words[i] = WORDS[word]
    if words[i] == "any" then return {} end
  end
  return { type = words[2] and core.array(words) or words[1] }
end

local read_fields

local function read_type(reader)
  reader.depth = reader.depth + 1
  if reader.depth > DEPTH then refuse(reader, ("at most %d levels of types"):format(DEPTH)) end
  local made
  if take(reader, "^%[") then
    blanks(reader)
    made = { type = "array", items = reader.text:find("^%]", reader.at) and {} or read_type(reader) }
    expect(reader, "^%]", "]")
  elseif take(reader, "^{") then
    made = read_fields(reader, "^}")
    expect(reader, "^}", "}")
  else
    local words = {}
    repeat
      local quoted = reader.text:find("^%s*[\"']", reader.at)
      words[#words + 1] = expect(reader, NAME, quoted and QUOTED or TYPES)
      blanks(reader)
    until not take(reader, "^|")
    made = of_words(reader, words)
  end
  reader.depth = reader.depth - 1
  return made
end

-- The description behind a colon; nil when there is none.
local function read_description(reader)
  blanks(reader)
  if not take(reader, "^:") then return nil end
  blanks(reader)
  local text = take(reader, reader.lines and "^[^\n]*" or "^[^,}]*")
  text = text:match "^(.-)%s*$"
  return text ~= "" and text or nil
end

-- Whether a description (nil: none) is what stands there in other notations: a type.
local function is_type(text)
  if not text then return false end
  if WORDS[text] or text:find "^%[.*%]$" or text:find "^{" then return true end
  return text:find "^[%w_]+%s*|[%w_|%s]*$" ~= nil and not text:find "[%w_]%s+[%w_]"
end

-- The object of the fields up to what fits `stop`.
function read_fields(reader, stop)
  local made = { type = "object", properties = {}, required = core.array {}, propertyOrdering = core.array {} }
  reader.has_fields = true
  while true do
    skip(reader, "^[%s,]*")
    if reader.at > #reader.text or reader.text:find(stop, reader.at) then break end
    local name = expect(reader, NAME, "name of a field")
    if made.properties[name] then core.raise_argument(reader.name, "every field once", ("%s twice"):format(name)) end
    if not take(reader, "^%?") then made.required[#made.required + 1] = name end
    made.propertyOrdering[#made.propertyOrdering + 1] = name
    blanks(reader)
    local typed = reader.at <= #reader.text and not reader.text:find("^[,:}\n]", reader.at)
    local part = typed and read_type(reader) or { type = "string" }
    local colon = reader.at
    part.description = read_description(reader)
    if not typed and is_type(part.description) then
      reader.at = colon
      refuse(reader, "type without a colon (NAME TYPE: DESCRIPTION)")
    end
    made.properties[name] = part
    blanks(reader)
    if reader.at <= #reader.text and not reader.text:find("^[,}\n]", reader.at) then
      refuse(reader, BEHIND[reader.text:match("^%a+", reader.at) or reader.text:sub(reader.at, reader.at)] or "comma")
    end
  end
  return made
end

local function reader_of(text, name)
  return { text = text, at = 1, name = name, lines = text:find "\n" ~= nil, depth = 0 }
end

local function ended(reader, made)
  skip(reader, "^%s*")
  if reader.at <= #reader.text then refuse(reader, "end of the text") end
  return made
end

--- The schema of an object with these fields, or of an array `[TYPE]`. Raises an ArgumentError with the byte of what is
-- wrong, and for a type alone, which would be the name of a field; `name` is the text's in it.
function short.fields(text, name)
  if text:find "^%s*%[" then return short.type(text, name) end
  local alone = text:match "^%s*(%a+)%s*$"
  if WORDS[alone or ""] then
    core.raise_argument(name, ('fields, as in "name %s" (the builders make a type alone)'):format(alone),
      ("the type %q alone"):format(alone))
  end
  local reader = reader_of(text, name)
  local made = ended(reader, read_fields(reader, "^}"))
  if not made.propertyOrdering[1] then core.raise_argument(name, "fields", "none") end
  return made
end

--- The schema of one type, `[string]`. Raises an ArgumentError in the same way.
function short.type(text, name)
  local reader = reader_of(text, name)
  skip(reader, "^%s*")
  return ended(reader, read_type(reader))
end

return short
