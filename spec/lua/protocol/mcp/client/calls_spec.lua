-- Calls of tools on real programs: results, errors, time limits, how many run at once, and a server that ends.

local core = require "koine.core"
local kit = require "spec.lua.protocol.mcp.kit"
local koine = require "koine"
local wait = require "koine.task.wait"

local ERAS = { "modern", "legacy" }

describe("a call", function()
  local client

  local function connect(script, opts)
    client = assert(kit.connect(script, opts))
    return client
  end

  after_each(function()
    if client then client:close() end
    client = nil
  end)

  for _, era in ipairs(ERAS) do
    it("returns all that the server said in the " .. era .. " era", function()
      connect([[
        function tools.all() return { content = array { { type = "text", text = "a" }, { type = "new", x = null } },
          structuredContent = { big = 1 << 60, none = null, empty = array {} }, isError = true, _meta = { k = 1 },
          resultType = "complete" } end
        function tools.nothing() return { structuredContent = null } end
      ]], { era = era })
      local r = assert(client:call "all")
      assert.same({ "a", "new", core.null }, { r.content[1].text, r.content[2].type, r.content[2].x })
      local said = r.structured
      assert.same({ 1 << 60, core.null, "[]" }, { said.big, said.none, core.encode(said.empty) })
      assert.same({ true, 1 }, { r.is_error, r.meta.k })
      r = assert(client:call "nothing")
      assert.same({ 0, nil, false }, { #r.content, r.structured, r.is_error })
    end)

    it("sends the arguments unchanged in the " .. era .. " era", function()
      connect("", { era = era })
      local arguments = { n = core.null, big = 1 << 60, list = core.array {}, t = {} }
      local text = kit.text_of(assert(client:call("echo", arguments)))
      assert.equal('{"big":1152921504606846976,"list":[],"n":null,"t":{}}', text)
      assert.equal("{}", kit.text_of(assert(client:call "echo")))
      assert.equal(text, kit.text_of(assert(client:call("echo", (text:gsub(",", ",\n", 1))))))
      for _, wrong in ipairs { "[1]", "{", "1", "", core.array {} } do
        assert.equal("arguments", kit.raises("arguments", function() client:call("echo", wrong) end).field)
      end
    end)
  end

  it("has the kinds and codes of errors", function()
    connect [[
      for _, code in ipairs { -32602, -32601, -32603, -32000, -32019, 7 } do
        tools["e" .. code] = function() return nil, code, "why " .. code end
      end
      function tools.capability()
        return nil, -32021, "no", { requiredCapabilities = { elicitation = { form = {} } } }
      end
      function tools.url()
        return nil, -32042, "open", { elicitations = array { { url = "https://a.b/c" }, { url = "file:///etc" }, 1 } }
      end
      tools.list = function(_, request) answer(request, array {}) end
      tools.content = function() return { content = {} } end
      tools.odd = function() return { resultType = "task" } end
      tools.malformed = function(_, request) say { jsonrpc = "2.0", id = request.id, error = "no" } end
    ]]
    local function err_of(name)
      local r, err = client:call(name)
      assert.is_nil(r)
      assert.same({ "fake", false }, { err.server, err.retryable })
      return err
    end
    for code, kind in pairs { ["-32602"] = "invalid_request", ["-32601"] = "not_found", ["-32603"] = "server",
      ["-32000"] = "server", ["-32019"] = "server", ["7"] = "server" } do
      local err = err_of("e" .. code)
      assert.same({ kind, code }, { err.kind, err.code })
      if code ~= "7" then assert.equal(("fake: MCP error %s: why %s"):format(code, code), err.message) end
    end
    local err = err_of "capability"
    assert.same({ "RequestError", "-32021" }, { err.class, err.code })
    assert.same({}, err.required.elicitation.form)
    err = err_of "url"
    assert.same({ "RequestError", { "https://a.b/c" } }, { err.class, err.urls })
    for _, name in ipairs { "list", "content", "odd", "malformed" } do
      assert.same({ "protocol", "ServerError" }, { err_of(name).kind, err_of(name).class }, name)
    end
    assert.truthy(client:call "echo")
  end)

  it("raises for wrong use", function()
    connect ""
    kit.raises("name", client.call, client)
    kit.raises("arguments", client.call, client, "echo", "text")
    kit.raises("timeuot", client.call, client, "echo", {}, { timeuot = 1 })
    kit.raises("command", koine.mcp.connect, { name = "x" })
    kit.raises("command", koine.mcp.connect, { name = "x", command = "y", url = "http://z" })
    kit.raises("name", koine.mcp.connect, { command = "x" })
    local err = kit.raises("env", koine.mcp.connect, { name = "x", command = "y", env = "s3cr3t-s3cr3t-s3cr3t" })
    assert.is_nil(err.message:find "s3cr3t")
  end)

  it("after the client was closed fails, and closing again does nothing", function()
    connect ""
    client:close()
    client:close()
    assert.equal("cancelled", select(2, client:call "echo").kind)
    assert.equal("koine.mcp.client (fake, closed)", tostring(client))
  end)

  for name, loop in pairs(kit.all) do
    it("ends by its limits, is taken back, and lives by progress in " .. name, function()
      loop(function()
        connect [[
          tools.silent = function() end
          tools.steps = function(_, request)
            for i = 1, 4 do
              sleep "0.05"
              progress(request, i, 4)
            end
            return text "done"
          end
        ]]
        local _, err = client:call("silent", {}, { idle = 0.03 })
        assert.same({ "timeout", "idle", "ConnectionError" }, { err.kind, err.code, err.class })
        _, err = client:call("silent", {}, { timeout = 0.03 })
        assert.same({ "timeout", "total" }, { err.kind, err.code })
        local steps = {}
        local r = assert(client:call("steps", {}, { idle = 0.15, on_progress = function(p) steps[#steps + 1] = p end }))
        assert.equal("done", kit.text_of(r))
        assert.same({ { progress = 1, total = 4, message = "step 1" } }, { steps[1] })
        assert.equal(4, #steps)
        _, err = client:call("steps", {}, { idle = 10, timeout = 0.08 })
        assert.same({ "timeout", "total" }, { err.kind, err.code })
        local cancelled = kit.heard_of(client, "notifications/cancelled")
        local calls = kit.heard_of(client, "tools/call")
        assert.equal(3, #cancelled)
        assert.equal(calls[1].id, cancelled[1].params.requestId)
        client:close()
      end)
    end)
  end

  it("that is cancelled is taken back", function()
    connect "tools.silent = function() end"
    koine.run(function()
      local task = koine.spawn(function() return client:call "silent" end)
      koine.timeout(0.05, function() return client:call "silent" end)
      task:cancel()
    end)
    assert.equal(2, #kit.heard_of(client, "notifications/cancelled"))
  end)

  for name, loop in pairs(kit.loops) do
    it("waits for its turn where many run in " .. name, function()
      local most, running, n, functions = 0, 0, 0, {}
      connect([[
        local waiting = {}
        tools.slow = function(_, request)
          waiting[#waiting + 1] = request
          notify("notifications/message", { data = "begun" })
          if #waiting == 3 or core.encode(request.params.arguments) == '{"last":true}' then
            for _, one in ipairs(waiting) do answer(one, text "done") end
            waiting = {}
          end
        end
      ]], { concurrency = 3 })
      for i = 1, 12 do
        functions[i] = function()
          running = running + 1
          most = math.max(most, client.connection.slots.taken)
          assert(client:call("slow", {}))
          n = n + 1
        end
      end
      loop(table.unpack(functions))
      assert.same({ 12, 12, 0 }, { n, running, client.connection.slots.taken })
      assert.is_true(most <= 3, most)
      client:close()
    end)

    it("that comes while others run gets its own answer in " .. name, function()
      connect [[
        local first
        tools.pair = function(arguments, request)
          if not first then first = { arguments.n, request } return end
          answer(request, text(tostring(arguments.n)))
          answer(first[2], text(tostring(first[1])))
          first = nil
        end
      ]]
      local functions = {}
      for i = 1, 8 do
        functions[i] = function()
          assert.equal(tostring(i), kit.text_of(assert(client:call("pair", { n = i }))))
        end
      end
      loop(table.unpack(functions))
      client:close()
    end)
  end

  it("finds its answer among all that a server may say besides", function()
    connect [[
      function tools.noisy(_, request)
        for i = 1, 2000 do notify("notifications/message", { data = "line " .. i }) end
        for i = 1, 50 do
          notify("notifications/unknown", { i })
          notify("notifications/progress", { progressToken = "none", progress = i })
          say { jsonrpc = "2.0", id = request.id + 1000 + i, result = {} }
          say { jsonrpc = "2.0", id = tostring(request.id), result = {} }
          say "  no message"
        end
        say { jsonrpc = "2.0", id = 0, method = "no/such", params = {} }
        return text "found"
      end
    ]]
    assert.equal("found", kit.text_of(assert(client:call "noisy")))
    assert.equal("{}", kit.text_of(assert(client:call "echo")))
    local refused = kit.heard(client)
    local codes = {}
    for _, message in ipairs(refused) do codes[#codes + 1] = message.error and message.error.code end
    assert.same({ -32601 }, codes)
  end)

  it("hears of what a callback raised", function()
    connect([[
      function tools.talks() log "a line" return text "said" end
      function tools.steps(_, request) progress(request, 1) return text "done" end
    ]], { on_log = function() error("no such log", 0) end })
    local ok, err
    repeat ok, err = pcall(client.call, client, "talks") until not ok -- the line may come behind the answer
    assert.equal("no such log", err)
    assert.is_false(pcall(client.call, client, "steps", {}, { on_progress = function() error "no" end }))
  end)

  it("tells on_log of lines and messages, without a secret", function()
    local lines, messages = {}, {}
    connect([[
      function tools.talks()
        log("token " .. os.getenv "FAKE_TOKEN")
        notify("notifications/message", { level = "info", data = { a = "sesame-open" } })
        notify("notifications/message", { level = "info", logger = "sesame-open", data = "plain" })
        notify("notifications/message", { level = "info", data = ("x"):rep(65530) .. "sesame-open" })
        os.exit(1)
      end
    ]], { env = { FAKE_TOKEN = "sesame-open" }, on_log = function(line, message)
      lines[#lines + 1] = line:gsub("xx+", "x") .. " " .. (message and message.level or "-")
      messages[#messages + 1] = message
    end })
    local _, err = client:call "talks"
    table.sort(lines)
    assert.same({ "plain info", "token [redacted] -", "x[redac info", '{"a":"[redacted]"} info' }, lines)
    assert.same({ { a = "[redacted]" }, "[redacted]" }, { messages[1].data, messages[2].logger })
    assert.is_nil(core.encode(core.array(messages)):find "sesame")
    assert.equal("fake: the server ended (exit code 1): token [redacted]", err.message)
  end)

  it("gives the program no other variable of ours", function()
    connect [[
      function tools.env()
        local names = {}
        for line in io.popen "env":lines() do names[#names + 1] = line:match "^([%w_]+)=" end
        return text(table.concat(names, " ") .. " ")
      end
    ]]
    local known = { PATH = true, HOME = true, LANG = true, LC_ALL = true, TERM = true, TMPDIR = true, TZ = true,
      USER = true, LOGNAME = true, SHELL = true, LUA_PATH = true, LUA_CPATH = true, LD_PRELOAD = true,
      ASAN_OPTIONS = true, PWD = true, OLDPWD = true, _ = true, SHLVL = true }
    for name in kit.text_of(assert(client:call "env")):gmatch "(%S+) " do assert.is_true(known[name], name) end
  end)
end)

describe("a server that ends", function()
  local client

  after_each(function()
    if client then client:close() end
    client = nil
  end)

  for _, era in ipairs(ERAS) do
    for name, loop in pairs(kit.all) do
      it(("is started again, three times in a minute, in the %s era in %s"):format(era, name), function()
        loop(function()
          client = assert(kit.connect("", { era = era }))
          for _ = 1, 4 do
            assert.equal("{}", kit.text_of(assert(client:call "echo")))
            local _, err = client:call "die"
            assert.same({ "connect", "closed", "ConnectionError" }, { err.kind, err.code, err.class })
            assert.equal("fake: the server ended (exit code 7): I am gone", err.message)
          end
          local _, err = client:call "echo"
          assert.equal("fake: the server ended (exit code 7): I am gone", err.message)
          client:close()
        end)
      end)
    end
  end

  for name, loop in pairs(kit.all) do
    it("and is silent when it is started again takes no longer than a call has, in " .. name, function()
      loop(function()
        local mark = os.tmpname()
        client = assert(kit.connect(([[
          local file = io.open(%q)
          if file:read(1) then repeat until not hear() end
          io.open(%q, "w"):write("once"):close()
        ]]):format(mark, mark), { era = "legacy", timeout = { connect = 5 } }))
        client:call "die"
        local begun = wait.now()
        local _, err = client:call("echo", {}, { timeout = 0.1 })
        assert.same({ "timeout", "total", "fake" }, { err.kind, err.code, err.server })
        assert.is_true(wait.now() - begun < 4)
        client:close()
        os.remove(mark)
      end)
    end)
  end

  it("between two calls costs none of them", function()
    client = assert(kit.connect "function tools.later() return text(tostring(io.popen 'echo $PPID':read 'n')) end")
    local pid = kit.text_of(assert(client:call "later"))
    os.execute("kill -9 " .. pid)
    repeat until not os.execute(("kill -0 %s 2>/dev/null"):format(pid))
    assert.not_equal(pid, kit.text_of(assert(client:call "later")))
  end)

  for name, loop in pairs(kit.loops) do
    it("fails all that is pending, and is started once in " .. name, function()
      client = assert(kit.connect [[
        local n = 0
        function tools.wait()
          n = n + 1
          if n == 3 then tools.die() end
        end
      ]])
      local kinds, functions = {}, {}
      for i = 1, 3 do
        functions[i] = function()
          kinds[i] = select(2, client:call "wait").kind
          assert(client:call "echo")
        end
      end
      loop(table.unpack(functions))
      assert.same({ "connect", "connect", "connect" }, kinds)
      assert.equal(1, #client.connection.starts)
      client:close()
    end)
  end

  it("is an error of kind executor where that was asked for", function()
    client = assert(kit.connect("", { fatal = true }))
    assert.equal("executor", select(2, client:call "die").kind)
  end)

  it("says too much on one line, and is ended", function()
    client = assert(kit.connect [[
      function tools.flood() for _ = 1, 33 do io.write(("x"):rep(1 << 20)) end say "" end
    ]])
    assert.equal("limit", select(2, client:call "flood").kind)
    assert(client:call "echo")
  end)

  it("outlives the task that connected, and ends with the client", function()
    koine.run(function()
      local task = koine.spawn(function()
        client = assert(kit.connect "tools.pid = function() return text(tostring(io.popen 'echo $PPID':read 'n')) end")
        koine.sleep(60)
      end)
      while not client do koine.sleep(0.001) end
      task:cancel()
    end)
    local pid = kit.text_of(assert(client:call "pid"))
    assert.is_true(os.execute("kill -0 " .. pid))
    assert.same({}, client.connection.starts) -- it is the program that the task started
    client = nil
    repeat collectgarbage() koine.pump(0.01) until not os.execute(("kill -0 %s 2>/dev/null"):format(pid))
  end)
end)
