local core = require "koine.core"
local koine = require "koine"
local raised = require "spec.support.raised"
local retry = require "koine.net.retry"
local wait = require "koine.task.wait"

describe("models", function()
  local server
  local park, random = wait.park, retry.random
  local claude, gpt

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function()
    assert(server:reset())
    claude = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "test-key-1" }
    gpt = koine.openai { model = "gpt-4o", api = "chat", base_url = server.url, key = "test-key-2" }
    retry.random = function() return 0 end
    wait.park = function(token, seconds) return type(token) ~= "table" and park(token, seconds) end
  end)

  after_each(function() wait.park, retry.random = park, random end)

  local function replying(path, ...)
    local answers = {}
    for i, reply in ipairs { ... } do answers[i] = { path = path, reply = reply } end
    assert(server:script(answers))
  end

  describe("list_models", function()
    it("gives complete records on both wires, all pages", function()
      for _, adapter in ipairs { claude, gpt } do
        local list = assert(adapter:list_models())
        assert.are.equal(25, #list)
        local seen = {}
        for _, model in ipairs(list) do
          assert.is_nil(seen[model.id])
          seen[model.id] = true
          assert.is_string(model.id)
          assert.is_string(model.name)
          assert.are.equal("integer", math.type(model.max_context_tokens))
          for _, flag in ipairs { "supports_vision", "supports_tool_use", "supports_streaming" } do
            assert.is_boolean(model[flag])
          end
        end
      end
      local requests = assert(server:requests())
      assert.are.equal("GET", requests[1].method)
      assert.are.equal("test-key-1", requests[1].headers["x-api-key"])
      assert.are.equal("Bearer test-key-2", requests[#requests].headers.authorization)
    end)

    it("asks again for a list that ended too early, not for one that is none", function()
      replying("/models", { body = '{"data":[{"id":"gpt-4o"' }, { body = { data = core.array { { id = "gpt-4o" } } } })
      assert.are.equal("gpt-4o", assert(gpt:list_models())[1].id)
      replying("/models", { body = "no list" })
      local list, err = gpt:list_models()
      assert.is_nil(list)
      assert.are.same({ "protocol", 1 }, { err.kind, #err.attempts })
    end)

    it("follows pages", function()
      replying("/v1/models", { body = { data = core.array { { id = "a b" } }, has_more = true, last_id = "a b" } },
        { body = { data = core.array { { id = "c" } }, has_more = false, last_id = "c" } })
      local list = assert(claude:list_models())
      assert.are.same({ "a b", "c" }, { list[1].id, list[2].id })
      local requests = assert(server:requests())
      assert.are.equal("/v1/models?limit=1000", requests[1].target)
      assert.are.equal("/v1/models?limit=1000&after_id=a%20b", requests[2].target)
    end)

    it("takes a list for whole on the wires that know no pages", function()
      replying("/models", { body = { data = core.array { { id = "a" } }, has_more = true, last_id = "a" } })
      assert.are.equal(1, #assert(gpt:list_models()))
      assert.are.equal(1, #assert(server:requests()))
    end)

    it("reads what providers say, and knows the rest from the row", function()
      replying("/models", { body = { data = core.array {
        { id = "gpt-4o" },
        { id = "x", name = "X", context_length = 1000,
          architecture = { input_modalities = core.array { "text", "image" } },
          supported_parameters = core.array { "tools" } },
        { id = "y", max_context_length = 2000, capabilities = { vision = false, function_calling = false } },
        { id = "z", context_window = 3000.0, architecture = { input_modalities = core.array { "text" } },
          supported_parameters = core.array { "seed" } },
        { id = "v", max_model_len = 4000 }, { id = "l", meta = { n_ctx_train = 5000 } },
        { id = "a", display_name = "A", max_input_tokens = 6000,
          capabilities = { image_input = { supported = true } } },
      } } })
      local list = assert(gpt:list_models())
      assert.are.equal(7, #list)
      local function facts(i)
        local model = list[i]
        return { model.id, model.name, model.max_context_tokens, model.supports_vision, model.supports_tool_use }
      end
      assert.are.same({ "gpt-4o", "gpt-4o", 128000, true, true }, facts(1))
      assert.are.equal(2.5, list[1].pricing.input_per_mtok)
      assert.are.equal(1.25, list[1].pricing.cache_read_per_mtok)
      assert.are.same({ "x", "X", 1000, true, true }, facts(2))
      assert.is_nil(list[2].pricing)
      assert.are.same({ "y", "y", 2000, false, false }, facts(3))
      assert.are.same({ "z", "z", 3000, false, false }, facts(4))
      assert.are.equal(4000, list[5].max_context_tokens)
      assert.are.equal(5000, list[6].max_context_tokens)
      assert.are.same({ "a", "A", 6000, true, true }, facts(7))
    end)

    it("accepts a bare array and leaves out entries without an id", function()
      replying("/models", { body = core.array { { id = "a" }, { name = "b" }, "c",
        core.null, { id = "" }, { id = "d" } } })
      local list = assert(gpt:list_models())
      assert.are.same({ "a", "d" }, { list[1].id, list[2].id })
      assert.are.equal(2, #list)
    end)

    it("retries like a chat and reports what stays", function()
      replying("/models", { status = 500, body = "" }, { body = { data = core.array { { id = "a" } } } })
      assert.are.equal(1, #assert(gpt:list_models()))
      replying("/models", { status = 401, body = { error = { message = "who are you" } } })
      local list, err = gpt:list_models()
      assert.is_nil(list)
      assert.are.equal("AuthenticationError", err.class)
      assert.are.equal("who are you", err.message)
      assert.are.equal("openai", err.provider)
      assert.are.equal(1, #err.attempts)
      replying("/models", { status = 401, body = { error = { message = "test-key-2 is no good" } } })
      list, err = gpt:list_models()
      assert.is_nil(list)
      assert.are.equal("[redacted] is no good", err.message)
      assert.is_nil(err.raw:find("test-key-2", 1, true))
      replying("/models", { body = "no JSON" })
      list, err = gpt:list_models()
      assert.is_nil(list)
      assert.are.equal("protocol", err.kind)
    end)

    it("names the provider that cannot be reached", function()
      local list, err = koine.vllm({ model = "m", base_url = "http://127.0.0.1:1", retry = false }):list_models()
      assert.is_nil(list)
      assert.are.equal("ConnectionError", err.class)
      assert.are.equal("vllm", err.provider)
    end)

    it("is not implemented where there is no list", function()
      local adapter = koine.perplexity { model = "sonar", key = "k" }
      local err = raised(adapter.list_models, adapter)
      assert.are.equal("NotImplementedError", err.class)
      assert.are.equal("Perplexity", err.adapter)
      assert.are.equal("list_models", err.method)
    end)
  end)

  describe("count_tokens", function()
    local tool = { name = "add", description = "Adds.", parameters = { type = "object" } }

    it("asks the provider", function()
      local tokens = assert(claude:count_tokens("Hello.", { system = "Be brief.", tools = { tool } }))
      assert.are.equal("integer", math.type(tokens))
      assert.is_true(tokens > 0)
      local requests = assert(server:requests())
      local request = requests[#requests]
      assert.are.equal("/v1/messages/count_tokens", request.path)
      assert.are.same({}, request.problems)
      local body = assert(core.decode(request.body))
      assert.is_nil(body.max_tokens)
      assert.is_nil(body.stream)
      assert.are.equal("add", body.tools[1].name)
    end)

    it("asks OpenAI on its Responses wire", function()
      local counting = koine.openai { model = "gpt-5", base_url = server.url, key = "test-key-2" }
      assert.are.equal("integer", math.type(counting:count_tokens("Hello.", { tools = { { name = "add" } },
        system = "Be brief.", max_tokens = 20, thinking = "low" })))
      local request = assert(server:requests())[1]
      assert.are.equal("/responses/input_tokens", request.path)
      assert.are.same({}, request.problems)
      assert.are.equal("Be brief.", core.decode(request.body).instructions)
    end)

    it("is -1 where the provider does not count", function()
      assert.are.equal(-1, gpt:count_tokens "Hello.")
      assert.are.equal(0, #assert(server:requests()))
    end)

    it("reports failures and odd answers", function()
      replying("/v1/messages/count_tokens", { status = 400, body = { error = { message = "bad" } } })
      local tokens, err = claude:count_tokens "Hello."
      assert.is_nil(tokens)
      assert.are.equal("RequestError", err.class)
      replying("/v1/messages/count_tokens", { body = { input_tokens = "many" } })
      tokens, err = claude:count_tokens "Hello."
      assert.is_nil(tokens)
      assert.are.equal("protocol", err.kind)
    end)

    it("raises for wrong use", function()
      assert.are.equal("messages", raised(claude.count_tokens, claude, 5).field)
      assert.are.equal("system", raised(claude.count_tokens, claude, "x", { sistem = "y" }).expected)
    end)
  end)
end)
