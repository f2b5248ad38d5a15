--- Single flight: of several coroutines that need the same thing at once, one fetches it and the others wait for it.

local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local wait = require "koine.task.wait"

-- Waits for the end of a flight: true, false when the time is over (`deadline`, a time of wait.now), or nil, err when
-- the waiter was cancelled.
local function await(running, deadline)
  local token = {}
  running.waiting[#running.waiting + 1] = token
  while not running.landed do
    local left = deadline - wait.now()
    if left <= 0 then return false end
    local _, err = wait.park(token, left)
    if err then return nil, err end
  end
  return true
end

-- A copy of an error: every call enters its attempts in the error that it reports.
local function copy_of(err)
  local copy = {}
  for field, value in next, err do copy[field] = value end
  copy.attempts = nil
  return setmetatable(copy, getmetatable(err))
end

-- True for the end of a flight that says nothing about the thing it was for: cancelled, or a time limit here. A
-- server's timeout has a status.
local function is_own(err) return err.kind == "cancelled" or err.kind == "timeout" and not err.status_code end

--- Returns what f returns: a value, or nil, err. When `slot` (a table, which gets the field `flight`) has a flight of
-- another coroutine, waits for that one and returns its value or a copy of its error. Calls f itself where the other
-- one was cancelled, raised, or took longer than `seconds` seconds, which a coroutine that cannot yield makes it do;
-- also where it ended by a time limit: that was the other one's, and may be shorter than its own.
-- Also returns nil, err when f itself, further up the stack, made this call.
return function(slot, f, seconds)
  local running, deadline = slot.flight, wait.now() + seconds
  while running do
    if running.owner == coroutine.running() then
      return nil, errors.new { kind = "other",
        message = "a login waits for itself: its callback must not use what is logging in" }
    end
    local landed, interrupted = await(running, deadline)
    if interrupted then return nil, interrupted end
    if running.value ~= nil then return running.value end
    if running.err then return nil, copy_of(running.err) end
    running = landed and slot.flight or nil
  end
  local mine = { owner = coroutine.running(), waiting = {}, landed = false }
  local landing <close> = defer(function() -- luacheck: ignore landing
    mine.landed = true
    if slot.flight == mine then slot.flight = nil end
    for _, token in ipairs(mine.waiting) do wait.wake(token) end
  end)
  slot.flight = mine
  local value, err = f()
  mine.value = value
  if err and not is_own(err) then mine.err = err end
  return value, err
end
