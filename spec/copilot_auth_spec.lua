local core = require "koine.core"
local deep = require "spec.support.deep"
local folder = require "spec.support.folder"
local hosts = require "koine.auth.copilot.hosts"
local koine = require "koine"
local lfs = require "lfs"
local raised = require "spec.support.raised"
local session = require "koine.auth.copilot.session"
local toy_host = require "spec.support.toy_host"
local wait = require "koine.wait"

local shows = deep.shows

local function read_file(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local function write_file(path, text, mode)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(text))
  assert(os.execute(("chmod %s '%s'"):format(mode or "600", path)))
end

describe("the login of koine.copilot:", function()
  local server
  local getenv, park, now, clock, stderr = os.getenv, wait.park, wait.now, session.clock, io.stderr
  local environment, directory, token_path, time, slept, printed

  setup(function() server = assert(koine.testing.start { copilot = {} }) end)
  teardown(function() server:stop() end)

  local count = 0

  -- Every test has GitHub tokens of its own: the sessions of a process are shared.
  before_each(function()
    count = count + 1
    assert(server:reset())
    assert(server:copilot { github_tokens = { "ghu_first_" .. count, "ghu_second_" .. count }, device_flow = {},
      client_id = "Iv1.b507a08c87ecfe98", interval = 5, expires_in = 900, token_lifetime = 1500, chat_enabled = true,
      endpoints = true })
    environment, slept, printed = {}, {}, {}
    os.getenv = function(name) return environment[name] end -- luacheck: ignore
    io.stderr = { write = function(_, text) printed[#printed + 1] = text end } -- luacheck: ignore
    directory = folder.new()
    token_path = directory .. "/koine/copilot_github_token"
  end)

  after_each(function()
    os.getenv, io.stderr = getenv, stderr -- luacheck: ignore
    wait.park, wait.now, session.clock = park, now, clock
    folder.remove(directory)
  end)

  local function token(n) return (n == 2 and "ghu_second_" or "ghu_first_") .. count end

  local function copilot(options)
    local given = { model = "gpt-4.1", github_host = server.url, token_path = token_path, min_request_interval = 0 }
    for name, value in pairs(options or {}) do given[name] = value end
    return koine.copilot(given)
  end

  -- Time stands still but for sleeps, which are written down; requests are real.
  local function freeze()
    time = 1000
    wait.now = function() return time end
    wait.park = function(thing, seconds)
      if type(thing) ~= "table" then return park(thing, seconds) end
      slept[#slept + 1], time = seconds, time + seconds
      return false
    end
  end

  local function requests(path)
    local found = {}
    for _, request in ipairs(assert(server:requests())) do
      if not path or request.path == path then found[#found + 1] = request end
    end
    return found
  end

  local function counted() return assert(server:copilot()) end

  local EXCHANGE, CODE, ACCESS = "/copilot_internal/v2/token", "/login/device/code", "/login/oauth/access_token"

  -- What the n-th exchange was asked with.
  local function exchanged_with(n)
    local request = requests(EXCHANGE)[n or 1]
    return request and request.headers.authorization
  end

  local function keep(text, mode)
    assert(core.file_directory(directory .. "/koine"))
    write_file(token_path, text, mode)
  end

  describe("the device flow", function()
    local FORM = "^client_id=([^&]+)&(.*)$"

    it("shows the code, asks at the interval and keeps the token", function()
      freeze()
      assert(server:copilot { device_flow = { "authorization_pending", "authorization_pending",
        { access_token = token() } } })
      local shown
      local adapter = copilot { on_device_code = function(code) shown = code end }
      assert.is_false(adapter:authenticated())
      assert.is_true(adapter:authenticate())
      assert.is_true(adapter:authenticated())
      assert.are.same({ 5, 5, 5 }, slept)
      assert.are.same({ user_code = "KOIN-0001", verification_uri = server.url .. "/login/device", expires_in = 900,
        interval = 5 }, shown)
      assert.are.same({}, printed)
      assert.are.equal(token() .. "\n", read_file(token_path))
      assert.are.equal("rw-------", lfs.attributes(token_path, "permissions"))
      assert.are.equal("rwx------", lfs.attributes(directory .. "/koine", "permissions"))
      local asked, polled = requests(CODE), requests(ACCESS)
      assert.are.equal(1, #asked)
      assert.are.equal(3, #polled)
      local client, rest = asked[1].body:match(FORM)
      assert.are.equal("Iv1.b507a08c87ecfe98", client)
      assert.are.equal("scope=copilot", rest)
      client, rest = polled[1].body:match(FORM)
      assert.are.equal("Iv1.b507a08c87ecfe98", client)
      assert.is_truthy(rest:find("^device_code=%x+&grant_type=urn%%3Aietf%%3Aparams%%3Aoauth%%3Agrant%-type"
        .. "%%3Adevice_code$"))
      for _, request in ipairs { asked[1], polled[1] } do
        assert.are.equal("application/json", request.headers.accept)
        assert.are.equal("application/x-www-form-urlencoded", request.headers["content-type"])
        assert.are.equal("koine/" .. koine.version, request.headers["user-agent"])
        assert.is_nil(request.headers.authorization)
      end
      assert.are.equal("token " .. token(), exchanged_with(1))
    end)

    it("prints where there is no callback", function()
      freeze()
      assert.is_true(copilot():authenticate())
      assert.are.equal(1, #printed)
      assert.is_truthy(printed[1]:find("KOIN-0001", 1, true))
      assert.is_truthy(printed[1]:find(server.url .. "/login/device", 1, true))
    end)

    it("is what a chat begins with where there is no token", function()
      freeze()
      assert(server:script { { content = "Hello." } })
      assert.are.equal("Hello.", assert(copilot():chat "Hi"):text())
      assert.are.equal(1, #printed)
      assert.are.equal(token() .. "\n", read_file(token_path))
    end)

    it("asks more slowly when told so, from then on", function()
      freeze()
      assert(server:copilot { device_flow = { { error = "slow_down", interval = 7 }, "authorization_pending",
        { error = "slow_down", interval = 30 }, "authorization_pending", { error = "slow_down", interval = 30 },
        { access_token = token() } } })
      assert.is_true(copilot():authenticate())
      assert.are.same({ 5, 10, 10, 30, 30, 35 }, slept) -- the new interval, but five seconds more at least
    end)

    it("asks at the interval that GitHub names, five seconds where it names none", function()
      freeze()
      assert(server:copilot { interval = 8 })
      assert.is_true(copilot():authenticate())
      assert.are.same({ 8 }, slept)
      slept = {}
      for _, interval in ipairs { core.null, 0, "soon" } do
        assert(os.remove(token_path))
        assert(server:script { { path = CODE, reply = { body = { device_code = "device-code-1", user_code = "U",
          verification_uri = "https://github.com/login/device", interval = interval } } },
          { path = ACCESS, reply = { body = { access_token = token() } } } })
        assert.is_true(copilot():authenticate())
      end
      assert.are.same({ 5, 5, 5 }, slept)
    end)

    it("ends where GitHub says no", function()
      freeze()
      for _, word in ipairs { "expired_token", "access_denied", "incorrect_device_code", "unsupported_grant_type",
        "device_flow_disabled" } do
        slept = {}
        assert(server:copilot { device_flow = { "authorization_pending", word } })
        local ok, err = copilot():authenticate()
        assert.is_nil(ok)
        assert.are.equal("AuthenticationError", err.class)
        assert.are.equal(word, err.code)
        assert.are.equal("copilot", err.provider)
        assert.is_false(err.retryable)
        assert.is_truthy(err.message:find("^GitHub Copilot: %u"), err.message) -- GitHub's description
        assert.are.same({ 5, 5 }, slept)
      end
      assert(server:copilot { device_flow = { { status = 400, body = { error = "access_denied" } } } })
      local ok, err = copilot():authenticate()
      assert.is_nil(ok)
      assert.are.equal("GitHub Copilot: the login was refused: access_denied", err.message)
      assert.is_nil(lfs.attributes(token_path))
      assert.are.equal(0, counted().exchanges)
    end)

    it("ends when the code's time is over", function()
      freeze()
      assert(server:copilot { device_flow = { "authorization_pending" }, expires_in = 12 })
      local ok, err = copilot():authenticate()
      assert.is_nil(ok)
      assert.are.equal("AuthenticationError", err.class)
      assert.are.equal("expired_token", err.code)
      assert.are.same({ 5, 5, 2 }, slept)
      assert.are.equal(2, counted().polls)
    end)

    local LOST = { error = "authorization_pending", fault = { truncate_after = 5 } }

    it("bears three failures in a row, of the network and of the server", function()
      freeze()
      assert(server:copilot { device_flow = { LOST, LOST, { status = 502, body = "<html>" }, "authorization_pending",
        LOST, LOST, LOST, { access_token = token() } } })
      assert.is_true(copilot():authenticate())
      assert.are.equal(8, #slept)
    end)

    it("does not bear a fourth", function()
      freeze()
      assert(server:copilot { device_flow = { LOST, LOST, LOST, LOST, { access_token = token() } } })
      local ok, err = copilot():authenticate()
      assert.is_nil(ok)
      assert.are.equal("ConnectionError", err.class)
      assert.are.equal("copilot", err.provider)
      assert.are.equal(4, counted().polls)
    end)

    it("ends at an answer that makes no sense", function()
      freeze()
      for _, said in ipairs { { body = "nothing" }, { body = { access_token = 5 } },
        { body = { access_token = "a\nb" } } } do
        assert(server:copilot { device_flow = { said } })
        local ok, err = copilot():authenticate()
        assert.is_nil(ok)
        assert.is_truthy(err.class == "ServerError" or err.class == "AuthenticationError")
        assert.is_nil(err.message:find("nothing", 1, true))
      end
      for _, body in ipairs { { user_code = "U", verification_uri = "https://x" }, {}, "[]", "what?",
        { device_code = "device-code-2", user_code = "U", verification_uri = "https://x/\27[2J" } } do
        assert(server:script { { path = CODE, reply = { body = body } } })
        local ok, err = copilot():authenticate()
        assert.is_nil(ok)
        assert.are.equal("ServerError", err.class)
        assert.are.equal("protocol", err.kind)
      end
      assert(server:script { { path = CODE, reply = { status = 404, body = { error = "Not Found" } } } })
      local ok, err = copilot():authenticate()
      assert.is_nil(ok)
      assert.are.equal("AuthenticationError", err.class)
    end)

    it("takes another client, and refuses to begin where the token cannot be kept", function()
      freeze()
      assert(server:copilot { client_id = "Iv23ctfURkiMfJ4xr5mv" })
      assert.is_true(copilot({ client_id = "Iv23ctfURkiMfJ4xr5mv" }):authenticate())
      write_file(directory .. "/file", "")
      for _, place in ipairs { directory .. "/file/token" } do
        local ok, err = copilot({ token_path = place }):authenticate()
        assert.is_nil(ok)
        assert.are.equal("AuthenticationError", err.class)
        assert.is_truthy(err.message:find(directory, 1, true))
      end
      local adapter = koine.copilot { model = "gpt-4.1", github_host = server.url }
      local ok, err = adapter:authenticate()
      assert.is_nil(ok)
      assert.is_truthy(err.message:find("token_path", 1, true))
      assert.are.equal(1, counted().device_codes)
    end)

    it("ends with its task", function()
      freeze()
      local interruption = koine.errors.new { kind = "cancelled", message = "m" }
      wait.park = function(thing, seconds)
        if type(thing) ~= "table" then return park(thing, seconds) end
        return nil, interruption
      end
      local ok, err = copilot():authenticate()
      assert.is_nil(ok)
      assert.are.equal(interruption, err)
    end)

    it("cannot be used from its own callback", function()
      freeze()
      local adapter, inner
      adapter = copilot { on_device_code = function() inner = table.pack(adapter:authenticate()) end }
      assert.is_true(adapter:authenticate())
      assert.is_nil(inner[1])
      assert.is_truthy(inner[2].message:find("waits for itself", 1, true))
      assert.are.equal(1, counted().device_codes)
    end)

    it("never shows the device code or the token", function()
      freeze()
      local code = "device-code-which-is-secret"
      for _, body in ipairs { { error = "access_denied", error_description = "No: " .. code },
        { error = code }, { error = "x" .. code .. "y", error_description = 5 } } do
        assert(server:script { { path = CODE, reply = { body = { device_code = code, user_code = "U", interval = 1,
          verification_uri = "https://github.com/login/device" } } },
          { path = ACCESS, reply = { body = body } } })
        local adapter = copilot()
        local ok, err = adapter:authenticate()
        assert.is_nil(ok)
        assert.is_false(shows(err, code))
        assert.is_false(shows(core.state(adapter).login, code))
      end
      assert(server:script { { path = CODE, reply = { body = { device_code = code, user_code = "U", interval = 1,
        verification_uri = "https://github.com/login/device" } } },
        { path = ACCESS, reply = { status = 403, body = "you sent device_code=" .. code } } })
      local ok, err = copilot():authenticate()
      assert.is_nil(ok)
      assert.is_false(shows(err, code))
      assert.are.equal("AuthenticationError", err.class)
      assert(server:script {})
      local adapter = copilot()
      assert.is_true(adapter:authenticate())
      assert.is_false(shows(core.state(adapter).login, token()))
      assert.is_false(shows(core.state(adapter).login, "tid="))
      assert.is_nil(tostring(adapter):find("ghu_", 1, true))
      assert.is_nil(table.concat(printed):find("ghu_", 1, true))
      assert.is_nil(table.concat(printed):find(code, 1, true))
    end)
  end)

  describe("GitHub tokens come", function()
    local function editors(name, text)
      assert(core.file_directory(directory .. "/github-copilot"))
      write_file(directory .. "/github-copilot/" .. name .. ".json", text, "644")
    end

    -- What an adapter with these options goes in with; the exchange refuses it where it is not known.
    local function goes_in_with(options)
      assert(server:reset())
      copilot(options):list_models()
      return exchanged_with(1)
    end

    it("from the first place that has one", function()
      local name = server.url:match "//(.*)"
      editors("apps", core.encode { [name .. ":Iv1.x"] = { oauth_token = "ghu_of_apps" .. count } })
      environment.XDG_CONFIG_HOME = directory
      assert.are.equal("token ghu_of_apps" .. count, goes_in_with())
      editors("hosts", core.encode { [name] = { oauth_token = "ghu_of_hosts" .. count },
        other = { oauth_token = "x" } })
      assert.are.equal("token ghu_of_hosts" .. count, goes_in_with())
      environment.GITHUB_TOKEN = "ghu_of_codespaces" .. count
      assert.are.equal("token ghu_of_hosts" .. count, goes_in_with())
      environment.CODESPACES = "true"
      assert.are.equal("token ghu_of_codespaces" .. count, goes_in_with())
      environment.GH_COPILOT_TOKEN = "ghu_of_environment" .. count
      assert.are.equal("token ghu_of_environment" .. count, goes_in_with())
      keep("  ghu_of_file" .. count .. " \n\n")
      assert.are.equal("token ghu_of_file" .. count, goes_in_with())
      assert.are.equal("token ghu_of_option" .. count, goes_in_with { github_token = "ghu_of_option" .. count })
    end)

    it("from the file in the user's configuration", function()
      environment.XDG_CONFIG_HOME = directory
      keep(token())
      local adapter = koine.copilot { model = "gpt-4.1", github_host = server.url, min_request_interval = 0 }
      assert.is_true(adapter:authenticated())
      environment.XDG_CONFIG_HOME, environment.HOME = "relative", directory
      assert.is_false(adapter:authenticated() and not core.state(adapter).login.session)
      assert.are.equal(directory .. "/.config/koine/copilot_github_token",
        core.state(koine.copilot { model = "gpt-4.1" }).login.token_path)
    end)

    it("not from editors' files for other hosts or of other shapes", function()
      environment.XDG_CONFIG_HOME = directory
      local name = server.url:match "//(.*)"
      for _, text in ipairs { "", "{", "[]", "5", '{"' .. name .. '": 5}', '{"' .. name .. '": {"oauth_token": null}}',
        '{"' .. name .. '0": {"oauth_token": "ghu_x"}}', '{"github.com": {"oauth_token": "ghu_x"}}' } do
        editors("hosts", text)
        assert.is_false(copilot():authenticated(), text)
      end
    end)

    it("not from an empty file", function()
      for _, text in ipairs { "", "\n", "  \t \n" } do
        keep(text)
        assert.is_false(copilot():authenticated())
      end
    end)

    it("not from a file that is a link or that others may read", function()
      local function refused(words)
        local adapter = copilot()
        assert.is_false(adapter:authenticated())
        for _, call in ipairs { "chat", "authenticate", "usage_report" } do
          local result, err = adapter[call](adapter, "Hi")
          assert.is_nil(result)
          assert.are.equal("AuthenticationError", err.class)
          assert.is_truthy(err.message:find(words, 1, true), err.message)
          assert.is_truthy(err.message:find(token_path, 1, true))
          assert.is_false(shows(err, token()))
        end
      end
      keep(token(), "640")
      refused "others may read"
      keep(token(), "604")
      refused "others may read"
      os.rename(token_path, token_path .. ".real")
      assert(os.execute("chmod 600 " .. token_path .. ".real"))
      assert(lfs.link(token_path .. ".real", token_path, true))
      refused "symbolic link"
      assert.are.equal(0, #requests())
    end)

    it("without being shown where they are unfit", function()
      keep("ghu_one\nghu_two")
      local result, err = copilot():chat "Hi"
      assert.is_nil(result)
      assert.is_truthy(err.message:find(token_path, 1, true))
      assert.is_nil(err.message:find("ghu_", 1, true))
      os.remove(token_path)
      environment.GH_COPILOT_TOKEN = "ghu_three\r\n"
      result, err = copilot():chat "Hi"
      assert.is_nil(result)
      assert.are.equal("AuthenticationError", err.class)
      assert.is_truthy(err.message:find("GH_COPILOT_TOKEN", 1, true))
      assert.is_nil(err.message:find("ghu_", 1, true))
      err = raised(copilot, { github_token = "ghu_four\n" })
      assert.are.equal("github_token", err.field)
      assert.is_nil(tostring(err):find("ghu_", 1, true))
    end)
  end)

  describe("the exchange", function()
    it("is made once for many chats, as the editor that Koine is", function()
      assert(server:script { { content = "a" }, { content = "b" }, { content = "c" } })
      local adapter = copilot { github_token = token() }
      for _ = 1, 3 do assert(adapter:chat "Hi") end
      local request = requests(EXCHANGE)[1]
      assert.are.equal("token " .. token(), request.headers.authorization)
      assert.are.equal("Koine/" .. koine.version, request.headers["editor-version"])
      assert.are.equal("vscode-chat", request.headers["copilot-integration-id"])
      assert.are.equal("application/json", request.headers.accept)
      assert.are.equal(1, counted().exchanges)
      assert.are.equal(3, #counted().chats)
      for _, chat in ipairs(counted().chats) do assert.are.equal(200, chat.status) end
    end)

    it("is made again within five minutes of the end", function()
      assert(server:script "echo")
      local adapter = copilot { github_token = token() }
      local start = core.wall()
      assert(adapter:chat "Hi")
      session.clock = function() return start + 1195 end
      assert(adapter:chat "Hi")
      assert.are.equal(1, counted().exchanges)
      session.clock = function() return start + 1205 end
      assert(adapter:chat "Hi")
      assert.are.equal(2, counted().exchanges)
    end)

    it("takes the lifetime from refresh_in, or supposes one, where expires_at is missing", function()
      for fields, seconds in pairs { [{ refresh_in = 100 }] = 400, [{}] = 1500, [{ expires_at = core.null }] = 1500 } do
        fields.token = "tid=" .. seconds .. count
        assert(server:script { { path = EXCHANGE, reply = { body = fields } } })
        session.clock = function() return 5000 end
        local one = session.of(hosts.of(server.url), "ghu_" .. tostring(fields))
        local state = core.state(copilot())
        assert.are.equal(5000 + seconds, assert(session.access(state, one)).expires)
      end
    end)

    it("that is refused is an AuthenticationError with the status and what to do", function()
      local hints = { [401] = "authenticate()", [403] = "plan", [404] = "key", [400] = "" }
      for status, hint in pairs(hints) do
        assert(server:script { { path = EXCHANGE, reply = { status = status,
          headers = { ["x-github-request-id"] = "GH:1" }, body = { message = "No, " .. token() } } } })
        local result, err = copilot({ github_token = token() }):chat "Hi"
        assert.is_nil(result)
        assert.are.equal("AuthenticationError", err.class)
        assert.are.equal("auth", err.kind)
        assert.are.equal(status, err.status_code)
        assert.is_false(err.retryable)
        assert.are.equal("copilot", err.provider)
        assert.are.equal("GH:1", err.request_id)
        assert.is_truthy(err.message:find("HTTP " .. status, 1, true))
        assert.is_truthy(err.message:find("No, [redacted]", 1, true))
        assert.is_truthy(err.message:find(hint, 1, true))
        assert.is_false(shows(err, token()))
      end
      assert.are.equal(4, #requests())
    end)

    it("that fails for the server's sake is tried again as any attempt is", function()
      wait.park = function(thing, seconds)
        if type(thing) ~= "table" then return park(thing, seconds) end
        slept[#slept + 1] = seconds
        return false
      end
      assert(server:script { { path = EXCHANGE, reply = { status = 503 } },
        { path = EXCHANGE, reply = { status = 429, headers = { ["retry-after"] = "7" } } }, { content = "a" } })
      local response = assert(copilot({ github_token = token() }):chat "Hi")
      assert.are.equal("a", response:text())
      assert.are.equal(3, #response.attempts)
      assert.are.equal(7, slept[2])
      assert(server:script { { path = EXCHANGE, reply = { status = 500, body = "broken" } } })
      local result, err = copilot({ github_token = token(2), retry = false }):chat "Hi"
      assert.is_nil(result)
      assert.are.equal("ServerError", err.class)
      assert(server:script { { path = EXCHANGE, reply = { status = 429 } } })
      result, err = copilot({ github_token = token(2), retry = false }):chat "Hi"
      assert.is_nil(result)
      assert.are.equal("RateLimitError", err.class)
    end)

    it("that makes no sense is an error that shows nothing of it", function()
      for _, body in ipairs { "oops tid=secret", "[]", { token = 5 }, { token = "tid=secret\n" }, {},
        { token = core.null } } do
        assert(server:script { { path = EXCHANGE, reply = { body = body } } })
        local result, err = copilot({ github_token = token(), retry = false }):chat "Hi"
        assert.is_nil(result)
        assert.are.equal("ServerError", err.class)
        assert.are.equal("protocol", err.kind)
        assert.is_false(shows(err, "secret"))
      end
    end)

    it("says when chat is switched off", function()
      assert(server:copilot { chat_enabled = false })
      local result, err = copilot({ github_token = token() }):chat "Hi"
      assert.is_nil(result)
      assert.are.equal("AuthenticationError", err.class)
      assert.are.equal("chat_disabled", err.code)
    end)

    it("is not made where the caller gives the header", function()
      assert(server:copilot { github_tokens = { "gho_" .. count } })
      assert(server:script { { content = "a" } })
      local adapter = copilot { headers = { Authorization = "Bearer gho_" .. count } }
      assert.is_true(adapter:authenticated())
      assert.are.equal("a", assert(adapter:chat "Hi"):text())
      assert.are.equal(0, counted().exchanges)
    end)

    it("of kinds of tokens that are not exchanged says so; as key they go in as they are", function()
      assert(server:copilot { github_tokens = { "gho_" .. count, "github_pat_" .. count } })
      local result, err = copilot({ github_token = "gho_" .. count }):chat "Hi"
      assert.is_nil(result)
      assert.are.equal(404, err.status_code)
      assert.is_truthy(err.message:find("give such a one as key", 1, true))
      result, err = copilot({ github_token = "github_pat_" .. count }):chat "Hi"
      assert.is_nil(result)
      assert.are.equal(403, err.status_code)
      assert(server:script { { content = "a" } })
      local adapter = copilot { key = "gho_" .. count }
      assert.is_true(adapter:authenticated())
      assert.is_true(adapter:authenticate())
      assert.are.equal("a", assert(adapter:chat "Hi"):text())
      assert.are.equal(2, counted().exchanges)
    end)
  end)

  describe("the API host", function()
    it("is the one that the exchange names", function()
      assert(server:script { { path = EXCHANGE, reply = { body = { token = "tid=1", endpoints = { api = server.url
        .. "/" } } } } })
      local adapter = copilot { github_token = token() }
      assert.is_true(adapter:authenticate())
      assert.are.equal(server.url, core.state(adapter).auth.prepare(adapter).base_url)
    end)

    it("must be GitHub's", function()
      for _, url in ipairs { "https://evil.example", "http://api.githubcopilot.com",
        "https://githubcopilot.com.evil.example", "https://evil.example/.githubcopilot.com",
        "https://api.githubcopilot.com@evil.example", "ftp://x", "//x",
        "https://xgithubcopilot.com", "https://api.githubcopilot.com\\.evil.example" } do
        local reply = { body = { token = "tid=secret;x=1", endpoints = { api = url } } }
        assert(server:script { { path = EXCHANGE, reply = reply }, { path = EXCHANGE, reply = reply } })
        local given = "ghu_" .. url:gsub("%W", "_")
        local result, err = copilot({ github_token = given, retry = false }):chat "Hi"
        assert.is_nil(result)
        assert.are.equal("protocol", err.kind, url)
        assert.is_truthy(err.message:find("api_base", 1, true))
        assert.is_false(shows(err, "secret"))
        local adapter = copilot { github_token = given, api_base = "https://my.proxy.example/copilot/" }
        assert.are.equal("https://my.proxy.example/copilot", core.state(adapter).auth.prepare(adapter).base_url)
      end
      for _, chat in ipairs(counted().chats) do assert.is_nil(chat) end
    end)

    it("is GitHub's in all its forms", function()
      local public, company, loopback = hosts.of(), hosts.of "Acme.GHE.com", hosts.of "http://127.0.0.1:8080/"
      assert.are.equal(public, hosts.of "https://github.com/")
      assert.are.same({ name = "github.com", login = "https://github.com", api = "https://api.github.com",
        chat = "https://api.githubcopilot.com" }, public)
      assert.are.same({ name = "acme.ghe.com", login = "https://acme.ghe.com", api = "https://api.acme.ghe.com",
        chat = "https://copilot-api.acme.ghe.com" }, company)
      assert.are.same({ name = "127.0.0.1:8080", login = "http://127.0.0.1:8080", api = "http://127.0.0.1:8080",
        chat = "http://127.0.0.1:8080", loopback = true }, loopback)
      local function answers(host, named, held) return (hosts.service(host, named, held or "tid=1")) end
      for _, plan in ipairs { "individual", "business", "enterprise" } do
        local url = ("https://api.%s.githubcopilot.com"):format(plan)
        assert.are.equal(url, answers(public, url))
        assert.are.equal(url,
          answers(public, nil, ("tid=1;exp=2;proxy-ep=proxy.%s.githubcopilot.com;st=x"):format(plan)))
        assert.are.equal(url, answers(company, url .. "/"))
      end
      assert.are.equal("https://x.acme.ghe.com", answers(company, "https://x.acme.ghe.com"))
      assert.is_nil(answers(public, "https://x.acme.ghe.com"))
      assert.is_nil(answers(public, "http://127.0.0.1:8080"))
      assert.is_nil(answers(public, nil, "tid=1;proxy-ep=proxy.evil.example"))
      assert.are.equal("https://127.0.0.1:1", answers(loopback, "https://127.0.0.1:1"))
      assert.are.equal("http://[::1]:8080", answers(loopback, "http://[::1]:8080"))
      assert.are.equal("http://localhost", answers(loopback, "http://localhost/"))
      assert.is_nil(answers(loopback, "http://localhost.evil.example"))
      for _, named in ipairs { 5, "", {}, true } do assert.are.equal(public.chat, answers(public, named)) end
      assert.are.equal(public.chat, answers(public, nil, "tid=1;proxy-ep=other.githubcopilot.com"))
    end)

    it("of enterprises is an option, checked at once", function()
      for _, bad in ipairs { "http://github.com", "ftp://github.com", "git hub.com", "github.com/path",
        "user@github.com", "github", "github.com:443", ".com", "https://x.ghe.com:8443" } do
        assert.are.equal("github_host", raised(copilot, { github_host = bad }).field, bad)
      end
      local adapter = copilot { github_host = "acme.ghe.com", key = "k-1" }
      assert.are.equal("https://copilot-api.acme.ghe.com", core.state(adapter).auth.prepare(adapter).base_url)
      adapter = koine.copilot { model = "gpt-4.1", key = "tid=1;proxy-ep=proxy.business.githubcopilot.com" }
      assert.are.equal("https://api.business.githubcopilot.com", core.state(adapter).auth.prepare(adapter).base_url)
    end)
  end)

  describe("one exchange", function()
    it("serves fifty adapters that share a token file, one after the other", function()
      keep(token())
      assert(server:script "echo")
      for i = 1, 50 do
        local adapter = copilot()
        assert.are.equal("You said: " .. i, assert(adapter:chat(tostring(i))):text())
        adapter:close()
        collectgarbage()
      end
      assert.are.equal(1, counted().exchanges)
      assert.are.equal(50, #counted().chats)
    end)

    it("serves an adapter that slept and one that is new alike", function()
      keep(token())
      assert(server:script "echo")
      local old = copilot()
      assert(old:chat "Hi")
      session.clock = function() return clock() + 2000 end
      assert(server:copilot { token_lifetime = 5000 })
      assert(copilot({ github_token = token(2) }):authenticate()) -- sessions that are over are let go of
      collectgarbage()
      assert(copilot():chat "Hi")
      assert(old:chat "Hi")
      assert.are.equal(3, counted().exchanges) -- one each, and one for the two after the half hour
      assert.are.equal(3, #counted().chats)
    end)

    it("serves fifty coroutines at once", function()
      keep(token())
      assert(server:script "echo")
      local tasks, answers = {}, {}
      for i = 1, 50 do
        tasks[i] = function() answers[i] = assert(copilot():chat(tostring(i))):text() end
      end
      toy_host.run(tasks)
      for i = 1, 50 do assert.are.equal("You said: " .. i, answers[i]) end
      assert.are.equal(1, counted().exchanges)
    end)

    it("that fails fails for all that waited, each with an error of its own", function()
      keep(token())
      assert(server:script { { path = EXCHANGE, reply = { status = 404, body = { message = "no" } },
        fault = { delay_ms = 20 } } })
      local tasks, seen = {}, {}
      for i = 1, 10 do
        tasks[i] = function()
          local result, err = copilot():chat "Hi"
          assert(result == nil and err.status_code == 404)
          seen[err] = (seen[err] or 0) + 1
        end
      end
      toy_host.run(tasks)
      local errors = 0
      for _ in pairs(seen) do errors = errors + 1 end
      assert.are.equal(10, errors)
      assert.are.equal(1, counted().exchanges)
    end)

    it("whose coroutine goes away is taken over by another", function()
      keep(token())
      assert(server:script { { path = EXCHANGE, reply = { body = {} }, fault = { delay_ms = 60000 } },
        { content = "a" } })
      local adapter, answer = copilot(), nil
      local first = coroutine.create(function() adapter:chat "Hi" end)
      wait.set_host { park = function() return coroutine.yield() end, wake = function() end }
      assert(coroutine.resume(first))
      wait.set_host(nil)
      repeat until #requests(EXCHANGE) == 1 -- asking the server drives the other request too
      assert.is_true(coroutine.close(first))
      toy_host.run { function() answer = assert(adapter:chat "Hi"):text() end }
      assert.are.equal("a", answer)
      assert.are.equal(2, counted().exchanges)
    end)

    it("is one login too", function()
      assert(server:copilot { device_flow = { "authorization_pending", { access_token = token() } }, interval = 0.01 })
      assert(server:script "echo")
      local tasks, answers = {}, 0
      for i = 1, 20 do
        tasks[i] = function()
          assert(copilot():chat "Hi")
          answers = answers + 1
        end
      end
      toy_host.run(tasks)
      assert.are.equal(20, answers)
      assert.are.equal(1, #printed)
      local seen = counted()
      assert.are.equal(1, seen.device_codes)
      assert.are.equal(1, seen.exchanges)
    end)

    it("is one per process; the file of two that log in at once is whole", function()
      assert(server:copilot { device_flow = { "authorization_pending", "authorization_pending",
        { access_token = token() } }, interval = 0.01 })
      assert(server:script "echo")
      local code = ([[package.path, package.cpath = %q, %q
        io.stderr = { write = function() end }
        local koine = require "koine"
        for i = 1, 5 do
          local adapter = koine.copilot { model = "gpt-4.1", github_host = %q, token_path = %q,
            min_request_interval = 0 }
          if i == 1 then assert(adapter:authenticate()) end
          print(assert(adapter:chat "Hi"):text())
        end]]):format(package.path, package.cpath, server.url, token_path)
      local children = {}
      for i = 1, 2 do
        children[i] = assert(io.popen(("%s -e '%s'"):format(getenv "KOINE_LUA" or "lua5.4",
          code:gsub("'", "'\\''")), "r"))
      end
      for _, child in ipairs(children) do
        for _ = 1, 5 do assert.are.equal("You said: Hi", child:read "l") end
        assert.is_true(child:close())
      end
      assert.are.equal(token() .. "\n", read_file(token_path))
      assert.are.equal("rw-------", lfs.attributes(token_path, "permissions"))
      assert.is_true(counted().exchanges <= 2)
      for name in lfs.dir(directory .. "/koine") do
        assert.is_truthy(name:find "^%." or name == "copilot_github_token") -- no temporary file is left
      end
    end)
  end)

  describe("logging out", function()
    it("forgets the tokens and removes the file", function()
      keep(token())
      assert(server:script "echo")
      local adapter, other = copilot(), copilot()
      assert(adapter:chat "Hi")
      assert(other:chat "Hi")
      assert.is_nil(adapter:logout())
      assert.is_nil(lfs.attributes(token_path))
      assert.is_false(adapter:authenticated())
      assert.is_false(other:authenticated())
      assert.is_nil(adapter:logout())
      keep(token(2))
      assert(other:chat "Hi")
      assert.are.equal("token " .. token(2), exchanged_with(2))
    end)

    it("leaves what the caller gave", function()
      assert(server:script "echo")
      local adapter = copilot { github_token = token() }
      assert(adapter:chat "Hi")
      assert.is_nil(adapter:logout())
      assert.is_true(adapter:authenticated())
      assert(adapter:chat "Hi")
      assert.are.equal(2, counted().exchanges)
    end)

    it("says when the file stays", function()
      assert(core.file_directory(token_path .. "/full"))
      local ok, err = copilot():logout()
      assert.is_nil(ok)
      assert.is_truthy(err.message:find(token_path, 1, true))
    end)
  end)

  describe("authenticate", function()
    it("asks nobody when all is well", function()
      keep(token())
      local adapter = copilot()
      assert.is_true(adapter:authenticated())
      assert.are.equal(0, #requests())
      for _ = 1, 3 do assert.is_true(adapter:authenticate()) end
      assert.are.equal(1, #requests())
    end)

    it("passes over tokens that GitHub refuses, to a login in the end", function()
      freeze()
      keep "ghu_dead_1"
      environment.GH_COPILOT_TOKEN = "ghu_dead_2"
      local adapter = copilot()
      local result, err = adapter:chat "Hi"
      assert.is_nil(result)
      assert.are.equal(401, err.status_code)
      assert.is_true(adapter:authenticate())
      assert.are.equal(token() .. "\n", read_file(token_path))
      local asked = {}
      for i, request in ipairs(requests(EXCHANGE)) do asked[i] = request.headers.authorization end
      assert.are.same({ "token ghu_dead_1", "token ghu_dead_1", "token ghu_dead_2", "token " .. token() }, asked)
    end)

    it("does not replace a token that the caller gave", function()
      local ok, err = copilot({ github_token = "ghu_dead_3" }):authenticate()
      assert.is_nil(ok)
      assert.are.equal(401, err.status_code)
      assert.are.equal(0, counted().device_codes)
    end)

    it("logs in again when GitHub refuses the token that was good", function()
      freeze()
      keep(token(2))
      local adapter = copilot()
      assert.is_true(adapter:authenticate())
      session.reject(core.state(adapter).login.session, core.state(adapter).login.session.copilot)
      assert(server:copilot { github_tokens = { token() } })
      assert.is_true(adapter:authenticate())
      assert.are.equal(token() .. "\n", read_file(token_path))
    end)

    it("reports what is no refusal", function()
      keep(token())
      assert(server:script { { path = EXCHANGE, reply = { status = 500 } } })
      local ok, err = copilot():authenticate()
      assert.is_nil(ok)
      assert.are.equal("ServerError", err.class)
      assert.are.equal(0, counted().device_codes)
    end)
  end)
end)
