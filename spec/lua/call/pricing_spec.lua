local core = require "koine.core"
local koine = require "koine"
local pricing = require "koine.call.pricing"
local raised = require "spec.support.raised"
local records = require "koine.data.records"

local PRICES = { input_per_mtok = 3, output_per_mtok = 15, cache_read_per_mtok = 0.3, cache_write_per_mtok = 3.75 }

local function close(expected, got) assert.is_true(math.abs(expected - got) <= 1e-12, expected .. " ~= " .. got) end

local function usage(fields)
  fields.input_tokens, fields.output_tokens = fields.input_tokens or 0, fields.output_tokens or 0
  return records.usage(fields)
end

describe("pricing.calculate", function()
  it("is nil without a model, without prices and without usage", function()
    assert.is_nil(pricing.calculate(usage {}, nil))
    assert.is_nil(pricing.calculate(usage {}, { id = "m" }))
    assert.is_nil(pricing.calculate(nil, { pricing = PRICES }))
    assert.are.equal("usage", raised(pricing.calculate, 5, { pricing = PRICES }).field)
    assert.are.equal("model_info", raised(pricing.calculate, usage {}, "gpt-4.1").field)
    assert.are.equal("model_info.pricing", raised(pricing.calculate, usage {}, { pricing = 3 }).field)
  end)

  it("raises for a count or a price that is no number", function()
    for _, wrong in ipairs { "x", {}, false, core.null } do
      for _, name in ipairs { "input_per_mtok", "output_per_mtok", "cache_read_per_mtok", "cache_write_per_mtok",
        "cache_write_1h_per_mtok" } do
        local err = raised(pricing.calculate, usage {}, { pricing = { [name] = wrong } })
        assert.are.same({ "model_info.pricing." .. name, "a number or nil" }, { err.field, err.expected })
      end
      for _, name in ipairs { "input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens",
        "cache_creation_1h_tokens" } do
        assert.are.equal("usage." .. name, raised(pricing.calculate, { [name] = wrong }, { pricing = PRICES }).field)
      end
    end
  end)

  it("prices the four kinds of tokens per million and adds them up", function()
    local cost = pricing.calculate(usage { input_tokens = 1000000, output_tokens = 2000000,
      cache_read_tokens = 1000000, cache_creation_tokens = 1000000 }, { pricing = PRICES })
    close(3, cost.input)
    close(30, cost.output)
    close(0.3, cost.cache_read)
    close(3.75, cost.cache_write)
    close(37.05, cost.total)
  end)

  it("prices small calls exactly", function()
    local cost = pricing.calculate(usage { input_tokens = 1000, output_tokens = 500 }, { pricing = PRICES })
    close(0.003, cost.input)
    close(0.0075, cost.output)
    close(0.0105, cost.total)
  end)

  it("does not price reasoning tokens again", function()
    local plain = pricing.calculate(usage { output_tokens = 500 }, { pricing = PRICES })
    local reasoning = pricing.calculate(usage { output_tokens = 500, reasoning_tokens = 400 }, { pricing = PRICES })
    assert.are.equal(plain, reasoning)
  end)

  it("is nil, not 0, when a price that is needed is unknown", function()
    local counted = usage { input_tokens = 10, output_tokens = 10, cache_read_tokens = 5 }
    assert.is_nil(pricing.calculate(counted, { pricing = { input_per_mtok = 3, output_per_mtok = 15 } }))
    assert.is_nil(pricing.calculate(counted, { pricing = { input_per_mtok = 3, cache_read_per_mtok = 1 } }))
  end)

  it("needs no price for what was not used", function()
    local cost = pricing.calculate(usage { input_tokens = 1000 }, { pricing = { input_per_mtok = 3 } })
    close(0.003, cost.total)
  end)

  it("is nil when a count that has a price is unknown", function()
    assert.is_nil(pricing.calculate({ input_tokens = 10 }, { pricing = PRICES }))
    assert.is_nil(pricing.calculate({ input_tokens = 10, output_tokens = 10 }, { pricing = PRICES }))
    assert.is_nil(pricing.calculate({}, { pricing = {} }))
    for _, unknown in ipairs { "input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens" } do
      local counts = { input_tokens = 10, output_tokens = 10, cache_read_tokens = 10, cache_creation_tokens = 10 }
      counts[unknown] = nil
      assert.is_nil(pricing.calculate(counts, { pricing = PRICES }), unknown)
    end
  end)

  it("does not ask for cache counts of a provider that has no cache prices", function()
    local cost = pricing.calculate({ input_tokens = 1000, output_tokens = 0 },
      { pricing = { input_per_mtok = 3, output_per_mtok = 15 } })
    close(0.003, cost.total)
  end)

  it("costs nothing where nothing was counted, whatever the price", function()
    for _, price in ipairs { -1, math.huge, 0 / 0, "3" } do
      local cost = pricing.calculate(usage { input_tokens = 0, output_tokens = 0, cache_read_tokens = 0,
        cache_creation_tokens = 0 }, { pricing = { input_per_mtok = price, output_per_mtok = price,
        cache_read_per_mtok = price, cache_write_per_mtok = price } })
      assert.are.equal("0.0 0.0 0.0 0.0 0.0", table.concat({ cost.input, cost.output, cost.cache_read, cost.cache_write,
        cost.total }, " "))
    end
  end)

  it("prices what is written for an hour at its own rate", function()
    local written = usage { cache_creation_tokens = 3000000, cache_creation_1h_tokens = 1000000 }
    assert.is_nil(pricing.calculate(written, { pricing = PRICES }))
    local prices = { cache_write_1h_per_mtok = 6 }
    for name, price in pairs(PRICES) do prices[name] = price end
    close(2 * 3.75 + 6, pricing.calculate(written, { pricing = prices }).cache_write)
    written.cache_creation_1h_tokens = nil
    close(3 * 3.75, pricing.calculate(written, { pricing = prices }).cache_write)
  end)

  it("is nil where the counts do not make the cost", function()
    assert.is_nil(pricing.calculate(usage { input_tokens = 1, unpriced = "speed" }, { pricing = PRICES }))
  end)

  it("is nil for a record of prices without the one that is needed", function()
    local info = { pricing = records.model_pricing { input_per_mtok = 3, output_per_mtok = 15 } }
    assert.is_nil(pricing.calculate(usage { cache_read_tokens = 5 }, info))
    assert.is_nil(pricing.calculate(usage { cache_creation_tokens = 5 }, info))
  end)

  it("is nil for a sum with unknown summands", function()
    local sum = usage { input_tokens = 10, output_tokens = 10, incomplete = true }
    assert.is_nil(pricing.calculate(sum, { pricing = PRICES }))
  end)

  it("takes the prices of a model_info record", function()
    local info = records.model_info { id = "m", name = "M", max_context_tokens = 1, supports_vision = false,
      supports_tool_use = true, supports_streaming = true, pricing = records.model_pricing(PRICES) }
    close(0.3, pricing.calculate(usage { cache_read_tokens = 1000000 }, info).total)
  end)
end)

