-- The libraries of OpenAI, Anthropic, Vercel and Google ask the loopback provider for answers of a shape, with zod:
-- what they ask passes its strict checks, but for what the provider refuses too; what they make of an answer is what it
-- was, plain and while it grows; and what Koine makes of it.

local core = require "koine.core"
local koine = require "koine"
local node = require "spec.interop.support.node"
local records = require "koine.data.records"
local wires = require "spec.interop.support.shapes.wires"

local JUDGES = { "openai chat", "openai responses", "anthropic", "vercel openai chat", "vercel openai responses",
  "vercel anthropic", "genai", "genai with zod 3" }

-- What a library does not send, or the provider does not take: shape → part of the message. OpenAI's own library
-- refuses some itself, Vercel's sends them.
local OPENAI = { optional = "uses `.optional()` without `.nullable()`", links = "'uri' is not a valid format",
  lengths = "'maxLength' is not permitted", defaults = "'default' is not permitted",
  record = "must set `additionalProperties: false`", pair = "uses tuple-form `items`" }
local VERCEL = { optional = "Missing 'b'", nullish = "Missing 'b'", defaults = "Missing 'a'",
  told = "'oneOf' is not permitted", links = OPENAI.links, lengths = OPENAI.lengths,
  record = "'propertyNames' is not permitted", pair = "'additionalItems' is not permitted" }
local REFUSED = { ["openai chat"] = OPENAI, ["openai responses"] = OPENAI,
  anthropic = { recursive = "Circular reference detected", pair = "must have a type defined" },
  ["vercel openai chat"] = VERCEL, ["vercel openai responses"] = VERCEL,
  ["vercel anthropic"] = { pair = "Input should be an object" },
  ["genai with zod 3"] = { pair = "items: a JSON Schema object expected" } }

-- What Vercel's asks for by a tool named json, because Claude cannot be held to it.
local BY_TOOL = { ["vercel anthropic"] = { record = true, recursive = true } }

describe("an answer of a shape", function()
  local server, shapes, judges

  setup(function()
    server = assert(koine.testing.start())
    local all = node.run("shapes/clients.mjs", "shapes", core.array {}, server.url)
    shapes, judges = all.shapes, all.judges
  end)
  teardown(function() server:stop() end)

  it("is asked for by each library", function()
    table.sort(judges)
    local sorted = { table.unpack(JUDGES) }
    table.sort(sorted)
    assert.are.same(sorted, { table.unpack(judges) })
    assert.is_true(#shapes >= 20)
  end)

  -- The answers in the judge's order, one for each request that is not refused.
  local function script_for(judge)
    local script = {}
    for _, shape in ipairs(shapes) do
      local call = { { type = "tool_use", name = "json", arguments = shape.answer } }
      local by_tool = (BY_TOOL[judge] or {})[shape.name]
      if not (REFUSED[judge] or {})[shape.name] then
        script[#script + 1] = { content = by_tool and call or core.encode(shape.answer), chunk = 5 }
      end
    end
    return script
  end

  -- Asserts what the library made of one answer.
  local function judged(judge, shape, streamed, result)
    local name = ("%s: %s%s"):format(judge, shape.name, streamed and ", streamed" or "")
    local refused = (REFUSED[judge] or {})[shape.name]
    if refused then
      assert.is_truthy(result.error and result.error:find(refused, 1, true), name .. ": " .. tostring(result.error))
      return
    end
    assert.is_nil(result.error, name)
    assert.is_true(records.equal(shape.answer, result.value), name .. ": " .. core.encode(result.value))
    if not streamed then return end
    assert.is_true(result.partials > 0, name)
    local last = result.partial
    if type(last) == "string" then last = assert(core.decode(last)) end
    assert.is_true(records.equal(shape.answer, last), name .. ": " .. core.encode(last))
  end

  for _, judge in ipairs(JUDGES) do
    for _, streamed in ipairs { false, true } do
      it(("is what %s reads%s"):format(judge, streamed and ", streamed" or ""), function()
        assert(server:reset())
        assert(server:script(script_for(judge)))
        local steps = core.array {}
        for i, shape in ipairs(shapes) do steps[i] = { with = judge, shape = shape.name, stream = streamed } end
        local results = node.run("shapes/clients.mjs", "shapes", steps, server.url).results
        local requests, sent = assert(server:requests()), 0
        for i, shape in ipairs(shapes) do
          judged(judge, shape, streamed, results[i])
          if results[i].sent then
            sent = sent + 1
            local refused = (REFUSED[judge] or {})[shape.name]
            assert.are.equal(refused ~= nil, #requests[sent].problems > 0, shape.name)
          end
        end
        assert.are.equal(sent, #requests)
      end)
    end
  end

  for _, wire in ipairs(wires.NAMES) do
    it("is what Koine reads of " .. wire, function()
      for _, shape in ipairs(shapes) do
        for _, streamed in ipairs { false, true } do
          local adapter <close> = wires.adapter(wire, server.url)
          local output = { schema = shape.schema, name = "shape" }
          assert(server:reset())
          assert(server:script { { content = core.encode(shape.answer), chunk = 5 } })
          local response = assert(adapter:chat("Make one.", { output = output, stream = streamed }))
          if response.output_mode == "tool" then
            assert(server:script { { content = { { type = "tool_use", name = "shape", arguments = shape.answer } },
              chunk = 5 } })
            response = assert(adapter:chat("Make one.", { output = output, stream = streamed }))
          end
          local name = ("%s, %s: %s"):format(shape.name, response.output_mode, core.encode(response.output_error or ""))
          assert.is_nil(response.output_error, name)
          assert.is_true(records.equal(shape.answer, response.output), name)
          for _, request in ipairs(assert(server:requests())) do assert.are.same({}, request.problems, name) end
        end
      end
    end)
  end
end)
