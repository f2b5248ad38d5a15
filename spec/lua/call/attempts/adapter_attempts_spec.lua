-- The attempts of an adapter: retries, and a login module that prepares each.

local adapter_kit = require "spec.lua.call.adapter.kit"
local koine = require "koine"
local new = require("koine.call.adapter").new

local TOY = "koine.provider.auth.toy"

describe("an adapter", function()
  local kit = adapter_kit.new()
  local claude, requests = kit.claude, kit.requests
  local server, slept

  setup(function() server = kit.start() end)
  teardown(kit.stop)
  before_each(function() slept = select(2, kit.begin()) end)
  after_each(kit.restore)

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

    it("make a plain answer good that ended too early", function()
      for _, adapter in ipairs { claude(), kit.gpt() } do
        for _, ending in ipairs { "end_after", "truncate_after" } do
          assert(server:script { { content = "Hello.", fault = { [ending] = 60 } }, { content = "Hello." } })
          local r = assert(adapter:chat("Hi", { max_tokens = 100 }))
          assert.are.equal("Hello.", r:text())
          assert.are.same({ "ConnectionError", "stream_truncated" }, { r.attempts[1].class, r.attempts[1].kind })
        end
      end
    end)

    it("fail at once when the server asks for too long a wait", function()
      assert(server:script { { error = { status = 429, headers = { ["retry-after"] = "61" } } } })
      local response, err = claude():chat "Hi"
      assert.is_nil(response)
      assert.are.equal(61, err.retry_after)
      assert.are.same({}, slept)
    end)

    it("of a chat go on after deltas that were not delivered", function()
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

  it("cancels a call whose stream or adapter is closed while its key is asked for", function()
    local close
    local function adapter()
      return claude { key = function()
        if close then close() end
        return "test-key-1"
      end }
    end
    local again <const> = { { error = { status = 500 } }, { content = "Hello." } }
    local first, second, third = adapter(), adapter(), adapter()
    assert(server:script(again))
    local stream = assert(first:open "Hi.")
    close = function() stream:close() end
    local delta, err = stream:next()
    assert.are.same({ nil, "cancelled", "the stream was closed" }, { delta, err.kind, err.message })
    close = nil
    assert(server:script(again))
    stream = assert(second:open "Hi.")
    close = function() second:close() end
    delta, err = stream:next()
    assert.are.same({ nil, "cancelled", "the adapter was closed", 1 }, { delta, err.kind, err.message, #err.attempts })
    close = function() third:close() end
    for _, ask in ipairs { function() return third:chat "Hi." end, function() return third:list_models() end } do
      local answer
      answer, err = ask()
      assert.are.same({ nil, "cancelled", "the adapter was closed" }, { answer, err.kind, err.message })
      third = adapter()
    end
    assert.are.equal(2, #requests())
  end)

  describe("with a login module", function()
    local prepared, rejections

    before_each(function()
      prepared, rejections = {}, 0
      package.loaded[TOY] = nil
      package.preload[TOY] = function()
        return {
          prepare = function(adapter, request)
            prepared[#prepared + 1] = { adapter = adapter, request = request }
            if prepared.failure then return nil, prepared.failure end
            return { base_url = server.url .. "/api/v1", headers = { Authorization = "Bearer token-" .. #prepared } }
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

    after_each(function() package.preload[TOY], package.loaded[TOY] = nil, nil end)

    local ROW = { name = "toy", title = "Toy", codec = "chat", base_url = "http://127.0.0.1:1", list = "/models",
      auth = "toy" }

    it("lets it prepare every attempt", function()
      assert(server:script { { error = { status = 500 } }, { content = "a" } })
      local adapter = new(ROW, { model = "m" })
      assert.are.equal("a", assert(adapter:chat "Hi"):text())
      local list = requests()
      assert.are.equal("/api/v1/chat/completions", list[2].path)
      assert.are.same({ "Bearer token-1", "Bearer token-2" },
        { list[1].headers.authorization, list[2].headers.authorization })
      assert.are.equal(adapter, prepared[1].adapter)
      assert.are.equal("Hi", prepared[1].request.messages[1].content)
    end)

    describe("that signs", function()
      local seen, failure

      before_each(function()
        seen, failure = {}, nil
        require(TOY).sign = function(adapter, attempt)
          assert.are.equal("koine.adapter", getmetatable(adapter).__name)
          if failure then return nil, failure end
          seen[#seen + 1] = attempt
          return { Authorization = "Toy signature-" .. #seen, ["x-date"] = tostring(#seen) }
        end
      end)

      it("shows it what is sent, for every attempt", function()
        assert(server:script { { error = { status = 500 } }, { content = "a" }, { content = "b" } })
        local adapter = new(ROW, { model = "m", headers = { ["X-Mine"] = "1" } })
        assert.are.equal("a", assert(adapter:chat "Hi"):text())
        assert.are.equal("b", assert(adapter:chat("Ho", { stream = true })):text())
        for i, request in ipairs(requests()) do
          local attempt = seen[i]
          assert.are.same({ request.method, server.url .. request.target, request.body },
            { attempt.method, attempt.url, attempt.body })
          assert.are.same({ "Toy signature-" .. i, tostring(i) },
            { request.headers.authorization, request.headers["x-date"] })
          for name, value in pairs(request.headers) do
            local by_library = name == "host" or name == "content-length" or name == "accept-encoding"
            local signed = name == "authorization" or name == "x-date"
            assert.is_true(by_library or signed or attempt.headers[name] == value, name)
          end
          assert.are.equal("1", attempt.headers["x-mine"])
          assert.are.equal("Bearer token-" .. i, attempt.credentials.headers.Authorization)
        end
        assert.are.equal(3, #seen)
      end)

      it("signs lists too, which have no body", function()
        assert(new(ROW, { model = "m" }):list_models())
        assert.are.same({ "GET", server.url .. "/api/v1/models", "" }, { seen[1].method, seen[1].url, seen[1].body })
        assert.are.equal("Toy signature-1", requests()[1].headers.authorization)
      end)

      it("ends the call with its error", function()
        failure = require("koine.data.errors").new { kind = "auth", provider = "toy", message = "Toy: no key to sign" }
        local r, err = new(ROW, { model = "m" }):chat "Hi"
        assert.is_nil(r)
        assert.are.same({ "AuthenticationError", "Toy: no key to sign" }, { err.class, err.message })
        assert.are.equal(0, #requests())
      end)

      it("keeps its signature out of errors", function()
        assert(server:script { { error = { status = 400 }, fault = { echo_authorization = true } } })
        local _, err = new(ROW, { model = "m" }):chat "Hi"
        assert.is_truthy(err.message:find("[redacted]", 1, true), err.message)
        assert.is_nil((err.message .. tostring(err.raw)):find "signature%-1")
      end)
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
end)
