local core = require "koine.core"
local koine = require "koine"
local options = require "koine.call.options"
local raised = require "spec.support.raised"

-- The error that f raises.
local function settings(given, info)
  given.model = given.model or "m"
  return options.constructor(given, info or {})
end

local function refused(given, info) return raised(settings, given, info) end

describe("a constructor's options", function()
  it("have defaults", function()
    local s = settings {}
    assert.are.same({ connect = 30, first_byte = 600, idle = 300 }, s.timeout)
    assert.are.same({ max = 2, max_delay = 60, on_ambiguous = true }, s.retry)
    assert.is_nil(s.max_tokens)
    assert.is_nil(s.thinking)
  end)

  it("put tables over the defaults, name by name", function()
    local s = settings { timeout = { idle = 5, total = 9 }, retry = { max = 5 }, limits = { depth = 9 } }
    assert.are.same({ connect = 30, first_byte = 600, idle = 5, total = 9 }, s.timeout)
    assert.are.same({ max = 5, max_delay = 60, on_ambiguous = true }, s.retry)
    assert.are.same({ depth = 9 }, s.limits)
  end)

  it("take a number for the total timeout and false for no retries", function()
    local s = settings { timeout = 12.5, retry = false }
    assert.are.equal(12.5, s.timeout.total)
    assert.are.equal(300, s.timeout.idle)
    assert.are.equal(0, s.retry.max)
  end)

  it("reject bad values, naming the field and what was expected", function()
    local bad = {
      { { max_tokens = -1 }, "max_tokens", "integer, 0 or more" },
      { { max_tokens = 1.5 }, "max_tokens", "integer, 0 or more" },
      { { max_tokens = "5" }, "max_tokens", "integer, 0 or more" },
      { { temperature = -0.1 }, "temperature", "number from 0 to 2" },
      { { temperature = 0 / 0 }, "temperature", "number from 0 to 2" },
      { { top_p = 1.1 }, "top_p", "number from 0 to 1" },
      { { stop_sequences = "x" }, "stop_sequences", "array of strings" },
      { { stop_sequences = { "x", "" } }, "stop_sequences[2]", "string with more than white space" },
      { { stop_sequences = { x = "x" } }, "stop_sequences", "array of strings" },
      { { cache_retention = "forever" }, "cache_retention", '"none", "short" or "long"' },
      { { metadata = "me" }, "metadata", "table" },
      { { betas = 5 }, "betas", "string or array of strings" },
      { { betas = { "a", 5 } }, "betas[2]", "string with more than white space" },
      { { extra = true }, "extra", "table" },
      { { keep_raw = "yes" }, "keep_raw", "true or false" },
      { { on_retry = 5 }, "on_retry", "function" },
      { { timeout = 1e10 }, "timeout", "number of seconds, at most 1e9, 0 for no limit" },
      { { timeout = -1 }, "timeout", "number of seconds, at most 1e9, 0 for no limit" },
      { { timeout = "5" }, "timeout", "seconds in total, or a table of connect, first_byte, idle, total" },
      { { timeout = { idle = "5" } }, "timeout.idle", "number of seconds, at most 1e9, 0 for no limit" },
      { { retry = true }, "retry", "false, or a table of max, max_delay, on_ambiguous" },
      { { retry = { max = -1 } }, "retry.max", "integer, 0 or more" },
      { { retry = { on_ambiguous = 1 } }, "retry.on_ambiguous", "true or false" },
      { { limits = { depth = 0 } }, "limits.depth", "integer, 1 or more" },
      { { http2 = 1 }, "http2", "true or false" },
      { { proxy = 1 }, "proxy", "string" },
      { { ca_file = "" }, "ca_file", "path of a file" },
      { { quirks = "none" }, "quirks", "table" },
      { { base_url = "" }, "base_url", "http:// or https:// URL" },
      { { base_url = "api.example.com" }, "base_url", "http:// or https:// URL" },
      { { base_url = "https://a b" }, "base_url", "http:// or https:// URL" },
      { { base_url = "https:///x" }, "base_url", "http:// or https:// URL" },
      { { headers = { x = 5 } }, "headers.x", "string without control characters" },
      { { headers = { x = "a\r\nb: c" } }, "headers.x", "string without control characters" },
      { { headers = { x = "a\0" } }, "headers.x", "string without control characters" },
      { { headers = { ["a b"] = "c" } }, "headers", "header names made of letters, digits and dashes" },
      { { headers = { "c" } }, "headers", "header names made of letters, digits and dashes" },
      { { key = 5 }, "key", "string without control characters or white space around it" },
    }
    for _, case in ipairs(bad) do
      local err = refused(case[1])
      assert.are.equal("ArgumentError", err.class)
      assert.are.equal(case[2], err.field)
      assert.are.equal(case[3], err.expected, case[2])
    end
  end)

  it("refuse HTTP/2 where this libcurl cannot be trusted with it", function()
    if core.http2_problem then
      local err = refused { http2 = true }
      assert.are.equal("http2", err.field)
      assert(err.message:find(core.http2_problem, 1, true), err.message)
    else
      assert.is_true(settings({ http2 = true }).http2)
    end
    assert.is_false(settings({ http2 = false }).http2)
  end)

  it("reject unfit keys without showing them", function()
    for _, key in ipairs { "", "s3cret\n", "s3c\rret", "s3c\0ret", " s3cret", "s3cret\t", "s3c\127ret" } do
      local err = refused { key = key }
      assert.are.equal("key", err.field)
      assert.is_nil(tostring(err):find("s3c", 1, true))
    end
    assert.are.equal("s3c ret", settings({ key = "s3c ret" }).key)
  end)

  it("reject unknown names and suggest the nearest", function()
    local cases = { max_token = "max_tokens", Model = "model", api_key = "key", timeouts = "timeout",
      baseurl = "base_url",
      thinkin = "thinking" }
    for name, near in pairs(cases) do
      local err = refused { [name] = 5 }
      assert.are.equal(name, err.field)
      assert.are.equal(near, err.expected)
      assert.is_truthy(tostring(err):find(('%s: unknown option; did you mean "%s"?'):format(name, near), 1, true))
    end
    local err = refused { frobnicate = true }
    assert.is_truthy(tostring(err):find "frobnicate: unknown option$")
    err = refused { timeout = { idel = 5 } }
    assert.are.equal("timeout.idel", err.field)
    assert.are.equal("idle", err.expected)
    err = refused { retry = { maximum = 5 } }
    assert.are.equal("retry.maximum", err.field)
    err = refused { limits = { lines = 5 } }
    assert.are.equal("line", err.expected)
    assert.are.equal("1", refused({ "x" }).field)
  end)

  it("name always the same of several faults, unknown names first", function()
    local bad = { max_tokens = -1, temperature = 9, top_p = 9, model = 5, key = 5, timeout = "x", limits = 1 }
    assert.are.equal("key", refused(bad).field)
    bad.frobnicate, bad.tools = 1, {}
    assert.are.equal("frobnicate", refused(bad).field)
  end)

  it("do not look at the budget of thinking that is off", function()
    assert.is_false(settings({ thinking = { enabled = false, budget_tokens = "none" } }).thinking)
    assert.are.equal("thinking.budget", refused({ thinking = { enabled = false, budget = 1 } }).field)
  end)

  it("say so when an option belongs to the calls", function()
    local err = refused { tools = {} }
    assert.are.equal("tools", err.field)
    assert.is_truthy(tostring(err):find("this is an option of chat, stream, open and object", 1, true))
  end)

  it("trim one trailing slash of base_url and no more", function()
    assert.are.equal("http://h/v1", settings({ base_url = "http://h/v1/" }).base_url)
    assert.are.equal("http://h/v1/", settings({ base_url = "http://h/v1//" }).base_url)
    assert.are.equal("http://h", settings({ base_url = "http://h" }).base_url)
  end)

  it("keep header names in lower case", function()
    assert.are.same({ ["x-team"] = "A" }, settings({ headers = { ["X-Team"] = "A" } }).headers)
  end)

  it("take whole floats for integers and a string for one beta", function()
    local s = settings { max_tokens = 5.0, betas = "b" }
    assert.are.equal("integer", math.type(s.max_tokens))
    assert.are.same({ "b" }, s.betas)
  end)

  it("leave the caller's tables alone", function()
    local given = { model = "m", timeout = { idle = 5 }, headers = { A = "b" }, betas = "b", stop_sequences = { "x" } }
    settings(given)
    assert.are.same({ model = "m", timeout = { idle = 5 }, headers = { A = "b" }, betas = "b",
      stop_sequences = { "x" } },
      given)
  end)
end)

