local core = require "koine.core"
local deep = require "spec.support.deep"
local koine = require "koine"
local lfs = require "lfs"
local session = require "koine.auth.copilot.session"
local toy_host = require "spec.support.toy_host"
local usage = require "koine.auth.copilot.usage"
local wait = require "koine.wait"

local function raised(f, ...)
  local ok, err = pcall(f, ...)
  assert(not ok, "nothing was raised")
  return err
end

local function shows(value, text) return deep.text(value):find(text, 1, true) ~= nil end

local IMAGE = { type = "image", media_type = "image/gif",
  source = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7" }
local TOOL = { name = "add", description = "Adds.", parameters = { type = "object",
  properties = { a = { type = "integer" } } } }

describe("koine.copilot", function()
  local server
  local getenv, park, clock = os.getenv, wait.park, session.clock
  local count, token, slept = 0, nil, nil

  setup(function() server = assert(koine.testing.start { copilot = {} }) end)
  teardown(function() server:stop() end)

  -- A GitHub token per test: the sessions of a process are shared.
  before_each(function()
    count = count + 1
    token, slept = "ghu_spec_" .. count, {}
    assert(server:reset())
    assert(server:copilot { github_tokens = { token }, editors = { "Koine", "vscode" }, plan = "individual" })
    os.getenv = function() return nil end -- luacheck: ignore
    wait.park = function(thing, seconds)
      if type(thing) ~= "table" then return park(thing, seconds) end
      slept[#slept + 1] = seconds
      return false
    end
  end)

  after_each(function()
    os.getenv, wait.park, session.clock = getenv, park, clock -- luacheck: ignore
  end)

  local function copilot(options)
    local given = { model = "gpt-4.1", github_host = server.url, github_token = token, min_request_interval = 0 }
    for name, value in pairs(options or {}) do given[name] = value end
    return koine.copilot(given)
  end

  local function counted() return assert(server:copilot()) end

  -- The requests to the chat host, their bodies decoded.
  local function chats()
    local found = {}
    for _, request in ipairs(assert(server:requests())) do
      if request.method == "POST" then
        found[#found + 1] = { path = request.path, headers = request.headers, problems = request.problems,
          status = request.status, body = assert(core.decode(request.body)) }
      end
    end
    return found
  end

  local function last_chat()
    local list = chats()
    return list[#list]
  end

  -- Chats once on a fresh script and returns the request.
  local function sent(options, messages, call)
    assert(server:script { { content = "ok" } })
    local response = assert(copilot(options):chat(messages or "Hi", call))
    assert.are.equal("ok", response:text())
    local request = last_chat()
    assert.are.same({}, request.problems)
    return request
  end

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

    it("who began the turn: the user where the last message is a new one of theirs", function()
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

    it("who began the turn as the call says", function()
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
      local adapter, seen = copilot(), #chats()
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

  describe("when the Copilot token expires", function()
    local CALL = { content = { { type = "tool_use", id = "call_1", name = "add", arguments = { a = 1 } } } }

    local function statuses()
      local list = {}
      for i, chat in ipairs(chats()) do list[i] = chat.status end
      return list
    end

    for _, stream in ipairs { false, true } do
      it("between two turns of a tool loop exchanges once and sends once more, " .. (stream and "streamed" or "plain"),
        function()
        assert(server:script { CALL, { content = "2" }, { content = "And 3." } })
        local adapter, history = copilot { retry = false }, { { role = "user", content = "Add." } }
        local options = { tools = { TOOL }, stream = stream }
        local response = assert(adapter:chat(history, options))
        assert.are.equal(1, counted().exchanges)
        assert(server:copilot { expire = true })
        history[2] = response:message()
        history[3] = { role = "user", content = { { type = "tool_result", tool_use_id = "call_1", content = "2" } } }
        response = assert(adapter:chat(history, options))
        assert.are.equal("2", response:text())
        assert.are.equal(2, #response.attempts)
        assert.are.equal(401, response.attempts[1].status_code)
        assert.are.equal(2, counted().exchanges)
        assert.are.same({ 200, 401, 200 }, statuses())
        assert.are.same({}, slept)
        assert.are.equal("And 3.", assert(adapter:chat "Go on"):text())
        assert.are.equal(2, counted().exchanges)
      end)
    end

    it("reports a second refusal", function()
      local refusal = { error = { status = 401, body = "IDE token expired: unauthorized: token expired" } }
      assert(server:script { refusal, refusal, { content = "never" } })
      local result, err = copilot():chat "Hi"
      assert.is_nil(result)
      assert.are.equal("AuthenticationError", err.class)
      assert.are.equal("auth", err.kind)
      assert.is_truthy(err.message:find("IDE token expired", 1, true))
      assert.are.equal(2, #err.attempts)
      assert.are.equal(2, counted().exchanges)
    end)

    it("sends nothing again once a delta was handed out", function()
      assert(server:script { { content = "Hello, world.", stream_error = { status = 401, type = "authentication_error",
        code = "invalid_api_key", message = "token expired", after = 1 } }, { content = "never" } })
      local stream, text = assert(copilot():open "Hi"), ""
      local err
      repeat
        local delta
        delta, err = stream:next()
        text = text .. (delta and delta.text or "")
      until not delta
      assert.are.equal("AuthenticationError", err.class)
      assert.are.equal(text, err.partial:text())
      assert.is_true(#text > 0)
      assert.are.same({ 200 }, statuses())
      assert.are.equal(1, counted().exchanges)
    end)

    it("does so for a list of models too", function()
      local adapter = copilot()
      assert(adapter:list_models())
      assert(server:copilot { expire = true })
      assert(adapter:list_models())
      assert.are.equal(2, counted().exchanges)
      assert.are.equal(3, counted().lists)
    end)

    it("exchanges once for all coroutines that were refused", function()
      assert(server:script "echo")
      local adapter = copilot()
      assert(adapter:chat "Hi")
      assert(server:copilot { expire = true })
      local tasks, answers = {}, 0
      for i = 1, 20 do
        tasks[i] = function()
          assert(adapter:chat(tostring(i)))
          answers = answers + 1
        end
      end
      wait.park = park
      toy_host.run(tasks)
      assert.are.equal(20, answers)
      assert.are.equal(2, counted().exchanges)
    end)

    it("asks the function that gives the key once more", function()
      local n = 0
      assert(server:script { { content = "a" } })
      assert(server:copilot { github_tokens = { "gho_good_" .. count } })
      local adapter = copilot { key = function()
        n = n + 1
        return n == 1 and "gho_bad" or "gho_good_" .. count
      end }
      assert.are.equal("a", assert(adapter:chat "Hi"):text())
      assert.are.equal(2, n)
      local result, err = copilot({ key = "gho_bad" }):chat "Hi"
      assert.is_nil(result)
      assert.are.equal(401, err.status_code)
      assert.are.same({ 401, 200, 401 }, statuses())
    end)
  end)

  describe("chooses the wire format", function()
    local function paths()
      local list = {}
      for i, chat in ipairs(chats()) do list[i] = chat.path end
      return list
    end

    it("by the model's name where it knows no better", function()
      for model, path in pairs { ["gpt-4.1"] = "/chat/completions", ["claude-sonnet-4.6"] = "/chat/completions",
        ["gpt-5-codex"] = "/responses", ["gpt-5-mini"] = "/responses", ["gpt-5.3-codex"] = "/responses",
        ["gemini-3-pro-preview"] = "/chat/completions" } do
        assert.are.equal(path, sent({ model = model }).path, model)
      end
      assert.are.equal(0, counted().lists)
    end)

    it("by the list of models, once that was asked for", function()
      local adapter = copilot { model = "gpt-5-mini" }
      assert(adapter:list_models())
      assert(server:script "echo")
      assert(adapter:chat "Hi")
      assert(copilot({ model = "gpt-5.3-codex" }):chat "Hi") -- another adapter of the same login
      assert(copilot({ model = "gpt-5-codex" }):chat "Hi") -- the list does not say
      assert.are.same({ "/chat/completions", "/responses", "/responses" }, paths())
      session.clock = function() return clock() + 1801 end
      assert(adapter:chat "Hi")
      assert.are.equal("/responses", paths()[4])
    end)

    it("and says where a model is not spoken to at all", function()
      assert(server:copilot { models = { { id = "claude-next", endpoints = { "/v1/messages" } } } })
      local adapter = copilot { model = "claude-next" }
      assert(adapter:list_models())
      local result, err = adapter:chat "Hi"
      assert.is_nil(result)
      assert.are.equal("RequestError", err.class)
      assert.are.equal("unsupported_api_for_model", err.code)
      assert.is_truthy(err.message:find("/v1/messages", 1, true))
      assert.are.equal(0, #chats())
      assert(server:copilot { models = require("koine.testing.copilot_data").models })
    end)

    it("as the option api says", function()
      assert.are.equal("/responses", sent({ model = "gpt-5-mini", api = "responses" }).path)
      assert.are.equal("/chat/completions", sent({ model = "gpt-5-mini", api = "chat" }).path)
      local result, err = copilot({ model = "gpt-5.3-codex", api = "chat" }):chat "Hi"
      assert.is_nil(result)
      assert.are.equal(400, err.status_code)
      assert.are.equal("unsupported_api_for_model", err.code)
      assert.are.equal(3, #chats())
    end)

    -- A model that is not what its name says.
    local function with_models(...)
      assert(server:copilot { models = { ... } })
    end

    it("anew when a model refuses it, once, and remembers", function()
      with_models({ id = "newest", endpoints = { "/responses" } },
        { id = "gpt-5-old", endpoints = { "/chat/completions" } })
      for model, path in pairs { newest = "/responses", ["gpt-5-old"] = "/chat/completions" } do
        local before = #paths()
        assert(server:script "echo")
        local adapter = copilot { model = model, retry = false }
        for _ = 1, 2 do assert.are.equal("You said: Hi", assert(adapter:chat "Hi"):text()) end
        local seen = paths()
        assert.are.equal(before + 3, #seen)
        assert.are_not.equal(path, seen[before + 1])
        assert.are.same({ path, path }, { seen[before + 2], seen[before + 3] })
      end
      assert(server:copilot { models = require("koine.testing.copilot_data").models })
    end)

    it("anew when only the other takes tools with an effort", function()
      assert(server:script "echo")
      local adapter = copilot { model = "gpt-5.5", thinking = "low" }
      assert(adapter:list_models())
      assert(adapter:chat("Hi", { tools = { TOOL } }))
      assert.are.same({ "/chat/completions", "/responses" }, paths())
    end)

    it("no more than once", function()
      with_models { id = "nowhere", endpoints = {} }
      local adapter = copilot { model = "nowhere" }
      for _ = 1, 2 do
        local result, err = adapter:chat "Hi"
        assert.is_nil(result)
        assert.are.equal("unsupported_api_for_model", err.code)
      end
      assert.are.same({ "/chat/completions", "/responses", "/responses" }, paths())
      assert(server:copilot { models = require("koine.testing.copilot_data").models })
    end)

    it("once for all coroutines that were refused", function()
      with_models { id = "newest", endpoints = { "/responses" } }
      assert(server:script "echo")
      local adapter, answers, tasks = copilot { model = "newest" }, 0, {}
      for i = 1, 5 do
        tasks[i] = function()
          assert(adapter:chat "Hi")
          answers = answers + 1
        end
      end
      wait.park = park
      toy_host.run(tasks)
      assert.are.equal(5, answers)
      assert(server:copilot { models = require("koine.testing.copilot_data").models })
    end)
  end)

  describe("reads", function()
    local function reply(body)
      assert(server:script { { path = "/chat/completions", reply = { body = body } }, { content = "ok" } })
    end

    it("a turn that is split over several choices as one", function()
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

  describe("lists models", function()
    local function listed(models, options)
      assert(server:copilot { models = models or require("koine.testing.copilot_data").models })
      local by_id = {}
      for _, info in ipairs(assert(copilot(options):list_models())) do
        assert.is_nil(by_id[info.id])
        by_id[info.id] = info
      end
      return by_id
    end

    it("with what they can do, cost and allow", function()
      local by_id = listed()
      local info = by_id["gpt-5.3-codex"]
      assert.are.equal("gpt-5.3-codex", info.name)
      assert.are.equal(400000, info.max_context_tokens)
      assert.is_true(info.supports_vision)
      assert.is_true(info.supports_tool_use)
      assert.is_true(info.supports_streaming)
      assert.are.equal(1, info.premium_request_multiplier)
      assert.are.equal(272000, info.extra.limits.max_prompt_tokens)
      assert.are.equal(128000, info.extra.limits.max_output_tokens)
      assert.are.same({ "low", "medium", "high", "xhigh" }, info.extra.supports.reasoning_effort)
      assert.is_true(info.extra.supports.parallel_tool_calls)
      assert.are.same({ "/responses" }, info.extra.supported_endpoints)
      assert.are.equal("enabled", info.extra.policy.state)
      assert.are.equal("OpenAI", info.extra.vendor)
      assert.are.equal("o200k_base", info.extra.tokenizer)
      assert.is_true(info.extra.billing.is_premium)
      assert.are.equal("disabled", by_id["claude-opus-4.7"].extra.policy.state)
      assert.is_true(by_id["gpt-4.1"].extra.is_chat_default)
      assert.are.equal(7.5, by_id["gpt-5.5"].premium_request_multiplier)
      assert.are.equal(0, by_id["gpt-4.1"].premium_request_multiplier)
      for _, id in ipairs { "gpt-3.5-turbo", "text-embedding-3-small" } do assert.is_nil(by_id[id]) end
      local request = assert(server:requests())
      request = request[#request]
      assert.are.equal("2025-10-01", request.headers["x-github-api-version"])
      assert.is_nil(request.headers["x-initiator"])
      assert.are.same({}, request.problems)
    end)

    local function raw(id, fields)
      local entry = { id = id, model_picker_enabled = true }
      for name, value in pairs(fields or {}) do entry[name] = value end
      return { raw = entry }
    end

    it("leaves out what is none, malformed or not to be picked", function()
      local by_id = listed { raw "bare", raw("array", { capabilities = { type = { "completion", "chat" } } }),
        raw("no", { model_picker_enabled = false }), raw("unsaid", { model_picker_enabled = core.null }),
        raw("completion", { capabilities = { type = "completion" } }), raw("none", { capabilities = { type = {} } }),
        raw("", {}), raw(5, {}), { raw = "text" }, { raw = { 1, 2 } }, { raw = {} },
        raw("odd", { capabilities = "x", billing = 5, policy = false, name = 7, supported_endpoints = "x" }),
        raw("nulls", { capabilities = core.null, billing = core.null, name = core.null, vendor = core.null }) }
      local ids = {}
      for id in pairs(by_id) do ids[#ids + 1] = id end
      table.sort(ids)
      assert.are.same({ "array", "bare", "nulls", "odd" }, ids)
      assert.is_false(by_id.bare.supports_vision)
      assert.is_false(by_id.bare.supports_tool_use)
      assert.is_false(by_id.bare.supports_streaming)
      assert.are.equal(0, by_id.bare.max_context_tokens)
      assert.is_nil(by_id.bare.premium_request_multiplier)
      assert.is_nil(by_id.nulls.extra.vendor)
    end)

    it("knows windows and multipliers where the list is silent", function()
      local by_id = listed { raw "gpt-4o", raw("o3", { billing = { multiplier = 30 } }),
        raw("claude-haiku-4.5", { billing = { multiplier = 0.33 } }),
        raw("gpt-4.1", { billing = { is_premium = false } }), raw("gpt-5.5", {}) }
      assert.are.equal(128000, by_id["gpt-4o"].max_context_tokens)
      assert.are.equal(30, by_id.o3.premium_request_multiplier)
      assert.are.equal(0.33, by_id["claude-haiku-4.5"].premium_request_multiplier)
      assert.are.equal(0, by_id["gpt-4.1"].premium_request_multiplier)
      assert.is_nil(by_id["gpt-5.5"].premium_request_multiplier)
      listed()
    end)
  end)

  describe("reports", function()
    it("every status as the class that it is", function()
      local classes = { [400] = "RequestError", [401] = "AuthenticationError", [402] = "RateLimitError",
        [403] = "AuthenticationError", [404] = "RequestError", [422] = "RequestError", [429] = "RateLimitError",
        [500] = "ServerError", [502] = "ServerError", [503] = "ServerError" }
      for status, class in pairs(classes) do
        local turn = { error = { status = status, body = "the words of " .. status,
          headers = { ["x-github-request-id"] = "GH:" .. status, ["retry-after"] = status == 429 and "9" or nil } } }
        assert(server:script { turn, turn })
        local result, err = copilot({ retry = false }):chat "Hi"
        assert.is_nil(result)
        assert.are.equal(class, err.class, status)
        assert.are.equal(status, err.status_code)
        assert.are.equal("copilot", err.provider)
        assert.are.equal("the words of " .. status, err.message)
        assert.is_string(err.request_id)
        assert.are.equal(status == 429 and 9 or nil, err.retry_after)
      end
    end)

    it("limits and quotas apart", function()
      local expected = {
        rate_limited = { "RateLimitError", "rate_limit", true, 30 },
        quota_exceeded = { "RateLimitError", "billing", false },
        weekly = { "RateLimitError", "billing", false }, monthly = { "RateLimitError", "billing", false },
        payment = { "RateLimitError", "billing", false }, client_too_old = { "RequestError", "invalid_request", false },
        wrong_host = { "RequestError", "invalid_request", false },
      }
      for name, want in pairs(expected) do
        assert(server:script { { error = { copilot = name } } })
        local result, err = copilot({ retry = false }):chat "Hi"
        assert.is_nil(result)
        assert.are.same(want, { err.class, err.kind, err.retryable, err.retry_after }, name)
      end
      assert(server:script { { error = { copilot = "weekly" } } })
      local _, err = copilot():chat "Hi"
      assert.are.equal("Sorry, you've exceeded your weekly rate limit. It resets on November 30, 2026 at 12:00 AM UTC.",
        err.message)
      assert.are.same({}, slept)
    end)

    it("no token, whatever is echoed", function()
      for _, model in ipairs { "gpt-4.1", "gpt-5.3-codex" } do
        local turn = { content = "a", fault = { echo_authorization = true } }
        assert(server:script { turn, turn })
        local adapter = copilot { model = model, retry = false }
        local result, err = adapter:chat "Hi"
        assert.is_nil(result)
        assert.are.equal("AuthenticationError", err.class)
        for _, secret in ipairs { "tid=", token, "st=dotcom" } do assert.is_false(shows(err, secret), secret) end
        assert.is_false(shows(core.state(adapter).login, "tid="))
        assert.is_false(shows(core.state(adapter).login, token))
      end
    end)
  end)

  describe("usage_report", function()
    local function by_id(report)
      local found = {}
      for _, entry in ipairs(report.limits) do found[entry.id] = entry end
      return found
    end

    it("tells the quotas of a paid plan", function()
      assert(server:copilot { plan = "business", reset_date = "2026-12-01", quota = {
        premium_interactions = { entitlement = 300, remaining = 24, overage_permitted = true, overage_count = 3 },
        chat = { unlimited = true }, completions = { entitlement = 10, remaining = 0 } } })
      local report = assert(copilot():usage_report())
      assert.are.equal("GitHub Copilot", report.provider)
      assert.are.equal("business", report.metadata.plan)
      assert.is_true(math.abs(report.fetched_at - core.wall()) < 60)
      local quotas = by_id(report)
      local premium = quotas["copilot:premium"]
      assert.are.equal("warning", premium.status)
      assert.are.equal("Premium requests", premium.label)
      assert.are.equal("requests", premium.amount.unit)
      assert.are.same({ 300, 24, 276 }, { premium.amount.limit, premium.amount.remaining, premium.amount.used })
      assert.is_true(math.abs(premium.amount.remaining_fraction - 0.08) < 1e-9)
      assert.is_true(math.abs(premium.amount.used_fraction - 0.92) < 1e-9)
      assert.are.equal("monthly", premium.window.id)
      assert.are.equal(1796083200, premium.window.resets_at) -- 2026-12-01 00:00 UTC
      assert.are.equal(2, #premium.notes)
      assert.are.equal("ok", quotas["copilot:chat"].status)
      assert.is_nil(quotas["copilot:chat"].amount.limit)
      assert.are.equal("exhausted", quotas["copilot:completions"].status)
      local request = assert(server:requests())
      request = request[#request]
      assert.are.equal("Bearer " .. token, request.headers.authorization)
      assert.are.equal("*/*", request.headers.accept)
      assert.are.equal(0, counted().exchanges)
    end)

    it("tells the quotas of a free plan", function()
      assert(server:copilot { plan = "free", reset_date = "2027-02-28", quota = {
        chat = { entitlement = 50, remaining = 40 }, completions = { entitlement = 2000, remaining = 0 } } })
      local quotas = by_id(assert(copilot():usage_report()))
      assert.is_nil(quotas["copilot:premium"])
      assert.are.same({ "ok", 50, 40, 10 }, { quotas["copilot:chat"].status, quotas["copilot:chat"].amount.limit,
        quotas["copilot:chat"].amount.remaining, quotas["copilot:chat"].amount.used })
      assert.are.equal("exhausted", quotas["copilot:completions"].status)
      assert.are.equal(1803772800, quotas["copilot:chat"].window.resets_at)
    end)

    it("makes do with what is said", function()
      local row = { title = "GitHub Copilot" }
      assert.are.same({}, usage.read(row, {}).limits)
      assert.are.same({}, usage.read(row, { quota_snapshots = 5, monthly_quotas = "x" }).limits)
      local odd = by_id(usage.read(row, { quota_reset_date = "soon", quota_snapshots = { chat = {},
        premium_interactions = { percent_remaining = 9.5 }, completions = { remaining = 0 } } }))
      assert.are.equal("unknown", odd["copilot:chat"].status)
      assert.are.equal("warning", odd["copilot:premium"].status)
      assert.are.equal("exhausted", odd["copilot:completions"].status)
      assert.is_nil(odd["copilot:chat"].window.resets_at)
    end)

    it("reports what goes wrong, and asks nobody to log in", function()
      local result, err = copilot({ github_token = "ghu_unknown" }):usage_report()
      assert.is_nil(result)
      assert.are.equal("AuthenticationError", err.class)
      assert.are.equal(401, err.status_code)
      assert.is_false(shows(err, "ghu_unknown"))
      result, err = koine.copilot({ model = "gpt-4.1", github_host = server.url }):usage_report()
      assert.is_nil(result)
      assert.are.equal("AuthenticationError", err.class)
      assert.is_truthy(err.message:find("authenticate()", 1, true))
      assert(server:script { { path = "/copilot_internal/user", reply = { body = "?" } } })
      result, err = copilot():usage_report()
      assert.is_nil(result)
      assert.are.equal("protocol", err.kind)
      assert.are.equal(0, counted().device_codes)
    end)
  end)

  describe("waits", function()
    local directory

    before_each(function()
      directory = os.tmpname()
      os.remove(directory)
      assert(lfs.mkdir(directory))
    end)
    after_each(function() assert(os.execute("rm -rf '" .. directory .. "'")) end)

    local function limiter_of(options)
      options.token_path = options.token_path or directory .. "/token"
      return core.state(koine.copilot { model = "gpt-4.1", github_token = token, github_host = server.url,
        token_path = options.token_path, min_request_interval = options.min_request_interval,
        rate_limit = options.rate_limit, rate_limit_path = options.rate_limit_path,
        rate_limiter = options.rate_limiter }).rate_limiter
    end

    it("three seconds between two requests, with a file beside the token's", function()
      local limiter = limiter_of {}
      assert.are.equal(3.0, limiter.interval)
      assert.are.equal(directory .. "/copilot_rate_limit", limiter.path)
      assert.is_nil(limiter.window)
      assert(server:script "echo")
      local adapter = koine.copilot { model = "gpt-4.1", github_token = token, github_host = server.url,
        token_path = directory .. "/token", min_request_interval = 0.05 }
      wait.park = park
      assert(adapter:chat "Hi")
      local first = core.decode(assert(io.open(directory .. "/copilot_rate_limit")):read "a").last_request_at
      assert(adapter:list_models())
      local second = core.decode(assert(io.open(directory .. "/copilot_rate_limit")):read "a").last_request_at
      assert.is_true(second - first >= 0.05 - 1e-6)
      assert.are.equal("rw-------", lfs.attributes(directory .. "/copilot_rate_limit", "permissions"))
    end)

    it("as the options say", function()
      assert.is_false(limiter_of({ min_request_interval = 0 }).limits)
      assert.are.equal(0.5, limiter_of({ min_request_interval = 0.5 }).interval)
      assert.are.equal(5, limiter_of({ rate_limit = { requests = 5, period = 60 } }).window.requests)
      assert.are.equal(directory .. "/mine", limiter_of({ rate_limit_path = directory .. "/mine" }).path)
      local mine = { wait = function() return true end }
      assert.are.equal(mine, limiter_of { rate_limiter = mine })
      local homeless = koine.copilot { model = "gpt-4.1", key = "k" }
      assert.is_false(core.state(homeless).rate_limiter.limits) -- no place for a file, and none asked for
      assert.are.equal("rate_limit_path", raised(koine.copilot, { model = "gpt-4.1", min_request_interval = 1 }).field)
    end)

    it("once per chat, and not to log in", function()
      local waits = 0
      assert(server:script { { content = "a" }, { error = { status = 401 } }, { content = "b" }, { content = "c" } })
      local adapter = copilot { rate_limiter = { wait = function() waits = waits + 1 end } }
      assert(adapter:authenticate())
      assert.are.equal(0, waits)
      assert(adapter:chat "Hi")
      assert(adapter:chat "Hi")
      for _ in adapter:stream "Hi" do end
      assert.are.equal(3, waits)
      assert(adapter:list_models())
      assert.are.equal(4, waits)
      assert(adapter:usage_report())
      assert.are.equal(4, waits)
    end)
  end)
end)

-- The contract of adapters, behind Copilot's own headers, tokens and models.
do
  local server
  local closed = "http://127.0.0.1:1"

  setup(function() server = assert(koine.testing.start { copilot = { github_tokens = { "ghu_contract" } } }) end)
  teardown(function() server:stop() end)

  for api, supports in pairs {
    chat = { wire = true, errors = true, refusal = false },
    responses = { wire = true, errors = true, refusal = false },
  } do
    local function new(opts, url)
      local given = { model = "gpt-5-mini", api = api, github_host = url or server.url, github_token = "ghu_contract",
        min_request_interval = 0 }
      for option, value in pairs(opts or {}) do given[option] = value end
      return koine.copilot(given)
    end

    koine.contract.describe("koine.copilot, " .. api, {
      describe = describe, it = it, assert = assert, teardown = teardown,
      new = new,
      unreachable = function(opts) return new(opts, closed) end,
      script = function(turns)
        assert(server:reset())
        assert(new():authenticate())
        local played = {}
        for i, turn in ipairs(turns) do
          played[i] = {}
          for name, value in pairs(turn) do played[i][name] = value end
          if turn.content then played[i].rotate_ids = false end -- else no two answers are equal
        end
        assert(server:script(played))
      end,
      requests = function()
        local list = {}
        for _, request in ipairs(assert(server:requests())) do
          if request.method == "POST" then list[#list + 1] = request end
        end
        return list
      end,
      supports = supports,
    })
  end
end
