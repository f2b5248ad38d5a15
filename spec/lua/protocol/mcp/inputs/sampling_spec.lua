-- Sampling: how a server's request reaches a model, what comes back, and what it may cost.

local core = require "koine.core"
local inputs = require "koine.protocol.mcp.inputs"
local koine = require "koine"

local METHOD = "sampling/createMessage"
local WEATHER = { name = "weather", description = "Tells the weather.", inputSchema = { type = "object",
  properties = { city = { type = "string" } } } }

local function say(content) return { role = "user", content = content } end
local function text(words) return { type = "text", text = words } end

describe("sampling", function()
  local book, object

  local function play(steps, opts)
    for i, step in ipairs(steps) do step.step = i end
    book, opts = koine.testing.playbook { steps = steps }, opts or {}
    opts.sampling, opts.server = opts.sampling or book, "files"
    object = inputs.new(opts)
  end

  -- The answer; or nil, and what the server is told.
  local function sample(params) return object:handlers()[METHOD](params) end

  local function modern(params) return object:respond { a = { method = METHOD, params = params } } end

  it("asks the adapter, and answers with a block", function()
    play { { type = "message", content = "Paris." } }
    assert.same({ role = "assistant", content = text "Paris.", model = "tester-playbook", stopReason = "endTurn" },
      sample { messages = { say(text "Capital of France?") }, maxTokens = 50, systemPrompt = "Be brief.",
        temperature = 0.5, stopSequences = { "." }, includeContext = "allServers", metadata = { x = 1 },
        modelPreferences = core.null })
    local call = book.call_log[1]
    assert.same({ { role = "user", content = { text "Capital of France?" } } }, call.messages)
    assert.same({ "Be brief.", 50, 0.5, { "." } }, { call.system, call.max_tokens, call.temperature,
      call.stop_sequences })
    assert.is_nil(call.tools)
  end)

  it("caps the tokens", function()
    play({ { type = "message", content = "a" }, { type = "message", content = "b" } }, { sampling_max_tokens = 20 })
    assert(sample { messages = { say(text "?") }, maxTokens = 1000000 })
    assert(sample { messages = { say(text "?") }, maxTokens = 7.0 })
    assert.equal(20, book.call_log[1].max_tokens)
    assert.equal(7, book.call_log[2].max_tokens)
  end)

  it("caps them at 8192 by default", function()
    play { { type = "message", content = "a" } }
    assert(sample { messages = { say(text "?") }, maxTokens = 1000000 })
    assert.equal(8192, book.call_log[1].max_tokens)
  end)

  it("maps every stop reason", function()
    local words = { end_turn = "endTurn", max_tokens = "maxTokens", stop_sequence = "stopSequence",
      refusal = "refusal" }
    for ours, theirs in next, words do
      play { { type = "answer", content = "x", stop_reason = ours } }
      assert.equal(theirs, sample { messages = { say(text "?") }, maxTokens = 5 }.stopReason)
    end
  end)

  it("takes tools where they were declared, and gives calls back", function()
    play({ { type = "tool_calls", content = "Let me look.", tool_calls = {
      { id = "c1", name = "weather", arguments = { city = "Paris" } },
      { id = "c2", name = "weather", arguments = {} } } },
      { type = "tool_calls", tool_calls = { { id = "c3", name = "weather", arguments = { city = "Rome" } } } } },
      { sampling_tools = true })
    local params = { messages = { say(text "Weather?") }, maxTokens = 50, tools = { WEATHER },
      toolChoice = { mode = "required" } }
    local answer = sample(params)
    assert.equal("toolUse", answer.stopReason)
    assert.equal('[{"text":"Let me look.","type":"text"},'
      .. '{"id":"c1","input":{"city":"Paris"},"name":"weather","type":"tool_use"},'
      .. '{"id":"c2","input":{},"name":"weather","type":"tool_use"}]', core.encode(answer.content))
    local call = book.call_log[1]
    assert.equal("any", call.tool_choice)
    assert.same({ name = "weather", description = "Tells the weather.", parameters = WEATHER.inputSchema },
      { name = call.tools[1].name, description = call.tools[1].description, parameters = call.tools[1].parameters })
    assert.equal("c3", sample(params).content.id)
  end)

  it("maps calls and results of the history", function()
    play({ { type = "message", content = "Mild." } }, { sampling_tools = true })
    assert(sample { maxTokens = 50, tools = { WEATHER }, toolChoice = {}, messages = {
      say(text "Weather?"),
      { role = "assistant", content = { { type = "tool_use", id = "c1", name = "weather",
        input = { city = "Paris" } } } },
      say { { type = "tool_result", toolUseId = "c1", content = { text "20 C", { type = "image", data = "aGk=",
        mimeType = "image/png" }, { type = "resource_link", name = "map", uri = "file:///m" } } } },
      { role = "assistant", content = { type = "tool_use", id = "c2", name = "weather", input = {} } },
      say { type = "tool_result", toolUseId = "c2", isError = true, content = {},
        structuredContent = { why = "none" } },
    } })
    local call = book.call_log[1]
    assert.equal("auto", call.tool_choice)
    assert.same({ { type = "tool_use", id = "c1", name = "weather", arguments = { city = "Paris" } } },
      call.messages[2].content)
    assert.same({ { type = "tool_result", tool_use_id = "c1", is_error = false, content = { text "20 C",
      { type = "image", source = "aGk=", media_type = "image/png" }, text "map (file:///m)" } } },
      call.messages[3].content)
    assert.same({ { type = "tool_result", tool_use_id = "c2", is_error = true, content = { text '{"why":"none"}' } } },
      call.messages[5].content)
  end)

  it("passes images on, and names what no model here hears", function()
    play { { type = "message", content = "A cat." } }
    assert(sample { maxTokens = 5, messages = { say { { type = "image", data = "aGk=", mimeType = "image/png" },
      { type = "audio", data = "aGk=", mimeType = "audio/wav" }, { type = "smell" }, 7,
      { type = "image", data = "https://internal.example/", mimeType = "image/png" } } } })
    assert.same({ { type = "image", source = "aGk=", media_type = "image/png" },
      text "[audio, audio/wav, 2 bytes: not shown]", text '[an item of the unknown type "smell": not shown]',
      text "[an item that is no object: not shown]", text "[image, image/png, 18 bytes: not shown]" },
      book.call_log[1].messages[1].content) -- no data is a URL that a provider would fetch
  end)

  it("refuses with -32602 what the protocol or the model's side does not allow, and asks no model", function()
    play({}, {})
    local question = { say(text "?") }
    for _, case in ipairs {
      { { messages = question, maxTokens = 5, tools = { WEATHER } }, "tools: this client did not declare" },
      { { messages = question, maxTokens = 5, toolChoice = { mode = "auto" } }, "tools: this client did not" },
      { { messages = question }, "maxTokens: " },
      { { messages = question, maxTokens = 0 }, "maxTokens: " },
      { { messages = {}, maxTokens = 5 }, "messages: " },
      { { messages = "hello", maxTokens = 5 }, "messages: " },
      { { messages = { { role = "system", content = text "?" } }, maxTokens = 5 }, "messages[1].role: " },
      { { messages = { say "?" }, maxTokens = 5 }, "messages[1].content: " },
      { { messages = { say { type = "tool_use", id = 5 } }, maxTokens = 5 }, "messages[1].content[1].id: " },
      { { messages = question, maxTokens = 5, temperature = 7 }, "temperature: " },
      { { messages = question, maxTokens = 5, stopSequences = "x" }, "stopSequences: " },
      { nil, "params: " },
    } do
      local answer, said = sample(case[1])
      assert.is_nil(answer)
      assert.equal(-32602, said.code)
      assert.equal("sampling/createMessage: " .. case[2]:sub(1, 5), said.message:sub(1, 29)) -- no place of a file
      assert.matches(case[2], said.message, 1, true)
    end
    assert.equal(0, #book.call_log)
    play({}, { sampling_tools = true })
    assert.matches("toolChoice.mode", select(2, sample { messages = question, maxTokens = 5, tools = { WEATHER },
      toolChoice = { mode = "sometimes" } }).message)
    local _, said = sample { messages = question, maxTokens = 5, tools = { {} } }
    assert.matches("tools[1]: ", said.message, 1, true)
  end)

  it("asks for approval first, with the request in Koine's words", function()
    local asked
    play({ { type = "message", content = "Yes." } }, { sampling_max_tokens = 9, approve_sampling = function(request)
      asked = request
      return true
    end })
    assert(sample { messages = { say(text "?") }, maxTokens = 50, systemPrompt = "s",
      modelPreferences = { hints = {} } })
    assert.same({ server = "files", messages = { { role = "user", content = { text "?" } } }, max_tokens = 9,
      system = "s", preferences = { hints = {} } }, asked)
  end)

  it("is refused with -1; in the modern era the call fails", function()
    local function refuse() return "no" end -- anything but true
    play({}, { approve_sampling = refuse })
    local params = { messages = { say(text "?") }, maxTokens = 5 }
    assert.same({ code = -1, message = METHOD .. ": the user refused the request" }, select(2, sample(params)))
    local responses, err = modern(params)
    assert.is_nil(responses)
    assert.same({ "-1", false }, { err.code, err.retryable })
    play({}, { approve_sampling = function() error "broken" end })
    assert.equal(-32603, select(2, sample(params)).code)
    assert.equal(0, #book.call_log)
  end)

  it("gives the user the model's error, and the server none of it", function()
    local function failing()
      return { { type = "error", error = { status = 401, message = "bad key of team blue" } } }
    end
    local params = { messages = { say(text "?") }, maxTokens = 5 }
    local warned
    play(failing(), { warn = function(warning) warned = warning end })
    assert.same({ code = -32603, message = "the client could not answer the request" }, select(2, sample(params)))
    assert.matches("team blue", warned.message)
    play(failing())
    local _, err = modern(params)
    assert.equal("auth", err.kind)
  end)

  it("ends at its bound of calls, and of tokens", function()
    local steps = {}
    for i = 1, 4 do
      steps[i] = { type = "answer", content = "x", usage = { input_tokens = 40, output_tokens = 2 } }
    end
    local params = { messages = { say(text "?") }, maxTokens = 50 }
    play({ steps[1], steps[2] }, { sampling_calls = 2 })
    assert(sample(params))
    assert(sample(params))
    assert.matches("bound of 2 calls", select(2, sample(params)).message)
    play({ steps[3], steps[4] }, { sampling_tokens = 60 })
    assert(sample(params))
    assert(sample(params)) -- 18 are left of 60
    assert.same({ 50, 18 }, { book.call_log[1].max_tokens, book.call_log[2].max_tokens })
    assert.same({ code = -32000, message = METHOD .. ": the bound of 60 tokens for this connection is reached" },
      select(2, sample(params)))
    assert.equal("limit", select(2, modern(params)).kind)
  end)

  it("counts calls at the same time together", function()
    local running, most = 0, 0
    object = inputs.new { sampling_tokens = 100, sampling = function(request)
      running, most = running + request.max_tokens, math.max(most, running + request.max_tokens)
      koine.sleep(0)
      running = running - request.max_tokens
      return { content = "x", usage = { input_tokens = 1, output_tokens = 1 } }
    end }
    local answered = 0
    koine.run(function()
      local tasks = {}
      for i = 1, 5 do
        tasks[i] = koine.spawn(function()
          if sample { messages = { say(text "?") }, maxTokens = 40 } then answered = answered + 1 end
        end)
      end
      for _, task in ipairs(tasks) do task:wait() end
    end)
    assert.equal(100, most)
    assert.equal(3, answered)
  end)

  it("may be a function: a text, or a table like a Response", function()
    play({}, { sampling = function() return "Hi." end })
    local params = { messages = { say(text "?") }, maxTokens = 5 }
    assert.same({ role = "assistant", content = text "Hi.", model = "unknown", stopReason = "endTurn" }, sample(params))
    play({}, { sampling = function()
      return koine.response { content = { { type = "thinking", thinking = "…" }, text "A", text "B" }, model = "m",
        stop_reason = "max_tokens" }
    end })
    assert.same({ role = "assistant", content = text "AB", model = "m", stopReason = "maxTokens" }, sample(params))
    for _, nonsense in ipairs { 7, {}, { content = { 1 } }, { content = 5 } } do
      play({}, { sampling = function() return nonsense end })
      assert.equal(-32603, select(2, sample(params)).code)
      assert.equal("invalid_request", select(2, modern(params)).kind)
    end
    play({}, { sampling = function() return nil, "no model today" end })
    assert.equal("sampling gave no answer: no model today", select(2, modern(params)).message)
    play({}, { sampling = function() error "oops" end })
    assert.matches("sampling raised: .*oops", select(2, modern(params)).message)
  end)

  it("does not give a malformed call of the model's to the server", function()
    play({ { type = "answer", content = { { type = "tool_use", id = "c", name = "weather", arguments_json = "{" } } } },
      { sampling_tools = true })
    local _, err = modern { messages = { say(text "?") }, maxTokens = 5, tools = { WEATHER } }
    assert.equal("protocol", err.kind)
  end)

  it("asks a real provider over HTTP", function()
    local server <close> = assert(koine.testing.start())
    server:script { { content = "Paris." } }
    object = inputs.new { sampling = koine.anthropic { model = "claude-sonnet-4-5", key = "key-of-the-test",
      base_url = server.url } }
    assert.same({ content = text "Paris.", role = "assistant", stopReason = "endTurn", model = "claude-sonnet-4-5" },
      sample { messages = { say(text "Capital?") }, maxTokens = 11, systemPrompt = "Be brief.",
        stopSequences = { "\n", "END" } })
    local body = server:requests()[1].body
    if type(body) == "string" then body = core.decode(body) end
    assert.same({ 11, { "END" } }, { body.max_tokens, body.stop_sequences })
  end)
end)