describe("thinking", function()
  it("is a word, a budget, or off", function()
    assert.are.equal("low", settings({ thinking = "low" }).thinking)
    assert.are.same({ budget_tokens = 2048 }, settings({ thinking = { budget_tokens = 2048 } }).thinking)
    local given = { enabled = true, budget_tokens = 2000 }
    assert.are.same({ budget_tokens = 2000 }, settings({ thinking = given }).thinking)
    assert.is_false(settings({ thinking = { enabled = false } }).thinking)
    assert.is_false(settings({ thinking = { budget_tokens = 0 } }).thinking)
    assert.is_false(settings({ thinking = false }).thinking)
  end)

  it("takes the words of the model's row, and only those", function()
    assert.are.equal("max", settings({ thinking = "max" }, { efforts = { "xhigh", "max" } }).thinking)
    local err = refused({ thinking = "max" }, { efforts = { "minimal" } })
    assert.are.equal("thinking", err.field)
    assert.are.equal('"low", "medium", "high", "minimal", {budget_tokens = n} or false', err.expected)
  end)

  it("is rejected when it is anything else", function()
    for _, value in ipairs { "huge", 5, true, "" } do
      assert.are.equal("thinking", refused({ thinking = value }).field)
    end
    assert.are.equal("thinking.budget_tokens", refused({ thinking = { budget_tokens = -1 } }).field)
    assert.are.equal("thinking.budget_tokens", refused({ thinking = { enabled = true } }).field)
    assert.are.equal("thinking.enabled", refused({ thinking = { enabled = 1, budget_tokens = 5 } }).field)
    assert.are.equal("thinking.budget", refused({ thinking = { budget = 5 } }).field)
  end)
end)

