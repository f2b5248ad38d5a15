-- Agents behind a dispatcher, over HTTP to the loopback provider.

local chat_lab = require "spec.lua.dispatch.kit"
local koine = require "koine"
local wait = require "koine.task.wait"

local thread, message = chat_lab.thread, chat_lab.message

describe("agents behind a dispatcher", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  -- An adapter whose requests go to "/PREFIX/v1/messages", without a prefix to "/v1/messages".
  local function claude(prefix)
    return koine.anthropic { model = "claude-sonnet-4-5", key = "test-key",
      base_url = server.url .. (prefix and "/" .. prefix or "") }
  end

  local function path(prefix) return "/" .. prefix .. "/v1/messages" end

  -- A dispatcher over agents; what the hooks are told goes into `log`.
  local function new(new_agent, log)
    local target = koine.dispatcher.agents(new_agent)
    return koine.dispatcher { target = target, mode = "per-thread",
      on_done = function(m, at, result) log[#log + 1] = at.thread_id .. " " .. m.prompt .. ": " .. result.text end,
      on_error = function(m, at, err) log[#log + 1] = at.thread_id .. " " .. m.prompt .. " failed: " .. err.kind end,
      on_dispatch = function(record) log[#log + 1] = record.session_key .. " " .. record.outcome end }, target
  end

  local function step_out(d)
    repeat until not d:step()
  end

  -- The messages of the request that came as number i.
  local function sent(i)
    local body = require("cjson").decode(assert(server:requests())[i].body)
    return body.messages
  end

  it("answer in plain Lua, each thread with a history of its own", function()
    assert(server:script { { content = "Hello, Alice." }, { content = "Hello, Bob." }, { content = "You again." } })
    local made, log = {}, {}
    local d = new(function(key, ctx)
      made[#made + 1] = key .. " " .. ctx.thread.channel_id
      return koine.agent { adapter = claude() }
    end, log)
    for i, at in ipairs { "T1", "T2", "T1" } do
      d:submit(thread(at), message(i == 2 and "bob" or "alice", "m" .. i))
      step_out(d)
    end
    assert.are.same({ "slack:T1 C1", "slack:T2 C1" }, made)
    assert.are.same({ "T1 m1: Hello, Alice.", "slack:T1 ok", "T2 m2: Hello, Bob.", "slack:T2 ok",
      "T1 m3: You again.", "slack:T1 ok" }, log)
    local roles = {}
    for i, one in ipairs(sent(3)) do roles[i] = one.role end
    assert.are.same({ "user", "assistant", "user" }, roles)
    assert.are.equal("m3", sent(3)[3].content[2].text)
    for _, request in ipairs(assert(server:requests())) do assert.are.same({}, request.problems) end
  end)

  it("a batch is one message of the user", function()
    assert(server:script { { content = "Hello, both." } })
    local log = {}
    local d = new(function() return koine.agent { adapter = claude() } end, log)
    d:submit(thread "T1", message("alice", "one"))
    d:submit(thread "T1", message("bob", "two"))
    step_out(d)
    assert.are.equal(1, #sent(1))
    local texts = {}
    for i, block in ipairs(sent(1)[1].content) do texts[i] = block.text:match '"sender_name":"(%l+)"' or block.text end
    assert.are.same({ "alice", "one", "bob", "two" }, texts)
  end)

  it("of several threads wait side by side; a silent one is cancelled, and then answers the next message", function()
    assert(server:script { { path = path "T1", content = "never heard", fault = { stall_after = 0 } },
      { path = path "T2", content = "Hello from two." }, { path = path "T1", content = "Back again." } })
    local log = {}
    local d = new(function(_, ctx) return koine.agent { adapter = claude(ctx.thread.thread_id) } end, log)
    local function reach(n)
      while #log < n do wait.park({}, 0.001) end
    end
    koine.run(function()
      koine.spawn(d.run, d)
      d:submit(thread "T1", message("alice", "m1"))
      d:submit(thread "T2", message("bob", "m2"))
      reach(2) -- two has been answered while one waits
      assert.are.same({ "T2 m2: Hello from two.", "slack:T2 ok" }, log)
      d:submit(thread "T1", message("alice", "m3"))
      assert.is_true(d:cancel_turn(thread "T1"))
      reach(6)
      assert.are.same({ "T1 m1 failed: cancelled", "slack:T1 cancelled", "T1 m3: Back again.", "slack:T1 ok" },
        table.move(log, 3, 6, 1, {}))
      assert.are.equal(1, #sent(3)) -- what was cancelled before any answer is not in the history
      d:shutdown()
    end)
  end)

  it("that fail before their first answer leave the history as it was; later, what was done stays", function()
    local ran = 0
    local count = { name = "count", description = "Counts.", parameters = { type = "object" },
      run = function()
        ran = ran + 1
        return "counted"
      end }
    local refused = { error = { status = 400, message = "no such thing" } }
    local call = { content = { { type = "tool_use", id = "call_1", name = "count", arguments = {} } } }
    assert(server:script { refused, call, refused, { content = "Well." } })
    local log = {}
    local d = new(function() return koine.agent { adapter = claude(), tools = { count } } end, log)
    for i = 1, 3 do
      d:submit(thread "T1", message("alice", "m" .. i))
      step_out(d)
    end
    assert.are.same({ "T1 m1 failed: invalid_request", "slack:T1 error", "T1 m2 failed: invalid_request",
      "slack:T1 error", "T1 m3: Well.", "slack:T1 ok" }, log)
    assert.are.equal(1, ran)
    local texts = require("cjson").encode(sent(4))
    assert.is_nil(texts:find("m1", 1, true))
    assert.is_truthy(texts:find("m2", 1, true))
    assert.is_truthy(texts:find("counted", 1, true))
    for i, request in ipairs(assert(server:requests())) do assert.are.same({}, request.problems, "request " .. i) end
  end)

  it("are forgotten by a reset", function()
    assert(server:script { { content = "One." }, { content = "Two." } })
    local made, log = 0, {}
    local d = new(function()
      made = made + 1
      return koine.agent { adapter = claude() }
    end, log)
    d:submit(thread "T1", message("alice", "m1"))
    step_out(d)
    d:reset(thread "T1")
    d:submit(thread "T1", message("alice", "m2"))
    step_out(d)
    assert.are.equal(2, made)
    assert.are.equal(1, #sent(2))
  end)

  it("may begin with a history, or not at all", function()
    assert(server:script { { content = "As I said." } })
    local log = {}
    local earlier = { { role = "user", content = "Before." }, { role = "assistant", content = "Yes." } }
    local d, target = new(function(key)
      if key == "slack:T2" then return nil, koine.errors.new { kind = "auth", message = "no key" } end
      return koine.agent { adapter = claude() }, earlier
    end, log)
    d:submit(thread "T1", message("alice", "m1"))
    d:submit(thread "T2", message("alice", "m2"))
    step_out(d)
    assert.are.equal(3, #sent(1))
    assert.are.equal(2, #earlier)
    assert.are.equal(4, #target.sessions["slack:T1"].messages)
    table.sort(log)
    assert.are.same({ "T1 m1: As I said.", "T2 m2 failed: auth", "slack:T1 ok", "slack:T2 session_error" }, log)
  end)

  -- A tool; run() is called for each of its calls.
  local function counter(run, needs_approval)
    return { name = "count", description = "Counts.", parameters = { type = "object" }, run = run,
      needs_approval = needs_approval }
  end

  -- A turn of the model that calls the tool.
  local function call(id) return { content = { { type = "tool_use", id = id, name = "count", arguments = {} } } } end

  it("keep in their history what tools did when a callback raises", function()
    assert(server:script { call "c1", { content = "Well." } })
    local log, bad = {}, true
    local d, target = new(function()
      return koine.agent { adapter = claude(), tools = { counter(function() return "one" end) },
        on_event = function(event)
          if event.kind ~= "tool_result" or not bad then return end
          bad = false
          error("the display broke", 0)
        end }
    end, log)
    for i = 1, 2 do
      d:submit(thread "T1", message("alice", "m" .. i))
      step_out(d)
      assert.is_nil(target.sessions["slack:T1"].run)
    end
    assert.are.same({ "T1 m1 failed: other", "slack:T1 error", "T1 m2: Well.", "slack:T1 ok" }, log)
    assert.are.equal("one", sent(2)[3].content[1].content)
    for _, request in ipairs(assert(server:requests())) do assert.are.same({}, request.problems) end
  end)

  it("keep it when the turn is closed in the midst, by a sweep or by the end of koine.run", function()
    for _, close in ipairs { "sweep", "end" } do
      assert(server:reset())
      assert(server:script { call "c1", call "c2", { content = "Well." } })
      local log, ran = {}, 0
      local agent = koine.agent { adapter = claude(), tools = { counter(function()
        ran = ran + 1
        if ran == 2 then wait.park {} end
        return "one"
      end) } }
      local d, target = new(function() return agent end, log)
      target.cancel = nil
      pcall(koine.run, function()
        koine.spawn(d.run, d)
        d:submit(thread "T1", message("alice", "m1"))
        while ran < 2 do wait.park({}, 0.001) end
        if close == "end" then error "the ship sinks" end
        d:cancel_turn(thread "T1")
        d:sweep(wait.now() * 1000 + 60000)
        d:shutdown()
      end)
      local session = target.sessions["slack:T1"]
      assert.is_nil(session.run)
      assert.are.equal(5, #session.messages)
      assert.are.equal("one", session.messages[3].content[1].content)
      assert.is_truthy(session.messages[5].content[1].content:find "interrupted")
    end
  end)

  it("that wait for approval fail their turn; what was done stays", function()
    assert(server:script { call "c1", { content = "Then not." } })
    local log, ran, told = {}, 0, nil
    local agent = koine.agent { adapter = claude(), tools = { counter(function() ran = ran + 1 end, true) } }
    local d = koine.dispatcher { target = koine.dispatcher.agents(function() return agent end),
      on_done = function(_, _, result) log[#log + 1] = result.text end,
      on_warning = function(text) told = text end }
    for i = 1, 2 do
      d:submit(thread "T1", message("alice", "m" .. i))
      step_out(d)
    end
    assert.are.equal(0, ran)
    assert.is_truthy(told:find('"count" needs approval', 1, true))
    assert.are.same({ "Then not." }, log)
    assert.is_truthy(sent(2)[3].content[1].content:find "not run")
    for _, request in ipairs(assert(server:requests())) do assert.are.same({}, request.problems) end
  end)

  it("are checked before they are kept, and asked for again with the next turn", function()
    assert(server:script { { content = "At last." } })
    local answers = { { {} }, { "agent" }, { true, "history" }, { true, { { role = "system", content = "x" } } },
      { true } }
    local fields, made = {}, 0
    local target = koine.dispatcher.agents(function()
      made = made + 1
      local agent, messages = table.unpack(answers[made])
      return agent == true and koine.agent { adapter = claude() } or agent, messages
    end)
    local said
    local d = koine.dispatcher { target = target, on_error = function(_, _, err) fields[#fields + 1] = err.field end,
      on_done = function(_, _, result) said = result.text end }
    for i = 1, 5 do
      d:submit(thread "T1", message("alice", "m" .. i))
      step_out(d)
    end
    assert.are.same({ "agent", "agent", "messages", "messages[1].role" }, fields)
    assert.are.equal("At last.", said)
  end)

  it("need a function that makes them", function()
    local ok, err = pcall(koine.dispatcher.agents, {})
    assert.is_false(ok)
    assert.are.equal("new_agent", err.field)
  end)
end)
