local koine = require "koine"
local pricing = require "koine.call.pricing"
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
  end)

  it("does not ask for cache counts of a provider that has no cache prices", function()
    local cost = pricing.calculate({ input_tokens = 1000, output_tokens = 0 },
      { pricing = { input_per_mtok = 3, output_per_mtok = 15 } })
    close(0.003, cost.total)
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
      end)
    end

    it("is nil, not 0, where the price is not known" .. how, function()
      assert.is_nil(answer("anthropic", "claude-of-tomorrow", COUNTS, stream).usage.cost)
      assert.is_nil(answer("openai", "gpt-5.4", COUNTS, stream).usage.cost)
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
end)
