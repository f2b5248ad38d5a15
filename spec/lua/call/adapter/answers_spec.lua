-- Answers of an adapter, and their limits.

local adapter_kit = require "spec.lua.call.adapter.kit"
local core = require "koine.core"
local errors = require "koine.data.errors"
local koine = require "koine"

describe("an adapter", function()
  local kit = adapter_kit.new()
  local claude, gpt = kit.claude, kit.gpt
  local server

  setup(function() server = kit.start() end)
  teardown(kit.stop)
  before_each(function() kit.begin() end)
  after_each(kit.restore)

  describe("an answer", function()
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

    it("has the request's id from the header that the row names, after those that all have", function()
      local body = { id = "c", object = "chat.completion", model = "m", choices = core.array { { index = 0,
        finish_reason = "stop", message = { role = "assistant", content = "Hi." } } } }
      local failure = { error = { message = "no" } }
      local function ids(name, id_header, ...)
        local adapter = koine[name] { model = "m", key = "k", base_url = server.url, retry = false }
        local function reply(status, answer, ...)
          local headers = { [id_header] = "own" }
          for _, header in ipairs { ... } do headers[header] = "of all" end
          assert(server:script { { path = "/chat/completions", reply = { status = status, headers = headers,
            body = answer } }, { path = "/models", reply = { status = status, headers = headers, body = answer } } })
        end
        reply(200, body, ...)
        local found = { assert(adapter:chat "Hi").request_id or "none" }
        reply(500, failure, ...)
        for _, err in ipairs { select(2, adapter:chat "Hi"), (select(2, adapter:list_models())) } do
          found[#found + 1] = err.request_id or "none"
        end
        return found
      end
      for name, header in pairs { azure = "apim-request-id", copilot = "x-github-request-id" } do
        assert.are.same({ "own", "own", "own" }, ids(name, header))
        assert.are.same({ "of all", "of all", "of all" }, ids(name, header, "x-request-id"))
        assert.are.same({ "none", "none", "none" }, ids("groq", header))
      end
    end)

    it("is an error with the request's id, where only the body says it", function()
      local body = { type = "error", request_id = "req_in_body", error = { type = "api_error", message = "no" } }
      local started = { type = "message_start", message = { id = "m", type = "message", role = "assistant",
        model = "m", content = core.array {}, usage = { input_tokens = 5, output_tokens = 1 } } }
      local events = ("event: message_start\ndata: %s\n\nevent: error\ndata: %s\n\n"):format(core.encode(started),
        core.encode(body))
      for _, reply in ipairs { { status = 500, body = body },
        { status = 200, headers = { ["content-type"] = "text/event-stream" }, body = events } } do
        assert(server:script { { path = "/v1/messages", reply = reply } })
        local _, err = claude { retry = false }:chat("Hi", { stream = reply.status == 200, max_tokens = 100 })
        assert.are.same({ "server", "api_error", "req_in_body" }, { err.kind, err.code, err.request_id })
        if reply.status == 200 then assert.are.equal("req_in_body", err.partial.request_id) end
      end
      assert(server:script { { path = "/v1/messages", reply = { status = 500, body = body,
        headers = { ["request-id"] = "req_in_header" } } } })
      local _, err = claude { retry = false }:chat("Hi", { max_tokens = 100 })
      assert.are.equal("req_in_header", err.request_id)
      local answer = { status = 500, headers = {}, body = core.encode(body) }
      assert.are.equal("req_in_body", errors.from_answer("mine", answer, {}).request_id)
      body.request_id = "test-key-1"
      answer.body = core.encode(body)
      assert.are.equal("[redacted]", errors.from_answer("mine", answer, { "test-key-1" }).request_id)
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
      local name, most, answer, streaming = table.unpack(case)
      it(("of %s end a call with an error that says so (%s)"):format(name, streaming and "streamed" or "plain"),
        function()
          local tools = { { name = "add", description = "Adds.", parameters = { type = "object" } } }
          for _, adapter in ipairs { claude(), gpt() } do
            assert(server:script { answer })
            local response, err = adapter:chat("Hi", { limits = { [name] = most }, stream = streaming, tools = tools,
              max_tokens = 100 })
            assert.is_nil(response)
            assert.are.same({ "Error", "limit", false }, { err.class, err.kind, err.retryable }, tostring(err))
          end
        end)
    end
  end)
end)
