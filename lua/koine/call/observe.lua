--- What observers are told of calls: the spans of a chat or an embed and of its attempts, and what their records say.
-- A call that is observed has `span`, which also tells of its attempts. Where `shares_span` is true, other calls have
-- that span, too, and `attempt_span` is the one of this call's latest attempt. `attempts_begun` counts the attempts; a
-- span that is shared has it for all its calls. Nothing here fails.

local capture = require "koine.data.observer.capture"
local check = require "koine.data.check"
local core = require "koine.core"
local observer = require "koine.data.observer"

local observe = {}

local NONE = {}

-- Address and port of a URL (nil: none); never its user part, path or query.
local function address_of(url)
  local scheme, rest = (url or ""):match "^(%w+)://([^/?#]*)"
  if not rest then return nil end
  rest = rest:match "@(.*)$" or rest
  local address, port = rest:match "^%[(.-)%]:?(%d*)$"
  if not address then address, port = rest:match "^([^:]*):?(%d*)$" end
  return address, address and math.tointeger(tonumber(port)) or (scheme == "http" and 80 or 443)
end

-- What the last URL of each kind gave: mostly the next one is the same.
local server = { url = nil, address = nil, port = nil }
local shown = { url = nil, text = nil }
local latest_secrets -- the credentials of the last attempt, an array: that of the next one is mostly the same

-- {address, port} of a URL; nil for none.
local function server_of(url)
  if server.url ~= url then
    local address, port = address_of(url)
    server = { url = url, address = address, port = port }
  end
  local address, port = server.address, server.port
  return address and { address = address, port = port } or nil
end

-- A URL without its user part and its query.
local function show(url)
  if shown.url ~= url then shown = { url = url, text = url:match "^[^?]*":gsub("//[^/@]*@", "//") } end
  return shown.text
end

-- The key that the adapter was given as a string: what is known before the first attempt.
local function given_key(call)
  local key = call.settings.key
  return type(key) == "string" and { key } or nil
end

-- Tells of a request of a run that does not begin as the run's last one, or as the one before it in a dispatcher's
-- session. `turns` is what the hook knows of these.
local function tell_cache_miss(call, turns)
  local parent, body = call.settings.parent, call.body or call.outgoing and call.outgoing.body
  if not parent or parent.type ~= "agent" or not body then return end
  local key = parent.above == "turn" and parent.conversation or parent.id
  local path = require("koine.data.observer.prefix").changed(turns, key, body)
  if path then observer.point(call.span, "cache_miss", { path = path }) end
end

--- Begins the span of a chat whose request is rendered and which has an observer or a parent. It began at `since`
-- (seconds of the monotonic clock, nil: now).
function observe.chat(call, since)
  local settings = call.settings
  local parent = settings.parent
  local hook = settings.observer or parent.hook
  if not hook then return end
  local request, state = call.request, call.state
  local messages, thinking = call.messages or request.messages, request.thinking
  local amend = hook.content and hook.content.messages and function(span, record)
    record.content = span:captured({ system = request.system, messages = check.message_list(messages),
      tools = request.tools }, given_key(call))
  end
  local fields = { provider = state.row.name, model = state.model, stream = call.streaming,
    max_tokens = request.max_tokens, temperature = request.temperature, top_p = request.top_p,
    stop_sequences = request.stop_sequences and capture.copy(request.stop_sequences),
    thinking = thinking and capture.copy(thinking), tools = request.tools and #request.tools or 0,
    messages = call.count or type(messages) == "string" and 1 or #messages,
    server = server_of(call.base_url or state.base_url),
    conversation = parent and parent.conversation }
  local span = observer.start(hook, parent, "chat", fields, amend, since)
  if not span then return end
  call.span = span
  if call.ledger then call.ledger.parent = span end
  if hook.turns then tell_cache_miss(call, hook.turns) end
end

--- The call of an adapter in Lua whose chat is observed: {span}; nil where nobody observes. `all` are the options in
-- force; from now on `parent` among them is this chat.
function observe.custom(provider, messages, all, settings)
  if not settings.observer and not settings.parent then return nil end
  local request = { messages = messages }
  for name, value in next, all do request[name] = request[name] or value end
  local call = { settings = settings, request = request, attempts_begun = 1, streaming = all.stream == true,
    state = { row = { name = provider }, model = all.model } }
  observe.chat(call)
  if not call.span then return nil end
  call.tells_deltas = all.stream and call.span:wants "deltas"
  all.parent = call.span:context()
  return call
end

