-- The words of the command line: questions without a command, misspelt commands, help, completion, and how little is
-- loaded for them.

local cjson = require "cjson"
local cli = require "spec.support.cli"
local first_word = require "koine.cli.arguments.first_word"
local kit = require "spec.lua.cli.kit"
local koine = require "koine"
local search_path = require "spec.support.search_path"

local AH = { { content = "Ah." } }

describe("koine", function()
  local bench = kit.new()
  local run = bench.run

  local function sent()
    local requests = assert(bench.server:requests())
    return cjson.decode(requests[#requests].body)
  end

  local function refuses(line, r)
    assert.are.same({ code = 2, signal = 0, out = "", err = "koine: " .. line .. "\n" }, r)
    assert.are.equal(0, #assert(bench.server:requests()))
  end

  describe("without a command", function()
    local function there() return "-o", "base_url=" .. bench.server.url end

    it("asks", function()
      assert.are.equal("Ah.\n", run({ "Is it?", there() }, AH).out)
      assert.are.equal("Is it?", sent().messages[1].content[1].text)
      assert.are.equal("Ah.\n", run({ "Why", "is", "it", "so?", there() }, AH).out)
      assert.are.equal("Why is it so?", sent().messages[1].content[1].text)
      assert.are.equal("Ah.\n", run({ "-s", "Be brief.", there() }, AH, { input = "a text" }).out)
      assert.are.same({ "Be brief.", "a text" }, { sent().system, sent().messages[1].content[1].text })
      assert.are.equal("Ah.\n", run({ "-m", "anthropic/other", "Hm?", there() }, AH).out)
      assert.are.equal("Ah.\n", run({ there() }, AH, { input = "piped" }).out)
    end)

    it("asks nobody where a command is misspelt", function()
      for word, meant in pairs { chta = "chat", modles = "models", aks = "ask" } do
        local message = "%s: unknown command; did you mean %s? (`koine --help` lists all; a question: `koine ask %s …`)"
        refuses(message:format(word, meant, word), run { word })
        refuses(message:format(word, meant, word), run { word, "Hm?", "-x" })
      end
      refuses("nope: unknown command (`koine --help` lists all)", run { "help", "nope" })
    end)

    it("asks nobody where a command comes behind options", function()
      local message = "%s: commands come before options: koine %s … (to ask the model this: koine ask … %s)"
      refuses(message:format("chat", "chat", "chat"), run { "-o", "base_url=x", "chat" })
      refuses(message:format("chat", "chat", "chat"), run { "-s", "x", "chat", "--", "foo" })
      refuses(message:format("ask", "ask", "ask"), run { "-s", "Be brief.", "ask", "Hm?", there() })
      local url = "base_url=" .. bench.server.url
      for _, words in ipairs { { "-o", url, "--", "chat" }, { "-o", url, "-s", "chat", "Hm?" },
        { "-o", url, "chat it is" }, { "-o", url, "Hm?", "chat" }, { "ask", "-o", url, "chat" } } do
        assert.are.equal("Ah.\n", run(words, AH).out)
      end
    end)

    it("takes a word for a question or a command by these rules", function()
      local commands = { "ask", "chat", "logs", "models", "usage", "serve-loopback" }
      local function command(...)
        local ok, words = pcall(first_word, { ... }, commands, false)
        return ok and words[1] or "refused"
      end
      for _, question in ipairs { "hello", "why?", "what", "Is it?", "a chat", "-c", "--", "who", "user" } do
        assert.are.equal("ask", command(question), question)
      end
      for _, bad in ipairs { "chta", "hcat", "Chat", "model", "modles", "moedl", "lgos", "log", "aks", "usgae",
        "serve-lopback", "askk" } do
        assert.are.equal("refused", command(bad), bad)
        assert.are.equal("refused", command(bad, "word"), bad)
        assert.are.equal("refused", command(bad, "-m", "a/b", "-s", "x"), bad)
        assert.are.equal("ask", command(bad, "two", "words"), bad)
      end
      for _, name in ipairs(commands) do assert.are.equal(name, command(name)) end
      assert.are.same({ "ask" }, first_word({}, commands, true))
      assert.are.same({}, first_word({}, commands, false))
      assert.are.same({ "-h" }, first_word({ "-h" }, commands, true))
    end)
  end)

  it("prints what completes its words in a shell", function()
    for _, shell in ipairs { "bash", "zsh", "fish" } do
      local r = cli.run { "completion", shell }
      assert.are.same({ 0, "" }, { r.code, r.err })
      for _, option in ipairs { "no-stream", "template", "tools", "extract", "usage", "max-steps", "purpose" } do
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
    assert.are.equal("templates", completed "te")
    assert.are.equal("--template", completed("ask", "--te"))
    assert.are.equal("--extract", completed("ask", "--ex"))
    assert.are.equal(script, completed("ask", "-T", script:sub(1, -2)))
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
    assert.are.equal(18, commands)
    assert.are.equal(run({ "ask", "--help" }).out, run({ "help", "ask" }).out)
  end)

  it("names what options take as docs/cli.md does, in a column that holds it", function()
    local file <close> = assert(io.open "docs/cli.md")
    local page = file:read "a"
    local all = {}
    for name in run({ "--help" }).out:match "Commands:(.*)Examples:":gmatch "\n   ([%l-]+) %s+%u" do
      local help = run({ name, "--help" }).out:match "^(.-)\nExamples?:"
      assert.is_truthy(name == "help" or not help:find "<%l", name) -- that one is argparse's
      for line in help:match "Options:.*":gmatch "[^\n]+" do
        assert.is_truthy(line:find "^%S" or line:find "^   .-  +%S" or #line < 30, line)
      end
      all[#all + 1] = help
    end
    local helps, count = table.concat(all, "\n") .. "\n", 0
    for row in page:gmatch "\n| (`%-[^|]*) |" do
      for option in row:gmatch "%-%-[%l-]+ %u[%u/=]*" do
        assert.is_truthy(helps:find("[ \n]" .. option:gsub("%p", "%%%0") .. "[ ,\n]"), option)
        count = count + 1
      end
    end
    assert.are.equal(18, count)
  end)

  it("finds Koine beside itself where Lua finds none, and says in one line where it is not there either", function()
    local lfs, lua = require "lfs", os.getenv "KOINE_LUA" or "lua5.4"
    local here = lfs.currentdir() .. "/"
    local core = search_path(assert(package.searchpath("koine.core", package.cpath)))
    local function try(program)
      -- From another folder: paths of the checkout lead nowhere.
      local pipe = assert(io.popen(("cd '%s' && LUA_PATH='./none/?.lua' LUA_CPATH='./none/?.so' %s %s --version 2>&1")
        :format(bench.dir, lua, cli.quote(program or "bin/koine"))))
      local out = pipe:read "a"
      local _, _, code = pipe:close()
      return { code, out }
    end
    os.execute(("cd '%s' && mkdir -p bin share/lua/5.4 lib/lua/5.4/koine && cp '%sbin/koine' bin/koine")
      :format(bench.dir, here))
    assert.are.same({ 1, "koine: cannot load 'koine' (is LUA_PATH set?): module 'koine' not found\n" }, try())
    assert(lfs.link(here .. "lua/koine", bench.dir .. "/share/lua/5.4/koine", true))
    assert.are.same({ 1, "koine: cannot load 'koine.core' (is LUA_CPATH set?): module 'koine.core' not found\n" },
      try())
    assert(lfs.link(core, bench.dir .. "/lib/lua/5.4/koine/core.so", true))
    assert.are.same({ 0, "koine " .. koine.version .. "\n" }, try())
    assert(lfs.mkdir(bench.dir .. "/it's mine"))
    assert(lfs.link("../bin/koine", bench.dir .. "/it's mine/koine", true))
    assert.are.same({ 0, "koine " .. koine.version .. "\n" }, try "it's mine/koine")
  end)

  it("loads little for --version and --help", function()
    for word, unused in pairs { ["--version"] = "argparse", ["--help"] = "koine.cli.talk.ask" } do
      local script = cli.file(bench.dir .. "/run.lua", ([[
        arg = { %q }
        local exit = os.exit
        os.exit = function()
          for _, name in ipairs { %q, "koine.cli.settings", "koine.call.adapter", "koine.provider.rows.anthropic" } do
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
