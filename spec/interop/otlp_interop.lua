-- What koine.observe.otlp sends, judged by OpenTelemetry's own libraries: the definitions of the protocol read all of
-- it, the official exporters send the same for the same spans and measurements, and the conventions have the names.

local core = require "koine.core"
local koine = require "koine"
local node = require "spec.interop.support.node"
local observer = require "koine.data.observer"
local raw_server = require "spec.support.raw_server"

local TAKEN = raw_server.answer(200, "{}")

-- Attributes and metrics that are not in the published conventions: ours, and those that OpenTelemetry moved to the
-- repository of the conventions for generative AI before they were published.
local OWN = { "gen_ai.execute_tool.duration", "gen_ai.invoke_agent.duration", "gen_ai.workflow.duration",
  "koine.attempts", "koine.cost.usd", "koine.kind", "koine.open", "koine.outcome", "koine.seconds", "koine.status",
  "koine.status_code", "koine.steps", "koine.tool.blocked", "koine.waited", "koine.warnings", "koine.what", "tenant" }

-- Where the JSON of the official exporters has other types: it writes integers of 64 bits as numbers, which the
-- protocol allows beside text, and what is zero or empty, which it allows to leave out.
local SHAPES = {
  "metrics.resourceMetrics[].scopeMetrics[].metrics[].histogram.dataPoints[].bucketCounts[]: string, number",
  "metrics.resourceMetrics[].scopeMetrics[].metrics[].histogram.dataPoints[].count: string, number",
}
local ALLOWED = { "intValue: string, number$", ": nothing, [%a]+$" }

-- Work of every type, with all that their records may hold.
local function tell(hook)
  local turn = observer.start(hook, nil, "turn", { mode = "per-thread", session = "slack:T1" })
  local session = observer.start(nil, turn:context(), "session", { role = "implementor", model = "m" })
  local agent = observer.start(nil, session:context(), "agent", { name = "planner" })
  local chat = observer.start(nil, agent:context(), "chat", { provider = "anthropic", model = "claude-sonnet-4-5",
    stream = true, max_tokens = 100, temperature = 0.5, top_p = 0.25, stop_sequences = core.array { "END", "\u{e9}" },
    server = { address = "api.anthropic.com", port = 443 }, conversation = "slack:T1", content = { system = "Be brief.",
      messages = { { role = "user", content = "Hi." } } } })
  observer.point(chat:context(), "retry", { status_code = 429, kind = "rate_limit", waited = 0.5 })
  observer.start(nil, chat:context(), "wait", { what = "retry" }):finish()
  chat:finish { response_model = "claude-sonnet-4-5-20250929", response_id = "msg_1", raw_stop_reason = "tool_use",
    first_delta = 0.125, usage = { input_tokens = 3, cache_read_tokens = 4, cache_creation_tokens = 5,
      output_tokens = 6, reasoning_tokens = 2 }, cost = 0.015625, attempts = 2, warnings = core.array { "seed" },
    content = { blocks = { { type = "text", text = "Hello \u{1F600}." } } } }
  local tool = observer.start(nil, agent:context(), "tool", { name = "add", call_id = "c1", description = "Adds." })
  observer.start(nil, tool:context(), "mcp", { server = "s", method = "tools/call", target = "add",
    transport = "stdio", version = "2025-06-18", request_id = "7" }):finish { error_code = "-32602" }
  tool:finish { is_error = true }
  observer.start(nil, agent:context(), "tool", { name = "pay" }):finish { is_error = true, blocked = true }
  observer.start(nil, agent:context(), "embed", { provider = "mistral", model = "e", dimensions = 256 })
    :finish { usage = { input_tokens = 9 } }
  observer.start(nil, agent:context(), "prompt", { agent = "codex", session = "s1" })
    :finish { stop_reason = "end_turn" }
  observer.start(nil, agent:context(), "mcp", { server = "s", method = "tools/list", transport = "http" }):finish {}
  agent:finish { status = "done", steps = 2 }
  session:finish { outcome = "completed" }
  turn:finish({ outcome = "error" }, koine.errors.new { kind = "rate_limit", message = "too many" })
  observer.start(hook, nil, "agent", { name = "planner" }):finish {}
end

-- The bodies that a collector gets: of spans, and of metrics.
local function exported()
  local server = raw_server.start(TAKEN, TAKEN)
  local otlp = koine.observe.otlp { endpoint = server.url, service = "spec", metrics = true, content = true,
    resource = { ["deployment.environment.name"] = "test" } }
  local hook = observer.new { to = otlp, content = true, attributes = { tenant = "t" } }
  tell(hook)
  local open = observer.start(hook, nil, "agent", {})
  assert(otlp:close())
  open:finish()
  local requests = server:requests()
  return requests[1], requests[2]
end

describe("koine.observe.otlp", function()
  local traces, metrics, judged

  setup(function()
    traces, metrics = exported()
    judged = node.run("clients/otlp.mjs", "otlp",
      { traces = core.array { traces.body }, metrics = core.array { metrics.body } })
    assert.are.same({ 11, 14 }, { judged.spans, judged.points })
  end)

  it("is read by the definitions of the protocol, with nothing that they do not know", function()
    assert.are.same({}, judged.unread)
  end)

  it("sends what the official exporters send for the same spans and measurements", function()
    assert.are.same({}, judged.differences)
    for kind, request in pairs { traces = traces, metrics = metrics } do
      local official = judged.request[kind]
      assert.are.equal(official.path, request.target)
      assert.are.equal("POST", official.method)
      assert.is_truthy(request.head:lower():find("content-type: " .. official.type, 1, true))
    end
  end)

  it("writes JSON of the same types, but for 64 bits and what may be left out", function()
    local others, listed = {}, {}
    for _, line in ipairs(SHAPES) do listed[line] = true end
    for _, line in ipairs(judged.shapes) do
      local allowed = listed[line]
      for _, pattern in ipairs(ALLOWED) do allowed = allowed or line:find(pattern) end
      if not allowed then others[#others + 1] = line end
    end
    assert.are.same({}, others)
  end)

  it("uses the names of the conventions, and koine's own", function()
    local listed = {}
    for _, name in ipairs(OWN) do listed[name] = true end
    local others = {}
    for _, name in ipairs(judged.names) do
      if not listed[name] then others[#others + 1] = name end
    end
    assert.are.same({}, others)
  end)
end)
