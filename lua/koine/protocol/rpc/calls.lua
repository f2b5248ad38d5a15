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
    latest = timeout and now + timeout, idle = idle, deadline = false, idled = false }
  self.by_id[id] = call
  self:touch(call)
  return call
end

--- Begins the idle time of a call anew.
function methods.touch(_, call)
  local due = call.idle and wait.now() + call.idle
  call.idled = due and (not call.latest or due < call.latest) or false
  call.deadline = call.idled and due or call.latest
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
  return setmetatable({ by_id = {}, last = 0, wake = wake, secrets = secrets }, metatable)
end
