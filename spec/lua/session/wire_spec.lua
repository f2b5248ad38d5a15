-- Sessions over real HTTP: every wire, failures of the connection, what a session costs, and two sessions at once.

local free_port = require "spec.support.free_port"
local kit = require "spec.lua.session.kit"
local koine = require "koine"
local repository = require "spec.lua.system.repository"
local rows = require "koine.provider"

local session = koine.session
local call, kinds = kit.call, kit.kinds

describe("a session over the wire", function()
  local server, repo

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function()
    assert(server:reset())
    repo = repository.with { ["a.txt"] = "a\n" }
  end)
  after_each(function() repo:close() end)

  -- Each wire: an adapter for a base URL.
  local ADAPTERS = {
    anthropic = function(url) return koine.anthropic { model = "claude-sonnet-4-5", key = "k", base_url = url,
      retry = false } end,
    chat = function(url) return koine.openai { model = "gpt-4.1", api = "chat", key = "k", base_url = url,
      retry = false } end,
    responses = function(url) return koine.openai { model = "gpt-4.1", api = "responses", key = "k", base_url = url,
      retry = false } end,
  }

  local function inputs(adapter, given)
    local all = kit.inputs(repo.dir, given)
    all.model = adapter:model_name()
    return all
  end

  for name, new in pairs(ADAPTERS) do
    it("90: makes the same of the same on every wire: " .. name, function()
      repo:write("issue.md", "The test fails.")
      repo:commit()
      assert(server:script {
        { content = { { type = "text", text = "I look." }, call("c1", "read_file", { path = "a.txt" }),
          call("c2", "write_file", { path = "b.txt", content = "b\n" }) },
          usage = { input_tokens = 100, output_tokens = 10 } },
        { content = "Written.", usage = { input_tokens = 200, output_tokens = 5 } },
      })
      local adapter = new(server.url)
      local deltas = 0
      local result = session.run(adapter, inputs(adapter, { allowed_tools = { "read_file", "write_file" },
        context_files = { repo.dir .. "/issue.md" }, on_delta = function() deltas = deltas + 1 end }))
      assert.are.equal("completed", result.outcome, result.reason)
      assert.are.equal("output tool_call tool_call tool_result tool_result output", kinds(result.events))
      assert.are.same({ "b.txt" }, result.artifacts)
      assert.are.same({ 300, 15, 2, adapter:model_name() }, { result.usage.tokens_in, result.usage.tokens_out,
        result.usage.model_calls, result.usage.model })
      assert.are.equal(rows.pricing(rows.model(rows.load(name == "anthropic" and name or "openai"),
        adapter:model_name())) ~= nil, result.usage.cost_usd ~= nil)
      assert.is_true(deltas > 2)
      local requests = assert(server:requests())
      assert.are.equal(2, #requests)
      for _, request in ipairs(requests) do
        assert.are.same({}, request.problems)
        assert.is_truthy(request.body:find(('"model":"%s"'):format(adapter:model_name()), 1, true))
      end
      assert.is_truthy(requests[1].body:find("--- issue.md ---\\nThe test fails.", 1, true))
      assert.is_nil(requests[1].body:find('"bash"', 1, true))
    end)

    it("90: trouble of the provider is an outcome: " .. name, function()
      local adapter = new(server.url)
      for _, case in ipairs { { 500, "server" }, { 401, "auth" }, { 429, "rate_limit" }, { 400, "invalid_request" } } do
        assert(server:script { { error = { status = case[1], message = "no" } } })
        local result = session.run(adapter, inputs(adapter))
        assert.are.same({ "error", case[2], case[1] }, { result.outcome, result.error.kind, result.error.status_code })
        assert.is_truthy(result.reason:find("no", 1, true))
        assert.are.same({}, result.events)
      end
      assert(server:script { { content = ("words "):rep(400), fault = { reset_after = 500 } } })
      assert.are.equal("ConnectionError", session.run(adapter, inputs(adapter)).error.class)
      adapter = new("http://127.0.0.1:" .. free_port())
      local result = session.run(adapter, inputs(adapter))
      assert.are.same({ "error", "connect" }, { result.outcome, result.error.kind })
      assert.is_true(result.usage.duration_seconds > 0)
    end)
  end

  -- A session whose second answer breaks off in its second half.
  local function broken_off(adapter)
    assert(server:script {
      { content = { call("c1", "read_file", { path = "a.txt" }) }, usage = { input_tokens = 100, output_tokens = 10 } },
      { content = ("words "):rep(400), chunk = 60, usage = { input_tokens = 200, output_tokens = 500 },
        fault = { reset_after = 4000 } },
    })
    return session.run(adapter, inputs(adapter, { allowed_tools = { "read_file" }, on_delta = function() end }))
  end

  for name, new in pairs(ADAPTERS) do
    it("22: an answer that broke off counts, and its text is an event: " .. name, function()
      local result = broken_off(new(server.url))
      assert.are.same({ "error", "stream_truncated" }, { result.outcome, result.error.kind })
      assert.are.equal("tool_call tool_result output", kinds(result.events))
      assert.are.equal(result.error.partial:text(), result.events[3].content)
      assert.is_truthy(result.events[3].content:find("^words words"))
      local told = result.error.partial.usage
      local usage = result.usage
      assert.are.same({ 100 + (told.input_tokens or 0), 10 + (told.output_tokens or 0), 2, true }, { usage.tokens_in,
        usage.tokens_out, usage.model_calls, usage.incomplete })
      assert.are.equal(name == "anthropic", told.input_tokens == 200)
      assert.is_nil(usage.cost_usd)
    end)

    it("22: usage is complete where the tokens in and out are known: " .. name, function()
      assert(server:script { { content = "Hello.", usage = { input_tokens = 7, output_tokens = 5 } } })
      local adapter = new(server.url)
      local usage = session.run(adapter, inputs(adapter)).usage
      assert.are.same({ 7, 5, nil }, { usage.tokens_in, usage.tokens_out, usage.incomplete })
    end)
  end

  it("22: a wire without details is complete, one without usage is not; neither has a known cost", function()
    local body = '{"id":"c","object":"chat.completion","model":"gpt-4.1","choices":[{"index":0,"finish_reason":"stop",'
      .. '"message":{"role":"assistant","content":"Hello."}}]%s}'
    local told = ',"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12}'
    for tokens, used in pairs { [7] = told, [0] = "" } do
      assert(server:script { { path = "/chat/completions",
        reply = { status = 200, headers = { ["content-type"] = "application/json" }, body = body:format(used) } } })
      local adapter = ADAPTERS.chat(server.url)
      local result = session.run(adapter, inputs(adapter))
      assert.are.equal("completed", result.outcome, result.reason)
      assert.are.same({ tokens, tokens == 0 or nil }, { result.usage.tokens_in, result.usage.incomplete })
      assert.is_nil(result.usage.cost_usd)
    end
  end)

  it("90: a provider of a row takes the model from the session", function()
    assert(server:script { { content = "Hello." } })
    local options = { key = "k", base_url = server.url, retry = false }
    local provider = session.new("anthropic", options)
    options.base_url = "http://127.0.0.1:1" -- they were copied
    local given = kit.inputs(repo.dir, { model = "claude-haiku-4-5" })
    local result = provider:run_session(given)
    assert.are.same({ "completed", "claude-haiku-4-5" }, { result.outcome, result.usage.model })
    assert.is_truthy(assert(server:requests())[1].body:find('"model":"claude-haiku-4-5"', 1, true))
    assert(server:script { { content = "Again." } })
    local seen = {}
    for event in session.events(provider, given) do seen[#seen + 1] = event.content end
    assert.are.same({ "Again." }, seen)
    assert.are.equal("ArgumentError", kit.raised(provider.run_session, provider, {}).class)
  end)

  it("92: one message answers all calls of an answer", function()
    assert(server:script { { content = { call("c1", "bash", { command = "cat .env" }),
      call("c2", "bash", { command = "echo fine" }) } }, { content = "x" } })
    local adapter = ADAPTERS.anthropic(server.url)
    local result = session.run(adapter, inputs(adapter, { allowed_tools = { "bash" } }))
    assert.are.equal("completed", result.outcome)
    assert.are.same({ true, false }, { result.audit_log[1].blocked, result.audit_log[2].blocked })
    assert.are.same({}, assert(server:requests())[2].problems)
  end)

  -- Returns the cost of a session of one call with that usage.
  local function cost(model, input, output)
    assert(server:script { { content = "x", usage = { input_tokens = input, output_tokens = output,
      cache_read_tokens = 0, cache_creation_tokens = 0 } } })
    local adapter = koine.anthropic { model = model, key = "k", base_url = server.url, retry = false }
    return session.run(adapter, inputs(adapter)).usage.cost_usd
  end

  it("103: what it costs, by model", function()
    local MILLION = 1000000
    local function near(expected, got)
      assert.is_true(got ~= nil and math.abs(expected - got) < 1e-12, tostring(got))
    end
    near(3, cost("claude-sonnet-4-5", MILLION, 0))
    near(15, cost("claude-sonnet-4-6", 0, MILLION))
    near(5 + 25, cost("claude-opus-4-5", MILLION, MILLION))
    near(1 + 5, cost("claude-haiku-4-5", MILLION, MILLION))
    near(0.0105, cost("claude-sonnet-4-5-20250929", 1000, 500))
    for _, model in ipairs { "claude-opus-4-5", "claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8" } do
      near(0.0175, cost(model, 1000, 500))
    end
    near(10 + 50, cost("claude-fable-5", MILLION, MILLION))
    near(0, cost("claude-sonnet-4-5", 0, 0))
    assert.is_nil(cost("unheard-of-model", 1000, 500))
  end)

  it("91: two sessions at once, one executor: events, usage and files stay apart", function()
    local second <close> = assert(koine.testing.start())
    local other <close> = repository.with { ["a.txt"] = "a\n" }
    local started = 0
    -- Both tools have begun before either ends.
    local executor = { run = function(_, input, ctx)
      started = started + 1
      local waited = 0 -- seconds, only a safety net
      while started < 2 and waited < 30 do
        assert(koine.sleep(0.005))
        waited = waited + 0.005
      end
      if started < 2 then return nil, "the other session did not begin" end
      local done = assert(koine.process.run({ "/bin/sh", "-c", input.command }, { cwd = ctx.workdir }))
      return done.stdout
    end }
    local function begin(on, dir, word, tokens)
      local command = ("echo %s | tee %s.txt"):format(word, word)
      assert(on:script { { content = { call("same-id", "bash", { command = command }) },
        usage = { input_tokens = tokens, output_tokens = 1 } },
        { content = word .. " done", usage = { input_tokens = tokens, output_tokens = 1 } } })
      local adapter = ADAPTERS.anthropic(on.url)
      return function()
        return session.run(adapter, kit.inputs(dir, { model = adapter:model_name(), allowed_tools = { "bash" },
          executor = executor }))
      end
    end
    local left, right = begin(server, repo.dir, "left", 10), begin(second, other.dir, "right", 1000)
    local a, b
    koine.run(function() a, b = koine.gather(left, right) end)
    for word, result in pairs { left = a, right = b } do
      assert.are.equal("completed", result.outcome, result.reason)
      assert.are.equal("tool_call tool_result output", kinds(result.events))
      assert.are.same({ word .. "\n", word .. " done" }, { result.events[2].content, result.events[3].content })
      assert.are.same({ word .. ".txt" }, result.artifacts)
      assert.are.equal(1, #result.audit_log)
    end
    assert.are.same({ 20, 2000 }, { a.usage.tokens_in, b.usage.tokens_in })
    assert.are.equal(2, started)
  end)
end)
