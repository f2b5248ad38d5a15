--- Checks the values that users hand to a dispatcher: its options, the address of a thread, a message.

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local observer = require "koine.data.observer"
local packing = require "koine.dispatch.packing"
local records = require "koine.data.records"
local vocabulary = require "koine.data.vocabulary"
local wait = require "koine.task.wait"

local settings = {}

local BUFFER, TOKENS = 10, 24000

-- By mode: whether lanes are of senders, how long an idle one stays (seconds), how many messages it takes at most.
local MODES = {
  ["per-message"] = { by_sender = false, idle = 10, cap = 1 },
  ["per-thread"] = { by_sender = false, idle = 300 },
  ["per-lane"] = { by_sender = true, idle = 300 },
}
local HOOKS = { "on_queued", "on_done", "on_error", "on_warning", "on_dispatch" }

local function milliseconds() return wait.now() * 1000 // 1 | 0 end

-- The words of a mode, in whatever case and with _ for -.
local MODE = check.that('"per-message", "per-thread" or "per-lane"', function(value)
  local name = type(value) == "string" and value:lower():gsub("_", "-")
  if MODES[name] then return name end
end)

--- The checker of targets. A target is kept itself: its functions are called as methods.
settings.target = check.that("table with run_turn", function(value, path)
  if type(value) ~= "table" then return nil end
  check.func(value.run_turn, path .. ".run_turn")
  for _, name in ipairs { "ensure_session", "cancel", "reset" } do
    if value[name] ~= nil then check.func(value[name], path .. "." .. name) end
  end
  return value
end)

local function LAYOUT(value)
  packing.pack({}, { layout = value }) -- raises for a layout that there is not
  return value
end

local COUNT = check.integer(1)
local MEMBERS = { target = check.required(settings.target), mode = check.default(MODE, "per-message"),
  max_buffered_messages = check.default(COUNT, BUFFER), max_batch_tokens = check.default(COUNT, TOKENS),
  layout = LAYOUT, count_envelope = check.default(check.boolean, true),
  idle_timeout = check.number(0, nil, "number of seconds, 0 or more"), now_ms = check.func,
  observer = observer.option }
for _, name in ipairs(HOOKS) do MEMBERS[name] = check.func end
local OPTIONS = check.options(MEMBERS, { hints = { store = "koine.dispatcher.shared" } })

-- The fields of a dispatcher whose options are these.
local function fields(kept)
  local hooks, is = {}, MODES[kept.mode]
  for _, name in ipairs(HOOKS) do hooks[name] = kept[name] end
  return { target = kept.target, mode = kept.mode, by_sender = is.by_sender,
    cap = is.cap or kept.max_buffered_messages, max_batch_tokens = kept.max_batch_tokens, layout = kept.layout,
    count_envelope = kept.count_envelope, idle_ms = (kept.idle_timeout or is.idle) * 1000,
    now_ms = kept.now_ms or milliseconds, hooks = hooks, observer = kept.observer }
end

--- The fields of a dispatcher with these options. Raises an ArgumentError naming the bad one.
function settings.constructor(given) return fields(OPTIONS(given)) end

--- As settings.constructor, for a dispatcher with options of its own: function(given) → the fields, and those of
-- `more` (a table of checkers by name) under their names.
function settings.constructor_with(more)
  local members = {}
  for name, c in next, MEMBERS do members[name] = c end
  for name, c in next, more do members[name] = c end
  local options = check.options(members)
  return function(given)
    local kept = options(given)
    local self = fields(kept)
    for name in next, more do self[name] = kept[name] end
    return self
  end
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

-- The fields of a message that this file checks, in this order; the packer checks others, the rest is the caller's.
local NAMES = { "sender", "sender_name", "estimated_tokens", "other_bot_present" }
local MESSAGE = { sender = check.called(check.table, "table of the sender"), sender_name = check.string,
  estimated_tokens = check.integer(0), other_bot_present = check.boolean }

-- Checks these fields; returns a table of those that are kept.
local function check_message(message)
  check.table(message, "message")
  local kept = {}
  for _, name in ipairs(NAMES) do
    if message[name] ~= nil then kept[name] = MESSAGE[name](message[name], "message." .. name) end
  end
  return kept
end

-- Raises the error of another room about a part of a message, with the field named as the caller knows it.
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
    local form = vocabulary.blocks[block.type]
    if not (form and form.in_result) then -- the types that a tool_result may hold, too
      errors.argument(field .. ".type", "text, image or document", block.type)
    end
    -- With the levels that a dump has around it.
    local fits, err = errors.try(core.encode, { { { { content = { block } } } } })
    if not fits then core.raise_argument(field, "values that JSON has", tostring(err)) end
  end
  ask(records.check_message, { role = "user", content = extras }, "message")
end

--- The event of a message, as the packer takes it, its costs estimated: {sender_json, prompt, extras, message, thread,
-- sender_id ("" where lanes are not of senders), sender_name, tokens, envelope_tokens, cost = what counts for a batch}.
function settings.event(dispatcher, thread, message)
  local kept, sender = check_message(message), message.sender
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
  event.tokens = kept.estimated_tokens or estimate
  event.cost = event.tokens + (dispatcher.count_envelope and event.envelope_tokens or 0)
  return event
end

return settings
