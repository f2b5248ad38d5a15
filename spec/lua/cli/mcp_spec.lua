-- koine mcp, and koine ask --mcp: with real servers, at a terminal and behind a pipe.

local cli = require "spec.support.cli"
local core = require "koine.core"
local kit = require "spec.lua.cli.kit"
local koine = require "koine"
local mcp_kit = require "spec.lua.protocol.mcp.kit"

local call, DONE = kit.call, kit.DONE
local at_terminal = cli.on_terminal(it, pending)

local NOTES = { command = os.getenv "KOINE_LUA" or "lua5.4", args = { "examples/mcp_server.lua" },
  env = { LUA_PATH = package.path, LUA_CPATH = package.cpath } }

-- A server that keeps what it is given, in a file.
local KEEPER = [[
  listed = { { name = "keep", description = "Keeps\na word.", inputSchema = { type = "object" } },
    { name = "look", inputSchema = { type = "object" }, annotations = { readOnlyHint = true } } }
  function tools.keep(arguments)
    local file <close> = io.open("PATH", "w")
    file:write(arguments.word)
    return text "kept"
  end
  function tools.look() return text "nothing yet" end
  function tools.mixed() return { content = array { { type = "audio" }, { type = "text", text = "a\n" },
    { type = "resource", resource = { uri = "x:y", text = "b" } } } } end
  function tools.only() return { content = array {}, structuredContent = { n = null, list = array {} } } end
]]


