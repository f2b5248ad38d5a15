-- koine.llamacpp: three wires to one server, whose answers here are what llama.cpp's server sends.

local core = require "koine.core"
local koine = require "koine"
local raised = require "spec.support.raised"
local raw_server = require "spec.support.raw_server"

local PATHS = { chat = "/v1/chat/completions", responses = "/v1/responses", anthropic = "/v1/messages" }
local USAGE = { chat = { prompt_tokens = 5, completion_tokens = 20, total_tokens = 25 },
  responses = { input_tokens = 5, output_tokens = 20, total_tokens = 25 },
  anthropic = { input_tokens = 5, output_tokens = 20 } }

-- Answers of each wire: {text, thinking}.
local ANSWERS = {}

function ANSWERS.chat(said)
  return { id = "c", object = "chat.completion", model = "m", usage = USAGE.chat, choices = core.array { { index = 0,
    finish_reason = "stop", message = { role = "assistant", content = said.text,
      reasoning_content = said.thinking } } } }
end

function ANSWERS.responses(said)
  return { id = "r", object = "response", model = "m", status = "completed", usage = USAGE.responses,
    output = core.array {
      { type = "reasoning", id = "rs_1", summary = core.array {}, encrypted_content = "", status = "completed",
        content = core.array { { type = "reasoning_text", text = said.thinking } } },
      { type = "message", id = "msg_1", role = "assistant", status = "completed", content = core.array {
        { type = "output_text", text = said.text, annotations = core.array {} } } } } }
end

function ANSWERS.anthropic(said)
  return { id = "a", type = "message", role = "assistant", model = "m", usage = USAGE.anthropic,
    stop_reason = "end_turn", stop_sequence = core.null, content = core.array {
      { type = "thinking", thinking = said.thinking, signature = "" }, { type = "text", text = said.text } } }
end

-- Returns the body of one chat, decoded, its Response or nil, and the error.
local function chat(api, messages, opts, status, body)
  local said = ANSWERS[api] { text = "Hi.", thinking = "Hm." }
  local server = raw_server.start(raw_server.answer(status or 200, core.encode(body or said)))
  local adapter = koine.llamacpp { model = "m", api = api, base_url = server.url .. "/v1" }
  local response, err = adapter:chat(messages, opts)
  local request = server:requests()[1]
  assert.are.equal(PATHS[api], request.target)
  return core.decode(request.body), response, err
end

