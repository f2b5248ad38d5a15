-- Models of Amazon Bedrock's Mantle: what is the service's own there.

local core = require "koine.core"
local koine = require "koine"

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
