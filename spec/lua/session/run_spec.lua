-- The course of a session: its events, its artifacts, its result; with the playbook.

local core = require "koine.core"
local kit = require "spec.lua.session.kit"
local koine = require "koine"
local repository = require "spec.lua.system.repository"

local session = koine.session
local answering, bash, call, kinds, play, raised = kit.answering, kit.bash, kit.call, kit.kinds, kit.play, kit.raised

describe("session", function()
  local bench, repo = kit.bench(), nil
  local inputs, run = bench.inputs, bench.run

  before_each(function() repo = bench.open() end)
  after_each(bench.close)

  describe("events", function()
    local EXECUTOR = answering(function(_, input) return input.command == "fail" and "no" or "ran " .. input.command,
      { is_error = input.command == "fail" } end)

    it("88: text, thinking, tool calls and results, in order, with their times and numbers", function()
      local result = run({
        { content = { { type = "thinking", thinking = "Hm." }, { type = "text", text = "Let me see." },
          bash("c1", "ls"), { type = "redacted_thinking", data = "x" }, bash("c2", "fail") } },
        { content = "Done." },
      }, { allowed_tools = { "bash" }, executor = EXECUTOR })
      assert.are.equal("reasoning output tool_call reasoning tool_call tool_result tool_result output",
        kinds(result.events))
      local e = result.events
      assert.are.equal("Hm.", e[1].content)
      assert.are.equal("Let me see.", e[2].content)
      assert.are.equal("bash", e[3].tool_name)
      assert.are.equal('{"command":"ls"}', e[3].tool_input)
      assert.are.equal("", e[3].content)
      assert.are.same({ "", true }, { e[4].content, e[4].redacted })
      assert.are.same({ "ran ls", "bash", false }, { e[6].content, e[6].tool_name, e[6].is_error })
      assert.are.same({ "no", true }, { e[7].content, e[7].is_error })
      assert.are.same({ "c1", "c2", "c1", "c2" }, { e[3].tool_call_id, e[5].tool_call_id, e[6].tool_call_id,
        e[7].tool_call_id })
      assert.is_nil(e[1].tool_name)
      for i, event in ipairs(e) do
        assert.are.equal(i, event.seq)
        assert.is_true(event.timestamp > 1.7e9)
        assert.is_string(session.sse(event))
      end
    end)

    it("88: one result, and many, each with its call", function()
      local many = {}
      for i = 1, 5 do many[i] = bash("c" .. i, "n" .. i) end
      local result = run({ { content = { bash("only", "one") } }, { content = many }, { content = "x" } },
        { allowed_tools = { "bash" }, executor = EXECUTOR })
      local found = {}
      for _, event in ipairs(result.events) do
        if event.kind == "tool_result" then found[#found + 1] = event.tool_call_id .. "=" .. event.content end
      end
      assert.are.same({ "only=ran one", "c1=ran n1", "c2=ran n2", "c3=ran n3", "c4=ran n4", "c5=ran n5" }, found)
    end)

    it("93: on_event, the iterator and the result tell the same in the same order", function()
      local answers = { { content = { { type = "text", text = "a" }, bash("c1", "b") } }, { content = "c" } }
      local heard = {}
      local result = run(answers, { allowed_tools = { "bash" }, executor = EXECUTOR,
        on_event = function(event) heard[#heard + 1] = event end })
      assert.are.same(result.events, heard)
      local opened = session.events(play(answers), inputs { allowed_tools = { "bash" }, executor = EXECUTOR })
      local seen = {}
      for event in opened do seen[#seen + 1] = event end
      assert.are.same(seen, opened:result().events)
      for i, event in ipairs(seen) do
        event.timestamp = heard[i].timestamp
        assert.are.same(heard[i], event)
      end
      assert.are.equal(#heard, #seen)
    end)

    it("come as they happen", function()
      local order = {}
      run({ { content = { bash("c1", "x"), bash("c2", "y") } }, { content = "z" } }, { allowed_tools = { "bash" },
        executor = answering(function(_, input)
          order[#order + 1] = "run " .. input.command
          return input.command
        end),
        on_event = function(event) order[#order + 1] = event.kind end })
      assert.are.same({ "tool_call", "tool_call", "run x", "tool_result", "run y", "tool_result", "output" }, order)
    end)

    it("the iterator goes no further than it is asked, and leaving it ends the session", function()
      local book = play { { content = { bash("c1", "x") } }, { content = "z" } }
      local opened = session.events(book, inputs { allowed_tools = { "bash" }, executor = EXECUTOR })
      assert.are.equal(0, #book.call_log)
      assert.are.equal("tool_call", opened:next().kind)
      assert.are.equal(1, #book.call_log)
      assert.are.equal("tool_result", opened:next().kind)
      assert.are.equal(1, #book.call_log)
      local left
      for event in session.events(book, inputs { allowed_tools = { "bash" }, executor = EXECUTOR,
        on_event = function() left = true end }) do
        if event.kind == "output" then break end
      end
      assert.is_true(left)
      assert.are.equal(2, #book.call_log)

      book:reset()
      left = session.events(book, inputs { allowed_tools = { "bash" }, executor = EXECUTOR })
      for _ in left, nil, nil, left do
        if #book.call_log == 1 then break end
      end
      assert.is_nil(left:next())
      local result = left:result()
      assert.are.same({ "error", "cancelled" }, { result.outcome, result.error.kind })
      assert.are.equal(1, #result.events)
      assert.are.equal(result, left:result())
    end)

    it("live text goes to on_delta", function()
      local deltas = {}
      run({ { content = "abc", chunk = 1 } }, { on_delta = function(delta) deltas[#deltas + 1] = delta.text end })
      assert.are.same({ "a", "b", "c" }, deltas)
    end)

    it("93: errors of on_event and on_delta change nothing but are told", function()
      local told, deltas = 0, 0
      local result = run({ { content = { bash("c1", "x") } }, { content = "z" } }, { allowed_tools = { "bash" },
        executor = EXECUTOR, on_event = function()
          told = told + 1
          error("ouch " .. told, 0)
        end, on_delta = function()
          deltas = deltas + 1
          error("oh " .. deltas, 0)
        end })
      assert.are.equal("completed", result.outcome)
      assert.are.equal("tool_call tool_result output", kinds(result.events))
      assert.are.equal(3, told) -- it is called all the same
      assert.is_true(deltas > 3)
      assert.are.equal("oh 1", result.consumer_error) -- the first of all
      result = run({ { content = "x" } }, { on_event = function() error("ouch", 0) end })
      assert.are.same({ "completed", "ouch" }, { result.outcome, result.consumer_error })
      assert.is_nil(run({ { content = "x" } }).consumer_error)
    end)
  end)

  describe("run", function()
    it("90: a simple text: one event, tokens, model, a duration", function()
      local result = run { { content = "Hello.", usage = { input_tokens = 7, output_tokens = 3, cache_read_tokens = 2,
        cache_creation_tokens = 1, reasoning_tokens = 1 } } }
      assert.are.equal("completed", result.outcome)
      assert.are.equal("session_result", result.type)
      assert.are.equal(1, #result.events)
      local usage = result.usage
      assert.is_true(usage.duration_seconds > 0)
      usage.duration_seconds = nil
      assert.are.same({ tokens_in = 7, tokens_out = 3, cache_read_tokens = 2, cache_creation_tokens = 1,
        reasoning_tokens = 1, model_calls = 1, model = "m-1" }, usage)
      assert.are.same({}, result.artifacts)
      assert.are.same({}, result.audit_log)
    end)

    it("90: thinking, then text", function()
      assert.are.equal("reasoning output", kinds(run { { content = { { type = "thinking", thinking = "Hm." },
        { type = "text", text = "x" } } } }.events))
    end)

    it("90: a loop of tools has all four kinds, and sums its tokens", function()
      local usage = { input_tokens = 10, output_tokens = 1 }
      local result, book = run({
        { content = { { type = "thinking", thinking = "Hm.", signature = "s\0g" }, bash("c1", "echo out") },
          usage = usage },
        { content = "Done.", usage = usage },
      }, { allowed_tools = { "bash" } })
      assert.are.equal("reasoning tool_call tool_result output", kinds(result.events))
      assert.are.same({ 20, 2, 2 }, { result.usage.tokens_in, result.usage.tokens_out, result.usage.model_calls })
      local messages = book.call_log[2].messages
      assert.are.equal("s\0g", messages[2].content[1].signature)
      assert.are.same({ "user", "assistant", "user" }, { messages[1].role, messages[2].role, messages[3].role })
      assert.are.equal("out\n", messages[3].content[1].content)
    end)

    it("90: what a tool makes is an artifact, what the model claims is none", function()
      local result = run({ { content = { call("c1", "write_file", { path = "made.txt", content = "x" }),
        call("c2", "write_file", { path = "../escaped.txt", content = "x" }), bash("c3", "echo y >> a.txt") } },
        { content = "I also wrote claimed.txt." } }, { allowed_tools = { "bash", "write_file" } })
      assert.are.same({ "a.txt", "made.txt" }, result.artifacts)
      assert.are.equal("git", result.artifacts_source)
      assert.are.equal(result.head_before, result.head_after)
    end)

    it("90: every session begins afresh", function()
      local book = play { { content = "one" }, { content = "two" } }
      session.run(book, inputs { prompt = "First." })
      session.run(book, inputs { prompt = "Second." })
      assert.are.same({ { role = "user", content = "Second." } }, book.call_log[2].messages)
    end)

    it("90: a result is plain", function()
      local result = run({ { content = { bash("c1", "true") } }, { error = { status = 500 } } },
        { allowed_tools = { "bash" } })
      local function plain(value, path)
        assert.is_not_equal("userdata", type(value), path)
        assert.is_not_equal("function", type(value), path)
        if type(value) ~= "table" or koine.errors.is_error(value) then return end
        local mt = getmetatable(value)
        assert.is_true(mt == nil or mt == core.array_mt, path)
        for key, member in pairs(value) do plain(member, path .. "." .. tostring(key)) end
      end
      plain(result, "result")
      result.error = nil
      assert.is_string(core.encode(result))
    end)

    it("cancelling its task ends it, and what its tools started", function()
      local task
      local command = "echo $$ > pid; mv pid shown; sleep 600"
      koine.run(function()
        task = koine.spawn(run, { { content = { bash("c1", command) } } }, { allowed_tools = { "bash" } })
        for _ = 1, 6000 do -- a safety net of a minute
          if repo:read "shown" then break end
          assert(koine.sleep(0.01))
        end
        assert.is_true(task:cancel())
      end)
      local result, err = task:wait()
      assert.is_nil(result)
      assert.are.equal("CancelledError", err.class)
      local pid = repo:read "shown":match "%d+"
      assert.is_nil(os.execute("kill -0 " .. pid .. " 2>/dev/null"))
    end)

    it("92: an injected executor is told which directory it is", function()
      local ctxs = {}
      run({ { content = { bash("c1", "x") } }, { content = "x" } }, { allowed_tools = { "bash" },
        executor = answering(function(name, input, ctx)
          ctxs[1] = { name, input.command, ctx.workdir, ctx.call.id }
          return "x"
        end) })
      assert.are.same({ "bash", "x", repo.dir, "c1" }, ctxs[1])
    end)

    it("an executor's own set of tools counts", function()
      local executor <close> = assert(koine.executor { workdir = repo.dir, allowed_tools = { "read_file" } })
      assert.are.equal("allowed_tools[1]", raised(run, {}, { executor = executor, allowed_tools = { "bash" } }).field)
      local result = run({ { content = { call("c1", "read_file", { path = "a.txt" }) } }, { content = "x" } },
        { executor = executor, allowed_tools = { "read_file" } })
      assert.is_truthy(result.events[2].content:find("a", 1, true))
      assert.is_string(executor.run("read_file", { path = "a.txt" })) -- it was not closed
    end)
  end)

  describe("git", function()
    it("95: without a repository: wrong, before any call", function()
      local folder = repository.folder()
      local book = play { { content = "x" } }
      local err = raised(session.run, book, inputs { workdir = folder })
      assert.are.same({ "ArgumentError", "workdir" }, { err.class, err.field })
      assert.are.equal(0, #book.call_log)
      assert.are.equal("workdir", raised(session.events, book, inputs { workdir = folder }).field)
      os.execute("rm -r " .. folder)
    end)

    it("95: without a repository, where none is needed: no artifacts, and no guess", function()
      local folder = repository.folder()
      local result = run({ { content = { bash("c1", "echo x > new.txt") } }, { content = "x" } },
        { workdir = folder, require_git = false, allowed_tools = { "bash" } })
      assert.are.equal("completed", result.outcome)
      assert.is_nil(result.artifacts)
      assert.are.equal("none", result.artifacts_source)
      assert.is_nil(result.artifacts_error)
      os.execute("rm -r " .. folder)
    end)

    it("95: without git: the same, but the result says why", function()
      local program = ([[
        package.path, package.cpath = %q, %q
        local koine, kit = require "koine", require "spec.lua.session.kit"
        local given = kit.inputs(%q)
        print(kit.raised(koine.session.run, kit.play {}, given).field)
        given.require_git = false
        local result = koine.session.run(kit.play { { content = "x" } }, given)
        print(result.outcome, result.artifacts, result.artifacts_source, result.artifacts_error.code)
      ]]):format(package.path, package.cpath, repo.dir)
      local lua = io.popen("command -v " .. (os.getenv "KOINE_LUA" or "lua5.4")):read "l"
      local pipe <close> = io.popen(("env PATH=/nonexistent %s -e %s 2>&1"):format(lua, repository.quote(program)))
      assert.are.equal("workdir\ncompleted\tnil\tnone\tabsent\n", pipe:read "a")
    end)

    it("95: git that fails afterwards: an error beside the outcome", function()
      local result = run({ { content = { bash("c1", "rm -rf .git && echo x > new.txt") } }, { content = "x" } },
        { allowed_tools = { "bash" } })
      assert.are.equal("completed", result.outcome)
      assert.are.same({}, result.artifacts)
      assert.is_true(koine.errors.is_error(result.artifacts_error))
    end)

    it("95: paths from the working directory where that is wanted; a subdirectory will do", function()
      local given = { workdir = repo.dir .. "/dir", allowed_tools = { "bash" } }
      local answers = { { content = { bash("c1", "echo x > new.txt; echo y > ../up.txt") } }, { content = "x" } }
      assert.are.same({ "dir/new.txt", "up.txt" }, run(answers, given).artifacts)
      repo:git("clean", "-qfd")
      given.relative_to = "workdir"
      assert.are.same({ "../up.txt", "new.txt" }, run(answers, given).artifacts)
    end)

    it("94: what was dirty before is none of the session's", function()
      repo:write("a.txt", "dirty")
      repo:write("untracked", "u")
      local result = run({ { content = { bash("c1", "echo z > z") } }, { content = "x" } },
        { allowed_tools = { "bash" } })
      assert.are.same({ "z" }, result.artifacts)
    end)
  end)
end)
