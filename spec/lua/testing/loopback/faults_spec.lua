-- koine.testing: the faults of an answer.

local client = require "spec.support.raw_client"
local core = require "koine.core"
local testing = require "koine.testing"

local connect, messages, completions = client.connect, client.messages, client.completions
local with, BEARER = client.with, client.BEARER

describe("koine.testing", function()
  local server

  setup(function() server = assert(testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local function last_request() return client.last_request(server) end

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

    it("pauses between two pieces", function()
      local before = core.monotonic()
      local answer = play { pause_ms = 20, split_at = { 10, 20 } }
      assert.is_true(core.monotonic() - before >= 0.035)
      assert.are.equal(whole(), answer.body)
    end)

    -- Returns how the last request ended for the server; it may learn of it a moment after the peer left.
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
      assert.are.equal((" "):rep(1000000) .. whole(), text)
      answer = play { gzip_bomb = 3 << 20 }
      assert.is_true(#answer.body < 20000)
      assert.are.equal((" "):rep(3 << 20) .. whole(), inflate(answer.body))
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
end)
