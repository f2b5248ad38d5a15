-- Headers that tools ask for: which are allowed, and what a call has of them.

local core = require "koine.core"
local header = require "koine.protocol.mcp.tools.header"

local function schema(properties, more)
  local made = { type = "object", properties = properties }
  for key, value in pairs(more or {}) do made[key] = value end
  return made
end

local function marked(name, type) return { type = type or "string", ["x-mcp-header"] = name } end

local function why(s)
  local plan, words = header.plan(s)
  assert.is_nil(plan)
  return words
end

describe("a tool that asks for headers", function()
  it("gets them from its arguments, at exactly that path", function()
    local plan = assert(header.plan(schema { region = marked "Region", n = marked("Count", "integer"),
      flag = marked("X-Flag", "boolean"), deep = schema { inner = schema { id = marked "Id" } },
      other = { type = "string" } }))
    assert.are.same({ ["Mcp-Param-Region"] = "", ["Mcp-Param-Count"] = 1 << 60, ["Mcp-Param-X-Flag"] = false,
      ["Mcp-Param-Id"] = "é" }, header.values(plan,
      { region = "", n = 1 << 60, flag = false, deep = { inner = { id = "é" } }, other = "o", id = "not this" }))
  end)

  it("gets none for what is absent, null or of another type", function()
    local plan = assert(header.plan(schema { a = marked "A", b = marked "B", c = marked("C", "integer"),
      d = schema { e = marked "E" } }))
    assert.are.same({}, header.values(plan, { b = core.null, c = 1.5, d = "text" }))
    assert.are.same({ ["Mcp-Param-C"] = 2 }, header.values(plan, { a = { "x" }, c = 2.0 }))
  end)

  it("may have a property of that name", function()
    assert.are.same({}, header.values(assert(header.plan(schema { ["x-mcp-header"] = { type = "string" } })),
      { ["x-mcp-header"] = "v" }))
  end)

  it("may say such a thing in values", function()
    assert(header.plan(schema({ a = { const = { ["x-mcp-header"] = "" }, default = { ["x-mcp-header"] = 1 } } })))
  end)
end)

describe("a tool cannot ask for a header", function()
  it("that has no proper name", function()
    for _, name in ipairs { "", "My Region", "Region:Primary", "Région", "Region\t1", "a\r\nB", 5, true, core.null } do
      assert.is_truthy(why(schema { a = marked(name) }):find "is no name of a header")
    end
  end)

  it("that repeats", function()
    assert.is_truthy(why(schema { a = marked "Region", b = marked "Region" }):find "repeats the header")
    assert.is_truthy(why(schema { a = marked "MyField", b = schema { c = marked "myfield" } })
      :find "repeats the header")
  end)

  it("on anything but a string, an integer or a boolean", function()
    for _, type in ipairs { "object", "array", "null", "number", { "string", "null" } } do
      assert.is_truthy(why(schema { a = marked("A", type) }):find "type string, integer or boolean")
    end
    assert.is_truthy(why(schema { a = { ["x-mcp-header"] = "A" } }):find "type string, integer or boolean")
  end)

  it("anywhere but in properties of properties", function()
    local one = schema { a = marked "A" }
    for _, more in ipairs { { items = one }, { anyOf = core.array { one } }, { additionalProperties = one },
      { ["$defs"] = { d = one } }, { patternProperties = { x = marked "A" } }, { ["not"] = one }, { ["then"] = one },
      { prefixItems = core.array { one } }, { unevaluatedProperties = one }, { items = core.array { one } },
      { ["x-mcp-header"] = "A" } } do
      assert.is_truthy(why(schema({ b = { type = "string" } }, more)):find "only on properties of properties")
      if not more["x-mcp-header"] then
        assert.is_truthy(why(schema { c = schema({}, more) }):find "only on properties of properties")
      end
    end
  end)

  it("and the words say where", function()
    assert.is_truthy(why(schema { a = schema { b = marked "" } }):find("x-mcp-header of a.b ", 1, true))
  end)
end)
