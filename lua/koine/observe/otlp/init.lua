--- An observer that sends spans to an OpenTelemetry collector: OTLP over HTTP, as JSON. Records become spans where
-- they are told, and wait in a queue. In a run a background task sends them, for which the run does not wait; elsewhere
-- flush and close do, which wait. A server that is busy or away is asked again later, with what is in the queue by
-- then; what is lost is counted. Its own requests are not observed.

local check = require "koine.data.check"
local core = require "koine.core"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local http = require "koine.net.http"
local new_queue = require "koine.observe.otlp.queue"
local new_spans = require "koine.observe.otlp.span"
local observer = require "koine.data.observer"
local scheduler = require "koine.task.scheduler"
local value = require "koine.observe.otlp.value"
local version = require "koine.data.version"
local wait = require "koine.task.wait"

local PATH = "/v1/traces"
local ANSWER_MAX = 64 << 10                            -- bytes
local FIRST_DELAY, LONGEST_DELAY, JITTER = 1, 30, 0.25 -- seconds, seconds, share of the delay
local SECRETS_MAX, SECRET_MIN = 16, 8                  -- as the core has them
local AGAIN = { [429] = true, [502] = true, [503] = true, [504] = true }

local methods = {}
local otlp_mt = { __index = methods, __name = "koine.observe.otlp" }

-- Sending -----------------------------------------------------------------------------------------------------------

-- What a rejected part of a batch says of itself: counts it.
local function accepted(self, n, answer)
  local said = core.decode(answer.body)
  local partial = type(said) == "table" and said.partialSuccess
  local rejected = type(partial) == "table" and math.tointeger(tonumber(partial.rejectedSpans)) or 0
  rejected = math.min(math.max(rejected, 0), n)
  self.numbers.rejected = self.numbers.rejected + rejected
  self.numbers.sent = self.numbers.sent + n - rejected
  self.queue:drop(n)
  self.failures = 0
  return true
end

-- Holds requests back after one that may be made again.
local function hold(self, err)
  local delay = math.min(FIRST_DELAY * 2.0 ^ math.min(self.failures, 10), LONGEST_DELAY) * (1 - math.random() * JITTER)
  self.failures = self.failures + 1
  self.resume_at = wait.now() + math.max(err.retry_after or delay, 0)
end

local function failed(self, n, err, again)
  self.numbers.failed = self.numbers.failed + 1
  if again then
    hold(self, err)
  else
    self.numbers.dropped = self.numbers.dropped + n
    self.queue:drop(n)
  end
  return nil, err, again
end

-- Sends a batch, within so many seconds: true; or nil, err, and whether it is still in the queue.
local function send(self, seconds)
  self.flying = true
  local over <close> = defer(function() -- luacheck: ignore over
    self.flying = false
    wait.wake(self)
  end)
  local texts, n = self.queue:batch(self.options.batch)
  seconds = math.max(seconds, 0.001)
  local answer, err = http.send { method = "POST", url = self.url, headers = self.headers, secrets = self.secrets,
    body = self.head .. texts .. "]}]}]}", timeouts = { connect = seconds, total = seconds },
    limits = { body = ANSWER_MAX, decoded = ANSWER_MAX } }
  if not answer then return failed(self, n, err, true) end
  if answer.status >= 200 and answer.status < 300 then return accepted(self, n, answer) end
  return failed(self, n, errors.from_answer("otlp", answer, self.secrets), AGAIN[answer.status] or false)
end

-- Waits until another sender is done or requests may go out again: true; nil, err where a host cancelled the caller.
local function rest(self, now, deadline)
  local _, err = wait.park(self, (self.flying and deadline or self.resume_at) - now)
  return not err, err
end

-- Sends what is in the queue up to its place `goal`, until the deadline: true; or nil and an error: of what was
-- refused, else the last one.
local function drain(self, goal, deadline)
  local refused, last
  while self.queue.first <= goal do
    local now = wait.now()
    if now >= deadline or self.resume_at >= deadline and not self.flying then
      return nil, refused or last or errors.new { kind = "timeout",
        message = "otlp: spans wait that could not be sent" }
    elseif self.flying or self.resume_at > now then
      local rested, err = rest(self, now, deadline)
      if not rested then return nil, err end
    else
      local ok, err, again = send(self, deadline - now)
      if not ok and err.kind == "cancelled" then return nil, err end
      last = err
      if not ok and not again then refused = err end
    end
  end
  if refused then return nil, refused end
  return true
end

-- When the task that sends has something to do.
local function due(self)
  local full = self.queue:count() >= self.options.batch
  return math.max(full and 0 or self.since + self.options.interval, self.resume_at)
end

-- The body of that task, which ends with the queue.
local function work(self)
  while self.queue:count() > 0 and not self.closed do
    local now, woken, err = wait.now(), nil, nil
    if self.flying then
      woken, err = wait.park(self, self.options.timeout)
    elseif due(self) > now then
      woken, err = wait.park(self, due(self) - now)
    else
      send(self, self.options.timeout)
      self.since = wait.now()
    end
    if woken == nil and err then return end
  end
