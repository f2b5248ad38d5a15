-- @google/genai, Google's own client, against the loopback provider: what it asks passes the strict checks, and what it
-- reads of the answers is what the script said, and what koine.gemini reads.

local core = require "koine.core"
local koine = require "koine"
local node = require "spec.interop.support.node"

local MODEL, OLDER = "gemini-3.5-flash", "gemini-2.5-flash"
local PNG = "iVBORw0KGgo="

local array = core.array

local DECLARED = { name = "topic", description = "The topic.", parametersJsonSchema = { type = "object",
  properties = { a = { type = "string" } }, required = array { "a" } } }
local TOOL = { name = "topic", description = "The topic.", parameters = DECLARED.parametersJsonSchema }

local THOUGHT = { type = "thinking", thinking = "Let me think.", signature = "dGhvdWdodA==" }
local function text(words) return { type = "text", text = words } end
local function call(fields)
  return { type = "tool_use", name = "topic", id = fields.id, arguments = { a = fields.a } }
end

local USAGE = { input_tokens = 60, output_tokens = 20, cache_read_tokens = 40, reasoning_tokens = 5 }
local COUNTS = { promptTokenCount = 100, cachedContentTokenCount = 40, candidatesTokenCount = 15,
  thoughtsTokenCount = 5, totalTokenCount = 120 }

