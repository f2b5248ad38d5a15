-- Sums of usage: a cost is known only when all of it is.

local koine = require "koine"
local raised = require "spec.support.raised"
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

describe("a sum of sums", function()
  it("is incomplete and uncounted where one of them is", function()
    local part = sum(call(OURS, "prices"), { input_tokens = 1, cache_read_tokens = 0, cache_creation_tokens = 0 })
    local all = sum(call(OURS, "prices"), part)
    assert.are.same({ true, { reasoning_tokens = true }, 3, 3, 4 },
      { all.incomplete, all.uncounted, all.model_calls, all.input_tokens, all.output_tokens })
    assert.is_nil(all.cost)
  end)

  it("does not lose its cost to one of no calls", function()
    for _, list in ipairs { { usage.zero(), call(OURS, "prices") }, { call(OURS, "prices"), usage.zero() } } do
      local all = sum(table.unpack(list))
      assert.are.same({ 0.75, "prices", 1 }, { all.cost.total, all.cost_source, all.model_calls })
    end
    local broken = usage.zero()
    usage.miss(broken)
    assert.is_true(sum(call(OURS, "prices"), broken).incomplete)
    assert.is_nil(sum(call(OURS, "prices"), broken).cost)
  end)
end)

describe("koine.usage", function()
  it("still makes a record", function()
    local made = koine.usage { input_tokens = 1, output_tokens = 2 }
    assert.are.same({ 1, 2, 0 }, { made.input_tokens, made.output_tokens, made.cache_read_tokens })
    assert.are.equal("usage.output_tokens", raised.as("ArgumentError", koine.usage, { input_tokens = 1 }).field)
    assert.are.equal(koine.usage, koine.usage)
  end)
end)

describe("koine.usage.sum", function()
  it("adds usages, and what has one", function()
    local book = koine.testing.playbook { { step = 1, type = "message", content = "a", usage = { input_tokens = 10,
      output_tokens = 3, cache_read_tokens = 5, cache_creation_tokens = 0, reasoning_tokens = 1 } },
      { step = 2, type = "message", content = "b", usage = { input_tokens = 1, output_tokens = 1,
        cache_read_tokens = 0, cache_creation_tokens = 0, reasoning_tokens = 0 } } }
    local response = assert(book:chat "Hi")
    local result = assert(koine.agent { adapter = book }:run "Hi")
    local all = koine.usage.sum { response, result, call(), response.usage }
    assert.are.same({ 22, 9, 10, 0, 2, 4 }, { all.input_tokens, all.output_tokens, all.cache_read_tokens,
      all.cache_creation_tokens, all.reasoning_tokens, all.model_calls })
    assert.are.same({}, { all.incomplete, all.uncounted, all.cost })
    assert.is_truthy(tostring(all):find("koine.usage {input_tokens = 22, output_tokens = 9", 1, true))
  end)

  it("knows the cost in USD where every one is priced", function()
    assert.are.equal(1.5, koine.usage.sum({ call(OURS, "prices"), { usage = call(OURS, "prices") } }).cost.total)
    assert.is_nil(koine.usage.sum({ call(OURS, "prices"), call() }).cost)
    assert.is_nil(koine.usage.sum({}).cost)
    assert.are.equal(0, koine.usage.sum({}).model_calls)
  end)

  it("takes embeddings, which have no output", function()
    local all = koine.usage.sum { call({ total = 1.0 }, "provider"),
      { vectors = {}, usage = { input_tokens = 7, requests = 2, cost = { total = 0.5 }, cost_source = "provider" } } }
    assert.are.same({ 8, 2, 3, { total = 1.5 } }, { all.input_tokens, all.output_tokens, all.model_calls, all.cost })
    assert.is_nil(all.incomplete)
    assert.is_true(koine.usage.sum({ { requests = 1, incomplete = true } }).incomplete)
  end)

  it("counts a nil as a call of which nothing is known, also at the end", function()
    local one = call(OURS, "prices")
    for _, list in ipairs { { nil, one }, { one, nil, n = 2 }, { one, nil, one, n = 3 } } do
      local all = koine.usage.sum(list)
      assert.are.same({ list.n or 2, true }, { all.model_calls, all.incomplete })
      assert.is_nil(all.cost)
    end
    local answers = koine.gather { function() return { usage = one } end, function() return nil, "failed" end }
    assert.are.same({ 2, true, 1 }, { koine.usage.sum(answers).model_calls, koine.usage.sum(answers).incomplete,
      koine.usage.sum(answers).input_tokens })
  end)

  it("changes nothing that it is given", function()
    local one = call(OURS, "prices")
    local all = koine.usage.sum { one }
    all.input_tokens, all.cost.total = 99, 99
    assert.are.same({ 1, 0.75 }, { one.input_tokens, one.cost.total })
  end)

  it("refuses what is no list of usages, by its place", function()
    local one = call()
    local cases = { { "usages", one }, { "usages", 5 }, { "usages" }, { "usages", { one, total = one } },
      { "usages.n", { one, n = -1 } }, { "usages[2]", { one, 5 } }, { "usages[1]", { { role = "user" } } },
      { "usages[1].usage", { { usage = 5 } } }, { "usages[1].output_tokens", { { output_tokens = "5" } } },
      { "usages[2].usage.input_tokens", { one, { usage = { input_tokens = 1.5 } } } },
      { "usages[1].cost", { { cost = 3 } } }, { "usages[1].cost", { { cost = { total = "1" } } } },
      { "usages[1].requests", { { requests = "1" } } },
      { "usages[1].model_calls", { { input_tokens = 1, model_calls = "1" } } },
      { "usages[1].uncounted", { { input_tokens = 1, uncounted = 3 } } },
      { "usages[1].premium_requests", { { input_tokens = 1, premium_requests = "1" } } },
      { "usages[1]", { koine.errors.new { kind = "server", message = "gone" } } } }
    for _, case in ipairs(cases) do
      assert.are.equal(case[1], raised.as("ArgumentError", koine.usage.sum, case[2]).field)
    end
  end)
end)
