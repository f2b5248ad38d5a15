-- The boundary of the executor's file tools: whatever path a model makes up, nothing outside of the working directory
-- is read, written, made or listed. The tools run without a policy here: the file tree alone has to hold.
-- Around the working directory `repo` lie `outside`, with a secret file, and `repo2`, whose name begins like repo's.

local folder = require "spec.support.folder"
local koine = require "koine"
local lfs = require "lfs"
local strerror = require "spec.support.strerror"

local SECRET = "the sentinel's bytes"

-- name → path; BASE is the directory that holds repo.
local TRICKS = {
  ["parent"] = "../outside/secret",
  ["parent's parent"] = "../../../../../../../../etc/passwd",
  ["parent behind a directory"] = "a/../../outside/secret",
  ["parent behind two"] = "a/b/../../../outside/secret",
  ["parent at the end"] = "a/../..",
  ["parent alone"] = "..",
  ["parent with dots between"] = "./.././outside/./secret",
  ["parent with many slashes"] = "..////outside////secret",
  ["out and back in"] = "../repo/../outside/secret",
  ["absolute"] = "BASE/outside/secret",
  ["absolute, of the system"] = "/etc/passwd",
  ["absolute, the root"] = "/",
  ["absolute with two slashes"] = "//etc/passwd",
  ["absolute through the working directory"] = "BASE/repo/../outside/secret",
  ["absolute through the working directory, deeper"] = "BASE/repo/a/b/../../../outside/secret",
  ["absolute, back in through the outside"] = "BASE/outside/../repo/../outside/secret",
  ["a sibling that begins like it"] = "BASE/repo2/secret",
  ["a sibling, relative"] = "../repo2/secret",
  ["a directory that it begins with"] = "BASE/rep",
  ["the process's own links"] = "/proc/self/root/etc/passwd",
  ["the process's own directory"] = "/proc/self/cwd",
  ["the process's own descriptors"] = "/proc/self/fd/0",
  ["a device"] = "/dev/zero",
  ["link to a file"] = "leak",
  ["link to a file, absolute"] = "leak-absolute",
  ["link to a directory"] = "out/secret",
  ["link to a directory, absolute"] = "out-absolute/secret",
  ["link to a directory itself"] = "out",
  ["link to a link"] = "chain/secret",
  ["link to a link in another directory"] = "a/hop/secret",
  ["link that winds"] = "winding",
  ["link to the parent"] = "parent/outside/secret",
  ["link to the parent, then parent"] = "a/self/../outside/secret",
  ["link inside, then parents"] = "deep/../../../outside/secret",
  ["link to the root"] = "slash/etc/passwd",
  ["link to a sibling"] = "sibling/secret",
  ["link to the process's root"] = "magic/etc/passwd",
  ["link to a device"] = "zero",
  ["link to a file that is not there yet"] = "planted",
  ["link to a directory that is not there yet"] = "planted-directory/secret",
  ["link in a ring"] = "ring",
  ["link in a ring of two"] = "ping/secret",
  ["NUL in the middle"] = "a/f\0/../../outside/secret",
  ["NUL at the end"] = "leak\0.txt",
  ["a name of 300 bytes"] = ("x"):rep(300) .. "/../../outside/secret",
  ["a path of 9,000 bytes"] = ("a/../"):rep(1800) .. "../outside/secret",
  ["a thousand parents"] = ("../"):rep(1000) .. "etc/passwd",
  ["200 directories"] = ("d/"):rep(200) .. "f",
  ["200 links"] = ("a/self/"):rep(200) .. "../outside/secret",
  ["parent, encoded"] = "%2e%2e/outside/secret",
  ["backslashes"] = "..\\outside\\secret",
  ["a home directory"] = "~/secret",
  ["a variable"] = "$HOME/secret",
  ["a trailing slash behind a link"] = "leak/",
  ["a trailing dot behind a link"] = "out/.",
}

-- Tricks whose path is an ordinary name inside: they must stay there, and may be written.
local INSIDE = { ["parent, encoded"] = true, backslashes = true, ["a home directory"] = true, ["a variable"] = true }

