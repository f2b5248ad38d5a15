-- What an observer is told of an attempt: its connection, the bytes that went and came, the seconds of its parts.

local cassettes = require "spec.lua.testing.cassette.kit"
local koine = require "koine"
local observed = require "spec.lua.data.observer.kit"

local PARTS = { "connection", "dns", "connect", "tls", "first_byte" }

describe("the end of an observed attempt", function()
  local server, base

  -- The server is asked for by this name only here, so that the first connection to it is new.
  before_each(function()
    server = assert(koine.testing.start())
    base = server.url:gsub("127%.0%.0%.1", "localhost")
  end)
  after_each(function() server:stop() end)

  -- The ends of the attempts of f(an observed adapter).
  local function ends(f, url, fields)
    local observer, records = observed.keep()
    local given = { model = "claude-sonnet-4-5", base_url = url or base, key = "test-key", observer = observer,
      retry = false }
    for name, value in pairs(fields or {}) do given[name] = value end
    f(koine.anthropic(given))
    observed.check(records)
    return table.unpack(observed.of(records, "attempt", "end"))
  end

  it("has connection, dns, connect and first_byte of a new connection, no tls without TLS", function()
    assert(server:script { { content = "Hello.", fault = { delay_ms = 30 } } })
    local over = ends(function(claude) assert(claude:chat(("x"):rep(200000))) end)
    assert.are.equal("new", over.connection)
    assert.is_true(over.dns >= 0 and over.connect >= 0)
    assert.is_nil(over.tls)
    assert.is_true(over.bytes_sent > 200000)
    assert.is_true(over.bytes_received > 0)
    assert.is_true(over.first_byte >= 0.03 and over.first_byte <= over.seconds, "not the first byte of the request")
  end)

  it("has no dns and connect where the connection was there", function()
    assert(server:script { { content = "Hello." }, { content = "Hello." } })
    local first, second = ends(function(claude)
      assert(claude:chat "Hi.")
      local engine = koine.engine()
      while engine:timeout() do engine:step() end -- until the last bytes of the answer are there
      assert(claude:chat "Hi.")
    end)
    assert.are.same({ "new", "reused" }, { first.connection, second.connection })
    assert.is_nil(second.dns)
    assert.is_nil(second.connect)
    assert.is_true(second.first_byte > 0)
    assert.are.equal(first.bytes_sent, second.bytes_sent)
  end)

  it("has what was there when the stream was closed", function()
    assert(server:script { { content = ("word "):rep(100), chunk = 5, fault = { stall_after = 2000 } } })
    local over = ends(function(claude)
      local stream <close> = assert(claude:open "Hi.")
      assert(stream:next())
    end)
    assert.are.equal("cancelled", over.error.kind)
    assert.are.equal("new", over.connection)
    assert.is_true(over.first_byte > 0 and over.bytes_received > 0 and over.bytes_sent > 0)
  end)

  local function has_none(over)
    for _, name in ipairs(PARTS) do
      if name ~= "dns" then assert.is_nil(over[name], name) end
    end
    return over
  end

  it("has none where nothing could be reached", function()
    local port = server.url:match "%d+$"
    server:stop()
    local over = has_none(ends(function(claude) claude:chat "Hi." end, "http://127.0.0.1:" .. port))
    assert.are.same({ "connect", 0, 0 }, { over.error.kind, over.bytes_sent, over.bytes_received })
    over = has_none(ends(function(claude) claude:chat "Hi." end, "http://name.invalid"))
    assert.are.same({ "connect", 0, 0 }, { over.error.kind, over.bytes_sent, over.bytes_received })
    assert.is_nil(over.dns)
  end)

  it("has none where it was closed before it went out", function()
    local over = has_none(ends(function(claude) assert(claude:open "Hi."):close() end))
    assert.are.same({ 0, 0 }, { over.bytes_sent, over.bytes_received })
    assert.is_nil(over.dns)
  end)

  it("has none where a cassette plays it", function()
    cassettes.begin()
    finally(cassettes.restore)
    assert(server:script { { content = "Hello." } })
    for i, mode in ipairs { "record", "replay" } do
      local tape <close> = cassettes.open { mode = mode }
      local over = ends(function(claude) assert(claude:chat "Hi.") end, base, { transport = tape })
      assert(tape:finish())
      if i == 1 then
        assert.are.equal("new", over.connection)
      else
        has_none(over)
        assert.is_nil(over.dns)
        assert.is_nil(over.bytes_sent)
        assert.are.equal(200, over.status_code)
      end
    end
  end)

  it("has status_code, request_id and the rest of an embed, too", function()
    assert(server:script { { embeddings = true }, { error = { status = 400 } } })
    local observer, records = observed.keep()
    local openai = koine.openai { model = "gpt-4.1", base_url = base .. "/v1", key = "test-key", observer = observer }
    assert(openai:embed("one", { model = "text-embedding-3-small" }))
    assert.is_nil((openai:embed("one", { model = "text-embedding-3-small" })))
    observed.check(records)
    local good, bad = table.unpack(observed.of(records, "attempt", "end"))
    assert.are.same({ 200, 400 }, { good.status_code, bad.status_code })
    assert.are.same({ "new", "reused" }, { good.connection, bad.connection })
    assert.is_truthy(good.request_id)
    assert.is_true(good.bytes_sent > 0 and good.bytes_received > 0 and good.first_byte > 0)
    assert.are.equal("invalid_request", bad.error.kind)
  end)

  it("comes before the end of an embed that is cancelled", function()
    assert(server:script { { embeddings = true, fault = { stall_after = 0 } } })
    local observer, records = observed.keep()
    local openai = koine.openai { model = "gpt-4.1", base_url = base .. "/v1", key = "test-key", observer = observer }
    koine.run(function()
      pcall(koine.timeout, 0.05, function() openai:embed("one", { model = "text-embedding-3-small" }) end)
    end)
    observed.check(records)
    assert.are.equal("cancelled", observed.of(records, "attempt", "end")[1].error.kind)
  end)
end)
