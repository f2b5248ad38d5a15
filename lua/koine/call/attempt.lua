--- Attempts: what one call sends, as often as its ledger allows. Every attempt has its own credentials and deadline.
-- A plan is the state of one call and lives in its stream: {adapter, state, settings, ledger, call, request, rendered,
-- access, admitted, readmitted, remedies}. `call` is what the core starts, `request` the canonical request it was
-- rendered from, `rendered` the headers that needs (nil: none), `access` the credentials of the latest attempt;
-- `admitted` is true once the rate limiter let it go, `readmitted` has the kinds of errors that the login module was
-- shown; `remedies` says what the request could do without (core.remedy). `closed`, `failure` and `finished` are
-- stream.lua's.

local core = require "koine.core"
local credentials = require "koine.provider.credentials"
local errors = require "koine.data.errors"
local exchange = require "koine.net.http"
local retry = require "koine.net.retry"
local version = require "koine.data.version"

local attempt = {}

local USER_AGENT = "koine/" .. version

--- The plan of a call with these settings: a fresh ledger; the deadline begins to run. Raises an ArgumentError when the
-- adapter was closed.
function attempt.plan(adapter, state, settings)
  if adapter:closed() then core.raise_argument("adapter", "an open adapter", "a closed one") end
  local total = settings.timeout.total
  if total == 0 then total = nil end
  return { adapter = adapter, state = state, settings = settings, readmitted = {},
    ledger = retry.new(settings.retry, total, settings.on_retry) }
end

--- `path` behind a base URL, before its query where it has one.
function attempt.url(base, path)
  local address, query = base:match "^([^?]*)(.*)$"
  return address .. path .. query
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

--- Writes the plan's request in a wire format (nil: the adapter's own) into its call. Raises what render raises.
function attempt.render(plan, codec)
  local call = plan.call
  local rendered
  call.codec = codec
  call.body, rendered, call.warnings, plan.remedies = plan.adapter:render(plan.request, "chat", codec)
  plan.rendered = next(rendered) and rendered
end

-- Waits until the adapter's rate limiter, if it has one, lets the call go; its further attempts go at once. true, or
-- nil, err.
local function admit(plan)
  local limiter = plan.state.rate_limiter
  if plan.admitted or not limiter then return true end
  local ready, err = limiter:wait(plan.ledger:left())
  if not ready and err then return nil, err end
  plan.admitted = true
  return true
end

-- What an attempt goes out in: {access, given, url, headers, secrets}. The caller's headers win over the row's and over
-- the key's; where the request itself needs a header (a list of betas), both go out.
local function dress(plan, call, path)
  local state, access, given, rendered = plan.state, plan.access, plan.settings.headers, plan.rendered or {}
  local headers = { ["user-agent"] = USER_AGENT, accept = "application/json" }
  if call.body then headers["content-type"] = "application/json" end
  for name, value in next, state.row.headers or {} do headers[name] = value end
  for name, value in next, access.headers or {} do headers[name:lower()] = value end
  for name, value in next, rendered do headers[name] = value end
  for name, value in next, given or {} do
    headers[name] = rendered[name] and join(rendered[name], value) or value
  end
  local url = attempt.url(access.base_url or state.base_url, path or access.path or state.row.path)
  return { access = access, given = given, url = url, headers = headers,
    secrets = credentials.secrets(headers, url, plan.settings.proxy) }
end

-- The same, made once for all chats that have the same access and nothing of their own.
local function dressed(plan, call, path)
  if path or plan.rendered then return dress(plan, call, path) end
  local state, worn = plan.state, plan.state.worn
  if not worn or worn.access ~= plan.access or worn.given ~= plan.settings.headers then
    worn = dress(plan, call)
    state.worn = worn
  end
  return worn
end

-- The seconds of each phase, with what is left of the call's total.
local function timeouts(plan)
  local given, left = plan.settings.timeout, plan.ledger:left()
  if not left and not given.total then return given end
  return { connect = given.connect, first_byte = given.first_byte, idle = given.idle, total = left }
end

local function overdue(total)
  return errors.new { kind = "timeout", code = "total", retryable = false,
    message = ("not finished within %g s (total)"):format(total) }
end

-- Fills `call` with url, headers, secrets and timeouts for one attempt at `path` (nil: a chat): true, or nil, err.
local function address(plan, call, path)
  local settings = plan.settings
  local access, err = credentials.access(plan.adapter, plan.state, settings, plan.request, plan.ledger.deadline)
  plan.access = access
  if not access then return nil, err end
  local admitted
  admitted, err = admit(plan)
  if not admitted then return nil, err end
  if plan.ledger:over() then return nil, overdue(settings.timeout.total) end
  if not path and access.codec ~= call.codec then attempt.render(plan, access.codec) end
  local worn = dressed(plan, call, path)
  call.url, call.headers, call.secrets, call.timeouts = worn.url, worn.headers, worn.secrets, timeouts(plan)
  call.limits, call.proxy, call.ca_file, call.http2 = settings.limits, settings.proxy, settings.ca_file, settings.http2
  return true
