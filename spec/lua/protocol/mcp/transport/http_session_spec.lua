-- Sessions of the legacy era over HTTP: their id, their end, streams that go on where they broke, the standing stream.

local kit = require "spec.lua.protocol.mcp.transport.http_kit"
local koine = require "koine"
local wait = require "koine.task.wait"

local clock = wait.now

-- Runs f(transport) in a session with a server that answers by `answer`: the log of requests behind the beginning.
local function in_session(answer, f, handlers)
  local log = kit.run(kit.legacy(answer), function(opened, log)
    kit.begin(opened)
    f(opened, log)
  end, nil, handlers)
  return table.move(log, 3, #log, 1, {})
end

describe("a session of an MCP server", function()
  it("has its id on every later request, and ends by DELETE", function()
    local log = in_session(function(request) return kit.json(request, {}) end, function(opened)
      assert(opened:request("tools/list", {}, {}))
    end)
    assert.are.same({ "POST", "DELETE" }, { log[1].method, log[2].method })
    for _, request in ipairs(log) do
      assert.are.equal("s-1", request.headers["mcp-session-id"])
      assert.are.equal(kit.LEGACY, request.headers["mcp-protocol-version"])
    end
    local first = kit.run(kit.legacy(function() end), kit.begin)
    assert.is_nil(first[1].headers["mcp-session-id"])
    assert.is_nil(first[1].headers["mcp-protocol-version"])
    assert.are.equal("s-1", first[2].headers["mcp-session-id"])
  end)

  it("has an id that a header can say", function()
    for _, id in ipairs { "a b", "a\tb", "é", "" } do
      kit.run(function(request) return kit.json(request, {}, { { "mcp-session-id", id } }) end, function(opened)
        opened:set_version("legacy", nil)
        local result, err = opened:request("initialize", {}, {})
        assert.is_nil(result)
        assert.are.equal("protocol", err.kind)
      end)
    end
  end)

  it("may have no id, and then ends by nothing", function()
    local log = kit.run(function(request)
      return request.message.id and kit.json(request, {}) or kit.accepted
    end, kit.begin)
    assert.are.equal(2, #log)
  end)

  it("is gone where the server says so: the transport is of no use then", function()
    local function forgets(answer, expected)
      local log = in_session(function() return answer end, function(opened)
        assert.is_true(opened:is_alive())
        local result, err = opened:request("tools/list", {}, {})
        assert.is_nil(result)
        assert.are.equal(expected, err.code)
        assert.are.equal(expected ~= "session_gone", opened:is_alive())
        if expected == "session_gone" then
          assert.are.equal("session_gone", select(2, opened:serve()).code)
          assert.are.equal("session_gone", select(2, opened:request("tools/list", {}, {})).code)
          assert.is_nil(err.message:find("s-1", 1, true))
        end
      end)
      assert.are.equal(expected == "session_gone" and 1 or 2, #log) -- no DELETE of a session that is not there
    end
    forgets(kit.answer(404, "", "text/plain"), "session_gone")
    forgets(kit.answer(410, "", "text/plain"), "session_gone")
    forgets(kit.failure(404, -32001, "Session not found"), "session_gone")
    forgets(kit.failure(400, -32000, "Bad Request: No valid session ID provided"), "session_gone")
    forgets(kit.failure(404, -32601, "Method not found"), "-32601")
    forgets(kit.failure(400, -32000, "Bad Request: no"), "-32000")
  end)
end)

describe("a session that is gone", function()
  it("is gone for all calls that were under way", function()
    local held = {}
    in_session(function(_, conn)
      held[#held + 1] = conn
      if #held < 3 then return conn:hang() end
      for i = 1, 2 do held[i].tcp:write(kit.answer(404, "", "text/plain")) end
      return kit.answer(404, "", "text/plain")
    end, function(opened)
      koine.run(function()
        local tasks, codes = {}, {}
        for i = 1, 3 do
          tasks[i] = koine.spawn(function() codes[i] = select(2, opened:request("m", {}, {})).code end)
        end
        for _, task in ipairs(tasks) do task:wait() end
        assert.are.same({ "session_gone", "session_gone", "session_gone" }, codes)
      end)
    end)
  end)
end)

describe("a stream of a session that broke", function()
  -- Answers a call with a stream of these records that ends, and then each GET by the next of `more`.
  local function breaks(records, more)
    local n = 0
    return function(request, conn)
      if request.method == "POST" then
        more.request = request
        conn:send(kit.begin_stream(records))
        conn:reset()
        return
      end
      n = n + 1
      request.came = clock()
      local answer = more[n]
      return type(answer) == "function" and answer(more.request, conn) or answer or kit.answer(500, "", "text/plain")
    end
  end

  local function call(records, more)
    local result, err
    local log = in_session(breaks(records, more), function(opened)
      result, err = opened:request("tools/call", {}, { timeout = kit.SAFETY })
    end)
    local ids = {}
    for _, request in ipairs(log) do
      if request.method == "GET" then
        ids[#ids + 1] = request.headers["last-event-id"]
        assert.are.equal("s-1", request.headers["mcp-session-id"])
        assert.are.equal("text/event-stream", request.headers.accept)
      end
    end
    return result, err, ids, log
  end

  local function result_of(request) return kit.stream(kit.result(request, { n = 1 })) end

  it("goes on behind its last id, after the time that the server wants", function()
    local began = clock()
    local result, err, ids, log = call(kit.record("", "id: a b\nretry: 100\n"), { result_of })
    assert(result, err)
    assert.are.same({ "a b" }, ids)
    local waited = log[2].came - began
    assert.is_true(waited >= 0.1 and waited < 0.3, waited)
  end)

  it("goes on behind what came whole, where its end cut a record off", function()
    local ids = {}
    in_session(function(request)
      if request.method == "POST" then
        ids.request = request
        return kit.stream "id: 7\nretry: 0\n\nid: 8\ndata: {"
      end
      ids[#ids + 1] = request.headers["last-event-id"]
      return kit.stream(kit.result(ids.request, {}))
    end, function(opened) assert(opened:request("m", {}, { timeout = kit.SAFETY })) end)
    assert.are.same({ "7" }, { table.unpack(ids) })
  end)

  it("goes on as often as there is something new", function()
    local more = {}
    for i = 1, 7 do more[i] = kit.stream(("id: %d\n\n"):format(i)) end
    more[8] = result_of
    local result, err, ids = call("retry: 0\nid: 0\n\n", more)
    assert(result, err)
    assert.are.same({ "0", "1", "2", "3", "4", "5", "6", "7" }, ids)
  end)

  it("is not asked for without a pause for ever", function()
    local more, n = {}, 0
    for i = 1, 25 do more[i] = kit.stream(("id: %d\n\n"):format(i)) end
    in_session(breaks("retry: 0\nid: 0\n\n", more), function(opened, log)
      local _, err = opened:request("tools/call", {}, { timeout = 0.3 })
      assert.are.equal("timeout", err.kind)
      for _, request in ipairs(log) do n = n + (request.headers["last-event-id"] and 1 or 0) end
    end)
    assert.are.equal(20, n)
  end)

  it("is given up after five tries without anything new", function()
    local result, err, ids = call("retry: 0\nid: 0\n\n", { kit.stream "", kit.stream "", kit.stream "", kit.stream "",
      kit.stream "", result_of })
    assert.is_nil(result)
    assert.are.equal("stream_truncated", err.kind)
    assert.are.equal(5, #ids)
  end)

  it("is asked for again where the server does not know yet that it broke, or is busy", function()
    local result, err, ids = call("retry: 0\nid: 0\n\n", { kit.failure(409, -32000, "Conflict: still open"),
      kit.answer(500, "", "text/plain"), result_of })
    assert(result, err)
    assert.are.equal(3, #ids)
  end)

  it("is given up at once where there was no id, or the server cannot go on", function()
    local result, err, ids = call("retry: 0\n\n" .. kit.record { method = "x" }, { result_of })
    assert.is_nil(result)
    assert.are.equal("stream_truncated", err.kind)
    assert.are.same({}, ids)
    result, err, ids = call("retry: 0\nid: 0\n\n", { kit.answer(405, "", "text/plain"), result_of })
    assert.is_nil(result)
    assert.are.equal(405, err.status_code)
    assert.are.equal(1, #ids)
    assert.are.equal("stream_truncated", err.kind)
    for _, status in ipairs { 404, 410 } do
      result, err = call("retry: 0\nid: 0\n\n", { kit.answer(status, "", "text/plain"), result_of })
      assert.is_nil(result)
      assert.are.same({ "stream_truncated", status }, { err.kind, err.status_code })
    end
    result, err = call("retry: 0\nid: 0\n\n", { kit.answer(401, "", "text/plain"), result_of })
    assert.is_nil(result)
    assert.are.equal("auth", err.kind)
  end)

  it("never goes on in the modern era: the request is lost", function()
    local log = kit.run(breaks("retry: 0\nid: 0\n\n", { result_of }), function(opened)
      local _, err = opened:request("tools/call", {}, {})
      assert.are.equal("stream_truncated", err.kind)
    end, { era = "modern" })
    assert.are.equal(1, #log)
  end)
end)

describe("the standing stream of a session", function()
  -- Begins a session with a server whose standing stream is `answer`, and asks until `is_over` (nil: three times): the
  -- GETs that came.
  local function gets(answer, handlers, options, is_over)
    local list = {}
    kit.run(function(request, conn)
      if request.method == "GET" then
        list[#list + 1] = request
        return answer(request, conn)
      end
      return kit.legacy(function(asked) return kit.json(asked, {}) end)(request, conn)
    end, function(opened)
      kit.begin(opened)
      local n = 0
      repeat
        n = n + 1
        assert(opened:request("ping", {}, { timeout = kit.SAFETY }))
      until n >= 3 and (not is_over or is_over() or n > 1000)
      assert.is_true(opened:is_alive())
    end, options, handlers)
    return list
  end

  local heard = {}
  local HANDLERS = { notifications = { x = function(params) heard[#heard + 1] = params.n end } }

  it("is not there quietly", function()
    for _, status in ipairs { 405, 404, 400 } do
      local list = gets(function() return kit.answer(status, "", "text/plain") end, HANDLERS)
      assert.are.equal(1, #list)
      assert.are.equal("s-1", list[1].headers["mcp-session-id"])
      assert.are.equal("text/event-stream", list[1].headers.accept)
    end
    assert.are.equal(1, #gets(function() return kit.answer(200, "hello", "text/plain") end, HANDLERS))
  end)

  local warnings

  local function warned() return #warnings > 0 end

  it("is missed aloud where it should be there", function()
    warnings = {}
    local handlers = { notifications = HANDLERS.notifications, secrets = { "s3cr3t-t0ken" },
      warn = function(warning) warnings[#warnings + 1] = warning end }
    local list = gets(function() return kit.answer(403, "not with s3cr3t-t0ken", "text/plain") end, handlers, nil,
      warned)
    assert.are.same({ 1, 1, "stream_failed", "GET" }, { #list, #warnings, warnings[1].code, warnings[1].field })
    assert.is_nil(warnings[1].message:find "s3cr3t")
    assert.truthy(warnings[1].message:find "^the standing stream: ")
    for _, status in ipairs { 405, 404, 400 } do
      warnings = {}
      gets(function() return kit.answer(status, "", "text/plain") end, handlers)
      assert.are.same({}, warnings)
    end
  end)

  it("is missed aloud where a token function raises", function()
    warnings = {}
    local asked = 0
    local list = gets(function() return kit.accepted end, { notifications = HANDLERS.notifications,
      warn = function(warning) warnings[#warnings + 1] = warning end }, { token = function()
      asked = asked + 1
      if asked == 3 then error "no token for\nyou" end
      return "a-token"
    end }, warned)
    assert.are.same({ 0, "the standing stream: no token for you" }, { #list, warnings[1].message })
  end)

  it("is not opened where nobody would hear", function()
    assert.are.equal(0, #gets(function() return kit.accepted end, { requests = { ping = function() return {} end } }))
  end)

  it("tells what belongs to no request, and asks", function()
    heard = {}
    local answers = {}
    kit.run(function(request, conn)
      if request.method == "GET" and #answers == 0 then
        conn:send(kit.begin_stream(kit.record { method = "x", params = { n = 1 } },
          kit.record { id = 7, method = "roots/list" }))
        conn:hang()
        return
      end
      if request.message and request.message.result then
        answers[#answers + 1] = request.message
        return kit.accepted
      end
      return kit.legacy(function(asked) return kit.json(asked, {}) end)(request, conn)
    end, function(opened)
      kit.begin(opened)
      while #answers == 0 or #heard == 0 do
        assert(opened:request("ping", {}, {}))
        wait.sleep(0)
      end
    end, nil, { notifications = HANDLERS.notifications,
      requests = { ["roots/list"] = function() return { n = 2 } end } })
    assert.are.same({ 1 }, heard)
    assert.are.same({ 7, 2 }, { answers[1].id, answers[1].result.n })
  end)
end)
