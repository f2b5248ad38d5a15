-- Cassettes: every kind of answer, played as it was live; its times; answers that were cut off, left, or tried again.

local core = require "koine.core"
local gzip = require "koine.testing.loopback.gzip"
local http = require "koine.net.http"
local http_server = require "koine.net.http_server"
local kit = require "spec.lua.testing.cassette.kit"
local koine = require "koine"
local served = require "spec.lua.net.served"
local wait = require "koine.task.wait"

-- What an answer of an adapter says, without what each run has of its own.
local function outcome(response, err)
  if not response then
    return { err.kind, err.message, err.status_code, err.retry_after, err.partial and err.partial:text() }
  end
  local told = response:to_table()
  told.headers = nil
  return told
end

-- Records the server's answer bytes with ask(tape, url), and plays it: both outcomes.
local function both(bytes, ask, options)
  local live, played, base
  kit.serve({ bytes }, function(url)
    base = url
    local tape = kit.open { mode = "record" }
    live = ask(tape, url)
    assert(tape:finish())
  end)
  local tape = kit.open(options or { mode = "replay" })
  played = ask(tape, base)
  assert(tape:finish())
  return live, played
end

local function chat(streaming)
  return function(tape, url)
    return outcome(kit.claude(tape, { base_url = url }):chat("Hi.", { stream = streaming }))
  end
end

local function raw(tape, url)
  local answer, err = http.send { url = url, transport = tape }
  return answer and { answer.status, answer.body } or { err.kind, err.message, err.code }
end

