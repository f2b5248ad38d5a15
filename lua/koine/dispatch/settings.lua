--- What users hand to a dispatcher, checked: its options, the address of a thread, a message.

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local packing = require "koine.dispatch.packing"
local records = require "koine.data.records"
local wait = require "koine.task.wait"

local settings = {}

local BUFFER, TOKENS = 10, 24000

-- By mode: whether lanes are of senders, how long an idle one stays (seconds), how many messages it takes at most.
local MODES = {
  ["per-message"] = { by_sender = false, idle = 10, cap = 1 },
  ["per-thread"] = { by_sender = false, idle = 300 },
  ["per-lane"] = { by_sender = true, idle = 300 },
}
local USER_BLOCKS = { text = true, image = true, document = true }
local HOOKS = { "on_queued", "on_done", "on_error", "on_warning", "on_dispatch" }
local OPTIONS = { target = true, mode = true, max_buffered_messages = true, max_batch_tokens = true, layout = true,
  count_envelope = true, idle_timeout = true, now_ms = true }
for _, name in ipairs(HOOKS) do OPTIONS[name] = true end

local function milliseconds() return wait.now() * 1000 // 1 | 0 end

local function mode_of(value)
  local name = type(value) == "string" and value:lower():gsub("_", "-")
  if not MODES[name] then errors.argument("mode", '"per-message", "per-thread" or "per-lane"', value) end
  return name, MODES[name]
end

local function count(field, value, default)
  if value == nil then return default end
  local n = math.type(value) and math.tointeger(value)
  if not n or n < 1 then errors.argument(field, "integer, 1 or more", value) end
  return n
end

local function seconds(field, value, default)
  if value == nil then return default end
  if type(value) ~= "number" or value ~= value or value < 0 then errors.argument(field, "number of seconds", value) end
  return value
end

local function check_functions(owner, path, required, optional)
  for _, name in ipairs(required) do
    if type(owner[name]) ~= "function" then errors.argument(path .. name, "function", owner[name]) end
  end
  for _, name in ipairs(optional) do
    if owner[name] ~= nil and type(owner[name]) ~= "function" then
      errors.argument(path .. name, "function", owner[name])
    end
  end
end

--- The fields of a dispatcher with these options. Raises an ArgumentError naming the bad one.
function settings.constructor(given)
  if type(given) ~= "table" then check.refuse("options", "table", given) end
  for name in next, given do
    if not OPTIONS[name] then check.unknown("option", name, OPTIONS) end
  end
  local target = given.target
  if type(target) ~= "table" then errors.argument("target", "table with run_turn", target) end
  check_functions(target, "target.", { "run_turn" }, { "ensure_session", "cancel", "reset" })
  check_functions(given, "", {}, HOOKS)
  check_functions(given, "", {}, { "now_ms" })
  if given.count_envelope ~= nil and type(given.count_envelope) ~= "boolean" then
    errors.argument("count_envelope", "boolean", given.count_envelope)
  end
  packing.pack({}, { layout = given.layout }) -- raises for a layout that there is not
  local mode, is = mode_of(given.mode == nil and "per-message" or given.mode)
  local hooks = {}
  for _, name in ipairs(HOOKS) do hooks[name] = given[name] end
  local buffer = count("max_buffered_messages", given.max_buffered_messages, BUFFER)
  return { target = target, mode = mode, by_sender = is.by_sender, cap = is.cap or buffer,
    max_batch_tokens = count("max_batch_tokens", given.max_batch_tokens, TOKENS), layout = given.layout,
    count_envelope = given.count_envelope ~= false,
    idle_ms = seconds("idle_timeout", given.idle_timeout, is.idle) * 1000, now_ms = given.now_ms or milliseconds,
    hooks = hooks }
end

local function is_name(value) return type(value) == "string" and value ~= "" end

--- Checks the address of a thread.
function settings.check_thread(thread)
  if type(thread) ~= "table" then errors.argument("thread", "table of platform and thread_id", thread) end
  if not is_name(thread.platform) or thread.platform:find(":", 1, true) then
    errors.argument("thread.platform", "name without a colon", thread.platform)
  end
  for _, name in ipairs { "thread_id", "channel_id" } do
    if thread[name] ~= nil and not is_name(thread[name]) then
      errors.argument("thread." .. name, "non-empty string", thread[name])
    end
  end
  if not (thread.thread_id or thread.channel_id) then
    errors.argument("thread.thread_id", "non-empty string (or a channel_id)", nil)
  end
end

local function check_message(message)
  if type(message) ~= "table" then errors.argument("message", "table", message) end
  local tokens, bot, name = message.estimated_tokens, message.other_bot_present, message.sender_name
  if message.sender ~= nil and type(message.sender) ~= "table" then
    errors.argument("message.sender", "table of the sender", message.sender)
  end
  if name ~= nil and type(name) ~= "string" then errors.argument("message.sender_name", "string", name) end
  if tokens ~= nil and not (math.type(tokens) == "integer" and tokens >= 0) then
    errors.argument("message.estimated_tokens", "integer, 0 or more", tokens)
  end
  if bot ~= nil and type(bot) ~= "boolean" then errors.argument("message.other_bot_present", "boolean", bot) end
end

-- What another room says of a part of a message, with the field named as the caller knows it.
local function ask(f, ...)
  local result, err = errors.try(f, ...)
  if not err then return result end
  local field = err.field:gsub("^event%f[%W]", "message"):gsub("^sender%f[%W]", "message.sender")
    :gsub("^message%.content%f[%W]", "message.extras")
  core.raise_argument(field, err.expected, err.message:match ", got (.*)$" or "something else")
end

-- Checks that each extra is a block that every adapter takes: a bad one would fail the whole batch.
local function check_extras(extras)
  for i, block in ipairs(extras) do
    local field = ("message.extras[%d]"):format(i)
    if not USER_BLOCKS[block.type] then errors.argument(field .. ".type", "text, image or document", block.type) end
    -- With the levels that a dump has around it.
    local fits, err = errors.try(core.encode, { { { { content = { block } } } } })
    if not fits then core.raise_argument(field, "values that JSON has", tostring(err)) end
  end
  ask(records.check_message, { role = "user", content = extras }, "message")
end

--- The event of a message, as the packer takes it, its costs estimated: {sender_json, prompt, extras, message, thread,
-- sender_id ("" where lanes are not of senders), sender_name, tokens, envelope_tokens, cost = what counts for a batch}.
function settings.event(dispatcher, thread, message)
  check_message(message)
  local sender = message.sender
  local event = { message = message, thread = thread, prompt = message.prompt, extras = message.extras,
    sender_json = message.sender_json or ask(packing.sender_context, sender), sender_id = "",
    sender_name = message.sender_name or sender and sender.sender_name }
  if dispatcher.by_sender then
    event.sender_id = message.sender_id or sender and sender.sender_id
    if not is_name(event.sender_id) then
      errors.argument("message.sender_id", "non-empty string (or a sender)", event.sender_id)
    end
  end
  event.envelope_tokens = ask(packing.envelope_tokens, event)
  local estimate = ask(packing.estimate, event)
  if event.extras then check_extras(event.extras) end
  event.tokens = message.estimated_tokens or estimate
  event.cost = event.tokens + (dispatcher.count_envelope and event.envelope_tokens or 0)
  return event
end

return settings
