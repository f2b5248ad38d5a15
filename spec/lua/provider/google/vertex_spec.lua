-- Gemini on Vertex AI: where it is asked, what goes there and what does not, the whole way from a credentials file to
-- an answer.

local core = require "koine.core"
local files = require "spec.support.files"
local folder = require "spec.support.folder"
local environment = require "spec.support.environment"
local koine = require "koine"
local loopback = require "spec.support.loopback"
local pkey = require "openssl.pkey"
local raised = require "spec.support.raised"

local GOOGLE = "/publishers/google"
local PREFIX = "/v1/projects/{project}/locations/{location}" .. GOOGLE
local FINE = { candidates = { { content = { role = "model", parts = { { text = "fine" } } }, finishReason = "STOP" } } }
local TOOLS = { { name = "topic", description = "d", strict = true,
  parameters = { type = "object", properties = { a = { type = "string" } }, required = { "a" },
    additionalProperties = false } } }

describe("koine.vertex", function()
  local kit = loopback.new()
  local vertex = kit.maker("vertex", { model = "gemini-3.5-flash", token = "ya29.test", project = "p",
    location = "global" }, PREFIX)
  local server, variables

  setup(function() server = kit.start() end)
  teardown(kit.stop)
  before_each(function()
    kit.reset()
    variables = environment.replace({}, "^GOOGLE_")
  end)
  after_each(environment.restore)

  local function base_of(options) return core.state(koine.vertex(options)).base_url end

  -- The requests, decoded; fails where the provider had something against one.
  local function sent()
    local list = kit.requests()
    for _, request in ipairs(list) do request.json = core.decode(request.body) end
    return list
  end

  describe("asks", function()
    it("the host of its location, for its project", function()
      for location, host in pairs { global = "aiplatform.googleapis.com", us = "aiplatform.us.rep.googleapis.com",
        eu = "aiplatform.eu.rep.googleapis.com", ["europe-west4"] = "europe-west4-aiplatform.googleapis.com" } do
        assert.are.equal(("https://%s/v1/projects/my-1/locations/%s/publishers/google"):format(host, location),
          base_of { project = "my-1", location = location })
      end
      variables = environment.replace({ GOOGLE_CLOUD_PROJECT = "example.com:theirs",
        GOOGLE_CLOUD_LOCATION = "us" }, "^GOOGLE_")
      assert.are.equal("https://aiplatform.us.rep.googleapis.com/v1/projects/example.com:theirs/locations/us"
        .. GOOGLE, base_of {})
      assert.are.equal("https://aiplatform.googleapis.com/v1/projects/mine/locations/global" .. GOOGLE,
        base_of { project = "mine", location = "global" })
    end)

    it("nowhere without a project and a location, or with unfit ones", function()
      variables = environment.replace({ GOOGLE_CLOUD_PROJECT = "" }, "^GOOGLE_")
      for field, options in pairs { project = { location = "us" }, location = { project = "p" } } do
        local err = raised(koine.vertex, options)
        assert.are.same({ "ArgumentError", field }, { err.class, err.field })
        assert.is_truthy(err.message:find("GOOGLE_CLOUD_" .. field:upper(), 1, true), err.message)
      end
      assert.are.equal("project", raised(koine.vertex, { project = "a/b", location = "us" }).field)
      assert.are.equal("project", raised(koine.vertex, { project = "..", location = "us" }).field)
      assert.are.equal("location", raised(koine.vertex, { project = "p", location = "evil.example/" }).field)
      variables = environment.replace({ GOOGLE_CLOUD_PROJECT = "p", GOOGLE_CLOUD_LOCATION = "a b" }, "^GOOGLE_")
      assert.are.equal("location", raised(koine.vertex, {}).field)
    end)

    it("without a project and a location in express mode, which has a key", function()
      variables = environment.replace({ GOOGLE_CLOUD_PROJECT = "p", GOOGLE_CLOUD_LOCATION = "us" }, "^GOOGLE_")
      assert.are.equal("https://aiplatform.googleapis.com/v1/publishers/google", base_of { key = "k" })
      assert.are.equal("https://aiplatform.googleapis.com/v1",
        base_of { key = "k", model = "publishers/google/models/gemini-3-flash" })
      assert.are.equal("project", raised(koine.vertex, { key = "k", project = "p" }).field)
      assert.are.equal("location", raised(koine.vertex, { key = "k", location = "us" }).field)
      assert.are.equal("credentials_file", raised(koine.vertex, { key = "k", credentials_file = "x" }).field)
      assert(server:script { { content = "fine" } })
      local a = koine.vertex { key = "api-key-1", base_url = server.url .. "/v1" .. GOOGLE }
      assert.is_true(a:authenticated())
      assert(a:chat "Hi")
      local request = sent()[1]
      assert.are.equal("/v1/publishers/google/models/gemini-3.5-flash:generateContent", request.path)
      assert.are.same({ "api-key-1" }, { request.headers["x-goog-api-key"], request.headers.authorization })
    end)

    it("for a name with slashes where the name says", function()
      local located = "https://eu-west1-aiplatform.googleapis.com/v1/projects/p/locations/eu-west1"
      local options = { project = "p", location = "eu-west1" }
      for model, base in pairs { ["publishers/meta/models/x"] = located, ["endpoints/12"] = located,
        ["projects/q/locations/us/endpoints/12"] = "https://aiplatform.us.rep.googleapis.com/v1" } do
        options.model = model
        assert.are.equal(base, base_of(options))
      end
      assert.are.equal("https://aiplatform.us.rep.googleapis.com/v1",
        base_of { model = "projects/q/locations/us/endpoints/12" })
      local path = "/v1/projects/p/locations/us/publishers/meta/models/x:generateContent"
      assert(server:script { { content = "fine", path = path } })
      assert(vertex { model = "publishers/meta/models/x", base_url = server.url .. "/v1/projects/p/locations/us" }
        :chat "Hi")
      assert.are.equal(path, sent()[1].path)
    end)

    it("an own base URL as it is, and refuses one that has what the model's name has", function()
      local located = server.url .. "/v1/projects/{project}/locations/{location}"
      local here = server.url .. "/v1/projects/p/locations/global"
      for model, urls in pairs { ["gemini-x"] = { located .. GOOGLE, here .. GOOGLE .. "/models/gemini-x" },
        ["publishers/meta/models/x"] = { located, here .. "/publishers/meta/models/x" },
        ["endpoints/12"] = { located, here .. "/endpoints/12" },
        ["projects/q/locations/us/endpoints/12"] = { server.url .. "/v1",
          server.url .. "/v1/projects/q/locations/us/endpoints/12" } } do
        local path = urls[2]:sub(#server.url + 1) .. ":generateContent"
        assert(server:reset())
        assert(server:script { { path = path, reply = { body = FINE } } })
        assert.are.equal("fine", assert(vertex { model = model, base_url = urls[1] }:chat "Hi"):text())
        assert.are.equal(path, sent()[1].path)
      end
      local elsewhere = "projects/q/locations/us/endpoints/12"
      for _, case in ipairs { { "publishers/meta/models/x", located .. GOOGLE },
        { "endpoints/12", located .. GOOGLE .. "/" }, { elsewhere, located }, { elsewhere, located .. GOOGLE },
        { "publishers/google/models/x", located .. GOOGLE .. "?a=b" } } do
        local err = raised(vertex, { model = case[1], base_url = case[2] })
        assert.are.same({ "ArgumentError", "base_url" }, { err.class, err.field })
        assert.is_truthy(err.message:find(case[1], 1, true), err.message)
        assert.is_nil(err.message:find("127.0.0.1", 1, true), err.message)
      end
    end)

    it("what its models take, by their short and long names", function()
      for model, thinking in pairs { ["gemini-2.5-pro"] = "budget", ["gemini-3.5-flash"] = "level",
        ["publishers/google/models/gemini-2.5-pro"] = "budget",
        ["projects/p/locations/us/publishers/google/models/gemini-2.5-pro"] = "budget" } do
        local adapter = koine.vertex { model = model, project = "p", location = "us", token = "t" }
        assert.are.equal(thinking, core.state(adapter).info.thinking, model)
      end
      assert.are.equal("gemini-2.5-pro", koine.adapter("vertex/gemini-2.5-pro", { key = "k" }):model_name())
    end)
  end)

  it("sends metadata as labels", function()
    assert(server:script { { content = "fine" } })
    local response = assert(vertex():chat("Hi", { metadata = { team = "red", user_id = "u-1" } }))
    assert.are.same({}, response.warnings)
    assert.are.same({ team = "red", user_id = "u-1" }, sent()[1].json.labels)
  end)

  it("counts tokens of the bare request", function()
    local options = { system = "s", tools = TOOLS, tool_choice = "any", thinking = "low",
      extra = { safetySettings = core.array {}, cachedContent = nil } }
    assert.is_true(assert(vertex():count_tokens("Hi", options)) > 0)
    local body = sent()[1].json
    local names = {}
    for name in pairs(body) do names[#names + 1] = name end
    table.sort(names)
    assert.are.same({ "contents", "generationConfig", "systemInstruction", "tools" }, names)
    assert.is_true(assert(vertex():count_tokens("Hi", { extra = { cachedContent = "cachedContents/1",
      toolConfig = { retrievalConfig = {} } } })) > 0)
    sent()
  end)

  it("has no list of models", function()
    local a = vertex()
    local err = raised(a.list_models, a)
    assert.are.same({ "NotImplementedError", "Vertex AI" }, { err.class, err.adapter })
  end)

  for _, streaming in ipairs { false, true } do
    local how = streaming and ", streamed" or ", plain"

    it("sends no ids but those that the model gave" .. how, function()
      assert(server:script { { content = { { type = "tool_use", name = "topic", arguments = { a = "1" } },
        { type = "tool_use", id = "given", name = "topic", arguments = { a = "2" } } } }, { content = "Done." } })
      local history = { { role = "user", content = "Go." } }
      local response = assert(vertex():chat(history, { tools = TOOLS, stream = streaming }))
      assert.matches("^call_%x+$", response.tool_calls[1].id)
      history[2], history[3] = response:message(), { role = "user", content = {
        { type = "tool_result", tool_use_id = response.tool_calls[1].id, content = "one" },
        { type = "tool_result", tool_use_id = "given", content = "two" } } }
      assert(vertex():chat(history, { tools = TOOLS, stream = streaming }))
      local contents = sent()[2].json.contents
      assert.is_nil(contents[2].parts[1].functionCall.id)
      assert.are.equal("given", contents[2].parts[2].functionCall.id)
      assert.is_nil(contents[3].parts[1].functionResponse.id)
      assert.are.equal("given", contents[3].parts[2].functionResponse.id)
    end)

    it("does not ask for what Google's tools did, and gives their parts of the other service to no one" .. how,
      function()
        assert(server:script { { content = "fine" } })
        assert(vertex():chat("Hi", { tools = { TOOLS[1], { type = "googleSearch" } }, stream = streaming }))
        assert.are.same({ functionCallingConfig = { mode = "VALIDATED" } }, sent()[1].json.toolConfig)
      end)
  end

  it("refuses arguments in pieces, which it does not ask for", function()
    local call = { name = "topic", partialArgs = core.array { { jsonPath = "$.a", stringValue = "x" } },
      willContinue = true }
    local chunk = { candidates = core.array { { content = { role = "model",
      parts = core.array { { functionCall = call } } } } } }
    assert(server:script { { path = "/v1/projects/p/locations/global/publishers/google/models/gemini-3.5-flash"
      .. ":streamGenerateContent", reply = { body = "data: " .. core.encode(chunk) .. "\r\n\r\n",
        headers = { ["content-type"] = "text/event-stream" } } } })
    local _, err = vertex():chat("Hi", { stream = true })
    assert.are.equal("protocol", err.kind)
    assert.is_truthy(err.message:find("streamed function arguments are not supported", 1, true), err.message)
  end)

  it("goes the whole way from a credentials file to an answer", function()
    local directory = folder.new()
    local key = pkey.new({ type = "RSA", bits = 2048 }):toPEM "private"
    local kinds = {
      { type = "service_account", client_email = "me@p.iam.gserviceaccount.com", private_key = key },
      { type = "authorized_user", client_id = "id", client_secret = "secret-of-it", refresh_token = "refresh-of-it" },
    }
    for _, kind in ipairs(kinds) do
      kind.token_uri = server.url .. "/token"
      files.write(directory .. "/file.json", core.encode(kind))
      variables.GOOGLE_APPLICATION_CREDENTIALS = directory .. "/file.json"
      assert(server:reset())
      assert(server:script "echo")
      local a = vertex()
      core.state(a).settings.token = nil
      assert.is_true(a:authenticated())
      assert.are.equal("You said: Hi", assert(a:chat "Hi"):text())
      local requests = sent()
      assert.are.same({ "/token", 200 }, { requests[1].path, requests[1].status })
      assert.matches("^Bearer ya29%.loopback%-%x+$", requests[2].headers.authorization)
      assert.are.equal(kind.type == "authorized_user" and "p" or nil, requests[2].headers["x-goog-user-project"])
    end
    folder.remove(directory)
  end)
end)
