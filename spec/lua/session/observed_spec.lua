-- What an observer is told of sessions, by adapters and by agents of other programs.

local acp_kit = require "spec.lua.protocol.acp.kit"
local agent_kit = require "spec.lua.agent.kit"
local kit = require "spec.lua.session.kit"
local koine = require "koine"
local observed = require "spec.lua.data.observer.kit"

local TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
local TRACEPARENT = ("00-%s-%s-01"):format(TRACE, SPAN)

describe("an observed session", function()
  local bench = kit.bench()

  before_each(bench.open)
  after_each(bench.close)

  it("is one tree: session, run, chats, tools", function()
    local observer, records = observed.keep()
    local result = bench.run({ agent_kit.calls(kit.bash("1", "echo x > new.txt")), { content = "Done." } },
      { allowed_tools = { "bash" }, observer = observer, parent = TRACEPARENT })
    assert.are.equal("completed", result.outcome)
    observed.check(records, { [SPAN] = true })
    assert.are.same({ "session start", "agent start", "chat start", "chat end", "tool start", "tool end", "chat start",
      "chat end", "agent end", "session end" }, observed.lines(records))
    local start, over = records[1], records[#records]
    assert.are.same({ TRACE, SPAN, "implementor", "m-1" }, { start.trace, start.parent, start.role, start.model })
    assert.is_string(start.workdir)
    assert.is_nil(start.workdir:find("/", 1, true))
    assert.are.equal(start.id, records[2].parent)
    assert.are.same({ "completed", 1, result.usage.tokens_in, result.usage.cost_usd },
      { over.outcome, over.artifacts, over.usage.input_tokens, over.cost })
    assert.is_nil(over.error)
  end)

  it("ends with its error, where it is closed or left, and where the inputs are wrong", function()
    local observer, records = observed.keep()
    bench.run({ { error = { kind = "server", message = "broken" } } }, { observer = observer })
    local book = kit.play { agent_kit.calls(kit.bash("1", "true")), { content = "Done." } }
    for event in koine.session.events(book, bench.inputs { allowed_tools = { "bash" }, observer = observer }) do
      if event.kind == "tool_result" then break end
    end
    local opened = koine.session.events(kit.play { { content = "x" } }, bench.inputs { observer = observer })
    opened:close()
    assert.is_false((pcall(koine.session.run, kit.play {}, bench.inputs { observer = observer, role = "x" })))
    observed.check(records)
    local ends = {}
    for _, record in ipairs(observed.of(records, "session", "end")) do
      ends[#ends + 1] = record.outcome .. " " .. record.error.kind
    end
    assert.are.same({ "error server", "error cancelled" }, ends)
  end)

  it("ends after its parts where it is closed while a model call is under way", function()
    local server <close> = assert(koine.testing.start { script = { { content = "one two three", chunk = 4,
      fault = { stall_after = 0 } } } })
    local observer, records = observed.keep()
    koine.run(function()
      local started = {}
      local session = koine.session.events(koine.anthropic { model = "claude-sonnet-4-5", key = "test-key",
        base_url = server.url }, bench.inputs { model = "claude-sonnet-4-5", observer = koine.observe.fan { observer,
          function(record) started[record.type] = true end } })
      local reader = koine.spawn(function() return session:result() end)
      repeat koine.sleep(0) until started.attempt
      session:close()
      assert.are.equal("error", assert(reader:wait()).outcome)
    end)
    observed.check(records)
    assert.are.equal("session end", observed.lines(records)[#records])
    assert.are.equal("cancelled", records[#records].error.kind)
  end)

  it("has the prompt of an agent of another program as its part", function()
    local observer, records = observed.keep()
    local work = acp_kit.bench()
    local options = work:options [[prompt(function(_, id)
      text(id, "x")
      return { stopReason = "end_turn", usage = { inputTokens = 3, outputTokens = 4 } }
    end)]]
    options.cwd = nil
    local result = koine.session.run(koine.session.acp(options),
      bench.inputs { model = "default", observer = observer })
    local sent = work:heard("session/prompt")[1].params._meta.traceparent
    work:close()
    assert.are.equal("completed", result.outcome)
    observed.check(records)
    assert.are.same({ "session start", "prompt start", "prompt end", "session end" }, observed.lines(records))
    assert.are.equal(records[1].id, records[2].parent)
    assert.are.equal(options.command:match "[^/]*$", records[1].provider)
    assert.are.same({ 3, 4 }, { records[4].usage.input_tokens, records[4].usage.output_tokens })
    assert.are.equal(("00-%s-%s-01"):format(records[2].trace, records[2].id), sent)
  end)
end)
