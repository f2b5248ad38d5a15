-- Records as OTLP's histograms: names, bounds, attributes, what is measured, and how much is kept.

local core = require "koine.core"
local koine = require "koine"
local new_metrics = require "koine.observe.otlp.metrics"
local observer = require "koine.data.observer"
local raw_server = require "spec.support.raw_server"
local receiver = require "spec.lua.observe.otlp.receiver"

local plain = receiver.plain

-- The start and the end of some work, as records of a type.
local function records(type, start, finish)
  local from, over = { type = type, phase = "start" }, { type = type, phase = "end", seconds = 0.05 }
  for name, value in pairs(start or {}) do from[name] = value end
  for name, value in pairs(finish or {}) do over[name] = value end
  return from, over
end

-- The points of {type, start, end} …, judged.
local function measured(...)
  local metrics = new_metrics()
  for _, one in ipairs { ... } do metrics:take(records(table.unpack(one, 1, 3))) end
  return receiver.metrics('{"resourceMetrics":[{"resource":{"attributes":[]},"scopeMetrics":[{"scope":'
    .. '{"name":"koine","version":"1"},"metrics":[' .. metrics:batch() .. "]}]}]}")
end

local CHAT = { provider = "gemini", model = "m", stream = true, server = { address = "h", port = 443 },
  conversation = "private" }
local ANSWER = { response_model = "m-1", first_delta = 0.01, seconds = 0.011,
  usage = { input_tokens = 3, cache_read_tokens = 4, output_tokens = 5 } }
local OF_CHAT = { ["gen_ai.operation.name"] = "chat", ["gen_ai.provider.name"] = "gcp.gemini",
  ["gen_ai.request.model"] = "m", ["gen_ai.response.model"] = "m-1", ["server.address"] = "h", ["server.port"] = 443 }

local function with(base, more)
  local all = {}
  for name, value in pairs(base) do all[name] = value end
  for name, value in pairs(more) do all[name] = value end
  return all
end

local DOUBLING = { 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92 }