describe("@google/genai", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  -- Carries out steps with a script; what was read of each, and the bodies that were sent. No request had a problem.
  local function run(script, steps)
    assert(server:script(script))
    local results, bodies = node.run("clients/genai.mjs", "genai", array(steps), server.url), {}
    for i, request in ipairs(assert(server:requests())) do
      assert.are.same({}, request.problems)
      bodies[i] = request.body ~= "" and assert(core.decode(request.body)) or {}
    end
    return results, bodies
  end

  -- One request; what was read, as one answer of all chunks, and the body.
  local function ask(answer, params, streamed)
    params.model = params.model or MODEL
    params.contents = params.contents or "Hi."
    local results, bodies = run({ answer }, { { ["do"] = streamed and "stream" or "generate", params = params } })
    assert.is_nil(results[1].error, results[1].error and results[1].error.message)
    local whole = { text = "", functionCalls = {}, thoughts = "", signatures = {} }
    for i, chunk in ipairs(results[1].chunks) do
      whole.text = whole.text .. (chunk.text or "")
      whole.thoughts = whole.thoughts .. table.concat(chunk.thoughts)
      for _, name in ipairs { "functionCalls", "signatures" } do
        table.move(chunk[name] or {}, 1, #(chunk[name] or {}), #whole[name] + 1, whole[name])
      end
      for _, name in ipairs { "finishReason", "usage", "id", "model", "data", "executableCode",
        "codeExecutionResult" } do
        whole[name] = chunk[name] or whole[name]
      end
      assert.are.equal(results[1].chunks[1].id, chunk.id)
      assert.are.equal(i == #results[1].chunks, chunk.finishReason ~= nil)
    end
    return whole, bodies[1]
  end

  -- The reading of the same answer by koine.gemini.
  local function ours(answer, streamed, tools)
    assert(server:script { answer })
    local adapter = koine.gemini { model = MODEL, key = "interop-key", base_url = server.url .. "/v1beta",
      retry = false }
    return assert(adapter:chat("Hi.", { stream = streamed, tools = tools }))
  end

  for _, streamed in ipairs { false, true } do
    describe(streamed and "streamed" or "plain", function()
      it("reads text, counts, id and model", function()
        local answer = { content = "One two three é 😀.", usage = USAGE, id = "answer-1", model = "gemini-x",
          chunk = 3 }
        local read, response = ask(answer, {}, streamed), ours(answer, streamed)
        assert.are.equal(answer.content, read.text)
        assert.are.equal(answer.content, response:text())
        assert.are.same(COUNTS, read.usage)
        assert.are.same(USAGE, { input_tokens = response.usage.input_tokens,
          output_tokens = response.usage.output_tokens, cache_read_tokens = response.usage.cache_read_tokens,
          reasoning_tokens = response.usage.reasoning_tokens })
        assert.are.same({ "answer-1", "gemini-x", "STOP" }, { read.id, read.model, read.finishReason })
        assert.are.same({ "answer-1", "gemini-x", "STOP" }, { response.id, response.model, response.raw_stop_reason })
      end)

      it("reads thoughts, calls and signatures", function()
        local answer = { content = { THOUGHT, text "Well.", call { a = "x" }, call { a = "y", id = "given" } } }
        local read, body = ask(answer, { config = {
          tools = array { { functionDeclarations = array { DECLARED } } },
          thinkingConfig = { includeThoughts = true, thinkingLevel = "LOW" } } }, streamed)
        assert.are.equal("Let me think.", read.thoughts)
        assert.are.equal("Well.", read.text)
        assert.are.same({ { name = "topic", args = { a = "x" } },
          { name = "topic", args = { a = "y" }, id = "given" } }, read.functionCalls)
        assert.are.equal(2, #read.signatures)
        assert.are.equal(THOUGHT.signature, read.signatures[1])
        assert.are.same({ includeThoughts = true, thinkingLevel = "LOW" }, body.generationConfig.thinkingConfig)
        local response = ours(answer, streamed, { TOOL })
        assert.are.equal(read.thoughts, response:thinking())
        for i, one in ipairs(response.tool_calls) do
          assert.are.same(read.functionCalls[i].args, one.arguments)
          local raw = one.provider_data and core.decode(one.provider_data.raw) or {}
          assert.are.equal(i == 1 and read.signatures[2] or nil, raw.thoughtSignature)
        end
      end)

      it("sends settings, system prompt, media and schemas that are taken", function()
        local _, body = ask({ content = "{}" }, { model = OLDER,
          contents = array { { role = "user", parts = array { { text = "See." },
            { inlineData = { mimeType = "image/png", data = PNG } },
            { fileData = { mimeType = "application/pdf", fileUri = "https://a.test/files/1" } } } } },
          config = { systemInstruction = "Be brief.", temperature = 0.5, topP = 0.9, topK = 3, seed = 7,
            maxOutputTokens = 55, stopSequences = array { "END" }, presencePenalty = 0.1, frequencyPenalty = 0.2,
            candidateCount = 1, thinkingConfig = { thinkingBudget = 512 }, responseMimeType = "application/json",
            responseSchema = { type = "OBJECT", properties = { a = { type = "ARRAY", items = { type = "INTEGER" } } },
              required = array { "a" }, propertyOrdering = array { "a" } },
            safetySettings = array { { category = "HARM_CATEGORY_HARASSMENT", threshold = "BLOCK_NONE" } } } },
          streamed)
        assert.are.equal("Be brief.", body.systemInstruction.parts[1].text)
        assert.are.equal(512, body.generationConfig.thinkingConfig.thinkingBudget)
        assert.is_table(body.generationConfig.responseSchema)
      end)

      it("declares functions in both languages of schemas, and tools of Google's", function()
        local subset = { name = "other", parameters = { type = "OBJECT", properties = { a = { type = "STRING",
          nullable = true, enum = array { "x" } } } } }
        local _, body = ask({ content = "ok" }, { config = {
          tools = array { { googleSearch = {} }, { functionDeclarations = array { DECLARED, subset } } },
          toolConfig = { includeServerSideToolInvocations = true, functionCallingConfig = { mode = "ANY",
            allowedFunctionNames = array { "topic" } } }, responseMimeType = "application/json",
          responseJsonSchema = { type = "object", ["$defs"] = { d = { type = "string" } },
            properties = { a = { ["$ref"] = "#/$defs/d" } } } } }, streamed)
        assert.are.same({ "topic", "other" }, { body.tools[2].functionDeclarations[1].name,
          body.tools[2].functionDeclarations[2].name })
      end)

      it("reads images, code and its results", function()
        local code = { executableCode = { language = "PYTHON", code = "print(4)" } }
        local result = { codeExecutionResult = { outcome = "OUTCOME_OK", output = "4\n" } }
        local answer = { content = { { type = "opaque", raw = code }, { type = "opaque", raw = result },
          text "Four." } }
        local read = ask(answer, { config = { tools = array { { codeExecution = {} } } } }, streamed)
        assert.are.same({ "print(4)", "4\n", "Four." }, { read.executableCode, read.codeExecutionResult, read.text })
        local image = { inlineData = { mimeType = "image/png", data = PNG } }
        read = ask({ content = { { type = "opaque", raw = image } } }, { config = {
          responseModalities = array { "TEXT", "IMAGE" } } }, streamed)
        assert.are.equal(PNG, read.data)
      end)

      it("reads why an answer ended", function()
        for reason, word in pairs { max_tokens = "MAX_TOKENS", sensitive = "SAFETY", RECITATION = "RECITATION" } do
          local read = ask({ content = "Half", stop_reason = reason }, {}, streamed)
          assert.are.same({ "Half", word }, { read.text, read.finishReason })
        end
      end)

      it("keeps a history that is taken: signatures, answers, silent parts", function()
        local silent = { type = "text", text = ".", raw = { thoughtSignature = "b3duLXNpZw==" } }
        local answered = array { { functionResponse = { name = "topic", response = { output = "r" } } },
          { functionResponse = { name = "topic", id = "given", response = { error = "e" } } } }
        local results, bodies = run({
          { content = { THOUGHT, text "Well.", call { a = "x" }, call { a = "y", id = "given" } } },
          { content = "Done." }, { content = { THOUGHT, silent } }, { content = "Bye." } },
          { { ["do"] = "chat", params = { model = MODEL, config = {
            tools = array { { functionDeclarations = array { DECLARED } } } } }, messages = array {
            { message = "Hi.", stream = streamed }, { message = answered, stream = streamed },
            { message = "Thanks.", stream = streamed }, { message = "Really?", stream = streamed } } } })
        assert.is_nil(results[1].error, results[1].error and results[1].error.message)
        assert.are.equal(4, #bodies)
        local signatures = {}
        for _, content in ipairs(bodies[4].contents) do
          for _, part in ipairs(content.parts) do signatures[#signatures + 1] = part.thoughtSignature end
        end
        assert.are.equal(4, #signatures)
      end)

      it("answers calls by itself", function()
        local calls = { THOUGHT, call { a = "x" }, call { a = "y", id = "given" } }
        local results, bodies = run({ { content = calls }, { content = "Done." } }, { { ["do"] = "calls",
          stream = streamed, params = { model = MODEL, contents = "Hi." }, tools = array { DECLARED },
          results = { topic = { output = "r" } } } })
        assert.is_nil(results[1].error, results[1].error and results[1].error.message)
        local all = {}
        for i, chunk in ipairs(results[1].chunks) do all[i] = chunk.text or "" end
        assert.are.equal("Done.", table.concat(all))
        local last = bodies[2].contents[#bodies[2].contents]
        assert.are.same({ { functionResponse = { name = "topic", response = { output = "r" } } },
          { functionResponse = { name = "topic", id = "given", response = { output = "r" } } } }, last.parts)
      end)

      it("reads errors", function()
        local script, steps = {}, {}
        for i, status in ipairs { 400, 401, 403, 404, 429, 500, 503, 504 } do
          script[i] = { error = { status = status, message = "because of " .. status } }
          steps[i] = { ["do"] = streamed and "stream" or "generate", params = { model = MODEL, contents = "Hi." } }
        end
        for i, result in ipairs(run(script, steps)) do
          local given = script[i].error
          assert.are.same({ "ApiError", given.status }, { result.error.name, result.error.status })
          local said = assert(core.decode(result.error.message)).error
          assert.are.same({ given.status, given.message }, { said.code, said.message })
        end
      end)
    end)
  end

  it("reads an error inside a stream, as an event and as JSON of its own", function()
    -- JSON is an error to it only where a read brings nothing else
    for shape, after in pairs { nested = 2, flat = 0 } do
      local results = run({ { content = "one two three four", chunk = 4,
        stream_error = { status = 503, message = "Overloaded.", after = after, shape = shape } } },
        { { ["do"] = "stream", params = { model = MODEL, contents = "Hi." } } })
      local err = results[1].error
      assert.are.same({ "ApiError", 503 }, { err.name, err.status }, shape .. ": " .. err.message)
      assert.is_truthy(err.message:find("Overloaded.", 1, true), err.message)
      assert.is_truthy(err.message:find("UNAVAILABLE", 1, true), err.message)
    end
  end)

  it("counts tokens, reads the list of models in pages, and one of them", function()
    local results = run({}, { { ["do"] = "count", params = { model = MODEL, contents = "How many?" } },
      { ["do"] = "list", params = { config = { pageSize = 10 } } },
      { ["do"] = "get", params = { model = "loopback-01" } }, { ["do"] = "get", params = { model = "loopback-99" } } })
    assert.is_true(results[1].chunks[1] > 0)
    local names, other = {}, 0
    for _, model in ipairs(results[2].chunks) do
      if model.supportedActions[1] == "generateContent" then names[#names + 1] = model.name else other = other + 1 end
    end
    assert.are.same({ 25, "models/loopback-01", "models/loopback-25" }, { #names, names[1], names[25] })
    assert.are.same({ "Loopback 01", 1048576, 65536 }, { results[3].chunks[1].displayName,
      results[3].chunks[1].inputTokenLimit, results[3].chunks[1].outputTokenLimit })
    assert.are.equal(404, results[4].error.status)
    local list = assert(koine.gemini { model = MODEL, key = "k-12345678", base_url = server.url .. "/v1beta" }
      :list_models())
    for i, model in ipairs(list) do assert.are.equal(names[i], "models/" .. model.id) end
    assert.are.same({ 25, 3 }, { #list, other })
  end)
end)
