-- Claude on other providers' servers: addresses, keys, what is known of the models.

local core = require "koine.core"
local environment = require "spec.support.environment"
local koine = require "koine"
local loopback = require "spec.support.loopback"
local raised = require "spec.support.raised"
local rows = require "koine.provider"

describe("Claude on Azure", function()
  local kit = loopback.new "echo"
  local server

  setup(function() server = kit.start() end)
  teardown(kit.stop)
  before_each(kit.reset)

  local VARIABLE = "ANTHROPIC_FOUNDRY_RESOURCE"

  local function address(given, variable)
    given.model = "claude-sonnet-4-5"
    return environment.with({ [VARIABLE] = variable or false }, nil, function()
      return core.state(koine.azure_claude(given)).base_url
    end)
  end

  it("is at the resource of the option, else of the variable", function()
    assert.are.equal("https://ours.services.ai.azure.com/anthropic", address { resource = "ours" })
    assert.are.equal("https://ours.services.ai.azure.com/anthropic", address({ resource = "ours" }, "theirs"))
    assert.are.equal("https://theirs-2.services.ai.azure.com/anthropic", address({}, "theirs-2"))
    assert.are.equal("http://127.0.0.1:1/x", address({ base_url = "http://127.0.0.1:1/x" }, "theirs"))
  end)

  it("needs a resource, and refuses what is none", function()
    for _, variable in ipairs { false, "" } do
      local err = raised(address, {}, variable or nil)
      assert.are.equal("resource", err.field)
      assert.is_truthy(err.message:find(VARIABLE, 1, true))
    end
    for _, bad in ipairs { "evil.example/", "a.b", "a b", "a@b" } do
      assert.are.equal("resource", raised(address, { resource = bad }).field)
      assert.are.equal("resource", raised(address, {}, bad).field)
    end
  end)

  it("takes a key, or a token of Entra ID", function()
    local asked = 0
    local function token()
      asked = asked + 1
      return "token-" .. asked
    end
    local options = { model = "ours", base_url = server.url .. "/anthropic", key = "the-key" }
    assert(koine.azure_claude(options):chat "Hi")
    options.auth, options.key = "bearer", token
    local adapter = koine.azure_claude(options)
    for _ = 1, 2 do assert(adapter:chat "Hi") end
    assert.is_true(assert(adapter:count_tokens "Hi") > 0)
    local sent = kit.requests()
    assert.are.same({ "/anthropic/v1/messages", "the-key" }, { sent[1].path, sent[1].headers["x-api-key"] })
    assert.are.same({ "Bearer token-1", "Bearer token-2" }, { sent[2].headers.authorization,
      sent[3].headers.authorization })
    assert.is_nil(sent[2].headers["x-api-key"])
    assert.are.equal("/anthropic/v1/messages/count_tokens", sent[4].path)
  end)
end)

