-- Answers that are read while they come: records and bodies, in any pieces, and every end that a server can make.

local gzip = require "koine.testing.loopback.gzip"
local koine = require "koine"
local raised = require "spec.support.raised"
local raw_server = require "spec.support.raw_server"
local served = require "spec.lua.net.served"
local streamed = require "koine.net.streamed"
local wait = require "koine.task.wait"

local SAFETY = 30 -- seconds that nothing here takes
local chunk = served.chunk
local LAST = chunk ""

-- An answer of the server at url; `more` goes over the call.
local function open(url, more)
  local call = { url = url, timeouts = { total = SAFETY } }
  for name, value in pairs(more or {}) do call[name] = value end
  return assert(streamed.open(call))
end

-- A server that answers each request with a stream of these chunks, one after the other.
local function stream_of(...)
  local chunks = { ... }
  return function(conn)
    conn:send(served.stream_head())
    for _, one in ipairs(chunks) do conn:send(one) end
    return true
  end
end

-- All records, and the error at the end.
local function records(answer)
  local list = {}
  while true do
    local record, err = answer:record()
    if not record then return list, err end
    list[#list + 1] = record
  end
end

describe("an answer that is read while it comes", function()
  it("has its head before there is a body, and records as they come", function()
    local go
    served.run(function(conn)
      conn:send(served.stream_head { { "x-a", "1" }, { "X-A", "2" } })
      go = function() conn.tcp:write(chunk "event: e\ndata: a\ndata: b\n\n: comment\n\n") end
      conn:hang()
    end, function(url)
      local answer <close> = open(url)
      assert.are.equal(200, answer.status)
      assert.are.equal("text/event-stream", answer.headers["content-type"])
      assert.are.equal("1, 2", answer.headers["x-a"])
      go()
      assert.are.same({ name = "e", data = "a\nb" }, answer:record())
    end)
  end)

  it("has ids and retry times, and records that say nothing else", function()
    local body = "id: 1\nretry: 10\n\ndata: a\n\nid: 2\ndata:\n\nid: 3\0\nretry: 1s\ndata: b\n\nid\ndata: c\n\n"
    local expected = { { id = "1", retry = 10 }, { id = "1", data = "a" }, { id = "2", data = "" },
      { id = "2", data = "b" }, { data = "c" } }
    for _, size in ipairs { 1, 2, 3, 5, #body } do
      served.run(function(conn)
        conn:send(served.stream_head())
        for at = 1, #body, size do conn:send(chunk(body:sub(at, at + size - 1))) end
        conn:send(LAST)
      end, function(url)
        local answer <close> = open(url)
        local list, err = records(answer)
        assert.are.same({ expected, nil }, { list, err })
        assert.is_nil(answer:record())
      end)
    end
  end)

  it("tells what the end cut off from what it closed", function()
    served.run(stream_of(chunk "id: 1\ndata: a\n\nid: 2\ndata: b\n" .. LAST), function(url)
      local answer <close> = open(url)
      assert.are.same({ { data = "a", id = "1" }, { data = "b", unclosed = true } }, (records(answer)))
    end)
  end)

  it("says that the connection broke, behind what had come", function()
    served.run(function(conn)
      conn:send(served.stream_head() .. chunk "data: a\n\ndata: b")
      return false
    end, function(url)
      local answer <close> = open(url)
      local list, err = records(answer)
      assert.are.same({ { data = "a" } }, list)
      assert.are.equal("stream_truncated", err.kind)
      assert.are.equal("stream_truncated", select(2, answer:record()).kind)
    end)
  end)

  it("ends within its times, whatever the server does", function()
    local function server(conn, request)
      if request.path == "/mute" then return conn:hang() end
      conn:send(served.stream_head())
      if request.path == "/silent" then return conn:hang() end
      while conn:send(chunk ": comment\n\n") do
        if request.path == "/stalls" then return conn:hang() end
        if not conn:pause(5) then return end
      end
    end
    for path, expected in pairs { mute = "first_byte", silent = "first_byte", stalls = "idle", trickles = "total" } do
      served.run(server, function(url)
        local timeouts = { first_byte = SAFETY, idle = SAFETY, total = SAFETY }
        timeouts[expected] = 0.05
        local answer, err = streamed.open { url = url .. "/" .. path, timeouts = timeouts }
        if answer then
          assert.are_not.equal("mute", path)
          answer, err = answer:record()
        end
        assert.is_nil(answer)
        assert.are.same({ "timeout", expected }, { err.kind, err.code })
      end)
    end
  end)

  it("holds back a server that sends more than is read", function()
    local sent, much = false, ("data: %s\n\n"):format(("x"):rep(1000)):rep(64 << 10)
    served.run(function(conn, request)
      if request.path == "/other" then return conn:send(served.answer(200, "{}")) end
      conn:send(served.stream_head())
      sent = conn:send(chunk(much) .. LAST) or false
    end, function(url)
      local answer <close> = open(url)
      assert.are.equal(1000, #answer:record().data)
      local other <close> = open(url .. "/other")
      assert.are.equal("{}", other:body())
      local latest = wait.now() + 0.2 -- which is enough for all of it
      while not sent and wait.now() < latest do wait.park({}, 0.01) end
      assert.is_false(sent)
      assert.are.equal((64 << 10) - 1, #records(answer))
      assert.is_true(sent)
    end)
  end)

  it("refuses lines, records and bodies beyond its limits, and holds none of them", function()
    local big = ("x"):rep(1 << 20)
    served.run(function(conn)
      conn:send(served.stream_head())
      conn:send(chunk "data: a\n\ndata: ")
      for _ = 1, 33 do
        if not conn:send(chunk(big)) then return end
      end
      conn:hang()
    end, function(url)
      for _, limits in ipairs { {}, { line = 1000 } } do
        local answer <close> = open(url, { limits = limits })
        local list, err = records(answer)
        assert.are.same({ { data = "a" } }, list)
        assert.are.equal("limit", err.kind)
        assert.are.equal("limit", select(2, answer:record()).kind)
      end
      local answer <close> = open(url, { limits = { body = 100000 } })
      local body, err = answer:body()
      assert.is_nil(body)
      assert.are.same({ "limit", "body" }, { err.kind, err.code })
    end)
    served.run(stream_of(chunk "data: abc\ndata: def\n\n" .. LAST), function(url)
      local answer <close> = open(url, { limits = { event = 6 } })
      assert.are.equal("limit", select(2, answer:record()).kind)
    end)
  end)

  it("goes on for longer than a body may be", function()
    served.run(stream_of(chunk(("data: abcdefgh\n\n"):rep(1000)) .. LAST), function(url)
      local answer <close> = open(url, { limits = { line = 20, event = 20, body = 20, decoded = 20 } })
      assert.are.equal(1000, #records(answer))
    end)
  end)

  it("gives a body whole, whatever its status, larger than what it holds unread", function()
    local big = ("0123456789"):rep(100000)
    served.run(function(conn, request)
      return conn:send(served.answer(request.path == "/big" and 500 or 404, request.path == "/big" and big or "",
        "text/plain"))
    end, function(url)
      local answer <close> = open(url .. "/big", { limits = { high_water = 1000 } })
      assert.are.same({ 500, big }, { answer.status, answer:body() })
      assert.are.equal(big, answer:body())
      local empty <close> = open(url)
      assert.are.same({ 404, "" }, { empty.status, empty:body() })
      assert.are.equal("record or body, not both", raised.as("ArgumentError", empty.record, empty).expected)
    end)
  end)

  it("unpacks what is packed", function()
    local packed = table.concat(gzip.wrap({ ("data: %s\n\n"):format(("x"):rep(1000)):rep(1000) }))
    served.run(function(conn)
      conn:send(served.stream_head { { "content-encoding", "gzip" } } .. chunk(packed) .. LAST)
      return true
    end, function(url)
      local answer <close> = open(url, { limits = { high_water = 1000 } })
      assert.are.equal(1000, #records(answer))
      local whole <close> = open(url)
      assert.are.equal(1008 * 1000, #whole:body())
    end)
  end)

  it("is closed in the middle, by another coroutine too", function()
    local left = 0
    served.run(function(conn)
      conn:send(served.stream_head() .. chunk "data: a\n\n")
      conn:hang()
      left = left + 1
      wait.wake(served)
    end, function(url)
      local answer = open(url)
      answer:record()
      local err
      koine.run(function()
        koine.spawn(function()
          wait.sleep(0)
          answer:close()
          answer:close()
        end)
        err = select(2, answer:record())
      end)
      assert.are.equal("cancelled", err.kind)
      assert.are.equal("cancelled", select(2, answer:body()).kind)
      while left == 0 do wait.park(served, SAFETY) end
      koine.run(function()
        local token, kept = {}, nil
        local task = koine.spawn(function()
          kept = open(url) -- which no variable closes
          kept:record()
          wait.wake(token)
          kept:record()
        end)
        while not kept do wait.park(token, SAFETY) end
        task:cancel()
        assert.are.equal("cancelled", select(2, kept:record()).kind)
      end)
      while left == 1 do wait.park(served, SAFETY) end
    end)
  end)

  it("keeps its connection when it is released, and loses it when it is closed", function()
    for _, leave in ipairs { "release", "close" } do
      local finish
      served.run(function(conn, request)
        if request.path == "/finish" then finish() end
        conn:send(served.stream_head() .. chunk(("data: %d\n\n"):format(conn.id)))
        finish = function() conn.wake() end -- ends its hang
        if request.path ~= "/finish" then conn:hang() end
        return conn:send(LAST)
      end, function(url)
        local function id(answer) return tonumber(answer:record().data) end
        local first = open(url)
        assert.are.equal(1, id(first))
        first[leave](first)
        local other <close> = open(url .. "/finish")
        assert.are.equal(2, id(other))
        assert.is_nil(other:record())
        local one <close> = open(url .. "/a")
        local two <close> = open(url .. "/b")
        assert.are.equal(leave == "release" and 3 or 5, id(one) + id(two))
      end)
    end
  end)

  it("is read by one coroutine, in one way", function()
    served.run(stream_of(chunk "data: a\n\n"), function(url)
      local answer <close> = open(url)
      answer:record()
      assert.are.equal("record or body, not both", raised.as("ArgumentError", answer.body, answer).expected)
      koine.run(function()
        local task = koine.spawn(function() answer:record() end)
        wait.sleep(0)
        assert.are.equal("one reader at a time", raised.as("ArgumentError", answer.record, answer).expected)
        task:cancel()
      end)
      assert.are.equal("framing", raised.as("ArgumentError", streamed.open, { url = url, framing = "x" }).field)
      assert.are.equal("url", raised.as("ArgumentError", streamed.open, {}).field)
    end)
  end)

  it("is nil, err where nothing answers", function()
    local answer, err = streamed.open { url = "http://127.0.0.1:1", timeouts = { total = SAFETY } }
    assert.is_nil(answer)
    assert.are.equal("connect", err.kind)
  end)

  it("waits in plain Lua, in tasks and in hosts", function()
    local kit = require "spec.lua.protocol.rpc.kit"
    local bytes = raw_server.answer(200, "data: a\n\ndata: b\n\n", "text/event-stream")
    for name, loop in pairs(kit.all) do
      local server = raw_server.start(bytes, bytes)
      local seen = {}
      local function read()
        local answer <close> = open(server.url)
        for record in answer.record, answer do seen[#seen + 1] = record.data end
      end
      loop(read, read)
      table.sort(seen)
      assert.are.same({ "a", "a", "b", "b" }, seen, name)
      server:requests()
    end
  end)
end)
