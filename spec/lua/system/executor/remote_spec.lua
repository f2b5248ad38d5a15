-- koine.executor.remote: the caller's side of a remote executor, against answers that a real HTTP server plays.

local cli = require "spec.support.cli"
local core = require "koine.core"
local koine = require "koine"
local raised = require "spec.support.raised"

local TOKEN = "tok-executor-5ecret"

describe("koine.executor.remote", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() server:reset() end)

  local function remote(opts)
    opts = opts or {}
    opts.url, opts.token = opts.url or server.url, opts.token or TOKEN
    return koine.executor.remote(opts)
  end

  -- Returns the result of a call of bash when the server's answer is this one.
  local function answered(reply, opts, fault)
    assert(server:script { { path = "/v1/bash", reply = reply, fault = fault } })
    return remote(opts).run("bash", { command = "ls" })
  end

  local function json(body) return { status = 200, body = body } end

  describe("options", function()
    it("name what is wrong, and never show a token", function()
      local bad = {
        { "url", "box:8090" }, { "url", 5 }, { "url", "http://box/?x=1" }, { "url", "http:///v1" }, { "token", 5 },
        { "token", "" }, { "token", "s3cret\n" }, { "timeout", 0 }, { "timeout", 0 / 0 }, { "timeout", "5" },
        { "timeout", math.huge }, { "tokn", "s3cret" },
      }
      for _, case in ipairs(bad) do
        local opts = { url = server.url, token = TOKEN }
        opts[case[1]] = case[2]
        local err = raised(koine.executor.remote, opts)
        assert.are.same({ "ArgumentError", case[1] }, { err.class, err.field })
        assert.is_nil(err.message:find("s3cret", 1, true))
        assert.is_nil(err.message:find(TOKEN, 1, true))
      end
      assert.are.equal("options", raised(koine.executor.remote).field)
    end)

    -- Returns the output of a program in an environment with these variables.
    local function printed(env, source)
      env.PATH, env.LUA_PATH, env.LUA_CPATH = os.getenv "PATH", package.path, package.cpath
      for _, name in ipairs { "LD_PRELOAD", "ASAN_OPTIONS" } do env[name] = os.getenv(name) end
      local done = assert(koine.process.run({ os.getenv "KOINE_LUA" or "lua5.4", "-e",
        "local koine = require 'koine' " .. source }, { env = env, merge = true }))
      return done.stdout
    end

    it("104: url and token may come out of the environment; a given one wins; without them it is wrong use", function()
      assert(server:script { { path = "/v1/bash", reply = json '{"output":"1"}' },
        { path = "/v1/bash", reply = json '{"output":"2"}' } })
      local env = { KOINE_EXECUTOR_URL = server.url, KOINE_EXECUTOR_TOKEN = TOKEN }
      assert.are.equal("1\n", printed(env, "print((koine.executor.remote({}).run('bash', {})))"))
      env.KOINE_EXECUTOR_URL = "http://127.0.0.1:1"
      local given = ("{ url = %q, token = 'given' }"):format(server.url)
      assert.are.equal("2\n", printed(env, ("print((koine.executor.remote(%s).run('bash', {})))"):format(given)))
      local seen = assert(server:requests())
      assert.are.equal("Bearer " .. TOKEN, seen[1].headers.authorization)
      assert.are.equal("Bearer given", seen[2].headers.authorization)
      local get = "local ok, err = pcall(koine.executor.remote, %s) print(err.field)"
      assert.are.equal("url\n", printed({}, get:format "{}"))
      assert.are.equal("token\n", printed({ KOINE_EXECUTOR_TOKEN = "" }, get:format "{ url = 'http://box' }"))
    end)
  end)

  describe("run", function()
    it("104: asks at the tool's path, with the token and the input, on a connection of its own", function()
      assert(server:script { { path = "/v1/bash", reply = json '{"output":"a\\n","exit_code":0}' },
        { path = "/v1/text-editor", reply = json '{"output":"Wrote it."}' },
        { path = "/v1/read-file", reply = json '{"output":"text"}' } })
      local ex = remote { url = server.url .. "/" }
      assert.are.same({ "a\n", { exit_code = 0 } }, { ex.run("bash", { command = "ls" }) })
      assert.are.same({ "Wrote it." }, { ex.run("text_editor", { command = "view", view_range = { 1, -1 } }) })
      assert.are.same({ "text" }, { ex.run "read_file" })
      local seen = assert(server:requests())
      for i, input in ipairs { { command = "ls" }, { command = "view", view_range = { 1, -1 } }, {} } do
        assert.are.same({ "POST", "Bearer " .. TOKEN, "application/json" },
          { seen[i].method, seen[i].headers.authorization, seen[i].headers["content-type"] })
        assert.are.same({ input = input }, core.decode(seen[i].body))
        assert.is_true(i == 1 or seen[i].connection ~= seen[i - 1].connection)
      end
      assert.are.equal('{"input":{}}', seen[3].body)
    end)

    it("104: a denial, and whatever the model did wrong, is a normal answer", function()
      local text, info = answered(json
        '{"output":"Permission denied: no","is_error":true,"blocked":true,"reason":"no"}')
      assert.are.equal("Permission denied: no", text)
      assert.are.same({ is_error = true, blocked = true, reason = "no" }, info)
      assert.are.same({ "Error: no such file" }, { answered(json '{"output":"Error: no such file"}') })
    end)

    it("members of other types count as left out", function()
      assert.are.same({ "x" }, { answered(json
        '{"output":"x","is_error":"yes","blocked":1,"reason":null,"exit_code":"5","more":{}}') })
    end)

    it("a name that is none is answered here", function()
      assert.are.same({ "Unknown tool: ../admin", { is_error = true } }, { remote().run("../admin", {}) })
      assert.are.equal(0, #assert(server:requests()))
    end)

    it("wrong use raises", function()
      local run = remote().run
      assert.are.equal("name", raised(run).field)
      assert.are.equal("input", raised(run, "bash", "ls").field)
    end)
  end)

  describe("trouble of the machine is an error of kind executor:", function()
    local function assert_trouble(text, err, words)
      assert.is_nil(text)
      assert.are.same({ "executor", "Error", false }, { err.kind, err.class, err.retryable })
      assert.is_truthy(err.message:find(words, 1, true), err.message)
      for _, value in pairs(err) do assert.is_nil(tostring(value):find(TOKEN, 1, true)) end
      return err
    end

    it("104: 401", function()
      local text, err = answered { status = 401, body = '{"error":"wrong token ' .. TOKEN .. '"}' }
      assert_trouble(text, err, "wrong token [redacted]")
      assert.are.same({ 401, "auth" }, { err.status_code, err.code })
    end)

    it("any other status but 200", function()
      for _, status in ipairs { 201, 403, 404, 429, 500, 503 } do
        local text, err = answered { status = status, body = '{"output":"x"}' }
        assert.are.equal(status, assert_trouble(text, err, "executor: ").status_code)
      end
    end)

    it("104: refused", function()
      local text, err = remote { url = "http://127.0.0.1:" .. cli.closed_port() }.run("bash", {})
      assert.are.equal("connect", assert_trouble(text, err, "executor: ").code)
    end)

    it("104: too late", function()
      local text, err = answered(json '{"output":"x"}', { timeout = 0.05 }, { stall_after = 0 })
      assert.are.equal("timeout", assert_trouble(text, err, "executor: ").code)
    end)

    it("cut off; and never sent again", function()
      local elsewhere = server.url:gsub("127%.0%.0%.1", "localhost") -- where no connection was kept
      local text, err = answered(json '{"output":"x"}', { url = elsewhere }, { reset_after = 0 })
      assert_trouble(text, err, "executor: ")
      assert.are.equal(1, #assert(server:requests()))
    end)

    it("104: no JSON, no object, no output", function()
      for _, body in ipairs { "", "<html>", '{"output":"x"', '"x"', "5", "null" } do
        local text, err = answered(json(body))
        assert_trouble(text, err, "no JSON object")
      end
      for _, body in ipairs { "{}", "[]", '{"outputs":"x"}',
        '{"output":null}', '{"output":5}', '{"output":{"text":"x"}}' } do
        local text, err = answered(json(body))
        assert_trouble(text, err, "no text in output")
      end
    end)
  end)

  it("a call that is cancelled says so, and hangs up", function()
    assert(server:script { { path = "/v1/bash", reply = json '{"output":"x"}', fault = { stall_after = 0 } } })
    koine.run(function()
      local task = koine.spawn(remote().run, "bash", {})
      while #assert(server:requests()) == 0 do koine.sleep(0.005) end
      task:cancel()
      local _, err = task:wait()
      assert.are.equal("cancelled", err.kind)
    end)
  end)

  it("is an executor: names, tools, close; and does not show its token", function()
    local ex <close> = remote()
    assert.are.same(koine.executor.names, ex.names)
    assert.are.equal("bash", ex:tools()[1].name)
    assert.are.equal("names[1]", raised(ex.tools, ex, { "telepathy" }).field)
    assert.is_nil(tostring(ex):find(TOKEN, 1, true))
    for _, value in pairs(ex) do assert.are_not.equal(TOKEN, value) end
    ex:close()
    ex:close()
  end)
end)
