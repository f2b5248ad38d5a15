-- Tokens of a login: the clients they are for, refreshing, more scope, the file that keeps them, other processes.

local core = require "koine.core"
local kit = require "spec.lua.protocol.mcp.login.kit"
local koine = require "koine"
local pkce = require "koine.protocol.mcp.login.pkce"
local redirect = require "koine.protocol.mcp.login.redirect"
local folder = require "spec.support.folder"
local raised = require "spec.lua.protocol.mcp.kit".raises

local function text_of(client) return assert(client:call("any", {})).content[1].text end

local function mode(path)
  local pipe = assert(io.popen(("stat -c %%a '%s' 2>/dev/null || stat -f %%Lp '%s'"):format(path, path)))
  local said = pipe:read "l"
  pipe:close()
  return said
end

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "a"
  file:close()
  return text
end

local function write(path, text)
  assert(koine.files.write(path, text))
end

describe("PKCE", function()
  it("makes the challenge of RFC 7636", function()
    assert.are.equal("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
      pkce.challenge "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
  end)

  it("makes other secrets each time", function()
    local a, b = pkce.new(), pkce.new()
    assert.are_not.equal(a.verifier, b.verifier)
    assert.are_not.equal(a.state, b.state)
    assert.are_not.equal(a.state, a.verifier)
  end)
end)

describe("the client of a login", function()
  -- The form that was sent for the code, the query before it, and how often a client was registered.
  local function try(fields, opts)
    local form, query, registered
    kit.run(fields, function(server)
      if opts and opts.client_secret then opts.issuer = server.url end
      assert(assert(server:login(opts)):token {})
      form, query, registered = server.asked[1], server.authorized, server.counts.client or 0
    end)
    return form, query, registered
  end

  it("is the one that the user has, with its secret", function()
    local form, query, registered = try({}, { client_id = "mine/1" })
    assert.are.same({ "mine/1", "mine/1", 0 }, { form.client_id, query.client_id, registered })
    form = try({}, { client_id = "mine/1", client_secret = "s:cret-of-mine" })
    assert.are.equal("Basic " .. koine.base64 "mine%2F1:s%3Acret-of-mine", form.authorization)
    assert.is_nil(form.client_secret)
    form = try({ issuer_fields = { token_endpoint_auth_methods_supported = core.array { "client_secret_post" } } },
      { client_id = "mine/1", client_secret = "s:cret-of-mine" })
    assert.are.same({ "mine/1", "s:cret-of-mine" }, { form.client_id, form.client_secret })
    assert.is_nil(form.authorization)
  end)

  it("gives its secret to one issuer alone", function()
    local err = raised("issuer", function()
      koine.mcp.login { url = "https://example.com/mcp", client_id = "a", client_secret = "long-secret-1" }
    end)
    assert.is_nil((err.message:find("long-secret-1", 1, true)))
  end)

  it("has a secret that no error shows", function()
    kit.run({ token_answer = function() return kit.json(400, { error = "long-secret-1", error_description =
        "not long-secret-1" }) end }, function(server)
      local token, err = assert(server:login { client_id = "a", client_secret = "long-secret-1", issuer = server.url })
        :token {}
      assert.is_nil(token)
      for _, value in pairs(err) do assert.is_nil((tostring(value):find("long-secret-1", 1, true))) end
    end)
  end)

  it("is registered anew where the server has forgotten it", function()
    kit.run({}, function(server)
      local source = assert(server:login())
      assert(source:login())
      source.given = nil
      server.token_answer = function(form)
        if form.client_id == "client-1" then return kit.json(401, { error = "invalid_client" }) end
        return kit.json(200, { access_token = "other-token-1", token_type = "bearer" })
      end
      assert.are.equal("other-token-1", assert(source:token({}, "access-token-1")))
      assert.are.same({ 2, 2 }, { server.counts.client, server.counts.visit })
      server.token_answer = function() return kit.json(401, { error = "invalid_client" }) end
      source.given = nil
      local token, err = source:token({}, "other-token-1")
      assert.are.same({ nil, "invalid_client", 2 }, { token, err.code, server.counts.client })
      server.token_answer = nil
      assert.are.equal("access-token-2", assert(source:token({}, "other-token-1")))
      assert.are.equal(3, server.counts.client)
    end)
  end)

  it("is registered anew where its port is taken", function()
    kit.run({}, function(server)
      local source = assert(server:login())
      assert(source:login())
      local port = math.tointeger(tonumber(server.authorized.redirect_uri:match ":(%d+)/"))
      local function again(refused)
        server:forget(true)
        source.given = nil
        assert(source:token({}, refused))
      end
      again "access-token-1"
      assert.are.same({ 1, 2 }, { server.counts.client, server.counts.visit })
      local taken <close> = assert(redirect.listen(port, "another")) -- luacheck: ignore taken
      again "access-token-2"
      assert.are.same({ 2, 3 }, { server.counts.client, server.counts.visit })
      assert.are.equal(server.authorized.redirect_uri, server.registered.redirect_uris[1])
    end)
  end)

  it("is described by a document, where the server reads those", function()
    local url = "https://example.com/client.json"
    local _, query, registered = try({ issuer_fields = { client_id_metadata_document_supported = true } },
      { client_metadata_url = url })
    assert.are.same({ url, 0 }, { query.client_id, registered })
    _, query, registered = try({}, { client_metadata_url = url })
    assert.are.same({ "client-1", 1 }, { query.client_id, registered })
  end)

  it("is registered as the server wants it", function()
    for _, method in ipairs { "client_secret_basic", "client_secret_post", "none" } do
      local form = try { register_fields = { client_secret = "secret-of-it", token_endpoint_auth_method = method } }
      assert.are.equal(method == "client_secret_post" and "secret-of-it" or nil, form.client_secret)
      assert.are.equal(method == "client_secret_basic", form.authorization ~= nil)
    end
  end)

  it("is missing where the server registers none", function()
    for _, fields in ipairs { { issuer_fields = { registration_endpoint = core.null } },
        { register_fields = { client_id = core.null } },
        { register_fields = { token_endpoint_auth_method = "private_key_jwt" } } } do
      kit.run(fields, function(server)
        local token, err = assert(server:login()):token {}
        assert.are.same({ nil, "auth", "registration" }, { token, err.kind, err.code })
        assert.is_nil(server.authorized)
      end)
    end
  end)
end)

describe("tokens", function()
  it("that are refused by the authorisation server are an error without secrets", function()
    for kind, answer in pairs {
      auth = kit.json(400, { error = "invalid_grant", error_description = "bad code-1" }),
      server = kit.json(500, { error = "oops" }), protocol = kit.json(200, { access_token = 1 }) } do
      kit.run({ token_answer = function() return answer end }, function(server)
        local token, err = assert(server:login()):token {}
        assert.are.same({ nil, kind }, { token, err.kind })
        assert.is_nil((err.message:find(server.asked[1].code_verifier, 1, true)))
      end)
    end
    for _, fields in ipairs { { token_type = "mac" }, { access_token = "a\nb" }, { token_type = core.null } } do
      kit.run({ token_fields = fields }, function(server)
        local token, err = assert(server:login()):token {}
        assert.are.same({ nil, "protocol" }, { token, err.kind })
      end)
    end
  end)

  it("are refreshed before they end, once for all that wait", function()
    kit.run({ token_fields = { expires_in = 1e-9 } }, function(server)
      local source = assert(server:login())
      assert(source:token {})
      server.token_fields = nil
      local got = {}
      koine.run(function()
        local tasks = {}
        for i = 1, 5 do tasks[i] = koine.spawn(function() got[i] = assert(source:token()) end) end
        for _, task in ipairs(tasks) do task:wait() end
      end)
      assert.are.same({ "access-token-2", "access-token-2", "access-token-2", "access-token-2", "access-token-2" }, got)
      assert.are.same({ 1, 2 }, { server.counts.visit, #server.asked })
      local form = server.asked[2]
      assert.are.same({ "refresh_token", "refresh-token-1", server.url .. "/mcp", "client-1" },
        { form.grant_type, form.refresh_token, form.resource, form.client_id })
    end)
  end)

  it("that the server no longer takes are refreshed; refused that, a person logs in again", function()
    kit.run({}, function(server)
      local client <close> = assert(server:connect(assert(server:login())))
      server:forget()
      assert.are.equal("access-token-2", text_of(client))
      assert.are.equal(1, server.counts.visit)
      server:forget(true)
      assert.are.equal("access-token-3", text_of(client))
      assert.are.equal(2, server.counts.visit)
      assert.are.equal(1, server.counts.client)
    end)
  end)

  it("are refreshed once for calls that are refused together", function()
    kit.run({}, function(server)
      local client <close> = assert(server:connect(assert(server:login())))
      server:forget()
      koine.run(function()
        local tasks = {}
        for i = 1, 5 do tasks[i] = koine.spawn(function() assert.are.equal("access-token-2", text_of(client)) end) end
        for _, task in ipairs(tasks) do task:wait() end
      end)
      assert.are.same({ 1, 2 }, { server.counts.visit, #server.asked })
    end)
  end)

  it("stay what they were where refreshing has trouble", function()
    kit.run({}, function(server)
      local source = assert(server:login())
      assert(source:token {})
      server.token_answer = function() return kit.json(503, {}) end
      local token, err = source:token({}, "access-token-1")
      assert.are.same({ nil, "server", 1 }, { token, err.kind, server.counts.visit })
      server.token_answer = nil
      assert.are.equal("access-token-2", assert(source:token({}, "access-token-1")))
      assert.are.equal(1, server.counts.visit)
    end)
  end)

  it("of a login that was just made and are refused ask nobody again", function()
    kit.run({ token_fields = { refresh_token = core.null } }, function(server)
      server.valid = setmetatable({}, { __newindex = function() end })
      local source = assert(server:login())
      local client, err = server:connect(source)
      assert.is_nil(client)
      assert.are.same({ "auth", 1 }, { err.kind, server.counts.visit })
      local token
      token, err = source:token({}, "access-token-1")
      assert.are.same({ nil, "auth", "new_token", 1 }, { token, err.kind, err.code, server.counts.visit })
    end)
  end)

  it("of one issuer are not for another", function()
    kit.run({}, function(server)
      local source = assert(server:login())
      assert(source:token {})
      server.issuer_path, server.paths.issuer = "/new", "/.well-known/oauth-authorization-server/new"
      assert.are.equal("access-token-2", assert(source:token({}, "access-token-1")))
      assert.are.same({ "authorization_code", "client-2" }, { server.asked[2].grant_type, server.asked[2].client_id })
    end)
  end)
end)

describe("more scope", function()
  it("is asked for together with what was asked before", function()
    kit.run({ challenged = { scope = "a" } }, function(server)
      local client <close> = assert(server:connect(assert(server:login())))
      server.needed = "a b"
      assert.are.equal("access-token-2", text_of(client))
      assert.are.same({ "a b", 2 }, { server.authorized.scope, server.counts.visit })
      assert.are.equal("access-token-2", text_of(client))
    end)
  end)

  it("is asked for twice at most", function()
    kit.run({ challenged = { scope = "a" }, token_fields = { scope = "a" } }, function(server)
      local client <close> = assert(server:connect(assert(server:login())))
      server.needed = "b"
      server.valid = setmetatable({}, { __index = function() return { scope = "a" } end, __newindex = function() end })
      for _ = 1, 3 do
        local result, err = client:call("any", {})
        assert.is_nil(result)
        assert.are.equal("permission", err.kind)
      end
      assert.are.equal(3, server.counts.visit)
    end)
  end)
end)

describe("the file of tokens", function()
  local path

  before_each(function() path = folder.new() .. "/tokens.json" end)
  after_each(function() folder.remove(path:match "^(.*)/") end)

  it("is private, and spares other processes the login", function()
    kit.run({}, function(server)
      assert(assert(server:login { tokens = path }):login())
      assert.are.equal("600", mode(path))
      local second = assert(server:login { tokens = path })
      assert.is_true(second:is_logged_in())
      assert.are.equal("access-token-1", assert(second:token()))
      local client <close> = assert(server:connect(second))
      assert.are.equal("access-token-1", text_of(client))
      assert.are.equal(1, server.counts.visit)
      assert.is_nil((tostring(second):find("token-1", 1, true)))
    end)
  end)

  it("has one process refresh for all", function()
    kit.run({}, function(server)
      local a, b = assert(server:login { tokens = path }), assert(server:login { tokens = path })
      assert(a:login())
      assert(b:login())
      server:forget()
      assert.are.equal("access-token-2", assert(a:token({}, "access-token-1")))
      assert.are.equal("access-token-2", assert(b:token({}, "access-token-1")))
      assert.are.equal(2, #server.asked)
      local got = {}
      server:forget()
      koine.run(function()
        local tasks = {}
        for i, source in ipairs { a, b } do
          tasks[i] = koine.spawn(function() got[i] = assert(source:token({}, "access-token-2")) end)
        end
        for _, task in ipairs(tasks) do task:wait() end
      end)
      assert.are.same({ "access-token-3", "access-token-3" }, got)
      assert.are.equal(3, #server.asked)
    end)
  end)

  it("keeps servers apart, and forgets one", function()
    kit.run({}, function(server)
      local one = assert(server:login { tokens = path })
      assert(one:login())
      local other = assert(koine.mcp.login { url = server.url .. "/other", tokens = path })
      assert.is_false(other:is_logged_in())
      assert.is_nil((other:token()))
      assert(one:logout())
      assert.is_false(one:is_logged_in())
      assert.is_nil((read(path):find("access-token-1", 1, true)))
      assert(one:login())
      assert.are.same({ 2, 2 }, { server.counts.visit, server.counts.client })
    end)
  end)

  it("has no secret that the user gave", function()
    kit.run({}, function(server)
      local opts = { tokens = path, client_id = "mine", client_secret = "secret-of-mine", issuer = server.url }
      local source = assert(server:login(opts))
      assert(source:login())
      assert.is_nil((read(path):find("secret-of-mine", 1, true)))
      server:forget()
      assert.are.equal("access-token-2", assert(source:token({}, "access-token-1")))
      assert.is_truthy(server.asked[2].authorization)
      assert.is_false(assert(server:login { tokens = path, client_id = "another" }):is_logged_in())
    end)
  end)

  it("is refused where it is something else, unread by others, before anybody is asked", function()
    kit.run({}, function(server)
      for _, text in ipairs { "no json", "{}", '{"format": "koine.mcp.login", "version": 2}' } do
        write(path, text)
        local source, err = server:login { tokens = path }
        assert.are.same({ nil, "other", "bad_tokens" }, { source, err.kind, err.code })
        local client
        client, err = koine.mcp.connect { name = "s", url = server.url .. "/mcp", login = { tokens = path } }
        assert.are.same({ nil, "bad_tokens" }, { client, err.code })
      end
      os.remove(path)
      local nowhere = assert(server:login { tokens = path .. "/no/such", client_id = "mine" })
      assert.is_nil((nowhere:token {}))
      assert.is_nil(server.counts.visit)
    end)
  end)
end)
