-- The value of an answer is judged as the JSON that the model wrote: {} is no array there, [] no object. Tables of
-- users are both while they are empty.

local core = require "koine.core"
local kit = require("spec.lua.call.output.kit").new()
local koine = require "koine"
local read = require "koine.call.output.read"

local LIST = { type = "object", required = { "a" },
  properties = { a = { type = "array", items = { type = "array" } } } }

describe("the judgement of an answer", function()
  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.begin)
  after_each(kit.restore)

  local ask = kit.ask

  it("tells an empty object from an empty array", function()
    local texts = { ['{"a":[]}'] = true, ['{"a":{}}'] = false, ['{"a":[[]]}'] = true, ['{"a":[{}]}'] = false }
    for text, fits in pairs(texts) do
      local r = ask(kit.claude(), { { content = text } }, { schema = LIST })
      assert.are.equal(fits and text or nil, r.output and core.encode(r.output))
      assert.are.equal(not fits and "invalid" or nil, (r.output_error or {}).code)
    end
    assert.is_truthy(koine.schema.validate(LIST, { a = {} }))
    assert.is_truthy(koine.schema.validate({ type = "object" }, {}))
  end)

  it("does so in the arguments of a call, and at the root", function()
    local call = { type = "tool_use", name = "person", arguments = { a = {} } }
    local r = ask(kit.claude(), { { content = { call } } }, { schema = LIST, mode = "tool" })
    assert.are.equal("invalid", r.output_error.code)
    for text, fits in pairs { ["[]"] = true, ["{}"] = false } do
      r = ask(kit.claude(), { { content = ('{"value":%s}'):format(text) } }, { schema = { type = "array",
        items = { type = "string" } } })
      assert.are.equal(fits, r.output ~= nil)
    end
  end)

  it("knows numbers of any size as numbers, while they grow too", function()
    local schema = { type = "object", properties = { n = { type = "integer" }, s = { type = "string" } } }
    local texts = { ['{"n":12345678901234567890}'] = 12345678901234567890.0, ['{"n":-9223372036854775809}'] = -2.0 ^ 63,
      ['{"n":9223372036854775807}'] = math.maxinteger, ['{"n":1e400}'] = false, ['{"s":12345678901234567890}'] = false }
    for text, number in pairs(texts) do
      kit.server:script { { content = text, chunk = 3 } }
      local stream <close> = assert(kit.gpt():open("Who?", { output = { schema = schema, mode = "prompt" } }))
      local last
      for delta in stream:deltas() do last = delta.type == "output_delta" and delta or last end
      local r = assert(stream:response())
      assert.are.equal(number or nil, r.output and r.output.n)
      if number then assert.are.equal(number, last.value.n) end
      if not number then assert.is_not_nil(r.output_error) end
    end
  end)

  it("takes them for two items that differ", function()
    local schema = { type = "object", properties = { a = { type = "array", uniqueItems = true } }, required = { "a" } }
    assert.is_truthy(ask(kit.gpt(), { { content = '{"a":[{},[]]}' } }, { schema = schema, mode = "prompt" }).output)
    assert.is_nil(ask(kit.gpt(), { { content = '{"a":[[],[]]}' } }, { schema = schema, mode = "prompt" }).output)
  end)

  it("is the same for the elements of an array that grows", function()
    kit.server:script { { content = '{"a":[[1],[],{}]}', chunk = 2 } }
    local stream <close> = assert(kit.claude():open("Who?", { output = { schema = LIST } }))
    local seen = {}
    for element, why in stream:elements "/a" do seen[#seen + 1] = core.encode(element) .. (why and " " .. why or "") end
    assert.are.same({ "[1]", "[]", "{} value: array expected, got an object" }, seen)
  end)

  it("says in words why an answer is not JSON, and to the model, too", function()
    local said = { ["Yes, she did."] = 'it begins with "Yes, she did."',
      ["\xC3\xA9t\xC3\xA9"] = 'it begins with "\xC3\xA9t\xC3\xA9"',
      ['{"name":"Ada",}'] = 'a key expected before "}" (byte 14)',
      ['{"name":"A\nda"}'] = [[a string without raw control bytes expected before "\nda\"}" (byte 10)]],
      ['{"name":'] = "a JSON value expected, but the text ends at byte 8" }
    for text, why in pairs(said) do
      assert(kit.server:reset())
      local r = ask(kit.claude(), { { content = text }, { content = text } }, { repair = 1 })
      assert.are.equal("the answer is not JSON: " .. why, r.output_error.message)
      local told = kit.body(2).messages[3].content
      told = type(told) == "table" and told[1].text or told
      assert.are.equal("The answer is not JSON: " .. why .. "\nAnswer again with the whole corrected JSON.", told)
    end
  end)

  it("says what is wrong in the error of object, once", function()
    local said = { ["No."] = 'the answer is not JSON: it begins with "No."', [""] = "the answer has no text",
      ['{"name":5,"age":1}'] = "the answer does not fit: name: string expected, got 5" }
    for text, message in pairs(said) do
      kit.server:script { { content = text } }
      local _, err = kit.claude():object("Who?", { output = { schema = kit.PERSON } })
      assert.are.equal(message, err.message)
    end
    kit.server:script { { content = { { type = "refusal", text = "I would rather not." } } } }
    local _, err = kit.gpt():object("Who?", { output = { schema = kit.PERSON } })
    assert.are.equal("the model refused: I would rather not.", err.message)
  end)

  -- Steps of Lua that it takes to find the integers of 1000 objects, of which a schema has so many alternatives.
  local function steps_of(alternatives)
    local list, texts, steps = {}, {}, 0
    for i = 1, alternatives do list[i] = { type = "object", properties = { ["p" .. i] = { type = "integer" } } } end
    for i = 1, 1000 do texts[i] = '{"p1":1.0,"other":2.0}' end
    local value = core.decode("[" .. table.concat(texts, ",") .. "]", true)
    debug.sethook(function() steps = steps + 1 end, "", 100)
    value = read.integers(value, { type = "array", items = { anyOf = list } })
    debug.sethook()
    assert.are.same({ "integer", "float" }, { math.type(value[1000].p1), math.type(value[1000].other) })
    return steps
  end

  it("finds integers in the time of the value's length, however many alternatives there are", function()
    assert.is_true(steps_of(200) < 2 * steps_of(2))
  end)

  it("knows the integers of tuples, of names like kinds, and of other members", function()
    local whole = { type = "integer" }
    local schema = { type = "object", properties = { string = whole, number = { type = "number" },
      a = { type = "array", prefixItems = { whole, { type = "number" } }, items = whole },
      b = { type = "array", items = { whole, { type = "number" } }, additionalItems = whole } },
      additionalProperties = whole }
    local value = read.integers(core.decode '{"string":1.0,"number":1.0,"a":[1.0,1.0,1.0],"b":[1.0,1.0,1.0],"c":1.0}',
      schema)
    assert.are.equal('{"a":[1,1.0,1],"b":[1,1.0,1],"c":1,"number":1.0,"string":1}', core.encode(value))
  end)
end)
