--- A rate limiter that processes share through a file: requests of all of them keep a distance, or a number per period.
-- The file holds {"last_request_at": seconds | null, "request_log": [seconds…]} in Unix time and is looked at under an
-- advisory lock, which a process gives back before it sleeps, and loses when it dies. It has mode 0600; a symbolic
-- link, or a file that others may read, is refused. Contents that are no such state count as none.
-- This file is not one of koine.store.file, whose engine is a directory: programs with other versions of Koine share
-- it, and a window of requests is another limit than a bucket.

local buckets = require "koine.store.bucket_limiter"
local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local is_path = require("koine.data.text").is_path
local wait = require "koine.task.wait"

local rate_limiter = {}

local TICKS = 1e4            -- per second: times are kept to so much, because other programs write 14 digits
local STATE_MAX = 16 << 20   -- bytes of a state
local KNOWN_MAX = 1 << 20    -- bytes of a state that is kept
local LEAST_SLEEP = 0.001    -- seconds
local LOCK_PAUSE = 0.005     -- seconds between two tries for the lock, at most

--- Returns the Unix seconds that times are counted in; specs put their own function here.
rate_limiter.clock = core.wall

local methods = {}
local Limiter = { __index = methods, __name = "koine.rate_limiter" }

-- The time, in whole ticks.
local function now() return math.floor(rate_limiter.clock() * TICKS + 0.5) / TICKS end

local function is_time(value) return type(value) == "number" and value == value and math.abs(value) < math.huge end

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
        message = "rate limiter: others hold the lock of its file, and no time is left" }
    else
      local slept, interrupted = wait.sleep(LOCK_PAUSE * math.random())
      if not slept then return nil, interrupted end
    end
  end
end

-- States ------------------------------------------------------------------------------------------------------------
-- {last = seconds or nil, log = sorted array of seconds, of which those before `first` do not count any more, body =
-- the others as JSON has them, joined by commas}.

local function is_sorted(log)
  for i = 2, #log do
    if log[i] < log[i - 1] then return false end
  end
  return true
end

local function word_of(time) return time and core.encode(time) or "null" end

local function body_of(log, first)
  local words = {}
  for i = first, #log do words[#words + 1] = word_of(log[i]) end
  return table.concat(words, ",")
end

-- The state that a text holds; an empty one when it holds none.
local function parse(text)
  local fresh = { log = {}, first = 1, body = "" }
  local value = core.decode(text) -- which raises where memory is short: that is no empty state
  if type(value) ~= "table" or type(value.request_log) ~= "table" then return fresh end
  local last, log = value.last_request_at, {}
  if last == core.null then last = nil end
  if last ~= nil and not is_time(last) then return fresh end
  for i, time in ipairs(value.request_log) do
    if not is_time(time) then return fresh end
    log[i] = time
  end
  if not is_sorted(log) then table.sort(log) end
  return { last = last, log = log, first = 1, body = body_of(log, 1) }
end

-- The state in the file, and its text. Where the file is as this limiter left it, nothing is read anew: a log of 2,000
-- requests has 32 KiB. The state is the caller's until `keep`.
local function read(self, lock)
  local text, known = lock:read(STATE_MAX) or "", self.known
  self.known = nil
  if known and known.text == text then return known.state, text end
  return parse(text), text
end

-- Remembers that the file holds the state.
local function keep(self, state, text)
  if #text <= KNOWN_MAX then self.known = { state = state, text = text } end
end

local function write(self, lock, state)
  local text = ('{"last_request_at":%s,"request_log":[%s]}'):format(word_of(state.last), state.body)
  local written, err = lock:write(text)
  if not written then return nil, err end
  keep(self, state, text)
  return true
end

-- Makes times that are yet to come the present, because the clock was set back; true when there were any.
local function settle(state, time)
  local log, late = state.log, false
  if state.last and state.last > time then state.last, late = time, true end
  for i = #log, state.first, -1 do
    if log[i] <= time then break end
    log[i], late = time, true
  end
  if late then state.body = body_of(log, state.first) end
  return late
end

-- The place in the log from which on entries are within the period.
local function recent(window, state, time)
  local log, from = state.log, state.first
  while log[from] and log[from] <= time - window.period do from = from + 1 end
  return from
end

-- The seconds until a request may go; 0 or less: now.
local function delay(self, state, time)
  local cooldown = state.last and self.interval - (time - state.last) or 0
  local window, full = self.window, 0
  if window then
    local from = recent(window, state, time)
    local over = #state.log - from + 1 - window.requests
    if over >= 0 then full = state.log[from + over] + window.period - time end
  end
  return math.max(cooldown, full)
end

-- Drops the entries before `from`; the log lets go of them once they are most.
local function drop(state, from)
  local log, at = state.log, 1
  for _ = state.first, from - 1 do at = (state.body:find(",", at, true) or #state.body) + 1 end
  state.body, state.first = state.body:sub(at), from
  if from <= #log // 2 + 1 then return end
  state.log, state.first = table.move(log, from, #log, 1, {}), 1
end

-- Enters a request.
local function enter(self, state, time)
  state.last = time
  if not self.window then
    state.log, state.first, state.body = {}, 1, ""
    return
  end
  local from = recent(self.window, state, time)
  if from > state.first then drop(state, from) end
  state.log[#state.log + 1] = time
  state.body = state.body == "" and word_of(time) or state.body .. "," .. word_of(time)
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
    local state, text = read(self, lock)
    local time = now()
    local late = settle(state, time)
    local seconds, written = delay(self, state, time), true
    if seconds <= 0 then
      enter(self, state, time)
      written, err = write(self, lock, state)
      if not written then return nil, err end
      return true, time
    end
    if late then written, err = write(self, lock, state) else keep(self, state, text) end
    if not written then return nil, err end
    lock:close()
    local left = deadline and deadline - wait.now()
    if left and seconds >= left then return nil, buckets.too_late(seconds, math.max(left, 0)) end
    local slept, interrupted = wait.sleep(math.max(seconds, LEAST_SLEEP))
    if not slept then return nil, interrupted end
  end
end

return rate_limiter
