-- Each row of the tables in docs/observing.md: the fields that records of a type have, none missing, none beside.

local acp_kit = require "spec.lua.protocol.acp.kit"
local agent_kit = require "spec.lua.agent.kit"
local chat_lab = require "spec.lua.dispatch.kit"
local koine = require "koine"
local mcp_kit = require "spec.lua.protocol.mcp.kit"
local observed = require "spec.lua.data.observer.kit"
local session_kit = require "spec.lua.session.kit"

local COMMON = { "v", "type", "phase", "trace", "id", "parent", "time", "seconds", "error", "content" }

local common = {}
for _, name in ipairs(COMMON) do common[name] = true end

-- What the records of a type and phase are to have: all of `always`, none but these, `maybe` and the common ones.
local function check_row(records, type, phase, always, maybe)
  local found, allowed = observed.of(records, type, phase), {}
  assert.is_true(#found > 0, type .. " " .. phase .. ": none was told")
  for _, list in ipairs { always, maybe or {} } do
    for _, name in ipairs(list) do allowed[name] = true end
  end
  local seen = {}
  for _, record in ipairs(found) do
    for name in pairs(record) do
      seen[name] = true
      assert.is_true(common[name] or allowed[name] or false, ("%s %s: has %s"):format(type, phase, name))
    end
  end
  for _, name in ipairs(always) do
    assert.is_true(seen[name] or false, ("%s %s: has no %s"):format(type, phase, name))
  end
end

describe("a row of the records", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local function claude(observer)
    return koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "k", observer = observer }
  end

  -- The records of a dispatcher's turn with a session's agent, and what happens around it.
  local function turn_records()
    local observer, records = observed.keep()
    assert(server:script { { content = { { type = "tool_use", name = "add", arguments = { a = 1, b = 2 } } } },
      { error = { status = 529, headers = { ["retry-after-ms"] = "1" } } }, { content = "Done." },
      { content = "Done." } })
    local limiter = { key = "k", wait = function() return true end }
    local adapter = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "k", temperature = 1,
      top_p = 1, stop_sequences = { "x" }, thinking = false, max_tokens = 100, rate_limiter = limiter }
    local tool = agent_kit.add(function() return "3", { exit_code = 0 } end)
    local bad = 0
    local d = koine.dispatcher { observer = observer, mode = "per-thread",
      now_ms = function()
        if bad > 0 then
          bad = bad - 1
          error "the clock stopped"
        end
        return 0
      end,
      target = koine.dispatcher.agents(function()
        return koine.agent { name = "n", adapter = adapter, tools = { tool }, system = "s" }
      end) }
    local function settle() repeat koine.sleep(0.001) until not d:step() and d:stats().turns == 0 end
    koine.run(function()
      d:submit(chat_lab.thread "T1", chat_lab.message("alice", "Go."))
      settle()
      d:submit(chat_lab.thread "T2", chat_lab.message("alice", "Go."))
      bad = 1
      d:step()
      settle()
      d:submit(chat_lab.thread "T3", chat_lab.message("alice", "Go."))
      d:shutdown()
      settle()
    end)
    observed.check(records)
    return records
  end

  it("chat start has provider … conversation, chat end response_model … tool_calls; attempt, retry and wait", function()
    local records = turn_records()
    check_row(records, "chat", "start", { "provider", "model", "stream", "max_tokens", "temperature", "top_p",
      "stop_sequences", "thinking", "tools", "messages", "server", "conversation" })
    check_row(records, "chat", "end", { "response_model", "response_id", "request_id", "stop_reason",
      "raw_stop_reason", "usage", "cost", "first_delta", "attempts", "warnings", "tool_calls" })
    check_row(records, "attempt", "start", { "number", "url", "waited" })
    check_row(records, "attempt", "end", { "status_code", "request_id", "bytes_sent", "bytes_received", "connection",
      "first_byte" }, { "dns", "connect", "tls" })
    check_row(records, "retry", "point", { "status_code", "class", "kind", "waited" })
    check_row(records, "wait", "start", { "what" })
    check_row(records, "wait", "end", { "seconds" })
  end)

  it("agent, tool and turn have theirs, queued, dropped and respawn too", function()
    local records = turn_records()
    check_row(records, "agent", "start", { "name", "system", "tools" })
    check_row(records, "agent", "end", { "status", "steps", "usage", "cost", "pending" }, { "reason" })
    check_row(records, "tool", "start", { "name", "call_id", "description" }, { "mcp_server" })
    check_row(records, "tool", "end", { "is_error", "exit_code", "bytes" }, { "blocked", "reason" })
    check_row(records, "turn", "start", { "session", "mode", "messages", "blocks", "senders", "waited" })
    for _, name in ipairs { "outcome", "session_key", "mode" } do
      assert.is_not_nil(observed.of(records, "turn", "end")[1][name], "turn end: has no " .. name)
    end
    check_row(records, "queued", "point", { "session" })
    check_row(records, "dropped", "point", { "session", "messages", "reason" })
    check_row(records, "respawn", "point", { "session" })
  end)

  it("embed start has provider, model, inputs, dimensions, embed end usage, dimensions", function()
    assert(server:script { { embeddings = true } })
    local observer, records = observed.keep()
    local openai = koine.openai { model = "gpt-4.1", base_url = server.url .. "/v1", key = "k", observer = observer }
    assert(openai:embed("one", { model = "text-embedding-3-small", dimensions = 8 }))
    check_row(records, "embed", "start", { "provider", "model", "inputs", "dimensions", "server" })
    check_row(records, "embed", "end", { "usage", "dimensions", "attempts" }, { "cost" })
  end)

  it("session start has role, model, workdir, provider, session end outcome … cost", function()
    local bench = session_kit.bench()
    bench.open()
    finally(bench.close)
    local observer, records = observed.keep()
    bench.run({ { content = "Done.", usage = { input_tokens = 1, output_tokens = 1 } } }, { observer = observer })
    check_row(records, "session", "start", { "role", "model", "workdir", "provider" })
    check_row(records, "session", "end", { "outcome", "artifacts", "usage" }, { "reason", "cost" })
  end)

  it("mcp start has server … request_id, mcp end progress, bytes, error_code", function()
    local observer, records = observed.keep()
    local client <close> = assert(mcp_kit.connect(
      [[function tools.echo() return text "x" end]], { observer = observer }))
    assert(client:call("echo", {}))
    assert.is_nil((client:prompt "unknown"))
    check_row(records, "mcp", "start", { "server", "method", "target", "transport", "version", "request_id" })
    check_row(records, "mcp", "end", { "progress", "bytes", "is_error", "error_code" })
  end)

  it("prompt start has agent, session, prompt end stop_reason, permissions_asked, permissions_denied", function()
    local bench = acp_kit.bench()
    finally(function() bench:close() end)
    local observer, records = observed.keep()
    assert(bench:turn([[return "end_turn"]], { observer = observer }))
    check_row(records, "prompt", "start", { "agent", "session" })
    check_row(records, "prompt", "end", { "stop_reason", "permissions_asked", "permissions_denied" })
  end)

  it("delta has delta, cache_miss has path", function()
    local observer, records = observed.keep { content = { "deltas" }, cache_misses = true }
    assert(server:script { { content = "Hello." } })
    for _ in claude(observer):stream "Hi." do end -- luacheck: ignore 542
    local n = 0
    assert(server:script { { content = { { type = "tool_use", name = "add", arguments = { a = 1, b = 2 } } } },
      { content = "x" } })
    koine.agent { adapter = claude(), observer = observer, tools = { agent_kit.add(function() return "3" end) },
      prepare = function()
        n = n + 1
        return { system = "s" .. n }
      end }:run "Go."
    check_row(records, "delta", "point", { "delta" })
    check_row(records, "cache_miss", "point", { "path" })
  end)
end)
