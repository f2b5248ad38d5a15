--- Turns of many people: several chat messages packed into one message of the user, each under its sender's name.
-- An event is one message that arrived: {sender = table | sender_json = string, prompt = string, extras = array of
-- blocks}; other fields are the caller's. Adjacency alone says whose a block is: it belongs to the nearest envelope
-- before it. Nothing that people wrote is changed, left out, merged or moved to another event.
--
--   local blocks = koine.packing.pack { { sender = alice, prompt = "see this" }, { sender = bob, prompt = "what?" } }
--   local r = assert(adapter:chat { { role = "user", content = blocks } })

local check = require "koine.data.check"
local errors = require "koine.data.errors"
local metrics = require "koine.dispatch.packing.metrics"
local sender_line = require "koine.dispatch.packing.sender"
local timestamp = require "koine.dispatch.packing.timestamp"

local packing = { percentile = metrics.percentile, overhead_alarm = metrics.overhead_alarm }

local MEDIA_TOKENS = 512 -- what a block that is no text is taken to cost

local function text_block(text) return { type = "text", text = text } end

local function tokens_of_bytes(n) return n // 4 + 1 end
local function tokens_of(text) return tokens_of_bytes(#text) end

--- The sender's line of JSON. `sender` is {sender_id, sender_name, display_name, channel = the platform's name,
-- channel_id = the parent channel: non-empty strings; is_bot = boolean; thread_id = nil | non-empty string;
-- thread_key = nil | "thread_ts": the name to write thread_id under; timestamp = nil | what packing.timestamp takes}.
-- Further keys come after these, sorted by name. koine.null is nothing; a timestamp that cannot be read is left out.
-- Raises an ArgumentError naming the field (`sender.is_bot`).
function packing.sender_context(sender) return sender_line(sender, "sender") end

--- A time as `YYYY-MM-DDTHH:MM:SS.mmmZ`, or nil when `value` says none. `value` is RFC 3339 text, {slack = "seconds" or
-- "seconds.fraction"}, {epoch_s = integer} or {epoch_ms = integer}. Raises an ArgumentError for values of another type.
function packing.timestamp(value) return timestamp(value, "timestamp") end

-- Raises unless `value` is an array: an event behind a hole would be lost without a word.
local function check_array(value, field, expected)
  if not check.is_list(value) then errors.argument(field, expected, value) end
end

local function check_block(block, path)
  if type(block) ~= "table" then errors.argument(path, "block", block) end
  if check.string(block.type, path .. ".type") == "text" then check.string(block.text, path .. ".text") end
end

-- Checks an event, and returns its prompt and its extras.
local function parts(event, path)
  if type(event) ~= "table" then errors.argument(path, "event", event) end
  local prompt, extras = event.prompt, event.extras
  if prompt == nil then prompt = "" end
  if extras == nil then extras = {} end
  check.string(prompt, path .. ".prompt")
  check_array(extras, path .. ".extras", "array of blocks")
  for i, block in ipairs(extras) do check_block(block, ("%s.extras[%d]"):format(path, i)) end
  return prompt, extras
end

-- The line that the envelope of an event stands around.
local function line_of(event, path)
  local line = event.sender_json
  if line == nil then return sender_line(event.sender, path .. ".sender") end
  return check.string(line, path .. ".sender_json")
end

local OPEN, CLOSE = "<sender_context>\n", "\n</sender_context>"

local function envelope_of(event, path) return OPEN .. line_of(event, path) .. CLOSE end

local function check_event(event)
  if type(event) ~= "table" then errors.argument("event", "event", event) end
end

--- The envelope of an event: `<sender_context>`, the sender's line, `</sender_context>`, a line each, no newline at the
-- end. `sender_json` is taken byte for byte and wins over `sender`. Raises an ArgumentError naming the bad field.
function packing.envelope(event)
  check_event(event)
  return envelope_of(event, "event")
end

--- The cost of an event's envelope, in estimated tokens: a quarter of its bytes, and one. Raises as envelope does.
function packing.envelope_tokens(event)
  check_event(event)
  return tokens_of_bytes(#OPEN + #line_of(event, "event") + #CLOSE)
end

--- The cost of an event's content, without its envelope, in estimated tokens: for the prompt and for each text
-- extra a quarter of its bytes and one, for each other block 512. Raises an ArgumentError naming the bad field.
function packing.estimate(event)
  local prompt, extras = parts(event, "event")
  local sum = tokens_of(prompt)
  for _, block in ipairs(extras) do sum = sum + (block.type == "text" and tokens_of(block.text) or MEDIA_TOKENS) end
  return sum
end

-- Appends the extras that are text (or those that are not), in their order.
local function append_extras(blocks, extras, text)
  for _, block in ipairs(extras) do
    if (block.type == "text") == text then blocks[#blocks + 1] = block end
  end
end

-- By layout: appends the blocks of one event.
local LAYOUTS = {
  split = function(blocks, envelope, prompt, extras)
    blocks[#blocks + 1] = text_block(envelope)
    append_extras(blocks, extras, true)
    if prompt ~= "" then blocks[#blocks + 1] = text_block(prompt) end
    append_extras(blocks, extras, false)
  end,
  combined = function(blocks, envelope, prompt, extras)
    blocks[#blocks + 1] = text_block(envelope .. "\n\n" .. prompt)
    table.move(extras, 1, #extras, #blocks + 1, blocks)
  end,
}

local OPTIONS = check.options { layout = check.default(check.one_of { "split", "combined" }, "split") }

--- Packs an array of events, in their order: the content of one message of the user, and, not for the model, which
-- blocks are whose: an array of {first, last}, indices into the blocks, one for each event.
-- `opts.layout` is "split" (default: the envelope, the text extras, the prompt unless it is empty, the other extras:
-- a block each) or "combined" (envelope, blank line and prompt in one block, then the extras as they came).
-- The extras' blocks are passed on themselves, unchanged and unchecked. An empty array packs to nothing.
-- Raises an ArgumentError naming the bad field (`batch[2].sender.channel`) or option.
function packing.pack(batch, opts)
  if opts == nil then opts = {} end
  local append = LAYOUTS[OPTIONS(opts).layout]
  check_array(batch, "batch", "array of events")
  local blocks, spans = {}, {}
  for i, event in ipairs(batch) do
    local path = ("batch[%d]"):format(i)
    local prompt, extras = parts(event, path)
    local first = #blocks + 1
    append(blocks, envelope_of(event, path), prompt, extras)
    spans[i] = { first, #blocks }
  end
  return blocks, spans
end

return packing
