-- Strict schemas on the loopback provider: what OpenAI refuses is refused, in its words, on both of its wires.

local core = require "koine.core"
local koine = require "koine"

local function object(properties, required, more)
  local schema = { type = "object", properties = properties, required = core.array(required),
    additionalProperties = false }
  for key, value in pairs(more or {}) do schema[key] = value end
  return schema
end

local STRING = { type = "string" }
local NEEDED = "'required' is required to be supplied and to be an array including every key in properties. "
local CLOSED = "'additionalProperties' is required to be supplied and to be false."

-- So many objects, one in the other.
local function deep(levels)
  local schema = STRING
  for _ = 1, levels do schema = object({ a = schema }, { "a" }) end
  return schema
end

-- A schema, and what OpenAI has against it; nil: nothing.
local CASES = {
  { object({}, {}) },
  { object({ a = STRING, b = { type = { "integer", "null" }, minimum = 1, multipleOf = 2 } }, { "a", "b" }) },
  { object({ a = { type = "array", items = object({ b = STRING }, { "b" }), minItems = 1 } }, { "a" }) },
  { object({ a = { anyOf = { STRING, { type = "null" } } }, b = { enum = { "x", "y" } }, c = { const = 1 } },
    { "a", "b", "c" }) },
  { object({ a = { ["$ref"] = "#/$defs/x" } }, { "a" }, { ["$defs"] = { x = object({ c = STRING }, { "c" }) } }) },
  { object({ a = { type = "string", format = "date-time", pattern = "^2", description = "d" } }, { "a" }) },
  { deep(10) },
  { { type = "object", properties = { a = STRING }, required = { "a" } }, "In context=(), " .. CLOSED },
  { object({ a = STRING }, { "a" }, { additionalProperties = true }), "In context=(), " .. CLOSED },
  { object({ a = STRING }, { "a" }, { additionalProperties = STRING }), "In context=(), " .. CLOSED },
  { object({ a = { type = "object" } }, { "a" }), "In context=('properties', 'a'), " .. CLOSED },
  { object({ a = { type = { "object", "null" } } }, { "a" }), "In context=('properties', 'a'), " .. CLOSED },
  { object({ a = { type = "array", items = { type = "object" } } }, { "a" }),
    "In context=('properties', 'a', 'items'), " .. CLOSED },
  { object({ a = { anyOf = { STRING, { type = "object" } } } }, { "a" }),
    "In context=('properties', 'a', 'anyOf', '1'), " .. CLOSED },
  { object({}, {}, { ["$defs"] = { x = { type = "object" } } }), "In context=('$defs', 'x'), " .. CLOSED },
  { object({ a = STRING, b = STRING }, { "a" }), "In context=(), " .. NEEDED .. "Missing 'b'." },
  { object({ a = STRING }, { "a", "b" }), "In context=(), " .. NEEDED .. "Extra required key 'b' supplied." },
  { object({ a = { type = "string", minLength = 1 } }, { "a" }),
    "In context=('properties', 'a'), 'minLength' is not permitted." },
  { object({ a = { type = "string", default = "x" } }, { "a" }),
    "In context=('properties', 'a'), 'default' is not permitted." },
  { object({ a = { oneOf = { STRING } } }, { "a" }), "In context=('properties', 'a'), 'oneOf' is not permitted." },
  { object({ a = { allOf = { STRING } } }, { "a" }), "In context=('properties', 'a'), 'allOf' is not permitted." },
  { object({ a = { ["not"] = STRING } }, { "a" }), "In context=('properties', 'a'), 'not' is not permitted." },
  { object({ a = { type = "array", items = STRING, uniqueItems = true } }, { "a" }),
    "'uniqueItems' is not permitted." },
  { object({}, {}, { patternProperties = { ["^x"] = STRING } }),
    "In context=(), 'patternProperties' is not permitted." },
  { object({ a = { type = "string", format = "uri" } }, { "a" }),
    "In context=('properties', 'a'), 'uri' is not a valid format." },
  { object({ a = { description = "d" } }, { "a" }), "In context=('properties', 'a'), schema must have a 'type' key." },
  { object({ a = { type = "array" } }, { "a" }), "In context=('properties', 'a'), array schema missing items." },
  { object({ a = { ["$ref"] = "#", description = "d" } }, { "a" }), "$ref cannot have keywords {'description'}." },
  { object({}, {}, { anyOf = { STRING } }), "In context=(), 'anyOf' is not permitted." },
  { deep(11), "Schema exceeds the limit of 10 levels of nesting." },
}

describe("koine.testing: a strict schema", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)

  for _, api in ipairs { "chat", "responses" } do
    local function ask(opts)
      assert(server:reset())
      assert(server:script "echo")
      return koine.openai({ model = "gpt-4.1", key = "k", api = api, base_url = server.url .. "/v1", retry = false })
        :chat("Hi.", opts)
    end

    -- Asserts what came of a request: an answer whose text begins so, or OpenAI's words and code.
    local function judged(i, begins, words, code, response, err)
      if not words then
        assert.is_nil(err, i .. ": " .. tostring(err))
        assert.are.equal(begins, response:text():sub(1, #begins))
        return
      end
      assert.is_not_nil(err, ("%d: no error: %s"):format(i, words))
      assert.are.equal("RequestError", err.class)
      assert.are.equal(400, err.status_code)
      assert.are.equal(code, err.code)
      assert.is_truthy(err.message:find(words, 1, true), i .. ": " .. err.message)
    end

    it("of a tool is judged as OpenAI does, on the wire " .. api, function()
      for i, case in ipairs(CASES) do
        local tool = { name = "add", description = "Adds.", parameters = case[1], strict = true }
        judged(i, "You said: Hi.", case[2] and "Invalid schema for function 'add': ", "invalid_function_parameters",
          ask { tools = { tool } })
        judged(i, "You said: Hi.", case[2], "invalid_function_parameters", ask { tools = { tool } })
        tool.strict = false
        assert(ask { tools = { tool } })
      end
    end)

    it("of the answer is judged as OpenAI does, on the wire " .. api, function()
      for i, case in ipairs(CASES) do
        local asked = { name = "sum", schema = case[1], strict = true }
        local function extra()
          if api == "chat" then return { response_format = { type = "json_schema", json_schema = asked } } end
          return { text = { format = { type = "json_schema", name = "sum", schema = asked.schema,
            strict = asked.strict } } }
        end
        judged(i, "{", case[2] and "Invalid schema for response_format 'sum': ", "invalid_json_schema",
          ask { extra = extra() })
        judged(i, "{", case[2], "invalid_json_schema", ask { extra = extra() })
        asked.strict = false
        assert(ask { extra = extra() })
      end
    end)
  end

  it("has to be one of an object", function()
    assert(server:reset())
    local chat = koine.openai { model = "gpt-4.1", key = "k", api = "chat", base_url = server.url, retry = false }
    local _, err = chat:chat("Hi.", { extra = { response_format = { type = "json_schema",
      json_schema = { name = "sum", strict = true, schema = { type = "array", items = STRING } } } } })
    assert.is_truthy(err.message:find("schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'.", 1,
      true), err.message)
  end)
end)
