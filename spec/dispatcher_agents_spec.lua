-- Agents behind a dispatcher, over HTTP to the loopback provider.

local chat_lab = require "spec.support.chat_lab"
local koine = require "koine"
local wait = require "koine.wait"

local thread, message = chat_lab.thread, chat_lab.message

describe("agents behind a dispatcher", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  -- An adapter whose requests go to "/PREFIX/v1/messages".
  local function claude(prefix)
    return koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url .. "/" .. prefix, key = "test-key" }
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
      return koine.agent { adapter = claude "x" }
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
    local d = new(function() return koine.agent { adapter = claude "x" } end, log)
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
    local d = new(function() return koine.agent { adapter = claude "x", tools = { count } } end, log)
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
      return koine.agent { adapter = claude "x" }
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
      return koine.agent { adapter = claude "x" }, earlier
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

  it("need a function that makes them", function()
    local ok, err = pcall(koine.dispatcher.agents, {})
    assert.is_false(ok)
    assert.are.equal("new_agent", err.field)
  end)
end)
