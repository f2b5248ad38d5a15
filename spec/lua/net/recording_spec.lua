-- Answers that are recorded while they come, and answers that are played in the network's place.

local core = require "koine.core"
local http = require "koine.net.http"
local koine = require "koine"
local raised = require "spec.support.raised"
local served = require "spec.lua.net.served"
local streamed = require "koine.net.streamed"
local wait = require "koine.task.wait"

local NOWHERE = "http://nowhere.invalid/"
local EVENTS = "data: a\n\ndata: b\n\n"

-- A transport that answers each request with what f(call) returns.
local function by(f) return { begin = function(_, call) return f(call) end } end

local function played(answer) return by(function() return core.recording(answer) end) end

local function stream_of(more)
  local answer = { status = 200, headers = { ["content-type"] = "text/event-stream" }, body = EVENTS,
    pieces = { 1, 9, 3, 9 } }
  for name, value in pairs(more or {}) do answer[name] = value end
  return answer
end

describe("what is taken of an answer", function()
  it("is forgotten, unless it is read from an offset", function()
    served.run(function(connection)
      connection:send(served.stream_head())
      connection:send(served.chunk "data: a\n\n")
      connection:hang()
    end, function(url)
      local recording = core.recording()
      assert.are.same({ "", nil, false }, { recording:take() })
      assert.is_false(recording:is_played())
      local answer <close> = assert(streamed.open { url = url, transport = by(function() return recording end) })
      assert.are.equal("a", answer:record().data)
      assert.are.same({ "a\n\n", 200, false }, { recording:take(6) })
      assert.are.same({ "", 200, false }, { recording:take(1000) })
      assert.are.same({ "data: a\n\n", 200, false }, { recording:take() })
      assert.are.same({ "", 200, false }, { recording:take() })
      answer:close()
      assert.are.same({ "", 200, true }, { recording:take() })
      assert.are.same({}, recording:read().pieces)
    end)
    assert.is_true(core.recording({ status = 200 }):is_played())
  end)
end)

