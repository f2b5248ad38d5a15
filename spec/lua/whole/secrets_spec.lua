-- No credential shows in an error, whatever the world answers with; what a successful answer says is left as it came.
-- The whole run is watched too (spec/support/secret_watch.lua); here the world tries its best.

local core = require "koine.core"
local koine = require "koine"
local socket = require "socket"
local watch = require "spec.support.secret_watch"
local free_port = require "spec.support.free_port"
local raised = require "spec.support.raised"

local MARK = "koine-secret"
local KEY = "koine-secret-0123456789/abcdefghijklmnopqrstuvwxyz+ABCDEF=="
local BLOT = "[redacted]"
local quoted = core.encode

local WIRES = {
  anthropic = { model = "claude-sonnet-4-5", path = "/v1/messages", header = "x-api-key", before = "" },
  openai = { model = "gpt-4.1", path = "/chat/completions", header = "authorization", before = "Bearer " },
}

-- An error body as each wire writes it; the last chunk of a stream that goes on with an error.
function WIRES.anthropic.error(message, code)
  return ('{"type":"error","error":{"type":%s,"message":%s},"request_id":"req_1"}'):format(quoted(code), message)
end
function WIRES.openai.error(message, code)
  return ('{"error":{"message":%s,"type":"invalid_request_error","param":null,"code":%s}}')
    :format(message, quoted(code))
end

function WIRES.anthropic.start(text)
  return 'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","role":"assistant","model":"m",'
    .. '"content":[],"usage":{"input_tokens":1,"output_tokens":1}}}\n\n'
    .. 'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text",'
    .. '"text":""}}\n\nevent: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{'
    .. '"type":"text_delta","text":' .. quoted(text) .. "}}\n\n"
end
function WIRES.openai.start(text)
  return 'data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":' .. quoted(text)
    .. '},"finish_reason":null}]}\n\n'
end

function WIRES.anthropic.event(error) return "event: error\ndata: " .. error .. "\n\n" end
function WIRES.openai.event(error) return "data: " .. error .. "\n\n" end

-- Fails when any of the key shows in an error or Response. Parts are looked for: half a key is a leak too.
local function assert_clean(value)
  local text = watch.text(value)
  for _, part in ipairs { MARK, "0123456789", "abcdefghijklmnop", "ABCDEF==" } do
    local at = text:find(part, 1, true)
    assert(not at, at and ("%q shows: …%s…"):format(part, text:sub(math.max(1, at - 60), at + 80)))
  end
end

