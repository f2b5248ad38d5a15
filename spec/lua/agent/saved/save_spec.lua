-- Runs that outlive their process: dumps, and what is written ahead.

local core = require "koine.core"
local koine = require "koine"
local kit = require "spec.lua.agent.kit"

local agent = koine.agent
local add, calls, make, play, raised, use = kit.add, kit.calls, kit.make, kit.play, kit.raised, kit.use

-- Dumps of a run whose calls wait, which are not those of its last message.
local function spoilt_calls()
  local run = make(play(calls(use "c1", use "c2"))):start "Go"
  run:step()
  local good, list = run:dump(), {}
  for i, change in ipairs { function(s) s.calls[1].id = "c9" end, function(s) s.calls[2] = nil end,
    function(s) s.calls = nil end, function(s) s.calls[1], s.calls[2] = s.calls[2], s.calls[1] end,
    function(s) s.messages[#s.messages + 1] = { role = "user", content = "x" } end,
    function(s) s.calls[1].name = "sub" end,
    function(s) s.messages[2].content = "no calls" end } do
    local dump = core.decode(good)
    change(dump.state)
    list[i] = core.encode(dump)
  end
  return list
end

describe("a dump", function()
  it("goes on in another run from every step, to the same end", function()
    local function book()
      return play({ content = { { type = "text", text = "Let me see." }, use "c1", use("c2", { a = 1, b = 1 }) } },
        { content = "One, ", stop_reason = "pause_turn" }, { content = { { type = "tool_use", id = "c3", name = "add",
        arguments_json = '{"a": 1,' } } },
        { content = "Done.", usage = { input_tokens = 3, output_tokens = 4 } })
    end
    local whole = assert(make(book()):run "Go")
    local steps = 0
    for k = 0, 7 do
      local played = book()
      local one, seen = make(played), {}
      local run = one:start "Go"
      for _ = 1, k do
        for _, event in ipairs(run:step()) do seen[#seen + 1] = event.seq end
      end
      local text = run:dump()
      local loaded = assert(agent.load(make(played), text))
      assert.are.equal(core.decode(text).state.steps, loaded:summary().steps)
      for event in loaded:events() do seen[#seen + 1] = event.seq end
      local result = assert(loaded:result())
      for _, field in ipairs { "status", "messages", "text", "stop_reason", "usage", "steps", "events", "calls" } do
        assert.are.same(whole[field], result[field], field .. " after step " .. k)
      end
      for i = 1, whole.events do assert.are.equal(i, seen[i]) end
      assert.are.equal(whole.events, #seen)
      steps = k
    end
    assert.are.equal(7, steps)
  end)

  it("keeps every number, [], {}, null, and the model's own bytes", function()
    local json = '{"big": 9007199254740993, "sum":0.30000000000000004, "list":[], "map":{}, "none":[null], "f":1.0,'
      .. ' "huge": 123456789012345678901234567890, "deep":[{"x":[]}]}'
    local function book()
      return play({ content = { { type = "tool_use", id = "c1", name = "any", arguments_json = json } } },
        { content = "x" })
    end
    local any = koine.tool { name = "any", description = "d", parameters = { type = "object" },
      run = function(args)
        return core.encode(args)
      end }
    local one = make(book(), { tools = { any } })
    local history = { { role = "user", content = "Go" }, { role = "assistant", content = {
      { type = "tool_use", id = "u1", name = "any", arguments = { n = 9007199254740993, s = 0.1 + 0.2,
        l = koine.array {}, m = {}, z = koine.null } } } }, { role = "user", content = {
      { type = "tool_result", tool_use_id = "u1", content = "" } } } }
    local run = one:start(history)
    run:step()
    local text = run:dump()
    assert.is_truthy(text:find('"arguments":{"l":[],"m":{},"n":9007199254740993,"s":0.30000000000000004,"z":null}', 1,
      true))
    local loaded = assert(agent.load(one, text))
    assert.are.equal(text:gsub('"elapsed":[%d.e-]+', ""), (loaded:dump():gsub('"elapsed":[%d.e-]+', "")))
    local block = loaded:summary().messages[4].content[1]
    assert.are.equal(json, block.arguments_json)
    assert.are.equal("integer", math.type(block.arguments.big))
    local result = assert(loaded:result())
    local told = result.messages[5].content[1].content
    for _, part in ipairs { '"big":9007199254740993', '"sum":0.30000000000000004', '"list":[]', '"map":{}',
      '"f":1.0', '"deep":[{"x":[]}]', '"none":[null]' } do
      assert.is_truthy(told:find(part, 1, true), part .. " in " .. told)
    end
    local direct = assert(make(book(), { tools = { any } }):run(history))
    assert.are.equal(core.encode(direct.messages), core.encode(result.messages))
  end)

  it("sends the same bytes to a provider as the run that was never dumped", function()
    local server <close> = assert(koine.testing.start())
    local script = {
      { content = { { type = "thinking", thinking = "Hm.", signature = "c2ln" }, { type = "redacted_thinking",
        data = "cmVk" }, { type = "opaque", raw = { type = "server_tool_use", id = "srvtoolu_1", name = "web_search",
        input = { query = "x", n = 9007199254740993, e = koine.array {}, z = koine.null } } },
        { type = "tool_use", id = "toolu_1", name = "add", arguments_json = '{"b": 3, "a":2}' } } },
      { content = "5" } }
    local function bodies(through)
      assert(server:reset())
      assert(server:script(script))
      local one = make(koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "k" })
      local run = one:start "2 + 3?"
      while run:step() do
        if through then run = assert(agent.load(one, run:dump())) end
      end
      assert.are.equal("5", run:summary().text)
      local list = {}
      for i, request in ipairs(assert(server:requests())) do
        assert.are.same({}, request.problems)
        list[i] = request.body
      end
      return list
    end
    local direct, through = bodies(false), bodies(true)
    assert.are.equal(2, #direct)
    assert.is_truthy(direct[2]:find('"n":9007199254740993', 1, true))
    assert.is_truthy(direct[2]:find('{"b": 3, "a":2}', 1, true))
    assert.are.same(direct, through)
  end)

  it("holds neither the adapter nor tools, options and secrets", function()
    local server <close> = assert(koine.testing.start { script = { { content = { use "c1" } }, { content = "x" } } })
    local run = agent { adapter = koine.anthropic { model = "m", base_url = server.url, key = "sk-very-secret" },
      tools = { add() }, system = "A secret system.", options = { headers = { ["x-token"] = "very-secret" } } }
      :start "Go"
    repeat
      assert.is_nil(run:dump():find("secret", 1, true))
      assert.is_nil(run:dump():find("Adds.", 1, true))
    until not run:step()
    assert.are.equal("completed", run:summary().status)
  end)

  it("is told from other texts", function()
    local one = make(play { content = "x" })
    local good = core.decode(one:start "Go":dump())
    local function spoilt(change)
      local copy = core.decode(core.encode(good))
      change(copy)
      return core.encode(copy)
    end
    for _, text in ipairs { "", "{", "[]", "null", "12", '{"format":"koine.conversation","version":1,"history":[]}',
      spoilt(function(d) d.version = 2 end), spoilt(function(d) d.state = nil end),
      spoilt(function(d) d.state.messages = "x" end), spoilt(function(d) d.state.messages = { { role = "x" } } end),
      spoilt(function(d) d.state.status = "flying" end), spoilt(function(d) d.state.usage = {} end),
      spoilt(function(d) d.state.calls = { { id = 1 } } end), spoilt(function(d) d.state.steps = -1 end),
      spoilt(function(d) d.state.calls = core.array {} end), spoilt(function(d) d.state.more = 1 end),
      spoilt(function(d) d.state.outbox = { { kind = 1 } } end), spoilt(function(d) d.state.elapsed = "1" end),
      spoilt(function(d) d.state.calls = { { id = "c", name = "n", arguments = {}, arguments_json = "{}" } } end),
      table.unpack(spoilt_calls()) } do
      local run, err = agent.load(one, text)
      assert.is_nil(run, text)
      assert.are.same({ "Error", "bad_dump" }, { err.class, err.code })
    end
    for i = 1, #core.encode(good) - 1 do
      assert.is_nil((agent.load(one, core.encode(good):sub(1, i))))
    end
    assert.are.equal("text", raised(agent.load, one, good).field)
    assert.are.equal("agent", raised(agent.load, {}, "").field)
    assert.are.equal("completed", assert(one:load(core.encode(good)):result()).status)
  end)

  it("counts the time before it, not the time between", function()
    local one = make(play({ content = { use "c1" } }, { content = "x" }), { tools = { add(function()
      koine.sleep(0.03)
      return "slept"
    end) }, stop = { agent.deadline(0.02) } })
    local run = one:start "Go"
    run:step()
    run:step()
    local text = run:dump()
    assert.is_true(core.decode(text).state.elapsed >= 0.02)
    local result = assert(assert(agent.load(one, text)):result())
    assert.are.equal("deadline", result.reason)
  end)
end)

describe("write-ahead", function()
  it("marks a call as started before its tool runs, and tells the checkpoint", function()
    local saved, inside = {}, nil
    local tool = add(function(_, ctx)
      inside = core.decode(saved[#saved]).state.calls[1]
      ctx.run:dump()
      return "ok"
    end)
    local one = make(play({ content = { use "c1" } }, { content = "x" }), { tools = { tool },
      checkpoint = function(run) saved[#saved + 1] = run:dump() end })
    assert(one:run "Go")
    assert.is_true(inside.started)
    assert.is_nil(inside.content)
    local marks = {}
    for i, text in ipairs(saved) do
      local call = (core.decode(text).state.calls or {})[1]
      marks[i] = call and (call.content and "answered" or call.started and "started" or "waiting") or "none"
    end
    assert.are.equal("waiting started answered none none", table.concat(marks, " "))
  end)

  it("never runs a call again that had started; the model is told", function()
    local ran, saved = 0, nil
    local tool = add(function()
      ran = ran + 1
      return "ok"
    end)
    local one = make(play({ content = { use "c1", use "c2" } }, { content = "x" }), { tools = { tool },
      checkpoint = function(run)
        local call = (core.decode(run:dump()).state.calls or {})[1]
        if call and call.started and not call.content then saved = run:dump() end
      end })
    local run = one:start "Go"
    run:step()
    run:step()
    assert.are.equal(1, ran)
    local result = assert(assert(agent.load(one, saved)):result())
    assert.are.equal(2, ran) -- c2
    assert.are.equal("interrupted: this call did not come to its end; it may have had its effect or not",
      result.messages[3].content[1].content)
    assert.are.same({ true, "ok" }, { result.messages[3].content[1].is_error, result.messages[3].content[2].content })
    assert.is_true(result.calls[1].executed)
  end)

  it("tells the answers that a process did not come to tell", function()
    local saved
    local one = make(play({ content = { use "c1" } }, { content = "x" }), { checkpoint = function(run)
      local call = (core.decode(run:dump()).state.calls or {})[1]
      if call and call.content then saved = run:dump() end
    end, stop = { agent.steps(1) } })
    assert(one:run "Go")
    local run = assert(agent.load(one, saved))
    local made = run:step()
    assert.are.same({ 1, "tool_result", "5" }, { #made, made[1].kind, made[1].content })
    local result = assert(run:result())
    assert.are.same({ "steps", 1, 3 }, { result.reason, #result.calls, #result.messages })
  end)

  it("hands out the events that were left before it makes another unit", function()
    local saved
    local one = make(play({ content = { { type = "text", text = "a" }, use "c1" } }, { content = "x" }), {
      on_event = function(_, run) saved = saved or run:dump() end })
    one:start "Go":step()
    local left = play { content = "x" }
    local run = assert(agent.load(make(left), saved))
    local made = run:step()
    assert.are.same({ 1, "tool_call" }, { #made, made[1].kind })
    assert.are.same({}, run:summary().calls)
    made = run:step()
    assert.are.same({ 1, "tool_result" }, { #made, made[1].kind })
    assert.are.equal(0, #left.call_log)
  end)

  it("hands out every event once to a host that saves in on_event", function()
    local function book() return play({ content = { { type = "text", text = "a" }, use "c1" } }, { content = "x" }) end
    for stop_at = 1, 4 do
      local seen, saved = {}, nil
      local one = make(book(), { on_event = function(event, run)
        seen[#seen + 1] = event.seq
        saved = run:dump()
        if #seen == stop_at then error("the power fails", 0) end
      end })
      assert.are.equal("the power fails", raised(one.run, one, "Go"))
      local left = book()
      for _ = 1, core.decode(saved).state.steps do assert(left:chat "skip") end
      local after = make(left, { on_event = function(event) seen[#seen + 1] = event.seq end })
      assert(assert(agent.load(after, saved)):result())
      assert.are.same({ 1, 2, 3, 4 }, seen)
    end
  end)
end)
