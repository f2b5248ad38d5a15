-- koine agent: at a terminal, behind a pipe, and for an editor, against the loopback provider.

local cli = require "spec.support.cli"
local core = require "koine.core"
local kit = require "spec.lua.cli.kit"
local koine = require "koine"
local rpc = require "koine.protocol.rpc"

local call, DONE = kit.call, kit.DONE
local at_terminal = cli.on_terminal(it, pending)

local WRITE = call("write_file", { path = "a.txt", content = "hello\n" })

describe("koine agent", function()
  local bench = kit.new()

  local function written() return koine.files.read(bench.dir .. "/a.txt") end

  it("works in a directory, and asks for nothing with --yes", function()
    local r = bench.run_there({ "agent", "--yes", "-C", bench.dir, "write", "it" }, { WRITE, DONE })
    assert.same({ 0, "It is done.\n", "koine: Write a.txt\n" }, { r.code, r.out, r.err })
    assert.equal("hello\n", written())
  end)

  it("changes nothing where nobody can be asked, but looks", function()
    local r = bench.run_there({ "agent", "--no-stream", "-C", bench.dir, "write" },
      { call("list_dir", {}), WRITE, DONE })
    assert.same({ 0, "It is done.\n" }, { r.code, r.out })
    assert.truthy(r.err:find("denied: nobody can be asked; --yes allows it", 1, true))
    assert.is_nil(written())
  end)

  it("remembers from line to line", function()
    local r = bench.run_there({ "agent", "-C", bench.dir, "-" }, { DONE, { content = "Again." } },
      { input = "one\n\ntwo\n/quit\n" })
    assert.same({ 0, "It is done.\nAgain.\n", "" }, { r.code, r.out, r.err })
    assert.equal(3, #core.decode(bench.server:requests()[2].body).messages)
  end)

  it("says that the model refused, or that an answer was cut", function()
    local refusal = { content = { { type = "refusal", text = "No." } } }
    local r = bench.run_there({ "agent", "-C", bench.dir, "x" }, { refusal })
    assert.same({ 4, "koine: the model refused: No.\n" }, { r.code, r.err })
    r = bench.run_there({ "agent", "-C", bench.dir, "x" }, { { content = "Well, ", stop_reason = "max_tokens" } })
    assert.same({ 0, "Well, \n", "koine: the answer was cut at its maximum (max_tokens): raise --max-tokens\n" },
      { r.code, r.out, r.err })
    r = bench.run_there({ "agent", "-m", "openai/m", "-o", "api=chat", "-C", bench.dir, "x" },
      { { content = "Well, ", stop_reason = "sensitive" } }, { env = { OPENAI_API_KEY = kit.KEY } })
    assert.same({ 4, "Well, \n", "koine: a filter stopped the answer (sensitive)\n" }, { r.code, r.out, r.err })
  end)

  it("ends behind a pipe with the first refusal, as koine chat", function()
    local r = bench.run_there({ "agent", "-C", bench.dir }, { { content = "No.", stop_reason = "refusal" }, DONE },
      { input = "one\ntwo\n" })
    assert.same({ 4, "No.\n", "koine: the model refused\n" }, { r.code, r.out, r.err })
  end)

  it("says what is wrong", function()
    assert.equal(2, bench.run_there({ "agent", "-C", bench.dir .. "/none", "x" }, {}).code)
    assert.equal(2, bench.run_there({ "agent", "--acp", "x" }, {}).code)
    assert.equal(2, bench.run_there({ "agent", "--max-steps", "none", "x" }, {}).code)
    local r = bench.run_there({ "agent", "--yes", "--max-steps", "1", "-C", bench.dir, "x" }, { WRITE })
    assert.same({ 0, true }, { r.code, r.err:find "stopped: steps" ~= nil })
  end)

  at_terminal("says after Ctrl-C that the task is not in the history, and goes on", function()
    local cut = { content = ("All that glitters. "):rep(200), chunk = 10, fault = { stall_after = 3000 } }
    assert(bench.server:script { cut, DONE })
    local child = cli.start({ "agent", "--base-url", bench.server.url, "-C", bench.dir },
      { env = { ANTHROPIC_API_KEY = kit.KEY, KOINE_MODEL = "anthropic/claude-sonnet-4-5" }, terminal = true })
    child:expect("out", "> ")
    child:write "one\n"
    child:expect("out", "All that glitters.")
    child:write "\3"
    child:expect("out", "koine: cancelled; the task is not in the history\r\n> ")
    child:write "two\n"
    child:expect("out", "It is done.")
    assert.equal(1, #core.decode(bench.server:requests()[2].body).messages)
    child:write "/quit\n"
    assert.equal(0, child:wait().code)
  end)

  at_terminal("asks before a change: no, then always", function()
    local again = call("write_file", { path = "b.txt", content = "x" })
    assert(bench.server:script { WRITE, WRITE, again, DONE })
    local child = cli.start({ "agent", "--base-url", bench.server.url, "-C", bench.dir },
      { env = { ANTHROPIC_API_KEY = kit.KEY, KOINE_MODEL = "anthropic/claude-sonnet-4-5" }, terminal = true })
    child:expect("out", "> ")
    child:write "write\n"
    child:expect("out", "allow: Write a.txt?")
    child:write "maybe\n"
    child:expect("out", "allow: Write a.txt?")
    child:write "n\n"
    child:expect("out", "allow: Write a.txt?")
    child:write "a\n"
    child:expect("out", "It is done.")
    child:write "/quit\n"
    assert.equal(0, child:wait().code)
    assert.equal("hello\n", written())
    assert.equal("x", koine.files.read(bench.dir .. "/b.txt"))
  end)

  it("serves an editor with --acp", function()
    assert(bench.server:script { WRITE, DONE, WRITE, DONE })
    local program <close> = assert(koine.process.open({ os.getenv "KOINE_LUA" or "lua5.4", "bin/koine", "agent",
      "--acp", "--base-url", bench.server.url, "--sessions", bench.dir .. "/sessions" },
      { env = { ANTHROPIC_API_KEY = kit.KEY, KOINE_MODEL = "anthropic/claude-sonnet-4-5",
        LUA_PATH = package.path, LUA_CPATH = package.cpath, PATH = os.getenv "PATH",
        LD_PRELOAD = os.getenv "LD_PRELOAD", ASAN_OPTIONS = os.getenv "ASAN_OPTIONS" } }))
    local asked = {}
    local peer <close> = rpc.new(program, { requests = { ["session/request_permission"] = function(params)
      asked[#asked + 1] = params.toolCall.title
      return { outcome = { outcome = "selected", optionId = "allow" } }
    end } })
    assert(peer:request("initialize", { protocolVersion = 1 }))
    local made = assert(peer:request("session/new", { cwd = bench.dir, mcpServers = core.array {} }))
    assert.equal("ask", made.modes.currentModeId)
    local turn = { sessionId = made.sessionId, prompt = { { type = "text", text = "write" } } }
    assert.equal("end_turn", assert(peer:request("session/prompt", turn)).stopReason)
    assert.equal("hello\n", written())
    assert(peer:request("session/set_mode", { sessionId = made.sessionId, modeId = "auto" }))
    assert.equal("end_turn", assert(peer:request("session/prompt", turn)).stopReason)
    assert.same({ "Write a.txt" }, asked)
    assert.equal(1, #assert(peer:request("session/list", {})).sessions)
  end)
end)
