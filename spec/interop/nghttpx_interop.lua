-- nghttpx before the loopback provider: many streams on one HTTP/2 connection, and what becomes of them when it goes.

local deep = require "spec.support.deep"
local http2_support = require "spec.interop.support.http2"
local koine = require "koine"
local nghttpx = require "spec.interop.support.nghttpx"
local program = require "spec.interop.support.program"

local KEY = "interop-secret-key"
local PATIENT = { connect = 60, first_byte = 60, idle = 60 }
local ENDS = { ConnectionError = true, ServerError = true } -- how a call may end when the front goes

describe("nghttpx", function()
  local server, front

  -- A front per test: what libcurl remembers of a host goes by its port.
  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function()
    assert(server:reset())
    front = nghttpx.start(server.port)
  end)
  after_each(function() front:stop() end)

  local function adapter(opts)
    local given = { model = "claude-sonnet-4-5", base_url = front.url, key = KEY, ca_file = front.ca_file,
      http2 = http2_support.offered, retry = false, timeout = PATIENT }
    for name, value in pairs(opts or {}) do given[name] = value end
    return koine.anthropic(given)
  end

  -- The i-th of many answers, and its number.
  local function answer(i, length) return ("answer %d "):format(i):rep(length) end
  local function number(text) return math.tointeger(tonumber(text:match "^answer (%d+) ")) end

  local function script(n, length, fault)
    local answers = {}
    for i = 1, n do answers[i] = { content = answer(i, length), chunk = length // 4 + 10, fault = fault } end
    assert(server:script(answers))
  end

  -- How many of the front's connections the requests came over.
  local function connections()
    local seen, n = {}, 0
    for _, request in ipairs(assert(server:requests())) do
      local name = assert(request.headers.forwarded)
      n, seen[name] = seen[name] and n or n + 1, true
    end
    return n
  end

  -- n calls at once. `meanwhile` is called once the provider has all n requests, or every call has ended. The answers
  -- by number, and the errors; what is neither raises.
  local function at_once(n, talker, length, meanwhile)
    local answers, failures, ended = {}, {}, 0
    koine.run(function()
      for _ = 1, n do
        koine.spawn(function()
          local response, err = talker:chat("Hello?", { stream = true })
          ended = ended + 1
          if not response then
            failures[#failures + 1] = err
            return
          end
          local i = number(response:text())
          assert(response:text() == answer(i, length) and not answers[i], "mixed up: " .. response:text())
          answers[i] = true
        end)
      end
      if not meanwhile then return end
      repeat koine.sleep(0.01) until ended == n or #assert(server:requests()) >= n
      meanwhile()
    end)
    return answers, failures
  end

  -- Asserts that a call which the front left ended as it should: typed, with the part that came, without the key.
  local function assert_typed(err, length)
    assert.is_true(ENDS[err.class], err.class .. ": " .. tostring(err))
    assert.is_nil(deep.text(err):find(KEY, 1, true))
    local text = err.partial and err.partial:text() or ""
    if #text > 20 then assert.are.equal(answer(number(text), length):sub(1, #text), text) end
  end

  local function count(set)
    local n = 0
    for _ in pairs(set) do n = n + 1 end
    return n
  end

  for protocol, http2 in pairs(http2_support.protocols { [true] = "h2", [false] = "http/1.1" }) do
    it("answers over " .. protocol, function()
      local talker = adapter { http2 = http2 }
      for _, fault in ipairs { {}, { gzip = true }, { write_bytes = 7 } } do
        script(2, 1000, fault)
        assert.are.equal(answer(1, 1000), assert(talker:chat "Hello?"):text())
        assert.are.equal(answer(2, 1000), assert(talker:chat("Hello?", { stream = true })):text())
      end
      assert.is_truthy(program.read(front.folder .. "/access"):find(" " .. protocol .. " 200", 1, true))
    end)

    it("tells an observer of its connection, over " .. protocol, function()
      local ends = {}
      local talker = adapter { http2 = http2, observer = function(record)
        if record.type == "attempt" and record.phase == "end" then ends[#ends + 1] = record end
      end }
      script(2, 1000, {})
      for i = 1, 2 do
        assert(talker:chat "Hello?")
        local over, is_new = ends[i], i == 1
        assert.are.equal(is_new and "new" or "reused", over.connection)
        assert.are.same({ is_new, is_new, is_new },
          { over.dns ~= nil, over.connect ~= nil, over.tls ~= nil and over.tls > 0 })
        assert.is_true(over.first_byte > (over.tls or 0))
      end
    end)

    it("that is killed in the middle gives the parts that came, over " .. protocol, function()
      script(10, 2000, { stall_after = 9000 })
      local talker, failures, begun = adapter { http2 = http2 }, {}, 0
      koine.run(function()
        for i = 1, 10 do
          koine.spawn(function()
            local stream <close> = assert(talker:open "Hello?")
            repeat local delta = assert(stream:next()) until delta.type == "text_delta"
            begun = begun + 1
            local response, err = stream:response()
            assert(not response)
            failures[i] = err
          end)
        end
        repeat koine.sleep(0.01) until begun == 10
        assert(front.program:signal("KILL", true))
      end)
      for i = 1, 10 do
        assert.are.equal("ConnectionError", failures[i].class)
        assert_typed(failures[i], 2000)
        assert.is_true(#failures[i].partial:text() > 0)
      end
    end)

    it("a provider that resets in the middle is a cut stream, over " .. protocol, function()
      local talker = adapter { http2 = http2 }
      for _, ending in ipairs { "reset_after", "truncate_after" } do
        script(1, 2000, { [ending] = 9000 })
        local response, err = talker:chat("Hello?", { stream = true })
        assert.is_nil(response)
        assert.are.equal("ConnectionError", err.class, tostring(err))
        assert_typed(err, 2000)
      end
    end)
  end

  -- Where libcurl stalls, the idle timeout ends the stream: that is an observation, printed, and no failure.
  http2_support.refused(it)

  http2_support.only(it)("carries a hundred streams on one connection, twenty times", function()
    local stalled, lengths = 0, { 50, 2000 }
    for round = 1, 20 do
      local length = lengths[round % 2 + 1]
      local fresh <close> = nghttpx.start(server.port)
      assert(server:reset())
      script(100, length)
      local answers, failures = at_once(100, adapter { base_url = fresh.url, ca_file = fresh.ca_file,
        timeout = { connect = 60, first_byte = 20, idle = 20 } }, length)
      for _, err in ipairs(failures) do
        assert.are.equal("ConnectionError", err.class, tostring(err))
        assert.are.equal("timeout", err.kind, tostring(err))
        assert_typed(err, length)
      end
      assert.are.equal(100, count(answers) + #failures)
      if #failures > 0 then
        stalled = stalled + 1
      else
        assert.are.equal(1, connections())
      end
    end
    io.stdout:write(("\nHTTP/2, 20 times 100 streams on one connection: stalled %d times\n"):format(stalled))
  end)

  -- libcurl sends all requests before it knows how many the server allows, which then refuses some. Koine has them sent
  -- again as attempts of its own.
  http2_support.only(it)("that allows fewer streams than there are calls refuses some, to be tried again", function()
    local refused, tried = 0, 0
    local function on_retry() tried = tried + 1 end
    for _ = 1, 5 do
      for _, retry in ipairs { false, { max = 2 } } do
        local narrow <close> = nghttpx.start(server.port, "--frontend-http2-max-concurrent-streams=10")
        assert(server:reset())
        script(50, 20)
        local answers, failures = at_once(50, adapter { base_url = narrow.url, ca_file = narrow.ca_file, retry = retry,
          on_retry = on_retry }, 20)
        assert.are.equal(50, count(answers) + #failures)
        if retry then assert.is_nil(failures[1], tostring(failures[1])) end
        for _, err in ipairs(failures) do
          assert_typed(err, 20)
          assert.are.equal("ConnectionError", err.class, tostring(err))
          assert.are.equal("connect", err.kind, tostring(err))
          assert.is_true(err.retryable)
          assert.are.equal(1, #err.attempts)
        end
        refused = refused + #failures
      end
    end
    io.stdout:write(("\nHTTP/2, 5 times 50 calls where 10 streams are allowed: %d refused, %d tried again\n")
      :format(refused, tried))
  end)

  http2_support.only(it)("streams that are left do not take the others along", function()
    script(20, 500)
    local talker, whole = adapter(), 0
    koine.run(function()
      for i = 1, 20 do
        koine.spawn(function()
          local stream <close> = assert(talker:open "Hello?")
          assert(stream:next())
          if i % 2 == 0 then return end
          local text = assert(stream:response()):text()
          assert(text == answer(number(text), 500))
          whole = whole + 1
        end)
      end
    end)
    assert.are.equal(10, whole)
    assert.are.equal(1, connections())
  end)

  http2_support.only(it)("that says GOAWAY: every call has an end, and the next one works", function()
    local talker = adapter()
    for _ = 1, 5 do
      assert(server:reset())
      script(20, 100, { delay_ms = 200 })
      local answers, failures = at_once(20, talker, 100, function() assert(front.program:signal "QUIT") end)
      for _, err in ipairs(failures) do assert_typed(err, 100) end
      assert.are.equal(20, count(answers) + #failures)
      front:restart()
      script(3, 100) -- libcurl may try its dead connection once more
      assert.is_not_nil(number(assert(talker:chat("Hello?", { retry = { max = 2 } })):text()))
    end
  end)

  http2_support.only(it)("that says GOAWAY to streams that are silent: the idle timeout ends them", function()
    script(10, 2000, { stall_after = 3000 })
    local talker = adapter { timeout = { connect = 60, first_byte = 60, idle = 1 } }
    local answers, failures = at_once(10, talker, 2000, function() assert(front.program:signal "QUIT") end)
    assert.are.equal(0, count(answers))
    assert.are.equal(10, #failures)
    for _, err in ipairs(failures) do assert_typed(err, 2000) end
  end)

  it("that is gone refuses the connection, and is retried until it is back", function()
    front.program:stop()
    local response, err = adapter():chat "Hello?"
    assert.is_nil(response)
    assert.are.equal("ConnectionError", err.class)
    assert.are.equal("connect", err.kind)
    script(1, 10)
    local back = adapter { retry = { max = 1 }, on_retry = function() front:restart() end }
    response = assert(back:chat "Hello?")
    assert.are.equal(2, #response.attempts)
  end)

  -- Over HTTP/2 it answers before it has read the request, and libcurl may lose such an answer.
  it("before a provider that is gone answers 502", function()
    local alone <close> = nghttpx.start(program.free_port())
    for _, http2 in pairs(http2_support.protocols { [true] = "h2", [false] = "http/1.1" }) do
      local talker = adapter { base_url = alone.url, ca_file = alone.ca_file, http2 = http2 }
      local response, err = talker:chat "Hello?"
      assert.is_nil(response)
      if not http2 then assert.are.equal("ServerError", err.class, tostring(err)) end
      assert_typed(err)
      assert.is_true(err.retryable)
      if err.class == "ServerError" then
        assert.is_true(err.status_code == 502 or err.status_code == 503)
        assert.is_nil(err.message:find "[<>\n]")
      end
    end
  end)
end)
