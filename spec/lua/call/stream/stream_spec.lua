local koine = require "koine"
local retry = require "koine.net.retry"
local sleeps = require "spec.lua.net.sleeps"
local wait = require "koine.task.wait"
local raised = require "spec.support.raised"

-- More deltas than the bytes before the stall can hold.
local LONG_AND_STUCK = { content = ("word "):rep(100), chunk = 5, fault = { stall_after = 2000 } }

describe("a stream", function()
  local server
  local park, random = wait.park, retry.random
  local slept, claude

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function()
    assert(server:reset())
    claude = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "test-key-1" }
    slept = sleeps.record()
    retry.random = function() return 0 end
  end)

  after_each(function() wait.park, retry.random = park, random end)

  -- A host that parks coroutines by yielding, in the place of the sleeps that are counted.
  local function install_host()
    local waiting = {}
    wait.park = park
    wait.set_host {
      park = function(token)
        waiting[token] = coroutine.running()
        return coroutine.yield()
      end,
      wake = function(token)
        local thread = waiting[token]
        waiting[token] = nil
        if thread then assert(coroutine.resume(thread, true)) end
      end,
    }
  end

  -- Reads to the end: the array of delta types, the joined text, and the error if there was one.
  local function read(stream)
    local types, text = {}, {}
    while true do
      local delta, err = stream:next()
      if not delta then return types, table.concat(text), err end
      types[#types + 1], text[#text + 1] = delta.type, delta.text
    end
  end

  it("gives deltas, then nil, then the Response", function()
    assert(server:script { { content = { { type = "thinking", thinking = "Hm." },
      { type = "text", text = "Hello." } } } })
    local stream <close> = assert(claude:open "Hi")
    local types, text, err = read(stream)
    assert.is_nil(err)
    assert.are.equal("Hm.Hello.", text)
    assert.are.equal("thinking_start", types[1])
    assert.are.equal("text_end", types[#types])
    assert.is_nil(stream:next())
    local response = assert(stream:response())
    assert.are.equal("Hello.", response:text())
    assert.are.equal(response, stream:response())
    assert.are.same({ { status_code = 200, waited = 0 } }, response.attempts)
  end)

  it("gives the Response without reading", function()
    assert(server:script { { content = "Hello." } })
    local stream <close> = assert(claude:open "Hi")
    assert.are.equal("Hello.", assert(stream:response()):text())
    assert.is_false(stream:delivered())
    assert.is_nil(stream:next())
  end)

  it("has a value only where the call asks for one, and says so", function()
    server:script { { content = "Hello." } }
    local stream <close> = assert(claude:open "Hi")
    for _, name in ipairs { "output", "elements" } do
      local err = raised(stream[name], stream, "/a")
      assert.are.equal("ArgumentError", err.class)
      assert.are.equal("output", err.field)
    end
    assert.are.equal("Hello.", assert(stream:response()):text())
  end)

  it("runs in a generic for, which closes it", function()
    assert(server:script { { content = "Hello." }, LONG_AND_STUCK })
    local text = {}
    for delta in claude:stream "Hi" do text[#text + 1] = delta.text end
    assert.are.equal("Hello.", table.concat(text))

    local stream, seen = assert(claude:open "Hi"), 0
    for delta in stream:deltas() do
      assert.are.equal(seen == 0 and "text_start" or "text_delta", delta.type)
      seen = seen + 1
      if seen == 2 then break end
    end
    assert.are.equal("koine.stream (closed)", tostring(stream))
    local delta, err = stream:next()
    assert.is_nil(delta)
    assert.are.equal("CancelledError", err.class)
  end)

  it("closes when the loop's body raises", function()
    assert(server:script { LONG_AND_STUCK })
    local stream, mine = assert(claude:open "Hi"), {}
    assert.are.equal(mine, raised(function()
      for _ in stream:deltas() do error(mine) end
    end))
    assert.are.equal("koine.stream (closed)", tostring(stream))
  end)

  it("raises from its iterator what next returns", function()
    assert(server:script { { error = { status = 400, message = "no" } } })
    local stream = assert(claude:open "Hi")
    local err = raised(function() for _ in stream:deltas() do error "a delta" end end)
    assert.are.equal("RequestError", err.class)
    local delta, again = stream:next()
    assert.is_nil(delta)
    assert.are.equal(err, again)
  end)

  it("raises from its iterator when that gets anything else", function()
    assert(server:script { LONG_AND_STUCK })
    local stream <close> = assert(claude:open "Hi")
    local iterate = stream:deltas()
    for _, other in ipairs { {}, claude, 7, setmetatable({}, getmetatable(stream)) } do
      local err = raised(function() iterate(other) end)
      assert.are.equal("ArgumentError", err.class)
      assert.are.equal("self", err.field)
      assert.matches("^spec/lua/call/stream/stream_spec%.lua:%d+: ", err.message)
    end
    assert.are.equal("text_start", iterate(stream).type)
  end)

  it("is made again as long as no delta was handed out", function()
    assert(server:script { { error = { status = 529 } },
      { content = "x", stream_error = { type = "api_error", after = 0 } },
      { content = "Hello." } })
    local stream <close> = assert(claude:open "Hi")
    local _, text, err = read(stream)
    assert.is_nil(err)
    assert.are.equal("Hello.", text)
    assert.are.same({ 0.5, 1 }, slept)
    local attempts = assert(stream:response()).attempts
    assert.are.same({ 529, 500, 200 }, { attempts[1].status_code, attempts[2].status_code, attempts[3].status_code })
  end)

  it("keeps the error when on_retry raises", function()
    assert(server:script { { error = { status = 529 } }, { content = "never" } })
    local mine = {}
    local stream <close> = assert(claude:open("Hi", { on_retry = function() error(mine) end }))
    assert.are.equal(mine, raised(stream.next, stream))
    local delta, err = stream:next()
    assert.is_nil(delta)
    assert.are.equal(529, err.status_code)
    assert.are.equal(1, #err.attempts)
    assert.are.equal(1, #assert(server:requests()))
  end)

  it("gives the error, not as a Response, after it failed and was closed", function()
    assert(server:script { { error = { status = 400, message = "no" } } })
    local stream = assert(claude:open "Hi")
    local _, err = stream:next()
    stream:close()
    local response, again = stream:finish()
    assert.is_nil(response)
    assert.are.equal(err, again)
  end)

  for _, what in ipairs { "stream", "request", "body", "process" } do
    it("may be closed, not read, by a finalizer that runs while it is read; others too: " .. what, function()
      local answers = {}
      for i = 1, 20 do
        answers[i] = { chunk = 7, content = { { type = "text", text = ("hello world "):rep(2000) } } }
      end
      assert(server:script(answers))
      local child = assert(io.popen(("%s spec/lua/whole/finalizers.lua %s %s %d"):format(os.getenv "KOINE_LUA"
        or "lua5.4", what, server.url, #answers)))
      local said = child:read "a"
      child:close()
      assert.are.equal("some closed, some refused, wrong: \n", said)
    end)
  end

  it("that is closed wakes the coroutine that waits for it", function()
    assert(server:script { LONG_AND_STUCK })
    local outcome
    install_host()
    local stream = assert(claude:open "Hi")
    assert(coroutine.resume(coroutine.create(function()
      local delta, err
      repeat delta, err = stream:next() until not delta
      outcome = err
    end)))
    assert.is_nil(outcome)
    stream:close()
    wait.set_host(nil)
    assert.are.equal("CancelledError", outcome.class)
  end)

  it("takes limits of any size", function()
    assert(server:script { { content = "Hello." } })
    local most = math.maxinteger
    local limits = { line = most, event = most, body = most, decoded = most, argument_bytes = most, high_water = most,
      blocks = 1 << 32, tool_calls = 1 << 31 }
    assert.are.equal("Hello.", assert(claude:chat("Hi", { stream = true, limits = limits })):text())
  end)

  it("is never made again afterwards: the error carries what had arrived", function()
    assert(server:script { { content = "Hello there, all of you.", chunk = 4,
      stream_error = { type = "overloaded_error", message = "busy", after = 3 } }, { content = "never" } })
    local stream <close> = assert(claude:open "Hi")
    local types, text, err = read(stream)
    assert.are.equal("text_start", types[1])
    assert.are.equal("ServerError", err.class)
    assert.are.equal(529, err.status_code)
    assert.is_true(err.retryable)
    assert.are.equal(text, err.partial:text())
    assert.are.equal("error", err.partial.stop_reason)
    assert.are.equal(1, #err.attempts)
    assert.are.equal(1, #assert(server:requests()))
    assert.are.same({}, slept)
    local response, same = stream:response()
    assert.is_nil(response)
    assert.are.equal(err, same)
    assert.are.equal(1, #err.attempts)
  end)

  it("does not keep its request once there can be no other attempt", function()
    assert(server:script { LONG_AND_STUCK })
    collectgarbage()
    local before = collectgarbage "count"
    local stream <close> = assert(claude:open(("What about this? "):rep(1 << 18))) -- 4 MiB
    assert(stream:next())
    collectgarbage()
    assert.is_true(collectgarbage "count" - before < 1024)
  end)

  it("that is cut is an error, never an answer", function()
    assert(server:script { { content = ("word "):rep(50), chunk = 10, fault = { truncate_after = 1500 } } })
    local stream <close> = assert(claude:open("Hi", { retry = false }))
    local _, text, err = read(stream)
    assert.are.equal("ConnectionError", err.class)
    assert.are.equal("stream_truncated", err.kind)
    assert.are.equal(text, err.partial:text())
    assert.is_true(err.partial.partial)
  end)

  it("goes on after an interruption", function()
    assert(server:script { { content = "Hello." } })
    local interruption = koine.errors.new { kind = "cancelled", message = "interrupted" }
    local inner, interrupted = wait.park, false
    wait.park = function(token, seconds)
      if interrupted then return inner(token, seconds) end
      interrupted = true
      return nil, interruption
    end
    local stream <close> = assert(claude:open "Hi")
    local delta, err = stream:next()
    assert.is_nil(delta)
    assert.are.equal(interruption, err)
    assert.are.equal("Hello.", assert(stream:response()):text())
  end)

  it("stops a chat that is interrupted", function()
    assert(server:script { { content = "Hello." } })
    local interruption = koine.errors.new { kind = "cancelled", message = "interrupted" }
    wait.park = function() return nil, interruption end
    local response, err = claude:chat "Hi"
    assert.is_nil(response)
    assert.are.equal(interruption, err)
  end)

  it("wakes one who waits for it where another one reads the answer to its end", function()
    local cut = { content = ("word "):rep(100), chunk = 5, fault = { truncate_after = 3000 } }
    for _, answer in ipairs { { content = "Hello." }, cut } do
      assert(server:script { answer })
      local stream <close> = assert(claude:open("Hi", { retry = false }))
      assert(stream:next())
      for _ = 1, 20 do require("koine.core").engine():step(0.01) end -- all of it has come, and nobody is told
      local pump = wait.pump
      wait.pump = function(seconds) -- as a finalizer may
        wait.pump = pump
        repeat until not stream:next()
        return pump(math.min(seconds, 0.05))
      end
      local woken = wait.block(stream, 3)
      wait.pump = pump
      assert.is_true(woken)
    end
  end)

  it("shares the engine with others", function()
    assert(server:script { { content = "first", fault = { delay_ms = 20 } }, { content = "second" } })
    local a <close> = assert(claude:open "1")
    local b <close> = assert(claude:open "2")
    assert.are.equal("text_start", assert(b:next()).type)
    local first, second = assert(a:response()):text(), assert(b:response()):text()
    table.sort { first, second }
    assert.are.equal("firstsecond", first < second and first .. second or second .. first)
  end)

  it("is waited for by a host: coroutines that park and are woken", function()
    assert(server:script "echo")
    local results = {}
    install_host()
    local left = 3
    for i = 1, 3 do
      assert(coroutine.resume(coroutine.create(function()
        results[i] = claude:chat("number " .. i):text()
        left = left - 1
      end)))
    end
    for _ = 1, 10000 do
      if left == 0 then break end
      wait.pump(1)
    end
    wait.set_host(nil)
    assert.are.equal(0, left)
    for i = 1, 3 do assert.is_truthy(results[i]:find("number " .. i, 1, true)) end
  end)

  it("makes no further attempt once it or its adapter is closed", function()
    for _, closing in ipairs { "stream", "adapter" } do
      assert(server:reset())
      assert(server:script { { error = { status = 500 } }, { content = "never" } })
      local adapter = koine.anthropic { model = "m", base_url = server.url, key = "test-key-1" }
      local stream = assert(adapter:open "Hi")
      local inner = wait.park
      wait.park = function(token, seconds)
        if type(token) == "table" then (closing == "stream" and stream or adapter):close() end
        return inner(token, seconds)
      end
      local delta, err = stream:next()
      wait.park = inner
      assert.is_nil(delta)
      assert.are.equal("CancelledError", err.class)
      assert.are.equal("the " .. closing .. " was closed", err.message)
      assert.are.equal(1, #err.attempts)
      assert.are.equal(1, #assert(server:requests()))
    end
  end)

  it("that is closed does not wait for its next attempt", function()
    local function is_over(opened)
      local began, err = wait.now(), nil
      koine.run(function()
        local reader = koine.spawn(function() err = select(2, opened:next()) end)
        koine.sleep(0.2)
        opened:close()
        reader:wait()
      end)
      assert.is_true(wait.now() - began < 2, "closed after " .. wait.now() - began)
      assert.are.equal("CancelledError", err.class)
      return err
    end

    local inner = wait.park
    wait.park = park
    assert(server:script { { error = { status = 429, headers = { ["retry-after"] = "4" } } }, { content = "never" } })
    local adapter = koine.anthropic { model = "m", base_url = server.url, key = "test-key-1" }
    local err = is_over(assert(adapter:open "Hi"))
    assert.are.equal("the stream was closed", err.message)
    assert.are.equal(1, #err.attempts)
    assert.is_true(err.attempts[1].waited < 2)

    assert(server:reset())
    assert(server:script { { error = { status = 429, headers = { ["retry-after"] = "4" } } }, { content = "never" } })
    is_over(assert(koine.fallback { adapter, adapter }:open "Hi"))
    assert.are.equal(1, #assert(server:requests()))

    assert(server:reset())
    assert(server:script { { error = { status = 429, headers = { ["retry-after"] = "4" } } }, { content = "never" } })
    local opened
    opened = assert(adapter:open("Hi", { on_retry = function() opened:close() end }))
    local began = wait.now()
    local _, why = opened:next()
    assert.are.equal("CancelledError", why.class)
    assert.is_true(wait.now() - began < 2)
    wait.park = inner
  end)
end)
