-- koine.fallback: the next adapter where the first cannot, and the contract of adapters.

local core = require "koine.core"
local koine = require "koine"
local on_loopback = require "spec.lua.testing.contract.kit.on_loopback"
local raised = require "spec.support.raised"

describe("fallback", function()
  local one, two

  setup(function() one, two = assert(koine.testing.start()), assert(koine.testing.start()) end)
  teardown(function()
    one:stop()
    two:stop()
  end)

  local function pair(may)
    local options = { retry = { max = 0 }, key = "k" }
    local function with(extra)
      for name, value in pairs(options) do extra[name] = value end
      return extra
    end
    return koine.fallback {
      koine.anthropic(with { model = "claude-sonnet-4-5", base_url = one.url }),
      koine.openai(with { model = "gpt-4.1", base_url = two.url .. "/v1", api = "chat" }),
      may = may,
    }
  end

  before_each(function()
    assert(one:reset())
    assert(two:reset())
  end)

  local OVERLOADED = { error = { status = 529, type = "overloaded_error", message = "too much to do" } }

  it("leaves the second alone while the first answers", function()
    one:script { { content = "one" } }
    local r = assert(pair():chat "Hello?")
    assert.are.equal("one", r:text())
    assert.are.equal("anthropic", r.provider)
    assert.are.equal(1, #r.attempts)
    assert.are.equal(0, #assert(two:requests()))
  end)

  it("keeps the second's stream where the task that began it was cancelled", function()
    one:script { OVERLOADED }
    two:script { { content = "two", fault = { delay_ms = 200 } } }
    local r
    koine.run(function()
      local stream <close> = assert(pair():open "Hello?")
      local reader = koine.spawn(function() return stream:response() end)
      repeat koine.sleep(0.002) until #assert(two:requests()) == 1
      reader:cancel()
      r = assert(stream:response())
    end)
    assert.are.equal("two", r:text())
  end)

  it("asks the second what the first was asked, whatever was added since", function()
    one:script { OVERLOADED }
    two:script { { content = "two" } }
    local history = { { role = "user", content = "Hello?" } }
    local stream <close> = assert(pair():open(history))
    history[2] = { role = "user", content = "Are you there?" }
    assert.are.equal("two", assert(stream:response()):text())
    assert.are.same({ { role = "user", content = "Hello?" } }, core.decode(assert(two:requests())[1].body).messages)
  end)

  for _, streamed in ipairs { false, true } do
    local how = streamed and "streamed" or "plain"

    it("asks the second when the first cannot: " .. how, function()
      one:script { OVERLOADED }
      two:script { { content = "two" } }
      local r = assert(pair():chat("Hello?", { stream = streamed }))
      assert.are.equal("two", r:text())
      assert.are.equal("openai", r.provider)
      assert.are.same({ 529, 200 }, { r.attempts[1].status_code, r.attempts[2].status_code })
      assert.are.equal("overloaded", r.attempts[1].kind)
    end)

    it("gives the last error with every attempt when none can: " .. how, function()
      one:script { OVERLOADED }
      two:script { { error = { status = 500, message = "no" } } }
      local r, err = pair():chat("Hello?", { stream = streamed })
      assert.is_nil(r)
      assert.are.equal("openai", err.provider)
      assert.are.equal("server", err.kind)
      assert.are.same({ 529, 500 }, { err.attempts[1].status_code, err.attempts[2].status_code })
    end)

    it("asks the second where the first's model wrote a call wrongly: " .. how, function()
      one:script { { error = { status = 400,
        body = [[{"error":{"message":"Failed to call a function.","code":"tool_use_failed"}}]] } } }
      two:script { { content = "two" } }
      local r = assert(pair():chat("Hello?", { stream = streamed }))
      assert.are.equal("two", r:text())
      assert.are.equal("invalid_request", r.attempts[1].kind)
    end)

    it("does not repeat elsewhere what is wrong: " .. how, function()
      one:script { { error = { status = 400, message = "no such field" } } }
      two:script { { content = "two" } }
      local r, err = pair():chat("Hello?", { stream = streamed })
      assert.is_nil(r)
      assert.are.equal("invalid_request", err.kind)
      assert.are.equal(0, #assert(two:requests()))
    end)
  end

  describe("with a second that cannot take the request", function()
    local PICTURE = { { role = "user", content = { { type = "text", text = "What is this?" },
      { type = "image", source_type = "url", source = "https://example.org/cat.png" } } } }
    local BUSY = { error = { status = 503, message = "busy" } }

    local function gemini() return koine.gemini { model = "gemini-3-flash-preview", key = "k", retry = false,
      base_url = one.url .. "/v1beta" } end
    local function ollama() return koine.ollama { model = "m", base_url = two.url, retry = false } end
    local function claude() return koine.anthropic { model = "claude-sonnet-4-5", key = "k", base_url = two.url } end

    for _, method in ipairs { "chat", "open" } do
      it("gives the first's error and says who refused: " .. method, function()
        one:script { BUSY }
        local both = koine.fallback { gemini(), ollama() }
        local answer, err = both[method](both, PICTURE)
        if answer then answer, err = answer:response() end
        assert.is_nil(answer)
        assert.are.same({ "gemini", 503 }, { err.provider, err.status_code })
        assert.are.same({ 503, nil, "ServerError", "ArgumentError" }, { err.attempts[1].status_code,
          err.attempts[2].status_code, err.attempts[1].class, err.attempts[2].class })
        assert.is_truthy(err.attempts[2].message:find("^messages%[1%]%.content%[2%]"), err.attempts[2].message)
        assert.are.equal(2, #err.attempts)
        assert.are.equal(0, #assert(two:requests()))
      end)
    end

    it("passes it over for a third", function()
      one:script { BUSY }
      two:script { { content = "a cat" } }
      local r = assert(koine.fallback { gemini(), ollama(), claude() }:chat(PICTURE))
      assert.are.same({ "a cat", "anthropic" }, { r:text(), r.provider })
      assert.are.same({ "overloaded", "argument" }, { r.attempts[1].kind, r.attempts[2].kind })
      assert.are.equal(200, r.attempts[3].status_code)
    end)

    it("asks the first what the first alone takes", function()
      one:script { { content = "fine" }, BUSY }
      local both = koine.fallback { koine.fallback { gemini() }, ollama() }
      assert.are.equal("fine", assert(both:chat("Hi.", { thinking = "minimal" })):text())
      local _, err = both:chat("Hi.", { thinking = "minimal" })
      assert.are.equal(503, err.status_code)
      assert.is_truthy(err.attempts[2].message:find("^thinking: "), err.attempts[2].message)
    end)

    it("counts and lists without it", function()
      local down = koine.gemini { model = "gemini-3-flash-preview", key = "k", retry = false,
        base_url = "http://127.0.0.1:1" }
      local both = koine.fallback { down, koine.vertex { model = "gemini-2.5-flash", token = "t", project = "p",
        location = "global" } }
      local list, err = both:list_models()
      assert.is_nil(list)
      assert.are.equal("ConnectionError", err.class)
    end)

    it("raises what the first refuses, and what is no refusal", function()
      local both = koine.fallback { ollama(), gemini() }
      local err = raised(both.chat, both, PICTURE)
      assert.is_truthy(err.field:find("^messages%[1%]%.content%[2%]"), err.field)
      assert.are.equal("thinking", raised(both.chat, both, "Hi.", { thinking = "minimal" }).field)
      assert.are.equal(0, #assert(one:requests()))
      one:script { BUSY }
      local broken = koine.fallback { gemini(), koine.anthropic { model = "m", key = function() error("mine", 0) end } }
      local ok, mine = pcall(broken.chat, broken, "Hi.")
      assert.are.same({ false, "mine" }, { ok, mine })
    end)
  end)

  it("stays with the first once a delta was handed out", function()
    one:script { { content = "a long answer that breaks off", chunk = 2, fault = { reset_after = 1000 } } }
    two:script { { content = "two" } }
    local stream <close> = assert(pair():open "Hello?")
    local seen, delta, failure = 0, stream:next()
    while delta do
      seen = seen + 1
      delta, failure = stream:next()
    end
    assert.is_true(seen > 0)
    assert.are.equal("ConnectionError", failure.class)
    assert.are.equal(0, #assert(two:requests()))
  end)

  it("asks a rule of the user's own", function()
    one:script { { error = { status = 400, message = "no" } } }
    two:script { { content = "two" } }
    local shown
    local r = assert(pair(function(err)
      shown = err.kind
      return true
    end):chat "Hello?")
    assert.are.equal("invalid_request", shown)
    assert.are.equal("two", r:text())
  end)

  it("opens no other stream once it was closed", function()
    local gate, open = {}, 0
    local function slow(first)
      return koine.custom_adapter { name = "Slow", options = { model = "m" }, open = function()
        if not first then koine.park(gate, 1) end
        open = open + 1
        return {
          next = function() return nil, koine.errors.new { kind = "overloaded", message = "full" } end,
          response = function() return nil, koine.errors.new { kind = "overloaded", message = "full" } end,
          close = function() open = open - 1 end,
        }
      end }
    end
    local opened, err = assert(koine.fallback { slow(true), slow(false), slow(false) }:open "hi"), nil
    koine.run(function()
      local reader = koine.spawn(function() err = select(2, opened:next()) end)
      koine.sleep(0)
      opened:close()
      koine.wake(gate)
      reader:wait()
    end)
    assert.are.equal("CancelledError", err.class)
    assert.are.equal(0, open)
  end)

  it("names what is wrong with its table", function()
    local wrong = { adapters = {}, ["adapters[1]"] = { 1 }, may = { pair(), may = 1 }, b = { pair(), b = pair() } }
    for field, given in pairs(wrong) do
      local ok, err = pcall(koine.fallback, given)
      assert.is_false(ok)
      assert.are.equal(field, err.field)
    end
    local book = koine.testing.playbook {}
    local spare = { { adapters = { book, nil, book } }, { adapters = { [2] = book } },
      { adapters = { [0] = book, book } }, { ["adapters[1]"] = { {} } }, { ["adapters[2]"] = { book, {} } },
      { ["adapters[2]"] = { book, { chat = print } } } }
    for _, case in ipairs(spare) do
      local field, given = next(case)
      local ok, err = pcall(koine.fallback, given)
      assert.is_false(ok)
      assert.are.equal(field, err.field, tostring(err))
    end
    local ok, err = pcall(koine.fallback)
    assert.is_false(ok)
    assert.are.equal("adapters", err.field)
  end)
end)

-- The contract, where the first adapter answers and where it is the second.
local busted = { describe = describe, it = it, assert = assert, setup = setup, teardown = teardown }
local SUPPORTS = { signatures = true, blocks = true, sensitive = false }

on_loopback(busted, "koine.fallback, the first", function(options)
  return koine.fallback { koine.anthropic(options), koine.openai { model = "gpt-4.1", key = "k" } ,
    may = function() return false end }
end, { model = "claude-sonnet-4-5" }, SUPPORTS)

on_loopback(busted, "koine.fallback, the second", function(options)
  local down = koine.anthropic { model = "claude-sonnet-4-5", key = "k", base_url = "http://127.0.0.1:1",
    retry = { max = 0 } }
  return koine.fallback { down, koine.anthropic(options) }
end, { model = "claude-sonnet-4-5" }, SUPPORTS)
