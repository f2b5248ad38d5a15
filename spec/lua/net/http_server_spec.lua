-- koine.testing: the HTTP that it speaks.

local client = require "spec.support.raw_client"
local core = require "koine.core"
local testing = require "koine.testing"

local connect, receive, exchange = client.connect, client.receive, client.exchange
local completions, BEARER = client.completions, client.BEARER

describe("koine.testing", function()
  local server

  setup(function() server = assert(testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local function last_request() return client.last_request(server) end

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
      local answers, open = {}, {}
      for i = 1, 1000 do
        answers[i] = { content = "Hello.", fault = { stall_after = 10 } }
      end
      assert(server:script(answers))
      local request = client.head("POST", "/v1/chat/completions", BEARER, BODY) .. BODY
      for i = 1, #answers do
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
      exchange(server, "POST", "/api/v1/chat/completions?x=1", BEARER, BODY)
      local seen = last_request()
      assert.are.equal("POST", seen.method)
      assert.are.equal("/api/v1/chat/completions", seen.path)
      assert.are.equal("/api/v1/chat/completions?x=1", seen.target)
      assert.are.equal("Bearer b-secret", seen.headers.authorization)
      assert.are.equal(BODY, seen.body)
      assert.are.equal(200, seen.status)
      assert.are.equal(0, #seen.problems)
      assert.is_nil(seen.closed_after)
      assert(server:reset())
      assert.are.equal(0, #server:requests())
    end)
  end)
end)
