-- clingo, gringo's solver with Lua scripts: C++ that throws, and calls Lua from its own callbacks.

local files = require "spec.support.files"
local host = require "spec.hosts.support.host"

describe("clingo", function()
  local bench = host.bench()

  -- What it prints for such rules, and its exit code. The last model of ten is 10, of more models 30.
  local function run(rules, opts)
    opts = opts or {}
    files.write(bench.place .. "/rules.lp", rules)
    local args = table.move(opts.before or {}, 1, 9, 1, {})
    for _, word in ipairs { host.script "ask.lp", bench.place .. "/rules.lp", table.unpack(opts.args or {}) } do
      args[#args + 1] = word
    end
    local out, code, signal = host.run(opts.program or "clingo", { args = args,
      env = { KOINE_URL = bench.server.url, KOINE_JUDGE = opts.judge } })
    assert.are.equal(0, signal, out)
    return out, code
  end

  it("asks while it grounds, and about each model", function()
    assert(bench.server:script "echo")
    local out = run([[q("a"). q("b"). a(Q, @ask(Q)) :- q(Q). n(@streamed("x")). all(@all("c")). #show a/2. #show n/1.
      #show all/1.]], { judge = "yes" })
    for _, atom in ipairs { 'a("a","You said: a")', 'a("b","You said: b")', "n(2)", 'all("You said: c1")',
      'all("You said: c3")' } do
      assert.truthy(out:find(atom, 1, true), out)
    end
    assert.truthy(out:find("JUDGED You said: any good?", 1, true), out)
  end)

  it("solves on several threads, and ends with a stream open", function()
    assert(bench.server:script "echo")
    local out = run([[1 { p(1..4) } 2. a(@ask("a")). #show p/1.]], { judge = "yes", args = { "0", "-t", "4" } })
    assert.are.equal(10, select(2, out:gsub("JUDGED You said: any good%?", "")), out)
  end)

  it("ends with the text of an error that a function raises", function()
    assert(bench.server:script { { error = { status = 400, message = "no such model" } } })
    local out, code = run [[a(@ask("a")).]]
    assert.truthy(out:find("no such model", 1, true), out)
    assert.are_not.equal(10, code)
  end)

  it("waits no longer than the script allows", function()
    assert(bench.server:script { host.LATE, { content = "end" } })
    assert.truthy(run([[a(@late(2)). #show a/1.]]):find('a("timeout")', 1, true))
  end)

  it("has no error under valgrind", function()
    assert(bench.server:script "echo")
    local out, code = run([[a(@ask("a")). n(@streamed("x")). all(@all("c")).]], { program = "valgrind",
      before = { "-q", "--error-exitcode=99", "--leak-check=full", "--show-leak-kinds=definite",
        "--errors-for-leak-kinds=none", host.find "clingo" } })
    assert.are_not.equal(99, code, out)
    assert.is_nil(out:find("Invalid", 1, true), out)
    for _, atom in ipairs { 'a("You said: a")', "n(2)", 'all("You said: c1")' } do
      assert.truthy(out:find(atom, 1, true), out)
    end
  end)
end)
