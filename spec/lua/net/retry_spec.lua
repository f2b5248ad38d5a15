local errors = require "koine.data.errors"
local retry = require "koine.net.retry"
local wait = require "koine.task.wait"

describe("a ledger", function()
  local park, now, random
  local clock, slept

  before_each(function()
    park, now, random = wait.park, wait.now, retry.random
    clock, slept = 1000, {}
    wait.now = function() return clock end
    wait.park = function(_, seconds)
      slept[#slept + 1], clock = seconds, clock + seconds
      return false
    end
    retry.random = function() return 0 end
  end)

  after_each(function() wait.park, wait.now, retry.random = park, now, random end)

  local function policy(changes)
    local whole = { max = 2, max_delay = 60, on_ambiguous = true }
    for name, value in pairs(changes or {}) do whole[name] = value end
    return whole
  end

  local function failure(fields)
    fields.message = "m"
    return errors.new(fields)
  end

  it("allows so many retries, each after a longer wait", function()
    local ledger = retry.new(policy { max = 6 })
    for _ = 1, 6 do assert.is_true(ledger:again(failure { kind = "server", status_code = 500 })) end
    local last = failure { kind = "server", status_code = 500 }
    local again, err = ledger:again(last)
    assert.is_nil(again)
    assert.are.equal(last, err)
    assert.are.same({ 0.5, 1, 2, 4, 8, 8 }, slept)
    assert.are.equal(7, #err.attempts)
    assert.are.same({ status_code = 500, class = "ServerError", kind = "server", waited = 0.5 }, err.attempts[1])
    assert.are.same({ status_code = 500, class = "ServerError", kind = "server", waited = 0 }, err.attempts[7])
  end)

  it("takes up to a quarter off at random", function()
    retry.random = function() return 0.5 end
    assert.is_true(retry.new(policy()):again(failure { kind = "connect" }))
    assert.are.same({ 0.4375 }, slept)
  end)

  it("makes no retry of what is not retryable, or when there are none to make", function()
    local again = retry.new(policy()):again(failure { kind = "invalid_request", status_code = 400 })
    assert.is_nil(again)
    again = retry.new(policy { max = 0 }):again(failure { kind = "server", status_code = 500 })
    assert.is_nil(again)
    again = retry.new(policy()):again(failure { kind = "server", status_code = 500, retryable = false })
    assert.is_nil(again)
    assert.are.same({}, slept)
  end)

  it("waits as long as the server asks, and fails at once when that is too long", function()
    local ledger = retry.new(policy { max_delay = 10 })
    assert.is_true(ledger:again(failure { kind = "rate_limit", status_code = 429, retry_after = 10 }))
    local again, err = ledger:again(failure { kind = "rate_limit", status_code = 429, retry_after = 10.5 })
    assert.is_nil(again)
    assert.are.equal(10.5, err.retry_after)
    assert.are.same({ 10 }, slept)
    assert.are.equal(10, err.attempts[1].waited)
  end)

  it("tries again at once when the server says so", function()
    assert.is_true(retry.new(policy()):again(failure { kind = "rate_limit", status_code = 429, retry_after = 0 }))
    assert.are.same({}, slept)
  end)

  it("never sleeps past the call's total", function()
    local ledger = retry.new(policy(), 0.9)
    assert.is_true(ledger:again(failure { kind = "server", status_code = 500 }))
    assert.are.equal(0.4, math.floor(ledger:left() * 1000 + 0.5) / 1000)
    local again = ledger:again(failure { kind = "server", status_code = 500 })
    assert.is_nil(again)
    assert.are.same({ 0.5 }, slept)
    clock = clock + 100
    assert.are.equal(0.001, ledger:left())
    assert.is_nil(retry.new(policy()):left())
  end)

  it("with on_ambiguous = false repeats only what the provider cannot have worked on", function()
    local careful = policy { on_ambiguous = false }
    for _, err in ipairs {
      failure { kind = "stream_truncated" }, failure { kind = "timeout", code = "first_byte" },
        failure { kind = "connect" },
    } do
      assert.is_nil((retry.new(careful):again(err)))
      assert.is_true(retry.new(policy()):again(err))
    end
    assert.is_true(retry.new(careful):again(failure { kind = "connect", code = "connect" }))
    assert.is_true(retry.new(careful):again(failure { kind = "timeout", code = "connect" }))
    assert.is_true(retry.new(careful):again(failure { kind = "overloaded", status_code = 529 }))
  end)

  it("tells on_retry before every wait", function()
    local told = {}
    local ledger = retry.new(policy { max = 1 }, nil, function(entry)
      told[#told + 1] = { entry, #slept }
    end)
    assert.is_true(ledger:again(failure { kind = "overloaded", status_code = 503 }))
    assert.is_nil((ledger:again(failure { kind = "overloaded", status_code = 503 })))
    assert.are.equal(1, #told)
    assert.are.same({ status_code = 503, class = "ServerError", kind = "overloaded", waited = 0.5 }, told[1][1])
    assert.are.equal(0, told[1][2])
  end)

  it("reports a sleep that was interrupted", function()
    local interruption = failure { kind = "cancelled" }
    wait.park = function() return nil, interruption end
    local again, err = retry.new(policy()):again(failure { kind = "connect" })
    assert.is_nil(again)
    assert.are.equal(interruption, err)
    assert.are.equal("connect", err.attempts[1].kind)
  end)
end)

describe("a request on a kept connection that the provider closes without a word", function()
  local koine = require "koine"
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)

  -- A chat that succeeds, then one whose connection is reset: what comes of it, and the requests of both.
  local function second_chat(retries)
    assert(server:reset())
    assert(server:script { { content = "one" }, { content = "never", fault = { reset_after = 0 } },
      { content = "two" } })
    local adapter = koine.anthropic { model = "claude-sonnet-4-5", key = "k", base_url = server.url, retry = retries }
    assert(adapter:chat "first")
    local r, err = adapter:chat "second"
    return r, err, #assert(server:requests())
  end

  it("is sent once where nothing may be sent twice", function()
    for _, retries in ipairs { false, { on_ambiguous = false } } do
      local r, err, requests = second_chat(retries)
      assert.is_nil(r)
      assert.are.equal("ConnectionError", err.class)
      assert.are.equal(1, #err.attempts)
      assert.are.equal(2, requests)
    end
  end)

  it("is made again as another attempt, in the ledger", function()
    local r, _, requests = second_chat(nil)
    assert.are.equal("two", r:text())
    assert.are.equal(2, #r.attempts)
    assert.are.equal(3, requests)
  end)
end)
