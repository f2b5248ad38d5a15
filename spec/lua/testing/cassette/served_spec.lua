-- Cassettes that the loopback provider serves: what it sends is what a cassette plays, whole and broken off.

local client = require "spec.support.raw_client"
local core = require "koine.core"
local kit = require "spec.lua.testing.cassette.kit"
local koine = require "koine"

describe("a cassette that the loopback provider serves", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function()
    kit.begin()
    assert(server:reset())
  end)
  after_each(kit.restore)

  -- What chats say: the outcome of the file's exchange i, from the server, and from the cassette.
  local function outcome(adapter, streaming)
    local r, err = adapter:chat("Hi.", { stream = streaming })
    if r then return { r:text(), r.stop_reason, r.usage.output_tokens, r.request_id } end
    return { err.kind, err.status_code, err.retry_after, err.partial and err.partial:text() }
  end

  local function served(i, fault, streaming)
    assert(server:script { { replay = kit.path, exchange = i, fault = fault } })
    return outcome(koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "k", max_tokens = 10,
      retry = false }, streaming)
  end

  local function played(i, fault, streaming)
    local tape <close> = kit.open { mode = "replay", match = function(_, recorded) return recorded.body == i end }
    tape:fault(tonumber(i), fault)
    return outcome(kit.claude(tape), streaming)
  end

  -- Writes exchanges whose requests have their numbers as bodies.
  local function write(responses)
    local exchanges = {}
    for i, response in ipairs(responses) do
      exchanges[i] = { request = { method = "POST", url = "https://h/", headers = {}, body = tostring(i) },
        response = response }
    end
    kit.write(exchanges)
  end

  it("answers with the exchange of that number, as the cassette plays it", function()
    local chunked = kit.response("Hel", "lo")
    chunked.chunks = { { 1, 100 }, { 2, #chunked.body - 100 } }
    local json = { ["content-type"] = "application/json", ["request-id"] = "req_1" }
    write { chunked, { status = 200, headers = json, body_base64 = core.base64_encode(kit.plain "plain") },
      { status = 429, headers = { ["content-type"] = "application/json", ["retry-after"] = "7" },
        body = '{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}' },
      { error = { kind = "connect", message = "reset" } },
      { status = 200, headers = { ["content-type"] = "text/event-stream" }, body = kit.events("Hel")[1],
        error = { kind = "stream_truncated", message = "cut" } },
      { status = 200, headers = { ["content-type"] = "text/event-stream" }, left = true,
        body = table.concat(kit.events("Hel"), "", 1, 3) } }
    for i, streaming in ipairs { true, false, false, true, true, true } do
      assert.are.same(played(tostring(i), nil, streaming), served(i, nil, streaming), tostring(i))
    end
    assert.are.same({ "Hello", "end_turn", 2, nil }, { table.unpack(served(nil, nil, true), 1, 3) })
    assert.are.equal("plain", served(2)[1])
  end)

  it("comes in the pieces in which it was recorded", function()
    local response = kit.response("Hel", "lo")
    response.chunks = { { 1, 100 }, { 2, 7 }, { 3, #response.body - 107 } }
    write { response }
    assert(server:script { { replay = kit.path } })
    local answer, sizes = client.completions(server, { stream = true }), {}
    for i, chunk in ipairs(answer.chunks) do sizes[i] = #chunk end
    assert.are.same({ 100, 7, #response.body - 107 }, { table.unpack(sizes, 1, 3) })
    assert.are.equal(response.body, answer.body)
  end)

  it("is broken by a fault at any byte, as by that of the cassette", function()
    write { kit.response("Hel", "lo") }
    local size = #kit.response("Hel", "lo").body
    for at = 0, size - 1, 61 do
      for _, how in ipairs { "reset_after", "truncate_after", at > 0 and "end_after" or nil } do
        local fault = { [how] = at }
        assert.are.same(played("1", fault, true), served(1, fault, true), how .. " " .. at)
      end
    end
  end)

  it("is refused where it is not there, or wrong", function()
    write { kit.response "x" }
    for words, answer in pairs { ["exchange 2 of 1 expected"] = { replay = kit.path, exchange = 2 },
      ["answers[1].exchange: the number"] = { replay = kit.path, exchange = 0 },
      ["answers[1].exchange: the number of"] = { content = "x", exchange = 1 },
      ["answers[1].replay: /nowhere: "] = { replay = "/nowhere" } } do
      local ok, err = pcall(server.script, server, { answer })
      assert.is_false(ok)
      assert.is_truthy(tostring(err):find(words, 1, true), tostring(err))
    end
    write { { status = 99 } }
    local _, err = pcall(server.script, server, { { replay = kit.path } })
    assert.is_truthy(tostring(err):find("exchanges[1].response.status", 1, true), tostring(err))
  end)
end)
