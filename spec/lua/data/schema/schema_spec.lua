-- Schemas: one group of cases for every keyword, in the shape of the public test suite: a schema, values that fit it,
-- values that do not. Schemas and values are JSON text.

local core = require "koine.core"
local json = require "spec.lua.data.schema.json"
local judge = require "koine.data.schema.judge"
local raised = require "spec.support.raised"
local schema = require "koine.data.schema"

-- keyword → array of {schema, array of what fits, array of what does not}
local CASES = {
  ["type: a word"] = {
    { '{"type":"integer"}', { "1", "1.0", "-9007199254740993", "1e3" }, { "1.1", '"1"', "{}", "[]", "true", "null" } },
    { '{"type":"number"}', { "1", "1.0", "1.1" }, { '"1"', "{}", "[]", "true", "null" } },
    { '{"type":"string"}', { '"foo"', '"1"', '""' }, { "1", "{}", "[]", "true", "null" } },
    { '{"type":"object"}', { "{}", '{"a":1}' }, { "1", '"foo"', "[1]", "[]", "true", "null" } },
    { '{"type":"array"}', { "[]", "[1]", '["a",null]' }, { "1", '"foo"', '{"a":1}', "true", "null" } },
    { '{"type":"boolean"}', { "true", "false" }, { "0", "1", '""', "{}", "[]", "null" } },
    { '{"type":"null"}', { "null" }, { "0", '""', "{}", "[]", "true", "false" } },
  },
  ["type: several words"] = {
    { '{"type":["integer","string"]}', { "1", '"foo"' }, { "1.5", "{}", "[]", "true", "null" } },
    { '{"type":["string"]}', { '"foo"' }, { "123" } },
    { '{"type":["array","object"]}', { "[1,2]", '{"foo":1}' }, { "123", '"foo"', "null" } },
  },
  properties = {
    { '{"properties":{"foo":{"type":"integer"},"bar":{"type":"string"}}}',
      { '{"foo":1,"bar":"baz"}', "{}", '{"quux":[]}', "[]", "12" }, { '{"foo":1,"bar":{}}', '{"foo":[],"bar":{}}' } },
    { '{"properties":{"foo":true,"bar":false}}', { "{}", '{"foo":1}' }, { '{"bar":2}', '{"foo":1,"bar":2}' } },
    { '{"properties":{"foo":{"type":"null"}}}', { '{"foo":null}', "{}" }, { '{"foo":0}' } },
  },
  required = {
    { '{"properties":{"foo":{},"bar":{}},"required":["foo"]}', { '{"foo":1}', "[1]", '""', "12" }, { '{"bar":1}' } },
    { '{"required":["a\\"b","c d"]}', { '{"a\\"b":1,"c d":2}' }, { '{"a\\"b":1}', "{}" } },
    { '{"required":[]}', { "{}" }, {} },
  },
  additionalProperties = {
    { '{"properties":{"foo":{},"bar":{}},"additionalProperties":false}',
      { '{"foo":1}', "[1,2,3]", '"foobarbaz"' }, { '{"foo":1,"bar":2,"quux":"boom"}' } },
    { '{"properties":{"foo":{}},"additionalProperties":{"type":"boolean"}}',
      { '{"foo":1}', '{"foo":1,"quux":true}' }, { '{"foo":1,"quux":12}' } },
    { '{"additionalProperties":{"type":"boolean"}}', { '{"foo":true}', "{}" }, { '{"foo":1}' } },
    { '{"patternProperties":{"^v":{}},"additionalProperties":false}', { '{"vroom":1}' }, { '{"x":1}' } },
    { '{"patternProperties":{"(?=v)":{}},"additionalProperties":false}', { '{"vroom":1}', '{"x":1}' }, {} },
  },
  items = {
    { '{"items":{"type":"integer"}}', { "[1,2,3]", "[]", '{"foo":"bar"}', "1" }, { '[1,"x"]' } },
    { '{"items":false}', { "[]" }, { "[1]" } },
    { '{"type":"array","items":{"type":"array","items":{"type":"number"}}}', { "[[1],[2,3]]" }, { '[["1"]]', "[1]" } },
    { '{"prefixItems":[{"type":"integer"},{"type":"string"}],"items":false}',
      { '[1,"foo"]', "[1]", "[]" }, { '["foo",1]', '[1,"foo",true]' } },
  },
  enum = {
    { '{"enum":[1,2,3]}', { "1", "1.0" }, { "4", '"1"' } },
    { '{"enum":[6,"foo",[],true,{"foo":12}]}', { "[]", '{"foo":12}', '"foo"', "true" },
      { "null", '{"foo":false}', '{"foo":12,"boo":42}', "false" } },
    { '{"enum":[6,null]}', { "null", "6" }, { '"test"' } },
    { '{"enum":[false]}', { "false" }, { "0", "[0]" } },
    { '{"enum":[[1]]}', { "[1]", "[1.0]" }, { "[true]", "1" } },
  },
  const = {
    { '{"const":2}', { "2", "2.0" }, { "5", '"2"' } },
    { '{"const":{"foo":"bar","baz":"bax"}}', { '{"baz":"bax","foo":"bar"}' }, { '{"foo":"bar"}', "[1,2]" } },
    { '{"const":null}', { "null" }, { "0" } },
    { '{"const":false}', { "false" }, { "0", '""', "null" } },
    { '{"const":9007199254740993}', { "9007199254740993" }, { "9007199254740992" } },
  },
  ["minimum and maximum"] = {
    { '{"minimum":1.1}', { "2.6", "1.1", '"x"' }, { "0.6" } },
    { '{"minimum":-2}', { "-1", "0", "-2", "-2.0" }, { "-3", "-2.0001" } },
    { '{"maximum":3.0}', { "2.6", "3.0", '"x"' }, { "3.5" } },
    { '{"exclusiveMinimum":1.1}', { "1.2", '"x"' }, { "1.1", "0.6" } },
    { '{"exclusiveMaximum":3.0}', { "2.2" }, { "3.0", "3.5" } },
    { '{"minimum":9007199254740993}', { "9007199254740993" }, { "9007199254740992" } },
  },
  multipleOf = {
    { '{"multipleOf":2}', { "10", '"foo"', "-4" }, { "7" } },
    { '{"multipleOf":0.01}', { "4.5", "0.07" }, { "0.075" } },
  },
  ["minLength and maxLength"] = {
    { '{"minLength":2}', { '"foo"', '"fo"', "1" }, { '"f"', '"\\uD83D\\uDCA9"' } },
    { '{"maxLength":2}', { '"f"', '"fo"', "100", '"\\uD83D\\uDCA9\\uD83D\\uDCA9"' }, { '"foo"' } },
  },
  ["minItems, maxItems, minProperties, maxProperties"] = {
    { '{"minItems":1}', { "[1,2]", "[1]", '""' }, { "[]" } },
    { '{"maxItems":2}', { "[1]", "[1,2]", '"foobar"' }, { "[1,2,3]" } },
    { '{"minProperties":1}', { '{"foo":1}', '""', "12" }, { "{}" } },
    { '{"maxProperties":1}', { '{"foo":1}', "{}" }, { '{"foo":1,"bar":2}' } },
  },
  uniqueItems = {
    { '{"uniqueItems":true}', { "[1,2]", "[]", '[{"foo":"bar"},{"foo":"baz"}]', "[1,true]", "[0,false]", '["1",1]',
      "[[1],[true]]", '[{"a":1,"b":2},{"a":2,"b":1}]' },
      { "[1,1]", "[1.0,1.00,1]", '[{"foo":"bar"},{"foo":"bar"}]', '[["foo"],["foo"]]', '["foo","bar","foo"]',
        '[{"a":1,"b":2},{"b":2,"a":1}]', "[[1],[1.0]]", "[null,null]" } },
    { '{"uniqueItems":false}', { "[1,1]" }, {} },
  },
  allOf = {
    { '{"allOf":[{"required":["bar"]},{"properties":{"foo":{"type":"string"}},"required":["foo"]}]}',
      { '{"foo":"baz","bar":2}' }, { '{"foo":"baz"}', '{"bar":2}', '{"foo":1,"bar":2}' } },
    { '{"allOf":[true,false]}', {}, { '"foo"' } },
  },
  anyOf = {
    { '{"anyOf":[{"type":"integer"},{"minimum":2}]}', { "1", "2.5", "3" }, { "1.5" } },
    { '{"type":"string","anyOf":[{"maxLength":2},{"minLength":4}]}', { '"fo"', '"foobar"' }, { "3", '"foo"' } },
    { '{"anyOf":[false,false]}', {}, { '"foo"' } },
  },
  oneOf = {
    { '{"oneOf":[{"type":"integer"},{"minimum":2}]}', { "1", "2.5" }, { "3", "1.5" } },
    { '{"oneOf":[{"required":["foo","bar"]},{"required":["foo","baz"]}]}',
      { '{"foo":1,"bar":2}', '{"foo":1,"baz":3}' }, { '{"bar":2}', '{"foo":1,"bar":2,"baz":3}' } },
    { '{"oneOf":[{"type":"string","pattern":"^a"},{"type":"string"}]}', { '"b"' }, { '"a"', "1" } },
    { '{"oneOf":[{"type":"string","pattern":"^(?=a)"},{"type":"string"}]}', { '"b"', '"a"' }, { "1" } },
  },
  ["not"] = {
    { '{"not":{"type":"integer"}}', { '"foo"', "1.1" }, { "1" } },
    { '{"not":{"type":["integer","boolean"]}}', { '"foo"' }, { "1", "true" } },
    { '{"properties":{"foo":{"not":{}}}}', { '{"bar":1}' }, { '{"foo":1}' } },
    { '{"not":{"pattern":"^a"}}', { '"b"' }, { '"a"' } },
    { '{"not":{"pattern":"^(?=a)"}}', { '"b"', '"a"' }, {} },
    { '{"not":{"properties":{"x":{"format":"date"}}}}', { '{"x":"y"}' }, {} },
  },
  ["$ref"] = {
    { '{"properties":{"foo":{"$ref":"#"}},"additionalProperties":false}',
      { '{"foo":false}', '{"foo":{"foo":false}}' }, { '{"bar":false}', '{"foo":{"bar":false}}' } },
    { '{"$defs":{"a":{"type":"integer"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/b"}', { "5" }, { '"a"' } },
    { '{"definitions":{"city":{"type":"string"}},"properties":{"to":{"$ref":"#/definitions/city"}}}',
      { '{"to":"Rome"}' }, { '{"to":5}' } },
    { '{"$defs":{"a~b/c%d":{"type":"integer"}},"properties":{"x":{"$ref":"#/$defs/a~0b~1c%25d"}}}',
      { '{"x":1}' }, { '{"x":"y"}' } },
    { '{"prefixItems":[{"type":"integer"},{"$ref":"#/prefixItems/0"}]}', { "[1,2]" }, { '[1,"foo"]' } },
    { '{"$defs":{"r":{"type":"array"}},"properties":{"foo":{"$ref":"#/$defs/r","maxItems":2}}}',
      { '{"foo":[]}' }, { '{"foo":[1,2,3]}', '{"foo":"string"}' } },
    { '{"$ref":"https://example.org/other"}', { "1", '"x"' }, {} },
    { '{"type":"object","$defs":{"n":{"$anchor":"n","type":"string"}},"properties":{"a":{"$ref":"#n"}}}',
      { '{"a":"x"}', '{"a":{}}' }, { "1" } },
    { '{"not":{"$ref":"#n"}}', { "1" }, {} },
    { '{"type":"object","properties":{"value":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}},' ..
      '"required":["value"]}', { '{"value":"a","children":[{"value":"b"}]}' }, { '{"value":"a","children":[{}]}' } },
  },
  pattern = {
    { '{"pattern":"^a*$"}', { '"aaa"', '""', "1", "{}" }, { '"abc"' } },
    { '{"pattern":"a+"}', { '"xaax"' }, { '"xyz"' } },
  },
  patternProperties = {
    { '{"patternProperties":{"f.*o":{"type":"integer"}}}', { '{"foo":1}', '{"a":"b"}', '["foo"]' },
      { '{"foo":"bar","fooooo":2}' } },
    { '{"patternProperties":{"a":{"type":"integer"},"aaa":{"maximum":20}},"properties":{"a":{"minimum":5}}}',
      { '{"a":21}', '{"aaaa":18}' }, { '{"a":"bar"}', '{"aaaa":31}', '{"a":4}' } },
  },
  propertyNames = {
    { '{"propertyNames":{"maxLength":3}}', { '{"f":1,"foo":2}', "{}", "1" }, { '{"foobar":1}' } },
    { '{"propertyNames":false}', { "{}" }, { '{"a":1}' } },
  },
  ["dependentRequired, dependentSchemas, dependencies"] = {
    { '{"dependentRequired":{"bar":["foo"]}}', { '{"foo":1}', '{"foo":1,"bar":2}', "1" }, { '{"bar":2}' } },
    { '{"dependentSchemas":{"bar":{"required":["foo"]},"no":false}}', { '{"foo":1,"bar":2}' },
      { '{"bar":2}', '{"no":1}' } },
    { '{"dependencies":{"bar":["foo"],"baz":{"maxProperties":1},"none":[]}}', { '{"bar":1,"foo":1}', '{"none":1}' },
      { '{"bar":1}', '{"baz":1,"x":2}' } },
  },
  contains = {
    { '{"contains":{"minimum":5}}', { "[3,5]", "{}", "1" }, { "[2,3]", "[]" } },
    { '{"contains":{"const":1},"minContains":2,"maxContains":3}', { "[1,1]", "[1,1,1,2]" }, { "[1]", "[1,1,1,1]" } },
    { '{"contains":{"const":1},"minContains":0}', { "[]" }, {} },
    { '{"contains":{"format":"date"},"maxContains":1}', { '["a","b"]' }, { "[]" } },
  },
  ["if, then, else"] = {
    { '{"if":{"minimum":5},"then":{"multipleOf":2},"else":{"maximum":0}}', { "6", "-1", '"a"' }, { "7", "3" } },
    { '{"if":{"minimum":5}}', { "1", "6" }, {} },
    { '{"then":false,"else":false}', { "1" }, {} },
    { '{"if":{"format":"date"},"then":false,"else":false}', { '"a"' }, {} },
  },
  ["items: a tuple of older drafts"] = {
    { '{"items":[{"type":"integer"},{"type":"string"}],"additionalItems":false}', { '[1,"a"]', "[1]" },
      { '["a"]', '[1,"a",2]' } },
    { '{"items":[{}],"additionalItems":{"type":"null"}}', { "[1,null]" }, { "[1,2]" } },
  },
  ["what is not judged"] = {
    { '{"type":"string","pattern":"^(?=a)","format":"email","x-mine":3}', { '"b"', '"not an address"' }, { "1" } },
    { "true", { "1", "null", "{}" }, {} },
    { "false", {}, { "1", "null", "{}" } },
    { "{}", { "1", "null", "[]" }, {} },
  },
}

