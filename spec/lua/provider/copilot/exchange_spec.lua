-- The login of koine.copilot: Copilot tokens for GitHub tokens, the API host that they name, and who shares them.

local copilot_login = require "spec.lua.provider.copilot.login"
local core = require "koine.core"
local deep = require "spec.support.deep"
local files = require "spec.support.files"
local addresses = require "koine.provider.auth.copilot.addresses"
local koine = require "koine"
local lfs = require "lfs"
local raised = require "spec.support.raised"
local api_token = require "koine.provider.auth.copilot.api_token"
local socket = require "socket"
local toy_host = require "spec.lua.task.toy_host"
local wait = require "koine.task.wait"

local read_file, shows = files.read, deep.shows
local EXCHANGE = copilot_login.EXCHANGE

describe("the login of koine.copilot:", function()
  local login = copilot_login.new "exchange"
  local token, copilot, requests, counted, keep = login.token, login.copilot, login.requests, login.counted, login.keep
  local server, directory, token_path, slept, printed, count
  local getenv, park, clock = os.getenv, wait.park, api_token.clock

  setup(function() server = login.start() end)
  teardown(login.stop)
  before_each(function()
    local test = login.begin()
    directory, token_path, printed, count, slept = test.directory, test.token_path, test.printed, test.count, {}
  end)
  after_each(login.restore)

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

    it("ends with the call's total, whatever GitHub does", function()
      local silent = assert(socket.bind("127.0.0.1", 0)) -- accepts no connection
      local adapter = copilot { github_token = token(), timeout = 0.2,
        github_host = "http://127.0.0.1:" .. select(2, silent:getsockname()) }
      local response, err = adapter:chat "Hi"
      assert.is_nil(response)
      assert.are.same({ "timeout", "total" }, { err.kind, err.code })
      silent:close()
    end)

    it("is made again within five minutes of the end", function()
      assert(server:script "echo")
      local adapter = copilot { github_token = token() }
      local start = core.wall()
      assert(adapter:chat "Hi")
      api_token.clock = function() return start + 1195 end
      assert(adapter:chat "Hi")
      assert.are.equal(1, counted().exchanges)
      api_token.clock = function() return start + 1205 end
      assert(adapter:chat "Hi")
      assert.are.equal(2, counted().exchanges)
    end)

    it("takes the lifetime from refresh_in, or supposes one, where expires_at is missing", function()
      for fields, seconds in pairs { [{ refresh_in = 100 }] = 400, [{}] = 1500, [{ expires_at = core.null }] = 1500 } do
        fields.token = "tid=" .. seconds .. count
        assert(server:script { { path = EXCHANGE, reply = { body = fields } } })
        api_token.clock = function() return 5000 end
        local one = api_token.of(addresses.of(server.url), "ghu_" .. tostring(fields))
        local state = core.state(copilot())
        assert.are.equal(5000 + seconds, assert(api_token.access(state, one)).expires)
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
      local public, company = addresses.of(), addresses.of "Acme.GHE.com"
      local loopback = addresses.of "http://127.0.0.1:8080/"
      assert.are.equal(public, addresses.of "https://github.com/")
      assert.are.same({ name = "github.com", login = "https://github.com", api = "https://api.github.com",
        chat = "https://api.githubcopilot.com" }, public)
      assert.are.same({ name = "acme.ghe.com", login = "https://acme.ghe.com", api = "https://api.acme.ghe.com",
        chat = "https://copilot-api.acme.ghe.com" }, company)
      assert.are.same({ name = "127.0.0.1:8080", login = "http://127.0.0.1:8080", api = "http://127.0.0.1:8080",
        chat = "http://127.0.0.1:8080", loopback = true }, loopback)
      local function answers(host, named, held) return (addresses.service(host, named, held or "tid=1")) end
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
      api_token.clock = function() return clock() + 2000 end
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
end)
