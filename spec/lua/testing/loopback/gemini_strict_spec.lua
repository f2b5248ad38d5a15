-- Requests that the loopback provider's Gemini endpoint refuses.

local client = require "spec.support.raw_client"
local core = require "koine.core"
local testing = require "koine.testing"

local array = core.array
local KEYS = { ["x-goog-api-key"] = "k", ["content-type"] = "application/json" }

describe("koine.testing: the Gemini endpoint", function()
  local server

  setup(function() server = assert(testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  -- Asks; the status, and what the provider has against it.
  local function ask(body, action, model)
    assert(server:script { { content = "right" } })
    local path = ("/v1beta/models/%s:%s"):format(model or "gemini-3.5-flash", action or "generateContent")
    local answer = client.exchange(server, "POST", path, KEYS, core.encode(body))
    return answer.status, table.concat(client.last_request(server).problems, "; ")
  end

  local function turn(role, ...) return { role = role, parts = array { ... } } end
  local function text(words) return { text = words } end

  local HI, SKIP = turn("user", text "Hi."), "skip_thought_signature_validator"
  local CALL = { functionCall = { name = "f", args = {} } }
  local SIGNED = { functionCall = { name = "f", args = {} }, thoughtSignature = SKIP }
  local ANSWER = { functionResponse = { name = "f", response = { output = "x" } } }

  -- Contents, and a part of the problem expected (nil: they are right).
  local CONTENTS = {
    { { HI } },
    { {}, "an empty array" },
    { { HI, HI }, "roles must alternate" },
    { { turn("user", text "") }, "an empty text" },
    { { HI, turn("model", text ""), HI }, "an empty text" },
    { { HI, turn("model", SIGNED), turn("user", ANSWER) } },
    { { HI, turn("model", CALL), turn("user", ANSWER) }, "missing a thought_signature" },
    { { HI, turn("model", SIGNED) }, "a function call without its response" },
    { { HI, turn("model", SIGNED), turn("user", text "x", ANSWER) }, "before all other content" },
    -- a stream's chunks, one by one
    { { HI, turn("model", text "a"), turn("model", text "b"), turn("model", text ""), HI } },
    { { HI, turn("model", SIGNED), turn("model", CALL), turn("model", text ""), turn("user", ANSWER, ANSWER) } },
    { { HI, turn("model", CALL), turn("model", SIGNED), turn("user", ANSWER, ANSWER) }, "missing a thought_signature" },
    { { HI, turn("model", SIGNED), turn("model", CALL), turn("user", ANSWER) }, "the number of function response" },
  }

  it("judges contents", function()
    for i, case in ipairs(CONTENTS) do
      local status, problems = ask { contents = array(case[1]) }
      assert.are.equal(case[2] and 400 or 200, status, ("case %d: %s"):format(i, problems))
      assert.is_truthy(problems:find(case[2] or "", 1, true), ("case %d: %s"):format(i, problems))
    end
  end)

  -- Settings, and a part of the problem expected (nil: they are right).
  local SETTINGS = {
    { { seed = 7, topK = 40, responseLogprobs = true, logprobs = 20 } },
    { { seed = 1 << 31 }, "generationConfig.seed: an integer" },
    { { topK = 0 }, "generationConfig.topK: an integer" },
    { { minP = 0.5 }, "generationConfig.minP: extra inputs" },
    { { responseLogprobs = true, logprobs = 21 }, "generationConfig.logprobs: an integer" },
    { { logprobs = 5 }, "only for requests with responseLogprobs" },
  }

  it("judges settings", function()
    for i, case in ipairs(SETTINGS) do
      local status, problems = ask { contents = array { HI }, generationConfig = case[1] }
      assert.are.equal(case[2] and 400 or 200, status, ("case %d: %s"):format(i, problems))
      local _, last = problems:find(case[2] or "", 1, true)
      assert.is_truthy(last, ("case %d: %s"):format(i, problems))
      assert.is_nil(case[2] and problems:find(case[2], last, true), ("case %d, said twice: %s"):format(i, problems))
    end
  end)

  local function object(properties, more)
    local schema = { type = "object", properties = properties }
    for key, value in pairs(more or {}) do schema[key] = value end
    return schema
  end

  -- Schemas of `parameters`, the subset of OpenAPI's.
  local SUBSET = {
    { object { a = { type = "string", enum = array { "x" }, nullable = true } } },
    { { type = "OBJECT", properties = { a = { type = "STRING" } } } },
    { object({}), "should be non-empty" },
    { { type = "string" }, "\"object\" expected" },
    { object({ a = { type = "string" } }, { additionalProperties = false }), "extra inputs" },
    { object { a = { ["$ref"] = "#/$defs/x" } }, "extra inputs" },
    { object { a = { type = array { "string", "null" } } }, "in a string" },
    { object { a = { type = "any" } }, "in a string" },
    { object { a = { type = "integer", enum = array { 1 } } }, "a string expected" },
    { object { a = { type = "integer", enum = array { "1" } } }, "only allowed for STRING type" },
    { object { a = { type = "string", format = "uri" } }, "only 'enum' and 'date-time'" },
    { object { a = { type = "string", format = "date-time" } } },
    { object { a = { type = "array" } }, "missing field" },
    { object { a = { type = "string", items = { type = "string" } } }, "only allowed for ARRAY type" },
    { object { a = { properties = { b = { type = "string" } } } }, "only allowed for OBJECT type" },
    { object { a = object {} }, "should be non-empty" },
    { object { a = { type = "object" } } },
    { object({ a = { type = "string" } }, { required = array { "b" } }), "property is not defined" },
    { object { a = { anyOf = array { { type = "string", const = "x" } } } }, "extra inputs" },
  }

  it("judges schemas of parameters", function()
    for i, case in ipairs(SUBSET) do
      local status, problems = ask { contents = array { HI }, tools = array { { functionDeclarations = array {
        { name = "f", parameters = case[1] } } } } }
      assert.are.equal(case[2] and 400 or 200, status, ("case %d: %s"):format(i, problems))
      assert.is_truthy(problems:find(case[2] or "", 1, true), ("case %d: %s"):format(i, problems))
    end
  end)

  it("judges JSON Schemas by what stands beside a $ref", function()
    local function declared(schema)
      return { contents = array { HI }, tools = array { { functionDeclarations = array {
        { name = "f", parametersJsonSchema = object { a = schema } } } } } }
    end
    assert.are.equal(200, (ask(declared { ["$ref"] = "#/$defs/x", ["$id"] = "y" })))
    local status, problems = ask(declared { ["$ref"] = "#/$defs/x", description = "d" })
    assert.are.equal(400, status)
    assert.is_truthy(problems:find("neighbour of a $ref", 1, true), problems)
    local both = declared { type = "string" }
    both.tools[1].functionDeclarations[1].parameters = object { a = { type = "string" } }
    assert.is_truthy(select(2, ask(both)):find("must not both be set", 1, true))
  end)

  it("counts a text alone, or a whole request", function()
    assert.are.equal(200, (ask({ contents = array { HI } }, "countTokens")))
    assert.are.equal(400, (ask({ contents = array { HI }, systemInstruction = { parts = array { text "s" } } },
      "countTokens")))
    assert.are.equal(200, (ask({ generateContentRequest = { model = "models/gemini-3.5-flash",
      contents = array { HI }, systemInstruction = { parts = array { text "s" } } } }, "countTokens")))
    assert.are.equal(400, (ask({ generateContentRequest = { model = "models/other", contents = array { HI } } },
      "countTokens")))
  end)
end)
