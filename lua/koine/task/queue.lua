--- First in, first out: queues of any values, and lines of tables. A queue grows as a table does; where memory is short
-- for that, push raises and leaves it as it was. A line takes no memory to enter: its entries hold each other, so that
-- no task is lost where memory ends.

local queue = {}

local methods = {}
local queue_mt = { __index = methods }

--- An empty queue.
function queue.new() return setmetatable({ first = 1, last = 0 }, queue_mt) end -- the entries are at first … last

--- How many entries it has.
function methods:count() return self.last - self.first + 1 end

--- Adds an entry at the end; not nil.
function methods:push(value)
  local last = self.last + 1
  self[last] = value
  self.last = last
end

--- The oldest entry, which stays; nil when there is none.
function methods:peek() return self[self.first] end

local function next_entry(self, i)
  if i < self.last then return i + 1, self[i + 1] end
end

--- For a generic for: the places and entries, the oldest first. They stay, and none may come or go meanwhile.
function methods:entries() return next_entry, self, self.first - 1 end

--- Takes the oldest entry out; nil when there is none.
function methods:pop()
  local first = self.first
  local value = self[first]
  if value == nil then return nil end
  self[first] = nil
  if first == self.last then
    self.first, self.last = 1, 0
  else
    self.first = first + 1
  end
  return value
end

--- Takes one entry out, wherever it stands, if it is there; those behind it keep their order.
function methods:remove(value)
  for i = self.first, self.last do
    if self[i] == value then
      table.move(self, i + 1, self.last + 1, i) -- the entry behind the last is nil
      self.last = self.last - 1
      return
    end
  end
end

local line = {}
local line_mt = { __index = line }

--- An empty line. Its entries are tables that have the field `following` from the start, false, and are in no other
-- line.
function queue.line() return setmetatable({ first = false, last = false, n = 0 }, line_mt) end

--- How many entries it has.
function line:count() return self.n end

--- Adds an entry at the end. Takes no memory.
function line:push(entry)
  local last = self.last
  if last then last.following = entry else self.first = entry end
  self.last, self.n = entry, self.n + 1
end

--- Takes the oldest entry out; nil when there is none.
function line:pop()
  local entry = self.first
  if not entry then return nil end
  local following = entry.following
  self.first, self.n, entry.following = following, self.n - 1, false
  if not following then self.last = false end
  return entry
end

return queue