describe("an answer that is played", function()
  it("is that of a request, and nothing is sent", function()
    local answer = assert(http.send { url = NOWHERE, transport = played { status = 201, headers = { ["x-a"] = "1" },
      body = "all" } })
    assert.are.same({ status = 201, headers = { ["x-a"] = "1" }, body = "all", url = NOWHERE }, answer)
    answer = assert(http.send { url = NOWHERE, transport = played { status = 204 } })
    assert.are.equal("", answer.body)
  end)

  it("is read while it comes, with the times of its pieces", function()
    local began = wait.now()
    local answer <close> = assert(streamed.open { url = NOWHERE, transport = played(stream_of { speed = 200 }) })
    assert.are.equal("a", answer:record().data)
    assert.are.equal("b", answer:record().data)
    assert.is_nil(answer:record())
    assert.is_true(wait.now() - began > 0.005)
  end)

  it("passes its time at once where nobody is to wait, and deadlines see that time", function()
    local function send(timeouts, more)
      more = more or {}
      more.unwaited = true
      local answer, err = http.send { url = NOWHERE, timeouts = timeouts, transport = played(stream_of(more)) }
      return answer and answer.body or err.kind .. " " .. err.code
    end
    assert.are.equal(EVENTS, send { first_byte = 1.5, idle = 2.5, total = 3.5 })
    assert.are.equal("timeout first_byte", send { first_byte = 0.5 })
    assert.are.equal("timeout idle", send { idle = 1.5 })
    assert.are.equal("timeout total", send { total = 2.5 })
    assert.are.equal("timeout idle", send({ idle = 2.5 }, { after = math.huge }))
  end)

  it("ends as it says", function()
    local transport = played { error = { kind = "connect", code = "c", message = "reset", retryable = false } }
    local _, err = http.send { url = NOWHERE, transport = transport }
    assert.are.same({ "connect", "c", "reset", false }, { err.kind, err.code, err.message, err.retryable })
    local cut = stream_of { error = { kind = "stream_truncated", message = "cut" } }
    local answer <close> = assert(streamed.open { url = NOWHERE, transport = played(cut) })
    assert.are.equal("a", answer:record().data)
    assert.are.equal("b", answer:record().data)
    assert.are.equal("cut", select(2, answer:record()).message)
  end)

  it("is held to the limits, and waits for a slow reader", function()
    local big = played { status = 200, body = ("x"):rep(3000), pieces = { 0, 1000, 0, 1000, 0, 1000 } }
    local _, err = http.send { url = NOWHERE, transport = big, limits = { body = 2000 } }
    assert.are.same({ "limit", "body" }, { err.kind, err.code })
    local answer <close> = assert(streamed.open { url = NOWHERE, transport = big, limits = { high_water = 10 } })
    assert.are.equal(3000, #answer:body())
  end)

  it("can be closed at any time, and left to the collector", function()
    for i = 1, 3 do
      local answer = assert(streamed.open { url = NOWHERE, transport = played(stream_of { speed = 1e3 }) })
      if i == 1 then answer:close() elseif i == 2 then answer:release() end
    end
    collectgarbage()
    collectgarbage()
    assert.are.equal("koine.engine (0 in flight)", tostring(core.engine()))
  end)

  it("goes on beside others", function()
    local order = {}
    koine.run(function()
      koine.gather(function()
        http.send { url = NOWHERE, transport = played(stream_of { speed = 100 }) }
        order[#order + 1] = "slow"
      end, function()
        http.send { url = NOWHERE, transport = played(stream_of()) }
        order[#order + 1] = "fast"
      end)
    end)
    assert.are.same({ "fast", "slow" }, order)
  end)

  it("must make sense", function()
    local function refused(field, answer)
      assert.are.equal(field, raised(core.recording, answer).field)
    end
    refused("status", { status = 100 })
    refused("pieces", { body = "abc", pieces = { 0, 2 } })
    refused("pieces", { body = "abc", pieces = { 0, 4 } })
    refused("pieces", { body = "abc", pieces = { 2, 1, 1, 2 } })
    refused("headers", { status = 200, headers = { a = "b\0c" } })
    refused("error.kind", { error = { kind = "funny" } })
  end)
end)

describe("a transport", function()
  it("may let the network answer, or refuse", function()
    local asked
    local _, err = http.send { url = NOWHERE, method = "PUT", transport = by(function(call)
      asked = call.method
      return nil, koine.errors.new { kind = "connect", message = "no" }
    end) }
    assert.are.same({ "PUT", "no" }, { asked, err.message })
    served.run(function(conn)
      conn:send(served.stream_head())
      conn:send(served.chunk "x" .. served.chunk "")
      return true
    end, function(url)
      assert.are.equal("x", http.send({ url = url, transport = by(function() return false end) }).body)
    end)
  end)
end)

describe("an answer that is kept", function()
  it("is all that came, with its headers and times", function()
    local kept = core.recording()
    served.run(function(conn)
      conn:send(served.stream_head { { "x-a", "1" }, { "x-a", "2" } })
      conn:send(served.chunk "data: a\n\n")
      conn:send(served.chunk "data: b\n\n" .. served.chunk "")
      return true
    end, function(url)
      assert(http.send { url = url, transport = by(function() return kept end) })
    end)
    local answer = kept:read()
    assert.are.same({ 200, EVENTS, true, false }, { answer.status, answer.body, answer.over, answer.left })
    assert.is_nil(answer.error)
    local sum, values = 0, {}
    for i = 2, #answer.pieces, 2 do sum = sum + answer.pieces[i] end
    assert.are.equal(#EVENTS, sum)
    for _, header in ipairs(answer.headers) do
      if header[1] == "x-a" then values[#values + 1] = header[2] end
    end
    assert.are.same({ "1", "2" }, values)
  end)

  it("says that its reader left, or why there is none", function()
    local kept = core.recording()
    served.run(function(conn)
      conn:send(served.stream_head())
      conn:send(served.chunk "data: a\n\n")
      conn:hang()
    end, function(url)
      local answer = assert(streamed.open { url = url, transport = by(function() return kept end) })
      assert.are.equal("a", answer:record().data)
      answer:close()
    end)
    local answer = kept:read()
    assert.are.same({ true, "data: a\n\n" }, { answer.left, answer.body })
    kept = core.recording()
    koine.testing.offline(true)
    assert.is_nil((http.send { url = "http://127.0.0.1:9/", transport = by(function() return kept end) }))
    koine.testing.offline(false)
    answer = kept:read()
    assert.are.same({ "connect", true }, { answer.error.kind, answer.over })
    assert.is_nil(answer.status)
  end)
end)
