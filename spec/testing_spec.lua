local client = require "spec.raw_client"
local core = require "koine.core"
local testing = require "koine.testing"

local connect, receive, exchange = client.connect, client.receive, client.exchange
local messages, completions, with, BEARER = client.messages, client.completions, client.with, client.BEARER

describe("koine.testing", function()
  local server

  setup(function()
    server = assert(testing.start())
  end)

  teardown(function()
    server:stop()
  end)

  before_each(function()
    assert(server:reset())
  end)

  local function last_request()
    local list = assert(server:requests())
    return list[#list]
  end

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
      local program = ("package.path, package.cpath = %q, %q; require 'koine.testing.main'")
        :format(package.path, package.cpath):gsub("'", "'\\''")
      local interpreter = os.getenv("KOINE_LUA") or "lua5.4"
      local pipe = assert(io.popen(("printf '' | %s -e '%s'"):format(interpreter, program)))
      local port, pid = pipe:read("l"):match("^(%d+) (%d+)$")
      assert.is_truthy(port)
      assert.is_nil(pipe:read("l"))
      pipe:close()
      assert.is_falsy(alive(tonumber(pid)))
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
        ["turns%[1%]: unknown field \"contents\""] = { { contents = "x" } },
        ["turns%[2%]: exactly one of content"] = { { content = "x" }, {} },
        ["turns%[1%]%.content%[1%]%.type"] = { { content = { { type = "txt" } } } },
        ["turns%[1%]%.content%[1%]%.name: a string"] = { { content = { { type = "tool_use" } } } },
        ["turns%[1%]%.fault%.split_at"] = { { content = "x", fault = { split_at = { 3, 2 } } } },
        ["turns%[1%]%.fault: unknown field"] = { { content = "x", fault = { stall = 1 } } },
        ["turns%[1%]%.replay"] = { { replay = "/nonexistent/recording.json" } },
        ["turns%[1%]%.usage%.input_tokens"] = { { content = "x", usage = { input_tokens = -1 } } },
      } do
        local ok, err = pcall(server.script, server, script)
        assert.is_false(ok, problem)
        assert.are.equal("ArgumentError", err.class)
        assert.is_truthy(tostring(err):find(problem), tostring(err))
      end
      assert.is_false((pcall(server.script, server, "sing")))
      assert.is_false((pcall(testing.start, { script = { {} } })))
      assert.is_false((pcall(testing.start, { scripts = {} })))
    end)

    it("cannot be used when stopped", function()
      local other = assert(testing.start())
      other:stop()
      local ok, err = pcall(other.requests, other)
      assert.is_false(ok)
      assert.are.equal("ArgumentError", err.class)
    end)
  end)

  describe("HTTP", function()
    local BODY = core.encode { model = "m", messages = { { role = "user", content = "Hi" } } }

    it("keeps a connection, and serves requests sent ahead", function()
      assert(server:script { { content = "one" }, { content = "two" }, { content = "three" } })
      local tcp = connect(server)
      local request = client.head("POST", "/v1/chat/completions", BEARER, BODY) .. BODY
      assert(tcp:send(request .. request))
      for _, word in ipairs { "one", "two" } do
        assert.are.equal(word, core.decode(receive(tcp).body).choices[1].message.content)
      end
      assert(tcp:send(request))
      assert.are.equal("three", core.decode(receive(tcp).body).choices[1].message.content)
      tcp:close()
      local list = server:requests()
      assert.are.equal(list[1].connection, list[3].connection)
    end)

    it("closes when asked to", function()
      assert(server:script { { content = "one" } })
      local tcp = connect(server)
      local headers = { connection = "close", ["content-type"] = "application/json" }
      assert(tcp:send(client.head("POST", "/v1/chat/completions", headers, BODY) .. BODY))
      assert.are.equal("close", receive(tcp).headers.connection)
      local _, err = tcp:receive(1)
      assert.are.equal("closed", err)
    end)

    it("says 100 Continue before a body is sent", function()
      assert(server:script { { content = "one" } })
      local tcp = connect(server)
      local headers = { expect = "100-continue", ["content-type"] = "application/json" }
      assert(tcp:send(client.head("POST", "/v1/chat/completions", headers, BODY)))
      assert.are.equal("HTTP/1.1 100 Continue", tcp:receive("*l"))
      assert.are.equal("", tcp:receive("*l"))
      assert(tcp:send(BODY))
      assert.are.equal(200, receive(tcp).status)
      tcp:close()
    end)

    it("reads chunked requests", function()
      assert(server:script { { content = "one" } })
      local tcp = connect(server)
      local headers = { ["transfer-encoding"] = "chunked", ["content-type"] = "application/json" }
      assert(tcp:send(client.head("POST", "/v1/chat/completions", headers)))
      for i = 1, #BODY, 7 do
        local piece = BODY:sub(i, i + 6)
        assert(tcp:send(("%x;ext=1\r\n%s\r\n"):format(#piece, piece)))
      end
      assert(tcp:send("0\r\ntrailer: x\r\n\r\n"))
      assert.are.equal(200, receive(tcp).status)
      assert.are.equal(BODY, last_request().body)
      tcp:close()
    end)

    it("takes large bodies and refuses the too large", function()
      assert(server:script { { content = "one" } })
      local text = ("x"):rep(8 * 1024 * 1024)
      assert.are.equal(200, completions(server, { messages = { { role = "user", content = text } } }).status)
      assert.are.equal(#text, #core.decode(last_request().body).messages[1].content)
      local tcp = connect(server)
      assert(tcp:send(client.head("POST", "/v1/messages", { ["content-length"] = tostring(65 * 1024 * 1024) })))
      assert.are.equal(413, receive(tcp).status)
      tcp:close()
    end)

    it("refuses what is no request", function()
      for _, text in ipairs { "hello\r\n\r\n", "GET / HTTP/1.1\r\nbroken\r\n\r\n",
                              "POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n" } do
        local tcp = connect(server)
        assert(tcp:send(text))
        assert.are.equal(400, receive(tcp).status, text)
        tcp:close()
      end
      assert.are.equal(0, #server:requests())
    end)

    it("serves a thousand connections at once", function()
      local turns, open = {}, {}
      for i = 1, 1000 do
        turns[i] = { content = "Hello.", fault = { stall_after = 10 } }
      end
      assert(server:script(turns))
      local request = client.head("POST", "/v1/chat/completions", BEARER, BODY) .. BODY
      for i = 1, #turns do
        open[i] = connect(server)
        assert(open[i]:send(request))
      end
      for _, tcp in ipairs(open) do
        assert.are.equal("HTTP/1.1 200 OK", tcp:receive("*l"))
      end
      for _, tcp in ipairs(open) do
        tcp:close()
      end
      assert.are.equal(1000, #server:requests())
    end)

    it("records what came: method, path, headers, body, status", function()
      assert(server:script { { content = "one" } })
      exchange(server, "POST", "/proxy/v1/chat/completions?x=1", BEARER, BODY)
      local seen = last_request()
      assert.are.equal("POST", seen.method)
      assert.are.equal("/proxy/v1/chat/completions", seen.path)
      assert.are.equal("/proxy/v1/chat/completions?x=1", seen.target)
      assert.are.equal("Bearer b-secret", seen.headers.authorization)
      assert.are.equal(BODY, seen.body)
      assert.are.equal(200, seen.status)
      assert.are.equal(0, #seen.problems)
      assert.is_nil(seen.closed_after)
      assert(server:reset())
      assert.are.equal(0, #server:requests())
    end)
  end)

  describe("the script", function()
    it("is played in order over both faces and says when it is exhausted", function()
      assert(server:script { { content = "one" }, { content = "two" } })
      assert.are.equal("one", core.decode(messages(server).body).content[1].text)
      assert.are.equal("two", core.decode(completions(server).body).choices[1].message.content)
      local answer = messages(server)
      assert.are.equal(500, answer.status)
      assert.is_truthy(core.decode(answer.body).error.message:find("exhausted"))
      assert.is_truthy(core.decode(completions(server).body).error.message:find("exhausted"))
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

  describe("faults", function()
    local function play(fault, fields)
      assert(server:script { with({ content = "Hello, world." }, with(fields or {}, { fault = fault })) })
      return completions(server, { stream = true })
    end

    local function whole()
      return play(nil).body
    end

    it("writes byte by byte", function()
      local answer = play { write_bytes = 1 }
      assert.are.equal(#answer.body, #answer.chunks)
      assert.are.equal(whole(), answer.body)
    end)

    it("splits exactly at the offsets", function()
      local answer = play { split_at = { 1, 7, 100 } }
      assert.are.same({ 1, 6, 93, #answer.body - 100 },
        { #answer.chunks[1], #answer.chunks[2], #answer.chunks[3], #answer.chunks[4] })
      assert.are.equal(4, #answer.chunks)
    end)

    it("delays", function()
      local before = core.monotonic()
      assert.are.equal(200, play({ delay_ms = 50 }).status)
      assert.is_true(core.monotonic() - before >= 0.045)
    end)

    -- What the server says about the last request's end; it may learn of it a moment after the peer left.
    local function closed_after()
      for _ = 1, 1000 do
        local seen = last_request()
        if seen.closed_after then
          return seen.closed_after
        end
      end
    end

    it("stalls until the peer leaves, and tells how far it came", function()
      for after, had_head in pairs { [0] = false, [20] = true } do
        assert(server:script { { content = "Hello.", fault = { stall_after = after } } })
        local body = core.encode { model = "m", stream = true, messages = { { role = "user", content = "Hi" } } }
        local tcp = connect(server)
        assert(tcp:send(client.head("POST", "/v1/chat/completions", BEARER, body) .. body))
        if had_head then
          assert.are.equal("HTTP/1.1 200 OK", tcp:receive("*l"))
        else
          tcp:settimeout(0.05)
          assert.are.equal("timeout", select(2, tcp:receive("*l")))
        end
        tcp:close()
        assert.are.equal(after, closed_after())
      end
    end)

    it("survives a peer that leaves in the middle of a large answer", function()
      assert(server:script { { content = ("x"):rep(16 * 1024 * 1024), chunk = 65536 }, { content = "next" } })
      local body = core.encode { model = "m", stream = true, messages = { { role = "user", content = "Hi" } } }
      local tcp = connect(server)
      assert(tcp:send(client.head("POST", "/v1/chat/completions", BEARER, body) .. body))
      assert.are.equal("HTTP/1.1 200 OK", tcp:receive("*l"))
      tcp:close()
      local sent = closed_after()
      assert.is_true(sent < 16 * 1024 * 1024)
      assert.are.equal(200, completions(server).status)
    end)

    it("truncates, ends early and resets", function()
      local answer = play { truncate_after = 30 }
      assert.are.equal(30, #answer.body)
      assert.is_truthy(answer.err)
      answer = play { end_after = 30 }
      assert.are.equal(30, #answer.body)
      assert.is_nil(answer.err)
      assert.is_truthy(play({ reset_after = 30 }).err)
      for _, fault in ipairs { { truncate_after = 0 }, { reset_after = 0 }, { end_after = 0 } } do
        answer = play(fault)
        assert.is_nil(answer.status)
      end
      assert(server:script { { content = "Hello.", fault = { truncate_after = 30 } } })
      answer = completions(server)
      assert.are.equal(30, #answer.body)
      assert.are.equal("closed", answer.err)
    end)

    it("changes the content type", function()
      assert.are.equal("text/html", play({ content_type = "text/html" }).headers["content-type"])
    end)

    it("gzips, with a bomb in front if told to", function()
      local function inflate(body)
        local path = os.tmpname()
        local file = assert(io.open(path, "wb"))
        file:write(body)
        file:close()
        local pipe = assert(io.popen("gzip -dc < " .. path))
        local text = pipe:read("a")
        assert.is_true(pipe:close(), "gzip accepts the stream and its checksum")
        os.remove(path)
        return text
      end
      local answer = play { gzip = true }
      assert.are.equal("gzip", answer.headers["content-encoding"])
      assert.are.equal(whole(), inflate(answer.body))
      answer = play { gzip_bomb = 1000000 }
      assert.is_true(#answer.body < 20000)
      local text = inflate(answer.body)
      assert.is_true(#text > 1000000)
      assert.is_truthy(text:find("^ +data: "))
    end)

    it("repeats the credential in an error body", function()
      local answer = play { echo_authorization = true }
      assert.are.equal(401, answer.status)
      assert.is_truthy(answer.body:find("b-secret", 1, true))
      assert(server:script { { error = { status = 500, message = "oops" }, fault = { echo_authorization = true } } })
      answer = messages(server)
      assert.are.equal(500, answer.status)
      assert.is_truthy(answer.body:find("oops (authorization: k-secret)", 1, true))
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

    after_each(function()
      testing.offline(false)
    end)

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
