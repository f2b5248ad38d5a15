-- Images and documents on the wires, as the very bytes that go out.

local koine = require "koine"
local loopback = require "spec.support.loopback"

local PNG, PDF = "iVBORw0KGgo=", "JVBERi0xLjQK"

local function image(source, media_type) return { type = "image", source = source, media_type = media_type } end
local function document(source, media_type, title)
  return { type = "document", source = source, media_type = media_type, title = title }
end

-- Per case: a block, and what stands for it in a message of each wire that carries it. Ollama has images alone, in a
-- list of their own beside the text.
local CASES = {
  { "an image as base64", image(PNG, "image/png"),
    anthropic = '{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}',
    chat = '{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}',
    responses = '{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}',
    gemini = '{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}',
    bedrock = '{"image":{"format":"png","source":{"bytes":"iVBORw0KGgo="}}}', ollama = '"iVBORw0KGgo="' },
  { "an image as a data URL", image("data:image/jpeg;base64," .. PNG),
    anthropic = '{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"iVBORw0KGgo="}}',
    chat = '{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,iVBORw0KGgo="}}',
    responses = '{"type":"input_image","image_url":"data:image/jpeg;base64,iVBORw0KGgo="}',
    gemini = '{"inlineData":{"mimeType":"image/jpeg","data":"iVBORw0KGgo="}}',
    bedrock = '{"image":{"format":"jpeg","source":{"bytes":"iVBORw0KGgo="}}}', ollama = '"iVBORw0KGgo="' },
  { "an image as an http URL", image "https://example.org/a.png?b=1&c=%20",
    anthropic = '{"type":"image","source":{"type":"url","url":"https://example.org/a.png?b=1&c=%20"}}',
    chat = '{"type":"image_url","image_url":{"url":"https://example.org/a.png?b=1&c=%20"}}',
    responses = '{"type":"input_image","image_url":"https://example.org/a.png?b=1&c=%20"}',
    gemini = '{"fileData":{"mimeType":"image/png","fileUri":"https://example.org/a.png?b=1&c=%20"}}' },
  { "a PDF as base64", document(PDF, "application/pdf", "A \"report\""),
    anthropic = '{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjQK"},'
      .. '"title":"A \\"report\\""}',
    chat = '{"type":"file","file":{"filename":"A \\"report\\"",'
      .. '"file_data":"data:application/pdf;base64,JVBERi0xLjQK"}}',
    responses = '{"type":"input_file","filename":"A \\"report\\"",'
      .. '"file_data":"data:application/pdf;base64,JVBERi0xLjQK"}',
    gemini = '{"inlineData":{"mimeType":"application/pdf","data":"JVBERi0xLjQK"}}',
    bedrock = '{"document":{"format":"pdf","name":"A report","source":{"bytes":"JVBERi0xLjQK"}}}' },
  { "a PDF as a data URL", document("data:application/pdf;base64," .. PDF),
    anthropic = '{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjQK"}}',
    chat = '{"type":"file","file":{"filename":"document","file_data":"data:application/pdf;base64,JVBERi0xLjQK"}}',
    responses = '{"type":"input_file","filename":"document",'
      .. '"file_data":"data:application/pdf;base64,JVBERi0xLjQK"}',
    gemini = '{"inlineData":{"mimeType":"application/pdf","data":"JVBERi0xLjQK"}}',
    bedrock = '{"document":{"format":"pdf","name":"Document 1","source":{"bytes":"JVBERi0xLjQK"}}}' },
  { "text as base64", document("SGVsbG8sIHfDtnJsZC4K", "text/plain", "T"),
    anthropic = '{"type":"document","source":{"type":"text","media_type":"text/plain","data":"Hello, wörld.\\n"},'
      .. '"title":"T"}',
    chat = '{"type":"file","file":{"filename":"T","file_data":"data:text/plain;base64,SGVsbG8sIHfDtnJsZC4K"}}',
    responses = '{"type":"input_file","filename":"T","file_data":"data:text/plain;base64,SGVsbG8sIHfDtnJsZC4K"}',
    gemini = '{"inlineData":{"mimeType":"text/plain","data":"SGVsbG8sIHfDtnJsZC4K"}}',
    bedrock = '{"document":{"format":"txt","name":"T","source":{"bytes":"SGVsbG8sIHfDtnJsZC4K"}}}' },
  { "a PDF as an http URL", document "https://example.org/a.pdf",
    anthropic = '{"type":"document","source":{"type":"url","url":"https://example.org/a.pdf"}}',
    responses = '{"type":"input_file","file_url":"https://example.org/a.pdf"}',
    gemini = '{"fileData":{"mimeType":"application/pdf","fileUri":"https://example.org/a.pdf"}}' },
}

