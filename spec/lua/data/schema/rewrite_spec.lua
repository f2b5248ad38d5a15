-- Schemas rewritten for constrained decoding: the table of keywords, a schema for each row and what every dialect makes
-- of it, written by hand; roots, references, nulls.

local core = require "koine.core"
local json = require "spec.lua.data.schema.json"
local nulls = require "koine.data.schema.nulls"
local rewrite = require "koine.data.schema.rewrite"

local DIALECTS = { "openai_strict", "anthropic", "bedrock", "gemini", "ollama", "gbnf" }

local function text_of(s)
  local made = core.decode(core.encode(s))
  return core.encode(made)
end

-- A schema of an object whose only property is the schema in question.
local function around(text)
  return '{"additionalProperties":false,"properties":{"p":' .. text .. '},"required":["p"],"type":"object"}'
end

-- name → {the schema, what becomes of it in each of DIALECTS}: "=" the same, a number what the
-- dialect with this number makes of it, "!keyword" refused because of it
local ROWS = {
  ["additionalProperties: closed"] = {
    '{"additionalProperties":false,"properties":{"a":{"type":"null"}},"required":["a"],"type":"object"}', "=", "=",
    "=", "=", "=", "=" },
  ["additionalProperties: not said"] = { '{"properties":{"a":{"type":"null"}},"required":["a"],"type":"object"}',
    '{"additionalProperties":false,"properties":{"a":{"type":"null"}},"required":["a"],"type":"object"}', 1, 1,
    "=", "=", "=" },
  ["additionalProperties: a schema"] = { '{"additionalProperties":{"type":"string"},"type":"object"}',
    "!additionalProperties", "!additionalProperties", "!additionalProperties", "=", "=", "=" },
  ["additionalProperties: not said, and nothing else"] = { '{"type":"object"}', "!additionalProperties",
    "!additionalProperties", "!additionalProperties", "=", "=", "=" },
  ["additionalProperties: beside properties"] = { '{"additionalProperties":{"type":"string"},'
      .. '"properties":{"a":{"type":"null"}},"type":"object"}', "!additionalProperties",
    '{"additionalProperties":false,"description":"{additionalProperties: {\\"type\\":\\"string\\"}}",'
      .. '"properties":{"a":{"type":"null"}},"type":"object"}', 2, "=", "=", "=" },
  ["patternProperties: and no others"] = { '{"additionalProperties":false,"patternProperties":{"^x":{"type":"null"}},'
      .. '"properties":{"a":{"type":"null"}},"type":"object"}', "!patternProperties",
    '{"additionalProperties":false,"description":"{additionalProperties: false, patternProperties: '
      .. '{\\"^x\\":{\\"type\\":\\"null\\"}}}","properties":{"a":{"type":"null"}},"type":"object"}', 2,
    '{"description":"{additionalProperties: false, patternProperties: {\\"^x\\":{\\"type\\":\\"null\\"}}}",'
      .. '"properties":{"a":{"type":"null"}},"type":"object"}', 4, 4 },
  ["const: no scalar"] = { '{"const":[1],"items":{"type":"integer"},"type":"array"}', "=",
    '{"description":"{const: [1]}","items":{"type":"integer"},"type":"array"}', 2,
    '{"enum":[[1]],"items":{"type":"integer"},"type":"array"}', "=", "=" },
  ["propertyNames: any"] = { '{"properties":{"a":{"type":"null"}},"propertyNames":{"type":"string"},'
      .. '"required":["a"],"type":"object"}',
    '{"additionalProperties":false,"properties":{"a":{"type":"null"}},"required":["a"],"type":"object"}', 1, 1,
    '{"properties":{"a":{"type":"null"}},"required":["a"],"type":"object"}', 4, 4 },
  ["required"] = { '{"additionalProperties":false,"properties":{"a":{"type":"string"},"b":{"type":"integer"}},'
      .. '"required":["b"],"type":"object"}',
    '{"additionalProperties":false,"properties":{"a":{"type":["string","null"]},"b":{"type":"integer"}},'
      .. '"required":["b","a"],"type":"object"}', "=", "=", "=", "=", "=" },
  ["anyOf"] = { '{"anyOf":[{"type":"string"},{"minLength":1,"type":"string"}]}',
    '{"anyOf":[{"type":"string"},{"description":"{minLength: 1}","type":"string"}]}', 1, 1, 1, "=", "=" },
  ["oneOf"] = { '{"oneOf":[{"type":"string"},{"type":"null"}]}', '{"anyOf":[{"type":"string"},{"type":"null"}]}',
    1, 1, "=", 1, 1 },
  ["allOf: disjoint"] = { '{"allOf":[{"minimum":0},{"type":"integer"}]}', '{"minimum":0,"type":"integer"}',
    '{"description":"{minimum: 0}","type":"integer"}', 2, 1, "=", "=" },
  ["allOf: of the same"] = { '{"allOf":[{"minimum":0},{"minimum":1}],"type":"integer"}', "!allOf", "!allOf",
    "!allOf", "!allOf", "=", "=" },
  ["not"] = { '{"not":{"const":0},"type":"integer"}', "!not",
    '{"description":"{not: {\\"const\\":0}}","type":"integer"}', 2, 2, 2, 2 },
  ["if, then, else"] = { '{"if":{"const":0},"then":true,"type":"integer"}', "!if",
    '{"description":"{if: {\\"const\\":0}, then: true}","type":"integer"}', 2, 2, 2, 2 },
  ["contains"] = { '{"contains":{"const":1},"description":"d","items":{"type":"integer"},"type":"array"}',
    "!contains", '{"description":"d {contains: {\\"const\\":1}}","items":{"type":"integer"},"type":"array"}', 2, 2,
    2, 2 },
  ["const"] = { '{"const":"a"}', "=", "=", "=", '{"enum":["a"]}', "=", "=" },
  ["enum"] = { '{"enum":["a",1,null]}', "=", "=", "=", "=", "=", "=" },
  ["enum: no scalars"] = { '{"enum":[[1]],"items":{"type":"integer"},"type":"array"}', "=",
    '{"description":"{enum: [[1]]}","items":{"type":"integer"},"type":"array"}', 2, "=", "=", "=" },
  ["minimum, multipleOf"] = { '{"maximum":9,"minimum":0,"multipleOf":3,"type":"integer"}', "=",
    '{"description":"{maximum: 9, minimum: 0, multipleOf: 3}","type":"integer"}', 2,
    '{"description":"{multipleOf: 3}","maximum":9,"minimum":0,"type":"integer"}', "=", "=" },
  ["exclusiveMinimum: of integers"] = { '{"exclusiveMaximum":9,"exclusiveMinimum":0,"maximum":5,"type":"integer"}',
    "=", '{"description":"{exclusiveMaximum: 9, exclusiveMinimum: 0, maximum: 5}","type":"integer"}', 2,
    '{"maximum":5,"minimum":1,"type":"integer"}', "=", "=" },
  ["exclusiveMinimum: of numbers"] = { '{"exclusiveMinimum":0,"type":"number"}', "=",
    '{"description":"{exclusiveMinimum: 0}","type":"number"}', 2, 2, "=", "=" },
  ["minLength"] = { '{"description":"d","minLength":1,"type":"string"}',
    '{"description":"d {minLength: 1}","type":"string"}', 1, 1, 1, "=", "=" },
  ["pattern"] = { '{"pattern":"^a+$","type":"string"}', "=",
    '{"description":"{pattern: \\"^a+$\\"}","type":"string"}', 2, 2, 2, "=" },
  ["pattern: of a part"] = { '{"pattern":"a","type":"string"}', "=",
    '{"description":"{pattern: \\"a\\"}","type":"string"}', 2, 2, 2, 2 },
  ["pattern: look-around"] = { '{"pattern":"^(?=a)$","type":"string"}',
    '{"description":"{pattern: \\"^(?=a)$\\"}","type":"string"}', 1, 1, 1, 1, 1 },
  ["format: date"] = { '{"format":"date","type":"string"}', "=", "=", "=", "=", "=", "=" },
  ["format: uuid"] = { '{"format":"uuid","type":"string"}', "=", "=", "=",
    '{"description":"{format: \\"uuid\\"}","type":"string"}', "=", "=" },
  ["format: uri"] = { '{"format":"uri","type":"string"}', '{"description":"{format: \\"uri\\"}","type":"string"}',
    "=", "=", 1, 1, 1 },
  ["minItems: 1"] = { '{"items":{"type":"null"},"minItems":1,"type":"array"}', "=", "=", "=", "=", "=", "=" },
  ["minItems, maxItems"] = { '{"items":{"type":"null"},"maxItems":3,"minItems":2,"type":"array"}', "=",
    '{"description":"{maxItems: 3, minItems: 2}","items":{"type":"null"},"type":"array"}', 2, "=", "=", "=" },
  ["uniqueItems"] = { '{"items":{"type":"null"},"type":"array","uniqueItems":true}',
    '{"description":"{uniqueItems: true}","items":{"type":"null"},"type":"array"}', 1, 1, 1, 1, 1 },
  ["prefixItems"] = { '{"items":{"type":"null"},"prefixItems":[{"type":"string"}],"type":"array"}', "!prefixItems",
    '{"description":"{items: {\\"type\\":\\"null\\"}, prefixItems: [{\\"type\\":\\"string\\"}]}","type":"array"}', 2,
    "=", 2, 2 },
  ["prefixItems: and no more"] = { '{"items":false,"minItems":1,"prefixItems":[{"type":"string"}],"type":"array"}',
    "!prefixItems", '{"description":"{maxItems: 1, prefixItems: [{\\"type\\":\\"string\\"}]}","minItems":1,'
      .. '"type":"array"}', 2, '{"maxItems":1,"minItems":1,"prefixItems":[{"type":"string"}],"type":"array"}',
    '{"description":"{prefixItems: [{\\"type\\":\\"string\\"}]}","maxItems":1,"minItems":1,"type":"array"}', 5 },
  ["what says nothing"] = { '{"$comment":"c","$id":"i","$schema":"s","default":1,"deprecated":true,"examples":[1],'
      .. '"readOnly":true,"title":"t","type":"integer","x-foo":1}', '{"type":"integer"}',
    '{"title":"t","type":"integer"}', 1, 2, 1, 1 },
  ["true as a schema"] = { "true", "!true", "!true", "!true", "{}", "=", "=" },
  ["false as a schema"] = { "false", "!false", "!false", "!false", "!false", "=", "=" },
  ["an array without items"] = { '{"type":"array"}', "!items", "=", "=", "=", "=", "=" },
  ["an array of anything"] = { '{"items":{},"type":"array"}', "!type", "!type", "!type", "=", "=", "=" },
  ["no type"] = { "{}", "!type", "!type", "!type", "=", "=", "=" },
}

