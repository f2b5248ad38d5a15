-- Logins at Google: tokens as they are given, asked for with a service account's key or with a user's login, renewed.

local account = require "koine.provider.auth.google.account"
local assertion = require "koine.provider.auth.google.assertion"
local core = require "koine.core"
local deep = require "spec.support.deep"
local files = require "spec.support.files"
local kit = require "spec.lua.provider.google.kit"
local koine = require "koine"
local pkey = require "openssl.pkey"
local raised = require "spec.support.raised"

local KEY, REFRESH, SECRET, VARIABLE, bearers, form, gives, sent, service_account, shows_none, user, vertex =
  kit.KEY, kit.REFRESH, kit.SECRET, kit.VARIABLE, kit.bearers, kit.form, kit.gives, kit.sent,
  kit.service_account, kit.shows_none, kit.user, kit.vertex

describe("a login at Google", function()
  local server, directory, variables

  setup(function() server, directory = kit.open() end)
  teardown(kit.close)
  before_each(function() variables = kit.begin() end)
  after_each(kit.finish)

  describe("with a token", function()
    it("sends it as it is given", function()
      assert(server:script { { content = "fine" } })
      local a = vertex { token = "ya29.given", credentials_file = "/none" }
      assert.is_true(a:authenticated())
      assert(a:chat "Hi")
      assert.are.same({ "Bearer ya29.given" }, bearers())
    end)

    it("asks a function for each attempt, and once more after a 401", function()
      local asked = 0
      local a = vertex { token = function()
        asked = asked + 1
        return "ya29.asked" .. asked
      end }
      assert(server:script { { content = "a" }, { error = { status = 401 } }, { content = "b" },
        { error = { status = 401 } }, { error = { status = 401 } } })
      assert(a:chat "Hi")
      assert.are.equal("b", assert(a:chat "Hi"):text())
      assert.are.same({ "Bearer ya29.asked1", "Bearer ya29.asked2", "Bearer ya29.asked3" }, bearers())
      local _, err = a:chat "Hi"
      assert.are.same({ "auth", 401 }, { err.kind, err.status_code })
      assert.are.equal(5, asked)
    end)

    it("is refused with a token of the wrong kind, and when the function has none", function()
      assert.are.equal("token", raised(vertex, { token = 5 }).field)
      assert.are.equal("token", raised(vertex, { token = "a\n" }).field)
      assert.are.equal("token", raised(vertex, { token = "ya29.given", key = "api-key" }).field)
      local _, err = vertex { token = function() return nil, "the program is gone" end }:chat "Hi"
      assert.are.same({ "auth", "Vertex AI: the function token returned nil: the program is gone" },
        { err.kind, err.message })
      _, err = vertex({ token = function() return "ya29.secret-of-the-test\n" end }):chat "Hi"
      assert.are.same({ "auth", "Vertex AI: the function returned an unfit value: token: string without control "
        .. "characters or white space around it expected, got one that ends with a newline" },
        { err.kind, err.message })
      local broken = vertex { token = function() error({ "mine" }, 0) end }
      local ok, mine = pcall(broken.chat, broken, "Hi")
      assert.are.same({ false, { "mine" } }, { ok, mine })
    end)

    it("says where credentials may come from when there are none", function()
      local a = vertex()
      assert.is_false(a:authenticated())
      local _, err = a:chat "Hi"
      assert.are.equal("auth", err.kind)
      for _, name in ipairs { VARIABLE, "credentials_file", "token" } do
        assert.is_truthy(err.message:find(name, 1, true))
      end
    end)
  end)

  describe("with a service account", function()
    -- Base64 for URLs, decoded by the openssl program.
    local function decoded(text)
      local name = directory .. "/base64"
      files.write(name, text:gsub("-", "+"):gsub("_", "/") .. ("="):rep(-#text % 4))
      local pipe <close> = assert(io.popen(("openssl base64 -d -A -in '%s'"):format(name)))
      return pipe:read "a"
    end

    it("signs an assertion that the openssl program verifies", function()
      assert(server:script { gives "ya29.first", { content = "fine" } })
      local path = service_account()
      account.clock = function() return 1767323045.9 end
      assert(vertex { credentials_file = path }:chat "Hi")
      local request = sent "/token"[1]
      assert.are.equal("application/x-www-form-urlencoded", request.headers["content-type"])
      local fields = form(request.body)
      assert.are.equal("urn:ietf:params:oauth:grant-type:jwt-bearer", fields.grant_type)
      local header, claims, signature = fields.assertion:match "^([%w_-]+)%.([%w_-]+)%.([%w_-]+)$"
      assert.are.same({ alg = "RS256", typ = "JWT", kid = "kid" .. kit.count }, core.decode(decoded(header)))
      assert.are.same({ iss = "me@p.iam.gserviceaccount.com", aud = server.url .. "/token", iat = 1767323045,
        exp = 1767326645, scope = "https://www.googleapis.com/auth/cloud-platform" }, core.decode(decoded(claims)))
      files.write(directory .. "/public.pem", KEY:toPEM "public")
      files.write(directory .. "/signature", decoded(signature))
      files.write(directory .. "/signed", header .. "." .. claims)
      assert.is_true(os.execute(("cd '%s' && openssl dgst -sha256 -verify public.pem -signature signature signed "
        .. ">/dev/null"):format(directory)))
      assert.are.same({ "Bearer ya29.first" }, bearers())
      assert.is_nil(sent "/v1/chat/completions"[1].headers["x-goog-user-project"])
    end)

    it("finds the file by its variable, the option first", function()
      assert(server:script { gives "ya29.variable", { content = "a" }, gives "ya29.option", { content = "b" } })
      variables[VARIABLE] = service_account { private_key_id = "other" }
      assert(vertex():chat "Hi")
      assert(vertex { credentials_file = service_account() }:chat "Hi")
      assert.are.same({ "Bearer ya29.variable", "Bearer ya29.option" }, bearers())
    end)

    it("names luaossl where it is missing, and the function that does without", function()
      local loaded = package.loaded["openssl.pkey"]
      package.loaded["openssl.pkey"] = nil
      package.preload["openssl.pkey"] = function() error "not found" end
      local a = vertex { credentials_file = service_account() }
      local ok, _, err = pcall(a.chat, a, "Hi")
      package.loaded["openssl.pkey"], package.preload["openssl.pkey"] = loaded, nil
      assert.is_true(ok)
      assert.are.equal("auth", err.kind)
      for _, word in ipairs { "lua-luaossl", "token = function" } do
        assert.is_truthy(err.message:find(word, 1, true), err.message)
      end
      shows_none(err)
    end)

    it("says of a key that it is none, and asks for no password", function()
      local other, own = pkey.new { type = "EC", curve = "prime256v1" }, KEY:toPEM "private"
      local long = own:gsub("\nMII", "\nMIH", 1)
      for _, pem in ipairs { "nonsense", KEY:toPEM "public", other:toPEM "private", long, own:sub(1, -300),
        own:gsub("\n[^\n]+\n(-+END)", "\n%1"), own:gsub("BEGIN", "BEGIN RSA"),
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n" } do
        local _, err = vertex { credentials_file = service_account { private_key = pem } }:chat "Hi"
        assert.are.equal("auth", err.kind)
        assert.is_truthy(err.message:find("private_key: RSA key in PEM (PKCS #8)", 1, true), err.message)
        assert.is_false(deep.shows(err, pem))
      end
    end)

    it("makes no assertion without the key's id where the file has none", function()
      local made = assert(assertion({ client_email = "a@b", private_key = KEY:toPEM "private" }, "https://x/token", 5))
      assert.are.same({ alg = "RS256", typ = "JWT" }, core.decode(decoded(made:match "^[^.]+")))
    end)
  end)

  describe("with a user's login", function()
    it("refreshes its token, and names the project that pays", function()
      assert(server:script { gives "ya29.user", { content = "a" }, gives "ya29.other", { content = "b" } })
      assert(vertex { credentials_file = user(), project = "mine" }:chat "Hi")
      assert.are.same({ grant_type = "refresh_token", client_id = "id" .. kit.count, client_secret = SECRET,
        refresh_token = REFRESH }, form(sent "/token"[1].body))
      assert.are.same({ "Bearer ya29.user" }, bearers())
      assert(vertex { credentials_file = user { quota_project_id = "billed" }, project = "mine" }:chat "Hi")
      local chats = sent "/v1/chat/completions"
      assert.are.equal("mine", chats[1].headers["x-goog-user-project"])
      assert.are.equal("billed", chats[2].headers["x-goog-user-project"])
    end)
  end)

  describe("keeps its token", function()
    it("until five minutes before its end, for all adapters of one file", function()
      assert(server:script { gives "ya29.first", { content = "a" }, { content = "b" }, gives "ya29.second",
        { content = "c" } })
      local path, start = user(), core.wall()
      assert(vertex { credentials_file = path }:chat "Hi")
      account.clock = function() return start + 3200 end
      collectgarbage()
      assert(vertex { credentials_file = path }:chat "Hi")
      account.clock = function() return start + 3310 end
      assert(vertex { credentials_file = path }:chat "Hi")
      assert.are.same({ "Bearer ya29.first", "Bearer ya29.first", "Bearer ya29.second" }, bearers())
    end)

    it("from a link to a file that others may read, as mounted secrets are", function()
      assert(server:script { gives "ya29.mounted", { content = "fine" } })
      local path = directory .. "/mounted.json"
      assert(os.execute(("ln -s '%s' '%s'"):format(user(nil, "644"), path)))
      assert.are.equal("fine", assert(vertex { credentials_file = path }:chat "Hi"):text())
      assert.are.same({ "Bearer ya29.mounted" }, bearers())
    end)

    it("while others ask for it: one flight at a time", function()
      assert(server:script { gives "ya29.one", { content = "a" }, { content = "b" }, { content = "c" } })
      local path = user()
      koine.run(function()
        local function ask() return assert(vertex { credentials_file = path }:chat "Hi") end
        koine.gather(ask, ask, ask)
      end)
      assert.are.equal(1, #sent "/token")
      assert.are.same({ "Bearer ya29.one", "Bearer ya29.one", "Bearer ya29.one" }, bearers())
    end)

    it("though the one that asks first has less time", function()
      assert(server:script { { path = "/token", reply = { body = { access_token = "ya29.late" } },
        fault = { delay_ms = 400 } }, gives "ya29.one", { content = "a" } })
      local path, first, second = user(), nil, nil
      koine.run(function()
        koine.gather(function() first = select(2, vertex { credentials_file = path, timeout = 0.2 }:chat "Hi") end,
          function() second = vertex { credentials_file = path, timeout = 20 }:chat "Hi" end)
      end)
      assert.are.equal("timeout", first.kind)
      assert.are.equal("a", second and second:text())
    end)

    it("until it is refused: it is renewed, and the request sent once more", function()
      assert(server:script { gives "ya29.old", { error = { status = 401 } }, gives "ya29.new", { content = "fine" },
        { error = { status = 401 } }, gives "ya29.last", { error = { status = 401 } } })
      local a = vertex { credentials_file = user() }
      assert.are.equal("fine", assert(a:chat "Hi"):text())
      assert.are.same({ "Bearer ya29.old", "Bearer ya29.new" }, bearers())
      local _, err = a:chat "Hi"
      assert.are.same({ "auth", 401 }, { err.kind, err.status_code })
      assert.are.equal(3, #sent "/token")
      shows_none(err, "ya29.last")
    end)

    it("until it logs out", function()
      assert(server:script { gives "ya29.first", gives "ya29.second", { content = "a" } })
      local a = vertex { credentials_file = user() }
      assert.is_true(a:authenticate())
      a:logout()
      assert(a:chat "Hi")
      assert.are.same({ "Bearer ya29.second" }, bearers())
    end)
  end)
end)
