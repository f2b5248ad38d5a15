-- How sessions end: each row of the table of outcomes, with the playbook.

local kit = require "spec.lua.session.kit"
local koine = require "koine"

local session = koine.session
local answering, bash, call, kinds = kit.answering, kit.bash, kit.call, kit.kinds

describe("session", function()
  local bench = kit.bench()
  local inputs, run = bench.inputs, bench.run

  before_each(bench.open)
  after_each(bench.close)

  describe("outcome", function()
    -- An adapter that answers with a hand-made table: the playbook knows canonical stop reasons only.
    local function answer(stop_reason)
      return { chat = function()
        return { content = { { type = "text", text = "x" } }, tool_calls = {}, stop_reason = stop_reason,
          usage = { input_tokens = 1, output_tokens = 1 } }
      end }
    end

    it("89: end_turn, stop_sequence, or no reason: completed", function()
      for _, reason in ipairs { "end_turn", "stop_sequence" } do
        local result = run { { content = "x", stop_reason = reason } }
        assert.are.same({ "completed", reason }, { result.outcome, result.stop_reason })
        assert.is_nil(result.reason)
        assert.is_nil(result.error)
        assert.is_nil(result.truncated)
      end
      assert.are.equal("completed", session.run(answer(nil), inputs()).outcome)
    end)

    it("89: max_tokens: completed, and truncated", function()
      local result = run { { content = "x", stop_reason = "max_tokens" } }
      assert.are.same({ "completed", true, "max_tokens" }, { result.outcome, result.truncated, result.stop_reason })
    end)

    it("89: refusal: blocked", function()
      local result = run { { content = { { type = "refusal", text = "No." } }, stop_reason = "refusal" } }
      assert.are.same({ "blocked", "refusal" }, { result.outcome, result.reason })
      assert.are.equal("No.", result.events[1].content)
    end)

    it("89: sensitive: blocked", function()
      local result = run { { content = "x", stop_reason = "sensitive" } }
      assert.are.same({ "blocked", "sensitive" }, { result.outcome, result.reason })
    end)

    it("89, 93: pause_turn: asked again, a number of times, then an error", function()
      local paused = { content = { { type = "text", text = "p" } }, stop_reason = "pause_turn" }
      local result, book = run { paused, paused, { content = "x" } }
      assert.are.equal("completed", result.outcome)
      assert.are.equal(3, #book.call_log)
      assert.are.equal("output output output", kinds(result.events))
      local for_ever = {}
      for i = 1, 40 do for_ever[i] = paused end
      result, book = run(for_ever)
      assert.are.equal("error", result.outcome)
      assert.are.equal("limit", result.error.kind)
      assert.are.equal(17, #book.call_log) -- sixteen pauses are sent back
    end)

    it("89: any other stop reason: error", function()
      local result = run { { content = "x", stop_reason = "context_overflow" } }
      assert.are.equal("error", result.outcome)
      assert.is_truthy(result.reason:find("context_overflow", 1, true))
      assert.are.equal("error", session.run(answer "mystery", inputs()).outcome)
    end)

    it("90: an error of the provider, of the connection, or of time: error, with the error", function()
      for _, given in ipairs { { status = 500, message = "down" }, { kind = "connect", message = "down" },
        { kind = "timeout", message = "down" }, { status = 401, message = "down" } } do
        local result = run { { error = given } }
        assert.are.same({ "error", "down" }, { result.outcome, result.reason })
        assert.is_true(koine.errors.is_error(result.error))
      end
    end)

    it("90: an executor that is unreachable, late, unauthorised or babbles: error", function()
      local function executor_error(fields) return function() return nil, koine.errors.new(fields) end end
      local bad = {
        executor_error { kind = "executor", message = "trouble" },
        executor_error { kind = "connect", message = "trouble" },
        executor_error { kind = "timeout", message = "trouble" }, executor_error { kind = "auth", message = "trouble" },
        function() return nil, "trouble" end, function() error "trouble" end, function() return nil end,
        function() return { output = "trouble" } end, function() return 5 end,
      }
      for i, f in ipairs(bad) do
        local result = run({ { content = { bash("c1", "x") } }, { content = "never" } },
          { allowed_tools = { "bash" }, executor = answering(f) })
        assert.are.equal("error", result.outcome, i)
        assert.are.equal("executor", result.error.kind)
        assert.is_truthy(result.reason:find(i > 6 and "text expected, got " or "trouble", 1, true))
        assert.are.equal("tool_call", kinds(result.events))
        assert.are.same({ false, "" }, { result.audit_log[1].blocked, result.audit_log[1].block_reason })
      end
    end)

    it("92: a tool that fails or is denied is told to the model, and no error", function()
      local answers = { { "Error: no such file", nil }, { "it failed", { is_error = true } },
        { "Permission denied: .env", { is_error = true, blocked = true, reason = ".env" } } }
      local n = 0
      local result, book = run({ { content = { bash("c1", "a"), bash("c2", "b"), bash("c3", "c") } },
        { content = "I see." } }, { allowed_tools = { "bash" }, executor = answering(function()
          n = n + 1
          return answers[n][1], answers[n][2]
        end) })
      assert.are.equal("completed", result.outcome)
      local sent = book.call_log[2].messages[3].content
      assert.are.same({ "Error: no such file", "it failed", "Permission denied: .env" },
        { sent[1].content, sent[2].content, sent[3].content })
      assert.are.same({ false, true, true }, { sent[1].is_error, sent[2].is_error, sent[3].is_error })
      assert.are.equal(3, #book.call_log[2].messages)
      local audit = {}
      for i, record in ipairs(result.audit_log) do
        audit[i] = { record.tool_name, record.blocked, record.block_reason, record.tool_input.command }
      end
      assert.are.same({ { "bash", false, "", "a" }, { "bash", false, "", "b" }, { "bash", true, ".env", "c" } }, audit)
    end)

    it("92: the executor's policy denies: told, audited, and the session goes on", function()
      local result = run({ { content = { bash("c1", "cat .env"), bash("c2", "echo fine") } }, { content = "x" } },
        { allowed_tools = { "bash" } })
      assert.are.equal("completed", result.outcome)
      assert.are.equal("tool_call tool_call tool_result tool_result output", kinds(result.events))
      assert.are.same({ "Permission denied: the file .env", true }, { result.events[3].content,
        result.events[3].is_error })
      assert.are.equal("fine\n", result.events[4].content)
      local audit = {}
      for i, record in ipairs(result.audit_log) do
        audit[i] = { record.tool_name, record.blocked, record.block_reason, record.tool_input.command }
      end
      assert.are.same({ { "bash", true, "the file .env", "cat .env" }, { "bash", false, "", "echo fine" } }, audit)
    end)

    it("an unknown tool is told to the model", function()
      local result, book = run({ { content = { call("c1", "telepathy", { to = "you" }) } }, { content = "x" } },
        { allowed_tools = { "bash" } })
      assert.are.equal("completed", result.outcome)
      local block = book.call_log[2].messages[3].content[1]
      assert.is_true(block.is_error)
      assert.is_truthy(block.content:find("telepathy", 1, true))
      assert.is_truthy(block.content:find("bash", 1, true))
      assert.is_nil(block.content:find("write_file", 1, true)) -- nor is it told what others may call
      assert.are.same({ "telepathy", "you" }, { result.audit_log[1].tool_name, result.audit_log[1].tool_input.to })
    end)

    it("93: a known tool that is not allowed is refused when it is called", function()
      local ran = 0
      local result = run({ { content = { bash("c1", "x"), call("c2", "read_file", { path = "a.txt" }) } },
        { content = "x" } }, { allowed_tools = { "read_file" }, executor = answering(function()
          ran = ran + 1
          return "fine"
        end) })
      assert.are.equal(1, ran)
      assert.are.equal("completed", result.outcome)
      assert.are.same({ "Permission denied: tool not allowed", true }, { result.events[3].content,
        result.events[3].is_error })
      assert.are.equal("fine", result.events[4].content)
      assert.are.same({ true, "tool not allowed" }, { result.audit_log[1].blocked, result.audit_log[1].block_reason })
      assert.is_false(result.audit_log[2].blocked)
    end)

    it("asking for a human in the last words: blocked where that is wanted", function()
      local answers = { { content = { { type = "text", text = "Please CLARIFY." }, bash("c1", "x") } },
        { content = "I cannot proceed without a key." } }
      assert.are.equal("completed", run(answers, { allowed_tools = { "bash" } }).outcome)
      local result = run(answers, { allowed_tools = { "bash" }, blocked_phrases = true })
      assert.are.equal("blocked", result.outcome)
      assert.is_truthy(result.reason:find("i cannot proceed without", 1, true))
      answers[2].content = "Done."
      assert.are.equal("completed", run(answers, { allowed_tools = { "bash" }, blocked_phrases = true }).outcome)
      assert.are.equal("blocked", run(answers, { allowed_tools = { "bash" }, blocked_phrases = { "DONE" } }).outcome)
      assert.are.equal("completed", run(answers, { allowed_tools = { "bash" }, blocked_phrases = false }).outcome)
    end)

    it("report_blocked ends the session after its round", function()
      local answers = { { content = { call("c1", "report_blocked", { reason = "no key" }), bash("c2", "echo x") } },
        { content = "never" } }
      local result, book = run(answers, { allowed_tools = { "bash", "report_blocked" } })
      assert.are.same({ "blocked", "no key" }, { result.outcome, result.reason })
      assert.are.equal(1, #book.call_log)
      assert.are.equal("tool_call tool_call tool_result tool_result", kinds(result.events))
      result = run({ answers[1], { content = "x" } }, { allowed_tools = { "bash" } })
      assert.are.equal("completed", result.outcome)
      assert.are.equal("Permission denied: tool not allowed", result.events[3].content)
      local _, only = run({ { content = "x" } }, { allowed_tools = { "report_blocked" }, role = "orchestrator" })
      assert.are.equal("report_blocked", only.call_log[1].tools[1].name)
    end)

    it("never improves: error before blocked before completed", function()
      local outcome = require("koine.session.outcome").new()
      outcome:worsen("blocked", "first")
      outcome:worsen("blocked", "second")
      outcome:worsen("completed", "third")
      assert.are.same({ "blocked", "first" }, { outcome.outcome, outcome.reason })
      outcome:fail(koine.errors.new { kind = "other", message = "bad" })
      outcome:worsen("blocked", "fourth")
      outcome:fail "worse"
      assert.are.same({ "error", "bad" }, { outcome.outcome, outcome.reason })
      local round = { content = { call("c1", "report_blocked", { reason = "no key" }), bash("c2", "x") } }
      local result = run({ round }, { allowed_tools = { "bash", "report_blocked" },
        executor = answering(function() error "broken" end) })
      assert.are.equal("error", result.outcome)
    end)

    it("93: tool_use without a tool call: error", function()
      local result = run { { content = "x", stop_reason = "tool_use" } }
      assert.are.same({ "error", "protocol" }, { result.outcome, result.error.kind })
    end)

    it("93: a tool call without a name or an id: error", function()
      for _, bad in ipairs { { id = "c1" }, { name = "bash" }, { name = 5, id = 5 } } do
        for _, reason in ipairs { "tool_use", "max_tokens" } do
          bad.type, bad.arguments = "tool_use", {}
          local adapter = { chat = function() return { content = { bad }, stop_reason = reason } end }
          local result = session.run(adapter, inputs { allowed_tools = { "bash" } })
          assert.are.same({ "error", "protocol" }, { result.outcome, result.error.kind })
        end
      end
    end)

    it("93: a tool call that was cut off is not run, and audited as such", function()
      local ran = 0
      local executor = answering(function()
        ran = ran + 1
        return ""
      end)
      local result = run({ { content = { bash("c1", "x") }, stop_reason = "max_tokens" } },
        { allowed_tools = { "bash" }, executor = executor })
      assert.are.same({ "completed", true, 0 }, { result.outcome, result.truncated, ran })
      assert.are.same({ true, "not run" }, { result.audit_log[1].blocked, result.audit_log[1].block_reason })
    end)

    it("93: an error keeps events, usage, audit log and artifacts so far", function()
      local result = run({ { content = { bash("c1", "echo hi > new.txt") }, usage = { input_tokens = 10,
        output_tokens = 5 } }, { error = { status = 529, message = "overloaded" } } }, { allowed_tools = { "bash" } })
      assert.are.same({ "error", "overloaded" }, { result.outcome, result.reason })
      assert.are.equal("tool_call tool_result", kinds(result.events))
      assert.are.same({ 10, 5, 1 }, { result.usage.tokens_in, result.usage.tokens_out, result.usage.model_calls })
      assert.are.same({ "new.txt" }, result.artifacts)
      assert.are.equal(1, #result.audit_log)
    end)

    it("an adapter's own raise is an error too", function()
      local result = run { { content = { call("c1", "x") } } } -- the playbook raises beyond its end
      assert.are.equal("error", result.outcome)
      assert.is_truthy(result.error:is "PlaybookError")
      assert.are.equal("tool_call tool_result", kinds(result.events))
      local adapter = { chat = function() error "a bug" end }
      result = session.run(adapter, inputs())
      assert.are.equal("error", result.outcome)
      assert.is_truthy(result.reason:find("a bug", 1, true))
    end)
  end)

  describe("limits", function()
    local EXECUTOR = answering(function() return "x" end)

    -- Answers that call a tool for ever.
    local function rounds(n, usage)
      local answers = {}
      for i = 1, n do answers[i] = { content = { bash("c" .. i, "x") }, usage = usage } end
      return answers
    end

    local function limited(answers, given)
      given.allowed_tools, given.executor = { "bash" }, EXECUTOR
      return run(answers, given)
    end

    it("93: rounds: 50, or as many as are said", function()
      local result, book = limited(rounds(60), {})
      assert.are.same({ "error", "limit:max_rounds" }, { result.outcome, result.reason })
      assert.are.equal("limit", result.error.kind)
      assert.are.equal(50, #book.call_log)
      assert.are.equal(50, #result.audit_log)
      result, book = limited(rounds(60), { max_rounds = 2 })
      assert.are.equal("limit:max_rounds", result.reason)
      assert.are.equal(2, #book.call_log)
      local answers = rounds(1)
      answers[2] = { content = "Done." }
      assert.are.equal("completed", limited(answers, { max_rounds = 2 }).outcome)
    end)

    it("93: tokens of all rounds together", function()
      local result, book = limited(rounds(9, { input_tokens = 30, output_tokens = 5, cache_read_tokens = 5 }),
        { max_tokens_total = 100 })
      assert.are.same({ "error", "limit:max_tokens_total" }, { result.outcome, result.reason })
      assert.are.equal(3, #book.call_log)
    end)

    it("93: after the deadline no round is begun: completed at a checkpoint", function()
      local answers = { { content = { bash("c1", "x"), bash("c2", "y") } }, { content = "never" } }
      local result, book = limited(answers, { deadline_seconds = 0 })
      assert.are.same({ "completed", true, "checkpoint" }, { result.outcome, result.checkpoint, result.stop_reason })
      assert.are.equal(1, #book.call_log)
      assert.are.equal("tool_call tool_call tool_result tool_result", kinds(result.events))
      result = limited({ { content = "Done at once." } }, { deadline_seconds = 0 })
      assert.is_nil(result.checkpoint)
      local paused = { content = "p", stop_reason = "pause_turn" }
      result, book = limited({ paused, paused, { content = "x" } }, { deadline_seconds = 0 })
      assert.is_nil(result.checkpoint)
      assert.are.equal(3, #book.call_log)
    end)
  end)
end)