-- Per wire: its adapter, the member of the body that holds the history, and what stands there for a text and a block
-- in a message, and for both in a tool's result.
local WIRES = {
  anthropic = { "anthropic", "claude-sonnet-4-5", "", field = "messages",
    message = '[{"role":"user","content":[{"type":"text","text":"See:"},%s]}]',
    result = '[{"role":"user","content":[{"type":"text","text":"go"}]},{"role":"assistant","content":['
      .. '{"type":"tool_use","id":"call_1","name":"look","input":{}}]},{"role":"user","content":[{'
      .. '"type":"tool_result","tool_use_id":"call_1","content":[{"type":"text","text":"here"},%s]}]}]' },
  chat = { "openai", "gpt-4.1", "", api = "chat", field = "messages",
    message = '[{"role":"user","content":[{"type":"text","text":"See:"},%s]}]',
    result = '[{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1",'
      .. '"type":"function","function":{"name":"look","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1",'
      .. '"content":"here\\n[attachment 1 of the next user message]"},{"role":"user","content":[%s]}]' },
  responses = { "openai", "gpt-5", "", api = "responses", field = "input",
    message = '[{"role":"user","content":[{"type":"input_text","text":"See:"},%s]}]',
    result = '[{"role":"user","content":"go"},{"type":"function_call","call_id":"call_1","name":"look",'
      .. '"arguments":"{}"},{"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text",'
      .. '"text":"here"},%s]}]' },
  gemini = { "gemini", "gemini-2.5-flash", "/v1beta", field = "contents",
    message = '[{"role":"user","parts":[{"text":"See:"},%s]}]',
    result = '[{"role":"user","parts":[{"text":"go"}]},{"role":"model","parts":[{"functionCall":{"name":"look",'
      .. '"args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"look","response":{"output":"here"}}},'
      .. '{"text":"Result of look:"},%s]}]' },
  bedrock = { "bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "", field = "messages",
    message = '[{"role":"user","content":[{"text":"See:"},%s]}]',
    result = '[{"role":"user","content":[{"text":"go"}]},{"role":"assistant","content":[{"toolUse":{'
      .. '"toolUseId":"call_1","name":"look","input":{}}}]},{"role":"user","content":[{"toolResult":{'
      .. '"toolUseId":"call_1","content":[{"text":"here"},%s]}}]}]' },
  ollama = { "ollama", "qwen3:4b", "", field = "messages", message = '[{"role":"user","content":"See:","images":[%s]}]',
    result = '[{"role":"user","content":"go"},{"role":"assistant","content":"","tool_calls":[{"id":"call_1",'
      .. '"function":{"index":0,"name":"look","arguments":{}}}]},{"role":"tool","content":"here","images":[%s],'
      .. '"tool_name":"look","tool_call_id":"call_1"}]' },
}

