--- Chats that begin in one step: the core renders the request and starts the first attempt, and no table is made of
-- what goes out. Most chats can: those whose adapter needs no login, limiter or transport, which nobody looks at, and
-- whose key is no function: that may wait, and the caller's tables may change before they are rendered
-- (adapter/start.lua). A call that fails is unfolded into what attempt/init.lua makes further attempts of.
-- Until then a call has: `request`, the canonical request, which other calls may share if it is without messages;
-- `messages` and their number `count`, `streaming`, `body` (the bytes that went out: a further attempt sends the same,
-- whatever became of the caller's tables), `prepared` (where to), `began` (the time, where the call has a total).

local core = require "koine.core"
local attempt = require "koine.call.attempt"
local check = require "koine.data.check"
local credentials = require "koine.provider.credentials"
local wait = require "koine.task.wait"

local chat = {}

--- A chat that may begin in one step: `request` is the canonical request without messages, which may be shared by many
-- calls, and `messages` (a string, or an array) has them. `streaming`: whether a stream is asked for. Raises an
-- ArgumentError when the adapter was closed.
function chat.new(adapter, state, settings, request, messages, streaming)
  if adapter:closed() then core.raise_argument("adapter", "an open adapter", "a closed one") end
  return { adapter = adapter, state = state, settings = settings, request = request, messages = messages,
    count = type(messages) == "string" and 1 or #messages, streaming = streaming, ledger = nil, outgoing = nil,
    prepared = nil, body = nil, credentials = nil, remedies = nil, finished = nil } -- named, so that there is room
end

-- The seconds of an attempt that is the first of its call.
local function first_timeouts(given)
  if not given.total or given.total == 0 then return given end
  return { connect = given.connect, first_byte = given.first_byte, idle = given.idle, total = given.total,
    whole = given.total }
end

-- The core's target of what was prepared for a chat before; nil: nothing was that fits this one.
local function target_for(call, applied)
  local state, settings = call.state, call.settings
  local prepared = state.prepared[call.streaming]
  if not prepared or prepared.credentials ~= applied or prepared.given ~= settings.headers then return nil end
  if prepared.timeout ~= settings.timeout or prepared.limits ~= settings.limits then
    prepared.target = core.target { url = prepared.url, path = prepared.path, headers = prepared.headers,
      secrets = prepared.secrets, timeouts = first_timeouts(settings.timeout), limits = settings.limits,
      proxy = settings.proxy, ca_file = settings.ca_file, http2 = settings.http2 }
    prepared.timeout, prepared.limits = settings.timeout, settings.limits
  end
  return prepared.target, prepared
end

--- Renders a chat and starts its first attempt in one step of the core: the stream, or nil, err. false where it needs
-- more than that; then, and after a failure, chat.unfold and attempt.start go on. Raises what render raises.
function chat.begin(call)
  local settings = call.settings
  call.credentials = credentials.apply(call.adapter, call.state, settings)
  local target, prepared = target_for(call, call.credentials)
  if not target then return false end
  if settings.timeout.total then call.began = (settings.clock or wait).now() end
  local begun, body, rendered, warnings, remedies, path, framing =
    call.adapter:begin(call.request, call.messages, target, call)
  if begun == false then
    call.outgoing = { body = body, warnings = warnings, framing = framing }
    call.rendered, call.remedies, call.path = next(rendered) and rendered, remedies, path
    return false
  end
  call.prepared = prepared
  if not begun then return nil, body end -- an error
  call.body, call.remedies = body, remedies
  return begun
end

--- The call's ledger, made now where it began without one.
function chat.ledger(call)
  if call.ledger then return call.ledger end
  local ledger, total = attempt.ledger(call.settings), call.settings.timeout.total
  if total and total ~= 0 and call.began then ledger.deadline = call.began + total end
  ledger.parent = call.span
  call.ledger = ledger
  return ledger
end

-- The canonical request of a call that may have begun in one step, with its messages.
local function whole_request(call)
  local request, messages = {}, call.messages
  if not messages then return call.request end
  for name, value in next, call.request do request[name] = value end
  request.messages = check.message_list(messages)
  return request
end

--- Makes a chat that began in one step, or was to, one that attempt.start can make attempts of. Raises what render
-- raises.
function chat.unfold(call)
  chat.ledger(call)
  call.request, call.messages = whole_request(call), nil
  local outgoing = call.outgoing or { body = call.body }
  call.outgoing = outgoing
  outgoing.method, outgoing.stream, outgoing.request_messages = "POST", call.streaming, call.count
  outgoing.max_tokens = call.request.max_tokens
  if call.body then
    call.path, outgoing.url, outgoing.secrets = call.prepared.path, call.prepared.url, call.prepared.secrets
  elseif not outgoing.body then
    attempt.render(call)
  end
end

return chat
