-- Tools: what may be said of one, and what a call is answered.

local core = require "koine.core"
local errors = require "koine.data.errors"
local koine = require "koine"
local raised = require "spec.support.raised"
local tool = require "koine.agent.tool"
local wait = require "koine.task.wait"

local function made(run, more)
  local given = { name = "add", description = "Adds.", example = { a = 1, b = 1 }, run = run or print }
  for name, value in pairs(more or {}) do given[name] = value end
  return tool(given)
end

local function call(arguments, name)
  return { type = "tool_use", id = "c1", name = name or "add", arguments = arguments or { a = 2, b = 3 } }
end

local function refused(given) return raised.as("ArgumentError", tool, given) end

describe("a tool", function()
  it("is a table that adapters take, schema and all", function()
    local add = made(nil, { strict = true })
    assert.are.equal('{"properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"],'
      .. '"type":"object"}', core.encode(add.parameters))
    assert.is_nil(add.example)
    assert.is_true(tool.is_tool(add))
    local book = koine.testing.playbook { { step = 1, type = "message", content = "Hello." } }
    assert(book:chat("Hi", { tools = { add } }))
    assert.are.equal("add", book.call_log[1].tools[1].name)
  end)

  it("without arguments has the schema of an empty object", function()
    local now = tool { name = "now", description = "The time.", run = print }
    assert.are.equal('{"properties":{},"type":"object"}', core.encode(now.parameters))
  end)

  it("takes its schema as text", function()
    local function parameters(text)
      return core.encode(tool { name = "a", description = "b", parameters = text, run = print }.parameters)
    end
    assert.are.equal('{"properties":{"a":{},"z":{}},"propertyOrdering":["z","a"],"type":"object"}',
      parameters '{"type": "object", "properties": {"z": {}, "a": {}}}')
    assert.are.equal('{"properties":{"city":{"type":"string"}},"propertyOrdering":["city"],"required":["city"],'
      .. '"type":"object"}', parameters "city")
    assert.are.equal("parameters", refused { name = "a", description = "d", run = print, parameters = "{" }.field)
    assert.are.equal("parameters.type", refused { name = "a", description = "d", run = print,
      parameters = '{"type":"string"}' }.field)
  end)

  it("leaves the table it was made of as it is", function()
    local given = { name = "a", description = "b", example = { c = 1 }, run = print }
    assert.are_not.equal(given, tool(given))
    assert.are.same({ c = 1 }, given.example)
    assert.is_nil(given.parameters)
    local parameters = { type = "object", properties = { a = { type = "integer" } } }
    local made_of = tool { name = "a", description = "b", parameters = parameters, run = print }
    parameters.properties.a.type = "string"
    assert.are.equal("integer", made_of.parameters.properties.a.type)
  end)

  it("is refused when a field is missing, unknown or bad", function()
    local good = { name = "add", description = "Adds.", run = print }
    for field, given in pairs {
      name = { name = "a b" }, description = { description = false }, run = { run = "print" },
      timeout = { timeout = 0 },
      needs_approval = { needs_approval = "yes" }, ["parameters.type"] = { parameters = { type = "text" } },
      example = { example = { 1 } }, strict = { strict = 1 }, hidden = { hidden = 1 },
    } do
      local all = {}
      for name, value in pairs(good) do all[name] = value end
      for name, value in pairs(given) do all[name] = value or nil end
      assert.are.equal(field, refused(all).field)
    end
    assert.are.equal("name", refused { name = ("x"):rep(65), description = "d", run = print }.field)
    assert.are.equal("example", refused { name = "a", description = "d", run = print, parameters = {},
      example = {} }.field)
    assert.are.equal("tool", refused("add").field)
    for _, seconds in ipairs { 0, -1, 0 / 0 } do
      assert.are.equal("timeout", refused { name = "a", description = "d", run = print, timeout = seconds }.field)
    end
    for _, parameters in ipairs { {}, { type = "string" }, { city = "Paris" }, { type = { "object" } } } do
      assert.are.equal("parameters.type", refused { name = "a", description = "d", run = print,
        parameters = parameters }.field)
    end
    assert.are.equal("parameters", refused { name = "a", description = "d", run = print, parameters = {
      type = "object", default = { f = print } } }.field)
    local err = refused { name = "a", description = "d", run = print, parametres = {} }
    assert.is_truthy(err.message:find('did you mean "parameters"', 1, true))
  end)
end)

