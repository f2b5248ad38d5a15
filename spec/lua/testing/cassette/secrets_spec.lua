-- Cassettes: no credential gets into a file, whichever way it came; where one would, nothing is written.

local core = require "koine.core"
local environment = require "spec.support.environment"
local http = require "koine.net.http"
local kit = require "spec.lua.testing.cassette.kit"
local koine = require "koine"
local served = require "spec.lua.net.served"

local JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"

describe("what a cassette keeps", function()
  before_each(kit.begin)
  after_each(kit.restore)

  -- Records one raw request whose answer is `bytes`: the text of the file; nil, err of finish.
  local function record(call, bytes, options)
    local ok, err
    kit.serve({ bytes or served.answer(200, "{}") }, function(url)
      options = options or {}
      options.mode = "record"
      local tape = kit.open(options)
      call.url, call.transport = url .. (call.path or "/"), tape
      assert(http.send(call))
      ok, err = tape:finish()
    end)
    if not ok then return nil, err end
    return kit.text()
  end

  it("has no key of an adapter, in whatever form", function()
    kit.serve({ served.answer(401, core.encode { type = "error", error = { type = "authentication_error",
      message = "invalid key " .. kit.KEY .. " and " .. kit.KEY:gsub("-", "\\u002d") } }) }, function(url)
      local tape = kit.open { mode = "record" }
      assert.is_nil((kit.claude(tape, { base_url = url }):chat("my key is " .. kit.KEY)))
      assert(tape:finish())
    end)
    assert.is_nil(kit.text():find("0123456789abcdefghij", 1, true))
    assert.is_truthy(kit.text():find("my key is [redacted]", 1, true))
    assert(koine.testing.cassette.check(kit.path))
  end)

  it("has the headers of a list, and those that are named", function()
    local function kept(options)
      assert(record({ headers = { accept = "a", authorization = "Bearer abcdefgh", ["x-own"] = "1" } },
        served.answer(200, "{}", nil, { { "set-cookie", "c=1" }, { "openai-organization", "org-1" },
          { "x-ratelimit-limit-requests", "5" }, { "retry-after", "3" }, { "x-mine", "2" } }), options))
      local exchange = kit.read().exchanges[1]
      return exchange.request.headers, exchange.response.headers
    end
    local sent, came = kept()
    assert.are.same({ accept = "a" }, sent)
    assert.are.same({ ["content-type"] = "application/json", ["retry-after"] = "3",
      ["x-ratelimit-limit-requests"] = "5" }, came)
    sent, came = kept { headers = { "X-Own", "x-mine" } }
    assert.are.same({ "1", "2" }, { sent["x-own"], came["x-mine"] })
  end)

  it("has no credentials of queries, fields and forms", function()
    local text = assert(record({ path = "/p?key=k1234567890&a=1&sig=s1234567890&Token=t1234567890", method = "POST",
      body = core.encode { api_key = "f1234567890", deep = { { password = "f2345678901" } }, token = "word" } },
      served.answer(200, '{"access_token": "a\\"1234567890","refresh_token":"r1234567890","text":"a\\"1234567890"}')))
    for _, secret in ipairs { "k1234567890", "s1234567890", "t1234567890", "f1234567890", "f2345678901", "1234567890",
      "r1234567890" } do
      assert.is_nil(text:find(secret, 1, true), secret)
    end
    assert.is_truthy(text:find("?key=[redacted]&a=1&sig=[redacted]&Token=[redacted]", 1, true))
    assert.is_truthy(text:find('"token": "word"', 1, true))
    text = assert(record { method = "POST", body = "grant_type=x&client_secret=c12345678&code_verifier=v12345678&a=b" })
    assert.is_truthy(text:find("grant_type=x&client_secret=[redacted]&code_verifier=[redacted]&a=b", 1, true))
    text = assert(record({ headers = {} }, served.answer(200, '{"logprobs":[{"token":"ordinary"}]}')))
    assert.is_truthy(text:find("ordinary", 1, true))
    text = assert(record({ headers = {} }, served.answer(200, '{"expires_at":1,"token":"tid=12345678"}')))
    assert.is_nil(text:find("12345678", 1, true))
  end)

  it("is what the caller makes of it", function()
    local text = assert(record({ method = "POST", body = '{"path":"/home/me/x","name":"Ann"}' },
      served.answer(200, '{"path":"/home/me/y"}'), { replace = { ["/home/me"] = "/home/user" },
      redact = function(exchange)
        exchange.request.json.name = "someone"
        exchange.response.headers.date = nil
      end }))
    assert.is_nil(text:find("/home/me", 1, true))
    assert.is_nil(text:find("Ann", 1, true))
    assert.is_truthy(text:find('"name": "someone"', 1, true))
  end)

  it("still plays where bytes were taken out of a stream", function()
    local base
    kit.serve({ kit.stream("Hello ", kit.KEY, "!") }, function(url)
      base = url
      local tape = kit.open()
      assert(kit.claude(tape, { base_url = url }):chat("Hi.", { stream = true }))
      assert(tape:finish())
    end)
    environment.replace {}
    local tape = kit.open { mode = "replay", speed = 1000 }
    local r = assert(kit.claude(tape, { base_url = base }):chat("Hi.", { stream = true }))
    assert.are.equal("Hello [redacted]!", r:text())
  end)

  it("is not written where it looks like a credential, and the old file stays", function()
    kit.write { kit.exchange("old", kit.response "old") }
    local old = kit.text()
    for what, body in pairs { JWT = JWT, OpenAI = "sk-proj-0123456789abcdefghijkl",
      GitHub = "ghp_0123456789abcdefghijkl", AWS = "AKIA0123456789ABCDEF", bearer = "Bearer 0123456789abcdefghij" } do
      local text, err = record({}, served.answer(200, core.encode { a = body }))
      assert.is_nil(text, what)
      assert.are.same({ "secret", "connect" }, { err.code, err.kind })
      assert.is_truthy(err.message:find("exchanges[1].response.body holds what looks like a credential", 1, true))
      assert.is_nil(err.message:find(body, 1, true))
      assert.are.equal(old, kit.text())
    end
    assert(record({}, served.answer(200, "sk-proj-0123456789abcdefghijkl"), { allow = { "sk-proj-0123456789" } }))
    assert(record({}, served.answer(200, "an sk-short, risk-assessment-of-the-whole-year")))
  end)

  it("is not written where a stream says a credential in pieces", function()
    for _, pieces in ipairs { { "It is ghp_01234567", "89abcdef", "ghijkl." },
      { kit.KEY:sub(1, 9), kit.KEY:sub(10) } } do
      kit.serve({ kit.stream(table.unpack(pieces)) }, function(url)
        local tape = kit.open()
        assert(kit.claude(tape, { base_url = url }):chat("Hi.", { stream = true }))
        local ok, err = tape:finish()
        assert.is_nil(ok)
        assert.is_truthy(err.message:find("the joined text of [0].delta.text)", 1, true), err.message)
        assert.is_nil(kit.text())
      end)
    end
    local _, err = record({}, served.answer(200, "\0\255 " .. JWT, "application/octet-stream"))
    assert.are.equal("secret", err.code)
  end)

  it("can be checked by itself", function()
    local check = koine.testing.cassette.check
    assert.are.equal("absent", select(2, check(kit.path)).code)
    kit.write { kit.exchange("Hi.", kit.response "fine") }
    assert.is_true(check(kit.path))
    kit.write { kit.exchange("Hi.", kit.response "fine"), kit.exchange(JWT, kit.response "x") }
    local ok, err = check(kit.path)
    assert.is_nil(ok)
    assert.is_truthy(err.message:find("exchanges[2].request.json.messages[1].content[1].text holds", 1, true))
    assert.is_true(check(kit.path, { "eyJhbGciOiJIUzI1NiJ9" }))
    local exchange = kit.exchange("Hi.", kit.response "fine")
    exchange.request.json[JWT] = { inner = JWT }
    kit.write { exchange }
    err = select(2, check(kit.path))
    assert.is_truthy(err.message:find("exchanges[1].request.json (the name of a member) holds", 1, true), err.message)
    assert.is_nil(err.message:find(JWT, 1, true))
  end)
end)

