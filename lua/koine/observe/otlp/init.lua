--- An observer that sends spans, and metrics where they are asked for, to an OpenTelemetry collector: OTLP over HTTP,
-- as JSON. Records become spans and measurements where they are told, and wait: see sender.lua for when they go out.
-- What is lost is counted. Its own requests are not observed.

local check = require "koine.data.check"
local core = require "koine.core"
local environment = require "koine.observe.otlp.environment"
local errors = require "koine.data.errors"
local new_metrics = require "koine.observe.otlp.metrics"
local getenv = require "koine.data.host.getenv"
local new_queue = require "koine.observe.otlp.queue"
local new_sender = require "koine.observe.otlp.sender"
local new_spans = require "koine.observe.otlp.span"
local observer = require "koine.data.observer"
local value = require "koine.observe.otlp.value"
local version = require "koine.data.version"
local wait = require "koine.task.wait"

local SECRETS_MAX, SECRET_MIN = 16, 8 -- as the core has them

local otlp = {}

local methods = {}
local otlp_mt = { __index = methods, __name = "koine.observe.otlp" }

local function keep(self, span)
  if self.traces.queue:push(core.encode(span)) then
    self.traces:employ()
  else
    self.traces:lose(1)
  end
end

--- Takes a record (table): those of an observer, or of a log.
function methods:record(record)
  if self.closed then
    if self.traces and record.phase ~= "start" then self.traces:lose(1) end
    return
  end
  if self.metrics and record.type == "delta" then
    self.metrics.queue:chunk(self.spans:start_of(record.parent), record.time)
  end
  local span, start, lost = self.spans:take(record)
  if self.traces then
    if lost then self.traces:lose(1) end
    if span then keep(self, span) end
  end
  if self.metrics and start and self.metrics.queue:take(start, record) then self.metrics:employ() end
end

-- Has each sender send what waits until the deadline: true, or nil and the first error.
local function flush(self, deadline)
  local ok, err = true, nil
  for _, sender in ipairs(self.senders) do
    local sent, problem = sender:flush(deadline)
    if not sent then ok, err = nil, err or problem end
  end
  return ok, err
end

--- Sends what waits, and waits for it: true; or nil, err where some of it could not be sent within `timeout`, and stays
-- in the queue, or was refused, and is dropped.
function methods:flush() return flush(self, wait.now() + self.timeout) end

--- Sends what waits, within `timeout`, and what was begun and is not over, as spans that say so. Returns as flush does.
-- What could not be sent is lost, and counted. Any number of times.
function methods:close()
  if self.closed then return true end
  self.closed = true
  if self.traces then
    for _, span in ipairs(self.spans:unfinished(core.nanoseconds())) do keep(self, span) end
  end
  local ok, err = self:flush()
  for _, sender in ipairs(self.senders) do sender:close() end
  return ok, err
end

otlp_mt.__close = function(self) self:close() end

local NOTHING = { sent = 0, rejected = 0, dropped = 0, failed = 0, queued = 0 }

--- What became of spans and records: {sent, rejected (by the collector, of a batch that it took), dropped (no room, a
-- refused batch, left at close, or of nothing that is open), failed (requests), queued, and the same of measurements
-- in `metrics` (nil: none)}.
function methods:counts()
  local counts = self.traces and self.traces:counts() or {}
  for name, number in next, NOTHING do counts[name] = counts[name] or number end
  counts.metrics = self.metrics and self.metrics:counts()
  return counts
end

--- Says where it sends to, without a password.
function otlp_mt:__tostring()
  local urls = {}
  for i, sender in ipairs(self.senders) do urls[i] = sender.url:gsub("//[^/@]*@", "//") end
  return ("%s (%s)"):format(otlp_mt.__name, table.concat(urls, ", "))
end

check.colons(methods, otlp_mt, "otlp")

-- Options -----------------------------------------------------------------------------------------------------------

local UNNAMED = "unknown_service" -- as the specification has it

local OPTIONS = check.options {
  endpoint = check.default(check.url, "http://localhost:4318"), traces_endpoint = check.exact_url,
  metrics_endpoint = check.exact_url, traces = check.default(check.boolean, true),
  metrics = check.default(check.boolean, false), headers = check.default(check.map(check.key), {}),
  ca_file = check.path, service = check.name, resource = check.default(check.map(check.any), {}),
  content = check.any, attempts = check.default(check.boolean, false),
  batch = check.default(check.integer(1), 512), interval = check.default(check.time_limit, 5),
  metrics_interval = check.default(check.time_limit, 60), queue = check.default(check.integer(1), 2048),
  timeout = check.default(check.time_limit, 10), compression = check.default(check.one_of { "none", "gzip" }, "none"),
}

local GZIP_WINDOW = 15 + 16 -- zlib's window bits for its largest window, in gzip

