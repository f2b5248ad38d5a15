-- Two tools in place of many: what they find, and how they call.

local core = require "koine.core"
local kit = require "spec.lua.protocol.mcp.kit"
local koine = require "koine"
local tool = require "koine.agent.tool"
local tools = require "koine.protocol.mcp.tools"

local NUMBERS = { type = "object", properties = { n = { type = "integer" } }, required = core.array { "n" } }

describe("search in place of tools", function()
  local listed, asked, failing

  before_each(function()
    asked, failing = {}, nil
    listed = { { name = "add", description = "Adds numbers.", inputSchema = NUMBERS },
      { name = "mail.send", description = "Sends a mail to somebody.", annotations = { readOnlyHint = false } },
      { name = "mail.read", description = "Reads mails; sends nothing.", annotations = { readOnlyHint = true } } }
  end)

  local function build(more)
    local opts = { server = "fs", trusted = true, warn = function() end, words = function(err) return err.message end,
      send = function(entry, json)
        asked[#asked + 1] = entry.name .. json
        return { content = core.array { { type = "text", text = "done" } } }
      end }
    for name, value in pairs(more or {}) do opts[name] = value end
    opts.list = function()
      if failing then return nil, failing end
      return tools.build(core.array(listed), opts)
    end
    return tools.search(opts)
  end

  local function answer(made, name, arguments)
    local result = assert(tool.answer(made, { id = "c", name = name, arguments = arguments }))
    return result.content, result.is_error
  end

  local function found(made, query)
    local names, said = {}, core.decode((answer(made, "fs_search", { query = query })))
    for i, one in ipairs(said.found) do names[i] = one.name end
    return names, said
  end

  it("is two tools, whatever the server lists", function()
    local made = build()
    assert.are.same({ "fs_search", "fs_call" }, { made[1].name, made[2].name })
    local before = core.encode { made[1].description, made[1].parameters, made[2].description, made[2].parameters }
    listed = {}
    made = build()
    assert.are.equal(before, core.encode { made[1].description, made[1].parameters, made[2].description,
      made[2].parameters })
    assert.are.equal("search", build({ prefix = false })[1].name)
  end)

  it("finds by words in names and descriptions, the best first", function()
    local made = build()
    assert.are.same({ "mail.send", "mail.read" }, (found(made, "SEND a mail!")))
    assert.are.same({ "mail.read", "mail.send" }, (found(made, "read mail")))
    local names, said = found(made, "numbers")
    assert.are.same({ "add" }, names)
    assert.are.same(NUMBERS, said.found[1].arguments)
    assert.are.equal("Adds numbers.", said.found[1].description)
  end)

  it("names the tools where it finds none", function()
    local names, said = found(build(), "weather")
    assert.are.same({}, names)
    assert.are.same({ "add", "mail.send", "mail.read" }, said.names)
  end)

  it("says at most ten, and how many there are", function()
    for i = 1, 30 do listed[i] = { name = "mail" .. i } end
    local names, said = found(build(), "mail")
    assert.are.equal(10, #names)
    assert.are.equal("mail1", names[1])
    assert.are.equal(30, said.total)
  end)

  it("calls a tool with arguments that fit it", function()
    local made = build()
    local content, is_error = answer(made, "fs_call", { name = "add", arguments = { n = 5 } })
    assert.are.equal("done", content[1].text)
    assert.is_false(is_error)
    assert.are.same({ 'add{"n":5}' }, asked)
    content, is_error = answer(made, "fs_call", { name = "add", arguments = { n = "5" } })
    assert.is_true(is_error)
    assert.is_truthy(content:find("arguments.n: integer expected", 1, true))
    content, is_error = answer(made, "fs_call", { name = "no\nsuch", arguments = {} })
    assert.is_true(is_error)
    assert.is_truthy(content:find "unknown tool")
    assert.are.equal(1, #asked)
  end)

  it("sends the inner arguments, and not the text of the call around them", function()
    assert(tool.answer(build(), { id = "c", name = "fs_call", arguments = { name = "add", arguments = { n = 5 } },
      arguments_json = '{"name":"add","arguments":{"n":5}}' }))
    assert.are.same({ 'add{"n":5}' }, asked)
  end)

  it("knows tools that came later", function()
    local made = build()
    listed = { { name = "late", description = "Late." } }
    assert.are.same({ "late" }, (found(made, "late")))
    answer(made, "fs_call", { name = "late", arguments = {} })
    assert.are.same({ "late{}" }, asked)
  end)

  it("needs approval where the tool that is called does", function()
    assert.is_nil(build()[2].needs_approval)
    local needs = build({ approval = "writes" })[2].needs_approval
    assert.is_true(needs { name = "mail.send", arguments = {} })
    assert.is_false(needs { name = "mail.read", arguments = {} })
    assert.is_true(needs { name = "unknown" })
    needs = build({ approval = function(one, args) return one.mcp.name == "add" and args.n > 3 end })[2].needs_approval
    assert.is_true(needs { name = "add", arguments = { n = 4 } })
    assert.is_false(needs { name = "add", arguments = { n = 3 } })
    failing = koine.errors.new { kind = "timeout", message = "late" }
    assert.is_true(needs { name = "mail.read" })
  end)

  it("tells the model of trouble with the list", function()
    failing = koine.errors.new { kind = "timeout", message = "the tool did not answer in time" }
    for name, arguments in pairs { fs_search = { query = "x" }, fs_call = { name = "add", arguments = {} } } do
      local content, is_error = answer(build(), name, arguments)
      assert.is_true(is_error)
      assert.are.equal("the tool did not answer in time", content)
    end
  end)

  it("works with a server", function()
    local client <close> = assert(kit.connect [[
      listed = { { name = "echo", description = "Says it again.", inputSchema = { type = "object" } } } ]])
    local made = assert(client:tools { search = true })
    local content = assert(tool.answer(made, { id = "c", name = "fake_search",
      arguments = { query = "again" } })).content
    assert.are.equal("echo", core.decode(content).found[1].name)
    content = assert(tool.answer(made, { id = "d", name = "fake_call",
      arguments = { name = "echo", arguments = { a = 1 } } })).content
    assert.are.equal('{"a":1}', content[1].text)
  end)
end)
