local client = require "spec.support.raw_client"
local core = require "koine.core"
local testing = require "koine.testing"

local exchange, messages, completions, KEYS = client.exchange, client.messages, client.completions, client.KEYS

describe("koine.testing", function()
  local server

  setup(function() server = assert(testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local function last_request() return client.last_request(server) end

  describe("strictness", function()
    local A, U = "assistant", "user"
    local CALL = { type = "tool_use", id = "t1", name = "f", input = {} }
    local RESULT = { type = "tool_result", tool_use_id = "t1", content = "ok" }
    local TOOL = { name = "f", input_schema = { type = "object" } }
    local MARK = { type = "ephemeral" }

    local function m(role, content)
      return { role = role, content = content }
    end

    local function text(s, mark)
      return { type = "text", text = s, cache_control = mark }
    end

    -- Every entry: fields of the body, and a part of the problem expected (nil: the request is right).
    local ANTHROPIC = {
      { { max_tokens = core.null }, "request.max_tokens: field required" },
      { { messages = core.null }, "request.messages: field required" },
      { { seed = 1 }, "request.seed: extra inputs" },
      { { min_p = 0.5 }, "request.min_p: extra inputs" },
      { { logprobs = true }, "request.logprobs: extra inputs" },
      { { top_k = 1.5 }, "top_k: an integer" },
      { { messages = core.array {} }, "messages: an empty array" },
      { { messages = { m(A, "Hi") } }, "first message must use the user role" },
      { { messages = { m(U, "a"), m(U, "b") } }, "roles must alternate" },
      { { messages = { m("system", "a") } }, "messages.0.role" },
      { { messages = { m(U, "") } }, "messages.0.content: an empty string" },
      { { messages = { m(U, " \n") } }, "more than white space" },
      { { messages = { m(U, { text("") }) } }, "messages.0.content.0.text" },
      { { messages = { m(U, core.array {}) } }, "messages.0.content: an empty array" },
      { { messages = { m(U, { { type = "text", text = "a", id = 1 } }) } }, "messages.0.content.0.id: extra inputs" },
      { { messages = { m(U, { { type = "video" } }) } }, "unexpected block type" },
      { { messages = { m(U, { CALL }) } }, "tool_use is not permitted here" },
      { { messages = { m(U, "a"), m(A, { RESULT }) } }, "tool_result is not permitted here" },
      { { messages = { m(U, "a"), m(A, { CALL }) } }, "without `tool_result`" },
      { { messages = { m(U, "a"), m(A, { CALL }), m(U, { { type = "tool_result", tool_use_id = "t1", is_error = true,
        content = { { type = "image", source = { type = "url", url = "https://example.org/a.png" } } } } }) } },
        "all content must be type `text`" },
      { { messages = { m(U, "a"), m(A, { CALL }), m(U, "b") } }, "without `tool_result` blocks immediately after: t1" },
      { { messages = { m(U, "a"), m(A, { CALL }), m(U, { text("x"), RESULT }) } }, "must come before all other" },
      { { messages = { m(U, "a"), m(A, { CALL }), m(U, { RESULT, RESULT }) } }, "unexpected `tool_use_id` t1" },
      { { messages = { m(U, { RESULT }) } }, "unexpected `tool_use_id` t1" },
      { { messages = { m(U, "a"), m(A, { CALL, CALL }), m(U, { RESULT }) } }, "ids must be unique" },
      { { messages = { m(U, "a"), m(A, { { type = "tool_use", id = "a:b", name = "f", input = {} } }),
        m(U, { { type = "tool_result", tool_use_id = "a:b" } }) } }, "an id of the form" },
      { { messages = { m(U, "a"), m(A, { { type = "tool_use", id = "t1", name = "f", input = core.array {} } }),
        m(U, { RESULT }) } }, "input: an object expected" },
      { { messages = { m(U, "a"), m(A, "b ") } }, "trailing whitespace" },
      { { messages = { m(U, "a"),
        m(A, { { type = "thinking", thinking = "x", signature = "s", cache_control = MARK } }),
        m(U, "b") } }, "messages.1.content.0.cache_control: extra inputs" },
      { { messages = { m(U, "a"), m(A, { { type = "thinking", thinking = "x" } }), m(U, "b") } },
        "signature: a string" },
      { { messages = { m(U, { text("1", MARK), text("2", MARK), text("3", MARK),
        text("4", MARK), text("5", MARK) }) } },
        "a maximum of 4 blocks" },
      { { messages = { m(U, { text("1", MARK), text("2", { type = "ephemeral", ttl = "1h" }) }) } },
        "may not come after" },
      { { messages = { m(U, { { type = "image",
        source = { type = "base64", media_type = "image/bmp", data = "AAAA" } } }) } }, "media_type" },
      { { messages = { m(U, { { type = "image",
        source = { type = "base64", media_type = "image/png", data = "A" } } }) } }, "base64 expected" },
      { { system = "" }, "system: an empty string" },
      { { system = core.array {} }, "system: an empty array" },
      { { system = { { type = "image" } } }, "system.0.type" },
      { { tools = core.array {} }, "tools: an empty array" },
      { { tools = { TOOL, TOOL } }, "tool names must be unique" },
      { { tools = { { name = "a b", input_schema = { type = "object" } } } }, "tools.0.name" },
      { { tools = { { name = "f" } } }, "tools.0.input_schema" },
      { { tools = { { name = "f", parameters = {}, input_schema = { type = "object" } } } },
        "tools.0.parameters: extra" },
      { { tools = { { name = "f", input_schema = { type = "object", properties = core.array {} } } } },
        "properties: an object expected" },
      { { tools = { { name = "f", input_schema = { type = "object", required = {} } } } },
        "required: an array expected" },
      { { tool_choice = { type = "auto" } }, "while providing `tools`" },
      { { tools = { TOOL }, tool_choice = { type = "tool", name = "g" } }, "tool \"g\" not found" },
      { { tools = { TOOL }, tool_choice = { type = "any" }, max_tokens = 4096,
        thinking = { type = "enabled", budget_tokens = 2048 } },
        "thinking may not be enabled when tool_choice forces" },
      { { thinking = { type = "enabled", budget_tokens = 100 } }, "thinking.budget_tokens" },
      { { thinking = { type = "enabled", budget_tokens = 2048 } }, "must be greater than `thinking.budget_tokens`" },
      { { thinking = { type = "adaptive" }, temperature = 0.5 }, "may only be set to 1" },
      { { max_tokens = 4096, thinking = { type = "enabled", budget_tokens = 2048 },
        messages = { m(U, "a"), m(A, { CALL }), m(U, { RESULT }) } }, "Expected `thinking` or `redacted_thinking`" },
      { { max_tokens = 4096, thinking = { type = "enabled", budget_tokens = 2048 },
        messages = { m(U, "a"), m(A, "b") } }, "may not be prefilled" },
      { { temperature = 1.5 }, "temperature" },
      { { stop_sequences = { " " } }, "stop_sequences.0" },
      { { metadata = { user = "x" } }, "metadata.user: extra" },
      { { output_config = { effort = "huge" } }, "output_config.effort" },
      { { messages = { m(U, "a"), m(A, { text("b"), CALL }), m(U, { RESULT, text("c") }), m(A, "d"), m(U, "e") },
        tools = { TOOL }, tool_choice = { type = "tool", name = "f" }, system = { text("s", MARK) }, stream = false,
        stop_sequences = { "END" }, metadata = { user_id = "u" }, service_tier = "auto", top_p = 0.5 } },
    }

    it("of the Anthropic endpoint", function()
      for i, case in ipairs(ANTHROPIC) do
        assert(server:script { { content = "right" } })
        local answer = messages(server, case[1])
        if case[2] then
          assert.are.equal(400, answer.status, ("case %d: %s"):format(i, case[2]))
          local err = core.decode(answer.body).error
          assert.are.equal("invalid_request_error", err.type)
          assert.is_truthy(err.message:find(case[2], 1, true), ("case %d: %s"):format(i, err.message))
          assert.are.equal(err.message, table.concat(last_request().problems, "; "))
          assert.are.equal(200, messages(server).status, "a wrong request uses up no answer")
        else
          assert.are.equal(200, answer.status, answer.body)
        end
      end
    end)

    it("about the headers and the bytes", function()
      assert.are.equal(401, messages(server, {}, { ["anthropic-version"] = "2023-06-01",
        ["content-type"] = "application/json" }).status)
      local answer = messages(server, {}, { ["x-api-key"] = "k", ["content-type"] = "application/json" })
      assert.is_truthy(answer.body:find("anthropic%-version"))
      answer = messages(server, {}, { ["x-api-key"] = "k", ["anthropic-version"] = "2023-06-01" })
      assert.is_truthy(answer.body:find("content%-type"))
      for body, problem in pairs { ["{"] = "not valid JSON", ["[]"] = "an object expected",
        ["{\"model\":\"\xff\"}"] = "not valid UTF-8", ['{"model":"\\ud800x"}'] = "lone surrogate" } do
        answer = exchange(server, "POST", "/v1/messages", KEYS, body)
        assert.are.equal(400, answer.status)
        assert.is_truthy(answer.body:find(problem, 1, true), answer.body)
      end
      assert.are.equal(401, completions(server, {}, { authorization = "Bearer ",
        ["content-type"] = "application/json" }).status)
    end)

    it("about signatures and redacted data that this server issued", function()
      local content = { { type = "thinking", thinking = "Hmm.", signature = "s1" },
        { type = "redacted_thinking", data = "d1" }, text("x") }
      local function replay(fields)
        assert(server:script { { content = "fine" } })
        return messages(server, fields)
      end
      local foreign = { m(U, "a"), m(A, { { type = "thinking", thinking = "x", signature = "other" } }), m(U, "b") }
      assert.are.equal(200, replay({ messages = foreign }).status, "nothing issued yet: any signature goes")
      assert(server:script { { content = content } })
      assert.are.equal(200, messages(server).status)
      local history = { m(U, "a"), m(A, content), m(U, "b") }
      assert.are.equal(200, replay({ messages = history }).status)
      for problem, change in pairs {
        ["never issued it"] = function() content[1].signature = "s1x" end,
        ["cannot be modified"] = function() content[1].thinking = "Hmm" end,
        ["in `redacted_thinking` block"] = function() content[2].data = "d2" end,
      } do
        local kept = { content[1].signature, content[1].thinking, content[2].data }
        change()
        local answer = replay { messages = history }
        content[1].signature, content[1].thinking, content[2].data = table.unpack(kept)
        assert.are.equal(400, answer.status, problem)
        assert.is_truthy(answer.body:find(problem, 1, true), answer.body)
      end
      assert.is_truthy(replay({ messages = history, model = "m2" }).body:find("issued for model m", 1, true))
      assert.are.equal(400, replay({ messages = foreign }).status)
    end)

    local function call(id, arguments)
      return { id = id, type = "function", ["function"] = { name = "f", arguments = arguments or "{}" } }
    end

    local function calls(...)
      return { role = A, content = core.null, tool_calls = { ... } }
    end

    local function result(id, content)
      return { role = "tool", tool_call_id = id, content = content or "ok" }
    end

    local FUNCTION = { type = "function", ["function"] = { name = "f", parameters = { type = "object" } } }

    local CHAT = {
      { { model = core.null }, "request.model: field required" },
      { { system = "x" }, "request.system: extra inputs" },
      { { seed = 1.5 }, "seed: an integer" },
      { { seed = "1" }, "seed: an integer" },
      { { top_k = 0 }, "top_k: an integer of at least 1" },
      { { min_p = 1.5 }, "min_p: a number from 0 to 1" },
      { { logprobs = 21 }, "logprobs: an integer" },
      { { logprobs = "yes" }, "logprobs: a boolean" },
      { { logprobs = true, top_logprobs = 21 }, "top_logprobs: an integer" },
      { { top_logprobs = 2 }, "`logprobs` must be set to true" },
      { { logprobs = true, top_logprobs = 2, seed = -1, top_k = 40, min_p = 0.05 } },
      { { logprobs = 5, random_seed = 7 } },
      { { max_tokens = 0 }, "max_tokens" },
      { { max_tokens = 5, max_completion_tokens = 5 }, "not permitted beside" },
      { { messages = { m(U, "") } }, "messages.0.content: an empty string" },
      { { messages = { m(U, "a"), m("system", "b") } }, "may only be the first message" },
      { { messages = { m("function", "b") } }, "messages.0.role" },
      { { messages = { m(U, { { type = "text", text = "" } }) } }, "messages.0.content.0.text" },
      { { messages = { m(U, { { type = "image_url", image_url = { url = "data:image/png;base64,A" } } }) } },
        "base64" },
      { { messages = { m(U, { { type = "image_url", image_url = { url = "AAAA" } } }) } }, "http, https or data URL" },
      { { messages = { m(U, "a"), { role = A } } }, "content is required unless" },
      { { messages = { m(U, "a"), { role = A, content = "b", tool_calls = core.array {} } } },
        "tool_calls: an empty array" },
      { { messages = { m(U, "a"), { role = A, content = "b", thinking = "x" } } },
        "messages.1.thinking: extra inputs" },
      { { messages = { m(U, "a"), calls(call("c1")) } }, "without a tool message for c1" },
      { { messages = { m(U, "a"), calls(call("c1")), m(U, "b") } }, "c1 is missing" },
      { { messages = { m(U, "a"), calls(call("c1"), call("c2")), result("c2"), result("c1") } }, "c1 expected here" },
      { { messages = { m(U, "a"), calls(call("c1")), result("c1"), result("c1") } },
        "must be a response to a preceding" },
      { { messages = { m(U, "a"), calls(call("c1"), call("c1")), result("c1"), result("c1") } }, "duplicate id" },
      { { messages = { m(U, "a"), calls(call("")), result("") } }, "id: an empty string" },
      { { messages = { m(U, "a"), calls(call("c1", "[]")), result("c1") } }, "the text of a JSON object" },
      { { messages = { m(U, "a"), calls(call("c1", "{")), result("c1") } }, "the text of a JSON object" },
      { { messages = { m(U, "a"), calls(call("c1")), result("c1", { { type = "image_url", image_url = "x" } }) } },
        "unexpected part" },
      { { tools = core.array {} }, "tools: an empty array" },
      { { tools = { { name = "f" } } }, "tools.0.name: extra" },
      { { tools = { FUNCTION, FUNCTION } }, "unique" },
      { { tools = { { type = "function", ["function"] = { name = "f", parameters = {} } } } }, "parameters.type" },
      { { tools = { { type = "function", ["function"] = { name = "f", input_schema = {} } } } },
        "input_schema: extra" },
      { { tool_choice = "auto" }, "only allowed when `tools`" },
      { { parallel_tool_calls = false }, "only allowed when `tools`" },
      { { tools = { FUNCTION }, tool_choice = { type = "function", ["function"] = { name = "g" } } }, "tool_choice" },
      { { tools = { FUNCTION }, tool_choice = "always" }, "tool_choice" },
      { { stream_options = { include_usage = true } }, "only allowed when `stream`" },
      { { stop = { "1", "2", "3", "4", "5" } }, "at most 4" },
      { { reasoning_effort = "huge" }, "reasoning_effort" },
      { { metadata = { a = 1 } }, "metadata.a" },
      { { messages = { m("developer", "s"), m(U, "a"), calls(call("c1"), call("c2")), result("c1", ""), result("c2"),
        m(U, { { type = "image_url", image_url = { url = "data:image/png;base64,AAAA" } } }), m(A, "b"), m(U, "c") },
        tools = { FUNCTION }, tool_choice = "required", temperature = 2, stop = "END", max_completion_tokens = 5 } },
    }

    it("of the Chat endpoint", function()
      for i, case in ipairs(CHAT) do
        assert(server:script { { content = "right" } })
        local answer = completions(server, case[1])
        if case[2] then
          assert.are.equal(400, answer.status, ("case %d: %s"):format(i, case[2]))
          local err = core.decode(answer.body).error
          assert.are.equal("invalid_request_error", err.type)
          assert.is_truthy(err.message:find(case[2], 1, true), ("case %d: %s"):format(i, err.message))
        else
          assert.are.equal(200, answer.status, answer.body)
        end
      end
    end)

    it("about reasoning details that this server issued", function()
      local details = { { type = "reasoning.text", text = "Hmm.", signature = "s1", index = 0 } }
      assert(server:script { { content = { { type = "thinking", thinking = "Hmm.", signature = "s1" }, text("x") },
        reasoning_field = "reasoning_details" }, { content = "fine" }, { content = "fine" } })
      assert.are.equal(200, completions(server).status)
      local function replay()
        return completions(server, { messages = { m(U, "a"),
          { role = A, content = "x", reasoning_details = details }, m(U, "b") } }).status
      end
      assert.are.equal(200, replay())
      details[1].text = "Hm."
      assert.are.equal(400, replay())
    end)
  end)
end)
