-- koine.artifacts and the settings of a repository that say how its files are to be read: they hold, though git does
-- not see the repository's configuration.

local koine = require "koine"
local lfs = require "lfs"
local repository = require "spec.lua.system.repository"

local artifacts = koine.artifacts
local LUA = os.getenv "KOINE_LUA" or "lua5.4"
local quote = repository.quote

describe("artifacts", function()
  local repo

  before_each(function() repo = repository.with { ["a.txt"] = "a\n", ["b.txt"] = "b\n", ["dir/c.txt"] = "c\n" } end)
  after_each(function() repo:close() end)

  local function changed(...) return repo:changed(...) end

  -- The paths whose state differs from the last commit.
  local function listed()
    local names = {}
    for name in pairs(assert(artifacts.snapshot(repo.dir)).states) do names[#names + 1] = name end
    table.sort(names)
    return names
  end

  it("convert line ends as the repository does", function()
    repo:git("config", "core.autocrlf", "true")
    repo:write("a.txt", "a\r\n")
    repo:git("add", "a.txt")
    repo:write("a.txt", "a\r\n") -- the size is known, the time is not: git looks into the file
    assert.are.same({}, listed())
    repo:git("config", "core.autocrlf", "false")
    assert.are.same({ "a.txt" }, listed())
    repo:write(".gitattributes", "*.txt text eol=crlf\n")
    repo:commit()
    assert.are.same({}, listed())
    assert.are.same({ "b.txt" }, (changed(function() repo:write("b.txt", "B\r\n") end)))
  end)

  it("leave out what is ignored, by whatever file", function()
    repo:write(".git/info/exclude", "*.o\n")
    repo:write("patterns", "*.log\n")
    repo:git("config", "core.excludesFile", repo.dir .. "/patterns")
    repo:commit()
    assert.are.same({ "x.c" }, (changed(function()
      for _, name in ipairs { "x.o", "x.log", "x.c" } do repo:write(name, "x") end
    end)))
  end)

  it("leave out what the user ignores", function()
    local home <close> = repository.with { [".config/git/ignore"] = "*.tmp\n", ignored = "*.bak\n" }
    local code = ([[
      local koine = require "koine"
      local before = assert(koine.artifacts.snapshot(%q))
      for _, name in ipairs { "x.tmp", "x.bak", "x.c" } do io.open(%q .. name, "w"):close() end
      print(table.concat(assert(koine.artifacts.compare(before)), " "))]]):format(repo.dir, repo.dir .. "/")
    local function run()
      local sanitizer = ("LD_PRELOAD=%s ASAN_OPTIONS=%s"):format(quote(os.getenv "LD_PRELOAD" or ""),
        quote(os.getenv "ASAN_OPTIONS" or ""))
      local pipe <close> = assert(io.popen(("env -i PATH=%s HOME=%s %s LUA_PATH=%s LUA_CPATH=%s %s -e %s 2>&1"):format(
        quote(os.getenv "PATH"), quote(home.dir), sanitizer, quote(package.path), quote(package.cpath),
        quote(io.popen("command -v " .. LUA):read "l"), quote(code))))
      local said = pipe:read "a"
      for _, name in ipairs { "x.tmp", "x.bak", "x.c" } do repo:remove(name) end
      return said
    end
    assert.are.equal("x.bak x.c\n", run())
    home:write(".gitconfig", "[core]\n\texcludesFile = ~/ignored\n")
    assert.are.equal("x.c x.tmp\n", run())
  end)

  it("heed what the mode of a file means", function()
    local function chmod() assert(os.execute(("chmod +x '%s/a.txt'"):format(repo.dir))) end
    repo:git("config", "core.fileMode", "false")
    assert.are.same({}, (changed(chmod)))
    repo:git("config", "core.fileMode", "true")
    assert.are.same({ "a.txt" }, listed())
  end)

  it("know sparse working trees, split indexes and SHA-256", function()
    repo:git("update-index", "--split-index")
    assert.are.same({ "a.txt" }, (changed(function() repo:write("a.txt", "A\n") end)))
    repo:git("sparse-checkout", "set", "other")
    repo:git("checkout", "--quiet", "--force", "HEAD")
    assert.is_nil(repo:read "dir/c.txt")
    assert.are.same({}, listed())
    assert.are.same({ "new.txt" }, (changed(function() repo:write("new.txt", "n\n") end)))
    local long <close> = repository.new(repository.folder())
    os.execute("rm -rf " .. quote(long.dir .. "/.git"))
    long:git("init", "--quiet", "--object-format=sha256")
    long:write("a.txt", "a\n")
    local paths, heads = long:changed(function() long:commit() end)
    assert.are.same({ { "a.txt" }, 64 }, { paths, #heads.head_after })
  end)

  it("know a clone that lacks history, and one that borrows objects", function()
    repo:commit "second"
    repo:write("a.txt", "2\n")
    repo:commit "third"
    for _, how in ipairs { "--depth=1", "--shared" } do
      local clone <close> = setmetatable({ dir = repository.folder() }, getmetatable(repo))
      repo:git("clone", "--quiet", how, "file://" .. repo.dir, clone.dir)
      assert.are.same({ "new.txt" }, (clone:changed(function()
        clone:write("new.txt", "n\n")
        clone:commit()
      end)))
    end
  end)

  it("compare what a filter would convert as it lies there", function()
    repo:git("config", "filter.upper.clean", "tr a-z A-Z")
    repo:write(".gitattributes", "*.txt filter=upper\n")
    repo:commit()
    assert.are.same({ "a.txt" }, (changed(function() repo:write("a.txt", "other\n") end)))
    assert.are.same({ "a.txt" }, (changed(function() repo:write("a.txt", "OTHER\n") end)))
    assert.are.same({}, (changed(function() end)))
  end)

  it("work where a path holds line breaks", function()
    local parent = repository.folder()
    local odd <close> = repository.new((assert(lfs.mkdir(parent .. "/a\nb")) and parent .. "/a\nb"))
    odd:write("dir/x\ny", "1\n")
    odd:commit()
    assert.are.same({ "dir/x\ny" }, (odd:changed(function() odd:write("dir/x\ny", "2\n") end)))
    assert.are.same({ "x\ny" }, (odd:changed(function() odd:write("dir/x\ny", "3\n") end,
      { relative_to = "workdir" }, odd.dir .. "/dir")))
    odd:git("worktree", "add", "--quiet", "-b", "linked", "../linked\none")
    assert.are.same({ "new" }, (odd:changed(function() odd:write("../linked\none/new", "n") end, nil,
      parent .. "/linked\none")))
    os.execute("rm -rf " .. quote(parent))
  end)

  it("leave nothing behind", function()
    local folder = repository.folder()
    local code = ([[
      local koine = require "koine"
      assert(koine.artifacts.compare(assert(koine.artifacts.snapshot(%q))))]]):format(repo.dir)
    repo:write("a.txt", "A\n")
    local tmpname = ([[
      local n = 0
      function os.tmpname()
        n = n + 1
        io.open(%q .. n, "w"):close()
        return %q .. n
      end]]):format(folder .. "/", folder .. "/")
    assert(os.execute(("LUA_PATH=%s LUA_CPATH=%s %s -e %s"):format(quote(package.path), quote(package.cpath), LUA,
      quote(tmpname .. code))))
    assert.are.equal(2, lfs.attributes(folder, "nlink")) -- no directory in it
    assert(lfs.rmdir(folder)) -- and no file
  end)
end)
