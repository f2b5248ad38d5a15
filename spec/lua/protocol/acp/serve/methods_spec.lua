-- What an editor may ask of a served agent besides turns: the beginning, sessions that are kept, modes, options,
-- logins, and what it does itself: files, terminals, MCP servers. Numbers are those of the plan of tests.

local core = require "koine.core"
local folder = require "spec.support.folder"
local kit = require "spec.lua.protocol.acp.serve.kit"
local koine = require "koine"
local saved = require "koine.protocol.acp.serve.saved"
local search_path = require "spec.support.search_path"

local calls, text = kit.calls, kit.text
local NONE = core.array {}
local LUA, HERE = arg and arg[-1] or "lua5.4", require("lfs").currentdir()

describe("a served agent", function()
  local dir

  before_each(function() dir = folder.new() end)
  after_each(function() folder.remove(dir) end)

  local function said(text_of) return { { type = "text", text = text_of } } end

  it("[27] says what it can, and begins with initialize", function()
    local editor <close> = kit.open { serve = { name = "mine", version = "2.0" } }
    local can = editor.initialized.agentCapabilities
    assert.same({ 1, "mine", "2.0", false, true, true, false }, { editor.initialized.protocolVersion,
      editor.initialized.agentInfo.name, editor.initialized.agentInfo.version, can.loadSession,
      can.promptCapabilities.image, can.promptCapabilities.embeddedContext, can.promptCapabilities.audio })
    assert.is_nil(can.sessionCapabilities.list)
    assert.equal(core.array_mt, getmetatable(editor.initialized.authMethods))
    assert.equal(1, editor:ask("initialize", { protocolVersion = 7 }).protocolVersion)
    for _, version in ipairs { 0, "2024-11-05", 1.5 } do
      assert.equal(-32602, (editor:refused("initialize", { protocolVersion = version })))
    end
    for _, method in ipairs { "session/list", "session/load", "logout", "session/fork", "x" } do
      assert.equal(-32601, (editor:refused(method, {})))
    end
  end)

  it("[27] refuses what is wrong with a code and its reason", function()
    local editor <close> = kit.open { steps = { text "ok" } }
    local id = editor:session()
    for _, bad in ipairs {
      { -32602, "session/new", { cwd = "relative", mcpServers = NONE }, "absolute" },
      { -32602, "session/new", { mcpServers = NONE }, "absolute" },
      { -32602, "session/new", { cwd = dir .. "/none", mcpServers = NONE }, "no directory" },
      { -32002, "session/prompt", { sessionId = "none", prompt = said "x" }, "session" },
      { -32002, "session/close", { sessionId = 3 }, "session" },
      { -32602, "session/prompt", { sessionId = id }, "prompt" },
      { -32602, "session/prompt", { sessionId = id, prompt = NONE }, "prompt" },
      { -32602, "session/prompt", { sessionId = id, prompt = { { type = "audio", data = "", mimeType = "a/b" } } },
        "audio" },
      { -32602, "session/prompt", { sessionId = id, prompt = { { type = "text" } } }, "text" },
      { -32602, "session/prompt", { sessionId = id, prompt = { { type = "image", data = "?",
        mimeType = "image/png" } } }, "base64" },
      { -32602, "session/set_mode", { sessionId = id, modeId = "x" }, "no modes" },
      { -32602, "session/set_config_option", { sessionId = id, configId = "x", value = "y" }, "no such option" },
      { -32602, "authenticate", { methodId = "x" }, "log in" },
    } do
      local code, words = editor:refused(bad[2], bad[3])
      assert.same({ bad[1], true }, { code, words:find(bad[4], 1, true) ~= nil }, words)
    end
    assert.equal("end_turn", editor:prompt(id, "still there"))
    assert.same({}, editor:ask("session/close", { sessionId = id }))
    assert.equal(-32002, (editor:refused("session/prompt", { sessionId = id, prompt = said "x" })))
  end)

  it("[27] takes text, images, files and links", function()
    local editor <close> = kit.open { store = dir .. "/store", steps = { text "ok" } }
    local id = editor:session(dir)
    editor:ask("session/prompt", { sessionId = id, prompt = { { type = "text", text = "See:" },
      { type = "image", data = "iVBORw0KGgo=", mimeType = "image/png" },
      { type = "resource", resource = { uri = "file:///a%20b.lua", text = "return 1" } },
      { type = "resource", resource = { uri = "file:///c.pdf", blob = "JVBERi0=", mimeType = "application/pdf" } },
      { type = "resource_link", uri = "file:///d.txt", name = "d.txt" } } })
    editor.told = {}
    editor:ask("session/load", { sessionId = id, cwd = dir, mcpServers = NONE })
    local told = {}
    for _, one in ipairs(editor.told) do
      if one.update.sessionUpdate == "user_message_chunk" then
        told[#told + 1] = one.update.content.text or one.update.content.mimeType
      end
    end
    assert.same({ "See:", "image/png", '<file path="/a b.lua">\nreturn 1\n</file>', "[/c.pdf]",
      "[d.txt](file:///d.txt)" }, told)
  end)

  it("[35] loads a session after a restart, with the same text, and goes on", function()
    local config = { store = dir .. "/store", tools = { "look" }, steps = { { type = "tool_calls", thinking = "Hm.",
      content = "I look.", tool_calls = { { id = "c1", name = "look", arguments = { what = "a" } } } }, text "Seen." } }
    local function told_of(editor)
      local kinds = {}
      for _, kind in ipairs { "agent_message_chunk", "agent_thought_chunk" } do kinds[kind] = editor:said(kind) end
      kinds.calls = editor:statuses():gsub("c1 in_progress, ", "")
      return kinds
    end
    local before, id
    do
      local editor <close> = kit.open(config)
      id = editor:session(dir)
      editor:prompt(id, "Look at it.")
      before = told_of(editor)
      editor:finish()
    end
    local editor <close> = kit.open { store = dir .. "/store", tools = { "look" }, steps = { text "Again." } }
    local list = editor:ask("session/list", { cwd = dir }).sessions
    assert.same({ id, dir, "Look at it." }, { list[1].sessionId, list[1].cwd, list[1].title })
    assert.truthy(list[1].updatedAt:find "^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%dZ$")
    assert.same(NONE, editor:ask("session/list", { cwd = "/elsewhere" }).sessions)
    editor:ask("session/load", { sessionId = id, cwd = dir, mcpServers = NONE })
    assert.same(before, told_of(editor))
    assert.equal("Look at it.", editor:said "user_message_chunk")
    assert.equal("Look at a", editor:calls()[1].title)
    assert.equal("end_turn", editor:prompt(id, "More?"))
    editor.told = {}
    editor:ask("session/resume", { sessionId = id, cwd = dir })
    assert.equal(0, #editor.told)
    editor:ask("session/load", { sessionId = id, cwd = dir, mcpServers = NONE }) -- which is open
    assert.equal("I look.Seen.Again.", editor:said "agent_message_chunk")
    editor:ask("session/delete", { sessionId = id })
    assert.equal(0, #editor:ask("session/list", {}).sessions)
    for _, bad in ipairs { id, "../x", ("a"):rep(200) } do
      assert.equal(-32002, (editor:refused("session/load", { sessionId = bad, cwd = dir, mcpServers = NONE })))
    end
  end)

  describe("saves the finished steps of a turn", function()
    local function look() return calls { "look", { what = "a" } } end

    local function open(...)
      return kit.open { store = dir .. "/store", tools = { "look", "dies" }, steps = { ... } }
    end

    -- What a new program tells of the session.
    local function loaded(id)
      local editor <close> = open(text "no")
      editor:ask("session/load", { sessionId = id, cwd = dir, mcpServers = NONE })
      return editor:said "user_message_chunk" .. "|" .. editor:said "agent_message_chunk" .. "|" .. editor:statuses()
    end

    it("before the program dies in the next one", function()
      local id
      do
        local editor <close> = open(look(), calls({ "look", { what = "b" } }, { "dies" }))
        id = editor:session(dir)
        local result, err = editor.peer:request("session/prompt", { sessionId = id,
          prompt = { { type = "text", text = "Look." } } })
        assert.same({ nil, "connect" }, { result, err.kind })
      end
      assert.equal("Look.||c1 pending, c1 completed", loaded(id))
      local editor <close> = open(text "Again.")
      assert.equal("Look.", editor:ask("session/list", {}).sessions[1].title)
      editor:ask("session/resume", { sessionId = id, cwd = dir })
      assert.equal("end_turn", editor:prompt(id, "Go on."))
      assert.equal("Look.Go on.|Again.|c1 pending, c1 completed", loaded(id))
    end)

    it("and takes them back where the turn was refused", function()
      local function refused()
        return { type = "answer", content = { { type = "refusal", text = "Never." } }, stop_reason = "refusal" }
      end
      local editor <close> = open(look(), refused(), text "Yes.", look(), refused())
      local id = editor:session(dir)
      assert.equal("refusal", editor:prompt(id, "one"))
      assert.same({}, { table.unpack(editor:ask("session/list", {}).sessions) })
      assert.equal("end_turn", editor:prompt(id, "two"))
      assert.equal("refusal", editor:prompt(id, "three"))
      assert.equal("two|Yes.|", loaded(id))
      assert.equal("two", editor:ask("session/list", {}).sessions[1].title)
    end)
  end)

  it("lists the newest session first, a page at a time", function()
    local editor <close> = kit.open { store = dir .. "/store", steps = { text "1" }, by_session = true }
    local kept, ids = saved.new(assert(koine.store.file { dir = dir .. "/store" }), "koine"), {}
    for i = 1, 60 do
      ids[i] = saved.id()
      assert(kept:put({ id = ids[i], cwd = "/", version = "absent", additional = {}, values = {} }, {}))
    end
    local first = editor:ask("session/list", {})
    local second = editor:ask("session/list", { cursor = first.nextCursor })
    assert.same({ 50, 10, ids[60], ids[1] }, { #first.sessions, #second.sessions, first.sessions[1].sessionId,
      second.sessions[10].sessionId })
    assert.is_nil(second.nextCursor)
  end)

  it("tells the user when another program has changed a session since", function()
    local config = { store = dir .. "/store", steps = { text "one", text "two", text "three" } }
    local editor <close> = kit.open(config)
    local id = editor:session()
    editor:prompt(id, "a")
    local other <close> = kit.open(config)
    other:ask("session/resume", { sessionId = id, cwd = dir })
    other:prompt(id, "b")
    editor:prompt(id, "c")
    editor:prompt(id, "d")
    assert.truthy(editor:said("agent_thought_chunk"):find "another program has changed it")
  end)

  describe("has modes and options", function()
    local SERVE = { modes = { { id = "ask", name = "Ask" }, { id = "go", name = "Go", description = "Goes." } },
      options = { { id = "model", name = "Model", category = "model", value = "a", choices = {
        { value = "a", name = "A" }, { value = "b", name = "B" } } }, { id = "web", name = "Web", value = false } } }

    local function open(capabilities)
      return kit.open({ serve = SERVE, by_session = true, tell = true, steps = { {} } },
        { capabilities = capabilities })
    end

    it("which the agent's function sees", function()
      local editor <close> = open()
      local made = editor:ask("session/new", { cwd = dir, mcpServers = NONE })
      assert.same({ "ask", 2 }, { made.modes.currentModeId, #made.modes.availableModes })
      local ids = {}
      for i, option in ipairs(made.configOptions) do ids[i] = option.id .. "=" .. tostring(option.currentValue) end
      assert.same({ "mode=ask", "model=a" }, ids)
      local id = made.sessionId
      local set = editor:ask("session/set_config_option", { sessionId = id, configId = "model", value = "b" })
      assert.equal("b", set.configOptions[2].currentValue)
      editor:ask("session/set_mode", { sessionId = id, modeId = "go" })
      assert.equal("config_option_update", editor.told[#editor.told].update.sessionUpdate)
      editor:ask("session/set_config_option", { sessionId = id, configId = "mode", value = "ask" })
      assert.equal("ask", editor.told[#editor.told].update.currentModeId)
      editor:ask("session/set_mode", { sessionId = id, modeId = "go" })
      editor:prompt(id, "tell")
      assert.equal('["go",{"model":"b","web":false},"kit",0]', editor:said "agent_message_chunk")
      for _, bad in ipairs { { "model", "c" }, { "model", true }, { "web", "yes" }, { "mode", "x" } } do
        assert.equal(-32602, (editor:refused("session/set_config_option",
          { sessionId = id, configId = bad[1], value = bad[2] })))
      end
    end)

    it("with the editor's name, which is text or absent", function()
      local editor <close> = open {}
      editor:ask("initialize", { protocolVersion = 1, clientInfo = { name = core.null, version = {} } })
      editor:prompt(editor:session(), "tell")
      assert.truthy(editor:said("agent_message_chunk"):find('"nameless"', 1, true))
    end)

    it("of true or false only for editors that know them", function()
      local editor <close> = open { session = { configOptions = { boolean = {} } } }
      local made = editor:ask("session/new", { cwd = dir, mcpServers = NONE })
      assert.same({ "boolean", false }, { made.configOptions[3].type, made.configOptions[3].currentValue })
      local set = editor:ask("session/set_config_option",
        { sessionId = made.sessionId, configId = "web", type = "boolean", value = true })
      assert.is_true(set.configOptions[3].currentValue)
    end)
  end)

  it("asks for a login", function()
    local editor <close> = kit.open { login = true, steps = { text "in" } }
    assert.equal("key", editor.initialized.authMethods[1].id)
    assert.same({}, editor.initialized.agentCapabilities.auth.logout)
    assert.equal(-32000, (editor:refused("session/new", { cwd = dir, mcpServers = NONE })))
    assert.same({}, editor:ask("authenticate", { methodId = "key" }))
    assert.equal("end_turn", editor:prompt(editor:session(), "go"))
    assert.same({}, editor:ask("logout", {}))
    assert.equal(-32000, (editor:refused("session/new", { cwd = dir, mcpServers = NONE })))
  end)

  describe("works through the editor", function()
    local ALL = { fs = { readTextFile = true, writeTextFile = true }, terminal = true }

    local function open(steps, requests, capabilities)
      return kit.open({ serve = { executor = "client", approval = false }, steps = steps },
        { capabilities = capabilities or ALL, requests = requests, dir = dir })
    end

    it("on files", function()
      local written = {}
      local editor <close> = open({ calls { "read_file", { path = "a.txt" } },
        calls { "write_file", { path = "b.txt", content = "new\n" } }, text "ok" }, {
        ["fs/read_text_file"] = function(params)
          if params.path:find "a.txt$" then return { content = "not saved" } end
          return nil, { code = -32002, message = "no such file" }
        end,
        ["fs/write_text_file"] = function(params) written[params.path] = params.content end })
      local id = editor:session()
      editor:prompt(id, "go")
      local all = editor:calls()
      assert.equal("not saved", all[3].content[1].content.text)
      assert.equal("completed", all[6].status)
      assert.same({ path = dir .. "/b.txt", oldText = core.null, newText = "new\n", type = "diff" },
        { path = all[5].content[1].path, oldText = all[5].content[1].oldText, newText = all[5].content[1].newText,
          type = all[5].content[1].type })
      assert.same({ [dir .. "/b.txt"] = "new\n" }, written)
      for _, one in ipairs(editor.asked) do assert.equal(id, one.params.sessionId) end
    end)

    it("in terminals", function()
      local editor <close> = open({ calls { "bash", { command = "make" } }, text "ok" }, {
        ["terminal/create"] = function() return { terminalId = "t1" } end,
        ["terminal/wait_for_exit"] = function() return { exitCode = 2 } end,
        ["terminal/output"] = function() return { output = "made\n", truncated = true } end,
        ["terminal/release"] = function() return {} end })
      editor:prompt(editor:session(), "go")
      editor:await(function() return #editor.asked == 4 end)
      local asked = {}
      for i, one in ipairs(editor.asked) do asked[i] = one.method end
      assert.same({ "terminal/create", "terminal/wait_for_exit", "terminal/output", "terminal/release" }, asked)
      local made = editor.asked[1].params
      assert.same({ "-c", "make", dir }, { made.args[1], made.args[2], made.cwd })
      local all = editor:calls()
      assert.same({ "terminal", "t1" }, { all[3].content[1].type, all[3].content[1].terminalId })
      assert.same({ "completed", "[the beginning was left out]\nmade\n[exit code 2]" },
        { all[4].status, all[4].rawOutput })
    end)

    it("kills a command in time, and when its turn is cancelled", function()
      koine.run(function()
        local told = {}
        local requests = { ["terminal/create"] = function() return { terminalId = "t1" } end,
          ["terminal/wait_for_exit"] = function() koine.park(told) end,
          ["terminal/kill"] = function() return {} end,
          ["terminal/output"] = function() return { output = "so far", truncated = false } end,
          ["terminal/release"] = function() return {} end }
        local function has(editor, method)
          for _, one in ipairs(editor.asked) do
            if one.method == method then return true end
          end
          return false
        end
        local editor <close> = open({ calls { "bash", { command = "make", timeout = 0.05 } },
          calls { "bash", { command = "make" } } }, requests)
        local id = editor:session()
        local turn = koine.spawn(function() return editor:prompt(id, "go") end)
        editor:await(function() return has(editor, "terminal/release") end)
        assert.is_true(has(editor, "terminal/kill"))
        editor.asked = {}
        editor:await(function() return has(editor, "terminal/wait_for_exit") end)
        editor.peer:notify("session/cancel", { sessionId = id })
        assert.equal("cancelled", turn:wait())
        editor:await(function() return has(editor, "terminal/release") end)
        koine.wake(told)
      end)
    end)

    it("that answers what is no answer", function()
      local odd, n = { core.null, false, 5, "x", core.array {} }, 0
      local function any() return odd[n] end
      local steps = {}
      for i = 1, #odd do
        steps[2 * i - 1] = calls({ "read_file", { path = "a.txt" } },
          { "write_file", { path = "b.txt", content = "x" } }, { "bash", { command = "make" } })
        steps[2 * i] = text "ok"
      end
      local editor <close> = open(steps, { ["fs/read_text_file"] = any, ["fs/write_text_file"] = any,
        ["terminal/create"] = function() return n % 2 == 1 and { terminalId = "t" } or any() end,
        ["terminal/wait_for_exit"] = function() return n ~= 3 and { exitCode = 0 } or any() end,
        ["terminal/output"] = any, ["terminal/release"] = any })
      local id = editor:session()
      for i = 1, #odd do
        n, editor.told = i, {}
        assert.equal("end_turn", editor:prompt(id, "go"))
        local failed = {}
        for _, update in ipairs(editor:calls()) do
          if update.status == "failed" or update.status == "completed" then
            failed[#failed + 1] = update.status .. " " .. (update.rawOutput or update.content[1].content.text)
          end
        end
        assert.is_truthy(failed[1]:find "^failed", failed[1])
        assert.is_truthy(failed[2]:find "^completed", failed[2])
        assert.is_truthy(failed[3]:find "the editor could not run the command", failed[3])
      end
    end)

    it("where it offers that, else here", function()
      local editor <close> = open({ calls({ "write_file", { path = "b.txt", content = "here\n" } },
        { "bash", { command = "cat b.txt" } }), text "ok" }, {}, {})
      editor:prompt(editor:session(), "go")
      assert.equal("here\n", editor:calls()[6].content[1].content.text)
      assert.equal("here\n", koine.files.read(dir .. "/b.txt"))
    end)
  end)

  it("has the tools of the editor's MCP servers, until the session is closed", function()
    local env = {}
    for _, name in ipairs { "LUA_PATH", "LUA_CPATH", "LD_PRELOAD" } do
      local value = name == "LUA_PATH" and search_path(package.path)
        or name == "LUA_CPATH" and search_path(package.cpath) or os.getenv(name)
      if value then env[#env + 1] = { name = name, value = value } end
    end
    local server = { name = "fake", command = LUA, env = core.array(env), args = {
      HERE .. "/spec/lua/protocol/mcp/fake.lua", [[listed[1] = { name = "echo", inputSchema = { type = "object" } }
      local file <close> = io.open("started", "w")
      file:write "here"]] } }
    local editor <close> = kit.open { steps = { calls { "fake_echo", { a = 1 } }, text "ok" } }
    local id = editor:ask("session/new", { cwd = dir, mcpServers = { server } }).sessionId
    assert.equal("here", koine.files.read(dir .. "/started"))
    assert.equal("end_turn", editor:prompt(id, "go"))
    assert.equal("", editor:said "agent_thought_chunk")
    assert.equal("completed", editor:calls()[3].status)
    assert.equal('{"a":1}', editor:calls()[3].content[1].content.text)
    editor:ask("session/close", { sessionId = id })
  end)

  it("tells once which MCP servers cannot be used", function()
    local editor <close> = kit.open { steps = { text "ok", text "ok" } }
    local id = editor:ask("session/new", { cwd = dir, mcpServers = { { name = "none", command = "/no/such/program",
      args = NONE, env = NONE }, { type = "sse", name = "old", url = "http://127.0.0.1:9", headers = NONE } }
    }).sessionId
    for _ = 1, 2 do editor:prompt(id, "go") end
    local words = editor:said "agent_thought_chunk"
    assert.same({ 1, 1 }, { select(2, words:gsub("server none cannot be used", "")),
      select(2, words:gsub("server old cannot be used", "")) })
  end)
end)