describe("Claude on Vertex AI", function()
  local kit = loopback.new()
  local last = kit.last
  local claude = kit.maker("vertex_claude", { model = "claude-sonnet-4-5@20250929", token = "ya29.test" },
    "/v1/projects/p/locations/eu/publishers/anthropic")
  local server

  setup(function() server = kit.start() end)
  teardown(kit.stop)
  before_each(kit.reset)

  local NONE = { ANTHROPIC_VERTEX_PROJECT_ID = false, CLOUD_ML_REGION = false, GOOGLE_CLOUD_PROJECT = false,
    GOOGLE_CLOUD_LOCATION = false }

  local function address(given, variables)
    local all = {}
    for name, value in pairs(NONE) do all[name] = value end
    for name, value in pairs(variables or {}) do all[name] = value end
    return environment.with(all, nil, function() return core.state(koine.vertex_claude(given)).base_url end)
  end

  it("is at a project and a location: of the options, of Anthropic's variables, of Google's", function()
    local function url(host, project, location)
      return ("https://%s/v1/projects/%s/locations/%s/publishers/anthropic"):format(host, project, location)
    end
    assert.are.equal(url("us-east5-aiplatform.googleapis.com", "p", "us-east5"),
      address { project = "p", location = "us-east5" })
    assert.are.equal(url("aiplatform.googleapis.com", "p", "global"), address { project = "p", location = "global" })
    local google = { GOOGLE_CLOUD_PROJECT = "google", GOOGLE_CLOUD_LOCATION = "eu" }
    assert.are.equal(url("aiplatform.eu.rep.googleapis.com", "google", "eu"), address({}, google))
    google.ANTHROPIC_VERTEX_PROJECT_ID, google.CLOUD_ML_REGION = "own", "us"
    assert.are.equal(url("aiplatform.us.rep.googleapis.com", "own", "us"), address({}, google))
    google.CLOUD_ML_REGION = ""
    assert.are.equal(url("aiplatform.eu.rep.googleapis.com", "mine", "eu"), address({ project = "mine" }, google))
  end)

  it("is nowhere without them", function()
    local err = raised(address, { location = "eu" })
    assert.are.equal("project", err.field)
    assert.is_truthy(err.message:find("ANTHROPIC_VERTEX_PROJECT_ID", 1, true))
    err = raised(address, { project = "p" })
    assert.are.equal("location", err.field)
    assert.is_truthy(err.message:find("CLOUD_ML_REGION", 1, true))
    assert.are.equal("location", raised(address, { project = "p" }, { CLOUD_ML_REGION = "a/b" }).field)
  end)

  it("says the model in the path, and whether it streams there too", function()
    assert(server:script { { content = "a" }, { content = "b" } })
    assert.are.equal("a", assert(claude():chat("Hi", { max_tokens = 9 })):text())
    local request, body = last()
    assert.are.equal("/v1/projects/p/locations/eu/publishers/anthropic/models/claude-sonnet-4-5%4020250929:rawPredict",
      request.path)
    assert.are.equal("Bearer ya29.test", request.headers.authorization)
    assert.are.same({ anthropic_version = "vertex-2023-10-16", max_tokens = 9,
      messages = { { role = "user", content = { { type = "text", text = "Hi" } } } } }, body)
    assert.are.equal("b", assert(claude():chat("Hi", { stream = true, betas = { "x", "y" } })):text())
    request, body = last()
    assert.is_truthy(request.path:find(":streamRawPredict", 1, true))
    assert.is_true(body.stream)
    assert.are.equal("x,y", request.headers["anthropic-beta"])
    assert.is_nil(body.anthropic_beta)
    assert.is_nil(request.headers["anthropic-version"])
  end)

  it("counts tokens of the model in the body", function()
    assert.is_true(assert(claude():count_tokens "Hi") > 0)
    local request, body = last()
    assert.is_truthy(request.path:find("/models/count-tokens:rawPredict", 1, true))
    assert.are.equal("claude-sonnet-4-5@20250929", body.model)
    assert.are.equal("NotImplementedError", raised(claude().list_models, claude()).class)
  end)

  it("reads Google's errors and Anthropic's", function()
    assert(server:script { { error = { status = 429, message = "Quota exceeded." } },
      { error = { status = 400, message = "prompt is too long: 9 tokens > 8 maximum" } },
      { content = "Low tide.", chunk = 4, stream_error = { type = "overloaded_error", after = 2 } } })
    local _, err = claude():chat "Hi"
    assert.are.same({ "rate_limit", "RESOURCE_EXHAUSTED" }, { err.kind, err.code })
    _, err = claude():chat "Hi"
    assert.are.same({ "context_overflow", "invalid_request_error" }, { err.kind, err.code })
    _, err = claude():chat("Hi", { stream = true })
    assert.are.same({ "overloaded", "Low tide" }, { err.kind, err.partial:text() })
  end)
end)

describe("Claude's models elsewhere", function()
  it("are Anthropic's, without its prices", function()
    local own = rows.load "anthropic"
    for _, name in ipairs { "azure_claude", "bedrock_claude", "vertex_claude" } do
      local row = rows.load(name)
      assert.are.equal(#own.models, #row.models)
      for _, known in ipairs(own.models) do
        local found = rows.model(row, known.prefix)
        assert.are.same({ known.prefix, known.context, known.max_output, known.thinking },
          { found.prefix, found.context, found.max_output, found.thinking })
        assert.is_nil(rows.pricing(rows.family(row, known.prefix)))
      end
    end
    assert.is_truthy(rows.pricing(rows.family(own, own.models[1].prefix)))
  end)
end)
