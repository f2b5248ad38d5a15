--- What records hold of messages, arguments and results, where an observer captures content: copies, never the
-- caller's tables, whose strings are valid UTF-8 of bounded length, with words in place of media.

local check = require "koine.data.check"
local core = require "koine.core"
local text = require "koine.data.text"

local capture = {}

local KNOWN_MAX = 64 -- credentials
local DEPTH_MAX = 64 -- levels of tables
local MEMBERS_MAX = 200000 -- of all tables of a copy

-- Credentials of the observed calls of this Lua state, the latest ones: what one call sends may come back from a tool,
-- or go out with another call.
local known, places, newest = {}, {}, 0

--- Has credentials (array of strings, nil: none) redacted in whatever is captured from now on.
function capture.know(secrets)
  for _, secret in ipairs(secrets or {}) do
    if not places[secret] then
      newest = newest % KNOWN_MAX + 1
      if known[newest] then places[known[newest]] = nil end
      known[newest], places[secret] = secret, newest
    end
  end
end

-- The words that stand for a block of media.
local function media_of(value)
  local source = value.source
  if value.type ~= "image" and value.type ~= "document" or type(source) ~= "table" then return nil end
  local name = source.media_type or value.type
  local data = source.data
  if type(data) ~= "string" then return nil end
  local bytes = #data
  if source.type == "base64" then bytes = #data * 3 // 4 - #data:match "=*$" end
  return ("[%s, %d bytes]"):format(name, bytes)
end

local function valid(words) return utf8.len(words) and words or core.decode(core.encode(words)) end

-- `how` is {hook, left = members that may still be copied, within = set of the tables around}; without a hook, strings
-- stay as they are. A credential is looked for before the observer's own function may take it apart, and after it.
local function string_of(value, how)
  local hook = how.hook
  if not hook then return value end
  value = text.redact(valid(value), known)
  if hook.redact then value = text.redact(valid(tostring(hook.redact(value))), known) end
  return (text.cut(value, hook.content_max))
end

local function key_of(key, how)
  key = tostring(key)
  return how.hook and text.redact(key, known) or key
end

local copy

-- The members of a table that JSON has; other keys than strings become strings, unless it is an array.
local function copy_table(value, how, levels)
  local is_list = check.is_list(value) and (value[1] ~= nil or getmetatable(value) == core.array_mt)
  local kept = is_list and core.array {} or {}
  how.within[value] = true
  for key, member in next, value do
    how.left = how.left - 1
    if how.left < 0 then break end
    kept[is_list and key or key_of(key, how)] = copy(member, how, levels - 1)
  end
  how.within[value] = nil
  return kept
end

-- A copy of a value; nil of what JSON does not have: the functions of tools, say.
function copy(value, how, levels)
  local kind = type(value)
  if kind == "string" then return string_of(value, how) end
  if kind == "table" then
    if levels == 0 then return "[deeper]" end
    if how.within[value] then return "[in itself]" end
    if how.left <= 0 then return "[more]" end
    local media = how.hook and media_of(value)
    return media and { type = "text", text = string_of(media, how) } or copy_table(value, how, levels)
  end
  if kind == "number" then return value == value and math.abs(value) < math.huge and value or tostring(value) end
  if kind == "boolean" or value == core.null then return value end
  return nil
end

--- A copy of a table of the observer's own.
function capture.copy(value) return copy(value, { left = MEMBERS_MAX, within = {} }, DEPTH_MAX) end

--- A copy of a value as content: strings redacted (known credentials, hook.redact), then cut to hook.content_max bytes.
-- Raises what hook.redact raises.
function capture.content(value, hook)
  return copy(value, { hook = hook, left = MEMBERS_MAX, within = {} }, DEPTH_MAX)
end

return capture
