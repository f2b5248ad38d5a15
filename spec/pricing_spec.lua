local pricing = require "koine.pricing"
local records = require "koine.records"

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
