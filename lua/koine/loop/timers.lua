--- Timers: who is due first. A binary heap of {at = seconds, …}, earliest first; among equals, the one that was added
-- first. Removing is lazy: an entry whose field `off` is set is dropped when its turn comes.
--
-- May call: nothing.

local timers = {}
timers.__index = timers

--- An empty heap.
function timers.new() return setmetatable({ n = 0, count = 0 }, timers) end

local function before(a, b) return a.at < b.at or a.at == b.at and a.order < b.order end

--- Adds an entry with `at` (seconds of some clock); returns it.
function timers:add(entry)
  local i = self.n + 1
  self.n, self.count = i, self.count + 1
  entry.order = self.count
  while i > 1 and before(entry, self[i // 2]) do
    self[i] = self[i // 2]
    i = i // 2
  end
  self[i] = entry
  return entry
end

-- Takes the first entry out.
local function pop(self)
  local last, n = self[self.n], self.n - 1
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

--- The earliest entry, or nil.
function timers:first()
  while self.n > 0 and self[1].off do pop(self) end
  return self[1]
end

--- Takes out and returns an entry that is due at `now`, or nil.
function timers:due(now)
  local first = self:first()
  if not first or first.at > now then return nil end
  pop(self)
  return first
end

return timers
