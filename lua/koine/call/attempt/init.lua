--- Attempts: the requests that one call makes, as many as its ledger allows. Each has its own credentials and deadline.
-- A call is the state of its stream: {adapter, state, settings, ledger, request, outgoing, path, rendered,
-- credentials, limited, reauthenticated, remedies, codec, base_url, hold, judge, hold_body}. `request` is the canonical
-- request, `codec` its wire format (nil: the adapter's own), `outgoing` the table that the core starts, `path` what
-- comes behind the base URL, `rendered` the headers that its body needs (nil: none), `credentials` those of the latest
-- attempt (see credentials.apply); `renderings` has the request in each wire format that the login module may choose,
-- as pcall of render returned it, by name (nil: it does not choose); `limited` is true once the rate limiter let the
-- call go, `reauthenticated` has the kinds of errors that the login module was shown, `remedies` says what the request
-- could do without (core.remedy).
-- `streaming` says of a chat whether a stream is asked for; nil: the call is no chat, and its observer is told nothing.
-- A chat that began in one step (attempt/chat.lua) gets most of these at its first failure.
-- Of fetches, nil for none: `base_url` stands in for the state's, `hold` waits before each attempt (true, or nil,
-- err), `judge` may change the error of one; where `hold_body` is true, the parser gets no string but a koine.body
-- (core.request), which is closed when it returns. `watch` looks at the attempt under way (net/raw; nil, false: nobody
-- does). `closed`, `failure` and `finished` are stream.lua's.

local core = require "koine.core"
local check = require "koine.data.check"
local credentials = require "koine.provider.credentials"
local errors = require "koine.data.errors"
local http = require "koine.net.http"
local retry = require "koine.net.retry"
local transport = require "koine.net.transport"
local version = require "koine.data.version"

local attempt = {}

local NONE = {}
local USER_AGENT = "koine/" .. version

--- A fresh ledger for a call with these settings; its deadline begins to run.
function attempt.ledger(settings)
  local total = settings.timeout.total
  return retry.new(settings.retry, total ~= 0 and total or nil, settings.on_retry, settings.clock)
end

--- A new call with these settings: a fresh ledger; the deadline begins to run. Raises an ArgumentError when the
-- adapter was closed.
function attempt.call(adapter, state, settings)
  if adapter:closed() then core.raise_argument("adapter", "an open adapter", "a closed one") end
  return { adapter = adapter, state = state, settings = settings, ledger = attempt.ledger(settings), streaming = nil,
    request = nil, outgoing = nil, path = nil, rendered = nil, credentials = nil, limited = nil, remedies = nil,
    finished = nil } -- named, so that there is room for them
end

--- `path` behind a base URL. Either may have a query: the path's comes first.
function attempt.url(base, path)
  local address, query = base:match "^([^?]*)%??(.*)$"
  if query == "" then return address .. path end
  return address .. path .. (path:find("?", 1, true) and "&" or "?") .. query
end