describe("koine.llamacpp", function()
  it("speaks Chat unless another wire is chosen", function()
    assert.are.equal("chat", core.state(koine.llamacpp { model = "m" }).row.codec)
    assert.are.equal("anthropic", raised(koine.llamacpp, { model = "m", api = "antropic" }).expected)
    for api in pairs(PATHS) do
      local _, response = chat(api, "Hello?")
      assert.are.equal("Hi.", response:text())
      assert.are.equal("Hm.", response:thinking())
      assert.are.same({}, response.warnings)
    end
  end)

  it("counts tokens where the wire has a call for it", function()
    local server = raw_server.start(raw_server.answer(200, '{"input_tokens":7}'))
    local adapter = koine.llamacpp { model = "m", api = "anthropic", base_url = server.url .. "/v1" }
    assert.are.equal(7, assert(adapter:count_tokens "Hi"))
    assert.are.equal("/v1/messages/count_tokens", server:requests()[1].target)
    assert.are.equal(-1, koine.llamacpp { model = "m" }:count_tokens "Hi")
  end)

  describe("tells the model's template", function()
    local EXPECTED = {
      chat = { off = { reasoning_effort = "none" }, low = { reasoning_effort = "low" },
        budget = { thinking_budget_tokens = 500 } },
      responses = { off = { reasoning_effort = "none" }, low = { reasoning_effort = "low" },
        budget = { thinking_budget_tokens = 500 } },
      anthropic = { off = { thinking = { type = "disabled" } },
        low = { thinking = { type = "enabled", budget_tokens = 2048 } },
        budget = { thinking = { type = "enabled", budget_tokens = 500 } } },
    }
    local OPTIONS = { off = false, low = "low", budget = { budget_tokens = 500 } }

    for api in pairs(PATHS) do
      it("not to think, to think, and how much, on " .. api, function()
        for name, thinking in pairs(OPTIONS) do
          local body, response = chat(api, "Hello?", { thinking = thinking, temperature = 0.5,
            extra = { chat_template_kwargs = { preserve_thinking = true } } })
          assert.are.same({}, response.warnings)
          assert.are.same({ enable_thinking = thinking ~= false, preserve_thinking = true },
            body.chat_template_kwargs)
          assert.are.equal(0.5, body.temperature)
          local expected = EXPECTED[api][name]
          for _, field in ipairs { "reasoning_effort", "thinking_budget_tokens", "thinking", "reasoning" } do
            assert.are.same(expected[field], body[field], name .. " " .. field)
          end
        end
      end)

      it("nothing where nothing is asked, on " .. api, function()
        local body = chat(api, "Hello?")
        for _, field in ipairs { "chat_template_kwargs", "reasoning_effort", "thinking_budget_tokens", "thinking",
          "reasoning" } do assert.is_nil(body[field]) end
      end)
    end

    it("to think although a tool must be called, for no template minds", function()
      local add = { name = "add", description = "Adds.", parameters = { type = "object" } }
      local body, response = chat("anthropic", "Hello?", { thinking = "low", tools = { add }, tool_choice = "any" })
      assert.is_true(body.chat_template_kwargs.enable_thinking)
      assert.are.same({}, response.warnings)
    end)
  end)

  it("gets its unsigned thinking back, and no other provider's", function()
    for api, mark in pairs { chat = '"reasoning_content":"Hm."', responses = '"text":"Hm."',
      anthropic = '"thinking":"Hm."' } do
      local _, response = chat(api, "Hello?")
      local history = { { role = "user", content = "Hello?" }, response:message(),
        { role = "user", content = "Go on." } }
      local body = core.encode(chat(api, history))
      assert.is_truthy(body:find(mark, 1, true), api)
      history[2] = { role = "assistant", content = { { type = "thinking", thinking = "Ho.",
        provider_data = { provider = "elsewhere", model = "m" } }, { type = "text", text = "Hi." } } }
      assert.is_nil(core.encode(chat(api, history)):find("Ho.", 1, true), api)
    end
  end)

  it("is not sent documents, which it would lose", function()
    local document = { type = "document", source = "data:application/pdf;base64,QQ==" }
    for api in pairs(PATHS) do
      local adapter = koine.llamacpp { model = "m", api = api, base_url = "http://127.0.0.1:1" }
      local err = raised(adapter.chat, adapter, { { role = "user", content = { document } } })
      assert.are.same({ "ArgumentError", "messages[1].content[1]" }, { err.class, err.field })
    end
  end)

  it("says that images are not supported, once", function()
    local body = { error = { code = 500, type = "server_error",
      message = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj" } }
    local image = { type = "image", source = "data:image/png;base64,QQ==" }
    local _, _, err = chat("chat", { { role = "user", content = { image } } }, nil, 500, body)
    assert.are.same({ "server", false, 1 }, { err.kind, err.retryable, #err.attempts })
  end)

  it("calls an answer completed that was cut: it is max_tokens, with a warning", function()
    for _, case in ipairs { { 20, "max_tokens" }, { 19, "max_tokens" }, { 21, "end_turn" }, { nil, "end_turn" } } do
      local limit, stop = case[1], case[2]
      local _, response = chat("responses", "Hello?", { max_tokens = limit })
      assert.are.same({ stop, "completed" }, { response.stop_reason, response.raw_stop_reason })
      assert.are.equal(stop == "max_tokens" and "unannounced_cut" or nil, (response.warnings[1] or {}).code)
    end
  end)

  it("is asked for the context that it serves, before the one the model was trained for", function()
    local server = raw_server.start(raw_server.answer(200, core.encode { object = "list", data = core.array {
      { id = "m", meta = { n_ctx = 4096, n_ctx_train = 262144 } }, { id = "old", meta = { n_ctx_train = 8192 } } } }))
    local list = assert(koine.llamacpp { model = "m", base_url = server.url .. "/v1" }:list_models())
    assert.are.equal("/v1/models", server:requests()[1].target)
    assert.are.same({ 4096, 8192 }, { list[1].max_context_tokens, list[2].max_context_tokens })
  end)
end)
