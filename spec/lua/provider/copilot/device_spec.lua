-- The login of koine.copilot: the device flow.

local copilot_login = require "spec.lua.provider.copilot.login"
local core = require "koine.core"
local deep = require "spec.support.deep"
local files = require "spec.support.files"
local koine = require "koine"
local lfs = require "lfs"
local wait = require "koine.task.wait"

local read_file, write_file, shows = files.read, files.write, deep.shows
local CODE, ACCESS = copilot_login.CODE, copilot_login.ACCESS

describe("the login of koine.copilot:", function()
  local login = copilot_login.new "device"
  local token, copilot, requests, counted = login.token, login.copilot, login.requests, login.counted
  local exchanged_with = login.exchanged_with
  local server, directory, token_path, slept, printed
  local park = wait.park

  setup(function() server = login.start() end)
  teardown(login.stop)
  before_each(function()
    local test = login.begin()
    directory, token_path, printed, slept = test.directory, test.token_path, test.printed, {}
  end)
  after_each(login.restore)

  local function freeze() login.freeze(function(seconds) slept[#slept + 1] = seconds end) end

  describe("the device flow", function()
    local FORM = "^client_id=([^&]+)&(.*)$"

    it("ends with the total of the call that needs it", function()
      assert(server:copilot { device_flow = { "authorization_pending" } })
      local response, err = copilot { timeout = 0.2, on_device_code = function() end }:chat "Hi"
      assert.is_nil(response)
      assert.are.same({ "timeout", "total", false }, { err.kind, err.code, err.retryable })
      assert.is_truthy(err.message:find("authenticate()", 1, true))
      assert.are.equal(0, #requests(ACCESS))
    end)

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
        { device_code = "device-code-2", user_code = "U", verification_uri = "https://x/\27[2J" },
        { device_code = "device-code-2", user_code = "\u{202E}U", verification_uri = "https://x" },
        { device_code = "device-code-2", user_code = "U", verification_uri = "https://x/\u{9B}2J" } } do
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

    it("asks for no longer than an hour, whatever GitHub says", function()
      for _, said in ipairs { 1e9, 1e300, 3601 } do
        slept = {}
        freeze()
        local shown
        assert(server:script { { path = CODE, reply = { body = { device_code = "device-code-3", user_code = "U",
          verification_uri = "https://x", interval = 1e9, expires_in = said } } } })
        local ok, err = copilot({ on_device_code = function(code) shown = code.expires_in end }):authenticate()
        assert.is_nil(ok)
        assert.are.equal("expired_token", err.code)
        assert.are.equal(3600, shown)
        local total = 0
        for _, seconds in ipairs(slept) do total = total + seconds end
        assert.is_true(total <= 3601, total)
      end
    end)

    it("keeps no token that it could not read again", function()
      freeze()
      for length, kept in pairs { [4095] = true, [4096] = false, [5000] = false } do
        local long = "ghu_" .. ("x"):rep(length - 4)
        os.remove(token_path)
        assert(server:script { { path = CODE, reply = { body = { device_code = "device-code-4", user_code = "U",
          verification_uri = "https://x" } } }, { path = ACCESS, reply = { body = { access_token = long } } } })
        local ok, err = copilot():authenticate()
        assert.are.equal(kept, lfs.attributes(token_path) ~= nil)
        if kept then assert.are.equal(long .. "\n", read_file(token_path)) end
        if not kept then
          assert.is_nil(ok)
          assert.are.equal("AuthenticationError", err.class)
          assert.is_truthy(err.message:find(length .. " bytes", 1, true))
        end
      end
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

    it("shows nothing of a code or a token that an answer holds, whatever else it is", function()
      freeze()
      local code, other = "device-code-which-is-secret", "ghu_another-secret-token"
      local many = {}
      for i = 1, 40 do many[("code%d"):format(i)] = ("a-code-of-many-%d"):format(i) end
      for _, answer in ipairs {
        { status = 403, body = { device_code = code, access_token = other, message = code .. " " .. other } },
        { status = 500, body = "device_code=" .. code .. "&access_token=" .. other .. "&x=1" },
        { status = 200, body = { device_code = code, error = "bad", error_description = "no " .. code } },
        { status = 404, body = '{"device_code": "' .. code .. '", "nested": {"refresh_token" : "' .. other .. '"}} x' },
      } do
        assert(server:script { { path = CODE, reply = answer } })
        local ok, err = copilot():authenticate()
        assert.is_nil(ok)
        assert.is_false(shows(err, code))
        assert.is_false(shows(err, other))
        answer.status = answer.status == 200 and 201 or answer.status
        assert(server:script { { path = CODE, reply = { body = { device_code = "device-code-5", user_code = "U",
          verification_uri = "https://x" } } }, { path = ACCESS, reply = answer }, { path = ACCESS, reply = answer },
          { path = ACCESS, reply = answer }, { path = ACCESS, reply = answer } })
        ok, err = copilot():authenticate()
        assert.is_nil(ok)
        assert.is_false(shows(err, other))
      end
      assert(server:script { { path = CODE, reply = { status = 403, body = many } } })
      assert.are.equal("AuthenticationError", select(2, copilot():authenticate()).class)
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
end)
