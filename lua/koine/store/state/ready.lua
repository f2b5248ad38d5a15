--- Which queue has been ready longest, of those whose names begin with a prefix: found without looking at the others.
-- A heap for each prefix that is asked for, made when it is asked first; the prefix that was made longest ago goes when
-- there are too many.

local timers = require "koine.task.timers"

local ready = {}

local methods = {}
local metatable = { __index = methods }

local HEAPS = 16

--- No queues. `queues` (a table by name) is where a new heap finds those that have items: {name, at = seconds, items}.
function ready.new(queues) return setmetatable({ queues = queues, heaps = {} }, metatable) end

local function matches(prefix, queue) return queue.name:sub(1, #prefix) == prefix end

local function put(heap, queue, at)
  local entry = heap.entries[queue]
  if entry then heap.timers:cancel(entry) end
  heap.entries[queue] = heap.timers:add { at = at, queue = queue }
end

local function heap_of(self, prefix)
  for _, heap in ipairs(self.heaps) do
    if heap.prefix == prefix then return heap end
  end
  local heap, waiting = { prefix = prefix, timers = timers.new(), entries = {} }, {}
  for _, queue in pairs(self.queues) do
    if matches(prefix, queue) and queue.items:peek() then waiting[#waiting + 1] = queue end
  end
  table.sort(waiting, function(a, b)
    return a.at < b.at or a.at == b.at and a.items:peek().seq < b.items:peek().seq
  end)
  for _, queue in ipairs(waiting) do put(heap, queue, queue.at) end
  if #self.heaps == HEAPS then table.remove(self.heaps, 1) end
  self.heaps[#self.heaps + 1] = heap
  return heap
end

--- Enters a queue as ready at queue.at, or anew.
function methods:enter(queue)
  for _, heap in ipairs(self.heaps) do
    if matches(heap.prefix, queue) then put(heap, queue, queue.at) end
  end
end

--- Takes a queue out.
function methods:leave(queue)
  for _, heap in ipairs(self.heaps) do
    local entry = heap.entries[queue]
    if entry then
      heap.timers:cancel(entry)
      heap.entries[queue] = nil
    end
  end
end

--- The queue that has been ready longest at `now`, or nil. `held(name)` says until when somebody holds it, nil: nobody.
function methods:first(prefix, now, held)
  local heap = heap_of(self, prefix)
  while true do
    local entry = heap.timers:first()
    if not entry or entry.at > now then return nil end
    local ends = held(entry.queue.name)
    if not ends then return entry.queue end
    put(heap, entry.queue, ends)
  end
end

return ready
