--- Texts on their way to the other side: one task writes them, in order. So nobody else waits for a peer that stops
-- reading, unless he wants to know that his text was written.

local errors = require "koine.data.errors"
local queue = require "koine.task.queue"
local wait = require "koine.task.wait"

local methods = {}
local metatable = { __index = methods }

local function finish(self, item, err)
  item.done, item.err = true, err or false
  self.wake(item)
end

--- Refuses all that waits, and whatever comes. Returns nothing.
function methods:fail(err)
  self.err = self.err or err
  local item = self.items:pop()
  while item do
    finish(self, item, self.err)
    item = self.items:pop()
  end
end

-- nil, or the error. That a program reads no more is the end of the connection.
local function write(wire, text)
  local ran, ok, err = pcall(wire.write, wire, text)
  if ran and ok then return nil end
  if not ran then err = errors.is_error(ok) and ok or nil end
  local kind = err and err.kind ~= "other" and err.kind or "connect"
  return errors.new { kind = kind, code = err and err.code or "closed", retryable = false,
    message = err and errors.words(err) or ran and "nothing more can be written" or errors.words(ok) }
end

--- Writes what is put, for ever: what a task runs.
function methods:run()
  while true do
    local item = self.items:pop()
    if not item then
      wait.park(self)
    else
      item.begun, self.writing = true, true
      local err = write(self.wire, item.text)
      self.writing = false
      finish(self, item, err)
      if err then self:fail(err) end
    end
  end
end

--- Adds an item, a table with its `text`; it gets `begun` when it is being written, and `done` with `err` (false: it
-- was written). Does not wait.
function methods:put(item)
  item.begun, item.done, item.err = false, false, false
  if self.err then return finish(self, item, self.err) end
  self.items:push(item)
  wait.wake(self)
end

--- Takes an item back: true, or false when it is being written, or was.
function methods:take_back(item)
  if item.begun or item.done then return false end
  self.items:remove(item)
  finish(self, item, nil)
  return true
end

--- Whether nothing is left to write.
function methods:is_empty() return self.items:count() == 0 and not self.writing end

--- An outbox for a wire; `wake(item)` is called when an item is done.
return function(wire, wake)
  return setmetatable({ wire = wire, wake = wake, items = queue.new(), writing = false, err = false }, metatable)
end
