-- koine.vector: both forms of a vector, their lengths and products.

local koine = require "koine"
local vector = koine.vector

local function near(expected, got) assert.is_true(math.abs(expected - got) < 1e-6, tostring(got)) end

describe("koine.vector", function()
  it("packs as string.pack does, and unpacks", function()
    local numbers = { 1, -0.25, 0.1, 3.4e38 }
    local packed = vector.pack(numbers)
    assert.are.equal(string.pack("<ffff", table.unpack(numbers)), packed)
    assert.are.same({ string.unpack("<ffff", packed), nil }, { table.unpack(vector.unpack(packed)), nil })
    assert.are.equal(packed, vector.pack(packed))
    assert.are.equal(numbers, vector.unpack(numbers))
    assert.are.equal("", vector.pack {})
    assert.are.same({}, vector.unpack "")
  end)

  -- 16: dot and norm on both forms
  it("takes both forms for lengths and products", function()
    local a, b = { 3, 4, 0.5, -2, 1 }, { 1, 0.5, -8, 3, 2 }
    for _, x in ipairs { a, vector.pack(a) } do
      near(math.sqrt(30.25), vector.norm(x))
      for _, y in ipairs { b, vector.pack(b) } do near(-3, vector.dot(x, y)) end
    end
    assert.are.equal(0.0, vector.norm {})
    assert.are.equal(0.0, vector.dot("", {}))
    near(5, vector.norm { 3e200, 4e200 } / 1e200)
  end)

  it("raises for what is no vector", function()
    local cases = {
      { "norm", "a: packed float32, 4 bytes a number expected, got 5 bytes", "12345" },
      { "norm", "a: a table of numbers or a packed string expected, got nil" },
      { "norm", 'a[2]: a number expected, got', { 1, "2" } },
      { "dot", "b[1]: a number expected, got boolean", { 1 }, { true } },
      { "dot", "b: a vector of 2 numbers, as a has expected, got one of 1", { 1, 2 }, { 1 } },
      { "dot", "b: a table of numbers or a packed string expected, got number", { 1 }, 1 },
      { "pack", "a: numbers that fit into 32 bits expected, got vector: number 2 is beyond 32 bits", { 1, 1e39 } },
      { "pack", "a: numbers that fit into 32 bits expected, got vector: number 1 is beyond 32 bits", { 0 / 0 } },
    }
    for _, case in ipairs(cases) do
      local ok, err = pcall(vector[case[1]], case[3], case[4])
      assert.is_false(ok)
      assert.are.equal("ArgumentError", err.class)
      assert.is_truthy(tostring(err):find(case[2], 1, true), tostring(err))
    end
  end)
end)
