-- Sessions by way of programs: lines, commands, and real runs of small programs that this file writes.

local cjson = require "cjson"
local cli = require "koine.session.cli"
local kit = require "spec.lua.session.kit"
local koine = require "koine"
local repository = require "spec.lua.system.repository"

local session = koine.session
local kinds, raised = kit.kinds, kit.raised

local json = cjson.new()

-- What each program writes for the same things.
local DIALECTS = {
  codex = {
    output = function(text) return { type = "message", role = "assistant", content = text } end,
    other_role = { type = "message", role = "user", content = "please clarify" },
    reasoning = function(text) return { type = "reasoning", content = text } end,
    call = function(id, name, input)
      return { type = "function_call", call_id = id, name = name, arguments = json.encode(input) }
    end,
    result = function(id, text) return { type = "function_call_output", call_id = id, output = text } end,
    usage = function(tokens_in, tokens_out)
      return { type = "usage", input_tokens = tokens_in, output_tokens = tokens_out }
    end,
    done = function(status) return { type = "done", status = status } end,
    argv = { "--approval-mode", "full-auto", "--sandbox", "--output-format", "json", "--model", "m-1" },
    orchestrator = { "--approval-mode", "full-auto", "--sandbox", "--output-format", "json", "--model", "m-1" },
    good = "success",
  },
  gemini = {
    output = function(text) return { type = "content", role = "model", text = text } end,
    other_role = { type = "content", role = "user", text = "please clarify" },
    reasoning = function(text) return { type = "thought", text = text } end,
    call = function(id, name, input) return { type = "tool_call", id = id, name = name, input = input } end,
    result = function(id, text) return { type = "tool_result", id = id, output = text } end,
    usage = function(tokens_in, tokens_out)
      return { type = "usage", prompt_tokens = tokens_in, candidates_tokens = tokens_out }
    end,
    done = function(status) return { type = "done", status = status } end,
    argv = { "--sandbox", "--output-format", "json", "--model", "m-1" },
    orchestrator = { "--sandbox", "--readonly", "--output-format", "json", "--model", "m-1" },
    good = "completed",
  },
}

