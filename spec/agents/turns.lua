-- What every real agent is asked, by koine.acp.connect and by koine.session.acp: an answer, a tool that is denied and
-- allowed, an end in the middle of a turn, and that none of its processes is left.

local agents = require "spec.agents"
local assert = require "luassert"
local koine = require "koine"
local recorder = require "spec.agents.recorder"

local function kinds(events)
  local list = {}
  for _, event in ipairs(events) do list[#list + 1] = event.kind end
  return table.concat(list, " ")
end

-- The inputs of a session that has the tool called.
local function inputs(world, agent, given)
  local made = { workdir = world.work, role = "implementor", model = "default", prompt = "CALL-IT",
    context_files = {}, allowed_tools = { agent.kind }, require_git = false }
  for key, value in next, given or {} do made[key] = value end
  return made
end

--- Defines the tests of an agent: `preset`, a name of koine.acp.presets; `packages`, the folder of its npm packages;
-- `name`, as it calls itself; `tool` and `input(directory)`, of a tool that writes "one\n" to a.txt; `kind`, that of
-- the tool; `options(world)`, further options of connect; `forgets`, whether its sessions end with their process;
-- `model`, one that it can change to. `spec` has the functions of the spec's environment.
return function(spec, agent)
  local it, world = spec.it, nil

  spec.before_each(function() world = agents.new(agent.tool, agent.input) end)
  spec.after_each(function() world:close() end)

  local function options(permission)
    local made = agent.options(world)
    made.permission = permission
    return world:options(agent.preset, agent.packages, made)
  end

  local function connect(permission) return assert(koine.acp.connect(options(permission))) end

  local function provider(permission)
    local made = options(permission)
    made.cwd, made.preset = nil, agent.preset
    return koine.session.acp(made)
  end

  it("answers, and its usage is known", function()
    local connection <close> = connect()
    assert.equal(agent.name, connection.agent.name)
    local session <close> = assert(connection:new())
    local events = {}
    local result = assert(session:prompt("SAY-IT", { on_event = function(event) events[#events + 1] = event end }))
    assert.same({ "Hello there.", "completed", "end_turn", "output" },
      { result.text, result.status, result.stop_reason, kinds(events) })
    assert.is_true(result.usage.input_tokens > 0 and result.usage.output_tokens > 0)
    connection:close()
    assert.equal(0, world:left())
  end)

  for permission, may in pairs { deny = false, allow = true } do
    it(("asks for a tool, with permission %q"):format(permission), function()
      local connection <close> = connect(permission)
      local session = assert(connection:new())
      local events = {}
      local result = assert(session:prompt("CALL-IT", { on_event = function(event) events[#events + 1] = event end }))
      local call = result.calls[1]
      assert.same({ 1, agent.kind, may and "completed" or "failed", not may },
        { #result.calls, call.kind, call.status, call.blocked or false })
      assert.matches(may and "^tool_call tool_result output$" or "^tool_call ", kinds(events))
      assert.equal(may and "one\n" or nil, world:file "a.txt")
      connection:close()
      assert.equal(0, world:left())
    end)
  end

  it("stops when its turn is cancelled, and answers again", function()
    local connection <close> = connect()
    local session = assert(connection:new())
    local begun = false
    local turn <close> = assert(session:start("WAIT-IT", { on_delta = function()
      if not begun then session:cancel() end
      begun = true
    end }))
    local _, err = turn:result()
    assert.same({ true, "cancelled" }, { begun, err and err.kind })
    assert.matches("Still at it", err.partial.text)
    -- Claude Code may still send the rest of the cancelled message, as a part of the next turn.
    assert.matches("Hello there%.$", assert(session:prompt "SAY-IT").text)
    session:close()
    assert.equal("closed", session.state)
    connection:close()
    assert.equal(0, world:left())
  end)

  it(agent.forgets and "begins anew in another process" or "goes on with a session in another process", function()
    local connection <close> = connect()
    local session, can = assert(connection:new()), connection.capabilities
    assert(session:prompt "SAY-IT")
    local id = session.id
    session:close()
    local found = not can.list
    for _, one in ipairs(can.list and assert(connection:list { cwd = world.work }) or {}) do
      found = found or one.id == id
    end
    assert.is_true(found and can.load)
    for _, how in ipairs { not agent.forgets and "load" or nil, can.resume and "resume" or nil } do
      local again = assert(connection[how](connection, id))
      assert.matches("Hello there%.$", assert(again:prompt "SAY-IT").text)
      again:close()
    end
    assert.is_true(assert(connection:take_up "01a20ac5-0f10-7ae0-b0cb-8950f3545a70").reset)
    connection:close()
    assert.equal(0, world:left())
  end)

  if agent.model then
    it("changes its model", function()
      local connection <close> = connect()
      local session = assert(connection:new())
      assert.matches("unknown value", select(2, session:set("model", "none")).message)
      assert(session:set("model", agent.model))
      for _, option in ipairs(session.options) do
        if option.category == "model" then assert.equal(agent.model, option.value) end
      end
      assert(session:prompt "SAY-IT")
      assert.matches("model " .. agent.model:gsub("%p", "%%%0"), world.provider:log())
    end)
  end

  local folder = os.getenv "KOINE_RECORD" -- where recordings go
  if folder then
    it("is recorded", function() recorder(world, options(), ("%s/%s.jsonl"):format(folder, agent.packages)) end)
  end

  it("plays coding sessions", function()
    local result = koine.session.run(provider(), inputs(world, agent))
    assert.same({ "completed", "tool_call tool_result output", agent.kind }, { result.outcome,
      kinds(result.events):gsub(" outcome.*", ""), result.events[1].tool_kind })
    assert.equal("one\n", world:file "a.txt")
    assert.is_false(result.audit_log[1].blocked)
    assert.equal(0, world:left())
  end)

  it("is bound by the tools that a session allows", function()
    local result = koine.session.run(provider(), inputs(world, agent, { allowed_tools = { "search" } }))
    assert.is_true(result.audit_log[1].blocked)
    assert.is_nil(world:file "a.txt")
    assert.equal(0, world:left())
  end)
end
