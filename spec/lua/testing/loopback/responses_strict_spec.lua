-- The Responses endpoint of koine.testing: what it finds wrong in requests.

local client = require "spec.support.raw_client"
local core = require "koine.core"
local responses_endpoint = require "spec.lua.testing.loopback.responses_endpoint"

local with = client.with
local null, ANSWER = core.null, responses_endpoint.ANSWER

describe("koine.testing: the Responses endpoint", function()
  local endpoint = responses_endpoint.new()
  local ask, answer, stream = endpoint.ask, endpoint.answer, endpoint.stream
  local server

  setup(function() server = endpoint.start() end)
  teardown(endpoint.stop)
  before_each(function() assert(server:reset()) end)

  describe("strictness", function()
    local A = core.array

    local function easy(role, content)
      return { role = role, content = content }
    end

    -- An item of the assistant's as the strictest servers want it.
    local function said(words, fields)
      return with({ type = "message", id = "msg_1", status = "completed", role = "assistant",
        content = A { { type = "output_text", text = words, annotations = A {} } } }, fields or {})
    end

    local function lacking(name)
      local item = said "yes"
      item[name] = nil
      return item
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
      { { top_k = 1 }, "request.top_k: extra inputs" },
      { { logprobs = true }, "request.logprobs: extra inputs" },
      { { top_logprobs = 21 }, "top_logprobs: an integer" },
      { { top_logprobs = 20, include = { "message.output_text.logprobs" } } },
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
      { { text = { format = { type = "json_schema" } } }, "Missing required parameter: 'text.format.name'." },
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
        properties = { x = { type = "string" } }, required = A {} } }) } }, "Missing 'x'" },
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
      { input(easy("system", "Be brief."), U, said("yes"), U) },
      { input(U, lacking "type", U), "input.1: Cannot determine type of 'item'" },
      { input(U, easy("assistant", "yes"), U), "input.1: Cannot determine type of 'item'" },
      { input(U, lacking "id", U), "input.1.id: field required" },
      { input(U, lacking "status", U), "input.1.status: field required" },
      { input(U, said("yes", { content = "yes" }), U), "input.1.content: an array expected" },
      { input(U, said("yes", { content = A { part("output_text", { text = "yes" }) } }), U),
        "input.1.content.0.annotations: an array expected" },
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
      { input(U, said("x", { content = A { part("input_text", { text = "x" }) } }), U), "one of output_text, refusal" },
      { input(U, said("x", { content = A { part("output_text", { text = "x", annotations = A {}, logprobs = A {} }),
        part("refusal", { refusal = "no" }) }, phase = "commentary" }), U) },
      { input(U, said("x", { id = "call_1" }), U), "Expected an ID that begins with 'msg'" },
      { input(with(U, { id = "msg_1" })), "input.0.id: extra inputs" },
      { input(U, said "x", said "y", U), "Duplicate item found with id msg_1" },
      -- calls
      { input(U, CALL, OUT) },
      { input(U, with(CALL, { id = "fc_1", status = "completed" }), said "well", OUT, U) },
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
      { input(U, REASONING, said "x", U) },
      { input(U, with(REASONING, { id = "msg_1" }), CALL, OUT), "Expected an ID that begins with 'rs'" },
      { input(U, with(REASONING, { summary = "x" }), CALL, OUT), "summary: an array expected" },
      { input(U, with(REASONING, { encrypted_content = null }), CALL, OUT), "Items are not persisted" },
      { with(input(U, with(REASONING, { encrypted_content = null }), CALL, OUT), { store = true }) },
      { input(U, REASONING, U), "without its required following item" },
      { input(U, REASONING), "without its required following item" },
      { input(U, CALL, REASONING, OUT), "without its required following item" },
      { input(U, { type = "web_search_call", id = "ws_1" }, said "x", U) },
      { input(U, { type = "server_tool_use", id = "srvtoolu_1" }, said "x", U), "Invalid value: 'server_tool_use'" },
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
      local scripted = with(ANSWER, { rotate_ids = true })
      local function history(change)
        assert(server:reset())
        assert(server:script { scripted, { content = "ok" } })
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
        items[2].id, items[3].id, items[4].id = nil, "msg_other", nil
      end))
      assert.are.equal(200, got.status, got.body)
      got = ask(history(function(items) -- all of the reasoning, and the ids that hang on it
        items[3].id = "msg_other"
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
