-- What is special about the Responses wire, against the loopback provider: sealed reasoning that goes back, the seal
-- that nobody can open, and what is asked for so that it comes.

local core = require "koine.core"
local koine = require "koine"

describe("Responses", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)

  local function adapter(options)
    local given = { model = "gpt-5", key = "test-key", base_url = server.url, retry = false }
    for name, value in pairs(options or {}) do given[name] = value end
    return koine.openai(given)
  end

  local function script(...)
    assert(server:reset())
    assert(server:script { ... })
  end

  -- The bodies of the requests so far; fails where the provider had something to say against one.
  local function bodies()
    local list = {}
    for i, request in ipairs(assert(server:requests())) do
      assert.are.same({}, request.problems)
      list[i] = core.decode(request.body)
    end
    return list
  end

  local function types(items)
    local list = {}
    for i, item in ipairs(items) do list[i] = item.type or item.role end
    return list
  end

  local REASONED = { content = { { type = "thinking", thinking = "The moon." },
    { type = "tool_use", name = "tide", arguments = { port = "Cork" } } } }
  local TOOLS = { { name = "tide", parameters = { type = "object", properties = { port = { type = "string" } } } } }

  -- A history with a turn of reasoning and a call, answered.
  local function history(gpt, streaming)
    local messages = { { role = "user", content = "When is high water?" } }
    local response = assert(gpt:chat(messages, { tools = TOOLS, thinking = "low", stream = streaming }))
    messages[2] = response:message()
    messages[3] = { role = "user", content = { { type = "tool_result", tool_use_id = response.tool_calls[1].id,
      content = "At noon." } } }
    return messages
  end

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
