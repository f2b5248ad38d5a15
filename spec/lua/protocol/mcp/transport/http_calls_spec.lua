-- Calls of an MCP server over HTTP while they last: many at once, left early, with progress, with requests of the
-- server, and streams that stay open.

local kit = require "spec.lua.protocol.mcp.transport.http_kit"
local koine = require "koine"
local peers = require "spec.lua.net.peers"
local raw_server = require "spec.support.raw_server"
local transport = require "koine.protocol.mcp.transport.http"
local wait = require "koine.task.wait"

-- Waits until is_true().
local function await(is_true)
  local latest = wait.now() + kit.SAFETY
  while not is_true() do
    assert(wait.now() < latest, "it did not come")
    wait.park({}, 0.001)
  end
end

describe("calls of an MCP server", function()
  it("do not wait for each other, whatever order they are answered in", function()
    local held = {}
    kit.run(function(request, conn)
      held[#held + 1] = { request, conn }
      if #held < 10 then return conn:hang() end
      for i = #held - 1, 1, -1 do
        local asked, asker = table.unpack(held[i])
        asker.tcp:write(kit.json(asked, { n = asked.message.params.n }))
      end
      return kit.json(request, { n = request.message.params.n })
    end, function(opened)
      koine.run(function()
        local tasks, results = {}, {}
        for i = 1, 10 do
          tasks[i] = koine.spawn(function() results[i] = assert(opened:request("m", { n = i }, {})).n end)
        end
        for _, task in ipairs(tasks) do task:wait() end
        assert.are.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, results)
      end)
    end, { era = "modern" })
  end)

  it("hear of their progress, which keeps them alive, and of notifications before the answer", function()
    local seen, told = {}, {}
    kit.run(function(request, conn)
      conn:send(kit.begin_stream ": hello\n\n")
      for i = 1, 5 do
        conn:pause(30)
        conn:send(kit.chunk(kit.record { method = "notifications/progress", params = { progress = i,
          progressToken = tostring(request.message.id) } }))
      end
      conn:send(kit.chunk(kit.record { method = "told", params = { n = 1 } }))
      conn:send(kit.chunk(kit.result(request, { ok = true })) .. kit.chunk "")
    end, function(opened)
      local result, err = opened:request("tools/call", {}, { idle = 0.1,
        on_progress = function(params) seen[#seen + 1] = params.progress end })
      assert(result, err)
    end, { era = "modern" }, { notifications = { told = function(params) told[#told + 1] = params.n end } })
    assert.are.same({ 1, 2, 3, 4, 5 }, seen)
    assert.are.same({ 1 }, told)
  end)

  -- What a server sees of a call that ends by its time: whether the stream was closed, and the messages behind.
  local function leave(era, begin)
    local closed, messages = false, {}
    local function server(request, conn)
      if not request.message then return kit.answer(405, "") end
      if request.message.method ~= "tools/call" then
        messages[#messages + 1] = request.message
        return request.message.id and kit.json(request, {}) or kit.accepted
      end
      if begin then conn:send(kit.begin_stream(kit.record("", "id: 1\n"))) end
      conn:hang()
      closed = true
    end
    kit.run(server, function(opened)
      local result, err = opened:request("tools/call", {}, { timeout = 0.05 })
      assert.is_nil(result)
      assert.are.same({ "timeout", "total" }, { err.kind, err.code })
      await(function() return closed end)
      await(function()
        assert(opened:request("ping", {}, {}))
        return era == "modern" or #messages > 1
      end)
    end, { era = era })
    return messages
  end

  it("close their stream when they are left, in silence too", function()
    for _, begin in ipairs { true, false } do
      for _, message in ipairs(leave("modern", begin)) do assert.are.equal("ping", message.method) end
    end
  end)

  it("tell a server of the legacy era that they are left", function()
    for _, begin in ipairs { true, false } do
      local cancelled
      for _, message in ipairs(leave("legacy", begin)) do
        if message.method == "notifications/cancelled" then cancelled = message.params end
      end
      assert.are.equal(1, cancelled.requestId)
      assert.are.equal("string", type(cancelled.reason))
    end
  end)

  it("end what tells that by its deadline", function()
    kit.run(function(_, conn) conn:hang() end, function(opened)
      local item = { text = "{}", method = "notifications/cancelled", deadline = wait.now() + 0.05 }
      opened.peer.outbox:put(item)
      assert.is_true(opened.peer:settle(kit.SAFETY))
      assert.are.same({ true, "timeout" }, { item.done, item.err.kind })
    end, { era = "legacy" })
  end)

  it("are never told to be left before there is a session", function()
    local log = kit.run(function(_, conn) conn:hang() end, function(opened)
      opened:set_version("legacy", nil)
      assert.is_nil((opened:request("initialize", {}, { timeout = 0.05 })))
      opened:set_version("modern", kit.MODERN)
      assert.is_nil((opened:request("server/discover", {}, { timeout = 0.05 })))
    end)
    assert.are.same({ "initialize", "server/discover" }, { log[1].message.method, log[2].message.method })
    assert.are.equal(2, #log)
  end)

  it("fail when the transport is closed", function()
    local closed = false
    kit.run(function(_, conn)
      conn:hang()
      closed = true
    end, function(opened, log)
      koine.run(function()
        local err
        local task = koine.spawn(function() err = select(2, opened:request("m", {}, {})) end)
        await(function() return #log == 1 end)
        opened:close()
        opened:close()
        task:wait()
        assert.are.equal("cancelled", err.kind)
        assert.is_false(opened:is_alive())
        assert.are.equal("cancelled", select(2, opened:request("m", {}, {})).kind)
      end)
      await(function() return closed end)
    end, { era = "modern" })
  end)
end)

describe("a server of the legacy era", function()
  it("asks within a stream, which is read on while the handler works", function()
    local answered, told = {}, 0
    local function server(request, conn)
      if request.message.result then
        answered[#answered + 1] = request.message
        return kit.accepted
      end
      conn:send(kit.begin_stream(kit.record { id = "a", method = "elicitation/create" },
        kit.record { method = "told" }))
      while #answered == 0 do conn:pause(1) end
      conn:send(kit.chunk(kit.result(request, { ok = true })) .. kit.chunk "")
    end
    kit.run(server, function(opened)
      assert(opened:request("tools/call", {}, { timeout = kit.SAFETY }))
    end, { era = "legacy" }, { notifications = { told = function() told = told + 1 end },
      requests = { ["elicitation/create"] = function()
        while told == 0 do wait.sleep(0) end
        return { action = "accept" }
      end } })
    assert.are.same({ "a", "accept" }, { answered[1].id, answered[1].result.action })
  end)
end)

describe("a server of the modern era", function()
  it("is answered nothing, should it ask", function()
    local log = kit.run(function(request)
      return kit.stream(kit.record { id = 1, method = "ping" }, kit.result(request, {}))
    end, function(opened)
      assert(opened:request("m", {}, {}))
      assert(opened:request("m", {}, {}))
    end, { era = "modern" }, { requests = { ping = function() return {} end } })
    assert.are.equal(2, #log)
  end)

  it("tells of changes in a stream that may be silent, until that ends", function()
    local told, id = {}, nil
    local log = kit.run(function(request, conn)
      id = request.message.id
      conn:send(kit.begin_stream(kit.record { method = "notifications/subscriptions/acknowledged",
        params = { _meta = { ["io.modelcontextprotocol/subscriptionId"] = id } } }, ": alive\n\n"))
      conn:send(kit.chunk(kit.record { method = "notifications/tools/list_changed", params = {} }) .. kit.chunk "")
    end, function(opened)
      local result, err = opened:request("subscriptions/listen", { notifications = { toolsListChanged = true } },
        { listens = true })
      assert.is_nil(result)
      assert.are.equal("stream_truncated", err.kind)
      await(function()
        opened:is_alive()
        return #told == 2
      end)
    end, { era = "modern" }, { notifications = {
      ["notifications/subscriptions/acknowledged"] = function() told[#told + 1] = "acknowledged" end,
      ["notifications/tools/list_changed"] = function() told[#told + 1] = "changed" end } })
    assert.are.same({ "acknowledged", "changed" }, told)
    assert.are.equal("subscriptions/listen", log[1].headers["mcp-method"])
  end)
end)

describe("a transport over HTTP", function()
  it("notifies, and waits until that is accepted", function()
    local came = 0
    kit.run(function(request, conn)
      came = came + 1
      if request.message.method == "slow" then return conn:hang() end
      return request.message.method == "refused" and kit.answer(500, "", "text/plain") or kit.accepted
    end, function(opened)
      assert.is_true(opened:notify("accepted", { a = 1 }))
      assert.are.equal(1, came)
      assert.are.equal(500, select(2, opened:notify "refused").status_code)
      assert.are.equal("timeout", select(2, opened:notify("slow", nil, 0.05)).kind)
      assert.is_true(opened:notify "accepted")
    end, { era = "modern" })
  end)

  it("says that nobody is there", function()
    local opened <close> = transport.open({ url = "http://127.0.0.1:1" }, {})
    local result, err = opened:request("m", {}, { timeout = kit.SAFETY })
    assert.is_nil(result)
    assert.are.equal("connect", err.kind)
    assert.is_true(opened:is_alive())
    assert.is_nil(opened:tail())
  end)

  it("works in plain Lua, in tasks and in hosts", function()
    local loops = peers.loops()
    function loops.plain(...)
      for _, f in ipairs { ... } do f() end
    end
    for name, loop in pairs(loops) do
      local server = raw_server.start(raw_server.answer(200, '{"id":1,"result":{"n":1}}'),
        raw_server.answer(200, 'data: {"id":2,"result":{"n":2}}\n\n', "text/event-stream"))
      local opened, n = transport.open({ url = server.url }, {}), 0
      local function call() n = n + assert(opened:request("m", {}, { timeout = kit.SAFETY })).n end
      loop(function()
        call()
        call()
        opened:close()
      end)
      assert.are.equal(3, n, name)
      server:requests()
    end
  end)
end)
