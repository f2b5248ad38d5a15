-- The Copilot endpoint of koine.testing: what GitHub says, and the settings.

local client = require "spec.support.raw_client"
local copilot_endpoint = require "spec.lua.testing.loopback.copilot_endpoint"
local testing = require "koine.testing"

local exchange, with, decoded = client.exchange, client.with, copilot_endpoint.decoded

local FORM = { ["content-type"] = "application/x-www-form-urlencoded", accept = "application/json" }
local GRANT = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code"

describe("koine.testing: the Copilot endpoint", function()
  local server

  before_each(function() server = assert(testing.start { copilot = {} }) end)
  after_each(function() server:stop() end)

  local function swap(...) return copilot_endpoint.swap(server, ...) end

  local function device_code()
    return decoded(exchange(server, "POST", "/login/device/code", FORM, "client_id=Iv1.x&scope=copilot"))
  end

  local function poll(code, fields)
    return exchange(server, "POST", "/login/oauth/access_token", FORM,
      fields or ("client_id=Iv1.x&device_code=%s&grant_type=%s"):format(code, GRANT))
  end

  describe("the device flow", function()
    it("hands out a code and, when polled, a token that the exchange accepts", function()
      assert(server:copilot { device_flow = { "authorization_pending", "slow_down", { access_token = "ghu_new" } } })
      local code = device_code()
      assert.are.equal(5, code.interval)
      assert.are.equal(900, code.expires_in)
      assert.are.equal(server.url .. "/login/device", code.verification_uri)
      assert.is_truthy(code.user_code)
      assert.are.equal(401, swap("ghu_new").status)
      local said = decoded(poll(code.device_code))
      assert.are.equal("authorization_pending", said.error)
      assert.is_truthy(said.error_description)
      assert.is_nil(said.interval)
      said = decoded(poll(code.device_code))
      assert.are.same({ "slow_down", 10 }, { said.error, said.interval })
      for _ = 1, 2 do
        said = decoded(poll(code.device_code))
        assert.are.same({ access_token = "ghu_new", token_type = "bearer", scope = "" }, said)
      end
      assert.are.equal(200, swap("ghu_new").status)
      local counters = server:copilot()
      assert.are.same({ 1, 4, 2, 1 }, { counters.device_codes, counters.polls, counters.exchanges, counters.tokens })
    end)

    it("gives the first GitHub token without a script, and repeats the last word of one", function()
      local code = device_code()
      assert.are.equal("ghu_loopback", decoded(poll(code.device_code)).access_token)
      for _, word in ipairs { "authorization_pending", "access_denied", "expired_token" } do
        assert(server:copilot { device_flow = { word } })
        for _ = 1, 3 do
          local said, status = decoded(poll(code.device_code))
          assert.are.same({ 200, word }, { status, said.error })
        end
      end
    end)

    it("says other intervals, other bodies, nothing at all", function()
      assert(server:copilot { interval = 1, expires_in = 60, device_flow = { { error = "slow_down", interval = 30 },
        { fault = { reset_after = 0 } }, { status = 503, body = "later" }, { body = { access_token = "ghu_x" } } } })
      local code = device_code()
      assert.are.same({ 1, 60 }, { code.interval, code.expires_in })
      assert.are.equal(30, decoded(poll(code.device_code)).interval)
      local got = poll(code.device_code)
      assert.is_nil(got.status)
      got = poll(code.device_code)
      assert.are.same({ 503, "later\n" }, { got.status, got.body })
      assert.are.equal("ghu_x", decoded(poll(code.device_code)).access_token)
      assert.are.equal(4, server:copilot().polls)
    end)

    it("judges what it is asked", function()
      assert(server:copilot { client_id = "Iv1.x" })
      local function post(path, given, body)
        return exchange(server, "POST", path, given, body)
      end
      assert.are.equal(404, post("/login/device/code", FORM, "client_id=other").status)
      assert.are.equal(400, post("/login/device/code", with(FORM, { accept = "*/*" }), "client_id=Iv1.x").status)
      assert.are.equal(400, post("/login/device/code", with(FORM, { ["content-type"] = "application/json" }),
        '{"client_id":"Iv1.x"}').status)
      local code = device_code().device_code
      for problem, body in pairs {
        unsupported_grant_type = "client_id=Iv1.x&device_code=" .. code,
        incorrect_device_code = "client_id=Iv1.x&device_code=none&grant_type=" .. GRANT,
        incorrect_client_credentials = ("device_code=%s&grant_type=%s"):format(code, GRANT),
      } do
        assert.are.equal(problem, decoded(poll(nil, body)).error)
        local list = server:requests()
        assert.are.same({ problem }, list[#list].problems)
      end
    end)
  end)

  describe("the exchange", function()
    it("issues a fresh token every time, for this server", function()
      local before = os.time()
      local first, second = decoded(swap()), decoded(swap())
      assert.are_not.equal(first.token, second.token)
      assert.is_truthy(first.token:find("^tid=%x+;exp=" .. first.expires_at))
      assert.is_true(first.expires_at >= before + 1500 and first.expires_at <= os.time() + 1500)
      assert.are.equal(1200, first.refresh_in)
      assert.are.equal(server.url, first.endpoints.api)
      assert.is_true(first.chat_enabled)
      assert.are.equal("monthly_subscriber_quota", first.sku)
      assert.are.equal(2, server:copilot().tokens)
    end)

    it("accepts every usual way to send a token, and only known tokens", function()
      for _, way in ipairs { "token", "Token", "Bearer" } do
        assert.are.equal(200, swap(nil, { authorization = way .. " ghu_loopback" }).status)
      end
      assert.are.equal(400, swap(nil, { authorization = "Basic ghu_loopback" }).status)
      assert.are.equal(400, swap(nil, { accept = "text/html" }).status)
      local body, status = decoded(swap("ghu_unknown"))
      assert.are.same({ 401, "Bad credentials" }, { status, body.message })
      assert(server:copilot { github_tokens = { "gho_a", "github_pat_b" } })
      assert.are.equal(401, swap().status)
      assert.are.equal(404, swap("gho_a").status)
      assert.are.equal(403, swap("github_pat_b").status)
      assert.are.equal(3, server:copilot().tokens)
    end)

    it("says what its settings say, and what an answer says first", function()
      assert(server:copilot { chat_enabled = false, endpoints = false, refresh_in = 7, sku = "free" })
      assert(server:script { { path = "/copilot_internal/v2/token", reply = { status = 503 } } })
      assert.are.equal(503, swap().status)
      local body = decoded(swap())
      assert.is_false(body.chat_enabled)
      assert.is_nil(body.endpoints)
      assert.are.same({ 7, "free" }, { body.refresh_in, body.sku })
      assert.is_truthy(body.token:find(";proxy-ep=proxy.individual.githubcopilot.com;", 1, true))
      assert(server:copilot { proxy_ep = "" })
      assert.is_falsy(decoded(swap()).token:find("proxy-ep", 1, true))
      assert.are.equal(3, server:copilot().exchanges)
    end)
  end)

  describe("the account", function()
    local function user()
      return decoded(exchange(server, "GET", "/copilot_internal/user", { authorization = "Bearer ghu_loopback",
        accept = "*/*" }))
    end

    it("of a paid plan has snapshots", function()
      assert(server:copilot { quota = { premium_interactions = { entitlement = 300, remaining = 30 },
        chat = { unlimited = true } }, plan = "business" })
      local body = user()
      assert.are.equal("business", body.copilot_plan)
      assert.are.equal("2026-12-01", body.quota_reset_date)
      local premium = body.quota_snapshots.premium_interactions
      assert.are.same({ 300, 30, 10.0, false }, { premium.entitlement, premium.remaining, premium.percent_remaining,
        premium.unlimited })
      assert.is_true(body.quota_snapshots.chat.unlimited)
      assert.are.equal(1, server:copilot().users)
    end)

    it("of a free plan has monthly quotas", function()
      assert(server:copilot { plan = "free", quota = { chat = { entitlement = 50, remaining = 0 },
        completions = { entitlement = 2000, remaining = 1999 } } })
      local body = user()
      assert.is_nil(body.quota_snapshots)
      assert.are.same({ chat = 50, completions = 2000 }, body.monthly_quotas)
      assert.are.same({ chat = 0, completions = 1999 }, body.limited_user_quotas)
      assert.are.equal("2026-12-01", body.limited_user_reset_date)
    end)

    it("is refused without a token", function()
      assert.are.equal(401, exchange(server, "GET", "/copilot_internal/user", {}).status)
    end)
  end)

  describe("the settings", function()
    it("may stand beside the answers of a script", function()
      local other <close> = assert(testing.start())
      assert.is_false((pcall(other.copilot, other)))
      assert(other:script { copilot = { sku = "free" }, { content = "ok" } })
      assert.are.equal(0, other:copilot().exchanges)
    end)

    it("are refused by name when they are wrong", function()
      for problem, settings in pairs {
        ['copilot: unknown field "tokens"'] = { tokens = {} },
        ["copilot.interval: a number expected, got a string"] = { interval = "5" },
        ["copilot.device_flow[1]: an error word"] = { device_flow = { "pending" } },
        ["copilot.device_flow[2].fault: unknown field"] = { device_flow = { "slow_down", { fault = { stall = 1 } } } },
        ["copilot.models[1]: a table with id"] = { models = { { id = "x" } } },
      } do
        local ok, err = pcall(server.copilot, server, settings)
        assert.is_false(ok, problem)
        assert.are.equal("ArgumentError", err.class)
        assert.is_truthy(tostring(err):find(problem, 1, true), tostring(err))
        assert.are.equal(problem:match "^([^:]+):", err.field)
      end
      assert.is_false((pcall(server.copilot, server, "on")))
      assert.is_false((pcall(testing.start, { copilot = { tokens = {} } })))
      local ok, err = pcall(server.script, server, { { error = { copilot = "yearly" } } })
      assert.is_false(ok)
      assert.is_truthy(tostring(err):find("answers[1].error.copilot: rate_limited", 1, true))
    end)
  end)
end)
