--- Spans that wait to be sent, as text of JSON: the oldest first, bounded in number and in bytes. A full queue takes no
-- more: what is newest is lost, and its caller counts it.

local BYTES_MAX = 32 << 20 -- of all that waits
local BODY_MAX = 4 << 20   -- of one request, unless a single span is longer

local methods = {}
local queue_mt = { __index = methods }

--- How many spans wait.
function methods:count() return self.last - self.first + 1 end

--- Adds a span: whether there was room.
function methods:push(text)
  if self:count() >= self.max or self.bytes + #text > BYTES_MAX then return false end
  self.last, self.bytes = self.last + 1, self.bytes + #text
  self[self.last] = text
  return true
end

--- The oldest spans that one request may hold, joined by commas, and how many they are. They stay in the queue.
function methods:batch(max)
  local n, bytes = 0, 0
  while n < max and self.first + n <= self.last do
    bytes = bytes + #self[self.first + n]
    if n > 0 and bytes > BODY_MAX then break end
    n = n + 1
  end
  return table.concat(self, ",", self.first, self.first + n - 1), n
end

--- Takes the n oldest out.
function methods:drop(n)
  for _ = 1, n do
    self.bytes = self.bytes - #self[self.first]
    self[self.first], self.first = nil, self.first + 1
  end
end

--- An empty queue for `max` spans.
return function(max) return setmetatable({ first = 1, last = 0, bytes = 0, max = max }, queue_mt) end
