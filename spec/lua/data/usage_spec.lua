-- Sums of usage: a cost is known only when all of it is.

local usage = require "koine.data.usage"

local function call(cost, source)
  return { input_tokens = 1, output_tokens = 2, cache_read_tokens = 0, cache_creation_tokens = 0, reasoning_tokens = 0,
    cost = cost, cost_source = cost and source }
end

local function sum(...)
  local all = usage.zero()
  for _, one in ipairs { ... } do usage.add(all, one) end
  return all
end

local OURS = { input = 0.25, output = 0.5, cache_read = 0.0, cache_write = 0.0, total = 0.75 }

describe("a sum of usage", function()
  it("of nothing costs nothing that is known", function()
    assert.is_nil(usage.zero().cost)
    assert.is_nil(usage.zero().cost_source)
  end)

  it("adds costs and their parts", function()
    local all = sum(call(OURS, "prices"), call(OURS, "prices"))
    assert.are.same({ input = 0.5, output = 1.0, cache_read = 0.0, cache_write = 0.0, total = 1.5 }, all.cost)
    assert.are.same({ "prices", 2 }, { all.cost_source, all.model_calls })
  end)

  it("knows no cost where one call's is unknown, wherever it stands", function()
    local known, unknown = call(OURS, "prices"), call()
    for _, calls in ipairs { { unknown }, { unknown, known }, { known, unknown }, { known, unknown, known },
      { known, call { input = 1.0 } } } do
      local all = sum(table.unpack(calls))
      assert.is_nil(all.cost)
      assert.is_nil(all.cost_source)
      assert.are.equal(#calls, all.model_calls)
    end
    local all = usage.zero()
    usage.add(all, nil)
    usage.add(all, known)
    assert.is_nil(all.cost)
  end)

  it("knows a part only where every call says it, and where the costs come from", function()
    local all = sum(call(OURS, "prices"), call({ total = 1.0 }, "provider"))
    assert.are.same({ total = 1.75 }, all.cost)
    assert.are.equal("mixed", all.cost_source)
    assert.are.same({ total = 2.75 }, sum(call({ total = 1.0 }, "provider"), call(OURS, "prices"),
      call({ total = 1.0 }, "provider")).cost)
    assert.are.equal("provider", sum(call({ total = 1.0 }, "provider"), call({ total = 1.0 }, "provider")).cost_source)
    assert.is_nil(sum(call(OURS), call(OURS)).cost_source)
  end)
end)
