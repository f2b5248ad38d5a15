local client = require "spec.raw_client"
local core = require "koine.core"
local testing = require "koine.testing"

local exchange, events, with, BEARER = client.exchange, client.events, client.with, client.BEARER
local null = core.null

local ENCRYPTED = core.array { "reasoning.encrypted_content" }

describe("koine.testing: the Responses face", function()
  local server

  setup(function()
    server = assert(testing.start())
  end)

  teardown(function()
    server:stop()
  end)

  before_each(function()
    assert(server:reset())
  end)

  -- Asks with the fields put over a small request; null takes one away.
  local function ask(fields, headers)
    local body = { model = "m", input = "Hi", store = false, include = ENCRYPTED }
    for key, value in pairs(fields or {}) do
      if value == null then
        value = nil
      end
      body[key] = value
    end
    return exchange(server, "POST", "/v1/responses", headers or BEARER, core.encode(body))
  end

  local function answer(fields)
    local got = ask(fields)
    assert.are.equal(200, got.status, got.body)
    return core.decode(got.body)
  end

  local function stream(fields)
    return events(ask(with({ stream = true }, fields or {})).body)
  end

  -- The events as a ladder of names, repeated ones once.
  local function ladder(list)
    local names, last = {}, nil
    for _, event in ipairs(list) do
      if event.type ~= last then
        last = event.type
        names[#names + 1] = last:gsub("^response%.", "")
      end
    end
    return table.concat(names, " ")
  end

  local TURN = {
    content = {
      { type = "thinking", thinking = "Größe\n\nmatters.", signature = "secret-one" },
      { type = "text", text = "I shall add." },
      { type = "tool_use", id = "call_1", name = "add", arguments = { a = 2, b = 3 } },
      { type = "tool_use", id = "call_2", name = "now", arguments = {} },
    },
    usage = { input_tokens = 60, output_tokens = 20, cache_read_tokens = 40, reasoning_tokens = 5 },
    model = "m-2026", id = "answer_1",
  }

  describe("answers", function()
    it("the same streamed and plain", function()
      for _, fields in ipairs { {}, { chunk = 1 }, { chunk = 1000 }, { interleave = true, chunk = 2 } } do
        assert(server:script { with(TURN, fields), with(TURN, fields) })
        local plain = ask()
        local streamed = ask { stream = true }
        assert.are.equal("application/json", plain.headers["content-type"])
        assert.are.equal("text/event-stream; charset=utf-8", streamed.headers["content-type"])
        assert.is_truthy(plain.headers["x-request-id"]:find("^req_"))
        local list = events(streamed.body)
        local last = list[#list]
        assert.are.equal("response.completed", last.type)
        assert.are.same(core.decode(plain.body), last.response)
        assert.is_falsy(streamed.body:find("[DONE]", 1, true))
      end
    end)

    it("with the wire's own values", function()
      assert(server:script { TURN })
      local r = answer()
      assert.are.equal("response", r.object)
      assert.are.equal("answer_1", r.id)
      assert.are.equal("m-2026", r.model)
      assert.are.equal("completed", r.status)
      assert.are.equal(null, r.error)
      assert.are.equal(null, r.incomplete_details)
      assert.is_false(r.store)
      assert.are.same({ "reasoning", "message", "function_call", "function_call" },
        { r.output[1].type, r.output[2].type, r.output[3].type, r.output[4].type })
      local reasoning, message, call = r.output[1], r.output[2], r.output[3]
      assert.is_truthy(reasoning.id:find("^rs_"))
      assert.are.equal("secret-one", reasoning.encrypted_content)
      assert.are.same({ { type = "summary_text", text = "Größe" }, { type = "summary_text", text = "matters." } },
        reasoning.summary)
      assert.is_truthy(message.id:find("^msg_"))
      assert.are.equal("assistant", message.role)
      assert.are.equal("I shall add.", message.content[1].text)
      assert.are.equal("output_text", message.content[1].type)
      assert.is_truthy(call.id:find("^fc_"))
      assert.are.equal("call_1", call.call_id)
      assert.are.equal('{"a":2,"b":3}', call.arguments)
      assert.are.equal("completed", call.status)
      assert.are.same({ input_tokens = 100, input_tokens_details = { cached_tokens = 40 }, output_tokens = 20,
        output_tokens_details = { reasoning_tokens = 5 }, total_tokens = 120 }, r.usage)
    end)

    it("with a ladder of events as the real one", function()
      assert(server:script { TURN })
      local raw = ask { stream = true }.body
      for name, data in raw:gmatch("event: (%S+)\ndata: ([^\n]*)\n\n") do
        assert.are.equal(name, core.decode(data).type)
      end
      local list = events(raw)
      for i, event in ipairs(list) do
        assert.are.equal(i - 1, event.sequence_number)
      end
      assert.are.equal("in_progress", list[1].response.status)
      assert.are.equal(0, #list[1].response.output)
      assert.are.equal(null, list[1].response.usage)
      local part = "reasoning_summary_part.added reasoning_summary_text.delta reasoning_summary_text.done " ..
        "reasoning_summary_part.done "
      local call = "output_item.added function_call_arguments.delta function_call_arguments.done output_item.done "
      assert.are.equal("created in_progress output_item.added " .. part .. part .. "output_item.done " ..
        "output_item.added content_part.added output_text.delta output_text.done content_part.done output_item.done " ..
        call .. call .. "completed", ladder(list))
    end)

    it("with deltas that make up the done events", function()
      assert(server:script { with(TURN, { chunk = 2, interleave = true }) })
      local told, items, order = {}, {}, {}
      for _, event in ipairs(stream()) do
        local key = ("%s.%s"):format(event.output_index, event.summary_index or event.content_index or 0)
        if event.delta then
          told[key] = (told[key] or "") .. event.delta
          order[#order + 1] = event.type:find("arguments") and event.output_index or nil
        elseif event.type:find("_text%.done$") or event.type:find("arguments%.done$") then
          assert.are.equal(told[key], event.text or event.arguments)
        elseif event.type == "response.output_item.done" then
          items[event.output_index + 1] = event.item
        elseif event.type == "response.output_item.added" and event.item.type == "reasoning" then
          assert.are_not.equal("secret-one", event.item.encrypted_content)
        elseif event.type == "response.completed" then
          assert.are.same(event.response.output, items)
        end
      end
      assert.are.equal("2323", table.concat(order):sub(1, 3) .. "3")
      assert.are.equal("Größe", told["0.0"])
      assert.are.equal("matters.", told["0.1"])
    end)

    it("with encrypted contents only where they are included", function()
      assert(server:script { TURN, TURN })
      assert.is_nil(answer({ include = null }).output[1].encrypted_content)
      for _, event in ipairs(stream { include = null }) do
        assert.is_nil(event.item and event.item.encrypted_content)
      end
    end)

    it("with redacted thinking, refusals, annotations, opaque items and fields of the wire", function()
      local opaque = { type = "web_search_call", id = "ws_1", status = "completed" }
      local citation = { type = "url_citation", url = "https://example.com/" }
      local turn = { content = { { type = "redacted_thinking", data = "AAAA" }, { type = "opaque", raw = opaque },
        { type = "text", text = "one", citations = { citation } }, { type = "refusal", text = "No more." },
        { type = "text", text = "two", raw = { phase = "final_answer" } } } }
      assert(server:script { turn, turn })
      local r = answer()
      assert.are.same({ "AAAA", 0 }, { r.output[1].encrypted_content, #r.output[1].summary })
      assert.are.same(opaque, r.output[2])
      assert.are.same(citation, r.output[3].content[1].annotations[1])
      assert.are.same({ type = "refusal", refusal = "No more." }, r.output[3].content[2])
      assert.are.equal("final_answer", r.output[4].phase)
      assert.are.equal("completed", r.status)
      local list = stream()
      assert.are.same(r, list[#list].response)
      assert.is_truthy(ladder(list):find("output_text.annotation.added output_text.done content_part.done " ..
        "content_part.added refusal.delta refusal.done content_part.done output_item.done", 1, true))
    end)

    it("that are incomplete", function()
      for word, reason in pairs { max_tokens = "max_output_tokens", sensitive = "content_filter", odd = "odd" } do
        local turn = { content = "Once upon", stop_reason = word }
        assert(server:script { turn, turn })
        local r = answer()
        assert.are.equal("incomplete", r.status)
        assert.are.equal(reason, r.incomplete_details.reason)
        assert.are.equal("incomplete", r.output[1].status)
        assert.is_truthy(r.usage.total_tokens)
        local list = stream()
        assert.are.equal("response.incomplete", list[#list].type)
        assert.are.same(r, list[#list].response)
      end
    end)

    it("without usage, empty, and with arguments that are no JSON", function()
      assert(server:script { { content = {}, usage = false },
        { content = { { type = "tool_use", name = "f", arguments_json = '{"a": tru' } } } })
      local r = answer()
      assert.are.equal(null, r.usage)
      assert.are.equal(0, #r.output)
      assert.are.equal('{"a": tru', answer().output[1].arguments)
    end)

    it("with rotating ids where a turn says so", function()
      assert(server:script { with(TURN, { rotate_ids = true }), with(TURN, { rotate_ids = true }) })
      local seen, count = {}, 0
      for _, event in ipairs(stream()) do
        local ids = { event.item_id or event.item and event.item.id or event.response.id }
        for _, item in ipairs(event.response and event.response.output or {}) do
          ids[#ids + 1] = item.id
        end
        for _, id in ipairs(ids) do
          assert.is_nil(seen[id])
          assert.is_true(#id > 300)
          seen[id], count = true, count + 1
        end
      end
      assert.is_true(count > 20)
    end)

    it("echo, count and list models", function()
      assert(server:script "echo")
      assert.are.equal("You said: Hi", answer().output[1].content[1].text)
      local input = core.array { { role = "user", content = core.array { { type = "input_text", text = "Ho" } } } }
      assert.are.equal("You said: Ho", answer({ input = input }).output[1].content[1].text)
      local count = exchange(server, "POST", "/v1/responses/input_tokens", BEARER,
        core.encode { model = "m", input = "Hello" })
      assert.are.equal("integer", math.type(core.decode(count.body).input_tokens))
      assert.are.equal(400, exchange(server, "POST", "/v1/responses/input_tokens", BEARER,
        core.encode { model = "m", input = "Hello", max_output_tokens = 100 }).status)
      assert.are.equal(405, exchange(server, "GET", "/v1/responses", BEARER).status)
    end)
  end)

  describe("errors", function()
    it("have the wire's own shape", function()
      assert(server:script { { error = { status = 401 } }, { error = { status = 429, code = "insufficient_quota" } } })
      assert.are.equal("invalid_api_key", core.decode(ask().body).error.code)
      local got = ask()
      assert.are.equal(429, got.status)
      assert.are.equal("insufficient_quota", core.decode(got.body).error.code)
    end)

    it("inside a stream come as an event in either shape, then as the failed response", function()
      local function play(shape)
        local failure = { code = "rate_limit_exceeded", message = "too much", after = 2, shape = shape }
        assert(server:script { { content = "abcdef", chunk = 2, stream_error = failure } })
        local list, text = stream(), ""
        for _, event in ipairs(list) do
          text = text .. (event.delta or "")
        end
        assert.are.equal("abcd", text)
        local failed = list[#list]
        assert.are.equal("response.failed", failed.type)
        assert.are.equal("failed", failed.response.status)
        assert.are.same({ code = "rate_limit_exceeded", message = "too much" }, failed.response.error)
        return list[#list - 1]
      end
      local flat = play "flat"
      assert.are.same({ "error", "rate_limit_exceeded", "too much" }, { flat.type, flat.code, flat.message })
      assert.is_nil(flat.error)
      for _, shape in ipairs { "nested", false } do
        local nested = play(shape or nil)
        assert.are.same({ "rate_limit_exceeded", "too much" }, { nested.error.code, nested.error.message })
        assert.is_nil(nested.code)
      end
      assert(server:script { { content = "abc", stream_error = { code = "rate_limit_exceeded" } } })
      assert.are.equal(429, ask().status)
      local ok, err = pcall(server.script, server, { { content = "abc", stream_error = { shape = "round" } } })
      assert.is_false(ok)
      assert.is_truthy(tostring(err):find("turns[1].stream_error.shape: flat or nested", 1, true))
    end)

    it("come before the wire's end with faults and replays as on the other wires", function()
      assert(server:script { { content = "Hello.", fault = { truncate_after = 30 } } })
      local got = ask { stream = true }
      assert.are.equal(30, #got.body)
      assert.is_truthy(got.err)
      local path = os.tmpname()
      local file = assert(io.open(path, "wb"))
      file:write(core.encode { response = { status = 200, headers = {}, body = "data: {}\n\n" } })
      file:close()
      assert(server:script { { replay = path } })
      assert.are.equal("data: {}\n\n", ask({ stream = true }).body)
      os.remove(path)
    end)
  end)

  describe("strictness", function()
    local A = core.array

    local function easy(role, content)
      return { role = role, content = content }
    end

    local function part(kind, fields)
      return with({ type = kind }, fields)
    end

    local U = easy("user", "go")
    local CALL = { type = "function_call", call_id = "c1", name = "f", arguments = "{}" }
    local OUT = { type = "function_call_output", call_id = "c1", output = "ok" }
    local TOOL = { type = "function", name = "f", parameters = { type = "object" }, strict = false }
    local REASONING = { type = "reasoning", id = "rs_1", summary = A {}, encrypted_content = "x" }
    local PNG = "data:image/png;base64,iVBORw0KGgo="

    local function user(...)
      return easy("user", A { ... })
    end

    local function input(...)
      return { input = A { ... } }
    end

    -- Every entry: fields of the body, and a part of the problem expected (nil: the request is right).
    local CASES = {
      { {} },
      { { input = null }, "request.input: field required" },
      { { input = "" }, "input: an empty string" },
      { { input = A {} }, "input: an empty array" },
      { { input = 5 }, "input: an array expected" },
      { { model = null }, "request.model: field required" },
      { { messages = A { U } }, "request.messages: extra inputs" },
      { { max_tokens = 100 }, "request.max_tokens: extra inputs" },
      { { max_completion_tokens = 100 }, "request.max_completion_tokens: extra inputs" },
      { { stop = "x" }, "request.stop: extra inputs" },
      { { n = 1 }, "request.n: extra inputs" },
      { { seed = 1 }, "request.seed: extra inputs" },
      { { max_output_tokens = 15 }, "max_output_tokens: an integer of at least 16" },
      { { max_output_tokens = 16, temperature = 1, top_p = 0.5, parallel_tool_calls = null } },
      { { instructions = "Be brief." } },
      { { instructions = A { U } }, "instructions: a string expected" },
      { { instructions = "" }, "instructions: an empty string" },
      { { include = A { "reasoning" } }, "include.0: one of" },
      { { include = A {} }, "include: an empty array" },
      { { reasoning = { effort = "high", summary = "auto" } } },
      { { reasoning = { effort = "huge" } }, "reasoning.effort: one of" },
      { { reasoning_effort = "high" }, "request.reasoning_effort: extra inputs" },
      { { reasoning = { budget_tokens = 5 } }, "reasoning.budget_tokens: extra inputs" },
      { { text = { format = { type = "json_schema", name = "x", schema = { type = "object" } } } } },
      { { text = { format = { type = "json_schema" } } }, "text.format.name: a string expected" },
      { { metadata = { user_id = 5 } }, "metadata.user_id: a string expected" },
      { { stream_options = { include_obfuscation = false } }, "stream_options: only allowed when" },
      { { stream_options = { include_usage = true }, stream = true }, "stream_options.include_usage: extra inputs" },
      { { store = "no" }, "store: a boolean" },
      { { previous_response_id = "resp_unknown" }, "Previous response with id 'resp_unknown' not found" },
      -- tools
      { { tools = A { TOOL }, tool_choice = "required", parallel_tool_calls = false } },
      { { tools = A {} }, "tools: an empty array" },
      { { tools = A { with(TOOL, { strict = null }) } }, "tools.0.strict: null" },
      { { tools = A { { type = "function", name = "f" } } }, "tools.0.strict: field required" },
      { { tools = A { { type = "function", ["function"] = { name = "f" } } } }, "tools.0.function: extra inputs" },
      { { tools = A { with(TOOL, { name = "a b" }) } }, "tools.0.name: a name of the form" },
      { { tools = A { with(TOOL, { name = ("f"):rep(65) }) } }, "tools.0.name: at most 64" },
      { { tools = A { TOOL, TOOL } }, "tools.1.name: tool names must be unique" },
      { { tools = A { with(TOOL, { parameters = { type = "object", properties = A {} } }) } },
        "an object expected, not" },
      { { tools = A { with(TOOL, { strict = true }) } }, "'additionalProperties' is required" },
      { { tools = A { with(TOOL, { strict = true, parameters = { type = "object", additionalProperties = false,
        properties = { x = { type = "string" } }, required = A {} } }) } }, "every property has to be required" },
      { { tools = A { with(TOOL, { strict = true, parameters = { type = "object", additionalProperties = false,
        properties = { x = { type = "string" } }, required = A { "x" } } }) } } },
      { { tools = A { { type = "web_search" } }, tool_choice = { type = "web_search" } } },
      { { tool_choice = "auto" }, "tool_choice: only allowed when" },
      { { tools = A { TOOL }, tool_choice = "any" }, "tool_choice: one of" },
      { { tools = A { TOOL }, tool_choice = { type = "function", name = "f" } } },
      { { tools = A { TOOL }, tool_choice = { type = "function", name = "g" } }, "a tool of `tools` expected, got g" },
      { { tools = A { TOOL }, tool_choice = { type = "function", ["function"] = { name = "f" } } },
        "tool_choice.function: extra inputs" },
      -- messages
      { input(easy("system", "Be brief."), U, easy("assistant", "yes"), U) },
      { input(easy("developer", A { part("input_text", { text = "Be brief." }) }), U) },
      { input(U, easy("system", "Be brief.")), "input.1.role: system may only be the first" },
      { input(easy("tool", "x")), "input.0.role: user, system, developer or assistant" },
      { input(easy("user", "")), "input.0.content: an empty string" },
      { input(easy("user", A {})), "input.0.content: an empty array" },
      { input { role = "user" }, "input.0.content: field required" },
      { input { role = "user", content = "x", name = "y" }, "input.0.name: extra inputs" },
      { input(user(part("input_text", { text = "x" }), part("input_image", { image_url = PNG, detail = "auto" }),
        part("input_file", { filename = "a.pdf", file_data = "data:application/pdf;base64,AAAA" }))) },
      { input(user(part("text", { text = "x" }))), "input.0.content.0.type: one of input_text" },
      { input(user(part("output_text", { text = "x" }))), "input.0.content.0.type: one of input_text" },
      { input(user(part("input_image", { image_url = { url = PNG } }))), "image_url: a string expected" },
      { input(user(part("input_image", { image_url = "iVBORw0KGgo=" }))), "a data URL of the form" },
      { input(user(part("input_image", { image_url = "data:image/png;base64,iVB" }))), "base64 expected" },
      { input(user(part("input_image", { detail = "low" }))), "exactly one of image_url, file_id" },
      { input(user(part("input_file", { file_data = "AAAA", filename = "a.pdf" }))), "file_data: a data URL" },
      { input(user(part("input_file", { file_data = "data:a/b;base64,AAAA" }))), "filename: a string expected" },
      { input(user(part("input_file", { file_url = "https://example.com/a.pdf" }))) },
      { input(U, easy("assistant", A { part("input_text", { text = "x" }) }), U), "one of output_text, refusal" },
      { input(U, with(easy("assistant", A { part("output_text", { text = "x", annotations = A {}, logprobs = A {} }),
        part("refusal", { refusal = "no" }) }), { id = "msg_1", status = "completed", phase = "commentary",
        type = "message" }), U) },
      { input(U, with(easy("assistant", "x"), { id = "call_1" }), U), "Expected an ID that begins with 'msg'" },
      { input(with(U, { id = "msg_1" })), "input.0.id: extra inputs" },
      { input(U, with(easy("assistant", "x"), { id = "msg_1" }), with(easy("assistant", "y"), { id = "msg_1" }), U),
        "Duplicate item found with id msg_1" },
      -- calls
      { input(U, CALL, OUT) },
      { input(U, with(CALL, { id = "fc_1", status = "completed" }), easy("assistant", "well"), OUT, U) },
      { input(U, CALL, with(CALL, { call_id = "c2" }), with(OUT, { call_id = "c2" }), OUT) },
      { input(U, with(CALL, { id = "c1" }), OUT), "Expected an ID that begins with 'fc'" },
      { input(U, with(CALL, { call_id = ("c"):rep(65) }), with(OUT, { call_id = ("c"):rep(65) })), "at most 64" },
      { input(U, with(CALL, { arguments = "" }), OUT), "the text of a JSON object" },
      { input(U, with(CALL, { arguments = "[]" }), OUT), "the text of a JSON object" },
      { input(U, with(CALL, { arguments = {} }), OUT), "arguments: a string expected" },
      { input(U, with(CALL, { name = "a.b" }), OUT), "name: a name of the form" },
      { input(U, CALL, CALL, OUT), "duplicate call_id c1" },
      { input(U, CALL), "No tool output found for function call c1" },
      { input(U, CALL, U, OUT), "No tool output found for function call c1" },
      { input(U, OUT), "No tool call found for function call output with call_id c1" },
      { input(U, CALL, OUT, OUT), "No tool call found" },
      { input(U, CALL, with(OUT, { output = "" })) },
      { input(U, CALL, with(OUT, { output = A { part("input_text", { text = "x" }),
        part("input_image", { image_url = PNG }) } })) },
      { input(U, CALL, with(OUT, { output = A { part("output_text", { text = "x" }) } })), "output.0.type: one of" },
      { input(U, CALL, with(OUT, { output = A {} })), "output: an empty array" },
      { input(U, CALL, with(OUT, { is_error = true })), "is_error: extra inputs" },
      -- reasoning and others
      { input(U, REASONING, CALL, OUT) },
      { input(U, REASONING, easy("assistant", "x"), U) },
      { input(U, with(REASONING, { id = "msg_1" }), CALL, OUT), "Expected an ID that begins with 'rs'" },
      { input(U, with(REASONING, { summary = "x" }), CALL, OUT), "summary: an array expected" },
      { input(U, with(REASONING, { encrypted_content = null }), CALL, OUT), "Items are not persisted" },
      { with(input(U, with(REASONING, { encrypted_content = null }), CALL, OUT), { store = true }) },
      { input(U, REASONING, U), "without its required following item" },
      { input(U, REASONING), "without its required following item" },
      { input(U, CALL, REASONING, OUT), "without its required following item" },
      { input(U, { type = "web_search_call", id = "ws_1" }, easy("assistant", "x"), U) },
      { input(U, { type = "thinking" }), "Invalid value: 'thinking'" },
      { input(U, { type = "item_reference", id = "msg_1" }), "Items are not persisted" },
    }

    it("finds what is wrong and nothing else", function()
      for i, case in ipairs(CASES) do
        assert(server:reset())
        assert(server:script { { content = "ok" } })
        local got = ask(case[1])
        local name = ("case %d: %s"):format(i, got.body)
        if case[2] then
          assert.are.equal(400, got.status, name)
          assert.is_truthy(core.decode(got.body).error.message:find(case[2], 1, true), name)
        else
          assert.are.equal(200, got.status, name)
        end
      end
    end)

    it("knows what it issued", function()
      local turn = with(TURN, { rotate_ids = true })
      local function history(change)
        assert(server:reset())
        assert(server:script { turn, { content = "ok" } })
        local output
        for _, event in ipairs(stream { input = A { U } }) do
          output = event.response and event.response.output or output
        end
        local items = A { U, table.unpack(output) }
        items[6] = { type = "function_call_output", call_id = "call_1", output = "5" }
        items[7] = { type = "function_call_output", call_id = "call_2", output = "noon" }
        return change(items, items[2], items[3]) or { input = items }
      end
      for problem, change in pairs {
        [""] = function() end,
        ["this server never issued it"] = function(_, reasoning) reasoning.encrypted_content = "forged" end,
        ["issued for model m"] = function(items) return { input = items, model = "other" } end,
        ["item_id did not match"] = function(_, reasoning) reasoning.id = "rs_other" end,
        ["summary.1: reasoning items cannot be modified"] = function(_, reasoning) reasoning.summary[2] = nil end,
        ["without its required following item"] = function(items) table.remove(items, 3) end,
        ["without its required 'reasoning' item"] = function(items) table.remove(items, 2) end,
        ["belongs to an item of type message"] = function(items, _, message) items[4].id = message.id end,
        ["Expected an ID that begins with 'msg'"] = function(_, _, message) message.id = message.id:reverse() end,
      } do
        local fields = history(change)
        local got = ask(fields)
        assert.are.equal(problem == "" and 200 or 400, got.status, problem .. ": " .. got.body)
        assert.is_truthy(got.body:find(problem, 1, true), problem .. ": " .. got.body)
        if problem:find("issued") or problem:find("match") then
          assert.are.equal("invalid_encrypted_content", core.decode(got.body).error.code)
        end
      end
      local got = ask(history(function(items) -- what may be left out is no mistake
        items[2].id, items[3].id, items[4].id = nil, nil, nil
      end))
      assert.are.equal(200, got.status, got.body)
      got = ask(history(function(items) -- all of the reasoning, and the ids that hang on it
        items[3].id = nil
        table.remove(items, 2)
      end))
      assert.are.equal(200, got.status, got.body)
    end)

    it("goes on with a response that is stored, and with no other", function()
      local call = { id = "resp_a", content = { { type = "tool_use", id = "c1", name = "f", arguments = {} } } }
      assert(server:script { call, { content = "ok" }, call })
      local first = answer { store = true }
      local next_input = { input = A { OUT }, store = true, previous_response_id = first.id }
      assert.are.equal(200, ask(next_input).status)
      assert.is_truthy(ask(with(next_input, { input = "Hi" })).body:find("No tool output found", 1, true))
      assert(server:reset())
      assert(server:script { call })
      assert.are.equal(400, ask(with(next_input, { previous_response_id = answer().id })).status)
    end)

    it("wants a key in the wire's form, and JSON", function()
      assert.are.equal(401, ask({}, { ["content-type"] = "application/json", authorization = "x" }).status)
      assert.are.equal(400, ask({}, { ["content-type"] = "text/plain", authorization = "Bearer x" }).status)
    end)
  end)
end)
