-- Answers that come as a call: beside other calls, several at once, in words instead, and under a name of their own.

local kit = require("spec.lua.call.output.kit").new()

local function call(name, arguments, id) return { type = "tool_use", id = id, name = name, arguments = arguments } end

local ADA, BOB = call("person", { name = "Ada", age = 36 }, "c1"), call("person", { name = "Bob", age = 4 }, "c2")
local WRONG, LOOK = call("person", { name = "Eve" }, "c3"), call("look_up", {}, "c4")

describe("an answer that is a call", function()
  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.begin)
  after_each(kit.restore)

  local function ask(answers, output, opts)
    local all = { mode = "tool" }
    for name, value in pairs(output or {}) do all[name] = value end
    return kit.ask(kit.claude(opts and opts.adapter), answers, all, { tools = opts and opts.tools })
  end

  local TOOLS = { tools = { kit.LOOK_UP } }

  it("is the first of several, with a warning", function()
    for _, calls in ipairs { { ADA, BOB }, { ADA, LOOK, BOB } } do
      local r = ask({ { content = calls } }, nil, TOOLS)
      assert.are.equal("Ada", r.output.name)
      assert.are.equal("output_extracted", kit.codes(r)[1])
      assert.are.equal(#calls - 2, #r.tool_calls)
    end
  end)

  it("is the first of several in a stream, too", function()
    kit.server:script { { content = { ADA, BOB }, chunk = 4 } }
    local stream <close> = assert(kit.claude():open("Who?", { output = { schema = kit.PERSON, name = "person",
      mode = "tool" } }))
    for delta in stream:deltas() do
      if delta.type == "output_delta" then assert.is_nil((delta.value.name or ""):find "B") end
    end
    assert.are.same({ name = "Ada", age = 36 }, stream:output())
    assert.are.same(stream:output(), stream:response().output)
  end)

  it("is not the second where the first does not fit", function()
    local r = ask { { content = { WRONG, ADA } } }
    assert.are.equal("invalid", r.output_error.code)
    assert.is_nil(r.output)
  end)

  it("has a result in a repair, and so has every call beside it", function()
    local r = ask({ { content = { LOOK, WRONG, BOB } }, { content = { ADA } } }, { repair = 1 }, TOOLS)
    assert.are.equal("Ada", r.output.name)
    local messages = kit.body(2).messages
    assert.are.equal(3, #messages)
    local results = messages[3].content
    assert.are.equal(3, #results)
    for i, id in ipairs { "c4", "c3", "c2" } do
      assert.are.equal("tool_use", messages[2].content[i].type)
      assert.are.same({ id, true }, { results[i].tool_use_id, results[i].is_error })
    end
    assert.is_truthy(results[1].content:find("not executed", 1, true))
    assert.is_truthy(results[2].content:find("age", 1, true))
    assert.is_truthy(results[3].content:find("once", 1, true))
  end)

  it("does not fit beside a call that can be made: both are told", function()
    local r = ask({ { content = { WRONG, LOOK } } }, nil, TOOLS)
    assert.are.same({ "invalid", 1 }, { r.output_error.code, #r.tool_calls })
  end)

  it("may be words instead, as in mode prompt", function()
    local r = ask { { content = "Here:\n```json\n" .. kit.ADA .. "\n```" } }
    assert.are.equal("Ada", r.output.name)
    assert.are.same({ "output_extracted" }, kit.codes(r))
    assert.are.equal("not_json", ask({ { content = "Ada is 36." } }).output_error.code)
  end)

  it("is told what is wrong in words where it was words", function()
    local r = ask({ { content = "Ada is 36." }, { content = { ADA } } }, { repair = 1 })
    assert.are.equal("Ada", r.output.name)
    assert.are.equal("text", kit.body(2).messages[3].content[1].type)
  end)

  it("is asked for in words where the caller lets the model call nothing", function()
    local r = kit.ask(kit.claude { quirks = { structured = "none" } }, { { content = kit.ADA } }, nil,
      { tools = { kit.LOOK_UP }, tool_choice = "none" })
    assert.are.equal("prompt", r.output_mode)
    assert.are.equal("Ada", r.output.name)
  end)

  it("has a name that no tool has, and that is not too long", function()
    local long = ("n"):rep(64)
    local function names()
      local list = {}
      for i, tool in ipairs(kit.body(#kit.requests()).tools) do list[i] = tool.name end
      return list
    end
    ask({ { content = kit.ADA } }, { name = long }, { tools = { { name = long, description = "d" } } })
    assert.are.same({ long, long:sub(1, 62) .. "_2" }, names())
    ask({ { content = kit.ADA } }, { name = "a" }, { tools = { { name = "a", description = "d" },
      { name = "a_2", description = "d" } } })
    assert.are.same({ "a", "a_2", "a_3" }, names())
  end)

  it("stays an answer where a tool comes to have its name later", function()
    local adapter = kit.claude()
    local r = kit.ask(adapter, { { content = { ADA } } }, { mode = "tool" })
    kit.server:script { { content = "Yes." } }
    assert(adapter:chat({ { role = "user", content = "Who?" }, r:message(), { role = "user", content = "Sure?" } },
      { tools = { { name = "person", description = "d" } } }))
    assert.are.equal("text", kit.body(2).messages[2].content[1].type)
  end)
end)

describe("an answer that calls the caller's tools", function()
  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.begin)
  after_each(kit.restore)

  it("has no value yet, whatever its stop reason", function()
    for _, reason in ipairs { "tool_use", "end_turn" } do
      local r = kit.ask(kit.gpt(), { { content = { LOOK }, stop_reason = reason } }, { mode = "native", repair = 1 },
        { tools = { kit.LOOK_UP } })
      assert.are.equal(1, #r.tool_calls)
      assert.is_nil(r.output_error)
    end
    assert.are.equal(2, #kit.requests())
  end)
end)
