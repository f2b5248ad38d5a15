-- The log of a program that is killed in the middle of everything: a turn of a dispatcher, its session, run, tool and
-- request of an MCP server. What was under way is open, and `koine trace` shows it.

local files = require "spec.support.files"
local folder = require "spec.support.folder"
local koine = require "koine"
local mcp_kit = require "spec.lua.protocol.mcp.kit"

local LUA = arg and arg[-1] or "lua5.4"

-- Kills itself once the request for a tool that never answers is out. Arguments: the provider's URL, the log, a working
-- directory.
local PROGRAM = [[
  local chat_lab = require "spec.lua.dispatch.kit"
  local koine = require "koine"
  local mcp_kit = require "spec.lua.protocol.mcp.kit"
  local url, log, dir = ...
  local client = assert(mcp_kit.connect "function tools.silent() end")
  local claude = koine.anthropic { model = "claude-sonnet-4-5", key = "test-key", base_url = url }
  local target = { ensure_session = function() return true end, reset = function() end }
  function target.run_turn(_, _, _, ctx)
    return koine.session.events(claude, { workdir = dir, role = "implementor", model = "claude-sonnet-4-5",
      prompt = "Go.", allowed_tools = { "bash" }, context_files = {}, require_git = false, parent = ctx.observe,
      executor = { run = function(_, _, tool_ctx)
        return mcp_kit.text_of(assert(client:call("silent", {}, { parent = tool_ctx.observe })))
      end } }):result()
  end
  local under_way = false
  local function notice(record) under_way = under_way or record.type == "mcp" and record.target == "silent" end
  local d = koine.dispatcher { mode = "per-thread", target = target,
    observer = koine.observe.fan { assert(koine.observe.jsonl(log)), notice } }
  koine.run(function()
    d:submit(chat_lab.thread "T1", chat_lab.message("alice", "Go."))
    repeat
      if under_way then os.execute "kill -9 $PPID" end
      koine.sleep(0.001)
    until not d:step() and d:stats().turns == 0
  end)
  error "not killed"
]]

describe("the trace of a dispatcher, session, agent, tools and MCP", function()
  it("is one tree with no orphan after kill -9 of the host, its open spans shown", function()
    local server <close> = assert(koine.testing.start { script = {
      { content = { { type = "tool_use", name = "bash", arguments = { command = "x" } } } } } })
    local dir = folder.new()
    finally(function() folder.remove(dir) end)
    local log, program = dir .. "/log.jsonl", dir .. "/killed.lua"
    files.write(program, PROGRAM)
    local env = { LUA_PATH = package.path, LUA_CPATH = package.cpath, PATH = os.getenv "PATH",
      LD_PRELOAD = os.getenv "LD_PRELOAD", ASAN_OPTIONS = os.getenv "ASAN_OPTIONS" }
    local result = koine.process.run({ LUA, program, server.url, log, dir }, { env = env, timeout = mcp_kit.SAFETY })
    assert.are.equal(9, result.signal, result.stderr)
    local records, broken = koine.observe.read(log)
    assert.are.equal(0, broken)
    local open, path = {}, {}
    local roots = koine.observe.tree(records)
    local function walk(node, above)
      local here = above .. node.type
      path[#path + 1] = here
      if node.open then open[#open + 1] = here end
      for _, part in ipairs(node.parts) do walk(part, here .. " ") end
    end
    for _, root in ipairs(roots) do
      if not root.point then walk(root, "") end
    end
    assert.are.same({ "turn", "turn session", "turn session agent", "turn session agent tool",
      "turn session agent tool mcp" }, open)
    assert.are.same({ "turn", "turn session", "turn session agent", "turn session agent chat",
      "turn session agent chat attempt", "turn session agent tool", "turn session agent tool mcp" }, path)
    local shown = koine.process.run({ LUA, "bin/koine", "trace", log }, { env = env, timeout = mcp_kit.SAFETY })
    assert.are.equal(0, shown.code, shown.stderr)
    for _, word in ipairs { "turn ", "session ", "agent ", "tool bash", "mcp fake tools/call silent" } do
      local line = shown.stdout:match("[^\n]*" .. word:gsub("[/-]", "%%%0") .. "[^\n]*")
      assert.is_truthy(line and line:find("open", 1, true), word .. ": " .. shown.stdout)
    end
    assert.is_nil(shown.stdout:match "chat [^\n]*open")
  end)
end)
