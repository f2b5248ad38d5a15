-- The shape of an answer (`output` of a canonical request) as each wire has it: exactly these bytes.

local koine = require "koine"

local SCHEMA = { type = "object", properties = { why = { type = "string" }, answer = { type = "integer" } },
  required = { "why", "answer" }, additionalProperties = false }
local TEXT = '{"additionalProperties":false,"properties":{"why":{"type":"string"},"answer":{"type":"integer"}},'
  .. '"required":["why","answer"],"type":"object"}'

local function body(name, request, options)
  options = options or {}
  options.model, options.key = options.model or "m", "test-key-1"
  if name:find "^bedrock" then options.region = "us-east-1" end
  if name == "vertex_claude" then
    options.key, options.token, options.project, options.location = nil, "test-token-1", "p", "us-east5"
  end
  if name == "compatible" then options.base_url = "http://127.0.0.1:9" end
  request.model, request.stream = options.model, false
  request.messages = request.messages or { { role = "user", content = "Hi" } }
  local adapter <close> = koine[name](options)
  local text, _, warnings = adapter:render(request)
  return text, warnings
end

-- The fields that warnings name.
local function fields(warnings)
  local list = {}
  for i, warning in ipairs(warnings) do list[i] = warning.field end
  return list
end

local function output(more)
  local one = { name = "person", schema = SCHEMA }
  for key, value in pairs(more or {}) do one[key] = value end
  return one
end

-- The member `name` of the body's object, as it stands there.
local function holds(text, part)
  assert.is_truthy(text:find(part, 1, true), ("%s is not in %s"):format(part, text))
end

describe("the shape of an answer", function()
  it("is response_format on Chat", function()
    local text = body("openai", { output = output { description = "D", strict = true } }, { api = "chat" })
    holds(text, '"response_format":{"type":"json_schema","json_schema":{"name":"person","description":"D","schema":'
      .. TEXT .. ',"strict":true}}')
  end)

  it("is the same on servers of one's own that speak Chat", function()
    for _, name in ipairs { "llamacpp", "vllm", "lmstudio" } do
      holds(body(name, { output = output { strict = false } }), '"response_format":{"type":"json_schema",'
        .. '"json_schema":{"name":"person","schema":' .. TEXT .. ',"strict":false}}')
    end
  end)

  it("is a schema alone where a provider takes no more", function()
    local text = body("compatible", { output = output { description = "D", strict = true } },
      { quirks = { bare_output = true } })
    holds(text, '"response_format":{"type":"json_schema","json_schema":{"schema":' .. TEXT .. "}}")
  end)

  it("is text.format on Responses, beside what the caller adds to text", function()
    local text = body("openai", { output = output { strict = true }, extra = { text = { verbosity = "low" } } },
      { api = "responses" })
    holds(text, '"text":{"format":{"type":"json_schema","name":"person","schema":' .. TEXT
      .. ',"strict":true},"verbosity":"low"}')
  end)

  it("is output_config.format on Messages, beside the effort", function()
    local text = body("anthropic", { output = output(), thinking = "high", thinking_mode = "adaptive" })
    holds(text, '"output_config":{"effort":"high","format":{"type":"json_schema","schema":' .. TEXT .. "}}")
    text = body("anthropic", { output = output() })
    holds(text, '"output_config":{"format":{"type":"json_schema","schema":' .. TEXT .. "}}")
  end)

  it("is the same for Claude on Bedrock and Vertex AI", function()
    for _, name in ipairs { "bedrock_claude", "vertex_claude" } do
      local options = name == "bedrock_claude" and { api = "invoke" } or {}
      local text = body(name, { output = output(), thinking = "high", thinking_mode = "adaptive" }, options)
      holds(text, '"output_config":{"effort":"high","format":{"type":"json_schema","schema":' .. TEXT .. "}}")
    end
  end)

  it("stands beside what the caller adds to output_config and text, where that is an object", function()
    local format = '"format":{"type":"json_schema","schema":' .. TEXT .. "}"
    local extra = { output_config = { task_budget = { type = "tokens", total = 20000 }, effort = "low", format = {} } }
    local text, warnings = body("anthropic", { output = output(), extra = extra })
    holds(text, '"output_config":{' .. format .. ',"effort":"low","task_budget":{"total":20000,"type":"tokens"}}')
    assert.are.same({ "extra.output_config.format" }, fields(warnings))
    text, warnings = body("anthropic", { output = output(), extra = extra, thinking = "high",
      thinking_mode = "adaptive" })
    holds(text, '"output_config":{"effort":"high",' .. format .. ',"task_budget":{"total":20000,"type":"tokens"}}')
    assert.are.same({ "extra.output_config.effort", "extra.output_config.format" }, fields(warnings))
    for api, name in pairs { anthropic = "output_config", openai = "text" } do
      text, warnings = body(api, { output = output(), extra = { [name] = "low" } })
      assert.is_nil(text:find('"low"', 1, true))
      assert.are.same({ "extra." .. name }, fields(warnings))
    end
  end)

  it("is outputConfig on Converse, with the schema as JSON in a string", function()
    local text = body("bedrock", { output = output() })
    holds(text, '"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"name":"person",'
      .. '"schema":"' .. TEXT:gsub('"', '\\"') .. '"}}}}')
    text = body("bedrock", { output = output { description = "D" } })
    holds(text, '"jsonSchema":{"name":"person","description":"D","schema":"')
  end)

  it("is responseJsonSchema on Gemini, responseSchema where a model knows OpenAPI alone", function()
    local text = body("gemini", { output = output() })
    holds(text, '"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":'
      .. '{"additionalProperties":false,"properties":{"why":{"type":"string"},"answer":{"type":"integer"}},'
      .. '"propertyOrdering":["why","answer"],"required":["why","answer"],"type":"object"}}')
    text = body("gemini", { output = output() }, { quirks = { openapi_schema = true } })
    holds(text, '"responseMimeType":"application/json","responseSchema":{')
    assert.is_nil(text:find("additionalProperties", 1, true))
  end)

  it("is format on Ollama", function()
    holds(body("ollama", { output = output() }), '"format":' .. TEXT)
  end)

  it("is any object without a schema", function()
    local any = { name = "response" }
    holds(body("openai", { output = any }, { api = "chat" }), '"response_format":{"type":"json_object"}')
    holds(body("openai", { output = any }, { api = "responses" }), '"text":{"format":{"type":"json_object"}}')
    holds(body("ollama", { output = any }), '"format":"json"')
    local text = body("gemini", { output = any })
    holds(text, '"responseMimeType":"application/json"')
    assert.is_nil(text:find("Schema", 1, true))
  end)
end)

