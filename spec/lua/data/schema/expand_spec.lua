-- Schemas by example.

local core = require "koine.core"
local schema = require "koine.data.schema"

describe("expand", function()
  local function expanded(given) return core.encode(schema.expand(given)) end

  it("makes a schema of an example", function()
    assert.are.equal('{"properties":{"city":{"type":"string"},"days":{"type":"integer"},'
      .. '"tags":{"items":{"type":"string"},"type":"array"}},"required":["city","days","tags"],"type":"object"}',
      expanded { city = "string", days = 1, tags = { "a" } })
    assert.are.equal('{"properties":{},"type":"object"}', expanded {})
    assert.are.equal('{"properties":{"at":{"properties":{"x":{"type":"number"},"y":{"type":"number"}},'
      .. '"required":["x"],"type":"object"},"deep":{"type":"boolean"},"list":{"type":"array"},'
      .. '"n":{"type":"integer"}},"required":["at","deep","list","n"],"type":"object"}',
      expanded { at = { x = 0.5, ["y?"] = "number" }, deep = true, list = core.array {}, n = "integer" })
  end)

  it("makes the same bytes every time", function()
    local first
    for _ = 1, 20 do
      local example = {}
      for i = 1, 30 do example["name" .. (i * 7) % 31] = i end
      first = first or expanded(example)
      assert.are.equal(first, expanded(example))
    end
  end)

  it("makes a schema that its example fits", function()
    local example = { city = "Paris", days = 3, share = 0.5, tags = { "a" }, at = { x = 1 }, ok = true }
    assert.is_true(schema.validate(schema.expand(example), example))
    schema.check(schema.expand(example))
  end)

  it("refuses what is no example", function()
    for field, example in pairs { example = { 1, 2 }, ["example.f"] = { f = print }, ["example.a.b"] = {
      a = { b = core.null } } } do
      local ok, err = pcall(schema.expand, example)
      assert.is_false(ok)
      assert.are.equal(field, err.field)
    end
  end)
end)
