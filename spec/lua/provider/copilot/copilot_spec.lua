-- koine.copilot: what it sends and what it reads, on either wire.

local core = require "koine.core"
local copilot_kit = require "spec.lua.provider.copilot.kit"
local koine = require "koine"
local raised = require "spec.support.raised"

local IMAGE, TOOL = copilot_kit.IMAGE, copilot_kit.TOOL

describe("koine.copilot", function()
  local kit = copilot_kit.new "spec"
  local chats, copilot, last_chat, sent = kit.chats, kit.copilot, kit.last_chat, kit.sent
  local server

  setup(function() server = kit.start() end)
  teardown(kit.stop)
  before_each(function() kit.begin() end)
  after_each(kit.restore)

  it("has a name, a model and what the table knows of it", function()
    local adapter = copilot()
    assert.are.equal("GitHub Copilot", adapter:provider_name())
    assert.are.equal("gpt-4.1", adapter:model_name())
    assert.are.equal(-1, adapter:count_tokens "Hi")
    local windows = { ["gpt-4.1"] = 1047576, ["gpt-4.1-mini"] = 1047576, ["gpt-4o"] = 128000, ["gpt-4o-mini"] = 128000,
      ["gpt-4-turbo"] = 128000, ["gpt-4"] = 8192, ["gpt-3.5-turbo"] = 16385, o1 = 200000, ["o1-mini"] = 128000,
      ["o1-preview"] = 128000, o3 = 200000, ["o3-mini"] = 200000, ["o4-mini"] = 200000, ["claude-3.5-sonnet"] = 200000,
      ["claude-3.7-sonnet"] = 200000, ["gemini-2.0-flash-001"] = 1048576 }
    for model, window in pairs(windows) do
      assert.are.equal(window, copilot({ model = model }):max_context_tokens(), model)
    end
    for _, model in ipairs { "gpt-4.5-preview", "gpt-4-0125-preview", "claude-sonnet-4.5", "gemini-3-pro-preview",
      "x" } do
      assert.is_nil(copilot({ model = model }):max_context_tokens(), model)
    end
    assert.are.equal("copilot", core.state(koine.adapter("copilot/gpt-4.1", { key = "k" })).row.name)
  end)

  it("checks its options at once", function()
    for name, bad in pairs { api = "anthropic", github_token = "", token_path = 5, github_host = "", api_base = "x",
      client_id = " ", integration_id = "a\nb", editor_version = "", on_device_code = "f", rate_limit = 5,
      min_request_interval = -1, rate_limit_path = "/tmp/" } do
      assert.are.equal(name, raised(copilot, { [name] = bad }).field)
    end
    assert.are.equal("rate_limit.requests", raised(copilot, { rate_limit = { period = 1 } }).field)
    assert.are.equal("github_token", raised(koine.openai, { model = "m", github_token = "x" }).field)
  end)

  describe("sends", function()
    it("the headers of an honest client", function()
      local headers = sent().headers
      assert.are.equal("Koine/" .. koine.version, headers["editor-version"])
      assert.are.equal("vscode-chat", headers["copilot-integration-id"])
      assert.are.equal("koine/" .. koine.version, headers["user-agent"])
      assert.are.equal("application/json", headers.accept)
      assert.are.equal("application/json", headers["content-type"])
      assert.is_truthy(headers.authorization:find "^Bearer tid=")
      for _, name in ipairs { "openai-intent", "editor-plugin-version", "copilot-vision-request" } do
        assert.is_nil(headers[name])
      end
      assert.are.equal("text/event-stream", sent(nil, nil, { stream = true }).headers.accept)
    end)

    it("what the options say instead", function()
      local request = sent { editor_version = "vscode/1.99.0", integration_id = "my-app",
        headers = { ["Editor-Plugin-Version"] = "mine/1" } }
      assert.are.equal("vscode/1.99.0", request.headers["editor-version"])
      assert.are.equal("my-app", request.headers["copilot-integration-id"])
      assert.are.equal("mine/1", request.headers["editor-plugin-version"])
    end)

    it("the option's name with the error where its editor is not known", function()
      assert(server:copilot { editors = { "vscode" } })
      local result, err = copilot():chat "Hi"
      assert.is_nil(result)
      assert.are.equal("RequestError", err.class)
      assert.is_truthy(err.message:find("unknown Editor-Version", 1, true))
      assert.is_truthy(err.message:find("the option editor_version", 1, true))
      assert.are.equal(1, #chats())
      sent { editor_version = "vscode/1.99.0" }
    end)

    it("who began the exchange: the user where the last message is a new one of theirs", function()
      local call = { role = "assistant",
        content = { { type = "tool_use", id = "call_1", name = "add", arguments = {} } } }
      local result = { type = "tool_result", tool_use_id = "call_1", content = "3" }
      local user, answer = { role = "user", content = "Hi" }, { role = "assistant", content = "Hello" }
      local cases = {
        { "user", { user } },
        { "user", { user }, { system = "Be brief." } },
        { "user", { user, answer, { role = "user", content = "And?" } } },
        { "user", { user, answer, { role = "user", content = { { type = "text", text = "And?" } } } } },
        { "agent", { user, call, { role = "user", content = { result } } } },
        { "user", { user, call, { role = "user", content = { result, { type = "text", text = "Wait." } } } } },
        { "user", { user, call, { role = "user", content = { result } }, answer, user } },
        { "agent", { user, answer } },
      }
      for i, case in ipairs(cases) do
        for _, stream in ipairs { false, true } do
          for model, api in pairs { ["gpt-4.1"] = "chat", ["gpt-5-mini"] = "responses" } do
            local options = { stream = stream, tools = { TOOL }, system = case[3] and case[3].system }
            local request = sent({ model = model, api = api }, case[2], options)
            assert.are.equal(case[1], request.headers["x-initiator"], i)
          end
        end
      end
    end)

    it("who began the exchange as the call says", function()
      local metadata = { initiator = "agent" }
      local request = sent(nil, "Hi", { metadata = metadata })
      assert.are.equal("agent", request.headers["x-initiator"])
      assert.is_nil(request.body.metadata)
      assert.are.same({ initiator = "agent" }, metadata)
      request = sent({ metadata = { initiator = "user", user_id = "u-1" } }, { { role = "user", content = "a" },
        { role = "assistant", content = "b" } })
      assert.are.equal("user", request.headers["x-initiator"])
      assert.are.equal("u-1", request.body.user)
      assert.is_nil(request.body.metadata)
      local adapter, seen = copilot(), #chats() + 1
      assert(server:script "echo")
      assert.are.same({}, assert(adapter:chat("Hi", { metadata = { initiator = "agent" } })).warnings)
      for _, bad in ipairs { "me", 5, true } do
        assert.are.equal("metadata.initiator",
          raised(adapter.chat, adapter, "Hi", { metadata = { initiator = bad } }).field)
      end
      assert.are.equal(seen, #chats())
    end)

    it("that there is an image, wherever it is", function()
      local text = { type = "text", text = "Look." }
      local call = { type = "tool_use", id = "call_1", name = "add", arguments = {} }
      local shown = { role = "user", content = { { type = "tool_result", tool_use_id = "call_1",
        content = { text, IMAGE } } } }
      for _, messages in ipairs { { { role = "user", content = { text, IMAGE } } },
        { { role = "user", content = { IMAGE } }, { role = "assistant", content = "A dot." },
          { role = "user", content = "Sure?" } },
        { { role = "user", content = "Hi" }, { role = "assistant", content = { call } }, shown } } do
        assert.are.equal("true", sent(nil, messages, { tools = { TOOL } }).headers["copilot-vision-request"])
      end
    end)

    it("the output cap under the name that the model takes", function()
      local function cap(model, call)
        assert(server:script { { path = "/chat/completions", reply = { status = 418 } } })
        copilot({ model = model, api = "chat", retry = false }):chat("Hi", call or { max_tokens = 100 })
        local body = last_chat().body
        return body.max_tokens, body.max_completion_tokens
      end
      for _, model in ipairs { "gpt-4.1", "gpt-4o", "claude-sonnet-4.5", "grok-code-fast-1" } do
        assert.are.same({ 100 }, { cap(model) }, model)
      end
      for _, model in ipairs { "gpt-5-mini", "gpt-5.4", "o1", "o3", "o3-mini", "o4-mini", "gemini-2.5-pro",
        "gemini-3-pro-preview" } do
        assert.are.same({ nil, 100 }, { cap(model) }, model)
      end
      assert.are.same({}, { cap("gpt-4.1", {}) })
    end)

    it("an effort only where it is asked for", function()
      local function effort(options, call) return sent(options, "Hi", call).body.reasoning_effort end
      local mini = { model = "gpt-5-mini", api = "chat" }
      assert.is_nil(effort(mini))
      assert.are.equal("low", effort(mini, { thinking = "low" }))
      local high = { model = "gpt-5-mini", api = "chat", thinking = "high" }
      assert.are.equal("high", effort(high))
      assert.are.equal("medium", effort(high, { thinking = "medium" }))
      assert.is_nil(effort(high, { thinking = false }))
      assert.are.equal("thinking", raised(copilot, { thinking = "extreme" }).field)
      local adapter = copilot()
      assert.are.equal("thinking", raised(adapter.chat, adapter, "Hi", { thinking = "extreme" }).field)
    end)

    it("messages as the wire wants them", function()
      local body = sent(nil, {
        { role = "user", content = { { type = "text", text = "One." }, { type = "text", text = "Two." } } },
        { role = "user", content = "Three." },
        { role = "assistant", content = { { type = "text", text = "Let me." },
          { type = "tool_use", id = "call_1", name = "add", arguments = { a = 1 } } } },
        { role = "user", content = { { type = "text", text = "Well?" }, { type = "tool_result", tool_use_id = "call_1",
          content = "broken", is_error = true } } },
        { role = "assistant", content = { { type = "tool_use", id = "call_2", name = "add", arguments = {} } } },
        { role = "user", content = { { type = "tool_result", tool_use_id = "call_2", content = "3" } } },
      }, { system = "Be brief.", tools = { TOOL }, max_tokens = 50, stream = true }).body
      local roles = {}
      for i, message in ipairs(body.messages) do roles[i] = message.role end
      assert.are.same({ "system", "user", "assistant", "tool", "user", "assistant", "tool" }, roles)
      assert.are.equal("Be brief.", body.messages[1].content)
      assert.is_truthy(core.encode(body.messages[2].content):find("One%..*Two%..*Three%."))
      assert.are.equal("Let me.", body.messages[3].content)
      assert.are.equal('{"a":1}', body.messages[3].tool_calls[1]["function"].arguments)
      assert.are.equal("Error: broken", body.messages[4].content)
      assert.are.equal("call_1", body.messages[4].tool_call_id)
      assert.is_nil(body.messages[6].content)
      assert.are.equal("function", body.tools[1].type)
      assert.are.equal("add", body.tools[1]["function"].name)
      assert.is_true(body.stream_options.include_usage)
    end)

    it("a whole body to the letter, on either wire", function()
      local schema = { type = "object", properties = { a = { type = "integer" } } }
      local messages = {
        { role = "user", content = { { type = "text", text = "What is this?" }, IMAGE } },
        { role = "assistant", content = { { type = "tool_use", id = "call_1", name = "add", arguments = { a = 1 } },
          { type = "tool_use", id = "call_2", name = "add", arguments = { a = 2 } } } },
        { role = "user", content = {
          { type = "tool_result", tool_use_id = "call_1", content = { { type = "text", text = "2" },
            { type = "text", text = "3" } } },
          { type = "tool_result", tool_use_id = "call_2", content = "no", is_error = true },
          { type = "text", text = "And?" } } },
      }
      local call = { system = { { type = "text", text = "Be brief." }, { type = "text", text = "Add." } },
        tools = { TOOL }, tool_choice = "any", max_tokens = 100 }
      local url = "data:image/gif;base64," .. IMAGE.source
      assert.are.same({ model = "gpt-4.1", max_tokens = 100, tool_choice = "required",
        tools = { { type = "function", ["function"] = { name = "add", description = "Adds.", parameters = schema } } },
        messages = {
          { role = "system", content = "Be brief.\n\nAdd." },
          { role = "user", content = { { type = "text", text = "What is this?" },
            { type = "image_url", image_url = { url = url } } } },
          { role = "assistant", tool_calls = {
            { id = "call_1", type = "function", ["function"] = { name = "add", arguments = '{"a":1}' } },
            { id = "call_2", type = "function", ["function"] = { name = "add", arguments = '{"a":2}' } } } },
          { role = "tool", tool_call_id = "call_1", content = "2\n3" },
          { role = "tool", tool_call_id = "call_2", content = "Error: no" },
          { role = "user", content = "And?" },
        } }, sent(nil, messages, call).body)
      assert.are.same({ model = "gpt-5-mini", max_output_tokens = 100, store = false, tool_choice = "required",
        include = { "reasoning.encrypted_content" },
        tools = { { type = "function", name = "add", description = "Adds.", parameters = schema, strict = false } },
        input = {
          { role = "system", content = "Be brief.\n\nAdd." },
          { role = "user", content = { { type = "input_text", text = "What is this?" },
            { type = "input_image", image_url = url } } },
          { type = "function_call", call_id = "call_1", name = "add", arguments = '{"a":1}' },
          { type = "function_call", call_id = "call_2", name = "add", arguments = '{"a":2}' },
          { type = "function_call_output", call_id = "call_1", output = "2\n3" },
          { type = "function_call_output", call_id = "call_2", output = "Error: no" },
          { role = "user", content = "And?" },
        } }, sent({ model = "gpt-5-mini", api = "responses" }, messages, call).body)
    end)
  end)

  describe("reads", function()
    local function reply(body)
      assert(server:script { { path = "/chat/completions", reply = { body = body } }, { content = "ok" } })
    end

    it("an answer that is split over several choices as one", function()
      reply { id = "c", model = "claude-sonnet-4.5", choices = {
        { index = 0, finish_reason = "tool_calls", message = { role = "assistant", content = "I'll look." } },
        { index = 1, finish_reason = "tool_calls", message = { role = "assistant", tool_calls = { { id = "call_1",
          type = "function", ["function"] = { name = "add", arguments = '{"a":1}' } } } } },
      }, usage = { prompt_tokens = 10, completion_tokens = 5, prompt_tokens_details = { cached_tokens = 4 },
        completion_tokens_details = { reasoning_tokens = 2 } } }
      local response = assert(copilot({ model = "claude-sonnet-4.5" }):chat("Hi", { tools = { TOOL } }))
      assert.are.equal("I'll look.", response:text())
      assert.are.equal("tool_use", response.stop_reason)
      assert.are.equal("add", response.tool_calls[1].name)
      assert.are.equal("copilot", response.provider)
      assert.are.equal(6, response.usage.input_tokens)
      assert.are.equal(4, response.usage.cache_read_tokens)
      assert.are.equal(2, response.usage.reasoning_tokens)
    end)

    it("reasoning and sends it back as it came", function()
      assert(server:script { { content = { { type = "thinking", thinking = "Hm.", signature = "opaque-1" },
        { type = "text", text = "Yes." } }, reasoning_field = "reasoning_text" }, { content = "ok" } })
      local adapter, history = copilot { model = "claude-sonnet-4.6" }, { { role = "user", content = "Hi" } }
      local response = assert(adapter:chat(history))
      assert.are.equal("Hm.", response:thinking())
      history[2], history[3] = response:message(), { role = "user", content = "Sure?" }
      assert(adapter:chat(history))
      local request = last_chat()
      assert.are.same({}, request.problems)
      assert.are.equal("opaque-1", request.body.messages[2].reasoning_opaque)
      assert.are.equal("Hm.", request.body.messages[2].reasoning_text)
    end)

    it("a thought signature and sends it back with its call", function()
      reply { id = "c", model = "gemini-3-pro-preview", choices = { { index = 0, finish_reason = "stop",
        message = { role = "assistant", tool_calls = { { id = "call_1", type = "function",
          ["function"] = { name = "add", arguments = "{}", thought_signature = "sig-1" } } } } } } }
      local adapter, history = copilot { model = "gemini-3-pro-preview" }, { { role = "user", content = "Hi" } }
      local response = assert(adapter:chat(history, { tools = { TOOL } }))
      assert.are.equal("tool_use", response.stop_reason)
      history[2] = response:message()
      history[3] = { role = "user", content = { { type = "tool_result", tool_use_id = "call_1", content = "1" } } }
      assert(adapter:chat(history, { tools = { TOOL } }))
      assert.are.equal("sig-1", last_chat().body.messages[2].tool_calls[1]["function"].thought_signature)
    end)
  end)

  describe("on the Responses wire", function()
    local CODEX = { model = "gpt-5.3-codex" }

    it("sends input and takes text, calls and both", function()
      local request = sent(CODEX, "Hi", { system = "Be brief.", tools = { TOOL }, max_tokens = 50, thinking = "low" })
      assert.are.equal("/responses", request.path)
      assert.is_nil(request.body.messages)
      assert.is_nil(request.body.max_tokens)
      assert.is_nil(request.body.max_completion_tokens)
      assert.is_nil(request.body.reasoning_effort)
      assert.are.equal(50, request.body.max_output_tokens)
      assert.are.equal("low", request.body.reasoning.effort)
      assert.is_false(request.body.store)
      assert.are.equal("system", request.body.input[1].role)
      assert.are.equal("add", request.body.tools[1].name)
      assert.are.equal("user", request.headers["x-initiator"])
    end)

    it("goes through a tool loop though every event has another id", function()
      for _, stream in ipairs { false, true } do
        assert(server:script { { content = { { type = "thinking", thinking = "Hm.", signature = "enc-1" },
          { type = "text", text = "Let me." },
          { type = "tool_use", id = "call_1", name = "add", arguments = { a = 1 } } } }, { content = "2" } })
        local adapter, history = copilot(CODEX), { { role = "user", content = "Add." } }
        local options = { tools = { TOOL }, stream = stream, thinking = "low" }
        local response = assert(adapter:chat(history, options))
        assert.are.equal("tool_use", response.stop_reason)
        assert.are.equal("call_1", response.tool_calls[1].id)
        assert.are.same({ a = 1 }, response.tool_calls[1].arguments)
        assert.are.equal("Let me.", response:text())
        history[2] = response:message()
        history[3] = { role = "user", content = { { type = "tool_result", tool_use_id = "call_1", content = "2" } } }
        assert.are.equal("2", assert(adapter:chat(history, options)):text())
        local request = last_chat()
        assert.are.same({}, request.problems)
        assert.are.equal("agent", request.headers["x-initiator"])
        assert.are.equal(stream or nil, request.body.stream)
        local kinds = {}
        for i, item in ipairs(request.body.input) do kinds[i] = item.type or item.role end
        assert.is_truthy(table.concat(kinds, " "):find "reasoning .*function_call function_call_output$")
      end
    end)

    it("tells a cut, a filter and a failure", function()
      assert(server:script { { content = "Well", stop_reason = "max_tokens" }, { content = "Well",
        stop_reason = "sensitive" }, { error = { status = 400, message = "no" } },
        { content = "W", stream_error = { message = "broken", after = 0 } } })
      local adapter = copilot { model = "gpt-5.3-codex", retry = false }
      assert.are.equal("max_tokens", assert(adapter:chat "Hi").stop_reason)
      assert.are.equal("sensitive", assert(adapter:chat "Hi").stop_reason)
      local result, err = adapter:chat "Hi"
      assert.is_nil(result)
      assert.are.equal("RequestError", err.class)
      result, err = adapter:chat("Hi", { stream = true })
      assert.is_nil(result)
      assert.are.equal("broken", err.message)
    end)
  end)
end)
