-- The form of an answer on the loopback provider, wire by wire: what the providers refuse is refused, in their words
-- where they are known; what they take is taken.

local client = require "spec.support.raw_client"
local core = require "koine.core"
local koine = require "koine"

local array = core.array
local STRING = { type = "string" }

local function object(properties, required, more)
  local schema = { type = "object", properties = properties, required = array(required or {}),
    additionalProperties = false }
  for key, value in pairs(more or {}) do schema[key] = value end
  return schema
end

-- An object whose only property is that schema.
local function of(s, more) return object({ a = s }, { "a" }, more) end

local function many(n, s, required)
  local properties, names = {}, {}
  for i = 1, n do
    properties["p" .. i] = s
    names[i] = required and "p" .. i or nil
  end
  return object(properties, names)
end

-- A schema, and what Anthropic has against it; nil: nothing.
local ANTHROPIC = {
  { of(STRING) },
  { of(STRING, { ["$schema"] = "http://json-schema.org/draft-07/schema#" }) },
  { object { a = STRING } },
  { of { type = "string", format = "uri", description = "d", title = "t", default = "x", pattern = "a" } },
  { of { anyOf = { STRING, { type = "null" } } } },
  { of { enum = { "a", 1, true } } },
  { of { const = "a" } },
  { of { type = "array", items = STRING, minItems = 1 } },
  { of({ ["$ref"] = "#/$defs/x" }, { ["$defs"] = { x = of(STRING) } }) },
  { { ["$ref"] = "#/$defs/x", ["$defs"] = { x = of(STRING) } } },
  { many(24, STRING) },
  { many(16, { type = array { "string", "null" } }, true) },
  { { type = "array", items = STRING }, "the root must be of type 'object'" },
  { of { type = "object", properties = { b = STRING } },
    "For 'object' type, 'additionalProperties' must be explicitly set to false" },
  { of { type = "integer", minimum = 1, maximum = 2 }, "For 'integer' type, properties maximum, minimum are not" },
  { of { type = "number", multipleOf = 2 }, "For 'number' type, property multipleOf is not supported" },
  { of { type = "string", maxLength = 2 }, "For 'string' type, property maxLength is not supported" },
  { of { type = array { "string", "null" }, maxLength = 2 }, "For 'string' type, property maxLength is not" },
  { of { type = "string", format = "idn-email" }, "format 'idn-email' is not supported" },
  { of { type = "array", items = STRING, minItems = 2 },
    "For 'array' type, 'minItems' values other than 0 or 1 are not supported" },
  { of { type = "array", items = STRING, maxItems = 2 }, "For 'array' type, property maxItems is not supported" },
  { of { oneOf = { STRING } }, "Schema type 'oneOf' is not supported" },
  { of { enum = { { 1 } } }, "enum values must be strings" },
  { of { description = "d" }, "schema must have a type defined" },
  { of(true), "Input should be an object" },
  { of { ["$ref"] = "https://a.test/s" }, "leads nowhere" },
  { of { ["$ref"] = "#" }, "Circular reference detected" },
  { of({ ["$ref"] = "#/$defs/Node" }, { ["$defs"] = { Node = of { anyOf = { { ["$ref"] = "#/$defs/Node" },
    { type = "null" } } } } }), "Invalid schema: Circular reference detected in schema definitions: Node -> Node. " ..
    "Self-referencing or mutually-referencing definitions are not supported." },
  { many(25, STRING), "Schemas contains too many optional parameters (25), which would make grammar compilation " ..
    "inefficient. Reduce the number of optional parameters in your tool schemas (limit: 24)." },
  { many(17, { type = array { "string", "null" } }, true),
    "Schemas contains too many parameters with union types (17 parameters" },
}

