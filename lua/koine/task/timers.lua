--- Timers: which is due first. A binary heap of {at = seconds, …}, earliest first; among equals, the one that was added
-- first. A timer turned off stays until its turn comes or until half of the heap is off. Where memory is short for the
-- calls within, nothing has changed yet.

local wait = require "koine.task.wait"

local timers = {}
timers.__index = timers

local FEW = 64 -- entries that are off and not worth a clean-up

--- An empty heap.
function timers.new() return setmetatable({ n = 0, count = 0, idle = 0 }, timers) end

local function before(a, b) return a.at < b.at or a.at == b.at and a.order < b.order end

-- Puts an entry where it belongs among the first i.
local function lift(self, entry, i)
  while i > 1 and before(entry, self[i // 2]) do
    self[i] = self[i // 2]
    i = i // 2
  end
  self[i] = entry
end

--- Adds an entry with `at` (seconds of some clock); returns it.
function timers:add(entry)
  entry.off, entry.order = false, self.count + 1
  self[self.n + 1] = entry
  lift(self, entry, self.n + 1)
  self.n, self.count = self.n + 1, entry.order
  return entry
end

--- Turns an entry off: it will not come out. Once for each entry that has not come out.
function timers:cancel(entry)
  local n, idle = self.n, self.idle + 1
  local many = idle >= FEW and idle * 2 >= n
  if many then lift(self, self[n], n) end -- changes nothing; those that follow take no more memory
  entry.off, entry.task, self.idle = true, nil, idle
  if not many then return end
  self.n, self.idle = 0, 0
  for i = 1, n do
    local one = self[i]
    self[i] = nil
    if not one.off then
      self.n = self.n + 1
      lift(self, one, self.n)
    end
  end
end

-- Takes the first entry out.
local function pop(self)
  local last, n = self[self.n], self.n - 1
  before(last, last) -- those that follow take no more memory
  self[self.n], self.n = nil, n
  if n == 0 then return end
  local i = 1
  while true do
    local child = 2 * i
    if child > n then break end
    if child < n and before(self[child + 1], self[child]) then child = child + 1 end
    if not before(self[child], last) then break end
    self[i] = self[child]
    i = child
  end
  self[i] = last
end

--- The earliest entry that is on, or nil.
function timers:first()
  while self.n > 0 and self[1].off do
    pop(self)
    self.idle = self.idle - 1
  end
  return self[1]
end

--- Takes out and returns an entry that is due at `now`, or nil.
function timers:due(now)
  local first = self:first()
  if not first or first.at > now then return nil end
  pop(self)
  return first
end

--- Calls ready(task, false) for each entry that is due, with its `task`, whose wait is over. `ready` turns the entry
-- off.
function timers:expire(ready)
  local timer = self:first()
  if not timer then return end
  local now = wait.now()
  while timer and timer.at <= now do
    ready(timer.task, false)
    timer = self:first()
  end
end

return timers
