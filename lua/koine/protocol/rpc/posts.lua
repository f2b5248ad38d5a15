--- Texts on their way to the other side of a wire that takes each by itself, as HTTP does: every one has a task, in
-- which the wire posts it and takes what is answered. None waits for another, and what goes wrong with one is that
-- one's.

local defer = require "koine.task.defer"
local errors = require "koine.data.errors"

local methods = {}
local metatable = { __index = methods }

local function finish(self, item, err)
  if item.done then return end
  item.done, item.err = true, err or false
  self.count = self.count - 1
  self.wake(item)
end

-- nil, or the error.
local function post(wire, item)
  local ran, ok, err = pcall(wire.post, wire, item.text, item)
  if ran and ok then return nil end
  if not ran then err = ok end
  if errors.is_error(err) then return err end
  return errors.new { kind = "other", retryable = false, message = err == nil and "not taken" or errors.words(err) }
end

local function deliver(self, item)
  local gone <close> = defer(function() finish(self, item) end) -- luacheck: ignore gone
  finish(self, item, post(self.wire, item))
end

--- Posts an item, a table with its `text`, in a task of its own; it gets `done`, with `err` (false: it was taken). Does
-- not wait.
function methods:put(item)
  item.done, item.err = false, false
  self.count = self.count + 1
  item.task = self.spawn(deliver, self, item)
end

--- Ends the posting of an item; returns false: it may have been taken all the same.
function methods:take_back(item)
  if not item.done and item.task then item.task:dismiss() end
  finish(self, item)
  return false
end

--- Whether nothing is being posted.
function methods:is_empty() return self.count == 0 end

--- Posts on a wire; `wake(item)` is called when an item is done, `spawn(f, …)` starts a task.
return function(wire, wake, spawn)
  return setmetatable({ wire = wire, wake = wake, spawn = spawn, count = 0 }, metatable)
end
