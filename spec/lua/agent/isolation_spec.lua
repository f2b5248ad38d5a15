-- Runs are isolated: a value that a run handed out or was given does not change it later. Bad values are refused at
-- once.

local core = require "koine.core"
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
