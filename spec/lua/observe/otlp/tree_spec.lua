-- What a collector gets of the whole stack: dispatcher, session, run, chat, tool, request of MCP. It is one tree
-- without an orphan, also after a turn is cancelled, a server is killed, and the program itself is.

local chat_lab = require "spec.lua.dispatch.kit"
local files = require "spec.support.files"
local folder = require "spec.support.folder"
local koine = require "koine"
local mcp_kit = require "spec.lua.protocol.mcp.kit"
local raw_server = require "spec.support.raw_server"
local receiver = require "spec.lua.observe.otlp.receiver"

local LUA = arg and arg[-1] or "lua5.4"

local SERVER = [[
  listed = { { name = "echo", inputSchema = { type = "object" } } }
  function tools.silent() end
  function tools.killed() os.execute "kill -9 $PPID" end
]]

-- A program whose agent's tool kills it. Its arguments: the provider's URL and the log.
local KILLED = [[
  local koine = require "koine"
  local url, path = ...
  local claude = koine.anthropic { model = "claude-sonnet-4-5", key = "test-key", base_url = url }
  local kill = koine.tool { name = "kill", description = "x", run = function() os.execute "kill -9 $PPID" end }
  koine.agent { adapter = claude, tools = { kill }, observer = assert(koine.observe.jsonl(path)) }:run "Go."
]]

describe("OTLP's spans of the whole stack", function()
  local server, collector, dir

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function()
    assert(server:reset())
    collector, dir = raw_server.start(raw_server.answer(200, "{}")), folder.new()
  end)
  after_each(function() folder.remove(dir) end)

  local function exporter()
    return koine.observe.otlp { endpoint = collector.url, interval = 60, timeout = mcp_kit.SAFETY }
  end

  -- Closes the exporter: the spans that the collector got, judged, as {path of names = span}. They have one root.
  local function tree(otlp)
    assert(otlp:close())
    local spans, by_id, paths, roots = receiver.spans { collector:requests()[1].body }, {}, {}, 0
    for _, span in ipairs(spans) do
      by_id[span.spanId] = span
      if not span.parentSpanId then roots = roots + 1 end
    end
    assert.are.equal(1, roots)
    for _, span in ipairs(spans) do
      local path, above = span.name, by_id[span.parentSpanId]
      while above do path, above = above.name .. " > " .. path, by_id[above.parentSpanId] end
      paths[path] = span
    end
    return paths
  end

  -- Plays a turn of a dispatcher, in which a session's tool calls `tool` of an MCP server. `meanwhile` (nil: nothing)
  -- is called with the dispatcher once that is under way. Returns the tree, and the request that the server heard of
  -- echo.
  local function play(tool, meanwhile)
    assert(server:script { { content = { { type = "tool_use", name = "bash", arguments = { command = "x" } } } },
      { content = "Done." } })
    local otlp, under_way = exporter(), false
    local client <close> = assert(mcp_kit.connect(SERVER, { timeout = { total = mcp_kit.SAFETY } }))
    local claude = koine.anthropic { model = "claude-sonnet-4-5", key = "test-key", base_url = server.url,
      retry = { max = 0 } }
    local function run(_, _, ctx)
      under_way = true
      return mcp_kit.text_of(assert(client:call(tool, {}, { parent = ctx.observe })))
    end
    local target, session = { ensure_session = function() return true end, reset = function() end }, nil
    function target.run_turn(_, _, _, ctx)
      session = koine.session.events(claude, { workdir = dir, role = "implementor", model = "claude-sonnet-4-5",
        prompt = "Go.", allowed_tools = { "bash" }, context_files = {}, require_git = false,
        executor = { run = run }, parent = ctx.observe })
      return session:result()
    end
    function target.cancel() session:close() end
    local d = koine.dispatcher { observer = otlp, mode = "per-thread", target = target }
    local heard
    koine.run(function()
      d:submit(chat_lab.thread "T1", chat_lab.message("alice", "Go."))
      repeat
        if under_way and meanwhile then meanwhile = meanwhile(d) end
        koine.sleep(0.001)
      until not d:step() and d:stats().turns == 0
      if tool == "echo" then heard = mcp_kit.heard_of(client, "tools/call")[1] end
    end)
    return tree(otlp), heard
  end

  local TOP = "invoke_workflow per-thread > invoke_workflow implementor > invoke_agent"
  local TOOL = TOP .. " > execute_tool bash"

  it("are one tree, which a server's own spans may join", function()
    local paths, heard = play "echo"
    local tool = assert(paths[TOOL])
    assert.is_truthy(paths[TOP .. " > chat claude-sonnet-4-5"])
    assert.are.equal("tools/call", receiver.plain(tool.attributes)["mcp.method.name"])
    assert.are.equal(("00-%s-%s-01"):format(tool.traceId, tool.spanId), heard.params._meta.traceparent)
    for path, span in pairs(paths) do assert.are.equal(0, span.status.code, path) end
  end)

  it("are one tree where the turn is cancelled", function()
    local paths = play("silent", function(d) d:cancel_turn(chat_lab.thread "T1") end)
    assert.are.equal("cancelled", receiver.plain(paths[TOOL].attributes)["error.type"])
    assert.are.equal(2, paths["invoke_workflow per-thread > invoke_workflow implementor"].status.code)
  end)

  it("are one tree where the server is killed", function()
    local paths = play "killed"
    local tool = receiver.plain(paths[TOOL].attributes)
    assert.are.equal("tools/call", tool["mcp.method.name"])
    assert.is_string(tool["error.type"])
  end)

  it("are one tree where the program is killed, from its log", function()
    assert(server:script { { content = { { type = "tool_use", name = "kill", arguments = {} } } } })
    local log = dir .. "/log.jsonl"
    files.write(dir .. "/killed.lua", KILLED)
    local result = koine.process.run({ LUA, dir .. "/killed.lua", server.url, log }, {
      env = { LUA_PATH = package.path, LUA_CPATH = package.cpath, PATH = os.getenv "PATH",
        LD_PRELOAD = os.getenv "LD_PRELOAD", ASAN_OPTIONS = os.getenv "ASAN_OPTIONS" }, timeout = mcp_kit.SAFETY })
    assert.are.equal(9, result.signal)
    local otlp = exporter()
    for _, record in ipairs(assert(koine.observe.read(log))) do otlp:record(record) end
    local paths = tree(otlp)
    assert.are.equal(0, paths["invoke_agent > chat claude-sonnet-4-5"].status.code)
    for _, path in ipairs { "invoke_agent", "invoke_agent > execute_tool kill" } do
      assert.is_true(receiver.plain(paths[path].attributes)["koine.open"], path)
    end
  end)
end)
