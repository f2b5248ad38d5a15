--- The standing stream of a session of the legacy era: a GET, by which the server tells what belongs to no request.
-- Many servers have none; that is no error. What else ends the stream, or is raised (by a token function), is told as a
-- warning: no call fails by it.

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local events = require "koine.protocol.mcp.transport.http.events"
local exchange = require "koine.protocol.mcp.transport.http.exchange"
local redact = require("koine.data.text").redact
local wait = require "koine.task.wait"

local FIRST, LONGEST = 1, 60 -- seconds before the stream is opened again, doubled each time that nothing came
local CONNECT = 30           -- seconds

-- Errors after which there is none, or may be one later.
local LATER = { connect = true, timeout = true, stream_truncated = true, server = true, overloaded = true,
  rate_limit = true }

-- Statuses by which a server says that it has none.
local NONE = { [400] = true, [404] = true, [405] = true }

-- Opens the stream, and reads it to its end: whether it is to be opened again, and the error that says no (or nil).
local function follow(transport, place)
  local answer <close>, err = exchange(transport, { method = "GET", accept = events.TYPE,
    timeouts = { connect = CONNECT }, last_id = place.last_id })
  if not answer then
    if NONE[err.status_code] then return false end
    return LATER[err.kind] or false, err
  end
  if not events.is_stream(answer) then return false end
  err = select(2, events.read(transport, answer, place, function() return false end))
  return not err or LATER[err.kind] or false, err
end

local function warn(transport, err)
  if not transport.warn or errors.is_error(err) and err.kind == "cancelled" then return end
  transport.warn { code = "stream_failed", field = "GET",
    message = core.error_line("the standing stream: " .. redact(errors.words(err), transport.peer:secrets())) }
end

-- The same as `follow`. What is raised is told, and may be over the next time.
local function try(transport, place)
  local ok, again, err = pcall(follow, transport, place)
  if not ok then
    if check.is_memory(again) then error(again, 0) end
    warn(transport, again)
    return true
  end
  if err and not again then warn(transport, err) end
  return again
end

--- Reads the stream, opened again whenever it ends, as long as the session lasts: what a task runs.
return function(transport)
  local session, delay, place = transport.session, FIRST, events.place()
  while transport.session == session and not transport.is_gone do
    place.is_new = false
    if not try(transport, place) then return end
    delay = place.is_new and FIRST or math.min(delay * 2, LONGEST)
    wait.sleep(math.max(math.min(place.retry / 1000, LONGEST), delay))
  end
end
