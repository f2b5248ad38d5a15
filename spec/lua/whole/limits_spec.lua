-- Every cap and every timeout of a call, through the whole stack: what lies within it passes, what does not ends the
-- call with the kind and the name that the documentation gives.

local koine = require "koine"
local core = require "koine.core"
local raised = require "spec.support.raised"

local WIRES = {
  anthropic = { model = "claude-sonnet-4-5", new = koine.anthropic },
  openai = { model = "gpt-4.1", api = "chat", new = koine.openai },
}

local LOOK = { name = "look", description = "Looks.", parameters = { type = "object" } }

local function tool(n) return { type = "tool_use", name = "look", arguments = { n = n } } end

describe("a limit", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local function new_adapter(wire)
    return wire.new { model = wire.model, api = wire.api, key = "test-key", base_url = server.url, retry = false,
      timeout = 20 }
  end

  -- The outcome of a chat that gets this answer, under these limits.
  local function ask(wire, answer, limits, streaming)
    assert(server:script { answer })
    return new_adapter(wire):chat("Hi", { limits = limits, stream = streaming, max_tokens = 100 })
  end

  -- Passes without the limit and with a generous one, fails with a narrow one.
  local function bounds(wire, answer, name, narrow, wide, streaming, partial)
    local expected = assert(ask(wire, answer, nil, streaming)):to_table().content
    assert.are.same(expected, assert(ask(wire, answer, { [name] = wide }, streaming)):to_table().content)
    local response, err = ask(wire, answer, { [name] = narrow }, streaming)
    assert.is_nil(response)
    assert.are.same({ "Error", "limit" }, { err.class, err.kind })
    assert.is_false(err.retryable)
    if partial then assert.is_true(err.partial.partial) end
    return err
  end

  for name, wire in pairs(WIRES) do
    describe("on the wire of " .. name, function()
      it("of a line and of an event holds", function()
        local answer = { content = ("long "):rep(400), chunk = 2000 }
        assert.is_truthy(bounds(wire, answer, "line", 1000, 4000, true).message:find "1000")
        assert.is_truthy(bounds(wire, answer, "event", 1000, 4000, true).message:find "1000")
      end)

      it("of a plain body holds, compressed or not", function()
        local answer = { content = ("long "):rep(400) }
        bounds(wire, answer, "body", 1000, 4000, false)
        answer.fault = { gzip = true }
        bounds(wire, answer, "body", 1000, 4000, false)
      end)

      it("of what comes out of compression holds", function()
        for _, streaming in ipairs { false, true } do
          local answer = { content = "Hello.", fault = { gzip_bomb = 100000 } }
          local err = bounds(wire, answer, "decoded", 50000, 200000, streaming)
          assert.are.equal("decoded", err.code)
        end
      end)

      it("of what comes out of compression stops a bomb early", function()
        local bomb = { content = "Hello.", fault = { gzip_bomb = 1 << 30 } }
        for _, streaming in ipairs { false, true } do
          local response, err = ask(wire, bomb, { decoded = 1 << 20 }, streaming)
          assert.is_nil(response)
          assert.are.equal("limit", err.kind)
          local last = assert(server:requests())
          -- the provider was left long before it had sent everything: six megabytes on the wire
          last = last[#last]
          assert.is_true(last.closed_after == nil or last.closed_after < 4 << 20, tostring(last.closed_after))
        end
      end)

      it("of depth holds, in the arguments of a call and in the answer", function()
        local deep = ('{"a":'):rep(40) .. "1" .. ("}"):rep(40)
        local answer = { content = { { type = "tool_use", name = "look", arguments_json = deep } } }
        -- a stream carries arguments as text: those that are too deep are said to be, the answer goes on
        local response = assert(ask(wire, answer, { depth = 20 }, true))
        assert.is_string(response.tool_calls[1].arguments_error)
        assert.are.same({}, response.tool_calls[1].arguments)
        assert.is_nil(assert(ask(wire, answer, nil, true)).tool_calls[1].arguments_error)
        local nested = ("["):rep(60) .. ("]"):rep(60)
        local reply = { reply = { status = 200, headers = { ["content-type"] = "application/json" },
          body = '{"id":"x","unknown":' .. nested .. "}" } }
        local _, err = ask(wire, reply, { depth = 20 }, false)
        assert.is_truthy(err.kind == "limit" or err.kind == "protocol")
      end)

      it("of depth lets back out what it let in", function()
        local deep = ('{"a":'):rep(127) .. "1" .. ("}"):rep(127)
        local answer = { content = { { type = "tool_use", id = "call_1", name = "look", arguments_json = deep } } }
        local first = assert(ask(wire, answer, nil, true))
        assert.is_nil(first.tool_calls[1].arguments_error)
        assert(server:script { { content = "Seen." } })
        local adapter = new_adapter(wire)
        local history = { { role = "user", content = "Look." }, first:message(),
          { role = "user", content = { { type = "tool_result", tool_use_id = "call_1", content = "ok" } } } }
        assert.are.equal("Seen.", assert(adapter:chat(history, { tools = { LOOK } })):text())
      end)

      it("of depth is bounded: what comes in under the widest goes back, and is written down", function()
        local most = core.depth_max
        local deep = ('{"a":'):rep(most) .. "1" .. ("}"):rep(most)
        local answer = { content = { { type = "tool_use", id = "call_1", name = "look", arguments_json = deep } } }
        local first = assert(ask(wire, answer, { depth = most }, true))
        assert.is_nil(first.tool_calls[1].arguments_error)
        assert.are.same(first.content, first:to_table().content)
        assert.are.same(first.content, koine.response(first:to_table()).content)
        assert.is_true(first.usage.output_tokens > 0)
        assert.are.equal(core.encode(first.content), core.encode(core.decode(core.encode(first.content))))
        local history = { { role = "user", content = "Look." }, first:message(),
          { role = "user", content = { { type = "tool_result", tool_use_id = "call_1", content = "ok" } } } }
        for _, kept in ipairs { history, { version = 1, answers = { { history = { messages = history } } } } } do
          assert.are.equal(core.encode(kept), core.encode(core.decode(core.encode(kept))))
        end
        assert(server:script { { content = "Seen." } })
        assert.are.equal("Seen.", assert(new_adapter(wire):chat(history, { tools = { LOOK } })):text())
      end)

      it("of blocks and of tool calls holds", function()
        local calls = {}
        for i = 1, 6 do calls[i] = tool(i) end
        for _, streaming in ipairs { false, true } do
          local err = bounds(wire, { content = calls }, "tool_calls", 5, 6, streaming, streaming)
          assert.is_truthy(err.message:find("limits.tool_calls", 1, true))
          err = bounds(wire, { content = calls }, "blocks", 5, 6, streaming, streaming)
          assert.is_truthy(err.message:find("limits.blocks", 1, true))
        end
      end)

      it("of one call's arguments holds", function()
        local call = { type = "tool_use", name = "look", arguments = { text = ("x"):rep(2000) } }
        for _, streaming in ipairs { false, true } do
          local err = bounds(wire, { content = { call } }, "argument_bytes", 1000, 3000, streaming, true)
          assert.is_truthy(err.message:find("limits.argument_bytes", 1, true))
        end
      end)

      it("that is none (high_water) only pauses", function()
        local answer = { content = ("word "):rep(40000), chunk = 1000 }
        local response = assert(ask(wire, answer, { high_water = 4096 }, true))
        assert.are.equal(200000, #response:text())
      end)
    end)
  end
end)

-- 2^32 and what else C has no room for, in an int, or in a size of 32 bits: the largest cap, not what its low bits say.
describe("a limit beyond what C counts to", function()
  for _, huge in ipairs { 1 << 32, (1 << 32) + 1, math.maxinteger } do
    it(("%d is no limit"):format(huge), function()
      local server <close> = assert(koine.testing.start { script = { { content = "Hello." } } })
      local limits = {}
      for _, name in ipairs { "line", "event", "body", "decoded", "blocks", "tool_calls", "argument_bytes",
        "high_water" } do
        limits[name] = huge
      end
      local adapter = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "k", limits = limits }
      assert.are.equal("Hello.", assert(adapter:chat("Hi", { stream = true })):text())
    end)

    it(("%d is no status"):format(huge), function()
      local err = core.answer_error("p", { status = huge + 429, headers = {}, body = "" })
      assert.are_not.equal("rate_limit", err.kind)
      assert.are_not.equal("RateLimitError", core.error_class("server", huge + 429))
    end)
  end
end)

describe("a limit of depth", function()
  local function refused(err)
    assert.are.same({ "ArgumentError", "limits.depth" }, { err.class, err.field })
    assert.are.equal(("at most %d"):format(core.depth_max), err.expected)
  end

  it("beyond what goes back in a request is refused", function()
    local options = { model = "m", key = "test-key", base_url = "http://127.0.0.1:9",
      limits = { depth = core.depth_max } }
    koine.compatible(options)
    options.limits.depth = core.depth_max + 1
    refused(raised(koine.compatible, options))
    refused(raised(core.request, core.engine(), { url = "http://127.0.0.1:9/", limits = options.limits }))
  end)
end)

describe("a timeout", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local function adapter_of(wire, timeout, base_url)
    return wire.new { model = wire.model, api = wire.api, key = "test-key", base_url = base_url or server.url,
      retry = false, timeout = timeout }
  end

  local function assert_timeout(name, response, err)
    assert.is_nil(response)
    assert.are.same({ "ConnectionError", "timeout", name }, { err.class, err.kind, err.code })
    assert.is_truthy(err.message:find("(" .. name .. ")", 1, true))
    assert.is_true(err.retryable)
    return err
  end

  for name, wire in pairs(WIRES) do
    it("of the first byte ends a call that is not answered: " .. name, function()
      assert(server:script { { content = "Hello.", fault = { stall_after = 0 } } })
      assert_timeout("first_byte", adapter_of(wire, { first_byte = 0.05, idle = 20 }):chat "Hi")
    end)

    it("of the first byte ends with the first byte, that of silence begins: " .. name, function()
      assert(server:script { { content = "Hello.", fault = { stall_after = 1 } } })
      assert_timeout("idle", adapter_of(wire, { first_byte = 20, idle = 0.05 }):chat "Hi")
    end)

    it("of silence ends a stream that stops, and what had arrived is there: " .. name, function()
      assert(server:script { { content = ("word "):rep(100), chunk = 5, fault = { stall_after = 4000 } } })
      local stream <close> = assert(adapter_of(wire, { first_byte = 20, idle = 0.05 }):open "Hi")
      local words = 0
      local delta, err
      repeat
        delta, err = stream:next()
        if delta and delta.type == "text_delta" then words = words + 1 end
      until not delta
      assert.is_true(words > 0)
      assert_timeout("idle", delta, err)
      assert.are.equal(words * 5, #err.partial:text())
    end)

    it("in total ends a call that goes on and on: " .. name, function()
      assert(server:script { { content = ("word "):rep(100), chunk = 5, fault = { stall_after = 4000 } } })
      local response, err = adapter_of(wire, { first_byte = 20, idle = 20, total = 0.1 }):chat("Hi", { stream = true })
      assert_timeout("total", response, err)
      assert(server:script { { content = "Hello.", fault = { stall_after = 0 } } })
      assert_timeout("total", adapter_of(wire, 0.05):chat "Hi")
    end)

    it("is not reached by an answer that comes in time, however small its pieces: " .. name, function()
      assert(server:script { { content = "Hello there.", fault = { write_bytes = 1 } } })
      assert.are.equal("Hello there.", assert(adapter_of(wire, { first_byte = 20, idle = 20, total = 20 })
        :chat("Hi", { stream = true })):text())
    end)
  end

  it("of connecting ends a call whose host does not take it", function()
    -- A listener whose backlog is full: the kernel drops what comes after, so that connecting never ends.
    local socket = require "socket"
    local listener = assert(socket.tcp4())
    assert(listener:bind("127.0.0.1", 0))
    assert(listener:listen(0))
    local _, port = listener:getsockname()
    local waiting = {}
    for i = 1, 4 do
      waiting[i] = socket.tcp4()
      waiting[i]:settimeout(0)
      waiting[i]:connect("127.0.0.1", port)
    end
    local response, err = adapter_of(WIRES.anthropic, { connect = 0.1, first_byte = 20 },
      "http://127.0.0.1:" .. tostring(port)):chat "Hi"
    for _, client in ipairs(waiting) do client:close() end
    listener:close()
    assert_timeout("connect", response, err)
  end)

  it("in total is one for all attempts", function()
    local again = { error = { status = 500, headers = { ["retry-after"] = "0" } } }
    assert(server:script { again, again, { content = "Hello.", fault = { stall_after = 0 } } })
    local adapter = koine.anthropic { model = "claude-sonnet-4-5", key = "test-key", base_url = server.url }
    local response, err = adapter:chat("Hi", { timeout = { total = 0.6 } })
    assert_timeout("total", response, err)
    assert.are.equal("not finished within 0.600 s (total)", err.message)
    assert.are.same({ 500, 500 }, { err.attempts[1].status_code, err.attempts[2].status_code })
    assert.are.same({ 3, "timeout" }, { #err.attempts, err.attempts[3].kind })
  end)
end)
