-- Runs that are loaded with another agent than the one that was saved, and checkpoints that fail.

local core = require "koine.core"
local koine = require "koine"
local kit = require "spec.lua.agent.kit"

local add, calls, make, play, raised, use = kit.add, kit.calls, kit.make, kit.play, kit.raised, kit.use

describe("calls that wait in a dump", function()
  -- A run whose two calls wait, loaded with these tools; an adapter that ends it.
  local function loaded(tools, change)
    local run = make(play(calls(use("c1", { a = 1, b = 1 }), use("c2", { a = 2, b = 2 })))):start "Go"
    run:step()
    local dump = core.decode(run:dump())
    if change then change(dump.state) end
    return assert(make(play { content = "x" }, { tools = tools }):load(core.encode(dump)))
  end

  -- Returns the answers to the calls.
  local function answers(run)
    local list = {}
    for i, block in ipairs(run:summary().messages[3].content) do list[i] = block.content end
    return list
  end

  it("need approval where the tool asks for it now, and only there", function()
    local ran = {}
    local run = loaded { add(function(args)
      ran[#ran + 1] = args.a
      return "ok"
    end, { needs_approval = function(args) return args.a == 2 end }) }
    assert.are.equal("paused", assert(run:result()).status)
    assert.are.same({ 1 }, ran)
    assert.are.equal("c2", run:summary().pending[1].id)
    run = loaded({ add() }, function(state) state.calls[1].approval = "asked" end)
    assert.are.equal("completed", assert(run:result()).status)
  end)

  it("keep the decisions that were made", function()
    local run = loaded({ add(nil, { needs_approval = true }) }, function(state)
      state.calls[1].approval, state.calls[2].approval = "given", "denied"
    end)
    assert.are.equal("completed", assert(run:result()).status)
    assert.are.same({ "2", "denied: no reason given" }, answers(run))
  end)

  it("must fit the tool as it is now, with the arguments that were put in place", function()
    local narrow = koine.tool { name = "add", description = "d", parameters = { type = "object", properties = {
      a = { maximum = 1 } } }, run = function(args) return args.a end }
    local run = loaded { narrow }
    assert(run:result())
    assert.are.same({ "1", "bad arguments: arguments.a: 1 or less expected, got 2" }, answers(run))
    run = loaded({ narrow }, function(state)
      for i, call in ipairs(state.calls) do call.approval, call.edited = "given", { a = 2 - i } end
    end)
    assert(run:result())
    assert.are.same({ "1", "0" }, answers(run))
    run = loaded({ narrow }, function(state) state.calls[2].approval = "given" end)
    assert(run:result())
    assert.are.same({ "1", "bad arguments: arguments.a: 1 or less expected, got 2" }, answers(run))
  end)

  it("run when the tool is there now, and are answered when it is not any more", function()
    local run = loaded({ add() }, function(state) state.calls[1].problem = "unknown tool \"add\"; there are: none" end)
    assert(run:result())
    assert.are.same({ "2", "4" }, answers(run))
    run = loaded({}, function(state) state.calls[1].approval = "asked" end)
    assert.are.equal("completed", assert(run:result()).status)
    assert.are.same({ "not run: the tool is not there any more", "not run: the tool is not there any more" },
      answers(run))
  end)

  it("that cannot be understood stay so", function()
    local run = make(play { content = { { type = "tool_use", id = "c1", name = "add", arguments_json = '{"a": 1,' } } })
      :start "Go"
    run:step()
    local again = assert(make(play { content = "x" }):load(run:dump()))
    assert(again:result())
    assert.is_truthy(answers(again)[1]:find "^the arguments are no JSON object: ")
  end)
end)

describe("a checkpoint that fails", function()
  -- A run of two calls whose checkpoint raises the nth time; how often the tool ran.
  local function failing(n, parallel)
    local told, ran = 0, 0
    local tool = add(function()
      ran = ran + 1
      return "ok"
    end)
    local run = make(play(calls(use "c1", use "c2"), { content = "x" }), { tools = { tool }, parallel = parallel,
      checkpoint = function()
        told = told + 1
        if told == n then error("disk full", 0) end
      end }):start "x"
    return run, function() return ran end
  end

  for _, parallel in ipairs { false, true } do
    it("loses no call and runs none twice, whenever it fails" .. (parallel and ", tools at once" or ""), function()
      for n = 1, parallel and 6 or 8 do
        local run, ran = failing(n, parallel)
        assert.are.equal("disk full", raised(run.result, run), "checkpoint " .. n)
        local result = assert(run:result())
        assert.are.equal(2, ran(), "checkpoint " .. n)
        assert.are.same({ "ok", "ok" }, { result.messages[3].content[1].content,
          result.messages[3].content[2].content })
        kit.check_history(result.messages)
      end
    end)
  end

  it("before a tool runs takes the mark back, also when the run is broken off in it", function()
    local ran, gate, waits = 0, {}, false
    local run = make(play(calls(use "c1"), { content = "x" }), { tools = { add(function()
      ran = ran + 1
      return "ok"
    end) }, checkpoint = function(r)
      local call = (core.decode(r:dump()).state.calls or {})[1]
      if not waits and call and call.started then
        waits = true
        require("koine.task.wait").park(gate)
      end
    end }):start "x"
    koine.run(function()
      local task = koine.spawn(function() run:result() end)
      repeat koine.sleep(0) until waits
      task:cancel()
    end)
    assert.is_nil(core.decode(run:dump()).state.calls[1].started)
    assert.are.equal("completed", assert(run:result()).status)
    assert.are.equal(1, ran)
  end)
end)
