-- The executor: its options, what a call returns, what is denied, what an agent gets. Its tools, its boundary and its
-- service have specs of their own beside it.

local core = require "koine.core"
local folder = require "spec.support.folder"
local koine = require "koine"
local lfs = require "lfs"
local raised = require "spec.support.raised"
local strerror = require "spec.support.strerror"

local cautious = koine.executor.policies.cautious

local function write(path, bytes)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(bytes))
end

describe("koine.executor", function()
  local directory

  before_each(function()
    directory = folder.new()
    write(directory .. "/hello.txt", "hello\n")
  end)

  after_each(function() folder.remove(directory) end)

  local function new(opts)
    opts = opts or {}
    opts.workdir = opts.workdir or directory
    return koine.executor(opts)
  end

  -- Looking at the rest of it anew for every piece would take hours.
  it("judges a megabyte at once", function()
    local ctx = { workdir = directory }
    for _, command in ipairs { ("x.envy "):rep(1 << 17), ("1"):rep(1 << 20), ("> "):rep(1 << 19), (">"):rep(1 << 20),
      ("/."):rep(1 << 19), ("rm "):rep(1 << 17), (";"):rep(1 << 18), (".env"):rep(1 << 17) .. "rcx" } do
      cautious("bash", { command = command }, ctx)
      cautious("read_file", { path = command }, ctx)
      cautious("glob", { pattern = command }, ctx)
    end
    assert.are.equal("the file .env", cautious("bash", { command = ("x.envy "):rep(1 << 18) .. ".env" }, ctx))
    assert.is_nil(cautious("bash", { command = ("x.envy "):rep(1 << 18) }, ctx))
    assert.are.equal("rm outside of the working directory",
      cautious("bash", { command = "2>x 33 >y " .. ("1"):rep(1 << 20) .. " rm 1>z /x" }, ctx))
  end)

  it("says what is too long, before anybody looks at it", function()
    local asked = 0
    local ex = new { policy = function() asked = asked + 1 end }
    local calls = { path = { "read_file", 4095 }, pattern = { "glob", 4096 }, command = { "bash", 131071 } }
    for field, call in pairs(calls) do
      local said, info = ex.run(call[1], { [field] = ("x"):rep(call[2] + 1) })
      local words = ("Error: %s: at most %d bytes expected, got %d"):format(field, call[2], call[2] + 1)
      assert.are.equal(words, said:sub(1, #words))
      assert.are.same({ is_error = true }, info)
    end
    assert.are.equal(0, asked)
  end)

  describe("options", function()
    it("name what is wrong", function()
      for field, opts in pairs {
        workdir = { workdir = 5 }, timeout = { timeout = 0 }, output_max = { output_max = 1.5 },
        ["env[1]"] = { env = { "A=B" } }, set_env = { set_env = { ["A B"] = "x" } }, policy = { policy = "cautious" },
        ["set_env.A"] = { set_env = { A = 5 } }, ["policy[2]"] = { policy = { print, 5 } },
        allowed_tools = { allowed_tools = "bash" }, ["allowed_tools[1]"] = { allowed_tools = { "bush" } },
        worker = { worker = 1 }, env = { env = false },
      } do
        local err = raised(new, opts)
        assert.are.equal("ArgumentError", err.class, field)
        assert.are.equal(field, err.field)
      end
      assert.are.equal("options", raised(koine.executor, "here").field)
      for field, opts in pairs { env = { env = { PATH = true } }, allowed_tools = { allowed_tools = { bash = true } },
        policy = { policy = { cautious = print } } } do
        assert.are.equal(field, raised(new, opts).field)
      end
      assert.are.equal("names", raised(new().tools, new(), { bash = true }).field)
      assert.are.equal("workdir", raised(new, { workdir = "a\0b" }).field)
      assert.are.equal("timeout", raised(new, { timeout = 0 / 0 }).field)
    end)

    it("refuse a credential's name in env, and never show a value of set_env", function()
      for _, name in ipairs { "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "client_secret", "PGPASSWORD", "X_CREDENTIALS" } do
        assert.are.equal("env[2]", raised(new, { env = { "PATH", name } }).field)
      end
      local err = raised(new, { set_env = { TOKEN = "hush-hush\0" } })
      assert.is_nil(tostring(err):find("hush", 1, true))
    end)

    it("give nil, err for a working directory that is none", function()
      local ex, err = new { workdir = directory .. "/none" }
      assert.is_nil(ex)
      assert.are.equal("absent", err.code)
      ex, err = new { workdir = directory .. "/hello.txt" }
      assert.is_nil(ex)
      assert.is_true(err:is "Error")
    end)

    it("take the working directory by a link's name, too", function()
      assert(lfs.link(directory, directory .. ".link", true))
      finally(function() os.remove(directory .. ".link") end)
      local ex = assert(new { workdir = directory .. ".link" })
      assert.are.equal(new().workdir, ex.workdir)
      for _, root in ipairs { directory, directory .. ".link" } do
        assert.are.equal("hello\n", (ex.run("read_file", { path = root .. "/hello.txt" })))
      end
    end)
  end)

  describe("run", function()
    it("returns text and, where there is more to say, a table", function()
      local ex = new()
      assert.are.same({ "hello\n" }, { ex.run("read_file", { path = "hello.txt" }) })
      local text, info = ex.run("read_file", { path = "none" })
      assert.are.equal("Error: none: " .. strerror "ENOENT", text)
      assert.are.same({ is_error = true }, info)
    end)

    it("tells the model which field is wrong", function()
      local ex = new()
      for field, input in pairs { ["input.path"] = {}, ["input.offset"] = { path = "hello.txt", offset = 0 },
        ["input.limit"] = { path = "hello.txt", limit = "all" } } do
        local text, info = ex.run("read_file", input)
        assert.are.equal("Error: " .. field .. ":", text:match "^Error: %S+")
        assert.is_true(info.is_error)
      end
    end)

    it("takes null for a field that was left out, and 2.0 for 2", function()
      local ex = new()
      assert.are.equal("hello\n", (ex.run("read_file", { path = "hello.txt", offset = 1.0, limit = core.null })))
    end)

    it("raises for wrong use", function()
      local ex = new()
      assert.are.equal("name", raised(ex.run, ex, "read_file").field)
      assert.are.equal("input", raised(ex.run, "read_file", "hello.txt").field)
      assert.are.equal("ctx", raised(ex.run, "read_file", {}, 5).field)
    end)

    it("answers an unknown tool with an error result", function()
      local text, info = new().run("teleport", {})
      assert.are.equal("Unknown tool: teleport", text)
      assert.are.same({ is_error = true }, info)
    end)

    it("checks allowed_tools when it runs, not only when it offers", function()
      local ex = new { allowed_tools = { "list_dir" } }
      local text, info = ex.run("write_file", { path = "hello.txt", content = "gone" })
      assert.are.equal("Permission denied: tool not allowed", text)
      assert.are.same({ is_error = true, blocked = true, reason = "tool not allowed" }, info)
      assert.are.equal("hello.txt", (ex.run("list_dir", {})))
      assert.are.equal("hello\n", (new().run("read_file", { path = "hello.txt" })))
      assert.are.equal("Permission denied: tool not allowed", (new { allowed_tools = {} }.run("bash", {})))
    end)

    it("marks by what happened, not by how the text begins", function()
      write(directory .. "/log", "Error: this is only quoted\n")
      write(directory .. "/log2", "Permission denied: so is this\n")
      assert.are.same({ "Error: this is only quoted\n" }, { new().run("read_file", { path = "log" }) })
      assert.are.same({ "Permission denied: so is this\n" }, { new().run("read_file", { path = "log2" }) })
    end)

    it("caps a result and says so", function()
      for i = 1, 99 do write(("%s/file%02d"):format(directory, i), "") end
      local text = new { output_max = 20 }.run("list_dir", {})
      assert.are.equal("file01\nfile02\nfile03\n[682 more bytes left out]", text)
    end)

    it("is over once the executor is closed, which may happen twice", function()
      local ex = new()
      ex:close()
      ex:close()
      assert.are.equal("ArgumentError", raised(ex.run, "read_file", { path = "hello.txt" }).class)
      do local closed <close> = new() end -- luacheck: ignore closed
    end)

    it("gives nil, err (kind executor) where the machine is to blame", function()
      local code = [[
        local koine = require "koine"
        local ex = assert(koine.executor { workdir = arg[1] })
        assert(ex.run("read_file", { path = "hello.txt" }))
        local held = {}
        repeat held[#held + 1] = io.open "/dev/null" until #held > 200 or not io.open "/dev/null"
        local text, err = ex.run("read_file", { path = "hello.txt" })
        io.stdout:write(tostring(text), " ", err.class, " ", err.kind, " ", err.message)
      ]]
      local script = directory .. "/script.lua"
      write(script, code)
      local pipe = assert(io.popen(("ulimit -n 40; %s '%s' '%s' 2>&1"):format(os.getenv "KOINE_LUA" or "lua5.4", script,
        directory)))
      local said = pipe:read "a"
      pipe:close()
      assert.are.equal("nil Error executor hello.txt: " .. strerror "EMFILE", said)
    end)
  end)

  describe("policies", function()
    it("see name, input and context, and the first reason counts", function()
      local seen = {}
      local ex = new { policy = {
        function(name, input, ctx) seen = { name, input.path, ctx.workdir, ctx.who } end,
        function(name) if name == "list_dir" then return "not today" end end,
        function() return "too late" end,
      } }
      local text, info = ex.run("list_dir", { path = "." }, { who = "me" })
      assert.are.equal("Permission denied: not today", text)
      assert.are.same({ is_error = true, blocked = true, reason = "not today" }, info)
      assert.are.same({ "list_dir", ".", ex.workdir, "me" }, seen)
    end)

    it("may be one function, or none at all", function()
      write(directory .. "/.env", "A=1")
      assert.are.equal("Permission denied: the file .env", (new().run("read_file", { path = ".env" })))
      assert.are.equal("A=1", (new { policy = {} }.run("read_file", { path = ".env" })))
      local ex = new { policy = function() return true end }
      assert.are.equal("Permission denied: refused", (ex.run("read_file", { path = ".env" })))
    end)

    it("that raise let no call pass", function()
      local ex = new { policy = function() error("a bug", 0) end }
      assert.are.equal("a bug", raised(ex.run, "write_file", { path = "hello.txt", content = "gone" }))
      assert.are.equal("hello\n", (new().run("read_file", { path = "hello.txt" })))
    end)
  end)

  describe("the cautious policy (106)", function()
    local ctx = { workdir = "/home/ann/repo" }

    local function reason(name, input) return cautious(name, input, ctx) end

    it("lets ordinary calls pass", function()
      for _, command in ipairs { "make test", "cat .env.example", "cp .env.example .env.example.bak", "rm -rf build",
        "rm ./a/../b", "rm /home/ann/repo/x", "rm x 2>/dev/null", "echo env", "rm -- x && ls /etc",
        "ls environment.envelope", "rm x > /dev/null", "" } do
        assert.is_nil(reason("bash", { command = command }), command)
      end
      for _, path in ipairs { "a/b.lua", ".", "/home/ann/repo", "/home/ann/repo/a", "a/../b", ".env.example",
        ".github/x", ".environment" } do
        assert.is_nil(reason("read_file", { path = path }), path)
      end
    end)

    it("refuses .env, whatever follows but .example", function()
      for _, command in ipairs { "cat .env", "cat ./.env.local", "source .env;ls", "cat .env.example .env", "cat .ENV",
        "cat a/.envrc", "echo x>.env", "cat '.env'" } do
        assert.are.equal("the file .env", reason("bash", { command = command }), command)
      end
      for _, path in ipairs { ".env", "a/.env", "/home/ann/repo/.env", "x/../.env", "prod.env", ".env.production" } do
        assert.are.equal("the file .env", reason("text_editor", { command = "view", path = path }), path)
      end
      assert.are.equal("the file .env", reason("glob", { pattern = "**/.env" }))
    end)

    it("refuses the folder of workflows", function()
      assert.are.equal("the folder .github/workflows", reason("bash", { command = "ls .github//./workflows" }))
      for _, path in ipairs { ".github/workflows", ".github/workflows/ci.yml", ".github/x/../workflows/ci.yml" } do
        assert.are.equal("the folder .github/workflows", reason("write_file", { path = path, content = "" }), path)
      end
    end)

    it("refuses rm outside, by absolute path or parent traversal", function()
      for _, command in ipairs { "rm -rf /", "rm -rf /etc/x", "rm ../x", "rm a/../../x", "sudo rm /home/ann/x",
        "rm ~/x", "cd a; rm -f /home/ann/repo2/x", "/bin/rm /x", "make && rm '/etc/x'", "(rm /x)", "rm $HOME/x",
        "rm a\nrm /b", "rm /home/ann/repo/../x" } do
        assert.are.equal("rm outside of the working directory", reason("bash", { command = command }), command)
      end
    end)

    it("refuses file operations outside, a sibling with the same beginning too", function()
      for _, path in ipairs { "/etc/passwd", "..", "../x", "a/../../x", "/home/ann/repo2/x", "/home/ann/rep",
        "/home/ann/repo/../x" } do
        assert.are.equal("the path is outside of the working directory", reason("read_file", { path = path }), path)
      end
    end)

    it("has nothing to say of a tool that it does not know", function()
      assert.is_nil(reason("telepathy", { to = "you" }))
      assert.is_nil(reason("telepathy", {}))
    end)

    it("judges by the tool's name: a field too many changes nothing", function()
      assert.are.equal("the file .env", reason("bash", { command = "cat .env", path = "a" }))
      assert.is_nil(reason("bash", { restart = true }))
    end)

    it("holds for every file that grep would look into", function()
      write(directory .. "/.env", "PASSWORD=hello")
      assert.are.equal("hello.txt:1:hello\n[1 file left out: permission denied]",
        (new().run("grep", { text = "hello" })))
    end)
  end)

  describe("tools", function()
    it("are koine.tool tables that go through run (105)", function()
      local ex = new { allowed_tools = { "read_file", "bash", "text_editor", "str_replace_based_edit_tool" } }
      local tools = ex:tools()
      assert.are.equal(3, #tools)
      for i, name in ipairs { "read_file", "bash", "text_editor" } do
        assert.is_true(koine.tool.is_tool(tools[i]))
        assert.are.equal(name, tools[i].name)
        assert.is_true(#tools[i].description > 20)
      end
      assert.are.same({ "hello\n" }, { tools[1].run({ path = "hello.txt" }, {}) })
      assert.are.equal("str_replace_based_edit_tool", ex:tools({ "str_replace_based_edit_tool" })[1].name)
      assert.are.same({}, ex:tools {})
    end)

    it("raise for an unknown name", function()
      local err = raised(new().tools, new(), { "bash", "bush" })
      assert.are.equal("names[2]", err.field)
      assert.is_truthy(err.expected:find("read_file", 1, true))
      assert.are.equal("names[1]", raised(new().tools, new { allowed_tools = {} }, { "bash" }).field)
    end)

    it("answer calls as an agent makes them", function()
      local tools = new():tools()
      local call = { type = "tool_use", id = "c1", name = "read_file", arguments = { path = "../x" } }
      local block, more = koine.tool.answer(tools, call, {})
      assert.are.equal("Permission denied: the path is outside of the working directory", block.content)
      assert.is_true(block.is_error)
      assert.is_true(more.blocked)
    end)

    it("fit the roles", function()
      assert.are.same({ "read_file", "list_dir", "glob", "grep" }, koine.executor.role_tools "orchestrator")
      assert.are.same({ "bash", "read_file", "write_file", "edit_file", "list_dir", "glob", "grep", "text_editor" },
        koine.executor.role_tools "implementor")
      assert.are.equal("role", raised(koine.executor.role_tools, "reviewer").field)
    end)

    it("have names: all that there are, and those that an executor allows", function()
      assert.are.equal(9, #koine.executor.names)
      assert.are.same(koine.executor.names, new().names)
      assert.are.same({ "grep" }, new { allowed_tools = { "grep" } }.names)
    end)
  end)
end)
