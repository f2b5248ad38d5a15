-- koine.copilot: the list of models, and the wire format that each is spoken to in.

local core = require "koine.core"
local copilot_kit = require "spec.lua.provider.copilot.kit"
local api_token = require "koine.provider.auth.copilot.api_token"
local raised = require "spec.support.raised"
local toy_host = require "spec.lua.task.toy_host"
local wait = require "koine.task.wait"

local TOOL = copilot_kit.TOOL

describe("koine.copilot", function()
  local kit = copilot_kit.new "models"
  local chats, copilot, counted, sent = kit.chats, kit.copilot, kit.counted, kit.sent
  local park, clock = wait.park, api_token.clock
  local server

  setup(function() server = kit.start() end)
  teardown(kit.stop)
  before_each(function() kit.begin() end)
  after_each(kit.restore)

  local function with_models(...)
    assert(server:copilot { models = { ... } })
  end

  it("answers with a warning where the model takes no effort, and leaves it out", function()
    local function effort_of(model, thinking)
      assert(server:script "echo")
      local adapter, before = copilot { model = model, retry = false }, #kit.chats()
      local response = assert(adapter:chat("Hi", { thinking = thinking }))
      assert.are.equal("You said: Hi", response:text())
      local body = kit.last_chat().body
      local said = body.reasoning_effort or body.reasoning and body.reasoning.effort
      assert.are.equal(said and 0 or 1, #response.warnings)
      if not said then
        assert.are.same({ "unsupported_option", "thinking" }, { response.warnings[1].code, response.warnings[1].field })
      end
      return said, #kit.chats() - before, adapter
    end
    -- the row knows
    for _, thinking in ipairs { "high", { budget_tokens = 5000 } } do
      assert.are.equal(1, select(2, effort_of("gpt-4.1", thinking)))
    end
    assert.are.equal(1, select(2, effort_of("claude-sonnet-4.5", "low")))
    assert.are.equal("low", (effort_of("gpt-5-mini", "low")))
    -- an unknown model: the refusal says it, once per adapter, plain and streamed, on either wire
    with_models({ id = "newest", endpoints = { "/chat/completions" } },
      { id = "gpt-5-plain", endpoints = { "/responses" } }, { id = "moved", endpoints = { "/responses" } },
      { id = "gpt-4.1", endpoints = { "/chat/completions" }, efforts = { "low" } })
    for _, model in ipairs { "newest", "gpt-5-plain" } do
      local _, requests, adapter = effort_of(model, "high")
      assert.are.equal(2, requests)
      local before = #kit.chats()
      local response = assert(adapter:chat("Hi", { thinking = "low", stream = true }))
      assert.are.same({ 1, 1 }, { #kit.chats() - before, #response.warnings })
    end
    assert.are.equal(3, select(2, effort_of("moved", "high"))) -- the wrong wire, the effort, the answer
    -- the list says it, also against the row
    local adapter = copilot { model = "newest" }
    assert(adapter:list_models())
    local before = #kit.chats()
    assert.are.equal(1, #assert(adapter:chat("Hi", { thinking = "low" })).warnings)
    assert.are.equal(1, #kit.chats() - before)
    adapter = copilot()
    assert(adapter:list_models())
    assert.are.same({}, assert(adapter:chat("Hi", { thinking = "low" })).warnings)
    assert.are.equal("low", kit.last_chat().body.reasoning_effort)
    assert(server:copilot { models = require("koine.testing.loopback.copilot.data").models })
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
      api_token.clock = function() return clock() + 1801 end
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
      assert(server:copilot { models = require("koine.testing.loopback.copilot.data").models })
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
      assert(server:copilot { models = require("koine.testing.loopback.copilot.data").models })
    end)

    it("anew with the messages as they were when the call began", function()
      with_models({ id = "newest", endpoints = { "/responses" } })
      assert(server:script "echo")
      local messages = { { role = "user", content = { { type = "text", text = "Hi" },
        { type = "image", source = "iVBORw0KGgo=", media_type = "image/png" } } } }
      local stream <close> = assert(copilot({ model = "newest", retry = false }):open(messages))
      messages[1].role, messages[1].content = "assistant", "Changed."
      assert.are.equal("You said: Hi", assert(stream:response()):text())
      local seen = kit.chats()
      assert.are.same({ "/chat/completions", "/responses" }, paths())
      for _, chat in ipairs(seen) do
        assert.are.same({ "user", "true" }, { chat.headers["x-initiator"], chat.headers["copilot-vision-request"] })
      end
      assert(server:copilot { models = require("koine.testing.loopback.copilot.data").models })
    end)

    -- The texts of the user in the chats that were made.
    local function asked()
      local list = {}
      for i, chat in ipairs(chats()) do
        list[i] = core.encode(chat.body.messages or chat.body.input):match "Original" or "Changed"
      end
      return list
    end

    it("as the option api says, with the messages as they were before the key was asked for", function()
      assert(server:script "echo")
      local messages = { { role = "user", content = "Original" } }
      local adapter = copilot { model = "gpt-5-mini", api = "responses", key = function()
        messages[1].content = "Changed."
        return "ghu_key"
      end }
      adapter:chat(messages) -- the key is refused, twice
      assert.are.same({ "/responses", "/responses" }, paths())
      assert.are.same({ "Original", "Original" }, asked())
    end)

    it("anew with the messages as they were also where the effort was taken out before", function()
      with_models({ id = "newest", endpoints = { "/chat/completions", "/responses" }, efforts = { "low" } })
      assert(server:script { { error = { status = 400, code = "invalid_reasoning_effort", message = "no effort" } },
        { error = { status = 404, code = "unsupported_api_for_model", message = "not here" } }, { content = "Fine." } })
      local messages, requests = { { role = "user", content = "Original" } }, 0
      local adapter = copilot { model = "newest", thinking = "low", retry = { max = 2 }, on_request = function()
        requests = requests + 1
        if requests == 2 then messages[1].content = "Changed." end
      end }
      adapter:chat(messages)
      assert.are.same({ "/chat/completions", "/chat/completions", "/responses" }, paths())
      assert.are.same({ "Original", "Original", "Original" }, asked())
      assert(server:copilot { models = require("koine.testing.loopback.copilot.data").models })
    end)

    it("without the effort that was taken out, where another chat has learnt the format meanwhile", function()
      with_models({ id = "gpt-5-x", endpoints = { "/chat/completions", "/responses" }, efforts = { "low" } })
      local effort = { error = { status = 400, code = "invalid_reasoning_effort", message = "no effort" } }
      local elsewhere = { error = { status = 404, code = "unsupported_api_for_model", message = "not here" } }
      assert(server:script { effort, elsewhere, { content = "Other." }, { content = "Fine." } })
      local adapter, other
      adapter = copilot { model = "gpt-5-x", thinking = "low", retry = { max = 2 }, on_response = function()
        if other then return end
        other = true
        other = assert(adapter:chat "Another."):text()
      end }
      assert.are.equal("Fine.", assert(adapter:chat "Hi"):text())
      assert.are.equal("Other.", other)
      assert.are.same({ "/responses", "/responses", "/chat/completions", "/chat/completions" }, paths())
      assert.is_nil(kit.last_chat().body.reasoning_effort)
      assert(server:copilot { models = require("koine.testing.loopback.copilot.data").models })
    end)

    it("as the option api says, also of what only that one carries", function()
      local document = { type = "document", source = "https://example.com/a.pdf", media_type = "application/pdf" }
      local messages = { { role = "user", content = { { type = "text", text = "Hi" }, document } } }
      assert.are.equal("/responses", sent({ model = "gpt-5-mini", api = "responses" }, messages).path)
      local err = raised(sent, { model = "gpt-4.1", api = "chat" }, messages)
      assert.are.equal("ArgumentError", err.class)
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
      assert(server:copilot { models = require("koine.testing.loopback.copilot.data").models })
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
      assert(server:copilot { models = require("koine.testing.loopback.copilot.data").models })
    end)
  end)

  describe("lists models", function()
    local function listed(models, options)
      assert(server:copilot { models = models or require("koine.testing.loopback.copilot.data").models })
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
end)
