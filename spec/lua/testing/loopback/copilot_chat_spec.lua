-- The Copilot endpoint of koine.testing: the host of the chats.

local client = require "spec.support.raw_client"
local copilot_endpoint = require "spec.lua.testing.loopback.copilot_endpoint"
local core = require "koine.core"
local testing = require "koine.testing"

local exchange, events, with, decoded = client.exchange, client.events, client.with, copilot_endpoint.decoded
local null = core.null

describe("koine.testing: the Copilot endpoint", function()
  local server

  before_each(function() server = assert(testing.start { copilot = {} }) end)
  after_each(function() server:stop() end)

  local function swap(...) return copilot_endpoint.swap(server, ...) end

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

  describe("the chat host", function()
    it("plays the answers on both wires, with ids and reasoning of its own kind", function()
      local answer = { content = { { type = "thinking", thinking = "Hm.", signature = "sig" },
        { type = "text", text = "Hello." } } }
      assert(server:script { answer, answer, answer, with(answer, { rotate_ids = false }) })
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

    it("splits an answer over two choices where the script says so", function()
      local answer = { split_choices = true, content = { { type = "text", text = "Look." },
        { type = "tool_use", id = "a", name = "f", arguments = {} },
        { type = "tool_use", id = "b", name = "g", arguments = {} } } }
      assert(server:script { answer, answer, { split_choices = true, content = "alone" } })
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

    it("refuses wrong headers, in plain text, and uses up no answer", function()
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

    it("serves no other paths to its tokens, and other endpoints to others", function()
      assert(server:script { { content = "ok" }, { content = "ok" } })
      local body = core.encode { model = "gpt-4.1", messages = { { role = "user", content = "Hi" } } }
      assert.are.equal(404, exchange(server, "POST", "/v1/chat/completions", headers(), body).status)
      assert.are.equal(200, exchange(server, "POST", "/v1/chat/completions", client.BEARER, body).status)
      assert(server:script { { path = "/models", reply = { body = { data = {} } } } })
      assert.are.equal(0, #decoded(exchange(server, "GET", "/models", {})).data)
    end)
  end)
end)
