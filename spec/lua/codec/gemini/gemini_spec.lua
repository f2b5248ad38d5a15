-- Gemini's wire from end to end: signatures and ids that go back, models with pages, counts, keys. The recorded turns
-- are not part of the project: KOINE_RECORDINGS names the folder that holds them.

local core = require "koine.core"
local files = require "spec.support.files"
local loopback = require "spec.support.loopback"

local recordings = os.getenv "KOINE_RECORDINGS"

describe("Gemini", function()
  local kit = loopback.new()
  local bodies = kit.bodies
  local gemini = kit.maker("gemini", { model = "gemini-3.5-flash", key = "secret-key-1" }, "/v1beta")
  local server

  setup(function() server = kit.start() end)
  teardown(kit.stop)
  before_each(kit.reset)

  local function text(words) return { type = "text", text = words } end

  local TOOLS = { { name = "topic", parameters = { type = "object", properties = {} } } }

  -- Answers the calls of a response.
  local function results(response)
    local list = {}
    for i, call in ipairs(response.tool_calls) do
      list[i] = { type = "tool_result", tool_use_id = call.id, content = "r" .. i }
    end
    return { role = "user", content = list }
  end

  for _, streaming in ipairs { false, true } do
    local how = streaming and " streamed" or " plain"

    it("gives back signatures in their parts, and the ids that the server gave," .. how, function()
      local silent = { type = "text", text = ".", raw = { thoughtSignature = "b3duLXNpZw==" } }
      assert(server:script {
        { content = { { type = "thinking", thinking = "Hm.", signature = "dGhvdWdodA==" }, text "Well", silent,
          { type = "tool_use", id = "given", name = "topic" }, { type = "tool_use", name = "topic" } } },
        { content = "Done." },
      })
      local adapter, history = gemini(), { { role = "user", content = "Go." } }
      local response = assert(adapter:chat(history, { tools = TOOLS, stream = streaming }))
      assert.are.equal("given", response.tool_calls[1].id)
      assert.matches("^call_%x+$", response.tool_calls[2].id)
      history[2], history[3] = response:message(), results(response)
      assert(adapter:chat(history, { tools = TOOLS, stream = streaming }))
      local contents = bodies()[2].contents
      local parts = contents[2].parts
      assert.are.same({ text = "Hm.", thought = true, thoughtSignature = "dGhvdWdodA==" }, parts[1])
      local at = #parts - 2
      assert.are.equal("b3duLXNpZw==", parts[at].thoughtSignature)
      assert.are.equal("given", parts[at + 1].functionCall.id)
      assert.is_string(parts[at + 1].thoughtSignature)
      assert.are.same({ functionCall = { name = "topic", args = {} } }, parts[at + 2])
      assert.are.same({ { functionResponse = { name = "topic", response = { output = "r1" }, id = "given" } },
        { functionResponse = { name = "topic", response = { output = "r2" } } } }, contents[3].parts)
    end)

    it("gives nothing signed to another model, says so once, and shows it no thoughts," .. how, function()
      assert(server:script {
        { content = { { type = "thinking", thinking = "Secret thought." }, { type = "tool_use", name = "topic" },
          { type = "tool_use", name = "topic" } } },
        { content = "Done." },
      })
      local history = { { role = "user", content = "Go." } }
      local response = assert(gemini():chat(history, { tools = TOOLS, stream = streaming }))
      history[2], history[3] = response:message(), results(response)
      response = assert(gemini { model = "gemini-3.1-pro-preview" }:chat(history, { tools = TOOLS }))
      assert.are.equal(1, #response.warnings)
      assert.are.equal("thought_signature_missing", response.warnings[1].code)
      local parts = bodies()[2].contents[2].parts
      assert.are.equal(2, #parts)
      assert.are.equal("skip_thought_signature_validator", parts[1].thoughtSignature)
      assert.is_nil(parts[2].thoughtSignature)
    end)
  end

  it("reports an error that is no event, with what came before it", function()
    assert(server:script { { content = "one two three four", chunk = 4,
      stream_error = { status = 499, message = "Cancelled.", after = 2, shape = "flat" } } })
    local response, err = gemini():chat("Go.", { stream = true })
    assert.is_nil(response)
    assert.are.same({ "server", "CANCELLED", 499, "one two " },
      { err.kind, err.code, err.status_code, err.partial:text() })
  end)

  it("keeps reading behind a reason for the end for as long as the answer goes on", function()
    local content = { parts = core.array { { text = "One" } } }
    local stop = { candidates = core.array { { content = content, finishReason = "STOP" } } }
    local event = "data: " .. core.encode(stop) .. "\r\n\r\n"
    assert(server:script { { path = "/v1beta/models/gemini-3.5-flash:streamGenerateContent",
      reply = { body = event .. event, headers = { ["content-type"] = "text/event-stream" } } } })
    assert.are.equal("OneOne", assert(gemini():chat("Go.", { stream = true })):text())
  end)

  it("lists the models that answer chats, all pages", function()
    local adapter = gemini()
    core.state(adapter).row = setmetatable({ list = "/models?pageSize=10" }, { __index = core.state(adapter).row })
    local list = assert(adapter:list_models())
    assert.are.equal(25, #list)
    assert.are.same({ "loopback-01", "Loopback 01", 1048576 },
      { list[1].id, list[1].name, list[1].max_context_tokens })
    local requests = assert(server:requests())
    assert.are.equal(3, #requests)
    assert.are.equal("/v1beta/models?pageSize=10&pageToken=21", requests[3].target)
    assert.are.equal("secret-key-1", requests[1].headers["x-goog-api-key"])
  end)

  it("counts the tokens of the whole request", function()
    assert.is_true(assert(gemini():count_tokens("Hello?", { system = "s", tools = TOOLS })) > 0)
    local body = bodies()[1].generateContentRequest
    assert.are.equal("models/gemini-3.5-flash", body.model)
    assert.is_table(body.systemInstruction)
  end)

  it("never shows the key", function()
    assert(server:script { { error = { status = 400, message = "bad" }, fault = { echo_authorization = true } } })
    local _, err = gemini():chat "Go."
    assert.is_nil((tostring(err) .. tostring(err.raw)):find("secret-key-1", 1, true))
    assert.is_truthy(err.message:find("[redacted]", 1, true))
  end)

  if not recordings then return end

  local FOLDER = recordings .. "/gemini-generatecontent/"
  local function recorded(name) return assert(core.decode(files.read(FOLDER .. name .. ".json"))) end

  it("replays recorded calls as the recorded client did, but for ids that were not given", function()
    local want = recorded("parallel-calls-gemini-3-replay").request.body.contents
    assert(server:script { { replay = FOLDER .. "parallel-calls-gemini-3.json" }, { content = "ok" } })
    local adapter = gemini { model = "gemini-3-flash-preview" }
    local history = { { role = "user", content = "Go." } } -- the recorded text is empty
    local response = assert(adapter:chat(history, { tools = TOOLS }))
    history[2], history[3] = response:message(), results(response)
    assert(adapter:chat(history, { tools = TOOLS }))
    local contents = bodies()[2].contents
    local signature = want[2].parts[1].thoughtSignature:gsub("-", "+"):gsub("_", "/") -- that client's alphabet
    assert.are.equal(signature, contents[2].parts[1].thoughtSignature)
    for i, part in ipairs(want[2].parts) do
      local call = contents[2].parts[i]
      assert.are.same({ name = part.functionCall.name, args = part.functionCall.args }, call.functionCall)
      assert.are.equal(i == 1, call.thoughtSignature ~= nil)
      assert.are.same({ name = want[3].parts[i].functionResponse.name, response = { output = "r" .. i } },
        contents[3].parts[i].functionResponse)
    end
  end)

  it("gives back recorded ids, and the signature of the first of two calls", function()
    assert(server:script { { replay = FOLDER .. "stream-parallel-function-calls.json" }, { content = "ok" } })
    local adapter = gemini { model = "gemini-3.1-pro-preview" }
    local history = { { role = "user", content = "Go." } }
    local response = assert(adapter:chat(history, { tools = TOOLS, stream = true }))
    assert.are.equal(2, #response.tool_calls)
    assert.are.equal(2, #response.content) -- the empty text at the end is none
    history[2], history[3] = response:message(), results(response)
    assert(adapter:chat(history, { tools = TOOLS }))
    local contents = bodies()[2].contents
    for i, call in ipairs(response.tool_calls) do
      local part = contents[2].parts[i]
      assert.are.equal(call.id, part.functionCall.id)
      assert.are.equal(i == 1, part.thoughtSignature ~= nil)
      assert.are.equal(call.id, contents[3].parts[i].functionResponse.id)
    end
  end)

  it("gives back a recorded signature that had no text of its own", function()
    assert(server:script { { replay = FOLDER .. "stream-trailing-signature.json" }, { content = "ok" } })
    local adapter = gemini { model = "gemini-3-flash-preview" }
    local response = assert(adapter:chat("17?", { stream = true }))
    assert.are.equal("289", response:text())
    assert(adapter:chat { { role = "user", content = "17?" }, response:message(),
      { role = "user", content = "Sure?" } })
    assert.are.same({ { text = "289" }, { text = "", thoughtSignature = "signature_REDACTED_1" } },
      bodies()[2].contents[2].parts)
  end)

  it("reads a recorded list", function()
    local body = recorded("models-list").response.body
    assert(server:script { { path = "/v1beta/models", reply = { body = body } } })
    local list = assert(gemini():list_models())
    assert.are.equal(36, #list)
    assert.are.same({ "gemini-2.5-flash", "Gemini 2.5 Flash", 1048576 },
      { list[1].id, list[1].name, list[1].max_context_tokens })
    for _, model in ipairs(list) do assert.is_nil(model.id:find "^gemini%-embedding") end
  end)
end)
