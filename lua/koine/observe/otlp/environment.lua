--- The options of the exporter as OpenTelemetry's environment variables give them.

local environment = {}

-- A whole number above 0, divided by `unit`.
local function number(unit)
  return function(text)
    local n = math.tointeger(tonumber(text))
    if n and n > 0 then return unit == 1 and n or n / unit end
    return nil, "a whole number above 0"
  end
end

local function decoded(text)
  return (text:gsub("%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end))
end

-- "name=value,name=value", percent-encoded.
local function pairs_of(text)
  local kept = {}
  for entry in text:gmatch "[^,]+" do
    local name, value = entry:match "^%s*([^%s=]+)%s*=%s*(.-)%s*$"
    if name then
      kept[decoded(name)] = decoded(value)
    elseif entry:find "%S" then
      return nil, "NAME=VALUE, separated by commas"
    end
  end
  return kept
end

local function same(text) return text end

local function url(text)
  if text:find "^https?://[^/%s%c][^%s%c]*$" then return text end
  return nil, "an http:// or https:// URL"
end

-- Whether a list of exporters has this one.
local function has_otlp(text)
  local list = "," .. text:gsub("%s", "") .. ","
  if list:find(",otlp,", 1, true) then return true end
  if list == ",none," then return false end
  return nil, "otlp or none: this exporter knows no other"
end

-- Content on spans; events, which some words ask for, are not exported.
local CONTENT = { ["true"] = true, span_only = true, span_and_event = true, ["false"] = false, no_content = false,
  event_only = false }

local function content(text)
  local kept = CONTENT[text:lower()]
  if kept ~= nil then return kept end
  return nil, "true, false, NO_CONTENT, SPAN_ONLY, EVENT_ONLY or SPAN_AND_EVENT"
end

local function protocol(text)
  if text:find "^http/" then return text end
  return nil, "http/json: the exporter supports no other protocol"
end

local function compression(text)
  if text == "gzip" or text == "none" then return text end
  return nil, "gzip or none"
end

-- {variable, option (nil: only judged), how it is read}
local VARIABLES = {
  { "OTEL_EXPORTER_OTLP_PROTOCOL", nil, protocol },
  { "OTEL_EXPORTER_OTLP_ENDPOINT", "endpoint", url },
  { "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "traces_endpoint", url },
  { "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "metrics_endpoint", url },
  { "OTEL_EXPORTER_OTLP_HEADERS", "headers", pairs_of },
  { "OTEL_EXPORTER_OTLP_CERTIFICATE", "ca_file", same },
  { "OTEL_EXPORTER_OTLP_TIMEOUT", "timeout", number(1000) },
  { "OTEL_EXPORTER_OTLP_COMPRESSION", "compression", compression },
  { "OTEL_SERVICE_NAME", "service", same },
  { "OTEL_RESOURCE_ATTRIBUTES", "resource", pairs_of },
  { "OTEL_TRACES_EXPORTER", "traces", has_otlp },
  { "OTEL_METRICS_EXPORTER", "metrics", has_otlp },
  { "OTEL_BSP_SCHEDULE_DELAY", "interval", number(1000) },
  { "OTEL_BSP_MAX_QUEUE_SIZE", "queue", number(1) },
  { "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "batch", number(1) },
  { "OTEL_METRIC_EXPORT_INTERVAL", "metrics_interval", number(1000) },
  { "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "content", content },
}

--- The options that variables give: a table, in which metrics are on unless they are turned off; false where the
-- variables turn everything off; nil and words for a variable that cannot be read, without its value, which may be a
-- secret. `get(name)` returns a variable's value, or nil.
function environment.options(get)
  if (get "OTEL_SDK_DISABLED" or ""):lower() == "true" then return false end
  local options = { traces = true, metrics = true }
  for _, one in ipairs(VARIABLES) do
    local text = get(one[1])
    if text ~= nil and text ~= "" then
      local value, expected = one[3](text)
      if value == nil then return nil, ("%s: expected %s"):format(one[1], expected) end
      if one[2] then options[one[2]] = value end
    end
  end
  if not options.traces and not options.metrics then return false end
  return options
end

return environment