describe("a credential", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local function adapter_of(name, options)
    local given = { model = WIRES[name].model, key = KEY, base_url = server.url, retry = false,
      api = name == "openai" and "chat" or nil }
    for option, value in pairs(options or {}) do given[option] = value end
    return koine[name](given)
  end

  -- The error of a chat that is answered so; it must be clean. `options` are the constructor's.
  local function failure(name, turn, streaming, options)
    assert(server:script { turn })
    local response, err = adapter_of(name, options):chat("Hi", { stream = streaming })
    assert.is_nil(response)
    assert_clean(err)
    return err
  end

  local function reply(status, kind, body, headers)
    local all = { ["content-type"] = kind }
    for header, value in pairs(headers or {}) do all[header] = value end
    return { reply = { status = status, headers = all, body = body } }
  end

  for name, wire in pairs(WIRES) do
    for _, streaming in ipairs { false, true } do
      describe(("on the wire of %s, %s,"):format(name, streaming and "streamed" or "plain"), function()
        it("is sent and does not show in the error that repeats it", function()
          for _, status in ipairs { 400, 401, 403, 429, 500, 529 } do
            local err = failure(name, { error = { status = status, message = "no" },
              fault = { echo_authorization = true } }, streaming)
            assert.is_truthy(err.message:find(BLOT, 1, true))
            assert.is_truthy(err.raw:find(BLOT, 1, true))
            local list = assert(server:requests())
            assert.are.equal(wire.before .. KEY, list[#list].headers[wire.header])
          end
        end)

        it("does not show in a code, a type or a parameter", function()
          local err = failure(name, reply(400, "application/json", wire.error('"no"', KEY)), streaming)
          assert.are.equal(BLOT, err.code)
        end)

        it("does not show in text, HTML, or an answer that is neither", function()
          local text = ("You sent %s%s, go away"):format(wire.before, KEY)
          assert.is_truthy(failure(name, reply(502, "text/plain", text), streaming).message:find(BLOT, 1, true))
          local page = ("<html><head><title>%s</title></head><body>%s</body></html>"):format(text, text)
          assert.is_truthy(failure(name, reply(502, "text/html", page), streaming).message:find(BLOT, 1, true))
          for _, body in ipairs { page, "{" .. quoted(text), quoted(text), '{"no":' .. quoted(text) .. "}" } do
            failure(name, reply(200, "application/json", body), streaming)
            failure(name, reply(400, "application/json", body), streaming)
            failure(name, reply(200, "text/event-stream", "data: " .. body .. "\n\n"), streaming)
          end
        end)

        it("does not show in the headers of errors", function()
          local headers = { ["x-echo"] = wire.before .. KEY, ["request-id"] = KEY, ["x-request-id"] = KEY }
          local err = failure(name, reply(400, "application/json", wire.error('"no"', "c"), headers), streaming)
          assert.are.equal(BLOT, err.request_id)
        end)

        it("changes nothing of an answer that succeeds", function()
          local said = "The key is " .. KEY
          assert(server:script { { content = { { type = "text", text = said },
            { type = "tool_use", id = "call_1", name = "look", arguments = { [KEY] = KEY } } },
            headers = { ["x-echo"] = wire.before .. KEY, ["request-id"] = KEY, ["x-request-id"] = KEY } } })
          local response = assert(adapter_of(name):chat("Hi", { stream = streaming, keep_raw = true,
            tools = { { name = "look", description = "Looks.", parameters = { type = "object" } } } }))
          assert.are.equal(said, response:text())
          assert.are.same({ [KEY] = KEY }, response.tool_calls[1].arguments)
          assert.are.same({ KEY, wire.before .. KEY }, { response.request_id, response.headers["x-echo"] })
          assert.is_truthy(response:raw():find(MARK, 1, true))
        end)

        it("is not looked for where it is a word of less than 8 bytes", function()
          for _, key in ipairs { "test", "testing" } do
            local err = failure(name, reply(400, "application/json", wire.error('"this is a test of testing"', "test")),
              streaming, { key = key })
            assert.are.same({ "this is a test of testing", "test" }, { err.message, err.code })
          end
          local err = failure(name, reply(400, "application/json", wire.error('"no testing1"', "c")), streaming,
            { key = "testing1" })
          assert.are.equal("no " .. BLOT, err.message)
        end)

        it("does not show however the answer is cut", function()
          local body = wire.error(quoted("bad key: " .. KEY), "c")
          local at = body:find(MARK, 1, true)
          for _, fault in ipairs { { write_bytes = 1 }, { split_at = { at, at + 10, at + 20 } }, { gzip = true } } do
            local turn = reply(401, "application/json", body)
            turn.fault = fault
            assert.is_truthy(failure(name, turn, streaming).message:find(BLOT, 1, true))
          end
          -- truncated in the middle of it
          for cut = at + 4, at + #KEY, 5 do
            local turn = reply(401, "application/json", body)
            turn.fault = { truncate_after = cut }
            failure(name, turn, streaming)
          end
        end)

        it("does not show where JSON spells it differently", function()
          for _, spelt in ipairs { (KEY:gsub("/", "\\/")), (KEY:gsub("%-", "\\u002d")), (KEY:gsub("[k/]", function(c)
            return ("\\u%04X"):format(c:byte())
          end)) } do
            assert.is_false(spelt == KEY)
            local err = failure(name, reply(401, "application/json", wire.error('"bad key: ' .. spelt .. '"', "c")),
              streaming)
            assert.are.equal("bad key: " .. BLOT, err.message)
          end
        end)

        it("does not show half where a message or a body is cut at its limit", function()
          for length = 440, 505 do
            local message = ("x"):rep(length) .. KEY .. " and more"
            failure(name, reply(401, "application/json", wire.error(quoted(message), "c")), streaming)
            failure(name, reply(401, "application/json",
              wire.error('"' .. message:gsub("/", "\\/") .. '"', "c")), streaming)
          end
          for before = 65536 - #KEY - 60, 65536, 7 do
            failure(name, reply(500, "text/plain", ("x"):rep(before) .. KEY .. ("y"):rep(100)), streaming)
          end
          failure(name, reply(400, "application/json", wire.error('"no"', ("c"):rep(40) .. KEY)), streaming)
        end)
      end)
    end

    describe("in a stream of " .. name, function()
      it("does not show in an error after the beginning, nor in what had arrived", function()
        local error_text = wire.error(quoted("upstream said: " .. wire.before .. KEY), "c")
        local err = failure(name, reply(200, "text/event-stream",
          wire.start("I was called with " .. KEY) .. wire.event(error_text)), true)
        assert.are.equal("upstream said: " .. wire.before .. BLOT, err.message)
        assert.are.equal("I was called with " .. BLOT, err.partial:text())
      end)

      it("does not show in names and values of a broken answer's headers", function()
        local named = "koine-secret-NAME-0123456789"
        local turn = reply(200, "text/event-stream", wire.start "Hi" .. wire.event(wire.error('"no"', "c")),
          { [named] = "x", ["x-" .. named] = named, ["request-id"] = named, ["x-request-id"] = named })
        assert(server:script { turn })
        local _, err = adapter_of(name, { key = named }):chat("Hi", { stream = true })
        assert.are.same({ "x", BLOT }, { err.partial.headers[BLOT], err.partial.headers["x-" .. BLOT] })
        assert.are.equal(BLOT, err.request_id)
        assert.is_nil(watch.text(err):lower():find(named:lower(), 1, true))
      end)

      it("does not show in the raw copy of a stream that failed", function()
        local error_text = wire.error(quoted("upstream said: " .. wire.before .. KEY), "c")
        local err = failure(name, reply(200, "text/event-stream",
          wire.start("I was called with " .. KEY) .. wire.event(error_text)), true)
        assert.is_truthy(err.raw:find(BLOT, 1, true))
      end)

      it("does not show in an error that comes first", function()
        failure(name, reply(200, "text/event-stream", wire.event(wire.error(quoted(KEY), KEY))), true)
        failure(name, reply(200, "application/json", wire.error(quoted(KEY), KEY)), true)
      end)

      it("does not show half in an event whose message is cut", function()
        for length = 440, 505, 3 do
          local error_text = wire.error(quoted(("x"):rep(length) .. KEY), "c")
          failure(name, reply(200, "text/event-stream", wire.start "Hi" .. wire.event(error_text)), true)
        end
        local long = wire.error(quoted(("x"):rep(65536 - 80) .. KEY .. ("y"):rep(99)), ("c"):rep(40) .. KEY)
        failure(name, reply(200, "text/event-stream", wire.start "Hi" .. wire.event(long)), true)
      end)

      it("does not show in the error of a stream that breaks off or makes no sense", function()
        local start = wire.start("I was called with " .. KEY)
        local cut = reply(200, "text/event-stream", start .. wire.start "more")
        cut.fault = { truncate_after = #start + 5 }
        assert.are.equal("stream_truncated", failure(name, cut, true).kind)
        failure(name, reply(200, "text/event-stream", start .. "data: {" .. KEY .. "}\n\n"), true)
        failure(name, reply(200, "text/event-stream", start .. "data: " .. KEY .. "\n\n"), true)
      end)

      it("does not show in a failing iterator's error, nor in later ones", function()
        assert(server:script { reply(200, "text/event-stream", wire.start "Hi"
          .. wire.event(wire.error(quoted(KEY), "c"))) })
        local adapter = adapter_of(name)
        assert_clean(raised(function()
          for _ in adapter:stream "Hi" do end -- luacheck: ignore
        end))
        assert(server:script { reply(401, "application/json", wire.error(quoted(KEY), "c")) })
        local stream <close> = assert(adapter:open "Hi")
        for _ = 1, 3 do
          local _, err = stream:next()
          assert_clean(err)
          _, err = stream:response()
          assert_clean(err)
        end
        assert.is_nil(tostring(stream):find(MARK, 1, true))
        assert.is_nil(tostring(adapter):find(MARK, 1, true))
      end)
    end)

    describe("of " .. name, function()
      it("does not show in the warnings of an answer that succeeds", function()
        local turn = { content = "Hello.", stop_reason = KEY }
        for _, streaming in ipairs { false, true } do
          assert(server:script { turn })
          local response = assert(adapter_of(name):chat("Hi", { stream = streaming, keep_raw = true }))
          assert.are.equal("Hello.", response:text())
          assert.is_true(#response.warnings > 0)
          assert_clean(response.warnings)
          assert.are.equal(KEY, response.raw_stop_reason)
        end
      end)

      it("does not show in the record of the attempts", function()
        local seen = {}
        local adapter = adapter_of(name, { retry = { max = 2 },
          on_retry = function(attempt) seen[#seen + 1] = attempt end })
        local turn = reply(500, "application/json", wire.error(quoted(KEY), KEY), { ["retry-after"] = "0" })
        assert(server:script { turn, turn, turn })
        local _, err = adapter:chat "Hi"
        assert.are.equal(3, #err.attempts)
        assert.are.equal(2, #seen)
        assert_clean { err, seen }
      end)

      it("does not show when it comes from a function or the environment", function()
        local turn = { error = { status = 400, message = "no" }, fault = { echo_authorization = true } }
        assert.is_truthy(failure(name, turn, false, { key = function() return KEY end }).message:find(BLOT, 1, true))
        local getenv = os.getenv
        os.getenv = function(variable) -- luacheck: ignore
          return variable == name:upper() .. "_API_KEY" and KEY or getenv(variable)
        end
        assert(server:script { turn })
        local adapter = koine[name] { model = wire.model, base_url = server.url, retry = false }
        local ok, _, err = pcall(adapter.chat, adapter, "Hi")
        os.getenv = getenv -- luacheck: ignore
        assert(ok)
        assert.is_truthy(err.message:find(BLOT, 1, true))
        assert_clean(err)
      end)

      it("does not show when it is sent in a header of the caller's", function()
        for _, header in ipairs { "Authorization", "X-Api-Key", "Api-Key", "Cookie", "Proxy-Authorization",
          "X-Goog-Api-Key", "Ocp-Apim-Subscription-Key", "cf-aig-authorization", "X-Auth-Token" } do
          for _, value in ipairs { KEY, "Bearer " .. KEY } do
            local turn = reply(401, "text/plain", ("bad %s: %s"):format(header, value))
            failure(name, turn, false, { headers = { [header] = value } })
            assert(server:script { turn })
            local _, err = adapter_of(name, { key = "another-key" }):chat("Hi", { headers = { [header] = value } })
            assert_clean(err)
          end
        end
      end)

      it("does not show in the errors of lists and counts", function()
        local adapter = adapter_of(name)
        for _, path in ipairs { "/v1/models", "/models" } do
          local turn = reply(401, "application/json", wire.error(quoted("bad " .. KEY), KEY), { ["request-id"] = KEY })
          turn.path = path
          assert(server:script { turn })
          local list, err = adapter:list_models()
          if not list then
            assert.is_truthy(err.message:find(BLOT, 1, true))
            assert_clean(err)
          end
        end
        local turn = reply(401, "application/json", wire.error(quoted("bad " .. KEY), KEY))
        turn.path = "/v1/messages/count_tokens"
        assert(server:script { turn })
        local count, err = adapter:count_tokens "Hi"
        assert.are.equal(name == "openai" and -1 or nil, count)
        if err then assert_clean(err) end
      end)
    end)
  end

  describe("in an address", function()
    it("does not show when nobody answers there", function()
      for _, options in ipairs {
        { base_url = ("http://user:%s@127.0.0.1:%d"):format("koine-secret-pw", free_port()) },
        { base_url = ("http://127.0.0.1:%d/?key=koine-secret-pw"):format(free_port()) },
        { proxy = ("http://user:koine-secret-pw@127.0.0.1:%d"):format(free_port()) },
        { proxy = ("socks5h://user:koine-secret-pw@127.0.0.1:%d"):format(free_port()) },
        { proxy = "http://user:koine-secret-pw@no-such-host.invalid:3128" },
        { base_url = "http://user:koine-secret-pw@no-such-host.invalid" },
        { proxy = "gopher://user:koine-secret-pw@127.0.0.1:1" },
        { proxy = "http://user:koine-secret-pw@127.0.0.1:99999" },
      } do
        options.timeout = 5
        local ok, response, err = pcall(adapter_of("openai", options).chat, adapter_of("openai", options), "Hi")
        assert.is_true(not ok or response == nil)
        assert_clean(ok and err or response)
      end
    end)

    it("does not show when the proxy refuses, and repeats what it was sent", function()
      local encoded = "dXNlcjprb2luZS1zZWNyZXQtcHc=" -- user:koine-secret-pw
      local listener = assert(socket.bind("127.0.0.1", 0))
      listener:settimeout(10)
      local _, port = listener:getsockname()
      local adapter = adapter_of("openai", { proxy = ("http://user:koine-secret-pw@127.0.0.1:%d"):format(port) })
      local stream <close> = assert(adapter:open "Hi")
      assert.is_false(stream:poll())
      core.engine():step(0)
      local client = assert(listener:accept())
      core.engine():step(0)
      client:settimeout(10)
      local lines = {}
      repeat
        core.engine():step(0)
        lines[#lines + 1] = assert(client:receive "*l")
      until lines[#lines] == ""
      local head = table.concat(lines, "\n")
      assert.is_truthy(head:find("Proxy-Authorization: Basic " .. encoded, 1, true))
      local body = "refused: user:koine-secret-pw " .. encoded
      client:send(("HTTP/1.1 407 Proxy Authentication Required\r\ncontent-type: text/plain\r\ncontent-length: %d\r\n"
        .. "connection: close\r\n\r\n%s"):format(#body, body))
      client:close()
      listener:close()
      local _, err = stream:response()
      assert.are.equal(407, err.status_code)
      assert_clean(err)
      assert.is_nil(watch.text(err):find(encoded, 1, true))
    end)
  end)

  describe("in an argument", function()
    it("does not show when it is unfit", function()
      for _, key in ipairs { KEY .. "\n", "\t" .. KEY, KEY .. "\0", " " .. KEY, KEY .. "\r\nx: y", { KEY } } do
        for name in pairs(WIRES) do
          local err = raised(adapter_of, name, { key = key })
          assert.are.equal("key", err.field)
          assert_clean(err)
        end
        local adapter = adapter_of("anthropic", { key = function() return key end })
        assert_clean(raised(adapter.chat, adapter, "Hi"))
        for _, header in ipairs { "Authorization", "x-api-key", "x-anything" } do
          if key ~= " " .. KEY and key ~= "\t" .. KEY then
            local err = raised(adapter_of, "anthropic", { headers = { [header] = key } })
            assert_clean(err)
          end
        end
      end
    end)

    it("does not show when it stands in the wrong place", function()
      assert_clean(raised(koine.anthropic, KEY))
      assert_clean(raised(koine.adapter, "anthropic/m", KEY))
      assert_clean(raised(adapter_of, "anthropic", { headers = "Authorization: Bearer " .. KEY }))
      assert_clean(raised(adapter_of, "anthropic", { headers = { ["Authorization: Bearer " .. KEY] = "" } }))
      assert_clean(raised(adapter_of, "anthropic", { headers = { "Authorization: Bearer " .. KEY } }))
      assert_clean(raised(adapter_of, "anthropic", { api_key = KEY }))
      assert_clean(raised(adapter_of, "anthropic", { base_url = "ftp://user:" .. KEY .. "@host" }))
      assert_clean(raised(adapter_of, "anthropic", { base_url = "user:" .. KEY .. "@host" }))
      local adapter = adapter_of("anthropic", { proxy = "http://user:" .. KEY .. "@host :80" })
      assert_clean(raised(adapter.chat, adapter, "Hi"))
      adapter = adapter_of "anthropic"
      assert_clean(raised(adapter.chat, adapter, "Hi", { key = KEY }))
      assert_clean(raised(adapter.chat, adapter, "Hi", KEY))
      assert_clean(raised(adapter.chat, adapter, "Hi", { headers = "Bearer " .. KEY }))
    end)
  end)

  it("does not show where a string stands for a table of options", function()
    local claude = adapter_of "anthropic"
    for name, f in pairs {
      session = function() koine.session.new("anthropic", KEY) end,
      inputs = function() koine.session.run(claude, KEY) end,
      remote = function() koine.executor.remote(KEY) end,
      serve = function() koine.executor.serve(KEY) end,
      executor = function() koine.executor(KEY) end,
      set_env = function() koine.executor { workdir = ".", set_env = KEY } end,
      env = function() koine.process.run({ "true" }, { env = KEY }) end,
      name = function() koine.process.run({ "true" }, { env = { [KEY .. "=1"] = "" } }) end,
      value = function() koine.process.run({ "true" }, { env = { K = KEY .. "\0" } }) end,
      process = function() koine.process.run({ "true" }, KEY) end,
      agent = function() koine.agent(KEY) end,
      call = function() koine.agent { adapter = claude, options = KEY } end,
      run = function() koine.agent { adapter = claude }:start("Hi", KEY) end,
      tool = function() koine.tool(KEY) end,
      dispatcher = function() koine.dispatcher(KEY) end,
      pack = function() koine.packing.pack({}, KEY) end,
      alarm = function() koine.packing.overhead_alarm(KEY) end,
      conversation = function() koine.conversation(claude, KEY) end,
      custom = function() koine.custom_adapter(KEY) end,
      fallback = function() koine.fallback(KEY) end,
      entry = function() koine.fallback { KEY } end,
      contract = function() koine.testing.contract.describe("x", KEY) end,
      compare = function() koine.artifacts.compare({}, KEY) end,
    } do
      local ok, err = pcall(f)
      assert.is_false(ok, name)
      assert.is_nil(tostring(err):find(MARK, 1, true), name .. ": " .. tostring(err))
    end
  end)

  describe("watched over", function()
    it("is found wherever it shows", function()
      assert.is_function(core.error_mt.__gc, "the helper of .busted was not loaded")
      local before = watch.leaks
      watch.leaks, watch.secrets["koine-watched-secret"] = {}, true
      local function partial(whole)
        return core.response { content = "koine-watched-secret", model = "m", stop_reason = "end_turn",
          partial = not whole or nil }
      end
      for _, fields in ipairs {
        { message = "a koine-watched-secret" }, { message = "m", raw = "a koine-watched-secret b" },
        { message = "m", attempts = { { kind = "koine-watched-secret" } } }, { message = "m", partial = partial() },
      } do
        fields.kind = "server"
        assert.are.same({ "koine-watched-secret" }, watch.search(koine.errors.new(fields)))
      end
      assert.are.same({}, watch.search(koine.errors.new { kind = "server", message = "m" }))
      -- … and in every error and partial Response that the collector takes
      collectgarbage()
      collectgarbage()
      watch.leaks = {}
      koine.errors.new { kind = "server", message = "a koine-watched-secret" }
      partial()
      partial(true) -- an answer that succeeded may say it
      collectgarbage()
      collectgarbage()
      local leaks = #watch.leaks
      watch.leaks, watch.secrets["koine-watched-secret"] = before, nil
      assert.are.equal(2, leaks)
    end)
  end)
end)
