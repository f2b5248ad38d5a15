--- The state of a limiter's file in memory: when the last request was, and a log of those within the window, sorted.
-- A log remembers the text that stands for it in the file. So reading a file that has the same text, perhaps without
-- its oldest times and with newer ones behind, costs a comparison of bytes and the newer times alone. Any other text is
-- read in full. Times are Unix seconds. Nothing here waits or fails, but for memory; a log that was broken off between
-- two fields must not be used again.

local core = require "koine.core"

local request_log = {}

local HEAD = '^{"last_request_at":([^,]*),"request_log":%[()'

local methods = {}
local Log = { __index = methods }

local function is_time(value) return type(value) == "number" and value == value and math.abs(value) < math.huge end

-- A log of sorted times. `texts` joined by commas is its text; `starts[i]` is where time i begins in it, counted from
-- `origin`, which the first byte of the text has. Times before `first` are gone.
local function new(last, sorted)
  local texts, starts, at = {}, {}, 1
  for i, time in ipairs(sorted) do
    texts[i] = core.encode(time)
    starts[i] = at
    at = at + #texts[i] + 1
  end
  return setmetatable({ last = last, times = sorted, starts = starts, first = 1, n = #sorted, origin = 1,
    text = table.concat(texts, ",") }, Log)
end

-- The plain way: what a text says, however it is written. An empty log when it holds no state.
local function parse(text)
  local value = core.decode(text) -- which raises where memory is short: that is no empty state
  if type(value) ~= "table" or type(value.request_log) ~= "table" then return new(nil, {}) end
  local last, log = value.last_request_at, {}
  if last == core.null then last = nil end
  if last ~= nil and not is_time(last) then return new(nil, {}) end
  for i, time in ipairs(value.request_log) do
    if not is_time(time) then return new(nil, {}) end
    log[i] = time
  end
  table.sort(log)
  return new(last, log)
end

-- Forgets the times before number `to`.
local function drop(self, to)
  if to == self.first then return end
  if to > self.n then
    self.times, self.starts, self.first, self.n, self.origin, self.text = {}, {}, 1, 0, 1, ""
    return
  end
  self.text = self.text:sub(self.starts[to] - self.origin + 1)
  for i = self.first, to - 1 do self.times[i], self.starts[i] = nil, nil end
  self.first, self.origin = to, self.starts[to]
end

-- Adds a time, not before the newest, that has this text.
local function add(self, time, text)
  local empty = self.n < self.first
  self.n = self.n + 1
  self.times[self.n], self.starts[self.n] = time, self.origin + (empty and 0 or #self.text + 1)
  self.text = empty and text or self.text .. "," .. text
end

-- The times of a part of the log that other programs added; nil when they are no sorted times.
local function newer(text, newest)
  local times = core.decode("[" .. text .. "]")
  if type(times) ~= "table" then return nil end
  local texts = {}
  for i, time in ipairs(times) do
    if not is_time(time) or time < newest then return nil end
    newest, texts[i] = time, core.encode(time)
  end
  return times, texts
end

-- The number of the oldest known time that the text of a file still has, and where in the text the known ones end; nil
-- where it has other ones, or none. `from`: where its times begin. Long texts are compared in place, not copied.
local function common(self, text, from)
  local oldest = tonumber(text:match("^[^,%]]*", from))
  if not oldest then return nil end
  local i = self.first
  while i <= self.n and self.times[i] < oldest do i = i + 1 end
  if i > self.n then return nil end
  local known = i == self.first and self.text or self.text:sub(self.starts[i] - self.origin + 1)
  if text:find(known, from, true) == from then return i, from + #known end
end

-- The quick way: makes `self`, which stood in the file once, what the text says: true, or nil where it cannot.
local function follow(self, text)
  local said, from = text:match(HEAD)
  if not said then return nil end
  local last = core.decode(said)
  if not is_time(last) then return nil end
  local first, at = common(self, text, from)
  if not first then return nil end
  local times, texts, rest = {}, {}, text:sub(at)
  if rest ~= "]}" then
    if rest:sub(1, 1) ~= "," or rest:sub(-2) ~= "]}" then return nil end
    times, texts = newer(rest:sub(2, -3), self.times[self.n])
    if not times or #times == 0 then return nil end
  end
  drop(self, first)
  for i, time in ipairs(times) do add(self, time, texts[i]) end
  self.last = last
  return true
end

--- The log that the text of a file says. `known` (may be nil) is one that was read from or written to this file before;
-- it is not to be used otherwise from now on.
function request_log.read(text, known)
  if known and follow(known, text) then return known end
  return parse(text)
end

--- The text of a file that says this log.
function methods:write()
  return '{"last_request_at":' .. (self.last and core.encode(self.last) or "null") .. ',"request_log":[' .. self.text
    .. "]}"
end

--- Makes times after `time` that time, because the clock was set back: the log, a new one where there were any, and
-- whether there were any.
function methods:settle(time)
  local last, late = self.last, false
  if last and last > time then last, late = time, true end
  if self.n < self.first or self.times[self.n] <= time then
    self.last = last
    return self, late
  end
  local times = {}
  for i = self.first, self.n do times[#times + 1] = self.times[i] > time and time or self.times[i] end
  return new(last, times), true
end

-- The number of the oldest time within a period.
local function recent(self, period, time)
  local i = self.first
  while i <= self.n and self.times[i] <= time - period do i = i + 1 end
  return i
end

--- The seconds until a window {requests, period} has room at `time`; 0 or less: it has.
function methods:full(window, time)
  local first = recent(self, window.period, time)
  local over = self.n - first + 1 - window.requests
  return over >= 0 and self.times[first + over] + window.period - time or 0
end

--- Enters a request at `time`, after settle(time); forgets those before the window, all where there is none.
function methods:enter(window, time)
  self.last = time
  drop(self, window and recent(self, window.period, time) or self.n + 1)
  if window then add(self, time, core.encode(time)) end
end

return request_log
