--- Which queue has been ready longest, of those whose names begin with a prefix: found without looking at the others.
-- A heap for each prefix that is asked for, made when it is asked first; the prefix that was made longest ago goes when
-- there are too many. A heap's time of a queue may be earlier than the one at which the queue is ready, never later:
-- `first` puts it right. So a change may enter the queue first, and fail after that where memory is short.

local timers = require "koine.task.timers"

local ready = {}

local methods = {}
local metatable = { __index = methods }

local HEAPS = 16

--- No queues. `queues` (a table by name) is where a new heap finds those that have items: {name, at = seconds, items}.
function ready.new(queues) return setmetatable({ queues = queues, heaps = {} }, metatable) end

local function matches(prefix, queue) return queue.name:sub(1, #prefix) == prefix end

-- Enters a queue behind the others of that time. Where memory is short, the queue still has an entry: `first` drops the
-- one that is not in heap.entries.
local function put(heap, queue, at)
  local before = heap.entries[queue]
  heap.entries[queue] = heap.timers:add { at = at, queue = queue }
  if before then heap.timers:cancel(before) end
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

--- Enters a queue that is ready at `at`, or later.
function methods:enter(queue, at)
  for _, heap in ipairs(self.heaps) do
    if matches(heap.prefix, queue) then put(heap, queue, at) end
  end
end

--- Has a queue that was entered looked at again at `at`, if that is earlier than before.
function methods:expect(queue, at)
  for _, heap in ipairs(self.heaps) do
    local entry = heap.entries[queue]
    if entry and entry.at > at then put(heap, queue, at) end
  end
end

local function drop(heap, entry)
  heap.timers:cancel(entry)
  if heap.entries[entry.queue] == entry then heap.entries[entry.queue] = nil end
end

--- Takes a queue out.
function methods:leave(queue)
  for _, heap in ipairs(self.heaps) do
    local entry = heap.entries[queue]
    if entry then drop(heap, entry) end
  end
end

--- The queue that has been ready longest at `now`, or nil. `held(name)` says until when somebody holds it, nil: nobody.
function methods:first(prefix, now, held)
  local heap = heap_of(self, prefix)
  while true do
    local entry = heap.timers:first()
    if not entry or entry.at > now then return nil end
    local queue = entry.queue
    local at = math.max(queue.at, held(queue.name) or queue.at)
    if heap.entries[queue] ~= entry or not queue.items:peek() then
      drop(heap, entry)
    elseif at <= entry.at then
      return queue
    else
      put(heap, queue, at)
    end
  end
end

return ready
