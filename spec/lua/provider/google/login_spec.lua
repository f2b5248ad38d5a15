-- Logins at Google: tokens as they are given, asked for with a service account's key or with a user's login, renewed,
-- refused. The loopback provider plays the service that gives tokens, and a chat behind it.

local account = require "koine.provider.auth.google.account"
local adapter = require "koine.call.adapter"
local assertion = require "koine.provider.auth.google.assertion"
local core = require "koine.core"
local deep = require "spec.support.deep"
local files = require "spec.support.files"
local folder = require "spec.support.folder"
local koine = require "koine"
local pkey = require "openssl.pkey"
local raised = require "spec.support.raised"
local socket = require "socket"

local KEY = pkey.new { type = "RSA", bits = 2048 }
local ROW = { name = "vertex", title = "Vertex AI", codec = "chat", base_url = "https://unused/v1", auth = "google",
  list = false, options = { token = "key", credentials_file = "path", project = "name", location = "name" } }
local SECRET, REFRESH = "client-secret-of-the-test", "1//refresh-token-of-the-test"
local VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"

describe("a login at Google", function()
  local server, directory, variables, count
  local getenv, clock = os.getenv, account.clock

  setup(function()
    server, count = assert(koine.testing.start()), 0
    directory = folder.new()
  end)
  teardown(function()
    server:stop()
    folder.remove(directory)
  end)
  before_each(function()
    assert(server:reset())
    variables = {}
    os.getenv = function(name) -- luacheck: ignore
      if name:find "^GOOGLE_" then return variables[name] end
      return getenv(name)
    end
  end)
  after_each(function() os.getenv, account.clock = getenv, clock end) -- luacheck: ignore

  -- The path of a new credentials file with these fields; `mode`: octal digits.
  local function file(fields, mode)
    local path = ("%s/%d.json"):format(directory, math.random(1 << 40))
    files.write(path, type(fields) == "string" and fields or core.encode(fields), mode)
    return path
  end

  local function merged(fields, more)
    for name, value in pairs(more or {}) do fields[name] = value end
    return fields
  end

  -- Each file is an account of its own: its number stands in it.
  local function service_account(more)
    count = count + 1
    return file(merged({ type = "service_account", project_id = "p", private_key_id = "kid" .. count,
      private_key = KEY:toPEM "private", client_email = "me@p.iam.gserviceaccount.com",
      token_uri = server.url .. "/token" }, more))
  end

  local function user(more, mode)
    count = count + 1
    return file(merged({ type = "authorized_user", client_id = "id" .. count, client_secret = SECRET,
      refresh_token = REFRESH, token_uri = server.url .. "/token" }, more), mode)
  end

  local function vertex(options)
    return adapter.new(ROW, merged({ model = "m", base_url = server.url .. "/v1", retry = false }, options))
  end

  local function gives(token, seconds)
    return { path = "/token", reply = { body = { access_token = token, expires_in = seconds or 3600,
      token_type = "Bearer" } } }
  end

  -- What was sent to a path: an array of requests.
  local function sent(path)
    local list = {}
    for _, request in ipairs(assert(server:requests())) do
      if request.path == path then list[#list + 1] = request end
    end
    return list
  end

  local function bearers()
    local list = {}
    for i, request in ipairs(sent "/v1/chat/completions") do list[i] = request.headers.authorization end
    return list
  end

  -- The fields of a form.
  local function form(text)
    local fields = {}
    for name, value in text:gmatch "([^&=]+)=([^&]*)" do
      fields[name] = value:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end)
    end
    return fields
  end

  local function shows_none(err, ...)
    for _, secret in ipairs { SECRET, REFRESH, ... } do assert.is_false(deep.shows(err, secret)) end
    assert.is_false(deep.shows(err, "PRIVATE KEY"))
  end

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
      assert.are.same({ "auth", "Vertex AI: the function token gave none: the program is gone" },
        { err.kind, err.message })
      _, err = vertex({ token = function() return "ya29.secret-of-the-test\n" end }):chat "Hi"
      assert.are.same({ "auth", "Vertex AI: of what the function gave: token: string without control characters or "
        .. "white space around it expected, got one that ends with a newline" }, { err.kind, err.message })
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
      assert.are.same({ alg = "RS256", typ = "JWT", kid = "kid" .. count }, core.decode(decoded(header)))
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
      assert.are.same({ grant_type = "refresh_token", client_id = "id" .. count, client_secret = SECRET,
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

  describe("that is refused", function()
    local function refused(reply, path)
      assert(server:script { { path = "/token", reply = reply } })
      local _, err = vertex { credentials_file = path or user() }:chat "Hi"
      shows_none(err)
      return err
    end

    it("is an AuthenticationError with Google's words, and says of the clock what it knows", function()
      local body = { error = "invalid_grant", error_description = "Bad: " .. REFRESH }
      local err = refused { status = 400, body = body }
      assert.are.same({ "AuthenticationError", "auth", 400, "invalid_grant", "vertex", false },
        { err.class, err.kind, err.status_code, err.code, err.provider, err.retryable })
      assert.is_truthy(err.message:find("invalid_grant: Bad: [redacted]; the login has ended", 1, true), err.message)
      body.error_description = "Invalid JWT"
      err = refused({ status = 400, body = body }, service_account())
      assert.is_truthy(err.message:find("this machine's clock is wrong", 1, true), err.message)
      local function date(seconds) return { date = os.date("!%a, %d %b %Y %H:%M:%S GMT", os.time() + seconds) } end
      for seconds, words in pairs { [1000] = "behind Google's", [-1000] = "ahead of Google's" } do
        err = refused({ status = 400, body = body, headers = date(seconds) }, service_account())
        assert.is_truthy(err.message:find("clock is %d+ seconds " .. words), err.message)
      end
      err = refused({ status = 400, body = body, headers = date(0) }, service_account())
      assert.is_nil(err.message:find "clock is %d")
      err = refused { status = 401, body = { error = "invalid_client" } }
      assert.are.same({ "auth", "invalid_client" }, { err.kind, err.code })
      err = refused { status = 403, body = "no JSON" }
      assert.are.equal("auth", err.kind)
    end)

    it("shows no secret, however the service spells what was sent", function()
      local function encode(c) return ("%%%02x"):format(c:byte()) end
      local sent_form = "refresh_token=" .. REFRESH:gsub("[^%w.~-]", encode)
      local escaped = REFRESH:gsub("/", "\\/")
      for _, said in ipairs { sent_form, (sent_form:gsub("%%2f", "%%2F")), escaped, (escaped:gsub("\\", "\\\\")) } do
        for _, body in ipairs { { error = "invalid_grant", error_description = said }, "was: " .. said } do
          local err = refused { status = 400, body = body }
          assert.is_truthy(err.message:find("[redacted]", 1, true), err.message)
          for _, shown in ipairs { err.message, err.raw } do
            assert.is_nil(shown:find("refresh-token-of-the-test", 1, true), shown)
          end
        end
      end
    end)

    it("is told at once, whatever the service calls a secret, and however long that is", function()
      local long = ("ab"):rep(30000)
      local body = { error = "invalid_grant", error_description = long, some_token = long .. "c", a_code = long:sub(2) }
      local began = os.clock()
      refused { status = 400, body = body }
      assert.is_true(os.clock() - began < 0.5, "CPU seconds: " .. os.clock() - began)
    end)

    it("is looked for in the file anew", function()
      local path = user()
      refused({ status = 400, body = { error = "invalid_grant" } }, path)
      assert(server:script { { path = "/token", reply = { status = 400, body = { error = "invalid_grant" } } },
        gives "ya29.again", { content = "a" } })
      local a = vertex { credentials_file = path }
      assert.is_nil((a:chat "Hi"))
      files.write(path, files.read(user { client_id = "another" }))
      assert(a:chat "Hi")
      assert.are.equal("another", form(sent "/token"[3].body).client_id)
    end)

    it("is tried again where it is the server's fault", function()
      assert(server:script { { path = "/token", reply = { status = 503 } }, gives "ya29.late", { content = "a" } })
      local a = vertex { credentials_file = user(), retry = { max = 1, max_delay = 1 } }
      assert.are.equal(2, #assert(a:chat "Hi").attempts)
      local err = refused { status = 500, body = "broken" }
      assert.are.same({ "ServerError", 500 }, { err.class, err.status_code })
      assert.are.equal("RateLimitError", refused { status = 429 }.class)
    end)

    it("is a protocol error where the answer holds no token", function()
      for _, body in ipairs { "oops", "[]", {}, { access_token = 5 }, { access_token = "ya29.secret\n" },
        { access_token = core.null } } do
        local err = refused { body = body }
        assert.are.same({ "ServerError", "protocol" }, { err.class, err.kind })
        assert.is_false(deep.shows(err, "ya29"))
      end
    end)

    it("ends with the call's total, whatever the service does", function()
      local silent = assert(socket.bind("127.0.0.1", 0)) -- accepts nobody
      local url = "http://127.0.0.1:" .. select(2, silent:getsockname()) .. "/token"
      local _, err = vertex { credentials_file = user { token_uri = url }, timeout = 0.2 }:chat "Hi"
      assert.are.same({ "timeout", "total" }, { err.kind, err.code })
      silent:close()
    end)
  end)

  describe("refuses a file", function()
    local function said(path)
      local a = vertex { credentials_file = path }
      assert.is_false(a:authenticated())
      local _, err = a:chat "Hi"
      assert.are.same({ "auth", "vertex" }, { err.kind, err.provider })
      assert.is_truthy(err.message:find(path, 1, true))
      shows_none(err)
      return err.message
    end

    it("that is not there, or no regular file", function()
      assert(os.execute("mkfifo " .. directory .. "/pipe"))
      for _, path in ipairs { "/none/at/all.json", directory .. "/pipe" } do said(path) end
    end)

    it("whose contents stand in place of its path, and shows none of them", function()
      local text = core.encode { type = "authorized_user", client_id = "i", client_secret = SECRET,
        refresh_token = REFRESH }
      for _, contents in ipairs { text, "\n " .. text, KEY:toPEM "private" } do
        local err = raised(vertex, { credentials_file = contents })
        assert.are.same({ "credentials_file", "credentials_file: path of a file expected, got text that is no path" },
          { err.field, koine.errors.words(err) })
        shows_none(err)
        variables[VARIABLE] = contents
        local _, refused = vertex():chat "Hi"
        assert.are.same({ "auth", "Vertex AI: " .. VARIABLE .. ": path of a credentials file expected, got text "
          .. "that is no path" }, { refused.kind, refused.message })
        shows_none(refused)
      end
      for name, value in pairs { credentials_file = "ghp_0123456789abcdef0123456789abcdef", [VARIABLE] =
        koine.base64(text) } do
        variables[VARIABLE] = value
        local _, err = vertex { credentials_file = name == "credentials_file" and value or nil }:chat "Hi"
        assert.are.equal("auth", err.kind)
        assert.are.equal("Vertex AI: " .. name .. ": ", err.message:sub(1, 13 + #name), err.message)
        assert.is_false(deep.shows(err, value:sub(1, 12)))
      end
    end)

    it("of another kind, and names the function that does without", function()
      for _, kind in ipairs { "external_account", "impersonated_service_account" } do
        local message = said(file { type = kind, client_secret = SECRET })
        assert.is_truthy(message:find(kind, 1, true))
        assert.is_truthy(message:find("token = function", 1, true))
      end
      assert.is_truthy(said(file {}):find("got none", 1, true))
    end)

    it("that lacks something", function()
      assert.is_truthy(said(file "no JSON"):find("no JSON object", 1, true))
      assert.is_truthy(said(user { refresh_token = "" }):find("refresh_token: non-empty string expected", 1, true))
      assert.is_truthy(said(service_account { private_key = 5 }):find("private_key: non-empty", 1, true))
      for _, url in ipairs { "http://evil.example/token", "ftp://x", "https://x /token" } do
        assert.is_truthy(said(user { token_uri = url }):find("token_uri: https URL expected", 1, true))
      end
    end)
  end)
end)
