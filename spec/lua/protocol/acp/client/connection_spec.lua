-- Connections to agents: how they begin, what is kept of what the agent says about itself, logins, the environment, and
-- how they end.

local core = require "koine.core"
local kit = require "spec.lua.protocol.acp.kit"
local koine = require "koine"
local process_kit = require "spec.lua.system.process_kit"

local raises = process_kit.raises

describe("a connection to an agent", function()
  local bench

  before_each(function() bench = kit.bench() end)
  after_each(function() bench:close() end)

  for name, loop in pairs(kit.all) do
    it("begins, plays a turn and ends in " .. name, function()
      loop(function()
        local session, connection = bench:session ""
        assert.same({ "fake", "1" }, { connection.agent.name, connection.agent.version })
        assert.equal("You said: hello", assert(session:prompt "hello").text)
        session:close()
        assert.equal("cancelled", select(2, session:prompt "again").kind)
        connection:close()
        assert.equal("cancelled", select(2, connection:new()).kind)
      end)
    end)
  end

  it("greets with version 1, Koine's name, and what it can do", function()
    bench:connect ""
    local params = bench:heard("initialize")[1].params
    assert.equal(1, params.protocolVersion)
    assert.same({ "koine", koine.version }, { params.clientInfo.name, params.clientInfo.version })
    assert.same({ fs = { readTextFile = false, writeTextFile = false }, terminal = false,
      session = { configOptions = { boolean = {} } } }, params.clientCapabilities)
  end)

  it("declares files, terminals and questions only where it has them", function()
    local executor <close> = assert(koine.executor { workdir = bench.dir, allowed_tools = { "read_file" } })
    bench:connect("", { executor = executor, on_elicit = function() end })
    local said = bench:heard("initialize")[1].params.clientCapabilities
    assert.same({ { readTextFile = true, writeTextFile = false }, false, { form = {}, url = {} } },
      { said.fs, said.terminal, said.elicitation })
  end)

  it("refuses an agent that speaks another version, and names both", function()
    local none, err = koine.acp.connect(bench:options "agent.init.protocolVersion = 2")
    assert.is_nil(none)
    assert.same({ "protocol", "version" }, { err.kind, err.code })
    assert.is_truthy(err.message:find("version 2", 1, true) and err.message:find("Koine speaks 1", 1, true))
    for _, odd in ipairs { "nil", "null", "'1'", "{}" } do
      assert.equal("version", select(2, koine.acp.connect(bench:options("agent.init.protocolVersion = " .. odd))).code)
    end
  end)

  it("is an error where the program is not there, ends, or is silent", function()
    local _, absent = koine.acp.connect { command = "no-such-agent" }
    assert.same({ "connect", "absent" }, { absent.kind, absent.code })
    assert.is_truthy(absent.message:find("no-such-agent", 1, true))
    local _, gone = koine.acp.connect { command = "sh", args = { "-c", "echo no login here >&2; exit 3" } }
    assert.equal("connect", gone.kind)
    assert.is_truthy(gone.message:find("exit code 3", 1, true) and gone.message:find("no login here", 1, true),
      gone.message)
    local script = "printf 'no key\\nstack traceback:\\n\\t[C]: in ?\\n' >&2; exit 1"
    local _, traced = koine.acp.connect { command = "sh", args = { "-c", script } }
    assert.is_truthy(traced.message:find("it said: no key$"), traced.message)
    local _, silent = koine.acp.connect { command = "sh", args = { "-c", "sleep 60" }, timeout = { start = 0.05 },
      grace = 0.05 }
    assert.equal("timeout", silent.kind)
    local _, babbles = koine.acp.connect { command = "sh", args = { "-c", "while echo no message; do :; done" },
      grace = 0.05 }
    assert.equal("protocol", babbles.kind)
  end)

  describe("knows what the agent can do", function()
    local function can(source)
      local connection = bench:connect("agent.init.agentCapabilities = " .. source)
      local said = connection.capabilities
      local list = {}
      for name, value in pairs(said) do
        if value == true then list[#list + 1] = name end
      end
      table.sort(list)
      return table.concat(list, " ")
    end

    it("where it says so with {} or true, not where that is absent or null", function()
      assert.equal("", can "nil")
      assert.equal("", can "null")
      assert.equal("", can "{}")
      assert.equal("", can "{ loadSession = null, sessionCapabilities = null, promptCapabilities = null }")
      assert.equal("", can "{ loadSession = {}, sessionCapabilities = { resume = null, list = true, close = false } }")
      assert.equal("close list load resume",
        can "{ loadSession = true, sessionCapabilities = { resume = {}, list = {}, close = { a = 1 } } }")
      assert.equal("embedded http image", can [[{ promptCapabilities = { image = true, embeddedContext = true,
        audio = null },
        mcpCapabilities = { http = true } }]])
    end)

    it("and what it lacks is an error that says so", function()
      local connection = bench:connect ""
      for _, how in ipairs { "load", "resume" } do
        local none, err = connection[how](connection, "s1")
        assert.is_nil(none)
        assert.equal("unsupported", err.code)
      end
      assert.equal("unsupported", select(2, connection:list()).code)
      assert.equal("unsupported", select(2, connection:new { directories = { "/tmp" } }).code)
      assert.equal(0, #bench:heard "session/load" + #bench:heard "session/list")
    end)
  end)

  it("lists sessions, page by page", function()
    local connection = bench:connect [[
      agent.init.agentCapabilities = { sessionCapabilities = { list = {} } }
      agent.on["session/list"] = function(params)
        if params.cursor == "2" then return { sessions = array { { sessionId = "b", cwd = "/b" }, "odd" } } end
        return { sessions = array { { sessionId = "a", cwd = params.cwd, title = "A", updatedAt = null } },
          nextCursor = "2" }
      end]]
    assert.same({ { id = "a", cwd = "/x", title = "A" }, { id = "b", cwd = "/b" } },
      assert(connection:list { cwd = "/x" }))
    assert(connection:new()) -- in the same process
    assert.equal(1, #bench:heard "initialize")
  end)

  describe("logs in", function()
    local NEEDS = [[
      agent.init.authMethods = array { { id = "key", name = "API key" }, { id = "tty", name = "Login",
        type = "terminal" } }
      local new, is_in = agent.on["session/new"], false
      agent.on.authenticate = function(params) is_in = params.methodId == "key" return {} end
      agent.on["session/new"] = function(params)
        if not is_in then return nil, { code = -32000, message = "Authentication required" } end
        return new(params)
      end]]

    it("once, with the method that was named, where the agent asks for it", function()
      local session = bench:session(NEEDS, { auth = "key" })
      assert.equal("You said: hi", assert(session:prompt "hi").text)
      assert.equal(1, #bench:heard "authenticate")
    end)

    it("never by itself, and the error names the methods", function()
      local _, err = bench:connect(NEEDS):new()
      assert.same({ "auth", "AuthenticationError" }, { err.kind, err.class })
      assert.is_truthy(err.message:find("key, tty", 1, true))
      assert.equal(0, #bench:heard "authenticate")
    end)

    it("never by a terminal, nor by a method that is not there", function()
      assert.is_truthy(select(2, bench:connect(NEEDS, { auth = "tty" }):new()).message:find("terminal", 1, true))
      assert.is_truthy(select(2, bench:connect(NEEDS, { auth = "no" }):new()).message:find("no login no", 1, true))
      assert.equal(0, #bench:heard "authenticate")
    end)

    it("and does not try again where that changed nothing", function()
      local connection = bench:connect(NEEDS .. "\nagent.on.authenticate = function() return {} end", { auth = "key" })
      assert.equal("auth", select(2, connection:new()).kind)
      assert.equal(1, #bench:heard "authenticate")
    end)

    it("and says why a login failed", function()
      local connection = bench:connect(NEEDS
        .. "\nagent.on.authenticate = function() return nil, { code = -32603, message = 'wrong key' } end",
        { auth = "key" })
      local _, err = connection:new()
      assert.is_truthy(err.message:find("wrong key", 1, true))
    end)
  end)

  describe("gives the agent", function()
    it("no variable of this process but those that logins need, and what is named", function()
      local options = bench:options [[prompt(function(name, id)
        text(id, os.getenv(name) or 'nothing') return 'end_turn' end)]]
      options.env.NAMED = "given"
      local connection <close> = assert(koine.acp.connect(options))
      local session = assert(connection:new())
      for _, name in ipairs { "KOINE_RECORDINGS", "KOINE_LUA", "PWD", "SHELL" } do
        assert.equal("nothing", assert(session:prompt(name)).text)
      end
      assert.equal(os.getenv "HOME", assert(session:prompt "HOME").text)
      assert.equal("given", assert(session:prompt "NAMED").text)
    end)

    it("its secrets, which no error shows", function()
      local options = bench:options [[
        agent.on["session/new"] = function()
          return nil, { code = -32603, message = "bad key " .. os.getenv "MY_API_KEY" .. os.getenv "DB_PASSPHRASE" }
        end]]
      options.env.MY_API_KEY = "hunter2-hunter2"
      options.env.DB_PASSPHRASE = "opensesame"
      local connection <close> = assert(koine.acp.connect(options))
      local _, err = connection:new { mcp_servers = { docs = { command = "/bin/true", env = { T = "topsecret-1" } } } }
      assert.equal("bad key [redacted][redacted]", err.message)
      options.args[2] = options.args[2] .. ".gone"
      options.env.MY_API_KEY = "hunter2-hunter2"
      local _, gone = koine.acp.connect { command = "sh", env = { A_TOKEN = "hunter2-hunter2" },
        args = { "-c", "echo my token is $A_TOKEN >&2; exit 1" } }
      assert.is_nil(gone.message:find("hunter2", 1, true), gone.message)
    end)

    it("MCP servers in the protocol's form", function()
      local connection = bench:connect "agent.init.agentCapabilities = { mcpCapabilities = { http = true } }"
      assert(connection:new { mcp_servers = { { name = "files", command = "sh", args = { "-c", "x" },
        env = { B = "2", A = "1" } }, { name = "web", url = "https://example.org/mcp", headers = { K = "v" } } } })
      local params = bench:heard("session/new")[1].params
      assert.same({ { name = "files", command = params.mcpServers[1].command, args = { "-c", "x" },
        env = { { name = "A", value = "1" }, { name = "B", value = "2" } } },
        { type = "http", name = "web", url = "https://example.org/mcp", headers = { { name = "K", value = "v" } } } },
        { table.unpack(params.mcpServers) })
      assert.equal("/", params.mcpServers[1].command:sub(1, 1))
      assert.equal(bench.dir, params.cwd)
      assert(connection:new())
      assert.equal(core.array_mt, getmetatable(bench:heard("session/new")[2].params.mcpServers))
    end)

    it("no server that it cannot take, or whose program is not there", function()
      local connection = bench:connect ""
      assert.is_truthy(select(2, connection:new { mcp_servers = { web = { url = "https://e.org" } } }).message
        :find("over http", 1, true))
      assert.is_truthy(select(2, connection:new { mcp_servers = { x = { command = "no-such-program" } } }).message
        :find("no-such-program", 1, true))
      raises("mcp_servers.web", function() connection:new { mcp_servers = { web = {} } } end)
      raises("mcp_servers[1].name", function() connection:new { mcp_servers = { { command = "x" } } } end)
    end)
  end)

  it("has one process for each session, or one for all", function()
    local apart = bench:connect ""
    assert(apart:new())
    assert(apart:new())
    assert.equal(2, #bench:heard "initialize")
    local together = bench:connect("", { share = true })
    local one, two = assert(together:new()), assert(together:new())
    assert.equal(3, #bench:heard "initialize")
    assert.same({ "s1", "s2" }, { one.id, two.id })
    one:close()
    assert.equal("You said: x", assert(two:prompt "x").text)
  end)

  it("remembers a secret once, however many sessions of a process have it", function()
    local connection = bench:connect("", { share = true, mcp_servers = {
      docs = { command = "/bin/true", env = { TOKEN = "topsecret-1" } } } })
    local link
    for _ = 1, 10 do link = assert(connection:new()).link end
    local found = 0
    for _, secrets in ipairs { link.peer:secrets(), link.secrets } do
      for _, secret in ipairs(secrets) do found = found + (secret == "topsecret-1" and 1 or 0) end
    end
    assert.equal(1, found)
  end)

  it("tells the lines of the agent's errors, and raises later what a log raised", function()
    local lines, raised = {}, nil
    local connection = bench:connect("io.stderr:write('one\\ntwo\\n')", { share = true, on_log = function(line)
      lines[#lines + 1] = line
      error("no log", 0)
    end })
    repeat
      local ok, session = pcall(connection.new, connection)
      raised = raised or not ok and session
    until raised and #lines == 2
    assert.equal("no log", raised)
    assert.same({ "one", "two" }, lines)
    pcall(connection.new, connection) -- it may be the second line's
    assert.equal("You said: x", assert(assert(connection:new()):prompt "x").text)
  end)

  it("leaves nothing behind when it is closed, whatever the agent ignores", function()
    local connection = bench:connect("", { grace = 0.05 })
    assert(assert(connection:new()):prompt "x")
    connection:close()
    connection:close()
    assert.equal(0, process_kit.supervisors())
    local stubborn = bench:connect("local go = true; while hear() do end; while true do os.execute 'sleep 1' end",
      { grace = 0.05 })
    stubborn:close()
    assert.equal(0, process_kit.supervisors())
  end)

  it("tells the agent that a session is closed, where it wants to know", function()
    local session = bench:session [[agent.init.agentCapabilities = { sessionCapabilities = { close = {} } }
      agent.on["session/close"] = function() return {} end]]
    session:close()
    assert.equal("s1", bench:heard("session/close")[1].params.sessionId)
  end)

  it("survives the task that made it", function()
    local connection, session
    koine.run(function()
      local task = koine.spawn(function()
        connection = bench:connect ""
        session = assert(connection:new())
        koine.sleep(kit.SAFETY)
      end)
      while not session do koine.sleep(0.001) end
      task:cancel()
    end)
    assert.equal("You said: x", assert(session:prompt "x").text)
  end)

  it("refuses wrong options", function()
    local connect = koine.acp.connect
    raises("command", function() connect {} end)
    raises("options", function() connect() end)
    raises("permission", function() connect { command = "x", permission = "maybe" } end)
    raises("timeout.idle", function() connect { command = "x", timeout = { idle = 0 } } end)
    raises("executor", function() connect { command = "x", executor = {} } end)
    raises("directories[1]", function() connect { command = "x", directories = { "a" } } end)
    local err = raises("env.K", function() connect { command = "x", env = { K = 5 } } end)
    assert.is_nil(err.message:find("5", 1, true))
    local connection = bench:connect ""
    raises("id", function() connection:load "" end)
    raises("model", function() connection:new { model = 5 } end)
    assert.is_truthy(select(2, connection:new { cwd = "/no/such/place/at/all" }).message:find("No such", 1, true))
  end)
end)
