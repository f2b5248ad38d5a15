--- Event streams of a server: their messages go to the peer. A stream of the legacy era that broke goes on where it
-- ended.

local errors = require "koine.data.errors"
local exchange = require "koine.protocol.mcp.transport.http.exchange"
local failure = require "koine.protocol.mcp.transport.http.failure"
local wait = require "koine.task.wait"

local events = {}

--- The content type of a stream.
events.TYPE = "text/event-stream"

local RETRY, RETRY_MAX = 1000, 60000 -- milliseconds
local TRIES = 5                      -- without a new record, before a stream is given up
local EAGER = 20                     -- streams of one call that go on as soon as the server wants; the next wait RETRY
local ID_MAX = 4096                  -- bytes of an id that is sent back

--- Where a stream is: {last_id (or nil), retry (milliseconds), is_new (records came since that was false)}.
function events.place() return { last_id = nil, retry = RETRY, is_new = false } end

--- Whether an answer is an event stream.
function events.is_stream(answer)
  return (answer.headers["content-type"] or ""):lower():find("^%s*text/event%-stream") ~= nil
end

-- Notes the id and the time of a record. An id that no header can say is none.
local function note(place, record)
  place.is_new = true
  if record.retry then place.retry = record.retry end
  if record.unclosed then return end
  local id = record.id
  place.last_id = id and #id <= ID_MAX and not id:find "[^\t\x20-\x7E]" and id or nil
end

--- Reads an answer's records until is_done() or the end: true; or nil, err: the error that broke the stream, of a
-- message beyond the limits, or of a server of the old transport.
function events.read(transport, answer, place, is_done)
  while not is_done() do
    local record, err = answer:record()
    if not record then
      if err then return nil, err end
      return true
    end
    note(place, record)
    if record.name == "endpoint" then return nil, failure.old_transport() end
    local is_message = record.data and record.data:find "%S" and (not record.name or record.name == "message")
    if is_message then
      local ok, why = transport.peer:receive(record.data)
      if not ok and why.kind == "limit" then return nil, why end
    end
  end
  answer:release()
  return true
end

-- Errors behind which a stream may go on.
local BROKEN = { stream_truncated = true, connect = true, timeout = true, rate_limit = true }

-- The server may not know yet that the stream broke, or be busy.
local function may_go_on(err)
  local status = err.status_code or 0
  return BROKEN[err.kind] or status == 409 or status >= 500
end

-- What the server says about itself, and not about the stream.
local OF_ITS_OWN = { auth = true, permission = true, limit = true, protocol = true, cancelled = true }

-- The error of a stream that the server does not let go on.
local function refused(err)
  if OF_ITS_OWN[err.kind] then return err end
  return failure.new("stream_truncated", "the stream ended before the answer, and cannot go on: "
    .. errors.words(err), err.code, err.status_code)
end

-- One attempt to go on: true, where the stream was read; nil, err, where it cannot go on; else false, err.
local function go_on(transport, place, timeouts, is_done)
  local answer <close>, err = exchange(transport, { method = "GET", accept = events.TYPE, timeouts = timeouts,
    last_id = place.last_id })
  if not answer then
    if may_go_on(err) then return false, err end
    return nil, refused(err)
  end
  if not events.is_stream(answer) then return nil, failure.new("protocol", "no stream to go on with") end
  local ok
  ok, err = events.read(transport, answer, place, is_done)
  if not ok and not BROKEN[err.kind] then return nil, err end
  return ok, err
end

--- Goes on with a stream of the legacy era that broke or ended, until is_done(): true, or nil, err.
function events.resume(transport, place, timeouts, is_done)
  local tries, streams, err = 0, 0, nil
  while tries < TRIES do
    tries, streams, place.is_new = tries + 1, streams + 1, false
    local least = streams > EAGER and RETRY or 0
    local slept, cancelled = wait.sleep(math.min(math.max(place.retry, least), RETRY_MAX) / 1000)
    if not slept then return nil, cancelled end
    local ok
    ok, err = go_on(transport, place, timeouts, is_done)
    if is_done() then return true end
    if ok == nil then return nil, err end
    if not place.last_id then break end
    if place.is_new then tries = 0 end
  end
  return nil, err or failure.new("stream_truncated", "the stream ended before the answer")
end

return events
