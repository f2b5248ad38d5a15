-- Images and documents on both wires, as the very bytes that go out.

local koine = require "koine"

local PNG, PDF = "iVBORw0KGgo=", "JVBERi0xLjQK"

local function image(source, media_type) return { type = "image", source = source, media_type = media_type } end
local function document(source, media_type, title)
  return { type = "document", source = source, media_type = media_type, title = title }
end

-- block → what stands for it in a message of Anthropic's wire, and of the Chat wire.
local CASES = {
  { "an image as base64", image(PNG, "image/png"),
    '{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}',
    '{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}' },
  { "an image as a data URL", image("data:image/jpeg;base64," .. PNG),
    '{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"iVBORw0KGgo="}}',
    '{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,iVBORw0KGgo="}}' },
  { "an image as an http URL", image "https://example.org/a.png?b=1&c=%20",
    '{"type":"image","source":{"type":"url","url":"https://example.org/a.png?b=1&c=%20"}}',
    '{"type":"image_url","image_url":{"url":"https://example.org/a.png?b=1&c=%20"}}' },
  { "a PDF as base64", document(PDF, "application/pdf", "A \"report\""),
    '{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjQK"},'
      .. '"title":"A \\"report\\""}',
    '{"type":"file","file":{"filename":"A \\"report\\"","file_data":"data:application/pdf;base64,JVBERi0xLjQK"}}' },
  { "a PDF as a data URL", document("data:application/pdf;base64," .. PDF),
    '{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjQK"}}',
    '{"type":"file","file":{"filename":"document","file_data":"data:application/pdf;base64,JVBERi0xLjQK"}}' },
  { "text as base64", document("SGVsbG8sIHfDtnJsZC4K", "text/plain", "T"),
    '{"type":"document","source":{"type":"text","media_type":"text/plain","data":"Hello, wörld.\\n"},"title":"T"}',
    '{"type":"file","file":{"filename":"T","file_data":"data:text/plain;base64,SGVsbG8sIHfDtnJsZC4K"}}' },
  { "a PDF as an http URL", document "https://example.org/a.pdf",
    '{"type":"document","source":{"type":"url","url":"https://example.org/a.pdf"}}', nil },
}

