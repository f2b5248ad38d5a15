--- Histograms of how long work took and how many tokens it used, by the names and bounds of OpenTelemetry's semantic
-- conventions for generative AI and MCP. Sums are cumulative: each request has all since the beginning, so that one
-- that is lost loses nothing. Bounded: of one histogram at most POINTS_MAX points; further ones go into a point of
-- their own, which has otel.metric.overflow.

local attributes = require "koine.observe.otlp.attributes"
local core = require "koine.core"
local value = require "koine.observe.otlp.value"

local POINTS_MAX = 2000
local CUMULATIVE = 2 -- OTLP's number of this temporality

-- `n` bounds from `first`, each `factor` times the one before.
local function bounds(first, factor, n)
  local list = core.array {}
  for i = 1, n do list[i] = first * factor ^ (i - 1) end
  return list
end

local SECONDS = bounds(0.01, 2, 14)

-- By our names: {name, unit, what is measured, bounds}. The convention for tokens may be replaced.
local HISTOGRAMS = {
  duration = { "gen_ai.client.operation.duration", "s", "GenAI operation duration.", SECONDS },
  tokens = { "gen_ai.client.token.usage", "{token}", "Number of input and output tokens used.", bounds(1, 4, 14) },
  chunk = { "gen_ai.client.operation.time_per_output_chunk", "s", "Time per output chunk after the first.", SECONDS },
  first_chunk = { "gen_ai.client.operation.time_to_first_chunk", "s", "Time to receive the first chunk.", SECONDS },
  agent = { "gen_ai.invoke_agent.duration", "s", "Duration of an agent's invocation.", bounds(0.1, 2, 13) },
  tool = { "gen_ai.execute_tool.duration", "s", "Duration of a tool's execution.", SECONDS },
  workflow = { "gen_ai.workflow.duration", "s", "GenAI workflow duration.",
    core.array { 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200 } },
  mcp = { "mcp.client.operation.duration", "s", "Duration of an MCP request, as its sender sees it.",
    core.array { 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300 } },
}
local ORDER = { "duration", "tokens", "first_chunk", "chunk", "agent", "tool", "workflow", "mcp" }

local methods = {}
local metrics_mt = { __index = methods }

-- Measuring ---------------------------------------------------------------------------------------------------------

local function new_point(list, limits)
  local counts = {}
  for i = 1, #limits + 1 do counts[i] = 0 end
  return { attributes = list, count = 0, sum = 0, min = math.huge, max = -math.huge, counts = counts }
end