describe("a call's options", function()
  local base

  before_each(function()
    base = settings { max_tokens = 10, thinking = "low", timeout = { idle = 5 },
      headers = { a = "1", b = "2" }, key = "k" }
  end)

  it("win over the constructor's", function()
    local s = options.call({ max_tokens = 20, thinking = false, timeout = { connect = 1 }, headers = { B = "3" },
      retry = false }, base)
    assert.are.equal(20, s.max_tokens)
    assert.is_false(s.thinking)
    assert.are.same({ connect = 1, first_byte = 600, idle = 5 }, s.timeout)
    assert.are.same({ a = "1", b = "3" }, s.headers)
    assert.are.equal(0, s.retry.max)
    assert.are.equal(60, s.retry.max_delay)
    assert.are.equal("k", s.key)
    assert.are.equal(10, base.max_tokens)
    assert.are.same({ a = "1", b = "2" }, base.headers)
  end)

  it("may be absent", function()
    assert.are.equal(base, options.call(nil, base))
    assert.are.equal("low", options.call({}, base).thinking)
  end)

  it("accept everything the interface names", function()
    local s = options.call({ system = "s", tools = {}, stream = true, max_tokens = 5,
      thinking = { budget_tokens = 2000 },
      tool_choice = { type = "tool", name = "t" }, cache_retention = "short", metadata = { user_id = "u" },
      betas = { "a", "b" } }, base)
    assert.are.same({ type = "tool", name = "t" }, s.tool_choice)
    assert.are.same({ { type = "text", text = "x" } },
      options.call({ system = { { type = "text", text = "x" } } }, base).system)
  end)

  it("reject what is unknown, bad, or the constructor's", function()
    assert.are.equal("max_tokens", raised(options.call, { max_tokns = 5 }, base).expected)
    assert.are.equal("system", raised(options.call, { system = 5 }, base).field)
    assert.are.equal("tools", raised(options.call, { tools = "t" }, base).field)
    assert.are.equal("tool_choice", raised(options.call, { tool_choice = true }, base).field)
    assert.are.equal("on_delta", raised(options.call, { on_delta = "f" }, base).field)
    assert.are.equal("stream", raised(options.call, { stream = 1 }, base).field)
    assert.are.equal("options", raised(options.call, "x", base).field)
    local err = raised(options.call, { key = "k" }, base)
    assert.is_truthy(tostring(err):find("this is an option of the constructor", 1, true))
  end)
end)