describe("OTLP's metrics of", function()
  it("a chat: its duration, its tokens, its first chunk", function()
    local points = measured({ "chat", CHAT, ANSWER })
    local duration = points["gen_ai.client.operation.duration"]
    assert.are.equal(1, #duration)
    assert.are.same(OF_CHAT, plain(duration[1].attributes))
    assert.are.same(DOUBLING, duration[1].explicitBounds)
    assert.are.equal("1", duration[1].bucketCounts[2]) -- above 0.01, up to 0.02
    assert.are.equal(0.011, duration[1].sum)
    local first = points["gen_ai.client.operation.time_to_first_chunk"][1]
    assert.are.equal("1", first.bucketCounts[1]) -- a bound is in the bucket below it
    assert.are.same(OF_CHAT, plain(first.attributes))
    local sums = {}
    for _, point in ipairs(points["gen_ai.client.token.usage"]) do
      local of = plain(point.attributes)
      sums[of["gen_ai.token.type"]] = point.sum
      assert.are.same(with(OF_CHAT, { ["gen_ai.token.type"] = of["gen_ai.token.type"] }), of)
      assert.are.same({ 1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864 },
        point.explicitBounds)
    end
    assert.are.same({ input = 7, output = 5 }, sums)
  end)

  it("a chat of which little is known: only its duration", function()
    local points = measured({ "chat", { provider = "x", model = "m" },
      { first_delta = 1, error = { kind = "rate_limit" } } })
    local name, list = next(points)
    assert.are.equal("gen_ai.client.operation.duration", name)
    assert.is_nil(next(points, name))
    assert.are.equal("rate_limit", plain(list[1].attributes)["error.type"])
  end)

  it("a chat whose deltas were told: the time of each after the first", function()
    local metrics = new_metrics()
    local start, finish = records("chat", CHAT, ANSWER)
    local other = records("chat", CHAT)
    for _, ms in ipairs { 0, 5, 6, 106 } do metrics:chunk(start, 1000000000000000000 + ms * 1000000) end
    metrics:chunk(other, 1000000000000000000)
    metrics:chunk(nil, 1)
    metrics:chunk(records("agent"), 1)
    metrics:chunk(start, "soon")
    assert.is_true(metrics:take(start, finish))
    metrics:take(other, finish)
    local points = receiver.metrics('{"resourceMetrics":[{"resource":{"attributes":[]},"scopeMetrics":[{"scope":'
      .. '{"name":"koine","version":"1"},"metrics":[' .. metrics:batch() .. "]}]}]}")
    local chunks = points["gen_ai.client.operation.time_per_output_chunk"]
    assert.are.equal(1, #chunks)
    assert.are.same(OF_CHAT, plain(chunks[1].attributes))
    assert.are.same(DOUBLING, chunks[1].explicitBounds)
    assert.are.same({ "3", 0.001, 0.1 }, { chunks[1].count, chunks[1].min, chunks[1].max })
    assert.is_true(math.abs(chunks[1].sum - 0.106) < 1e-9)
    assert.are.same({ "2", "1" }, { chunks[1].bucketCounts[1], chunks[1].bucketCounts[5] })
  end)

  it("other work: its duration", function()
    for _, row in ipairs {
      { "embed", { provider = "openai", model = "e" }, "gen_ai.client.operation.duration",
        { ["gen_ai.operation.name"] = "embeddings", ["gen_ai.provider.name"] = "openai",
          ["gen_ai.request.model"] = "e" }, DOUBLING },
      { "agent", { name = "planner" }, "gen_ai.invoke_agent.duration", { ["gen_ai.agent.name"] = "planner" },
        { 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6 } },
      { "prompt", { agent = "codex", session = "s" }, "gen_ai.invoke_agent.duration",
        { ["gen_ai.agent.name"] = "codex" } },
      { "tool", { name = "add", call_id = "c" }, "gen_ai.execute_tool.duration",
        { ["gen_ai.tool.name"] = "add", ["gen_ai.tool.type"] = "function" }, DOUBLING },
      { "turn", { mode = "batch", session = "k" }, "gen_ai.workflow.duration",
        { ["gen_ai.workflow.name"] = "batch" }, { 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200 } },
      { "session", { role = "reviewer" }, "gen_ai.workflow.duration", { ["gen_ai.workflow.name"] = "reviewer" } },
      { "mcp", { method = "tools/call", target = "add", version = "2025-06-18", transport = "stdio", request_id = 1 },
        "mcp.client.operation.duration", { ["mcp.method.name"] = "tools/call", ["gen_ai.tool.name"] = "add",
          ["mcp.protocol.version"] = "2025-06-18", ["network.transport"] = "pipe" },
        { 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300 } } } do
      local points = measured({ row[1], row[2] })
      assert.are.same(row[4], plain(points[row[3]][1].attributes), row[1])
      assert.is_nil(next(points, next(points)), row[1])
      for i, bound in ipairs(row[5] or {}) do
        assert.is_true(math.abs(bound - points[row[3]][1].explicitBounds[i]) < 1e-9, row[1])
      end
    end
    assert.are.same({}, measured({ "attempt" }, { "wait" }))
  end)

  it("work of one kind: one point, from the least to the most", function()
    local points = measured({ "tool", { name = "a" }, { seconds = 0.001 } }, { "tool", { name = "a" },
      { seconds = 1000 } }, { "tool", { name = "b" } }, { "tool", { name = "a" }, { is_error = true } },
      { "tool", { name = "a" }, { seconds = 0 / 0 } })["gen_ai.execute_tool.duration"]
    assert.are.equal(3, #points)
    local first = points[1]
    assert.are.same({ "2", 0.001, 1000.0, 1000.001 }, { first.count, first.min, first.max, first.sum })
    assert.are.same({ "1", "1" }, { first.bucketCounts[1], first.bucketCounts[15] })
    assert.are.equal("tool_error", plain(points[3].attributes)["error.type"])
  end)

  it("any number of tools: a bounded number of points", function()
    local metrics = new_metrics()
    for i = 1, 2100 do metrics:take(records("tool", { name = "t" .. i })) end
    local histogram = core.decode((metrics:batch())).histogram
    assert.are.equal(2001, #histogram.dataPoints)
    local last = histogram.dataPoints[2001]
    assert.are.same({ ["otel.metric.overflow"] = true }, plain(last.attributes))
    assert.are.equal("100", last.count)
  end)
end)

describe("koine.observe.otlp with metrics", function()
  local TAKEN = raw_server.answer(200, "{}")

  local function exporter(url, more)
    return koine.observe.otlp(with({ endpoint = url, metrics = true, traces = false, timeout = 5 }, more or {}))
  end

  local function tell(otlp)
    observer.start(observer.option(otlp, "observer"), nil, "agent", { name = "planner" }):finish()
  end

  local function count_of(request)
    assert.are.equal("/v1/metrics", request.target)
    return receiver.metrics(request.body)["gen_ai.invoke_agent.duration"][1].count
  end

  it("posts all since the beginning, when there is something new", function()
    local server = raw_server.start(TAKEN, TAKEN)
    local otlp <close> = exporter(server.url)
    tell(otlp)
    assert(otlp:flush())
    assert(otlp:flush())
    tell(otlp)
    assert(otlp:flush())
    local requests = server:requests()
    assert.are.same({ "1", "2" }, { count_of(requests[1]), count_of(requests[2]) })
    assert.are.same({ sent = 2, rejected = 0, dropped = 0, failed = 0, queued = 0 }, otlp:counts().metrics)
  end)

  it("has the time between deltas of a stream, where it is told of them", function()
    local provider <close> = assert(koine.testing.start { script = { { content = "Hello, there. How are you?" } } })
    local server = raw_server.start(TAKEN)
    local otlp <close> = exporter(server.url, { content = { "deltas" } })
    local claude = koine.anthropic { model = "claude-sonnet-4-5", base_url = provider.url, key = "k", observer = otlp }
    local deltas = 0
    for _ in claude:stream "Hi." do deltas = deltas + 1 end
    assert.is_true(deltas > 1)
    assert(otlp:flush())
    local points = receiver.metrics(server:requests()[1].body)["gen_ai.client.operation.time_per_output_chunk"]
    assert.are.equal(tostring(deltas - 1), points[1].count)
  end)

  it("loses nothing by a request that is refused", function()
    local server = raw_server.start(raw_server.answer(400, ""), TAKEN)
    local otlp <close> = exporter(server.url)
    tell(otlp)
    assert.is_nil((otlp:flush()))
    tell(otlp)
    assert(otlp:flush())
    assert.are.equal("2", count_of(server:requests()[2]))
  end)

  it("posts spans and metrics from a task of the run", function()
    local server = raw_server.start(TAKEN, TAKEN)
    local otlp <close> = exporter(server.url, { traces = true, interval = 0.001, metrics_interval = 0.001 })
    koine.run(function()
      tell(otlp)
      repeat koine.sleep(0.002) until otlp:counts().sent == 1 and otlp:counts().metrics.sent == 1
    end)
    local targets = {}
    for _, request in ipairs(server:requests()) do targets[request.target] = true end
    assert.are.same({ ["/v1/traces"] = true, ["/v1/metrics"] = true }, targets)
  end)
end)