describe("media", function()
  local kit = loopback.new "echo"
  local server

  setup(function() server = kit.start() end)
  teardown(kit.stop)
  before_each(kit.reset)

  local function adapter_of(name, model, api, base)
    return kit.maker(name, { model = model, api = api, key = "test-key" }, base)()
  end
  local function anthropic() return adapter_of("anthropic", "claude-sonnet-4-5") end
  local function openai() return adapter_of("openai", "gpt-4.1", "chat") end
  local function on(wire) return adapter_of(wire[1], wire[2], wire.api, wire[3]) end

  -- The history that went out, as bytes: the last member of the body.
  local function sent(adapter, messages, field)
    assert(adapter:chat(messages, { max_tokens = 20 }))
    return kit.last().body:match(('"%s":(.*)}$'):format(field or "messages"))
  end

  local function in_message(block)
    return { { role = "user", content = { { type = "text", text = "See:" }, block } } }
  end

  local function in_result(block)
    return { { role = "user", content = "go" },
      { role = "assistant", content = { { type = "tool_use", id = "call_1", name = "look", arguments = {} } } },
      { role = "user", content = { { type = "tool_result", tool_use_id = "call_1",
        content = { { type = "text", text = "here" }, block } } } } }
  end

  for _, case in ipairs(CASES) do
    local name, block = case[1], case[2]
    for api, wire in pairs(WIRES) do
      if case[api] then
        it(("go out in a message: %s, %s"):format(name, api), function()
          assert.are.equal((wire.message:gsub("%%s", { ["%s"] = case[api] })),
            sent(on(wire), in_message(block), wire.field))
        end)

        it(("go out in a tool's result: %s, %s"):format(name, api), function()
          assert.are.equal((wire.result:gsub("%%s", { ["%s"] = case[api] })),
            sent(on(wire), in_result(block), wire.field))
        end)
      end
    end
  end

  it("stand in a result's own parts, where a model of Gemini knows those", function()
    local adapter = adapter_of("gemini", "gemini-3.5-flash", nil, "/v1beta")
    local body = sent(adapter, in_result(image(PNG, "image/png")), "contents")
    assert.is_truthy(body:find('{"functionResponse":{"name":"look","response":{"output":"here"},"parts":['
      .. CASES[1].gemini .. ']}}]}]', 1, true), body)
    body = sent(adapter, in_result(image "https://example.org/b.png"), "contents") -- not there
    assert.is_truthy(body:find('"response":{"output":"here"}}},{"text":"Result of look:"},{"fileData"', 1, true), body)
  end)

  it("are text on Ollama's wire where they are documents of text", function()
    local ollama = on(WIRES.ollama)
    assert.are.equal('[{"role":"user","content":"See:\\n\\nT\\nHello, wörld.\\n"}]',
      sent(ollama, in_message(document("SGVsbG8sIHfDtnJsZC4K", "text/plain", "T"))))
  end)

  it("go out as a plain string where a dialect wants that", function()
    local messages = { { role = "user", content = { image(PNG, "image/png") } } }
    assert.are.equal('[{"role":"user","content":[{"type":"image_url",'
      .. '"image_url":"data:image/png;base64,iVBORw0KGgo="}]}]',
      sent(adapter_of("mistral", "mistral-large-latest"), messages))
  end)

  it("keep their order among texts, and several of them their numbers in results", function()
    local messages = { { role = "user", content = { image(PNG, "image/png"), { type = "text", text = "or" },
      image "https://example.org/b.png" } } }
    assert.are.equal('[{"role":"user","content":[' .. CASES[1].chat .. ',{"type":"text","text":"or"},'
      .. '{"type":"image_url",'
      .. '"image_url":{"url":"https://example.org/b.png"}}]}]', sent(openai(), messages))
    local function call(id) return { type = "tool_use", id = id, name = "look", arguments = {} } end
    local function result(id, ...) return { type = "tool_result", tool_use_id = id, content = { ... } } end
    messages = { { role = "user", content = "go" }, { role = "assistant", content = { call "call_1", call "call_2" } },
      { role = "user", content = { result("call_1", image(PNG, "image/png")),
        result("call_2", image "https://example.org/b.png"), { type = "text", text = "Compare." } } } }
    local body = sent(openai(), messages)
    assert.is_truthy(body:find('"content":"[attachment 1 of the next user message]"', 1, true))
    assert.is_truthy(body:find('"content":"[attachment 2 of the next user message]"', 1, true))
    assert.is_truthy(body:find('{"role":"user","content":[' .. CASES[1].chat .. ',{"type":"image_url","image_url":{'
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
    refused(on(WIRES.ollama), image "https://example.org/b.png")
    refused(on(WIRES.ollama), document(PDF, "application/pdf"))
    refused(on(WIRES.bedrock), image "https://example.org/b.png")
    refused(on(WIRES.bedrock), document "https://example.org/b.pdf")
    refused(on(WIRES.gemini), image "https://example.org/b") -- an image of what type?
    refused(anthropic(), image(PNG, "image/png"), "assistant")
    for _, wire in pairs(WIRES) do
      local adapter = on(wire)
      refused(adapter, image(PNG))                          -- base64 of what?
      refused(adapter, { type = "image" })
      refused(adapter, image(5, "image/png"))
    end
    refused(openai(), image(PNG, "image/png"), "assistant")
    for _, wire in pairs(WIRES) do -- as the constructors do
      for _, bad in ipairs { "no base64!", "two words", "abcde", "data:text/plain,abc", ("A"):rep(4096) .. "!" } do
        local block = document(bad, "text/plain")
        refused(on(wire), block)
        assert.is_false(pcall(koine.document, { source = bad, media_type = "text/plain" }))
      end
    end
    assert.are.equal(0, #assert(server:requests()))
  end)
end)

describe("image/jpg", function()
  it("goes out as image/jpeg on every wire", function()
    for name, given in pairs { anthropic = { model = "claude-sonnet-4-5" }, openai = { model = "gpt-4.1" },
      groq = { model = "m" }, gemini = { model = "gemini-2.5-flash" },
      bedrock = { model = "m", region = "us-east-1" } } do
      given.key = "k"
      local body = koine[name](given):render({ model = given.model, messages = { { role = "user",
        content = { image("aGk=", "image/jpg") } } } }, "chat")
      assert.is_nil(body:find("image/jpg", 1, true), name)
      assert.is_truthy(body:find("jpeg", 1, true), name)
    end
  end)
end)