describe("the word JSON", function()
  local ANY = { name = "response" }
  local HINT = "Answer with one JSON object."

  local function asked(api, text, system)
    return body("openai", { output = ANY, system = system, messages = { { role = "user", content = text } } },
      { api = api })
  end

  it("is added where no message has it", function()
    holds(asked("chat", "Give me a person"), '"messages":[{"role":"system","content":"' .. HINT .. '"}')
    holds(asked("chat", "Give me a person", "Be brief."), "Be brief.")
    holds(asked("responses", "Give me a person"), '"input":[{"role":"system","content":"' .. HINT .. '"}')
  end)

  it("is added to the input of Responses, where instructions do not count", function()
    local text = asked("responses", "Give me a person", "Answer in JSON.")
    holds(text, '"instructions":"Answer in JSON."')
    holds(text, HINT)
  end)

  it("is not added where the first message has it, in capitals or not, or the system prompt of Chat", function()
    for _, api in ipairs { "chat", "responses" } do
      for _, word in ipairs { "JSON", "json", "Json" } do
        assert.is_nil(asked(api, "as " .. word .. " please"):find(HINT, 1, true))
      end
    end
    assert.is_nil(asked("chat", "Give me a person", "Answer in JSON."):find(HINT, 1, true))
  end)

  it("stays when a later message has it, so that a longer history begins with the same bytes", function()
    for _, api in ipairs { "chat", "responses" } do
      local function text(...)
        return body("openai", { output = ANY, messages = { { role = "user", content = "Hi" }, ... } }, { api = api })
      end
      local short, long = text(), text({ role = "assistant", content = "{" }, { role = "user", content = "As JSON" })
      holds(long, HINT)
      assert.are.equal(short:match "^(.*)%]", long:sub(1, #short:match "^(.*)%]"))
    end
  end)

  it("is in what goes out where the history begins with an answer's id", function()
    local text = body("openai", { output = ANY, extra = { previous_response_id = "resp_1" }, messages = {
      { role = "user", content = "as JSON" }, { role = "assistant", content = "{}" },
      { role = "user", content = "And now?" } } }, { api = "responses" })
    assert.is_nil(text:find("as JSON", 1, true))
    holds(text, HINT)
  end)
end)
