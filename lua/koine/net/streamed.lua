--- One HTTP exchange whose answer is read while it comes: event streams, which may never end.
--
--   local answer <close> = assert(streamed.open { method = "POST", url = url, headers = headers, body = body })
--   for record in answer.record, answer do print(record.name, record.data) end
--
-- Who stops reading pauses the transfer: a flood waits in the network, and what is held stays within the limits. An
-- answer belongs to whoever opened it, who closes it. One coroutine reads at a time, another may close it meanwhile.

local core = require "koine.core"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local exclusive = require "koine.task.exclusive"
local transport = require "koine.net.transport"
local wait = require "koine.task.wait"

local streamed = {}

local methods = {}
local metatable = { __index = methods, __name = "koine.answer" }

-- Waits until poll(request) returns something else than false, and returns that; for at most `seconds`. `watch` looks
-- at what comes, false: nobody does.
local function await(request, poll, seconds, watch)
  local deadline = seconds and wait.now() + seconds
  while true do
    local first, second = poll(request)
    if watch then watch:drain(first == nil and second or nil) end
    if first ~= false then return first, second end
    local left = deadline and deadline - wait.now()
    if left and left <= 0 then
      return nil, errors.new { kind = "timeout", code = "read",
        message = ("not complete within %g s (read)"):format(seconds) }
    end
    local _, cancelled = wait.park(request, left)
    if cancelled then return nil, cancelled end
  end
end

local READER = { field = "answer", expected = "one reader at a time",
  message = "answer: already read by another coroutine" }

local function read(self, poll, seconds)
  local _ <close> = exclusive(self, READER)
  return await(self.request, poll, seconds, self.watch)
end

--- The next record: {name (its event), data, id, retry (milliseconds), unclosed}, each nil when not said. `id` is the
-- last one so far. A record without `data` is no event, and only says `id` or `retry`; `unclosed` is true for what the
-- end of the body cut off, which has no `id`. nil at the end; nil, err: of kind stream_truncated where the connection
-- broke, timeout, limit for a line or a record beyond its limit, cancelled where the answer or the caller was. Raises
-- an ArgumentError while another coroutine reads, and after `body`.
function methods:record() return read(self, self.request.record) end

--- The whole body, decoded, for which it waits at most `seconds` (nil: no limit); nil, err as `record`, of kind limit
-- for one larger than limits.body, of kind timeout, code "read" after these seconds. Raises an ArgumentError while
-- another coroutine reads, and after `record`.
function methods:body(seconds) return read(self, self.request.body, seconds) end

--- Closes the answer; what had not come yet never does, and the connection ends. Who reads gets an error of kind
-- cancelled. Any number of times.
function methods:close()
  self.request:close()
  if self.watch then self.watch:finish() end
  wait.wake(self.request)
end

--- The same for a reader who has all that it wants: where the answer ends within a second, its connection serves
-- another request.
function methods:release()
  self.request:release()
  if self.watch then self.watch:finish() end
  wait.wake(self.request)
end

metatable.__close = methods.close

--- Sends `call` (the core's request table: method, url, headers, body, timeouts, limits, proxy, ca_file, secrets,
-- framing, transport, on_request, on_response) and waits for the head of the answer: {status, headers} with the methods
-- above, whatever the status; nil, err when there is none. Of its limits `line`, `event` and `body` bound what is held,
-- `high_water` what waits to be read. The timeouts hold while it is read: `first_byte` and `idle` count for the body,
-- too. A task that is cancelled takes along what it opened. Raises an ArgumentError.
function streamed.open(call)
  local copy = {}
  for field, value in next, call do copy[field] = value end
  copy.stream = true
  local ready, failure = transport.begin(copy)
  if not ready then return nil, failure end
  local request, err = core.request(core.engine(), copy)
  local watch = copy.watch or false
  if not request then
    if watch then watch:finish(err) end
    return nil, err
  end
  local self = setmetatable({ request = request, busy = false, watch = watch }, metatable)
  local opening <close> = defer(function()
    request:close()
    if watch then watch:finish(self.headers) end
  end)
  self.status, self.headers = await(request, request.head, nil, watch)
  if not self.status then return nil, self.headers end
  opening:cancel()
  wait.adopt(self)
  return self
end

return streamed
