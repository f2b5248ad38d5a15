-- koine.session: its types, its providers, and what a session is given.

local cjson = require "cjson"
local core = require "koine.core"
local kit = require "spec.lua.session.kit"
local koine = require "koine"
local lfs = require "lfs"
local repository = require "spec.lua.system.repository"
local strerror = require "spec.support.strerror"

local session = koine.session
local answering, bash, call, play, raised = kit.answering, kit.bash, kit.call, kit.play, kit.raised

describe("session: types and interface", function()
  it("81: the abstract provider cannot be called; a trivial one can", function()
    for _, f in ipairs { session.provider, session.provider.run_session } do
      local err = raised(f, session.provider, {})
      assert.are.equal("NotImplementedError", err.class)
      assert.are.equal("run_session", err.method)
    end
    local fake = setmetatable({ run_session = function(_, given)
      return session.result { outcome = "completed",
        events = { session.event { kind = "output", content = given.prompt } },
        usage = session.usage { tokens_in = 1, tokens_out = 2, model = given.model, duration_seconds = 0.5 },
        artifacts = { "a.txt" }, audit_log = { session.audit { tool_name = "bash" } } }
    end }, { __index = session.provider })
    assert.is_true(session.is_provider(fake))
    local result = session.run(fake, { prompt = "Hi", model = "m" })
    assert.are.equal("completed", result.outcome)
    assert.are.equal("Hi", result.events[1].content)
    assert.are.equal("m", result.usage.model)
    assert.are.same({ "a.txt" }, result.artifacts)
    assert.are.equal("bash", result.audit_log[1].tool_name)
    local opened = session.events(fake, { prompt = "Hi", model = "m" })
    local seen = {}
    for event in opened do seen[#seen + 1] = event.content end
    assert.are.same({ "Hi" }, seen)
    assert.are.equal("completed", opened:result().outcome)
  end)

  it("81: what is a provider, and what is none", function()
    assert.is_true(session.is_provider { run_session = print })
    assert.is_true(session.is_provider { run_session = setmetatable({}, { __call = print }) })
    assert.is_true(session.is_provider(session.provider))
    assert.is_false(session.is_provider { run_session = 5 })
    assert.is_false(session.is_provider(play {}))
    assert.is_false(session.is_provider(koine.anthropic { model = "claude-sonnet-4-5" }))
    assert.is_false(session.is_provider "x")
    assert.is_false(session.is_provider(nil))
  end)

  local function count(t)
    local n = 0
    for _ in pairs(t) do n = n + 1 end
    return n
  end

  it("82: two roles, three outcomes, four kinds", function()
    assert.are.same({ ORCHESTRATOR = "orchestrator", IMPLEMENTOR = "implementor" }, session.ROLE)
    assert.are.same({ COMPLETED = "completed", BLOCKED = "blocked", ERROR = "error" }, session.OUTCOME)
    assert.are.same({ REASONING = "reasoning", TOOL_CALL = "tool_call", TOOL_RESULT = "tool_result",
      OUTPUT = "output" }, session.KIND)
    assert.are.same({ 2, 3, 4 }, { count(session.ROLE), count(session.OUTCOME), count(session.KIND) })
  end)

  it("83: events, minimal and of a tool call", function()
    local event = session.event { kind = "output" }
    assert.are.same({ kind = "output", content = "", timestamp = 0 }, event)
    event = session.event { kind = "tool_call", tool_name = "bash", tool_input = '{"command":"ls"}',
      tool_call_id = "c1", timestamp = 1.5 }
    assert.are.same({ kind = "tool_call", content = "", tool_name = "bash", tool_input = '{"command":"ls"}',
      tool_call_id = "c1", timestamp = 1.5 }, event)
    assert.are.equal("event.kind", raised(session.event, {}).field)
    assert.are.equal("event.kind", raised(session.event, { kind = "tool-call" }).field)
    assert.are.equal("event.tool_input", raised(session.event, { kind = "tool_call", tool_input = {} }).field)
    assert.are.equal("event.text", raised(session.event, { kind = "output", text = "x" }).field)
  end)

  it("83: usage, empty and filled", function()
    local usage = session.usage {}
    assert.are.same({ tokens_in = 0, tokens_out = 0, cost_usd = 0.0, model = "", duration_seconds = 0.0,
      cache_read_tokens = 0, cache_creation_tokens = 0, reasoning_tokens = 0, model_calls = 0 }, usage)
    usage = session.usage { tokens_in = 3, tokens_out = 4, cost_usd = 0.5, model = "m", duration_seconds = 1.25 }
    assert.are.same({ tokens_in = 3, tokens_out = 4, cost_usd = 0.5, model = "m", duration_seconds = 1.25,
      cache_read_tokens = 0, cache_creation_tokens = 0, reasoning_tokens = 0, model_calls = 0 }, usage)
    assert.are.equal("usage.tokens", raised(session.usage, { tokens = 1 }).field)
  end)

  it("83: a result needs an outcome, the rest is empty", function()
    local result = session.result { outcome = "completed" }
    assert.are.equal("session_result", result.type)
    for _, name in ipairs { "events", "artifacts", "audit_log" } do assert.are.same({}, result[name]) end
    assert.are.equal(0, result.usage.tokens_in)
    assert.are.equal("result.outcome", raised(session.result, {}).field)
    assert.are.equal("result.outcome", raised(session.result, { outcome = "done" }).field)
    assert.are_not.equal(session.result { outcome = "error" }.events, session.result { outcome = "error" }.events)
    assert.are.same(result, session.result(result))
    assert.are.equal("audit.tool_name", raised(session.audit, {}).field)
    assert.are.equal("result", raised(session.result).field)
  end)

  it("105: audit records: of a call that ran, of one that was blocked; the input as it was", function()
    local input = { command = "ls", nested = { n = 9007199254740993 } }
    assert.are.same({ tool_name = "bash", tool_input = input, blocked = false, block_reason = "", timestamp = 1.5 },
      session.audit { tool_name = "bash", tool_input = input, timestamp = 1.5 })
    assert.are.same({ tool_name = "bash", tool_input = {}, blocked = true, block_reason = "no", timestamp = 0 },
      session.audit { tool_name = "bash", blocked = true, block_reason = "no" })
  end)

  local function sources()
    local list = { "lua/koine/session/init.lua" }
    for file in lfs.dir "lua/koine/session" do
      if file:find "%.lua$" then list[#list + 1] = "lua/koine/session/" .. file end
    end
    assert.is_true(#list > 5)
    return list
  end

  local function read(path)
    local file <close> = assert(io.open(path))
    return file:read "a"
  end

  it("84: the module and its types name no provider", function()
    local names, words = { "claude", "codex", "gemini" }, { compatible = true, together = true } -- of every day
    for _, name in ipairs(require("koine.provider").names) do
      if not words[name] then names[#names + 1] = name end
    end
    for _, path in ipairs(sources()) do
      local text = read(path):lower()
      for _, name in ipairs(names) do
        assert.is_nil(text:find("%f[%w]" .. name .. "%f[%W]"), path .. " names " .. name)
      end
      assert.is_nil(text:find("koine.providers", 1, true))
    end
  end)

  it("85: the factory gives a new provider of the right kind each time", function()
    for _, name in ipairs { "anthropic", "openai" } do
      local one, other = session.new(name), session.new(name)
      assert.are_not.equal(one, other)
      assert.are.equal(name, one.name)
      assert.is_true(session.is_provider(one))
    end
    local err = raised(session.new, "nobody")
    assert.are.same({ "ArgumentError", "name", "known provider" }, { err.class, err.field, err.expected })
    assert.are.equal("name", raised(session.new, 5).field)
    assert.are.equal("options", raised(session.new, "anthropic", 5).field)
  end)

  it("an event goes out as an event of a stream", function()
    local event = session.event { kind = "tool_call", tool_name = "bash", tool_input = '{"a":"\n"}', seq = 2 }
    local text = session.sse(event)
    local kind, data = text:match "^event: ([^\n]*)\ndata: ([^\n]*)\n\n$"
    assert.are.equal("tool_call", kind)
    assert.are.same(event, core.decode(data))
    assert.are.equal('{"a":"\n"}', cjson.decode(data).tool_input)
    assert.are.equal("event.kind", raised(session.sse, { kind = "x\ndata: y" }).field)
    assert.are.equal("event", raised(session.sse, "x").field)
  end)
end)

describe("session", function()
  local bench, repo = kit.bench(), nil
  local inputs, run = bench.inputs, bench.run

  before_each(function() repo = bench.open() end)
  after_each(bench.close)

  describe("inputs", function()
    it("are all checked before any work", function()
      local executed = 0
      local executor = answering(function() executed = executed + 1 return "x" end)
      local bad = {
        { "workdir", 5 }, { "workdir", "" }, { "workdir", repo.dir .. "/nowhere" }, { "workdir", repo.dir .. "/a.txt" },
        { "role", "admin" }, { "role", 5 }, { "model", "" }, { "model", 5 }, { "model", "another" },
        { "allowed_tools", "bash" }, { "allowed_tools", { bash = true } },
        { "allowed_tools", { "bash", nil, "grep" } }, { "allowed_tools", { "bash", nil, "grep", more = "x" } },
        { "allowed_tools", { 5 }, "allowed_tools[1]" }, { "prompt", "" }, { "prompt", {} },
        { "context_files", "issue.md" }, { "context_files", { 1 }, "context_files[1]" },
        { "executor", {} }, { "on_event", 5 }, { "on_delta", 5 }, { "max_rounds", 0 }, { "max_rounds", 1.5 },
        { "max_tokens_total", -1 }, { "deadline_seconds", -1 }, { "deadline_seconds", 0 / 0 }, { "require_git", "no" },
        { "relative_to", "top" }, { "ignore_unknown_tools", 1 }, { "blocked_phrases", "x" }, { "system", 5 },
        { "options", 5 }, { "options", { system = "x" }, "options.system" }, { "max_context_bytes", 0 },
        { "max_round", 5 },
      }
      for _, case in ipairs(bad) do
        local book = play { { content = "x" } }
        for _, f in ipairs { session.run, session.events } do
          local given = inputs { executor = executor, [case[1]] = case[2] }
          local err = raised(f, book, given)
          assert.are.equal("ArgumentError", err.class)
          assert.are.equal(case[3] or case[1], err.field)
        end
        assert.are.equal(0, #book.call_log)
      end
      for _, name in ipairs { "workdir", "role", "model", "allowed_tools", "prompt", "context_files" } do
        local given = inputs()
        given[name] = nil
        assert.are.equal(name, raised(session.run, play {}, given).field)
      end
      assert.are.equal("session", raised(session.run, play {}).field)
      local provider = session.new("anthropic", { key = "k" })
      assert.are.equal("session", raised(provider.run_session, provider).field)
      assert.are.equal("adapter", raised(session.run, {}, inputs()).field)
      assert.are.equal(0, executed)
    end)

    it("are not changed, and may be used again", function()
      local given = inputs { allowed_tools = { "bash" } }
      local copy = require("koine.data.records").to_table(given)
      session.run(play { { content = "x" } }, given)
      assert.are.same(copy, given)
      assert.are.equal("completed", session.run(play { { content = "x" } }, given).outcome)
    end)

    it("that the adapter does not take raise, when nothing was done yet", function()
      local given = inputs { options = { max_token = 5 } }
      for _, open in ipairs { session.run, session.events } do
        local err = raised(open, play { { content = "x" } }, given)
        assert.are.equal("options.max_token", err.field)
      end
      given = inputs { options = { max_tokens = "many" } }
      assert.are.equal("max_tokens", raised(session.run, play { { content = "x" } }, given).field)
      local opened = session.events(play { { content = "x" } }, given)
      assert.are.equal("max_tokens", raised(opened.next, opened).field)
      assert.is_nil(opened:next())
      assert.are.equal("error", opened:result().outcome)
    end)

    it("86: tools of known names; an unknown one is wrong, unless it is to be skipped; none", function()
      local _, book = run({ { content = "x" } }, { allowed_tools = { "bash", "read_file", "bash" } })
      local names = {}
      for i, tool in ipairs(book.call_log[1].tools) do names[i] = tool.name end
      assert.are.same({ "bash", "read_file" }, names)

      local err = raised(run, { { content = "x" } }, { allowed_tools = { "bash", "telepathy" } })
      assert.are.equal("allowed_tools[2]", err.field)
      local result
      result, book = run({ { content = "x" } }, { allowed_tools = { "telepathy", "bash" },
        ignore_unknown_tools = true })
      assert.are.equal(1, #book.call_log[1].tools)
      assert.are.same({ "telepathy" }, result.skipped_tools)

      _, book = run({ { content = "x" } })
      assert.is_nil(book.call_log[1].tools)
      _, book = run({ { content = "x" } }, { allowed_tools = { "telepathy" }, ignore_unknown_tools = true })
      assert.is_nil(book.call_log[1].tools)
    end)

    it("a name that the executor knows and has no tool for is skipped, and refused", function()
      local executor = { names = { "bash", "telepathy" }, run = error, tools = function()
        return { koine.tool { name = "bash", description = "", run = print } }
      end }
      local result, book = run({ { content = { call("c1", "telepathy") } }, { content = "x" } },
        { allowed_tools = { "telepathy", "bash" }, executor = executor })
      assert.are.same({ "telepathy" }, result.skipped_tools)
      assert.are.equal("bash", book.call_log[1].tools[1].name)
      assert.are.equal("Permission denied: tool not allowed", result.events[2].content)
    end)

    it("tools that an executor brings are called themselves; one without a function goes to its run", function()
      local called = {}
      local function note(what)
        return function(input, ctx)
          called[#called + 1] = { what, input.city, ctx.workdir, ctx.call.id }
          return { { type = "text", text = what } }
        end
      end
      local made = {
        weather = koine.tool { name = "weather", description = "", example = { city = "Paris" }, run = note "rain" },
        broken = koine.tool { name = "broken", description = "", run = function() error("out of order", 0) end },
        bare = { name = "bare", description = "", parameters = { type = "object" } },
      }
      local executor = { names = { "weather", "broken", "bare" }, tools = function(_, names)
        local list = {}
        for i, name in ipairs(names) do list[i] = made[name] end
        return list
      end }
      local rome, last = call("c1", "weather", { city = "Rome" }), { content = "x" }
      local result = run({ { content = { rome, call("c2", "broken") } }, last },
        { allowed_tools = { "weather", "broken" }, executor = executor })
      assert.are.same({ "completed", "rain", "out of order", true }, { result.outcome, result.events[3].content,
        result.events[4].content, result.events[4].is_error })
      assert.are.same({ { "rain", "Rome", repo.dir, "c1" } }, called)
      assert.is_false(result.audit_log[1].blocked)

      executor.run = function(name) return "run of " .. name end
      result = run({ { content = { rome, call("c2", "bare") } }, last }, { allowed_tools = { "weather", "bare" },
        executor = executor })
      assert.are.same({ "rain", "run of bare" }, { result.events[3].content, result.events[4].content })
    end)

    it("an orchestrator gets no tool that changes files", function()
      local allowed = { "bash", "read_file", "write_file", "grep" }
      local result, book = run({ { content = { call("c1", "write_file", { path = "x", content = "x" }) } },
        { content = "done" } }, { role = "orchestrator", allowed_tools = allowed })
      local names = {}
      for i, tool in ipairs(book.call_log[1].tools) do names[i] = tool.name end
      assert.are.same({ "read_file", "grep" }, names)
      assert.are.same({ "bash", "write_file" }, result.skipped_tools)
      assert.are.equal("Permission denied: tool not allowed", result.events[2].content)
      assert.is_true(result.audit_log[1].blocked)
      assert.are.same({}, result.artifacts)
      result = run({ { content = { call("c1", "write_file", { path = "x", content = "x" }) } }, { content = "done" } },
        { allowed_tools = allowed })
      assert.are.same({ "x" }, result.artifacts)
    end)
  end)

  describe("prompt", function()
    local function prompt_of(given)
      local result, book = run({ { content = "x" } }, given)
      assert.are.equal(1, #book.call_log[1].messages)
      return book.call_log[1].messages[1].content, result
    end

    it("87: alone it is unchanged", function()
      assert.are.equal("Do it.\n", (prompt_of { prompt = "Do it.\n" }))
    end)

    it("87: context files follow under their names; what is not there is skipped and listed", function()
      repo:write("issue.md", "The issue.")
      repo:write("docs/spec.md", "The spec.")
      local missing, below = repo.dir .. "/none.md", repo.dir .. "/a.txt/none.md"
      local text, result = prompt_of { context_files = { repo.dir .. "/issue.md", missing, repo.dir .. "/docs/spec.md",
        below } }
      assert.are.equal("Do it.\n\n\n--- issue.md ---\nThe issue.\n\n\n--- spec.md ---\nThe spec.", text)
      assert.are.same({ missing, below }, result.skipped_context)
    end)

    it("87: files of the same name are told apart by their paths", function()
      repo:write("one/x.md", "1")
      repo:write("two/x.md", "2")
      local outside = repository.folder()
      local file <close> = assert(io.open(outside .. "/x.md", "w"))
      file:write "3"
      file:close()
      local text = prompt_of { context_files = { repo.dir .. "/one/x.md", repo.dir .. "/two/x.md",
        outside .. "/x.md" } }
      assert.are.equal("Do it.\n\n\n--- one/x.md ---\n1\n\n\n--- two/x.md ---\n2\n\n\n--- " .. outside
        .. "/x.md ---\n3", text)
      os.execute("rm -r " .. outside)
    end)

    it("87: what is no UTF-8 is repaired, what is too long is cut at a character", function()
      repo:write("bad.md", "a\255b")
      repo:write("long.md", "ééééé")
      local path = repo.dir .. "/long.md"
      local text, result = prompt_of { context_files = { repo.dir .. "/bad.md", path }, max_context_bytes = 5 }
      assert.are.equal("Do it.\n\n\n--- bad.md ---\na\u{FFFD}b\n\n\n--- long.md ---\néé\n[6 more bytes]", text)
      assert.are.same({ path }, result.cut_context)
      text, result = prompt_of { context_files = { path }, max_context_bytes = 10 }
      assert.are.equal("Do it.\n\n\n--- long.md ---\nééééé", text)
      assert.are.same({}, result.cut_context)
    end)

    it("a context file that cannot be read is the session's error", function()
      local result, book = run({ { content = "x" } }, { context_files = { repo.dir .. "/dir" } })
      assert.are.equal("error", result.outcome)
      assert.are.equal("context file " .. repo.dir .. "/dir: " .. strerror "EISDIR", result.reason)
      assert.are.equal(0, #book.call_log)
    end)

    it("a context file that is a pipe is refused: nothing is waited for", function()
      local pipe = repo.dir .. "/pipe"
      assert(os.execute("mkfifo '" .. pipe .. "'"))
      local result, book = run({ { content = "x" } }, { context_files = { pipe } })
      assert.are.equal("error", result.outcome)
      assert.are.equal("context file " .. pipe .. ": it is no regular file", result.reason)
      assert.are.equal(0, #book.call_log)
    end)

    it("system prompt and options go with every call", function()
      local _, book = run({ { content = { bash("c1", "true") } }, { content = "x" } },
        { system = "Be brief.", options = { max_tokens = 64000 }, allowed_tools = { "bash" } })
      for i = 1, 2 do
        assert.are.equal("Be brief.", book.call_log[i].system)
        assert.are.equal(64000, book.call_log[i].max_tokens)
      end
    end)
  end)
end)
