-- Records as OTLP's spans: a golden span for each type of record, parents, events, what stays open.

local core = require "koine.core"
local new_spans = require "koine.observe.otlp.span"

local TRACE = ("0af7"):rep(8)

local function id_of(n) return ("%016x"):format(n) end

local function record(phase, type, n, more)
  local made = { v = 1, type = type, phase = phase, trace = TRACE, id = id_of(n), time = 1700000000000000000 + n }
  for name, value in pairs(more or {}) do made[name] = value end
  return made
end

-- The span of one record and its end.
local function span_of(type, start, finish, spans)
  spans = spans or new_spans(true)
  assert.is_nil(spans:take(record("start", type, 1, start)))
  local over = record("end", type, 1, finish)
  over.seconds = 2.5
  return assert(spans:take(over))
end

-- The attributes of a span as {key = the value in JSON, without its type's name where that is clear}.
local function plain(list)
  local of = {}
  for _, one in ipairs(list) do
    assert.is_nil(of[one.key], one.key)
    local _, value = next(one.value)
    if type(value) == "table" then value = core.encode(value) end
    of[one.key] = value
  end
  return of
end

local function text(value) return '{"values":[{"stringValue":"' .. value .. '"}]}' end

-- {title, type, start, end, name, kind, attributes}
local GOLDEN = {
  { "chat", "chat", { provider = "anthropic", model = "m", stream = true, max_tokens = 100, temperature = 0.5,
    top_p = 0.9, stop_sequences = { "END" }, server = { address = "api.x", port = 443 }, conversation = "c1" },
    { response_model = "m-1", response_id = "r1", raw_stop_reason = "stop",
      stop_reason = "end_turn", first_delta = 0.25,
      usage = { input_tokens = 10, cache_read_tokens = 5, cache_creation_tokens = 2, output_tokens = 7,
        reasoning_tokens = 3 }, cost = 0.5, attempts = 2, warnings = { "w" } },
    "chat m", 3, { ["gen_ai.operation.name"] = "chat", ["gen_ai.provider.name"] = "anthropic",
      ["gen_ai.request.model"] = "m", ["gen_ai.request.max_tokens"] = "100", ["gen_ai.request.temperature"] = 0.5,
      ["gen_ai.request.top_p"] = 0.9, ["gen_ai.request.stop_sequences"] = text "END", ["gen_ai.request.stream"] = true,
      ["server.address"] = "api.x", ["server.port"] = "443", ["gen_ai.conversation.id"] = "c1",
      ["gen_ai.response.model"] = "m-1", ["gen_ai.response.id"] = "r1",
      ["gen_ai.response.finish_reasons"] = text "stop", ["gen_ai.response.time_to_first_chunk"] = 0.25,
      ["gen_ai.usage.input_tokens"] = "17", ["gen_ai.usage.output_tokens"] = "7",
      ["gen_ai.usage.cache_read.input_tokens"] = "5", ["gen_ai.usage.cache_creation.input_tokens"] = "2",
      ["gen_ai.usage.reasoning.output_tokens"] = "3", ["koine.cost.usd"] = 0.5, ["koine.attempts"] = "2",
      ["koine.warnings"] = text "w" } },
  { "a chat of which little is known", "chat", { provider = "compatible", model = "m", stream = false },
    { usage = { output_tokens = 1 } }, "chat m", 3,
    { ["gen_ai.operation.name"] = "chat", ["gen_ai.provider.name"] = "compatible", ["gen_ai.request.model"] = "m",
      ["gen_ai.usage.output_tokens"] = "1" } },
  { "embed", "embed", { provider = "gemini", model = "e", inputs = 2 },
    { usage = { input_tokens = 4 }, dimensions = 768 },
    "embeddings e", 3, { ["gen_ai.operation.name"] = "embeddings", ["gen_ai.provider.name"] = "gcp.gemini",
      ["gen_ai.request.model"] = "e", ["gen_ai.embeddings.dimension.count"] = "768",
      ["gen_ai.usage.input_tokens"] = "4" } },
  { "agent", "agent", { name = "planner" }, { status = "done", steps = 3 }, "invoke_agent planner", 1,
    { ["gen_ai.operation.name"] = "invoke_agent", ["gen_ai.agent.name"] = "planner", ["koine.status"] = "done",
      ["koine.steps"] = "3" } },
  { "agent without a name", "agent", {}, {}, "invoke_agent", 1, { ["gen_ai.operation.name"] = "invoke_agent" } },
  { "session with a program", "prompt", { agent = "codex", session = "s" }, { stop_reason = "end_turn" },
    "invoke_agent codex", 3, { ["gen_ai.operation.name"] = "invoke_agent", ["gen_ai.agent.name"] = "codex",
      ["gen_ai.conversation.id"] = "s", ["gen_ai.response.finish_reasons"] = text "end_turn" } },
  { "tool", "tool", { name = "search", call_id = "c", description = "Searches." }, { is_error = true },
    "execute_tool search", 1,
    { ["gen_ai.operation.name"] = "execute_tool", ["gen_ai.tool.name"] = "search", ["gen_ai.tool.call.id"] = "c",
      ["gen_ai.tool.type"] = "function", ["gen_ai.tool.description"] = "Searches.",
      ["error.type"] = "tool_error" } },
  { "mcp", "mcp", { method = "tools/list", version = "2025-06-18", transport = "stdio", request_id = 7 },
    { error_code = -32601 }, "tools/list", 3,
    { ["mcp.method.name"] = "tools/list", ["mcp.protocol.version"] = "2025-06-18", ["network.transport"] = "pipe",
      ["jsonrpc.request.id"] = "7", ["rpc.response.status_code"] = "-32601", ["error.type"] = "-32601" } },
  { "turn", "turn", { mode = "batch", session = "k" }, { outcome = "done" }, "invoke_workflow batch", 1,
    { ["gen_ai.operation.name"] = "invoke_workflow", ["gen_ai.conversation.id"] = "k",
      ["gen_ai.workflow.name"] = "batch", ["koine.outcome"] = "done" } },
  { "session", "session", { role = "reviewer", model = "m" }, { outcome = "done", usage = { output_tokens = 2 } },
    "invoke_workflow reviewer", 1, { ["gen_ai.operation.name"] = "invoke_workflow",
      ["gen_ai.workflow.name"] = "reviewer", ["gen_ai.request.model"] = "m", ["koine.outcome"] = "done",
      ["gen_ai.usage.output_tokens"] = "2" } },
  { "attempt", "attempt", { number = 2, url = "https://api.x/v1/chat" }, { status_code = 200 }, "POST", 3,
    { ["http.request.method"] = "POST", ["url.full"] = "https://api.x/v1/chat", ["http.request.resend_count"] = "1",
      ["http.response.status_code"] = "200" } },
}

describe("OTLP's span of", function()
  for _, row in ipairs(GOLDEN) do
    it("a record: " .. row[1], function()
      local span = span_of(row[2], row[3], row[4])
      assert.are.equal(row[5], span.name)
      assert.are.equal(row[6], span.kind)
      assert.are.same(row[7], plain(span.attributes))
      assert.are.equal(TRACE, span.traceId)
      assert.are.equal(id_of(1), span.spanId)
      assert.are.equal("1700000000000000001", span.startTimeUnixNano)
      assert.are.equal("1700000002500000001", span.endTimeUnixNano)
      assert.are.equal(plain(span.attributes)["error.type"] and 2 or 0, span.status.code)
    end)
  end

  it("work that failed has the kind of its error", function()
    local span = span_of("chat", {}, { error = { class = "RateLimitError", kind = "rate_limit", message = "slow" } })
    assert.are.equal("rate_limit", plain(span.attributes)["error.type"])
    assert.are.same({ code = 2, message = "slow" }, span.status)
    local blocked = span_of("tool", { name = "t" }, { is_error = true, blocked = true })
    assert.are.equal(0, blocked.status.code)
  end)

  it("captured content is JSON of roles and parts", function()
    local span = span_of("chat", { content = { system = "Be brief.", messages = { { role = "user", content = "Hi." },
      { role = "assistant", content = { { type = "thinking", thinking = "hm" },
        { type = "tool_use", id = "c", name = "add", arguments = { a = 1 } } } },
      { role = "user", content = { { type = "tool_result", tool_use_id = "c", content = "1" } } } } } },
      { raw_stop_reason = "stop", content = { blocks = { { type = "text", text = "One." } } } })
    local of = plain(span.attributes)
    assert.are.equal('[{"content":"Be brief.","type":"text"}]', of["gen_ai.system_instructions"])
    assert.are.same({ { role = "user", parts = { { type = "text", content = "Hi." } } },
      { role = "assistant", parts = { { type = "reasoning", content = "hm" },
        { type = "tool_call", id = "c", name = "add", arguments = { a = 1 } } } },
      { role = "tool", parts = { { type = "tool_call_response", id = "c", result = "1" } } } },
      core.decode(of["gen_ai.input.messages"]))
    assert.are.same({ { role = "assistant", parts = { { type = "text", content = "One." } }, finish_reason = "stop" } },
      core.decode(of["gen_ai.output.messages"]))
  end)
end)

describe("OTLP's spans", function()
  it("are parts of what has a span: attempts and waits are left out", function()
    local spans = new_spans(false)
    spans:take(record("start", "chat", 1))
    spans:take(record("start", "attempt", 2, { parent = id_of(1) }))
    spans:take(record("start", "tool", 3, { parent = id_of(2), name = "t" }))
    assert.are.equal(id_of(1), spans:take(record("end", "tool", 3)).parentSpanId)
    assert.is_nil(spans:take(record("end", "attempt", 2)))
    spans:take(record("start", "wait", 4, { parent = id_of(1), what = "retry" }))
    spans:take(record("end", "wait", 4, { parent = id_of(1), seconds = 0.5 }))
    spans:take(record("point", "retry", 5, { parent = id_of(1), status_code = 429 }))
    local chat = spans:take(record("end", "chat", 1))
    assert.is_nil(chat.parentSpanId)
    assert.are.equal("wait", chat.events[1].name)
    assert.are.same({ ["koine.what"] = "retry", ["koine.seconds"] = 0.5 }, plain(chat.events[1].attributes))
    assert.are.same({ name = "retry", timeUnixNano = "1700000000000000005",
      attributes = { { key = "koine.status_code", value = { intValue = "429" } } } }, chat.events[2])
  end)

  it("keep the parent of another program, and say whether it is known to be of this one", function()
    local remote = span_of("chat", { parent = id_of(9) })
    assert.are.same({ id_of(9), 0x001 }, { remote.parentSpanId, remote.flags })
    local spans = new_spans(false)
    spans:take(record("start", "agent", 2))
    assert.are.equal(0x101, span_of("chat", { parent = id_of(2) }, {}, spans).flags)
    assert.are.equal(0x101, spans:take(record("end", "agent", 2)).flags)
  end)

  it("have the observer's attributes after their own", function()
    local of = plain(span_of("agent", { name = "a", attributes = { tenant = "t", ["gen_ai.agent.name"] = "b" } })
      .attributes)
    assert.are.same({ "t", "a" }, { of.tenant, of["gen_ai.agent.name"] })
  end)

  it("take a call of an MCP server's tool for a part of the tool", function()
    local spans = new_spans(false)
    spans:take(record("start", "tool", 1, { name = "t" }))
    spans:take(record("start", "mcp", 2, { parent = id_of(1), method = "tools/call", target = "t" }))
    assert.is_nil(spans:take(record("end", "mcp", 2)))
    assert.are.equal("tools/call", plain(spans:take(record("end", "tool", 1)).attributes)["mcp.method.name"])
    local alone = span_of("mcp", { method = "tools/call", target = "t" })
    assert.are.equal("tools/call t", alone.name)
    assert.are.equal("execute_tool", plain(alone.attributes)["gen_ai.operation.name"])
  end)

  it("tell of events that belong to nothing, and keep a bounded number of the others", function()
    local spans = new_spans(false)
    assert.is_true(select(3, spans:take(record("point", "retry", 5, { parent = id_of(1) }))))
    assert.is_nil(select(3, spans:take(record("point", "queued", 6))))
    spans:take(record("start", "chat", 1))
    for n = 10, 209 do spans:take(record("point", "delta", n, { parent = id_of(1) })) end
    local chat = spans:take(record("end", "chat", 1))
    assert.are.equal(128, #chat.events)
    assert.are.equal(72, chat.droppedEventsCount)
  end)

  it("say of what is open that it is", function()
    local spans = new_spans(false)
    spans:take(record("start", "chat", 1, { model = "m" }))
    local list = spans:unfinished(1800000000000000000)
    assert.are.equal(1, #list)
    assert.are.equal("1800000000000000000", list[1].endTimeUnixNano)
    assert.are.equal(2, list[1].status.code)
    assert.is_true(plain(list[1].attributes)["koine.open"])
    assert.are.same({}, spans:unfinished(0))
  end)

  it("write numbers that JSON has not as text", function()
    local span = span_of("chat", { temperature = 0 / 0, top_p = math.huge,
      attributes = { deep = { a = { 1, false } } } })
    local of = plain(span.attributes)
    assert.is_string(of["gen_ai.request.temperature"])
    assert.are.equal("inf", of["gen_ai.request.top_p"])
    assert.are.equal('{"values":[{"key":"a","value":{"arrayValue":{"values":'
      .. '[{"intValue":"1"},{"boolValue":false}]}}}]}', of.deep)
  end)
end)
