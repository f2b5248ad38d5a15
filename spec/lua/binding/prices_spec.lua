-- What Responses cost, through core.prices and core.price.

local core = require "koine.core"
local raised = require "spec.support.raised"

local PRICE = { input_per_mtok = 1, output_per_mtok = 2 }

local function response(model, usage)
  return core.response { content = "Hello.", model = model, stop_reason = "end_turn",
    usage = usage or { input_tokens = 1000000, output_tokens = 1000000 } }
end

-- The cost of an answer of this model at these prices; nil: not known.
local function total(prices, model, usage)
  local answer = response(model, usage)
  core.price(answer, prices)
  return answer.usage.cost and answer.usage.cost.total
end

describe("core.prices", function()
  it("asks for the prices of a model when another one answers", function()
    local asked = {}
    local prices = core.prices(function(model)
      asked[#asked + 1] = model
      return { input_per_mtok = #model, output_per_mtok = 0 }
    end)
    local long = ("m"):rep(5000)
    for _, model in ipairs { "a", "a", "bb", long, long, "a" } do
      assert.are.equal(#model, total(prices, model))
      collectgarbage()
    end
    assert.are.same({ "a", "bb", long, "a" }, asked)
  end)

  it("knows no cost where there is no price, no model, or the answer says its own", function()
    for _, found in ipairs { false, 5, "x", {}, { input_per_mtok = 1 } } do
      assert.is_nil(total(core.prices(function() return found end), "m"))
    end
    assert.is_nil(total(core.prices(function() end), "m"))
    assert.is_nil(total(core.prices(function() return PRICE end), ""))
    assert.is_nil(total(core.prices(function() return PRICE end), "m", { input_tokens = 1, output_tokens = 1,
      unpriced = "speed" }))
    assert.are.equal(7, total(core.prices(function() return PRICE end), "m", { input_tokens = 1, output_tokens = 1,
      cost = { total = 7 } }))
  end)

  it("keeps no prices of a model whose prices were not found for an error", function()
    local broken = true
    local prices = core.prices(function(model)
      if model == "b" and broken then error("no prices now", 0) end
      return { input_per_mtok = model == "a" and 1 or 10, output_per_mtok = 0 }
    end)
    assert.are.equal(1, total(prices, "a"))
    local answer = response "b"
    core.price(answer, prices)
    for _, read in ipairs { function() return answer.usage end, function() return core.told(answer) end,
      function() return answer:to_table() end } do
      local ok, problem = pcall(read)
      assert.are.same({ false, "no prices now" }, { ok, problem })
    end
    assert.are.equal(1, total(prices, "a"))
    broken = false
    assert.are.equal(10, answer.usage.cost.total)
    local err = raised(total, core.prices(function() return { output_per_mtok = {} } end), "m")
    assert.are.equal("model_info.pricing.output_per_mtok", err.field)
  end)

  it("may be asked again while it asks", function()
    local one, two, depth = response "one", response "two", 0
    local prices = core.prices(function(model)
      depth = depth + 1
      if depth < 6 then assert.is_table((model == "one" and two or one).usage) end
      return { input_per_mtok = model == "one" and 1 or 100, output_per_mtok = 0 }
    end)
    core.price(one, prices)
    core.price(two, prices)
    assert.are.same({ 1.0, 100.0 }, { one.usage.cost.total, two.usage.cost.total })
  end)

  it("refuses what is no function, and core.price what is no koine.prices", function()
    assert.is_false((pcall(core.prices, 5)))
    local answer = response "m"
    for _, wrong in ipairs { {}, answer, io.stdout, setmetatable({}, debug.getmetatable(core.prices(print))) } do
      assert.is_false((pcall(core.price, answer, wrong)))
    end
    assert.is_false((pcall(core.price, answer, nil)))
  end)
end)
