--- Notifications that came, in a queue for each session, until somebody takes them.

local defer = require "koine.task.defer"
local queue = require "koine.task.queue"
local wait = require "koine.task.wait"

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

--- Adds f(params) to the queue of the session `key`, and waits while that is full.
function methods:put(key, f, params)
  local box = box_of(self, key)
  while box.items:count() >= self.max do
    wait.park(box)
    box = box_of(self, key) -- it may have been forgotten
  end
  box.items:push { f, params }
  for token in next, box.waiting do self.wake(token) end
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
    if box.items:count() == self.max - 1 then wait.wake(box) end
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
  box.items = queue.new()
  wait.wake(box)
  tidy(self, key, box)
end

--- Queues of at most `max` entries; `wake(token)` wakes who watches.
return function(max, wake) return setmetatable({ boxes = {}, max = max, wake = wake }, metatable) end
