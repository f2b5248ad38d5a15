-- Bounds of a run, and hooks that steer it: conditions, prepare, cancelling. With playbooks.

local generator = require "spec.support.generator"
local koine = require "koine"
local kit = require "spec.lua.agent.kit"

local agent = koine.agent
local add, assert_legal, calls, make, play = kit.add, kit.check_history, kit.calls, kit.make, kit.play
local raised, roles, use = kit.raised, kit.roles, kit.use

describe("stop", function()
  local function endless(n)
    local answers = {}
    for i = 1, n do answers[i] = calls(use("c" .. i)) end
    return play(table.unpack(answers))
  end

  it("comes after 50 steps when nothing else is said", function()
    local result = assert(make(endless(60)):run "Go")
    assert.are.same({ "stopped", "steps", 50 }, { result.status, result.reason, result.steps })
    assert.are.equal("5", result.messages[#result.messages].content[1].content)
    assert_legal(result.messages)
  end)

  it("has the reason that a condition of the caller's own has, at random", function()
    for seed = 1, 40 do
      local pick, answers, plain, own, reasons = generator(seed), {}, {}, {}, {}
      for i = 1, 6 do
        local batch = {}
        for k = 1, pick(3) do batch[k] = use(("c%d_%d"):format(i, k), nil, pick(3) == 1 and "other" or "add") end
        answers[i] = calls(table.unpack(batch))
      end
      for i, condition in ipairs { agent.steps(pick(6)), agent.tool(pick(2) == 1 and "other" or "add"),
        agent.tokens(pick(400)), agent.cost(1), agent.deadline(3600) } do
        if pick(3) == 1 or i == 1 then
          own[#own + 1] = condition
          plain[#plain + 1] = function(state) return condition(state) end -- which may change what it is given
        end
      end
      local other = koine.tool { name = "other", description = "Fails.", example = {},
        run = function() error "no" end }
      for i, stop in ipairs { own, plain } do
        local result = assert(make(play(table.unpack(answers)), { tools = { add(), other }, stop = stop }):run "Go")
        reasons[i] = { result.status, result.reason, result.steps, #result.calls, result.messages }
      end
      assert.are.same(reasons[2], reasons[1], "seed " .. seed)
    end
  end)

  it("gives a condition of the caller's a copy, beside ours too", function()
    local result = assert(make(endless(4), { stop = { agent.steps(3), function(state)
      for i in ipairs(state.calls) do state.calls[i] = nil end
    end, agent.tool "none" } }):run "Go")
    assert.are.equal(3, #result.calls)
  end)

  it("after steps lets the last calls be answered", function()
    local result = assert(make(endless(9), { stop = { agent.steps(2) } }):run "Go")
    assert.are.equal("user assistant user assistant user", roles(result.messages))
    assert.are.equal("5", result.messages[5].content[1].content)
    assert_legal(result.messages)
  end)

  it("after a tool waits for a call of it that went well", function()
    local book = play(calls(use("c1", { a = "x" }), use("c2", {}, "other")), calls(use "c3", use "c4"))
    local result = assert(make(book, { stop = { agent.tool "add" } }):run "Go")
    assert.are.same({ "stopped", "tool", 2 }, { result.status, result.reason, result.steps })
    assert.are.equal("5", result.messages[5].content[1].content)
    assert.are.equal("not run: the run ended before this call (tool)", result.messages[5].content[2].content)
    assert_legal(result.messages)
  end)

  it("at a deadline comes between units", function()
    local tool = add(function()
      koine.sleep(0.03)
      return "slept"
    end)
    local deadline = agent.deadline(0.02)
    local result = assert(make(endless(9), { tools = { tool }, stop = function(state)
      return #state.calls > 0 and deadline(state) or nil -- not before, however slow the machine
    end }):run "Go")
    assert.are.same({ "stopped", "deadline", 1 }, { result.status, result.reason, result.steps })
    assert.are.equal("slept", result.messages[3].content[1].content)
    assert_legal(result.messages)
    assert.are.equal("deadline", agent.deadline(5) { elapsed = 5.0 })
    assert.is_nil(agent.deadline(5) { elapsed = 4.9 })
  end)

  it("may be any function of the state", function()
    local seen = {}
    local result = assert(make(endless(9), { stop = { function(state)
      seen[#seen + 1] = ("%d %d %d"):format(state.steps, state.pending, #state.calls)
      assert.is_true(state.elapsed >= 0)
      if #state.calls == 2 then return "enough" end
    end } }):run "Go")
    assert.are.equal("enough", result.reason)
    assert.are.same({ "0 0 0", "1 1 0", "1 0 1", "2 1 1", "2 0 2" }, seen)
    assert.are.equal("stopped", assert(make(endless(1), { stop = function() return true end }):run "Go").reason)
  end)

  it("does not come when the model is done", function()
    assert.are.equal("completed", assert(make(play { content = "x" }, { stop = { agent.steps(1) } }):run "Go").status)
  end)

  it("has no conditions that cannot be", function()
    for name, value in pairs { steps = 0, tool = 5, tokens = -1, cost = "1", deadline = 0 } do
      assert.are.equal(name, raised(agent[name], value).field)
    end
    for _, name in ipairs { "tokens", "cost", "deadline" } do
      assert.are.equal(name, raised(agent[name], 0 / 0).field)
    end
  end)
end)

describe("prepare", function()
  it("may change adapter, tools, system, options and messages of one step", function()
    local first, second = play(calls(use "c1"), { content = "x" }), play(calls(use("c2", { n = 3 }, "double")))
    local double = koine.tool { name = "double", description = "d", example = { n = 1 }, run = function(args)
      return 2 * args.n
    end }
    local steps = {}
    local result = assert(make(first, { system = "s", prepare = function(step)
      steps[#steps + 1] = { step.number, #step.messages, step.usage.model_calls, step.stop_reason }
      if step.number == 2 then
        return { adapter = second, tools = { double }, system = "t", options = { max_tokens = 7 },
          messages = { { role = "user", content = "shorter" } } }
      end
    end }):run "Go")
    assert.are.same({ { 1, 1, 0 }, { 2, 3, 1, "tool_use" }, { 3, 5, 2, "tool_use" } }, steps)
    local log = second.call_log[1]
    assert.are.same({ "t", 7, "double", "shorter" }, { log.system, log.max_tokens, log.tools[1].name,
      log.messages[1].content })
    assert.are.equal("6", result.messages[5].content[1].content)
    assert.are.same({ "s", "add", 5 }, { first.call_log[2].system, first.call_log[2].tools[1].name,
      #first.call_log[2].messages })
    assert.are.equal("user assistant user assistant user assistant", roles(result.messages))
  end)

  it("is checked", function()
    for field, said in pairs { prepare = 5, ["prepare.modell"] = { modell = "m" }, ["prepare.tools"] = { tools = 5 },
      ["prepare.adapter"] = { adapter = 5 }, ["prepare.messages"] = { messages = "x" },
      ["prepare.options.stream"] = { options = { stream = true } },
      ["prepare.options.max_token"] = { options = { max_token = 1 } } } do
      local run = make(play { content = "x" }, { prepare = function() return said end }):start "Go"
      assert.are.equal(field, raised(run.step, run).field)
    end
  end)

  it("takes tools away for its step: they are then unknown", function()
    local result = assert(make(play(calls(use "c1"), { content = "x" }), { prepare = function()
      return { tools = {} }
    end }):run "Go")
    assert.are.equal('unknown tool "add"; there are: none', result.messages[3].content[1].content)
  end)
end)

describe("cancel", function()
  it("between units ends the run with a legal history", function()
    local run = make(play(calls(use "c1", use "c2"), { content = "x" })):start "Go"
    run:step()
    run:step()
    assert.is_true(run:cancel())
    assert.is_false(run:cancel())
    assert.is_nil(run:step())
    local result = assert(run:result())
    assert.are.equal("cancelled", result.status)
    assert.are.same({ "5", "not run: the run ended before this call (cancelled)" },
      { result.messages[3].content[1].content, result.messages[3].content[2].content })
    assert_legal(result.messages)
  end)

  it("from on_delta leaves the history as before the call", function()
    local run
    run = make(play { content = "Hello." }, { on_delta = function() run:cancel() end }):start "Go"
    local result = assert(run:result())
    assert.are.equal("cancelled", result.status)
    assert.are.equal("user", roles(result.messages))
    assert.are.equal(0, result.events)
  end)

  it("from prepare asks nothing any more", function()
    local book, run = play { content = "Hello." }, nil
    run = make(book, { prepare = function() run:cancel() end }):start "Hi"
    assert.are.equal("cancelled", assert(run:result()).status)
    assert.are.equal(0, #book.call_log)
  end)

  it("breaks off what prepare, needs_approval and checkpoint wait for; the run is whole", function()
    for _, name in ipairs { "prepare", "needs_approval", "checkpoint" } do
      local began, run = false, nil
      local function waits()
        if began then return end
        began = true
        koine.sleep(3600)
      end
      local more = { tools = { add(nil, name == "needs_approval" and { needs_approval = waits } or nil) } }
      if name ~= "needs_approval" then more[name] = waits end
      local book = play(calls(use "c1"), { content = "x" })
      run = make(book, more):start "Go"
      local result = koine.run(function()
        koine.spawn(function()
          repeat koine.sleep(0) until began
          run:cancel()
        end)
        return assert(run:result())
      end)
      assert.are.equal("cancelled", result.status)
      assert.are.equal(name == "prepare" and 0 or 1, #book.call_log)
      assert.are.equal(name == "checkpoint" and "user assistant user" or "user", roles(result.messages))
      assert_legal(result.messages)
      assert.are.equal("cancelled", assert(make(book):load(run:dump()):result()).status)
    end
  end)

  it("from on_event, a condition and the checkpoint holds at once, in a dump too", function()
    for _, name in ipairs { "on_event", "stop", "checkpoint" } do
      local ran, text, run = 0, nil, nil
      local function cancels(_, r)
        run:cancel()
        text = run:dump()
        return name == "stop" and "too late" or r and nil
      end
      local one = make(play(calls(use "c1"), { content = "x" }), { tools = { add(function() ran = ran + 1 end) },
        [name] = cancels })
      run = one:start "Go"
      assert.are.same({ "cancelled", 0 }, { assert(run:result()).status, ran })
      assert.are.equal("cancelled", assert(one:load(text):result()).status)
      assert.are.equal(0, ran)
      assert.is_false(run:cancel())
    end
  end)

  it("from a tool keeps its answer when it comes to its end", function()
    local tool = add(function(_, ctx)
      ctx.run:cancel()
      return "done"
    end)
    local result = assert(make(play(calls(use "c1"), { content = "x" }), { tools = { tool } }):run "Go")
    assert.are.equal("cancelled", result.status)
    assert.are.equal("done", result.messages[3].content[1].content)
    assert_legal(result.messages)
  end)

  it("ends a tool that waits, whose call then counts as interrupted", function()
    for _, parallel in ipairs { false, true } do
      local began, closed, expected = 0, 0, parallel and 2 or 1
      local note = { __close = function() closed = closed + 1 end }
      local tool = add(function()
        local held <close> = setmetatable({}, note) -- luacheck: ignore held
        began = began + 1
        koine.sleep(3600)
      end)
      local run = make(play(calls(use "c1", use "c2"), { content = "x" }), { tools = { tool }, parallel = parallel })
        :start "Go"
      local result = koine.run(function()
        koine.spawn(function()
          repeat koine.sleep(0.001) until began == expected
          run:cancel()
        end)
        return assert(run:result())
      end)
      assert.are.equal("cancelled", result.status)
      assert.are.equal(expected, closed)
      assert.is_truthy(result.messages[3].content[1].content:find "^interrupted: ")
      assert_legal(result.messages)
    end
  end)

  it("ends a tool whose closing raises, and nothing else", function()
    local began = false
    local tool = add(function()
      local bad <close> = setmetatable({}, { __close = function() error("in close", 0) end }) -- luacheck: ignore bad
      began = true
      koine.sleep(3600)
    end)
    local run = make(play(calls(use "c1"), { content = "x" }), { tools = { tool } }):start "Go"
    local status = koine.run(function()
      koine.spawn(function()
        repeat koine.sleep(0) until began
        run:cancel()
      end)
      return assert(run:result()).status
    end)
    assert.are.equal("cancelled", status)
  end)

  it("of the task around leaves a run that can go on", function()
    local began = false
    local tool = add(function()
      assert.is_false(began)
      began = true
      koine.sleep(3600)
    end)
    local run = make(play(calls(use "c1"), { content = "x" }), { tools = { tool } }):start "Go"
    koine.run(function()
      local task = koine.spawn(function() run:result() end)
      repeat koine.sleep(0.001) until began
      task:cancel()
    end)
    local result = assert(run:result())
    assert.are.equal("completed", result.status)
    assert.is_truthy(result.messages[3].content[1].content:find "^interrupted: ")
  end)
end)

describe("options", function()
  it("that do not exist are named with their path, before anything is asked", function()
    local book = play { content = "x" }
    local err = raised(agent, { adapter = book, options = { max_tokens = 1, max_token = 1 } })
    assert.are.same({ "ArgumentError", "options.max_token", "max_tokens" }, { err.class, err.field, err.expected })
    assert.is_truthy(err.message:find 'options.max_token: unknown option; did you mean "max_tokens"%?$', err.message)
    local one = agent { adapter = book }
    assert.are.equal("options.temprature", raised(one.start, one, "Hi", { options = { temprature = 1 } }).field)
    err = raised(one.start, one, "Hi", { options = { model = "m" } })
    assert.are.equal("options.model", err.field)
    assert.is_truthy(err.message:find("options.model: this is an option of the constructor", 1, true), err.message)
    assert.are.equal("options.1", raised(one.start, one, "Hi", { options = { "x" } }).field)
    assert.are.equal(0, #book.call_log)
  end)

  it("may have any value that the adapter takes", function()
    local one = agent { adapter = play { content = "x" } }
    one:start("Hi", { options = { thinking = "extreme", extra = { a = 1 }, timeout = { idle = 1 } } })
    for name, value in pairs { timeout = { idle = "x" }, stop_sequences = { 5 }, max_tokens = "unknown option" } do
      one:start("Hi", { options = { [name] = value } }) -- is refused by the adapter
    end
  end)

  it("are pointed to where one is given in place of a field", function()
    local one = agent { adapter = play { content = "x" } }
    local err = raised(one.run, one, "Hi", { max_tokens = 5 })
    assert.are.same({ "max_tokens", "options.max_tokens" }, { err.field, err.expected })
    assert.is_truthy(err.message:find("max_tokens: unknown field; did you mean options.max_tokens?", 1, true))
    assert.are.equal("options.thinking", raised(agent, { adapter = play { content = "x" }, thinking = "wow" }).expected)
    for _, name in ipairs { "colour", "stream" } do
      assert.is_nil(raised(one.run, one, "Hi", { [name] = true }).expected:find("options", 1, true))
    end
  end)
end)
