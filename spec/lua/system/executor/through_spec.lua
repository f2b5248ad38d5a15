-- Executors whose files and commands go through others, and what they tell of a call to be shown.

local folder = require "spec.support.folder"
local koine = require "koine"

describe("an executor through others", function()
  local dir, held, written, ran

  before_each(function()
    dir, held, written, ran = folder.new(), {}, {}, {}
    assert(koine.files.write(dir .. "/a.txt", "saved\n"))
  end)
  after_each(function() folder.remove(dir) end)

  local function open(through, more)
    local opts = more or {}
    opts.workdir, opts.through = dir, through
    return assert(koine.executor(opts))
  end

  local function editor()
    return { read = function(path)
      if held[path] then return held[path] end
      return nil, koine.errors.new { kind = "not_found", message = "not open" }
    end, write = function(path, text)
      written[path] = text
      return true
    end }
  end

  it("reads what they have, else the file", function()
    local ex <close> = open(editor())
    assert.equal("saved\n", ex.run("read_file", { path = "a.txt" }))
    held[ex.workdir .. "/a.txt"] = "not saved\n"
    assert.equal("not saved\n", ex.run("read_file", { path = "./a.txt" }))
    held[ex.workdir .. "/new.txt"] = "new\n"
    assert.equal("new\n", ex.run("read_file", { path = "new.txt" }))
    local text, info = ex.run("read_file", { path = "none.txt" })
    assert.same({ true, true }, { info.is_error, text:find "none.txt" ~= nil })
    assert.truthy(ex.run("read_file", { path = "." }):find "directory")
  end)

  it("writes through them, directories included, and edits what they have", function()
    local ex <close> = open(editor())
    assert.equal("Wrote 2 bytes to sub/b.txt.", ex.run("write_file", { path = "sub/b.txt", content = "b\n" }))
    assert.same({ [ex.workdir .. "/sub/b.txt"] = "b\n" }, written)
    assert.is_nil((koine.files.read(dir .. "/sub/b.txt")))
    held[ex.workdir .. "/a.txt"] = "not saved\n"
    ex.run("edit_file", { path = "a.txt", old_str = "not ", new_str = "" })
    assert.equal("saved\n", written[ex.workdir .. "/a.txt"])
  end)

  it("keeps to its own rules: outside, links, git, bytes that are no text", function()
    local ex <close> = open(editor(), { policy = {} })
    assert(os.execute(("ln -s /etc '%s/out'; ln -s '%s/a.txt' '%s/link'; mkdir '%s/.git'"):format(dir, dir, dir, dir)))
    for _, path in ipairs { "../x", "/etc/passwd", "out/passwd", ".git/config", "out/x" } do
      local _, info = ex.run("write_file", { path = path, content = "x" })
      assert.is_true(info.is_error, path)
    end
    held["/etc/passwd"] = "secret"
    for _, path in ipairs { "/etc/passwd", "out/passwd" } do
      assert.is_true((select(2, ex.run("read_file", { path = path }))).is_error)
    end
    assert.same({}, written)
    ex.run("write_file", { path = "link", content = "through a link" })
    assert.same({ [ex.workdir .. "/a.txt"] = "through a link" }, written)
    written = {}
    ex.run("write_file", { path = "bytes", content = "\xFF\xFE" })
    assert.same({}, written)
    assert.equal("\xFF\xFE", koine.files.read(dir .. "/bytes"))
  end)

  it("tells the model when they fail", function()
    local through = editor()
    function through.write() return nil, koine.errors.new { kind = "other", message = "read-only window" } end
    local ex <close> = open(through)
    local text, info = ex.run("write_file", { path = "a.txt", content = "x" })
    assert.same({ "Error: a.txt: read-only window", true }, { text, info.is_error })
  end)

  it("runs commands through them", function()
    local ex <close> = open({ run = function(argv, opts, ctx)
      ran = { argv[#argv], opts.cwd, opts.env, ctx and ctx.call.id }
      return { code = 3, stdout = "out\n", stderr = "", timed_out = false, dropped = { stdout = 0, stderr = 0 } }
    end }, { set_env = { A = "b" } })
    local text, info = ex.run("bash", { command = "make" }, { call = { id = "c1" } })
    assert.same({ "make", ex.workdir, { A = "b" }, "c1" }, ran)
    assert.same({ "out\n[exit code 3]", 3 }, { text, info.exit_code })
  end)

  it("names what a call does", function()
    local ex <close> = open {}
    local tools = {}
    for _, tool in ipairs(ex:tools()) do tools[tool.name] = tool end
    assert.same({ "execute", "read", "search", "edit" },
      { tools.bash.kind, tools.read_file.kind, tools.grep.kind, tools.text_editor.kind })
    assert.same({ "make test …", "Read a.txt", "Search for x", "List .", "Write a.txt" }, {
      tools.bash.title { command = "make test\nmake" }, tools.read_file.title { path = "a.txt" },
      tools.grep.title { pattern = "x" }, tools.list_dir.title {},
      tools.text_editor.title { command = "create", path = "a.txt" } })
    assert.same({ { path = "a.txt", line = 7 } }, tools.read_file.locations { path = "a.txt", offset = 7 })
    assert.same({ true, false, true, false }, { koine.executor.changes("bash", {}),
      koine.executor.changes("grep", {}), koine.executor.changes("text_editor", { command = "create" }),
      koine.executor.changes("text_editor", { command = "view" }) })
  end)

  it("shows the whole file before and after an edit, and only the change where it cannot", function()
    local ex <close> = open {}
    local tools = {}
    for _, tool in ipairs(ex:tools()) do tools[tool.name] = tool end
    local edit, write = tools.edit_file.diff, tools.write_file.diff
    assert.same({ path = "a.txt", old = "saved\n", new = "kept\n" },
      edit { path = "a.txt", old_str = "saved", new_str = "kept" })
    assert.same({ path = "a.txt", old = "none", new = "x" }, edit { path = "a.txt", old_str = "none", new_str = "x" })
    assert.same({ path = "b", new = "x" }, write { path = "b", content = "x" })
    assert.same({ path = "a.txt", old = "saved\n", new = "x" }, write { path = "a.txt", content = "x" })
    assert(koine.files.write(dir .. "/bin", "\0\1"))
    assert.is_nil(write { path = "bin", content = "x" })
    assert.is_nil(write { path = "../b", content = "x" })
    assert.is_nil(tools.text_editor.diff { command = "view", path = "a.txt" })
  end)
end)
