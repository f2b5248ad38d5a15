-- What an observer is told of chats with adapters in Lua, playbooks and fallbacks: what it is told of every other.

local koine = require "koine"
local observed = require "spec.lua.data.observer.kit"

-- A source of two deltas, whose Response is made by respond().
local function source(respond)
  local left = { { type = "text_delta", text = "Hel" }, { type = "text_delta", text = "lo." } }
  return { next = function() return table.remove(left, 1) end, response = respond or function()
    return { content = "Hello.", model = "m-1", stop_reason = "end_turn",
      usage = { input_tokens = 3, output_tokens = 2 } }
  end }
end

local function adapter(observer, open)
  return koine.custom_adapter { name = "Own", options = { model = "m", observer = observer, max_tokens = 50 },
    open = open or function() return source() end }
end

describe("an observed adapter in Lua", function()
  -- The end of the one chat that was told.
  local function only(records)
    observed.check(records)
    assert.are.same({ "chat start", "chat end" }, observed.lines(records))
    return records[2], records[1]
  end

  it("tells a chat with the fields of every other", function()
    local observer, records = observed.keep { content = true }
    local own = adapter(observer)
    assert(own:chat("Hi.", { system = "Be brief.", temperature = 0.5 }))
    local over, start = only(records)
    assert.are.same({ "Own", "m", false, 50, 0.5, 1, 0 }, { start.provider, start.model, start.stream, start.max_tokens,
      start.temperature, start.messages, start.tools })
    assert.are.equal("Be brief.", start.content.system)
    assert.are.same({ "m-1", "end_turn", 3, 2, 1 }, { over.response_model, over.stop_reason, over.usage.input_tokens,
      over.usage.output_tokens, over.attempts })
    assert.is_true(over.first_delta >= 0)
    assert.are.equal("Hello.", over.content.blocks[1].text)
  end)

  it("has the usage of an answer that is read by its deltas alone", function()
    for _, read in ipairs {
      function(own) for _ in own:stream "Hi." do end end, -- luacheck: ignore 542
      function(own) for _ in own:text "Hi." do end end, -- luacheck: ignore 542
      function(own) assert(assert(own:open "Hi."):response()) end,
    } do
      local observer, records = observed.keep()
      read(adapter(observer))
      local over, start = only(records)
      assert.is_true(start.stream)
      assert.are.equal(2, over.usage.output_tokens)
    end
  end)

  it("tells deltas where they are asked for", function()
    local observer, records = observed.keep { content = { "deltas" } }
    for _ in adapter(observer):stream "Hi." do end -- luacheck: ignore 542
    assert.are.same({ "chat start", "delta point", "delta point", "chat end" }, observed.lines(records))
    assert.are.same({ "Hel", "text_delta" }, { records[2].content.text, records[2].delta })
  end)

  it("ends once however its answer is left", function()
    local raises = function() error "no response" end
    local ways = {
      cancelled = { function(own) assert(own:open "Hi."):close() end,
        function(own) for _ in own:stream "Hi." do break end end, -- luacheck: ignore 512
        function(own) assert(own:open "Hi."):next() collectgarbage() collectgarbage() end },
      other = {
        function(_, observer) adapter(observer, function() return nil, "out of tea" end):chat "Hi." end,
        function(_, observer) pcall(function() adapter(observer, function() error "raised" end):chat "Hi." end) end,
        function(_, observer)
          assert.is_false((pcall(function()
            return adapter(observer, function() return source(raises) end):chat "Hi."
          end)))
        end },
    }
    for kind, list in pairs(ways) do
      for _, way in ipairs(list) do
        local observer, records = observed.keep()
        way(adapter(observer), observer)
        collectgarbage()
        collectgarbage()
        assert.are.equal(kind, only(records).error.kind)
      end
    end
  end)

  it("ends within its parent where it is cancelled in the middle of the author's function", function()
    local observer, records = observed.keep()
    local agent = koine.agent { observer = observer, adapter = adapter(nil, function() koine.sleep(10) end) }
    koine.run(function()
      local task = koine.spawn(function() agent:run "Hi." end)
      repeat koine.sleep(0.001) until #observed.of(records, "chat", "start") == 1
      task:cancel()
    end)
    observed.check(records)
    assert.are.same({ "agent start", "chat start", "chat end", "agent end" }, observed.lines(records))
  end)

  it("is the parent of a chat that it hands its options to, whose cost counts once", function()
    local cost, kept, records = koine.observe.cost(), observed.keep()
    local inner = adapter()
    local outer = adapter(koine.observe.fan { cost, kept }, function(_, messages, opts)
      opts.model = nil
      return inner:open(messages, opts)
    end)
    assert(outer:chat "Hi.")
    observed.check(records)
    assert.are.same({ "chat start", "chat start", "chat end", "chat end" }, observed.lines(records))
    assert.are.equal(records[1].id, records[2].parent)
    assert.are.same({ 1, 2 }, { cost:total().calls, cost:total().output_tokens })
  end)

  it("is not told where it is wrong use", function()
    local observer, records = observed.keep()
    assert.is_false((pcall(function() return adapter(observer):chat { { role = "system", content = "x" } } end)))
    assert.are.same({}, records)
  end)
end)

describe("an observed playbook", function()
  it("tells its chats, and has no observer in its log", function()
    local observer, records = observed.keep()
    local book = koine.testing.playbook { observer = observer, steps = {
      { step = 1, type = "message", content = "Hello.", usage = { input_tokens = 1, output_tokens = 1 } } } }
    assert(book:chat("Hi.", { parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" }))
    assert.are.same({ "chat start", "chat end" }, observed.lines(records))
    assert.are.equal("b7ad6b7169203331", records[1].parent)
    assert.are.equal(1, records[2].usage.output_tokens)
    assert.is_nil(book.call_log[1].observer)
    assert.is_nil(book.call_log[1].parent)
  end)
end)

describe("an observed fallback", function()
  -- A fallback of a playbook that fails and one that answers; records of both.
  local function ask(fields, opts, inner)
    local given = { koine.testing.playbook { steps = { { step = 1, type = "error",
        error = { status = 529, type = "overloaded_error", message = "Overloaded" } } }, observer = inner },
      koine.testing.playbook { { step = 1, type = "message", content = "Hello." } } }
    for name, value in pairs(fields) do given[name] = value end
    assert.are.equal("Hello.", assert(koine.fallback(given):chat("Hi.", opts)):text())
  end

  local LINES = { "chat start", "chat end", "chat start", "chat end" }

  it("tells a chat for each adapter that it asks, and none of its own", function()
    local observer, records = observed.keep()
    ask({ observer = observer }, {})
    observed.check(records)
    assert.are.same(LINES, observed.lines(records))
    assert.is_truthy(records[2].error)
    assert.is_nil(records[4].error)
    assert.is_nil(records[1].parent)
  end)

  it("makes them parts of the caller's work", function()
    local observer, records = observed.keep()
    ask({ observer = observer }, { parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" })
    assert.are.same(LINES, observed.lines(records))
    for _, record in ipairs(records) do
      assert.are.same({ "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331" }, { record.trace, record.parent })
    end
  end)

  it("leaves an adapter its own observer", function()
    local observer, records = observed.keep()
    local own, its_records = observed.keep()
    ask({ observer = observer }, {}, own)
    assert.are.same({ 2, 2 }, { #records, #its_records })
  end)

  it("refuses what is no observer", function()
    local ok, err = pcall(koine.fallback, { koine.testing.playbook {}, observer = 7 })
    assert.is_false(ok)
    assert.are.equal("observer", err.field)
  end)
end)