describe("a login of Copilot on a cassette", function()
  local server

  setup(function() server = assert(koine.testing.start { copilot = {} }) end)
  teardown(function() server:stop() end)
  before_each(kit.begin)
  after_each(kit.restore)

  it("leaves no token in the file, and plays", function()
    local token = "ghu_cassette_0123456789abcdef"
    assert(server:copilot { github_tokens = { token }, plan = "individual" })
    assert(server:script { { content = "Hello." }, { content = "More." } })
    local function chat(tape)
      local copilot = koine.copilot { model = "gpt-4.1", github_host = server.url, github_token = token,
        min_request_interval = 0, transport = tape }
      local r = assert(copilot:chat "Hi.")
      assert.are.equal("More.", assert(copilot:chat "More?"):text())
      copilot:logout()
      return r:text()
    end
    local tape = kit.open { mode = "record" }
    assert.are.equal("Hello.", chat(tape))
    assert(tape:finish())
    assert.is_true(tape:count() == 0 and #kit.read().exchanges >= 2)
    assert.is_nil(kit.text():find(token, 1, true))
    assert.is_nil(kit.text():find("tid=", 1, true))
    local issued = assert(server:copilot()).exchanges
    local written, old = kit.read(), nil -- as if it were a year old
    for _, exchange in ipairs(written.exchanges) do
      if exchange.recorded then
        local response = exchange.response
        exchange.recorded, old = exchange.recorded - 365 * 86400, true
        response.body, response.chunks = response.body:gsub('("expires_at":)(%d+)', function(name, at)
          return name .. math.tointeger(at) - 365 * 86400
        end), nil
      end
    end
    assert.is_true(old)
    kit.write(written.exchanges)
    tape = kit.open { mode = "replay" }
    token = "ghu_another_one_0123456789ab"
    assert.are.equal("Hello.", chat(tape))
    assert.are.equal(issued, server:copilot().exchanges)
    assert(tape:finish())
  end)
end)
