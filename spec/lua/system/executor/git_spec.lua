-- The executor's file tools write nothing of git's: a repository's settings and hooks name programs that git runs. The
-- tools run without a policy here, in this process and behind a service.

local koine = require "koine"
local lfs = require "lfs"
local repository = require "spec.lua.system.repository"
local services = require "spec.lua.system.executor.service"

local SETTINGS = "[core]\n\tfsmonitor = touch marker\n"

-- Paths below a working directory DIR, which holds a repository, a submodule's and a linked worktree's `.git` files,
-- links, and a repository's directory that is called `bare`.
local REFUSED = { ".git", ".git/", ".git/.", ".git/config", "./.git//config", ".git/hooks/pre-commit", ".git/new/deep",
  "src/../.git/config", ".GIT/config", ".Git/config", ".git./config", ".git /config", "git~1/config",
  ".g\u{200C}it/config", ".git::$DATA", "DIR/.git/config", "DIR/./.git/config", "new/.git", "new/.git/config",
  "src/.git/config", "src/.GIT/HEAD", "module/.git", "module/.git/config", "worktree/.git", "link/config", "link",
  "settings", "bare/config", "bare/hooks/post-checkout", "bare/new", "almost/refs/x" }

local WRITTEN = { ".github/x", ".gitattributes", ".gitmodules", "src/x.git", "git", "module/x", "worktree/x", "new/x",
  "almost/x" }

describe("the executor's file tools and git:", function()
  local repo, place

  before_each(function()
    repo = repository.with { ["src/a"] = "a\n" }
    place = repo.dir
    repo:write("module/.git", "gitdir: ../.git/modules/module\n")
    repo:write("worktree/.git", "gitdir: ../.git/worktrees/worktree\n")
    repo:git("init", "--quiet", "--bare", "bare")
    repo:write("almost/HEAD", "ref: refs/heads/main\n")
    repo:write("almost/objects/x", "")
    assert(lfs.link(".git", place .. "/link", true))
    assert(lfs.link("src/../.git/config", place .. "/settings", true))
  end)
  after_each(function() repo:close() end)

  -- Returns the files below the working directory: name, type and time of every entry.
  local function state()
    local command = "cd '%s' && find . ! -name . -printf '%%p %%y %%T@ %%i\\n' | sort"
    local pipe <close> = assert(io.popen(command:format(place)))
    return pipe:read "a"
  end

  -- Every way to write there, as {tool, input}.
  local function attempts(path)
    local list = { { "write_file", { path = path, content = SETTINGS } },
      { "edit_file", { path = path, old_str = "bare = false", new_str = "bare = true" } } }
    for _, editor in ipairs { "text_editor", "str_replace_based_edit_tool" } do
      list[#list + 1] = { editor, { command = "create", path = path, file_text = SETTINGS } }
      list[#list + 1] = { editor, { command = "insert", path = path, insert_line = 0, insert_text = SETTINGS } }
      list[#list + 1] = { editor, { command = "str_replace", path = path, old_str = "bare", new_str = "x" } }
    end
    return list
  end

  local function check(ex)
    for _, path in ipairs(REFUSED) do
      local before = state()
      for _, attempt in ipairs(attempts((path:gsub("DIR", place)))) do
        local text, info = ex.run(attempt[1], attempt[2])
        assert.are.equal("Error: ", text:sub(1, 7), path)
        assert.are.same({ is_error = true }, info)
      end
      local said = ex.run("write_file", { path = path:gsub("DIR", place), content = SETTINGS })
      assert.are.equal(("Error: %s: git's own files are not written"):format(path:gsub("DIR", place)), said)
      assert.are.equal(before, state(), path)
    end
    for _, path in ipairs(WRITTEN) do
      assert.is_nil(select(2, ex.run("write_file", { path = path, content = "x" })), path)
      assert.are.equal("x", repo:read(path))
    end
    assert.is_truthy(ex.run("read_file", { path = "link/config" }):find("bare = false", 1, true))
  end

  it("no path leads to what is git's", function()
    local ex <close> = assert(koine.executor { workdir = place, policy = {} })
    check(ex)
  end)

  it("nor through a service", function()
    local service <close> = services.start(("{ executor = assert(koine.executor { workdir = %q, policy = {} }), "
      .. "token = 'tok-service-5ecret' }"):format(place))
    check(koine.executor.remote { url = service.url, token = "tok-service-5ecret" })
  end)

  it("nor from a working directory that lies in it", function()
    for _, below in ipairs { ".git", ".git/hooks", "link", "bare" } do
      local ex <close> = assert(koine.executor { workdir = place .. "/" .. below, policy = {} })
      for _, path in ipairs { "config", "pre-commit", "new/x" } do
        local text = ex.run("write_file", { path = path, content = SETTINGS })
        assert.are.equal(("Error: %s: git's own files are not written"):format(path), text)
      end
    end
  end)
end)
