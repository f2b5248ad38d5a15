-- OpenTelemetry's environment variables as options of the exporter.

local core = require "koine.core"
local environment = require "koine.observe.otlp.environment"
local koine = require "koine"
local observer = require "koine.data.observer"
local raw_server = require "spec.support.raw_server"
local receiver = require "spec.lua.observe.otlp.receiver"

-- The options that variables (OTEL_…) give.
local function options(variables)
  return environment.options(function(name) return variables[name] end)
end

-- Calls f in an environment that has only these variables of OpenTelemetry's.
local function within(variables, f, ...)
  local getenv = os.getenv
  os.getenv = function(name) -- luacheck: ignore
    if name:find "^OTEL_" then return variables[name] end
    return getenv(name)
  end
  local results = table.pack(pcall(f, ...))
  os.getenv = getenv -- luacheck: ignore
  assert(results[1], results[2])
  return table.unpack(results, 2, results.n)
end

describe("OpenTelemetry's variables", function()
  it("say whether bodies are compressed", function()
    assert.are.equal("gzip", options { OTEL_EXPORTER_OTLP_COMPRESSION = "gzip" }.compression)
    assert.are.equal("none", options { OTEL_EXPORTER_OTLP_COMPRESSION = "none" }.compression)
    assert.is_nil((options { OTEL_EXPORTER_OTLP_COMPRESSION = "zstd" }))
  end)

  it("give options", function()
    assert.are.same({ traces = true, metrics = true }, options {})
    assert.are.same({ traces = true, metrics = false, endpoint = "https://c:4318/x",
      traces_endpoint = "http://t/v1/traces", metrics_endpoint = "http://m/", headers = { ["x-key"] = "a b,c", n = "" },
      ca_file = "/ca.pem", timeout = 2.5, service = "shop", resource = { ["deployment.environment.name"] = "test" },
      interval = 0.5, queue = 10, batch = 5, metrics_interval = 30, content = true }, options {
      OTEL_EXPORTER_OTLP_PROTOCOL = "http/protobuf", OTEL_EXPORTER_OTLP_ENDPOINT = "https://c:4318/x",
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT = "http://t/v1/traces", OTEL_EXPORTER_OTLP_METRICS_ENDPOINT = "http://m/",
      OTEL_EXPORTER_OTLP_HEADERS = " x-key = a%20b%2Cc , n=", OTEL_EXPORTER_OTLP_CERTIFICATE = "/ca.pem",
      OTEL_EXPORTER_OTLP_TIMEOUT = "2500", OTEL_SERVICE_NAME = "shop",
      OTEL_RESOURCE_ATTRIBUTES = "deployment.environment.name=test", OTEL_TRACES_EXPORTER = "console, otlp",
      OTEL_METRICS_EXPORTER = "none", OTEL_BSP_SCHEDULE_DELAY = "500", OTEL_BSP_MAX_QUEUE_SIZE = "10",
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE = "5", OTEL_METRIC_EXPORT_INTERVAL = "30000",
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT = "Span_And_Event" })
  end)

  it("ask for content in any case, and on spans only", function()
    for word, wanted in pairs { ["true"] = true, TRUE = true, SPAN_ONLY = true, span_and_event = true,
      ["false"] = false, NO_CONTENT = false, EVENT_ONLY = false } do
      assert.are.equal(wanted, options({ OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT = word }).content, word)
    end
    assert.is_nil(options({ OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT = "" }).content)
  end)

  it("turn everything off", function()
    assert.is_false(options { OTEL_SDK_DISABLED = "TRUE" })
    assert.is_false(options { OTEL_TRACES_EXPORTER = "none", OTEL_METRICS_EXPORTER = "none" })
    assert.is_table(options { OTEL_SDK_DISABLED = "false" })
  end)

  it("that cannot be read are named, without their values", function()
    for name, text in pairs { OTEL_EXPORTER_OTLP_ENDPOINT = "secret:4318", OTEL_EXPORTER_OTLP_HEADERS = "secret",
      OTEL_EXPORTER_OTLP_TIMEOUT = "0", OTEL_BSP_MAX_QUEUE_SIZE = "many", OTEL_EXPORTER_OTLP_PROTOCOL = "grpc",
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT = "sometimes", OTEL_RESOURCE_ATTRIBUTES = "x",
      OTEL_TRACES_EXPORTER = "console", OTEL_METRICS_EXPORTER = "none,console" } do
      local given, problem = options { [name] = text }
      assert.is_nil(given)
      assert.are.equal(name .. ": expected ", problem:match "^[%u_]+: expected ")
      assert.is_nil(problem:find("secret", 1, true))
    end
  end)
end)

describe("koine.observe.from_env", function()
  it("is an exporter with these options", function()
    local server = raw_server.start(raw_server.answer(200, "{}"))
    local variables = { OTEL_EXPORTER_OTLP_ENDPOINT = server.url .. "/", OTEL_METRICS_EXPORTER = "none",
      OTEL_EXPORTER_OTLP_HEADERS = "x-key=k", OTEL_RESOURCE_ATTRIBUTES = "service.name=other,a=b",
      OTEL_SERVICE_NAME = "shop" }
    local otlp <close> = assert(within(variables, koine.observe.from_env,
      { resource = { c = 1 }, service = "unheard", timeout = 5 }))
    observer.start(observer.option(otlp, "observer"), nil, "agent"):finish()
    assert(otlp:flush())
    local request = server:requests()[1]
    assert.are.equal("/v1/traces", request.target)
    assert.is_truthy(request.head:lower():find("x-key: k", 1, true))
    assert.are.equal(1, #receiver.spans { request.body })
    local body = core.decode(request.body)
    local resource = receiver.plain(body.resourceSpans[1].resource.attributes)
    assert.are.same({ "shop", "b", 1 }, { resource["service.name"], resource.a, resource.c })
  end)

  it("is nil where it is turned off, and nil and an error where a variable is wrong", function()
    local made, err = within({ OTEL_SDK_DISABLED = "true" }, koine.observe.from_env)
    assert.is_nil(made)
    assert.is_nil(err)
    made, err = within({ OTEL_EXPORTER_OTLP_ENDPOINT = "nowhere" }, koine.observe.from_env)
    assert.is_nil(made)
    assert.is_truthy(err:is "Error" and err.message:find("OTEL_EXPORTER_OTLP_ENDPOINT", 1, true))
    made, err = within({ OTEL_EXPORTER_OTLP_HEADERS = "a=top%0Asecret" }, koine.observe.from_env)
    assert.is_nil(made)
    assert.is_truthy(err:is "Error")
    assert.is_nil(err.message:find("secret", 1, true))
  end)

  it("refuses unfit options at the caller's line", function()
    local ok, err = pcall(koine.observe.from_env, { batch = 0 })
    assert.is_false(ok)
    assert.are.equal("batch", err.field)
  end)
end)
