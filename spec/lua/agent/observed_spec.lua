-- What an observer is told of runs, their model calls and their tools.

local core = require "koine.core"
local kit = require "spec.lua.agent.kit"
local koine = require "koine"
local observed = require "spec.lua.data.observer.kit"

describe("an observed run", function()
  it("is one tree: run, model calls, attempts, tools, and what a tool calls", function()
    local server <close> = assert(koine.testing.start { script = {
      { content = { { type = "tool_use", name = "add", arguments = { a = 2, b = 3 } } } },
      { content = "nested" },
      { content = "Five." },
    } })
    local observer, records = observed.keep()
    local claude = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "test-key-0123456789" }
    local add = kit.add(function(args, ctx)
      assert(claude:chat("What?", { parent = ctx.observe }))
      return args.a + args.b
    end)
    local agent = koine.agent { adapter = claude, tools = { add }, observer = observer, name = "adder" }
    local result = assert(agent:run "What is 2 plus 3?")
    assert.are.same({ "agent start", "chat start", "attempt start", "attempt end", "chat end", "tool start",
      "chat start", "attempt start", "attempt end", "chat end", "tool end",
      "chat start", "attempt start", "attempt end", "chat end", "agent end" }, observed.lines(records))
    local root, tool, done = records[1], records[6], records[16]
    for _, record in ipairs(records) do assert.are.equal(root.trace, record.trace) end
    for _, i in ipairs { 2, 6, 12 } do assert.are.equal(root.id, records[i].parent) end
    assert.are.equal(tool.id, records[7].parent)
    assert.are.equal("adder", root.name)
    assert.are.same({ "add" }, root.tools)
    assert.are.equal("add", tool.name)
    assert.is_string(tool.call_id)
    assert.is_false(records[11].is_error)
    assert.are.equal(1, records[11].bytes)
    assert.are.equal("completed", done.status)
    assert.are.equal(2, done.steps)
    assert.are.equal(result.usage.input_tokens, done.usage.input_tokens)
    assert.are.equal(0, done.pending)
    assert.is_nil(core.encode(records):find("Five", 1, true))
  end)

  it("has arguments and results of tools where they are asked for", function()
    local observer, records = observed.keep { content = { "tools" } }
    local agent = koine.agent { adapter = kit.play(kit.calls(kit.use "1"), { content = "Done." }),
      tools = { kit.add() }, observer = observer }
    assert(agent:run "Go.")
    local found = {}
    for _, record in ipairs(records) do
      if record.type == "tool" then found[record.phase] = record.content end
    end
    assert.are.same({ start = { arguments = { a = 2, b = 3 } }, ["end"] = { result = "5" } }, found)
  end)

  it("ends where it pauses, and begins anew where it goes on", function()
    local observer, records = observed.keep()
    local agent = koine.agent { adapter = kit.play(kit.calls(kit.use "1"), { content = "Done." }),
      tools = { kit.add(nil, { needs_approval = true }) }, observer = observer }
    local result, run = agent:run "Go."
    assert.are.equal("paused", result.status)
    assert.are.equal("paused", records[#records].status)
    assert.are.equal(1, records[#records].pending)
    run:approve "1"
    assert(run:result())
    local ends = {}
    for _, record in ipairs(records) do
      if record.type == "agent" then ends[#ends + 1] = record.phase .. " " .. tostring(record.status) end
    end
    assert.are.same({ "start nil", "end paused", "start nil", "end completed" }, ends)
  end)

  it("ends with the error of its model call", function()
    local observer, records = observed.keep()
    local agent = koine.agent { adapter = kit.play { error = { kind = "server", message = "broken" } },
      observer = observer }
    agent:run "Go."
    assert.are.equal("agent end", observed.lines(records)[#records])
    assert.are.equal("failed", records[#records].status)
    assert.is_string(records[#records].error.kind)
  end)

  it("ends where it is cancelled, and where its step raises", function()
    local observer, records = observed.keep()
    local cancelled
    local add = kit.add(function(_, ctx) cancelled = ctx.run:cancel() end)
    local agent = koine.agent { adapter = kit.play(kit.calls(kit.use "1")), tools = { add }, observer = observer }
    agent:run "Go."
    assert.is_true(cancelled)
    assert.are.equal("agent end", observed.lines(records)[#records])
    assert.are.equal("cancelled", records[#records].status)
    local started = koine.agent({ adapter = kit.play { content = "x" }, observer = observer,
      prepare = function() error "broken" end }):start "Go."
    assert.is_false((pcall(started.step, started)))
    assert.are.equal("agent end", observed.lines(records)[#records])
    assert.is_truthy(records[#records].error.message:find("broken", 1, true))
  end)

  it("tells of a tool that raises, is refused, or takes too long", function()
    local observer, records = observed.keep()
    local function refuse() return "x", { blocked = true, reason = "r" } end
    local tools = { kit.add(function() error "no" end), kit.add(refuse, { name = "two" }) }
    local agent = koine.agent { adapter = kit.play(kit.calls(kit.use "1", kit.use("2", nil, "two")), { content = "x" }),
      tools = tools, observer = observer }
    assert(agent:run "Go.")
    local seen = {}
    for _, record in ipairs(records) do
      if record.type == "tool" and record.phase == "end" then
        seen[#seen + 1] = { record.is_error, record.blocked, record.reason }
      end
    end
    assert.are.same({ { true }, { true, true, "r" } }, seen)
  end)
end)
