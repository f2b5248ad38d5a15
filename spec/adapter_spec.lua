local core = require "koine.core"
local koine = require "koine"
local new = require("koine.adapter").new
local raised = require "spec.support.raised"
local retry = require "koine.retry"
local rows = require "koine.rows"
local wait = require "koine.wait"

-- More deltas than the bytes before the stall can hold.
local LONG_AND_STUCK = { content = ("word "):rep(100), chunk = 5, fault = { stall_after = 2000 } }

local function last(list) return list[#list] end

describe("an adapter", function()
  local server
  local getenv, park, random = os.getenv, wait.park, retry.random
  local environment, slept

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)

  -- No variable of this machine is seen; sleeps are written down instead of slept.
  before_each(function()
    assert(server:reset())
    environment, slept = {}, {}
    os.getenv = function(name) return environment[name] end -- luacheck: ignore
    retry.random = function() return 0 end
    wait.park = function(token, seconds)
      if type(token) ~= "table" then return park(token, seconds) end
      slept[#slept + 1] = seconds
      return false
    end
  end)

  after_each(function()
    os.getenv, wait.park, retry.random = getenv, park, random -- luacheck: ignore
  end)

  local function claude(options)
    options = options or {}
    options.model = options.model or "claude-sonnet-4-5"
    options.base_url = server.url
    if options.key == nil then options.key = "test-key-1" end
    return koine.anthropic(options)
  end

  local function gpt(options)
    options = options or {}
    options.model = options.model or "gpt-4o"
    options.api = options.api or "chat"
    options.base_url = server.url
    options.key = options.key or "test-key-2"
    return koine.openai(options)
  end

  local function requests() return assert(server:requests()) end
  local function body_of(request) return assert(core.decode(request.body)) end

  describe("chat", function()
    it("answers a string, on both wires", function()
      for _, adapter in ipairs { claude(), gpt() } do
        assert(server:script { { content = "Hello." } })
        local response = assert(adapter:chat("Hi", { max_tokens = 100 }))
        assert.are.equal("Hello.", response:text())
        assert.are.equal("end_turn", response.stop_reason)
        local request = last(requests())
        assert.are.same({}, request.problems)
        assert.are.equal("POST", request.method)
        local message = body_of(request).messages[1]
        assert.are.equal("user", message.role)
        assert.is_not_true(body_of(request).stream)
      end
    end)

    it("sends what the row and the key ask for", function()
      assert(server:script { { content = "a" }, { content = "b" } })
      assert(claude():chat "Hi")
      assert(gpt():chat "Hi")
      local list = requests()
      assert.are.equal("/v1/messages", list[1].path)
      assert.are.equal("test-key-1", list[1].headers["x-api-key"])
      assert.are.equal("2023-06-01", list[1].headers["anthropic-version"])
      assert.is_nil(list[1].headers.authorization)
      assert.are.equal("application/json", list[1].headers["content-type"])
      assert.are.equal("koine/" .. koine.version, list[1].headers["user-agent"])
      assert.are.equal("/chat/completions", list[2].path)
      assert.are.equal("Bearer test-key-2", list[2].headers.authorization)
    end)

    it("takes options per call over the constructor's over the row's", function()
      assert(server:script { { content = "a" }, { content = "b" }, { content = "c" } })
      assert(claude({ model = "claude-3-5-haiku-latest" }):chat "Hi")
      local adapter = claude { max_tokens = 100, temperature = 0.5 }
      assert(adapter:chat "Hi")
      assert(adapter:chat("Hi", { max_tokens = 200, system = "Be brief.", stop_sequences = { "X" } }))
      local list = requests()
      assert.are.equal(8192, body_of(list[1]).max_tokens)
      assert.are.equal(100, body_of(list[2]).max_tokens)
      assert.are.equal(0.5, body_of(list[2]).temperature)
      assert.are.equal(200, body_of(list[3]).max_tokens)
      assert.are.equal("Be brief.", body_of(list[3]).system)
      assert.are.same({ "X" }, body_of(list[3]).stop_sequences)
    end)

    it("keeps thinking off unless it is asked for, also where the model thinks by default", function()
      assert(server:script { { content = "a" }, { content = "b" }, { content = "c" }, { content = "d" } })
      assert(claude({ model = "claude-sonnet-5" }):chat "Hi")
      assert(claude({ model = "claude-sonnet-5", thinking = "max" }):chat "Hi")
      assert(claude({ model = "claude-sonnet-5", thinking = "max" }):chat("Hi", { thinking = false }))
      assert(claude({ model = "claude-sonnet-4-5", thinking = "low" }):chat("Hi", { thinking = false }))
      local list = requests()
      assert.are.same({ type = "disabled" }, body_of(list[1]).thinking)
      assert.are.same({ type = "adaptive" }, body_of(list[2]).thinking)
      assert.are.equal("max", body_of(list[2]).output_config.effort)
      assert.are.same({ type = "disabled" }, body_of(list[3]).thinking)
      assert.is_nil(body_of(list[4]).thinking)
    end)

    it("sends the model without its provider's prefix", function()
      assert(server:script { { content = "a" } })
      assert(claude({ model = "anthropic/claude-sonnet-4-5" }):chat "Hi")
      assert.are.equal("claude-sonnet-4-5", body_of(last(requests())).model)
    end)

    it("streams inside where a plain answer would be refused", function()
      assert(server:script { { content = "a" }, { content = "b" }, { content = "c" }, { content = "d" } })
      assert.are.equal("a", assert(claude():chat("Hi", { max_tokens = 21333 })):text())
      assert.are.equal("b", assert(claude():chat("Hi", { max_tokens = 21334 })):text())
      assert.are.equal("c", assert(claude():chat("Hi")):text()) -- 64,000 by the row
      local thinking = { budget_tokens = 20000 }
      assert.are.equal("d", assert(claude():chat("Hi", { max_tokens = 5000, thinking = thinking })):text())
      local list = requests()
      assert.is_not_true(body_of(list[1]).stream)
      for i = 2, 4 do assert.is_true(body_of(list[i]).stream) end
    end)

    it("hands deltas to on_delta, and only while it streams", function()
      assert(server:script { { content = "Hello, world." }, { content = "b" }, { content = "c" } })
      local text = {}
      local response = assert(claude():chat("Hi", { stream = true, on_delta = function(delta)
        if delta.type == "text_delta" then text[#text + 1] = delta.text end
      end }))
      assert.are.equal("Hello, world.", table.concat(text))
      assert.are.equal("Hello, world.", response:text())
      assert.is_true(#text > 1)
      assert.are.equal("b", assert(claude():chat("Hi", { stream = true })):text())
      local called = false
      assert(claude():chat("Hi", { max_tokens = 5, stream = false, on_delta = function() called = true end }))
      assert.is_false(called)
      local list = requests()
      assert.are.same({ true, true }, { body_of(list[1]).stream, body_of(list[2]).stream })
      assert.is_not_true(body_of(list[3]).stream)
    end)

    it("lets an error of on_delta through unchanged and ends the turn", function()
      assert(server:script { LONG_AND_STUCK, { content = "again" } })
      local adapter, mine = claude(), {}
      assert.are.equal(mine, raised(adapter.chat, adapter, "Hi", { on_delta = function() error(mine) end }))
      assert.are.equal("again", assert(adapter:chat "Hi"):text())
    end)

    it("raises for bad messages and options at the caller's line, before it looks for a key", function()
      local adapter = koine.anthropic { model = "m", base_url = server.url }
      local line = debug.getinfo(1, "l").currentline + 1
      local err = raised(function() adapter:chat("Hi", { max_tokns = 5 }) end)
      assert.is_truthy(tostring(err):find("adapter_spec.lua:" .. line .. ": max_tokns", 1, true))
      assert.are.equal("messages", raised(adapter.chat, adapter).field)
      assert.are.equal("messages", raised(adapter.chat, adapter, { role = "user", content = "Hi" }).field)
      assert.are.equal("ArgumentError", raised(adapter.chat, adapter, { { role = "system", content = "x" } }).class)
      assert.are.equal("ArgumentError", raised(adapter.chat, adapter, { { role = "user", content = { 5 } } }).class)
      assert.are.equal("ArgumentError", raised(adapter.chat, adapter, {}).class)
      assert.are.equal(0, #requests())
    end)

    it("goes on where the history is a round trip", function()
      local tool = { name = "add", description = "Adds.", parameters = { type = "object" }, run = print }
      for _, adapter in ipairs { claude(), gpt() } do
        assert(server:script { { content = { { type = "tool_use", name = "add", arguments = { a = 2 } } } },
          { content = "2" } })
        local history = { { role = "user", content = "Add." } }
        local response = assert(adapter:chat(history, { tools = { tool } }))
        assert.are.equal("tool_use", response.stop_reason)
        history[2] = response:message()
        history[3] = { role = "user", content = { { type = "tool_result", tool_use_id = response.tool_calls[1].id,
          content = "2" } } }
        assert.are.equal("2", assert(adapter:chat(history, { tools = { tool } })):text())
        assert.are.same({}, last(requests()).problems)
      end
    end)
  end)

  describe("credentials", function()
    it("come from the environment, at every attempt", function()
      assert(server:script { { content = "a" }, { content = "b" } })
      local adapter = koine.anthropic { model = "m", base_url = server.url }
      environment.ANTHROPIC_API_KEY = "env-key-1"
      assert(adapter:chat "Hi")
      environment.ANTHROPIC_API_KEY = "env-key-2"
      assert(adapter:chat "Hi")
      local list = requests()
      assert.are.equal("env-key-1", list[1].headers["x-api-key"])
      assert.are.equal("env-key-2", list[2].headers["x-api-key"])
    end)

    it("that are missing are an AuthenticationError that names the variable, before any traffic", function()
      local adapter = koine.anthropic { model = "m", base_url = server.url }
      assert.is_false(adapter:authenticated())
      for _, result in ipairs { table.pack(adapter:chat "Hi"), table.pack(adapter:open "Hi"),
        table.pack(adapter:authenticate()),
        table.pack(adapter:list_models()) } do
        assert.is_nil(result[1])
        assert.are.equal("AuthenticationError", result[2].class)
        assert.are.equal("anthropic", result[2].provider)
        assert.is_truthy(tostring(result[2]):find("ANTHROPIC_API_KEY", 1, true))
      end
      assert.are.equal("AuthenticationError", raised(adapter.stream, adapter, "Hi").class)
      assert.are.equal(0, #requests())
    end)

    it("of the environment that are unfit are an error that does not show them", function()
      local adapter = koine.anthropic { model = "m", base_url = server.url }
      environment.ANTHROPIC_API_KEY = "s3cret\n"
      local response, err = adapter:chat "Hi"
      assert.is_nil(response)
      assert.are.equal("AuthenticationError", err.class)
      assert.is_truthy(tostring(err):find("ANTHROPIC_API_KEY", 1, true))
      assert.is_nil(tostring(err):find("s3cret", 1, true))
      assert.are.equal(0, #requests())
    end)

    it("may come from a function, asked for every attempt", function()
      assert(server:script { { error = { status = 500 } }, { content = "a" } })
      local n = 0
      local adapter = claude { key = function()
        n = n + 1
        return "key-" .. n
      end }
      assert.is_true(adapter:authenticated())
      assert.are.equal(0, n)
      assert(adapter:chat "Hi")
      local list = requests()
      assert.are.same({ "key-1", "key-2" }, { list[1].headers["x-api-key"], list[2].headers["x-api-key"] })
    end)

    it("from a function may fail", function()
      local response, err = claude({ key = function() return nil, "the vault is shut" end }):chat "Hi"
      assert.is_nil(response)
      assert.are.equal("AuthenticationError", err.class)
      assert.is_truthy(tostring(err):find("the vault is shut", 1, true))
      local mine = koine.errors.new { kind = "connect", message = "no vault", retryable = false }
      response, err = claude({ key = function() return nil, mine end }):chat "Hi"
      assert.is_nil(response)
      assert.are.equal(mine, err)
      err = raised(function() return claude({ key = function() return "a\nb" end }):chat "Hi" end)
      assert.are.equal("key", err.field)
    end)

    it("are optional where the server is one's own", function()
      assert(server:script { { content = "a" }, { content = "b" } })
      assert(koine.llamacpp({ model = "m", base_url = server.url }):chat "Hi")
      assert(koine.llamacpp({ model = "m", base_url = server.url, key = "own-key" }):chat "Hi")
      local list = requests()
      assert.is_nil(list[1].headers.authorization)
      assert.are.equal("Bearer own-key", list[2].headers.authorization)
      assert.is_true(koine.llamacpp({ model = "m" }):authenticated())
    end)

    it("go out as each provider wants them", function()
      local expected = { azure = { "api-key", "k123" }, anthropic = { "x-api-key", "k123" } }
      for _, name in ipairs(rows.names) do
        assert(server:script { { content = "a" } })
        local adapter = koine[name] { model = "m", base_url = server.url .. "/base", key = "k123" }
        assert.are.equal("a", assert(adapter:chat "Hi"):text())
        local request, way = last(requests()), expected[name] or { "authorization", "Bearer k123" }
        assert.are.equal(way[2], request.headers[way[1]], name)
        assert.are.equal("/base" .. core.state(adapter).row.path, request.path)
      end
    end)

    it("never show in what a provider echoes", function()
      assert(server:script { { content = "a", fault = { echo_authorization = true } } })
      local adapter = claude { key = "sk-very-secret-1", retry = false }
      local response, err = adapter:chat "Hi"
      assert.is_nil(response)
      assert.are.equal("AuthenticationError", err.class)
      assert.is_nil(tostring(err):find("very-secret", 1, true))
      assert.is_nil((err.raw or ""):find("very-secret", 1, true))
      assert.is_nil(tostring(adapter):find("very-secret", 1, true))
    end)

    it("are checked and forgotten without network", function()
      local adapter = claude()
      assert.is_true(adapter:authenticate())
      assert.is_true(adapter:authenticated())
      assert.is_nil(adapter:logout())
      assert.is_nil(adapter:usage_report())
      assert.are.equal(0, #requests())
    end)
  end)

  describe("headers", function()
    it("of the caller win over the row's, whatever their case", function()
      assert(server:script { { content = "a" } })
      assert(claude({ headers = { ["X-Team"] = "red", ["User-Agent"] = "mine/1" } }):chat("Hi",
        { headers = { ["x-team"] = "blue", ["x-more"] = "1" } }))
      local headers = last(requests()).headers
      assert.are.equal("blue", headers["x-team"])
      assert.are.equal("1", headers["x-more"])
      assert.are.equal("mine/1", headers["user-agent"])
      assert.are.equal("test-key-1", headers["x-api-key"])
    end)

    it("that let the request in replace the key", function()
      assert(server:script { { content = "a" } })
      local adapter = koine.anthropic { model = "m", base_url = server.url,
        headers = { Authorization = "Bearer token-1" } }
      assert.is_true(adapter:authenticated())
      assert(adapter:chat "Hi")
      local headers = last(requests()).headers
      assert.are.equal("Bearer token-1", headers.authorization)
      assert.is_nil(headers["x-api-key"])
    end)

    it("of betas are joined with the caller's", function()
      assert(server:script { { content = "a" } })
      assert(claude({ headers = { ["anthropic-beta"] = "b-2,b-3" } }):chat("Hi", { betas = { "b-1", "b-2" } }))
      assert.are.equal("b-1,b-2,b-3", last(requests()).headers["anthropic-beta"])
    end)
  end)

  describe("retries", function()
    it("make a failed chat good and keep the ledger", function()
      assert(server:script { { error = { status = 500 } },
        { error = { status = 429, headers = { ["retry-after"] = "3" } } },
        { content = "Hello." } })
      local told = {}
      local response = assert(claude({ on_retry = function(entry) told[#told + 1] = entry.status_code end }):chat "Hi")
      assert.are.equal("Hello.", response:text())
      assert.are.same({ 0.5, 3 }, slept)
      assert.are.same({ 500, 429 }, told)
      assert.are.same({
        { status_code = 500, class = "ServerError", kind = "server", waited = 0.5 },
        { status_code = 429, class = "RateLimitError", kind = "rate_limit", waited = 3 },
        { status_code = 200, waited = 0 },
      }, response.attempts)
    end)

    it("end with the last error and its attempts", function()
      assert(server:script { { error = { status = 503 } }, { error = { status = 503 } }, { error = { status = 500 } } })
      local response, err = claude():chat "Hi"
      assert.is_nil(response)
      assert.are.equal(500, err.status_code)
      assert.are.equal(3, #err.attempts)
      assert.are.equal(3, #requests())
    end)

    it("are not made for what will not change, nor when switched off", function()
      assert(server:script { { error = { status = 400, message = "bad" } }, { error = { status = 500 } } })
      local response, err = claude():chat "Hi"
      assert.is_nil(response)
      assert.are.equal("RequestError", err.class)
      response, err = claude():chat("Hi", { retry = false })
      assert.is_nil(response)
      assert.are.equal("ServerError", err.class)
      assert.are.equal(1, #err.attempts)
      assert.are.same({}, slept)
    end)

    it("fail at once when the server asks for too long a wait", function()
      assert(server:script { { error = { status = 429, headers = { ["retry-after"] = "61" } } } })
      local response, err = claude():chat "Hi"
      assert.is_nil(response)
      assert.are.equal(61, err.retry_after)
      assert.are.same({}, slept)
    end)

    it("of a chat go on after deltas that nobody saw", function()
      assert(server:script { { content = "Hello there.", stream_error = { type = "overloaded_error", after = 3 } },
        { content = "Hello." } })
      local response = assert(claude():chat("Hi", { stream = true }))
      assert.are.equal("Hello.", response:text())
      assert.are.equal(2, #response.attempts)
      assert.are.equal(529, response.attempts[1].status_code)
    end)

    it("reach a server that cannot be reached only so often", function()
      local adapter = koine.vllm { model = "m", base_url = "http://127.0.0.1:1" }
      local response, err = adapter:chat "Hi"
      assert.is_nil(response)
      assert.are.equal("ConnectionError", err.class)
      assert.are.equal("connect", err.kind)
      assert.are.equal("vllm", err.provider)
      assert.is_nil(err.status_code)
      assert.are.equal(3, #err.attempts)
      assert.are.same({ 0.5, 1 }, slept)
    end)
  end)

  describe("with a login module", function()
    local prepared, rejections

    before_each(function()
      prepared, rejections = {}, 0
      package.loaded["koine.auth.toy"] = nil
      package.preload["koine.auth.toy"] = function()
        return {
          prepare = function(adapter, request)
            prepared[#prepared + 1] = { adapter = adapter, request = request }
            if prepared.failure then return nil, prepared.failure end
            return { base_url = server.url .. "/toy", headers = { Authorization = "Bearer token-" .. #prepared } }
          end,
          rejected = function(_, err)
            rejections = rejections + 1
            return err.status_code == 401
          end,
          authenticate = function() return true end,
          authenticated = function() return prepared.logged_in == true end,
          logout = function() prepared.logged_in = false end,
        }
      end
    end)

    after_each(function() package.preload["koine.auth.toy"], package.loaded["koine.auth.toy"] = nil, nil end)

    local ROW = { name = "toy", title = "Toy", codec = "chat", base_url = "http://127.0.0.1:1",
      path = "/chat/completions",
      auth = "toy" }

    it("lets it prepare every attempt", function()
      assert(server:script { { error = { status = 500 } }, { content = "a" } })
      local adapter = new(ROW, { model = "m" })
      assert.are.equal("a", assert(adapter:chat "Hi"):text())
      local list = requests()
      assert.are.equal("/toy/chat/completions", list[2].path)
      assert.are.same({ "Bearer token-1", "Bearer token-2" },
        { list[1].headers.authorization, list[2].headers.authorization })
      assert.are.equal(adapter, prepared[1].adapter)
      assert.are.equal("Hi", prepared[1].request.messages[1].content)
    end)

    it("sends a rejected request once more, also without retries", function()
      assert(server:script { { error = { status = 401 } }, { content = "a" } })
      local response = assert(new(ROW, { model = "m", retry = false }):chat "Hi")
      assert.are.equal("a", response:text())
      assert.are.equal(2, #response.attempts)
      assert.are.equal(401, response.attempts[1].status_code)
      assert.are.same({}, slept)
      assert(server:script { { error = { status = 401 } }, { error = { status = 401 } }, { content = "never" } })
      local _, err = new(ROW, { model = "m" }):chat "Hi"
      assert.are.equal("AuthenticationError", err.class)
      assert.are.equal(2, #err.attempts)
      assert.are.equal(2, rejections)
    end)

    it("reports and retries what prepare reports", function()
      prepared.failure = koine.errors.new { kind = "auth", message = "denied" }
      local response, err = new(ROW, { model = "m" }):chat "Hi"
      assert.is_nil(response)
      assert.are.equal(prepared.failure, err)
      assert.are.equal(1, #prepared)
      prepared.failure = koine.errors.new { kind = "connect", message = "no login server" }
      response, err = new(ROW, { model = "m" }):chat "Hi"
      assert.is_nil(response)
      assert.are.equal(prepared.failure, err)
      assert.are.equal(4, #prepared)
      assert.are.equal(0, #requests())
    end)

    it("leaves logging in and out to it", function()
      local adapter = new(ROW, { model = "m" })
      assert.is_false(adapter:authenticated())
      assert.is_true(adapter:authenticate())
      prepared.logged_in = true
      assert.is_true(adapter:authenticated())
      adapter:logout()
      assert.is_false(adapter:authenticated())
    end)
  end)

  describe("what comes back", function()
    it("is a Response with all that the wire said, plain and streamed, on both wires", function()
      for _, adapter in ipairs { claude(), gpt() } do
        for _, streaming in ipairs { false, true } do
          assert(server:script { { content = "One, two", id = "answer_1", model = "model-x", stop_reason = "max_tokens",
            usage = { input_tokens = 9, output_tokens = 4, cache_read_tokens = 3, reasoning_tokens = 1 },
            headers = { ["request-id"] = "req_1", ["x-request-id"] = "req_1", ["x-extra"] = "yes" } } })
          local r = assert(adapter:chat("Hi", { stream = streaming, max_tokens = 100, betas = "b", top_p = 0.9 }))
          local row = core.state(adapter).row
          assert.are.same({ { type = "text", text = "One, two" } }, r.content)
          assert.are.same({}, r.tool_calls)
          assert.are.same({ "model-x", "max_tokens", "answer_1" }, { r.model, r.stop_reason, r.id })
          assert.are.equal(row.codec == "chat" and "length" or "max_tokens", r.raw_stop_reason)
          assert.is_nil(r.stop_sequence)
          assert.are.same({ 9, 4, 3, 1 }, { r.usage.input_tokens, r.usage.output_tokens, r.usage.cache_read_tokens,
            r.usage.reasoning_tokens })
          assert.are.same({ "req_1", row.name, 200 }, { r.request_id, r.provider, r.status_code })
          assert.are.equal("yes", r.headers["x-extra"])
          assert.are.equal(row.codec == "chat" and 1 or 0, #r.warnings)
          assert.are.same({ { status_code = 200, waited = 0 } }, r.attempts)
          assert.is_nil(r.partial)
          assert.is_nil(r.degenerate)
          assert.are.equal("", r:thinking())
        end
      end
    end)

    it("says nothing of counts that the wire did not say", function()
      for _, adapter in ipairs { claude(), gpt() } do
        for _, streaming in ipairs { false, true } do
          assert(server:script { { content = "Hello.", usage = false } })
          assert.are.same({}, assert(adapter:chat("Hi", { stream = streaming, max_tokens = 100 })).usage)
        end
      end
    end)

    it("says when there is nothing in it, or nothing but thinking", function()
      assert(server:script { { content = "" }, { content = { { type = "thinking", thinking = "Hm." } } } })
      assert.is_true(assert(claude():chat "Hi").degenerate)
      assert.is_true(assert(claude():chat "Hi").degenerate)
    end)

    it("is an error with all that the wire said", function()
      for _, adapter in ipairs { claude(), gpt() } do
        assert(server:script { { error = { status = 429, type = "rate_limit_error", code = "rate_limit_error",
          message = "Slow down.", headers = { ["retry-after"] = "7", ["request-id"] = "req_2",
          ["x-request-id"] = "req_2" } } } })
        local response, err = adapter:chat("Hi", { retry = false })
        assert.is_nil(response)
        assert.are.same({ "RateLimitError", "rate_limit", 429, core.state(adapter).row.name, 7, true, "req_2",
          "rate_limit_error" }, { err.class, err.kind, err.status_code, err.provider, err.retry_after, err.retryable,
          err.request_id, err.code })
        assert.are.same({ { status_code = 429, class = "RateLimitError", kind = "rate_limit", waited = 0 } },
          err.attempts)
        assert.is_truthy(err.raw:find("Slow down.", 1, true))
        assert.is_nil(err.partial)
        assert.are.equal("Slow down.", tostring(err))
      end
    end)

    it("keeps the body of a plain answer, of a stream only with keep_raw", function()
      for _, adapter in ipairs { claude(), gpt() } do
        assert(server:script { { content = "Hello." }, { content = "Hello." }, { content = "Hello." } })
        assert.is_table(core.decode(assert(adapter:chat("Hi", { max_tokens = 100 })):raw()))
        assert.is_nil(assert(adapter:chat("Hi", { stream = true })):raw())
        local raw = assert(adapter:chat("Hi", { stream = true, keep_raw = true })):raw()
        assert.is_truthy(raw:find("data: ", 1, true))
      end
    end)
  end)

  describe("limits", function()
    local function calls(n, arguments)
      local content = {}
      for i = 1, n do content[i] = { type = "tool_use", name = "add", arguments = arguments or {} } end
      return { content = content }
    end

    local LONG = { content = ("x"):rep(5000), chunk = 5000 }
    local CASES = { -- name, value, what is too much, whether it comes as a stream
      { "line", 1000, LONG, true }, { "event", 1000, LONG, true }, { "body", 1000, LONG, false },
      { "decoded", 1000, { content = ("x"):rep(5000), fault = { gzip = true } }, false },
      { "depth", 1, LONG, false }, { "depth", 1, LONG, true }, { "blocks", 2, calls(3), false },
      { "tool_calls", 2, calls(3), true },
      { "argument_bytes", 20, calls(1, { a = ("x"):rep(100) }), true },
    }

    for _, case in ipairs(CASES) do
      local name, most, turn, streaming = table.unpack(case)
      it(("of %s end a call with an error that says so (%s)"):format(name, streaming and "streamed" or "plain"),
        function()
          local tools = { { name = "add", description = "Adds.", parameters = { type = "object" } } }
          for _, adapter in ipairs { claude(), gpt() } do
            assert(server:script { turn })
            local response, err = adapter:chat("Hi", { limits = { [name] = most }, stream = streaming, tools = tools,
              max_tokens = 100 })
            assert.is_nil(response)
            assert.are.same({ "Error", "limit", false }, { err.class, err.kind, err.retryable }, tostring(err))
          end
        end)
    end
  end)

  describe("text that is no UTF-8", function()
    -- A stray byte, a surrogate, an overlong form, a character cut short.
    local BAD = "a\xFFb\xED\xA0\x80c\xC0\xAFd\xF0\x9F\x98"

    local function nested() return { [BAD] = { BAD, { [BAD] = BAD } } } end

    local function call(id, fields)
      fields.type, fields.id, fields.name, fields.arguments = "tool_use", id, "add", fields.arguments or nested()
      return fields
    end

    local function result(id, content)
      return { type = "tool_result", tool_use_id = id, content = content, is_error = true }
    end

    it("goes out repaired, wherever it stands, keys too", function()
      local read = core.decode('{"x":"' .. BAD .. '"}')
      for _, adapter in ipairs { claude(), gpt(), koine.openrouter { model = "m" }, koine.mistral { model = "m" } } do
        local state = core.state(adapter)
        local function own(raw) return { provider = state.row.name, model = state.model, raw = raw } end
        local body = adapter:render { model = state.model, stream = false, system = BAD, stop_sequences = { BAD },
          metadata = { user_id = BAD }, extra = nested(),
          tools = { { name = "add", description = BAD, parameters = { type = "object", properties = nested() } } },
          messages = {
            { role = "user", content = { { type = "text", text = BAD } } },
            { role = "assistant", content = {
              { type = "thinking", thinking = BAD, signature = BAD, provider_data = own() },
              { type = "text", text = BAD, provider_data = own('{"citations":["' .. BAD .. '"]}') },
              { type = "refusal", text = BAD },
              { type = "opaque", kind = "x", provider_data = own('{"type":"x","y":"' .. BAD .. '"}') },
              call("a" .. BAD, {}), call("b", { arguments_json = '{"x":"' .. BAD .. '"}', arguments = read }),
              call("c", { arguments_json = '{"x' .. BAD, arguments_error = "cut" }) } },
            { role = "user", content = { result("a" .. BAD, BAD), result("b", { { type = "text", text = BAD } }),
              result("c", "x") } } } }
        assert.is_truthy(utf8.len(body), body)
        assert.is_truthy(body:find("a\u{FFFD}b", 1, true))
        assert.is_truthy(core.decode(body))
      end
    end)
  end)

  describe("addresses", function()
    it("keep a query behind the path", function()
      assert(server:script { { content = "a" } })
      local base_url = server.url .. "/openai/deployments/d?api-version=2024-06-01"
      assert(koine.azure({ model = "m", base_url = base_url, key = "k" }):chat "Hi")
      assert.are.equal("/openai/deployments/d/chat/completions?api-version=2024-06-01", last(requests()).target)
    end)
  end)

  describe("facts", function()
    it("come from the model's row, or from the caller's quirks", function()
      assert.are.equal(200000, claude():max_context_tokens())
      assert.is_nil(claude({ model = "unheard-of" }):max_context_tokens())
      local adapter = claude { model = "unheard-of", quirks = { context_window = 32768 } }
      assert.are.equal(32768, adapter:max_context_tokens())
    end)
  end)

  describe("closed", function()
    it("takes no more chats; streams that are open go on", function()
      assert(server:script { { content = "Hello." } })
      local adapter = claude()
      local stream = assert(adapter:open "Hi")
      adapter:close()
      adapter:close()
      assert.is_true(adapter:closed())
      assert.are.equal("Hello.", assert(stream:response()):text())
      for _, method in ipairs { "chat", "open", "stream", "count_tokens", "list_models" } do
        assert.are.equal("adapter", raised(adapter[method], adapter, "Hi").field)
      end
      assert.are.equal(1, #assert(server:requests()))
    end)

    it("makes no further attempt for a list", function()
      assert(server:script { { path = "/v1/models", error = { status = 529 } }, { path = "/v1/models", content = "" } })
      local adapter
      adapter = claude { on_retry = function() adapter:close() end }
      local models, err = adapter:list_models()
      assert.is_nil(models)
      assert.are.equal("cancelled", err.kind)
    end)

    it("happens at the end of its block", function()
      local kept
      do
        local adapter <close> = claude()
        kept = adapter
        assert.is_false(adapter:closed())
      end
      assert.is_true(kept:closed())
    end)
  end)
end)
