--- Sends what waits in a queue to a collector: requests of OTLP over HTTP, as JSON, one at a time. A server that is
-- busy or away is asked again later, with what is in the queue by then; what is refused, and what is too much, is lost
-- and counted. In a run a task in the background sends, for which the run does not wait; elsewhere only flush does.
-- A queue has first and last (numbers of the oldest that waits and of the newest), count(), batch(max) → the text of
-- that many at most, and their number, and drop(n), which takes the n oldest out.

local core = require "koine.core"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local http = require "koine.net.http"
local scheduler = require "koine.task.scheduler"
local wait = require "koine.task.wait"

local ANSWER_MAX = 64 << 10                            -- bytes
local FIRST_DELAY, LONGEST_DELAY, JITTER = 1, 30, 0.25 -- seconds, seconds, share of the delay
local TAIL = "]}]}]}"                                  -- what a request ends with
local AGAIN = { [429] = true, [502] = true, [503] = true, [504] = true }

local methods = {}
local sender_mt = { __index = methods }

local function add(self, name, n) self.numbers[name] = self.numbers[name] + n end

-- Requests ----------------------------------------------------------------------------------------------------------

-- A batch was taken: counts what the collector says that it rejected of it.
local function accepted(self, n, answer)
  local said = core.decode(answer.body)
  local partial = type(said) == "table" and said.partialSuccess
  local rejected = type(partial) == "table" and math.tointeger(tonumber(partial[self.rejected])) or 0
  rejected = math.min(math.max(rejected, 0), n)
  add(self, "rejected", rejected)
  add(self, "sent", n - rejected)
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

-- Says in an error where it comes from.
local function say_where(self, err)
  local place = core.redact(self.url:gsub("[?#].*$", ""):gsub("//[^/@]*@", "//"), self.secrets)
  local status = err.status_code and (" answered %d"):format(err.status_code) or ""
  err.message = core.error_line(("otlp: %s%s: %s"):format(place, status, err.message))
end

local function failed(self, n, err, again)
  add(self, "failed", 1)
  if err.kind ~= "cancelled" then say_where(self, err) end
  if again then
    hold(self, err)
  else
    add(self, "dropped", n)
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
  local texts, n = self.queue:batch(self.batch)
  local body = self.head .. texts .. TAIL
  if self.compress then body = self.compress(body) end
  seconds = math.max(seconds, 0.001)
  local answer, err = http.send { method = "POST", url = self.url, headers = self.headers, secrets = self.secrets,
    ca_file = self.ca_file, body = body, timeouts = { connect = seconds, total = seconds },
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

--- Sends what is in the queue when it is called, until the deadline (seconds of wait.now): true; or nil and an error:
-- of what was refused, and is dropped, else the last one, or of kind cancelled where a host cancelled the caller.
function methods:flush(deadline)
  local goal, refused, last = self.queue.last, nil, nil
  while self.queue.first <= goal do
    local now = wait.now()
    if now >= deadline or self.resume_at >= deadline and not self.flying then
      return nil, refused or last or errors.new { kind = "timeout",
        message = "otlp: the time was over before all was sent" }
    elseif self.flying or self.resume_at > now then
      local rested, err = rest(self, now, deadline)
      if not rested then return nil, err end
    else
      local ok, err, again = send(self, math.min(deadline - now, self.timeout))
      if not ok and err.kind == "cancelled" then return nil, err end
      last = err
      if not ok and not again then refused = err end
    end
  end
  if refused then return nil, refused end
  return true
end

-- The task -----------------------------------------------------------------------------------------------------------

-- When the task has something to do.
local function due(self)
  local full = self.queue:count() >= self.batch
  return math.max(full and 0 or self.since + self.interval, self.resume_at)
end

-- The body of the task, which ends when nothing waits any more.
local function work(self)
  while self.queue:count() > 0 and not self.closed do
    local now, err = wait.now(), nil
    if self.flying then
      err = select(2, wait.park(self, self.timeout))
    elseif due(self) > now then
      err = select(2, wait.park(self, due(self) - now))
    else
      send(self, self.timeout)
      self.since = wait.now()
    end
    if err then return end
  end
end

--- Something waits: has a task of the run send, where there is a run.
function methods:employ()
  if self.task and not self.task.done then
    if self.queue:count() == self.batch then wait.wake(self) end
    return
  end
  self.since = wait.now()
  self.task = scheduler.background(function()
    if not pcall(work, self) then add(self, "failed", 1) end -- must not end the run
  end)
end

--- Sends no more: what still waits is lost, and counted.
function methods:close()
  self.closed = true
  local left = self.queue:count()
  add(self, "dropped", left)
  self.queue:drop(left)
  wait.wake(self)
end

--- So many were lost before they came into the queue.
function methods:lose(n) add(self, "dropped", n) end

--- What became of all: {sent, rejected, dropped, failed (requests), queued}, a new table.
function methods:counts()
  local kept = { queued = self.queue:count() }
  for name, number in next, self.numbers do kept[name] = number end
  return kept
end

--- A sender: given = {url, headers (of a request), secrets (array of strings that errors do not show), ca_file, head =
-- what a request begins with, compress = function(body) → body as it goes out (nil: as it is), queue, batch, interval,
-- timeout (seconds), rejected = the field of an answer that says how many were rejected}; kept.
return function(given)
  given.numbers = { sent = 0, rejected = 0, dropped = 0, failed = 0 }
  given.failures, given.resume_at, given.since = 0, 0, 0
  given.flying, given.task, given.closed = false, false, false
  return setmetatable(given, sender_mt)
end
