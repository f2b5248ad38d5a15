-- Schemas that are too large for constrained decoding: the limits of each dialect.

local core = require "koine.core"
local rewrite = require "koine.data.schema.rewrite"

describe("limits", function()
  -- An object of n properties; `required`: all of them.
  local function wide(n, s, required)
    local properties, names = {}, core.array {}
    for i = 1, n do properties["p" .. i], names[i] = s, required and "p" .. i or nil end
    return { type = "object", properties = properties, required = names }
  end

  local function beyond(dialect, s)
    local made, refusal = rewrite(s, dialect)
    assert.is_nil(made)
    assert.are.equal("schema", refusal.path)
    return refusal.keyword
  end

  it("of optional properties and unions are Anthropic's", function()
    assert.are.equal(24, assert(rewrite(wide(24, { type = "string" }), "anthropic")).counts.optional)
    assert.are.equal("required", beyond("anthropic", wide(25, { type = "string" })))
    assert.are.equal(16, assert(rewrite(wide(16, { type = { "string", "null" } }, true), "anthropic")).counts.unions)
    assert.are.equal("anyOf", beyond("anthropic", wide(17, { type = { "string", "null" } }, true)))
    assert.is_truthy(rewrite(wide(100, { type = "string" }), "gemini"))
  end)

  it("of size are OpenAI's", function()
    assert.is_truthy(rewrite(wide(5000, { type = "string" }, true), "openai_strict"))
    assert.are.equal("properties", beyond("openai_strict", wide(5001, { type = "string" }, true)))
    local function deep(n)
      local s = { type = "string" }
      for _ = 1, n do s = { type = "object", properties = { a = s }, required = { "a" } } end
      return s
    end
    assert.are.equal(10, assert(rewrite(deep(10), "openai_strict")).counts.levels)
    assert.are.equal("properties", beyond("openai_strict", deep(11)))
    assert.are.equal("properties", beyond("openai_strict", wide(1, { const = ("x"):rep(120000) }, true)))
    local function long(n, length)
      local values = {}
      for i = 1, n do values[i] = ("x"):rep(length - 5) .. ("%05d"):format(i) end
      return wide(1, { enum = values }, true)
    end
    assert.is_truthy(rewrite(long(1000, 5), "openai_strict"))
    assert.are.equal("enum", beyond("openai_strict", long(1001, 5)))
    assert.is_truthy(rewrite(long(250, 100), "openai_strict"))
    assert.are.equal("enum", beyond("openai_strict", long(251, 60)))
  end)

  it("of levels end a schema that has no end", function()
    local s = { type = "string" }
    for _ = 1, 120 do s = { type = "array", items = s } end
    local made, refusal = rewrite({ type = "object", properties = { a = s } }, "gbnf")
    assert.is_nil(made)
    assert.is_truthy(refusal.message:find("nested too deeply", 1, true))
  end)
end)
