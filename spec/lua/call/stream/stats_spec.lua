-- The statistics of a stream: bytes, events, memory, times.

local koine = require "koine"
local wait = require "koine.task.wait"

local LONG_AND_STUCK = { content = ("word "):rep(100), chunk = 5, fault = { stall_after = 2000 } }

describe("a stream by its stats", function()
  local server, claude

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function()
    assert(server:reset())
    claude = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "test-key-1" }
  end)

  -- An answer of two fragments that differs from another's only by the bytes of the text.
  local function two_fragments(n)
    return { content = ("x"):rep(2 * n), chunk = n, usage = { input_tokens = 1, output_tokens = 1 } }
  end

  local function finished(answer)
    assert(server:reset())
    assert(server:script { answer })
    local stream <close> = assert(claude:open "Hi")
    assert(stream:response())
    return stream:stats()
  end

  it("says what arrived, byte for byte and event for event", function()
    local short, long = finished(two_fragments(10)), finished(two_fragments(25))
    assert.are.equal(30, long.bytes - short.bytes)
    assert.are.equal(short.events, long.events)
    local more = finished { content = ("x"):rep(50), chunk = 10, usage = { input_tokens = 1, output_tokens = 1 } }
    assert.are.equal(3, more.events - long.events)
  end)

  it("says that nothing has arrived", function()
    assert(server:script { { content = "never", fault = { stall_after = 0 } } })
    local stream <close> = assert(claude:open "Hi")
    local stats = stream:stats()
    assert.are.same({ 0, 0 }, { stats.bytes, stats.events })
    assert.is_nil(stats.first_delta)
    assert.is_true(stats.idle >= 0)
    assert.is_true(stats.retained > 0 and stats.peak >= stats.retained)
  end)

  it("tells the time to the first delta and since the last byte", function()
    assert(server:script { LONG_AND_STUCK })
    local began = wait.now()
    local stream <close> = assert(claude:open "Hi")
    assert(stream:next())
    local stats = stream:stats()
    local took = wait.now() - began
    assert.is_true(stats.first_delta > 0 and stats.first_delta <= took)
    assert.is_true(stats.idle >= 0 and stats.idle <= took)
    while stream:poll() do end -- all that has come
    local first, now = stream:stats(), wait.now()
    repeat until wait.now() > now
    local second = stream:stats()
    assert.are.equal(first.bytes, second.bytes)
    assert.is_true(second.idle > first.idle)
    assert.are.equal(stats.first_delta, second.first_delta)
  end)

  it("tells what is held now and was held at most", function()
    assert(server:script { { content = ("x"):rep(1 << 20), chunk = 1 << 16, fault = { stall_after = 1 << 19 } },
      two_fragments(1 << 18) })
    local stream <close> = assert(claude:open "Hi")
    for _ = 1, 5 do assert(stream:next()) end
    local stats = stream:stats()
    assert.is_true(stats.retained >= 4 << 16)
    assert.is_true(stats.peak >= stats.retained)
    stream:close()
    local closed = stream:stats()
    assert.are.equal(0, closed.retained)
    assert.is_true(closed.peak >= stats.peak)
    assert.is_nil(closed.idle)
    assert.are.equal(stats.first_delta, closed.first_delta)
    assert.is_true(closed.bytes >= stats.bytes)
    local ended = finished(two_fragments(1 << 18))
    assert.are.equal(0, ended.retained)
    assert.is_true(ended.peak >= 1 << 19)
  end)

  it("is what its latest attempt was", function()
    local alone = finished(two_fragments(10))
    assert(server:reset())
    assert(server:script { { error = { status = 529, message = ("busy "):rep(1000) } }, two_fragments(10) })
    local stream <close> = assert(claude:open "Hi")
    assert(stream:response())
    local stats = stream:stats()
    assert.are.same({ alone.bytes, alone.events }, { stats.bytes, stats.events })
  end)
end)
