-- Recordings of Ollama's native API through its row, beyond what every recording goes through (codec/recordings_spec):
-- the list of models, what goes back of an answer, broken-off answers, a JSON answer. KOINE_RECORDINGS names the
-- folder that holds them.

local cjson = require "cjson"
local core = require "koine.core"
local files = require "spec.support.files"
local koine = require "koine"

local directory = os.getenv "KOINE_RECORDINGS"
if not directory then
  describe("recordings of Ollama", function()
    it("are not here: set KOINE_RECORDINGS", function() assert.is_nil(directory) end)
  end)
  return
end

local function path_of(name) return ("%s/ollama-native/%s.json"):format(directory, name) end
local function recording(name) return core.decode(files.read(path_of(name))) end

describe("recordings of Ollama", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local function adapter() return koine.ollama { model = "qwen3:4b", base_url = server.url, retry = false } end

  it("list the models that are installed", function()
    local said = recording "tags"
    assert(server:script { { path = "/api/tags", reply = { body = said.response.body } } })
    local list, expected = assert(adapter():list_models()), core.decode(said.response.body).models
    assert.is_true(#expected > 0)
    assert.are.equal(#expected, #list)
    for i, model in ipairs(expected) do
      assert.are.equal(model.model, list[i].id)
      assert.are.equal(model.details.context_length or 0, list[i].max_context_tokens)
      assert.is_true(list[i].supports_streaming)
    end
  end)

  -- Answers, plain and streamed, with what goes back of them.
  for _, case in ipairs { { "thinking-tool-call", false }, { "stream-thinking-tool-call", true },
    { "stream-thinking-two-tools", true }, { "stream-tools", true } } do
    local name, streams = case[1], case[2]
    it("go back as they came: " .. name, function()
      assert(server:script { { replay = path_of(name) }, { content = "ok" } })
      local one, history = adapter(), { { role = "user", content = "go" } }
      local response = assert(one:chat(history, { stream = streams }))
      assert.is_true(#response.tool_calls > 0)
      history[2], history[3] = response:message(), { role = "user", content = {} }
      for i, call in ipairs(response.tool_calls) do
        history[3].content[i] = { type = "tool_result", tool_use_id = call.id, content = "done" }
      end
      assert.are.equal("ok", assert(one:chat(history)):text())
      local requests = assert(server:requests())
      assert.are.same({}, requests[2].problems)
      local messages = core.decode(requests[2].body).messages
      assert.are.same({ response:text(), response:thinking() }, { messages[2].content, messages[2].thinking or "" })
      assert.are.equal(2 + #response.tool_calls, #messages)
      for i, call in ipairs(response.tool_calls) do
        assert.are.same({ id = call.id, ["function"] = { index = i - 1, name = call.name,
          arguments = core.decode(call.arguments_json) } }, messages[2].tool_calls[i])
        assert.is_truthy(requests[2].body:find('"arguments":' .. call.arguments_json, 1, true))
        assert.are.same({ "tool", "done", call.name, call.id }, { messages[2 + i].role, messages[2 + i].content,
          messages[2 + i].tool_name, messages[2 + i].tool_call_id })
      end
    end)
  end

  for _, name in ipairs { "stream-cloud", "stream-think-false-leak", "stream-thinking-gpt-oss",
    "stream-thinking-tool-call", "stream-thinking-two-tools", "stream-tools" } do
    it("that break off behind any line are errors with what had come: " .. name, function()
      local body = recording(name).response.body
      local answers, last = { { replay = path_of(name) } }, #body:gsub("%s+$", "")
      for at in body:gmatch "\n()" do
        if at <= last then answers[#answers + 1] = { replay = path_of(name), fault = { end_after = at - 1 } } end
      end
      assert(server:script(answers))
      local one = adapter()
      local whole, before = assert(one:chat("go", { stream = true })), 0
      for i = 2, #answers do
        local response, err = one:chat("go", { stream = true })
        assert.is_nil(response)
        assert.are.same({ "ConnectionError", "stream_truncated" }, { err.class, err.kind })
        local text, thinking = err.partial:text(), err.partial:thinking()
        assert.are.equal(whole:text():sub(1, #text), text)
        assert.are.equal(whole:thinking():sub(1, #thinking), thinking)
        local much = #text + #thinking + #err.partial.tool_calls
        assert.is_true(much >= before, i)
        before = much
        for n, call in ipairs(err.partial.tool_calls) do
          assert.are.equal(whole.tool_calls[n].arguments_json, call.arguments_json)
        end
      end
      assert.is_true(before > 0)
    end)
  end

  it("hold the JSON that was asked for, behind the model's thinking", function()
    assert(server:script { { replay = path_of "structured-output-thinking" } })
    local response = assert(adapter():chat("go", { thinking = "high" }))
    local value = cjson.decode(response:text())
    local fields = {}
    for name in pairs(value) do fields[#fields + 1] = name end
    table.sort(fields)
    assert.are.same({ "summary", "title" }, fields)
    assert.is_true(#response:thinking() > 0)
  end)
end)
