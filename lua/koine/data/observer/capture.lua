--- What records hold of messages, arguments and results, where an observer captures content: copies, never the
-- caller's tables, whose strings are valid UTF-8 of bounded length, with words in place of media.

local check = require "koine.data.check"
local core = require "koine.core"
local text = require "koine.data.text"

local capture = {}

local DEPTH_MAX = 64 -- levels of tables

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

local function string_of(value, hook, secrets)
  if not utf8.len(value) then value = core.decode(core.encode(value)) end
  if hook.redact then value = tostring(hook.redact(value)) end
  if secrets and secrets[1] then value = text.redact(value, secrets) end
  return (text.cut(value, hook.content_max))
end

local copy

-- The members of a table that JSON has; other keys than strings become strings, unless it is an array.
local function copy_table(value, hook, secrets, levels)
  local is_list = check.is_list(value) and (value[1] ~= nil or getmetatable(value) == core.array_mt)
  local kept = is_list and core.array {} or {}
  for key, member in next, value do
    kept[is_list and key or tostring(key)] = copy(member, hook, secrets, levels - 1)
  end
  return kept
end

-- A copy of a value; nil of what JSON does not have: the functions of tools, say.
function copy(value, hook, secrets, levels)
  local kind = type(value)
  if kind == "string" then return hook and string_of(value, hook, secrets) or value end
  if kind == "table" then
    if levels == 0 then return "[deeper]" end
    local media = hook and media_of(value)
    return media and { type = "text", text = media } or copy_table(value, hook, secrets, levels)
  end
  if kind == "number" then return value == value and math.abs(value) < math.huge and value or tostring(value) end
  if kind == "boolean" or value == core.null then return value end
  return nil
end

--- A copy of a table of the observer's own.
function capture.copy(value) return copy(value, nil, nil, DEPTH_MAX) end

--- A copy of a value as content: strings redacted (`secrets`: array of strings, nil for none; hook.redact), then cut to
-- hook.content_max bytes.
function capture.content(value, hook, secrets) return copy(value, hook, secrets, DEPTH_MAX) end

return capture
