--- Commands to whoever plays a thread, on whatever machine: a value beside its history, JSON of
--   cancel   a number that is another one with each cancel_turn: the turn that runs when it changes is cancelled
--   drop     the messages up to this sequence are dropped, and a turn of them is cancelled
--   forget   the same, and the history is forgotten
-- drop and forget are sequences of marks in the thread's queue (item.mark), which say the same to those who come later.

local core = require "koine.core"
local errors = require "koine.data.errors"
local item = require "koine.dispatch.shared.item"

local commands = {}

local DAY = 24 * 3600
local FIELDS = { "cancel", "drop", "forget" }

local function decode(key, text)
  local read, err = core.decode(text)
  local fits = not err and type(read) == "table"
  for _, name in ipairs(FIELDS) do
    fits = fits and (read[name] == nil or math.type(read[name]) == "integer")
  end
  if fits then return read end
  return nil, errors.new { kind = "protocol", message = ("the value %s holds no commands"):format(key) }
end

--- The commands of a queue's thread, {} where there are none, and their version; nil, err.
function commands.read(self, queue)
  local key = item.commands(queue)
  local text, version = self.store:get(key)
  if not text then
    if version then return nil, version end
    return {}, nil
  end
  local read, err = decode(key, text)
  if not read then return nil, err end
  return read, version
end

-- Changes the commands of a queue's thread with `change(commands)`: true, or nil, err.
local function alter(self, queue, change)
  local key = item.commands(queue)
  local made
  repeat
    local read, version = commands.read(self, queue)
    if not read then return nil, version end
    change(read)
    local err
    made, err = self.store:put(key, core.encode(read), { if_version = version or "absent", ttl = DAY })
    if made == nil then return nil, err end
  until made
  return true
end

--- Has the turn that runs in a thread cancelled: true, or nil, err.
function commands.cancel(self, queue)
  return alter(self, queue, function(read)
    local before = read.cancel
    repeat read.cancel = string.unpack("I5", core.random(5)) until read.cancel ~= before
  end)
end

--- Has dropped what a thread has waiting ("cancel_all"), or that and the history ("reset"): true, or nil, err.
function commands.drop(self, queue, thread, command)
  local seq, err = self.store:push(queue, item.mark(thread, command))
  if not seq then return nil, err end
  return alter(self, queue, function(read)
    read.drop = math.max(read.drop or 0, seq)
    if command == "reset" then read.forget = math.max(read.forget or 0, seq) end
  end)
end

--- Adds what a mark in the queue says.
function commands.heed(read, command, seq)
  read.drop = math.max(read.drop or 0, seq)
  if command == "reset" then read.forget = math.max(read.forget or 0, seq) end
end

--- Whether commands that came while a turn ran mean it: `stamp` is the field cancel of when it was claimed, `first` its
-- first sequence.
function commands.means(read, stamp, first)
  return read.cancel ~= nil and read.cancel ~= stamp or (read.drop or 0) > first
end

return commands
