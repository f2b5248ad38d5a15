-- What an MCP server answers over HTTP, by status and content type, and what that means.

local core = require "koine.core"
local kit = require "spec.lua.protocol.mcp.transport.http_kit"
local retry = require "koine.net.retry"

-- What a call of a method returns where the server answers so: result, err, log.
local function ask(answer, options, opts, handlers)
  local result, err
  options = options or {}
  options.era = options.era or "modern"
  local log = kit.run(answer, function(opened)
    result, err = opened:request("tools/call", { name = "t" }, opts or { timeout = kit.SAFETY })
  end, options, handlers)
  return result, err, log
end

local function fails(answer, expected, options)
  local result, err, log = ask(answer, options)
  assert.is_nil(result)
  for name, value in pairs(expected) do assert.are.equal(value, err[name], name .. ": " .. tostring(err)) end
  return err, log
end

describe("an MCP server answers", function()
  it("with one message, as JSON or in a stream", function()
    local noise = kit.record({ jsonrpc = "2.0", method = "notifications/other" })
    local answers = {
      function(request) return kit.json(request, { n = 1 << 60, null = core.null }) end,
      function(request) return kit.stream(kit.result(request, { n = 1 << 60, null = core.null })) end,
      function(request)
        return kit.stream(": hello\n\n", kit.record("", "id: 1\nretry: 10\n"), "id: 2\n\n", noise,
          kit.result(request, { n = "no message" }, "event: ping\n"),
          kit.result(request, { n = 1 << 60, null = core.null }, "event: message\n"))
      end,
      function(request)
        return kit.answer(200, core.encode(core.array { { method = "x" }, { id = request.message.id,
          result = { n = 1 << 60, null = core.null } } }), "application/json; charset=utf-8")
      end,
    }
    for _, answer in ipairs(answers) do
      local result = assert(ask(answer))
      assert.are.same({ 1 << 60, core.null }, { result.n, result.null })
    end
  end)

  it("with an error of JSON-RPC, whatever status and id it has", function()
    for _, status in ipairs { 200, 400, 404, 405, 500 } do
      local expected = { kind = "not_found", code = "-32601", message = "no such method",
        status_code = status ~= 200 and status or nil }
      fails(function(request) return kit.failure(status, -32601, "no such method", request.message.id) end, expected)
      if status ~= 200 then fails(function() return kit.failure(status, -32601, "no such method") end, expected) end
    end
    local err = fails(function()
      return kit.answer(400, '{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"m",' ..
        '"data":{"supported":["2026-07-28"]}}}')
    end, { code = "-32022", status_code = 400, kind = "server" })
    assert.are.same({ "2026-07-28" }, { table.unpack(err.data.supported) })
  end)

  it("with other statuses, which mean what they mean for adapters", function()
    local kinds = { [400] = "invalid_request", [404] = "not_found", [413] = "too_large", [500] = "server",
      [502] = "server",
      [402] = "billing" }
    for status, kind in pairs(kinds) do
      local err = fails(function() return kit.answer(status, "it went wrong", "text/plain") end,
        { status_code = status })
      assert.are.equal(kind, err.kind, status)
    end
  end)

  it("with a redirect, which is not followed", function()
    for _, status in ipairs { 301, 302, 303, 307, 308 } do
      local _, log = fails(function() return kit.answer(status, "", "text/plain", { { "location", "/other" } }) end,
        { kind = "protocol", status_code = status })
      assert.are.equal(1, #log)
    end
  end)

  it("with no message at all", function()
    local function answers(...)
      local args = table.pack(...)
      return function() return kit.answer(table.unpack(args, 1, args.n)) end
    end
    fails(answers(200, "<html>Hello</html>", "text/html"), { kind = "protocol",
      message = "the server answered text/html, and no message of MCP" })
    fails(answers(202, "", "text/plain"), { kind = "protocol" })
    fails(answers(200, "{ no JSON"), { kind = "protocol" })
    fails(answers(200, ""), { kind = "protocol" })
    fails(answers(200, '{"jsonrpc":"2.0","id":77,"result":{}}'), { kind = "protocol",
      message = "the server answered another request than ours" })
    fails(answers(200, ("["):rep(1000) .. ("]"):rep(1000)), { kind = "limit" })
  end)

  it("badly a hundred times, and well after that", function()
    local n = 0
    kit.run(function(request)
      n = n + 1
      if n <= 101 then return kit.answer(200, "{ no JSON") end
      return kit.json(request, {})
    end, function(opened)
      for _ = 1, 101 do assert.is_nil((opened:request("m", {}, {}))) end
      assert(opened:request("m", {}, {}))
    end, { era = "modern" })
  end)

  it("and ends a stream before the answer", function()
    for _, records in ipairs { { "" }, { kit.record("", "id: 1\n") }, { kit.record { method = "x" } },
      { 'data: {"jsonrpc":"2.0","id":1,"resu' } } do
      fails(function() return kit.stream(table.unpack(records)) end, { kind = "stream_truncated" })
    end
    fails(function(_, conn)
      conn:send(kit.begin_stream(kit.record { method = "x" }))
      conn:reset()
    end, { kind = "stream_truncated" })
  end)

  it("with an endpoint of the old transport", function()
    fails(function() return kit.stream "event: endpoint\ndata: /messages\n\n" end,
      { kind = "protocol", code = "http_sse" })
    local log = kit.run(function(request)
      if request.method == "GET" then return kit.begin_stream "event: endpoint\ndata: /messages\n\n" end
      return kit.answer(405, "", "text/plain")
    end, function(opened)
      opened:set_version("legacy", nil)
      local result, err = opened:request("initialize", {}, {})
      assert.is_nil(result)
      assert.are.equal("http_sse", err.code)
    end)
    assert.are.same({ "POST", "GET" }, { log[1].method, log[2].method })
  end)
end)

describe("an MCP server wants a login", function()
  local asked = { { "www-authenticate", 'Bearer resource_metadata="https://a.example/m", scope="read"' } }

  it("and says where", function()
    fails(function() return kit.answer(401, "who?", "text/plain", asked) end, { class = "AuthenticationError",
      kind = "auth", resource_metadata = "https://a.example/m", scope = "read", status_code = 401 })
    local err = fails(function()
      return kit.failure(403, -32000, "forbidden", nil, { { "www-authenticate", 'Bearer error="insufficient_scope"' } })
    end, { class = "AuthenticationError", kind = "permission", status_code = 403 })
    assert.are.equal("insufficient_scope", err.challenge.error)
  end)

  it("and asks a function for a token: once more after a 401, with what the server says", function()
    local given = {}
    local function token(challenge)
      given[#given + 1] = challenge and challenge.scope or "none"
      return "token-" .. #given
    end
    local function server(request)
      if request.headers.authorization == "Bearer token-2" then return kit.json(request, {}) end
      return kit.answer(401, "", "text/plain", asked)
    end
    local result, err, log = ask(server, { token = token })
    assert(result, err)
    assert.are.same({ "none", "read" }, given)
    assert.are.same({ "Bearer token-1", "Bearer token-2" }, { log[1].headers.authorization,
      log[2].headers.authorization })
    given = { "more" }
    fails(server, { kind = "auth" }, { token = function(challenge) return token(challenge) and "other-token" end })
    assert.are.equal(3, #given)
    fails(server, { kind = "auth" }, { token = "wrong-token" })
  end)

  it("and gets none where the function has none", function()
    local function server(request)
      return kit.json(request, { authorization = request.headers.authorization or core.null })
    end
    assert.are.equal(core.null, ask(server, { token = function() end }).authorization)
    local _, log = fails(server, { kind = "auth", message = "no login yet" },
      { token = function() return nil, "no login yet" end })
    assert.are.equal(0, #log)
    fails(server, { kind = "auth" }, { token = function() return 7 end })
    fails(server, { message = "it broke" }, { token = function() error "it broke" end })
  end)

  it("and shows no secret in an error", function()
    local function server(request)
      return kit.answer(500, "you sent " .. request.headers.authorization .. " and hunter2-hunter2", "text/plain")
    end
    local _, err = ask(server, { token = function() return "fresh-token-1" end }, nil,
      { secrets = { "hunter2-hunter2" } })
    assert.is_nil((err.message .. (err.raw or "")):find "fresh%-token")
    assert.is_nil((err.message .. (err.raw or "")):find "hunter2")
    _, err = ask(function(request)
      return kit.failure(400, -32000, "you sent " .. request.headers.authorization, request.message.id)
    end, { token = function() return "fresh-token-1" end })
    assert.are.equal("you sent Bearer [redacted]", err.message)
  end)

  it("and shows none of many secrets", function()
    local secrets = {}
    for i = 1, 20 do secrets[i] = ("hunter2-%02d"):format(i) end
    for _, status in ipairs { 400, 500 } do
      local _, err = ask(function(request)
        local said = table.concat(secrets, " ") .. " " .. request.headers.authorization
        if status == 500 then return kit.answer(500, said, "text/plain") end
        return kit.failure(400, -32000, said, request.message.id)
      end, { token = function() return "fresh-token-1" end }, nil, { secrets = secrets })
      assert.are.equal(status, err.status_code)
      assert.is_nil((err.message .. (err.raw or "")):find "hunter2")
      assert.is_nil((err.message .. (err.raw or "")):find "fresh%-token")
    end
  end)
end)

describe("an MCP server is busy", function()
  local random = retry.random
  before_each(function() retry.random = function() return 0 end end)
  after_each(function() retry.random = random end)

  it("and is asked again when it wants that, twice", function()
    for _, status in ipairs { 429, 503 } do
      local n = 0
      local function server(request)
        n = n + 1
        if n < 3 then return kit.answer(status, "", "text/plain", { { "retry-after", "0" } }) end
        return kit.json(request, {})
      end
      assert(ask(server))
      assert.are.equal(3, n)
      n = -10
      local err = fails(server, { status_code = status })
      assert.are.equal(3, #err.attempts)
    end
  end)

  it("and is not where that is too late", function()
    local _, log = fails(function()
      return kit.answer(429, "", "text/plain", { { "retry-after", "61" } })
    end, { kind = "rate_limit", retry_after = 61 })
    assert.are.equal(1, #log)
  end)
end)
