-- koine.executor.serve: the service of a remote executor, a process of its own, called over HTTP by
-- koine.executor.remote and by hand.

local cli = require "spec.support.cli"
local client = require "spec.support.raw_client"
local core = require "koine.core"
local http = require "koine.net.http"
local kit = require "spec.lua.session.kit"
local koine = require "koine"
local lfs = require "lfs"
local repository = require "spec.lua.system.repository"
local services = require "spec.lua.system.executor.service"
local wait = require "koine.task.wait"

local TOKEN = "tok-service-5ecret"
local raised = kit.raised

describe("koine.executor.serve", function()
  local repo, service

  setup(function()
    repo = repository.with { ["a.txt"] = "a\n" }
    service = services.start(("{ executor = assert(koine.executor { workdir = %q, policy = {} }), token = %q }")
      :format(repo.dir, TOKEN))
  end)
  teardown(function()
    service:stop()
    repo:close()
  end)

  local function remote(opts)
    opts = opts or {}
    opts.url, opts.token = opts.url or service.url, opts.token or TOKEN
    return koine.executor.remote(opts)
  end

  -- A request by hand: status and decoded body.
  local function ask(method, path, headers, body, url)
    local answer = assert(http.send { method = method, url = (url or service.url) .. path, headers = headers,
      body = body, timeouts = { total = 60 } })
    return answer.status, core.decode(answer.body)
  end

  local function bearer(token) return { authorization = "Bearer " .. token } end

  -- Waits until f() holds.
  local function eventually(f)
    local safety = wait.now() + 60
    while not f() and wait.now() < safety do koine.sleep(0.005) end
    assert.is_truthy(f())
  end

  local function until_there(name) eventually(function() return repo:read(name) end) end

  -- Waits until the process whose id is in that file is gone.
  local function until_gone(name)
    local pid = repo:read(name):gsub("\n", "")
    eventually(function() return not os.execute("kill -0 " .. pid .. " 2>/dev/null") end)
  end

  it("108: its health is open", function()
    assert.are.same({ 200, { status = "ok" } }, { ask("GET", "/health") })
  end)

  it("108: a missing or wrong token is rejected, before anything is looked at", function()
    for _, headers in ipairs { {}, bearer "", bearer "wrong", bearer(TOKEN .. "x"), bearer(TOKEN:sub(1, -2)),
      bearer(TOKEN:upper()), { authorization = TOKEN }, { authorization = "Basic " .. TOKEN } } do
      for _, path in ipairs { "/v1/bash", "/v1/read-file", "/v1/telepathy" } do
        local status, body = ask("POST", path, headers, '{"input":{"command":"echo > broken-in","path":"a.txt"}}')
        assert.are.same({ 401, { error = "missing or wrong token" } }, { status, body })
      end
      assert.are.equal(401, (ask("POST", "/v1/bash", headers, "no JSON")))
    end
    assert.is_nil(repo:read "broken-in")
    local _, err = remote { token = "wr0ng-s3cret" }.run("bash", { command = "echo > broken-in" })
    assert.are.same({ "executor", 401 }, { err.kind, err.status_code })
    for _, value in pairs(err) do assert.is_nil(tostring(value):find("wr0ng-s3cret", 1, true)) end
  end)

  it("108: without a token it refuses every request", function()
    local open <close> = services.start(("{ executor = assert(koine.executor { workdir = %q }) }"):format(repo.dir))
    assert.are.equal(200, (ask("GET", "/health", nil, nil, open.url)))
    for _, headers in ipairs { {}, bearer "", bearer "nil" } do
      assert.are.same({ 401, { error = "the service has no token" } },
        { ask("POST", "/v1/bash", headers, '{"input":{"command":"echo > broken-in"}}', open.url) })
    end
    assert.is_nil(repo:read "broken-in")
  end)

  it("the token may come out of the environment", function()
    local from_env <close> = services.start(("{ executor = assert(koine.executor { workdir = %q }) }"):format(repo.dir),
      { KOINE_EXECUTOR_TOKEN = TOKEN })
    assert.are.equal("a\n", (remote { url = from_env.url }.run("read_file", { path = "a.txt" })))
  end)

  it("104: runs both tools of models, and all others, as the executor itself would", function()
    local here <close> = assert(koine.executor { workdir = repo.dir, policy = {} })
    local there = remote()
    for _, call in ipairs {
      { "bash", { command = "echo out; echo err >&2; exit 3" } }, { "bash", { command = "pwd" } },
      { "bash", { restart = true } }, { "bash", {} }, { "bash", { command = "true" } },
      { "text_editor", { command = "view", path = "a.txt", view_range = { 1, -1 } } },
      { "str_replace_based_edit_tool", { command = "view", path = "." } }, { "read_file", { path = "none" } },
      { "list_dir" }, { "grep", { text = "a" } }, { "telepathy", {} }, { "read_file", { path = core.null } },
      { "bash", { command = "printf 'a\\377b\\0c'" } }, { "bash", { command = "echo é", timeout = 1e9 } },
    } do
      local text, info = here.run(call[1], call[2])
      assert.are.same({ text, info and next(info) and info }, { there.run(call[1], call[2]) })
    end
  end)

  it("108: denial and traversal are output", function()
    local strict <close> = services.start(([[{ token = %q, executor = assert(koine.executor { workdir = %q,
      allowed_tools = { "read_file" } }) }]]):format(TOKEN, repo.dir))
    local there = remote { url = strict.url }
    assert.are.same({ "Permission denied: the file .env",
      { is_error = true, blocked = true, reason = "the file .env" } }, { there.run("read_file", { path = ".env" }) })
    assert.are.same({ "Permission denied: tool not allowed",
      { is_error = true, blocked = true, reason = "tool not allowed" } }, { there.run("bash", { command = "ls" }) })
    for _, path in ipairs { "../a", "/etc/passwd", "a/../../b" } do
      local text, info = remote().run("read_file", { path = path }) -- no policy: the file tree itself refuses
      assert.are.equal("Error: ", text:sub(1, 7))
      assert.are.same({ is_error = true }, info)
    end
  end)

  it("108: calls at once keep apart, and do not wait for each other", function()
    local there, jobs = remote(), {}
    for i = 1, 8 do -- each goes on only when the next one has begun
      jobs[i] = function()
        return (there.run("bash", { command = ("echo > began%d; until [ -e began%d ]; do sleep 0.01; done; echo %d")
          :format(i, i % 8 + 1, i) }))
      end
    end
    assert.are.same({ "1\n", "2\n", "3\n", "4\n", "5\n", "6\n", "7\n", "8\n" }, { koine.gather(table.unpack(jobs)) })
  end)

  it("a caller who goes away ends its call, with all that it started; others go on", function()
    koine.run(function()
      local there = remote()
      local left = koine.spawn(there.run, "bash", { command = "sleep 1000 & echo $! > pid; echo > left; wait" })
      local stays = koine.spawn(there.run, "bash", { command = "until [ -e go ]; do sleep 0.01; done; echo stayed" })
      until_there "left"
      left:cancel()
      until_gone "pid"
      repo:write("go", "")
      assert.are.equal("stayed\n", (stays:wait()))
    end)
  end)

  it("answers what it does not understand with a status", function()
    local me = bearer(TOKEN)
    assert.are.equal(404, (ask("GET", "/")))
    assert.are.equal(404, (ask("POST", "/v1/../bash", me, "{}")))
    assert.are.equal(404, (ask("POST", "/v2/bash", me, "{}")))
    assert.are.equal(405, (ask("GET", "/v1/bash", me)))
    assert.are.equal(404, (ask("POST", "/health", me, "{}")))
    for _, body in ipairs { "", "{", "5", '"x"', "null", '{"input":5}', '{"input":null}' } do
      assert.are.equal(400, (ask("POST", "/v1/bash", me, body)), body)
    end
  end)

  it("takes the arguments themselves as well", function()
    local status, body = ask("POST", "/v1/text-editor", bearer(TOKEN), '{"command":"view","path":"a.txt"}')
    assert.are.equal(200, status)
    assert.is_truthy(body.output:find("a", 1, true))
  end)

  it("peers without the token take neither its descriptors nor its memory", function()
    local function descriptors()
      local n = 0
      for _ in lfs.dir(("/proc/%d/fd"):format(service.pid)) do n = n + 1 end
      return n
    end
    local before, silent = descriptors(), {}
    for i = 1, 300 do
      silent[i] = client.connect(service)
      if i % 2 == 0 then assert(silent[i]:send "POST /v1/bash HTTP/1.1\r\nauthorization: Bear") end
    end
    assert.are.equal("a\n", (remote().run("read_file", { path = "a.txt" })))
    assert.is_true(descriptors() <= before + 66)
    for _, tcp in ipairs(silent) do tcp:close() end
    local tcp = client.connect(service)
    assert(tcp:send(client.head("POST", "/v1/bash", { ["content-length"] = 60 << 20 }))) -- and no body
    assert.are.equal(401, client.receive(tcp).status)
    tcp:close()
  end)

  it("trouble of its executor is trouble of the caller's", function()
    local broken <close> = services.start(([[{ token = %q, executor = { run = function(name)
      if name == "raises" then error("it raised", 0) end
      if name == "fails" then return nil, koine.errors.new { kind = "executor", message = "it failed" } end
      if name == "tells" then return "told", { is_error = true, reason = 5, more = print } end
    end } }]]):format(TOKEN))
    local there = remote { url = broken.url }
    for name, words in pairs { raises = "it raised", fails = "it failed", babbles = "gave no text" } do
      local text, err = there.run(name, {})
      assert.is_nil(text)
      assert.are.same({ "executor", 500 }, { err.kind, err.status_code })
      assert.is_truthy(err.message:find(words, 1, true), err.message)
    end
    assert.are.same({ "told", { is_error = true, reason = "5" } }, { there.run("tells", {}) })
  end)

  it("a session works through it", function()
    local result = koine.session.run(kit.play {
      { content = { kit.bash("c1", "echo made > made.txt; cat made.txt"),
        kit.call("c2", "edit_file", { path = "a.txt", old_str = "a", new_str = "b" }),
        kit.call("c3", "read_file", { path = "../x" }) } }, { content = "Done." } },
      kit.inputs(repo.dir, { executor = remote(), allowed_tools = { "bash", "edit_file", "read_file" } }))
    assert.are.same({ "completed", nil }, { result.outcome, result.reason })
    assert.are.equal("made\n", result.events[4].content)
    assert.are.same({ "a.txt", "made.txt" }, result.artifacts)
    assert.is_true(result.events[6].is_error)
    repo:git("checkout", "--quiet", ".")
  end)

  it("a session whose service is gone ends with an error, and says nothing secret", function()
    local gone = remote { url = "http://127.0.0.1:" .. cli.closed_port() }
    local result = koine.session.run(kit.play { { content = { kit.bash("c1", "ls") } } },
      kit.inputs(repo.dir, { executor = gone, allowed_tools = { "bash" } }))
    assert.are.same({ "error", "executor" }, { result.outcome, result.error.kind })
    assert.is_nil(core.encode(require("koine.data.records").to_table(result)):find(TOKEN, 1, true))
  end)

  it("ends in order when it is told to, also with a call under way", function()
    for _, name in ipairs { "TERM", "INT" } do
      local short = services.start(("{ executor = assert(koine.executor { workdir = %q }), token = %q }")
        :format(repo.dir, TOKEN))
      koine.run(function()
        local mark = "under-way-" .. name
        local task = koine.spawn(remote { url = short.url }.run, "bash",
          { command = ("sleep 1000 & echo $! > %s.pid; echo > %s; wait"):format(mark, mark) })
        until_there(mark)
        assert.are.same({ true, "exit", 0 }, { short:stop(name) })
        local _, err = task:wait()
        assert.are.equal("executor", err.kind)
        until_gone(mark .. ".pid")
      end)
    end
  end)

  it("listens where it is told", function()
    local there <close> = services.start(([[{ address = "127.0.0.2",
      executor = assert(koine.executor { workdir = %q }) }]]):format(repo.dir))
    assert.are.equal("http://127.0.0.2:" .. there.port, there.url)
    assert.are.equal(200, (ask("GET", "/health", nil, nil, there.url)))
  end)

  it("wrong use raises; a port that is taken is nil, err", function()
    local executor = { run = print }
    for _, case in ipairs { { "executor", {} }, { "executor" }, { "port", "80" }, { "port", 70000 }, { "port" },
      { "token", "" }, { "token", "s3cret\n" }, { "address", 5 }, { "tokn", "x" } } do
      local opts = { executor = executor, port = 0, token = TOKEN }
      opts[case[1]] = case[2]
      local err = raised(koine.executor.serve, opts)
      assert.are.same({ "ArgumentError", case[1] }, { err.class, err.field })
      assert.is_nil(err.message:find("s3cret", 1, true))
    end
    local ok, err = koine.executor.serve { executor = executor, port = service.port, token = TOKEN }
    assert.is_nil(ok)
    assert.is_truthy(err.message:find(("127.0.0.1:%d: EADDRINUSE"):format(service.port), 1, true), err.message)
  end)
end)
