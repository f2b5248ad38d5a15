-- koine.artifacts starts no program and no transfer that a repository's files ask for, nor one that a configuration in
-- reach of them asks for. Each setting is planted in a real repository, such that it leaves a mark when it is obeyed:
-- artifacts leave none. Then git itself is asked, which leaves one, so that the plant is known to be live.

local koine = require "koine"
local lfs = require "lfs"
local repository = require "spec.lua.system.repository"
local socket = require "socket"

local artifacts = koine.artifacts
local LUA = os.getenv "KOINE_LUA" or "lua5.4"
local quote = repository.quote

local HOOKS = { "applypatch-msg", "fsmonitor-watchman", "post-checkout", "post-commit", "post-index-change",
  "post-merge", "pre-auto-gc", "pre-commit", "reference-transaction", "sendemail-validate" }

describe("artifacts start nothing that is planted as", function()
  local repo, outside, listener

  before_each(function()
    repo = repository.with { ["a.txt"] = "a\n", ["b.txt"] = "b\n", ["dir/c.txt"] = "c\n" }
    outside = repository.folder()
    assert(lfs.mkdir(outside .. "/marks"))
  end)
  after_each(function()
    if listener then listener:close() end
    listener = nil
    repo:close()
    os.execute("rm -rf " .. quote(outside))
  end)

  -- The path of a program that leaves a mark of this name and fails, or as a filter gives back what it gets.
  local function evil(name)
    local path = outside .. "/" .. name
    local file <close> = assert(io.open(path, "w"))
    file:write(("#!/bin/sh\ntouch '%s/marks/%s'\n%s\n"):format(outside, name,
      name == "clean" and "exec cat" or "exit 1"))
    assert(os.execute("chmod +x " .. quote(path)))
    return path
  end

  local function marks()
    local list = {}
    for name in lfs.dir(outside .. "/marks") do
      if name ~= "." and name ~= ".." then list[#list + 1] = name end
    end
    if listener and listener:accept() then list[#list + 1] = "connection" end
    table.sort(list)
    return list
  end

  local function config(...) repo:git("config", ...) end

  -- Returns the lines of a repository's configuration file that set up these programs.
  local function settings()
    return ("[core]\n\tfsmonitor = %s\n[filter \"evil\"]\n\tclean = %s\n\tsmudge = cat\n"):format(evil "monitor",
      evil "clean")
  end

  -- Makes an object of the last commit one that has to be fetched.
  local function forget(what)
    local hash = repo:git("rev-parse", what):gsub("\n", "")
    os.execute(("rm -f '%s/.git/objects/%s/%s'"):format(repo.dir, hash:sub(1, 2), hash:sub(3)))
  end

  local function promise(url)
    config("core.repositoryFormatVersion", "1")
    config("extensions.partialClone", "origin")
    config("remote.origin.promisor", "true")
    config("remote.origin.url", url)
    config("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
  end

  local ADD = { "add", "." }

  -- name → {what plants it, arguments of a git that obeys (nil: git obeys in other commands only)}
  local PLANTS = {
    ["a filter that cleans"] = { function()
      config("filter.evil.clean", evil "clean")
      config("filter.evil.required", "true")
      repo:write(".gitattributes", "* filter=evil\n")
    end, ADD },
    ["a filter process"] = { function()
      config("filter.evil.process", evil "process")
      repo:write(".gitattributes", "* filter=evil\n")
    end, ADD },
    ["a filter with an odd name"] = { function()
      config("filter.a=b.c.clean", evil "clean")
      repo:write(".gitattributes", "* filter=a=b.c\n")
    end, ADD },
    ["a filter that smudges"] = { function()
      config("filter.evil.smudge", evil "smudge")
      repo:write(".gitattributes", "* filter=evil\n")
    end, { "checkout", "--force", "HEAD", "--", "a.txt" } },
    ["a filter for the repository's own attributes"] = { function()
      config("filter.evil.clean", evil "clean")
      repo:write(".git/info/attributes", "* filter=evil\n")
    end, ADD },
    ["a filter for attributes elsewhere"] = { function()
      config("filter.evil.clean", evil "clean")
      repo:write("attributes", "* filter=evil\n")
      config("core.attributesFile", repo.dir .. "/attributes")
    end, ADD },
    ["settings that are included"] = { function()
      repo:write("settings", settings())
      config("include.path", "../settings")
    end, { "status" } },
    ["settings of the working tree"] = { function()
      config("core.repositoryFormatVersion", "1")
      config("extensions.worktreeConfig", "true")
      repo:write(".git/config.worktree", settings())
    end, { "status" } },
    ["a monitor"] = { function() config("core.fsmonitor", evil "monitor") end, { "status" } },
    ["hooks"] = { function()
      for _, name in ipairs(HOOKS) do
        lfs.mkdir(repo.dir .. "/.git/hooks")
        assert(os.execute(("cp '%s' '%s/.git/hooks/%s'"):format(evil(name), repo.dir, name)))
      end
    end, { "commit", "--allow-empty", "-m", "m" } },
    ["hooks elsewhere"] = { function()
      lfs.mkdir(repo.dir .. "/hooks")
      for _, name in ipairs(HOOKS) do
        assert(os.execute(("cp '%s' '%s/hooks/%s'"):format(evil(name), repo.dir, name)))
      end
      config("core.hooksPath", "hooks")
    end, { "commit", "--allow-empty", "-m", "m" } },
    ["what fetches a missing file, by ssh"] = { function()
      promise "ssh://nowhere.invalid/x"
      config("core.sshCommand", evil "ssh")
      forget "HEAD:a.txt"
    end, { "show", "HEAD:a.txt" } },
    ["what fetches a missing directory, by ssh"] = { function()
      promise "ssh://nowhere.invalid/x"
      config("core.sshCommand", evil "ssh")
      forget "HEAD:dir"
    end, { "show", "HEAD:dir" } },
    ["what fetches a missing commit, by ssh"] = { function()
      promise "ssh://nowhere.invalid/x"
      config("core.sshCommand", evil "ssh")
      forget "HEAD"
    end, { "show", "HEAD" }, broken = true },
    ["what fetches a missing file, by a command"] = { function()
      promise("ext::" .. evil "transport")
      config("protocol.ext.allow", "always")
      forget "HEAD:a.txt"
    end, { "show", "HEAD:a.txt" } },
    ["what fetches a missing file, from a folder"] = { function()
      promise(outside)
      config("remote.origin.uploadpack", evil "uploadpack")
      forget "HEAD:a.txt"
    end, { "show", "HEAD:a.txt" } },
    ["what fetches a missing file, by git's protocol"] = { function()
      promise "git://nowhere.invalid/x"
      config("core.gitProxy", evil "proxy")
      forget "HEAD:a.txt"
    end, { "show", "HEAD:a.txt" } },
    ["what fetches a missing file, by HTTP"] = { function()
      listener = assert(socket.bind("127.0.0.1", 0))
      listener:settimeout(0)
      promise(("http://127.0.0.1:%d/x"):format((select(2, listener:getsockname()))))
      config("credential.helper", evil "credentials")
      config("core.askPass", evil "password")
      config("http.lowSpeedLimit", "1")
      config("http.lowSpeedTime", "1")
      forget "HEAD:a.txt"
    end, { "show", "HEAD:a.txt" } },
    ["an external diff"] = { function() config("diff.external", evil "diff") end, { "diff" } },
    ["an external diff of some files"] = { function()
      config("diff.evil.command", evil "diff")
      repo:write(".gitattributes", "* diff=evil\n")
    end, { "diff" } },
    ["a conversion for diffs"] = { function()
      config("diff.evil.textconv", evil "textconv")
      repo:write(".gitattributes", "* diff=evil\n")
    end, { "diff" } },
    ["pagers, editors, signatures, merges and commands of its own"] = { function()
      for _, key in ipairs { "core.pager", "pager.status", "pager.config", "pager.diff", "core.editor",
        "sequence.editor", "gpg.program", "gpg.ssh.program", "merge.evil.driver", "core.alternateRefsCommand",
        "uploadpack.packObjectsHook", "interactive.diffFilter", "credential.helper", "core.askPass",
        "core.gitProxy" } do
        config(key, evil(key))
      end
      for _, name in ipairs { "status", "rev-parse", "config", "ls-files", "update-index", "diff-tree", "merge-base",
        "hash-object", "evil" } do
        config("alias." .. name, "!" .. evil("alias-" .. name))
      end
      config("log.showSignature", "true")
      config("status.submoduleSummary", "true")
      repo:write(".gitattributes", "* merge=evil\n")
    end, { "evil" } },
    ["settings of a submodule"] = { function()
      local library <close> = repository.with { ["lib.txt"] = "1\n" }
      repo:git("submodule", "--quiet", "add", library.dir, "sub")
      repo:commit()
      repo:git_in("sub", "config", "core.fsmonitor", evil "monitor")
      repo:git_in("sub", "config", "filter.evil.clean", evil "clean")
      config("submodule.sub.update", "!" .. evil "update")
      repo:write("sub/.gitattributes", "* filter=evil\n")
      repo:write("sub/lib.txt", "2\n")
    end, { "status" } },
    ["settings of a repository within"] = { function()
      repo:write("nested/x.txt", "x\n")
      repo:git_in("nested", "init", "--quiet")
      repo:write("nested/.git/config", "[core]\n\trepositoryformatversion = 0\n" .. settings())
      repo:write("nested/.gitattributes", "* filter=evil\n")
    end, { "-C", "nested", "status" } },
    ["settings that a .git file points at"] = { function()
      repo:write("nested/x.txt", "x\n")
      repo:git("init", "--quiet", "--separate-git-dir", "data", "nested")
      repo:write("data/config", "[core]\n\trepositoryformatversion = 0\n" .. settings())
    end, { "-C", "nested", "status" } },
  }

  -- Changes files such that git has to look at them, and makes a commit of its own without any program.
  local function change()
    repo:write("a.txt", "A\n")
    repo:write("new.txt", "n\n")
    repo:write("dir/c.txt", "c\n")
  end

  for name, plant in pairs(PLANTS) do
    it(name, function()
      plant[1]()
      os.execute(("rm -f '%s'/marks/*"):format(outside)) -- of git itself, while it was planted
      local before, err = artifacts.snapshot(repo.dir)
      if plant.broken then
        assert.is_nil(before)
        assert.are.equal("git", err.code)
        change()
      else
        assert(before, err)
        change()
        local paths = assert(artifacts.compare(before))
        assert.are.same({ "a.txt", "new.txt" }, { table.unpack(paths, 1, 2) })
        assert(artifacts.compare(assert(artifacts.snapshot(repo.dir .. "/dir"))))
      end
      assert.are.same({}, marks())
      pcall(repo.git, repo, table.unpack(plant[2]))
      assert.are_not.same({}, marks())
    end)
  end

  it("a repository that lies bare in the working directory", function()
    repo:git("init", "--quiet", "--bare", "dir")
    repo:write("dir/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n" .. settings())
    repo:write("dir/.gitattributes", "* filter=evil\n")
    local before, err = artifacts.snapshot(repo.dir .. "/dir")
    if not before then assert.are.equal("not_a_repository", err.code) end
    assert.are.same({}, marks())
    pcall(repo.git_in, repo, "dir", "status")
    assert.are_not.same({}, marks())
  end)

  it("settings of the user, where a model can reach them", function()
    for _, file in ipairs { ".gitconfig", ".config/git/config" } do
      repo:write(file, settings() .. ("[trace2]\n\teventTarget = %s/marks/trace\n"):format(outside))
      repo:write(".config/git/attributes", "* filter=evil\n")
      local code = ([[
        local koine = require "koine"
        local before = assert(koine.artifacts.snapshot(%q))
        io.open(%q, "w"):write("A\n"):close()
        print(table.concat(assert(koine.artifacts.compare(before)), " "))]]):format(repo.dir, repo.dir .. "/a.txt")
      local environment = "env -i PATH=" .. quote(os.getenv "PATH") .. " HOME=" .. quote(repo.dir)
        .. " LD_PRELOAD=" .. quote(os.getenv "LD_PRELOAD" or "")
        .. " ASAN_OPTIONS=" .. quote(os.getenv "ASAN_OPTIONS" or "")
      local pipe = assert(io.popen(("%s LUA_PATH=%s LUA_CPATH=%s %s -e %s 2>&1"):format(environment,
        quote(package.path), quote(package.cpath), quote(io.popen("command -v " .. LUA):read "l"), quote(code))))
      assert.are.equal("a.txt\n", pipe:read "a")
      pipe:close()
      assert.are.same({}, marks())
      os.execute(environment .. " git -C " .. quote(repo.dir) .. " add a.txt 2> /dev/null")
      assert.are.same({ "clean", "monitor", "trace" }, marks())
      os.execute(("rm -f '%s'/marks/* && cd '%s' && git reset --quiet --hard && rm -rf .gitconfig .config")
        :format(outside, repo.dir))
    end
  end)
end)
