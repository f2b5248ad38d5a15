-- The usage of a run, the sum of its model calls, and the bounds of that. With adapters that answer with given usages.

local errors = require "koine.data.errors"
local koine = require "koine"
local kit = require "spec.lua.agent.kit"

local agent = koine.agent
local assert_legal, make, play, use = kit.check_history, kit.make, kit.play, kit.use

describe("usage", function()
  local price = { input_per_mtok = 3, output_per_mtok = 15, cache_read_per_mtok = 0.3, cache_write_per_mtok = 3.75 }

  -- An adapter that answers with these usages, one a call, each with its cost where it can be known.
  local function priced(...)
    local usages, n = { ... }, 0
    return koine.custom_adapter { name = "priced", options = { model = "m" }, open = function()
      n = n + 1
      local usage, last = usages[n], n == #usages
      if usage.priced then
        usage.priced = nil
        usage.cost = koine.pricing.calculate(usage, { pricing = price })
      end
      return { next = function() end, response = function()
        return { model = "m", stop_reason = last and "end_turn" or "tool_use", usage = usage,
          content = last and "x" or { use("c" .. n) } }
      end }
    end }
  end

  it("is the sum of all model calls, cost and all", function()
    local result = assert(make(priced({ input_tokens = 1000, output_tokens = 500, cache_read_tokens = 10,
      cache_creation_tokens = 20, reasoning_tokens = 5, priced = true }, { input_tokens = 1, output_tokens = 2,
      cache_read_tokens = 0, cache_creation_tokens = 0, reasoning_tokens = 1, priced = true })):run "Go")
    local usage = result.usage
    assert.is_true(math.abs(usage.cost.total - (0.0105 + 10 * 0.3e-6 + 20 * 3.75e-6 + 3e-6 + 30e-6)) < 1e-12)
    assert.is_true(math.abs(usage.cost.output - 502 * 15e-6) < 1e-12)
    usage.cost = nil
    assert.are.same({ input_tokens = 1001, output_tokens = 502, cache_read_tokens = 10, cache_creation_tokens = 20,
      reasoning_tokens = 6, model_calls = 2 }, usage)
  end)

  it("leaves out what is unknown and says so; the cost is then unknown", function()
    local result = assert(make(priced({ input_tokens = 1, output_tokens = 1, cache_read_tokens = 0,
      cache_creation_tokens = 0, reasoning_tokens = 0, priced = true }, { output_tokens = 7 }, { input_tokens = 1,
      output_tokens = 1, cache_read_tokens = 0, cache_creation_tokens = 0, reasoning_tokens = 0, priced = true }))
      :run "Go")
    assert.are.same({ input_tokens = 2, output_tokens = 9, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 0, model_calls = 3, incomplete = true,
      uncounted = { cache_read_tokens = true, cache_creation_tokens = true, reasoning_tokens = true } }, result.usage)
  end)

  it("is complete where only parts of what is known were not told; a price for such a part is then no help", function()
    local usage = assert(make(priced({ input_tokens = 5, output_tokens = 7 })):run "Go").usage
    assert.are.same({ 5, 7, nil }, { usage.input_tokens, usage.output_tokens, usage.incomplete })
    assert.is_true(usage.uncounted.reasoning_tokens)
    local prices = { input_per_mtok = 3, output_per_mtok = 15 }
    assert.is_number(koine.pricing.calculate(usage, { pricing = prices }).total)
    prices.cache_read_per_mtok = 0.3
    assert.is_nil(koine.pricing.calculate(usage, { pricing = prices }))
  end)

  it("counts what had arrived of an answer that broke off, and says that more was used", function()
    local partial = koine.response { content = { koine.text { text = "Hel" } }, stop_reason = "max_tokens", model = "m",
      usage = koine.usage { input_tokens = 3, output_tokens = 2 } }
    local failures = { { kind = "stream_truncated", partial = partial }, { kind = "timeout" }, { kind = "rate_limit" } }
    for i, failure in ipairs(failures) do
      failure.message = "no"
      local _, _, run = make { model_name = function() return "m" end, chat = function()
        return nil, errors.new(failure)
      end }:run "Go"
      local usage = run:summary().usage
      assert.are.same({ i == 1 and 3 or 0, i == 1 and 1 or 0, i < 3 or nil }, { usage.input_tokens, usage.model_calls,
        usage.incomplete })
    end
  end)

  it("is incomplete when the run is cancelled while the model answers", function()
    local asked = false
    local run = make({ chat = function()
      asked = true
      koine.sleep(1000)
    end }):start "Go"
    koine.run(function()
      koine.spawn(function()
        while not asked do koine.sleep(0) end
        run:cancel()
      end)
      run:step()
    end)
    assert.is_true(run:summary().usage.incomplete)
  end)

  it("keeps what providers said that it cost, also in a dump", function()
    local one = { input_tokens = 1, output_tokens = 1, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 0, cost = { total = 0.25 }, cost_source = "provider" }
    local two = { input_tokens = 1, output_tokens = 1, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 0, cost = { total = 0.5 }, cost_source = "provider" }
    local made = make(priced(one, two))
    local run = made:start "Go"
    run:step()
    local result = assert(assert(agent.load(made, run:dump())):result())
    assert.are.same({ total = 0.75 }, result.usage.cost)
    assert.are.same({ "provider", 2 }, { result.usage.cost_source, result.usage.model_calls })
  end)

  it("of a run that asked nothing is nothing, at no known cost", function()
    assert.are.same({ input_tokens = 0, output_tokens = 0, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 0, model_calls = 0 }, make(play { content = "x" }):start "Go":summary().usage)
  end)

  describe("bounds", function()
    local function stopped(condition, ...)
      local result = assert(make(priced(...), { stop = condition }):run "Go")
      assert_legal(result.messages)
      return result
    end
    local function known(n)
      return { input_tokens = n, output_tokens = n, cache_read_tokens = 0, cache_creation_tokens = 0,
        reasoning_tokens = 0, priced = true }
    end

    it("by tokens, at once", function()
      local result = stopped(agent.tokens(25), known(10), known(10), known(10))
      assert.are.same({ "stopped", "tokens", 2 }, { result.status, result.reason, result.steps })
      assert.are.equal("not run: the run ended before this call (tokens)", result.messages[5].content[1].content)
    end)

    it("by cost, and when it is unknown", function()
      local result = stopped({ agent.cost(0.5) }, known(10), known(100000), known(10))
      assert.are.same({ "stopped", "cost", 2 }, { result.status, result.reason, result.steps })
      result = stopped({ agent.cost(0.5) }, { input_tokens = 1, output_tokens = 1 }, known(10))
      assert.are.same({ "stopped", "cost unknown", 1 }, { result.status, result.reason, result.steps })
    end)
  end)
end)
