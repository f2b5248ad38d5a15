--- Answers between a core's recording and a cassette's file: {status, headers, body | body_base64, chunks, error,
-- left}.
-- `chunks` are pairs {milliseconds since the request, bytes}, which add up to the body.

local core = require "koine.core"
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

-- Lays a fault over what is played.
local function spoil(spec, fault)
  if fault.delay_ms then
    local pieces = spec.pieces or (spec.body or "") ~= "" and { 0, #spec.body } or {}
    for i = 1, #pieces, 2 do pieces[i] = pieces[i] + fault.delay_ms / 1000 end
    spec.pieces, spec.after = pieces, (spec.after or 0) + fault.delay_ms / 1000
  end
  local n = fault.reset_after or fault.truncate_after or fault.stall_after or fault.end_after
  if not n then return end
  if n == 0 and not fault.end_after then spec.status, spec.headers = nil, nil end
  cut_at(spec, n)
  spec.error, spec.after = nil, nil
  if fault.stall_after then
    spec.after = math.huge
  elseif not fault.end_after then
    spec.error = { kind = spec.status and "stream_truncated" or "connect",
      message = spec.status and "the answer was cut off" or "the connection was reset" }
  end
end

--- The core's recording that plays a response. `play`: {speed, unwaited, age = seconds since it was recorded (nil: not
-- known)}; `fault`: {delay_ms, reset_after,
-- truncate_after, stall_after, end_after}, bytes of the body, nil for none.
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
  return core.recording(spec)
end

--- A function that cleans texts of an answer: of known credentials, of fields that hold some (which are added to
-- `found`, nil for nowhere), and of what the caller replaces.
function answer.cleaner(known, replace, found)
  return function(text)
    return request.substituted(secrets.hide(secrets.hide_fields(text, found), known), replace)
  end
end

return answer
