-- The agent's loop: units, events, results, what is answered without running, answers of every kind. With playbooks.

local core = require "koine.core"
local koine = require "koine"
local kit = require "spec.lua.agent.kit"

local agent = koine.agent
local add, assert_legal, calls, make, play = kit.add, kit.check_history, kit.calls, kit.make, kit.play
local kinds, raised, roles, use = kit.kinds, kit.raised, kit.roles, kit.use
local shape = kit.shape

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

  it("makes events as the answer had its blocks, numbered and stamped", function()
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
