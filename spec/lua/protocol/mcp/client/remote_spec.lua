-- Clients of servers at a URL: eras, sessions that are forgotten, answers that are lost, headers of tools, and secrets.

local core = require "koine.core"
local kit = require "spec.lua.protocol.mcp.kit"
local koine = require "koine"
local served = require "spec.lua.net.served"

local NEWEST = "2026-07-28"
local ACCEPTED = served.answer(202, "")

local function json(request, result, headers)
  return served.answer(200, core.encode { jsonrpc = "2.0", id = request.message.id, result = result }, nil, headers)
end

local function refusal(status, code, message, data)
  return served.answer(status, core.encode { jsonrpc = "2.0", id = core.null,
    error = { code = code, message = message or "no", data = data } })
end

-- Runs f(client, log) on a client of a server that answers by method: on[method](request, n) returns the bytes of an
-- answer; `n` counts the requests of that method.
local function run(on, f, opts)
  local log, counts = {}, {}
  served.run(function(conn, request)
    request.message = request.body ~= "" and core.decode(request.body) or {}
    local method = request.message.method or request.method
    log[#log + 1], counts[method] = method, (counts[method] or 0) + 1
    return conn:send(on[method] and on[method](request, counts[method]) or served.answer(405, ""))
  end, function(url)
    local options = { name = "far", url = url .. "/mcp/" }
    for name, value in pairs(opts or {}) do options[name] = value end
    local client <close>, err = koine.mcp.connect(options)
    f(client or err, log)
  end)
end

local function text(words)
  return { content = core.array { { type = "text", text = words } }, resultType = "complete" }
end

local function modern(on)
  on["server/discover"] = on["server/discover"] or function(request)
    return json(request, { supportedVersions = core.array { NEWEST }, capabilities = { tools = {} } })
  end
  return on
end

local function legacy(on)
  on["server/discover"] = function() return refusal(400, -32000, "no session") end
  on.initialize = function(request, n)
    return json(request, { protocolVersion = "2025-11-25", capabilities = {} }, { { "mcp-session-id", "s-" .. n } })
  end
  on["notifications/initialized"] = function() return ACCEPTED end
  on.DELETE = function() return served.answer(200, "") end
  return on
end

describe("a client of a server at a URL", function()
  it("speaks the modern era, to exactly that URL", function()
    local target
    run(modern { ["tools/call"] = function(request)
      target = request.target or request.path
      assert.equal("echo", request.headers["mcp-name"])
      assert.equal(NEWEST, request.headers["mcp-protocol-version"])
      return json(request, text "hi")
    end }, function(client, log)
      assert.same({ "modern", NEWEST }, { client.era, client.version })
      assert.equal("hi", kit.text_of(assert(client:call "echo")))
      assert.same({ "server/discover", "tools/call", "tools/list" }, { log[1], log[#log], log[2] })
    end)
    assert.equal("/mcp/", target)
  end)

  it("speaks the legacy era, and ends its session", function()
    local ended
    local on = legacy { ["tools/call"] = function(request)
      assert.equal("s-1", request.headers["mcp-session-id"])
      return json(request, text "hi")
    end }
    on.DELETE = function(request)
      ended = request.headers["mcp-session-id"]
      return served.answer(200, "")
    end
    run(on, function(client)
      assert.equal("legacy", client.era)
      assert.equal("hi", kit.text_of(assert(client:call "echo")))
    end)
    assert.equal("s-1", ended)
  end)

  it("begins another session where the server forgot its own, once a call", function()
    local forgets = 1
    local on = legacy { ["tools/call"] = function(request)
      if forgets > 0 then
        forgets = forgets - 1
        return served.answer(404, "")
      end
      return json(request, text(request.headers["mcp-session-id"]))
    end }
    run(on, function(client, log)
      assert.equal("s-2", kit.text_of(assert(client:call "echo")))
      forgets = 2
      local _, err = client:call "echo"
      assert.same({ "connect", "session_gone" }, { err.kind, err.code })
      assert.equal("s-4", kit.text_of(assert(client:call "echo")))
      for _ = 1, 5 do -- no limit is reached: nothing is started
        forgets = 1
        assert(client:call "echo")
      end
      local n = 0
      for _, method in ipairs(log) do n = n + (method == "initialize" and 1 or 0) end
      assert.equal(9, n)
    end)
  end)

  it("asks again where an answer was lost, but calls no tool twice that may mind", function()
    local tool = { name = "read", inputSchema = { type = "object" }, annotations = { readOnlyHint = true } }
    local other = { name = "write", inputSchema = { type = "object" } }
    local function on()
      local function lost(request, n)
        if n % 2 == 1 then return served.stream_head() .. served.chunk ": nothing\n\n" .. served.chunk "" end
        return json(request, { content = core.array {}, prompts = core.array {} })
      end
      return modern { ["tools/call"] = lost, ["prompts/list"] = lost, ["tools/list"] = function(request)
        return json(request, { tools = core.array { tool, other }, ttlMs = 60000 })
      end }
    end
    run(on(), function(client)
      assert(client:prompts())
      assert(client:call "read")
      local _, err = client:call "write"
      assert.same({ "stream_truncated", "ConnectionError" }, { err.kind, err.class })
    end, { trusted = true })
    run(on(), function(client) assert.equal("stream_truncated", select(2, client:call "read").kind) end)
  end)

  it("lists the tools again where the server finds the headers wrong", function()
    local name, heard = "Old", {}
    run(modern {
      ["tools/list"] = function(request)
        return json(request, { ttlMs = 60000, tools = core.array { { name = "t", inputSchema = { type = "object",
          properties = { a = { type = "string", ["x-mcp-header"] = name } } } } } })
      end,
      ["tools/call"] = function(request)
        heard[#heard + 1] = request.headers["mcp-param-old"] or request.headers["mcp-param-new"]
        if request.headers["mcp-param-new"] then return json(request, text "done") end
        return refusal(400, -32020, "a header is missing")
      end,
    }, function(client)
      assert(client:tools())
      name = "New"
      assert.equal("done", kit.text_of(assert(client:call("t", { a = "x" }))))
      name = "Third"
      assert.equal("done", kit.text_of(assert(client:call("t", { a = "x" }))))
      assert.same({ "x", "x", "x" }, heard)
      local tool = assert(client:tools())[1]
      assert.equal("done", tool.run({ a = "y" }, {})[1].text)
    end)
  end)

  it("ends a call in its time where the list of tools has no end, and where it has to be asked twice", function()
    local lists = 0
    run(modern {
      ["tools/list"] = function(request)
        lists = lists + 1
        return json(request, { tools = core.array {}, nextCursor = tostring(lists) })
      end,
      ["tools/call"] = function(request) return json(request, text "late") end,
    }, function(client)
      local result, err = client:call("t", {}, { timeout = 0.05 })
      assert.same({ nil, "timeout", "total" }, { result, err and err.kind, err and err.code })
      assert.is_true(lists < 1000)
    end)
    run(modern {
      ["tools/list"] = function(request)
        koine.sleep(0.03)
        return json(request, { tools = core.array {} })
      end,
      ["tools/call"] = function()
        koine.sleep(0.03)
        return refusal(400, -32020, "a header is missing")
      end,
    }, function(client, log)
      local _, err = client:call("t", {}, { timeout = 0.08 })
      assert.same({ "timeout", "total" }, { err.kind, err.code })
      assert.is_true(#log <= 5)
    end)
  end)

  it("says who has to log in, and shows no credential", function()
    run({ ["server/discover"] = function()
      return served.answer(401, "token s3cr3t-t0ken is old", nil, { { "www-authenticate",
        'Bearer resource_metadata="https://a.b/c", scope="read"' } })
    end }, function(err)
      assert.same({ "auth", "AuthenticationError", 401 }, { err.kind, err.class, err.status_code })
      assert.same({ "https://a.b/c", "read" }, { err.resource_metadata, err.scope })
      assert.is_nil(core.encode { err.message, err.raw or "" }:find "s3cr3t")
    end, { token = "s3cr3t-t0ken" })
  end)

  it("fails where no server of MCP answers", function()
    run({ ["server/discover"] = function() return served.answer(200, "<html>", "text/html") end,
      initialize = function() return served.answer(200, "<html>", "text/html") end }, function(err)
      assert.equal("protocol", err.kind)
      assert.truthy(err.message:find("far: ", 1, true))
    end)
    local _, err = koine.mcp.connect { name = "far", url = "http://127.0.0.1:1/mcp" }
    assert.equal("connect", err.kind)
  end)
end)
