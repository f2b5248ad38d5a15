--- The costs of packed turns: the nearest-rank percentile, and the alarm for envelopes that cost too much.
-- The alarm is fed a dispatcher's records and told the time; it reads no clock.

local check = require "koine.data.check"
local errors = require "koine.data.errors"
local queue = require "koine.task.queue"

local metrics = {}

-- The nearest rank of the share p among n values: 0.07 * 100 is a little more than 7, and still the seventh.
local function nearest_rank(p, n) return math.max(1, math.ceil(p * n - 1e-9)) end

local NUMBER = check.number()
local NUMBERS = check.list(NUMBER, "array of numbers")
local SHARE_OF = check.that("number over 0, at most 1", function(value)
  if type(value) == "number" and value > 0 and value <= 1 then return value end
end)

--- The nearest-rank percentile: the smallest value of the array that at least the share `p` of the values does not
-- exceed. `p` is a number over 0, at most 1 (0.95 is the 95th percentile). nil for an empty array, which stays as it
-- is. Raises an ArgumentError for another `p`, and unless the list is an array.
function metrics.percentile(list, p)
  local sorted = NUMBERS(list, "list")
  SHARE_OF(p, "p")
  table.sort(sorted)
  return sorted[nearest_rank(p, #sorted)]
end

-- The alarm ---------------------------------------------------------------------------------------------------------

local SHARE = 0.95
local OPTIONS = check.options { threshold = check.default(check.positive, 500),
  window = check.default(check.positive, 3600), sustain = check.default(check.positive, 86400),
  min = check.default(check.positive, 20) }

local methods = {}
local metatable = { __index = methods, __name = "koine.overhead_alarm" }

-- A channel: `window` is a queue of {time, over = whether it was over the threshold}; `over` counts those that were,
-- `held` is how long the percentile has been over the threshold, `at` the time it is known up to.
local function new_channel(now) return { window = queue.new(), over = 0, held = 0, at = now } end

-- Whether the 95th percentile of the window is over the threshold; nil when the window has too few entries to say.
-- It is exactly when more entries are over it than may lie behind the nearest rank.
local function is_over(alarm, channel)
  local n = channel.window:count()
  if n < alarm.min then return nil end
  return channel.over > n - nearest_rank(SHARE, n)
end

-- The state holds until `time`: counts the time when it is over, starts anew when it is not. A state that lasts no time
-- says nothing: entries of one moment leave one after the other.
local function advance(alarm, channel, time)
  if time == channel.at then return end
  local over = is_over(alarm, channel)
  if over then
    channel.held = channel.held + (time - channel.at)
  elseif over == false then
    channel.held = 0
  end
  channel.at = time
end

-- Drops the entries that left the window by `now`, one at a time, each at its own moment.
local function expire(alarm, channel, now)
  local entry = channel.window:peek()
  while entry do
    local leaves = entry.time + alarm.window
    if leaves > now then return end
    advance(alarm, channel, leaves)
    channel.window:pop()
    if entry.over then channel.over = channel.over - 1 end
    entry = channel.window:peek()
  end
end

local function member(parent, key, make, ...)
  if parent[key] == nil then parent[key] = make(...) end
  return parent[key]
end

local function new_table() return {} end

--- Takes in one record of a dispatch and returns the state of its channel: {dispatches = records in the window, over =
-- whether their 95th percentile is over the threshold (nil: too few to say), held = seconds it has been so, raised =
-- whether that is as long as `sustain`}. Of the record it reads envelope_tokens_per_dispatch (tokens), adapter and
-- channel_id. `now` is in seconds of any clock that does not go back; an earlier one counts as the latest.
-- Raises an ArgumentError for a record without tokens, or when `now` is no number.
function methods:add(record, now)
  if type(record) ~= "table" then errors.argument("record", "record of a dispatch", record) end
  local tokens = record.envelope_tokens_per_dispatch
  NUMBER(tokens, "record.envelope_tokens_per_dispatch")
  NUMBER(now, "now")
  local channels = member(self.channels, record.adapter or "", new_table)
  local channel = member(channels, record.channel_id or "", new_channel, now)
  now = math.max(now, channel.at)
  expire(self, channel, now)
  advance(self, channel, now)
  local over = tokens > self.threshold
  channel.window:push { time = now, over = over }
  if over then channel.over = channel.over + 1 end
  if is_over(self, channel) == false then channel.held = 0 end
  return { dispatches = channel.window:count(), over = is_over(self, channel), held = channel.held,
    raised = channel.held >= self.sustain }
end

--- An alarm that is raised for an (adapter, channel) when the 95th percentile of envelope_tokens_per_dispatch over a
-- rolling `window` (3600 seconds) has been more than `threshold` (500 tokens) for `sustain` (86400 seconds) in all.
-- Time with fewer than `min` (20) dispatches in the window neither counts nor starts the count anew. `opts` is a table
-- of these four, nil for the defaults. It remembers each channel it has seen, and of each the last window's records.
-- Raises an ArgumentError for an unknown name, and unless each is a number over 0.
function metrics.overhead_alarm(opts)
  if opts == nil then opts = {} end
  local alarm = OPTIONS(opts)
  alarm.channels = {}
  return setmetatable(alarm, metatable)
end

return metrics