end

local function has_task(self) return self.task and not self.task.done end

-- Has a task of the run send, where there is one.
local function employ(self)
  if has_task(self) then
    if self.queue:count() == self.options.batch then wait.wake(self) end
    return
  end
  self.since = wait.now()
  self.task = scheduler.background(function()
    if not pcall(work, self) then self.numbers.failed = self.numbers.failed + 1 end -- must not end the run
  end)
end

-- The observer ------------------------------------------------------------------------------------------------------

local function keep(self, span)
  if not self.queue:push(core.encode(span)) then self.numbers.dropped = self.numbers.dropped + 1 end
end

--- Takes a record (table).
function methods:record(record)
  if self.closed then
    if record.phase ~= "start" then self.numbers.dropped = self.numbers.dropped + 1 end
    return
  end
  local span, lost = self.spans:take(record)
  if lost then self.numbers.dropped = self.numbers.dropped + 1 end
  if not span then return end
  keep(self, span)
  employ(self)
end

--- Sends what waits, and waits for it: true; or nil, err where some of it could not be sent within `timeout`, and stays
-- in the queue, or was refused, and is dropped.
function methods:flush()
  return drain(self, self.queue.last, wait.now() + self.options.timeout)
end

--- Sends what waits, within `timeout`, and what was begun and is not over, as spans that say so. Returns as flush does.
-- What could not be sent is lost, and counted. Any number of times.
function methods:close()
  if self.closed then return true end
  self.closed = true
  for _, span in ipairs(self.spans:unfinished(core.nanoseconds())) do keep(self, span) end
  local ok, err = self:flush()
  local left = self.queue:count()
  self.numbers.dropped = self.numbers.dropped + left
  self.queue:drop(left)
  wait.wake(self)
  return ok, err
end

otlp_mt.__close = function(self) self:close() end

--- What became of spans and records: {sent, rejected (by the collector, of a batch that it took), dropped (no room, a
-- refused batch, left at close, or events of nothing that is open), failed (requests), queued}.
function methods:counts()
  local kept = { queued = self.queue:count() }
  for name, number in next, self.numbers do kept[name] = number end
  return kept
end

--- Says where it sends to, without a password.
function otlp_mt:__tostring() return ("%s (%s)"):format(otlp_mt.__name, (self.url:gsub("//[^/@]*@", "//"))) end

check.colons(methods, otlp_mt, "otlp")

-- Options -----------------------------------------------------------------------------------------------------------

local OPTIONS = check.options {
  endpoint = check.default(check.url, "http://localhost:4318"), url = check.exact_url,
  headers = check.default(check.map(check.key), {}), service = check.default(check.name, "unknown_service"),
  resource = check.default(check.map(check.any), {}), content = check.any,
  attempts = check.default(check.boolean, false),
  batch = check.default(check.integer(1), 512), interval = check.default(check.time_limit, 5),
  queue = check.default(check.integer(1), 2048), timeout = check.default(check.time_limit, 10),
}

local function headers_of(given)
  local headers, secrets = {}, {}
  for name, text in next, given do
    headers[name:lower()] = text
    if #text >= SECRET_MIN and #secrets < SECRETS_MAX then secrets[#secrets + 1] = text end
  end
  headers["content-type"], headers["user-agent"] = "application/json", "koine/" .. version
  return headers, secrets
end

-- What a request begins with.
local function head_of(options)
  local resource = { ["service.name"] = options.service, ["telemetry.sdk.name"] = "koine",
    ["telemetry.sdk.language"] = "lua", ["telemetry.sdk.version"] = version }
  for name, given in next, options.resource do resource[name] = given end
  return ('{"resourceSpans":[{"resource":{"attributes":%s},"scopeSpans":[{"scope":%s,"spans":['):format(
    core.encode(value.attributes(resource)), core.encode { name = "koine", version = version })
end

--- An observer that sends spans. opts: {endpoint = URL of the collector, to which /v1/traces is added,
-- "http://localhost:4318"; url = that URL in full, in its place; headers = {name = string}; service = its name in
-- traces; resource = {attribute = value}; content = as koine.observe.new has it; attempts = true for spans of single
-- HTTP requests; batch = spans of a request, 512; interval = seconds between requests, 5; queue = spans that may wait,
-- 2048; timeout = seconds for a request, flush and close, 10}. Returns the observer, with methods record, flush, close,
-- counts, and <close>. Raises an ArgumentError.
return function(opts)
  local options = OPTIONS(opts == nil and {} or opts)
  local headers, secrets = headers_of(options.headers)
  local self = setmetatable({ options = options, url = options.url or options.endpoint .. PATH, headers = headers,
    secrets = secrets, head = head_of(options), queue = new_queue(options.queue), spans = new_spans(options.attempts),
    numbers = { sent = 0, rejected = 0, dropped = 0, failed = 0 }, failures = 0, resume_at = 0, since = 0,
    flying = false, task = false, closed = false }, otlp_mt)
  self.hook = observer.new { to = self, content = options.content }
  return self
end
