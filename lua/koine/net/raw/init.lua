--- The raw view: HTTP requests and their answers as they are, without credentials, for people who look for a fault. It
-- stands below retries: each attempt is shown. Who looks: the functions `on_request` and `on_response` of a request
-- table, and the lines of KOINE_DEBUG (raw/lines.lua). Without them nothing is made.
--
-- on_request(request) is called once, just before the request goes out:
--   {id = integer, the same for its answer, method, url, headers = {name = value}, body = string or nil}
-- on_response(part) is called as the answer comes, with tables that have `id` and `seconds` (since the request):
--   {phase = "head", status, headers = {name = value}: those that came several times joined}
--   {phase = "body", body = string}: where a stream was asked for, lines as they come; else all of it, once
--   {phase = "end", bytes = of the body, error = {kind, code, message} or nil, left = true where the reader went first}
-- Each request that was shown has one end. Both are called synchronously and must not yield; what they raise is counted
-- (koine.observe.errors()) and changes nothing. Requests that they make themselves are not shown.
--
-- Redacted are the credentials of the request, in every spelling that the core knows, the headers, parameters and
-- fields that hold some (net/secrets.lua), and what an answer repeats of them. Bytes that may be a part of one wait
-- until the line is complete.

local core = require "koine.core"
local observer = require "koine.data.observer"
local secrets = require "koine.net.secrets"
local getenv = require "koine.data.host.getenv"

local raw = {}

local HELD_MAX = 64 << 10 -- bytes of a line that wait for its end
local SPELLED = 12        -- bytes that a byte of a secret may be spelled with

-- 0 where it is not set, 1 for a word that is no number.
local function level_of(word)
  if word == nil or word == "" then return 0 end
  return math.max(0, math.min(3, math.tointeger(tonumber(word)) or 1))
end

--- The level of KOINE_DEBUG: 0 to 3.
raw.level = level_of(getenv "KOINE_DEBUG")

local telling, count = false, 0

-- Shows a table to a function. What is sent meanwhile is not shown: that would go on for ever.
local function tell(look, shown)
  telling = true
  observer.tell(look, shown)
  telling = false
end

-- What is shown to everybody who looks at `self`: a table of each one's own.
local function tell_all(self, make)
  for _, look in ipairs(self.lookers) do tell(look, make()) end
end

local methods = {}
local watch_mt = { __index = methods, __name = "koine.net.raw" }

local function clean(self, text) return secrets.hide(secrets.hide_fields(text), self.known) end

local function headers_of(self, pairs_)
  local headers = {}
  for _, header in ipairs(pairs_) do
    local name = header[1]:lower()
    local value = secrets.hide(secrets.hide_in_header(name, header[2]), self.known)
    headers[name] = headers[name] and headers[name] .. ", " .. value or value
  end
  return headers
end

local function copied(map)
  local copy = {}
  for name, value in next, map do copy[name] = value end
  return copy
end

local function respond(self, phase, fields)
  local seconds = core.monotonic() - self.since
  tell_all(self, function()
    local part = copied(fields)
    part.id, part.phase, part.seconds = self.id, phase, seconds
    part.headers = fields.headers and copied(fields.headers)
    part.error = fields.error and copied(fields.error)
    return part
  end)
end

local function show_body(self, text)
  if text ~= "" then respond(self, "body", { body = text }) end
end

-- Shows what is held as far as its lines are complete; all of it when it is over. Of a line beyond HELD_MAX what no
-- secret can begin in is shown.
local function show_held(self, over)
  local held = self.held
  local last = over and #held or #held - (held:reverse():find("\n", 1, true) or #held + 1) + 1
  if last > 0 then
    self.held = held:sub(last + 1)
    return show_body(self, clean(self, held:sub(1, last)))
  end
  if #held <= HELD_MAX + self.longest then return end
  local text = clean(self, held .. "\n"):sub(1, -2) -- no part at the end is cut off: it stays as it is
  self.held = text:sub(-self.longest)
  show_body(self, text:sub(1, -self.longest - 1))
