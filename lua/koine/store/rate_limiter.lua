--- A rate limiter that processes share through a file: requests of all of them keep a distance, or a number per period.
-- The file holds {"last_request_at": seconds | null, "request_log": [seconds…]} in Unix time and is looked at under an
-- advisory lock, which a process gives back before it sleeps, and loses when it dies. It has mode 0600; a symbolic
-- link, or a file that others may read, is refused. Contents that are no such state count as none.
-- This file is not one of koine.store.file, whose engine is a directory: programs with other versions of Koine share
-- it, and a window of requests is another limit than a bucket. A limiter remembers the log that it wrote (`known`), so
-- that a long one is not read anew each time (request_log.lua).

local buckets = require "koine.store.bucket_limiter"
local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local is_path = require("koine.data.text").is_path
local request_log = require "koine.store.request_log"
local wait = require "koine.task.wait"

local rate_limiter = {}

local TICKS = 1e4            -- per second: times are kept to so much, because other programs write 14 digits
local STATE_MAX = 16 << 20   -- bytes of a state
local LEAST_SLEEP = 0.001    -- seconds
local LOCK_PAUSE = 0.005     -- seconds between two tries for the lock, at most

--- Returns the Unix seconds that times are counted in; specs put their own function here.
rate_limiter.clock = core.wall

local methods = {}
local Limiter = { __index = methods, __name = "koine.rate_limiter" }

-- The time, in whole ticks.
local function now() return math.floor(rate_limiter.clock() * TICKS + 0.5) / TICKS end

-- {requests = integer, period = seconds} of the caller's table; other keys are ignored.
local REQUESTS = check.integer(1)
local WINDOW = check.that("table of requests and period", function(value, path)
  if type(value) ~= "table" then return nil end
  return { requests = REQUESTS(value.requests, path .. ".requests"),
    period = check.time_limit(value.period, path .. ".period") }
end)

local PATH = check.that("path of a file", function(value)
  if type(value) ~= "string" then return nil end
  if not is_path(value) then return nil, "text that is no path" end
  if value:sub(-1) ~= "/" then return value end
end)

local OPTIONS = check.options { rate_limit_path = PATH, min_request_interval = check.default(check.seconds, 0),
  rate_limit = WINDOW }

-- The options of a limiter on a store; one on a file has none of them.
local OF_STORES = { "store", "key", "capacity", "per", "cost", "on_error", "on_warning" }

--- Makes a limiter: one on a store, where an option says so (bucket_limiter.lua), else {rate_limit_path = file,
-- min_request_interval = seconds between two requests (nil, 0: none), rate_limit = {requests = at most so many, period
-- = in so many seconds} (nil: no such limit)}. With neither limit it lets everything go at once and touches no file.
-- Raises an ArgumentError naming the bad field.
function rate_limiter.new(given)
  for _, name in ipairs(OF_STORES) do
    if type(given) == "table" and given[name] ~= nil then return buckets.new(given) end
  end
  local kept = OPTIONS(given)
  local self = setmetatable({ interval = kept.min_request_interval, window = kept.rate_limit,
    path = kept.rate_limit_path }, Limiter)
  self.limits = self.interval > 0 or self.window ~= nil
  if self.limits then PATH(self.path, "rate_limit_path") end
  return self
end

-- The file under a lock of ours, made where it is missing; nil, err, also when others hold it until the deadline.
local function hold(path, deadline)
  local made = false
  while true do
    local lock, err = core.file_lock(path)
    if lock then return lock end
    if lock == nil then
      local parent = path:match "^(.*[^/])/+[^/]*$"
      if err.code ~= "absent" or made or not parent then return nil, err end
      made, err = core.file_directory(parent)
      if not made then return nil, err end
    elseif deadline and wait.now() >= deadline then
      return nil, errors.new { kind = "timeout", code = "total", retryable = false,
        message = "rate limiter: other processes hold the lock of its file, and no time is left" }
    else
      local slept, interrupted = wait.sleep(LOCK_PAUSE * math.random())
      if not slept then return nil, interrupted end
    end
  end
end

-- The seconds until a request may go; 0 or less: now.
local function delay(self, log, time)
  local cooldown = log.last and self.interval - (time - log.last) or 0
  return math.max(cooldown, self.window and log:full(self.window, time) or 0)
end

--- Sleeps until a request may go and enters it: true and the Unix seconds it was entered at (nil without limits), or
-- nil, err: the file cannot be used, the sleep was interrupted, or the request may not go within `most` seconds (a
-- number, nil = no limit): then at once, kind "timeout", and nothing is entered.
-- Raises an ArgumentError for another `most`. Yields under a scheduler.
function methods:wait(most)
  if most ~= nil then check.seconds(most, "most") end
  if not self.limits then return true end
  local deadline = most and wait.now() + most
  while true do
    local lock <close>, err = hold(self.path, deadline)
    if not lock then return nil, err end
    local known = self.known
    self.known = nil -- what breaks off from here leaves none behind
    local said = request_log.read(lock:read(STATE_MAX) or "", known)
    local time = now()
    local log, late = said:settle(time)
    local seconds, written = delay(self, log, time), true
    if seconds <= 0 then
      log:enter(self.window, time)
      written, err = lock:write(log:write())
      if not written then return nil, err end
      self.known = log
      return true, time
    end
    if late then written, err = lock:write(log:write()) end
    if not written then return nil, err end
    self.known = known and log
    lock:close()
    local left = deadline and deadline - wait.now()
    if left and seconds >= left then return nil, buckets.too_late(seconds, math.max(left, 0)) end
    local slept, interrupted = wait.sleep(math.max(seconds, LEAST_SLEEP))
    if not slept then return nil, interrupted end
  end
end

return rate_limiter
