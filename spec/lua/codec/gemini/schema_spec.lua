-- Tools' schemas on Gemini's wire: whatever a caller's JSON Schema holds, what is sent passes the loopback provider's
-- checks, of JSON Schemas and of the subset of OpenAPI's that older models take.

local core = require "koine.core"
local koine = require "koine"

local SCHEMAS = 400

-- A generator of schemas, the same ones in each run.
local function generator(seed)
  local state = seed
  local function random(n)
    state = (state * 1103515245 + 12345) % 2147483648
    return state // 65536 % n + 1
  end
  local function pick(list) return list[random(#list)] end
  local schema

  local WORDS = {
    function(s) s.type = pick { "string", "integer", "number", "boolean", "object", "array", "null" } end,
    function(s) s.type = core.array { "string", "null" } end,
    function(s) s.type = core.array { pick { "array", "string" }, pick { "object", "integer" }, "null" } end,
    function(s) s.enum = core.array(pick { { "a", "b" }, { 1, 2 }, { true }, { "a", core.null }, { "" } }) end,
    function(s) s.const = pick { "x", 1, 0.5, true, core.null } end,
    function(s) s.format = pick { "uri", "date-time", "int32", "uint8", "double" } end,
    function(s) s.minimum, s.exclusiveMaximum = 1, pick { 9, 1.5, true } end,
    function(s) s.minLength, s.pattern, s.uniqueItems, s.additionalProperties = 1, "^a", true, false end,
    function(s) s.title, s.description, s.default, s.examples = "t", "d", 1, core.array { 1 } end,
    function(s) s["not"], s["if"], s.patternProperties = {}, {}, { a = {} } end,
    function(s, depth) s.items = depth > 0 and pick { schema(depth), true, core.array { schema(depth) } } or nil end,
    function(s, depth) s.prefixItems = depth > 0 and core.array { schema(depth), schema(depth) } or nil end,
    function(s, depth)
      s.properties = depth > 0 and { b = schema(depth), c = pick { schema(depth), true, false } } or {}
      s.required = core.array(pick { { "b" }, { "b", "d" }, {} })
    end,
    function(s, depth) s.anyOf = depth > 0 and core.array { schema(depth), schema(depth) } or nil end,
    function(s, depth) s.oneOf = depth > 0 and core.array { schema(depth), { type = "null" } } or nil end,
    function(s, depth) s.allOf = depth > 0 and core.array { schema(depth), schema(depth) } or nil end,
    function(s) s["$ref"] = pick { "#/$defs/one", "#/definitions/two" } end,
  }

  function schema(depth)
    local made = {}
    for _ = 1, random(3) do pick(WORDS)(made, depth - 1) end
    return made
  end

  return function()
    return { type = "object", properties = { a = schema(3), b = schema(2) }, required = core.array { "a" },
      ["$defs"] = { one = { type = "string", const = "x" } },
      definitions = { two = { properties = { d = { ["$ref"] = "#/$defs/one" } } } } }
  end
end

describe("schemas on Gemini's wire", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  for _, model in ipairs { "gemini-3.5-flash", "gemini-2.0-flash" } do
    it("are taken, whatever is in them: " .. model, function()
      assert(server:script "echo")
      local adapter = koine.gemini { model = model, key = "test-key", base_url = server.url .. "/v1beta",
        retry = false }
      local next_schema, sent, refused = generator(7), 0, 0
      for i = 1, SCHEMAS do
        local schema = next_schema()
        local tools = { { name = "f", parameters = schema } }
        local ok, response, err = pcall(adapter.chat, adapter, "Hi.", { tools = tools })
        if ok then
          sent = sent + 1
          assert(response, ("schema %d: %s: %s"):format(i, core.encode(schema), tostring(err)))
        else -- an enum whose values are mixed, as allOf may make it
          refused = refused + 1
          assert.are.equal("tools[1].parameters", response.field)
        end
      end
      assert.is_true(sent > SCHEMAS * 0.9, ("%d of %d were sent"):format(sent, SCHEMAS))
      for _, request in ipairs(assert(server:requests())) do assert.are.same({}, request.problems) end
      local body = assert(core.decode(assert(server:requests())[1].body))
      local key = model == "gemini-2.0-flash" and "parameters" or "parametersJsonSchema"
      assert.is_table(body.tools[1].functionDeclarations[1][key])
    end)
  end

  it("that lead back to themselves are refused by name where references have no place", function()
    local tree = { type = "object", properties = { root = { ["$ref"] = "#/$defs/leaf" } },
      ["$defs"] = { leaf = { type = "object", properties = { next = { ["$ref"] = "#/$defs/leaf" } } } } }
    assert(server:script "echo")
    local tools = { { name = "f", parameters = tree } }
    local function adapter(model)
      return koine.gemini { model = model, key = "test-key", base_url = server.url .. "/v1beta", retry = false }
    end
    local ok, err = pcall(function() return adapter "gemini-2.0-flash":chat("Hi.", { tools = tools }) end)
    assert.are.same({ false, "ArgumentError", "tools[1].parameters" }, { ok, err.class, err.field })
    assert.is_truthy(err.message:find("#/$defs/leaf", 1, true), err.message)
    assert(adapter "gemini-3.5-flash":chat("Hi.", { tools = tools }))
  end)
end)