end

-- Why there is no further attempt: the stream or its adapter was closed while the call waited. nil: neither was.
local function closed(plan)
  local what = plan.closed and "stream" or plan.adapter:closed() and "adapter"
  return what and errors.new { kind = "cancelled", provider = plan.state.row.name, attempts = plan.ledger.attempts,
    message = "the " .. what .. " was closed" } or nil
end

--- Starts the plan's call, or restarts it on `stream`, as often as the ledger allows: the stream, or nil, err.
function attempt.launch(plan, stream)
  while true do
    local gone = stream and closed(plan)
    if gone then return nil, gone end
    local call = plan.call
    local ready, err = address(plan, call)
    if not ready and not err.retryable then return nil, err end
    if ready and stream then
      ready, err = stream:restart(call)
    elseif ready then
      ready, err = plan.adapter:start(call)
    end
    if ready then return stream or ready end
    local again
    again, err = plan.ledger:again(err)
    if not again then return nil, err end
  end
end

-- The value in an answer, or nil, err.
local function read(row, answer, secrets)
  if answer.status < 200 or answer.status > 299 then return nil, errors.from_answer(row.name, answer, secrets) end
  local value, problem = core.decode(answer.body)
  if type(value) == "table" then return value end
  if problem and problem.code == "cut" then
    return nil, errors.new { kind = "stream_truncated", provider = row.name,
      message = row.title .. ": the answer ended before it was complete" }
  end
  return nil, errors.new { kind = "protocol", provider = row.name, status_code = answer.status,
    message = row.title .. ": the answer is no JSON object" .. (problem and " (" .. problem.message .. ")" or "") }
end

--- Asks for `path` outside of a chat, with the plan's credentials and ledger: the value that the JSON answer holds, or
-- nil, err. `body` is JSON text, nil = none.
function attempt.fetch(plan, method, path, body)
  while true do
    local gone = closed(plan)
    if gone then return nil, gone end
    local call = { method = method, body = body }
    local value
    local ready, err = address(plan, call, path)
    if not ready and not err.retryable then return nil, err end
    if ready then
      local answer
      answer, err = exchange.send(call)
      if answer then value, err = read(plan.state.row, answer, call.secrets) end
    end
    if value ~= nil then return value end
    err.provider = plan.state.row.name
    local again
    again, err = attempt.again(plan, err)
    if not again then return nil, err end
  end
end

-- True when the login module has a remedy for an attempt that was refused; at most once per call and kind of error.
local function readmitted(plan, err)
  local auth, tried = plan.state.auth, plan.readmitted
  if not auth or not auth.rejected or not plan.access or not err.status_code or tried[err.kind] then return false end
  tried[err.kind] = true
  return auth.rejected(plan.adapter, err, plan.access)
end

-- True when the request can go without what the provider refused of it: it is rendered again so, once per call and
-- thing, and its warnings say what they have to. What is refused always, the adapter does not send again.
local function remedied(plan, err)
  if (plan.remedies or 0) == 0 then return false end -- fetches have none
  local without, lasts = core.remedy(plan.adapter, plan.remedies, plan.call.codec, err.status_code, err.code,
    err.message)
  if not without or plan.request[without] then return false end
  plan.request[without] = true
  if lasts then
    plan.state.without = plan.state.without or {}
    plan.state.without[without] = true
  end
  attempt.render(plan, plan.call.codec)
  return true
end

-- True when the login module took out of the request what the provider refuses: it is rendered again.
local function relieved(plan, err)
  local auth = plan.state.auth
  if not auth or not auth.relieve or not plan.call or not auth.relieve(plan.adapter, err, plan.request) then
    return false
  end
  attempt.render(plan, plan.call.codec)
  return true
end

-- True when the request was changed such that the provider may take it. A closed adapter renders nothing.
local function changed(plan, err)
  return not plan.adapter:closed() and (remedied(plan, err) or relieved(plan, err))
end

--- What becomes of an attempt that failed: true when it may be made again (any wait is over), else nil and the error.
function attempt.again(plan, err)
  if readmitted(plan, err) or changed(plan, err) then
    plan.ledger:enter(err)
    return true
  end
  return plan.ledger:again(err)
end

return attempt
