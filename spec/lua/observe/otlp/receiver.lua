--- What a strict collector makes of requests of OTLP in JSON: raises unless every key is known, of its type and form,
-- names of attributes differ, spans end after they begin, and parents are there.

local core = require "koine.core"

local receiver = {}

local function fail(where, words, ...) error(where .. ": " .. words:format(...), 0) end

local function check(ok, where, words, ...)
  if not ok then fail(where, words, ...) end
end

-- Raises unless a table has the keys of `shape` {key = type, "?type" where it may be missing} and no others.
local function check_shape(of, shape, where)
  check(type(of) == "table", where, "no object")
  for key, given in pairs(of) do
    local wanted = shape[key]
    check(wanted, where, "unknown key %s", key)
    check(type(given) == wanted:match "%a+", where, "%s is a %s", key, type(given))
  end
  for key, wanted in pairs(shape) do
    check(of[key] ~= nil or wanted:sub(1, 1) == "?", where, "%s is missing", key)
  end
end

local function whole(text, where)
  check(type(text) == "string" and text:find "^%d+$", where, "%s is no whole number", text)
  return assert(math.tointeger(tonumber(text)), where)
end

local VALUES = { stringValue = "string", boolValue = "boolean", intValue = "string", doubleValue = "number",
  arrayValue = "table", kvlistValue = "table" }

local check_attributes

local function check_value(of, where)
  local kind, value = next(of)
  check(VALUES[kind] == type(value), where, "%s is a %s", kind, type(value))
  check(next(of, kind) == nil, where, "more than one value")
  if kind == "intValue" then check(value:find "^%-?%d+$", where, "no integer: %s", value) end
  if kind == "arrayValue" then
    for _, member in ipairs(value.values) do check_value(member, where) end
  elseif kind == "kvlistValue" then
    check_attributes(value.values, where)
  end
end

function check_attributes(list, where)
  local seen = {}
  for _, one in ipairs(list) do
    check_shape(one, { key = "string", value = "table" }, where)
    check(not seen[one.key], where, "%s is there twice", one.key)
    seen[one.key] = true
    check_value(one.value, where .. " " .. one.key)
  end
end

local function check_id(id, digits, where)
  check(#id == digits and id:find "^[%da-f]+$" and id:find "[^0]", where, "no id: %s", id)
end

local SPAN = { traceId = "string", spanId = "string", parentSpanId = "?string", name = "string", kind = "number",
  startTimeUnixNano = "string", endTimeUnixNano = "string", attributes = "table", events = "table",
  droppedEventsCount = "?number", status = "table", flags = "number" }

local function check_span(span)
  local where = "span " .. tostring(span.name)
  check_shape(span, SPAN, where)
  check_id(span.traceId, 32, where)
  check_id(span.spanId, 16, where)
  if span.parentSpanId then check_id(span.parentSpanId, 16, where) end
  check(whole(span.endTimeUnixNano, where) >= whole(span.startTimeUnixNano, where), where, "ends before it begins")
  check(span.kind == 1 or span.kind == 3, where, "kind %s", span.kind)
  check_attributes(span.attributes, where)
  check_shape(span.status, { code = "number", message = "?string" }, where .. " status")
  check(span.status.code == 0 or span.status.code == 2, where, "status %s", span.status.code)
  for _, event in ipairs(span.events) do
    check_shape(event, { name = "string", timeUnixNano = "string", attributes = "table" }, where .. " event")
    whole(event.timeUnixNano, where)
    check_attributes(event.attributes, where .. " " .. event.name)
  end
end

-- The members of a body: of the list `inner` of its only resource, and of the list `list` of that's only scope.
local function members(body, outer, inner, list)
  body = type(body) == "string" and assert(core.decode(body)) or body
  check_shape(body, { [outer] = "table" }, "body")
  check(#body[outer] == 1 and #body[outer][1][inner] == 1, "body", "more than one scope")
  local resource = body[outer][1]
  check_shape(resource, { resource = "table", [inner] = "table" }, outer)
  check_shape(resource.resource, { attributes = "table" }, "resource")
  check_attributes(resource.resource.attributes, "resource")
  local scope = resource[inner][1]
  check_shape(scope, { scope = "table", [list] = "table" }, inner)
  check_shape(scope.scope, { name = "string", version = "string" }, "scope")
  check(scope.scope.name == "koine", "scope", "is %s", scope.scope.name)
  return scope[list]
end

--- The spans of the bodies (array of strings) of all requests of a run, judged. `remote` is a set of the ids of parents
-- that are elsewhere, nil for none.
function receiver.spans(bodies, remote)
  local spans, by_id = {}, {}
  for _, body in ipairs(bodies) do
    for _, span in ipairs(members(body, "resourceSpans", "scopeSpans", "spans")) do
      check_span(span)
      check(not by_id[span.spanId], span.name, "two spans have its id")
      by_id[span.spanId], spans[#spans + 1] = span, span
    end
  end
  for _, span in ipairs(spans) do
    local parent = span.parentSpanId
    local above = parent and by_id[parent]
    check(not parent or above or remote and remote[parent], span.name, "is an orphan")
    check(not above or above.traceId == span.traceId, span.name, "is of another trace than its parent")
    check(not above or whole(above.startTimeUnixNano) <= whole(span.startTimeUnixNano), span.name,
      "begins before its parent")
  end
  return spans
end

local POINT = { attributes = "table", startTimeUnixNano = "string", timeUnixNano = "string", count = "string",
  sum = "number", min = "number", max = "number", bucketCounts = "table", explicitBounds = "table" }

local function check_point(point, where)
  check_shape(point, POINT, where)
  check_attributes(point.attributes, where)
  check(whole(point.timeUnixNano, where) >= whole(point.startTimeUnixNano, where), where, "ends before it begins")
  local sum, bounds = 0, point.explicitBounds
  for _, count in ipairs(point.bucketCounts) do sum = sum + whole(count, where) end
  check(sum == whole(point.count, where) and sum > 0, where, "%d in buckets of %s", sum, point.count)
  check(#point.bucketCounts == #bounds + 1, where, "%d buckets", #point.bucketCounts)
  for i = 2, #bounds do check(bounds[i] > bounds[i - 1], where, "bounds") end
  check(point.min <= point.max and point.sum >= point.min, where, "min, max, sum")
end

--- The points of the body (string) of a request of metrics, judged: {name of the histogram = array of points}.
function receiver.metrics(body)
  local by_name = {}
  for _, metric in ipairs(members(body, "resourceMetrics", "scopeMetrics", "metrics")) do
    check_shape(metric, { name = "string", unit = "string", description = "string", histogram = "table" }, "metric")
    check(not by_name[metric.name], metric.name, "is there twice")
    check_shape(metric.histogram, { aggregationTemporality = "number", dataPoints = "table" }, metric.name)
    check(metric.histogram.aggregationTemporality == 2, metric.name, "is not cumulative")
    local seen = {}
    for _, point in ipairs(metric.histogram.dataPoints) do
      check_point(point, metric.name)
      local key = core.encode(point.attributes)
      check(not seen[key], metric.name, "two points with %s", key)
      seen[key] = true
    end
    by_name[metric.name] = metric.histogram.dataPoints
  end
  return by_name
end

--- Attributes as {key = value}; a table where the value is one.
function receiver.plain(list)
  local of = {}
  for _, one in ipairs(list) do
    local kind, value = next(one.value)
    of[one.key] = kind == "intValue" and math.tointeger(tonumber(value)) or value
  end
  return of
end

return receiver
