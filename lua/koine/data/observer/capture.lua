--- What records hold of messages, arguments and results, where an observer captures content: copies, never the
-- caller's tables, whose strings are valid UTF-8 of bounded length, with words in place of media.

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

local function copy(value, hook, secrets, levels)
  if type(value) == "string" then return hook and string_of(value, hook, secrets) or value end
  if type(value) ~= "table" then
    if type(value) == "userdata" and value ~= core.null then return tostring(value) end
    return value
  end
  if levels == 0 then return "[deeper]" end
  local media = hook and media_of(value)
  if media then return { type = "text", text = media } end
  local kept = getmetatable(value) == core.array_mt and core.array {} or {}
  for key, member in next, value do kept[key] = copy(member, hook, secrets, levels - 1) end
  return kept
end

--- A copy of a table of the observer's own.
function capture.copy(value) return copy(value, nil, nil, DEPTH_MAX) end

--- A copy of a value as content: strings redacted (`secrets`: array of strings, nil for none; hook.redact), then cut to
-- hook.content_max bytes.
function capture.content(value, hook, secrets) return copy(value, hook, secrets, DEPTH_MAX) end

return capture
