-- koine.copilot: a Copilot token that expires, and what goes wrong.

local core = require "koine.core"
local copilot_kit = require "spec.lua.provider.copilot.kit"
local deep = require "spec.support.deep"
local toy_host = require "spec.lua.task.toy_host"
local wait = require "koine.task.wait"

local TOOL, shows = copilot_kit.TOOL, deep.shows

describe("koine.copilot", function()
  local kit = copilot_kit.new "errors"
  local chats, copilot, counted = kit.chats, kit.copilot, kit.counted
  local park = wait.park
  local count, server, token, slept = 0, nil, nil, nil

  setup(function() server = kit.start() end)
  teardown(kit.stop)
  before_each(function()
    count = count + 1
    token, slept = kit.begin()
  end)
  after_each(kit.restore)

  describe("when the Copilot token expires", function()
    local CALL = { content = { { type = "tool_use", id = "call_1", name = "add", arguments = { a = 1 } } } }

    local function statuses()
      local list = {}
      for i, chat in ipairs(chats()) do list[i] = chat.status end
      return list
    end

    for _, stream in ipairs { false, true } do
      it("between two answers of tools exchanges once and sends once more, " .. (stream and "streamed" or "plain"),
        function()
        assert(server:script { CALL, { content = "2" }, { content = "And 3." } })
        local adapter, history = copilot { retry = false }, { { role = "user", content = "Add." } }
        local options = { tools = { TOOL }, stream = stream }
        local response = assert(adapter:chat(history, options))
        assert.are.equal(1, counted().exchanges)
        assert(server:copilot { expire = true })
        history[2] = response:message()
        history[3] = { role = "user", content = { { type = "tool_result", tool_use_id = "call_1", content = "2" } } }
        response = assert(adapter:chat(history, options))
        assert.are.equal("2", response:text())
        assert.are.equal(2, #response.attempts)
        assert.are.equal(401, response.attempts[1].status_code)
        assert.are.equal(2, counted().exchanges)
        assert.are.same({ 200, 401, 200 }, statuses())
        assert.are.same({}, slept)
        assert.are.equal("And 3.", assert(adapter:chat "Go on"):text())
        assert.are.equal(2, counted().exchanges)
      end)
    end

    it("reports a second refusal", function()
      local refusal = { error = { status = 401, body = "IDE token expired: unauthorized: token expired" } }
      assert(server:script { refusal, refusal, { content = "never" } })
      local result, err = copilot():chat "Hi"
      assert.is_nil(result)
      assert.are.equal("AuthenticationError", err.class)
      assert.are.equal("auth", err.kind)
      assert.is_truthy(err.message:find("IDE token expired", 1, true))
      assert.are.equal(2, #err.attempts)
      assert.are.equal(2, counted().exchanges)
    end)

    it("sends nothing again once a delta was handed out", function()
      assert(server:script { { content = "Hello, world.", stream_error = { status = 401, type = "authentication_error",
        code = "invalid_api_key", message = "token expired", after = 1 } }, { content = "never" } })
      local stream, text = assert(copilot():open "Hi"), ""
      local err
      repeat
        local delta
        delta, err = stream:next()
        text = text .. (delta and delta.text or "")
      until not delta
      assert.are.equal("AuthenticationError", err.class)
      assert.are.equal(text, err.partial:text())
      assert.is_true(#text > 0)
      assert.are.same({ 200 }, statuses())
      assert.are.equal(1, counted().exchanges)
    end)

    it("does so for a list of models too", function()
      local adapter = copilot()
      assert(adapter:list_models())
      assert(server:copilot { expire = true })
      assert(adapter:list_models())
      assert.are.equal(2, counted().exchanges)
      assert.are.equal(3, counted().lists)
    end)

    it("exchanges once for all coroutines that were refused", function()
      assert(server:script "echo")
      local adapter = copilot()
      assert(adapter:chat "Hi")
      assert(server:copilot { expire = true })
      local tasks, answers = {}, 0
      for i = 1, 20 do
        tasks[i] = function()
          assert(adapter:chat(tostring(i)))
          answers = answers + 1
        end
      end
      wait.park = park
      toy_host.run(tasks)
      assert.are.equal(20, answers)
      assert.are.equal(2, counted().exchanges)
    end)

    it("asks the function that gives the key once more", function()
      local n = 0
      assert(server:script { { content = "a" } })
      assert(server:copilot { github_tokens = { "gho_good_" .. count } })
      local adapter = copilot { key = function()
        n = n + 1
        return n == 1 and "gho_bad" or "gho_good_" .. count
      end }
      assert.are.equal("a", assert(adapter:chat "Hi"):text())
      assert.are.equal(2, n)
      local result, err = copilot({ key = "gho_bad" }):chat "Hi"
      assert.is_nil(result)
      assert.are.equal(401, err.status_code)
      assert.are.same({ 401, 200, 401 }, statuses())
    end)
  end)

  describe("reports", function()
    it("every status as the class that it is", function()
      local classes = { [400] = "RequestError", [401] = "AuthenticationError", [402] = "RateLimitError",
        [403] = "AuthenticationError", [404] = "RequestError", [422] = "RequestError", [429] = "RateLimitError",
        [500] = "ServerError", [502] = "ServerError", [503] = "ServerError" }
      for status, class in pairs(classes) do
        local answer = { error = { status = status, body = "the words of " .. status,
          headers = { ["x-github-request-id"] = "GH:" .. status, ["retry-after"] = status == 429 and "9" or nil } } }
        assert(server:script { answer, answer })
        local result, err = copilot({ retry = false }):chat "Hi"
        assert.is_nil(result)
        assert.are.equal(class, err.class, status)
        assert.are.equal(status, err.status_code)
        assert.are.equal("copilot", err.provider)
        local place = status == 404 and (" (404 from %s/chat/completions)"):format(server.url) or ""
        assert.are.equal("the words of " .. status .. place, err.message)
        assert.is_string(err.request_id)
        assert.are.equal(status == 429 and 9 or nil, err.retry_after)
      end
    end)

    it("limits and quotas apart", function()
      local expected = {
        rate_limited = { "RateLimitError", "rate_limit", true, 30 },
        quota_exceeded = { "RateLimitError", "billing", false },
        weekly = { "RateLimitError", "billing", false }, monthly = { "RateLimitError", "billing", false },
        payment = { "RateLimitError", "billing", false }, client_too_old = { "RequestError", "invalid_request", false },
        wrong_host = { "RequestError", "invalid_request", false },
      }
      for name, want in pairs(expected) do
        assert(server:script { { error = { copilot = name } } })
        local result, err = copilot({ retry = false }):chat "Hi"
        assert.is_nil(result)
        assert.are.same(want, { err.class, err.kind, err.retryable, err.retry_after }, name)
      end
      assert(server:script { { error = { copilot = "weekly" } } })
      local _, err = copilot():chat "Hi"
      assert.are.equal("Sorry, you've exceeded your weekly rate limit. It resets on November 30, 2026 at 12:00 AM UTC.",
        err.message)
      assert.are.same({}, slept)
    end)

    it("no token, whatever is echoed", function()
      for _, model in ipairs { "gpt-4.1", "gpt-5.3-codex" } do
        local answer = { content = "a", fault = { echo_authorization = true } }
        assert(server:script { answer, answer })
        local adapter = copilot { model = model, retry = false }
        local result, err = adapter:chat "Hi"
        assert.is_nil(result)
        assert.are.equal("AuthenticationError", err.class)
        for _, secret in ipairs { "tid=", token, "st=dotcom" } do assert.is_false(shows(err, secret), secret) end
        assert.is_false(shows(core.state(adapter).login, "tid="))
        assert.is_false(shows(core.state(adapter).login, token))
      end
    end)
  end)
end)
