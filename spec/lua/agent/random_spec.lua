-- Runs at random, from fixed seeds: answers of every kind, failures, approvals, processes that end between any two
-- steps or within a tool. Whatever happens: the history is legal, no tool runs twice for a call, every event is handed
-- out once, in order, and every call of the history is answered.

local core = require "koine.core"
local errors = require "koine.data.errors"
local koine = require "koine"
local kit = require "spec.lua.agent.kit"

local SEEDS = 300

-- A small generator, the same everywhere.
local function random(seed)
  local x = seed * 2654435761 % 4294967296
  return function(n)
    x = (1103515245 * x + 12345) % 2147483648
    return x // 65536 % n + 1
  end
end

-- An answer of the model: text, calls (some of them wrong), a pause, a cut, a failure. `id` counts calls.
local function turn_of(pick, id)
  local kind = pick(12)
  if kind == 1 then return { error = { status = 500, message = "oops" } } end
  if kind == 2 then return { content = "part ", stop_reason = "pause_turn" } end
  local content = {}
  if pick(2) == 1 then content[1] = { type = "thinking", thinking = "Hm.", signature = "s" } end
  if pick(2) == 1 then content[#content + 1] = { type = "text", text = "Let me see." } end
  for _ = 1, pick(4) do
    id.n = id.n + 1
    local names = { "work", "work", "careful", "unknown" }
    content[#content + 1] = { type = "tool_use", id = "c" .. id.n, name = names[pick(4)],
      arguments = pick(6) == 1 and { n = "x" } or { n = id.n } }
  end
  return { content = content, stop_reason = kind == 3 and "max_tokens" or nil }
end

local function script_of(pick)
  local steps, id = {}, { n = 0 }
  for i = 1, pick(6) do
    steps[i] = turn_of(pick, id)
    steps[i].step, steps[i].type = i, "answer"
  end
  steps[#steps + 1] = { step = #steps + 1, type = "answer", content = "The end." }
  return koine.testing.playbook(steps)
end

-- Plays one run to its end, through as many processes as it takes.
local function play(seed)
  local pick = random(seed)
  local book, ran, seen, saved = script_of(pick), {}, {}, nil
  local function work(args, ctx)
    local id = ctx.call.id
    assert.is_nil(ran[id], "a tool ran twice for " .. id)
    ran[id] = true
    local what = pick(8)
    if what == 1 then error(errors.new { kind = "executor", message = "unreachable" }) end
    if what == 2 then error("the process dies", 0) end
    if what == 3 then koine.sleep(1e-6) end
    if what == 4 then return nil, "no luck" end
    return "done " .. args.n
  end
  local died -- a tool that dies takes its process with it: what was saved is all that is left
  local function dying(args, ctx)
    local ok, result, why = pcall(work, args, ctx)
    if ok then return result, why end
    if result == "the process dies" then died = true end
    error(died and errors.new { kind = "executor", message = "dead" } or result, 0)
  end
  local function tool(name, needs)
    return koine.tool { name = name, description = "d", example = { n = 1 }, run = dying, needs_approval = needs }
  end
  local function save(run)
    if not died then saved = run:dump() end
  end
  local agent = koine.agent { adapter = book, parallel = pick(2) == 1, checkpoint = save,
    tools = { tool("work"), tool("careful", function(args) return args.n % 2 == 0 end) },
    on_event = function(event, run)
      if died then return end
      seen[#seen + 1] = event.seq
      save(run)
    end }
  local run = agent:start "Go"
  save(run)
  for _ = 1, 1000 do
    kit.check_history(run:summary().messages)
    local made, err = run:step()
    if died or pick(3) == 1 and run:dump() == saved then
      died = nil
      run = assert(koine.agent.load(agent, saved))
    elseif not made and not err then
      local summary = run:summary()
      if summary.status ~= "paused" then return summary, seen, ran end
      for _, call in ipairs(summary.pending) do
        if pick(2) == 1 then run:approve(call.id) else run:deny(call.id) end
      end
      save(run)
    end
  end
  error "the run has no end"
end

describe("a run at random", function()
  it("keeps its promises", function()
    local statuses, interrupted, calls = {}, 0, 0
    for seed = 1, SEEDS do
      local ok, summary, seen, ran = pcall(play, seed)
      assert(ok, ("seed %d: %s"):format(seed, tostring(summary)))
      kit.check_history(summary.messages)
      assert.are.equal(summary.events, #seen, "seed " .. seed)
      for i, seq in ipairs(seen) do assert.are.equal(i, seq, "seed " .. seed) end
      local executed = {}
      for _, call in ipairs(summary.calls) do
        executed[call.id] = call.executed or nil
        calls = calls + 1
      end
      for id in pairs(ran) do assert.is_true(executed[id], ("seed %d: %s"):format(seed, id)) end
      statuses[summary.status] = true
      if core.encode(summary.messages):find("interrupted: ", 1, true) then interrupted = interrupted + 1 end
    end
    assert.are.same({ completed = true }, statuses)
    assert.is_true(interrupted > SEEDS / 10) -- the seeds are worth something
    assert.is_true(calls > SEEDS)
  end)
end)
