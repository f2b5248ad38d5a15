-- Schemas from text: JSON, whose order of properties is kept, and fields in short.

local core = require "koine.core"
local raised = require "spec.support.raised"
local schema = require "koine.data.schema"

local function parsed(text) return core.encode(schema.parse(text)) end

describe("a schema given as JSON text", function()
  it("may begin with the mark of a file", function()
    assert.are.same(schema.parse '{"type":"object"}', schema.parse '\xEF\xBB\xBF{"type":"object"}')
    assert.are.same(schema.parse "name", schema.parse "\xEF\xBB\xBFname")
  end)

  it("keeps the order of its properties at every level", function()
    local made = schema.parse [[ {"type": "object", "required": ["answer"], "properties": {"why": {"items": {
      "properties": {"z": {}, "y": {}}}}, "answer": {"enum": [{"properties": {"b": 1, "a": 2}}]}}} ]]
    assert.are.same({ "why", "answer" }, made.propertyOrdering)
    assert.are.same({ "z", "y" }, made.properties.why.items.propertyOrdering)
    assert.is_nil(made.properties.answer.enum[1].propertyOrdering)
    assert.are.same({ "answer" }, made.required)
  end)

  it("keeps the order that it names itself", function()
    assert.are.same({ "b" }, schema.parse '{"properties":{"a":{},"b":{}},"propertyOrdering":["b"]}'.propertyOrdering)
  end)

  it("is refused when it is no JSON", function()
    local err = raised(schema.parse, '{"type":', "output.schema")
    assert.are.equal("output.schema", err.field)
    assert.is_truthy(err.message:find("at byte 8", 1, true), err.message)
    assert.are.equal("text", raised(schema.parse, 7).field)
  end)
end)

describe("fields in short", function()
  -- text → the schema that they are
  local CASES = {
    ["name"] = '{"properties":{"name":{"type":"string"}},"propertyOrdering":["name"],"required":["name"],'
      .. '"type":"object"}',
    ["b int, a? bool,"] = '{"properties":{"a":{"type":"boolean"},"b":{"type":"integer"}},"propertyOrdering":["b","a"],'
      .. '"required":["b"],"type":"object"}',
    ["a [[int]], b [], c any"] = '{"properties":{"a":{"items":{"items":{"type":"integer"},"type":"array"},'
      .. '"type":"array"},"b":{"items":{},"type":"array"},"c":{}},"propertyOrdering":["a","b","c"],'
      .. '"required":["a","b","c"],"type":"object"}',
    ["u c|f: of what, n str|null , t x | y"] = '{"properties":{"n":{"type":["string","null"]},"t":{"enum":["x","y"],'
      .. '"type":"string"},"u":{"description":"of what","enum":["c","f"],"type":"string"}},'
      .. '"propertyOrdering":["u","n","t"],"required":["u","n","t"],"type":"object"}',
    ["p {x float: a\n y?: b, or c\n}\nq: d"] = '{"properties":{"p":{"properties":{"x":{"description":"a",'
      .. '"type":"number"},"y":{"description":"b, or c","type":"string"}},"propertyOrdering":["x","y"],'
      .. '"required":["x"],"type":"object"},"q":{"description":"d","type":"string"}},"propertyOrdering":["p","q"],'
      .. '"required":["p","q"],"type":"object"}',
    ["p {x: a}, q: "] = '{"properties":{"p":{"properties":{"x":{"description":"a","type":"string"}},'
      .. '"propertyOrdering":["x"],"required":["x"],"type":"object"},"q":{"type":"string"}},'
      .. '"propertyOrdering":["p","q"],"required":["p","q"],"type":"object"}',
  }

  for text, want in pairs(CASES) do
    it("are a schema: " .. text:gsub("\n", "⏎"), function() assert.are.equal(want, parsed(text)) end)
  end

  it("are refused with what is wrong", function()
    for text, words in pairs {
      [""] = "fields expected", [" , "] = "fields expected", ["a itn"] = 'did you mean "int"',
      ["a b c"] = 'or a comma between fields expected, got "b"',
      ["a int b"] = "comma at byte 7", ["a, b, a"] = "a twice", ["a ["] = "a|b) at byte 4", ["a [int"] = "] at byte 7",
      ["a {b"] = "} at byte 5", ["a}"] = "end of the text at byte 2", ["a x|int"] = '"x"',
      ["é int"] = "name of a field", ["a int?"] = '"?" belongs behind the name', ["a int[]"] = "an array is [TYPE]",
      ["a celsius|kelvin|null"] = "words alone or types alone", ["a int|nul"] = 'did you mean "null"',
      ["a int |"] = "a|b) at byte 8", ["a " .. ("["):rep(100)] = "at most 64 levels",
      ["a list"] = "did you mean [TYPE]?", ["a array of string"] = "comma (an array is [TYPE]) at byte 9",
      ["a dict"] = "did you mean {FIELDS}?", ["a text"] = 'did you mean "string"?',
      ["a date"] = 'a|b), or a comma between fields expected, got "date"',
      ['a "x"|"y"'] = "words have no quotes", ["a x|'y'"] = "have no quotes",
      ["a: string, b: int"] = "type without a colon (NAME TYPE: DESCRIPTION) at byte 2",
      ["a: x | y"] = "without a colon",
      ["a, b : [string]"] = "without a colon (NAME TYPE: DESCRIPTION) at byte 6", ["a:{b}"] = "without a colon",
      ["a\nb: int\n"] = "without a colon", bool = "the type \"bool\" alone",
      ["{a: string}"] = "fields in short have no braces around them", [" string "] = "fields, as in",
    } do
      local err = raised(schema.parse, text, "schema")
      assert.are.equal("schema", err.field)
      assert.is_truthy(err.message:find(words, 1, true), text .. ": " .. err.message)
    end
  end)

  it("may have types and words in descriptions", function()
    for text, description in pairs { ["a int: integer"] = "integer", ["a: a string or none"] = "a string or none",
      ["a string: string"] = "string", ["a: x | of y, b"] = "x | of y", ["number, b"] = false } do
      local made = schema.parse(text)
      assert.are.equal(description, made.properties[made.propertyOrdering[1]].description or false)
    end
  end)

  it("may be an array at the root", function()
    assert.are.equal('{"items":{"type":"string"},"type":"array"}', parsed " [string] ")
    assert.are.same({ "a", "b" }, { table.unpack(schema.parse "[{a, b int}]".items.propertyOrdering) })
    assert.is_truthy(raised(schema.parse, "[string], b").message:find("end of the text at byte 9", 1, true))
  end)

  it("take time that grows with their length", function()
    local text = {}
    for i = 1, 20000 do text[i] = "field" .. i .. " {a int, b [string]}" end
    assert.are.equal(20000, #schema.parse(table.concat(text, ", ")).required)
  end)
end)
