--- Our requests that wait for an answer: by id, integers from 1. Their ids have nothing to do with those of the other
-- side.

local core = require "koine.core"
local failure = require "koine.protocol.rpc.failure"
local queue = require "koine.task.queue"
local wait = require "koine.task.wait"

local methods = {}
local metatable = { __index = methods }

--- The next id.
function methods:next_id()
  self.last = self.last + 1
  return self.last
end

--- Enters a call: {id, method, done, result | err, progress (a queue), deadline (seconds of the monotonic clock, or
-- nil)}. `timeout` and `idle` are seconds or nil.
function methods:add(id, method, timeout, idle)
  local now = wait.now()
  local call = { id = id, method = method, done = false, result = false, err = false, progress = queue.new(),
    latest = timeout and now + timeout, idle = idle, touched = now, due = false, deadline = false, idled = false }
  self.by_id[id] = call
  self:touch(call)
  return call
end

-- Sets the deadline of a call: the earlier of its two, or the one of all its time while idle time rests.
local function set_deadline(self, call)
  local due = self.resting == 0 and call.due
  call.idled = due and (not call.latest or due < call.latest) or false
  call.deadline = call.idled and due or call.latest
end

--- Begins the idle time of a call anew.
function methods:touch(call)
  call.touched = wait.now()
  call.due = call.idle and call.touched + call.idle
  set_deadline(self, call)
end

--- Stops the idle time of all calls, until `resume` was called as often: while we, and not the other side, are asked.
function methods:rest()
  self.resting = self.resting + 1
  if self.resting > 1 then return end
  self.rests_from = wait.now()
  for _, call in next, self.by_id do set_deadline(self, call) end
end

--- The end of a rest.
function methods:resume()
  self.resting = self.resting - 1
  if self.resting > 0 then return end
  local now = wait.now()
  for _, call in next, self.by_id do
    if call.due then call.due = call.due + now - math.max(self.rests_from, call.touched) end
    set_deadline(self, call)
    self.wake(call)
  end
end

local function finish(self, call, result, err)
  self.by_id[call.id] = nil
  call.done, call.result, call.err = true, result, err
  self.wake(call)
end

--- Gives an answer to its call: false where none waits for it.
function methods:answer(answer)
  local call = self.by_id[answer.id]
  if not call then return false end
  local said = answer.error
  if answer.result ~= nil and (said == nil or said == core.null) then
    finish(self, call, answer.result, false)
  else
    finish(self, call, false, failure.of_answer(answer, self.secrets))
  end
  return true
end

--- The call that a progress message names, by its id or that as a string; nil for none.
function methods:named(id)
  if type(id) == "string" then id = id:find "^%d+$" and math.tointeger(tonumber(id)) end
  return id and self.by_id[id] or nil
end

--- Fails one call.
function methods:fail(call, err)
  if not call.done then finish(self, call, false, failure.copy(err)) end
end

--- Fails all calls, each with a copy of the error.
function methods:fail_all(err)
  local id = next(self.by_id)
  while id do
    self:fail(self.by_id[id], err)
    id = next(self.by_id)
  end
end

--- Forgets a call; its answer will be an unknown one.
function methods:forget(call)
  if self.by_id[call.id] == call then self.by_id[call.id] = nil end
end

--- Whether calls wait.
function methods:is_empty() return next(self.by_id) == nil end

--- No calls yet; `wake(call)` is called when one has its answer.
return function(wake, secrets)
  return setmetatable({ by_id = {}, last = 0, resting = 0, rests_from = 0, wake = wake, secrets = secrets }, metatable)
end