--- Begins the spans of a chat that began in one step, and of its attempt, which is the first: they began at `since`
-- (seconds of the monotonic clock). `err` is the attempt's error where it did not start, nil where it did.
function observe.begun(call, since, err)
  observe.chat(call, since)
  if not call.span then return end
  observe.attempt(call, call.prepared, since)
  if err then observe.attempt_over(call, nil, nil, err) end
end

--- Begins the span of an embed: the span, nil where nobody observes.
function observe.embed(job)
  local settings, state = job.settings, job.state
  return observer.start(settings.observer, settings.parent, "embed", { provider = state.row.name,
    model = job.ask.model, inputs = #job.texts, dimensions = settings.dimensions or nil,
    server = server_of(state.base_url) })
end

--- Ends it, with its result or its error.
function observe.embed_over(job, result, err)
  local usage = capture.copy(result and result.usage or job.usage)
  job.span:finish({ usage = usage, cost = usage.cost and usage.cost.total, attempts = job.span.attempts_begun or 0,
    dimensions = result and result.dimensions }, err)
end

--- Makes the attempts of a call parts of a span, which other calls may have, too.
function observe.join(call, span)
  call.span, call.shares_span, call.ledger.parent = span, true, span
end

--- Tells of an attempt that is ready to go out, or has just gone out. `outgoing` has its url and secrets; `since` as in
-- observe.chat. Returns its span where the call shares its own, nil where the observer is not told of it.
function observe.attempt(call, outgoing, since)
  local span, entries = call.span, call.ledger and call.ledger.attempts
  local last = entries and entries[#entries]
  local number = last and #entries + 1 or 1
  local fields = { number = number, url = show(outgoing.url), waited = last and last.waited,
    v = 1, type = "attempt", phase = "start", trace = "", id = "", parent = "", time = 0 } -- room for what is set next
  if outgoing.secrets ~= latest_secrets then
    latest_secrets = outgoing.secrets
    capture.know(latest_secrets)
  end
  if not call.shares_span then
    call.attempts_begun = number
    return span:begin_attempt(fields, since)
  end
  span.attempts_begun = (span.attempts_begun or 0) + 1
  call.attempt_span = observer.start(nil, span:context(), "attempt", fields, nil, since)
  return call.attempt_span
end

--- What an answer ({status, headers}) says of its attempt: {status_code, request_id}.
function observe.answered(row, answer)
  local headers = answer.headers
  return { status_code = answer.status,
    request_id = headers["request-id"] or headers["x-request-id"] or row.id_header and headers[row.id_header] or nil }
end

-- Tells that the attempt under way, if there is one, is over, with its figures (a table, kept; nil: it did not begin).
local function end_attempt(call, status_code, request_id, figures, err)
  figures = figures or {}
  figures.status_code, figures.request_id = status_code, request_id
  if not call.shares_span then return call.span:end_attempt(figures, err) end
  if call.attempt_span then call.attempt_span:finish(figures, err) end
end

--- Tells that the latest attempt is over, unless that was told. `answer` is what came of the attempt (a Response, or
-- {status_code, request_id}; nil: nothing), `figures` what a stream or request tells of it (nil: it did not begin),
-- `err` its error, nil for none.
function observe.attempt_over(call, answer, figures, err)
  answer = answer or err or NONE
  end_attempt(call, answer.status_code, answer.request_id, figures, err)
end

--- Tells that a failed attempt is made again; `entry` is the ledger's.
function observe.retry(call, entry)
  observer.point(call.span, "retry", { status_code = entry.status_code, class = entry.class,
    kind = entry.kind, waited = entry.waited })
end

--- Tells of a delta of a chat whose observer asked for them.
function observe.delta(call, delta)
  observer.point(call.span, "delta", { delta = delta.type,
    content = call.span:captured(delta) })
end

--- Ends the spans of a chat. `response` is its Response (nil: none), `stream` its stream (nil: none; that of an adapter
-- in Lua has first_delta), `err` its error (nil: none).
function observe.chat_over(call, response, stream, err)
  local span = call.span
  if not span or span.is_over then return end
  local figures, first_delta
  if type(stream) == "userdata" then figures, first_delta = core.figures(stream)
  elseif stream then first_delta = stream.first_delta end
  local answer = response or err and err.partial
  local fields, status
  if answer then fields, status = core.told(answer) end
  fields = fields or {}
  if response then end_attempt(call, status, fields.request_id, figures, err)
  else observe.attempt_over(call, nil, figures, err) end
  fields.attempts, fields.first_delta = call.attempts_begun or 0, first_delta
  if answer and span.hook.content and span:wants "messages" then
    fields.content = { blocks = span:captured(answer.content) }
  end
  span:finish(fields, err)
end

return observe
