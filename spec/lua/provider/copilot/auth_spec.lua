-- The login of koine.copilot: where GitHub tokens come from, what authenticate and logout do.

local copilot_login = require "spec.lua.provider.copilot.login"
local core = require "koine.core"
local deep = require "spec.support.deep"
local files = require "spec.support.files"
local koine = require "koine"
local lfs = require "lfs"
local raised = require "spec.support.raised"
local api_token = require "koine.provider.auth.copilot.api_token"

local read_file, write_file, shows = files.read, files.write, deep.shows
local EXCHANGE = copilot_login.EXCHANGE

describe("the login of koine.copilot:", function()
  local login = copilot_login.new "auth"
  local token, copilot, requests, counted = login.token, login.copilot, login.requests, login.counted
  local freeze, exchanged_with, keep = login.freeze, login.exchanged_with, login.keep
  local server, environment, directory, token_path, count

  setup(function() server = login.start() end)
  teardown(login.stop)
  before_each(function()
    local test = login.begin()
    environment, directory, token_path, count = test.environment, test.directory, test.token_path, test.count
  end)
  after_each(login.restore)

  describe("GitHub tokens come", function()
    local function editors(name, text)
      assert(core.file_directory(directory .. "/github-copilot"))
      write_file(directory .. "/github-copilot/" .. name .. ".json", text, "644")
    end

    -- Returns the credentials that an adapter with these options sends; the exchange refuses unknown ones.
    local function goes_in_with(options)
      assert(server:reset())
      copilot(options):list_models()
      return exchanged_with(1)
    end

    it("from no file whose path is a token itself: no error shows it", function()
      local secret = "ghp_0123456789abcdef0123456789abcdef"
      for _, name in ipairs { "token_path", "rate_limit_path" } do
        for _, text in ipairs { "{\"oauth_token\": \"" .. secret .. "\"}", secret .. "\n" } do
          local err = raised(copilot, { [name] = text })
          assert.are.equal(name, err.field)
          assert.is_false(shows(err, secret))
        end
      end
      local path = directory .. "/" .. secret .. "/file"
      local _, err = copilot { token_path = path .. ("x"):rep(300) }:list_models()
      assert.are.equal("auth", err.kind)
      assert.is_truthy(err.message:find("token_path", 1, true), err.message)
      assert.is_false(shows(err, secret))
    end)

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
      assert.is_false(adapter:authenticated() and not core.state(adapter).login.account)
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
    it("shows no prompt when the login is good", function()
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
      api_token.reject(core.state(adapter).login.account, core.state(adapter).login.account.token)
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
