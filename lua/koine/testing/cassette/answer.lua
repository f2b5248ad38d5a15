--- Answers between a core's recording and a cassette's file: {status, headers, body | body_base64, chunks, error,
-- left}.
-- `chunks` are pairs {milliseconds since the request, bytes}, which add up to the body.

local core = require "koine.core"
local is_credential = require("koine.data.text").is_credential
local request = require "koine.testing.cassette.request"
local secrets = require "koine.net.secrets"

local answer = {}

local KEPT = { ["content-type"] = true, ["request-id"] = true, ["x-request-id"] = true, date = true }
local KEPT_PREFIXES = { "retry-after", "x-ratelimit-", "anthropic-ratelimit-" }

local function is_kept(name, named)
  if KEPT[name] or named[name] then return true end
  for _, prefix in ipairs(KEPT_PREFIXES) do
    if name:sub(1, #prefix) == prefix then return true end
  end
  return false
end

-- Headers by name; those that came several times joined.
local function headers_of(pairs_, clean, named)
  local headers = {}
  for _, header in ipairs(pairs_) do
    local name, value = header[1], clean(header[2])
    if is_kept(name, named) then headers[name] = headers[name] and headers[name] .. ", " .. value or value end
  end
  return headers
end

local function milliseconds(seconds) return math.floor(seconds * 1000 + 0.5) end

-- How many bytes two strings share at the beginning, and behind that at the end.
local function shared(a, b)
  local most = math.min(#a, #b)
  local low, high = 0, most
  while low < high do
    local middle = (low + high + 1) // 2
    if a:sub(1, middle) == b:sub(1, middle) then low = middle else high = middle - 1 end
  end
  local first = low
  low, high = 0, most - low
  while low < high do
    local middle = (low + high + 1) // 2
    if a:sub(-middle) == b:sub(-middle) then low = middle else high = middle - 1 end
  end
  return first, low
end

-- The chunks of pieces of `old`, of which `new` was made: what was cut out or put in belongs to one of them.
local function chunks_of(pieces, old, new)
  if #pieces <= 2 and (pieces[1] or 0) < 0.0005 then return nil end
  local first, last = shared(old, new)
  local chunks, offset, before = core.array {}, 0, 0
  for i = 1, #pieces, 2 do
    offset = offset + pieces[i + 1]
    local at = offset <= first and offset or first
    if offset >= #old - last then at = offset + #new - #old end
    if at > before then chunks[#chunks + 1] = { milliseconds(pieces[i]), at - before } end
    before = math.max(before, at)
  end
  return chunks[1] and chunks or nil
end

--- The response to keep of what a core's recording read. `clean(text)` returns a text without secrets; `named`: names
-- of further headers to keep, a set. nil where nothing came at all.
function answer.kept(read, clean, named)
  if not read.over and not read.status then return nil end
  local response, body = { status = read.status }, read.body
  if read.status then response.headers = headers_of(read.headers, clean, named) end
  if body ~= "" and utf8.len(body) then
    response.body = clean(body)
    response.chunks = chunks_of(read.pieces, body, response.body)
  elseif body ~= "" then
    response.body_base64 = core.base64_encode(body)
    response.chunks = chunks_of(read.pieces, body, body)
  end
  if read.error then
    local err = read.error
    response.error = { kind = err.kind, code = err.code, message = clean(err.message),
      after = milliseconds(read.after) }
  elseif read.left or not read.over then
    response.left = true
  end
  return response
end

-- Whether a call ({headers, body}, with_secrets = whether it has some) is a question without credentials, which servers
-- of OAuth are asked for their metadata.
local function is_bare(call)
  if call.with_secrets or (call.body or "") ~= "" then return false end
  for name, value in next, call.headers do
    if is_credential(name:lower(), value) then return false end
  end
  return true
end

-- Why a response to keep is no recording of a provider: none was reached, or it refused the credentials. Words; nil
-- where it is one, or was left by its reader. `call`: see is_bare.
local function failure(response, call)
  if not response.status then return response.error and ("got no answer (%s)"):format(response.error.message) end
  if response.status < 300 or is_bare(call) then return nil end
  local err = core.answer_error("", { status = response.status, headers = {}, body = response.body or "" })
  if err.kind ~= "auth" and err.kind ~= "permission" then return nil end
  return ("was refused with status %d (%s)"):format(response.status, err.message)
end

local LEFT = { kind = "stream_truncated", code = "cassette_left", retryable = false,
  message = "the cassette ends here: the program that recorded this answer stopped reading" }

-- A token that was exchanged so many seconds ago expires so much later: else none would be valid when it is played.
local function postpone(spec, seconds)
  local length = #spec.body
  spec.body = spec.body:gsub('("expires_at"%s*:%s*)(%d+)', function(name, at)
    return name .. ("%d"):format(math.tointeger(tonumber(at)) + seconds)
  end)
  if #spec.body ~= length then spec.pieces = nil end
end

-- Cuts a body and its pieces to n bytes.
local function cut_at(spec, n)
  local pieces, sum = {}, 0
  spec.body = (spec.body or ""):sub(1, n)
  for i = 1, #(spec.pieces or {}), 2 do
    local size = math.min(spec.pieces[i + 1], #spec.body - sum)
    if size > 0 then
      pieces[#pieces + 1], pieces[#pieces + 2] = spec.pieces[i], size
      sum = sum + size
    end
  end
  spec.pieces = spec.pieces and pieces
end

-- Makes all come so many seconds later, whatever the speed is.
local function delay(spec, seconds)
  local pieces = spec.pieces or (spec.body or "") ~= "" and { 0, #spec.body } or {}
  local scale = spec.unwaited and 1 or spec.speed > 0 and 1 / spec.speed or 0
  for i = 1, #pieces, 2 do pieces[i] = pieces[i] * scale + seconds end
  spec.pieces, spec.after, spec.speed = pieces, (spec.after or 0) * scale + seconds, 1
end

-- Lays a fault over what is played.
local function spoil(spec, fault)
  local seconds = fault.delay_ms and fault.delay_ms / 1000
  if seconds then delay(spec, seconds) end
  local n = fault.reset_after or fault.truncate_after or fault.stall_after or fault.end_after
  if not n then return end
  if n == 0 and not fault.end_after then spec.status, spec.headers = nil, nil end
  cut_at(spec, n)
  spec.error, spec.after = nil, seconds
  if fault.stall_after then
    spec.after = math.huge
  elseif not fault.end_after then
    spec.error = { kind = spec.status and "stream_truncated" or "connect",
      message = spec.status and "the answer was cut off" or "the connection was reset" }
  end
end

-- Says which cassette plays this: in a header; where there is no head, in the error, whose words are no provider's.
local function sign(spec, path, name)
  if spec.status then
    local headers = { ["koine-cassette"] = ("%s %s"):format(path, name):gsub("%c", "?") }
    for header, value in next, spec.headers or {} do headers[header] = value end
    spec.headers = headers
  elseif spec.error then
    local err = spec.error
    spec.error = { kind = err.kind, code = err.code, retryable = err.retryable,
      message = ("played by cassette %s (%s): %s"):format(path, name, err.message or "the connection broke") }
  end
end

--- The core's recording that plays a response. `play`: {speed, unwaited, age = seconds since it was recorded (nil: not
-- known), path, name = "exchanges[1]"}; `fault`: {delay_ms, reset_after, truncate_after, stall_after, end_after}, bytes
-- of the body, nil for none.
function answer.played(response, play, fault)
  local spec = { status = response.status, headers = response.headers, speed = play.speed, unwaited = play.unwaited,
    body = response.body or response.body_base64 and core.base64_decode(response.body_base64) or nil }
  if response.chunks then
    spec.pieces = {}
    for _, chunk in ipairs(response.chunks) do
      spec.pieces[#spec.pieces + 1], spec.pieces[#spec.pieces + 2] = chunk[1] / 1000, chunk[2]
    end
  end
  if response.error then
    spec.error, spec.after = response.error, (response.error.after or 0) / 1000
  elseif response.left then
    spec.error = LEFT
  end
  if play.age and spec.body and secrets.is_exchange(spec.body) then postpone(spec, play.age) end
  if fault then spoil(spec, fault) end
  sign(spec, play.path, play.name)
  return core.recording(spec)
end

-- The words for the first exchange that failed and that no equal one after it made good; nil for none. `failed`: the
-- words by their place.
local function first_failed(tape, exchanges, failed)
  local well, words = {}, nil
  for i = next(failed) and #exchanges or 0, 1, -1 do
    local one = exchanges[i].request
    local key = request.key(request.compared(one, tape.settings))
    if not failed[i] then
      well[key] = true
    elseif not well[key] then
      words = ("%s %s %s"):format(one.method, one.url, failed[i])
    end
  end
  return words
end

--- The exchanges that a tape recorded (an array), without secrets; and words for the first that failed for good, see
-- failure; nil for none. Adds the secrets that they name to `known`.
function answer.exchanges(tape, known)
  local read = {}
  for _, entry in ipairs(tape.recorded) do
    local one = entry.recording:read()
    read[#read + 1] = one
    request.kept(entry.call, {}, {}, {}, known)
    secrets.hide_fields(one.body, known)
  end
  local list, failed, clean = {}, {}, answer.cleaner(known, tape.replace)
  for i, entry in ipairs(tape.recorded) do
    local response = answer.kept(read[i], clean, tape.named)
    if response then
      local exchange = { request = request.kept(entry.call, known, tape.replace, tape.named), response = response }
      local words = failure(response, entry.call)
      if secrets.is_exchange(read[i].body) then exchange.recorded = entry.time end
      if tape.options.redact then tape.options.redact(exchange) end
      list[#list + 1] = exchange
      failed[#list] = words
    end
  end
  return list, first_failed(tape, list, failed)
end

--- A function that cleans texts of an answer: of known credentials, of fields that hold some (which are added to
-- `found`, nil for nowhere), and of what the caller replaces.
function answer.cleaner(known, replace, found)
  return function(text)
    return request.substituted(secrets.hide(secrets.hide_fields(text, found), known), replace)
  end
end

return answer
