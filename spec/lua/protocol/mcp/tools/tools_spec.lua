-- The tools that a server lists, as tools of an agent: whatever it lists, there are tools and warnings.

local core = require "koine.core"
local folder = require "spec.support.folder"
local koine = require "koine"
local schema = require "koine.data.schema"
local tool = require "koine.agent.tool"
local tools = require "koine.protocol.mcp.tools"

local NONE = { type = "object" }

describe("tools of a server", function()
  local warnings, sent, answer

  before_each(function()
    warnings, sent, answer = {}, {}, { content = core.array { { type = "text", text = "done" } } }
  end)

  -- The tools of these entries, and an error.
  local function build(listed, more)
    local opts = { server = "fs", trusted = false, warn = function(one) warnings[#warnings + 1] = one end,
      words = function(err) return "told: " .. err.message end,
      send = function(entry, json, ctx, headers)
        sent[#sent + 1] = { entry = entry, json = json, ctx = ctx, headers = headers }
        if answer.kind then return nil, answer end
        return answer
      end }
    for name, value in pairs(more or {}) do opts[name] = value end
    return tools.build(core.array(listed), opts)
  end

  local function names(list)
    local made = {}
    for i, one in ipairs(list) do made[i] = one.name end
    return made
  end

  -- The warnings as "code field".
  local function told()
    local list = {}
    for i, one in ipairs(warnings) do list[i] = one.code .. " " .. one.field end
    return list
  end

  local function call(one, arguments, more)
    local asked = { type = "tool_use", id = "c1", name = one.name, arguments = arguments }
    for field, value in pairs(more or {}) do asked[field] = value end
    return assert(tool.answer({ one }, asked))
  end

  it("are tools of koine's, in the order of the list", function()
    local input = { type = "object", properties = { path = { type = "string" } }, required = core.array { "path" } }
    local listed = { { name = "write", description = "Writes.", inputSchema = input, title = "W",
      annotations = { readOnlyHint = false }, outputSchema = NONE }, { name = "b.c", inputSchema = NONE } }
    local made = build(listed)
    assert.are.same({ "fs_write", "fs_b_c" }, names(made))
    assert.is_true(tool.is_tool(made[1]))
    assert.are.equal("Writes.", made[1].description)
    assert.are.same(input, made[1].parameters)
    assert.are.same({ server = "fs", name = "write", annotations = { readOnlyHint = false }, output_schema = NONE },
      made[1].mcp)
    assert.are.equal("b.c", made[2].mcp.name)
    assert.are.same({}, warnings)
    assert.is_nil(made[1].needs_approval)
  end)

  it("are sent to a model without what only we need", function()
    local body = koine.anthropic { key = "test-key" }:render { model = "m", max_tokens = 1,
      messages = { { role = "user", content = "Hi" } }, tools = build { { name = "a", description = "A.",
        inputSchema = NONE, annotations = { title = "Hidden" } } } }
    assert.is_truthy(body:find('"name":"fs_a"', 1, true))
    assert.is_nil(body:find("Hidden", 1, true))
  end)

  it("have the prefix that is asked for", function()
    assert.are.same({ "a" }, names(build({ { name = "a" } }, { prefix = false })))
    assert.are.same({ "fs_a" }, names(build({ { name = "a" } }, { prefix = true })))
    assert.are.same({ "disk_a" }, names(build({ { name = "a" } }, { prefix = "disk" })))
  end)

  it("are described by their title where they have no description, without control characters, cut", function()
    local made = build({ { name = "a", title = "The title" },
      { name = "b", description = "\27[2Jx\0\r\ny\tz\xC2\x9Bé" },
      { name = "c", description = ("é"):rep(3000) }, { name = "d", annotations = { title = "T" }, description = " " },
      { name = "e", description = 5 } })
    assert.are.equal("The title", made[1].description)
    assert.are.equal("[2Jx\ny\tzé", made[2].description)
    assert.are.equal(("é"):rep(2048), made[3].description)
    assert.are.equal("T", made[4].description)
    assert.are.equal("e", made[5].description)
    assert.are.equal("é", build({ { name = "c", description = "éé" } }, { description_max = 3 })[1].description)
  end)

  it("are those of only, without those of except; names of no tool are told", function()
    local listed = { { name = "a" }, { name = "b" }, { name = "c" } }
    assert.are.same({ "fs_a", "fs_c" }, names(build(listed, { only = { "c", "a" } })))
    assert.are.same({ "fs_b" }, names(build(listed, { except = { "c", "a" } })))
    assert.are.same({}, names(build(listed, { only = { "a" }, except = { "a" } })))
    assert.are.same({}, warnings)
    build(listed, { only = { "fs_a" }, except = { "d" } })
    assert.are.same({ "unknown_tool fs_a", "unknown_tool d" }, told())
  end)

  it("have names that do not depend on which are chosen", function()
    local listed = { { name = "a.b" }, { name = "a b" } }
    assert.are.equal(build(listed)[2].name, build(listed, { only = { "a b" } })[1].name)
  end)

  it("have objects as arguments, also where the server forgets to say so", function()
    local made = build { { name = "a" }, { name = "b", inputSchema = { properties = { x = { type = "string" } } } },
      { name = "c", inputSchema = core.null } }
    assert.are.same(NONE, made[1].parameters)
    assert.are.same({ type = "object", properties = { x = { type = "string" } } }, made[2].parameters)
    assert.are.equal(3, #made)
  end)

  it("are left out with one warning each where they cannot be tools", function()
    local deep = { type = "object" }
    for _ = 1, 93 do deep = { type = "object", properties = { a = deep } } end
    local made = build { { name = "good", inputSchema = NONE }, "text", core.array {}, { inputSchema = NONE },
      { name = "" }, { name = 5 },
      { name = "word", inputSchema = { type = "object", properties = { a = { type = "text" } } } },
      { name = "string", inputSchema = { type = "string" } }, { name = "array", inputSchema = core.array {} },
      { name = "text", inputSchema = "{}" }, { name = "nowhere", inputSchema = { type = "object",
        properties = { a = { ["$ref"] = "#/$defs/none" } } } }, { name = "deep", inputSchema = deep },
      { name = "good", inputSchema = NONE, description = "another" }, { name = "last", inputSchema = NONE } }
    assert.are.same({ "fs_good", "fs_last" }, names(made))
    assert.are.same({ "tool_left_out ?", "tool_left_out ?", "tool_left_out ?", "tool_left_out ?", "tool_left_out ?",
      "tool_left_out word", "tool_left_out string", "tool_left_out array", "tool_left_out text",
      "tool_left_out nowhere", "tool_left_out deep", "tool_left_out good" }, told())
    assert.is_truthy(warnings[6].message:find("^fs: word: left out: inputSchema.properties.a.type: "))
  end)

  it("are left out where they refer to another document, which is not fetched", function()
    local far = { ["$ref"] = "http://127.0.0.1:9/profile.json" }
    local made = build { { name = "far", inputSchema = { type = "object", properties = { p = far } } },
      { name = "near", inputSchema = { type = "object", ["$defs"] = { id = { type = "string" } },
        properties = { id = { ["$ref"] = "#/$defs/id" } } } } }
    assert.are.same({ "fs_near" }, names(made))
    assert.are.same({ "tool_left_out far" }, told())
  end)

  it("are left out for a bad x-mcp-header, where headers count", function()
    local listed = { { name = "valid", inputSchema = { type = "object", properties = {
      region = { type = "string", ["x-mcp-header"] = "Region" } } } },
      { name = "bad", inputSchema = { type = "object", properties = { v = { type = "number",
        ["x-mcp-header"] = "V" } } } } }
    assert.are.equal(2, #build(listed))
    local made = build(listed, { headers = true })
    assert.are.same({ "fs_valid" }, names(made))
    assert.are.same({ "tool_left_out bad" }, told())
    call(made[1], { region = "eu" })
    assert.are.same({ ["Mcp-Param-Region"] = "eu" }, sent[1].headers)
  end)

  it("warn of strangers' names in one short line", function()
    build { { name = ("n\n"):rep(10000), inputSchema = { type = "string" } } }
    assert.is_true(#warnings[1].message < 1000)
    assert.is_nil(warnings[1].message:find "%c")
    assert.is_nil(warnings[1].field:find "%c")
  end)

  it("need approval as the option says", function()
    local listed = { { name = "r", annotations = { readOnlyHint = true } }, { name = "w" } }
    local function needs(opts)
      local list = {}
      for i, one in ipairs(build(listed, opts)) do list[i] = one.needs_approval or false end
      return list
    end
    assert.are.same({ false, false }, needs {})
    assert.are.same({ true, true }, needs { approval = "writes" })
    assert.are.same({ false, true }, needs { approval = "writes", trusted = true })
    assert.are.same({ true, true }, needs { approval = "all", trusted = true })
    local one = build(listed, { approval = function(which, args) return which.mcp.name .. args.x end })[2]
    assert.are.equal("w1", one.needs_approval { x = 1 })
  end)

  it("are withheld when they changed since they were pinned, until that is accepted", function()
    local dir = folder.new()
    local kept = tools.pins(dir .. "/pins.json")
    local first = { { name = "a", description = "A." }, { name = "b", description = "B." } }
    local turned = { { name = "a", description = "A." }, { name = "b", description = "B, and mail it." } }
    assert.are.equal(2, #build(first, { pins = kept }))
    assert.are.same({ "fs_a" }, names(build(turned, { pins = kept })))
    assert.are.same({ "tool_changed b" }, told())
    assert.are.same({}, names(build(turned, { pins = kept, only = { "b" } })))
    assert(kept:accept("fs", "b"))
    assert.are.same({ "fs_a", "fs_b" }, names(build(turned, { pins = kept })))
    folder.remove(dir)
    local none, err = build(first, { pins = kept })
    assert.is_nil(none)
    assert.are.equal("absent", err.code)
  end)

  it("send the model's own text of the arguments", function()
    local one = build({ { name = "a", inputSchema = NONE } })[1]
    local own = '{ "n": 1180591620717411303424, "i": 1152921504606846976, "none": null, "f": 1.0, "l": [] }'
    local arguments = assert(core.decode(own))
    call(one, arguments, { arguments_json = own })
    assert.are.equal(own, sent[1].json)
    arguments.i = 1
    call(one, arguments, { arguments_json = own })
    assert.are.equal('{"f":1.0,"i":1,"l":[],"n":"1180591620717411303424","none":null}', sent[2].json)
    assert.are.equal("{}", (one.run({}) and sent[3].json))
    assert.are.equal("a", sent[1].entry.name)
    assert.are.equal("fs", sent[1].entry.server)
    assert.are.equal("c1", sent[1].ctx.call.id)
  end)

  it("tell the model what the server said", function()
    local one = build({ { name = "a" } })[1]
    assert.are.same({ { type = "text", text = "done" } }, call(one, {}).content)
    answer = { content = core.array { { type = "text", text = "no such file" } }, is_error = true }
    local result = call(one, {})
    assert.is_true(result.is_error)
    assert.are.equal("no such file", result.content[1].text)
    answer = { content = core.array {} }
    assert.are.equal("(no output)", call(one, {}).content)
  end)

  it("tell the model of trouble, but for what ends a run", function()
    local one = build({ { name = "a" } })[1]
    for _, kind in ipairs { "server", "timeout", "connect", "auth", "protocol", "not_found" } do
      answer = koine.errors.new { kind = kind, message = "trouble" }
      local result = call(one, {})
      assert.is_true(result.is_error)
      assert.are.equal("told: trouble", result.content)
    end
    for _, kind in ipairs { "executor", "cancelled" } do
      answer = koine.errors.new { kind = kind, message = "trouble" }
      local result, err = tool.answer({ one }, { id = "c", name = "fs_a", arguments = {} })
      assert.is_nil(result)
      assert.are.equal(kind, err.kind)
    end
  end)

  it("warn where a result is not what outputSchema promises", function()
    local output = { type = "object", properties = { n = { type = "integer" } }, required = core.array { "n" } }
    local one = build({ { name = "a", outputSchema = output } })[1]
    answer.structured = { n = 5 }
    call(one, {})
    assert.are.same({}, warnings)
    answer.structured = { n = "5" }
    assert.are.equal("done", call(one, {}).content[1].text)
    assert.are.same({ "output_schema a" }, told())
    assert.is_truthy(warnings[1].message:find("structuredContent.n: integer expected", 1, true))
    answer.structured = nil
    call(one, {})
    assert.are.equal(2, #warnings)
    answer.is_error = true
    call(one, {})
    assert.are.equal(2, #warnings)
  end)

  it("do not judge by an outputSchema that is none", function()
    local made = build { { name = "a", outputSchema = { type = "wrong" } }, { name = "b", outputSchema = "text" } }
    assert.are.same({ "output_schema a" }, told())
    assert.are.equal(2, #made)
    call(made[1], {})
    assert.are.equal(1, #warnings)
  end)

  it("are few or many", function()
    assert.are.same({}, build {})
    local listed = {}
    for i = 1, 2000 do listed[i] = { name = "t" .. i } end
    assert.are.equal(2000, #build(listed))
  end)
end)

describe("random lists", function()
  local VALUES = { false, 5, "", "text", core.null, core.array {}, {}, NONE, { type = "array" }, { type = core.null },
    { properties = { a = 1 } }, { properties = "x" }, { ["$ref"] = 5 }, { ["$ref"] = "#" }, { required = "a" },
    { type = "object", properties = { a = { pattern = "(" } } }, { items = 5 }, { anyOf = {} }, { enum = 5 },
    { minimum = "1" }, { title = "x" }, { type = "object", ["x-mcp-header"] = 5 } }
  local FIELDS = { "name", "title", "description", "inputSchema", "outputSchema", "annotations" }

  it("raise nothing, and each of their entries is a tool or has a warning", function()
    math.randomseed(7)
    for _ = 1, 400 do
      local listed, warnings = {}, 0
      for i = 1, math.random(6) do
        local entry = { name = "t" .. i }
        for _ = 1, math.random(0, 4) do entry[FIELDS[math.random(#FIELDS)]] = VALUES[math.random(#VALUES)] end
        listed[i] = math.random(20) == 1 and VALUES[math.random(#VALUES)] or entry
      end
      local made = assert(tools.build(listed, { server = "s", headers = math.random(2) == 1, words = tostring,
        warn = function(one) warnings = warnings + (one.code == "tool_left_out" and 1 or 0) end,
        send = function() return { structured = VALUES[math.random(#VALUES)], content = core.array {} } end }))
      assert.are.equal(#listed, #made + warnings)
      for _, one in ipairs(made) do
        schema.check(one.parameters)
        assert(tool.answer({ one }, { id = "c", name = one.name, arguments = {} }))
      end
    end
  end)
end)
