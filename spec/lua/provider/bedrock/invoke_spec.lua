-- Claude through Bedrock's invoke: addresses, what is sent, errors, and that no other way's signatures go there.

local core = require "koine.core"
local koine = require "koine"
local loopback = require "spec.support.loopback"
local raised = require "spec.support.raised"

local MODEL = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"

describe("invoke", function()
  local kit = loopback.new()
  local last = kit.last
  local adapter = kit.maker("bedrock_claude", { api = "invoke", model = MODEL, key = "k" })
  local server

  setup(function() server = kit.start() end)
  teardown(kit.stop)
  before_each(kit.reset)

  it("is one of two ways, Mantle the other", function()
    local function state(api, model)
      return core.state(koine.bedrock_claude { api = api, region = "eu-west-1", model = model or MODEL })
    end
    local invoke = state "invoke"
    assert.are.same({ "https://bedrock-runtime.eu-west-1.amazonaws.com", "https://bedrock.eu-west-1.amazonaws.com",
      "bedrock" }, { invoke.base_url, invoke.list_base_url, invoke.row.service })
    for _, api in ipairs { "anthropic", false } do
      local mantle = state(api or nil)
      assert.are.same({ "https://bedrock-mantle.eu-west-1.api.aws/anthropic", "bedrock-mantle" },
        { mantle.base_url, mantle.row.service })
    end
    local err = raised(koine.bedrock_claude, { api = "converse", model = MODEL, region = "eu-west-1" })
    assert.are.equal("api", err.field)
    assert.is_truthy(err.message:find("invoke", 1, true))
  end)

  it("knows its models by their ids, profiles and ARNs", function()
    for _, id in ipairs { MODEL, "anthropic.claude-sonnet-4-5-20250929-v1:0",
      "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0",
      "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0" } do
      assert.are.equal(200000, adapter({ model = id }):max_context_tokens(), id)
    end
  end)

  it("says model and stream in the path, betas and version in the body", function()
    assert(server:script { { content = "a" }, { content = "b" } })
    assert.are.equal("a", assert(adapter():chat("Hi", { max_tokens = 9 })):text())
    local request, body = last()
    assert.are.equal("/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke", request.path)
    assert.are.same({ anthropic_version = "bedrock-2023-05-31", max_tokens = 9,
      messages = { { role = "user", content = { { type = "text", text = "Hi" } } } } }, body)
    assert(adapter():chat("Hi", { stream = true, betas = { "Some-Beta", "other", "some-beta" } }))
    request, body = last()
    assert.are.equal("/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream", request.path)
    assert.are.same({ "some-beta", "other" }, body.anthropic_beta)
    assert.is_nil(body.stream)
    assert.is_nil(request.headers["anthropic-beta"])
    assert.is_nil(request.headers["anthropic-version"])
  end)

  it("signs for Bedrock, lists its models, counts no tokens", function()
    assert(server:script "echo")
    local signed = koine.bedrock_claude { api = "invoke", model = MODEL, base_url = server.url, region = "eu-west-1",
      credentials = { access_key = "AKIDLOOPBACK", secret_key = "loopback/secret+key" } }
    for _, stream in ipairs { true, false } do assert(signed:chat("Hi", { stream = stream, max_tokens = 9 })) end
    assert.is_truthy(last().headers.authorization:find("/eu-west-1/bedrock/aws4_request, ", 1, true))
    assert.are.equal(25, #assert(signed:list_models()))
    assert.are.equal("/foundation-models?byProvider=anthropic", last().target)
    assert.are.equal(-1, adapter():count_tokens "Hi")
  end)

  it("refuses addresses of images and documents before it asks", function()
    for kind, url in pairs { image = "https://example.org/a.png", document = "https://example.org/a.pdf" } do
      local messages = { { role = "user", content = { { type = kind, source = url } } } }
      assert.are.equal("messages[1].content[1]", raised(adapter().chat, adapter(), messages).field)
    end
    assert.are.equal(0, #assert(server:requests()))
  end)

  it("reads AWS's errors, before and inside a stream", function()
    assert(server:script { { error = { status = 403, type = "ExpiredToken", message = "It has expired." } },
      { content = "Low tide.", chunk = 4, stream_error = { type = "modelTimeoutException", after = 2 } } })
    local _, err = adapter():chat "Hi"
    assert.are.same({ "auth", "ExpiredToken", 403 }, { err.kind, err.code, err.status_code })
    assert.is_string(err.request_id)
    _, err = adapter():chat("Hi", { stream = true })
    assert.are.same({ "timeout", "modelTimeout", 408, "Low tide" }, { err.kind, err.code, err.status_code,
      err.partial:text() })
  end)

  it("and Mantle do not read each other's signed thinking", function()
    local thought = { content = { { type = "thinking", thinking = "Hm.", signature = "c2ln" },
      { type = "text", text = "Yes." } } }
    assert(server:script { thought, { content = "On." }, { content = "On." } })
    local history = { { role = "user", content = "Hi" } }
    history[2] = assert(adapter():chat(history, { max_tokens = 9 })):message()
    history[3] = { role = "user", content = "Go on." }
    assert(adapter():chat(history, { max_tokens = 9 }))
    assert.is_truthy(last().body:find("c2ln", 1, true))
    assert(adapter({ api = "anthropic", base_url = server.url .. "/anthropic" }):chat(history, { max_tokens = 9 }))
    assert.is_nil(last().body:find("c2ln", 1, true))
  end)
end)
