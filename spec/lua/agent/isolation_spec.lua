-- Runs are isolated: a value that a run handed out or was given does not change it later. Bad values are refused at
-- once.

local core = require "koine.core"
local generator = require "spec.support.generator"
local koine = require "koine"
local kit = require "spec.lua.agent.kit"

local agent = koine.agent
local add, calls, make, play, raised, use = kit.add, kit.calls, kit.make, kit.play, kit.raised, kit.use

-- A cycle, a function, a number that JSON has not.
local function unfit()
  local cycle = {}
  cycle.again = cycle
  return { cycle, { f = print }, { n = 0 / 0 } }
end

describe("the history", function()
  it("keeps what a tool said that uses its table again", function()
    local out, n = { { type = "text", text = "" } }, 0
    local tool = add(function()
      n = n + 1
      out[1].text = "r" .. n
      return out
    end)
    local result = assert(make(play(calls(use "c1"), calls(use "c2"), { content = "x" }), { tools = { tool } }):run "x")
    assert.are.equal("r1", result.messages[3].content[1].content[1].text)
    assert.are.equal("r2", result.messages[5].content[1].content[1].text)
  end)

  it("is not what prepare, conditions, summaries and responses show", function()
    local run = make(play(calls(use "c1"), { content = "x" }), {
      prepare = function(step)
        step.messages[1].content, step.usage.input_tokens = "CHANGED", 1 << 40
      end,
      stop = function(state)
        state.usage.input_tokens, state.calls[1] = 1 << 40, nil
      end }):start "orig"
    repeat
      local summary = run:summary()
      summary.messages[1].content, summary.usage.output_tokens = "CHANGED", 1 << 40
      if summary.response then summary.response.content[1].name = "CHANGED" end
      for _, message in ipairs(summary.messages) do
        if type(message.content) == "table" then message.content[1].type = "CHANGED" end
      end
    until not run:step()
    local result = assert(run:result())
    assert.are.same({ "orig", "add", "5" }, { result.messages[1].content, result.messages[2].content[1].name,
      result.messages[3].content[1].content })
    assert.is_true(result.usage.input_tokens < 1 << 40 and result.usage.output_tokens < 1 << 40)
    assert.are.equal(1, #result.calls)
  end)

  it("is not changed by the arguments that approval edits", function()
    local result, run = make(play(calls(use "c1"), { content = "x" }), { tools = { add(nil, { needs_approval = true })
      } }):run "x"
    local one = result.pending[1]
    one.arguments.a = 1000
    run:approve(one.id, one.arguments)
    result = assert(run:result())
    assert.are.equal(2, result.messages[2].content[1].arguments.a)
    assert.are.equal("1003", result.messages[3].content[1].content)
  end)

  it("is as before after a response that cannot be kept", function()
    local given, n = unfit(), 0
    given[#given + 1] = "not a table"
    local run = agent { adapter = { chat = function()
      n = n + 1
      local block = given[n] and { type = "tool_use", id = "c1", name = "add", arguments = given[n] }
        or { type = "text", text = "x" }
      return { content = { { type = "text", text = "Let me add." }, block }, tool_calls = { block },
        stop_reason = given[n] and "tool_use" or "end_turn", usage = {} }
    end }, stop = agent.steps(9) }:start "x"
    local events = {}
    for i = 1, #given do
      local ok, made, err = pcall(run.step, run)
      local summary = run:summary()
      if i == 1 then -- a cycle is nested too deeply
        assert.is_true(ok and made ~= nil)
        run = agent.load(agent { adapter = run.spec.adapter }, run:dump())
        assert(run:step())
      else
        assert.are.equal("protocol", err and err.kind, "case " .. i)
        assert.are.equal("failed", summary.status)
      end
      kit.check_history(run:summary().messages)
      assert.are.equal(3, #run:summary().messages)
      assert.is_truthy(core.decode(run:dump()))
      events[i] = run:summary().events
    end
    assert.are.same({ 3, 3, 3, 3 }, events)
    assert.are.equal("completed", assert(run:result()).status)
  end)
end)

describe("an agent", function()
  it("is not changed by the tables it was made of", function()
    local stop, options = { agent.steps(1) }, { metadata = { user_id = "a" } }
    local system = { { type = "text", text = "Be brief." } }
    local book = play(calls(use "c1"), calls(use "c2"), { content = "x" })
    local one = make(book, { stop = stop, options = options, system = system })
    stop[1], options.metadata.user_id, options.max_tokens, system[1].text = agent.steps(9), "b", 7, "Be long."
    assert.are.equal("steps", assert(one:run "x").reason)
    local log = book.call_log[1]
    assert.are.same({ "a", "Be brief." }, { log.metadata.user_id, log.system[1].text })
    assert.is_nil(log.max_tokens)
  end)

  it("refuses a single tool, and a table with other keys, in the place of an array", function()
    local book = play { content = "a" }
    for field, given in pairs { tools = { tools = add() }, stop = { stop = { steps = 5 } },
      ["tools[1].name"] = { tools = { { name = "bad name", description = "d", run = print } } },
      ["tools[1].parameters.type"] = { tools = { { name = "t", description = "d", run = print,
        parameters = { city = "Paris" } } } },
      ["tools[1].example.f"] = { tools = { { name = "t", description = "d", run = print, example = { f = print } } } },
      ["tools[1].toolz"] = { tools = { { name = "t", toolz = 1 } } } } do
      given.adapter = book
      local err = raised(agent, given)
      assert.are.same({ "ArgumentError", field }, { err.class, err.field })
      assert.is_truthy(err.message:find(field .. ": ", 1, true))
    end
    assert.are.equal("messages", raised(agent { adapter = book }.start, agent { adapter = book },
      { { role = "user", content = "x" }, more = 1 }).field)
    local run = agent { adapter = book, prepare = function() return { tools = add() } end }:start "x"
    assert.are.equal("prepare.tools", raised(run.step, run).field)
  end)
end)

describe("a value that cannot be kept", function()
  it("from a tool is an error result, and the run can be saved", function()
    for _, value in ipairs(unfit()) do
      local tool = add(function() return { { type = "text", text = "x", more = value } } end)
      local result = assert(make(play(calls(use "c1"), { content = "x" }), { tools = { tool },
        checkpoint = function(run) run:dump() end }):run "x")
      local told = result.messages[3].content[1]
      assert.is_true(told.is_error)
      assert.is_truthy(told.content:find("the tool returned what cannot be sent", 1, true))
    end
  end)

  it("is refused by approve", function()
    for _, parameters in ipairs { { type = "object" }, { type = "object", additionalProperties = { type = "array",
      uniqueItems = true } } } do
      local tool = koine.tool { name = "add", description = "d", parameters = parameters, run = print,
        needs_approval = true }
      local _, run = make(play(calls(use("c1", { a = { 1 } })), { content = "x" }), { tools = { tool } }):run "x"
      for _, value in ipairs(unfit()) do
        local err = raised(run.approve, run, "c1", { a = { value } })
        assert.are.same({ "ArgumentError", "arguments" }, { err.class, err.field })
      end
      assert.are.equal(1, #run:summary().pending)
    end
  end)

  it("of an adapter, that gives nothing or no response, is a failure", function()
    for message, answers in pairs { ["the adapter gave neither a response nor an error"] = { false },
      ["the adapter's answer is no response"] = { true, "text", {}, { content = "text" },
        { content = {}, stop_reason = 5 } } } do
      for _, given in ipairs(answers) do
        local result, err, run = agent { adapter = { chat = function() return given or nil end } }:run "x"
        assert.is_nil(result)
        assert.are.same({ "Error", "other", message }, { err.class, err.kind, err.message })
        assert.are.same({ "failed", 1 }, { run:summary().status, #run:summary().messages })
      end
    end
  end)
end)

describe("tools that are not offered", function()
  it("are neither sent nor named, and answer all the same", function()
    local hidden = add(function() return "refused", { blocked = true } end, { hidden = true })
    local shown = koine.tool { name = "shown", description = "d", run = print }
    local book = play(calls(use("c1", {}, "telepathy"), use "c2"), { content = "x" })
    local result = assert(make(book, { tools = { hidden, shown } }):run "x")
    assert.are.same({ 1, "shown" }, { #book.call_log[1].tools, book.call_log[1].tools[1].name })
    local told = result.messages[3].content
    assert.are.equal('unknown tool "telepathy"; there are: shown', told[1].content)
    assert.are.equal("refused", told[2].content)
    book = play { content = "x" }
    assert(make(book, { tools = { hidden } }):run "x")
    assert.is_nil(book.call_log[1].tools)
  end)
end)

-- Stands between an agent and an adapter, which therefore checks all that it is given.
local function wrapped(adapter)
  return { chat = function(_, messages, opts) return adapter:chat(messages, opts) end }
end

-- An adapter of answers (tables of a Response); `seen` gets what each call was given, as text; `spoil` may change that.
local function adapter_of(answers, seen, spoil)
  local n = 0
  return koine.custom_adapter { name = "a", options = { model = "m" }, open = function(_, messages)
    n = n + 1
    seen[#seen + 1] = core.encode(messages)
    if spoil then spoil(messages) end
    local answer = answers[n] or { content = "The end.", stop_reason = "end_turn" }
    answer.model, answer.stop_reason = "m", answer.stop_reason or "tool_use"
    return { next = function() end, response = function() return answer.failure == nil and answer or nil,
      answer.failure end }
  end }
end

-- Answers at random: calls, pauses, failures, and now and then calls without results to come.
local function random_answers(pick)
  local answers = {}
  for i = 1, pick(8) do
    local kind = pick(6)
    local uses = {}
    for k = 1, pick(3) do uses[k] = use(("c%d_%d"):format(i, k)) end
    answers[i] = kind == 1 and { content = { { type = "text", text = "part " } }, stop_reason = "pause_turn" }
      or kind == 2 and { failure = { kind = "server", message = "oops" } }
      or kind == 3 and { content = uses, stop_reason = "pause_turn" }
      or kind == 4 and { content = uses, stop_reason = "max_tokens" }
      or { content = uses, stop_reason = "tool_use" }
  end
  return answers
end

-- Plays a run of these answers: its summaries after each step, in text, and what its adapter was given.
local function play_answers(answers, between)
  local seen, told = {}, {}
  local adapter = adapter_of(answers, seen)
  local run = koine.agent { adapter = between and between(adapter) or adapter, tools = { add() } }:start "Go"
  for _ = 1, 40 do
    local ok, made, err = pcall(run.step, run)
    local summary = run:summary()
    told[#told + 1] = ("%s %s %s %s %s"):format(ok, not ok and made.field or made and #made, err and err.message,
      summary.status, core.encode(summary.messages))
    if ok and not made and not err then break end
  end
  return told, seen
end

describe("the history that an adapter sees", function()
  it("is what one sees that checks all of it each time, at random", function()
    local steps = 0
    for seed = 1, 100 do
      local answers = random_answers(generator(seed))
      local told, seen = play_answers(answers)
      local plainly_told, plainly_seen = play_answers(answers, wrapped)
      assert.are.same(plainly_told, told, "seed " .. seed)
      assert.are.same(plainly_seen, seen, "seed " .. seed)
      steps = steps + #seen
    end
    assert.is_true(steps > 300)
  end)

  it("is a list of its own in each call, with the same messages", function()
    local lists = {}
    local adapter = adapter_of({ kit.calls(use "c1"), kit.calls(use "c2") }, {}, function(list)
      lists[#lists + 1] = list
    end)
    assert(koine.agent { adapter = adapter, tools = { add() } }:run "Go")
    assert.are.same({ 1, 3, 5 }, { #lists[1], #lists[2], #lists[3] })
    assert.are.equal(lists[1][1], lists[3][1])
    assert.are.equal(lists[2][3], lists[3][3])
  end)

  it("is not the run's, so that one may spoil it", function()
    local function spoil(messages)
      messages[1].content = { { type = "none" } }
      messages[#messages + 1] = "no message"
    end
    local spoilt, next_seen = {}, {}
    local bad = adapter_of({ kit.calls(use "c1"), kit.calls(use "c2"), kit.calls(use "c3") }, spoilt, spoil)
    local good = adapter_of({ kit.calls(use "c9") }, next_seen)
    local result, run = koine.agent { adapter = bad, tools = { add() }, prepare = function(step)
      return step.number > 3 and { adapter = good } or nil
    end }:run "Go"
    kit.check_history(assert(result).messages)
    assert.are.same({ 3, 2 }, { #spoilt, #next_seen })
    assert.are.same({ "completed", "Go", 10 }, { result.status, result.messages[1].content, #result.messages })
    local list = core.decode(next_seen[1])
    assert.are.same({ "Go", 7 }, { list[1].content, #list })
    kit.check_history(core.decode(next_seen[2]))
    assert.is_truthy(koine.agent.load(koine.agent { adapter = good }, run:dump()))
  end)

  it("is checked again where prepare gives messages of its own", function()
    local seen, given = {}, { { role = "user", content = "one" } }
    local run = koine.agent { adapter = adapter_of({ kit.calls(use "c1"), kit.calls(use "c2") }, seen),
      tools = { add() }, prepare = function() return { messages = given } end }:start "Go"
    assert(run:step())
    given[1] = { role = "user", content = { { type = "none" } } }
    assert(run:step())
    local err = kit.raised(run.step, run)
    assert.are.same({ "ArgumentError", "messages[1].content[1].type" }, { err.class, err.field })
  end)

  it("is checked by each of several adapters, and by those behind a note's", function()
    local seen, inner_seen, fields = {}, {}, {}
    local inner = adapter_of({}, inner_seen)
    local outer = koine.custom_adapter { name = "outer", options = { model = "m" }, open = function(_, messages, opts)
      seen[#seen + 1] = #messages
      messages[1] = { role = "user", content = { { type = "none" } } }
      opts.model = nil
      local ok, err = pcall(inner.open, inner, messages)
      fields[#fields + 1] = not ok and err.field or "none"
      messages[1] = { role = "user", content = "Go" }
      return assert(inner:open(messages))
    end }
    assert(koine.agent { adapter = outer, tools = { add() } }:run "Go")
    assert.are.same({ 1, "messages[1].content[1].type", 1 }, { seen[1], fields[1], #inner_seen })
  end)
end)
