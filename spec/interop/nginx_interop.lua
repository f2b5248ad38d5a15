-- nginx before the loopback provider: TLS, HTTP/1.1 and HTTP/2, buffers, gzip, its own error pages, its own end.

local cassette = require "spec.interop.support.cassette"
local certificate = require "spec.interop.support.certificate"
local deep = require "spec.support.deep"
local http2_support = require "spec.interop.support.http2"
local koine = require "koine"
local nginx = require "spec.interop.support.nginx"
local program = require "spec.interop.support.program"

local KEY = "interop-secret-key"
local LONG = {} -- a text that shows where something is missing or twice
for i = 1, 3000 do LONG[i] = ("%d é; "):format(i) end
LONG = table.concat(LONG)

describe("nginx", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local function adapter(front, opts)
    local given = { model = "claude-sonnet-4-5", base_url = front.url, key = KEY, ca_file = front.ca_file,
      retry = false }
    for name, value in pairs(opts or {}) do given[name] = value end
    return koine.anthropic(given)
  end

  -- Everything that shows of an error, which may not hold the key.
  local function assert_no_secret(err)
    assert.is_nil(deep.text(err):find(KEY, 1, true))
  end

  -- The text of all text deltas, in the order in which they came, and their number.
  local function streamed(talker)
    local texts = {}
    for delta in talker:stream "Hello?" do
      if delta.type == "text_delta" then texts[#texts + 1] = delta.text end
    end
    return table.concat(texts), #texts
  end

  -- A front for each protocol: libcurl takes a connection of HTTP/1.1 that it has to the same port.
  local function pair(directives)
    local fronts = { [true] = nginx.start(server.port, directives), [false] = nginx.start(server.port, directives) }
    return fronts, function()
      fronts[true]:stop()
      fronts[false]:stop()
    end
  end

  local PROTOCOLS = http2_support.protocols { [false] = "HTTP/1.1", [true] = "HTTP/2.0" }

  describe("as a TLS front", function()
    local fronts, stop

    setup(function() fronts, stop = pair() end)
    teardown(function() stop() end)

    for protocol, http2 in pairs(PROTOCOLS) do
      it("answers over " .. protocol .. " to who knows its authority", function()
        assert(server:script { { content = "Hello." }, { content = LONG, chunk = 11 } })
        local talker = adapter(fronts[http2], { http2 = http2 })
        local response = assert(talker:chat "Hello?")
        assert.are.equal("Hello.", response:text())
        assert.are.equal(protocol, response.headers["x-protocol"])
        assert.are.equal(LONG, (streamed(talker)))
      end)

      it("keeps the connection alive over " .. protocol, function()
        assert(server:script { { content = "one" }, { content = "two" }, { content = "three" } })
        local talker, connections, counts = adapter(fronts[http2], { http2 = http2 }), {}, {}
        for i = 1, 3 do
          local response = assert(talker:chat("Hello?", { stream = i == 2 }))
          connections[response.headers["x-connection"]] = true
          counts[i] = math.tointeger(tonumber(response.headers["x-requests"]))
        end
        assert.is_not_nil(next(connections))
        assert.is_nil(next(connections, (next(connections))))
        assert.are.same({ counts[1], counts[1] + 1, counts[1] + 2 }, counts)
      end)

      it("is not believed without its authority, over " .. protocol, function()
        local other = program.folder()
        local wrong = adapter(fronts[http2], { http2 = http2, ca_file = certificate.make(other) })
        local unset = koine.anthropic { model = "m", base_url = fronts[http2].url, key = KEY, retry = false,
          http2 = http2 }
        local missing = adapter(fronts[http2], { http2 = http2, ca_file = other .. "/none.pem" })
        for _, talker in ipairs { wrong, unset, missing } do
          local response, err = talker:chat "Hello?"
          assert.is_nil(response)
          assert.are.equal("ConnectionError", err.class, tostring(err))
          assert.are.equal("connect", err.kind)
          assert.is_nil(err.status_code)
          assert_no_secret(err)
        end
        assert.are.equal(0, #assert(server:requests()))
        os.execute("rm -r " .. other)
      end)
    end

    it("is not believed under another name", function()
      local front <close> = nginx.start(server.port)
      certificate.make(front.folder, "DNS:elsewhere.example")
      front:restart()
      local response, err = adapter(front):chat "Hello?"
      assert.is_nil(response)
      assert.are.equal("ConnectionError", err.class, tostring(err))
      assert_no_secret(err)
    end)

    it("that was started anew is found again", function()
      for _, http2 in pairs(PROTOCOLS) do
        assert(server:script { { content = "one" }, { content = "two" }, { content = "three" } })
        local talker = adapter(fronts[http2], { http2 = http2, retry = { max = 2 } })
        assert.are.equal("one", assert(talker:chat "Hello?"):text())
        fronts[http2]:restart()
        assert.is_truthy(assert(talker:chat "Hello?"):text():find "^t")
      end
    end)

    it("that ends in the middle gives the part that came", function()
      local ways = {}
      for _, http2 in pairs(PROTOCOLS) do
        for _, name in ipairs { "TERM", "KILL" } do ways[#ways + 1] = { http2, name } end
      end
      for _, way in ipairs(ways) do
        local front <close> = nginx.start(server.port, "proxy_buffering off;")
        assert(server:script { { content = LONG, chunk = 100, fault = { stall_after = 9000 } } })
        local stream <close> = assert(adapter(front, { http2 = way[1] }):open "Hello?")
        repeat local delta = assert(stream:next()) until delta.type == "text_delta"
        assert(front.program:signal(way[2], true))
        local response, err = stream:response()
        assert.is_nil(response)
        assert.are.equal("ConnectionError", err.class, tostring(err))
        local text = err.partial:text()
        assert.is_true(#text > 0)
        assert.are.equal(LONG:sub(1, #text), text)
        assert_no_secret(err)
      end
    end)
  end)

  local FRONTS = {
    { "proxy_buffering on", "proxy_buffering on;" },
    { "proxy_buffering off", "proxy_buffering off;" },
    { "buffers of 1 KiB", "proxy_buffer_size 1k; proxy_buffers 2 1k; proxy_busy_buffers_size 1k; "
      .. "client_body_buffer_size 1k;" },
    { "no buffers on disk", "proxy_buffer_size 4k; proxy_buffers 4 4k; proxy_max_temp_file_size 0;" },
    { "gzip", "gzip on; gzip_types text/event-stream application/json; gzip_proxied any; gzip_min_length 0;", "gzip" },
    { "gzip, unbuffered", "proxy_buffering off; gzip on; gzip_types text/event-stream application/json; "
      .. "gzip_proxied any; gzip_min_length 0; gzip_buffers 4 1k;", "gzip" },
  }

  for _, row in ipairs(FRONTS) do
    local name, directives, encoding = table.unpack(row)

    describe("with " .. name, function()
      local fronts, stop

      setup(function() fronts, stop = pair(directives) end)
      teardown(function() stop() end)

      for protocol, http2 in pairs(PROTOCOLS) do
        it("streams arrive whole and in order over " .. protocol, function()
          local answer = { content = LONG, chunk = 13 }
          assert(server:script { answer })
          local _, wanted = streamed(adapter { url = server.url })
          local talker = adapter(fronts[http2], { http2 = http2 })
          for _, fault in ipairs { {}, { write_bytes = 777 }, { gzip = true } } do
            answer.fault = fault
            assert(server:script { answer })
            local text, n = streamed(talker)
            assert.are.equal(LONG, text)
            assert.are.equal(wanted, n)
          end
        end)

        it("is the same on a cassette over " .. protocol, function()
          local error_answer = { error = { status = 529, message = "busy" } }
          local path, said = cassette.judge(function(tape)
            assert(server:reset())
            assert(server:script { { content = LONG, chunk = 13 }, { content = LONG }, error_answer })
            local talker, list = adapter(fronts[http2], { http2 = http2, transport = tape }), {}
            for i = 1, 3 do list[i] = cassette.told(talker:chat("Hello " .. i, { stream = i == 1 })) end
            return list
          end)
          assert.are.equal(LONG, said[1].content[1].text)
          assert.are.equal(LONG, said[2].content[1].text)
          assert.are.equal(529, said[3][2])
          assert.are.same({}, (server:requests())) -- of the second run, which played
          for _, exchange in ipairs(cassette.read(path).exchanges) do
            assert.is_string(exchange.response.body, "a content encoding was left")
          end
          cassette.remove(path)
        end)

        it("plain answers and large requests go through over " .. protocol, function()
          local question = ("Why? "):rep(20000)
          assert(server:script { { content = LONG } })
          local response = assert(adapter(fronts[http2], { http2 = http2 }):chat(question))
          assert.are.equal(LONG, response:text())
          assert.are.equal(encoding, response.headers["content-encoding"])
          assert.is_truthy(assert(server:requests())[1].body:find(question, 1, true))
        end)

        it("a provider that resets in the middle is a cut stream over " .. protocol, function()
          for _, ending in ipairs { "reset_after", "truncate_after" } do
            assert(server:script { { content = LONG, chunk = 100, fault = { [ending] = 40000 } } })
            local response, err = adapter(fronts[http2], { http2 = http2 }):chat("Hello?", { stream = true })
            assert.is_nil(response)
            assert.are.equal("ConnectionError", err.class, tostring(err))
            local text = err.partial and err.partial:text() or ""
            assert.are.equal(LONG:sub(1, #text), text)
            assert_no_secret(err)
          end
        end)
      end
    end)
  end

  it("unbuffered, gives each delta while the provider is still writing", function()
    for _, http2 in pairs(PROTOCOLS) do
      local front <close> = nginx.start(server.port, "proxy_buffering off;")
      assert(server:script { { content = LONG, chunk = 100, fault = { stall_after = 9000 } } })
      local stream <close> = assert(adapter(front, { http2 = http2 }):open "Hello?")
      local text = ""
      repeat text = text .. (assert(stream:next()).text or "") until #text > 3000
      assert.are.equal(LONG:sub(1, #text), text)
    end
  end)

  describe("as a page", function()
    local fronts, stop, gone

    setup(function()
      fronts, stop = pair "client_max_body_size 1k; proxy_read_timeout 1s;"
      local nobody = program.free_port()
      gone = { [true] = nginx.start(nobody), [false] = nginx.start(nobody) }
    end)
    teardown(function()
      stop()
      for _, front in pairs(gone) do front:stop() end
    end)

    -- The error of a call, whose body is nginx's HTML and whose message is one line without tags.
    local function page(talker, message, streamed_too)
      local response, err = talker:chat(message, { stream = streamed_too })
      assert.is_nil(response)
      assert.is_nil(err.message:find "[<>\n]")
      assert.is_truthy(err.raw:find("<html>", 1, true))
      assert_no_secret(err)
      return err
    end

    for protocol, http2 in pairs(PROTOCOLS) do
      for _, bytes in ipairs { 2000, 5000000 } do
        it(("413 is a request that is too large: %d bytes over %s"):format(bytes, protocol), function()
          for _, stream in ipairs { false, true } do
            local err = page(adapter(fronts[http2], { http2 = http2 }), ("x"):rep(bytes), stream)
            assert.are.equal("RequestError", err.class)
            assert.are.equal("too_large", err.kind)
            assert.are.equal(413, err.status_code)
            assert.is_truthy(err.message:find("413", 1, true))
          end
        end)
      end

      it("502 is the server's failure over " .. protocol, function()
        for _, stream in ipairs { false, true } do
          local err = page(adapter(gone[http2], { http2 = http2 }), "Hello?", stream)
          assert.are.equal("ServerError", err.class)
          assert.are.equal(502, err.status_code)
          assert.is_true(err.retryable)
          assert.is_truthy(err.message:find("502 Bad Gateway", 1, true))
        end
      end)

      it("504 is a timeout with a status over " .. protocol, function()
        assert(server:script { { content = "never", fault = { stall_after = 0 } } })
        local err = page(adapter(fronts[http2], { http2 = http2 }), "Hello?")
        assert.are.equal("ServerError", err.class)
        assert.are.equal("timeout", err.kind)
        assert.are.equal(504, err.status_code)
      end)
    end
  end)

  http2_support.refused(it)

  http2_support.only(it)("that knows no HTTP/2 is spoken to in HTTP/1.1", function()
    local front <close> = nginx.start(server.port, "", "ssl")
    assert(server:script { { content = "Hello." } })
    local response = assert(adapter(front, { http2 = true }):chat "Hello?")
    assert.are.equal("Hello.", response:text())
    assert.are.equal("HTTP/1.1", response.headers["x-protocol"])
  end)

  -- nginx ends an HTTP/2 connection with GOAWAY after so many requests. A stream that libcurl lets stall ends with its
  -- idle timeout, and is tried again.
  http2_support.only(it)("that says GOAWAY after ten requests loses none of a hundred", function()
    local front <close> = nginx.start(server.port, "keepalive_requests 10;")
    local script, connections, answers, attempts = {}, {}, {}, 0
    for i = 1, 100 do script[i] = { content = ("answer %d "):format(i):rep(50), chunk = 20 } end
    script = table.move(script, 1, 100, 101, script)
    assert(server:script(script))
    local talker = adapter(front, { http2 = true, retry = { max = 5 },
      timeout = { connect = 60, first_byte = 20, idle = 20 } })
    koine.run(function()
      for i = 1, 100 do
        koine.spawn(function()
          local response = assert(talker:chat("Hello?", { stream = true }))
          local text = response:text()
          assert(text == ("answer %s "):format(text:match "%d+"):rep(50), text)
          answers[i], attempts = true, attempts + #response.attempts
          connections[response.headers["x-connection"]] = response.headers["x-protocol"]
        end)
      end
    end)
    assert.are.equal(100, #answers)
    local n = 0
    for _, protocol in pairs(connections) do
      assert.are.equal("HTTP/2.0", protocol)
      n = n + 1
    end
    assert.is_true(n >= 10, n .. " connections")
    io.stdout:write(("\nHTTP/2, GOAWAY after each 10 of 100 requests: %d connections, %d attempts\n")
      :format(n, attempts))
  end)
end)
