-- Servers at a URL that stop, forget and answer elsewhere: every call ends within its time, as what it is, and nothing
-- stays open.

local core = require "koine.core"
local kit = require "spec.lua.protocol.mcp.kit"
local koine = require "koine"
local served = require "spec.lua.net.served"
local wait = require "koine.task.wait"

local ACCEPTED = served.answer(202, "")
local LIMIT = 0.1

local function json(request, result, headers)
  return served.answer(200, core.encode { jsonrpc = "2.0", id = request.message.id, result = result }, nil, headers)
end

local function hang(_, conn) return conn:hang() end

-- Servers of both eras, whose methods can be replaced.
local function modern(on)
  on["server/discover"] = function(request)
    return json(request, { supportedVersions = core.array { "2026-07-28" }, capabilities = { tools = {} } })
  end
  return on
end

local function legacy(on)
  local all = { ["notifications/initialized"] = function() return ACCEPTED end,
    initialize = function(request)
      return json(request, { protocolVersion = "2025-11-25", capabilities = { logging = {} } },
        { { "mcp-session-id", "session-1" } })
    end,
    DELETE = function() return served.answer(200, "") end }
  for method, answer in pairs(on) do all[method] = answer end
  return all
end

-- Runs f(connect, log) beside a server: on[method](request, conn) returns the bytes of an answer, or nothing where it
-- sent all itself. connect(opts) → a client, or nil, err. `log` counts the requests by method.
local function run(on, f)
  local log = {}
  served.run(function(conn, request)
    request.message = request.body ~= "" and core.decode(request.body) or {}
    local method = request.message.method or request.method
    log[method] = (log[method] or 0) + 1
    local bytes = (on[method] or function() return served.answer(405, "") end)(request, conn)
    if bytes then return conn:send(bytes) end
  end, function(url)
    f(function(opts)
      opts.name, opts.url = "far", url .. "/mcp"
      return koine.mcp.connect(opts)
    end, log)
  end)
end

-- Whether f() ends in less time than anything here that has the wrong limit takes.
local function is_quick(f, ...)
  local began = wait.now()
  local results = table.pack(f(...))
  assert.is_true(wait.now() - began < kit.SAFETY)
  return table.unpack(results, 1, results.n)
end

describe("a call of a server that hangs", function()
  it("ends in its own time, the list of tools that it needs among that", function()
    for _, trusted in ipairs { false, true } do
      run(modern { ["tools/list"] = hang }, function(connect, log)
        local client <close> = assert(connect { era = "modern", trusted = trusted })
        local _, err = is_quick(client.call, client, "echo", {}, { timeout = LIMIT })
        assert.same({ "timeout", "total" }, { err.kind, err.code })
        assert.same({ ["tools/list"] = 1 }, log)
      end)
    end
  end)

  it("ends in its own time as a model's, whose headers the server finds wrong", function()
    local listed = 0
    run(modern {
      ["tools/list"] = function(request, conn)
        listed = listed + 1
        if listed > 1 then return conn:hang() end
        return json(request, { tools = core.array { { name = "t", inputSchema = { type = "object" } } } })
      end,
      ["tools/call"] = function()
        return served.answer(400, core.encode { jsonrpc = "2.0", id = core.null,
          error = { code = -32020, message = "a header is missing" } })
      end,
    }, function(connect, log)
      local client <close> = assert(connect { timeout = { total = LIMIT } })
      local tool = assert(client:tools())[1]
      assert.equal("the tool did not answer in time", (is_quick(tool.run, {}, {})))
      assert.same({ 2, 1 }, { log["tools/list"], log["tools/call"] })
    end)
  end)

  it("connects in one limit, and tells the server of no end that there is no time for", function()
    for _, at in ipairs { "initialize", "notifications/initialized" } do
      run(legacy { [at] = hang, DELETE = hang }, function(connect, log)
        local client, err = connect { era = "legacy", timeout = { connect = LIMIT } }
        assert.is_nil(client)
        assert.same({ "timeout", nil }, { err.kind, log.DELETE })
      end)
    end
  end)

  it("is connected to all the same where it does not take the level of its log", function()
    run(legacy { ["logging/setLevel"] = hang }, function(connect, log)
      local client <close> = assert(connect { era = "legacy", log_level = "info", timeout = { connect = LIMIT } })
      assert.equal("legacy", client.era)
      assert.equal(1, log["logging/setLevel"])
    end)
  end)
end)

describe("the end of a session", function()
  it("takes no flood", function()
    local MANY, n = 200, 0
    run(legacy { DELETE = function(_, conn)
      conn:send(served.stream_head())
      local piece = served.chunk(("x"):rep(1 << 16))
      while n < MANY and conn:send(piece) do n = n + 1 end
      return served.chunk ""
    end }, function(connect)
      local client <close> = assert(connect { era = "legacy" })
      client:close()
    end)
    assert.is_true(n < MANY)
  end)
end)

describe("a session that its server forgets", function()
  it("ends the other calls as broken off, and not as cancelled by somebody", function()
    local calls = {}
    local on = legacy {}
    on["tools/call"] = function(request, conn)
      local name = request.message.params.name
      calls[#calls + 1] = name
      if name == "slow" then return conn:hang() end
      if #calls == 2 then return served.answer(404, "") end
      return json(request, { content = core.array {} })
    end
    run(on, function(connect, log)
      local client <close> = assert(connect { era = "legacy" })
      koine.run(function()
        local slow = koine.spawn(function() return select(2, client:call "slow") end)
        while not calls[1] do koine.sleep(0.001) end
        assert(client:call "quick")
        local err = slow:wait()
        assert.same({ "connect", "closed", "far: the session ended before the answer" },
          { err.kind, err.code, err.message })
      end)
      assert.same({ "slow", "quick", "quick" }, calls) -- nobody knows what became of the slow one
      assert.equal(2, log.initialize)
    end)
  end)
end)

describe("a call that is answered on another's stream", function()
  it("leaves nothing open behind it", function()
    local first, ended
    local on = legacy {}
    on["tools/call"] = function(request, conn)
      if request.message.params.name == "first" then
        first = request.message.id
        conn:send(served.stream_head() .. served.chunk ": wait\n\n")
        conn:hang()
        ended = true
        return
      end
      local function record(id)
        return ("data: %s\n\n"):format(core.encode { jsonrpc = "2.0", id = id,
          result = { content = core.array { { type = "text", text = "for " .. id } } } })
      end
      return served.stream_head() .. served.chunk(record(first) .. record(request.message.id)) .. served.chunk ""
    end
    run(on, function(connect)
      local client <close> = assert(connect { era = "legacy" })
      koine.run(function()
        local other = koine.spawn(function() return (client:call "first") end)
        while not first do koine.sleep(0.001) end
        assert(client:call "second")
        assert.equal("for " .. first, kit.text_of(other:wait()))
        while not ended do koine.sleep(0.001) end
      end)
    end)
  end)
end)
