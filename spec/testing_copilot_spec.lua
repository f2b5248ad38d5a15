local client = require "spec.raw_client"
local core = require "koine.core"
local testing = require "koine.testing"

local exchange, events, with = client.exchange, client.events, client.with
local null = core.null

local FORM = { ["content-type"] = "application/x-www-form-urlencoded", accept = "application/json" }
local GRANT = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code"

describe("koine.testing: the Copilot face", function()
  local server

  before_each(function()
    server = assert(testing.start { copilot = {} })
  end)

  after_each(function()
    server:stop()
  end)

  local function decoded(got)
    return core.decode(got.body), got.status
  end

  local function device_code()
    return decoded(exchange(server, "POST", "/login/device/code", FORM, "client_id=Iv1.x&scope=copilot"))
  end

  local function poll(code, fields)
    return exchange(server, "POST", "/login/oauth/access_token", FORM,
      fields or ("client_id=Iv1.x&device_code=%s&grant_type=%s"):format(code, GRANT))
  end

  local function swap(token, headers)
    return exchange(server, "GET", "/copilot_internal/v2/token",
      with({ authorization = "token " .. (token or "ghu_loopback"), accept = "application/json" }, headers or {}))
  end

  -- The headers of the chat host, with a fresh token and the changes; null takes one away.
  local function headers(changes, token)
    local all = { ["content-type"] = "application/json", accept = "application/json",
      authorization = "Bearer " .. (token or decoded(swap()).token), ["editor-version"] = "Koine/0.1",
      ["copilot-integration-id"] = "vscode-chat", ["x-initiator"] = "user" }
    for name, value in pairs(changes or {}) do
      if value == null then
        value = nil
      end
      all[name] = value
    end
    return all
  end

  local function chat(fields, changes, token)
    local body = with({ model = "gpt-4.1", messages = { { role = "user", content = "Hi" } } }, fields or {})
    return exchange(server, "POST", "/chat/completions", headers(changes, token), core.encode(body))
  end

  local function respond(fields, changes, token)
    local body = with({ model = "gpt-5.3-codex", input = "Hi", store = false,
      include = { "reasoning.encrypted_content" } }, fields or {})
    return exchange(server, "POST", "/responses", headers(changes, token), core.encode(body))
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

    it("says what its settings say, and what a turn says first", function()
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

    it("is nobody's without a token", function()
      assert.are.equal(401, exchange(server, "GET", "/copilot_internal/user", {}).status)
    end)
  end)

  describe("the chat host", function()
    it("plays the turns on both wires, with ids and reasoning of its own kind", function()
      local turn = { content = { { type = "thinking", thinking = "Hm.", signature = "sig" },
        { type = "text", text = "Hello." } } }
      assert(server:script { turn, turn, turn, with(turn, { rotate_ids = false }) })
      local got = chat()
      local message = core.decode(got.body).choices[1].message
      assert.are.same({ "Hello.", "Hm.", "sig" }, { message.content, message.reasoning_text, message.reasoning_opaque })
      assert.is_truthy(got.headers["x-github-request-id"])
      assert.are.equal(200, chat({ stream = true }, { accept = "text/event-stream" }).status)
      for i, rotating in ipairs { true, false } do
        local seen, twice = {}, false
        for _, event in ipairs(events(respond({ stream = true }).body)) do
          local id = event.item_id or event.item and event.item.id
          twice = twice or id and seen[id] or false
          seen[id or ""] = true
        end
        assert.are.equal(not rotating, twice, i)
      end
    end)

    it("splits a turn over two choices where a turn says so", function()
      local turn = { split_choices = true, content = { { type = "text", text = "Look." },
        { type = "tool_use", id = "a", name = "f", arguments = {} },
        { type = "tool_use", id = "b", name = "g", arguments = {} } } }
      assert(server:script { turn, turn, { split_choices = true, content = "alone" } })
      local choices = core.decode(chat().body).choices
      assert.are.equal(2, #choices)
      assert.are.same({ "Look.", nil, "tool_calls" },
        { choices[1].message.content, choices[1].message.tool_calls, choices[1].finish_reason })
      assert.are.same({ 1, "a", "b", "tool_calls" }, { choices[2].index, choices[2].message.tool_calls[1].id,
        choices[2].message.tool_calls[2].id, choices[2].finish_reason })
      local finished = {}
      for _, event in ipairs(events(chat({ stream = true }).body)) do
        for _, choice in ipairs(event ~= "[DONE]" and event.choices or {}) do
          assert.are.equal(choice.delta.tool_calls and 1 or choice.delta.content and 0 or choice.index, choice.index)
          finished[choice.index + 1] = choice.finish_reason
        end
      end
      assert.are.same({ "tool_calls", "tool_calls" }, finished)
      assert.are.equal(1, #core.decode(chat().body).choices)
    end)

    it("refuses wrong headers, in plain text, and uses up no turn", function()
      assert(server:script { { content = "ok" } })
      for text, case in pairs {
        ["missing Editor-Version header for IDE auth"] = { 400, { ["editor-version"] = null } },
        ["unknown Editor-Version"] = { 400, { ["editor-version"] = "Koine" } },
        ["missing Copilot-Integration-Id header"] = { 400, { ["copilot-integration-id"] = null } },
        ["unknown Copilot-Integration-Id"] = { 400, { ["copilot-integration-id"] = "a b" } },
        ["X-Initiator: user or agent expected"] = { 400, { ["x-initiator"] = "me" } },
        ["Accept: application/json or text/event-stream expected"] = { 400, { accept = "text/html" } },
        ["unauthorized: missing Authorization header"] = { 401, { authorization = null } },
        ["IDE token expired: unauthorized: token expired"] = { 401, { authorization = "Bearer ghu_loopback" } },
        ["Personal Access Tokens are not supported for this endpoint"] =
          { 400, { authorization = "Bearer github_pat_x" } },
      } do
        local got = chat({}, case[2])
        assert.are.same({ case[1], text .. "\n" }, { got.status, got.body })
        assert.are.equal("text/plain; charset=utf-8", got.headers["content-type"])
      end
      assert.are.equal(200, chat().status)
    end)

    it("knows only the editors and integrations it is told", function()
      assert(server:script { { content = "ok" } })
      assert(server:copilot { editors = { "vscode" }, integrations = { "other" } })
      assert.are.equal("unknown Editor-Version\n", chat().body)
      local editor = { ["editor-version"] = "vscode/1.99.0" }
      assert.are.equal("unknown Copilot-Integration-Id\n", chat({}, editor).body)
      assert.are.equal(200, chat({}, with(editor, { ["copilot-integration-id"] = "other" })).status)
    end)

    it("refuses tokens that expired, by themselves or when told to", function()
      assert(server:script { { content = "one" }, { content = "two" }, { content = "three" } })
      local token = decoded(swap()).token
      assert.are.equal(200, chat({}, nil, token).status)
      assert(server:copilot { expire = true })
      local got = chat({}, nil, token)
      assert.are.same({ 401, "IDE token expired: unauthorized: token expired\n" }, { got.status, got.body })
      assert.are.equal(200, chat().status)
      assert(server:copilot { token_lifetime = 0 })
      assert.are.equal(401, chat().status)
      assert(server:copilot { github_tokens = { "gho_a" } })
      assert.are.equal(200, chat({}, nil, "gho_a").status)
    end)

    it("lists its models", function()
      local function list(changes)
        return exchange(server, "GET", "/models", headers(with({ ["x-github-api-version"] = "2025-10-01" },
          changes or {})))
      end
      assert.are.equal(400, list({ ["x-github-api-version"] = null }).status)
      assert.are.equal(401, list({ authorization = "Bearer x" }).status)
      local by_id, malformed = {}, 0
      for _, entry in ipairs(decoded(list()).data) do
        by_id[entry.id or ""] = entry
        malformed = malformed + (entry.id and 0 or 1)
      end
      assert.are.equal(1, malformed)
      local codex = by_id["gpt-5.3-codex"]
      assert.are.same({ "/responses" }, codex.supported_endpoints)
      assert.are.equal("chat", codex.capabilities.type)
      assert.are.equal(400000, codex.capabilities.limits.max_context_window_tokens)
      assert.are.same({ "low", "medium", "high", "xhigh" }, codex.capabilities.supports.reasoning_effort)
      assert.is_true(codex.model_picker_enabled)
      assert.are.equal(1, codex.billing.multiplier)
      assert.is_nil(by_id["gpt-4.1"].supported_endpoints)
      assert.is_nil(by_id["gpt-4.1"].capabilities.supports.reasoning_effort)
      assert.are.equal("disabled", by_id["claude-opus-4.7"].policy.state)
      assert.is_false(by_id["text-embedding-3-small"].model_picker_enabled)
      assert(server:copilot { models = { { id = "own", endpoints = {}, policy = "disabled" } } })
      assert.are.equal("own", decoded(list()).data[1].id)
    end)

    it("judges models, endpoints, efforts and images", function()
      assert(server:script { { content = "ok" } })
      local tool = { type = "function", ["function"] = { name = "f", parameters = { type = "object" } } }
      local image = { { role = "user", content = { { type = "text", text = "?" },
        { type = "image_url", image_url = { url = "data:image/png;base64,iVBORw0KGgo=" } } } } }
      local item = { { role = "user", content = { { type = "input_image",
        image_url = "data:image/png;base64,iVBORw0KGgo=" } } } }
      for i, case in ipairs {
        { chat, { model = "nothing" }, "model_not_supported", "not supported" },
        { chat, { model = "claude-opus-4.7" }, "model_not_supported", "not supported" },
        { chat, { model = "gpt-5.3-codex" }, "unsupported_api_for_model", "via the /chat/completions endpoint" },
        { respond, { model = "gpt-4.1" }, "unsupported_api_for_model", "via the /responses endpoint" },
        { chat, { reasoning_effort = "high" }, "invalid_reasoning_effort", 'reasoning_effort "high" was provided' },
        { respond, { reasoning = { effort = "max" } }, "invalid_reasoning_effort", 'reasoning_effort "max"' },
        { chat, { model = "gpt-5.5", tools = { tool } }, "invalid_request_body", "use /v1/responses instead" },
        { chat, { model = "gpt-5-mini", max_tokens = 100 }, "unsupported_parameter", "'max_tokens' is not supported" },
        { respond, { store = true }, "invalid_request_body", "store: false expected" },
        { chat, { messages = image }, "", "missing required Copilot-Vision-Request header for vision requests" },
        { respond, { input = item }, "", "missing required Copilot-Vision-Request header for vision requests" },
        { chat, { max_output_tokens = 5 }, "invalid_value", "request.max_output_tokens: extra inputs" },
      } do
        local body, status = decoded(case[1](case[2]))
        assert.are.same({ 400, case[3] }, { status, body.error.code }, i)
        assert.is_truthy(body.error.message:find(case[4], 1, true), body.error.message)
      end
      assert.are.equal(200, chat({ messages = image }, { ["copilot-vision-request"] = "true" }).status)
    end)

    it("has its own words for limits", function()
      for word, case in pairs {
        rate_limited = { 429, "application/json", "30", "rate_limited" },
        quota_exceeded = { 429, "application/json", nil, "quota_exceeded" },
        weekly = { 429, "text/plain; charset=utf-8" }, monthly = { 429, "text/plain; charset=utf-8" },
        payment = { 402, "application/json", nil, "quota_exceeded" },
        client_too_old = { 466, "text/plain; charset=utf-8" }, wrong_host = { 421, "text/plain; charset=utf-8" },
      } do
        assert(server:script { { error = { copilot = word } } })
        local got = chat()
        assert.are.same({ case[1], case[2], case[3] },
          { got.status, got.headers["content-type"], got.headers["retry-after"] }, word)
        assert.are.equal(case[4], case[4] and core.decode(got.body).error.code, word)
        assert.are.equal(word == "weekly" or word == "monthly", got.body:find("resets on", 1, true) ~= nil, word)
      end
      assert(server:script { { error = { copilot = "weekly", status = 403, body = "other" } } })
      local got = chat()
      assert.are.same({ 403, "other" }, { got.status, got.body })
    end)

    it("tells what it saw", function()
      assert(server:script { { content = "one" }, { content = "two" } })
      chat()
      respond({ stream = true }, { ["x-initiator"] = "agent", ["copilot-vision-request"] = "true" })
      respond({}, { ["editor-version"] = null })
      local chats = server:copilot().chats
      assert.are.equal(3, #chats)
      assert.are.same({ path = "/chat/completions", status = 200, model = "gpt-4.1", stream = false, image = false,
        initiator = "user", editor_version = "Koine/0.1", integration_id = "vscode-chat" }, chats[1])
      assert.are.same({ "/responses", true, "agent", "true" },
        { chats[2].path, chats[2].stream, chats[2].initiator, chats[2].vision })
      assert.are.equal(400, chats[3].status)
      assert(server:reset())
      assert.are.equal(0, #server:copilot().chats)
      assert.are.equal(0, server:copilot().exchanges)
    end)

    it("serves no other paths to its tokens, and other faces to others", function()
      assert(server:script { { content = "ok" }, { content = "ok" } })
      local body = core.encode { model = "gpt-4.1", messages = { { role = "user", content = "Hi" } } }
      assert.are.equal(404, exchange(server, "POST", "/v1/chat/completions", headers(), body).status)
      assert.are.equal(200, exchange(server, "POST", "/v1/chat/completions", client.BEARER, body).status)
      assert(server:script { { path = "/models", reply = { body = { data = {} } } } })
      assert.are.equal(0, #decoded(exchange(server, "GET", "/models", {})).data)
    end)
  end)

  describe("the settings", function()
    it("may stand beside the turns of a script", function()
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
      end
      assert.is_false((pcall(server.copilot, server, "on")))
      assert.is_false((pcall(testing.start, { copilot = { tokens = {} } })))
      local ok, err = pcall(server.script, server, { { error = { copilot = "yearly" } } })
      assert.is_false(ok)
      assert.is_truthy(tostring(err):find("turns[1].error.copilot: rate_limited", 1, true))
    end)
  end)
end)
