-- The rows' changes to the bodies that adapters send.

local core = require "koine.core"
local koine = require "koine"
local raised = require "spec.support.raised"

describe("a row", function()
  local TOOL = { name = "add", description = "Adds.", parameters = { type = "object", additionalProperties = false } }
  local ID = "call_0123456789abcdef0123456789abcdef0123456789abcdef"
  local MARK = "reasoning-words"
  local SAME = { role = true, content = true, tool_calls = true }

  -- The body that an adapter sends for an answer with reasoning of its own and a call, decoded; and its warnings.
  local function sent(name, model, fields)
    local adapter = koine[name] { model = model, base_url = "http://127.0.0.1:1",
      api = name == "openai" and "chat" or nil }
    local state = core.state(adapter)
    local request = { model = model, stream = false, tools = { TOOL }, system = "s", max_tokens = 9000,
      thinking_mode = state.info.thinking, max_output = state.info.max_output, messages = {
        { role = "user", content = "q" },
        { role = "assistant", content = {
          { type = "thinking", thinking = MARK, provider_data = { provider = name, model = model } },
          { type = "tool_use", id = ID, name = "add", arguments = {} } } },
        { role = "user", content = { { type = "tool_result", tool_use_id = ID, content = "5" } } } } }
    for field, value in pairs(fields or {}) do request[field] = value end
    local body, _, warnings = adapter:render(request)
    return core.decode(body), warnings
  end

  -- The field of the assistant's message that holds the reasoning; nil when none does. The others are as on every wire.
  local function reasoning_field(body)
    local found
    for field, value in pairs(body.messages[3]) do
      if value == MARK then found = field end
      assert.is_truthy(value == MARK or SAME[field], field)
    end
    return found
  end

  it("sends reasoning back where its provider wants it, and nowhere else", function()
    local expected = { deepseek = "reasoning_content", groq = "reasoning", cerebras = "reasoning", vllm = "reasoning",
      moonshot = "reasoning_content", llamacpp = "reasoning_content", ollama_compat = "reasoning",
      xai = "reasoning_content", alibaba = "reasoning_content", sglang = "reasoning_content" }
    for _, name in ipairs { "deepseek", "groq", "cerebras", "vllm", "moonshot", "llamacpp", "ollama_compat", "xai",
      "alibaba", "sglang", "cohere", "deepinfra", "openai", "azure", "fireworks", "together", "lmstudio", "perplexity",
      "compatible" } do
      assert.are.equal(expected[name], reasoning_field(sent(name, "m")), name)
    end
    assert.are.equal("thinking", sent("mistral", "m").messages[3].content[1].type)
  end)

  it("of DeepSeek sends reasoning back on every answer of V4, never on one of the older reasoner", function()
    local said = { { role = "user", content = "q" }, { role = "assistant", content = "a" },
      { role = "user", content = "r" } }
    assert.are.equal(MARK, sent("deepseek", "deepseek-v4-flash").messages[3].reasoning_content)
    assert.are.equal("", sent("deepseek", "deepseek-v4-flash", { messages = said }).messages[3].reasoning_content)
    assert.is_nil(sent("deepseek", "deepseek-reasoner").messages[3].reasoning_content)
  end)

  it("sends ids as its provider takes them", function()
    local function id(name)
      local body = sent(name, "m")
      local call = body.messages[3].tool_calls[1].id
      assert.are.equal(call, body.messages[4].tool_call_id)
      return call
    end
    for _, name in ipairs { "moonshot", "groq", "deepseek", "vllm", "compatible" } do
      assert.are.equal(ID, id(name), name)
    end
    for _, name in ipairs { "openai", "azure" } do assert.are.equal(40, #id(name), name) end
    assert.is_truthy(id("mistral"):find("^" .. ("%w"):rep(9) .. "$"))
  end)

  it("names things as its provider does", function()
    for name, field in pairs { openai = "max_completion_tokens", azure = "max_completion_tokens", groq = "max_tokens",
      deepseek = "max_tokens" } do
      assert.are.equal(9000, sent(name, "m")[field], name)
    end
    for model, role in pairs { ["gpt-5"] = "developer", o3 = "developer", ["gpt-4.1"] = "system",
      ["gpt-5-chat-latest"] = "system" } do
      assert.are.equal(role, sent("openai", model).messages[1].role, model)
    end
    assert.are.equal("any", sent("mistral", "m", { tool_choice = "any" }).tool_choice)
    assert.are.equal("required", sent("groq", "m", { tool_choice = "any" }).tool_choice)
    assert.are.equal("add", sent("mistral", "m").messages[4].name)
    assert.is_nil(sent("xai", "grok-4").tools[1]["function"].parameters.additionalProperties)
    assert.is_false(sent("openai", "m").tools[1]["function"].parameters.additionalProperties)
    for name, content in pairs { lmstudio = "", ollama_compat = "", openai = core.null, vllm = core.null } do
      assert.are.equal(content, sent(name, "m").messages[3].content, name)
    end
  end)

  it("of OpenAI takes tools on this wire without reasoning only, from gpt-5.4 on", function()
    assert.are.equal("none", sent("openai", "gpt-5.4").reasoning_effort)
    local body, warnings = sent("openai", "gpt-5.6", { thinking = "high" })
    assert.are.equal("none", body.reasoning_effort)
    assert.are.equal("thinking", warnings[1].field)
    assert.are.equal("high", sent("openai", "gpt-5.2", { thinking = "high" }).reasoning_effort)
  end)

  it("of Cohere and of Alibaba says whether to think, and warns that it cannot say how much", function()
    local function told(name, model, thinking)
      local body, warnings = sent(name, model, { thinking = thinking })
      return { body.reasoning_effort, body.enable_thinking, warned = #warnings > 0 and warnings[1].field or nil }
    end
    local reasoning = "command-a-reasoning-08-2025"
    assert.are.same({ "high" }, told("cohere", reasoning, "high"))
    assert.are.same({ "high", warned = "thinking" }, told("cohere", reasoning, "low"))
    assert.are.same({ "none" }, told("cohere", reasoning, false))
    assert.are.same({ warned = "thinking" }, told("cohere", "command-a-03-2025", "high"))
    assert.are.same({ nil, true, warned = "thinking" }, told("alibaba", "qwen-plus", "low"))
    assert.are.same({ nil, false }, told("alibaba", "qwen-plus", false))
  end)

  it("of MiniMax leaves stop sequences out, and says to M3 alone not to think", function()
    local function asked(model, fields)
      local adapter = koine.minimax { model = model }
      local request = { model = model, stream = false, max_tokens = 10,
        messages = { { role = "user", content = "q" } } }
      for field, value in pairs(fields) do request[field] = value end
      local body, _, warnings = adapter:render(request)
      return core.decode(body), warnings
    end
    local body, warnings = asked("MiniMax-M3", { stop_sequences = { "X" }, thinking = false })
    assert.is_nil(body.stop_sequences)
    assert.are.equal("stop_sequences", warnings[1].field)
    assert.are.equal("disabled", body.thinking.type)
    assert.is_nil(asked("MiniMax-M2.7", { thinking = false }).thinking)
  end)

  it("keeps what the model refuses out, with a warning each", function()
    local options = { temperature = 0.5, top_p = 0.5, stop_sequences = { "X" } }
    local expected = { ["gpt-4.1"] = "", ["gpt-5"] = "temperature top_p", ["o3"] = "temperature top_p stop_sequences" }
    for model, fields in pairs(expected) do
      local body, warnings = sent("openai", model, options)
      local warned = {}
      for i, warning in ipairs(warnings) do
        warned[i] = warning.field
        assert.is_nil(body[warning.field])
      end
      assert.are.equal(fields, table.concat(warned, " "), model)
    end
    assert.is_nil(sent("xai", "grok-4", options).stop)
  end)

  it("refuses media that its provider refuses", function()
    local function image(source) return { { role = "user", content = { { type = "image", source = source } } } } end
    for name, source in pairs { cerebras = "data:image/png;base64,QQ==", ollama_compat = "https://h/i.png" } do
      assert.are.equal("messages[1].content[1]", raised(sent, name, "m", { messages = image(source) }).field, name)
    end
    local part = sent("mistral", "m", { messages = image "https://h/i.png" }).messages[2].content[1]
    assert.are.equal("https://h/i.png", part.image_url)
  end)
end)
describe("thinking = false", function()
  -- Returns the body that the call sends, and its warnings.
  local function off(name, model)
    local server <close> = assert(koine.testing.start { script = { { content = "a" } } })
    local adapter = koine[name] { model = model, base_url = server.url, key = "k",
      api = name == "openai" and "chat" or nil }
    local response = assert(adapter:chat("Hi", { thinking = false, max_tokens = 10 }))
    local requests = assert(server:requests())
    return core.decode(requests[1].body), response.warnings
  end

  it("is said where the model has a word for it, and warned of where it thinks anyway", function()
    local body, warnings = off("openai", "gpt-5.1")
    assert.are.equal("none", body.reasoning_effort)
    assert.are.same({}, warnings)
    body, warnings = off("openai", "gpt-5")
    assert.is_nil(body.reasoning_effort)
    assert.are.equal("thinking", warnings[1].field)
    assert.are.same({}, select(2, off("openai", "gpt-4.1")))
    assert.are.same({}, select(2, off("anthropic", "claude-sonnet-4-5")))
  end)
end)