--- Notifications that came, in a queue for each session, until somebody takes them. Bounded: each queue in entries, all
-- queues together in bytes, as the other side may send large messages, and names the sessions.

local defer = require "koine.task.defer"
local queue = require "koine.task.queue"
local wait = require "koine.task.wait"

local ENTRY = 512 -- bytes that an entry takes besides its message

local methods = {}
local metatable = { __index = methods }

local function box_of(self, key)
  local box = self.boxes[key]
  if not box then
    box = { items = queue.new(), waiting = {}, busy = false }
    self.boxes[key] = box
  end
  return box
end

-- Forgets a queue that nobody needs.
local function tidy(self, key, box)
  if box.items:count() == 0 and not box.busy and not next(box.waiting) and self.boxes[key] == box then
    self.boxes[key] = nil
  end
end

--- Whether there is something to take for that session: not while another one takes it.
function methods:has(key)
  local box = self.boxes[key]
  return box ~= nil and not box.busy and box.items:count() > 0
end

-- Whether an entry has to wait. One that is larger than all room goes in alone.
local function is_full(self, box, size)
  return box.items:count() >= self.max or self.bytes > 0 and self.bytes + size > self.bytes_max
end

--- Adds f(params) to the queue of the session `key`, and waits while that is full, or all together are. `size` is what
-- the message took, in bytes.
function methods:put(key, f, params, size)
  local box = box_of(self, key)
  size = size + ENTRY
  while is_full(self, box, size) do
    tidy(self, key, box)
    wait.park(self)
    box = box_of(self, key)
  end
  box.items:push { f, params, size }
  self.bytes = self.bytes + size
  for token in next, box.waiting do self.wake(token) end
end

-- Gives back the room that entries took.
local function give_back(self, size)
  self.bytes = self.bytes - size
  wait.wake(self)
end

--- Calls what is in the queue, in order, until it is empty; at once, where another one does this already. Raises what a
-- function raises; the others are left.
function methods:empty(key)
  local box = self.boxes[key]
  if not box or box.busy then return end
  local free <close> = defer(function() -- luacheck: ignore free
    box.busy = false
    if box.items:count() > 0 then
      local token = next(box.waiting)
      if token then self.wake(token) end
    end
    tidy(self, key, box)
  end)
  box.busy = true
  local item = box.items:pop()
  while item do
    give_back(self, item[3])
    item[1](item[2])
    item = box.items:pop()
  end
end

--- A value for <close>: until then the token is woken whenever something comes for that session.
function methods:watch(key, token)
  local box = box_of(self, key)
  box.waiting[token] = true
  return defer(function()
    box.waiting[token] = nil
    tidy(self, key, box)
  end)
end

--- Drops the queue of a session.
function methods:drop(key)
  local box = self.boxes[key]
  if not box then return end
  local size = 0
  for _, item in box.items:entries() do size = size + item[3] end
  box.items = queue.new()
  give_back(self, size)
  tidy(self, key, box)
end

--- Queues of at most `max` entries each, and `bytes_max` bytes together; `wake(token)` wakes who watches.
return function(max, bytes_max, wake)
  return setmetatable({ boxes = {}, max = max, bytes_max = bytes_max, bytes = 0, wake = wake }, metatable)
end
