-- What holds for every provider of sessions, whatever does the work: the same for an adapter behind the loop, a
-- provider of a row, and each program.

local kit = require "spec.lua.session.kit"
local koine = require "koine"
local repository = require "spec.lua.system.repository"

local session = koine.session

-- A shell script that prints these lines; its path.
local function script(lines)
  local commands = { "cat > /dev/null", "echo new > new.txt" }
  for _, line in ipairs(lines) do commands[#commands + 1] = "printf '%s\\n' " .. repository.quote(line) end
  return kit.script(os.tmpname(), table.concat(commands, "\n") .. "\n")
end

-- The same session everywhere: a thought, a call that makes new.txt, its result, a last word.
local CALL = { type = "tool_use", id = "c1", name = "bash", arguments = { command = "echo new > new.txt; echo made" } }
local TURNS = {
  { content = { { type = "thinking", thinking = "Hm." }, CALL }, usage = { input_tokens = 30, output_tokens = 3 } },
  { content = "Done.", usage = { input_tokens = 40, output_tokens = 4 } },
}

describe("every provider of sessions", function()
  local server, repo, codex, gemini

  setup(function()
    server = assert(koine.testing.start())
    codex = script {
      '{"type":"reasoning","content":"Hm."}',
      '{"type":"function_call","call_id":"c1","name":"bash","arguments":"{\\"command\\":\\"echo new > new.txt\\"}"}',
      '{"type":"function_call_output","call_id":"c1","name":"bash","output":"made\\n"}',
      '{"type":"message","role":"assistant","content":"Done."}', '{"type":"usage","input_tokens":70,"output_tokens":7}',
      '{"type":"done","status":"success"}',
    }
    gemini = script {
      '{"type":"thought","text":"Hm."}',
      '{"type":"tool_call","id":"c1","name":"bash","input":{"command":"echo new > new.txt"}}',
      '{"type":"tool_result","id":"c1","name":"bash","output":"made\\n"}',
      '{"type":"content","role":"model","text":"Done."}', '{"type":"usage","prompt_tokens":70,"candidates_tokens":7}',
      '{"type":"done","status":"completed"}',
    }
  end)
  teardown(function()
    server:stop()
    os.remove(codex)
    os.remove(gemini)
  end)
  before_each(function()
    repo = repository.with { ["a.txt"] = "a\n" }
    assert(server:reset())
    assert(server:script(TURNS))
  end)
  after_each(function() repo:close() end)

  local TARGETS = {
    adapter = function() return kit.play(TURNS) end,
    row = function() return session.new("anthropic", { key = "k", base_url = server.url, retry = false }) end,
    codex = function() return session.new("codex", { program = codex }) end,
    gemini = function() return session.new("gemini", { program = gemini }) end,
  }

  local function inputs(given)
    local all = kit.inputs(repo.dir, given)
    all.allowed_tools = { "bash" }
    return all
  end

  for name, target in pairs(TARGETS) do
    it("gives the same result for the same work: " .. name, function()
      local heard = {}
      local result = session.run(target(), inputs { on_event = function(event) heard[#heard + 1] = event end })
      assert.are.equal("completed", result.outcome, result.reason)
      assert.are.equal("session_result", result.type)
      assert.are.same(result, session.result(result))
      assert.are.equal("reasoning tool_call tool_result output", kit.kinds(result.events))
      assert.are.same(heard, result.events)
      local thought, call, answer, word = table.unpack(result.events)
      assert.are.same({ "Hm.", "", "made\n", "Done." }, { thought.content, call.content, answer.content, word.content })
      assert.are.same({ "bash", "c1", "bash", "c1" }, { call.tool_name, call.tool_call_id, answer.tool_name,
        answer.tool_call_id })
      assert.is_truthy(call.tool_input:find '^{"command":')
      for i, event in ipairs(result.events) do assert.are.equal(i, event.seq) end
      assert.are.same({ "new.txt" }, result.artifacts)
      assert.are.same({ 70, 7, "m-1" }, { result.usage.tokens_in, result.usage.tokens_out, result.usage.model })
      assert.is_true(result.usage.duration_seconds > 0)
      assert.is_nil(result.usage.cost_usd)
      assert.are.equal(1, #result.audit_log)
      assert.are.same({ "bash", false, "" }, { result.audit_log[1].tool_name, result.audit_log[1].blocked,
        result.audit_log[1].block_reason })
    end)

    it("tells its events to a loop in the same order: " .. name, function()
      local opened, seen = session.events(target(), inputs()), {}
      for event in opened do seen[#seen + 1] = event end
      assert.are.same(seen, opened:result().events)
      assert.are.equal(4, #seen)
    end)

    it("checks its inputs before any work: " .. name, function()
      local wrong = { role = "admin", prompt = 5, context_files = "x", workdir = "/nowhere", on_event = 5 }
      for field, value in pairs(wrong) do
        local err = kit.raised(session.run, target(), inputs { [field] = value })
        assert.are.same({ "ArgumentError", field }, { err.class, err.field })
      end
      assert.is_nil(repo:read "new.txt")
    end)
  end
end)
