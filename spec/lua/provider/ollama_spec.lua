-- Ollama's native API: where the server is, who needs a key, what it says of its models, downloads, what goes back, and
-- what an answer says of a history that did not fit.

local core = require "koine.core"
local environment = require "spec.support.environment"
local koine = require "koine"
local loopback = require "spec.support.loopback"
local raised = require "spec.support.raised"

local address = require("koine.provider.auth.ollama").address

describe("koine.ollama", function()
  local kit = loopback.new()
  local last_request = kit.last
  local adapter = kit.maker("ollama", { model = "loopback-01" })
  local server, variables

  setup(function() server = kit.start() end)
  teardown(kit.stop)
  before_each(function()
    kit.reset()
    variables = environment.replace({}, "^OLLAMA_")
  end)
  after_each(environment.restore)

  describe("finds its server", function()
    local CASES = {
      ["1.2.3.4"] = "http://1.2.3.4:11434", ["1.2.3.4:1234"] = "http://1.2.3.4:1234",
      ["example.com"] = "http://example.com:11434", ["example.com:80"] = "http://example.com",
      [":1234"] = "http://127.0.0.1:1234", ["0.0.0.0"] = "http://127.0.0.1:11434",
      ["0.0.0.0:8080"] = "http://127.0.0.1:8080", ["[::]"] = "http://[::1]:11434",
      ["[::1]:1337"] = "http://[::1]:1337", ["::1"] = "http://[::1]:11434",
      [" ' 1.2.3.4 ' "] = "http://1.2.3.4:11434", ['"1.2.3.4"'] = "http://1.2.3.4:11434",
      ["http://1.2.3.4"] = "http://1.2.3.4", ["http://1.2.3.4:4321"] = "http://1.2.3.4:4321",
      ["https://1.2.3.4"] = "https://1.2.3.4", ["https://example.com/ollama/"] = "https://example.com/ollama",
      ["https://ollama.com:443"] = "https://ollama.com", ["ollama.com"] = "https://ollama.com",
      ["example.com:66000"] = "http://example.com:11434",
    }
    for value, expected in pairs(CASES) do
      it("at " .. value, function() assert.are.equal(expected, address(value)) end)
    end

    it("at none of these", function()
      for _, value in ipairs { "ftp://a", "a b", "user:word@host", "http://a?b", "g:h:i", "http://a/b c" } do
        assert.is_nil(address(value), value)
      end
    end)

    it("where the environment says, unless the caller does", function()
      variables.OLLAMA_HOST = server.url
      assert(server:script { { content = "ok" } })
      assert.are.equal("ok", assert(koine.ollama { model = "m", retry = false }:chat "Hi"):text())
      variables.OLLAMA_HOST = "127.0.0.1:1"
      assert(server:script { { content = "ok" } })
      assert.are.equal("ok", assert(adapter():chat "Hi"):text())
    end)

    it("or says which variable is wrong", function()
      variables.OLLAMA_HOST = "user:hunter2hunter2@host"
      local err = raised(koine.ollama, { model = "m" })
      assert.are.same({ "ArgumentError", "OLLAMA_HOST" }, { err.class, err.field })
      assert.is_nil(err.message:find "hunter2")
    end)
  end)

  describe("sends a key", function()
    local function key_sent(options)
      assert(server:script { { content = "ok" } })
      assert(adapter(options):chat "Hi")
      return last_request().headers.authorization
    end

    it("where the caller gives one, and no other to one's own server", function()
      variables.OLLAMA_API_KEY = "key-of-the-cloud"
      assert.is_nil(key_sent())
      assert.are.equal("Bearer own-key", key_sent { key = "own-key" })
      assert.are.equal("Bearer f-key", key_sent { key = function() return "f-key" end })
      assert.are.equal("Bearer by-hand", key_sent { headers = { authorization = "Bearer by-hand" } })
    end)

    it("of the environment to the cloud, which asks for one", function()
      local cloud = koine.ollama { model = "m", base_url = "https://ollama.com", retry = false }
      koine.testing.offline(true)
      local _, err = cloud:chat "Hi"
      assert.are.same({ "auth", false }, { err.kind, cloud:authenticated() })
      assert.is_truthy(err.message:find("OLLAMA_API_KEY", 1, true))
      assert.is_nil((cloud:authenticate()))
      variables.OLLAMA_API_KEY = "bad \n key"
      _, err = cloud:chat "Hi"
      assert.are.equal("auth", err.kind)
      variables.OLLAMA_API_KEY = "key-of-the-cloud"
      assert.are.same({ true, true }, { cloud:authenticated(), (cloud:authenticate()) })
      _, err = cloud:chat "Hi"
      koine.testing.offline(false)
      assert.are.equal("connect", err.kind)
      assert.is_true(adapter():authenticated())
    end)
  end)

  describe("asks about models", function()
    it("as a list", function()
      local list = assert(adapter():list_models())
      assert.are.equal(25, #list)
      assert.are.same({ "loopback-01", "loopback-01", 0 }, { list[1].id, list[1].name, list[1].max_context_tokens })
    end)

    it("one by one: the context is the model's own", function()
      local one = assert(adapter():model_info())
      assert.are.same({ "loopback-01", 40960, true, false }, { one.id, one.max_context_tokens, one.supports_tool_use,
        one.supports_vision })
      assert.are.equal("loopback-02", assert(adapter():model_info "loopback-02").id)
      local none, err = adapter():model_info "other"
      assert.is_nil(none)
      assert.are.same({ "not_found", "ollama" }, { err.kind, err.provider })
      assert.are.equal("model", raised(adapter().model_info, adapter(), 7).field)
    end)

    it("one by one: with which context it runs, where it is loaded", function()
      assert.are.same({ loaded_context = 4096 }, assert(adapter():model_info()).extra)
      assert.is_nil(assert(adapter():model_info "loopback-02").extra)
      for _, reply in ipairs { { status = 404, body = "404 page not found" }, { body = "[]" },
        { body = '{"models":[7,{"name":"loopback-01"},{"model":"x","context_length":5}]}' },
        { body = '{"models":[{"model":"loopback-01","context_length":"many"}]}' } } do
        assert(server:script { { path = "/api/ps", reply = reply } })
        local one = assert(adapter():model_info())
        assert.are.same({ 40960 }, { one.max_context_tokens, one.extra })
      end
      assert(server:script { { path = "/api/ps",
        reply = { body = '{"models":[{"name":"loopback-01:latest","context_length":8192}]}' } } })
      assert.are.same({ loaded_context = 8192 }, assert(adapter():model_info()).extra)
    end)

    it("in any of the shapes that there are", function()
      local function told(body)
        assert(server:script { { path = "/api/show", reply = { body = body } } })
        return assert(adapter():model_info "m").max_context_tokens
      end
      assert.are.equal(8192, told '{"model_info":{"llama.context_length":8192,"llama.block_count":4}}')
      assert.are.equal(7, told '{"model_info":{"general.architecture":"a","a.context_length":7,"b.context_length":9}}')
      assert.are.equal(0, told '{"model_info":{}}')
      assert.are.equal(0, told '{"capabilities":["embedding"]}')
    end)

    it("and others say that they cannot", function()
      for _, method in ipairs { "model_info", "pull" } do
        local other = koine.compatible { model = "m", base_url = server.url }
        local err = raised(other[method], other, "m")
        assert.are.same({ "NotImplementedError", method }, { err.class, err.method })
      end
    end)
  end)

  describe("downloads a model", function()
    it("and tells how far it is", function()
      local steps, bytes = {}, 0
      assert.is_true(assert(adapter():pull("loopback-01", { on_progress = function(progress)
        steps[#steps + 1] = progress.status
        bytes = bytes + (progress.delta or 0)
      end })))
      assert.are.same({ "pulling manifest", "pulling 000000000000", "pulling 000000000000", "pulling 000000000000",
        "verifying sha256 digest", "writing manifest", "success" }, steps)
      assert.are.equal(1000000, bytes)
      local request, body = last_request()
      assert.are.equal("/api/pull", request.path)
      assert.are.same({ model = "loopback-01", stream = true }, body)
      assert.is_true(assert(adapter():pull()))
    end)

    it("whose pieces interleave", function()
      local lines = { '{"status":"pulling a","digest":"sha256:a","total":10}',
        '{"status":"pulling a","digest":"sha256:a","total":10,"completed":4}',
        '{"status":"pulling b","digest":"sha256:b","total":6,"completed":6}',
        '{"status":"pulling c","digest":"sha256:c","total":3,"completed":0}',
        '{"status":"pulling a","digest":"sha256:a","total":10,"completed":10}',
        '{"status":"pulling c","digest":"sha256:c","total":3,"completed":3}', '{"status":"success"}' }
      assert(server:script { { path = "/api/pull", reply = { body = table.concat(lines, "\n") .. "\n" } } })
      local deltas = {}
      assert(adapter():pull("m", { on_progress = function(progress) deltas[#deltas + 1] = progress.delta or "-" end }))
      assert.are.same({ "-", 4, 6, 0, 6, 3, "-" }, deltas)
    end)

    it("and takes from a line what has the type it should have", function()
      local lines = { '{"status":7,"digest":"a","total":"x","completed":1.0}',
        '{"digest":false,"total":1.5,"completed":[]}', '{"status":"success"}' }
      assert(server:script { { path = "/api/pull", reply = { body = table.concat(lines, "\n") } } })
      local steps = {}
      assert(adapter():pull("m", { on_progress = function(step) steps[#steps + 1] = step end }))
      assert.are.same({ { digest = "a", completed = 1, delta = 1 }, {}, { status = "success" } }, steps)
    end)

    it("or says why not", function()
      local _, err = adapter():pull "other"
      assert.are.same({ "not_found", 404, false, "pull model manifest: file does not exist" },
        { err.kind, err.status_code, err.retryable, err.message })
      local begun, seen = '{"status":"pulling a","digest":"sha256:a","total":10,"completed":4}\n', 0
      assert(server:script { { path = "/api/pull", reply = { body = begun .. '{"error":"disk full"}\n' } } })
      _, err = adapter():pull("m", { on_progress = function(step) seen = seen + step.delta end })
      assert.are.same({ "server", "disk full", 4 }, { err.kind, err.message, seen })
      assert(server:script { { path = "/api/pull", reply = { body = '{"status":"pulling manifest"}\n' } } })
      _, err = adapter():pull "m"
      assert.are.equal("stream_truncated", err.kind)
      assert(server:script { { path = "/api/pull", error = { status = 400, message = "invalid model name" } } })
      _, err = adapter():pull "m"
      assert.are.same({ "invalid_request", "invalid model name" }, { err.kind, err.message })
      assert.are.equal("on_progres", raised(adapter().pull, adapter(), "m", { on_progres = print }).field)
      local function boom() error("boom", 0) end
      assert.are.equal("boom", select(2, pcall(adapter().pull, adapter(), "loopback-01", { on_progress = boom })))
    end)
  end)

  describe("downloads a model in the time", function()
    local SLOW = { { path = "/api/pull", reply = { body = '{"status":"pulling manifest"}\n{"status":"success"}\n' },
      fault = { delay_ms = 400 } } }

    it("that it needs, whatever the adapter's total is", function()
      for _, opts in ipairs { {}, { timeout = 0 }, { timeout = 30 } } do
        assert(server:script(SLOW))
        assert.is_true(assert(adapter({ timeout = 0.1 }):pull("m", opts)))
      end
    end)

    it("that the option says, and that the adapter's other timeouts say", function()
      for code, case in pairs { total = { {}, { timeout = 0.1 } },
        first_byte = { { timeout = { first_byte = 0.1 } } } } do
        assert(server:script(SLOW))
        local _, err = adapter(case[1]):pull("m", case[2])
        assert.are.same({ "timeout", code }, { err.kind, err.code })
      end
      for _, bad in ipairs { -1, "5", { total = 5 } } do
        assert.are.equal("timeout", raised(adapter().pull, adapter(), "m", { timeout = bad }).field)
      end
    end)
  end)

  it("reads a line of nine MiB", function()
    local text = ("0123456789abcdef"):rep(9 << 16)
    assert(server:script { { reply = { body = ('{"model":"m","message":{"content":"%s"},"done":false}\n'):format(text)
      .. '{"model":"m","done":true,"done_reason":"stop"}\n' } } })
    assert.is_true(text == assert(adapter():chat("Hi", { stream = true })):text())
  end)

  describe("thinks", function()
    it("when asked to, else not; a model that cannot is asked no more", function()
      local one = adapter()
      assert(server:script { { error = { status = 400, message = '"loopback-01" does not support thinking' } },
        { content = "ok" }, { content = "ok" }, { content = "ok" } })
      local response = assert(one:chat("Hi", { thinking = "high" }))
      assert.are.equal("thinking", response.warnings[1].field)
      assert.are.same({ "high" }, { core.decode(assert(server:requests())[1].body).think })
      assert.is_nil(select(2, last_request()).think)
      assert.are.equal("thinking", assert(one:chat("Hi", { thinking = "low" })).warnings[1].field)
      assert.is_nil(select(2, last_request()).think)
      assert(one:chat "Hi")
      assert.are.equal(4, #assert(server:requests()))
    end)

    it("always where the model does: a warning only where the caller said no", function()
      local one = adapter { model = "gpt-oss:20b" }
      assert(server:script { { content = "ok" }, { content = "ok" } })
      assert.are.same({}, assert(one:chat "Hi").warnings)
      assert.are.equal("low", select(2, last_request()).think)
      assert.are.equal("thinking", assert(one:chat("Hi", { thinking = false })).warnings[1].field)
    end)
  end)

  describe("sends back", function()
    -- Arguments as a model may well write them: odd white space, escapes that are not needed, numbers of every kind.
    local ARGUMENTS = [[{ "city" :"K\u00f6ln \/ \ud83d\ude00","n":[ ],"o":{ },"z":null, "one":1.0,]]
      .. [["big":9007199254740993}]]
    local CALLS = ('"content":"","tool_calls":[{"id":"c1","function":{"index":0,"name":"look","arguments":%s}},'
      .. '{"function":{"name":"look","arguments":{"a": 1}}}]'):format(ARGUMENTS)
    local LINES = { '"content":"","thinking":"A \\"w"', '"content":"","thinking":"ord"', '"content":"Well."', CALLS }
    local TOOL = { name = "look", parameters = { type = "object", properties = {} } }

    -- The request behind an answer of these lines: as bytes and decoded; the answer. `change` has its message first.
    local function after(change)
      local body = {}
      for i, line in ipairs(LINES) do
        body[i] = ('{"model":"m","message":{"role":"assistant",%s},"done":false}\n'):format(line)
      end
      body[#body + 1] = '{"model":"m","done":true,"done_reason":"stop"}\n'
      assert(server:script { { reply = { body = table.concat(body) } }, { content = "ok" } })
      local one, history = adapter(), { { role = "user", content = "go" } }
      local response = assert(one:chat(history, { tools = { TOOL }, stream = true }))
      history[2], history[3] = response:message(), { role = "user", content = {} }
      if change then change(history[2]) end
      for i, call in ipairs(response.tool_calls) do
        history[3].content[i] = { type = "tool_result", tool_use_id = call.id, content = "done" }
      end
      assert(one:chat(history, { tools = { TOOL } }))
      local request, decoded = last_request()
      return request.body, decoded, response
    end

    it("arguments as the model wrote them, and its thinking", function()
      local bytes, body, response = after()
      assert.is_truthy(bytes:find('"content":"Well.","thinking":"A \\"word","tool_calls":[{"id":"c1","function":{'
        .. '"index":0,"name":"look","arguments":' .. ARGUMENTS .. "}}", 1, true), bytes)
      assert.is_truthy(bytes:find('"function":{"index":1,"name":"look","arguments":{"a": 1}}', 1, true))
      assert.are.equal(ARGUMENTS, response.tool_calls[1].arguments_json)
      assert.are.equal("integer", math.type(response.tool_calls[1].arguments.big))
      assert.are.same({ "look", response.tool_calls[2].id }, { body.messages[4].tool_name,
        body.messages[4].tool_call_id })
    end)

    it("the text that the caller changed, and no other model's thinking", function()
      local bytes = after(function(message)
        message.content[1].provider_data.model = "other"
        message.content[3].arguments.city = "Bonn"
      end)
      assert.is_nil(bytes:find('"thinking"', 1, true))
      assert.is_truthy(bytes:find('"city":"Bonn"', 1, true))
    end)
  end)

  describe("warns", function()
    local long = ("Every word of it counts, and there are many. "):rep(400)

    local function codes(usage, options, text)
      assert(server:script { { content = "ok", usage = usage } })
      local found = {}
      for i, warning in ipairs(assert(adapter(options):chat(text or long)).warnings) do found[i] = warning.code end
      return found
    end

    it("of a history that the server cut, whatever its context", function()
      assert.are.same({ "history_cut" }, codes { input_tokens = 1000, output_tokens = 1 })
      assert.are.same({}, codes { input_tokens = 4000, output_tokens = 1 })
      assert.are.same({}, codes(false))
      assert.are.same({}, codes({ input_tokens = 30, output_tokens = 1 }, nil, (" "):rep(20000) .. "Hi"))
    end)

    it("of a context that is full, where it is known", function()
      local usage = { input_tokens = 4000, output_tokens = 96 }
      assert.are.same({}, codes(usage))
      assert.are.same({ "context_full" }, codes(usage, { quirks = { context_window = 4096 } }))
      assert.are.same({ "context_full" }, codes(usage, { extra = { options = { num_ctx = 4096 } } }))
      assert.are.same({}, codes(usage, { quirks = { context_window = 4097 } }))
      assert.are.same({ "context_full" },
        codes(usage, { quirks = { context_window = 8192 }, extra = { options = { num_ctx = 4096 } } }))
    end)
  end)
end)
