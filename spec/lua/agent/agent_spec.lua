-- The agent's loop: units, events, results, what is answered without running, turns of every kind. With playbooks.

local core = require "koine.core"
local errors = require "koine.data.errors"
local koine = require "koine"
local kit = require "spec.lua.agent.kit"

local agent = koine.agent
local add, assert_legal, calls, make, play = kit.add, kit.check_history, kit.calls, kit.make, kit.play
local kinds, raised, roles, use = kit.kinds, kit.raised, kit.roles, kit.use

-- The blocks of a message as "type:what".
local function shape(message)
  local list = {}
  for i, block in ipairs(message.content) do
    list[i] = block.type .. ":" .. tostring(block.text or block.name or block.content)
  end
  return table.concat(list, ", ")
end

describe("run", function()
  it("asks, runs what is called, and asks again until the model is done", function()
    local book = play({ content = { { type = "text", text = "Let me add." }, use "c1" } }, { content = "It is 5." })
    local result, run = assert(make(book, { system = "Be brief.", options = { max_tokens = 9 } }):run "2 + 3?")
    assert.are.equal("completed", result.status)
    assert.are.equal("It is 5.", result.text)
    assert.are.equal("end_turn", result.stop_reason)
    assert.are.equal("It is 5.", result.response:text())
    assert.are.equal(2, result.steps)
    assert.are.equal(4, result.events)
    assert.are.equal("user assistant user assistant", roles(result.messages))
    assert.are.equal("text:Let me add., tool_use:add", shape(result.messages[2]))
    assert.are.same({ type = "tool_result", tool_use_id = "c1", content = "5", is_error = false },
      result.messages[3].content[1])
    assert_legal(result.messages)
    for i = 1, 2 do
      assert.are.equal("Be brief.", book.call_log[i].system)
      assert.are.equal(9, book.call_log[i].max_tokens)
      assert.are.equal("add", book.call_log[i].tools[1].name)
    end
    assert.are.same({ { id = "c1", name = "add", arguments_json = '{"a":2,"b":3}', is_error = false,
      executed = true } }, result.calls)
    assert.is_nil(run:step())
    assert.are.same(result.messages, run:summary().messages)
    book:verify_all_consumed()
  end)

  it("takes a history, which stays as it is", function()
    local history = { { role = "user", content = "Hi" }, { role = "assistant", content = "Hello." },
      { role = "user", content = { { type = "text", text = "2 + 3?" } } } }
    local book = play(calls(use "c1"), { content = "5" })
    local result = assert(make(book):run(history))
    assert.are.equal(3, #history)
    assert.are.equal("user assistant user assistant user assistant", roles(result.messages))
    assert.are.equal("Hello.", book.call_log[1].messages[2].content)
  end)

  it("needs no tools", function()
    local book = play { content = "Hello." }
    assert.are.equal("Hello.", assert(agent { adapter = book }:run "Hi").text)
    assert.is_nil(book.call_log[1].tools)
  end)

  it("names the caller's line where an option of the model calls is wrong", function()
    local one = agent { adapter = play { content = "x" }, options = { max_tokens = "many" } }
    for _, inside in ipairs { false, true } do
      local err
      local function f() err = raised(function() one:run "Hi" end) end
      if inside then koine.run(f) else f() end
      assert.are.equal("max_tokens", err.field)
      assert.is_truthy(err.message:find "^spec/lua/agent/agent_spec%.lua:%d+: max_tokens: integer")
    end
  end)

  it("may have fields of its own", function()
    local seen = {}
    local one = make(play({ content = "a" }, { content = "b" }), { system = "s",
      on_event = function() seen[1] = 0 end })
    assert(one:run("Hi", { on_event = function(event) seen[#seen + 1] = event.content end, system = "t" }))
    assert.are.same({ "a" }, seen)
    assert.are.equal("t", one.spec.adapter.call_log[1].system)
    assert(one:run "Hi")
    assert.are.same({ 0 }, seen)
    assert.are.equal("s", one.spec.adapter.call_log[2].system)
    assert.are.equal("on_events", raised(one.run, one, "Hi", { on_events = print }).field)
  end)

  it("refuses what is no agent and no history", function()
    local book = play { content = "a" }
    for field, given in pairs { adapter = {}, tools = { adapter = book, tools = "add" },
      ["tools[2].name"] = { adapter = book, tools = { add(), add() } }, stop = { adapter = book, stop = 5 },
      ["tools[1].name"] = { adapter = book, tools = { {} } }, ["stop[1]"] = { adapter = book, stop = { "steps" } },
      ["options.tools"] = { adapter = book, options = { tools = {} } }, on_event = { adapter = book, on_event = 1 },
      parallel = { adapter = book, parallel = 1 }, system = { adapter = book, system = 1 },
      toolz = { adapter = book, toolz = {} } } do
      local err = raised(agent, given)
      assert.are.equal("ArgumentError", err.class)
      assert.are.equal(field, err.field)
    end
    local one = make(book)
    for _, messages in ipairs { 5, {}, { role = "user", content = "Hi" }, { { role = "system", content = "x" } },
      { { role = "user", content = "x", hook = print } } } do
      assert.are.equal("ArgumentError", raised(one.start, one, messages).class)
    end
  end)
end)

describe("step", function()
  it("makes one unit: a model call or a tool call", function()
    local ran = {}
    local tool = add(function(args)
      ran[#ran + 1] = args.a
      return "r" .. args.a
    end)
    local book = play(calls(use("c1", { a = 1, b = 0 }), use("c2", { a = 2, b = 0 })), { content = "Done." })
    local run = make(book, { tools = { tool } }):start "Go"
    assert.are.equal(0, #book.call_log)
    assert.are.equal("tool_call tool_call", kinds(run:step()))
    assert.are.same({}, ran)
    assert.are.equal("running", run:summary().status)
    assert.are.equal("tool_result", kinds(run:step()))
    assert.are.same({ 1 }, ran)
    assert.are.equal("tool_result", kinds(run:step()))
    assert.are.same({ 1, 2 }, ran)
    assert.are.equal(1, #book.call_log)
    assert.are.equal("output", kinds(run:step()))
    assert.is_nil(run:step())
    assert.is_nil(run:step())
    assert.are.equal("completed", run:summary().status)
  end)

  it("makes events as the turn had its blocks, numbered and stamped", function()
    local book = play({ content = { { type = "thinking", thinking = "Hm.", signature = "s" },
      { type = "redacted_thinking", data = "xx" }, { type = "text", text = "One." }, use "c1",
      { type = "text", text = "Two." }, use "c2" } }, { content = "Done." })
    local before, seen = core.wall(), {}
    local run = make(book, { on_event = function(event, r) seen[#seen + 1] = { event, r } end }):start "Go"
    local list = {}
    for event in run:events() do list[#list + 1] = event end
    assert.are.equal("reasoning reasoning output tool_call output tool_call tool_result tool_result output",
      kinds(list))
    for i, event in ipairs(list) do
      assert.are.equal(i, event.seq)
      assert.is_true(event.timestamp >= before and event.timestamp <= core.wall())
      assert.are.equal(event, seen[i][1])
      assert.are.equal(run, seen[i][2])
      event.seq, event.timestamp = nil, nil
    end
    assert.are.same({ kind = "reasoning", content = "Hm." }, list[1])
    assert.are.same({ kind = "reasoning", content = "", redacted = true }, list[2])
    assert.are.same({ kind = "output", content = "One." }, list[3])
    assert.are.same({ kind = "tool_call", content = "", tool_name = "add", tool_input = '{"a":2,"b":3}',
      tool_call_id = "c1" }, list[4])
    assert.are.same({ kind = "tool_result", content = "5", tool_name = "add", tool_call_id = "c2", is_error = false },
      list[8])
    assert.are.equal("completed", assert(run:result()).status)
  end)

  it("shows the author what a tool raised and where, also after a dump; the model only what", function()
    local line = debug.getinfo(1, "l").currentline + 1
    local tool = add(function() error "no paper" end)
    local run = make(play(calls(use "c1"), { content = "x" }), { tools = { tool } }):start "Go"
    run:step()
    local event = assert(run:step())[1]
    assert.are.same({ "tool_result", "no paper", true }, { event.kind, event.content, event.is_error })
    assert.is_truthy(event.traceback:find("agent_spec.lua:" .. line .. ": no paper\nstack traceback:", 1, true))
    local loaded = assert(agent.load(make(play { content = "x" }, { tools = { tool } }), run:dump()))
    assert.are.equal("no paper", assert(loaded:result()).messages[3].content[1].content)
  end)

  it("is one at a time", function()
    local run
    local tool = add(function() return raised(run.step, run).field end)
    run = make(play(calls(use "c1"), { content = "x" }), { tools = { tool } }):start "Go"
    assert.are.equal("step", run:summary() and assert(run:result()).messages[3].content[1].content)
  end)

  it("leaves an event loop where it is, and another goes on", function()
    local run = make(play(calls(use "c1", use "c2"), { content = "x" })):start "Go"
    for event in run:events() do
      if event.tool_call_id == "c1" then break end
    end
    local rest = {}
    for event in run:events() do rest[#rest + 1] = event.tool_call_id or event.content end
    assert.are.same({ "c2", "c1", "c2", "x" }, rest)
  end)

  it("streams to on_delta, which the model call then asks for", function()
    local text = {}
    local book = play { content = "Hello." }
    assert(make(book, { on_delta = function(delta) text[#text + 1] = delta.text end }):run "Hi")
    assert.are.equal("Hello.", table.concat(text))
    assert.is_true(book.call_log[1].stream)
  end)

  it("hands on what callbacks raise, unchanged, and can go on", function()
    for _, name in ipairs { "on_delta", "on_event", "prepare", "checkpoint" } do
      local fail = true
      local run = make(play({ content = "a" }, { content = "b" }), { [name] = function()
        if fail then
          fail = false
          error("stop it", 0)
        end
      end }):start "Hi"
      assert.are.equal("stop it", raised(run.result, run), name)
      local result = assert(run:result())
      assert.are.equal("completed", result.status)
      assert.are.equal("user assistant", roles(result.messages))
    end
  end)
end)

describe("a call", function()
  -- What the model is told of one call, and how often the tool ran.
  local function answered(block, tool, more)
    local ran = 0
    local counted = add(function(...)
      ran = ran + 1
      return (tool or function() return "ok" end)(...)
    end, more)
    local result = assert(make(play(calls(block), { content = "x" }), { tools = { counted } }):run "Go")
    assert_legal(result.messages)
    local told = result.messages[3].content[1]
    return told.content, told.is_error, ran, result
  end

  it("of an unknown tool is answered, not run", function()
    local content, is_error, ran = answered(use("c1", {}, "remove"))
    assert.are.same({ 'unknown tool "remove"; there are: add', true, 0 }, { content, is_error, ran })
  end)

  it("with arguments that are no JSON object is answered, not run", function()
    local content, is_error, ran = answered { type = "tool_use", id = "c1", name = "add", arguments_json = '{"a": 1,' }
    assert.is_truthy(content:find("^the arguments are no JSON object: "))
    assert.are.same({ true, 0 }, { is_error, ran })
  end)

  it("with arguments nested too deeply for a request is answered, not run", function()
    local json = '{"a":' .. ("["):rep(110) .. ("]"):rep(110) .. "}"
    local content, _, ran, result = answered { type = "tool_use", id = "c1", name = "add", arguments_json = json }
    assert.are.equal("the arguments are no JSON object: nested deeper than 100 levels", content)
    assert.are.equal(0, ran)
    assert.are.equal(json, result.messages[2].content[1].arguments_json)
  end)

  it("with arguments that do not fit is told which field", function()
    local content, is_error, ran = answered(use("c1", { a = 1, b = "two" }))
    assert.are.same({ 'bad arguments: arguments.b: integer expected, got "two"', true, 0 }, { content, is_error, ran })
  end)

  it("that raises is answered with the message, and the run goes on", function()
    local content, is_error, ran, result = answered(use "c1", function() error("no paper", 0) end)
    assert.are.same({ "no paper", true, 1, "completed" }, { content, is_error, ran, result.status })
  end)

  it("that takes too long is answered as timed out", function()
    local content, is_error = answered(use "c1", function() koine.sleep(3600) end, { timeout = 0.01 })
    assert.are.same({ "timed out after 0.01 s", true }, { content, is_error })
  end)

  it("that was refused is in the result's calls", function()
    local _, is_error, _, result = answered(use "c1", function() return "no", { blocked = true, reason = "policy" } end)
    assert.is_true(is_error)
    assert.are.same({ { id = "c1", name = "add", arguments_json = '{"a":2,"b":3}', is_error = true, blocked = true,
      reason = "policy", executed = true } }, result.calls)
  end)

  it("may answer with blocks; the event has their text", function()
    local blocks = { { type = "text", text = "a" }, { type = "text", text = "b" } }
    local book, seen = play(calls(use "c1"), { content = "x" }), {}
    local result = assert(make(book, { tools = { add(function() return blocks end) },
      on_event = function(event) seen[#seen + 1] = event end }):run "Go")
    assert.are.same(blocks, result.messages[3].content[1].content)
    assert.are.equal("a\nb", seen[2].content)
  end)

  it("gets its arguments as a copy, the run and its id", function()
    local seen
    local _, _, _, result = answered(use "c1", function(args, ctx)
      args.a, seen = 99, ctx
      return "ok"
    end)
    assert.are.same({ id = "c1", name = "add" }, seen.call)
    assert.are.equal("koine.agent.run", getmetatable(seen.run).__name)
    assert.are.equal(2, result.messages[2].content[1].arguments.a)
  end)

  it("that meets trouble of the machine ends the run with that error", function()
    for _, parallel in ipairs { false, true } do
      local err = errors.new { kind = "executor", message = "unreachable" }
      local tool = add(function(args) return args.a == 2 and error(err) or "fine" end)
      local book = play(calls(use("c1", { a = 1, b = 1 }), use "c2", use("c3", { a = 3, b = 3 })), { content = "x" })
      local result, got, run = make(book, { tools = { tool }, parallel = parallel }):run "Go"
      assert.is_nil(result)
      assert.are.equal(err, got)
      local so_far = run:summary()
      assert.are.equal("failed", so_far.status)
      assert.are.equal(err, so_far.error)
      assert_legal(so_far.messages)
      local results = so_far.messages[3].content
      assert.are.equal("fine", results[1].content)
      assert.is_truthy(results[2].content:find "^interrupted: ")
      -- going on: the started call is not run again
      result = assert(run:result())
      assert.is_truthy(result.messages[3].content[2].content:find "^interrupted: ")
      assert.are.equal("completed", result.status)
    end
  end)
end)

describe("a turn", function()
  it("that the provider paused is sent back and becomes one message", function()
    local book = play({ content = "One, ", stop_reason = "pause_turn" }, { content = "two, ", stop_reason =
      "pause_turn" }, { content = { { type = "text", text = "three." }, use "c1" } }, { content = "Done." })
    local result = assert(make(book):run "Count")
    assert.are.equal("user assistant user assistant", roles(result.messages))
    assert.are.equal("text:One, , text:two, , text:three., tool_use:add", shape(result.messages[2]))
    assert.are.equal("text:One, ", shape(book.call_log[2].messages[2]))
    assert.are.equal("text:One, , text:two, ", shape(book.call_log[3].messages[2]))
    assert.are.equal(4, result.steps)
    assert_legal(result.messages)
  end)

  it("that is paused with calls has them answered first", function()
    local book = play({ content = "One, ", stop_reason = "pause_turn" }, { content = { use "c1" }, stop_reason =
      "pause_turn" }, { content = "Done." })
    local result = assert(make(book):run "Go")
    assert.are.equal("user assistant user assistant", roles(result.messages))
    assert.are.equal("text:One, , tool_use:add", shape(result.messages[2]))
    assert.are.equal("text:Done.", shape(result.messages[4]))
    assert_legal(result.messages)
  end)

  it("that is paused for ever is an error in the end", function()
    local turns = {}
    for i = 1, 40 do turns[i] = { content = "x", stop_reason = "pause_turn" } end
    local result, err, run = make(play(table.unpack(turns))):run "Count"
    assert.is_nil(result)
    assert.are.equal("limit", err.kind)
    assert.are.equal(17, run:summary().steps)
    assert_legal(run:summary().messages)
  end)

  it("that stops for tools and calls none is a protocol error", function()
    local base = koine.custom_adapter { name = "odd", options = { model = "m" }, open = function()
      return { next = function() end, response = function()
        return { model = "m", stop_reason = "tool_use", content = "x", usage = { input_tokens = 1, output_tokens = 1 } }
      end }
    end }
    local result, err, run = agent { adapter = base }:run "Hi"
    assert.is_nil(result)
    assert.are.equal("protocol", err.kind)
    assert.are.equal("user", roles(run:summary().messages))
    assert.are.equal(1, run:summary().usage.output_tokens)
  end)

  it("that was cut off is the end; its calls are answered, not run", function()
    local ran = 0
    local tool = add(function() ran = ran + 1 end)
    local book = play { content = { { type = "text", text = "So" }, use "c1",
      { type = "tool_use", id = "c2", name = "add", arguments_json = '{"a": 1' } }, stop_reason = "max_tokens" }
    local result = assert(make(book, { tools = { tool } }):run "Go")
    assert.are.equal("completed", result.status)
    assert.are.equal("max_tokens", result.stop_reason)
    assert.are.equal("So", result.text)
    assert.are.equal(0, ran)
    assert_legal(result.messages)
    assert.are.equal("not run: the turn was cut off (max_tokens)", result.messages[3].content[2].content)
    assert.are.same({}, result.calls)
  end)

  it("that the model or a filter refuses is the end", function()
    local result = assert(make(play { content = { { type = "refusal", text = "No." } }, stop_reason = "refusal" })
      :run "Go")
    assert.are.equal("completed", result.status)
    assert.are.equal("refusal", result.stop_reason)
    for _, reason in ipairs { "sensitive", "context_overflow", "stop_sequence", "max_tokens" } do
      result = assert(make(play { content = "So", stop_reason = reason }):run "Go")
      assert.are.same({ "completed", reason }, { result.status, result.stop_reason })
    end
  end)

  it("that fails leaves the history as before; another step tries again", function()
    local book = play(calls(use "c1"), { error = { status = 500, message = "oops" } },
      { stream_error = { type = "api_error", message = "later" }, content = "half an ans" }, { content = "Done." })
    local run = make(book):start "Go"
    assert.are.equal("tool_call", kinds(run:step()))
    assert.are.equal("tool_result", kinds(run:step()))
    for _ = 1, 2 do
      local made, err = run:step()
      assert.is_nil(made)
      assert.are.equal("ServerError", err.class)
      assert.are.equal("failed", run:summary().status)
      assert.are.equal("user assistant user", roles(run:summary().messages))
    end
    local result = assert(run:result())
    assert.are.equal("Done.", result.text)
    assert.is_nil(result.error)
    assert_legal(result.messages)
  end)

  it("that says nothing is an end too", function()
    local result = assert(make(play { content = {} }):run "Go")
    assert.are.same({ "completed", "", 0 }, { result.status, result.text, result.events })
  end)
end)
