-- An executor's files and commands for programs that are not models: whole texts, live commands, the same boundary.

local folder = require "spec.support.folder"
local koine = require "koine"
local raises = require("spec.lua.system.process_kit").raises

describe("an executor", function()
  local dir, ex

  before_each(function()
    dir = folder.new()
    ex = assert(koine.executor { workdir = dir })
  end)
  after_each(function()
    ex:close()
    folder.remove(dir)
  end)

  it("reads and writes whole texts, by absolute and relative paths", function()
    local long = ("line\n"):rep(30000)
    assert.is_true(ex:write_text("a/b.txt", long))
    assert.equal(long, ex:read_text(dir .. "/a/b.txt"))
    assert.is_true(ex:write_text(dir .. "/c", "one\ntwo\nthree"))
    assert.equal("two\nthree", ex:read_text("c", { line = 2 }))
    assert.equal("two\n", ex:read_text("c", { line = 2, limit = 1 }))
    assert.equal("three", ex:read_text("c", { line = 3, limit = 9 }))
    assert.equal("", ex:read_text("c", { line = 4 }))
  end)

  it("refuses what is outside, what policies refuse, and tools that are not allowed", function()
    for _, path in ipairs { "../x", "/etc/passwd", "a/../../x" } do
      assert.equal("executor", select(2, ex:read_text(path)).kind)
      assert.equal("executor", select(2, ex:write_text(path, "x")).kind)
    end
    assert.equal("denied", select(2, ex:read_text ".env").code)
    assert.equal("denied", select(2, ex:open { "cat", ".env" }).code)
    assert.equal("absent", select(2, ex:read_text "no").code)
    assert.equal("executor", select(2, ex:open({ "pwd" }, { cwd = "/" })).kind)
    local reader <close> = assert(koine.executor { workdir = dir, allowed_tools = { "read_file" } })
    assert.equal("denied", select(2, reader:write_text("x", "")).code)
    assert.equal("denied", select(2, reader:open { "true" }).code)
    assert.equal("unsupported", select(2, koine.executor.remote { url = "http://127.0.0.1:1", token = "t" }
      :read_text "x").code)
    assert.is_true(ex:write_text("bin", "\0"))
    assert.equal("binary", select(2, ex:read_text "bin").code)
  end)

  it("starts commands: arguments as they are, or a line for the shell", function()
    local p <close> = assert(ex:open { "printf", "%s|", "a b", "$HOME" })
    assert.equal("a b|$HOME|", p:line())
    local line <close> = assert(ex:open({ "echo $X; echo err >&2; pwd" }, { env = { X = "y" } }))
    assert.same({ "y", "err", ex.workdir }, { line:line(), line:line(), line:line() })
    assert.is_nil(line:line())
    assert.equal(0, line:result().code)
  end)

  it("checks its arguments", function()
    raises("path", function() ex:read_text(5) end)
    raises("content", function() ex:write_text "x" end)
    raises("opts.line", function() ex:read_text("x", { line = 0 }) end)
    raises("argv", function() ex:open "ls" end)
  end)
end)
