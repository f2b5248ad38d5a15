-- The rate limiter of an adapter: when it is asked, and what its failure does.

local core = require "koine.core"
local files = require "spec.support.files"
local koine = require "koine"
local raised = require "spec.support.raised"

local ROUNDING = 1e-6 -- seconds: of Unix times as floats

local read_file = files.read

local function state_in(path) return assert(core.decode(read_file(path))) end

describe("an adapter's rate limiter", function()
  local server, waits

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function()
    assert(server:reset())
    waits = 0
  end)

  local function claude(options)
    options.model, options.base_url, options.key = "claude-sonnet-4-5", server.url, options.key or "k"
    return koine.anthropic(options)
  end

  local function counting(result, err)
    return { wait = function()
      waits = waits + 1
      return result, err
    end }
  end

  it("is asked once per chat, stream and list, whatever the number of attempts", function()
    assert(server:script { { content = "a" }, { content = "b" }, { error = { status = 500 } }, { content = "c" } })
    local adapter = claude { rate_limiter = counting(true), retry = { max = 1, max_delay = 1 } }
    assert(adapter:chat "Hi")
    assert.are.equal(1, waits)
    for _ in adapter:stream "Hi" do end
    assert.are.equal(2, waits)
    assert.are.equal("c", assert(adapter:chat "Hi"):text())
    assert.are.equal(3, waits)
    assert(adapter:list_models())
    assert.are.equal(4, waits)
    assert(adapter:count_tokens "Hi")
    assert.are.equal(4, waits)
  end)

  it("is told what is left of the call's total", function()
    assert(server:script "echo")
    local told = {}
    local limiter = { wait = function(_, seconds)
      told[#told + 1] = seconds or "no limit"
      return true
    end }
    assert(claude { rate_limiter = limiter, timeout = 20 }:chat "Hi")
    assert(claude { rate_limiter = limiter }:chat "Hi")
    assert.is_true(told[1] > 10 and told[1] <= 20)
    assert.are.equal("no limit", told[2])
  end)

  it("that lets the call go when its total is over has it end there", function()
    local adapter = claude { timeout = 0.05, rate_limiter = { wait = function() return koine.sleep(0.1) end } }
    for _, call in ipairs { "chat", "list_models" } do
      local response, err = adapter[call](adapter, "Hi")
      assert.is_nil(response)
      assert.are.same({ "timeout", "total", "not finished within 0.05 s (total)" }, { err.kind, err.code, err.message })
    end
    assert.are.equal(0, #assert(server:requests()))
  end)

  it("ends the call at once where it may not go in time, and enters nothing", function()
    assert(server:script "echo")
    local path = os.tmpname()
    os.remove(path)
    local limiter = koine.rate_limiter { rate_limit_path = path, min_request_interval = 30 }
    local adapter = claude { timeout = 5, rate_limiter = limiter }
    assert(adapter:chat "Hi")
    local before = read_file(path)
    local response, err = adapter:chat "Hi"
    assert.is_nil(response)
    assert.are.same({ "timeout", "total", false }, { err.kind, err.code, err.retryable })
    assert.is_truthy(err.message:find
      "^rate limiter: the next request may start in %d+%.?%d* s, but the call has only %d%.?%d* s left")
    assert.are.equal(before, read_file(path))
    assert.are.equal(1, #assert(server:requests()))
    os.remove(path)
    assert.are.equal("most", raised(limiter.wait, limiter, "x").field)
  end)

  it("is asked after the credentials are there", function()
    local adapter = claude { rate_limiter = counting(true), key = function() return nil, "none" end }
    assert.is_nil((adapter:chat "Hi"))
    assert.are.equal(0, waits)
  end)

  it("that fails fails the call, before any traffic", function()
    local mine = koine.errors.new { kind = "other", message = "the disk is full" }
    for _, call in ipairs { "chat", "open", "list_models" } do
      local adapter = claude { rate_limiter = counting(nil, mine) }
      local result, err = adapter[call](adapter, "Hi")
      assert.is_nil(result)
      assert.are.equal(mine, err)
    end
    assert.are.equal(0, #assert(server:requests()))
  end)

  it("must have a method wait, and is of the constructor alone", function()
    for _, bad in ipairs { 5, "x", {}, { wait = 5 } } do
      assert.are.equal("rate_limiter", raised(claude, { rate_limiter = bad }).field)
    end
    local adapter = claude {}
    assert.are.equal("rate_limiter", raised(adapter.chat, adapter, "Hi", { rate_limiter = counting(true) }).field)
  end)

  it("may be Koine's own", function()
    local path = os.tmpname()
    assert(os.execute("chmod 600 " .. path))
    assert(server:script { { content = "a" }, { content = "b" } })
    local limiting = koine.rate_limiter { rate_limit_path = path, min_request_interval = 0.001 }
    local adapter = claude { rate_limiter = limiting }
    assert(adapter:chat "Hi")
    local first = state_in(path).last_request_at
    assert(adapter:chat "Hi")
    assert.is_true(state_in(path).last_request_at >= first + 0.001 - ROUNDING)
    os.remove(path)
  end)
end)