for name, say in pairs(DIALECTS) do
  describe("a session of the program " .. name, function()
    local repo, folders, definition

    setup(function() definition = require("koine.session.cli." .. name) end)
    before_each(function() repo, folders = repository.with { ["a.txt"] = "a\n" }, {} end)
    after_each(function()
      repo:close()
      for _, folder in ipairs(folders) do os.execute("rm -rf " .. repository.quote(folder)) end
    end)

    -- A folder that goes when the test is over.
    local function new_folder()
      folders[#folders + 1] = repository.folder()
      return folders[#folders]
    end

    local function parse(...)
      local lines = {}
      for i, line in ipairs { ... } do lines[i] = type(line) == "table" and json.encode(line) or line end
      return cli.parse(definition, table.concat(lines, "\n"))
    end

    -- A program outside of the repository: a shell script that keeps its arguments and its input in files beside it,
    -- then runs `body`. Its path.
    local function program(body)
      local folder = new_folder()
      return kit.script(folder .. "/program", ("d=%s\nprintf '%%s\\n' \"$@\" > $d/argv\ncat > $d/stdin\n%s\n"):format(
        repository.quote(folder), body))
    end

    -- What a program kept: "argv" or "stdin"; nil when it never ran.
    local function kept(path, what)
      local file <close> = io.open(path:gsub("program$", what), "rb")
      return file and file:read "a"
    end

    -- The shell's words to print these lines.
    local function printing(...)
      local words = {}
      for i, line in ipairs { ... } do
        words[i] = "printf '%s\\n' " .. repository.quote(type(line) == "table" and json.encode(line) or line)
      end
      return table.concat(words, "\n")
    end

    local function run(path, given, opts)
      local all = { program = path }
      for option, value in pairs(opts or {}) do all[option] = value end
      return session[name](all):run_session(kit.inputs(repo.dir, given))
    end

    it("102: is made without arguments and is a provider; each time a new one", function()
      local one, other = session[name](), session[name] {}
      assert.is_true(session.is_provider(one))
      assert.are_not.equal(one, other)
      assert.are.equal(name, one.name)
      assert.are.equal("programme", raised(session[name], { programme = "x" }).field)
      assert.are.equal("program", raised(session[name], { program = 5 }).field)
      assert.are.equal("options", raised(session[name], 5).field)
    end)

    it("96: lines become events, in order, with usage and end", function()
      local parsed = parse(say.reasoning "Hm.", say.output "I look.", say.call("c1", "shell", { command = "ls" }),
        say.result("c1", "a.txt"), say.usage(3, 1), say.usage(30, 12), say.output "Done.", say.done(say.good))
      assert.are.equal("reasoning output tool_call tool_result output", kinds(parsed.events))
      local e = parsed.events
      assert.are.same({ "Hm.", "I look.", "", "a.txt", "Done." }, { e[1].content, e[2].content, e[3].content or "",
        e[4].content, e[5].content })
      assert.are.same({ "shell", "c1", "c1" }, { e[3].tool_name, e[3].tool_call_id, e[4].tool_call_id })
      assert.are.same({ command = "ls" }, json.decode(e[3].tool_input))
      assert.are.same({ tokens_in = 30, tokens_out = 12 }, parsed.usage)
      assert.are.equal("completed", parsed.verdict.outcome)
    end)

    it("96: arguments keep their numbers and lists", function()
      local line = name == "codex"
        and [[{"type":"function_call","name":"n","arguments":"{\"n\":9007199254740993,\"l\":[]}"}]]
        or [[{"type":"tool_call","name":"n","input":{"n":9007199254740993,"l":[]}}]]
      local input = parse(line).events[1].tool_input
      assert.is_truthy(input:find("9007199254740993", 1, true))
      assert.is_truthy(input:find("[]", 1, true))
    end)

    it("96: other roles, unknown types, blank and malformed lines are passed over", function()
      local parsed = parse("", "   ", "{", "no JSON", "[1]", "5", '"x"', { type = "weather" }, { no = "type" },
        say.other_role, '{"type":"done"', say.output "x", '{"type":null}')
      assert.are.equal("output", kinds(parsed.events))
      assert.are.equal("completed", parsed.verdict.outcome)
      assert.are.same({ incomplete = true }, parsed.usage)
      assert.are.same({ tokens_out = 4, incomplete = true }, parse(say.usage(nil, 4)).usage)
      assert.are.same({ "", "completed" }, { kinds(parse("").events), parse("").verdict.outcome })
      assert.are.equal("x", parse((json.encode(say.output "x"):gsub("$", "\r\n"))).events[1].content)
    end)

    it("97: what the program says of its end", function()
      for status, outcome in pairs { success = "completed", completed = "completed", cancelled = "blocked",
        error = "error", nonsense = "error" } do
        assert.are.equal(outcome, cli.outcome(status))
        assert.are.equal(outcome, parse(say.output "x", say.done(status)).verdict.outcome)
      end
      assert.are.equal("error", parse(say.done "error", say.done(say.good)).verdict.outcome)
      assert.are.equal("error", parse({ type = "done" }).verdict.outcome)
    end)

    it("99: the command, and the prompt on its standard input", function()
      local path = program(printing(say.output "x"))
      repo:write("issue.md", "The issue.")
      local result = run(path, { prompt = "--help me", context_files = { repo.dir .. "/issue.md" } })
      assert.are.equal("completed", result.outcome, result.reason)
      assert.are.equal(table.concat(say.argv, "\n") .. "\n", kept(path, "argv"))
      assert.are.equal("--help me\n\n\n--- issue.md ---\nThe issue.", kept(path, "stdin"))
      run(path, { role = "orchestrator" })
      assert.are.equal(table.concat(say.orchestrator, "\n") .. "\n", kept(path, "argv"))
      assert.are.equal("model", raised(run, path, { model = "--yolo" }).field)
    end)

    it("99: a prompt longer than any argument may be", function()
      local path = program(printing(say.output "x"))
      local prompt = ("word "):rep(200000)
      assert.are.equal("completed", run(path, { prompt = prompt }).outcome)
      assert.are.equal(#prompt, #kept(path, "stdin"))
    end)

    it("100: locked down: a required flag that is missing ends it before anything runs", function()
      local path = program(printing(say.output "x"))
      local result = run(path, nil, { flags = { "--fast" } })
      assert.are.equal("error", result.outcome)
      assert.are.equal("lockdown", result.error.code)
      assert.are.equal("output", kinds(result.events))
      assert.is_truthy(result.events[1].content:find("--sandbox is missing", 1, true))
      assert.is_nil(kept(path, "argv"))
      assert.are.equal("lockdown", run(path, { model = "m" }, { flags = { "--sandboxed" } }).error.code)
      result = run(path, nil, { flags = { "--sandbox", "--fast" } })
      assert.are.equal("completed", result.outcome)
      assert.are.equal("--sandbox\n--fast", kept(path, "argv"):match "^%-%-sandbox\n%-%-fast")
      result = run(path, { role = "orchestrator" }, { flags = { "--sandbox" } })
      assert.are.equal(name == "gemini" and "lockdown: --readonly is missing" or nil, result.reason)
      assert.are.equal(name == "gemini" and "error" or "completed", result.outcome)
      result = run(path, { role = "orchestrator" }, { flags = { "--sandbox", "--readonly" } })
      assert.are.equal("completed", result.outcome)
    end)

    it("runs where it is told, and what it makes is an artifact", function()
      local path = program("echo made > made.txt\n" .. printing(say.usage(7, 3), say.output "Done.",
        say.done(say.good)))
      local result = run(path)
      assert.are.same({ "made.txt" }, result.artifacts)
      assert.are.same({ 7, 3, "m-1" }, { result.usage.tokens_in, result.usage.tokens_out, result.usage.model })
      assert.is_nil(result.usage.incomplete)
      assert.is_nil(result.usage.cost_usd)
      assert.is_true(result.usage.duration_seconds > 0)
      assert.are.equal("session_result", result.type)
    end)

    it("its events go to on_event and to the iterator too, numbered", function()
      local path = program(printing(say.output "a", say.reasoning "b"))
      local heard, seen = {}, {}
      local result = run(path, { on_event = function(event) heard[#heard + 1] = event.content end })
      for event in session.events(session[name] { program = path }, kit.inputs(repo.dir)) do
        seen[#seen + 1] = event.content
      end
      assert.are.same({ "a", "b" }, heard)
      assert.are.same(heard, seen)
      assert.are.same({ 1, 2 }, { result.events[1].seq, result.events[2].seq })
      assert.is_true(result.events[1].timestamp > 1.7e9)
    end)

    it("a program that is not there, or is none: error, and one event says so", function()
      for _, path in ipairs { repo.dir .. "/nothing", repo.dir .. "/a.txt", repo.dir } do
        local result = run(path)
        assert.are.equal("error", result.outcome)
        assert.is_true(koine.errors.is_error(result.error))
        assert.are.equal("output", kinds(result.events))
        assert.are.equal(1, (result.events[1].content:find(name .. ": ", 1, true)))
      end
      assert.are.equal("absent", run(repo.dir .. "/nothing").error.code)
    end)

    it("an exit code other than 0: error, with the end of its standard error and no secret", function()
      local path = program(printing(say.output "x", say.done(say.good)) .. "\nprintf 'old\\n\\nbad key %s\\n' \"$"
        .. "ANTHROPIC_API_KEY\" >&2\nexit 3")
      local result = run(path, nil, { env = { PATH = os.getenv "PATH", ANTHROPIC_API_KEY = "sk-program-secret" } })
      assert.are.equal("error", result.outcome)
      assert.are.equal(name .. ": exit code 3: old bad key [redacted]", result.reason)
      assert.are.equal("output", kinds(result.events))
      result = run(program(printing(say.output "x") .. "\nhead -c 100000 /dev/zero | tr '\\0' 'e' >&2; kill -9 $$"))
      assert.is_truthy(result.reason:find("signal 9: …e", 1, true))
      assert.is_true(#result.reason < 400)
      assert.are.equal("x", result.events[1].content)
    end)

    it("no output at all: error", function()
      local result = run(program "exit 0")
      assert.are.equal("error", result.outcome)
      assert.are.equal(name .. ": no output", result.reason)
      assert.are.equal("error", run(program(printing(say.done(say.good)))).outcome)
    end)

    it("too slow: error", function()
      local result = run(program(printing(say.output "x") .. "\nsleep 600"), nil, { timeout = 0.2 })
      assert.are.equal("error", result.outcome)
      assert.is_truthy(result.reason:find("timed out after 0.2 seconds", 1, true))
    end)

    it("cancelled: blocked, also when the exit code says so too; an error of its own: error", function()
      local result = run(program(printing(say.output "x", say.done "cancelled")))
      assert.are.same({ "blocked", name .. ": cancelled" }, { result.outcome, result.reason })
      assert.are.equal("blocked", run(program(printing(say.output "x", say.done "cancelled") .. "\nexit 130")).outcome)
      result = run(program(printing(say.output "x", say.done "error")))
      assert.are.same({ "error", name .. ": error" }, { result.outcome, result.reason })
    end)

    it("98: asking for a human in the last words: blocked, and stays blocked", function()
      for _, text in ipairs { "I need human input", "I NEED YOUR INPUT.", "Could you please clarify?",
        "I cannot proceed without a key", "Waiting for your response." } do
        local result = run(program(printing(say.output(text), say.done(say.good))))
        assert.are.equal("blocked", result.outcome, text)
      end
      local function outcome(given, opts, ...) return run(program(printing(...)), given, opts).outcome end
      assert.are.equal("completed", outcome(nil, nil, say.output "Please clarify.", say.output "Never mind."))
      assert.are.equal("completed", outcome(nil, nil, say.output "All is clear."))
      assert.are.equal("completed", outcome(nil, nil, say.output ""))
      assert.are.equal("completed", outcome({ blocked_phrases = false }, nil, say.output "please clarify"))
      assert.are.equal("blocked", outcome(nil, { blocked_phrases = { "halt" } }, say.output "HALT"))
    end)

    it("101: a prohibited operation: blocked, and in the audit log", function()
      local result = run(program(printing(say.call("c1", "shell", { command = "ls" }),
        say.call("c2", "shell", { command = "git push --force" }), say.output "Done.", say.done(say.good))),
        { allowed_tools = { "shell" } })
      assert.are.same({ "blocked", "prohibited: git push --force" }, { result.outcome, result.reason })
      assert.are.equal(2, #result.audit_log)
      assert.are.same({ "shell", "ls", false, "" }, { result.audit_log[1].tool_name,
        result.audit_log[1].tool_input.command, result.audit_log[1].blocked, result.audit_log[1].block_reason })
      assert.are.same({ false, "prohibited: git push --force" }, { result.audit_log[2].blocked,
        result.audit_log[2].block_reason })
      result = run(program(printing(say.output "git push --force", say.done(say.good))))
      assert.are.equal("completed", result.outcome)
    end)

    it("tools beyond allowed_tools are marked, inputs that mean nothing to it are listed", function()
      local path = program(printing(say.call("c1", "shell", { command = "ls" }), say.call("c2", "web", {})))
      local result = run(path, { allowed_tools = { "shell" }, max_rounds = 3, deadline_seconds = 5 })
      assert.is_nil(result.audit_log[1].not_allowed)
      assert.is_true(result.audit_log[2].not_allowed)
      assert.are.same({ "max_rounds", "deadline_seconds" }, result.ignored)
    end)

    it("its inputs are checked like all others", function()
      assert.are.equal("role", raised(run, "x", { role = "admin" }).field)
      local folder = new_folder()
      assert.are.equal("workdir", raised(run, "x", { workdir = folder }).field)
      local result = run(program(printing(say.output "x")), { workdir = folder, require_git = false })
      assert.are.same({ "completed", "none" }, { result.outcome, result.artifacts_source })
    end)

    it("two at once keep apart", function()
      local folder = new_folder()
      assert(os.execute("mkfifo " .. folder .. "/fifo"))
      -- One waits for what the other says.
      local writer = program("echo word > " .. folder .. "/fifo\n" .. printing(say.output "wrote"))
      local reader = program("read word < " .. folder .. "/fifo\n" .. printing(say.output "read"))
      local other <close> = repository.with { x = "x" }
      local a, b
      koine.run(function()
        a, b = koine.gather(function() return run(writer, nil, { timeout = 60 }) end,
          function() return run(reader, { workdir = other.dir }, { timeout = 60 }) end)
      end)
      assert.are.same({ "completed", "wrote" }, { a.outcome, a.events[1].content })
      assert.are.same({ "completed", "read" }, { b.outcome, b.events[1].content })
    end)
  end)
end

describe("the options of a program", function()
  it("are checked when they are given", function()
    local bad = {
      { "flags", "--sandbox" }, { "flags", { 1 }, "flags[1]" }, { "flags", { "a\0b" }, "flags[1]" },
      { "flags", { sandbox = true } }, { "timeout", -1 }, { "timeout", 0 / 0 }, { "timeout", "5" },
      { "timeout", math.huge }, { "env", { X = 1 }, "env.X" }, { "env", { X = "a\0b" }, "env.X" },
      { "env", { ["A=B"] = "x" } }, { "env", { "x" } }, { "program", "" }, { "program", "a\0b" }, { "program", 5 },
      { "blocked_phrases", { {} }, "blocked_phrases[1]" }, { "blocked_phrases", "x" }, { "flag", {} },
    }
    for _, case in ipairs(bad) do
      local err = raised(session.codex, { [case[1]] = case[2] })
      assert.are.same({ "ArgumentError", case[3] or case[1] }, { err.class, err.field })
    end
    assert.are.equal("options", raised(session.codex, 5).field)
  end)

  it("are never shown where they may be secret", function()
    assert.is_nil(raised(session.codex, { env = { KEY = "s3cret\0" } }).message:find("s3cret", 1, true))
    assert.is_nil(raised(session.codex, { flags = { "--key=s3cret\0" } }).message:find("s3cret", 1, true))
  end)

  -- What a session of a program that says `text` comes to, by way of options that `change` changes afterwards.
  local function outcome(text, options, change)
    local repo <close> = repository.with { ["a.txt"] = "a\n" }
    options.program = kit.script(repo.dir .. "/program",
      ("cat <<'END'\n%s\nEND\n"):format(json.encode(DIALECTS.codex.output(text))))
    local provider = session.codex(options)
    if change then change(options) end
    return provider:run_session(kit.inputs(repo.dir)).outcome
  end

  it("phrases may be capitals, or false for none", function()
    assert.are.equal("blocked", outcome("I AM STUCK here", { blocked_phrases = { "I am Stuck" } }))
    assert.are.equal("blocked", outcome("Please clarify.", {}))
    assert.are.equal("completed", outcome("Please clarify.", { blocked_phrases = false }))
  end)

  it("are copied", function()
    assert.are.equal("blocked", outcome("I am stuck", { blocked_phrases = { "stuck" }, flags = { "--sandbox" } },
      function(options)
        options.blocked_phrases[1], options.flags[1], options.program = "other", "--open", "/nowhere"
      end))
  end)
end)