-- A function that makes gzip of a text. Raises an ArgumentError where lua-zlib is missing.
local function gzip()
  local found, zlib = pcall(require, "zlib")
  if not found then
    if not tostring(zlib):find("module 'zlib' not found", 1, true) then error(zlib, 0) end
    core.raise_argument("compression", '"none" without lua-zlib (Debian: lua-zlib; LuaRocks: lua-zlib)', '"gzip"')
  end
  return function(text) return (zlib.deflate(zlib.DEFAULT_COMPRESSION, GZIP_WINDOW)(text, "finish")) end
end

local function headers_of(given, compress)
  local headers, secrets = {}, {}
  for name, text in next, given do
    headers[name:lower()] = text
    for _, secret in ipairs { text, text:match "^%a+ +(.+)$" } do -- "Bearer KEY"
      if #secret >= SECRET_MIN and #secrets < SECRETS_MAX then secrets[#secrets + 1] = secret end
    end
  end
  headers["content-type"], headers["user-agent"] = "application/json", "koine/" .. version
  headers["content-encoding"] = compress and "gzip" or nil
  return headers, secrets
end

local function resource_of(options)
  local resource = { ["service.name"] = UNNAMED, ["telemetry.sdk.name"] = "koine", ["telemetry.sdk.language"] = "lua",
    ["telemetry.sdk.version"] = version }
  for name, given in next, options.resource do resource[name] = given end
  resource["service.name"] = options.service or resource["service.name"]
  return core.encode(value.attributes(resource))
end

-- A sender of a signal ("traces"): `outer`, `inner` and `list` are OTLP's names of the levels of its body.
local function sender_of(options, signal, queue, names)
  local compress = options.compression == "gzip" and gzip() or nil
  local headers, secrets = headers_of(options.headers, compress)
  local url = options[signal .. "_endpoint"] or options.endpoint .. "/v1/" .. signal
  core.target { url = url, path = "", headers = headers, secrets = secrets, timeouts = {}, limits = {} } -- checks them
  return new_sender { url = url, headers = headers,
    secrets = secrets, ca_file = options.ca_file, queue = queue, timeout = options.timeout, rejected = names.rejected,
    compress = compress, batch = signal == "traces" and options.batch or math.maxinteger,
    interval = signal == "traces" and options.interval or options.metrics_interval,
    head = ('{"%s":[{"resource":{"attributes":%s},"%s":[{"scope":%s,"%s":['):format(names.outer,
      resource_of(options), names.inner, core.encode { name = "koine", version = version }, names.list) }
end

--- An observer that sends to a collector. opts: {endpoint = URL of the collector, to which /v1/traces and /v1/metrics
-- are added, "http://localhost:4318"; traces_endpoint, metrics_endpoint = such a URL in full; traces = false for no
-- spans, metrics = true for metrics; headers = {name = string}; ca_file = path; service = its name there; resource =
-- {attribute = value}; content = as koine.observe.new has it; attempts = true for spans of single HTTP requests;
-- batch = spans of a request, 512; interval = seconds between requests, 5; metrics_interval = the same for metrics, 60;
-- queue = spans that may wait, 2048; timeout = seconds for a request, flush and close, 10; compression = "gzip", which
-- takes lua-zlib, or "none"}. Returns the observer, with methods record, flush, close, counts, and <close>. Raises an
-- ArgumentError, also where lua-zlib is wanted and missing.
function otlp.new(opts)
  local options = OPTIONS(opts == nil and {} or opts)
  if not options.traces and not options.metrics then
    core.raise_argument("traces", "true where metrics are not sent", "false")
  end
  local self = setmetatable({ spans = new_spans(options.attempts), senders = {}, timeout = options.timeout,
    closed = false }, otlp_mt)
  if options.traces then
    self.traces = sender_of(options, "traces", new_queue(options.queue),
      { outer = "resourceSpans", inner = "scopeSpans", list = "spans", rejected = "rejectedSpans" })
    self.senders[1] = self.traces
  end
  if options.metrics then
    self.metrics = sender_of(options, "metrics", new_metrics(),
      { outer = "resourceMetrics", inner = "scopeMetrics", list = "metrics", rejected = "rejectedDataPoints" })
    self.senders[#self.senders + 1] = self.metrics
  end
  self.hook = observer.new { to = self, content = options.content }
  return self
end

-- What two tables {name = value} have; the second one's values count.
local function merged(first, second)
  local all = {}
  for name, given in next, first or {} do all[name] = given end
  for name, given in next, second or {} do all[name] = given end
  return all
end

--- The observer that environment variables describe: see observe.from_env.
function otlp.from_env(opts)
  OPTIONS(opts == nil and {} or opts)
  local options, problem = environment.options(getenv)
  if not options then return nil, problem and errors.new { kind = "other", message = problem } end
  for _, name in ipairs { "headers", "resource" } do
    options[name] = merged(opts and opts[name], options[name])
  end
  local made, err = errors.try(otlp.new, merged(opts, options))
  if made then return made end
  return nil, errors.new { kind = "other", message = "OpenTelemetry's environment variables: "
    .. err.message:gsub("^[^:]*:%d+: ", "") }
end

return otlp
