-- koine.artifacts, with real git repositories: which changes of files count, and what is an error. Beside it
-- artifacts_history_spec.

local koine = require "koine"
local lfs = require "lfs"
local raised = require "spec.support.raised"
local repository = require "spec.lua.system.repository"

local artifacts = koine.artifacts
local LUA = os.getenv "KOINE_LUA" or "lua5.4"

describe("artifacts", function()
  local repo

  before_each(function() repo = repository.with { ["a.txt"] = "a\n", ["b.txt"] = "b\n", ["dir/c.txt"] = "c\n" } end)
  after_each(function() repo:close() end)

  local function changed(...) return repo:changed(...) end

  it("94: modified and new untracked files", function()
    assert.are.same({ "a.txt", "new.txt" }, (changed(function()
      repo:write("a.txt", "A\n")
      repo:write("new.txt", "n\n")
    end)))
  end)

  it("94: nothing changed: empty", function()
    local paths, heads = changed(function() end)
    assert.are.same({}, paths)
    assert.are.equal(repo:git("rev-parse", "HEAD"):gsub("\n", ""), heads.head_before)
    assert.are.equal(heads.head_before, heads.head_after)
  end)

  it("94: a committed file", function()
    local paths, heads = changed(function()
      repo:write("new.txt", "n\n")
      repo:write("a.txt", "A\n")
      repo:commit()
    end)
    assert.are.same({ "a.txt", "new.txt" }, paths)
    assert.are.not_equal(heads.head_before, heads.head_after)
    assert.are.equal(repo:git("rev-parse", "HEAD"):gsub("\n", ""), heads.head_after)
  end)

  it("95: a staged file", function()
    assert.are.same({ "a.txt" }, (changed(function()
      repo:write("a.txt", "A\n")
      repo:git("add", "a.txt")
    end)))
  end)

  it("95: a file that is staged and put back in the working tree", function()
    assert.are.same({ "a.txt" }, (changed(function()
      repo:write("a.txt", "A\n")
      repo:git("add", "a.txt")
      repo:write("a.txt", "a\n")
    end)))
  end)

  it("95: deleted files: in the working tree, in the index, by a commit", function()
    assert.are.same({ "a.txt", "b.txt" }, (changed(function()
      repo:remove "a.txt"
      repo:git("rm", "--quiet", "b.txt")
    end)))
    assert.are.same({ "a.txt", "b.txt" }, (changed(function() repo:commit() end)))
  end)

  it("95: both names of a renamed file, staged and committed", function()
    local paths = { "a.txt", "dir/A.txt" }
    assert.are.same(paths, (changed(function() repo:git("mv", "a.txt", "dir/A.txt") end)))
    assert.are.same(paths, (changed(function() repo:commit() end)))
  end)

  it("95: ignored files are none", function()
    repo:write(".gitignore", "*.o\n/out/\n")
    repo:commit()
    assert.are.same({}, (changed(function()
      repo:write("x.o", "o")
      repo:write("out/y", "y")
    end)))
  end)

  it("95: what was dirty before and is not touched", function()
    repo:write("a.txt", "dirty\n")
    repo:write("b.txt", "dirty\n")
    repo:git("add", "b.txt")
    repo:remove "dir/c.txt"
    assert.are.same({ "new.txt" }, (changed(function() repo:write("new.txt", "n\n") end)))
  end)

  it("95: what was dirty before and is changed again", function()
    repo:write("a.txt", "dirty\n")
    repo:write("b.txt", "dirty\n")
    assert.are.same({ "a.txt" }, (changed(function() repo:write("a.txt", "other\n") end)))
  end)

  it("95: what was dirty before and is thrown away, staged or committed", function()
    repo:write("a.txt", "dirty\n")
    assert.are.same({ "a.txt" }, (changed(function() repo:git("checkout", "--quiet", "a.txt") end)))
    repo:write("a.txt", "dirty\n")
    assert.are.same({ "a.txt" }, (changed(function() repo:git("add", "a.txt") end)))
    assert.are.same({ "a.txt" }, (changed(function() repo:commit() end)))
  end)

  it("95: what was untracked before: not, unless its bytes change or it goes", function()
    repo:write("u1", "1")
    repo:write("u2", "2")
    repo:write("u3", "3")
    assert.are.same({ "u2", "u3" }, (changed(function()
      repo:write("u2", "two")
      repo:remove "u3"
    end)))
  end)

  it("95: changed and changed back: in the working tree, and by commits", function()
    assert.are.same({}, (changed(function()
      repo:write("a.txt", "A\n")
      repo:write("a.txt", "a\n")
    end)))
    assert.are.same({}, (changed(function()
      repo:write("a.txt", "A\n")
      repo:commit()
      repo:write("a.txt", "a\n")
      repo:commit()
    end)))
  end)

  it("95: a file whose mode alone changes, tracked, dirty before or untracked", function()
    repo:write("b.txt", "dirty\n")
    repo:write("u", "u")
    assert.are.same({ "a.txt", "b.txt", "u" }, (changed(function()
      assert(os.execute(("cd '%s' && chmod +x a.txt b.txt u"):format(repo.dir)))
    end)))
  end)

  it("95: a file that becomes a symbolic link, and a link with another target", function()
    assert(lfs.link("nowhere", repo.dir .. "/link", true))
    assert.are.same({ "a.txt", "link" }, (changed(function()
      repo:remove "a.txt"
      repo:remove "link"
      assert(lfs.link("/nonexistent", repo.dir .. "/a.txt", true))
      assert(lfs.link("elsewhere", repo.dir .. "/link", true))
    end)))
  end)

  it("95: a file that becomes a directory", function()
    assert.are.same({ "a.txt", "a.txt/inside" }, (changed(function()
      repo:remove "a.txt"
      repo:write("a.txt/inside", "i")
    end)))
  end)

  local NAMES = { " leading", 'quo"te', "apo'strophe", "back\\slash", "dir x/sp ace", "new\nline", "tab\there",
    "über/ñandú", "-dash", "star*", "\255\254" }

  it("95: names with spaces, quotes, newlines, UTF-8 and bytes that are none", function()
    table.sort(NAMES)
    local function write(text)
      for _, name in ipairs(NAMES) do repo:write(name, text) end
    end
    assert.are.same(NAMES, (changed(function() write "1" end)))
    assert.are.same(NAMES, (changed(function() write "2" end)))
    assert.are.same({}, (changed(function() end)))
    assert.are.same(NAMES, (changed(function() repo:commit() end)))
    assert.are.same(NAMES, (changed(function() write "3" end)))
  end)

  -- Runs Lua code in a child with that environment; what it prints.
  local function in_child(environment, code)
    local program = "package.path, package.cpath = %q, %q local koine = require 'koine' " .. code
    local lua = io.popen("command -v " .. LUA):read "l"
    local pipe = assert(io.popen(("env %s %s -e %s 2>&1"):format(environment, lua,
      repository.quote(program:format(package.path, package.cpath)))))
    local text = pipe:read "a"
    pipe:close()
    return text
  end

  it("95: GIT_DIR, GIT_WORK_TREE and GIT_INDEX_FILE in the environment mean nothing", function()
    local other <close> = repository.with { x = "x" }
    local code = ([[
      local before = assert(koine.artifacts.snapshot(%q))
      assert(next(before.states) == nil)
      assert(io.open(%q, "w")):close()
      local paths, heads = assert(koine.artifacts.compare(before))
      print(before.head, before.root, heads.head_after == before.head, table.concat(paths, " "))]]):format(repo.dir,
      repo.dir .. "/new")
    local printed = in_child(("GIT_DIR='%s/.git' GIT_WORK_TREE='%s' GIT_INDEX_FILE='%s/.git/index'"):format(other.dir,
      other.dir, other.dir), code)
    local head = repo:git("rev-parse", "HEAD"):gsub("\n", "")
    assert.are.equal(head .. "\t" .. repo.dir .. "\ttrue\tnew\n", printed)
  end)

  it("95: where there is no git, the error says so", function()
    local code = ([[
      local before, err = koine.artifacts.snapshot(%q)
      print(before, err.kind, err.code)]]):format(repo.dir)
    assert.are.equal("nil\tother\tabsent\n", in_child("PATH=/nonexistent", code))
  end)

  it("95: a folder without a repository, a bare one, and one that is not there", function()
    local folder = repository.folder()
    local before, err = artifacts.snapshot(folder)
    assert.is_nil(before)
    assert.are.equal("not_a_repository", err.code)
    assert.are.equal("other", err.kind)
    repo:git("init", "--quiet", "--bare", folder)
    assert.are.equal("not_a_repository", select(2, artifacts.snapshot(folder)).code)
    os.execute("rm -rf " .. folder)
    err = select(2, artifacts.snapshot(folder))
    assert.are.same({ "Error", "other" }, { err.class, err.kind })
    assert.is_nil(err.code)
  end)

  it("a repository that goes, or breaks, is an error and no list", function()
    local before = assert(artifacts.snapshot(repo.dir))
    repo:write(".git/HEAD", "nonsense\n")
    local paths, err = artifacts.compare(before)
    assert.is_nil(paths)
    assert.are.equal("not_a_repository", err.code)
    os.execute("rm -rf '" .. repo.dir .. "/.git'")
    paths, err = artifacts.compare(before)
    assert.is_nil(paths)
    assert.is_true(koine.errors.is_error(err))
    repo:git "init"
    assert.are.equal("git", select(2, artifacts.compare(before)).code)
  end)

  it("starts no program that the repository names, and stores nothing in it", function()
    lfs.mkdir(repo.dir .. "/.git/hooks")
    local marker = repo.dir .. "/.git/started"
    local evil = repo.dir .. "/.git/evil"
    repo:write(".git/evil", "#!/bin/sh\ntouch '" .. marker .. "'\n")
    assert(os.execute("chmod +x '" .. evil .. "'"))
    repo:git("config", "core.fsmonitor", evil)
    repo:git("config", "diff.external", evil)
    assert(lfs.link(evil, repo.dir .. "/.git/hooks/post-index-change", true))
    local function stored()
      local pipe <close> = io.popen(("cd '%s/.git' && find . -type f | grep -v ./index | sort"):format(repo.dir))
      return pipe:read "a"
    end
    os.remove(marker)
    local known = stored()
    assert.are.same({ "a.txt", "new" }, (changed(function()
      repo:write("a.txt", "A\n")
      repo:write("new", "n\n")
    end)))
    assert.are.equal(known, stored())
  end)

  it("wrong use is an ArgumentError", function()
    assert.are.equal("workdir", raised(artifacts.snapshot).field)
    assert.are.equal("workdir", raised(artifacts.snapshot, "").field)
    assert.are.equal("workdir", raised(artifacts.snapshot, "a\0b").field)
    assert.are.equal("options", raised(artifacts.snapshot, repo.dir, 5).field)
    assert.are.equal("timeuot", raised(artifacts.snapshot, repo.dir, { timeuot = 5 }).field)
    assert.are.equal("timeout", raised(artifacts.snapshot, repo.dir, { timeout = 0 }).field)
    assert.are.equal("before", raised(artifacts.compare, {}).field)
    assert.are.equal("before", raised(artifacts.compare, { states = {} }).field)
    local before = assert(artifacts.snapshot(repo.dir))
    assert.are.equal("relative_to", raised(artifacts.compare, before, { relative_to = "top" }).field)
    assert.are.equal("relative", raised(artifacts.compare, before, { relative = "root" }).field)
  end)
end)
