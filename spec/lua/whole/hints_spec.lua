-- Mistakes of people who come from elsewhere: names of other libraries, a dot in place of a colon. Every one is
-- refused, in words that say what is meant here.

local koine = require "koine"
local raised = require "spec.support.raised"

local SCHEMA = { type = "object", properties = {} }

describe("a hint is given for", function()
  local claude = koine.anthropic { model = "claude-sonnet-4-5", key = "k" }
  local book = koine.testing.playbook { steps = { { step = 1, type = "message", content = "Hello." } } }

  local function hinted(field, words, f, ...)
    local err = raised(f, ...)
    assert.are.equal("ArgumentError", err.class, tostring(err))
    assert.are.equal(field, err.field)
    assert.is_truthy(err.message:find(words, 1, true), err.message)
    return err
  end

  it("a tool's schema under another name, wherever tools are taken", function()
    local function one(name) return { name = "add", description = "Adds.", run = print, [name] = SCHEMA } end
    local function offer(name) return { one(name) } end
    for _, name in ipairs { "input_schema", "inputSchema" } do
      for _, adapter in ipairs { claude, koine.openai { model = "gpt-4.1", key = "k" },
        koine.groq { model = "m", key = "k" }, book, koine.fallback { claude, book } } do
        for _, method in ipairs { "chat", "open", "stream" } do
          hinted("tools[1]." .. name, "parameters", adapter[method], adapter, "Hi.", { tools = offer(name) })
        end
      end
      hinted("tools[1]." .. name, "parameters", claude.count_tokens, claude, "Hi.", { tools = offer(name) })
      hinted(name, 'did you mean "parameters"?', koine.tool, one(name))
      hinted("tools[1]." .. name, 'did you mean "parameters"?', koine.agent, { adapter = book, tools = offer(name) })
      local agent = koine.agent { adapter = book }
      hinted("tools[1]." .. name, 'did you mean "parameters"?', agent.run, agent, "Hi.", { tools = offer(name) })
      local talk = koine.conversation(claude, { tools = offer(name) })
      hinted("tools[1]." .. name, "parameters", talk.ask, talk, "Hi.")
      hinted("tool_definition." .. name, "parameters", koine.tool_definition, { name = "a", description = "b",
        [name] = SCHEMA })
    end
    assert.are.equal("parameters", raised(koine.tool, one "schema").expected)
    assert.are.equal("run", raised(koine.tool, { name = "a", description = "b", handler = print }).expected)
  end)

  it("options that are called otherwise elsewhere", function()
    for name, words in pairs { url = "base_url", endpoint = "base_url", api_key = "key",
      max_output_tokens = "max_tokens", stop = "stop_sequences",
      reasoning_effort = "thinking", max_retries = "retry = {max = n}",
      response_format = "output = {schema = …}, an option of chat", json_schema = "output = {schema = …}",
      user = "extra = {user = …}", random_seed = "seed",
      max_steps = "koine.agent with stop = koine.agent.steps(n)", system_prompt = "system, an option of chat" } do
      hinted(name, words, koine.anthropic, { model = "m", [name] = 1 })
      hinted(name, "did you mean ", claude.chat, claude, "Hi.", { [name] = 1 })
    end
    assert.are.equal("base_url", raised(koine.openai, { model = "m", url = "x" }).expected)
    hinted("url", "base_url, an option of the constructor", claude.chat, claude, "Hi.", { url = "x" })
  end)

  it("a file where a block of one belongs", function()
    for name, make in pairs { image = koine.image, document = koine.document } do
      local words = ("koine.%s.file reads a file"):format(name)
      hinted(name, words, make, "photo.png")
      for _, field in ipairs { "path", "file", "filename" } do
        hinted(name .. "." .. field, words, make, { [field] = "a" })
      end
      hinted(name .. ".mime_type", "media_type expected", make, { source = "AAAA", mime_type = "image/png" })
      hinted(name .. ".data", "source expected", make, { data = "AAAA" })
      hinted(name .. ".source", "koine.image.file and koine.document.file read files", make, { source = "photo.png" })
      hinted("messages[1].content[1].source", "koine.image.file and koine.document.file", claude.chat, claude,
        { { role = "user", content = { { type = name, source = "photo.png", media_type = "image/png" } } } })
    end
  end)

  it("results, options and single values where a list of functions or usages belongs", function()
    local usage = koine.usage { input_tokens = 1, output_tokens = 2 }
    hinted("function 1", "function (not its result) expected, got 5", koine.gather, 5)
    hinted("functions[1]", "function (not its result)", koine.gather, { usage })
    hinted("function 2", "{f, g, …, limit = n}", koine.gather, print, { limit = 2 })
    hinted("usages", "put it into a table", koine.usage.sum, usage, usage)
    hinted("usages", "put it into a table", koine.usage.sum, koine.response { content = "Hi.", model = "m",
      stop_reason = "end_turn" })
    hinted("usages", "put it into a table", koine.usage.sum, { usage = usage })
  end)

  it("options of embed that are called otherwise elsewhere", function()
    local openai = koine.openai { model = "m", key = "k" }
    for name, meant in pairs { task = "purpose", task_type = "purpose", input_type = "purpose", packed = "as",
      output_dimensionality = "dimensions", encoding_format = "as" } do
      hinted(name, ('did you mean "%s"?'):format(meant), openai.embed, openai, "Hi.", { [name] = 1 })
    end
    hinted("task", "unknown option", openai.chat, openai, "Hi.", { task = 1 })
    assert.is_nil(raised(openai.chat, openai, "Hi.", { task = 1 }).message:find("purpose", 1, true))
  end)

  it("options of one provider that are called otherwise elsewhere", function()
    for name, words in pairs { num_ctx = "extra = {options = {num_ctx = …}} with Ollama", keep_alive =
      "extra = {keep_alive = …}", format = "output = {schema = …}?", options = "extra = {options = …}" } do
      hinted(name, words, claude.chat, claude, "Hi.", { [name] = 1 })
    end
    for _, name in ipairs { "access_key", "secret_key", "session_token" } do
      hinted(name, 'did you mean "credentials"?', koine.bedrock, { region = "us-east-1", model = "m", [name] = "x" })
    end
    hinted("credentials", 'did you mean "credentials_file"?', koine.vertex, { model = "m", credentials = {} })
    hinted("region", 'did you mean "location"?', koine.vertex, { model = "m", region = "x" })
    hinted("timeout", "at most 1e9", koine.anthropic, { model = "m", timeout = 1e10 })
  end)

  it("providers that are called otherwise elsewhere", function()
    for name, words in pairs { google = "koine.gemini or koine.vertex", aws = "koine.bedrock",
      openai_chat = 'koine.openai with api = "chat"' } do
      hinted(name, "did you mean " .. words, function() return koine[name] end)
      hinted("name", words, koine.adapter, name .. "/m")
    end
    assert.is_nil(koine.gogle)
    hinted("name", 'did you mean "anthropic"?', koine.adapter, "claude/x")
    hinted("name", "unknown provider", koine.adapter, "qwen3:4b")
    local key = "sk-ant-api03-abcdefghijklmnop0123456789"
    assert.is_nil(hinted("name", "may be a credential", koine.adapter, key).message:find("abcdef", 1, true))
  end)

  it("a tool in the form of the Chat API", function()
    local wrapped = { type = "function", ["function"] = { name = "add", description = "Adds.", parameters = SCHEMA } }
    hinted("tools[1].function", "name, description and parameters in the tool itself", claude.chat, claude, "Hi.",
      { tools = { wrapped } })
  end)

  it("the source of an image in the form of Anthropic, and a path in its place", function()
    for _, adapter in ipairs { claude, koine.openai { model = "gpt-4.1", key = "k" }, koine.ollama { model = "m" },
      koine.gemini { model = "gemini-2.5-flash", key = "k" }, book } do
      local function send(source, media_type)
        return adapter.chat, adapter, { { role = "user", content = { { type = "text", text = "See." },
          { type = "image", source = source, media_type = media_type } } } }
      end
      hinted("messages[1].content[2].source", "media_type beside it", send { type = "base64", data = "aGk=",
        media_type = "image/png" })
      hinted("messages[1].content[2].source", "koine.base64(bytes)", send("cat.png", "image/png"))
      hinted("messages[1].content[2].source", "koine.base64(bytes)", send("\x89PNG\r\n", "image/png"))
    end
  end)

  it("fields of an agent that are called otherwise elsewhere", function()
    for _, name in ipairs { "max_steps", "max_iterations", "max_turns" } do
      hinted(name, "did you mean stop = koine.agent.steps(n)?", koine.agent, { adapter = book, [name] = 5 })
    end
    hinted("instructions", 'did you mean "system"?', koine.agent, { adapter = book, instructions = "x" })
    hinted("model", "adapter = koine.PROVIDER", koine.agent, { model = "m" })
    hinted("options.response_format", "output = {schema = …}?", koine.agent, { adapter = book,
      options = { response_format = {} } })
  end)

  it("a dot in place of a colon", function()
    local agent = koine.agent { adapter = book }
    hinted("agent", "agent:run(…) with a colon expected, got \"x\" in front", function() agent.run "x" end)
    hinted("agent", "agent:start(…) with a colon", function() agent.start "x" end)
    hinted("run", "run:step(…) with a colon expected, got nothing", function() agent:start("x").step() end)
    hinted("conversation", "conversation:ask(…) with a colon", function() koine.conversation(book).ask "x" end)
    hinted("dispatcher", "dispatcher:submit(…) with a colon", function()
      koine.dispatcher { target = { run_turn = print } }.submit({}, {})
    end)
    for _, adapter in ipairs { claude, book } do
      for _, method in ipairs { "chat", "open", "stream" } do
        hinted("self", "with a colon", function() adapter[method] "x" end)
      end
    end
  end)
end)