describe("an answer on a cassette", function()
  before_each(kit.begin)
  after_each(kit.restore)

  it("plays as it was live: stream, plain, error", function()
    for name, bytes in pairs { stream = kit.stream("Hel", "lo."), plain = served.answer(200, kit.plain "Hello."),
      error = served.answer(429, '{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}', nil,
        { { "retry-after", "7" } }),
      cut = served.stream_head() .. served.chunk(kit.events("Hel")[1]) .. served.chunk(kit.events("Hel")[2])
        .. served.chunk(kit.events("Hel")[3]) .. served.chunk "" } do
      local live, played = both(bytes, chat(name ~= "plain"))
      assert.are.same(live, played, name)
    end
  end)

  it("plays as it was live: gzip, binary, empty, 204", function()
    local packed = table.concat(gzip.wrap { "all of it" })
    local cases = { binary = { served.answer(200, "\0\255\1", "image/png"), { 200, "\0\255\1" } },
      empty = { served.answer(200, ""), { 200, "" } },
      none = { http_server.head(204, {}), { 204, "" } },
      gzip = { served.answer(200, packed, "text/plain", { { "content-encoding", "gzip" } }), { 200, "all of it" } } }
    for name, case in pairs(cases) do
      local live, played = both(case[1], raw)
      assert.are.same(case[2], live, name)
      assert.are.same(case[2], played, name)
    end
  end)

  it("plays as it was live: a connection that is reset, and one that breaks in the body", function()
    local live, played = both(function(conn) conn:reset() end, raw)
    assert.are.equal("connect", live[1])
    live[2] = ("played by cassette %s (exchanges[1]): %s"):format(kit.path, live[2]) -- whose words are libcurl's
    assert.are.same(live, played)
    live, played = both(function(conn)
      conn:send(http_server.head(200, { { "content-length", 9 } }) .. "half")
      return false
    end, raw)
    assert.are.equal("stream_truncated", live[1])
    assert.are.same(live, played)
  end)

  it("gives the same deltas however its body is split", function()
    local response, deltas = kit.response("Hel", "lo", "."), {}
    for size = 1, 40, 3 do
      response.chunks = core.array {}
      for at = 0, #response.body - 1, size do
        table.insert(response.chunks, { at, math.min(size, #response.body - at) })
      end
      kit.write { kit.exchange("Hi.", response) }
      local tape, list = kit.open { mode = "replay" }, {}
      for delta in kit.claude(tape, { clock = tape:clock() }):stream "Hi." do list[#list + 1] = delta end
      deltas[#deltas + 1] = list
      assert.are.same(deltas[1], list)
    end
    assert.are.equal("Hel", deltas[1][2].text)
  end)

  it("has the times of its pieces", function()
    local pieces = kit.events("a", "b")
    kit.serve({ function(conn)
      conn:send(served.stream_head())
      for _, event in ipairs(pieces) do
        conn:send(served.chunk(event))
        koine.sleep(0.004)
      end
      conn:send(served.chunk "")
      return true
    end }, function(url)
      local tape = kit.open()
      assert(kit.claude(tape, { base_url = url }):chat("Hi.", { stream = true }))
      assert(tape:finish())
    end)
    local response, sum, last = kit.read().exchanges[1].response, 0, 0
    for _, chunk in ipairs(response.chunks) do
      assert.is_true(chunk[1] >= last)
      last, sum = chunk[1], sum + chunk[2]
    end
    assert.are.equal(#response.body, sum)
    assert.is_true(#response.chunks > 1 and last >= 4)
  end)

  it("is played at the speed that is asked for", function()
    local response = kit.response("a", "b")
    response.chunks = { { 30, 100 }, { 60, #response.body - 100 } }
    for speed, seconds in pairs { [0] = 0, [1] = 0.06, [10] = 0.006 } do
      kit.write { kit.exchange("Hi.", response) }
      local tape, began = kit.open { mode = "replay", speed = speed }, wait.now()
      assert(kit.claude(tape):chat("Hi.", { stream = true }))
      local took = wait.now() - began
      assert.is_true(took >= seconds * 0.99, ("speed %g took %g s"):format(speed, took))
    end
  end)

  it("lets deadlines and first_delta see its times without a wait", function()
    local response = kit.response("a", "b")
    response.chunks = { { 100000, 400 }, { 200000, #response.body - 400 } }
    kit.write { kit.exchange("Hi.", response) }
    local function play(timeout)
      local tape = kit.open { mode = "replay" }
      local stream = assert(kit.claude(tape, { clock = tape:clock(), timeout = timeout }):open "Hi.")
      local first = assert(stream:next())
      return first, stream:response(), stream:stats()
    end
    local began = wait.now()
    local first, r, stats = play()
    assert.are.equal("text_start", first.type)
    assert.are.equal("ab", r:text())
    assert.are.equal("100.00000000", ("%.8f"):format(stats.first_delta))
    local tape = kit.open { mode = "replay" }
    local _, err = kit.claude(tape, { clock = tape:clock(), timeout = { first_byte = 99 } }):chat("Hi.",
      { stream = true })
    assert.are.same({ "timeout", "first_byte" }, { err.kind, err.code })
    tape = kit.open { mode = "replay" }
    _, err = kit.claude(tape, { clock = tape:clock(), timeout = { idle = 99 } }):chat("Hi.", { stream = true })
    assert.are.same({ "timeout", "idle" }, { err.kind, err.code })
    assert.is_true(wait.now() - began < 50)
  end)
end)

describe("a call that is tried again", function()
  before_each(kit.begin)
  after_each(kit.restore)

  it("has both attempts on the tape, and waits by its clock", function()
    local error_429 = served.answer(429, '{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}', nil,
      { { "retry-after-ms", "1" } })
    kit.serve({ error_429, kit.stream "Hello." }, function(url)
      local tape = kit.open()
      local r = assert(kit.claude(tape, { base_url = url, retry = { max = 1 } }):chat("Hi.", { stream = true }))
      assert.are.equal(2, #r.attempts)
      assert(tape:finish())
    end)
    local written = kit.read()
    assert.are.equal(2, #written.exchanges)
    written.exchanges[1].response.headers["retry-after-ms"] = "30000"
    written.exchanges[1].request.url = "https://api.anthropic.com/v1/messages"
    written.exchanges[2].request.url = "https://api.anthropic.com/v1/messages"
    kit.write(written.exchanges)
    local tape, began = kit.open(), wait.now()
    local clock = tape:clock()
    local start = clock.now()
    local r = assert(kit.claude(tape, { clock = clock, retry = { max = 1 } }):chat("Hi.", { stream = true }))
    assert.are.equal("Hello.", r:text())
    assert.are.same({ 429, 30 }, { r.attempts[1].status_code, r.attempts[1].waited })
    assert.is_true(clock.now() - start > 30 - 1e-6 and wait.now() - began < 20)
    assert(tape:finish())
    tape = kit.open()
    local _, err = kit.claude(tape, { clock = tape:clock(), retry = { max = 1 }, timeout = { total = 20 } })
      :chat("Hi.", { stream = true })
    assert.are.equal("rate_limit", err.kind) -- the wait would end behind the deadline
  end)
end)

describe("two tasks on one cassette", function()
  before_each(kit.begin)
  after_each(kit.restore)

  it("each get their own answers", function()
    local texts = {}
    local function ask(tape, url, prompt)
      return function()
        local r = assert(kit.claude(tape, { base_url = url }):chat(prompt, { stream = true }))
        texts[prompt] = r:text()
      end
    end
    local base
    served.run(function(conn, request) -- the answer to "a" comes in pieces, between which "b" is answered
      local said = request.body:find('"a"', 1, true) and "A" or "B"
      conn:send(served.stream_head())
      for _, event in ipairs(kit.events(said)) do
        if said == "A" then koine.sleep(0) end
        conn:send(served.chunk(event))
      end
      conn:send(served.chunk "")
      return true
    end, function(url)
      base = url
      local tape = kit.open()
      koine.gather(ask(tape, url, "a"), ask(tape, url, "b"))
      assert(tape:finish())
    end)
    assert.are.same({ a = "A", b = "B" }, texts)
    local first = kit.read().exchanges[1]
    assert.are.equal("a", first.request.json.messages[1].content[1].text)
    assert.is_truthy(first.response.body:find('"A"', 1, true))
    texts = {}
    local tape = kit.open { mode = "replay", speed = 1 }
    koine.run(function() koine.gather(ask(tape, base, "b"), ask(tape, base, "a")) end)
    assert.are.same({ a = "A", b = "B" }, texts)
    assert(tape:finish())
  end)
end)

describe("a stream that its reader left", function()
  before_each(kit.begin)
  after_each(kit.restore)

  it("is kept as far as it came, and says where it ends", function()
    local events, base = kit.events("Hel", "lo"), nil
    kit.serve({ function(conn)
      conn:send(served.stream_head() .. served.chunk(table.concat(events, "", 1, 3)))
      conn:hang()
    end }, function(url)
      base = url
      local tape = kit.open()
      for delta in kit.claude(tape, { base_url = url }):stream "Hi." do
        if delta.text then break end
      end
      assert(tape:finish())
    end)
    local response = kit.read().exchanges[1].response
    assert.are.same({ true, table.concat(events, "", 1, 3) }, { response.left, response.body })
    local tape, text = kit.open { mode = "replay" }, nil
    for delta in kit.claude(tape, { base_url = base }):stream "Hi." do
      text = delta.text
      if text then break end
    end
    assert.are.equal("Hel", text)
    assert(tape:finish())
    tape = kit.open { mode = "replay" }
    local _, err = kit.claude(tape, { base_url = base }):chat("Hi.", { stream = true })
    assert.are.same({ "stream_truncated", "cassette_left", "Hel" }, { err.kind, err.code, err.partial:text() })
  end)
end)
