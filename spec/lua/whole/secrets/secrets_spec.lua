-- No credential shows in an error, whatever the world answers with; what a successful answer says is left as it came.
-- The whole run is watched too (spec/support/run/secret_watch.lua); here the world tries its best.

local core = require "koine.core"
local koine = require "koine"
local socket = require "socket"
local watch = require "spec.support.run.secret_watch"
local free_port = require "spec.support.free_port"
local kit = require "spec.lua.whole.secrets.kit"
local raised = require "spec.support.raised"

local quoted = core.encode
local KEY, MARK, REDACTED = kit.KEY, kit.MARK, kit.REDACTED
local WIRES, assert_clean = kit.WIRES, kit.assert_clean

describe("a credential", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local function adapter_of(...) return kit.adapter(server, ...) end

  -- The error of a chat that is answered so; it must be clean. `options` are the constructor's.
  local function failure(name, answer, streaming, options)
    assert(server:script { answer })
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
            assert.is_truthy(err.message:find(REDACTED, 1, true))
            assert.is_truthy(err.raw:find(REDACTED, 1, true))
            local list = assert(server:requests())
            assert.are.equal(wire.before .. KEY, list[#list].headers[wire.header])
          end
        end)

        it("does not show in a code, a type or a parameter", function()
          local err = failure(name, reply(400, "application/json", wire.error('"no"', KEY)), streaming)
          assert.are.equal(REDACTED, err.code)
        end)

        it("does not show in text, HTML, or an answer that is neither", function()
          local text = ("You sent %s%s, go away"):format(wire.before, KEY)
          assert.is_truthy(failure(name, reply(502, "text/plain", text), streaming).message:find(REDACTED, 1, true))
          local page = ("<html><head><title>%s</title></head><body>%s</body></html>"):format(text, text)
          assert.is_truthy(failure(name, reply(502, "text/html", page), streaming).message:find(REDACTED, 1, true))
          for _, body in ipairs { page, "{" .. quoted(text), quoted(text), '{"no":' .. quoted(text) .. "}" } do
            failure(name, reply(200, "application/json", body), streaming)
            failure(name, reply(400, "application/json", body), streaming)
            failure(name, reply(200, "text/event-stream", "data: " .. body .. "\n\n"), streaming)
          end
        end)

        it("does not show in the headers of errors", function()
          local headers = { ["x-echo"] = wire.before .. KEY, ["request-id"] = KEY, ["x-request-id"] = KEY }
          local err = failure(name, reply(400, "application/json", wire.error('"no"', "c"), headers), streaming)
          assert.are.equal(REDACTED, err.request_id)
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
          assert.are.equal("no " .. REDACTED, err.message)
        end)

        it("does not show however the answer is cut", function()
          local body = wire.error(quoted("bad key: " .. KEY), "c")
          local at = body:find(MARK, 1, true)
          for _, fault in ipairs { { write_bytes = 1 }, { split_at = { at, at + 10, at + 20 } }, { gzip = true } } do
            local answer = reply(401, "application/json", body)
            answer.fault = fault
            assert.is_truthy(failure(name, answer, streaming).message:find(REDACTED, 1, true))
          end
          -- truncated in the middle of it
          for cut = at + 4, at + #KEY, 5 do
            local answer = reply(401, "application/json", body)
            answer.fault = { truncate_after = cut }
            failure(name, answer, streaming)
          end
        end)

        it("does not show where JSON spells it differently", function()
          for _, spelt in ipairs { (KEY:gsub("/", "\\/")), (KEY:gsub("%-", "\\u002d")), (KEY:gsub("[k/]", function(c)
            return ("\\u%04X"):format(c:byte())
          end)) } do
            assert.is_false(spelt == KEY)
            local err = failure(name, reply(401, "application/json", wire.error('"bad key: ' .. spelt .. '"', "c")),
              streaming)
            assert.are.equal("bad key: " .. REDACTED, err.message)
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
        assert.are.equal("upstream said: " .. wire.before .. REDACTED, err.message)
        assert.are.equal("I was called with " .. REDACTED, err.partial:text())
      end)

      it("does not show in names and values of a broken answer's headers", function()
        local named = "koine-secret-NAME-0123456789"
        local answer = reply(200, "text/event-stream", wire.start "Hi" .. wire.event(wire.error('"no"', "c")),
          { [named] = "x", ["x-" .. named] = named, ["request-id"] = named, ["x-request-id"] = named })
        assert(server:script { answer })
        local _, err = adapter_of(name, { key = named }):chat("Hi", { stream = true })
        assert.are.same({ "x", REDACTED }, { err.partial.headers[REDACTED], err.partial.headers["x-" .. REDACTED] })
        assert.are.equal(REDACTED, err.request_id)
        assert.is_nil(watch.text(err):lower():find(named:lower(), 1, true))
      end)

      it("does not show in the raw copy of a stream that failed", function()
        local error_text = wire.error(quoted("upstream said: " .. wire.before .. KEY), "c")
        local err = failure(name, reply(200, "text/event-stream",
          wire.start("I was called with " .. KEY) .. wire.event(error_text)), true)
        assert.is_truthy(err.raw:find(REDACTED, 1, true))
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
        local answer = { content = "Hello.", stop_reason = KEY }
        for _, streaming in ipairs { false, true } do
          assert(server:script { answer })
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
        local answer = reply(500, "application/json", wire.error(quoted(KEY), KEY), { ["retry-after"] = "0" })
        assert(server:script { answer, answer, answer })
        local _, err = adapter:chat "Hi"
        assert.are.equal(3, #err.attempts)
        assert.are.equal(2, #seen)
        assert_clean { err, seen }
      end)

      it("does not show when it comes from a function or the environment", function()
        local answer = { error = { status = 400, message = "no" }, fault = { echo_authorization = true } }
        local refused = failure(name, answer, false, { key = function() return KEY end })
        assert.is_truthy(refused.message:find(REDACTED, 1, true))
        local getenv = os.getenv
        os.getenv = function(variable) -- luacheck: ignore
          return variable == name:upper() .. "_API_KEY" and KEY or getenv(variable)
        end
        assert(server:script { answer })
        local adapter = koine[name] { model = wire.model, base_url = server.url, retry = false }
        local ok, _, err = pcall(adapter.chat, adapter, "Hi")
        os.getenv = getenv -- luacheck: ignore
        assert(ok)
        assert.is_truthy(err.message:find(REDACTED, 1, true))
        assert_clean(err)
      end)

      it("does not show when it is sent in a header of the caller's", function()
        for _, header in ipairs { "Authorization", "X-Api-Key", "Api-Key", "Cookie", "Proxy-Authorization",
          "X-Goog-Api-Key", "Ocp-Apim-Subscription-Key", "cf-aig-authorization", "X-Auth-Token" } do
          for _, value in ipairs { KEY, "Bearer " .. KEY } do
            local answer = reply(401, "text/plain", ("bad %s: %s"):format(header, value))
            failure(name, answer, false, { headers = { [header] = value } })
            assert(server:script { answer })
            local _, err = adapter_of(name, { key = "another-key" }):chat("Hi", { headers = { [header] = value } })
            assert_clean(err)
          end
        end
      end)

      it("does not show in the errors of lists and counts", function()
        local adapter = adapter_of(name)
        for _, path in ipairs { "/v1/models", "/models" } do
          local said = wire.error(quoted("bad " .. KEY), KEY)
          local answer = reply(401, "application/json", said, { ["request-id"] = KEY })
          answer.path = path
          assert(server:script { answer })
          local list, err = adapter:list_models()
          if not list then
            assert.is_truthy(err.message:find(REDACTED, 1, true))
            assert_clean(err)
          end
        end
        local answer = reply(401, "application/json", wire.error(quoted("bad " .. KEY), KEY))
        answer.path = "/v1/messages/count_tokens"
        assert(server:script { answer })
        local count, err = adapter:count_tokens "Hi"
        assert.are.equal(name == "openai" and -1 or nil, count)
        if err then assert_clean(err) end
      end)
    end)
  end

  describe("in an address", function()
    it("does not show when the server does not answer", function()
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
      client:settimeout(0)
      local lines = {}
      local line, why, begun
      repeat
        core.engine():step(0.01)
        line, why, begun = client:receive("*l", begun)
        assert.is_true(line ~= nil or why == "timeout", why)
        lines[#lines + 1] = line
      until line == ""
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

end)