describe("koine with MCP servers", function()
  local bench = kit.new()

  -- The path of a configuration of these servers.
  local function config(servers, name)
    return cli.file(bench.dir .. "/" .. (name or "mcp.json"), core.encode { mcpServers = servers })
  end

  local function keeper(trust)
    local options = mcp_kit.options((KEEPER:gsub("PATH", bench.dir .. "/kept")))
    return { command = options.command, args = options.args, env = options.env, trust = trust }
  end

  local function kept() return koine.files.read(bench.dir .. "/kept") end

  describe("koine mcp", function()
    it("lists the tools, and says which servers fail", function()
      local path = config { notes = NOTES, keeper = keeper(), gone = { command = bench.dir .. "/none" } }
      local r = bench.run { "mcp", path }
      assert.same({ 1, "keeper (modern 2026-07-28)\n  keep                      Keeps\n"
        .. "  look                      look\nnotes (modern 2026-07-28)\n"
        .. "  add                       Adds two numbers.\n" }, { r.code, r.out })
      assert.truthy(r.err:find("^koine: gone: cannot start: [^\n]*\n$"))
      local listed = core.decode(bench.run({ "mcp", "--json", path }).out).servers
      assert.same({ "gone", "keeper", "notes" }, { listed[1].name, listed[2].name, listed[3].name })
      assert.same({ "[]", true }, { core.encode(listed[1].tools), listed[1].error:find "cannot start" ~= nil })
      assert.same({ "add", "number", "modern" }, { listed[3].tools[1].name,
        listed[3].tools[1].parameters.properties.a.type, listed[3].era })
      assert.equal(0, bench.run({ "mcp", config { notes = NOTES } }).code)
    end)

    it("calls a tool of one server, and starts no other", function()
      local path = config { notes = NOTES, ["notes/add"] = { command = bench.dir .. "/none" }, keeper = keeper() }
      local r = bench.run { "mcp", path, "keeper/keep", '{"word":"x"}' }
      assert.same({ 0, "kept\n", "", "x" }, { r.code, r.out, r.err, kept() })
      r = bench.run { "mcp", path, "notes/add", '{"a":1,"b":"two"}' }
      assert.same({ 1, "", "koine: notes/add: a and b have to be numbers\n" }, { r.code, r.out, r.err })
      r = bench.run { "mcp", "--json", path, "notes/add", '{"a":1,"b":"two"}' }
      assert.same({ 1, true }, { r.code, core.decode(r.out).is_error })
      r = bench.run { "mcp", path, "notes/add/x" }
      assert.same({ 1, true }, { r.code, r.err:find("notes/add: cannot start", 1, true) ~= nil })
    end)

    it("sends arguments as they are, and writes every kind of text", function()
      local path = config { keeper = keeper() }
      local r = bench.run { "mcp", path, "keeper/echo",
        '{ "n": null, "list": [], "t": {}, "big": 1152921504606846977 }' }
      assert.equal('{"big":1152921504606846977,"list":[],"n":null,"t":{}}\n', r.out)
      r = bench.run { "mcp", path, "keeper/mixed" }
      assert.same({ 0, "a\nb\n", "koine: keeper/mixed: audio left out; --json writes all\n" }, { r.code, r.out, r.err })
      assert.equal('{"list":[],"n":null}\n', bench.run({ "mcp", path, "keeper/only" }).out)
    end)

    it("says what is wrong", function()
      local path = config { notes = NOTES }
      for _, words in ipairs { { bench.dir .. "/none" }, { path, "notes" }, { path, "notes/" }, { path, "other/add" },
        { path, "notes/add", "[1]" }, { path, "notes/add", "{" }, { "--timeout", "0", path },
        { cli.file(bench.dir .. "/bad", "{}") } } do
        local r = bench.run { "mcp", table.unpack(words) }
        assert.same({ 2, "" }, { r.code, r.out }, r.err)
      end
    end)
  end)

  describe("koine ask --mcp", function()
    it("lets the model use all tools with --yes", function()
      local r = bench.run_there({ "ask", "--yes", "--mcp", config { notes = NOTES },
        "--mcp", config({ keeper = keeper() }, "b.json"), "Keep it." },
        { call("keeper_keep", { word = "y" }), call("notes_add", { a = 1, b = 2 }), DONE })
      assert.same({ 0, "It is done.\n", 'koine: keeper/keep {"word":"y"}\nkoine: notes/add {"a":1,"b":2}\n', "y" },
        { r.code, r.out, r.err, kept() })
    end)

    it("has only tools that need no approval where nobody can be asked", function()
      local r = bench.run_there({ "ask", "--mcp", config { keeper = keeper(true) }, "Look." },
        { call("keeper_look", {}), DONE })
      assert.same({ 0, "It is done.\n" }, { r.code, r.out })
      assert.truthy(r.err:find("left out (--yes allows them): keeper_keep\n", 1, true))
      local tools = core.decode(bench.server:requests()[1].body).tools
      assert.same({ 1, "keeper_look" }, { #tools, tools[1].name })
      r = bench.run_there({ "ask", "--mcp", config { keeper = keeper() }, "Look." }, { DONE })
      assert.truthy(r.err:find("them): keeper_keep, keeper_look\n", 1, true))
    end)

    for _, name in ipairs { "log.db", "log.jsonl" } do
      local check = (name ~= "log.db" or pcall(require, "luasql.sqlite3")) and it or pending
      check("keeps the calls of tools in a log, " .. name .. ", and goes on with them", function()
        local path, servers = bench.dir .. "/" .. name, config { notes = NOTES }
        bench.run_there({ "ask", "--yes", "--log", path, "--mcp", servers, "Add." },
          { call("notes_add", { a = 1, b = 2 }), DONE })
        bench.run_there({ "ask", "--yes", "--log", path, "-c", "--mcp", servers, "Again." }, { DONE })
        local requests = bench.server:requests()
        local sent = core.decode(requests[#requests].body).messages
        assert.same({ "user", "assistant", "user", "assistant", "user" },
          { sent[1].role, sent[2].role, sent[3].role, sent[4].role, sent[5].role })
        assert.same({ "tool_use", "tool_result" }, { sent[2].content[1].type, sent[3].content[1].type })
        local entries = {}
        for line in bench.run({ "logs", "--json", "--log", path }).out:gmatch "[^\n]+" do
          entries[#entries + 1] = core.decode(line)
        end
        local first, second = table.unpack(entries)
        assert.same({ 2, "Add.", "It is done.", 4 }, { #entries, first.prompt, first.answer, #first.messages })
        assert.same({ "Again.", 2, first.conversation }, { second.prompt, #second.messages, second.conversation })
        if name == "log.db" then return end
        local tree = bench.run({ "trace", path }).out
        tree = tree:gsub(" %d+ m?s[^\n]*", ""):gsub("%f[%x]%x+  %d[^\n]*", "trace")
        assert.equal([[
trace
agent
├─ chat claude-sonnet-4-5
│  └─ attempt #1
├─ tool notes_add
│  └─ mcp notes tools/call add
└─ chat claude-sonnet-4-5
   ├─ exchange
   └─ attempt #1
trace
agent
└─ chat claude-sonnet-4-5
   ├─ exchange
   └─ attempt #1
]], tree)
      end)
    end

    it("goes on without a server that fails", function()
      local r = bench.run_there({ "ask", "--mcp", config { gone = { command = bench.dir .. "/none" } }, "Hm?" },
        { DONE })
      assert.same({ 0, "It is done.\n", true }, { r.code, r.out, r.err:find "gone: cannot start" ~= nil })
    end)

    it("writes a value of a shape, or the Response", function()
      local path = config { notes = NOTES }
      local add = call("notes_add", { a = 1, b = 2 })
      local r = bench.run_there({ "ask", "--yes", "--schema", "n int", "--mcp", path, "Add." },
        { add, { content = '{"n":3}' } })
      assert.same({ 0, '{"n":3}\n' }, { r.code, r.out }, r.err)
      r = bench.run_there({ "ask", "--yes", "--schema", "n int", "--mcp", path, "Add." },
        { add, { content = "three" }, { content = "three" } })
      assert.same({ 1, "" }, { r.code, r.out }, r.err)
      r = bench.run_there({ "ask", "--yes", "--json", "--mcp", path, "Add." }, { add, DONE })
      assert.equal("It is done.", core.decode(r.out).content[1].text)
    end)

    it("says what is wrong", function()
      assert.equal(2, bench.run_there({ "ask", "--yes", "Hm?" }, {}).code)
      assert.equal(2, bench.run_there({ "ask", "--mcp", bench.dir .. "/none", "Hm?" }, {}).code)
      local path = config { notes = NOTES }
      local r = bench.run_there({ "ask", "--mcp", path, "--mcp", path, "Hm?" }, {})
      assert.same({ 2, true }, { r.code, r.err:find "both have a server notes" ~= nil })
    end)

    at_terminal("asks before a call: no, then always", function()
      local keep = call("keeper_keep", { word = "z" })
      assert(bench.server:script { keep, keep, keep, DONE })
      local child = cli.start({ "ask", "--base-url", bench.server.url, "--mcp", config { keeper = keeper() },
        "Keep it." },
        { env = { ANTHROPIC_API_KEY = kit.KEY, KOINE_MODEL = "anthropic/claude-sonnet-4-5" }, terminal = true })
      child:expect("out", 'allow: keeper/keep {"word":"z"}?')
      child:write "n\n"
      child:expect("out", 'allow: keeper/keep {"word":"z"}?')
      assert.is_nil(kept())
      child:write "a\n"
      child:expect("out", "It is done.")
      assert.equal(0, child:wait().code)
      assert.equal("z", kept())
    end)
  end)
end)
