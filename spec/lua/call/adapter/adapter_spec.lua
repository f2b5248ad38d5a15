-- An adapter: a chat, its credentials, its end.

local adapter_kit = require "spec.lua.call.adapter.kit"
local koine = require "koine"
local raised = require "spec.support.raised"
local rows = require "koine.provider"

local body_of, last = adapter_kit.body_of, adapter_kit.last

-- More deltas than the bytes before the stall can hold.
local LONG_AND_STUCK = { content = ("word "):rep(100), chunk = 5, fault = { stall_after = 2000 } }

describe("an adapter", function()
  local kit = adapter_kit.new()
  local claude, gpt, requests = kit.claude, kit.gpt, kit.requests
  local server, environment

  setup(function() server = kit.start() end)
  teardown(kit.stop)
  before_each(function() environment = kit.begin() end)
  after_each(kit.restore)

  describe("chat", function()
    it("answers a string, on both wires", function()
      for _, adapter in ipairs { claude(), gpt() } do
        assert(server:script { { content = "Hello." } })
        local response = assert(adapter:chat("Hi", { max_tokens = 100 }))
        assert.are.equal("Hello.", response:text())
        assert.are.equal("end_turn", response.stop_reason)
        local request = last(requests())
        assert.are.same({}, request.problems)
        assert.are.equal("POST", request.method)
        local message = body_of(request).messages[1]
        assert.are.equal("user", message.role)
        assert.is_not_true(body_of(request).stream)
      end
    end)

    it("sends what the row and the key ask for", function()
      assert(server:script { { content = "a" }, { content = "b" } })
      assert(claude():chat "Hi")
      assert(gpt():chat "Hi")
      local list = requests()
      assert.are.equal("/v1/messages", list[1].path)
      assert.are.equal("test-key-1", list[1].headers["x-api-key"])
      assert.are.equal("2023-06-01", list[1].headers["anthropic-version"])
      assert.is_nil(list[1].headers.authorization)
      assert.are.equal("application/json", list[1].headers["content-type"])
      assert.are.equal("koine/" .. koine.version, list[1].headers["user-agent"])
      assert.are.equal("/chat/completions", list[2].path)
      assert.are.equal("Bearer test-key-2", list[2].headers.authorization)
    end)

    it("takes options per call over the constructor's over the row's", function()
      assert(server:script { { content = "a" }, { content = "b" }, { content = "c" } })
      assert(claude({ model = "claude-3-5-haiku-latest" }):chat "Hi")
      local adapter = claude { max_tokens = 100, temperature = 0.5 }
      assert(adapter:chat "Hi")
      assert(adapter:chat("Hi", { max_tokens = 200, system = "Be brief.", stop_sequences = { "X" } }))
      local list = requests()
      assert.are.equal(8192, body_of(list[1]).max_tokens)
      assert.are.equal(100, body_of(list[2]).max_tokens)
      assert.are.equal(0.5, body_of(list[2]).temperature)
      assert.are.equal(200, body_of(list[3]).max_tokens)
      assert.are.equal("Be brief.", body_of(list[3]).system)
      assert.are.same({ "X" }, body_of(list[3]).stop_sequences)
    end)

    it("keeps thinking off unless it is asked for, also where the model thinks by default", function()
      assert(server:script { { content = "a" }, { content = "b" }, { content = "c" }, { content = "d" } })
      assert(claude({ model = "claude-sonnet-5" }):chat "Hi")
      assert(claude({ model = "claude-sonnet-5", thinking = "max" }):chat "Hi")
      assert(claude({ model = "claude-sonnet-5", thinking = "max" }):chat("Hi", { thinking = false }))
      assert(claude({ model = "claude-sonnet-4-5", thinking = "low" }):chat("Hi", { thinking = false }))
      local list = requests()
      assert.are.same({ type = "disabled" }, body_of(list[1]).thinking)
      assert.are.same({ type = "adaptive" }, body_of(list[2]).thinking)
      assert.are.equal("max", body_of(list[2]).output_config.effort)
      assert.are.same({ type = "disabled" }, body_of(list[3]).thinking)
      assert.is_nil(body_of(list[4]).thinking)
    end)

    it("sends the model without its provider's prefix", function()
      assert(server:script { { content = "a" } })
      assert(claude({ model = "anthropic/claude-sonnet-4-5" }):chat "Hi")
      assert.are.equal("claude-sonnet-4-5", body_of(last(requests())).model)
    end)

    it("streams inside where a plain answer would be refused", function()
      assert(server:script { { content = "a" }, { content = "b" }, { content = "c" }, { content = "d" } })
      assert.are.equal("a", assert(claude():chat("Hi", { max_tokens = 21333 })):text())
      assert.are.equal("b", assert(claude():chat("Hi", { max_tokens = 21334 })):text())
      assert.are.equal("c", assert(claude():chat("Hi")):text()) -- 64,000 by the row
      local thinking = { budget_tokens = 20000 }
      assert.are.equal("d", assert(claude():chat("Hi", { max_tokens = 5000, thinking = thinking })):text())
      local list = requests()
      assert.is_not_true(body_of(list[1]).stream)
      for i = 2, 4 do assert.is_true(body_of(list[i]).stream) end
    end)

    it("hands deltas to on_delta, and only while it streams", function()
      assert(server:script { { content = "Hello, world." }, { content = "b" }, { content = "c" } })
      local text = {}
      local response = assert(claude():chat("Hi", { stream = true, on_delta = function(delta)
        if delta.type == "text_delta" then text[#text + 1] = delta.text end
      end }))
      assert.are.equal("Hello, world.", table.concat(text))
      assert.are.equal("Hello, world.", response:text())
      assert.is_true(#text > 1)
      assert.are.equal("b", assert(claude():chat("Hi", { stream = true })):text())
      local called = false
      assert(claude():chat("Hi", { max_tokens = 5, stream = false, on_delta = function() called = true end }))
      assert.is_false(called)
      local list = requests()
      assert.are.same({ true, true }, { body_of(list[1]).stream, body_of(list[2]).stream })
      assert.is_not_true(body_of(list[3]).stream)
    end)

    it("lets an error of on_delta through unchanged and ends the answer", function()
      assert(server:script { LONG_AND_STUCK, { content = "again" } })
      local adapter, mine = claude(), {}
      assert.are.equal(mine, raised(adapter.chat, adapter, "Hi", { on_delta = function() error(mine) end }))
      assert.are.equal("again", assert(adapter:chat "Hi"):text())
    end)

    it("raises for bad messages and options at the caller's line, before it looks for a key", function()
      local adapter = koine.anthropic { model = "m", base_url = server.url }
      local line = debug.getinfo(1, "l").currentline + 1
      local err = raised(function() adapter:chat("Hi", { max_tokns = 5 }) end)
      assert.is_truthy(tostring(err):find("adapter_spec.lua:" .. line .. ": max_tokns", 1, true))
      assert.are.equal("messages", raised(adapter.chat, adapter).field)
      assert.are.equal("messages", raised(adapter.chat, adapter, { role = "user", content = "Hi" }).field)
      assert.are.equal("ArgumentError", raised(adapter.chat, adapter, { { role = "system", content = "x" } }).class)
      assert.are.equal("ArgumentError", raised(adapter.chat, adapter, { { role = "user", content = { 5 } } }).class)
      assert.are.equal("ArgumentError", raised(adapter.chat, adapter, {}).class)
      assert.are.equal(0, #requests())
    end)

    it("goes on where the history is a round trip", function()
      local tool = { name = "add", description = "Adds.", parameters = { type = "object" }, run = print }
      for _, adapter in ipairs { claude(), gpt() } do
        assert(server:script { { content = { { type = "tool_use", name = "add", arguments = { a = 2 } } } },
          { content = "2" } })
        local history = { { role = "user", content = "Add." } }
        local response = assert(adapter:chat(history, { tools = { tool } }))
        assert.are.equal("tool_use", response.stop_reason)
        history[2] = response:message()
        history[3] = { role = "user", content = { { type = "tool_result", tool_use_id = response.tool_calls[1].id,
          content = "2" } } }
        assert.are.equal("2", assert(adapter:chat(history, { tools = { tool } })):text())
        assert.are.same({}, last(requests()).problems)
      end
    end)
  end)

  describe("credentials", function()
    it("come from the environment, at every attempt", function()
      assert(server:script { { content = "a" }, { content = "b" } })
      local adapter = koine.anthropic { model = "m", base_url = server.url }
      environment.ANTHROPIC_API_KEY = "env-key-1"
      assert(adapter:chat "Hi")
      environment.ANTHROPIC_API_KEY = "env-key-2"
      assert(adapter:chat "Hi")
      local list = requests()
      assert.are.equal("env-key-1", list[1].headers["x-api-key"])
      assert.are.equal("env-key-2", list[2].headers["x-api-key"])
    end)

    it("that are missing are an AuthenticationError that names the variable, before any traffic", function()
      local adapter = koine.anthropic { model = "m", base_url = server.url }
      assert.is_false(adapter:authenticated())
      for _, result in ipairs { table.pack(adapter:chat "Hi"), table.pack(adapter:open "Hi"),
        table.pack(adapter:authenticate()),
        table.pack(adapter:list_models()) } do
        assert.is_nil(result[1])
        assert.are.equal("AuthenticationError", result[2].class)
        assert.are.equal("anthropic", result[2].provider)
        assert.is_truthy(tostring(result[2]):find("ANTHROPIC_API_KEY", 1, true))
      end
      assert.are.equal("AuthenticationError", raised(adapter.stream, adapter, "Hi").class)
      assert.are.equal(0, #requests())
    end)

    it("of the environment that are unfit are an error that does not show them", function()
      local adapter = koine.anthropic { model = "m", base_url = server.url }
      environment.ANTHROPIC_API_KEY = "s3cret\n"
      local response, err = adapter:chat "Hi"
      assert.is_nil(response)
      assert.are.equal("AuthenticationError", err.class)
      assert.is_truthy(tostring(err):find("ANTHROPIC_API_KEY", 1, true))
      assert.is_nil(tostring(err):find("s3cret", 1, true))
      assert.are.equal(0, #requests())
    end)

    it("may come from a function, asked for every attempt", function()
      assert(server:script { { error = { status = 500 } }, { content = "a" } })
      local n = 0
      local adapter = claude { key = function()
        n = n + 1
        return "key-" .. n
      end }
      assert.is_true(adapter:authenticated())
      assert.are.equal(0, n)
      assert(adapter:chat "Hi")
      local list = requests()
      assert.are.same({ "key-1", "key-2" }, { list[1].headers["x-api-key"], list[2].headers["x-api-key"] })
    end)

    it("from a function may fail", function()
      local response, err = claude({ key = function() return nil, "the vault is shut" end }):chat "Hi"
      assert.is_nil(response)
      assert.are.equal("AuthenticationError", err.class)
      assert.is_truthy(tostring(err):find("the vault is shut", 1, true))
      local mine = koine.errors.new { kind = "connect", message = "no vault", retryable = false }
      response, err = claude({ key = function() return nil, mine end }):chat "Hi"
      assert.is_nil(response)
      assert.are.equal(mine, err)
      for given, words in pairs { ["sk-0\n"] = "one that ends with a newline", ["s\nk"] = "control characters",
        [" sk"] = "white space around", [""] = "an empty string", [5] = "a number" } do
        response, err = claude({ key = function() return given end }):chat "Hi"
        assert.is_nil(response)
        assert.are.same({ "auth", "anthropic" }, { err.kind, err.provider })
        local begins = "^Anthropic: the function returned an unfit value: key: .*"
        assert.is_truthy(err.message:find(begins .. words), err.message)
      end
      assert.are.equal(0, #requests())
    end)

    it("and a timeout below a millisecond is told as it is", function()
      assert(server:script { { content = "late", fault = { delay_ms = 200 } } })
      local _, err = claude({ timeout = 0.0004, retry = false }):chat "Hi"
      assert.are.equal("timeout", err.kind)
      assert.is_truthy(err.message:find("within 0.0004", 1, true), err.message)
    end)

    it("from a function that raises: the error goes on unchanged, with its traceback", function()
      local adapter = claude { key = function() error({ "mine" }, 0) end }
      for _, method in ipairs { "chat", "open", "stream", "authenticate", "list_models" } do
        local ok, err = pcall(adapter[method], adapter, "Hi")
        assert.are.same({ false, { "mine" } }, { ok, err }, method)
      end
      local broken = claude { key = function() error "the vault burns" end }
      local _, trace = xpcall(broken.chat, debug.traceback, broken, "Hi")
      assert.is_truthy(trace:find("adapter_spec.lua:%d+: the vault burns\n"), trace)
    end)

    it("are optional where the server is one's own", function()
      assert(server:script { { content = "a" }, { content = "b" } })
      assert(koine.llamacpp({ model = "m", base_url = server.url }):chat "Hi")
      assert(koine.llamacpp({ model = "m", base_url = server.url, key = "own-key" }):chat "Hi")
      local list = requests()
      assert.is_nil(list[1].headers.authorization)
      assert.are.equal("Bearer own-key", list[2].headers.authorization)
      assert.is_true(koine.llamacpp({ model = "m" }):authenticated())
    end)

    it("go out as each provider wants them", function()
      local expected = { azure = { "api-key", "k123" }, anthropic = { "x-api-key", "k123" },
        azure_claude = { "x-api-key", "k123" },
        minimax = { "x-api-key", "k123" }, gemini = { "x-goog-api-key", "k123" },
        vertex = { "x-goog-api-key", "k123" }, vertex_claude = { "x-goog-api-key", "k123" } }
      local request = { model = "m", stream = false, messages = { { role = "user", content = "Hi" } } }
      for _, name in ipairs(rows.names) do
        local adapter = koine[name] { model = "m", base_url = server.url .. "/base", key = "k123" }
        local path = "/base" .. select(5, adapter:render(request)):match "^[^?]*"
        assert(server:script { { content = "a", path = path } })
        if rows.load(name).chat == false then
          local ok, err = pcall(adapter.chat, adapter, "Hi")
          assert.are.same({ false, "NotImplementedError" }, { ok, err.class })
          path = "/base/embeddings"
          assert(server:script { { path = path, reply = { body = { data = { { embedding = { 1 } } } } } } })
          assert.are.equal(1, assert(adapter:embed "Hi").dimensions)
        else
          assert.are.equal("a", assert(adapter:chat "Hi"):text())
        end
        local received, way = last(requests()), expected[name] or { "authorization", "Bearer k123" }
        assert.are.equal(way[2], received.headers[way[1]], name)
        assert.are.equal(path, received.path)
      end
    end)

    it("never show in what a provider echoes", function()
      assert(server:script { { content = "a", fault = { echo_authorization = true } } })
      local adapter = claude { key = "sk-very-secret-1", retry = false }
      local response, err = adapter:chat "Hi"
      assert.is_nil(response)
      assert.are.equal("AuthenticationError", err.class)
      assert.is_nil(tostring(err):find("very-secret", 1, true))
      assert.is_nil((err.raw or ""):find("very-secret", 1, true))
      assert.is_nil(tostring(adapter):find("very-secret", 1, true))
    end)

    it("are checked and forgotten without network", function()
      local adapter = claude()
      assert.is_true(adapter:authenticate())
      assert.is_true(adapter:authenticated())
      assert.is_nil(adapter:logout())
      assert.is_nil(adapter:usage_report())
      assert.are.equal(0, #requests())
    end)
  end)

  describe("facts", function()
    it("come from the model's row, or from the caller's quirks", function()
      assert.are.equal(200000, claude():max_context_tokens())
      assert.is_nil(claude({ model = "unheard-of" }):max_context_tokens())
      local adapter = claude { model = "unheard-of", quirks = { context_window = 32768 } }
      assert.are.equal(32768, adapter:max_context_tokens())
    end)
  end)

  describe("closed", function()
    it("takes no more chats; streams that are open go on", function()
      assert(server:script { { content = "Hello." } })
      local adapter = claude()
      local stream = assert(adapter:open "Hi")
      adapter:close()
      adapter:close()
      assert.is_true(adapter:closed())
      assert.are.equal("Hello.", assert(stream:response()):text())
      for _, method in ipairs { "chat", "open", "stream", "count_tokens", "list_models" } do
        assert.are.equal("adapter", raised(adapter[method], adapter, "Hi").field)
      end
      assert.are.equal(1, #assert(server:requests()))
    end)

    it("makes no further attempt for a list", function()
      assert(server:script { { path = "/v1/models", error = { status = 529 } }, { path = "/v1/models", content = "" } })
      local adapter
      adapter = claude { on_retry = function() adapter:close() end }
      local models, err = adapter:list_models()
      assert.is_nil(models)
      assert.are.equal("cancelled", err.kind)
    end)

    it("happens at the end of its block", function()
      local kept
      do
        local adapter <close> = claude()
        kept = adapter
        assert.is_false(adapter:closed())
      end
      assert.is_true(kept:closed())
    end)
  end)
end)
