-- `koine ask -T` and `koine chat -T`: tools of files of Lua, run as a program against the loopback provider.

local cjson = require "cjson"
local cli = require "spec.support.cli"
local kit = require "spec.lua.cli.kit"
local koine = require "koine"

local at_terminal = cli.on_terminal(it, pending)

local WEATHER = kit.shown "weather.lua"
local GUARDED = WEATHER:gsub("run =", "needs_approval = true, run =")

describe("koine -T", function()
  local bench = kit.new()
  local run, run_there = bench.run, bench.run_there

  local function file(text) return cli.file(bench.dir .. "/tools.lua", text) end

  local function results()
    local requests = assert(bench.server:requests())
    local messages = cjson.decode(requests[#requests].body).messages
    return messages[#messages].content[1].content, #messages
  end

  it("runs the tools of a file", function()
    local r = run_there({ "ask", "-T", file(WEATHER), "Rain?" }, { kit.call("weather", { city = "Rome" }), kit.DONE })
    assert.are.same({ 0, "It is done.\n", 'koine: weather {"city":"Rome"}\n' }, { r.code, r.out, r.err })
    assert.are.equal("rain in Rome", results())
  end)

  it("takes an array of tools, and several files", function()
    local one = cli.file(bench.dir .. "/one.lua", WEATHER)
    local two = cli.file(bench.dir .. "/two.lua", [[local koine = require "koine"
      local function made(name)
        return koine.tool { name = name, description = "d", run = function() return name end }
      end
      return { made "a", made "b" }]])
    local r = run_there({ "ask", "-T", one, "--tools", two, "-x", "Hm?" },
      { kit.call("b", {}), { content = "```\nc\n```" } })
    assert.are.same({ 0, "c\n" }, { r.code, r.out })
    assert.are.equal("b", results())
    assert.are.equal(3, #cjson.decode(assert(bench.server:requests())[1].body).tools)
  end)

  it("leaves out tools that nobody can be asked for, unless --yes", function()
    local path = file(GUARDED)
    local r = run_there({ "ask", "-T", path, "Rain?" }, { kit.DONE })
    assert.are.same({ 0, "It is done.\n",
      "koine: nobody can be asked, so these tools are left out (--yes allows them): weather\n" },
      { r.code, r.out, r.err })
    r = run_there({ "ask", "-y", "-T", path, "Rain?" }, { kit.call("weather", { city = "Rome" }), kit.DONE })
    assert.are.equal(0, r.code)
    assert.are.equal("rain in Rome", results())
  end)

  at_terminal("asks on a terminal before a tool that wants it", function()
    assert(bench.server:script { kit.call("weather", { city = "Rome" }), kit.DONE })
    local child = cli.start({ "ask", "--base-url", bench.server.url, "-T", file(GUARDED), "Rain?" },
      { terminal = true, env = { ANTHROPIC_API_KEY = kit.KEY, KOINE_MODEL = "anthropic/m" } })
    child:expect("out", 'koine: allow: weather {"city":"Rome"}? [y]es, [n]o, [a]lways: ')
    child:write "n\n"
    assert.are.equal(0, child:wait().code)
    assert.is_truthy(results():find "the user said no")
  end)

  it("works in a chat, which remembers calls", function()
    local r = run_there({ "chat", "-T", file(WEATHER) }, { kit.call("weather", { city = "Rome" }), kit.DONE,
      { content = "Again." } }, { input = "Rain?\nAnd now?\n/save " .. bench.dir .. "/talk.md\n" })
    assert.are.equal("It is done.\nAgain.\n", r.out)
    assert.are.equal(0, r.code, r.err)
    assert.are.equal(5, select(2, results()))
    assert.are.equal("> Rain?\n\n(tool_use weather)\n\nIt is done.\n\n> And now?\n\nAgain.\n",
      koine.files.read(bench.dir .. "/talk.md"))
  end)

  it("gives values of a shape", function()
    local r = run_there({ "ask", "-T", file(WEATHER), "--schema", "rain bool", "Rain?" },
      { kit.call("weather", { city = "Rome" }), { content = '{"rain":true}' } })
    assert.are.same({ 0, '{"rain":true}\n' }, { r.code, r.out })
  end)

  it("says what is wrong with a file", function()
    local path = file "return {"
    local function refuses(text, line)
      local r = run { "ask", "-T", file(text), "Hm?" }
      assert.are.same({ 2, "", "koine: " .. path .. line .. "\n" }, { r.code, r.out, r.err })
    end
    refuses("return {", ":1: unexpected symbol near <eof>")
    refuses("local x = nil\nreturn x.y", ":2: attempt to index a nil value (local 'x')")
    refuses("return 7", ": it returns no tool: of koine.tool, or an array of them")
    refuses("return {}", ": it returns no tool: of koine.tool, or an array of them")
    refuses("return { 7 }", ": [1]: tool of koine.tool expected, got a number")
    refuses("return require('koine').tool { name = 'a' }", ": description: string expected, got nothing")
    local r = run { "ask", "-y", "Hm?" }
    assert.are.same({ 2, "koine: --yes: tools are required (-T FILE or --mcp FILE)\n" }, { r.code, r.err })
  end)
end)