local names = {}
for name in pairs(CASES) do names[#names + 1] = name end
table.sort(names)

describe("validate judges", function()
  for _, name in ipairs(names) do
    it(name, function()
      for _, case in ipairs(CASES[name]) do
        local given = json(case[1])
        for _, value in ipairs(case[2]) do
          local fits, why = schema.validate(given, json(value))
          assert.is_true(fits, ("%s should take %s: %s"):format(case[1], value, tostring(why)))
        end
        for _, value in ipairs(case[3]) do
          local fits, why = schema.validate(given, json(value))
          assert.is_nil(fits, ("%s should refuse %s"):format(case[1], value))
          assert.is_string(why)
        end
        schema.check(given)
      end
    end)
  end
end)

describe("validate", function()
  local function why(given, value, name)
    local _, wrong = schema.validate(json(given), json(value), name)
    return wrong
  end

  it("says where and what was expected", function()
    local trip = [[{"type":"object","properties":{"city":{"type":"string","minLength":2},"days":{"type":"array","items":
      {"type":"object","properties":{"date":{"type":"string"}},"required":["date"],"additionalProperties":false}},
      "unit":{"enum":["c","f"]},"value":{"properties":{"n":{"maximum":3}}}},"required":["city"]}]]
    for value, message in pairs {
      ["[1]"] = "value: object expected, got an array",
      ["{}"] = "city: a value expected, got nothing",
      ['{"city":5}'] = "city: string expected, got 5",
      ['{"city":"x"}'] = "city: at least 2 characters expected, got 1",
      ['{"city":"Rome","days":[{"date":"d"},{}]}'] = "days[2].date: a value expected, got nothing",
      ['{"city":"Rome","days":[{"date":null}]}'] = "days[1].date: string expected, got null",
      ['{"city":"Rome","days":[{"date":"d","hour":1}]}'] = "days[1].hour: unknown; there are: date",
      ['{"city":"Rome","unit":"k"}'] = 'unit: one of "c", "f" expected, got "k"',
      ['{"city":"Rome","value":{"n":4}}'] = "value.n: 3 or less expected, got 4",
    } do
      assert.are.equal(message, why(trip, value))
    end
    assert.are.equal("arguments.city: string expected, got an object", why(trip, '{"city":{}}', "arguments"))
    assert.are.equal("arguments: object expected, got true", why(trip, "true", "arguments"))
    assert.are.equal("value[1]: integer expected, got true", why('{"items":{"type":"integer"}}', "[true]"))
  end)

  it("gives the place as a JSON pointer", function()
    local given = json [[{"properties":{"list":{"items":{"$ref":"#/$defs/item"}},
      "a/b~c.d":{"anyOf":[{"$ref":"#/$defs/item"},{"type":"null"}]}},"propertyNames":{"maxLength":8},
      "$defs":{"item":{"required":["n"],"properties":{"n":{"type":"integer"}}}}}]]
    for value, pointer in pairs {
      ['{"list":[{"n":1},{"n":"x"}]}'] = "/list/1/n",
      ['{"list":[{}]}'] = "/list/0/n",
      ['{"a/b~c.d":{"n":"x"}}'] = "/a~1b~0c.d", -- none of the alternatives fits there, whatever is wrong in them
      ['{"far too long":1}'] = "/far too long",
    } do
      local _, _, path = schema.validate(given, json(value), "arguments")
      assert.are.equal(pointer, path, value)
    end
    assert.are.equal("", (select(3, schema.validate({ type = "integer" }, "x"))))
  end)

  it("takes Lua's own tables: sequences are arrays, {} is an object and an array", function()
    assert.is_true(schema.validate({ type = "array", items = { type = "integer" } }, { 1, 2 }))
    assert.is_true(schema.validate({ type = "array" }, {}))
    assert.is_true(schema.validate({ type = "object" }, {}))
    assert.is_nil(schema.validate({ type = "object" }, core.array {}))
    assert.is_nil(schema.validate({ type = "object" }, { 1 }))
    assert.is_nil(schema.validate({ type = "integer" }, math.huge))
    assert.is_nil(schema.validate({ type = "integer" }, 0 / 0))
  end)

  it("refuses a schema that check refuses", function()
    for keyword, wrong in pairs { minimum = '"3"', minItems = '"x"', maxLength = "true", multipleOf = "0",
      pattern = "3", type = "3", items = "3", contains = "3", oneOf = "3", required = "3", dependentRequired = "3",
      ["not"] = "3", ["$ref"] = "3", additionalProperties = "3", propertyNames = "3" } do
      for _, value in ipairs { "5", '"text"', "[1,2]", '{"a":1}' } do
        local err = raised(why, ('{"%s":%s}'):format(keyword, wrong), value)
        assert.are.equal("ArgumentError", err.class)
        assert.is_truthy(err.field:find("schema." .. keyword, 1, true), err.field)
      end
    end
  end)

  it("and its siblings refuse a name that is no string", function()
    for _, f in ipairs { function(name) schema.validate({ type = "string" }, "x", name) end,
      function(name) schema.check({ type = "string" }, name) end, function(name) schema.unjudged({}, name) end,
      function(name) schema.expand({ a = 1 }, name) end, function(name) schema.parse("a", name) end } do
      f "mine"
      f(nil)
      for _, name in ipairs { 3, false, {} } do assert.are.equal("name", raised(f, name).field) end
    end
  end)

  it("refuses a schema that refers to itself for ever", function()
    for _, given in ipairs { '{"$ref":"#"}',
      '{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}' } do
      assert.are.equal("schema.$ref", raised(why, given, "1").field)
      assert.are.equal("value: at most 128 levels of schemas expected",
        select(2, judge.validate(json(given), json(given), 1, "")))
    end
  end)

  it("ends with one that refers to itself in several ways", function()
    -- the schemas in `deep` double with each of its levels; `not` takes no end for a fault of the value
    local deep = ('{"a":'):rep(100) .. "1" .. ("}"):rep(100)
    local given = [[{"$defs":{"it":{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#/$defs/it"},
      {"$ref":"#/$defs/it"}]}}}},"not":{"$ref":"#/$defs/it"}}]]
    assert.are.equal("arguments: at most 1000000 judgements of its parts expected", why(given, deep, "arguments"))
  end)

  it("judges a long array of different tables", function()
    local list = {}
    for i = 1, 20000 do list[i] = { n = i } end
    assert.is_true(schema.validate({ uniqueItems = true }, list))
    list[#list + 1] = { n = 1.0 }
    local _, wrong = schema.validate({ uniqueItems = true }, list)
    assert.are.equal("value: items that differ expected, got two like value[20001]", wrong)
  end)

  it("raises for what is no schema", function()
    local ok, err = pcall(schema.validate, "object", {})
    assert.is_false(ok)
    assert.are.equal("schema", err.field)
  end)
end)