describe("media", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function()
    assert(server:reset())
    assert(server:script "echo")
  end)

  local function adapter_of(name, model, api)
    return koine[name] { model = model, api = api, key = "test-key", base_url = server.url, retry = false }
  end
  local function anthropic() return adapter_of("anthropic", "claude-sonnet-4-5") end
  local function openai() return adapter_of("openai", "gpt-4.1", "chat") end

  -- The messages that went out, as bytes.
  local function sent(adapter, messages)
    assert(adapter:chat(messages, { max_tokens = 10 }))
    local list = assert(server:requests())
    assert.are.same({}, list[#list].problems)
    return list[#list].body:match '"messages":(.*)}$'
  end

  for _, case in ipairs(CASES) do
    local name, block, on_anthropic, on_chat = table.unpack(case, 1, 4)

    it("go out in a message: " .. name, function()
      local messages = { { role = "user", content = { { type = "text", text = "See:" }, block } } }
      assert.are.equal('[{"role":"user","content":[{"type":"text","text":"See:"},' .. on_anthropic .. "]}]",
        sent(anthropic(), messages))
      if on_chat then
        assert.are.equal('[{"role":"user","content":[{"type":"text","text":"See:"},' .. on_chat .. "]}]",
          sent(openai(), messages))
      end
    end)

    it("go out in a tool's result: " .. name, function()
      local messages = { { role = "user", content = "go" },
        { role = "assistant", content = { { type = "tool_use", id = "call_1", name = "look", arguments = {} } } },
        { role = "user", content = { { type = "tool_result", tool_use_id = "call_1",
          content = { { type = "text", text = "here" }, block } } } } }
      assert.are.equal('[{"role":"user","content":[{"type":"text","text":"go"}]},{"role":"assistant","content":['
        .. '{"type":"tool_use","id":"call_1","name":"look","input":{}}]},{"role":"user","content":[{'
        .. '"type":"tool_result","tool_use_id":"call_1","content":[{"type":"text","text":"here"},' .. on_anthropic
        .. "]}]}]", sent(anthropic(), messages))
      if on_chat then
        assert.are.equal('[{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[{'
          .. '"id":"call_1","type":"function","function":{"name":"look","arguments":"{}"}}]},{"role":"tool",'
          .. '"tool_call_id":"call_1","content":"here\\n[attachment 1 of the next user message]"},{"role":"user",'
          .. '"content":[' .. on_chat .. "]}]", sent(openai(), messages))
      end
    end)
  end

  it("go out as a plain string where a dialect wants that", function()
    local messages = { { role = "user", content = { image(PNG, "image/png") } } }
    assert.are.equal('[{"role":"user","content":[{"type":"image_url",'
      .. '"image_url":"data:image/png;base64,iVBORw0KGgo="}]}]',
      sent(adapter_of("mistral", "mistral-large-latest"), messages))
  end)

  it("keep their order among texts, and several of them their numbers in results", function()
    local messages = { { role = "user", content = { image(PNG, "image/png"), { type = "text", text = "or" },
      image "https://example.org/b.png" } } }
    assert.are.equal('[{"role":"user","content":[' .. CASES[1][4] .. ',{"type":"text","text":"or"},{"type":"image_url",'
      .. '"image_url":{"url":"https://example.org/b.png"}}]}]', sent(openai(), messages))
    local function call(id) return { type = "tool_use", id = id, name = "look", arguments = {} } end
    local function result(id, ...) return { type = "tool_result", tool_use_id = id, content = { ... } } end
    messages = { { role = "user", content = "go" }, { role = "assistant", content = { call "call_1", call "call_2" } },
      { role = "user", content = { result("call_1", image(PNG, "image/png")),
        result("call_2", image "https://example.org/b.png"), { type = "text", text = "Compare." } } } }
    local body = sent(openai(), messages)
    assert.is_truthy(body:find('"content":"[attachment 1 of the next user message]"', 1, true))
    assert.is_truthy(body:find('"content":"[attachment 2 of the next user message]"', 1, true))
    assert.is_truthy(body:find('{"role":"user","content":[' .. CASES[1][4] .. ',{"type":"image_url","image_url":{'
      .. '"url":"https://example.org/b.png"}},{"type":"text","text":"Compare."}]}]', 1, true))
  end)

  it("are refused by name where they cannot go, before anything is sent", function()
    local function refused(adapter, block, role)
      local messages = { { role = "user", content = "Hi" }, { role = role or "user", content = { block } } }
      local ok, err = pcall(adapter.chat, adapter, messages)
      assert.is_false(ok)
      assert.are.equal("ArgumentError", err.class)
      assert.is_truthy(err.field:find("messages[2].content[1]", 1, true), err.field)
    end
    refused(adapter_of("deepseek", "deepseek-chat"), document(PDF, "application/pdf"))
    refused(adapter_of("cerebras", "llama"), image(PNG, "image/png"))
    refused(adapter_of("ollama_compat", "llava"), image "https://example.org/b.png")
    refused(openai(), document "https://example.org/b.pdf") -- Chat carries documents, but no links to them
    refused(anthropic(), image(PNG, "image/png"), "assistant")
    for _, adapter in ipairs { anthropic(), openai() } do
      refused(adapter, image(PNG))                          -- base64 of what?
      refused(adapter, { type = "image" })
      refused(adapter, image(5, "image/png"))
    end
    refused(openai(), image(PNG, "image/png"), "assistant")
    refused(anthropic(), document("no base64!", "text/plain"))
    assert.are.equal(0, #assert(server:requests()))
  end)
end)
