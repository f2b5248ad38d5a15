-- Rules for every provider of sessions, whatever does the work: the same for an adapter behind the loop and a
-- provider of a row.

local kit = require "spec.lua.session.kit"
local koine = require "koine"
local repository = require "spec.lua.system.repository"

local session = koine.session

-- The same session everywhere: a thought, a call that makes new.txt, its result, a last word.
local CALL = { type = "tool_use", id = "c1", name = "bash", arguments = { command = "echo new > new.txt; echo made" } }
local ANSWERS = {
  { content = { { type = "thinking", thinking = "Hm." }, CALL }, usage = { input_tokens = 30, output_tokens = 3 } },
  { content = "Done.", usage = { input_tokens = 40, output_tokens = 4 } },
}

describe("every provider of sessions", function()
  local server, repo

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function()
    repo = repository.with { ["a.txt"] = "a\n" }
    assert(server:reset())
    assert(server:script(ANSWERS))
  end)
  after_each(function() repo:close() end)

  local TARGETS = {
    adapter = function() return kit.play(ANSWERS) end,
    row = function() return session.new("anthropic", { key = "k", base_url = server.url, retry = false }) end,
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
