-- koine.testing: the process, the script, and offline.

local client = require "spec.support.raw_client"
local core = require "koine.core"
local files = require "spec.support.files"
local folder = require "spec.support.folder"
local koine = require "koine"
local search_path = require "spec.support.search_path"
local testing = require "koine.testing"

local exchange, messages, completions, BEARER = client.exchange, client.messages, client.completions, client.BEARER

describe("koine.testing", function()
  local server

  setup(function() server = assert(testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  describe("the process", function()
    local function alive(pid)
      return (os.execute(("kill -0 %d 2>/dev/null"):format(pid)))
    end

    it("listens where it is told to, and says when it cannot", function()
      local first <close> = assert(testing.start())
      local second, err = testing.start { port = first.port }
      assert.is_nil(second)
      assert.are.equal("ConnectionError", err.class)
      assert.is_truthy(tostring(err):find("EADDRINUSE", 1, true))
      local port = first.port
      first:stop()
      local third <close> = assert(testing.start { port = port })
      assert.are.equal(port, third.port)
      for _, bad in ipairs { -1, 65536, 1.5, "80" } do
        local ok, wrong = pcall(testing.start, { port = bad })
        assert.is_false(ok)
        assert.are.equal("port", wrong.field)
      end
    end)

    it("tells its port and pid, and ends with stop, as often as it is called", function()
      local other = assert(testing.start())
      assert.are.equal("http://127.0.0.1:" .. other.port, other.url)
      assert.is_true(alive(other.pid))
      other:stop()
      other:stop()
      assert.is_falsy(alive(other.pid))
    end)

    it("ends with a to-be-closed variable", function()
      local pid
      do
        local other <close> = assert(testing.start { script = "echo" })
        pid = other.pid
        assert.is_true(alive(pid))
      end
      assert.is_falsy(alive(pid))
    end)

    it("is not started by its own process, where a script has the name of a module", function()
      local place = folder.new()
      files.write(place .. "/luv.lua", [[
        local seen = io.open("seen", "a+")
        assert(#seen:read "a" < 5, "a chain of processes")
        seen:write("x"):close()
        local server <close> = assert(require "koine".testing.start())
      ]])
      local run = assert(io.popen(("cd '%s' && LUA_PATH='%s' LUA_CPATH='%s' '%s' luv.lua 2>&1"):format(place,
        search_path(package.path) .. ";./?.lua", search_path(package.cpath), os.getenv "KOINE_LUA" or "lua5.4")))
      local said = run:read "a"
      run:close()
      assert.is_truthy(said:find("did not start: a script that starts a loopback provider has the name", 1, true),
        said)
      assert.are.equal("xx", files.read(place .. "/seen"))
      folder.remove(place)
    end)

    it("ends though another one runs", function()
      local first, second <close> = assert(testing.start()), assert(testing.start())
      first:stop()
      assert.is_falsy(alive(first.pid))
      assert.is_true(alive(second.pid))
    end)

    it("ends with the collector", function()
      local pid = assert(testing.start()).pid
      collectgarbage()
      collectgarbage()
      assert.is_falsy(alive(pid))
    end)

    it("leaves nothing in the temporary directory", function()
      local tmpname, name = os.tmpname, nil
      rawset(os, "tmpname", function()
        name = tmpname()
        return name
      end)
      local other <close> = assert(testing.start())
      rawset(os, "tmpname", tmpname)
      assert.is_truthy(other.pid)
      assert.is_nil(io.open(name))
      assert.is_nil(io.open(name .. ".d"))
    end)

    it("runs by hand: prints port and pid, ends when its standard input does", function()
      local program = ("package.path, package.cpath = %q, %q; require 'koine.testing.loopback.main'")
        :format(package.path, package.cpath):gsub("'", "'\\''")
      local interpreter = os.getenv("KOINE_LUA") or "lua5.4"
      local pipe = assert(io.popen(("printf '' | %s -e '%s'"):format(interpreter, program)))
      local port, pid = pipe:read("l"):match("^(%d+) (%d+)$")
      assert.is_truthy(port)
      assert.is_nil(pipe:read("l"))
      pipe:close()
      assert.is_falsy(alive(tonumber(pid)))
    end)

    it("leaves Ctrl-C to the program that started it", function()
      local run = assert(io.popen(([[%s - 2>&1 <<'SCRIPT'
        package.path, package.cpath = %q, %q
        local server <close> = assert(require "koine".testing.start())
        os.execute("kill -INT " .. server.pid)
        print(server:reset())
SCRIPT
]]):format(os.getenv "KOINE_LUA" or "lua5.4", package.path, package.cpath)))
      assert.are.equal("true\n", run:read "a")
      run:close()
    end)

    it("runs by hand: ends without a word at Ctrl-C, where its standard input has no end", function()
      local program = ("package.path, package.cpath = %q, %q; require 'koine.testing.loopback.main'")
        :format(package.path, package.cpath):gsub("'", "'\\''")
      local run = assert(io.popen(("timeout 10 sh -c 'echo $$; exec \"$0\" \"$@\"' %s -e '%s' 2>&1 </dev/null")
        :format(os.getenv "KOINE_LUA" or "lua5.4", program)))
      local pid = run:read "l"
      assert.are.equal(pid, run:read "l":match " (%d+)$")
      os.execute("kill -INT " .. pid)
      assert.are.equal("", run:read "a")
      assert.are.same({ nil, "exit", 130 }, { run:close() })
    end)

    it("names lua-luv when it is missing", function()
      local cpath = package.cpath
      package.cpath = assert(package.searchpath("koine.core", cpath)):gsub("koine/core%.so$", "?.so")
      local other, err = testing.start()
      package.cpath = cpath
      assert.is_nil(other)
      assert.are.equal("ConnectionError", err.class)
      assert.is_truthy(tostring(err):find("luv", 1, true))
    end)

    it("refuses a wrong script and names the field", function()
      for problem, script in pairs {
        ["answers%[1%]: unknown field \"contents\""] = { { contents = "x" } },
        ["answers%[2%]: exactly one of content"] = { { content = "x" }, {} },
        ["answers%[1%]%.content%[1%]%.type"] = { { content = { { type = "txt" } } } },
        ["answers%[1%]%.content%[1%]%.name: a string"] = { { content = { { type = "tool_use" } } } },
        ["answers%[1%]%.fault%.split_at"] = { { content = "x", fault = { split_at = { 3, 2 } } } },
        ["answers%[1%]%.fault: unknown field"] = { { content = "x", fault = { stall = 1 } } },
        ['answers%[1%]%.content%[1%]: unknown field "input"'] = { { content = { { type = "tool_use", name = "add",
          input = { a = 1 } } } } },
        ["answers%[1%]%.replay"] = { { replay = "/nonexistent/recording.json" } },
        ["answers%[1%]%.embeddings: true expected"] = { { embeddings = { { 1, 2 } } } },
        ["answers%[1%]%.usage%.input_tokens"] = { { content = "x", usage = { input_tokens = -1 } } },
      } do
        local ok, err = pcall(server.script, server, script)
        assert.is_false(ok, problem)
        assert.are.equal("ArgumentError", err.class)
        assert.is_truthy(tostring(err):find(problem), tostring(err))
      end
      local answer = { content = "x" }
      for _, script in ipairs { { [1] = answer, [3] = answer }, { answer, other = answer }, answer } do
        local ok, err = pcall(server.script, server, script)
        assert.is_false(ok)
        assert.are.equal("script", err.field)
        assert.are.equal(script == answer, err.message:find("a single answer: write { { … } }", 1, true) ~= nil)
      end
      assert.is_false((pcall(server.script, server, "sing")))
      assert.is_false((pcall(testing.start, { script = { {} } })))
      assert.is_false((pcall(testing.start, { scripts = {} })))
      for _, opts in ipairs { "echo", 5, true } do
        local ok, err = pcall(testing.start, opts)
        assert.are.same({ false, "ArgumentError", "opts" }, { ok, err.class, err.field })
      end
    end)

    it("closes the request of a control call that is cancelled", function()
      local request, closed = core.request, 0
      core.request = function(...)
        local made, err = request(...)
        return made and setmetatable({}, { __close = function()
          closed = closed + 1
          made:close()
        end, __index = { poll = function() return made:poll() end, close = function() end } }), err
      end
      koine.run(function()
        local task = koine.spawn(server.requests, server)
        koine.sleep(0)
        assert.is_true(task:cancel())
      end)
      core.request = request
      assert.are.equal(1, closed)
    end)

    it("cannot be used when stopped", function()
      local other = assert(testing.start())
      other:stop()
      local ok, err = pcall(other.requests, other)
      assert.is_false(ok)
      assert.are.equal("ArgumentError", err.class)
    end)
  end)

  describe("the script", function()
    it("is played in order over both endpoints and says when it is exhausted", function()
      assert(server:script { { content = "one" }, { content = "two" } })
      assert.are.equal("one", core.decode(messages(server).body).content[1].text)
      assert.are.equal("two", core.decode(completions(server).body).choices[1].message.content)
      local answer = messages(server)
      assert.are.equal(500, answer.status)
      assert.are.equal("false", answer.headers["x-should-retry"])
      assert.is_truthy(core.decode(answer.body).error.message:find("exhausted"))
      assert.is_truthy(core.decode(completions(server).body).error.message:find("exhausted"))
      assert(server:script { { content = "one" } })
      messages(server)
      assert.is_truthy(messages(server).body:find("it has 1 answer, this", 1, true))
    end)

    it("fails the call at once where an answer cannot be played, and names the answer", function()
      local url, key = server.url, "k"
      local adapters = { koine.anthropic { model = "m", base_url = url, key = key },
        koine.bedrock { model = "m", base_url = url, key = key },
        koine.openai { model = "m", api = "chat", base_url = url .. "/v1", key = key },
        koine.openai { model = "m", base_url = url .. "/v1", key = key },
        koine.gemini { model = "m", base_url = url .. "/v1beta", key = key },
        koine.ollama { model = "m", base_url = url } }
      local contents = { { { type = "tool_use", name = "f", arguments_json = '{"a":' } },
        { { type = "redacted_thinking", data = "AAAA" } }, { { type = "opaque", raw = { type = "odd" } } } }
      local failed = {}
      for _, adapter in ipairs(adapters) do
        local wire = core.state(adapter).row.codec
        for _, content in ipairs(contents) do
          for _, stream in ipairs { false, true } do
            assert(server:reset())
            assert(server:script { { content = "first" }, { content = content }, { content = "next" } })
            assert(adapter:chat "Hi")
            local r, err = adapter:chat("Hi", { stream = stream })
            assert.are.equal(2, #assert(server:requests()))
            if err then
              failed[wire] = true
              assert.is_truthy(err.message:find("^the script cannot be played: answers%[2%]: %u?%l"), err.message)
              assert.are.equal("next", assert(adapter:chat "Hi"):text())
            else
              assert.are_not.equal("next", r:text())
            end
          end
        end
      end
      assert.are.same({ anthropic = true, bedrock = true, chat = true, gemini = true, ollama = true }, failed)
      assert(server:script { { path = "/other", content = "x" } }) -- no chat's path
      local answer = exchange(server, "POST", "/other", nil, "")
      assert.are.same({ 500, "false" }, { answer.status, answer.headers["x-should-retry"] })
      assert.is_truthy(answer.body:find("answers[1]: this path is no chat's", 1, true))
    end)

    it("has answers for chats and for embeddings, and does not take one for the other", function()
      local adapter = koine.openai { base_url = server.url, key = "k", retry = false }
      assert(server:script { { embeddings = true }, { content = "x" }, { embeddings = true } })
      local r, err = adapter:chat "Hi"
      assert.is_nil(r)
      assert.are.equal("the script cannot be played: answers[1]: embeddings are no answer to a chat", err.message)
      r, err = adapter:embed "Hi"
      assert.is_nil(r)
      assert.is_truthy(err.message:find("answers[2]: this path is no chat's: embeddings or a reply expected", 1, true))
      assert.are.equal(1, #assert(adapter:embed "Hi").vectors)
    end)

    it("is refused where a block's field has the wrong type", function()
      local odd = { tool_use = { type = "tool_use", name = "f", arguments_json = 5 },
        arguments = { type = "tool_use", name = "f", arguments = "{}" },
        thinking = { type = "thinking", thinking = "", signature = 5 }, opaque = { type = "opaque", raw = "no JSON" },
        list = { type = "opaque", raw = "[]" } }
      for name, block in pairs(odd) do
        local ok, err = pcall(server.script, server, { { content = "x" }, { content = { block } } })
        assert.is_false(ok, name)
        assert.is_truthy(err.message:find("answers%[2%]%.content%[1%]%.%l+.* expected"), err.message)
      end
    end)

    it("takes no empty arguments for bad ones", function()
      local ollama = koine.ollama { model = "m", base_url = server.url }
      assert(server:script { { content = { { type = "tool_use", name = "f", arguments_json = "" } } } })
      assert.are.equal("{}", assert(ollama:chat "Hi").tool_calls[1].arguments_json)
    end)

    it("is for requests after it: one that came before takes none of its answers", function()
      assert(server:requests()) -- so that the control call below finds its connection open, and is read first
      local function continue() os.execute("kill -CONT " .. server.pid) end
      local _ <close> = setmetatable({}, { __close = continue })
      os.execute("kill -STOP " .. server.pid)
      local body = core.encode { model = "m", max_tokens = 9, messages = { { role = "user", content = "Hi" } } }
      local abandoned = client.connect(server)
      assert(abandoned:send(client.head("POST", "/v1/messages", client.KEYS, body) .. body))
      koine.run(function()
        koine.gather(function() assert(server:script { { content = "one" } }) end, function()
          koine.sleep(0.1)
          continue()
        end)
      end)
      assert.are.equal(500, client.receive(abandoned).status)
      abandoned:close()
      assert.are.equal("one", core.decode(messages(server).body).content[1].text)
    end)

    it("echoes", function()
      assert(server:script "echo")
      assert.are.equal("You said: Hi", core.decode(messages(server).body).content[1].text)
      local message = { { role = "user", content = { { type = "text", text = "Ho" } } } }
      local answer = core.decode(completions(server, { messages = message }).body)
      assert.are.equal("You said: Ho", answer.choices[1].message.content)
    end)

    it("serves other paths with replies of their own", function()
      assert(server:script { { content = "chat" },
        { path = "/login/code", reply = { body = { code = "X" } } },
        { path = "/login/code", reply = { status = 202, headers = { ["x-a"] = "b" }, body = "plain" } },
        { path = "/v1/models", error = { status = 503 } } })
      local answer = exchange(server, "POST", "/login/code", nil, "a=b")
      assert.are.same({ code = "X" }, core.decode(answer.body))
      answer = exchange(server, "POST", "/login/code", nil, "a=b")
      assert.are.equal(202, answer.status)
      assert.are.equal("b", answer.headers["x-a"])
      assert.are.equal("plain", answer.body)
      assert.are.equal(404, exchange(server, "POST", "/login/code", nil, "").status)
      assert.are.equal(503, exchange(server, "GET", "/v1/models", BEARER).status)
      assert.are.equal(200, exchange(server, "GET", "/v1/models", BEARER).status)
      assert.are.equal("chat", core.decode(completions(server).body).choices[1].message.content)
    end)

    it("replays recordings byte for byte", function()
      local path = os.tmpname()
      local function record(status, headers, body)
        local file = assert(io.open(path, "wb"))
        file:write(core.encode { response = { status = status, headers = headers, body = body } })
        file:close()
        assert(server:script { { replay = path } })
      end
      local sse = "data: {\"a\":1}  \r\n\r\n: comment\n\ndata: [DONE]"
      record(200, { ["content-type"] = "text/event-stream", ["content-length"] = "7", ["x-id"] = "1" }, sse)
      local answer = completions(server)
      assert.are.equal(sse, answer.body)
      assert.are.equal("1", answer.headers["x-id"])
      record(429, { ["content-type"] = "application/json" }, " {} ")
      answer = exchange(server, "POST", "/v1/generate", BEARER, "{}")
      assert.are.equal(429, answer.status)
      assert.are.equal(" {} ", answer.body)
      os.remove(path)
    end)
  end)

  describe("offline", function()
    local function fetch(url)
      local request, err = core.request(core.engine(), { method = "GET", url = url, timeouts = { total = 20 } })
      local answer
      while request and not answer and not err do
        answer, err = request:poll()
        if answer == false then
          core.engine():step(1)
        end
      end
      return answer, err
    end

    after_each(function() testing.offline(false) end)

    it("forbids every host but loopback, before its name is looked up", function()
      testing.offline(true)
      for _, url in ipairs { "http://koine.invalid/", "http://192.0.2.1/", "https://[2001:db8::1]/" } do
        local answer, err = fetch(url)
        assert.is_nil(answer)
        assert.are.equal("ConnectionError", err.class)
        assert.is_truthy(tostring(err):find("offline"), tostring(err))
      end
      assert.are.equal(404, fetch(server.url .. "/nothing").status)
    end)

    it("wants a boolean", function()
      assert.is_false((pcall(testing.offline)))
    end)
  end)
end)
