--- Retries: one ledger per call, with one budget, that says whether a failed attempt is made again and sleeps before
-- it. Whether an error is worth it at all (`retryable`) and how long the server wants us to wait (`retry_after`) comes
-- from the core; that nothing is sent again once a delta was handed out is the caller's to keep.

local wait = require "koine.task.wait"

local retry = {}

local FIRST_DELAY, LONGEST_DELAY, JITTER = 0.5, 8, 0.25 -- seconds, seconds, share of the delay

--- Returns a number in [0, 1); specs put their own here.
retry.random = math.random

local ledger = {}
ledger.__index = ledger

--- Opens a ledger. `policy` is {max = retries, max_delay = seconds, on_ambiguous = boolean}, `total` the seconds the
-- call may take in all (nil = no limit), on_retry a function called with the attempt's record before each wait, or nil.
-- `clock` has now and park as koine.task.wait does (nil: that).
-- Its `attempts` is the array that errors and Responses carry: {status_code, class, kind, waited} for every attempt,
-- `waited` being the seconds slept after it. Its `parent` is a context or a span (data/observer) where waits are
-- observed.
function retry.new(policy, total, on_retry, clock)
  return setmetatable({ policy = policy, retries = 0, attempts = {}, on_retry = on_retry, clock = clock or wait,
    deadline = total and (clock or wait).now() + total }, ledger)
end

-- True when the provider may have worked on a request whose answer never came: neither an answer, nor certain that no
-- connection was made.
local function ambiguous(err) return err.status_code == nil and err.code ~= "connect" end

-- min(0.5 · 2ⁿ, 8) seconds after the n-th retry, up to a quarter of it taken off at random.
local function backoff(retries)
  return math.min(FIRST_DELAY * 2.0 ^ retries, LONGEST_DELAY) * (1 - retry.random() * JITTER)
end

-- The seconds to wait before the next attempt, or nil when there is none.
function ledger:delay(err)
  local policy = self.policy
  if not err.retryable or self.retries >= policy.max then return nil end
  if not policy.on_ambiguous and ambiguous(err) then return nil end
  local delay = err.retry_after or backoff(self.retries)
  if delay > policy.max_delay then return nil end
  if self.deadline and self.clock.now() + delay >= self.deadline then return nil end
  return delay
end

--- The seconds left of the call's total, at least a millisecond so that it never reads as "no limit"; nil = no limit.
function ledger:left() return self.deadline and math.max(self.deadline - self.clock.now(), 0.001) end

--- True once the call's total is over.
function ledger:over() return self.deadline ~= nil and self.clock.now() >= self.deadline end

--- Enters an attempt that failed; its error carries the attempts from now on.
function ledger:enter(err)
  local entry = { status_code = err.status_code, class = err.class, kind = err.kind, waited = 0 }
  self.attempts[#self.attempts + 1] = entry
  err.attempts = self.attempts
  return entry
end

--- Ends the sleep before the next attempt: there will be none. Its span ends now, before what it is a part of.
function ledger:stop()
  self.stopped = true
  if self.sleeping then self.sleeping:finish() end
  wait.wake(self)
end

-- Tells that there is a further attempt, and begins the span of the wait before it; not where who is told stops it.
local function observe_wait(self, entry)
  local observer = require "koine.data.observer"
  observer.point(self.parent, "retry", { status_code = entry.status_code, class = entry.class, kind = entry.kind,
    waited = entry.waited })
  if self.stopped then return nil end
  return observer.start(nil, self.parent, "wait", { what = "retry" }, function(span) self.sleeping = span end)
end

-- Sleeps so long, or until stop: true, or nil, err.
local function sleep(self, delay)
  if self.stopped or delay <= 0 then return wait.sleep(0) end
  local _, err = self.clock.park(self, delay) -- only stop wakes a ledger
  if err then return nil, err end
  return true
end

--- Enters an attempt that failed, and sleeps when it is to be made again: true then, also where stop ended the sleep.
-- Otherwise nil and the error to report: the attempt's own, or the one that ended the sleep.
function ledger:again(err)
  local entry = self:enter(err)
  local delay = self:delay(err)
  if not delay then return nil, err end
  self.retries = self.retries + 1
  entry.waited = delay
  if self.on_retry then self.on_retry(entry) end
  local span <close> = self.parent and not self.stopped and observe_wait(self, entry)
  local began = self.clock.now()
  local slept, interrupted = sleep(self, delay)
  if self.stopped then entry.waited = math.min(self.clock.now() - began, delay) end
  if span then span:finish(nil, interrupted) end
  if slept then return true end
  interrupted.attempts = self.attempts
  return nil, interrupted
end

return retry
