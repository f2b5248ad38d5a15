local client = require "spec.support.raw_client"
local core = require "koine.core"
local testing = require "koine.testing"

local exchange, events, with, KEYS, BEARER = client.exchange, client.events, client.with, client.KEYS, client.BEARER
local messages, completions = client.messages, client.completions

describe("koine.testing: endpoints", function()
  local server

  setup(function() server = assert(testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local ANSWER = {
    content = {
      { type = "thinking", thinking = "Größe matters.", signature = "sig-1" },
      { type = "text", text = "I shall add." },
      { type = "tool_use", id = "call_1", name = "add", arguments = { a = 2, b = 3 } },
      { type = "tool_use", id = "call_2", name = "now", arguments = {} },
    },
    usage = { input_tokens = 60, output_tokens = 20, cache_read_tokens = 40, reasoning_tokens = 5 },
    model = "m-2026", id = "answer_1",
  }

  describe("the Anthropic endpoint", function()
    it("says the same streamed and plain", function()
      for _, fields in ipairs { {}, { chunk = 1 }, { chunk = 1000 }, { interleave = true, chunk = 2 } } do
        assert(server:script { with(ANSWER, fields), with(ANSWER, fields) })
        local plain = messages(server)
        local streamed = messages(server, { stream = true })
        assert.are.equal("application/json", plain.headers["content-type"])
        assert.are.equal("text/event-stream; charset=utf-8", streamed.headers["content-type"])
        assert.is_truthy(plain.headers["request-id"]:find("^req_"))
        assert.are.same(core.decode(plain.body), client.assemble_messages(streamed.body))
      end
    end)

    it("writes the wire's own values", function()
      assert(server:script { ANSWER })
      local m = core.decode(messages(server).body)
      assert.are.equal("answer_1", m.id)
      assert.are.equal("m-2026", m.model)
      assert.are.equal("tool_use", m.stop_reason)
      assert.are.equal(core.null, m.stop_sequence)
      assert.are.same({ type = "thinking", thinking = "Größe matters.", signature = "sig-1" }, m.content[1])
      assert.are.same({ type = "tool_use", id = "call_1", name = "add", input = { a = 2, b = 3 } }, m.content[3])
      assert.are.equal(60, m.usage.input_tokens)
      assert.are.equal(40, m.usage.cache_read_input_tokens)
      assert.are.equal(5, m.usage.output_tokens_details.thinking_tokens)
    end)

    it("frames its stream as the real one", function()
      assert(server:script { { content = "Hello, world" } })
      local body = messages(server, { stream = true }).body
      local names = {}
      for name, data in body:gmatch("event: (%S+)\ndata: ([^\n]*)\n\n") do
        names[#names + 1] = name
        assert.are.equal(name, core.decode(data).type)
      end
      assert.are.equal("message_start ping content_block_start content_block_delta content_block_delta " ..
        "content_block_stop message_delta message_stop", table.concat(names, " "))
    end)

    it("interleaves parallel calls when told to", function()
      assert(server:script { with(ANSWER, { interleave = true, chunk = 4, content = {
        { type = "tool_use", name = "a", arguments = { x = 123456 } },
        { type = "tool_use", name = "b", arguments = { x = 123456 } } } }) })
      local order = {}
      for _, event in ipairs(events(messages(server, { stream = true }).body)) do
        if event.type == "content_block_delta" and event.delta.partial_json ~= "" then
          order[#order + 1] = event.index
        end
      end
      assert.are.equal("010101", table.concat(order):sub(1, 6))
    end)

    it("has refusals, redacted thinking, opaque blocks, citations and foreign stop words", function()
      local opaque = { type = "server_tool_use", id = "srvtoolu_1", name = "web_search", input = { query = "x" } }
      local citation = { type = "char_location", cited_text = "x" }
      assert(server:script {
        { content = { { type = "refusal", text = "I will not." } } },
        { content = { { type = "redacted_thinking", data = "AAAA" }, { type = "opaque", raw = opaque },
          { type = "text", text = "x", citations = { citation } } }, stop_reason = "pause_turn" },
        { content = "x", stop_reason = "odd_word" },
        { content = {}, stop_reason = "context_overflow" },
        { content = "x", stop_reason = "stop_sequence", stop_sequence = "END" },
      })
      local m = core.decode(messages(server).body)
      assert.are.equal("refusal", m.stop_reason)
      assert.are.equal("I will not.", m.stop_details.explanation)
      assert.are.equal(0, #m.content)
      m = core.decode(messages(server).body)
      assert.are.same({ type = "redacted_thinking", data = "AAAA" }, m.content[1])
      assert.are.same(opaque, m.content[2])
      assert.are.same(citation, m.content[3].citations[1])
      assert.are.equal("pause_turn", m.stop_reason)
      assert.are.equal("odd_word", core.decode(messages(server).body).stop_reason)
      assert.are.equal("model_context_window_exceeded", core.decode(messages(server).body).stop_reason)
      assert.are.equal("END", core.decode(messages(server).body).stop_sequence)
    end)

    it("streams arguments that are no JSON, and says that a plain answer cannot", function()
      local answer = { content = { { type = "tool_use", name = "f", arguments_json = '{"a": tru' } } }
      assert(server:script { answer, answer })
      local json = ""
      for _, event in ipairs(events(messages(server, { stream = true }).body)) do
        json = json .. (event.delta and event.delta.partial_json or "")
      end
      assert.are.equal('{"a": tru', json)
      local reply = messages(server)
      assert.are.equal(500, reply.status)
      assert.is_truthy(reply.body:find("cannot carry", 1, true))
    end)

    it("makes up ids from the request alone", function()
      local answer = { content = { { type = "tool_use", name = "f", arguments = {} } } }
      assert(server:script { answer, answer })
      local first, second = messages(server), messages(server)
      assert.are.equal(first.body, second.body)
      assert.is_truthy(core.decode(first.body).content[1].id:find("^toolu_%x+$"))
    end)

    it("answers errors in its own shape, with the type of the status", function()
      assert(server:script {
        { error = { status = 429, headers = { ["retry-after"] = "2" } } },
        { error = { status = 529, message = "busy" } },
        { error = { status = 502, body = "<html>bad</html>", headers = { ["content-type"] = "text/html" } } },
        { error = { status = 200, type = "overloaded_error" } },
      })
      local answer = messages(server)
      assert.are.equal(429, answer.status)
      assert.are.equal("2", answer.headers["retry-after"])
      local body = core.decode(answer.body)
      assert.are.equal("error", body.type)
      assert.are.equal("rate_limit_error", body.error.type)
      assert.are.equal(answer.headers["request-id"], body.request_id)
      body = core.decode(messages(server).body)
      assert.are.equal("overloaded_error", body.error.type)
      assert.are.equal("busy", body.error.message)
      answer = messages(server)
      assert.are.equal("<html>bad</html>", answer.body)
      assert.are.equal("text/html", answer.headers["content-type"])
      answer = messages(server, { stream = true })
      assert.are.equal(200, answer.status)
      assert.are.equal("overloaded_error", core.decode(answer.body).error.type)
    end)

    it("breaks a stream off with an error, a plain answer gets the status", function()
      local answer = { content = "abcdef", chunk = 2, stream_error = { type = "overloaded_error", after = 2 } }
      assert(server:script { answer, answer })
      local list = events(messages(server, { stream = true }).body)
      local text = ""
      for _, event in ipairs(list) do
        text = text .. (event.delta and event.delta.text or "")
      end
      assert.are.equal("abcd", text)
      assert.are.equal("overloaded_error", list[#list].error.type)
      assert.are.equal(529, messages(server).status)
    end)

    it("pages its models and counts tokens", function()
      local ids, after, pages = {}, nil, 0
      repeat
        local path = "/v1/models?limit=10" .. (after and "&after_id=" .. after or "")
        local page = core.decode(exchange(server, "GET", path, KEYS).body)
        for _, model in ipairs(page.data) do
          ids[#ids + 1] = model.id
        end
        after, pages = page.last_id, pages + 1
      until not page.has_more
      assert.are.equal(25, #ids)
      assert.are.equal(3, pages)
      assert.are.equal(ids[7], core.decode(exchange(server, "GET", "/v1/models/" .. ids[7], KEYS).body).id)
      assert.are.equal(404, exchange(server, "GET", "/v1/models/none", KEYS).status)
      assert.are.equal(400, exchange(server, "GET", "/v1/models?limit=0", KEYS).status)
      assert.are.equal(401, exchange(server, "GET", "/v1/models", { ["anthropic-version"] = "2023-06-01" }).status)
      local body = core.encode { model = "m", messages = { { role = "user", content = "Hello" } } }
      local answer = exchange(server, "POST", "/v1/messages/count_tokens", KEYS, body)
      assert.are.equal("integer", math.type(core.decode(answer.body).input_tokens))
      body = core.encode { model = "m", max_tokens = 1, messages = { { role = "user", content = "Hello" } } }
      assert.are.equal(400, exchange(server, "POST", "/v1/messages/count_tokens", KEYS, body).status)
    end)
  end)

  describe("the Chat endpoint", function()
    it("says the same streamed and plain", function()
      local variants = { {}, { chunk = 1 }, { interleave = true, chunk = 2 }, { reasoning_field = "reasoning" } }
      for _, fields in ipairs(variants) do
        assert(server:script { with(ANSWER, fields), with(ANSWER, fields) })
        local plain = core.decode(completions(server).body)
        local streamed = completions(server, { stream = true, stream_options = { include_usage = true } })
        local message, finish, usage, done = client.assemble_completion(streamed.body)
        assert.is_true(done)
        assert.are.same(plain.choices[1].message, message)
        assert.are.equal(plain.choices[1].finish_reason, finish)
        assert.are.same(plain.usage, usage)
      end
    end)

    it("writes the wire's own values", function()
      assert(server:script { ANSWER })
      local answer = core.decode(completions(server).body)
      local message = answer.choices[1].message
      assert.are.equal("I shall add.", message.content)
      assert.are.equal("Größe matters.", message.reasoning_content)
      assert.are.equal('{"a":2,"b":3}', message.tool_calls[1]["function"].arguments)
      assert.are.equal("tool_calls", answer.choices[1].finish_reason)
      assert.are.equal(100, answer.usage.prompt_tokens)
      assert.are.equal(40, answer.usage.prompt_tokens_details.cached_tokens)
      assert.are.equal(5, answer.usage.completion_tokens_details.reasoning_tokens)
    end)

    it("sends usage only when asked", function()
      assert(server:script { ANSWER, with(ANSWER, { usage = false }) })
      local _, _, usage, done = client.assemble_completion(completions(server, { stream = true }).body)
      assert.is_nil(usage)
      assert.is_true(done)
      assert.is_nil(core.decode(completions(server).body).usage)
    end)

    it("has every reasoning field", function()
      local answers = {}
      for i, field in ipairs { "reasoning_text", "reasoning_details", "content" } do
        answers[2 * i - 1] = with(ANSWER, { reasoning_field = field })
        answers[2 * i] = answers[2 * i - 1]
      end
      assert(server:script(answers))
      local function both()
        return core.decode(completions(server).body).choices[1].message, completions(server, { stream = true }).body
      end
      local message, stream = both()
      assert.are.equal("Größe matters.", message.reasoning_text)
      assert.are.equal("sig-1", message.reasoning_opaque)
      assert.are.equal("sig-1", client.assemble_completion(stream).reasoning_opaque)
      message, stream = both()
      assert.are.equal("sig-1", message.reasoning_details[1].signature)
      assert.are.equal("Größe matters.", message.reasoning_details[1].text)
      assert.is_truthy(stream:find('"reasoning_details":[{"type":"reasoning.text","signature":"sig-1"', 1, true))
      message, stream = both()
      assert.are.equal("Größe matters.", message.content[1].thinking[1].text)
      assert.are.equal("I shall add.", message.content[2].text)
      assert.is_truthy(stream:find('"content":[{"type":"thinking","thinking":[{"type":"text"', 1, true))
    end)

    it("has refusals, cuts and filters", function()
      local refusal = { content = { { type = "refusal", text = "I will not." } } }
      assert(server:script { refusal, refusal, { content = "x", stop_reason = "max_tokens" },
        { content = "x", stop_reason = "sensitive" }, { content = "x", stop_reason = "eos" } })
      local choice = core.decode(completions(server).body).choices[1]
      assert.are.equal("I will not.", choice.message.refusal)
      assert.are.equal(core.null, choice.message.content)
      assert.are.equal("I will not.", client.assemble_completion(completions(server, { stream = true }).body).refusal)
      for _, word in ipairs { "length", "content_filter", "eos" } do
        assert.are.equal(word, core.decode(completions(server).body).choices[1].finish_reason)
      end
    end)

    it("says what it cannot carry", function()
      assert(server:script { { content = { { type = "redacted_thinking", data = "x" } } } })
      local answer = completions(server)
      assert.are.equal(500, answer.status)
      assert.is_truthy(answer.body:find("redacted_thinking", 1, true))
    end)

    it("answers errors in its own shape, and breaks streams off with them", function()
      assert(server:script {
        { error = { status = 401 } }, { error = { status = 429, type = "tokens", code = "insufficient_quota" } },
        { content = "abcd", chunk = 2, stream_error = { message = "upstream", after = 1 } },
      })
      local body = core.decode(completions(server).body)
      assert.are.equal("invalid_api_key", body.error.code)
      body = core.decode(completions(server).body)
      assert.are.equal("insufficient_quota", body.error.code)
      assert.are.equal("tokens", body.error.type)
      local stream = completions(server, { stream = true }).body
      local list = events(stream)
      assert.are.equal("upstream", list[#list].error.message)
      assert.is_falsy(stream:find("[DONE]", 1, true))
    end)

    it("lists its models", function()
      local list = core.decode(exchange(server, "GET", "/openai/v1/models", BEARER).body)
      assert.are.equal("list", list.object)
      assert.are.equal(25, #list.data)
      assert.are.equal("model", list.data[1].object)
    end)
  end)
end)