describe("an option of a call", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)

  local ADD = { name = "add", description = "Adds.", parameters = { type = "object" } }
  local WITH_TOOL = { tools = { ADD } }

  -- Name, value, what the call has besides. A wire may lack an option that another one has.
  local OPTIONS = {
    { "system", "Be brief." }, { "system", { { type = "text", text = "Be brief." } } }, { "tools", { ADD } },
    { "max_tokens", 1711 }, { "thinking", "low" }, { "thinking", { budget_tokens = 2048 } }, { "temperature", 0.3 },
    { "seed", 7 }, { "top_k", 40 }, { "min_p", 0.05 }, { "logprobs", true }, { "logprobs", 20 },
    { "top_p", 0.8 }, { "stop_sequences", { "END" } }, { "cache_retention", "short" }, { "cache_retention", "long" },
    { "metadata", { user_id = "u" } }, { "metadata", { team = "red" } }, { "betas", "beta-1" },
    { "betas", { "beta-1", "beta-2" } }, { "tool_choice", "auto" }, { "tool_choice", "any", WITH_TOOL },
    { "tool_choice", "none", WITH_TOOL }, { "tool_choice", { type = "tool", name = "add" }, WITH_TOOL },
    { "extra", { model = "another" } }, { "extra", { messages = {} } },
  }

  local ADAPTERS = { { "anthropic", "claude-sonnet-4-5" }, { "anthropic", "claude-sonnet-4-6" },
    { "anthropic", "claude-opus-5" }, { "anthropic", "claude-3-haiku" }, { "openai", "gpt-4.1", { api = "chat" } },
    { "openai", "gpt-5", { api = "chat" } }, { "openai", "o3", { api = "chat" } },
    { "openai", "gpt-5.4", { api = "chat" } }, { "azure", "d" }, { "cerebras", "m" }, { "compatible", "m" },
    { "deepseek", "deepseek-v4-flash" }, { "deepseek", "deepseek-chat" }, { "fireworks", "m" }, { "groq", "m" },
    { "llamacpp", "m" }, { "lmstudio", "m" }, { "mistral", "m" }, { "moonshot", "m" }, { "ollama_compat", "m" },
    { "openrouter", "m" }, { "perplexity", "m" }, { "together", "m" }, { "vllm", "m" }, { "xai", "grok-4" } }

  -- The bytes and the betas that a call sends, and its warnings.
  local function sent(adapter, opts)
    assert(server:reset())
    assert(server:script { { content = "ok" } })
    local response = assert(adapter:chat("Hi", opts))
    local request = assert(server:requests())[1]
    return request.body .. (request.headers["anthropic-beta"] or ""), response.warnings
  end

  for _, row in ipairs(ADAPTERS) do
    it(("of %s %s is sent, or is named in one warning"):format(row[1], row[2]), function()
      local given = { model = row[2], base_url = server.url, key = "k" }
      for name, value in pairs(row[3] or {}) do given[name] = value end
      local adapter = koine[row[1]](given)
      for i, option in ipairs(OPTIONS) do
        local name, value, more = table.unpack(option)
        local with = { max_tokens = 8000, [name] = value }
        for other, given_too in pairs(more or {}) do with[other] = given_too end
        local plain = { max_tokens = 8000, tools = with.tools ~= value and with.tools or nil }
        local before, none = sent(adapter, plain)
        local after, warnings = sent(adapter, with)
        local at = ("option %d, %s"):format(i, name)
        assert.are.same({}, none, at)
        assert.is_true(#warnings <= 1, at)
        if warnings[1] then
          assert.are.equal(name, warnings[1].field:match "^[^.]+", at)
          assert.is_truthy(#warnings[1].code > 0 and #warnings[1].message > 0, at)
        else
          assert.are_not.equal(before, after, at)
        end
      end
    end)
  end

  it("that belongs to no wire warns of nothing", function()
    local adapter = koine.compatible { model = "m", base_url = server.url }
    local _, warnings = sent(adapter, { timeout = 30, limits = { depth = 64 }, retry = { max = 1 }, keep_raw = true,
      headers = { ["x-team"] = "red" }, extra = { seed = 1 }, stream = true, on_delta = function() end,
      on_retry = function() end })
    assert.are.same({}, warnings)
    local request = assert(server:requests())[1]
    assert.are.equal("red", request.headers["x-team"])
    assert.is_truthy(request.body:find('"seed":1', 1, true))
  end)

  it("extra: works on every wire, sorted, just before the messages, over nothing", function()
    for _, adapter in ipairs { koine.anthropic { model = "m", base_url = server.url, key = "k" },
      koine.openai { model = "m", api = "chat", base_url = server.url, key = "k" } } do
      local body = adapter:render { model = "m", stream = false, messages = { { role = "user", content = "Hi" } },
        extra = { zeta = { b = 1, a = 2 }, alpha = true } }
      assert.is_truthy(body:find(',"alpha":true,"zeta":{"a":2,"b":1},"messages":[', 1, true), body)
    end
  end)
end)

describe("options through the public module", function()
  it("are refused at the caller's line", function()
    local line = debug.getinfo(1, "l").currentline + 1
    local err = raised(function() koine.anthropic { model = "m", max_token = 5 } end)
    assert.is_truthy(tostring(err):find("options_spec.lua:" .. line .. ": max_token: unknown option", 1, true))
  end)

  it("include those of one row only there", function()
    assert.are.equal("name", raised(koine.anthropic, { model = "m", name = "x" }).field)
    assert.are.equal("api", raised(koine.anthropic, { model = "m", api = "chat" }).field)
    assert.are.equal("chat", raised(koine.openai, { model = "m", api = "chad" }).expected)
  end)
end)
