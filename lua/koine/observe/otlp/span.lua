--- Records as spans of OTLP. Keeps what was begun and has no end yet; points and waits are events of what they happen
-- in. A call of an MCP server's tool by a tool of ours is no span of its own: its attributes go to the tool's. What is
-- part of something without a span is part of what that is part of.

local attributes = require "koine.observe.otlp.attributes"
local check = require "koine.data.check"
local core = require "koine.core"
local value = require "koine.observe.otlp.value"

local EVENTS_MAX = 128 -- of a span
local SAMPLED, KNOWN = 0x001, 0x100 -- flags: KNOWN with a parent of this process, or without one

local methods = {}
local spans_mt = { __index = methods }

-- Fields of records that are not said by an event's attributes.
local COMMON = { v = true, type = true, phase = true, trace = true, id = true, parent = true, time = true,
  seconds = true, error = true, content = true, attributes = true }

local function nanoseconds(time) return ("%d"):format(time or 0) end

-- The open span that `id` is, or that it is a part of where it has none of its own.
local function span_of(self, id)
  local open = id and self.open[id]
  while open and open.above ~= nil do open = open.above end
  return open or nil
end

local function add_event(self, record, more)
  local span = span_of(self, record.parent)
  if not span then return false end
  if #span.events >= EVENTS_MAX then
    span.lost = span.lost + 1
    return true
  end
  local of = {}
  for name, given in next, record do
    if not COMMON[name] then of["koine." .. name] = given end
  end
  for name, given in next, more or {} do of[name] = given end
  span.events[#span.events + 1] = { name = record.type, timeUnixNano = nanoseconds(record.time),
    attributes = value.attributes(of) }
  return true
end

-- Whether a start is no span of its own.
local function is_part(self, record, above)
  if record.type == "wait" then return true end
  if record.type == "attempt" then return not self.attempts end
  return record.type == "mcp" and record.method == "tools/call" and above and above.start.type == "tool"
end

local function begin(self, record)
  local above = span_of(self, record.parent)
  local open = { start = record, events = core.array {}, lost = 0, parent = above and above.start.id or record.parent,
    flags = (above or not record.parent) and SAMPLED | KNOWN or SAMPLED }
  if is_part(self, record, above) then open.above = above or false end
  self.open[record.id] = open
end

-- The OTLP span of an open one and the record of its end, empty where none came.
local function made(open, finish, ended)
  local start = open.start
  local name, kind = attributes.span(start)
  local list, status = attributes.of(start, finish, open.mcp)
  return { traceId = start.trace, spanId = start.id, parentSpanId = open.parent, name = name, kind = kind,
    startTimeUnixNano = nanoseconds(start.time), endTimeUnixNano = nanoseconds(ended), attributes = list,
    events = open.events, droppedEventsCount = open.lost > 0 and open.lost or nil, status = status, flags = open.flags }
end

local function finish(self, record)
  local open = self.open[record.id]
  if not open then return nil, nil, true end
  self.open[record.id] = nil
  if open.above == nil then
    return made(open, record, open.start.time + math.floor((record.seconds or 0) * 1e9)), open.start
  elseif open.start.type == "wait" then
    add_event(self, open.start, { ["koine.seconds"] = record.seconds })
  elseif open.start.type == "mcp" and open.above then
    open.above.mcp = { start = open.start, finish = record }
  end
  return nil, open.start
end

--- Takes a record. Of an end: the span that it ends (a table, as OTLP has it; nil: what it ends is none), and the
-- record of its start. The third result is true where the record is lost: what happens in something that is not open.
function methods:take(record)
  if record.phase == "start" then return begin(self, record) end
  if record.phase == "end" then return finish(self, record) end
  if record.parent and not add_event(self, record) then return nil, nil, true end
end

--- The record of the start of what is open with this id (nil: none, nothing is).
function methods:start_of(id)
  local open = id and self.open[id]
  return open and open.start
end

--- The spans of what is still open (an array), which then is not open any more: they have an attribute koine.open, and
-- end at `now` (Unix nanoseconds).
function methods:unfinished(now)
  local list = {}
  for _, id in ipairs(check.names(self.open)) do
    local open = self.open[id]
    if open.above == nil then
      local span = made(open, {}, math.max(now, open.start.time))
      value.add(span.attributes, "koine.open", true)
      span.status = { code = 2, message = "still open when the exporter was closed" }
      list[#list + 1] = span
    end
  end
  self.open = {}
  return list
end

--- Nothing open. `attempts`: whether attempts are spans.
return function(attempts) return setmetatable({ open = {}, attempts = attempts }, spans_mt) end