end

local function end_of(self, read, err)
  local failure = read.error or err
  local shown
  if failure then
    shown = { kind = failure.kind, code = failure.code, message = failure.message and clean(self, failure.message) }
  end
  respond(self, "end", { bytes = self.bytes, error = shown, left = read.left and not shown or nil })
end

-- The body that came since the last time, the status and whether it is over. What is shown whole waits for the end.
local function take(self, at_end)
  local from
  if not self.is_own then from = self.bytes end
  if not self.in_pieces and not at_end then
    local _, status, over = self.recording:take(math.maxinteger)
    if not over then return "", status, over end
  end
  return self.recording:take(from)
end

-- Shows what came since the last time; true when there will be no more.
local function look(self, at_end)
  local body, status, over = take(self, at_end)
  if status and not self.has_head then
    self.has_head = true
    respond(self, "head", { status = status, headers = headers_of(self, self.recording:read().headers) })
  end
  self.bytes, self.held = self.bytes + #body, self.held .. body
  if body ~= "" or at_end then show_held(self, over or at_end) end
  return over
end

--- Shows what came since the last time. `err` is the error that reading it ended with, nil for none.
function methods:drain(err)
  if not self.is_over and look(self) then self:finish(err) end
end

--- Shows the end, with the error that ended the request without an answer, nil for none. Any number of times.
function methods:finish(err)
  if self.is_over then return end
  self.is_over = true
  look(self, true)
  end_of(self, self.recording:read(), err)
end

function watch_mt.__close(self) self:finish() end
function watch_mt.__gc(self) pcall(methods.finish, self) end -- its recording may be gone

-- What the request shows, and into `known` the credentials that it says itself.
local function request_of(call, known)
  local headers = {}
  for name, value in next, call.headers or {} do
    headers[name:lower()] = secrets.hide_in_header(name, value, known)
  end
  local url = secrets.hide_in_url(call.url, known)
  local body = type(call.body) == "string" and secrets.hide_fields(call.body, known) or nil
  for name, value in next, headers do headers[name] = secrets.hide(value, known) end
  return { method = call.method or "GET", url = secrets.hide(url, known), headers = headers,
    body = body and secrets.hide(body, known) }
end

-- Those who look at the answer of a request, and those who look at the request.
local function lookers_of(call)
  local requests, responses = {}, {}
  requests[1], responses[1] = call.on_request, call.on_response
  if raw.level > 0 then
    local lines = require "koine.net.raw.lines"(raw.level)
    requests[#requests + 1], responses[#responses + 1] = lines.request, lines.response
  end
  return requests, responses
end

local function longest_of(known)
  local longest = 0
  for _, secret in ipairs(known) do longest = math.max(longest, #secret) end
  return SPELLED * longest + 16
end

--- Shows a request that is about to go out, and sets call.view: nil where nobody looks, else an object with drain and
-- finish, which whoever reads the answer calls.
function raw.begin(call)
  call.view = nil
  if not call.on_request and not call.on_response and raw.level == 0 or telling then return nil end
  local known = table.move(call.secrets or {}, 1, #(call.secrets or {}), 1, {})
  count = count + 1
  local request, id = request_of(call, known), count
  local requests, responses = lookers_of(call)
  for _, looker in ipairs(requests) do
    local shown = copied(request)
    shown.id, shown.headers = id, copied(request.headers)
    tell(looker, shown)
  end
  if not responses[1] then return nil end
  local recording, is_own = call.recording, false
  if not recording or recording:is_played() then
    recording, is_own = core.recording(), true
    call.view = recording
  end
  return setmetatable({ id = id, lookers = responses, known = known, recording = recording, is_own = is_own,
    in_pieces = call.stream and true or false, held = "", bytes = 0, since = core.monotonic(),
    longest = longest_of(known) }, watch_mt)
end

return raw