-- The point of a histogram for these attributes.
local function point_of(kept, list, limits)
  local key = core.encode(list)
  local point = kept.points[key]
  if not point and kept.n >= POINTS_MAX then
    list = value.attributes { ["otel.metric.overflow"] = true }
    key = core.encode(list)
    point = kept.points[key]
  end
  if not point then
    point = new_point(list, limits)
    kept.points[key], kept[#kept + 1], kept.n = point, point, kept.n + 1
  end
  return point
end

-- Adds a number to a point.
local function add(point, number, limits)
  local place = 1
  while limits[place] and number > limits[place] do place = place + 1 end
  point.counts[place], point.count, point.sum = point.counts[place] + 1, point.count + 1, point.sum + number
  point.min, point.max = math.min(point.min, number), math.max(point.max, number)
end

-- Adds a measured number to the histogram called `name`; anything else is left out.
local function measure(self, name, number, list)
  if type(number) ~= "number" or number ~= number or number < 0 or number == math.huge then return end
  local limits = HISTOGRAMS[name][4]
  add(point_of(self.histograms[name], list, limits), number, limits)
  self.last = self.last + 1
end

-- Adds a chat's own point (see chunk) to the histogram of that name.
local function add_all(self, name, own, list)
  local point = point_of(self.histograms[name], list, HISTOGRAMS[name][4])
  for place, count in ipairs(own.counts) do point.counts[place] = point.counts[place] + count end
  point.count, point.sum = point.count + own.count, point.sum + own.sum
  point.min, point.max = math.min(point.min, own.min), math.max(point.max, own.max)
  self.last = self.last + own.count
end

--- A chat had a delta at this time (Unix nanoseconds); `start` is the record of its start. What lies between two of its
-- deltas is measured when it ends: its attributes are known then. Damaged records say nothing.
function methods:chunk(start, time)
  if not start or start.type ~= "chat" or math.type(time) ~= "integer" then return end
  local own = self.chunks[start]
  if not own then
    own = new_point(nil, SECONDS)
    self.chunks[start] = own
  else
    add(own, math.max(time - own.time, 0) / 1e9, SECONDS)
  end
  own.time = time
end

-- By type of record: takes the records of its start and its end, and the attributes of both.
local TAKE = {}

function TAKE.chat(self, start, finish)
  local usage = type(finish.usage) == "table" and finish.usage or {}
  measure(self, "duration", finish.seconds, attributes.of_metric(start, finish, true))
  if start.stream then
    measure(self, "first_chunk", finish.first_delta, attributes.of_metric(start, finish))
  end
  local chunks = self.chunks[start]
  if chunks and chunks.count > 0 then add_all(self, "chunk", chunks, attributes.of_metric(start, finish)) end
  for type, number in next, { input = attributes.input_tokens(usage), output = usage.output_tokens } do
    local list = attributes.of_metric(start, finish)
    value.add(list, "gen_ai.token.type", type)
    measure(self, "tokens", number, list)
  end
end

TAKE.embed = TAKE.chat

local function taker(name)
  return function(self, start, finish)
    measure(self, name, finish.seconds, attributes.of_metric(start, finish, true))
  end
end

TAKE.agent, TAKE.prompt, TAKE.tool, TAKE.mcp = taker "agent", taker "agent", taker "tool", taker "mcp"
TAKE.turn, TAKE.session = taker "workflow", taker "workflow"

--- Measures what a record of a start and that of its end say: whether there was anything to measure.
function methods:take(start, finish)
  local before, take = self.last, TAKE[start.type]
  if take then take(self, start, finish) end
  return self.last > before
end

-- As a sender's queue -----------------------------------------------------------------------------------------------

--- How many measurements no request had yet.
function methods:count() return self.last - self.first + 1 end

local function whole(number) return ("%d"):format(number) end

local function data_point(point, limits, since, now)
  local counts = core.array {}
  for i, count in ipairs(point.counts) do counts[i] = whole(count) end
  return { attributes = point.attributes, startTimeUnixNano = whole(since), timeUnixNano = whole(now),
    count = whole(point.count), sum = point.sum + 0.0, min = point.min + 0.0, max = point.max + 0.0,
    bucketCounts = counts, explicitBounds = limits }
end

--- All histograms as OTLP has them, joined by commas, and how many measurements in them no request had yet.
function methods:batch()
  local texts, now = {}, math.max(core.nanoseconds(), self.since)
  for _, name in ipairs(ORDER) do
    local kept, histogram, list = self.histograms[name], HISTOGRAMS[name], core.array {}
    for i, point in ipairs(kept) do list[i] = data_point(point, histogram[4], self.since, now) end
    if list[1] then
      texts[#texts + 1] = core.encode { name = histogram[1], unit = histogram[2], description = histogram[3],
        histogram = { aggregationTemporality = CUMULATIVE, dataPoints = list } }
    end
  end
  return table.concat(texts, ","), self:count()
end

--- A request had n of them.
function methods:drop(n) self.first = self.first + n end

--- No measurements yet; they are counted from now on.
return function()
  local histograms = {}
  for name in next, HISTOGRAMS do histograms[name] = { points = {}, n = 0 } end
  return setmetatable({ first = 1, last = 0, since = core.nanoseconds(), histograms = histograms,
    chunks = setmetatable({}, { __mode = "k" }) }, metrics_mt) -- by the records of starts: points of chats under way
end