-- Two comma-separated lists as one, every item once.
local function join(first, second)
  local items, seen = {}, {}
  for item in (first .. "," .. second):gmatch "[^,%s]+" do
    if not seen[item] then
      seen[item], items[#items + 1] = true, item
    end
  end
  return table.concat(items, ",")
end

-- Makes what render returned for a wire format (nil: the adapter's own) the request that goes out.
local function take(call, codec, body, rendered, warnings, remedies, path, framing)
  local outgoing = call.outgoing
  outgoing.codec, outgoing.body, outgoing.warnings, outgoing.framing = codec, body, warnings, framing
  call.remedies, call.path, call.rendered = remedies, path, next(rendered) and rendered
end

-- Keeps the request, which was rendered in this wire format (nil: the adapter's own), also in those that the login
-- module may choose: the caller may change the tables before that.
local function keep_renderings(call, codec, formats)
  local adapter, outgoing = call.adapter, call.outgoing
  local renderings = { [codec or call.state.row.codec] = table.pack(true, outgoing.body, call.rendered or NONE,
    outgoing.warnings, call.remedies, call.path, outgoing.framing) }
  for _, format in ipairs(formats) do
    local kept = renderings[format] or table.pack(pcall(adapter.render, adapter, call.request, "chat", format))
    if not kept[1] and check.is_memory(kept[2]) then error(kept[2], 0) end
    renderings[format] = kept
  end
  call.renderings = renderings
end

-- Renders the call's request in a wire format (nil: the adapter's own).
local function render(call, codec)
  local auth = call.state.auth
  take(call, codec, call.adapter:render(call.request, "chat", codec))
  call.renderings = nil
  if auth and auth.formats then keep_renderings(call, codec, auth.formats(call.request, call.state)) end
end

--- Renders the call's request in its wire format, as far as that is known, into `outgoing`. Raises what adapter:render
-- raises.
function attempt.render(call)
  local state, codec = call.state, call.codec
  if not codec and state.auth and state.auth.format then codec = state.auth.format(state) end
  render(call, codec ~= state.row.codec and codec or nil)
end

-- Makes the request in another wire format (nil: the adapter's own) the one that goes out. Raises what render raised.
local function change_format(call, codec)
  local kept = call.renderings[codec or call.state.row.codec]
  if not kept[1] then error(kept[2], 0) end
  take(call, codec, table.unpack(kept, 2, kept.n))
end

-- Waits until the adapter's rate limiter, if it has one, lets the call go; its further attempts go at once. The limiter
-- sees the canonical request, or what the call says in place of it (`asked`). true, or nil, err.
local function limit_rate(call)
  local limiter = call.state.rate_limiter
  if call.limited or not limiter then return true end
  local span <close> = call.span
    and require("koine.data.observer").start(nil, call.span, "wait", { what = "rate_limit" })
  local ready, err = limiter:wait(call.ledger:left(), call.asked or call.request)
  if span then span:finish(nil, err) end
  if not ready and err then return nil, err end
  call.limited = true
  return true
end

-- Builds an attempt at `path`: {credentials, given, path, url, headers, secrets}. The caller's headers win over the
-- row's and over the key's; where the request itself needs a header (a list of betas), both go out.
local function build_attempt(call, outgoing, path)
  local state, applied, given, rendered = call.state, call.credentials, call.settings.headers, call.rendered or {}
  local headers = { ["user-agent"] = USER_AGENT, accept = "application/json" }
  if outgoing.body then headers["content-type"] = "application/json" end
  for name, value in next, state.row.headers or {} do headers[name] = value end
  for name, value in next, applied.headers or {} do headers[name:lower()] = value end
  for name, value in next, rendered do headers[name] = value end
  for name, value in next, given or {} do
    headers[name] = rendered[name] and join(rendered[name], value) or value
  end
  local url = attempt.url(call.base_url or applied.base_url or state.base_url, path)
  return { credentials = applied, given = given, path = path, url = url, headers = headers,
    secrets = credentials.secrets(headers, url, call.settings.proxy) }
end

-- The same for a chat, built once for all that have the same path and credentials and no headers of their own. Those
-- that stream may have another path.
local function prepared_for(call, outgoing)
  local path, state, streaming = call.path, call.state, outgoing.stream
  if call.rendered then return build_attempt(call, outgoing, path) end
  local prepared = state.prepared[streaming]
  if not prepared or prepared.path ~= path or prepared.credentials ~= call.credentials
    or prepared.given ~= call.settings.headers then
    prepared = build_attempt(call, outgoing, path)
    state.prepared[streaming] = prepared
  end
  return prepared
end

-- Adds the headers that the login module makes of the whole request, which may hold the time: they are made for each
-- attempt, and `prepared` stays without them. true, or nil, err.
local function sign(call, outgoing)
  local auth = call.state.auth
  if not auth or not auth.sign then return true end
  local headers = {}
  for name, value in next, outgoing.headers do headers[name:lower()] = value end
  local signed, more = auth.sign(call.adapter, { method = outgoing.method, url = outgoing.url, headers = headers,
    body = outgoing.body or "", credentials = call.credentials })
  if not signed then return nil, more end
  for name, value in next, signed do headers[name:lower()] = value end
  outgoing.headers = headers
  local secrets = credentials.secrets(headers, outgoing.url, call.settings.proxy)
  outgoing.secrets = table.move(more or {}, 1, #(more or {}), #secrets + 1, secrets)
  return true
end

-- The seconds of each phase, with what is left of the call's total, and the whole of it for errors.
local function timeouts(call)
  local given, left = call.settings.timeout, call.ledger:left()
  if not left and not given.total then return given end
  return { connect = given.connect, first_byte = given.first_byte, idle = given.idle, total = left,
    whole = given.total }
end

local function overdue(total)
  return errors.new { kind = "timeout", code = "total", retryable = false,
    message = ("not finished within %g s (total)"):format(total) }
end

--- Why there is no further attempt: the stream or its adapter was closed while the call waited. nil: neither was.
function attempt.closed(call)
  local what = call.closed and "stream" or call.adapter:closed() and "adapter"
  return what and errors.new { kind = "cancelled", provider = call.state.row.name, attempts = call.ledger.attempts,
    message = "the " .. what .. " was closed" } or nil
end

-- Fills `outgoing` with url, headers, secrets and timeouts for one attempt at `path` (nil: a chat): true, or nil, err.
local function prepare(call, outgoing, path)
  local settings = call.settings
  local applied, err = credentials.apply(call.adapter, call.state, settings, call.request, call.ledger.deadline)
  call.credentials = applied
  if not applied then return nil, err end
  local limited
  limited, err = limit_rate(call)
  if limited and call.hold then limited, err = call.hold() end
  if not limited then return nil, err end
  local gone = attempt.closed(call)
  if gone then return nil, gone end
  if call.ledger:over() then return nil, overdue(settings.timeout.total) end
  local codec = applied.codec or call.codec
  if not path and codec ~= outgoing.codec then change_format(call, codec) end
  local prepared = path and build_attempt(call, outgoing, path) or prepared_for(call, outgoing)
  outgoing.url, outgoing.headers, outgoing.secrets = prepared.url, prepared.headers, prepared.secrets
  outgoing.timeouts, outgoing.limits = timeouts(call), settings.limits
  outgoing.proxy, outgoing.ca_file, outgoing.http2 = settings.proxy, settings.ca_file, settings.http2
  outgoing.transport, outgoing.on_request, outgoing.on_response = settings.transport, settings.on_request,
    settings.on_response
  return sign(call, outgoing)
end

--- Starts the call, or restarts it on `stream`, as often as the ledger allows: the stream, or nil, err. `failed` is the
-- error of an attempt that was made before; nil: none was.
function attempt.start(call, stream, failed)
  while true do
    if failed then
      local again
      again, failed = call.ledger:again(failed)
      if not again then return nil, failed end
    end
    local gone = stream and attempt.closed(call)
    if gone then return nil, gone end
    local outgoing = call.outgoing
    local ready, err = prepare(call, outgoing)
    if ready then ready, err = transport.begin(outgoing) end
    if not ready and not err.retryable then return nil, err end
    if ready and call.span then require("koine.call.observe").attempt(call, outgoing) end
    call.watch = ready and outgoing.watch
    gone = ready and attempt.closed(call) -- by who was told
    if gone then
      if call.watch then call.watch:finish(gone) end
      return nil, gone
    end
    if ready and stream then
      ready, err = stream:restart(outgoing)
    elseif ready then
      ready, err = call.adapter:start(outgoing, call)
    end
    if ready then return stream or ready end
    if call.watch then call.watch:finish(err) end
    if call.span then require("koine.call.observe").attempt_over(call, nil, nil, err) end
    failed = err
  end
end

-- The error that an answer stands for.
local function refusal(row, answer, secrets, codec)
  answer.body = tostring(answer.body)
  return errors.from_answer(row.name, answer, secrets, row.id_header, codec)
end

local function decode(answer) return core.decode(answer.body) end

-- The value that `parse` makes of an answer, or nil, err.
local function read(row, answer, secrets, parse)
  if answer.status < 200 or answer.status > 299 then
    return nil, refusal(row, answer, secrets, (row.quirks or {}).refusals or row.codec)
  end
  local value, problem = (parse or decode)(answer)
  if type(value) == "table" then return value end
  if problem and problem.refusal then return nil, refusal(row, answer, secrets, row.codec) end
  if problem and problem.code == "cut" then
    return nil, errors.new { kind = "stream_truncated", provider = row.name,
      message = row.title .. ": the answer ended before it was complete" }
  end
  local words = parse and problem.message
    or "the answer is no JSON object" .. (problem and " (" .. problem.message .. ")" or "")
  return nil, errors.new { kind = parse and problem.kind or "protocol", provider = row.name,
    status_code = answer.status, message = row.title .. ": " .. words }
end

-- Makes one attempt that is ready: the value that `read` makes of its answer, or nil, err.
local function exchange(call, outgoing, parse)
  local row, observe = call.state.row, call.span and require "koine.call.observe"
  local figures = observe and {}
  local answer, err = http.send(outgoing, figures)
  if not answer then
    if observe then observe.attempt_over(call, nil, figures, err) end
    return nil, err
  end
  local _ <close> = outgoing.hold_body and answer.body or nil
  local value
  value, err = read(row, answer, outgoing.secrets, parse)
  if observe then observe.attempt_over(call, observe.answered(row, answer), figures, err) end
  return value, err
end

--- Asks for `path` outside of a chat, with the call's credentials and ledger: the value that the JSON answer holds, or
-- nil, err. `body` is JSON text, nil = none. `parse` is a function that makes another value of an answer ({status,
-- headers, body}): a table, or nil and a problem {message, kind = "protocol" where nil, code = "cut" where the answer
-- only ends too early, refusal = true where it is an error in spite of its status}.
function attempt.fetch(call, method, path, body, parse)
  while true do
    local gone = attempt.closed(call)
    if gone then return nil, gone end
    local outgoing = { method = method, body = body, hold_body = call.hold_body }
    local value
    local ready, err = prepare(call, outgoing, path)
    if not ready and not err.retryable then return nil, err end
    if ready then
      local span <close> = call.span and require("koine.call.observe").attempt(call, outgoing) -- luacheck: ignore span
      value, err = exchange(call, outgoing, parse)
    end
    if value ~= nil then return value end
    if call.judge then call.judge(err) end
    err.provider = call.state.row.name
    local again
    again, err = attempt.again(call, err)
    if not again then return nil, err end
  end
end

-- True when the login module has a remedy for an attempt that was refused; at most once per call and kind of error.
local function reauthenticated(call, err)
  local auth, tried = call.state.auth, call.reauthenticated or {}
  if not auth or not auth.rejected or not call.credentials then return false end
  if not err.status_code or tried[err.kind] then return false end
  call.reauthenticated = tried
  tried[err.kind] = true
  return auth.rejected(call.adapter, err, call.credentials)
end

-- Whether the request still is what went out: it has the caller's tables, which may have changed since, into what
-- cannot be sent even.
local function is_as_sent(call)
  local adapter, outgoing = call.adapter, call.outgoing
  local rendered, body = pcall(adapter.render, adapter, call.request, "chat", outgoing.codec)
  return rendered and body == outgoing.body
end

-- True when the request can do without the part that the provider refused: renders it again without that part, once
-- for each part in a call, and adds its warnings. The adapter never again sends a part that is always refused.
local function remedied(call, err)
  if (call.remedies or 0) == 0 then return false end -- fetches have none
  local without, lasts = core.remedy(call.adapter, call.remedies, call.outgoing.codec, err.status_code, err.code,
    err.message)
  if not without or call.request[without] or not is_as_sent(call) then return false end
  call.request[without] = true
  if lasts then
    call.state.without = call.state.without or {}
    call.state.without[without] = true
    call.state.requests = {} -- those that calls share are made anew
  end
  render(call, call.outgoing.codec)
  return true
end

-- True when the login module removed what the provider refuses, and the request was rendered again.
local function relieved(call, err)
  local auth = call.state.auth
  if not auth or not auth.relieve or not call.outgoing or not is_as_sent(call) then return false end
  if not auth.relieve(call.adapter, err, call.request) then return false end
  render(call, call.outgoing.codec)
  return true
end

-- True when the request was changed such that the provider may take it. A closed adapter renders nothing.
local function changed(call, err)
  return not call.adapter:closed() and (remedied(call, err) or relieved(call, err))
end

local ADVISED_MAX = 300 -- bytes of a message that advice follows

-- Adds what the login module has to say about a refusal to the message of the error that the call ends with.
local function advise(call, err)
  local auth = call.state.auth
  if not auth or not auth.advise or not err.status_code or not call.credentials then return end
  local words = auth.advise(call.adapter, err, call.credentials)
  if not words then return end
  local said, is_cut = require("koine.data.text").cut(err.message, ADVISED_MAX)
  err.message = core.error_line(("%s%s (%s)"):format(said, is_cut and "…" or "", words))
end

local HELD_MAX = 24 * 3600 -- seconds: one answer must not stop all machines for longer

-- Tells a rate limiter that others share for how long the provider wants no requests.
local function hold_back(call, err)
  local limiter = call.state.rate_limiter
  if err.retry_after and err.status_code and limiter and limiter.block then
    limiter:block(limiter.key, math.min(math.max(err.retry_after, 0), HELD_MAX))
  end
end

--- Decides about a failed attempt: true when it may be made again (any wait is over), else nil and the error.
function attempt.again(call, err)
  hold_back(call, err)
  if reauthenticated(call, err) or changed(call, err) then
    local entry = call.ledger:enter(err)
    if call.span then require("koine.call.observe").retry(call, entry) end
    return true
  end
  local again
  again, err = call.ledger:again(err)
  if not again then advise(call, err) end
  return again, err
end

return attempt
