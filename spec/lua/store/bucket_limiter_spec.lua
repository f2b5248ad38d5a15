-- The rate limiter on a store, alone and in an adapter.

local bucket_limiter = require "koine.store.bucket_limiter"
local koine = require "koine"
local raised = require "spec.support.raised"
local wait = require "koine.task.wait"

describe("koine.rate_limiter on a store", function()
  local park, now, random = wait.park, wait.now, bucket_limiter.random
  local time, slept, store

  before_each(function()
    time, slept = 1000, {}
    store = koine.store.memory { clock = function() return time end }
    bucket_limiter.random = function() return 0 end
    wait.now = function() return time end
    wait.park = function(_, seconds)
      slept[#slept + 1] = seconds
      time = time + seconds
      return false
    end
  end)
  after_each(function() wait.park, wait.now, bucket_limiter.random = park, now, random end)

  local function limiter(more)
    local options = { store = store, key = "anthropic", capacity = 2, per = 0.5 }
    for name, value in pairs(more or {}) do options[name] = value end
    return koine.rate_limiter(options)
  end

  -- A store of which every take fails with an error of this kind.
  local function broken(kind)
    return { take = function() return nil, koine.errors.new { kind = kind, message = "the engine is away" } end }
  end

  it("lets go what the bucket holds, and then as fast as it fills", function()
    local one, two = limiter(), limiter()
    for _ = 1, 5 do
      assert.is_true(one:wait())
      assert.is_true(two:wait())
    end
    assert.are.equal(8, #slept)
    for _, seconds in ipairs(slept) do assert.are.equal(2, seconds) end
    assert.is_true(limiter { key = "other" }:wait())
    assert.are.equal(8, #slept)
  end)

  it("adds a tenth to a wait at most, at random, within what is left", function()
    local one = limiter()
    bucket_limiter.random = function() return 0.999 end
    for _ = 1, 3 do assert(one:wait()) end
    assert.are.equal(2 * 1.0999, slept[1])
    time = time + 100
    for _ = 1, 2 do assert(one:wait()) end
    assert(one:wait(2.05))
    assert.is_true(math.abs(slept[2] - 2.05) < 1e-6)
  end)

  it("fails at once where the request may not go in time, and takes nothing", function()
    local one = limiter()
    for _ = 1, 2 do assert(one:wait(0)) end
    local done, err = one:wait(1.9)
    assert.is_nil(done)
    assert.are.same({ "timeout", "total", false }, { err.kind, err.code, err.retryable })
    assert.are.equal(0, #slept)
    time = time + 2
    assert(one:wait(0))
  end)

  it("takes what a request costs, and refuses at once what is more than the bucket holds", function()
    local asked = {}
    local one = limiter { capacity = 100, cost = function(request)
      asked[#asked + 1] = request
      return request.tokens
    end }
    assert(one:wait(nil, { tokens = 99 }))
    assert(one:wait(0)) -- of no request: one
    assert.are.equal(1, #asked)
    local done, err = one:wait(nil, { tokens = 101 })
    assert.is_nil(done)
    assert.are.same({ "limit", false }, { err.kind, err.retryable })
    assert.is_truthy(err.message:find("101", 1, true))
    assert.are.equal("cost", raised(one.wait, one, nil, { tokens = "x" }).field)
    assert.are.equal(0, #slept)
    local two = limiter { key = "two", cost = 2 }
    assert(two:wait())
    assert(two:wait())
    assert.are.same({ 4 }, slept)
  end)

  it("names a cost that no bucket holds", function()
    local err = raised.as("ArgumentError", limiter, { cost = 2.5 })
    assert.are.same({ "cost", "number, the capacity (2) or less" }, { err.field, err.expected })
    assert.is_truthy(tostring(err):find("got 2.5", 1, true))
  end)

  it("settles what a request did cost", function()
    local one = limiter { capacity = 10, per = 1, cost = 5 }
    assert(one:wait())
    assert.is_true(one:settle(nil, 10)) -- fifteen: five more than there were
    assert(one:wait())
    assert.are.same({ 10 }, slept)
    assert.is_true(one:settle("anthropic", -5))
    assert(one:wait(0))
    for _, wrong in ipairs { 1e300, -1e300, 0 / 0, math.huge, "1" } do
      assert.are.equal("difference", raised(one.settle, one, nil, wrong).field)
    end
  end)

  it("blocks all who share the key for so long", function()
    local one, two = limiter(), limiter()
    assert.is_true(one:block(nil, 30))
    assert(two:wait())
    assert.are.same({ 30 }, slept)
    assert.is_true(one:block("else", 30))
    assert(two:wait(0))
    for _, wrong in ipairs { -1, 1e10 } do
      assert.are.equal("seconds", raised(one.block, one, nil, wrong).field)
    end
    assert.are.equal("per", raised(limiter, { per = 1e-300 }).field)
    assert.are.equal("capacity", raised(limiter, { capacity = 1e300 }).field)
  end)

  it("lets requests go while the store is away, and warns once a minute", function()
    local warnings = {}
    local one = limiter { store = broken "connect", on_warning = function(err)
      warnings[#warnings + 1] = err.message
    end }
    for _ = 1, 3 do assert.is_true(one:wait()) end
    assert.are.same({ "the engine is away" }, warnings)
    time = time + 59
    assert.is_nil((one:block(nil, 1)))
    assert.are.equal(1, #warnings)
    time = time + 2
    assert.is_true(one:wait())
    assert.are.equal(2, #warnings)
    assert.is_true(limiter { store = broken "connect" }:wait())
    assert.is_nil((limiter { store = broken "cancelled" }:wait()))
  end)

  it("refuses them where it is told to", function()
    local done, err = limiter { store = broken "connect", on_error = "refuse" }:wait()
    assert.is_nil(done)
    assert.are.same({ "connect", "the engine is away" }, { err.kind, err.message })
  end)

  it("names bad fields", function()
    for field, bad in pairs { store = {}, key = "", capacity = 0, per = -1, cost = -1, on_error = "maybe",
      on_warning = 5 } do
      assert.are.equal(field, raised(limiter, { [field] = bad }).field)
    end
    assert.are.equal("cost", raised(limiter, { cost = 3 }).field)
    assert.are.equal("store", raised(koine.rate_limiter, { key = "k", capacity = 1, per = 1 }).field)
    local other = { store = koine.store.memory {}, key = "k", rate_limit = { requests = 5, period = 60 } }
    assert.are.equal("capacity and per", raised(koine.rate_limiter, other).expected)
    assert.are.equal("rate_limit_path", raised(limiter, { rate_limit_path = "/tmp/x" }).field)
    assert.are.equal("limiter", raised(limiter().wait, {}).field)
  end)
end)

describe("an adapter's rate limiter on a store", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local function claude(limiter, more)
    local options = { model = "claude-sonnet-4-5", base_url = server.url, key = "k", rate_limiter = limiter,
      retry = false }
    for name, value in pairs(more or {}) do options[name] = value end
    return koine.anthropic(options)
  end

  it("sees the request, and is told of a provider's retry-after", function()
    local store, seen = koine.store.memory {}, {}
    local function limiter()
      local function cost(request)
        seen[#seen + 1] = request
        return request.max_tokens or 1
      end
      return koine.rate_limiter { store = store, key = "anthropic", capacity = 100000, per = 1000, cost = cost }
    end
    assert(server:script { { content = "a" }, { error = { status = 429, headers = { ["retry-after"] = "30" } } } })
    local one, two = claude(limiter(), { max_tokens = 500 }), claude(limiter())
    assert(one:chat "Hi")
    assert.are.same({ "claude-sonnet-4-5", 500, "Hi" }, { seen[1].model, seen[1].max_tokens,
      seen[1].messages[1].content })
    local answer, err = one:chat "Hi"
    assert.is_nil(answer)
    assert.are.equal(30, err.retry_after)
    answer, err = two:chat("Hi", { timeout = 5 })
    assert.is_nil(answer)
    assert.are.same({ "timeout", "total" }, { err.kind, err.code })
    assert.is_truthy(err.message:find "may start in [23]")
    assert.are.equal(2, #assert(server:requests()))
  end)

  it("is held back for a day at most, whatever a provider asks for", function()
    local store = koine.store.memory {}
    local limiter = koine.rate_limiter { store = store, key = "anthropic", capacity = 10, per = 1 }
    for _, seconds in ipairs { "99999999999", "999999999" } do
      assert(server:script { { error = { status = 429, headers = { ["retry-after"] = seconds } } } })
      assert.is_true(limiter:block(nil, 0))
      local answer, err = claude(limiter, { retry = { max = 0 } }):chat("Hi", { timeout = 3 })
      assert.is_nil(answer)
      assert.are.equal("rate_limit", err.kind)
      local left = store:take("anthropic", 1, { capacity = 10, per = 1 })
      assert.is_true(left > 86390 and left <= 86400, left)
      store = koine.store.memory {}
      limiter = koine.rate_limiter { store = store, key = "anthropic", capacity = 10, per = 1 }
    end
  end)

  it("sees the texts of an embedding", function()
    local seen
    local limiter = koine.rate_limiter { store = koine.store.memory {}, key = "k", capacity = 100, per = 1,
      cost = function(request)
        seen = request.texts
        return 10
      end }
    local adapter = koine.openai { model = "text-embedding-3-small", base_url = server.url, key = "k",
      rate_limiter = limiter }
    assert(adapter:embed { "one", "two" })
    assert.are.same({ "one", "two" }, seen)
  end)
end)
