-- make release and make dist, in a repository with what they read: what they refuse, what they make, and that a step
-- that fails leaves nothing behind.

local files = require "spec.support.files"
local folder = require "spec.support.folder"

local ENVIRONMENT = "env -u MAKEFLAGS -u LUA_PATH -u LUA_CPATH GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a "
  .. "GIT_AUTHOR_EMAIL=a@localhost GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@localhost"
local ADDRESSES = "SOURCE_URL=https://example.com/koine-9.9.0.tar.gz HOMEPAGE=https://example.com/ "
  .. "ISSUES_URL=https://example.com/issues"
local UNDONE = "release: failed; all is as it was before\n"

describe("make release", function()
  local place

  -- What a command in the repository writes, and whether it succeeds.
  local function run(command, ...)
    local pipe = assert(io.popen(("cd '%s' && %s %s 2>&1"):format(place, ENVIRONMENT, command:format(...))))
    local text = pipe:read "a"
    return text, (pipe:close()) == true
  end

  local function git(...)
    local text, ok = run("git " .. ...)
    assert(ok, text)
    return text
  end

  local function release(version, more)
    return run("make -s release VERSION=%s %s", version, more or ADDRESSES)
  end

  local CHANGELOG = "# Changelog\n\nUser-visible changes.\n\n## Unreleased (9.9.0)\n\n- **One**: a change.\n"

  local first

  local function has_luarocks() return (os.execute "command -v luarocks >/dev/null") end

  setup(function()
    place = folder.new()
    assert(os.execute(("for d in src/core src/binding lua/koine/data spec/c spec/host tools rockspec; do "
      .. "mkdir -p '%s/'$d; done; for f in Makefile .gitignore tools/release.sh tools/dist.sh "
      .. "rockspec/koine-scm-1.rockspec; do cp $f '%s/'$f; done"):format(place, place)))
    files.write(place .. "/CHANGELOG.md", CHANGELOG, "644")
    files.write(place .. "/lua/koine/data/version.lua", 'return "9.0.0"\n', "644")
    git "init -q"
    git "add -A"
    git "commit -q -m prepare"
    first = git "rev-parse HEAD"
  end)
  teardown(function() folder.remove(place) end)
  before_each(function()
    git("reset -q --hard " .. first:gsub("\n", ""))
    run "git tag -l | xargs -r git tag -d; rm -f koine-*.tar.gz koine-*.rockspec"
  end)

  local function unfit()
    return not has_luarocks() and "luarocks is not there"
  end

  local function assert_untouched()
    assert.are.equal(first, git "rev-parse HEAD")
    assert.are.equal("", git "status --porcelain --ignored")
    assert.are.equal("", git "tag -l")
  end

  it("sets version and changelog, commits, tags and packs", function()
    if unfit() then return pending(unfit()) end
    local text, ok = release "9.9.0"
    assert.is_true(ok, text)
    assert.are.equal("release: publish version 9.9.0\n", git "log -1 --format=%%s")
    assert.are.equal("v9.9.0\n", git "describe --exact-match")
    assert.are.equal("", git "status --porcelain")
    assert.truthy(files.read(place .. "/lua/koine/data/version.lua"):find('return "9.9.0"\n', 1, true))
    local date = os.date "!%Y-%m-%d"
    assert.are.equal((CHANGELOG:gsub("## Unreleased %(9.9.0%)", ("## Unreleased\n\n## 9.9.0 (%s)"):format(date))),
      files.read(place .. "/CHANGELOG.md"))
    local rockspec = {}
    assert(load(files.read(place .. "/koine-9.9.0-1.rockspec"), "rockspec", "t", rockspec))()
    assert.are.equal("9.9.0-1", rockspec.version)
    assert.are.same({ url = "https://example.com/koine-9.9.0.tar.gz", dir = "koine-9.9.0" }, rockspec.source)
    assert.are.equal("https://example.com/", rockspec.description.homepage)
    assert.are.equal("https://example.com/issues", rockspec.description.issues_url)
    assert.are.equal("MIT", rockspec.description.license)
    local packed = run "tar xzOf koine-9.9.0.tar.gz koine-9.9.0/lua/koine/data/version.lua"
    assert.truthy(packed:find "9%.9%.0")

    -- again: it is released, and there is nothing new to say
    text, ok = release "9.9.0"
    assert.is_false(ok)
    assert.truthy(text:find("there is a tag v9.9.0 already", 1, true), text)
    text, ok = release "9.8.7"
    assert.is_false(ok)
    assert.truthy(text:find("9.8.7 is not greater than 9.9.0, which is released", 1, true), text)
    text, ok = release "9.10.0"
    assert.is_false(ok)
    assert.truthy(text:find("says nothing", 1, true), text)
    -- the same files again
    text, ok = run("make -s dist %s SOURCE_URL=git+https://example.com/koine.git", ADDRESSES)
    assert.is_true(ok, text)
    local named = 'url = "git+https://example.com/koine.git", tag = "v9.9.0"'
    assert.truthy(files.read(place .. "/koine-9.9.0-1.rockspec"):find(named, 1, true))
  end)

  for what, case in pairs {
    ["a word for a version"] = { "new", nil, "three numbers" },
    ["a version with zeros before it"] = { "01.2.3", nil, "three numbers" },
    ["a version less than the one that is worked on"] = { "0.0.1", nil, "0.0.1 is less than" },
    ["no address of the source"] = { "9.9.0", "HOMEPAGE=https://example.com/", "set SOURCE_URL" },
    ["no homepage"] = { "9.9.0", "SOURCE_URL=https://example.com/koine-9.9.0.tar.gz", "set HOMEPAGE" },
    ["an address of this machine"] = { "9.9.0", ADDRESSES .. " SOURCE_URL=git+file:///srv/koine",
      "SOURCE_URL: an address" },
    ["an address without its version"] = { "9.9.0", ADDRESSES .. " SOURCE_URL=https://example.com/koine.tar.gz",
      "with the version in it" },
    ["an address that is none"] = { "9.9.0", ADDRESSES .. " ISSUES_URL=mail", "ISSUES_URL: an address" },
  } do
    it("refuses " .. what .. ", and leaves nothing behind", function()
      if unfit() then return pending(unfit()) end
      local text, ok = release(case[1], case[2])
      assert.is_false(ok)
      assert.truthy(text:find(case[3], 1, true), text)
      assert_untouched()
    end)
  end

  it("refuses a tree with changes, and leaves them alone", function()
    if unfit() then return pending(unfit()) end
    files.write(place .. "/new", "mine")
    local text, ok = release "9.9.0"
    assert.is_false(ok)
    assert.truthy(text:find("not committed", 1, true), text)
    assert.are.equal("mine", files.read(place .. "/new"))
    os.remove(place .. "/new")
    assert_untouched()
  end)

  it("undoes all when the last step fails", function()
    if unfit() then return pending(unfit()) end
    files.write(place .. "/.git/hooks/post-commit", "#!/bin/sh\nkill -INT $PPID\n", "755")
    local text, ok = release "9.9.0"
    os.remove(place .. "/.git/hooks/post-commit")
    assert.is_false(ok, text)
    assert.truthy(text:find(UNDONE, 1, true), text)
    assert_untouched()
    text, ok = release("9.9.0", ADDRESSES .. " LUA=false")
    assert.is_false(ok, text)
    assert.truthy(text:find(UNDONE, 1, true), text)
    assert.is_nil(text:find("dist: set ", 1, true), text)
    assert_untouched()
  end)
end)
