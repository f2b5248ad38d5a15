-- Elicitation: what on_elicit is asked, which forms are understood, and what becomes of its answer.

local core = require "koine.core"
local inputs = require "koine.protocol.mcp.inputs"

describe("elicitation", function()
  local asked, answer

  -- The answer to a request of a server with these params; or nil, and what the server is told.
  local function elicit(params)
    local handlers = inputs.new { server = "files", on_elicit = function(request)
      asked = request
      if type(answer) == "function" then return answer(request) end
      return answer
    end }:handlers()
    return handlers["elicitation/create"](params)
  end

  local function form(properties, required)
    return elicit { message = "Who?", requestedSchema = { type = "object", properties = properties,
      required = required } }
  end

  before_each(function() asked, answer = nil, { action = "accept", content = {} } end)

  -- The error that the user is told for such a form, which the server is not.
  local function unfit(properties, content, required)
    local warned
    local handlers = inputs.new { on_elicit = function() return { action = "accept", content = content } end,
      warn = function(warning) warned = warning end }:handlers()
    local result, said = handlers["elicitation/create"] { message = "?", requestedSchema = { type = "object",
      properties = properties, required = required } }
    assert.is_nil(result)
    assert.same({ code = -32603, message = "the client could not answer the request" }, said)
    assert.equal("input_failed", warned.code)
    return warned.message
  end

  it("tells on_elicit the server, the mode, the message and the schema", function()
    local schema = { type = "object", properties = { name = { type = "string" } } }
    answer = { action = "decline", content = { name = "kept here" } }
    assert.same({ action = "decline" }, elicit { mode = "form", message = "Who?", requestedSchema = schema })
    assert.same({ server = "files", mode = "form", message = "Who?", schema = schema }, asked)
  end)

  it("fills what is left out with the defaults, false and empty lists too", function()
    answer = { action = "accept", content = { name = "Ada", no = false } }
    assert.same({ action = "accept", content = { name = "Ada", no = false, age = 30, score = 95.5, status = "active",
      sure = false, tags = {} } }, form {
        name = { type = "string", default = "John" }, age = { type = "integer", default = 30 },
        no = { type = "boolean", default = true }, score = { type = "number", default = 95.5 },
        sure = { type = "boolean", default = false },
        status = { type = "string", enum = { "active", "inactive" }, default = "active" },
        tags = { type = "array", items = { type = "string", enum = { "a", "b" } }, default = core.array {} },
        none = { type = "string" }, null = { type = "string", default = core.null } })
  end)

  it("sends an empty list as a list", function()
    answer = { action = "accept", content = { tags = {} } }
    local result = form { tags = { type = "array", items = { anyOf = { { const = "a", title = "A" } } } } }
    assert.equal('{"tags":[]}', core.encode(result.content))
  end)

  it("accepts with the defaults alone, and leaves out one that does not fit its own schema", function()
    answer = { action = "accept" }
    assert.same({ action = "accept", content = { a = "x" } },
      form { a = { type = "string", default = "x" }, b = { type = "integer", default = "many" } })
  end)

  it("names the field of a content that does not fit", function()
    local choice = { type = "string", oneOf = { { const = "a", title = "A" }, { const = "b", title = "B" } } }
    local many = { type = "array", maxItems = 1, items = { type = "string", enum = { "a", "b" } } }
    for _, case in ipairs {
      { { age = { type = "integer" } }, { age = "ten" }, "on_elicit: content.age: integer expected" },
      { { age = { type = "integer", maximum = 9 } }, { age = 10 }, "on_elicit: content.age: " },
      { { on = { type = "boolean" } }, { on = "yes" }, "on_elicit: content.on: " },
      { { pick = choice }, { pick = "c" }, "on_elicit: content.pick: " },
      { { tags = many }, { tags = { "a", "b" } }, "on_elicit: content.tags: " },
      { { tags = many }, { tags = { "z" } }, "on_elicit: content.tags[1]: " },
      { { name = { type = "string", minLength = 2 } }, { name = "x" }, "on_elicit: content.name: " },
      { { mail = { type = "string", format = "email" } }, { mail = "me" }, "on_elicit: content.mail: email expected" },
      { { day = { type = "string", format = "date" } }, { day = "tomorrow" }, "on_elicit: content.day: date expected" },
      { { name = { type = "string" } }, { nme = "x" }, "on_elicit: content.nme: unknown field; one of name" },
      { { name = { type = "string" } }, "x", "on_elicit: content: table expected" },
    } do
      assert.equal(case[3], unfit(case[1], case[2]):sub(1, #case[3]))
    end
    assert.matches("content", unfit({ name = { type = "string" } }, {}, { "name" }))
  end)

  it("takes formats that look right", function()
    answer = { action = "accept", content = { mail = "a@b.example", page = "https://x.example/y", day = "2026-08-31",
      at = "2026-08-31T10:00:00Z" } }
    assert.same(answer, form { mail = { type = "string", format = "email" }, page = { type = "string", format = "uri" },
      day = { type = "string", format = "date" }, at = { type = "string", format = "date-time" } })
  end)

  it("refuses a form that is not flat, with -32602, and asks nobody", function()
    for _, property in ipairs { { type = "object", properties = {} }, { type = "array", items = { type = "object" } },
      { type = "array", items = { type = "array" } }, { ["$ref"] = "#/x" }, { type = "null" }, "string",
      { type = { "string", "null" } }, { enum = { 1, 2 } }, { type = "array" }, {} } do
      local result, said = form { x = property }
      assert.is_nil(result)
      assert.equal(-32602, said.code)
      assert.matches("requestedSchema.properties.x: ", said.message, 1, true)
    end
    assert.equal(-32602, select(2, form { x = { type = "string", minLength = "two" } }).code)
    assert.equal(-32602, select(2, elicit { message = "?", requestedSchema = { type = "array" } }).code)
    assert.equal(-32602, select(2, elicit { message = "?" }).code)
    assert.equal(-32602, select(2, elicit { requestedSchema = { type = "object" } }).code)
    assert.equal(-32602, select(2, elicit { mode = "voice", message = "?" }).code)
    assert.equal(-32602, select(2, elicit(nil)).code)
    assert.is_nil(asked)
  end)

  it("passes a URL of http or https on, and opens nothing", function()
    answer = { action = "accept", content = { x = 1 } }
    assert.same({ action = "accept" }, elicit { mode = "url", message = "Log in.", url = "https://login.example/a?b",
      elicitationId = "e1" })
    assert.same({ server = "files", mode = "url", message = "Log in.", url = "https://login.example/a?b", id = "e1" },
      asked)
    assert.same({ action = "accept" }, elicit { mode = "url", message = "?", url = "HTTPS://Login.example" })
    asked = nil
    for _, url in ipairs { "javascript:alert(1)", "file:///etc/passwd", "https://", "http:///x", "https://a b",
      " https://a", "https://a\n", 7 } do
      local result, said = elicit { mode = "url", message = "?", url = url }
      assert.is_nil(result)
      assert.equal("elicitation/create: url: http:// or https:// URL expected", said.message)
    end
    assert.is_nil(asked)
  end)

  it("cancels where on_elicit answers nothing", function()
    answer = function() return nil, "the window was closed" end
    assert.same({ action = "cancel" }, form { name = { type = "string" } })
  end)

  it("tells the server nothing of a function that raises, or answers nonsense", function()
    for _, case in ipairs { { function() error "/home/me/secret" end, "on_elicit raised: .*secret" },
      { "yes", 'on_elicit: answer: table with action expected, got "yes"' },
      { { action = "yes" }, 'on_elicit: action: "accept", "decline" or "cancel" expected, got "yes"' } } do
      answer = case[1]
      local object = inputs.new { on_elicit = type(answer) == "function" and answer or function() return answer end }
      local params = { message = "?", requestedSchema = { type = "object" } }
      local _, said = object:handlers()["elicitation/create"](params)
      assert.same({ code = -32603, message = "the client could not answer the request" }, said)
      local _, err = object:respond { a = { method = "elicitation/create", params = params } }
      assert.matches(case[2], err.message)
    end
  end)
end)
