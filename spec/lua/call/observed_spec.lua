-- What an observer is told of chats, embeds and their attempts.

local core = require "koine.core"
local koine = require "koine"
local observed = require "spec.lua.data.observer.kit"

local KEY <const> = "sk-ant-0123456789-observed"

local function adapter(server, observer)
  return koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = KEY, observer = observer }
end

local function last(records, type)
  for i = #records, 1, -1 do
    if records[i].type == type then return records[i] end
  end
end

local function start(script)
  return assert(koine.testing.start { script = script })
end

describe("an observed chat", function()
  it("tells the chat and its attempt", function()
    local server <close> = start { { content = "Hello." } }
    local observer, records = observed.keep()
    local response = assert(adapter(server, observer):chat("Hi.", { temperature = 0.5, max_tokens = 100 }))
    observed.check(records)
    assert.are.same({ "chat start", "attempt start", "attempt end", "chat end" }, observed.lines(records))
    local chat, attempt, over, done = table.unpack(records)
    assert.are.equal("anthropic", chat.provider)
    assert.are.equal("claude-sonnet-4-5", chat.model)
    assert.are.equal(0.5, chat.temperature)
    assert.are.equal(100, chat.max_tokens)
    assert.are.equal(1, chat.messages)
    assert.are.equal("127.0.0.1", chat.server.address)
    assert.are.equal(tonumber(server.url:match ":(%d+)"), chat.server.port)
    assert.are.equal(1, attempt.number)
    assert.are.equal(server.url .. "/v1/messages", attempt.url)
    assert.are.equal(200, over.status_code)
    assert.is_true(over.bytes_received > 0)
    assert.are.equal("end_turn", done.stop_reason)
    assert.are.equal(response.id, done.response_id)
    assert.are.equal(response.request_id, done.request_id)
    assert.are.equal(response.usage.input_tokens, done.usage.input_tokens)
    assert.are.equal(response.usage.cost.total, done.cost)
    assert.are.equal(1, done.attempts)
    assert.is_nil(done.content)
    assert.is_nil(core.encode(records):find("Hello", 1, true))
  end)

  it("tells each attempt, the retry and the wait", function()
    local server <close> = start {
      { error = { status = 429, headers = { ["retry-after-ms"] = "1" } } }, { content = "Hello." } }
    local observer, records = observed.keep()
    for _ in adapter(server, observer):stream "Hi." do end
    observed.check(records)
    assert.are.same({ "chat start", "attempt start", "attempt end", "retry point", "wait start", "wait end",
      "attempt start", "attempt end", "chat end" }, observed.lines(records))
    assert.are.equal("rate_limit", records[3].error.kind)
    assert.are.equal(429, records[3].status_code)
    assert.are.equal(2, records[7].number)
    assert.are.equal(2, records[9].attempts)
    assert.are.equal(records[1].id, records[4].parent)
    assert.are.not_equal(records[2].id, records[7].id)
    local parts = records[3].seconds + records[6].seconds + records[8].seconds -- one after the other
    assert.is_true(parts <= records[9].seconds, "the parts take longer than the chat")
  end)

  it("ends after its parts where another task, or who is told, closes it between two attempts", function()
    local failing = { error = { status = 429, headers = { ["retry-after-ms"] = "60000" } } }
    for _, at in ipairs { "another task", "attempt end", "retry point", "wait start" } do
      local server <close> = start { failing }
      local records, stream = {}, nil
      stream = assert(adapter(server, function(record)
        records[#records + 1] = record
        if record.type .. " " .. record.phase == at then stream:close() end
      end):open "Hi.")
      local _, err = koine.run(function()
        local task = koine.spawn(function() return stream:next() end)
        if at == "another task" then
          while observed.lines(records)[5] ~= "wait start" do koine.sleep(0.001) end
          stream:close()
        end
        return task:wait()
      end)
      assert.are.equal("cancelled", err.kind)
      observed.check(records)
      assert.are.equal("chat end", observed.lines(records)[#records], at)
    end
  end)

  it("fails where it, or its adapter, is closed by who is told that an attempt begins", function()
    for _, how in ipairs { "stream", "adapter" } do
      local server <close> = start { { error = { status = 429, headers = { ["retry-after-ms"] = "1" } } } }
      local records, claude, stream = {}, nil, nil
      claude = adapter(server, function(record)
        records[#records + 1] = record
        if record.number == 2 then (how == "stream" and stream or claude):close() end
      end)
      stream = assert(claude:open "Hi.")
      local _, err = stream:next()
      assert.are.same({ "cancelled", ("the %s was closed"):format(how) }, { err.kind, err.message })
      assert.are.equal("cancelled", select(2, stream:response()).kind)
      observed.check(records)
      assert.are.equal("chat end", observed.lines(records)[#records])
    end
    local server <close> = start {}
    local claude
    claude = adapter(server, function(record)
      if record.type == "attempt" then claude:close() end
    end)
    assert.are.equal("cancelled", select(2, claude:chat "Hi.").kind)
  end)

  it("tells the error that ends it", function()
    local server <close> = start { { error = { status = 400 } } }
    local observer, records = observed.keep()
    assert.is_nil((adapter(server, observer):chat "Hi."))
    observed.check(records)
    local done = last(records, "chat")
    assert.are.equal("invalid_request", done.error.kind)
    assert.are.equal(400, done.error.status_code)
  end)

  it("ends once however its stream is left", function()
    local ways = {
      function(claude)
        local opened <close> = assert(claude:open "Hi.")
        assert(opened:next())
      end,
      function(claude)
        for _ in claude:stream "Hi." do -- luacheck: ignore 512
          break
        end
      end,
      function(claude)
        local opened = assert(claude:open "Hi.")
        opened:close()
        opened:close()
      end,
      function(claude) pcall(claude.chat, claude, "Hi.", { on_delta = function() error "stop" end }) end,
      function(claude)
        local co = coroutine.create(function()
          for _ in claude:stream "Hi." do coroutine.yield() end
        end)
        coroutine.resume(co)
        coroutine.close(co)
      end,
      function(claude)
        assert(claude:open "Hi.")
        collectgarbage()
        collectgarbage()
      end,
      function(claude)
        koine.run(function()
          pcall(koine.timeout, 0.02, function() return claude:chat "Hi." end)
        end)
      end,
    }
    for i, way in ipairs(ways) do
      local stalls = i == #ways
      local server <close> = start {
        { content = "one two three", chunk = 4, fault = stalls and { stall_after = 0 } or nil } }
      local observer, records = observed.keep()
      way(adapter(server, observer))
      collectgarbage()
      collectgarbage()
      observed.check(records)
      assert.are.equal("chat end", observed.lines(records)[#records], i)
      assert.are.equal("cancelled", records[#records].error.kind, i)
    end
  end)

  it("ends within its parent where it is cancelled before it has a stream", function()
    local server <close> = start {}
    local observer, records = observed.keep()
    local limiter = { key = "k", wait = function() return koine.sleep(10) end }
    local claude = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = KEY,
      rate_limiter = limiter }
    local agent = koine.agent { adapter = claude, observer = observer }
    koine.run(function()
      local task = koine.spawn(function() agent:run "Hi." end)
      repeat koine.sleep(0.001) until #observed.of(records, "wait", "start") == 1
      task:cancel()
    end)
    observed.check(records)
    assert.are.same({ "agent start", "chat start", "wait start", "wait end", "chat end", "agent end" },
      observed.lines(records))
    assert.are.equal("cancelled", records[5].error.kind)
  end)

  it("has the content where it is asked for, and never the key", function()
    local server <close> = start { { content = "Hello there." } }
    local observer, records = observed.keep { content = true, content_max = 39 }
    assert(adapter(server, observer):chat("My key is " .. KEY .. ", which is a secret, too.", { system = "Be brief." }))
    assert.are.same({ system = "Be brief.",
      messages = { { role = "user", content = "My key is [redacted], which is a secret" } } }, records[1].content)
    assert.are.equal("Hello there.", records[#records].content.blocks[1].text)
    assert.is_nil(core.encode(records):find(KEY, 1, true))
  end)

  it("tells deltas where they are asked for, however they are read", function()
    local server <close> = start {}
    local ways = {
      function(claude) for _ in claude:stream "Hi." do end end, -- luacheck: ignore 542
      function(claude) for _ in claude:text "Hi." do end end, -- luacheck: ignore 542
      function(claude) assert(claude:chat("Hi.", { stream = true })) end,
      function(claude)
        local stream <close> = assert(claude:open "Hi.")
        assert(stream:next())
        assert(stream:response())
      end,
    }
    local function told(settings, way)
      assert(server:script { { content = "Hello there.", chunk = 6 } })
      local observer, records = observed.keep(settings)
      way(adapter(server, observer))
      observed.check(records)
      local texts = {}
      for _, point in ipairs(observed.of(records, "delta", "point")) do
        assert.are.equal(observed.of(records, "chat", "start")[1].id, point.parent)
        if point.delta == "text_delta" then texts[#texts + 1] = point.content.text end
      end
      return table.concat(texts), records
    end
    for _, way in ipairs(ways) do
      assert.are.equal("Hello there.", (told({ content = { "deltas" } }, way)))
      for _, content in ipairs { true, { "messages" }, false } do
        local _, records = told({ content = content }, way)
        assert.are.same({}, observed.of(records, "delta", "point"))
      end
    end
    local _, records = told({ content = { "deltas" } }, function(claude)
      assert(claude:chat("Hi.", { max_tokens = 100 }))
    end)
    assert.are.same({}, observed.of(records, "delta", "point"))
  end)

  it("has no credential of it in what the observer's own function redacted, nor in a tool's records", function()
    local server <close> = start { { content = { { type = "tool_use", name = "look", arguments = {} } } },
      { content = "Done." } }
    local observer, records = observed.keep { content = true,
      redact = function(words) return (words:gsub("%d%d%d", "###")) end }
    local look = koine.tool { name = "look", description = "Looks.", run = function() return "found " .. KEY end }
    local agent = koine.agent { adapter = adapter(server, function() end), tools = { look }, observer = observer }
    assert(agent:run("Go on."))
    assert(server:script { { content = "Done." } })
    assert(adapter(server, observer):chat("My key is " .. KEY))
    local all = core.encode(records)
    for i = 1, #KEY - 11 do assert.is_nil(all:find(KEY:sub(i, i + 11), 1, true)) end
    assert.are.equal("found [redacted]", observed.of(records, "tool", "end")[1].content.result)
    assert.is_truthy(all:find("My key is [redacted]", 1, true))
  end)

  it("is a part of the trace that its option parent names", function()
    local server <close> = start { { content = "Hello." } }
    local observer, records = observed.keep()
    assert(adapter(server, observer):chat("Hi.", {
      parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" }))
    assert.are.equal("0af7651916cd43dd8448eb211c80319c", records[1].trace)
    assert.are.equal("b7ad6b7169203331", records[1].parent)
    assert.are.equal(records[1].trace, records[2].trace)
  end)

  it("is not told where it is wrong use", function()
    local server <close> = start {}
    local observer, records = observed.keep()
    local claude = adapter(server, observer)
    assert.is_false((pcall(claude.chat, claude, { { role = "system", content = "x" } })))
    assert.is_false((pcall(claude.chat, claude, "x", { parent = "nothing" })))
    assert.are.same({}, records)
  end)
end)

describe("an observed embed", function()
  it("tells the embed and its attempts", function()
    local server <close> = assert(koine.testing.start { script = { { embeddings = true } } })
    local observer, records = observed.keep()
    local openai = koine.openai { model = "gpt-4.1", base_url = server.url .. "/v1", key = KEY, observer = observer }
    local result = assert(openai:embed({ "one", "two" }, { model = "text-embedding-3-small" }))
    observed.check(records)
    assert.are.same({ "embed start", "attempt start", "attempt end", "embed end" }, observed.lines(records))
    assert.are.equal(2, records[1].inputs)
    local done = last(records, "embed")
    assert.are.equal(result.usage.input_tokens, done.usage.input_tokens)
    assert.are.equal(result.dimensions, done.dimensions)
    assert.are.equal(1, done.attempts)
  end)

  it("counts all attempts, as a chat does", function()
    local server <close> = assert(koine.testing.start { script = {
      { error = { status = 429, headers = { ["retry-after-ms"] = "1" } } }, { embeddings = true } } })
    local observer, records = observed.keep()
    local cost = koine.observe.cost()
    local openai = koine.openai { model = "gpt-4.1", base_url = server.url .. "/v1", key = KEY,
      observer = koine.observe.fan { observer, cost } }
    assert(openai:embed("one", { model = "text-embedding-3-small" }))
    assert.are.equal(2, last(records, "embed").attempts)
    assert.are.equal(1, cost:total().retried)
  end)
end)
