-- The echo: as a whole script, as one answer of a script, and as a value of the schema that a request asks for.

local core = require "koine.core"
local echo = require "koine.testing.loopback.script.echo"
local http = require "koine.net.http"
local koine = require "koine"

local PERSON = "name, born int, tall bool, rating number, role author|critic, tags [string]"

-- By a name of the wire: an adapter of it.
local ADAPTERS = {
  anthropic = function(url) return koine.anthropic { model = "claude-sonnet-4-5", key = "k", base_url = url } end,
  bedrock = function(url)
    return koine.bedrock { model = "anthropic.claude-sonnet-4-5-20250929-v1:0", region = "us-east-1", base_url = url,
      credentials = { access_key = "AKIDLOOPBACK", secret_key = "loopback/secret+key" } }
  end,
  chat = function(url) return koine.openai { model = "gpt-4.1", key = "k", api = "chat", base_url = url } end,
  gemini = function(url)
    return koine.gemini { model = "gemini-3.5-flash", key = "k", base_url = url .. "/v1beta" }
  end,
  ollama = function(url) return koine.ollama { model = "qwen3:4b", base_url = url } end,
  responses = function(url) return koine.openai { model = "gpt-4.1", key = "k", base_url = url } end,
}

describe("the loopback provider's echo", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  for name, adapter in pairs(ADAPTERS) do
    it("answers with a value of the schema: " .. name, function()
      assert(server:script "echo")
      local r = assert(adapter(server.url):chat("Who?", { output = { schema = PERSON }, retry = false }))
      assert.are.equal("native", r.output_mode)
      assert.are.same({ name = "You said: Who?", born = 1, tall = true, rating = 1, role = "author",
        tags = { "You said: Who?" } }, r.output)
    end)
  end

  local function value_of(schema)
    assert(server:script "echo")
    local r = assert(ADAPTERS.chat(server.url):chat("é12345678", { output = { schema = schema, strict = false },
      retry = false }))
    return r.output
  end

  it("answers with a value of Google's own schema", function()
    assert(server:script "echo")
    local answer = assert(http.send { method = "POST", headers = { ["x-goog-api-key"] = "k",
      ["content-type"] = "application/json" }, url = server.url .. "/v1beta/models/gemini-2.0-flash:generateContent",
      body = core.encode { contents = core.array { { role = "user", parts = core.array { { text = "Who?" } } } },
        generationConfig = { responseMimeType = "application/json",
          responseSchema = { type = "OBJECT", properties = { born = { type = "INTEGER" } } } } } })
    local text = core.decode(answer.body).candidates[1].content.parts[1].text
    assert.are.same({ born = 1 }, core.decode(text))
  end)

  it("keeps to the bounds of a schema", function()
    for _, case in ipairs {
      { { type = "integer", minimum = 3 }, 3 }, { { type = "integer", exclusiveMinimum = 4 }, 5 },
      { { type = "integer", exclusiveMinimum = 0.5, exclusiveMaximum = 2 }, 1 },
      { { type = "integer", maximum = -2 }, -2 }, { { type = "integer", maximum = -0.5 }, -1 },
      { { type = "integer", multipleOf = 7 }, 7 },
      { { type = "number", minimum = 2.5 }, 2.5 }, { { type = "number", minimum = 0.5, maximum = 0.9 }, 0.9 },
      { { type = "number", exclusiveMinimum = 0, exclusiveMaximum = 1 }, 0.5 },
      { { type = "number", exclusiveMaximum = 1 }, 0 }, { { type = "number", multipleOf = 0.5 }, 1 },
      { { type = "string", maxLength = 11 }, "You said: é" },
      { { type = "string", minLength = 21 }, "You said: é12345678.." },
      { { enum = core.array { "a", "b" } }, "a" }, { { enum = core.array { core.null, "b" } }, "b" },
      { { const = 5 }, 5 }, { { type = core.array { "null", "boolean" } }, true },
      { { anyOf = core.array { { type = "null" }, { type = "integer" } } }, 1 },
      { { type = "array", minItems = 2, items = { type = "integer" } }, { 1, 1 } },
      { { type = "array", minItems = 2, prefixItems = core.array { { const = "x" } }, items = { type = "boolean" } },
        { "x", true } },
      { { ["$ref"] = "#/$defs/one" }, "x" }, { { ["$ref"] = "#/%24defs/more/anyOf/1" }, "y" },
    } do
      local schema = { type = "object", properties = { a = case[1] }, required = core.array { "a" },
        ["$defs"] = { one = { const = "x" }, more = { anyOf = core.array { {}, { const = "y" } } } } }
      assert.are.same({ a = case[2] }, value_of(schema), core.encode(case[1]))
    end
    assert.are.same({ b = "You said: é12345678" }, value_of { type = "object", required = core.array { "b" } })
  end)

  it("ends in a schema that holds itself", function()
    local tree = { type = "object", required = core.array { "name" },
      properties = { name = { type = "string" }, parts = { type = "array", items = { ["$ref"] = "#" } } } }
    local depth, node = 0, value_of(tree)
    while node.parts and node.parts[1] do depth, node = depth + 1, node.parts[1] end
    assert.is_true(depth > 0 and depth < 10)
    local me = { anyOf = core.array { { ["$ref"] = "#" }, { type = "null" } } }
    local all = core.array { "a", "b", "c", "d" }
    local broad = { type = "object", required = all, properties = { a = me, b = me, c = me, d = me } }
    assert.is_true(#core.encode(value_of(broad)) < 20000)
    local list = { type = "object", required = core.array { "v", "next" },
      properties = { v = { type = "integer" }, next = me } }
    depth, node = 0, value_of(list)
    while node ~= core.null do
      assert.are.equal(1, node.v)
      depth, node = depth + 1, node.next
    end
    assert.is_true(depth > 0 and depth < 10)
    assert.is_true(#echo({}, { type = "object", required = all, properties = { a = { type = "array", minItems = 1e9 },
      b = me, c = me, d = me } }) < 50000)
  end)

  it("refuses a wrong schema, and serves on", function()
    for _, wrong in ipairs { { ["$ref"] = 5 }, { type = 5 }, { type = "number", exclusiveMinimum = true },
      { type = "string", maxLength = 2.5 }, { type = "array", minItems = "2" } } do
      assert(server:script { { echo = true }, { content = "Bye." } })
      local adapter = ADAPTERS.chat(server.url)
      local nothing, err = adapter:chat("Hi.", { retry = false, extra = { response_format = { type = "json_schema",
        json_schema = { name = "x", schema = { type = "object", properties = { a = wrong } } } } } })
      assert.is_nil(nothing)
      assert.are.same({ 500, "the script cannot be played: answers[1]: the schema in the request is not a valid "
        .. "JSON Schema" }, { err.status_code, err.message })
      assert.are.equal("Bye.", assert(adapter:chat "Hi."):text())
    end
  end)

  for name, adapter in pairs(ADAPTERS) do
    it("repeats the results of tools: " .. name, function()
      local function use(id, n) return { type = "tool_use", name = "double", id = id, arguments = { n = n } } end
      assert(server:script { { content = { use("call_aaaa1", 21), use("call_aaaa2", 4) } }, { echo = true } })
      local double = koine.tool { name = "double", description = "Doubles.", example = { n = 1 },
        run = function(args) return args.n * 2 end }
      local agent = koine.agent { adapter = adapter(server.url), tools = { double } }
      assert.are.equal("You said: 42\n8", assert(agent:run "Double 21 and 4.").text)
      assert.are.equal("You said: Again.", assert(agent:run "Again.").text)
    end)
  end

  it("is one answer of a script, and goes on as the last, also on a path of its own", function()
    assert(server:script { { echo = true }, { content = "Bye." } })
    local adapter = ADAPTERS.chat(server.url)
    assert.are.equal("You said: Hi.", assert(adapter:chat "Hi."):text())
    assert.are.equal("Bye.", assert(adapter:chat "Hi."):text())
    local nothing, err = adapter:chat "Hi."
    assert.is_nil(nothing)
    assert.truthy(tostring(err):find("the script is exhausted", 1, true))
    assert(server:script { { echo = true, path = "/own/v1/messages" } })
    local own = ADAPTERS.anthropic(server.url .. "/own")
    for _ = 1, 2 do assert.are.equal("You said: Hi.", assert(own:chat "Hi."):text()) end
  end)

  it("takes true alone, and stands for the content", function()
    for _, case in ipairs { { { echo = false }, "answers[1].echo: true expected" },
      { { echo = true, content = "Hi." }, "answers[1]: exactly one of content, echo, embeddings," },
    } do
      local ok, err = pcall(server.script, server, { case[1] })
      assert.is_false(ok)
      assert.truthy(tostring(err):find(case[2], 1, true), tostring(err))
    end
  end)

  it("answers requests of embeddings", function()
    assert(server:script { { echo = true } })
    local embedder = koine.openai { model = "text-embedding-3-small", key = "k", base_url = server.url .. "/v1" }
    assert.are.equal(64, assert(embedder:embed "Hi.").dimensions)
  end)
end)
