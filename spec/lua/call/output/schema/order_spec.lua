-- The order in which a model writes properties (output.order): names, and paths with dots into objects and arrays.

local check = require "koine.call.output.option"
local core = require "koine.core"
local kit = require("spec.lua.call.output.kit").new()
local koine = require "koine"
local raised = require "spec.support.raised"

local LINE = { type = "object", required = { "price", "name" }, additionalProperties = false,
  properties = { name = { type = "string" }, price = { type = "number" } } }
local BILL = { type = "object", required = { "total", "lines" }, additionalProperties = false,
  properties = { lines = { type = "array", items = LINE }, total = { type = "number" } } }
local ORDER = { "lines", "total", "lines.name", "lines.price" }
local ANSWER = '{"lines":[{"name":"tea","price":2.5}],"total":2.5}'

-- The schema that the option makes, as it would be written.
local function written(schema, order)
  return core.write_schema(check({ schema = schema, order = order }, "output").schema)
end

-- The places of words in a text follow each other.
local function follow(text, ...)
  local at = 0
  for _, word in ipairs { ... } do
    local place = text:find(word, at + 1, true)
    assert.is_truthy(place, ("%s is not behind byte %d of %s"):format(word, at, text))
    at = place
  end
end

describe("order", function()
  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.begin)
  after_each(kit.restore)

  it("goes through arrays", function()
    follow(written(BILL, ORDER), '"lines":', '"name":', '"price":', '"total":')
    follow(written({ type = "array", items = LINE }, { "name" }), '"name":', '"price":')
    follow(written({ type = "array", items = { type = "array", items = LINE } }, { "name" }), '"name":', '"price":')
    local tuple = { type = "array", prefixItems = { LINE, LINE } }
    follow(written(tuple, { "name" }), '"name":', '"price":', '"name":', '"price":')
    assert.are.same({ "price", "name" }, LINE.required)
    assert.is_nil(LINE.propertyOrdering)
  end)

  it("goes through references and alternatives", function()
    local schema = { type = "object", ["$defs"] = { line = LINE }, properties = {
      one = { ["$ref"] = "#/$defs/line" }, two = { anyOf = { { type = "null" }, LINE } } } }
    local text = written(schema, { "one.name", "two.name" })
    follow(text, '"name":', '"price":', '"name":', '"price":')
    local tree = { type = "object", properties = { a = { type = "string" }, b = { type = "string" },
      kids = { type = "array", items = { ["$ref"] = "#" } } } }
    follow(written(tree, { "kids.kids.b", "a" }), '"b":', '"a":', '"kids":')
  end)

  it("names properties with dots in their names", function()
    local schema = { type = "object", properties = { ["a.b"] = { type = "object", properties = { x = {}, y = {} } },
      a = { type = "object", properties = { b = {}, c = {} } } } }
    follow(written(schema, { "a.b.y", "a.c" }), '"a":', '"c":', '"b":', '"a.b":', '"y":', '"x":')
    follow(written(schema, { "a.b" }), '"a.b":', '"a":{')
  end)

  it("leaves the others in the order that the schema has", function()
    follow(written('{"type":"object","properties":{"d":{},"c":{},"b":{},"a":{}}}', { "b" }), '"b":', '"d":', '"c":',
      '"a":')
  end)

  it("raises for a path that leads nowhere", function()
    for path in ("line lines.cost lines.name.x total.x lines/name lines[].name lines..name .lines"):gmatch "%S+" do
      local output = { schema = BILL, order = { "total", path } }
      local err = raised(function() kit.gpt():chat("Who?", { output = output }) end)
      assert.are.equal("output.order[2]", err.field)
    end
  end)

  local function gemini(more)
    return function()
      local options = { model = "gemini-3-flash-preview", base_url = kit.server.url .. "/v1beta", key = "test-key-1" }
      for name, value in pairs(more or {}) do options[name] = value end
      return koine.gemini(options)
    end
  end

  local WIRES = {
    messages = kit.claude, chat = kit.gpt, gemini = gemini(), openapi = gemini { quirks = { openapi_schema = true } },
    responses = function() return kit.gpt { api = "responses" } end,
    ollama = function() return koine.ollama { model = "m", base_url = kit.server.url } end,
  }

  for wire, adapter in pairs(WIRES) do
    for _, mode in ipairs { "native", "tool", "prompt" } do
      it(("goes out on the wire, down to the items of arrays: %s, %s"):format(wire, mode), function()
        local content = mode == "tool" and { { type = "tool_use", name = "person", arguments = core.decode(ANSWER) } }
          or ANSWER
        local r = kit.ask(adapter(), { { content = content } }, { schema = BILL, mode = mode, order = ORDER })
        assert.are.equal("tea", r.output.lines[1].name)
        assert.are.same({}, kit.requests()[1].problems)
        local text = kit.requests()[1].body:gsub('\\"', '"')
        follow(text, '"lines":{', '"name":{', '"price":{', '"total":{')
        local is_gemini = mode ~= "prompt" and (wire == "gemini" or wire == "openapi")
        assert.are.equal(is_gemini, text:find('"propertyOrdering":["name","price"]', 1, true) ~= nil)
        assert.are.equal(is_gemini, text:find('"propertyOrdering":["lines","total"]', 1, true) ~= nil)
      end)
    end
  end

  it("goes out on Converse, in a string", function()
    local adapter <close> = koine.bedrock { model = "m", key = "test-key-1", region = "us-east-1" }
    local body = adapter:render { model = "m", stream = false, messages = { { role = "user", content = "Hi" } },
      output = { name = "bill", schema = check({ schema = BILL, order = ORDER }, "output").schema } }
    follow(body:gsub('\\"', '"'), '"lines":{', '"name":{', '"price":{', '"total":{')
    assert.is_nil(body:find("propertyOrdering", 1, true))
  end)
end)