describe("koine.testing: the form of an answer", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)

  -- Sends a body to a path, and asserts that it is taken, or refused with these words.
  local function judged(name, path, body, words, headers)
    assert(server:reset())
    assert(server:script { { content = "ok" } })
    local answer = client.exchange(server, "POST", path, headers or client.KEYS, core.encode(body))
    assert.are.equal(words and 400 or 200, answer.status, name .. ": " .. answer.body)
    if not words then return end
    local said = core.decode(answer.body)
    local message = said.error and (said.error.message or said.error) or said.message
    assert.is_truthy(message:find(words, 1, true), name .. ": " .. answer.body)
  end

  describe("on Messages", function()
    local function with(more)
      local body = { model = "claude-sonnet-4-6", max_tokens = 64, messages = { { role = "user", content = "Hi" } } }
      for key, value in pairs(more) do body[key] = value end
      return body
    end
    local function format(schema) return { format = { type = "json_schema", schema = schema } } end

    it("has a schema of the provider's kind", function()
      for i, case in ipairs(ANTHROPIC) do
        judged(tostring(i), "/v1/messages", with { output_config = format(case[1]) }, case[2])
      end
    end)

    it("has the same rules as a strict tool; others have none", function()
      for i, case in ipairs(ANTHROPIC) do
        if case[1].type == "object" then
          local tool = { name = "add", input_schema = case[1], strict = true }
          judged(tostring(i), "/v1/messages", with { tools = { tool } }, case[2])
          if i > 1 and case[2] and case[2]:find "Circular" then
            judged(tostring(i), "/v1/messages", with { tools = { tool } }, "tools.0.custom: Invalid schema: Circular")
          end
          tool.strict = nil
          if case[1].properties.a ~= true then judged(tostring(i), "/v1/messages", with { tools = { tool } }) end
        end
      end
    end)

    it("has limits that count for all schemas together", function()
      local body = with { output_config = format(many(12, STRING)),
        tools = { { name = "add", input_schema = many(12, STRING), strict = true } } }
      judged("24", "/v1/messages", body)
      body.tools[2] = { name = "mul", input_schema = many(1, STRING), strict = true }
      judged("25", "/v1/messages", body, "too many optional parameters (25)")
      local tools = {}
      for i = 1, 21 do tools[i] = { name = "t" .. i, input_schema = of(STRING), strict = true } end
      judged("21 tools", "/v1/messages", with { tools = tools }, "Too many strict tools (21).")
      tools[21] = nil
      judged("20 tools", "/v1/messages", with { tools = tools })
    end)

    it("has a schema and nothing else, and goes with neither citations nor a beginning", function()
      local one = format(of(STRING))
      judged("type", "/v1/messages", with { output_config = { format = { type = "json_object" } } }, "field required")
      one.format.name = "x"
      judged("name", "/v1/messages", with { output_config = one }, "output_config.format.name: extra inputs")
      one.format.name, one.effort = nil, "low"
      judged("effort", "/v1/messages", with { output_config = one })
      local document = { type = "document", source = { type = "text", media_type = "text/plain", data = "d" },
        citations = { enabled = true } }
      judged("citations", "/v1/messages", with { output_config = one, messages = { { role = "user",
        content = { document, { type = "text", text = "?" } } } } }, "cannot be used together with citations")
      judged("beginning", "/v1/messages", with { output_config = one, model = "claude-sonnet-4-5", messages = {
        { role = "user", content = "?" }, { role = "assistant", content = "{" } } }, "the beginning of the answer")
    end)

    it("is not there for older models", function()
      for _, model in ipairs { "claude-3-5-haiku-20241022", "claude-sonnet-4-20250514", "claude-opus-4-0" } do
        judged(model, "/v1/messages", with { model = model, output_config = format(of(STRING)) },
          ("'%s' does not support output format."):format(model))
      end
      judged("opus 4.1", "/v1/messages", with { model = "claude-opus-4-1-20250805",
        output_config = format(of(STRING)) })
    end)
  end)

  for _, wire in ipairs { { "/v1/chat/completions", "response_format.json_schema", "messages" },
    { "/v1/responses", "text.format", "input" } } do
    describe("on " .. wire[1], function()
      local function with(format, words)
        local body = { model = "gpt-4.1", [wire[3]] = { { role = "user", content = words or "Hi" } } }
        if wire[3] == "messages" then body.response_format = format else body.text = { format = format } end
        return body
      end
      local function named(name)
        local format = { name = name, schema = of(STRING), strict = true }
        if wire[3] == "messages" then
          return { model = "m", messages = { { role = "user", content = "Hi" } },
            response_format = { type = "json_schema", json_schema = format } }
        end
        format.type = "json_schema"
        return { model = "m", input = "Hi", text = { format = format } }
      end

      it("has a name", function()
        judged("good", wire[1], named "a_b-9", nil, client.BEARER)
        judged("none", wire[1], named(nil), ("Missing required parameter: '%s.name'."):format(wire[2]), client.BEARER)
        for _, name in ipairs { "a b", "ä", "", "a.b" } do
          judged(name, wire[1], named(name), ("Invalid '%s.name': string does not match pattern."):format(wire[2]),
            client.BEARER)
        end
        judged("long", wire[1], named(("x"):rep(65)), "got a string with length 65 instead", client.BEARER)
        judged("just", wire[1], named(("x"):rep(64)), nil, client.BEARER)
      end)

      it("is any object where the messages say JSON", function()
        judged("no word", wire[1], with { type = "json_object" }, "must contain the word 'json'", client.BEARER)
        judged("word", wire[1], with({ type = "json_object" }, "as Json please"), nil, client.BEARER)
      end)
    end)
  end

  it("is a schema alone where there is no name, on Chat", function()
    judged("bare", "/v1/chat/completions", { model = "m", messages = { { role = "user", content = "Hi" } },
      response_format = { type = "json_schema", json_schema = { schema = of(STRING) } } }, nil, client.BEARER)
  end)

  it("has a schema at the root of which $schema may stand, on OpenAI's wires", function()
    local schema = of(STRING)
    schema["$schema"] = "http://json-schema.org/draft-07/schema#"
    local function asked(s)
      return { model = "m", messages = { { role = "user", content = "Hi" } }, response_format = {
        type = "json_schema", json_schema = { name = "n", strict = true, schema = s } } }
    end
    judged("root", "/v1/chat/completions", asked(schema), nil, client.BEARER)
    judged("below", "/v1/chat/completions", asked(of(schema)), "'$schema' is not permitted", client.BEARER)
    local many_words = {}
    for i = 1, 1001 do many_words[i] = tostring(i) end
    for words, s in pairs { ["look-around"] = of { type = "string", pattern = "a(?=b)" },
      ["reference can only point"] = of { ["$ref"] = "#/$defs/x" }, ["1000 enum values"] = of { enum = many_words },
      ["120000 characters"] = of { type = "string", const = ("x"):rep(120000) } } do
      judged(words, "/v1/chat/completions", asked(s), words, client.BEARER)
    end
  end)

  describe("on Converse", function()
    local function ask(opts, model)
      assert(server:reset())
      assert(server:script { { content = "{}" } })
      local bedrock = koine.bedrock { model = model or "anthropic.claude-sonnet-4-5-20250929-v1:0",
        base_url = server.url, region = "us-east-1", key = "test-key-1", retry = false }
      return bedrock:chat("Hi.", opts)
    end
    local function format(schema, more)
      local asked = { name = "n", schema = schema }
      for key, value in pairs(more or {}) do asked[key] = value end
      local text = { type = "json_schema", structure = { jsonSchema = asked } }
      return { extra = { outputConfig = { textFormat = text } } }
    end

    it("has a schema of the same kind as JSON in a string", function()
      for i, case in ipairs(ANTHROPIC) do
        local response, err = ask(format(core.encode(case[1])))
        assert.are.equal(case[2] == nil, response ~= nil, i .. ": " .. tostring(err))
        if case[2] then assert.is_truthy(err.message:find(case[2], 1, true), i .. ": " .. err.message) end
      end
      for words, opts in pairs { ["the text of a JSON Schema expected"] = format(of(STRING)),
        ["a name of the form"] = format(core.encode(of(STRING)), { name = "a b" }),
        ["extra inputs"] = format(core.encode(of(STRING)), { strict = true }) } do
        local response, err = ask(opts)
        assert.is_nil(response, words)
        assert.is_truthy(err.message:find(words, 1, true), err.message)
      end
    end)

    it("is not there for models that the service refuses it for", function()
      for _, model in ipairs { "amazon.nova-lite-v1:0", "anthropic.claude-opus-4-8" } do
        local response, err = ask(format(core.encode(of(STRING))), model)
        assert.is_nil(response)
        assert.is_truthy(err.message:find("does not support structured output", 1, true), err.message)
      end
    end)
  end)

  it("is JSON by its type on Gemini, and not beside functions of older models", function()
    local function ask(model, opts)
      assert(server:reset())
      assert(server:script { { content = "{}" } })
      return koine.gemini({ model = model, key = "test-key-1", base_url = server.url .. "/v1beta", retry = false })
        :chat("Hi.", opts)
    end
    local schema = { responseJsonSchema = of(STRING) }
    local function extra(config) return { extra = { generationConfig = config } } end
    local _, err = ask("gemini-3-flash-preview", extra(schema))
    assert.is_truthy(err.message:find("application/json expected beside a schema", 1, true), err.message)
    schema.responseMimeType = "application/json"
    assert(ask("gemini-3-flash-preview", extra(schema)))
    local tools = extra(schema)
    tools.tools = { { name = "add", description = "d", parameters = of(STRING) } }
    assert(ask("gemini-3-flash-preview", tools))
    _, err = ask("gemini-2.5-flash", tools)
    assert.is_truthy(err.message:find("Function calling with a response mime type: 'application/json' is unsupported",
      1, true), err.message)
  end)

  it("is a grammar on Ollama, which rules out tools and loose patterns", function()
    local function ask(opts)
      assert(server:reset())
      assert(server:script { { content = "{}" } })
      return koine.ollama({ model = "m", base_url = server.url, retry = false }):chat("Hi.", opts)
    end
    assert(ask { extra = { format = of { type = "string", pattern = "^a$" } } })
    local _, err = ask { extra = { format = of { type = "string", pattern = "a" } } }
    assert.is_truthy(err.message:find("Pattern must start with '^' and end with '$'", 1, true), err.message)
    local tools = { { name = "add", description = "d", parameters = of(STRING) } }
    _, err = ask { extra = { format = "json" }, tools = tools }
    assert.is_truthy(err.message:find("the model could not call a tool", 1, true), err.message)
  end)
end)
