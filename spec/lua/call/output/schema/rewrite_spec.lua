-- The option output with schemas that providers cannot be held to, or only in other words: what goes out, and that the
-- answer is judged by the caller's schema.

local core = require "koine.core"
local kit = require("spec.lua.call.output.kit").new()
local koine = require "koine"
local raised = require "spec.support.raised"

local function strings(n, required)
  local made = { type = "object", properties = {}, required = core.array {} }
  for i = 1, n do
    made.properties["p" .. i] = { type = "string" }
    if required then made.required[i] = "p" .. i end
  end
  return made
end

local TREE = { type = "object", required = { "name" }, properties = { name = { type = "string" },
  parts = { type = "array", items = { ["$ref"] = "#" } } } }

describe("a schema that a provider takes in part", function()
  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.begin)
  after_each(kit.restore)

  local ask, codes = kit.ask, kit.codes

  it("requires every property of OpenAI, whose null then stands for none", function()
    local schema = { type = "object", required = { "a" }, properties = { a = { type = "string" },
      b = { type = "string" }, c = { type = { "string", "null" } } } }
    local r = ask(kit.gpt(), { { content = '{"a":"x","b":null,"c":null}' } }, { schema = schema })
    local format = kit.body(1).response_format.json_schema
    assert.is_true(format.strict)
    assert.are.equal(3, #format.schema.required)
    assert.are.same({ "string", "null" }, format.schema.properties.b.type)
    assert.are.equal("x", r.output.a)
    assert.is_nil(r.output.b)
    assert.are.equal(koine.null, r.output.c)
    assert.is_nil(schema.additionalProperties)
  end)

  it("shows no null that stands for none while the value grows", function()
    local schema = { type = "object", required = { "a" }, properties = { a = { type = "string" },
      b = { type = "string" } } }
    kit.server:script { { content = '{"b":null,"a":"x"}', chunk = 3 } }
    local stream <close> = assert(kit.gpt():open("Who?", { output = { schema = schema } }))
    for delta in stream:deltas() do
      if delta.type == "output_delta" then assert.is_nil(delta.value.b) end
    end
    assert.are.same({ a = "x" }, stream:output())
  end)

  it("is told in descriptions where the provider cannot hold the model to it, and judged whole", function()
    local schema = { type = "object", required = { "n" }, properties = { n = { type = "integer", minimum = 10 } } }
    local r = ask(kit.claude(), { { content = '{"n":3}' } }, { schema = schema })
    local sent = kit.body(1).output_config.format.schema
    assert.is_nil(sent.properties.n.minimum)
    assert.is_truthy(sent.properties.n.description:find("minimum", 1, true))
    assert.are.same({ "schema_rewritten" }, codes(r))
    assert.are.equal("invalid", r.output_error.code)
  end)

  it("goes by a tool where there is too much of it", function()
    local call = { type = "tool_use", name = "person", arguments = { p1 = "x" } }
    local r = ask(kit.claude(), { { content = { call } } }, { schema = strings(25) })
    assert.are.equal("tool", r.output_mode)
    assert.are.same({ "schema_not_native" }, codes(r))
    assert.are.same({ p1 = "x" }, r.output)
  end)

  it("goes by a tool where it refers to itself and the provider refuses that", function()
    local call = { type = "tool_use", name = "person", arguments = { name = "x" } }
    assert.are.equal("tool", ask(kit.claude(), { { content = { call } } }, { schema = TREE }).output_mode)
    local sent = kit.body(1)
    assert.is_nil(sent.output_config)
    assert.are.same({ 1, nil }, { #sent.tools, sent.tools[1].strict })
    assert(kit.server:reset())
    local r = ask(kit.gpt(), { { content = '{"name":"x","parts":[]}' } }, { schema = TREE })
    assert.are.equal("native", r.output_mode)
  end)

  it("is no strict tool where tools may not say that they take nothing else", function()
    local call = { type = "tool_use", name = "person", arguments = { name = "Ada", age = 36 } }
    local grok = koine.xai { model = "grok-4", key = "test-key-1", base_url = kit.server.url .. "/v1" }
    assert.are.equal("Ada", ask(grok, { { content = { call } } }, { mode = "tool" }).output.name)
    assert.is_nil(kit.body(1).tools[1]["function"].strict)
    assert.is_nil(kit.body(1).tools[1]["function"].parameters.additionalProperties)
  end)

  it("is a wish where OpenAI cannot be held to it", function()
    local schema = { type = "object", properties = { a = { type = "string" } }, required = { "a" },
      patternProperties = { ["^x"] = { type = "string" } } }
    local r = ask(kit.gpt(), { { content = '{"a":"x"}' } }, { schema = schema })
    assert.is_false(kit.body(1).response_format.json_schema.strict)
    assert.are.same({ "schema_not_strict" }, codes(r))
  end)

  it("is an ArgumentError where the caller wants it held to, or in the wire's own field", function()
    local closed = { type = "object", properties = { a = { type = "string" } }, required = { "a" },
      patternProperties = { ["^x"] = { type = "string" } } }
    local function refused(adapter, output)
      return raised(function() adapter:chat("Who?", { output = output }) end)
    end
    assert.is_truthy(refused(kit.gpt(), { schema = closed, strict = true }).field:find("^output%.schema"))
    assert.is_truthy(refused(kit.claude(), { schema = TREE, mode = "native" }).field:find("^output%.schema"))
    assert.are.equal(0, #kit.requests())
  end)

  describe("behind OpenRouter, where many providers answer", function()
    local function provider_of(extra, output)
      assert(kit.server:reset())
      local adapter = koine.openrouter { model = "openai/gpt-4o", key = "test-key-1", base_url = kit.server.url }
      ask(adapter, { { content = kit.ADA } }, output, { extra = extra })
      return kit.body(1).provider
    end

    it("goes only to those that heed it", function()
      assert.are.same({ require_parameters = true }, provider_of())
      assert.are.same({ require_parameters = true }, provider_of { seed = 1 })
      assert.are.same({ require_parameters = true }, provider_of(nil, { mode = "object" }))
    end)

    it("goes where the caller says, beside that", function()
      local extra = { provider = { order = { "azure" } } }
      assert.are.same({ require_parameters = true, order = { "azure" } }, provider_of(extra))
      assert.are.same({ provider = { order = { "azure" } } }, extra)
      assert.are.same({ require_parameters = false }, provider_of { provider = { require_parameters = false } })
      assert.are.equal("azure", provider_of { provider = "azure" })
    end)

    it("goes anywhere where it is asked for in words, or by a tool", function()
      assert.is_nil(provider_of(nil, { mode = "prompt" }))
      assert.is_nil(provider_of(nil, { mode = "tool" }))
    end)
  end)

  it("has its order on every wire", function()
    local schema = { type = "object", required = { "why", "answer" }, additionalProperties = false,
      properties = { answer = { type = "integer" }, why = { type = "string" } } }
    local makers = { { kit.gpt, "" }, { kit.claude, "" },
      { function(o)
        o.model, o.base_url, o.key = "gemini-3-flash-preview", kit.server.url .. "/v1beta", "test-key-1"
        return koine.gemini(o)
      end, "" },
      { function(o)
        o.model, o.base_url = "m", kit.server.url
        return koine.ollama(o)
      end, "" } }
    for _, maker in ipairs(makers) do
      assert(kit.server:reset())
      ask(maker[1] {}, { { content = '{"why":"so","answer":1}' } }, { schema = schema, mode = "native" })
      local body = kit.requests()[1].body
      assert.is_truthy(body:find('"why":{', 1, true) < body:find('"answer":{', 1, true))
      assert.are.equal(body:find('"contents"', 1, true) ~= nil, body:find("propertyOrdering", 1, true) ~= nil)
    end
  end)
end)
