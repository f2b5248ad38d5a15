-- Calls that are not run before somebody says so.

local core = require "koine.core"
local koine = require "koine"
local kit = require "spec.lua.agent.kit"

local agent = koine.agent
local add, make, play, raised, use = kit.add, kit.make, kit.play, kit.raised, kit.use

local function answers(message)
  local list = {}
  for i, block in ipairs(message.content) do list[i] = block.content end
  return list
end

describe("approval", function()
  local ran

  -- An agent whose tool needs approval; its playbook calls it twice in one answer.
  local function careful(needs, more, answer)
    ran = {}
    local tool = add(function(args)
      ran[#ran + 1] = args.a
      return "r" .. args.a
    end, { needs_approval = needs })
    local given = { tools = { tool } }
    for name, value in pairs(more or {}) do given[name] = value end
    return make(play({ content = answer or { use("c1", { a = 1, b = 0 }), use("c2", { a = 2, b = 0 }) } },
      { content = "Done." }), given)
  end

  it("hands the model's own text of the arguments to the tool, unless approval edited them", function()
    local seen = {}
    local one = add(function(_, ctx) seen[ctx.call.id] = ctx.call.arguments_json end, { needs_approval = true })
    local book = play({ content = { use("c1", { a = 1, b = 0 }), use("c2", { a = 2, b = 0 }) } }, { content = "Done." })
    local _, run = assert(make(book, { tools = { one } }):run "Go")
    run:approve("c1")
    run:approve("c2", { a = 9, b = 0 })
    assert(run:step())
    assert.are.same({ c1 = '{"a":1,"b":0}' }, seen)
  end)

  it("pauses the run before the call", function()
    local result, run = assert(careful(true):run "Go")
    assert.are.equal("paused", result.status)
    assert.are.same({}, ran)
    assert.are.same({ id = "c1", name = "add", arguments = { a = 1, b = 0 }, arguments_json = '{"a":1,"b":0}' },
      result.pending[1])
    assert.are.equal(2, #result.pending)
    core.check { model = "m", messages = result.messages }
    assert.is_nil(run:step())
    assert.is_true(run:approve "c1")
    assert.is_true(run:approve "c2")
    result = assert(run:result())
    assert.are.same({ 1, 2 }, ran)
    assert.are.equal("Done.", result.text)
    assert.are.same({}, result.pending)
  end)

  it("takes other arguments for a tool that the provider describes", function()
    local ran_with
    local shell = { type = "bash_20250124", name = "bash", needs_approval = true, run = function(args)
      ran_with = args.command
      return "done"
    end }
    local call = { type = "tool_use", id = "c1", name = "bash", arguments = { command = "rm" } }
    local run = make(play({ content = { call } }, { content = "Done." }), { tools = { shell } }):start "Go"
    assert.are.equal("paused", assert(run:result()).status)
    assert.are.equal("arguments", raised(run.approve, run, "c1", "ls").field)
    assert.is_true(run:approve("c1", { command = "ls" }))
    assert.are.equal("Done.", assert(run:result()).text)
    assert.are.equal("ls", ran_with)
  end)

  it("one at a time, in order", function()
    local run = careful(true):start "Go"
    assert.are.equal("paused", assert(run:result()).status)
    run:approve "c1"
    local result = assert(run:result())
    assert.are.same({ "paused", 1 }, { result.status, #result.pending })
    assert.are.same({ 1 }, ran)
    run:deny("c2", "too many")
    result = assert(run:result())
    assert.are.same({ 1 }, ran)
    assert.are.same({ "r1", "denied: too many" }, answers(result.messages[3]))
    assert.is_true(result.messages[3].content[2].is_error)
    assert.are.same({ id = "c2", name = "add", arguments_json = '{"a":2,"b":0}', is_error = true, blocked = true,
      reason = "too many", executed = false }, result.calls[2])
  end)

  it("with parallel is waited for before any call of the answer", function()
    local one = careful(function(args) return args.a == 2 end, { parallel = true })
    local result, run = assert(one:run "Go")
    assert.are.same({ "paused", 1 }, { result.status, #result.pending })
    assert.are.same({}, ran)
    run:approve "c2"
    assert(run:result())
    assert.are.same({ 1, 2 }, ran)
  end)

  it("may be asked for by arguments; calls before it run", function()
    local result = assert(careful(function(args) return args.a == 2 end):run "Go")
    assert.are.same({ "paused", "c2" }, { result.status, result.pending[1].id })
    assert.are.same({ 1 }, ran)
    assert.are.same({ "r1", "not run: the run ended before this call (paused)" }, answers(result.messages[3]))
  end)

  it("may change the arguments, which must fit; the history keeps the model's", function()
    local _, run = assert(careful(true):run "Go")
    assert.are.equal("arguments", raised(run.approve, run, "c1", { a = "x", b = 1 }).field)
    assert.are.equal("arguments", raised(run.approve, run, "c1", "x").field)
    run:approve("c1", { a = 7, b = 0 })
    run:deny "c2"
    local result = assert(run:result())
    assert.are.same({ 7 }, ran)
    assert.are.same({ "r7", "denied: no reason given" }, answers(result.messages[3]))
    assert.are.equal(1, result.messages[2].content[1].arguments.a)
  end)

  it("survives a dump, before the decision and after it", function()
    local one = careful(true)
    local _, run = assert(one:run "Go")
    run = assert(agent.load(one, run:dump()))
    assert.are.same({ "paused", 2 }, { run:summary().status, #run:summary().pending })
    run:approve("c1", { a = 9, b = 0 })
    run:deny("c2", "no")
    run = assert(agent.load(one, run:dump()))
    local result = assert(run:result())
    assert.are.same({ 9 }, ran)
    assert.are.same({ "r9", "denied: no" }, answers(result.messages[3]))
    assert.are.equal("completed", result.status)
  end)

  it("is not asked for a call that cannot be run", function()
    local result = assert(careful(true, nil, { use("c1", { a = "x" }) }):run "Go")
    assert.are.equal("completed", result.status)
  end)

  it("that cannot be told is a call that is not run", function()
    local result = assert(careful(function() error("no rules", 0) end, nil, { use "c1" }):run "Go")
    assert.are.same({ "not run: the check whether it needs approval failed: no rules" }, answers(result.messages[3]))
    assert.are.same({}, ran)
  end)

  it("of two calls with one id decides the first that waits", function()
    local _, run = assert(careful(true, nil, { use("c1", { a = 1, b = 0 }), use("c1", { a = 2, b = 0 }) }):run "Go")
    run:deny("c1", "not this one")
    run:approve "c1"
    local result = assert(run:result())
    assert.are.same({ 2 }, ran)
    assert.are.same({ "denied: not this one", "r2" }, answers(result.messages[3]))
  end)

  it("raises for calls that do not wait for it", function()
    local _, run = assert(careful(true):run "Go")
    assert.are.equal("call_id", raised(run.approve, run, "c9").field)
    run:approve "c1"
    assert.are.equal("call_id", raised(run.approve, run, "c1").field)
    assert.are.equal("call_id", raised(run.deny, run, "c1").field)
    assert.are.equal("reason", raised(run.deny, run, "c2", 5).field)
  end)
end)
