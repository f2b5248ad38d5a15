--- What lies in the queue of a thread: messages, and marks that commands leave behind them, as JSON. Also the names
-- that a thread's queue and values have in the store.

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local settings = require "koine.dispatch.settings"

local item = {}

local FORMAT = "koine.message"
local COMMAND = check.one_of { "cancel_all", "reset" } -- another version may know more: those are no items of ours
local NAME_MAX = 500 -- bytes of a queue's name: a store takes 512, and other names have a few more

--- The name of the value of a thread's history; `queue` is the name of its queue, the dispatcher's prefix and the
-- session's key.
function item.history(queue) return "h:" .. queue end

--- The name of the value of its commands.
function item.commands(queue) return "c:" .. queue end

--- The name of the queue of its dead letters.
function item.dead(queue) return "dead:" .. queue end

--- The name of the queue of a thread's address, which settings.check_thread took. Raises an ArgumentError for ids that
-- no store takes.
function item.queue(prefix, thread)
  local name = prefix .. thread.platform .. ":" .. (thread.thread_id or thread.channel_id)
  if #name > NAME_MAX or name:find("\0", 1, true) then
    errors.argument("thread", ("ids of at most %d bytes in all, without NUL"):format(NAME_MAX - #prefix),
      thread.thread_id or thread.channel_id)
  end
  return name
end

-- Raises for the first text that is no UTF-8: JSON would hold another one.
local function check_text(value, path)
  if type(value) == "string" then
    if not utf8.len(value) then core.raise_argument(path, "UTF-8", "other bytes") end
  elseif type(value) == "table" then
    for _, name in ipairs(check.names(value)) do
      local place = type(name) == "number" and ("%s[%d]"):format(path, name) or path .. "." .. name
      if type(name) == "string" then check_text(name, place) end
      check_text(value[name], place)
    end
  end
end

--- A message as text for the queue. Raises an ArgumentError that names what JSON cannot hold (`message.trigger`).
function item.encode(thread, message)
  local text, err = errors.try(core.encode, { format = FORMAT, thread = thread, message = message, sent = core.wall() })
  if not text then
    local field = err.field:gsub("^value%.", "")
    core.raise_argument(field, err.expected, err.message:match ", got (.*)$" or "something else")
  end
  check_text(thread, "thread")
  check_text(message, "message")
  return text
end

--- The mark of a command ("cancel_all", "reset") as text for the queue.
function item.mark(thread, command)
  return core.encode { format = FORMAT, thread = thread, command = command }
end

-- The event of a message that was read: nil, err where it is none.
local function event_of(dispatcher, queue, read)
  settings.check_thread(read.thread)
  if item.queue(dispatcher.prefix, read.thread) ~= queue then
    errors.argument("thread", "that of the queue", read.thread.thread_id)
  end
  if read.command then return { command = COMMAND(read.command, "command"), thread = read.thread } end
  return settings.event(dispatcher, read.thread, read.message)
end

--- The event of an item of a claim, as settings.event makes it, with `waited`, milliseconds since it was handed in by
-- the clocks of the two machines; or {command, thread} of a mark. nil, err where the item is neither.
function item.decode(dispatcher, queue, text)
  local read, err = core.decode(text)
  if err then return nil, err end
  if type(read) ~= "table" or read.format ~= FORMAT then
    return nil, errors.new { kind = "protocol", message = ("an item of %s is no message"):format(queue) }
  end
  local event, unfit = errors.try(event_of, dispatcher, queue, read)
  if not event then return nil, unfit end
  local sent = type(read.sent) == "number" and read.sent or core.wall()
  event.waited = math.max(0, math.floor((core.wall() - sent) * 1000))
  return event
end

return item
