-- The types for editors against what comes back: real calls, whose values have the fields that are typed and no others.

local agents = require "spec.lua.protocol.acp.kit"
local fits = require "spec.lua.whole.docs.types.fits"
local folders = require "spec.support.folder"
local koine = require "koine"
local typed = require "spec.lua.whole.docs.types.typed"

local function assert_fits(value, type, what)
  local problem = fits(value, type, what or type)
  assert(not problem, problem)
end

-- Asserts that an array is not empty, and that all of it fits.
local function assert_all_fit(list, type)
  assert.is_true(#list > 0, type .. ": empty")
  assert_fits(list, type)
end

local wrong, count -- the problems that callbacks found, and how many values they looked at

local function forget() wrong, count = {}, 0 end

-- For callbacks, whose errors go to no test: keeps the problem of a value that does not fit.
local function note(value, type) wrong[#wrong + 1], count = fits(value, type, type), count + 1 end

-- Asserts that callbacks looked at so many values or more, and that all of them fitted.
local function assert_noted(least)
  assert.are.same({}, wrong)
  assert.is_true(count >= least, count .. " values")
end

-- Asserts that a value is what the function of that name returns first.
local function assert_result(value, name) assert_fits(value, typed.all.functions[name].returns[1].type, name) end

local CALL = { { type = "thinking", thinking = "Hm." }, { type = "text", text = "Let me see." },
  { type = "tool_use", id = "c1", name = "add", arguments = { a = 2, b = 3 } } }
local USAGE = { input_tokens = 5, output_tokens = 3 }

describe("types of values: calls", function()
  local server, claude

  setup(function()
    server = assert(koine.testing.start())
    claude = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "test-key",
      retry = { max = 0 } }
  end)
  teardown(function() server:stop() end)
  before_each(forget)

  it("are judged", function()
    local function problem(message) return fits(message, "koine.Message", "m") end
    assert.is_nil(problem { role = "user", content = "Hi." })
    assert.are.equal('m.role: "user" expected, got system', problem { role = "system", content = "" })
    assert.are.equal("m.name: no such field is typed", problem { role = "user", content = "", name = 1 })
    assert.is_truthy(problem { role = "user" }:find "^m.content: .* expected, got nil$")
    local block = { type = "text", text = 1 }
    assert.are.equal("m.content.1.text: string expected, got 1", problem { role = "user", content = { block } })
  end)

  it("are those of Responses and their parts", function()
    assert(server:script { { content = CALL, usage = USAGE }, { content = "Hi.", stop_sequence = "x" } })
    local r = assert(claude:chat("Hi.", { thinking = "low" }))
    assert_fits(r, "koine.Response")
    assert_fits(setmetatable(r:to_table(), nil), "koine.Response")
    assert_fits(r:message(), "koine.Message")
    assert_fits(assert(claude:chat "Hi."), "koine.Response")
    assert_fits(koine.usage.sum { r, r }, "koine.UsageSum")
  end)

  it("are those of streams", function()
    assert(server:script { { content = CALL, usage = USAGE } })
    local stream <close> = assert(claude:open("Hi.", { thinking = "low" }))
    local deltas = 0
    for delta in stream.next, stream do
      assert_fits(delta, "koine.Delta")
      deltas = deltas + 1
    end
    assert.is_true(deltas > 8)
    assert_fits(stream:stats(), "koine.StreamStats")
    assert_fits(assert(stream:response()), "koine.Response")
  end)

  it("are those of values with a shape", function()
    assert(server:script { { content = '{"name":"Ada"}' }, { content = "no JSON" } })
    local stream <close> = assert(claude:open("Who?", { output = { schema = "name" } }))
    local deltas = 0
    for delta in stream.next, stream do
      assert_fits(delta, "koine.Delta")
      deltas = deltas + 1
    end
    assert.is_true(deltas > 1)
    assert(server:script { { content = "no JSON" } })
    local _, err = claude:object("Who?", { output = { schema = "name" } })
    assert_fits(err, "koine.Error")
    assert_fits(err.partial.output_error, "koine.OutputError")
  end)

  it("are those of errors", function()
    assert(server:script { { error = { status = 429, headers = { ["retry-after"] = "1" }, message = "Slow." } } })
    local _, err = claude:chat "Hi."
    assert_fits(err, "koine.Error")
    assert_fits(select(2, koine.try(claude.chat, claude, {})), "koine.Error")
  end)

  it("are those of lists of models, of embeddings and of requests", function()
    assert_all_fit(assert(claude:list_models()), "koine.ModelInfo[]")
    local gpt = koine.openai { model = "gpt-4.1", base_url = server.url .. "/v1", key = "test-key" }
    assert(server:script { { embeddings = true } })
    assert_fits(assert(gpt:embed { "a", "b" }), "koine.Embeddings")
    assert_all_fit(assert(server:requests()), "koine.LoopbackRequest[]")
    assert_all_fit(koine.providers(), "koine.ProviderFacts[]")
  end)

  it("are those of the raw view", function()
    assert(server:script { { content = "Hi." } })
    local phases = {}
    assert(claude:chat("Hi.", { on_request = function(request) note(request, "koine.RawRequest") end,
      on_response = function(response)
        note(response, "koine.RawResponse")
        phases[response.phase] = true
      end }))
    assert_noted(4)
    assert.are.same({ head = true, body = true, ["end"] = true }, phases)
  end)

  it("are those of conversations", function()
    assert(server:script { { content = "Hi." } })
    local talk = koine.conversation(claude)
    assert(talk:ask "Hi.")
    assert_fits(talk:dump(), "koine.ConversationDump")
    assert_fits(talk, "koine.Conversation")
  end)

  it("are those of agents, their runs and events, and of what observers are told", function()
    local seen, add = {}, koine.tool { name = "add", description = "Adds.", example = { a = 1, b = 2 },
      needs_approval = true, run = function(args, ctx)
        note(ctx, "koine.ToolContext")
        return args.a + args.b
      end }
    assert_fits(add, "koine.Tool")
    local cost = koine.observe.cost()
    local agent = koine.agent { adapter = claude, tools = { add }, name = "adder",
      observer = koine.observe.fan { function(record) seen[#seen + 1] = record end, cost },
      stop = { koine.agent.steps(9), function(state) note(state, "koine.RunState") end },
      prepare = function(step) note(step, "koine.PrepareStep") end,
      on_event = function(event) note(event, "koine.Event") end }
    assert(server:script { { content = CALL, usage = USAGE }, { content = "5" } })
    local run = agent:start "2 + 3?"
    local result = assert(run:result())
    assert_fits(result, "koine.AgentResult")
    run:approve("c1")
    assert_fits(assert(run:result()), "koine.AgentResult")
    assert_fits(koine.usage.sum { run:summary() }, "koine.UsageSum")
    assert_noted(5)
    assert.is_true(#seen > 4, #seen .. " records")
    assert_fits(seen, "koine.Record[]")
    assert_all_fit(koine.observe.tree(seen), "koine.TraceNode[]")
    assert_all_fit(cost:table(), "koine.CostRow[]")
  end)

  it("are those of sessions", function()
    assert(server:script { { content = "Done.", usage = USAGE } })
    local folder = folders.new()
    local result = koine.session.run(claude, { workdir = folder, role = "implementor", model = "claude-sonnet-4-5",
      allowed_tools = {}, prompt = "Hi.", context_files = {}, require_git = false })
    folders.remove(folder)
    assert_fits(result, "koine.SessionResult")
  end)
end)

describe("types of values: the rest", function()
  before_each(forget)

  it("are those of programs and executors", function()
    assert_fits(assert(koine.process.run { "true" }), "koine.ProcessResult")
    local folder = folders.new()
    local ex <close> = assert(koine.executor { workdir = folder, policy = { koine.executor.policies.cautious,
      function(_, _, ctx) note(ctx, "koine.PolicyContext") end } })
    assert_fits(ex, "koine.Executor")
    local _, info = ex.run("read_file", { path = "../x" })
    assert_fits(info, "koine.ToolInfo")
    _, info = ex.run("bash", { command = "exit 3" })
    assert_fits(info, "koine.ToolInfo")
    assert_noted(1)
    folders.remove(folder)
  end)

  it("are those of dispatchers", function()
    local record
    local function check(message, thread)
      note(message, "koine.ChatMessage")
      note(thread, "koine.Thread")
    end
    local d = koine.dispatcher { on_done = check, on_queued = check, on_dispatch = function(one) record = one end,
      target = { run_turn = function(_, _, blocks, ctx)
        note(blocks, "koine.Block[]")
        note(ctx, "koine.TurnContext")
        return "fine"
      end } }
    assert(d:submit({ platform = "slack", thread_id = "T", channel_id = "C" }, { sender_json = "{}", prompt = "Hi." }))
    while d:step() do end
    assert_noted(4)
    assert_fits(d:stats(), "koine.DispatcherStats")
    assert.are.equal(0, d:stats().hook_errors, d:stats().hook_error)
    assert_fits(record, "koine.DispatchRecord")
    d:submit({ platform = "slack", thread_id = "T" }, { sender_json = "{}", prompt = "Hi." })
    assert_all_fit(d:shutdown(), "koine.LostMessages[]")
  end)

  it("are those of observers of a file and of a collector", function()
    local folder = folders.new()
    local path = folder .. "/log"
    local log <close> = assert(koine.observe.jsonl(path))
    local book = koine.testing.playbook { steps = { { step = 1, type = "message", content = "Hi." } }, observer = log }
    assert(book:chat "Hi.")
    local records = assert(koine.observe.read(path))
    assert.is_true(#records > 1)
    assert_fits(records, "koine.Record[]")
    folders.remove(folder)
    local otlp = koine.observe.otlp()
    assert_result(otlp:counts(), "koine.ObserveOtlp.counts")
  end)

  it("are those of stores", function()
    local store <close> = koine.store.memory {}
    assert(store:push("q", "item"))
    local _, _, items = assert(store:claim("me", 1))
    assert_all_fit(items, "koine.QueueItem[]")
    assert_fits(assert(store:describe()), "koine.StoreFacts")
  end)

  it("are those of MCP servers", function()
    local client <close> = assert(koine.mcp.connect { name = "notes", command = "lua5.4",
      args = { "examples/mcp_server.lua" } })
    assert_fits(client, "koine.McpClient")
    assert_fits(assert(client:call("add", { a = 1, b = 2 })), "koine.McpResult")
    assert_all_fit(assert(client:tools()), "koine.Tool[]")
  end)

  it("are those of agents of other programs", function()
    local bench = agents.bench()
    local connection <close> = bench:connect ""
    assert_fits(connection, "koine.AcpConnection")
    local session = assert(connection:new())
    assert_fits(session, "koine.AcpSession")
    assert_fits(assert(session:prompt("Hi.", { on_event = function(event) note(event, "koine.AcpEvent") end })),
      "koine.AcpResult")
    assert_noted(1)
    bench:close()
  end)

  it("are those of playbooks and of the snapshot of a repository", function()
    local book = koine.testing.playbook { { step = 1, type = "message", content = "Hello." } }
    assert_fits(koine.testing.playbook.scenarios, "table<string, koine.PlaybookStep[]>")
    assert_fits(assert(book:chat "Hi."), "koine.Response")
    assert_all_fit(book:list_models(), "koine.ModelInfo[]")
    local alarm = koine.packing.overhead_alarm()
    assert_result(alarm:add({ envelope_tokens_per_dispatch = 1, adapter = "a" }, 1), "koine.OverheadAlarm.add")
    local folder = folders.new()
    assert(koine.process.run({ "git", "init", "-q", folder }))
    assert_fits(assert(koine.artifacts.snapshot(folder)), "koine.Snapshot")
    folders.remove(folder)
  end)
end)
