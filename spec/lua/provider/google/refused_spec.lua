-- Logins at Google that end in an error: refused by the service, or by a credentials file that is unfit.

local core = require "koine.core"
local deep = require "spec.support.deep"
local files = require "spec.support.files"
local kit = require "spec.lua.provider.google.kit"
local koine = require "koine"
local raised = require "spec.support.raised"
local socket = require "socket"

local KEY, REFRESH, SECRET, VARIABLE, file, form, gives, sent, service_account, shows_none, user, vertex = kit.KEY,
  kit.REFRESH, kit.SECRET, kit.VARIABLE, kit.file, kit.form, kit.gives, kit.sent, kit.service_account,
  kit.shows_none, kit.user, kit.vertex

describe("a login at Google", function()
  local server, directory, variables

  setup(function() server, directory = kit.open() end)
  teardown(kit.close)
  before_each(function() variables = kit.begin() end)
  after_each(kit.finish)

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
      local silent = assert(socket.bind("127.0.0.1", 0)) -- accepts no connection
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
