-- The Responses endpoint of koine.testing: its answers and errors.

local client = require "spec.support.raw_client"
local core = require "koine.core"
local responses_endpoint = require "spec.lua.testing.loopback.responses_endpoint"

local exchange, events, with, BEARER = client.exchange, client.events, client.with, client.BEARER
local null, ANSWER = core.null, responses_endpoint.ANSWER

describe("koine.testing: the Responses endpoint", function()
  local endpoint = responses_endpoint.new()
  local ask, answer, stream = endpoint.ask, endpoint.answer, endpoint.stream
  local server

  setup(function() server = endpoint.start() end)
  teardown(endpoint.stop)
  before_each(function() assert(server:reset()) end)

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

  describe("answers", function()
    it("the same streamed and plain", function()
      for _, fields in ipairs { {}, { chunk = 1 }, { chunk = 1000 }, { interleave = true, chunk = 2 } } do
        assert(server:script { with(ANSWER, fields), with(ANSWER, fields) })
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
      assert(server:script { ANSWER })
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
      assert(server:script { ANSWER })
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
      assert(server:script { with(ANSWER, { chunk = 2, interleave = true }) })
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
      assert(server:script { ANSWER, ANSWER })
      assert.is_nil(answer({ include = null }).output[1].encrypted_content)
      for _, event in ipairs(stream { include = null }) do
        assert.is_nil(event.item and event.item.encrypted_content)
      end
    end)

    it("with redacted thinking, refusals, annotations, opaque items and fields of the wire", function()
      local opaque = { type = "web_search_call", id = "ws_1", status = "completed" }
      local citation = { type = "url_citation", url = "https://example.com/" }
      local scripted = { content = { { type = "redacted_thinking", data = "AAAA" }, { type = "opaque", raw = opaque },
        { type = "text", text = "one", citations = { citation } }, { type = "refusal", text = "No more." },
        { type = "text", text = "two", raw = { phase = "final_answer" } } } }
      assert(server:script { scripted, scripted })
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
        local scripted = { content = "Once upon", stop_reason = word }
        assert(server:script { scripted, scripted })
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

    it("with rotating ids where an answer says so", function()
      assert(server:script { with(ANSWER, { rotate_ids = true }), with(ANSWER, { rotate_ids = true }) })
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
      assert.is_truthy(tostring(err):find("answers[1].stream_error.shape: flat or nested", 1, true))
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
end)
