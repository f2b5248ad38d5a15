--- Who sent a message, as the model reads it: one line of JSON whose bytes follow from the values alone.
-- Keys come in a fixed order, so that an unchanged history keeps its bytes (prompt caches look at them) and a test can
-- name them. `<` and `>` are written \u003c and \u003e: a display name cannot close the tag that the line stands in.

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local timestamp = require "koine.dispatch.packing.timestamp"

local SCHEMA = "openab.sender.v1"
local ANGLES = { ["<"] = "\\u003c", [">"] = "\\u003e" }

-- The fields that every sender has, in order, and all the names that are not the caller's own.
local NAMES = { "sender_id", "sender_name", "display_name", "channel", "channel_id" }
local KNOWN = { schema = true, thread_id = true, thread_key = true, is_bot = true, timestamp = true }
local LABELS = {} -- as they stand before a value
for i, name in ipairs(NAMES) do KNOWN[name], LABELS[i] = true, (',"%s":'):format(name) end

local encode = core.encode

-- The sender's field; nil where it holds JSON's null.
local function field(sender, name)
  local value = sender[name]
  if value ~= core.null then return value end
end

local SCHEMA_WORD, THREAD_KEY = check.one_of { SCHEMA }, check.one_of { "thread_id", "thread_ts" }

-- Checks what is not a string of the record.
local function check_rest(sender, path)
  if type(sender) ~= "table" then errors.argument(path, "table of the sender", sender) end
  local schema, thread_key, is_bot = field(sender, "schema"), field(sender, "thread_key"), field(sender, "is_bot")
  if schema ~= nil then SCHEMA_WORD(schema, path .. ".schema") end
  if thread_key ~= nil then THREAD_KEY(thread_key, path .. ".thread_key") end
  if sender.thread_ts ~= nil then
    errors.argument(path .. ".thread_ts", 'thread_id with thread_key = "thread_ts"', sender.thread_ts)
  end
  check.boolean(is_bot, path .. ".is_bot")
end

local function string_of(sender, name, path)
  local value = field(sender, name)
  if type(value) ~= "string" or value == "" then errors.argument(path .. "." .. name, "non-empty string", value) end
  return value
end

-- The members of the caller's own, sorted by the bytes of their names: `"a":1,"b":2`; "" when there are none.
local function own_members(sender, path)
  local own
  for name, value in next, sender do
    if type(name) ~= "string" then errors.argument(path, "table with strings as keys", sender) end
    if not KNOWN[name] and value ~= core.null then
      own = own or {}
      own[name] = value
    end
  end
  if not own then return "" end
  local json, err = errors.try(encode, own)
  if not json then core.raise_argument(path .. err.field:gsub("^value", ""), err.expected, "something else") end
  return json:sub(2, -2)
end

--- The line of JSON for a sender; `path` begins the names of fields in errors. See koine.packing.sender_context.
return function(sender, path)
  check_rest(sender, path)
  local line = '{"schema":"' .. SCHEMA .. '"'
  for i = 1, #NAMES do line = line .. LABELS[i] .. encode(string_of(sender, NAMES[i], path)) end
  if field(sender, "thread_id") ~= nil then
    line = line .. ',"' .. (field(sender, "thread_key") or "thread_id") .. '":'
      .. encode(string_of(sender, "thread_id", path))
  end
  line = line .. ',"is_bot":' .. encode(sender.is_bot)
  local time = timestamp(sender.timestamp, path .. ".timestamp")
  if time then line = line .. ',"timestamp":' .. encode(time) end
  local own = own_members(sender, path)
  if own ~= "" then line = line .. "," .. own end
  return (line:gsub("[<>]", ANGLES)) .. "}" -- JSON itself has angle brackets in strings only
end
