-- The words of the command line: help, completion, and how little is loaded for them.

local cli = require "spec.support.cli"
local kit = require "spec.lua.cli.kit"

describe("koine", function()
  local bench = kit.new()
  local run = bench.run

  it("prints what completes its words in a shell", function()
    for _, shell in ipairs { "bash", "zsh", "fish" } do
      local r = cli.run { "completion", shell }
      assert.are.same({ 0, "" }, { r.code, r.err })
      for _, option in ipairs { "no-stream", "schema", "sessions", "max-steps", "purpose" } do
        assert.is_truthy(r.out:find(option, 1, true), shell .. " " .. option)
      end
    end
    assert.are.equal(2, cli.run({ "completion", "tcsh" }).code)
  end)

  it("completes its words in bash", function()
    local script = cli.file(bench.dir .. "/completion", run({ "completion", "bash" }).out)
    local function completed(...)
      local words = {}
      for i, word in ipairs { "koine", ... } do words[i] = cli.quote(word) end
      local pipe = assert(io.popen(("bash -c %s"):format(cli.quote(('. "%s"; COMP_WORDS=(%s); COMP_CWORD=%d; _koine; '
        .. 'echo "${COMPREPLY[*]}"'):format(script, table.concat(words, " "), #words - 1)))))
      local line = pipe:read "l"
      pipe:close()
      return line
    end
    assert.are.equal("ask agent", completed "a")
    assert.are.equal("trace", completed "tr")
    assert.are.equal("--timeout", completed("ask", "--ti"))
    assert.are.equal("--file", completed("ask", "--fi"))
    assert.are.equal(script, completed("ask", "-f", script:sub(1, -2)))
  end)

  it("has examples in the help of each command", function()
    local commands = 0
    for name in run({ "--help" }).out:match "Commands:(.*)Examples:":gmatch "\n   ([%l-]+) %s+%u" do
      local r = run { name, "--help" }
      assert.are.same({ 0, "" }, { r.code, r.err })
      assert.is_truthy(r.out:find("Example", 1, true), name)
      for line in r.out:gmatch "[^\n]+" do assert.is_true(utf8.len(line) <= 80, line) end
      commands = commands + 1
    end
    assert.are.equal(16, commands)
    assert.are.equal(run({ "ask", "--help" }).out, run({ "help", "ask" }).out)
  end)

  it("loads little for --version and --help", function()
    for word, unused in pairs { ["--version"] = "argparse", ["--help"] = "koine.cli.talk.ask" } do
      local script = cli.file(bench.dir .. "/run.lua", ([[
        arg = { %q }
        local exit = os.exit
        os.exit = function()
          for _, name in ipairs { %q, "koine.call.adapter", "koine.provider.rows.anthropic" } do
            if package.loaded[name] then io.stderr:write("loaded ", name, "\n") end
          end
          exit(0)
        end
        dofile "bin/koine"]]):format(word, unused))
      local r = cli.run({}, { shell = (os.getenv "KOINE_LUA" or "lua5.4") .. " " .. script .. "; : %s" })
      assert.are.same({ 0, "" }, { r.code, r.err })
      assert.are_not.equal("", r.out)
    end
  end)
end)
