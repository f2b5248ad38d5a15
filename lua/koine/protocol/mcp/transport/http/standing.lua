--- The standing stream of a session of the legacy era: a GET, by which the server tells what belongs to no request.
-- Many servers have none; that is no error.

local events = require "koine.protocol.mcp.transport.http.events"
local exchange = require "koine.protocol.mcp.transport.http.exchange"
local wait = require "koine.task.wait"

local FIRST, LONGEST = 1, 60 -- seconds before the stream is opened again, doubled each time that nothing came
local CONNECT = 30           -- seconds

-- Errors after which there is none, or may be one later.
local LATER = { connect = true, timeout = true, stream_truncated = true, server = true, overloaded = true,
  rate_limit = true }

-- Opens the stream, and reads it to its end: whether it is to be opened again.
local function follow(transport, place)
  local answer <close>, err = exchange(transport, { method = "GET", accept = events.TYPE,
    timeouts = { connect = CONNECT }, last_id = place.last_id })
  if not answer then return LATER[err.kind] or false end
  if not events.is_stream(answer) then return false end
  err = select(2, events.read(transport, answer, place, function() return false end))
  return not err or LATER[err.kind] or false
end

--- Reads the stream, opened again whenever it ends, as long as the session lasts: what a task runs.
return function(transport)
  local session, delay, place = transport.session, FIRST, events.place()
  while transport.session == session and not transport.is_gone do
    place.is_new = false
    local ok, again = pcall(follow, transport, place)
    if not ok or not again then return end
    delay = place.is_new and FIRST or math.min(delay * 2, LONGEST)
    wait.sleep(math.max(math.min(place.retry / 1000, LONGEST), delay))
  end
end