describe("no path leads out of the working directory:", function()
  local base, ex

  local function put(path, bytes)
    local file <close> = assert(io.open(path, "wb"))
    assert(file:write(bytes))
  end

  local function get(path)
    local file <close> = assert(io.open(path, "rb"))
    return file:read "a"
  end

  local function names(path)
    local list = {}
    for name in lfs.dir(path) do
      if name ~= "." and name ~= ".." then list[#list + 1] = name end
    end
    table.sort(list)
    return table.concat(list, " ")
  end

  local function make_links()
    local repo = base .. "/repo/"
    for name, target in pairs { leak = "../outside/secret", ["leak-absolute"] = base .. "/outside/secret",
      out = "../outside", ["out-absolute"] = base .. "/outside", chain = "out", ["a/hop"] = "../chain", parent = "..",
      ["a/self"] = "..", winding = "a/b/../../a/../../outside/secret", deep = "a/b", slash = "/",
      sibling = "../repo2", magic = "/proc/self/root", zero = "/dev/zero", planted = "../outside/new",
      ["planted-directory"] = "../outside/new", ring = "ring", ping = "pong", pong = "ping" } do
      assert(lfs.link(target, repo .. name, true))
    end
  end

  before_each(function()
    base = folder.new()
    for _, name in ipairs { "/repo", "/repo/a", "/repo/a/b", "/repo2", "/outside" } do
      assert(lfs.mkdir(base .. name))
    end
    put(base .. "/outside/secret", SECRET)
    put(base .. "/repo2/secret", SECRET)
    put(base .. "/repo/a/f", "inside")
    make_links()
    ex = assert(koine.executor { workdir = base .. "/repo", policy = {} })
  end)

  after_each(function()
    ex:close()
    folder.remove(base)
  end)

  local function check_outside()
    assert.are.equal(SECRET, get(base .. "/outside/secret"))
    assert.are.equal(SECRET, get(base .. "/repo2/secret"))
    assert.are.equal("outside repo repo2", names(base))
    assert.are.equal("secret", names(base .. "/outside"))
    assert.are.equal("secret", names(base .. "/repo2"))
  end

  -- Every tool with this path, as {tool, input}.
  local function attempts(path)
    local list = {
      { "read_file", { path = path } },
      { "list_dir", { path = path } },
      { "glob", { path = path, pattern = "**" } },
      { "grep", { path = path, text = "e" } },
      { "edit_file", { path = path, old_str = SECRET, new_str = "changed" } },
      { "write_file", { path = path, content = "overwritten" } },
    }
    for _, editor in ipairs { "text_editor", "str_replace_based_edit_tool" } do
      for command, input in pairs { view = {}, create = { file_text = "overwritten" },
        str_replace = { old_str = SECRET, new_str = "changed" },
        insert = { insert_line = 0, insert_text = "changed" } } do
        input.command, input.path = command, path
        list[#list + 1] = { editor, input }
      end
    end
    return list
  end

  it("there are more than 40 tricks", function()
    local n = 0
    for _ in pairs(TRICKS) do n = n + 1 end
    assert.is_true(n >= 40)
  end)

  for trick, path in pairs(TRICKS) do
    it(trick, function()
      for _, attempt in ipairs(attempts((path:gsub("BASE", base)))) do
        local text, info = ex.run(attempt[1], attempt[2])
        assert(text, info)
        for _, shown in ipairs { SECRET, "root:", "secret\n" } do
          assert.is_nil(text:find(shown, 1, true), attempt[1] .. " shows " .. text)
        end
        if not INSIDE[trick] then assert.is_true(info.is_error, attempt[1]) end
        check_outside()
      end
    end)
  end

  it("a pattern of glob", function()
    for _, pattern in ipairs { "../*", "/etc/*", "a/../../outside/*", "out/*", "**/secret", "{..,a}/*", "parent/*" } do
      local text = ex.run("glob", { pattern = pattern })
      assert.is_nil(text:find("secret", 1, true), pattern)
    end
  end)

  it("a search of everything follows no link", function()
    assert.are.equal("(nothing found)", (ex.run("grep", { text = "sentinel" })))
    assert.are.equal("a/f:1:inside", (ex.run("grep", { text = "i" })))
    assert.are.equal("a/f", (ex.run("glob", { pattern = "**/f" })))
  end)

  it("pipes and sockets are not waited for", function()
    assert(os.execute(("mkfifo '%s/repo/pipe'"):format(base)))
    for _, attempt in ipairs(attempts "pipe") do
      local text, info = ex.run(attempt[1], attempt[2])
      if attempt[1] ~= "grep" then assert.is_true(info.is_error, text) end
    end
    assert.are.equal("named pipe", lfs.attributes(base .. "/repo/pipe", "mode"))
  end)

  it("a file with a second name outside is replaced, not written into", function()
    assert(lfs.link(base .. "/outside/secret", base .. "/repo/hard"))
    ex.run("write_file", { path = "hard", content = "mine" })
    assert.are.equal("mine", get(base .. "/repo/hard"))
    check_outside()
  end)

  it("a working directory that is renamed and replaced stays the one that was opened", function()
    assert(os.rename(base .. "/repo", base .. "/moved"))
    assert(lfs.link("outside", base .. "/repo", true))
    assert.are.equal("inside", (ex.run("read_file", { path = "a/f" })))
    assert.are.equal("Error: secret: " .. strerror "ENOENT", (ex.run("read_file", { path = "secret" })))
    assert.are.equal("Error: " .. base .. "/repo/secret: " .. strerror "ENOENT",
      (ex.run("read_file", { path = base .. "/repo/secret" })))
    ex.run("write_file", { path = "new", content = "x" })
    assert.are.equal("secret", names(base .. "/outside"))
    assert.are.equal("x", get(base .. "/moved/new"))
  end)

  -- A program that swaps what lies at repo/swap (a file and a link) and repo/dir (links) until `base`/stop is there.
  local SWAPPER = [[
    local lfs = require "lfs"
    local base = arg[1]
    local function link(target, name)
      if lfs.link(target, base .. "/repo/t", true) then os.rename(base .. "/repo/t", base .. "/repo/" .. name) end
    end
    local swaps = 0
    repeat
      link("../outside/secret", "swap")
      link("../outside", "dir")
      local file = io.open(base .. "/repo/u", "w")
      file:write "inside"
      file:close()
      os.rename(base .. "/repo/u", base .. "/repo/swap")
      link("a", "dir")
      swaps = swaps + 1
      if swaps == 1 then print "swapping" io.stdout:flush() end
    until lfs.attributes(base .. "/stop") or not lfs.attributes(base)
    print(swaps)
  ]]

  it("links that another process swaps, during 2,000 reads and writes", function()
    local script = base .. ".swapper.lua"
    put(script, SWAPPER)
    put(base .. "/repo/a/secret", "inside")
    local pipe = assert(io.popen(("%s '%s' '%s'"):format(os.getenv "KOINE_LUA" or "lua5.4", script, base)))
    finally(function() os.remove(script) end)
    assert.are.equal("swapping", pipe:read "l")
    local calls = { { "read_file", { path = "swap" } }, { "read_file", { path = "dir/secret" } },
      { "write_file", { path = "swap", content = "inside" } },
      { "write_file", { path = "dir/secret", content = "inside" } },
      { "write_file", { path = "dir/new", content = "inside" } },
      { "edit_file", { path = "dir/secret", old_str = SECRET, new_str = "inside" } },
      { "list_dir", { path = "dir" } }, { "glob", { pattern = "dir/*" } } }
    local leaks = 0
    for i = 0, 1999 do
      local call = calls[i % #calls + 1]
      local text = ex.run(call[1], call[2])
      if text:find(SECRET, 1, true) then leaks = leaks + 1 end
    end
    put(base .. "/stop", "")
    assert.is_true(tonumber(pipe:read "l") > 0)
    pipe:close()
    assert(os.remove(base .. "/stop"))
    assert.are.equal(0, leaks)
    check_outside()
  end)
end)
