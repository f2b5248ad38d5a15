--- One message to the server: the POST, and what is answered to it. What a wire of protocol/rpc does with `post`.

local events = require "koine.protocol.mcp.transport.http.events"
local exchange = require "koine.protocol.mcp.transport.http.exchange"
local failure = require "koine.protocol.mcp.transport.http.failure"
local scheduler = require "koine.task.scheduler"
local wait = require "koine.task.wait"

local ACCEPT = "application/json, " .. events.TYPE
local CONNECT, IDLE = 30, 300 -- seconds
local TOLD = 60               -- seconds that a message takes which the server does not answer
local PROBE_SECONDS = 5       -- for a look whether a server speaks the old transport
local MAY_BE_OLD = { [400] = true, [404] = true, [405] = true }
local TYPE_SHOWN = 100        -- bytes of a content type in an error

-- How long the answer to a message may take.
local function timeouts_of(item)
  local about = item.about or {}
  if about.listens then return { connect = CONNECT } end
  local idle = math.max(IDLE, about.idle or 0)
  return { connect = CONNECT, first_byte = idle, idle = idle }
end

-- Reads an event stream until the answer to a call came: true, or nil, err.
local function read_stream(transport, answer, item, timeouts)
  local call, place = item.call, events.place()
  local function is_done() return call.done end
  local ok, err = events.read(transport, answer, place, is_done)
  if is_done() then return true end
  if not ok and err.kind ~= "stream_truncated" and err.kind ~= "connect" then return nil, err end
  answer:close()
  if transport.era == "legacy" and place.last_id then
    return events.resume(transport, place, timeouts, is_done)
  end
  return nil, err or failure.new("stream_truncated", "the stream ended before the answer")
end

-- Reads one message as the answer to a call: true, or nil, err.
local function read_message(transport, answer, item)
  local body, err = answer:body()
  if not body then return nil, err end
  local ok
  ok, err = transport.peer:receive(body)
  if not ok then return nil, err end
  if item.call.done then return true end
  return nil, failure.new("protocol", "the server answered another request than ours")
end

-- The session that an answer to initialize begins: true, or nil, err.
local function begin_session(transport, answer)
  local id = answer.headers["mcp-session-id"]
  if id == nil then return true end
  if not id:find "^[\x21-\x7E]+$" then
    return nil, failure.new("protocol", "the session id of the server has characters that it may not have")
  end
  transport:begin_session(id)
  return true
end

-- Takes what was answered to a call: true, or nil, err.
local function take(transport, answer, item, timeouts)
  if item.method == "initialize" then
    local ok, err = begin_session(transport, answer)
    if not ok then return nil, err end
  end
  if events.is_stream(answer) then return read_stream(transport, answer, item, timeouts) end
  local kind = answer.headers["content-type"] or ""
  if kind:lower():find "^%s*application/json" then return read_message(transport, answer, item) end
  local words = kind == "" and ("%d and no content type"):format(answer.status) or kind:sub(1, TYPE_SHOWN)
  return nil, failure.new("protocol", ("the server answered %s, and no message of MCP"):format(words))
end

-- The error of a server that refused initialize: it may speak the old transport.
local function look_for_old(transport, err)
  if not MAY_BE_OLD[err.status_code] or (err.code or ""):find "^%-%d+$" then return err end
  local answer <close> = exchange(transport, { method = "GET", accept = events.TYPE,
    timeouts = { connect = PROBE_SECONDS, total = PROBE_SECONDS } })
  local record = answer and events.is_stream(answer) and answer:record()
  if record and record.name == "endpoint" then return failure.old_transport() end
  return err
end

-- Posts a message that the server accepts and does not answer: true, or nil, err. Ends in time, whatever the server or
-- a function for tokens does.
local function tell(transport, item)
  local seconds = item.deadline and item.deadline - wait.now() or TOLD
  return scheduler.timeout(math.max(seconds, 0), function()
    local answer <close>, err = exchange(transport,
      { method = "POST", accept = ACCEPT, timeouts = timeouts_of(item), item = item })
    if not answer then return nil, err end
    answer:release()
    if item.method == "notifications/initialized" then transport:listen() end
    return true
  end)
end

--- Posts a message: true, or nil, err. Waits until the answer to a call came, or until the message was accepted, which
-- ends by item.deadline, or in 60 s. Legacy calls go on with a stream that broke. An answer to a request of the
-- server's is posted in the legacy era only.
return function(transport, _, item)
  if transport.era == "modern" and not item.method then return true end
  if transport.is_gone then return nil, failure.session_gone() end
  if not item.call then return tell(transport, item) end
  local timeouts = timeouts_of(item)
  local answer <close>, err = exchange(transport,
    { method = "POST", accept = ACCEPT, timeouts = timeouts, item = item })
  if answer then return take(transport, answer, item, timeouts) end
  if item.method == "initialize" then err = look_for_old(transport, err) end
  return nil, err
end
