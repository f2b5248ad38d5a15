--- Single flight: of several coroutines that need the same thing at once, one fetches it and the others wait for it.

local errors = require "koine.data.errors"
local wait = require "koine.task.wait"

local flight = {}

-- Ends a flight, also when its function raised or its coroutine was closed: the others look again.
local function land(self)
  self.landed = true
  if self.slot.flight == self then self.slot.flight = nil end
  for _, token in ipairs(self.waiting) do wait.wake(token) end
end

local Flight = { __close = land }

-- Waits for the end of a flight: true, false when the patience is over, or nil, err when the waiter was cancelled.
local function await(running, patience)
  local token, deadline = {}, wait.now() + patience
  running.waiting[#running.waiting + 1] = token
  while not running.landed do
    local left = deadline - wait.now()
    if left <= 0 then return false end
    local _, err = wait.park(token, left)
    if err then return nil, err end
  end
  return true
end

-- An error of one's own: every call enters its attempts in the one it reports.
local function copy_of(err)
  local copy = {}
  for field, value in next, err do copy[field] = value end
  copy.attempts = nil
  return setmetatable(copy, getmetatable(err))
end

--- Returns what f returns: a value, or nil, err. When `slot` (a table) has a flight of another coroutine, waits for
-- that one and returns its value or a copy of its error. Calls f itself where the other one was cancelled, raised, or
-- took longer than `patience` seconds, which a coroutine that cannot yield makes it do. nil, err too when f, further
-- up the stack, is what called.
function flight.run(slot, patience, f)
  local running = slot.flight
  while running do
    if running.owner == coroutine.running() then
      return nil, errors.new { kind = "other",
        message = "a login waits for itself: its callback may not use the adapter" }
    end
    local landed, interrupted = await(running, patience)
    if interrupted then return nil, interrupted end
    if running.value ~= nil then return running.value end
    if running.err then return nil, copy_of(running.err) end
    running = landed and slot.flight or nil
  end
  local mine <close> = setmetatable({ slot = slot, owner = coroutine.running(), waiting = {} }, Flight)
  slot.flight = mine
  local value, err = f()
  mine.value = value
  if err and err.kind ~= "cancelled" then mine.err = err end
  return value, err
end

return flight
