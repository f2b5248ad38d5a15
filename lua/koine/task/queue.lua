--- First in, first out, on a table with the fields `first` and `last` and the entries at first … last.

local fifo = {}

--- An empty one. Any table may become one by these two fields.
function fifo.new() return { first = 1, last = 0 } end

--- How many entries it has.
function fifo.count(queue) return queue.last - queue.first + 1 end

--- Adds an entry at the end; not nil.
function fifo.push(queue, value)
  local last = queue.last + 1
  queue.last = last
  queue[last] = value
end

--- Takes the oldest entry out; nil when there is none.
function fifo.pop(queue)
  local first = queue.first
  local value = queue[first]
  if value == nil then return nil end
  queue[first] = nil
  if first == queue.last then
    queue.first, queue.last = 1, 0
  else
    queue.first = first + 1
  end
  return value
end

--- Takes one entry out, wherever it stands, if it is there; those behind it keep their order.
function fifo.remove(queue, value)
  for i = queue.first, queue.last do
    if queue[i] == value then
      table.move(queue, i + 1, queue.last + 1, i) -- the entry behind the last is nil
      queue.last = queue.last - 1
      return
    end
  end
end

return fifo