describe("the table of keywords", function()
  for name, row in pairs(ROWS) do
    for i, dialect in ipairs(DIALECTS) do
      it(("%s: %s"):format(name, dialect), function()
        local want, given = row[i + 1], json(around(row[1]))
        if type(want) == "number" then want = row[want + 1] end
        local before = core.encode(given)
        local made, refusal = rewrite(given, dialect, "output.schema")
        assert.are.equal(before, core.encode(given))
        if want:sub(1, 1) == "!" then
          assert.is_nil(made)
          assert.are.equal(want:sub(2), refusal.keyword)
          local path = "output.schema.properties.p" .. (name == "an array of anything" and ".items" or "")
          assert.are.equal(path, refusal.path)
          assert.are.equal(path .. ": ", refusal.message:sub(1, #path + 2))
          return
        end
        assert(made, refusal and refusal.message)
        assert.are.equal(around(want == "=" and row[1] or want), text_of(made.schema))
        local lost = want:find "{[%a]+: "
        if not want:find "anyOf" then
          assert.are.same({ lost and "output.schema.properties.p" or nil }, made.lost)
        end
      end)
    end
  end
end)

local function rewritten(text, dialect)
  local made, refusal = rewrite(json(text), dialect)
  return assert(made, refusal and refusal.message), text_of(made.schema)
end

local function refused(text, dialect)
  local made, refusal = rewrite(json(text), dialect)
  assert.is_nil(made)
  return refusal.path, refusal.keyword
end

local TREE = '{"properties":{"next":{"$ref":"#/$defs/tree"},"v":{"type":"integer"}},"required":["v"],"type":"object"}'
local RECURSIVE = '{"$defs":{"tree":' .. TREE .. '},"properties":{"t":{"$ref":"#/$defs/tree"}},"required":["t"],'
  .. '"type":"object"}'

describe("a reference", function()
  local SHARED = '{"$defs":{"a/b":{"type":"string"},"unused":{"type":"null"}},"properties":{'
    .. '"p":{"$ref":"#/$defs/a~1b"},"q":{"$ref":"#/$defs/a~1b","description":"d"}},"required":["p","q"],'
    .. '"type":"object"}'

  it("goes out as the dialect has it, with the definitions that are used", function()
    local _, strict = rewritten(SHARED, "openai_strict")
    assert.are.equal('{"$defs":{"a/b":{"type":"string"}},"additionalProperties":false,"properties":{'
      .. '"p":{"$ref":"#/$defs/a~1b"},"q":{"anyOf":[{"$ref":"#/$defs/a~1b"}],"description":"d"}},"required":["p","q"],'
      .. '"type":"object"}', strict)
    local _, alone = rewritten(SHARED, "anthropic")
    assert.are.equal('{"$defs":{"a/b":{"type":"string"}},"additionalProperties":false,"properties":{'
      .. '"p":{"$ref":"#/$defs/a~1b"},"q":{"$ref":"#/$defs/a~1b"}},"required":["p","q"],"type":"object"}', alone)
    local _, inline = rewritten(SHARED, "ollama")
    assert.are.equal('{"properties":{"p":{"type":"string"},"q":{"description":"d","type":"string"}},'
      .. '"required":["p","q"],"type":"object"}', inline)
    local _, kept = rewritten(SHARED, "gbnf")
    assert.are.equal('{"$defs":{"a/b":{"type":"string"}},"properties":{"p":{"$ref":"#/$defs/a~1b"},'
      .. '"q":{"$ref":"#/$defs/a~1b","description":"d"}},"required":["p","q"],"type":"object"}', kept)
  end)

  it("that stands alone loses what it cannot carry, and that is told", function()
    local made = rewritten('{"definitions":{"s":{"type":"string"}},"properties":{"p":{"$ref":"#/definitions/s",'
      .. '"maxLength":3}},"type":"object"}', "anthropic")
    assert.are.same({ "schema.properties.p" }, made.lost)
    assert.are.equal('{"$ref":"#/$defs/s"}', core.encode(made.schema.properties.p))
  end)

  it("in an allOf of its own is that reference", function()
    local _, strict = rewritten('{"$defs":{"s":{"type":"string"}},"properties":{"p":{"allOf":[{"$ref":"#/$defs/s"}],'
      .. '"description":"d"}},"required":["p"],"type":"object"}', "openai_strict")
    assert.is_truthy(strict:find('"p":{"anyOf":[{"$ref":"#/$defs/s"}],"description":"d"}', 1, true), strict)
  end)

  it("may lead back to itself where the grammar can", function()
    local made, strict = rewritten(RECURSIVE, "openai_strict")
    assert.are.equal('{"$defs":{"tree":{"additionalProperties":false,"properties":{"next":{"anyOf":['
      .. '{"$ref":"#/$defs/tree"},{"type":"null"}]},"v":{"type":"integer"}},"required":["v","next"],"type":"object"}},'
      .. '"additionalProperties":false,"properties":{"t":{"$ref":"#/$defs/tree"}},"required":["t"],"type":"object"}',
      strict)
    assert.are.same({ "schema.properties.t.properties.next" }, made.nullable)
    local _, kept = rewritten(RECURSIVE, "gbnf")
    assert.are.equal(RECURSIVE, kept)
    for _, dialect in ipairs { "anthropic", "bedrock", "gemini", "ollama" } do
      local path, keyword = refused(RECURSIVE, dialect)
      assert.are.equal("schema.properties.t.properties.next", path)
      assert.are.equal("$ref", keyword)
    end
    local _, root = rewritten('{"properties":{"a":{"$ref":"#"}},"required":["a"],"type":"object"}', "openai_strict")
    assert.are.equal('{"additionalProperties":false,"properties":{"a":{"$ref":"#"}},"required":["a"],"type":"object"}',
      root)
  end)

  it("to nowhere, to another document, or without an end in place is refused", function()
    for _, reference in ipairs { "#/$defs/none", "other.json", "#anchor", "https://example.org/s#/a" } do
      local path, keyword = refused('{"properties":{"p":{"$ref":"' .. reference .. '"}},"type":"object"}', "gbnf")
      assert.are.equal("schema.properties.p", path)
      assert.are.equal("$ref", keyword)
    end
    local defs = {}
    for i = 1, 40 do
      local next_one = ('{"$ref":"#/$defs/d%d"}'):format(i + 1)
      defs[i] = ('"d%d":{"properties":{"a":%s,"b":%s},"type":"object"}'):format(i, next_one, next_one)
    end
    defs[41] = '"d41":{"type":"string"}'
    local doubling = '{"$defs":{' .. table.concat(defs, ",") .. '},"properties":{"p":{"$ref":"#/$defs/d1"}},'
      .. '"type":"object"}'
    assert.are.equal("$ref", select(2, refused(doubling, "bedrock")))
    assert.is_truthy(rewritten(doubling, "gemini"))
  end)
end)

describe("a root", function()
  it("that is no object is wrapped, and what leads back to it finds it", function()
    for _, dialect in ipairs(DIALECTS) do
      local made, text = rewritten('{"items":{"type":"string"},"type":"array"}', dialect)
      assert.is_true(made.wrapped)
      assert.are.equal('{"additionalProperties":false,"properties":{"value":{"items":{"type":"string"},'
        .. '"type":"array"}},"required":["value"],"type":"object"}', text)
      assert.is_true(rewritten('{"anyOf":[{"type":"string"},{"type":"null"}]}', dialect).wrapped)
      local nullable = '{"type":["object","null"],"properties":{},"additionalProperties":false}'
      assert.is_true(rewritten(nullable, dialect).wrapped)
    end
    local made, text = rewritten('{"items":{"$ref":"#"},"type":"array"}', "openai_strict")
    assert.is_true(made.wrapped)
    assert.are.equal('{"$defs":{"root":{"items":{"$ref":"#/$defs/root"},"type":"array"}},"additionalProperties":false,'
      .. '"properties":{"value":{"items":{"$ref":"#/$defs/root"},"type":"array"}},"required":["value"],'
      .. '"type":"object"}',
      text)
  end)

  it("that is a reference to an object, or says no type, is an object", function()
    for _, dialect in ipairs(DIALECTS) do
      local made, text = rewritten('{"$defs":{"o":' .. around '{"type":"null"}' .. '},"$ref":"#/$defs/o"}', dialect)
      assert.is_nil(made.wrapped)
      assert.are.equal(around '{"type":"null"}', text)
      assert.is_nil(rewritten('{"properties":{"a":{"type":"string"}},"required":["a"]}', dialect).wrapped)
    end
  end)

  it("keeps paths as the caller knows them", function()
    local made = rewritten('{"items":{"minLength":3,"type":"string"},"type":"array"}', "openai_strict")
    assert.are.same({ "schema.items" }, made.lost)
  end)
end)

describe("a schema of which nothing has to be rewritten", function()
  it("is a copy, whose root is an object", function()
    local given = json '{"properties":{"a":{"pattern":"(?=a)","unevaluatedItems":true},"b":{"$ref":"#"}},"x-foo":1}'
    local made = assert(rewrite(given, "plain"))
    assert.is_nil(made.wrapped)
    assert.are.equal('{"properties":{"a":{"pattern":"(?=a)","unevaluatedItems":true},"b":{"$ref":"#"}},"type":"object",'
      .. '"x-foo":1}', text_of(made.schema))
    assert.is_nil(given.type)
    assert.are_not.equal(given.properties.a, made.schema.properties.a)
    local text
    made, text = rewritten('{"$defs":{"o":' .. around '{"$ref":"#/$defs/o"}' .. '},"$ref":"#/$defs/o"}', "plain")
    assert.is_nil(made.wrapped)
    assert.is_truthy(text:find('"properties":{"p":{"$ref":"#/$defs/o"}}', 1, true), text)
    made, text = rewritten('{"definitions":{"s":{"$ref":"#/items"}},"items":{"anyOf":[{"$ref":"#/definitions/s"},'
      .. '{"$ref":"#"}]},"type":"array"}', "plain")
    assert.is_true(made.wrapped)
    assert.are.equal('{"additionalProperties":false,"definitions":{"s":{"$ref":"#/properties/value/items"}},'
      .. '"properties":{"value":{"items":{"anyOf":[{"$ref":"#/definitions/s"},{"$ref":"#/properties/value"}]},'
      .. '"type":"array"}},"required":["value"],"type":"object"}', text)
    assert.are.equal('{"additionalProperties":false,"properties":{"value":true},"required":["value"],"type":"object"}',
      select(2, rewritten("true", "plain")))
  end)

  it("is never refused: a root that does not say what it is stands in an object", function()
    for _, text in ipairs { '{"$ref":"https://example.com/a.json"}', '{"$ref":"#/$defs/t","$defs":{"t":true}}',
      '{"$ref":"#/$defs/a","type":"object","$defs":{"a":{"type":["object","null"]}}}' } do
      local made = assert(rewrite(json(text), "plain"))
      assert.is_true(made.wrapped)
      assert.are.equal(json(text)["$ref"], made.schema.properties.value["$ref"])
    end
  end)
end)

describe("an optional property", function()
  it("is required, or null, in the caller's order", function()
    local made, text = rewritten('{"additionalProperties":false,"properties":{"a":{"enum":["x"],"type":"string"},'
      .. '"b":{"const":1},"c":{"anyOf":[{"type":"string"}]},"d":{"type":["string","integer"]},"e":{"type":"null"},'
      .. '"f":{"type":"string"}},"propertyOrdering":["f","e"],"required":["f"],"type":"object"}', "openai_strict")
    assert.are.equal('{"additionalProperties":false,"properties":{"a":{"enum":["x",null],"type":["string","null"]},'
      .. '"b":{"anyOf":[{"const":1},{"type":"null"}]},"c":{"anyOf":[{"type":"string"},{"type":"null"}]},'
      .. '"d":{"type":["string","integer","null"]},"e":{"type":"null"},"f":{"type":"string"}},'
      .. '"propertyOrdering":["f","e","a","b","c","d"],"required":["f","e","a","b","c","d"],"type":"object"}', text)
    assert.are.same({ "schema.properties.a", "schema.properties.b", "schema.properties.c", "schema.properties.d" },
      made.nullable)
  end)

  it("that is null is none, unless the schema allows null", function()
    local given = json('{"properties":{"a":{"type":"string"},"b":{"type":["string","null"]},"c":{"type":"string"},'
      .. '"l":{"items":{"$ref":"#"}},"u":{"anyOf":[{"properties":{"k":{"const":1},"x":{"type":"string"}}},'
      .. '{"type":"null"}]}},"required":["c"],"type":"object"}')
    local value = nulls.strip(given, json('{"a":null,"b":null,"c":null,"other":null,"l":[{"a":null,"b":1},[null]],'
      .. '"u":{"k":1,"x":null}}'))
    assert.are.equal('{"b":null,"c":null,"l":[{"b":1},[null]],"other":null,"u":{"k":1}}', core.encode(value))
    assert.are.equal('{"next":{"v":2},"v":1}', core.encode(nulls.strip(json(TREE:gsub("#/$defs/tree", "#")),
      json '{"v":1,"next":{"v":2,"next":null}}')))
  end)

  it("that is required but no property is refused", function()
    local path, keyword = refused('{"properties":{"a":{"type":"null"}},"required":["b"],"type":"object"}',
      "openai_strict")
    assert.are.equal("schema", path)
    assert.are.equal("required", keyword)
  end)
end)

describe("alternatives", function()
  local function objects(a, b)
    return '{"properties":{"p":{"anyOf":[{"properties":{' .. a .. '},"required":["k"],"type":"object"},{"properties":{'
      .. b .. '},"required":["k"],"type":"object"}]}},"required":["p"],"type":"object"}'
  end

  it("that begin with the same property must differ in it where the grammar wants that", function()
    assert.is_truthy(rewritten(objects('"k":{"const":"a"}', '"k":{"const":"b"}'), "openai_strict"))
    assert.is_truthy(rewritten(objects('"k":{"enum":["a"]}', '"k":{"const":"b"}'), "openai_strict"))
    for _, other in ipairs { '"k":{"type":"string"}', '"k":{"const":"a"}' } do
      assert.are.equal("anyOf", select(2, refused(objects('"k":{"const":"a"}', other), "openai_strict")))
      assert.is_truthy(rewritten(objects('"k":{"const":"a"}', other), "anthropic"))
    end
  end)
end)
