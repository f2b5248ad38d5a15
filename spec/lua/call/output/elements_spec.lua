-- The path of stream:elements, against the schema.

local elements = require "koine.call.output.elements"
local kit = require("spec.lua.call.output.kit").new()
local raised = require "spec.support.raised"

local TEXT = { type = "string" }
local function list(items) return { type = "array", items = items } end
local function object(properties, more)
  local made = { type = "object", properties = properties }
  for name, value in pairs(more or {}) do made[name] = value end
  return made
end

describe("the path of elements", function()
  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.begin)
  after_each(kit.restore)

  -- Each: schema, paths that it may have, paths that it has not.
  local CASES = {
    { object { items = list(TEXT) }, { "/items" }, { "/itmes", "", "/items/0", "/items/name", "/items/items" } },
    { list(TEXT), { "" }, { "/0", "/items", "/value" } },
    { list(list(TEXT)), { "", "/0", "/7" }, { "/0/0", "/x" } },
    { object { a = object { b = list(TEXT) } }, { "/a/b" }, { "/a", "/b", "/a/b/c" } },
    { object { ["2024"] = list(TEXT), ["a/b"] = list(TEXT), n = { type = "integer" } }, { "/2024", "/a~1b" },
      { "/2025", "/a/b", "/n" } },
    { object({ a = TEXT }, { additionalProperties = true }), { "/b", "/b/c" }, { "/a" } },
    { object({ a = TEXT }, { additionalProperties = list(TEXT) }), { "/b" }, { "/a", "/b/c" } },
    { object({ a = TEXT }, { additionalProperties = false }), {}, { "/b" } },
    { object({ a = TEXT }, { patternProperties = { ["^x"] = list(TEXT) } }), { "/xs" }, { "/a" } },
    { { type = "object" }, { "/a", "/a/0/b" }, { "" } },
    { { type = "object", additionalProperties = false }, {}, { "/a" } },
    { object { a = true, b = {}, c = { type = "array" }, d = { type = { "array", "null" } } },
      { "/a", "/a/b", "/b", "/b/1", "/c", "/c/0", "/c/0/x", "/d" }, { "/e" } },
    { object { a = { anyOf = { TEXT, list(TEXT) } }, b = { anyOf = { TEXT, { type = "null" } } } }, { "/a" },
      { "/b", "/a/x" } },
    { object { a = { allOf = { object { b = list(TEXT) }, object { c = list(TEXT) } } } }, { "/a/b", "/a/c" },
      { "/a/d" } },
    { { type = "object", properties = { kids = list { ["$ref"] = "#" } } }, { "/kids", "/kids/0/kids" },
      { "/kids/0", "/kids/kids" } },
    { object { rows = { type = "array", prefixItems = { list(TEXT), TEXT }, items = false } }, { "/rows", "/rows/0" },
      { "/rows/1", "/rows/0/0" } },
  }

  it("is known to be in the schema, known not to be, or open", function()
    for i, case in ipairs(CASES) do
      for _, path in ipairs(case[2]) do assert.is_true(elements.may_be(case[1], path), ("%d: %s"):format(i, path)) end
      for _, path in ipairs(case[3]) do assert.is_false(elements.may_be(case[1], path), ("%d: %s"):format(i, path)) end
    end
  end)

  it("raises where the schema has no array there, in every mode", function()
    for _, mode in ipairs { "native", "tool", "prompt" } do
      kit.server:script { { content = kit.ADA } }
      local stream <close> = assert(kit.claude():open("Who?", { output = { schema = kit.PERSON, mode = mode } }))
      local err = raised(function() stream:elements "/ages" end)
      assert.are.same({ "ArgumentError", "path" }, { err.class, err.field })
      assert.is_truthy(tostring(err):find("/ages", 1, true))
      assert.is_truthy(tostring(err):find("elements_spec", 1, true) or err.where)
    end
  end)

  it("is not judged where there is no schema", function()
    kit.server:script { { content = '{"a":[1,2]}' } }
    local stream <close> = assert(kit.gpt():open("Who?", { output = { mode = "object" } }))
    local sum = 0
    for one in stream:elements "/a" do sum = sum + one end
    assert.are.equal(3, sum)
  end)

  -- A stream of a JSON text, in small pieces.
  local function open(text, schema, more)
    kit.server:script { { content = text, chunk = 2 } }
    local output = { schema = schema, mode = "native" }
    for name, value in pairs(more or {}) do output[name] = value end
    return assert(kit.gpt():open("Who?", { output = output }))
  end

  -- The elements of a path as words, what is wrong with each behind it.
  local function told(stream, path)
    local words = {}
    for one, why in stream:elements(path) do words[#words + 1] = tostring(one) .. (why and " " .. why or "") end
    return table.concat(words, ", ")
  end

  local NUMBERS = object({ a = list { type = "integer" } }, { required = { "a" } })

  it("gives those that were whole before, too, and all at the end", function()
    local text = '{"a":[1,2,3,4,5,6]}'
    for taken = 0, 14 do
      local stream <close> = open(text, NUMBERS)
      for _ = 1, taken do stream:next() end
      assert.are.equal("1, 2, 3, 4, 5, 6", told(stream, "/a"), taken)
    end
    local stream <close> = open(text, NUMBERS)
    assert(stream:response())
    assert.are.equal("1, 2, 3, 4, 5, 6", told(stream, "/a"))
    assert.are.equal("1, 2, 3, 4, 5, 6", told(stream, "/a"))
  end)

  it("gives those of a whole value that does not fit, whenever the loop begins", function()
    local words = "1, 2, x value: integer expected, got \"x\""
    for taken = 0, 14 do
      local stream <close> = open('{"a":[1,2,"x"]}', NUMBERS)
      for _ = 1, taken do stream:next() end
      assert.are.equal(words, told(stream, "/a"), taken)
    end
    local stream <close> = open('{"a":[1,2,"x"]}', NUMBERS)
    assert.are.equal("invalid", assert(stream:response()).output_error.code)
    assert.are.equal(words, told(stream, "/a"))
  end)

  it("gives integers as integers", function()
    local stream <close> = open('{"a":[1.0,2]}', NUMBERS)
    assert.are.equal("1, 2", told(stream, "/a"))
  end)

  it("judges the first ones by their own schemas, and by any of several alternatives", function()
    local rows = { type = "array", prefixItems = { TEXT, { type = "integer" } }, items = false }
    local stream <close> = open('{"a":["x",1]}', object { a = rows }, { mode = "prompt" })
    assert.are.equal("x, 1", told(stream, "/a"))
    local either = { anyOf = { list(TEXT), list { type = "integer" } } }
    local second <close> = open('{"a":[1,"x",true]}', object { a = either })
    assert.are.equal("1, x, true value: string expected, got true", told(second, "/a"))
  end)

  it("leaves out what is gone from the value: its caller took it out, or the model wrote the name twice", function()
    local stream <close> = open('{"a":[1,2,3]}', NUMBERS)
    local sum = 0
    for one in stream:elements "/a" do
      sum = sum + one
      stream:output().a = nil
    end
    assert.are.equal(1, sum)
    for text, words in pairs { ['{"a":[1],"a":[4,5,6]}'] = "1, 4, 5, 6", ['{"a":[1,2,3],"a":[4]}'] = "1, 2, 3, 4",
      ['{"a":[1],"a":5}'] = "1" } do
      local twice <close> = open(text, NUMBERS)
      assert.are.equal(words, told(twice, "/a"))
    end
    kit.server:script { { content = '{"a":[1,2,3],"a":[4]}', chunk = 1000 } }
    local at_once <close> = assert(kit.gpt():open("Who?", { output = { schema = NUMBERS, mode = "native" } }))
    assert.are.equal("4, 4", told(at_once, "/a"))
  end)
end)
