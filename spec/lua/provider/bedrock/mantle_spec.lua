-- Models of Amazon Bedrock's Mantle: what is the service's own there.

local core = require "koine.core"
local koine = require "koine"
local raw_server = require "spec.support.raw_server"

describe("Mantle", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  it("calls every call call_0: each goes back with its own result", function()
    local function call(name)
      return { content = { { type = "tool_use", id = "call_0", name = name, arguments = {} } } }
    end
    assert(server:script { call "first", call "second", { content = "done" } })
    local adapter = koine.bedrock_openai { model = "openai.gpt-5.6-luna", key = "k",
      base_url = server.url .. "/openai/v1" }
    local tools, history = { { name = "first" }, { name = "second" } }, { { role = "user", content = "Call both." } }
    for n = 1, 2 do
      local r = assert(adapter:chat(history, { tools = tools }))
      history[#history + 1] = r:message()
      history[#history + 1] = { role = "user", content = { { type = "tool_result", tool_use_id = r.tool_calls[1].id,
        content = "result " .. n } } }
    end
    assert.are.equal("done", assert(adapter:chat(history, { tools = tools })):text())
    local requests = server:requests()
    assert.are.same({}, requests[3].problems)
    local calls, results = {}, {}
    for _, item in ipairs(core.decode(requests[3].body).input) do
      if item.type == "function_call" then calls[item.name] = item.call_id end
      if item.type == "function_call_output" then results[item.output] = item.call_id end
    end
    assert.are_not.equal(calls.first, calls.second)
    assert.are.same({ ["result 1"] = calls.first, ["result 2"] = calls.second }, results)
  end)

  local KEYS = { access_key = "AKIDLOOPBACK", secret_key = "loopback/secret+key",
    session_token = "loopback-session-token" }
  -- Constructor, base path, api.
  local WAYS = { { "bedrock_claude", "/anthropic" }, { "bedrock_openai", "/openai/v1" },
    { "bedrock_openai", "/v1", "chat" } }

  local function adapter_of(way, options)
    options.model, options.api, options.base_url, options.retry = "m", way[3], server.url .. way[2], false
    return koine[way[1]](options)
  end

  it("signs for its own service, in all its formats", function()
    assert(server:script "echo")
    for _, way in ipairs(WAYS) do
      local adapter = adapter_of(way, { region = "eu-west-1", credentials = KEYS })
      for _, stream in ipairs { true, false } do
        assert.are.equal("You said: Hi", assert(adapter:chat("Hi", { stream = stream, max_tokens = 99 })):text())
      end
    end
    for _, request in ipairs(assert(server:requests())) do -- the loopback provider makes each signature anew
      assert.are.same({}, request.problems)
      assert.is_truthy(request.headers.authorization:find("/eu-west-1/bedrock-mantle/aws4_request, ", 1, true))
    end
    assert.are.equal(6, #server:requests())
  end)

  it("says what to do about credentials that it refuses", function()
    local expired = { access_key = "AKIDLOOPBACKEXPIRED", secret_key = "loopback/secret+key" }
    for _, way in ipairs(WAYS) do
      for words, options in pairs { ["get new credentials"] = { region = "eu-west-1", credentials = expired },
        ["signed for xx-elsewhere-1"] = { region = "xx-elsewhere-1", credentials = KEYS } } do
        local _, err = adapter_of(way, options):chat "Hi"
        assert.are.same({ "AuthenticationError", 403 }, { err.class, err.status_code })
        assert.is_truthy(err.message:find(words, 1, true), err.message)
      end
    end
  end)

  -- A body without a type, as AWS itself answers: the kind, and what the advice says. true: with a bearer key.
  local REFUSALS = {
    { '{"message":"The security token included in the request is invalid."}', "auth", "check the access key" },
    { '{"message":"The security token included in the request is expired"}', "auth", "get new credentials" },
    { '{"Message":"The request signature we calculated does not match the signature you provided."}', "auth",
      "check the secret key" },
    { '{"message":"Bearer Token has expired"}', "auth", "make a new bearer key", true },
    { '{"error":{"message":"Bearer Token has expired","type":"permission_error"}}', "auth", "make a new bearer key",
      true },
    { '{"message":"Authentication failed: Please make sure your API Key is valid."}', "auth", "check the bearer key",
      true },
    { '{"message":"User: arn:aws:iam::1:user/x is not authorized to perform: bedrock:CallWithBearerToken"}',
      "permission", "check their IAM policies", true },
    { '{"message":"User: arn:aws:iam::1:role/credential-x is not authorized to perform: bedrock-mantle:Infer"}',
      "permission", "check their IAM policies" },
    { '{"message":"You don\'t have access to the model with the specified model ID."}', "permission",
      "access to the model" },
    { '{"message":"Forbidden"}', "permission", "does not say which" },
    { "", "permission", "does not say which", true },
  }

  it("tells credentials that are refused from what they may not do", function()
    for _, refusal in ipairs(REFUSALS) do
      for _, way in ipairs(WAYS) do
        local echo = raw_server.start(raw_server.answer(403, refusal[1]))
        local adapter = koine[way[1]] { model = "m", api = way[3], base_url = echo.url, retry = false,
          region = "eu-west-1", key = refusal[4] and "a-bearer-key" or nil,
          credentials = not refusal[4] and KEYS or nil }
        local _, err = adapter:chat("Hi", { stream = true })
        echo:requests()
        assert.are.same({ "AuthenticationError", refusal[2], 403, false },
          { err.class, err.kind, err.status_code, err.retryable }, refusal[1])
        assert.is_truthy(err.message:find(refusal[3], 1, true), err.message)
      end
    end
    local echo = raw_server.start(raw_server.answer(403, REFUSALS[1][1]))
    local _, err = koine.bedrock_openai { model = "m", base_url = echo.url, region = "eu-west-1",
      credentials = KEYS, retry = false }:list_models()
    echo:requests()
    assert.are.same({ "auth", 403 }, { err.kind, err.status_code })
  end)

  it("reads the type of a refusal from its header, and errors of the models as their wires have them", function()
    local function refused(status, body, type)
      local more = type and "application/json\r\nx-amzn-ErrorType: " .. type
      local echo = raw_server.start(raw_server.answer(status, body, more))
      local _, err = koine.bedrock_claude { model = "m", base_url = echo.url, retry = false, region = "eu-west-1",
        key = "a-bearer-key" }:chat "Hi"
      echo:requests()
      return { err.kind, err.code, err.status_code }
    end
    assert.are.same({ "auth", "ExpiredToken", 403 },
      refused(403, "{}", "ExpiredTokenException:http://internal.amazon.com/"))
    assert.are.same({ "rate_limit", "Throttling", 429 },
      refused(429, '{"message":"Too many requests"}', "ThrottlingException"))
    assert.are.same({ "context_overflow", "invalid_request_error", 400 }, refused(400,
      '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}'))
  end)

  it("learns the provider's clock", function()
    assert(server:script "echo")
    for _, way in ipairs(WAYS) do
      local adapter = adapter_of(way, { region = "eu-west-1", credentials = { access_key = "AKIDLOOPBACKAHEAD",
        secret_key = "loopback/secret+key" } })
      assert.are.same({ 2, 1 }, { #assert(adapter:chat "Hi").attempts, #assert(adapter:chat "Hi").attempts })
    end
  end)

  it("names its addresses by region", function()
    local function address(name, options)
      options.region, options.model = "eu-west-1", "m"
      return core.state(koine[name](options)).base_url
    end
    assert.are.equal("https://bedrock-mantle.eu-west-1.api.aws/anthropic", address("bedrock_claude", {}))
    assert.are.equal("https://bedrock-mantle.eu-west-1.api.aws/openai/v1", address("bedrock_openai", {}))
    assert.are.equal("https://bedrock-mantle.eu-west-1.api.aws/v1", address("bedrock_openai", { api = "chat" }))
  end)
end)
