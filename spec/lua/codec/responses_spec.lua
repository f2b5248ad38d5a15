-- The Responses wire against the loopback provider: encrypted reasoning that is asked for and goes back, and reasoning
-- that cannot be decrypted.

local core = require "koine.core"
local koine = require "koine"
local loopback = require "spec.support.loopback"

describe("Responses", function()
  local kit = loopback.new()
  local script, bodies = kit.script, kit.bodies
  local adapter = kit.maker("openai", { model = "gpt-5", key = "test-key" })
  local server

  setup(function() server = kit.start() end)
  teardown(kit.stop)

  local function types(items)
    local list = {}
    for i, item in ipairs(items) do list[i] = item.type or item.role end
    return list
  end

  local REASONED = { content = { { type = "thinking", thinking = "The moon." },
    { type = "tool_use", name = "tide", arguments = { port = "Cork" } } } }
  local TOOLS = { { name = "tide", parameters = { type = "object", properties = { port = { type = "string" } } } } }

  -- A history with an answer of reasoning and a call, answered.
  local function history(gpt, streaming)
    local messages = { { role = "user", content = "When is high water?" } }
    local response = assert(gpt:chat(messages, { tools = TOOLS, thinking = "low", stream = streaming }))
    messages[2] = response:message()
    messages[3] = { role = "user", content = { { type = "tool_result", tool_use_id = response.tool_calls[1].id,
      content = "At noon." } } }
    return messages
  end

  it("asks every row's model for what it thought, unless it is known to refuse", function()
    for _, row in ipairs { "xai", "azure", "openrouter", "vllm", "deepseek", "compatible" } do
      script({ content = "a" })
      assert(koine[row] { model = "some-model", key = "test-key", base_url = server.url, api = "responses",
        retry = false }:chat "Hi")
      assert.are.same({ "reasoning.encrypted_content" }, bodies()[1].include, row)
    end
    for _, model in ipairs { "gpt-4.1", "gpt-4o-mini", "gpt-4-turbo", "gpt-3.5-turbo", "gpt-5-chat-latest",
      "chatgpt-4o-latest", "ft:gpt-4o-mini:acme::1" } do
      script({ content = "a" })
      assert(adapter { model = model }:chat "Hi")
      assert.is_nil(bodies()[1].include, model)
    end
  end)

  it("keeps the reasoning of an unknown model that was not asked to think", function()
    script(REASONED, { content = "At noon." })
    local grok = koine.xai { model = "grok-9", key = "test-key", base_url = server.url, api = "responses",
      retry = false }
    local messages = { { role = "user", content = "When is high water?" } }
    local response = assert(grok:chat(messages, { tools = TOOLS }))
    messages[2] = response:message()
    messages[3] = { role = "user", content = { { type = "tool_result", tool_use_id = response.tool_calls[1].id,
      content = "At noon." } } }
    assert(grok:chat(messages, { tools = TOOLS }))
    assert.are.same({ "user", "reasoning", "function_call", "function_call_output" }, types(bodies()[2].input))
  end)

  it("asks once only where the model cannot encrypt its reasoning", function()
    local refused = { error = { status = 400, type = "invalid_request_error", param = "include",
      message = "Encrypted content is not supported with this model." } }
    script(refused, { content = "a" }, { content = "b" })
    local deployment = koine.azure { model = "ours", key = "test-key", base_url = server.url, api = "responses",
      retry = false }
    local response = assert(deployment:chat "Hi")
    assert.are.equal("a", response:text())
    assert.are.same({ 1, 0 }, { #response.attempts - 1, #response.warnings })
    assert.are.equal("b", assert(deployment:chat "Hi"):text())
    local sent = bodies()
    assert.are.same({ { "reasoning.encrypted_content" } }, { sent[1].include, sent[2].include, sent[3].include })
    assert.are.equal(3, #sent)
  end)

  it("fails where the provider refuses it once more", function()
    local refused = { error = { status = 400, message = "Encrypted content is not supported with this model." } }
    script(refused, refused)
    local _, err = koine.azure { model = "ours", key = "test-key", base_url = server.url, api = "responses",
      retry = false }:chat "Hi"
    assert.are.same({ 400, 2 }, { err.status_code, #err.attempts })
  end)

  it("stores nothing, and asks models that reason for what they thought", function()
    script({ content = "a" }, { content = "b" }, { content = "c" })
    assert(adapter():chat "Hi")
    assert(adapter { model = "gpt-4.1" }:chat "Hi")
    assert(adapter():chat("Hi", { extra = { store = true, include = { "message.output_text.logprobs" } } }))
    local sent = bodies()
    assert.are.same({ false, { "reasoning.encrypted_content" } }, { sent[1].store, sent[1].include })
    assert.are.same({ false, nil }, { sent[2].store, sent[2].include })
    assert.are.same({ true, { "reasoning.encrypted_content", "message.output_text.logprobs" } },
      { sent[3].store, sent[3].include })
  end)

  for _, streaming in ipairs { false, true } do
    it("sends reasoning back as it came, " .. (streaming and "streamed" or "plain"), function()
      script(REASONED, { content = "At noon." })
      local gpt = adapter()
      local messages = history(gpt, streaming)
      assert.are.equal("At noon.", assert(gpt:chat(messages, { tools = TOOLS, stream = streaming })):text())
      local sent = bodies()[2].input
      assert.are.same({ "user", "reasoning", "function_call", "function_call_output" }, types(sent))
      local raw = core.decode(messages[2].content[1].provider_data.raw)
      assert.are.same(raw, sent[2])
      assert.is_string(raw.encrypted_content)
    end)
  end

  it("leaves reasoning out once when the provider cannot open it, and says so", function()
    script(REASONED, { error = { status = 400, type = "invalid_request_error", code = "invalid_encrypted_content",
      message = "The encrypted content could not be verified." } }, { content = "At noon." })
    local gpt = adapter()
    local response = assert(gpt:chat(history(gpt), { tools = TOOLS }))
    assert.are.equal("At noon.", response:text())
    assert.are.equal("reasoning_dropped", response.warnings[1].code)
    assert.are.equal(1, #response.warnings)
    assert.are.equal(2, #response.attempts)
    assert.are.equal(400, response.attempts[1].status_code)
    local sent = bodies()
    assert.are.same({ "user", "reasoning", "function_call", "function_call_output" }, types(sent[2].input))
    assert.are.same({ "user", "function_call", "function_call_output" }, types(sent[3].input))
  end)

  it("does so once", function()
    local refused = { error = { status = 400, code = "invalid_encrypted_content", message = "No." } }
    script(REASONED, refused, refused)
    local gpt = adapter()
    local response, err = gpt:chat(history(gpt), { tools = TOOLS })
    assert.is_nil(response)
    assert.are.same({ "invalid_encrypted_content", "RequestError", 2 }, { err.code, err.class, #err.attempts })
    assert.are.equal(3, #bodies())
  end)

  it("writes what the model said as the strictest servers want it", function()
    script({ content = { { type = "text", text = "Once." }, { type = "refusal", text = "No more." } } },
      { content = "Twice." }, { content = "Thrice." })
    local gpt = adapter()
    local messages = { { role = "user", content = "Go." } }
    for n = 2, 6, 2 do
      messages[n] = assert(gpt:chat(messages, { stream = n == 2 })):message()
      messages[n + 1] = { role = "user", content = "Go on." }
    end
    local sent = bodies()[3].input
    assert.are.same({ "user", "message", "message", "user", "message", "user" }, types(sent))
    assert.are.same({ type = "message", id = "msg_1", status = "completed", role = "assistant",
      content = { { type = "output_text", text = "Once.", annotations = {} } } }, sent[2])
    assert.are.same({ type = "message", id = "msg_2", status = "completed", role = "assistant",
      content = { { type = "refusal", refusal = "No more." } } }, sent[3])
    assert.are.equal("msg_4", sent[5].id)
  end)

  it("sends an unknown part back in a message of the same form", function()
    local part = { type = "output_audio", data = "AAAA" }
    script({ reply = { body = { id = "resp_1", object = "response", status = "completed", model = "gpt-5",
      output = core.array { { type = "message", id = "msg_a", status = "completed", role = "assistant",
        content = core.array { part } } } } } }, { reply = { body = {} } })
    local gpt = adapter()
    local messages = { { role = "user", content = "Sing." } }
    messages[2] = assert(gpt:chat(messages)):message()
    assert.are.equal("opaque", messages[2].content[1].type)
    messages[3] = { role = "user", content = "Again." }
    gpt:chat(messages)
    local sent = core.decode(assert(server:requests())[2].body).input[2]
    assert.are.same({ type = "message", id = "msg_1", status = "completed", role = "assistant", content = { part } },
      sent)
  end)

  for _, streaming in ipairs { false, true } do
    it("takes no item of the user's for an answer, " .. (streaming and "streamed" or "plain"), function()
      local echo = { type = "message", id = "msg_u", role = "user", status = "completed",
        content = core.array { { type = "input_text", text = "What I said." } } }
      script({ content = { { type = "opaque", raw = echo }, { type = "text", text = "Well." } } }, { content = "ok" })
      local gpt = adapter()
      local deltas = {}
      local response = assert(gpt:chat("Hi", { stream = streaming,
        on_delta = function(d) deltas[#deltas + 1] = d.text end }))
      assert.are.equal("Well.", response:text())
      assert.are.equal(streaming and "Well." or "", table.concat(deltas))
      assert.are.same({ "opaque", "message" }, { response.content[1].type, response.content[1].kind })
      assert(gpt:chat { { role = "user", content = "Hi" }, response:message(), { role = "user", content = "Go on." } })
      assert.are.equal("What I said.", assert(core.decode(assert(server:requests())[2].body)).input[2].content[1].text)
    end)
  end

  it("takes its reasoning nowhere else", function()
    script(REASONED, { content = "a" }, { content = "b" })
    local messages = history(adapter())
    assert(adapter { model = "gpt-5.1" }:chat(messages, { tools = TOOLS }))
    assert(adapter { api = "chat" }:chat(messages, { tools = TOOLS }))
    local sent = bodies()
    assert.are.same({ "user", "function_call", "function_call_output" }, types(sent[2].input))
    assert.are.same({ "user", "assistant", "tool" }, (function()
      local roles = {}
      for i, message in ipairs(sent[3].messages) do roles[i] = message.role end
      return roles
    end)())
  end)
end)
