-- koine.session: closing a session while it is at work, and two who ask the same session.

local kit = require "spec.lua.session.kit"
local koine = require "koine"
local repository = require "spec.lua.system.repository"
local toy_host = require "spec.lua.task.toy_host"
local wait = require "koine.task.wait"

local session = koine.session
local answering, bash, kinds, play, raised = kit.answering, kit.bash, kit.kinds, kit.play, kit.raised

describe("a session that is closed at work", function()
  local repo

  before_each(function() repo = repository.with { ["a.txt"] = "1\n" } end)
  after_each(function() repo:close() end)

  local function inputs(given) return kit.inputs(repo.dir, given) end

  local function until_there(name)
    local safety = wait.now() + 60
    while not repo:read(name) and wait.now() < safety do koine.sleep(0.005) end
    assert.is_truthy(repo:read(name))
  end

  local function assert_closed(result)
    assert.are.equal("error", result.outcome)
    assert.are.equal("cancelled", result.error.kind)
  end

  it("by its own on_delta: one audit record for each call, usage once", function()
    local opened
    opened = session.events(play { { content = { bash("c1", "x") } }, { content = "bye bye" } }, inputs {
      allowed_tools = { "bash" }, executor = answering(function() return "ok" end),
      on_delta = function(delta) if delta.type == "text_delta" then opened:close() end end })
    local result = opened:result()
    assert_closed(result)
    assert.are.equal("tool_call tool_result", kinds(result.events))
    assert.are.equal(1, #result.audit_log)
    assert.are.equal(1, result.usage.model_calls)
    assert.are.equal(result, opened:result())
    assert.is_nil(result.consumer_error)
  end)

  it("by its own on_event: nothing more is told, and each call told has its record", function()
    local opened, told
    opened = session.events(play { { content = { bash("c1", "x"), bash("c2", "x") } } }, inputs {
      allowed_tools = { "bash" }, executor = answering(error),
      on_event = function(event) told = (told or 0) + event.seq opened:close() end })
    local result = opened:result()
    assert_closed(result)
    assert.are.equal(1, told)
    assert.are.same({ "tool_call", 1 }, { kinds(result.events), #result.audit_log })
  end)

  it("by another task while a tool runs: the tool ends, and the reader has the result", function()
    local tool_ended
    local opened = session.events(play { { content = { bash("c1", "x") } }, { content = "never" } }, inputs {
      allowed_tools = { "bash" }, executor = answering(function()
        local ended <close> = setmetatable({}, { __close = function() tool_ended = true end }) -- luacheck: ignore ended
        repo:write("started", "")
        wait.park {}
      end) })
    koine.run(function()
      local task = koine.spawn(opened.result, opened)
      until_there "started"
      opened:close()
      assert.is_true(tool_ended)
      local result = task:wait()
      assert_closed(result)
      assert.are.equal(result, opened:result())
      assert.are.equal(1, #result.audit_log)
      assert.is_false(result.audit_log[1].blocked)
    end)
  end)

  -- A session whose model has bash run the command, and then says no more.
  local function running(command)
    return session.events(play { { content = { bash("c1", command) } }, { content = "never" } },
      inputs { allowed_tools = { "bash" } })
  end

  it("a command and what it started are gone when close returns", function()
    local result = koine.run(function()
      local opened = running "sleep 1000 & echo $! > sleeper\necho > started\nwait\necho > made.txt\n"
      local task = koine.spawn(opened.result, opened)
      until_there "started"
      opened:close()
      assert.is_nil((os.execute("kill -0 " .. repo:read "sleeper":gsub("\n", "") .. " 2>/dev/null")))
      return task:wait()
    end)
    assert_closed(result)
    assert.are.same({ "sleeper", "started" }, result.artifacts)
    assert.are.equal("tool_call", kinds(result.events))
  end)

  it("in a host's loop as well", function()
    local opened = running "echo > started\nsleep 1000\n"
    local result
    toy_host.run { function() result = opened:result() end, function()
      until_there "started"
      opened:close()
    end }
    assert_closed(result)
  end)

  it("before it began: nothing is run", function()
    local opened = running "echo > started\n"
    opened:close()
    opened:close()
    assert.is_nil(opened:next())
    assert_closed(opened:result())
    assert.is_nil(repo:read "started")
  end)

  describe("of a provider that only runs", function()
    local function provider(run) return { run_session = run } end

    it("before it began: it is not run", function()
      local runs = 0
      local opened = session.events(provider(function() runs = runs + 1 end), {})
      opened:close()
      assert_closed(opened:result())
      assert.is_nil(opened:next())
      assert.are.equal(0, runs)
    end)

    it("at work: its run is broken off", function()
      local began, ended, beyond
      koine.run(function()
        local opened = session.events(provider(function()
          local over <close> = setmetatable({}, { __close = function() ended = true end }) -- luacheck: ignore over
          began = true
          wait.park {}
          beyond = true
        end), {})
        local task = koine.spawn(opened.result, opened)
        while not began do koine.sleep(0) end
        opened:close()
        assert.is_true(ended)
        assert_closed(task:wait())
      end)
      assert.is_nil(beyond)
    end)

    it("after its end: the result stays", function()
      local made = session.result { outcome = "completed" }
      local opened = session.events(provider(function() return made end), {})
      assert.are.equal(made, opened:result())
      opened:close()
      assert.are.equal(made, opened:result())
    end)

    it("that returns nothing, or raises: an error", function()
      local result = session.run(provider(function() end), {})
      assert.are.same({ "error", "the provider gave no result" }, { result.outcome, result.reason })
      local given = setmetatable({}, { __tostring = function() return "mine" end })
      local koines = koine.errors.new { kind = "server", message = "down" }
      for _, raise in ipairs { error, function(err) return nil, err end } do
        for reason, err in pairs { mine = given, ["plain text"] = "plain text", down = koines } do
          local whole = { run_session = function() return raise(err, 0) end }
          local opens = { run_session = print, open_session = function() return raise(err, 0) end }
          for _, one in ipairs { whole, raise == error and opens or nil } do
            result = session.run(one, {})
            assert.are.same({ "error", reason }, { result.outcome, result.reason })
            assert.are.equal(koines.class == result.error.class and "server" or "other", result.error.kind)
          end
          local opened = session.events(whole, {})
          assert.is_nil(opened:next())
          assert.are.equal(reason, opened:result().reason)
        end
      end
    end)

    it("raises wrong use alone", function()
      local wrong = koine.errors.new { kind = "argument", message = "f: x expected", field = "f", expected = "x" }
      for class, raise in pairs { ArgumentError = function() error(wrong) end,
        NotImplementedError = session.provider.run_session } do
        assert.are.equal(class, raised(session.run, provider(raise), {}).class)
        assert.are.equal(class, raised(session.run, { run_session = print, open_session = raise }, {}).class)
      end
    end)
  end)
end)

describe("a session that two ask", function()
  local repo

  before_each(function() repo = repository.with { ["a.txt"] = "1\n" } end)
  after_each(function() repo:close() end)

  local function assert_busy(err)
    assert.are.same({ "ArgumentError", "session" }, { err.class, err.field })
  end

  -- Has `opened` asked twice, the second time once `begun` says so; `go` lets the first go on. The first's result.
  local function ask_twice(opened, begun, go)
    return koine.run(function()
      local task = koine.spawn(opened.result, opened)
      while not begun() do koine.sleep(0) end
      assert_busy(raised(opened.result, opened))
      go()
      return task:wait()
    end)
  end

  it("serves the first; the second is told, and what was told already can be read", function()
    local gate, runs = {}, 0
    local opened = session.events(play { { content = { bash("c1", "x") } }, { content = "bye" } },
      kit.inputs(repo.dir, { allowed_tools = { "bash" }, executor = answering(function()
        runs = runs + 1
        wait.park(gate)
        return "ok"
      end) }))
    local result = ask_twice(opened, function() return runs == 1 end, function()
      assert.are.equal("tool_call", opened:next().kind)
      assert_busy(raised(opened.next, opened))
      wait.wake(gate)
    end)
    assert.are.equal("completed", result.outcome)
    assert.are.equal("tool_call tool_result output", kinds(result.events))
    assert.are.equal(1, runs)
  end)

  it("its own on_event asks in vain, and breaks nothing", function()
    local opened
    opened = session.events(play { { content = "Hi" } }, kit.inputs(repo.dir, {
      on_event = function() opened:result() end }))
    local result = opened:result()
    assert.are.equal("completed", result.outcome)
    assert.is_truthy(result.consumer_error:find("one reader at a time", 1, true))
  end)

  it("of a provider that only runs: it runs once", function()
    local gate, runs, made = {}, 0, session.result { outcome = "completed" }
    local opened = session.events({ run_session = function()
      runs = runs + 1
      wait.park(gate)
      return made
    end }, {})
    assert.are.equal(made, ask_twice(opened, function() return runs == 1 end, function() wait.wake(gate) end))
    assert.are.equal(1, runs)
  end)

  it("goes on with another when the first was cancelled", function()
    local gate, runs = {}, 0
    local opened = session.events({ run_session = function()
      runs = runs + 1
      if runs == 1 then wait.park(gate) end
      return session.result { outcome = "completed" }
    end }, {})
    koine.run(function()
      local task = koine.spawn(opened.result, opened)
      while runs == 0 do koine.sleep(0) end
      task:cancel()
      assert.are.equal("completed", opened:result().outcome)
    end)
  end)
end)
