-- The headers of requests to MCP servers: those of each era, how values are written, and what servers say in theirs.

local challenge = require "koine.protocol.mcp.transport.http.challenge"
local kit = require "spec.lua.protocol.mcp.transport.http_kit"
local raised = require "spec.support.raised"
local transport = require "koine.protocol.mcp.transport.http"

describe("a request to an MCP server", function()
  local function ok(request) return kit.json(request, {}) end

  -- The headers of a request in an era.
  local function headers_of(era, opts, options)
    options = options or {}
    options.era = era
    local log = kit.run(ok, function(opened) assert(opened:request("tools/call", {}, opts or {})) end, options)
    return log[1].headers
  end

  it("of the modern era repeats version, method, name and parameters", function()
    local headers = headers_of("modern", { name = "add", headers = { ["Mcp-Param-Region"] = "eu", ["Mcp-Param-N"] = 42,
      ["Mcp-Param-B"] = true, ["Mcp-Param-Empty"] = "", ["Mcp-Param-No"] = false } })
    local expected = { ["mcp-protocol-version"] = kit.MODERN, ["mcp-method"] = "tools/call", ["mcp-name"] = "add",
      ["mcp-param-region"] = "eu", ["mcp-param-n"] = "42", ["mcp-param-b"] = "true", ["mcp-param-empty"] = "",
      ["mcp-param-no"] = "false", accept = "application/json, text/event-stream",
      ["content-type"] = "application/json" }
    for name, value in pairs(expected) do assert.are.equal(value, headers[name], name) end
    assert.is_nil(headers_of("modern")["mcp-name"])
  end)

  it("of the legacy era says the version that was agreed on, and repeats nothing", function()
    local headers = headers_of("legacy", { name = "add", headers = { ["Mcp-Param-Region"] = "eu" } })
    assert.are.equal(kit.LEGACY, headers["mcp-protocol-version"])
    for _, name in ipairs { "mcp-method", "mcp-name", "mcp-param-region", "mcp-session-id" } do
      assert.is_nil(headers[name])
    end
    assert.is_nil(headers_of(nil)["mcp-protocol-version"])
  end)

  it("encodes what a header cannot say", function()
    local encoded = { ["Hello, 世界"] = "SGVsbG8sIOS4lueVjA==", [" a"] = "IGE=", ["a\t"] = "YQk=", [" "] = "IA==",
      ["a\nb"] = "YQpi", ["a\0b"] = "YQBi", ["a\127"] = "YX8=", ["é"] = "w6k=",
      ["=?base64?YQ==?="] = "PT9iYXNlNjQ/WVE9PT89", ["=?base64??="] = "PT9iYXNlNjQ/Pz0=" }
    local plain = { "a", "a b", "a\tb", "~!\"", "=?base64?YQ==", "x=?base64?YQ==?=", "=?BASE64?YQ==?=" }
    local given, n = {}, 0
    local expected = {}
    local function add(value, written)
      n = n + 1
      given["Mcp-Param-" .. n], expected["mcp-param-" .. n] = value, written
    end
    for value, bytes in pairs(encoded) do add(value, "=?base64?" .. bytes .. "?=") end
    for _, value in ipairs(plain) do add(value, value) end
    local headers = headers_of("modern", { headers = given, name = "世" })
    for name, value in pairs(expected) do assert.are.equal(value, headers[name]) end
    assert.are.equal("=?base64?5LiW?=", headers["mcp-name"])
  end)

  it("has the user's headers, which replace none of its own", function()
    local headers = headers_of("modern", {}, { headers = { ["X-Key"] = "k", ["ACCEPT"] = "text/html",
      ["mcp-method"] = "other", authorization = "Basic abc" } })
    assert.are.same({ "k", "application/json, text/event-stream", "tools/call", "Basic abc" },
      { headers["x-key"], headers.accept, headers["mcp-method"], headers.authorization })
    headers = headers_of("modern", {}, { headers = { authorization = "Basic abc" }, token = "secret-token" })
    assert.are.equal("Bearer secret-token", headers.authorization)
  end)

  it("is refused where its options are wrong, without showing a secret", function()
    local function refuse(field, options)
      local err = raised.as("ArgumentError", transport.open, options, {})
      assert.are.equal(field, err.field)
      assert.is_nil(err.message:find("hunter2", 1, true))
    end
    refuse("url", {})
    refuse("url", { url = "ftp://hunter2" })
    refuse("token", { url = "http://a", token = 7 })
    refuse("headers.x", { url = "http://a", headers = { x = "hunter2\0" } })
    refuse("tokne", { url = "http://a", tokne = "hunter2" })
  end)
end)

describe("the header WWW-Authenticate", function()
  local function check(value, expected) assert.are.same(expected, challenge(value)) end

  it("says how to log in", function()
    check('Bearer resource_metadata="https://a.example/.well-known?x=1,2", scope="a b"',
      { scheme = "bearer", resource_metadata = "https://a.example/.well-known?x=1,2", scope = "a b" })
    check("bearer", { scheme = "bearer" })
    check('Bearer error="insufficient_scope",Scope=one, scope=two', { scheme = "bearer", error = "insufficient_scope",
      scope = "one" })
    check('Basic realm="a, Bearer b=\\"c\\"", Bearer realm=d', { scheme = "bearer", realm = "d" })
    check('Negotiate YWJj==, Digest realm = "x" , nonce="\\\\"', { scheme = "negotiate" })
  end)

  it("may say nothing that can be read", function()
    check(nil, {})
    check("", {})
    check(",, ,", {})
    check('"quoted"', {})
    check('Bearer scope="never closed', { scheme = "bearer" })
    check("Bearer " .. ("a=b,"):rep(100000), { scheme = "bearer", a = "b" })
  end)
end)