describe("answer", function()
  local function answer(run, more, arguments, ctx)
    return tool.answer({ made(run, more) }, call(arguments), ctx)
  end

  it("is a tool_result block with what the tool says", function()
    local result, info = answer(function(args) return "sum " .. args.a + args.b end)
    assert.are.same({ type = "tool_result", tool_use_id = "c1", content = "sum 5", is_error = false }, result)
    assert.are.same({}, info)
  end)

  it("takes text, numbers, blocks and nothing", function()
    local blocks = { { type = "text", text = "one" }, { type = "image", source = "R0lG", media_type = "image/gif" } }
    assert.are.same(blocks, answer(function() return blocks end).content)
    assert.are_not.equal(blocks, answer(function() return blocks end).content)
    assert.are.equal("5", answer(function() return 5 end).content)
    assert.are.equal("", answer(function() return "" end).content)
    assert.are.equal("(no output)", answer(function() end).content)
    assert.is_false(answer(function() end).is_error)
    for _, wrong in ipairs { print, io.stdout, coroutine.create(print) } do
      local result = answer(function() return wrong end)
      assert.is_true(result.is_error)
      assert.is_truthy(result.content:find("in place of text, a table or blocks", 1, true))
    end
  end)

  it("takes tables and booleans, which go as JSON, the same bytes every time", function()
    for json, value in pairs {
      ['{"a":[1,2.5,"x"],"b":{"c":true,"d":null},"é":0}'] = { b = { d = koine.null, c = true }, ["é"] = 0,
        a = { 1, 2.5, "x" } },
      ['{}'] = {}, ['[]'] = koine.array {}, ['[{"type":"tool_use"}]'] = { { type = "tool_use" } },
      ['{"text":"x"}'] = { text = "x" }, ['[[]]'] = { koine.array {} }, ["true"] = true, ["false"] = false } do
      local result, info = answer(function() return value end)
      assert.are.same({ json, false }, { result.content, result.is_error })
      assert.are.same({}, info)
    end
    assert.is_true(answer(function() return { ok = false }, { is_error = true } end).is_error)
    assert.are.equal("no such file", answer(function() return false, "no such file" end).content)
    local round = {}
    round.round = round
    for field, wrong in pairs { ["result.f: "] = { f = print }, ["result.round.round"] = round,
      ["result: a finite"] = { 0 / 0 } , ["result.content[1].text: "] = { { type = "text" } } } do
      local result = answer(function() return wrong end)
      assert.is_true(result.is_error)
      assert.is_truthy(result.content:find("^the tool returned what cannot be sent: result"), result.content)
      assert.is_truthy(field ~= "result: a finite" and result.content:find(field, 1, true)
        or result.content:find("finite number", 1, true), result.content)
    end
  end)

  it("tells the model what was raised, and the author where", function()
    local line = debug.getinfo(1, "l").currentline + 2
    local result, info = answer(function()
      error "no such city"
    end)
    assert.are.equal("no such city", result.content)
    assert.is_truthy(info.traceback:find("tool_spec.lua:" .. line .. ": no such city\nstack traceback:", 1, true),
      info.traceback)
    result, info = answer(function(args) return args.nothing.there end, { timeout = 60 })
    assert.are.equal("attempt to index a nil value (field 'nothing')", result.content)
    assert.is_truthy(info.traceback:find("tool_spec.lua:" .. line + 5, 1, true), info.traceback)
    assert.are.equal("gone", answer(function() error { message = "gone", code = 7 } end).content)
    assert.are.equal('{"code":7}', answer(function() error { code = 7 } end).content)
    assert.are.equal("the tool failed with a function", answer(function() error(print) end).content)
    assert.are.equal("the tool failed without saying why", answer(function() error() end).content)
    local broken = setmetatable({}, { __tostring = function() error "again" end })
    assert.are.equal("the tool failed with a table", answer(function() error(broken) end).content)
    result = answer(function() errors.argument("city", "string", 7) end)
    assert.are.equal("city: string expected, got 7", result.content)
    result = answer(function() local function deep() return 1 + deep() end return deep() end)
    assert.is_truthy(result.content:find "stack overflow", result.content)
  end)

  it("says what the tool says about it", function()
    local result, info = answer(function() return "Permission denied: no", { blocked = true, reason = "no" } end)
    assert.are.equal("Permission denied: no", result.content)
    assert.is_true(result.is_error)
    assert.are.same({ blocked = true, reason = "no" }, info)
    assert.is_true(answer(function() return "Error", { is_error = true } end).is_error)
    assert.is_false(answer(function() return "Error: legitimate output" end).is_error)
  end)

  it("hands the call and the caller's table to the tool", function()
    local seen
    answer(function(_, ctx) seen = ctx end, nil, nil, { mine = 7 })
    assert.are.same({ call = { id = "c1", name = "add" }, mine = 7 }, seen)
    local ctx = { mine = 7 }
    answer(function(_, given) given.mine = 8 end, nil, nil, ctx)
    assert.are.same({ mine = 7 }, ctx)
  end)

  it("hands the model's own text of the arguments to the tool, unless somebody edited them", function()
    local function seen_by(arguments, own)
      local seen
      local one = tool { name = "add", description = "Adds.", parameters = { type = "object" },
        run = function(_, ctx) seen = ctx.call.arguments_json end }
      local asked = call(arguments)
      asked.arguments_json = own
      tool.answer({ one }, asked)
      return seen or "nothing"
    end
    local own = '{ "a": 1.0, "b": null, "n": 1180591620717411303424 }'
    local arguments = assert(core.decode(own))
    assert.are.equal(own, seen_by(arguments, own))
    arguments.a = 2
    assert.are.equal("nothing", seen_by(arguments, own))
    assert.are.equal("nothing", seen_by({}, nil))
    assert.are.equal("nothing", seen_by({}, "{"))
  end)

  it("is an error result when the tool raises or returns nil, err", function()
    local result = answer(function() error("out of paper", 0) end)
    assert.are.same({ "out of paper", true }, { result.content, result.is_error })
    result = answer(function() return nil, "no such file" end)
    assert.are.same({ "no such file", true }, { result.content, result.is_error })
    result = answer(function() return nil, errors.new { kind = "timeout", message = "too slow" } end)
    assert.are.same({ "too slow", true }, { result.content, result.is_error })
    result = answer(function() error(setmetatable({}, { __tostring = function() return "object" end })) end)
    assert.are.equal("object", result.content)
    result = answer(function() error(("é"):rep(5000), 0) end)
    assert.is_true(#result.content <= 4096 + #" …")
    assert.is_truthy(utf8.len(result.content))
  end)

  it("names what is wrong with the call, and does not run it", function()
    local ran = 0
    local add = made(function() ran = ran + 1 end)
    local function content(one) return tool.answer({ add }, one).content end
    assert.are.equal('unknown tool "sub"; there are: add', content(call(nil, "sub")))
    assert.are.equal("bad arguments: arguments.b: integer expected, got \"x\"", content(call { a = 1, b = "x" }))
    local broken = call {}
    broken.arguments_error = "a value expected at byte 6"
    assert.are.equal("the arguments are no JSON object: a value expected at byte 6", content(broken))
    assert.are.equal(0, ran)
  end)

  it("is nil, err for trouble of the machine and for cancelling", function()
    for _, kind in ipairs { "executor", "cancelled" } do
      local err = errors.new { kind = kind, message = "the workshop burns" }
      for _, run in ipairs { function() error(err) end, function() return nil, err end } do
        for _, more in ipairs { {}, { timeout = 5 } } do
          local result, got = answer(run, more)
          assert.is_nil(result)
          assert.are.equal(err, got)
        end
      end
    end
    assert.are.equal("Error", errors.new { kind = "executor", message = "m" }.class)
  end)

  it("comes after the timeout at the latest, inside koine.run and outside", function()
    local left = false
    local function sleepy()
      local note <close> = setmetatable({}, { __close = function() left = true end }) -- luacheck: ignore note
      wait.sleep(3600)
    end
    local result = answer(sleepy, { timeout = 0.01 })
    assert.are.same({ "timed out after 0.01 s", true }, { result.content, result.is_error })
    assert.is_true(left)
    result = koine.run(function() return (answer(sleepy, { timeout = 0.01 })) end)
    assert.are.equal("timed out after 0.01 s", result.content)
    assert.are.equal("5", answer(function(args) return args.a + args.b end, { timeout = 3600 }).content)
    assert.are.equal("bad", answer(function() error("bad", 0) end, { timeout = 3600 }).content)
  end)

  it("refuses what is no array of tools and no call", function()
    for field, f in pairs { tools = function() tool.answer("add", call()) end,
      call = function() tool.answer({ made() }, "add") end, ["call.id"] = function()
        tool.answer({ made() }, { type = "tool_use", name = "add", arguments = {} })
      end, ["call.name"] = function() tool.answer({ made() }, { type = "tool_use", id = "c1", arguments = {} }) end,
      ctx = function() tool.answer({ made() }, call(), "ctx") end,
      ["tools[2]"] = function() tool.answer({ made(), { name = "sub" } }, call()) end } do
      local ok, err = pcall(f)
      assert.is_false(ok)
      assert.are.equal(field, err.field)
    end
    assert.are.equal("tools", select(2, pcall(tool.answer, made(), call())).field)
  end)
end)
