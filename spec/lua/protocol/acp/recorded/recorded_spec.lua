-- Real agents, recorded (spec/agents/recorder.lua): what they said is played back, whole and in odd pieces, to the
-- client, which must say what it said then. What it makes of that is written here by hand.

local kit = require "spec.lua.protocol.acp.kit"
local koine = require "koine"
local scenario = require "spec.lua.protocol.acp.recorded.scenario"

local HERE = require("lfs").currentdir() .. "/spec/lua/protocol/acp/recorded/"
local WRITE, COMMAND = [[Write{"content":"one\n","file_path":"$CWD/a.txt"}]],
  [[echo one | tee a.txt{"command":"echo one | tee a.txt","cwd":"$CWD"}]]

-- What the agents have in common: the first and the last turn, and calls that were allowed or not.
local function said(usage, cost)
  return { events = { "output Hello there." }, ended = "end_turn", calls = {}, usage = usage, cost = cost }
end

local function stopped(bytes)
  local text = ("Still at it. "):rep(20):sub(1, bytes)
  return { events = { "output " .. text }, ended = "cancelled by us", calls = {}, usage = {}, text = text }
end

local function turn(events, ended, call, usage, cost)
  return { events = events, ended = ended, calls = { call }, usage = usage, cost = cost }
end

local AGENTS = {
  claude = { turns = {
    said({ 1639, 3 }, 0.00827),
    turn({ "tool_call " .. WRITE, "tool_result a text of 43 bytes failed", "output Done." },
      "end_turn", { "Write", "edit", "failed", true, "not now" }, { 3432, 21 }, 0.017685),
    turn({ "tool_call " .. WRITE, "tool_result $CWD/a.txt [$CWD/a.txt: none to one\n]", "output Done." },
      "end_turn", { "Write", "edit", "completed", false }, { 3694, 21 }, 0.018995),
    stopped(96) }, context = { used = 1934, size = 1000000 }, options = { mode = "default", model = "default" } },

  codex = { mode = "read-only", turns = {
    said { 7759, 3 },
    turn({ "tool_call " .. COMMAND, "tool_result  failed" }, "cancelled",
      { "echo one | tee a.txt", "execute", "failed", true, "not now" }, { 7838, 25 }),
    turn({ "tool_call " .. COMMAND, "tool_result one\n", "output Done." }, "end_turn",
      { "echo one | tee a.txt", "execute", "completed", false }, { 16269, 27 }),
    stopped(120) }, context = { used = 8201, size = 258400 }, title = "SAY-IT",
    options = { mode = "read-only", model = "gpt-5.5", thought_level = "medium" } },

  gemini = { turns = {
    said { 143, 3 },
    turn({ "tool_call Writing to a.txt{}", "output Done.", "tool_result denied: not now failed" }, "end_turn",
      { "Writing to a.txt", "edit", "failed", true, "not now" }, { 437, 21 }),
    turn({ "tool_call Writing to a.txt{}", "tool_result $CWD/a.txt [$CWD/a.txt:  to one\n]", "output Done." },
      "end_turn", { "Writing to a.txt", "edit", "completed", false }, { 678, 21 }),
    stopped(120) }, options = { mode = "default", model = "auto" } },
}

-- The events of a turn in short, with the diffs of results.
local function short(events)
  local list = kit.short(events)
  for i, event in ipairs(events) do
    for _, diff in ipairs(event.diffs or {}) do
      list[i] = ("%s [%s: %s to %s]"):format(list[i], diff.path, diff.old or "none", diff.new)
    end
    if event.is_error then list[i] = list[i] .. " failed" end
  end
  return list
end

describe("a recorded agent", function()
  local bench

  before_each(function() bench = kit.bench() end)
  after_each(function() bench:close() end)

  local function check(wanted, played)
    local events, calls = short(played.events), {}
    for i, event in ipairs(events) do events[i] = event:gsub(bench.dir:gsub("%p", "%%%0"), "$CWD") end
    assert.same(wanted.events, events)
    local result = played.result or played.err.partial
    for i, call in ipairs(result.calls) do
      calls[i] = { call.name, call.kind, call.status, call.blocked, call.reason }
    end
    assert.same(wanted.calls, calls)
    assert.equal(wanted.ended, played.err and played.err.kind .. " by us" or result.raw_stop_reason)
    assert.same(wanted.usage, { result.usage.input_tokens, result.usage.output_tokens })
    if wanted.text then assert.equal(wanted.text, result.text) end
    if wanted.cost then assert.near(wanted.cost, result.cost_usd, 1e-9) end
  end

  for name, wanted in pairs(AGENTS) do
    for _, size in ipairs { 1 << 20, 7 } do
      it(("is understood: %s, in pieces of %d bytes"):format(name, size), function()
        local options = bench:options("", { mode = wanted.mode })
        options.args = { HERE .. "agent.lua", HERE .. name .. ".jsonl", tostring(size), bench.log }
        local turns, session = scenario(options)
        assert.equal(#wanted.turns, #turns)
        for i, played in ipairs(turns) do check(wanted.turns[i], played) end
        assert.same({ wanted.context, wanted.title }, { session.context, session.title })
        local chosen = {}
        for _, option in ipairs(session.options) do
          if wanted.options[option.category] then chosen[option.category] = option.value end
        end
        assert.same(wanted.options, chosen)
        assert.equal(3, #session.commands)
        assert.equal("after: ", koine.files.read(bench.log))
      end)
    end
  end
end)
