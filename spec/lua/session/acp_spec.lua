-- Sessions by agents of other programs.

local acp_kit = require "spec.lua.protocol.acp.kit"
local kit = require "spec.lua.session.kit"
local koine = require "koine"
local raises = require("spec.lua.system.process_kit").raises

local WORKS = acp_kit.OPTIONS .. [[
agent.session.configOptions = array { { id = "model", name = "Model", category = "model", type = "select",
  currentValue = "small", options = array { { value = "small", name = "S" }, { value = "m-1", name = "M" } } },
  MODES }
local where
local new = agent.on["session/new"]
agent.on["session/new"] = function(params) where = params.cwd return new(params) end
agent.on["session/set_config_option"] = function() return { configOptions = agent.session.configOptions } end
local function tool(id, name, kind, run)
  update(id, { sessionUpdate = "tool_call", toolCallId = name, title = name, kind = kind,
    rawInput = { path = "n.txt" } })
  local reply = ask("session/request_permission", { sessionId = id, toolCall = { toolCallId = name },
    options = OPTIONS })
  local may = reply.outcome.optionId == "a"
  if may then run() end
  update(id, { sessionUpdate = "tool_call_update", toolCallId = name, status = may and "completed" or "failed" })
end
prompt(function(words, id)
  tool(id, "Write", "edit", function() io.open(where .. "/n.txt", "w"):close() end)
  tool(id, "Bash", "execute", function() io.open(where .. "/b.txt", "w"):close() end)
  update(id, { sessionUpdate = "usage_update", used = 1, size = 2, cost = { amount = 0.5, currency = "USD" } })
  text(id, words)
  return { stopReason = STOP, usage = { inputTokens = 3, outputTokens = 4 } }
end)]]

describe("a session by an agent of another program", function()
  local bench, work = kit.bench(), nil

  before_each(function()
    work = acp_kit.bench()
    bench.open()
  end)
  after_each(function()
    bench.close()
    work:close()
  end)

  local function provider(stop, modes, given)
    local options = work:options(("local STOP, MODES = %q, %s\n"):format(stop or "end_turn", modes or "nil") .. WORKS)
    options.cwd = nil
    for name, value in pairs(given or {}) do options[name] = value end
    return koine.session.acp(options)
  end

  it("has the result of every session", function()
    local deltas, seen = {}, {}
    local r = koine.session.run(provider(), bench.inputs { allowed_tools = { "edit" }, max_rounds = 3, system = "x",
      on_delta = function(delta) deltas[#deltas + 1] = delta.text end,
      on_event = function(event) seen[#seen + 1] = event.seq end })
    assert.same({ "completed", nil, "end_turn" }, { r.outcome, r.reason, r.stop_reason })
    assert.same({ "n.txt" }, { table.unpack(r.artifacts) })
    assert.equal("tool_call tool_result tool_call tool_result output", kit.kinds(r.events))
    assert.same({ 1, 2, 3, 4, 5 }, seen)
    assert.same({ "edit", "n.txt" }, { r.events[1].tool_kind, r.events[1].tool_input:match "n%.txt" })
    assert.same({ "Do it." }, deltas)
    assert.same({ 3, 4, 0.5, "m-1" }, { r.usage.tokens_in, r.usage.tokens_out, r.usage.cost_usd, r.usage.model })
    assert.is_true(r.usage.duration_seconds > 0)
    assert.same({ "max_rounds", "system" }, { table.unpack(r.ignored) })
    local audit = {}
    for i, one in ipairs(r.audit_log) do audit[i] = { one.tool_name, one.blocked, one.block_reason } end
    assert.same({ { "Write", false, "" }, { "Bash", true, "not_allowed" } }, audit)
    assert.equal("m-1", work:heard("session/set_config_option")[1].params.value)
  end)

  it("ends as the agent says", function()
    local OUTCOMES = { max_tokens = "completed", refusal = "blocked", cancelled = "blocked",
      max_turn_requests = "error" }
    for stop, outcome in pairs(OUTCOMES) do
      local r = koine.session.run(provider(stop), bench.inputs())
      assert.equal(outcome, r.outcome)
      assert.equal(stop == "max_tokens" or nil, r.truncated)
      assert.equal(({ refusal = "refusal", cancelled = "cancelled", max_turn_requests = "limit:max_rounds" })[stop],
        r.reason)
    end
  end)

  it("of an orchestrator plans only, where the agent can", function()
    local MODE = [[{ id = "mode", name = "Mode", category = "mode", type = "select", currentValue = "code",
      options = array { { value = "code", name = "C" }, { value = "plan", name = "P" } } }]]
    local r = koine.session.run(provider(nil, MODE), bench.inputs { role = "orchestrator", allowed_tools = { "edit" } })
    assert.same({ "completed", 0 }, { r.outcome, #r.artifacts })
    assert.equal("plan", work:heard("session/set_config_option")[1].params.value)
    r = koine.session.run(provider(), bench.inputs { role = "orchestrator" })
    assert.equal("error", r.outcome)
    assert.is_truthy(r.reason:find("no mode", 1, true))
  end)

  it("that cannot begin is an error", function()
    local r = koine.session.run(koine.session.acp { command = "no-such-agent" }, bench.inputs())
    assert.same({ "error", "connect" }, { r.outcome, r.error.kind })
    r = koine.session.run(provider(), bench.inputs { model = "other" })
    assert.is_truthy(r.outcome == "error" and r.reason:find("small, m-1", 1, true), r.reason)
  end)

  it("can be closed", function()
    local session = koine.session.events(provider(), bench.inputs { allowed_tools = { "edit" } })
    assert.equal("tool_call", session:next().kind)
    session:close()
    assert.same({ "error", "cancelled" }, { session:result().outcome, session:result().error.kind })
  end)

  it("names the real programs", function()
    assert.same({ "gemini", "--acp" }, { koine.session.acp { preset = "gemini" }.options.command,
      koine.session.acp { preset = "gemini" }.options.args[1] })
    assert.equal("claude-agent-acp", koine.session.acp { preset = "claude" }.options.command)
    assert.equal("codex-acp", koine.session.acp { preset = "codex" }.options.command)
    raises("preset", function() koine.session.acp { preset = "other" } end)
    raises("cwd", function() koine.session.acp { preset = "codex", cwd = "x" } end)
    raises("permission", function() koine.session.acp { preset = "codex", permission = "x" } end)
    assert.is_true(koine.session.is_provider(koine.session.acp { preset = "codex" }))
  end)
end)
