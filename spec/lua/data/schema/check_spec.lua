-- schema.check, which refuses schemas that must be a mistake, and schema.unjudged. Schemas are JSON text.

local json = require "spec.lua.data.schema.json"
local schema = require "koine.data.schema"

describe("check", function()
  it("refuses schemas that must be a mistake, and says where", function()
    for given, field in pairs {
      ['{"type":"text"}'] = "schema.type",
      ['{"type":["string","nil"]}'] = "schema.type",
      ['{"properties":{"a":{"type":"int"}}}'] = "schema.properties.a.type",
      ['{"items":{"minimum":"3"}}'] = "schema.items.minimum",
      ['{"anyOf":[{},{"required":"a"}]}'] = "schema.anyOf[2].required",
      ['{"properties":{"a":5}}'] = "schema.properties.a",
      ['{"$ref":"#/$defs/none"}'] = "schema.$ref",
      ['{"enum":3}'] = "schema.enum",
      ['{"properties":"a"}'] = "schema.properties",
      ['{"multipleOf":0}'] = "schema.multipleOf",
      ['{"$ref":"#"}'] = "schema.$ref",
      ['{"items":{"$ref":"#/items/not","not":{"$ref":"#/items"}}}'] = "schema.items.$ref",
      ['[["name","string"]]'] = "schema",
      ['[]'] = "schema",
      ['{"properties":[["name","string"]]}'] = "schema.properties",
      ['{"properties":[{"type":"string"}]}'] = "schema.properties",
      ['{"$defs":[{}]}'] = "schema.$defs",
      ['{"required":[1]}'] = "schema.required[1]",
      ['{"items":{"propertyOrdering":["a",{}]}}'] = "schema.items.propertyOrdering[2]",
    } do
      local ok, err = pcall(schema.check, json(given))
      assert.is_false(ok, given)
      assert.are.equal("ArgumentError", err.class)
      assert.are.equal(field, err.field)
    end
  end)

  it("refuses an example in the place of a schema, and no schema of notes alone", function()
    for _, given in ipairs { { name = "string", age = "int" }, { title = "Notes", pages = 3 }, { tags = { "a" } } } do
      local ok, err = pcall(schema.check, given, "s")
      assert.are.same({ false, "s" }, { ok, err.field })
      assert.is_truthy(err.expected:find("koine.schema.expand", 1, true))
    end
    for _, given in ipairs { {}, { description = "Anything." }, { format = "date" }, { ["x-a"] = 1 },
      { nullable = true }, { ["$anchor"] = "a" }, { const = 5, unit = "m" }, true } do
      schema.check(given)
    end
  end)

  it("refuses tables that hold themselves, and ones that grow without bounds when they are written", function()
    local circle, doubled, deep = { type = "object" }, { type = "string" }, { type = "string" }
    circle.properties = { a = circle }
    for _ = 1, 60 do doubled = { anyOf = { doubled, doubled } } end
    for _ = 1, 100000 do deep = { items = deep } end
    for _, given in ipairs { circle, { enum = { circle } }, doubled, deep } do
      local ok, err = pcall(schema.check, given)
      assert.are.same({ false, "ArgumentError", "schema" }, { ok, err.class, err.field })
    end
  end)
end)

describe("unjudged", function()
  it("lists what is not judged, with its place", function()
    local function listed(text)
      local lines = {}
      for i, one in ipairs(schema.unjudged(json(text), "s")) do lines[i] = one.path .. " " .. one.keyword end
      return table.concat(lines, ", ")
    end
    assert.are.equal("", listed '{"type":"string","pattern":"^a$","title":"t","x-foo":1,"default":{"format":1}}')
    assert.are.equal("s.items.properties.a format, s.properties.b pattern, s.properties.c $ref", listed [[{"properties":
      {"b":{"pattern":"(?=a)"},"c":{"$ref":"other.json"}},"items":{"properties":{"a":{"format":"date"}}}}]])
    assert.are.equal("s patternProperties, s.if unevaluatedProperties",
      listed '{"patternProperties":{"(":{}},"if":{"unevaluatedProperties":false}}')
    assert.are.equal("", listed "true")
  end)
end)

describe("arrays with holes or other keys", function()
  it("are neither keywords nor examples", function()
    local integer, text = { type = "integer" }, { type = "string" }
    for field, given in pairs {
      ["schema.type"] = { type = { [1] = "string", [3] = "integer" } },
      ["schema.enum"] = { enum = { [1] = "a", [3] = "b" } },
      ["schema.required"] = { required = { "a", other = "b" } },
      ["schema.allOf"] = { allOf = { [1] = integer, [3] = text } },
      ["schema.anyOf"] = { anyOf = integer },
    } do
      local ok, err = pcall(schema.check, given)
      assert.is_false(ok, field)
      assert.are.equal(field, err.field)
    end
    for _, list in ipairs { { [1] = 1, [3] = 2 }, { 1, other = 2 } } do
      local ok, err = pcall(schema.expand, { list = list })
      assert.is_false(ok)
      assert.are.equal("example.list", err.field)
    end
  end)
end)
