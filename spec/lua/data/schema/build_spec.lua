-- Builders of schemas: what they make, whose tables they leave alone, what they refuse.

local core = require "koine.core"
local raised = require "spec.support.raised"
local schema = require "koine.data.schema"

local function encoded(made) return core.encode(made) end

describe("object", function()
  it("keeps the order of its fields", function()
    assert.are.equal('{"additionalProperties":false,"description":"D","properties":{"answer":{"minimum":0,'
      .. '"type":"integer"},"unit":{"enum":["c","f"],"type":"string"},'
      .. '"why":{"description":"Reasons.","type":"string"}},'
      .. '"propertyOrdering":["why","answer","unit"],"required":["why","answer"],"type":"object"}',
      encoded(schema.object { { "why", "string", "Reasons." }, { "answer", schema.integer { minimum = 0 } },
        { "unit?", schema.enum { "c", "f" } }, description = "D", additionalProperties = false }))
    assert.are.equal('{"properties":{},"propertyOrdering":[],"required":[],"type":"object"}',
      encoded(schema.object {}))
  end)

  it("takes schemas of any kind, and leaves them alone", function()
    local city = { type = "string" }
    local made = schema.object { { "a", city, "A city." }, { "b", "[int]" }, { "c", true }, { "d", schema.parse "x" },
      { "e", city } }
    assert.are.same({ type = "string" }, city)
    assert.are.equal(city, made.properties.e)
    assert.are.equal("A city.", made.properties.a.description)
    assert.are.equal("integer", made.properties.b.items.type)
    assert.is_true(made.properties.c)
    assert.is_true(schema.validate(made, { a = "x", b = { 1 }, c = 0, d = { x = "" }, e = "" }))
    schema.check(made)
  end)

  it("is refused with the place of what is wrong", function()
    for field, given in pairs {
      object = "name", ["object[2]"] = { { "a", "int" }, "b" }, ["object[1]"] = { { 1, "int" } },
      ["object.a"] = { { "a" } }, ["object.b"] = { { "b", "itn" } }, ["object.c"] = { { "c", "int" }, { "c?", "int" } },
      ["object.d"] = { { "d", { { "x", "int" } } } }, ["object.e"] = { { "e", true, "words" } },
      ["object.f.description"] = { { "f", "int", 7 } },
    } do
      local err = raised(schema.object, given)
      assert.are.equal("ArgumentError", err.class)
      assert.are.equal(field, err.field)
    end
  end)

  it("is refused where it would lose what the caller wrote", function()
    for field, given in pairs {
      ["object.name"] = { name = "string" }, ["object.age"] = { age = schema.integer() },
      ["object[1]"] = { { "a", "string", minLength = 1 } }, ["object[2]"] = { { "a", "int" }, { "b", "int", "B", 4 } },
    } do
      local err = raised(schema.object, given)
      assert.are.equal("ArgumentError", err.class)
      assert.are.equal(field, err.field)
    end
    assert.are.equal("integer", schema.object { additionalProperties = schema.integer() }.additionalProperties.type)
    assert.are.equal("note", schema.object { ["x-note"] = "note", ["$anchor"] = "a" }["x-note"])
  end)
end)

describe("the builders of values", function()
  it("take a description or keywords", function()
    assert.are.equal('{"type":"string"}', encoded(schema.string()))
    assert.are.equal('{"description":"d","type":"number"}', encoded(schema.number "d"))
    assert.are.equal('{"maximum":3,"type":"integer"}', encoded(schema.integer { maximum = 3 }))
    assert.are.equal('{"type":"boolean"}', encoded(schema.boolean {}))
    assert.are.equal('{"items":{"type":"string"},"minItems":1,"type":"array"}',
      encoded(schema.array("string", { minItems = 1 })))
    assert.are.equal('{"description":"d","enum":[1,"a",null]}', encoded(schema.enum({ 1, "a", core.null }, "d")))
    assert.are.equal('{"anyOf":[{"type":"string"},{"type":"null"}]}',
      encoded(schema.any_of { schema.string(), "null" }))
  end)

  it("leave the tables that they are given alone", function()
    local given, values = { minLength = 1 }, { "a", "b" }
    schema.string(given)
    schema.enum(values).enum[3] = "c"
    assert.are.same({ minLength = 1 }, given)
    assert.are.same({ "a", "b" }, values)
  end)

  it("refuse what is no schema, and what is of another type", function()
    for field, call in pairs {
      ["string.type"] = { schema.string, { type = "number" } }, integer = { schema.integer, 3 },
      number = { schema.number, { [1] = "x" } }, boolean = { schema.boolean, { [{}] = 1 } },
      ["array.items"] = { schema.array }, enum = { schema.enum, {} }, any_of = { schema.any_of, "string" },
      ["any_of[2]"] = { schema.any_of, { "string", 7 } },
    } do
      local err = raised(table.unpack(call, 1, 2))
      assert.are.equal("ArgumentError", err.class)
      assert.are.equal(field, err.field)
    end
  end)
end)
