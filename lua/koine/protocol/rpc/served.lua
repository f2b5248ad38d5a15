--- Requests of the other side: each runs in a task of its own, for as long as it takes, and is always answered. What
-- all of them hold is bounded.

local defer = require "koine.task.defer"
local failure = require "koine.protocol.rpc.failure"
local message = require "koine.protocol.rpc.message"
local text = require "koine.data.text"
local wait = require "koine.task.wait"

local NAME_MAX = 100 -- bytes of a method's name in an error
local BUSY = { code = -32000, message = "The requests that are handled now are too large together" }

local methods = {}
local metatable = { __index = methods }

-- The text of an answer; a value that JSON cannot say is an error of the handler's.
local function encoded(self, id, write, value)
  local ok, whole = pcall(write, id, value)
  if ok then return whole end
  return message.failure(id, failure.for_answer(whole, self.secrets))
end

-- The text of the answer to a request that the handler was asked.
local function ask(self, request, handler)
  local ok, result, err = pcall(handler, request.params, request)
  if not ok then
    local said = failure.for_answer(result, self.secrets)
    said.code, said.data = message.INTERNAL_ERROR, nil
    return encoded(self, request.id_text, message.failure, said)
  end
  if result == nil and err ~= nil then
    return encoded(self, request.id_text, message.failure, failure.for_answer(err, self.secrets))
  end
  return encoded(self, request.id_text, message.result, result)
end

-- What is answered to a request without a handler, or without a method that is one (false).
local function refusal(self, request)
  if not request.method then return { code = message.INVALID_REQUEST, message = "Invalid request" } end
  return failure.for_answer({ code = message.METHOD_NOT_FOUND,
    message = "Method not found: " .. text.cut(request.method, NAME_MAX) }, self.secrets)
end

-- Answers, and waits until that is written: so a side that asks without reading asks no more at some time.
local function send(self, answer)
  local item = { text = answer }
  self.outbox:put(item)
  while not item.done do wait.park(item) end
end

-- The request is over. Also for one whose task was ended before it began.
local function leave(self, request)
  if request.left then return end
  request.left, self.count, self.bytes = true, self.count - 1, self.bytes - request.size
  if request.id ~= nil and self.by_id[request.id] == request then self.by_id[request.id] = nil end
  self.wake(self)
end

-- The same for a request whose task is ended; it counts until then.
local function send_late(self, answer)
  local gone <close> = defer(function() leave(self, { size = 0 }) end) -- luacheck: ignore gone
  send(self, answer)
end

local function serve(self, request)
  local gone <close> = defer(function() leave(self, request) end) -- luacheck: ignore gone
  local handler = self.handlers[request.method]
  local answer = handler and ask(self, request, handler)
    or encoded(self, request.id_text, message.failure, refusal(self, request))
  if request.answered then return end -- it was ended by itself
  request.answered = true
  send(self, answer)
end

-- Answers an error in place of a handler. It counts as a request until that is written.
local function answer_late(self, request, err)
  self.count = self.count + 1
  self.spawn(send_late, self, encoded(self, request.id_text, message.failure, failure.for_answer(err, self.secrets)))
end

--- Takes a request {method (false: it had none), params, id, id_text (its JSON), size (in bytes)}: begins a task for
-- it, and waits before that while as many as `max` run. Where those that run hold `bytes_max`, it is refused and not
-- kept waiting: they may wait for an answer that is behind it.
function methods:take(request)
  while self.count >= self.max do wait.park(self) end
  if self.bytes > 0 and self.bytes + request.size > self.bytes_max then return answer_late(self, request, BUSY) end
  self.count, self.bytes = self.count + 1, self.bytes + request.size
  if request.method then self.by_id[request.id] = request end
  request.task = self.spawn(serve, self, request)
end

--- Ends the handler of the request with that id, as the other side numbered it, and answers with `err` (nil: -32800,
-- cancelled): true, or false where no such request waits for its answer.
function methods:abort(id, err)
  local request = id ~= nil and self.by_id[id]
  if not request or request.answered then return false end
  request.answered = true
  answer_late(self, request, err or { code = message.CANCELLED, message = "cancelled" })
  request.task:dismiss()
  if request.task.done then leave(self, request) end
  return true
end

--- Requests for `handlers`, a table {method = function(params, request) → result, or nil, err}. `spawn(f, …)` starts a
-- task, `wake(token)` wakes whoever waits. At most `max` handlers run at once, for messages of `bytes_max` bytes.
return function(handlers, outbox, spawn, wake, secrets, max, bytes_max)
  return setmetatable({ handlers = handlers, outbox = outbox, spawn = spawn, wake = wake, secrets = secrets, max = max,
    bytes_max = bytes_max, count = 0, bytes = 0, by_id = {} }, metatable)
end
