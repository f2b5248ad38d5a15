-- Logins to MCP servers, from the first refusal to a token: where is asked, in which order, and what is refused.

local address = require "koine.protocol.mcp.login.address"
local core = require "koine.core"
local kit = require "spec.lua.protocol.mcp.login.kit"
local koine = require "koine"
local options = require "koine.protocol.mcp.client.options"
local metadata = require "koine.protocol.mcp.login.metadata"

local RESOURCE, SERVER, OPENID = "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server",
  "/.well-known/openid-configuration"

-- What a login does with a server of these fields: its token, or nil, err; and the server.
local function try(fields, opts)
  local token, err, server
  kit.run(fields, function(self)
    server = self
    local challenged = {}
    for name, value in pairs(self.challenged) do challenged[name] = value:gsub("^/", self.url .. "/") end
    token, err = assert(self:login(opts)):token(challenged)
  end)
  return token, err, server
end

-- The kind and code of the error of such a login, in which no code is used.
local function fails(fields, opts)
  local token, err, server = try(fields, opts)
  assert.is_nil(token)
  assert.is_nil((tostring(err):find("code-1", 1, true)))
  assert.are.same({}, server.asked)
  return { err.kind, err.code }
end

describe("a login", function()
  it("gets a token that the server takes", function()
    kit.run({}, function(server)
      local client <close> = assert(server:connect(assert(server:login())))
      assert.are.equal("access-token-1", assert(client:call("any", {})).content[1].text)
      assert.are.same({ 1, 1, 1 }, { server.counts.visit, server.counts.client, server.counts.token })
    end)
  end)

  it("is an option of connect", function()
    kit.run({}, function(server)
      local client <close> = assert(koine.mcp.connect { name = "s", url = server.url .. "/mcp",
        login = { on_url = function(there) server:visit(there) end } })
      assert.are.equal("access-token-1", assert(client:call("any", {})).content[1].text)
    end)
  end)

  it("asks as OAuth wants it: PKCE, state, resource, a native client", function()
    local _, _, server = try {}
    local query, form, client = server.authorized, server.asked[1], server.registered
    assert.are.same({ "code", "client-1", "S256", server.url .. "/mcp" },
      { query.response_type, query.client_id, query.code_challenge_method, query.resource })
    assert.are.same({ 43, 43, 43 }, { #query.code_challenge, #query.state, #form.code_verifier })
    assert.is_nil(query.scope)
    assert.are.same({ "authorization_code", server.url .. "/mcp", query.redirect_uri, "client-1" },
      { form.grant_type, form.resource, form.redirect_uri, form.client_id })
    assert.are.equal("native", client.application_type)
    assert.are.equal("none", client.token_endpoint_auth_method)
    assert.are.equal("authorization_code refresh_token", table.concat(client.grant_types, " "))
    assert.are.equal(query.redirect_uri, client.redirect_uris[1])
    assert.is_truthy(query.redirect_uri:find "^http://127%.0%.0%.1:%d+/callback$")
    assert.are.equal(200, server.page.status)
    assert.is_nil((server.page.body:find("code-1", 1, true)))
  end)

  it("takes an address that a person copied, and none of another login", function()
    kit.run({}, function(server)
      local good
      local function copy(url)
        good = kit.get(url).headers.location
        return good
      end
      assert.are.equal("access-token-1", assert(assert(server:login { on_url = copy }):token {}))
      local token, err = assert(server:login { on_url = function() return good end }):token {}
      assert.are.same({ nil, "auth", "state" }, { token, err.kind, err.code })
    end)
  end)

  it("does not take an answer with another state, and waits for its own", function()
    kit.run({}, function(server)
      local statuses = {}
      local source = assert(server:login { on_url = function(url)
        local good = kit.get(url).headers.location
        local others = { (good:gsub("state=[^&]*", "state=x")), (good:gsub("callback", "other")), good, good }
        for i, there in ipairs(others) do statuses[i] = kit.get(there).status end
      end })
      assert.are.equal("access-token-1", assert(source:token {}))
      assert.are.same({ 400, 404, 200, 400 }, statuses)
    end)
  end)

  it("ends where nobody comes", function()
    assert.are.same({ "timeout", "login" }, fails({}, { on_url = function() end, timeout = 0.05 }))
  end)

  it("ends where on_url says so, or raises", function()
    assert.are.same({ "auth", "declined" }, fails({}, { on_url = function() return nil, "not now" end }))
    assert.are.same({ "other" }, fails({}, { on_url = function() error "broken" end }))
  end)

  it("ends where the person refuses", function()
    assert.are.same({ "auth", "access_denied" },
      fails { redirect_fields = { code = core.null, error = "access_denied" } })
  end)
end)

describe("the time of a login", function()
  it("is not the call's: it is no idle time", function()
    kit.run({}, function(server)
      local source = assert(server:login { on_url = function(url)
        koine.sleep(0.1)
        server:visit(url)
      end })
      local client <close> = assert(koine.mcp.connect { name = "s", url = server.url .. "/mcp", token = source,
        timeout = { idle = 0.05 } })
      assert.are.equal("access-token-1", assert(client:call("any", {})).content[1].text)
      server:forget(true)
      source.given = nil
      assert.are.equal("access-token-2", assert(client:call("any", {})).content[1].text)
      assert.are.equal(2, server.counts.code)
    end)
  end)

  it("is added to that of connecting", function()
    local function seconds(timeout)
      return options { name = "s", url = "https://example.com", timeout = timeout, login = { timeout = 7 } }
        .timeout.connect
    end
    assert.are.equal(60 + 7 + 120, seconds(nil))
    assert.are.equal(60 + 7 + 120, seconds(5))
    assert.are.equal(3, seconds { connect = 3 })
  end)

  it("ends with the task, and nothing listens behind it", function()
    kit.run({}, function(server)
      local listening
      local source = assert(server:login { on_url = function(url)
        listening = kit.unescape(url:match "redirect_uri=([^&]*)")
        assert.are.equal(404, kit.get(listening .. "x").status)
      end })
      koine.run(function() assert.is_nil((koine.timeout(0.05, function() return source:token {} end))) end)
      assert.is_falsy(pcall(kit.get, listening))
      assert.is_nil(source.flight)
    end)
  end)
end)

describe("the port of a login", function()
  it("is the user's, and has to be free", function()
    kit.run({}, function(server)
      local taken = math.tointeger(tonumber(server.url:match ":(%d+)$"))
      local token, err = assert(server:login { redirect_port = taken }):token {}
      assert.are.same({ nil, "other", "port" }, { token, err.kind, err.code })
    end)
  end)
end)

describe("the metadata of a resource", function()
  it("is on no private network where the server is not", function()
    local login = { server = address.parse "https://example.com/mcp", options = {} }
    for _, url in ipairs { "https://127.0.0.1:1/x", "https://169.254.169.254/x", "http://example.com/x" } do
      local found, err = metadata.resource(login, { resource_metadata = url })
      assert.are.same({ nil, "auth", "metadata" }, { found, err.kind, err.code })
    end
    local found, err = metadata.issuer(login, "https://10.0.0.1")
    assert.are.same({ nil, "auth", "metadata" }, { found, err.kind, err.code })
  end)

  it("is where the challenge says, and nowhere else", function()
    local there = { resource_metadata = "/elsewhere" }
    local token, _, server = try { challenged = there, paths = { resource = "/elsewhere" } }
    assert.are.equal("access-token-1", token)
    assert.are.equal("/elsewhere", server:seen()[1])
    assert.are.same({ "auth", "metadata" }, fails { challenged = there })
  end)

  it("is at the server's path, else at its root", function()
    local _, _, server = try {}
    assert.are.equal(RESOURCE .. "/mcp", server:seen()[1])
    local token
    token, _, server = try { paths = { resource = RESOURCE } }
    assert.are.equal("access-token-1", token)
    assert.are.same({ RESOURCE .. "/mcp", RESOURCE }, table.move(server:seen(), 1, 2, 1, {}))
    assert.are.same({ "auth", "metadata" }, fails { paths = { resource = "/nowhere" } })
  end)

  it("is of this server, or of what it is below", function()
    for _, resource in ipairs { "https://example.com/mcp", "http://127.0.0.1:1/mcp", "no url" } do
      assert.are.same({ "auth", "metadata" }, fails { resource_fields = { resource = resource } })
    end
    kit.run({}, function(server)
      for resource, fits in pairs { ["/mcp"] = true, [""] = true, ["/"] = true, ["/mcp/more"] = false, ["/mc"] = false,
          ["/mcp?a=1"] = false } do
        server.resource_fields = { resource = server.url .. resource }
        local token = assert(server:login()):token {}
        assert.are.equal(fits, token ~= nil, resource)
        if fits then assert.are.equal(server.url .. resource, server.authorized.resource) end
      end
    end)
  end)

  it("shows no query of the server's URL in errors", function()
    kit.run({ paths = { resource = "/nowhere" } }, function(server)
      local token, err = assert(server:login { url = server.url .. "/mcp?key=k-12345678" }):token {}
      assert.are.same({ nil, "metadata" }, { token, err.code })
      assert.is_nil((err.message:find("k-12345678", 1, true)))
    end)
  end)

  it("names an authorisation server", function()
    assert.are.same({ "auth", "metadata" }, fails { resource_fields = { authorization_servers = core.null } })
    assert.are.same({ "auth", "metadata" }, fails({}, { issuer = "https://example.com" }))
  end)
end)

describe("the metadata of an issuer", function()
  -- The paths that are asked for an issuer at `path` whose document is at `place`.
  local function order(path, place)
    local token, err, server = try { issuer_path = path, paths = { issuer = place } }
    assert(token, err)
    return table.move(server:seen(), 2, 10, 1, {})
  end

  it("is at the places of its path, in order", function()
    local all = { SERVER .. "/tenant", OPENID .. "/tenant", "/tenant" .. OPENID }
    for i, place in ipairs(all) do assert.are.same(table.move(all, 1, i, 1, {}), order("/tenant", place)) end
  end)

  it("is at the two places of one without a path", function()
    assert.are.same({ SERVER }, order("", SERVER))
    assert.are.same({ SERVER, OPENID }, order("", OPENID))
  end)

  it("is of exactly that issuer", function()
    assert.are.same({ "auth", "metadata" }, fails { issuer_fields = { issuer = "https://example.com" } })
    kit.run({}, function(server)
      server.issuer_fields = { issuer = server.url .. "/" }
      local token, err = assert(server:login()):token {}
      assert.are.same({ nil, "metadata" }, { token, err.code })
    end)
  end)

  it("promises PKCE with S256", function()
    for _, methods in ipairs { core.null, core.array { "plain" }, "S256" } do
      assert.are.same({ "auth", "metadata" }, fails { issuer_fields = { code_challenge_methods_supported = methods } })
    end
  end)

  it("has endpoints that are safe", function()
    for _, name in ipairs { "authorization_endpoint", "token_endpoint", "registration_endpoint" } do
      for _, url in ipairs { "http://example.com/x", "javascript:alert(1)", core.array {} } do
        assert.are.same({ "auth", "metadata" }, fails { issuer_fields = { [name] = url } })
      end
    end
  end)
end)

describe("the answer to a login", function()
  it("is of the issuer that was asked, by its exact name", function()
    assert.are.same({ "auth", "issuer" }, fails { redirect_fields = { iss = "https://example.com" } })
    assert.are.same({ "auth", "issuer" },
      fails { issuer_fields = { authorization_response_iss_parameter_supported = true } })
    kit.run({ issuer_fields = { authorization_response_iss_parameter_supported = true } }, function(server)
      server.redirect_fields = { iss = server.url .. "/" }
      assert.is_nil((assert(server:login()):token {}))
      server.redirect_fields = { iss = server.url }
      assert.are.equal("access-token-1", assert(assert(server:login()):token {}))
    end)
  end)

  it("says whose it is before a refusal is believed", function()
    assert.are.same({ "auth", "issuer" },
      fails { redirect_fields = { iss = "https://example.com", code = core.null, error = "access_denied" } })
  end)
end)

describe("the scope of a login", function()
  local function scope(fields, opts)
    local token, err, server = try(fields, opts)
    assert(token, err)
    return server.authorized.scope
  end

  it("is the challenge's, else what the resource lists, else none", function()
    local listed = { scopes_supported = core.array { "a", "b" } }
    assert.are.equal("c", scope { challenged = { scope = "c" }, resource_fields = listed })
    assert.are.equal("a b", scope { resource_fields = listed })
    assert.is_nil(scope {})
  end)

  it("has the user's, and that of tokens for later where the server knows it", function()
    local offline = { scopes_supported = core.array { "offline_access" } }
    assert.are.equal("x c", scope({ challenged = { scope = "c" } }, { scope = "x" }))
    assert.are.equal("c offline_access", scope { challenged = { scope = "c" }, issuer_fields = offline })
    assert.is_nil(scope { issuer_fields = offline })
  end)
end)