describe("response.usage.cost", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)

  local COUNTS = { input_tokens = 1000, output_tokens = 500, cache_read_tokens = 200, reasoning_tokens = 100 }

  -- The Response of one chat whose usage is `counts`.
  local function answer(name, model, counts, stream, api)
    assert(server:script { { content = "Hello.", usage = counts } })
    local adapter = koine[name] { key = "test-key", base_url = server.url, model = model, api = api }
    return assert(adapter:chat("Hi", { stream = stream, max_tokens = 100 }))
  end

  for _, stream in ipairs { false, true } do
    local how = stream and ", streamed" or ", plain"

    -- An answer of each wire at the row's prices: {input, output, cache_read, cache_write} in USD.
    for _, case in ipairs {
      { "anthropic", "claude-sonnet-4-5", { 0.003, 0.0075, 0.00006, 0.000375 } },  -- 3, 15, 0.3, 3.75
      { "openai", "gpt-5.1", { 0.00125, 0.005, 0.000025, 0 } },                    -- 1.25, 10, 0.125
      { "openai", "gpt-4.1", { 0.002, 0.004, 0.0001, 0 }, "chat" },                -- 2, 8, 0.5
      { "groq", "openai/gpt-oss-120b", { 0.00015, 0.0003, 0.000015, 0 } },         -- 0.15, 0.6, 0.075
    } do
      local name, model, expected, api = table.unpack(case)
      it(("is what %s/%s costs"):format(name, model) .. (api and ", " .. api or "") .. how, function()
        local counts = { cache_creation_tokens = name == "anthropic" and 100 or nil }
        for field, count in pairs(COUNTS) do counts[field] = count end
        if name == "anthropic" then counts.reasoning_tokens = nil end
        local said = answer(name, model, counts, stream, api).usage
        assert.are.equal(1000, said.input_tokens)
        close(expected[1], said.cost.input)
        close(expected[2], said.cost.output)
        close(expected[3], said.cost.cache_read)
        close(expected[4], said.cost.cache_write)
        close(expected[1] + expected[2] + expected[3] + expected[4], said.cost.total)
        assert.are.equal("prices", said.cost_source)
      end)
    end

    it("is there, as the attempts are, whatever was asked for before" .. how, function()
      local response = answer("anthropic", "claude-sonnet-4-5", COUNTS, stream)
      local copy = response:to_table()
      close(0.00306, copy.usage.cost.input + copy.usage.cost.cache_read)
      assert.are.same({ { status_code = 200, waited = 0 } }, copy.attempts)
      assert.are.same(copy, response:to_table())
      assert.are.equal(response.usage, response.usage)
      assert.are.equal(response.attempts, response.attempts)
      assert.are.same(copy.usage.cost, response.usage.cost)
      assert.are.equal("prices", response.usage.cost_source)
      for name in pairs(copy) do assert.are.equal("string", type(name)) end
    end)

    it("is nil, not 0, where the price is not known" .. how, function()
      assert.is_nil(answer("anthropic", "claude-of-tomorrow", COUNTS, stream).usage.cost)
      assert.is_nil(answer("openai", "gpt-5.4", COUNTS, stream).usage.cost)
      assert.is_nil(answer("openai", "gpt-5-pro", COUNTS, stream).usage.cost)
      assert.is_nil(answer("openai", "gpt-5-pro", COUNTS, stream).usage.cost_source)
      assert.is_nil(answer("mistral", "mistral-large-latest", COUNTS, stream).usage.cost)
      assert.is_nil(answer("compatible", "m", COUNTS, stream).usage.cost)
    end)

    it("is nil where the counts are not known" .. how, function()
      assert.is_nil(answer("groq", "openai/gpt-oss-120b", false, stream).usage.cost)
    end)
  end

  it("is there after the deltas too, and does not count where Responses are compared", function()
    local priced = { key = "test-key", base_url = server.url, model = "openai/gpt-oss-120b" }
    assert(server:script { { content = "Hello.", usage = COUNTS } })
    local stream = assert(koine.groq(priced):open("Hi", { max_tokens = 100 }))
    for delta in stream:deltas() do assert.is_string(delta.type) end
    local response = assert(stream:response())
    close(0.000465, response.usage.cost.total)
    local unpriced = answer("compatible", priced.model, COUNTS)
    assert.is_nil(unpriced.usage.cost)
    assert.is_true(response == unpriced)
  end)

  -- Answers of each wire whose usage is as given; `more` has further fields of the answer.
  local ANSWERS, PATHS = {}, { anthropic = "/v1/messages", chat = "/v1/chat/completions", responses = "/v1/responses" }

  function ANSWERS.anthropic(model, said, more)
    return { id = "a", type = "message", role = "assistant", model = model, stop_reason = "end_turn", usage = said,
      content = more.content or core.array { { type = "text", text = "Hi." } } }
  end

  function ANSWERS.chat(model, said, more)
    return { id = "c", object = "chat.completion", model = model, usage = said, service_tier = more.service_tier,
      choices = core.array { { index = 0, finish_reason = "stop",
        message = { role = "assistant", content = "Hi." } } } }
  end

  function ANSWERS.responses(model, said, more)
    return { id = "r", object = "response", model = model, status = "completed", usage = said,
      service_tier = more.service_tier, output = more.output or core.array {} }
  end

  -- The usage of an answer that reports these counts beside 1000 tokens in and 500 out.
  local function reported(wire, name, model, token_counts, more)
    local chat, none = wire == "chat", { cached_tokens = 0 }
    local said = chat and { prompt_tokens = 1000, completion_tokens = 500, prompt_tokens_details = none }
      or { input_tokens = 1000, output_tokens = 500, input_tokens_details = none, cache_read_input_tokens = 0,
        cache_creation_input_tokens = 0 }
    for field, value in pairs(token_counts) do said[field] = value end
    more = more or {}
    assert(server:script { { path = PATHS[wire], reply = {
      body = ANSWERS[wire](more.model or model, said, more) } } })
    local adapter = koine[name] { key = "test-key", model = model, api = name ~= "anthropic" and wire or nil,
      base_url = server.url .. (name == "anthropic" and "" or "/v1"), quirks = more.quirks }
    return assert(adapter:chat("Hi", { max_tokens = 1000 })).usage
  end

  local function sonnet(token_counts, more)
    return reported("anthropic", "anthropic", "claude-sonnet-4-5", token_counts, more)
  end

  it("is at the price of the model that answered", function()
    close(0.0105, sonnet({}, { model = "claude-sonnet-4-5-20250929" }).cost.total)
    assert.is_nil(sonnet({}, { model = "claude-of-tomorrow" }).cost)
    local alias = reported("anthropic", "anthropic", "claude-3-7-sonnet-latest", {},
      { model = "claude-3-7-sonnet-20250219" })
    close(0.0105, alias.cost.total)
  end)

  it("of Anthropic counts what is written for an hour, and is nil where that is not said", function()
    local said = sonnet { cache_creation_input_tokens = 300,
      cache_creation = { ephemeral_5m_input_tokens = 100, ephemeral_1h_input_tokens = 200 } }
    close(100 * 3.75e-6 + 200 * 6e-6, said.cost.cache_write)
    assert.are.same({ 300, 200 }, { said.cache_creation_tokens, said.cache_creation_1h_tokens })
    for _, split in ipairs { core.null, { ephemeral_5m_input_tokens = 100, ephemeral_1d_input_tokens = 200 } } do
      said = sonnet { cache_creation_input_tokens = 300, cache_creation = split }
      assert.is_nil(said.cost)
      assert.are.equal("cache_lifetime", said.unpriced)
    end
    said = sonnet { cache_creation_input_tokens = 0 }
    close(0.0105, said.cost.total)
    assert.is_nil(said.cache_creation_1h_tokens)
  end)

  it("of Anthropic is nil for what its totals and prices leave out", function()
    local message = { type = "message", input_tokens = 1000, output_tokens = 500 }
    local function tool(name)
      return { content = core.array { { type = "server_tool_use", id = "srvtoolu_1", name = name, input = {} } } }
    end
    for why, cases in pairs {
      iterations = { { { iterations = core.array { message, { type = "compaction", input_tokens = 9 } } } },
        { { iterations = core.array { { model = "claude-opus-4-8", type = "advisor_message" }, message } } } },
      server_tools = { { { server_tool_use = { web_search_requests = 1 } } },
        { { server_tool_use = { things_of_tomorrow = 2, web_search_requests = 0 } } }, { {}, tool "code_execution" } },
      service_tier = { { { service_tier = "priority" } }, { { service_tier = "batch" } } },
      region = { { { inference_geo = "us" } } }, speed = { { { speed = "fast" } } },
    } do
      for _, case in ipairs(cases) do
        local said = sonnet(table.unpack(case))
        assert.is_nil(said.cost, why)
        assert.are.equal(why, said.unpriced)
        assert.are.equal(1000, said.input_tokens)
      end
    end
    for _, case in ipairs {
      { { iterations = core.array { message, message, 1 }, speed = "standard", service_tier = "standard" } },
      { { server_tool_use = { web_search_requests = 0, web_fetch_requests = 3 }, inference_geo = "not_available" } },
      { { server_tool_use = core.null, iterations = core.null, inference_geo = "global" }, tool "web_fetch" },
    } do
      local said = sonnet(table.unpack(case))
      close(0.0105, said.cost.total)
      assert.is_nil(said.unpriced)
    end
  end)

  it("of Anthropic's streams knows the lifetimes that message_start said", function()
    local token_counts = { input_tokens = 1000, cache_creation_input_tokens = 300, cache_read_input_tokens = 0,
      output_tokens = 1,
      cache_creation = { ephemeral_5m_input_tokens = 300, ephemeral_1h_input_tokens = 0 } }
    local events = {}
    for i, event in ipairs {
      { type = "message_start", message = ANSWERS.anthropic("claude-sonnet-4-5", token_counts, {}) },
      { type = "message_delta", delta = { stop_reason = "end_turn" },
        usage = { output_tokens = 500, cache_creation_input_tokens = 300 } },
      { type = "message_stop" },
    } do events[i] = ("event: %s\ndata: %s\n\n"):format(event.type, core.encode(event)) end
    assert(server:script { { path = "/v1/messages", reply = { body = table.concat(events),
      headers = { ["content-type"] = "text/event-stream" } } } })
    local adapter = koine.anthropic { key = "k", model = "claude-sonnet-4-5", base_url = server.url }
    local said = assert(adapter:chat("Hi", { stream = true, max_tokens = 1000 })).usage
    close(0.0105 + 300 * 3.75e-6, said.cost.total)
  end)

  it("of OpenAI's wires is nil in other tiers, with audio, and where tools ran there", function()
    local function hosted(kind)
      return { output = core.array { { type = kind, id = "x_1", status = "completed", name = "n", call_id = "c",
        input = "" } } }
    end
    for _, wire in ipairs { "chat", "responses" } do
      for _, tier in ipairs { "default", "auto", core.null } do
        close(0.006, reported(wire, "openai", "gpt-4.1", {}, { service_tier = tier }).cost.total)
      end
      for _, tier in ipairs { "flex", "priority", "scale" } do
        local said = reported(wire, "openai", "gpt-4.1", {}, { service_tier = tier })
        assert.are.same({ nil, "service_tier" }, { said.cost, said.unpriced })
      end
    end
    local said = reported("chat", "openai", "gpt-4.1", { prompt_tokens_details = { audio_tokens = 5 } })
    assert.are.equal("audio", said.unpriced)
    assert.is_nil(said.cost)
    for _, kind in ipairs { "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call" } do
      said = reported("responses", "openai", "gpt-4.1", {}, hosted(kind))
      assert.are.same({ nil, "server_tools" }, { said.cost, said.unpriced }, kind)
    end
    close(0.006, reported("responses", "openai", "gpt-4.1", {}, hosted "custom_tool_call").cost.total)
  end)

  it("is the provider's own where it says so", function()
    for _, wire in ipairs { "chat", "responses" } do
      for _, case in ipairs {
        { "openrouter", { cost = 0.25 }, 0.25 }, { "openrouter", { cost = 0 }, 0.0 },
        { "openrouter", { cost = 0.25, is_byok = false, cost_details = { upstream_inference_cost = 0.2 } }, 0.25 },
        { "openrouter", { cost = 0.25, is_byok = true, cost_details = { upstream_inference_cost = 2 } }, 2.25 },
        { "openrouter", { cost = 0.25, is_byok = true, cost_details = { upstream_inference_cost = core.null } } },
        { "openrouter", { cost = core.null } }, { "openrouter", { cost = -1 } }, { "openrouter", {} },
        { "xai", { cost_in_usd_ticks = 5596400 }, 5596400 / 1e10 },
      } do
        local name, token_counts, expected = table.unpack(case)
        local said = reported(wire, name, "some/model", token_counts)
        if expected then close(expected, said.cost.total) end
        assert.are.equal(expected and "provider", said.cost and said.cost_source)
        if not expected then assert.is_nil(said.cost) end
      end
    end
    local said = reported("chat", "xai", "grok-code-fast-1", { cost_in_usd_ticks = 1e10 })
    assert.are.same({ 1.0, nil, "provider" }, { said.cost.total, said.cost.input, said.cost_source })
    assert.are.equal("prices", reported("chat", "xai", "grok-code-fast-1", {}).cost_source)
    said = reported("chat", "xai", "grok-code-fast-1", { num_sources_used = 3 })
    assert.are.same({ nil, "server_tools" }, { said.cost, said.unpriced })
  end)

  it("is not read from a server of which nothing is known, unless a quirk says so", function()
    assert.is_nil(reported("chat", "compatible", "m", { cost = 0.5 }).cost)
    local quirks = { reports_cost = true }
    assert.are.equal(0.5, reported("chat", "compatible", "m", { cost = 0.5 }, { quirks = quirks }).cost.total)
    local parts = { cost = { input_tokens_cost = 0.1, total_cost = 0.75 } }
    assert.are.equal(0.75, reported("chat", "compatible", "m", parts, { quirks = quirks }).cost.total)
    assert.is_true(require "koine.provider".load("perplexity").quirks.reports_cost)
  end)

  it("of a fallback is that of the adapter that answered", function()
    assert(server:script { { error = { status = 529, message = "busy" } }, { content = "Hello.", usage = COUNTS } })
    local both = koine.fallback {
      koine.anthropic { key = "k", model = "claude-sonnet-4-5", base_url = server.url, retry = false },
      koine.openai { key = "k", model = "gpt-5-pro", base_url = server.url, api = "chat" },
    }
    local said = assert(both:chat "Hi").usage
    assert.are.same({ 1000, nil }, { said.input_tokens, said.cost })
  end)
end)
