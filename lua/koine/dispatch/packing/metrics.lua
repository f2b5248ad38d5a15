--- Figures about packed turns: the nearest-rank percentile, and the alarm for envelopes that cost too much.
-- The alarm is fed a dispatcher's records and told the time; it reads no clock.

local check = require "koine.data.check"
local errors = require "koine.data.errors"
local records = require "koine.data.records"

local metrics = {}

-- The nearest rank of the share p among n values: 0.07 * 100 is a little more than 7, and still the seventh.
local function nearest_rank(p, n) return math.max(1, math.ceil(p * n - 1e-9)) end

--- The nearest-rank percentile: the smallest value of the array that at least the share `p` of the values does not
-- exceed. `p` is a number over 0, at most 1 (0.95 is the 95th percentile). nil for an empty array, which stays as it
-- is. Raises an ArgumentError for another `p`, and for what is no array.
function metrics.percentile(list, p)
  if not records.is_list(list) then errors.argument("list", "array of numbers", list) end
  for i, value in ipairs(list) do
    if type(value) ~= "number" then errors.argument(("list[%d]"):format(i), "number", value) end
  end
  if type(p) ~= "number" or p ~= p or p <= 0 or p > 1 then errors.argument("p", "number over 0, at most 1", p) end
  local sorted = table.move(list, 1, #list, 1, {})
  table.sort(sorted)
  return sorted[nearest_rank(p, #sorted)]
end

-- The alarm ---------------------------------------------------------------------------------------------------------

local SHARE = 0.95
local DEFAULTS = { threshold = 500, window = 3600, sustain = 86400, min = 20 }

local methods = {}
local metatable = { __index = methods, __name = "koine.overhead_alarm" }

-- A channel: the window is the entries first … last, {time, over = whether it was over the threshold}; `over` counts
-- those that were, `held` is how long the percentile has been over the threshold, `at` the time it is known up to.
local function new_channel(now) return { first = 1, last = 0, over = 0, held = 0, at = now } end

-- Whether the 95th percentile of the window is over the threshold; nil when the window has too few entries to say.
-- It is exactly when more entries are over it than may lie behind the nearest rank.
local function is_over(alarm, channel)
  local n = channel.last - channel.first + 1
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
  while channel.first <= channel.last do
    local entry = channel[channel.first]
    local leaves = entry.time + alarm.window
    if leaves > now then return end
    advance(alarm, channel, leaves)
    channel[channel.first] = nil
    channel.first = channel.first + 1
    if entry.over then channel.over = channel.over - 1 end
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
  if type(tokens) ~= "number" then errors.argument("record.envelope_tokens_per_dispatch", "number", tokens) end
  if type(now) ~= "number" then errors.argument("now", "number of seconds", now) end
  local channels = member(self.channels, record.adapter or "", new_table)
  local channel = member(channels, record.channel_id or "", new_channel, now)
  now = math.max(now, channel.at)
  expire(self, channel, now)
  advance(self, channel, now)
  local over = tokens > self.threshold
  channel.last = channel.last + 1
  channel[channel.last] = { time = now, over = over }
  if over then channel.over = channel.over + 1 end
  if is_over(self, channel) == false then channel.held = 0 end
  return { dispatches = channel.last - channel.first + 1, over = is_over(self, channel), held = channel.held,
    raised = channel.held >= self.sustain }
end

--- An alarm that is raised for an (adapter, channel) when the 95th percentile of envelope_tokens_per_dispatch over a
-- rolling `window` (3600 seconds) has been more than `threshold` (500 tokens) for `sustain` (86400 seconds) in all.
-- Time with fewer than `min` (20) dispatches in the window neither counts nor starts the count anew. `opts` is a table
-- of these four, nil for the defaults. It remembers each channel it has seen, and of each the last window's records.
-- Raises an ArgumentError for an unknown name, and for what is no number over 0.
function metrics.overhead_alarm(opts)
  if opts ~= nil and type(opts) ~= "table" then check.refuse("options", "table", opts) end
  local alarm = { channels = {} }
  for name, value in next, DEFAULTS do alarm[name] = value end
  for name, value in next, opts or {} do
    if DEFAULTS[name] == nil then check.unknown("option", name, DEFAULTS) end
    if type(value) ~= "number" or value ~= value or value <= 0 then errors.argument(name, "number over 0", value) end
    alarm[name] = value
  end
  return setmetatable(alarm, metatable)
end

return metrics
