-- tools/run-tests.lua: what a test leaves in temporary folders is named and removed.

local files = require "spec.support.files"
local folder = require "spec.support.folder"
local lfs = require "lfs"

describe("tools/run-tests.lua", function()
  local dir

  before_each(function() dir = folder.new() end)
  after_each(function() folder.remove(dir) end)

  -- Runs it on spec files with these bodies of their only tests: what it said, its exit code, and the names of what is
  -- left besides the files.
  local function run(bodies)
    local words = { ("TMPDIR='%s' '%s' tools/run-tests.lua"):format(dir, os.getenv "KOINE_LUA" or "lua5.4") }
    for name, body in pairs(bodies) do
      words[#words + 1] = ("'%s/%s_spec.lua'"):format(dir, name)
      files.write(words[#words]:sub(2, -2), ("it('does', function() %s end)"):format(body))
    end
    local pipe = assert(io.popen(table.concat(words, " ") .. " 2>&1"))
    local text = pipe:read "a"
    local code, left = select(3, pipe:close()), {}
    for name in lfs.dir(dir) do
      if not name:find "^%." and not name:find "_spec%.lua$" then left[#left + 1] = name end
    end
    return text, code, left
  end

  it("fails a test that leaves a file, and removes that of a test that fails", function()
    local text, code, left = run {
      clean = "assert(os.remove(os.tmpname()))",
      file = "os.tmpname()",
      memory = "local f = require 'spec.support.folder' f.new() assert(io.open(f.in_memory() .. '/x', 'w'))",
      broken = "os.tmpname() error 'broken by itself'",
      dead = "os.tmpname() os.exit(3, false)",
    }
    assert.are.same({ 1, {} }, { code, left })
    assert.is_nil(text:find("clean_spec.lua: ", 1, true), text)
    assert.is_truthy(text:find("file_spec%.lua: left in its temporary folder: %S+/lua_%w+\n"), text)
    assert.is_truthy(text:find("memory_spec%.lua: left in its temporary folder: %S+, %S+\n"), text)
    assert.is_truthy(text:find("broken_spec.lua: 0 failures, 1 errors\n", 1, true), text)
    assert.is_truthy(text:find("dead_spec.lua: ended with status 3 without a report\n", 1, true), text)
    if lfs.attributes "/dev/shm" then
      for name in lfs.dir "/dev/shm" do assert.is_nil(name:find(dir:match "[^/]+$", 1, true), name) end
    end
  end)

  it("passes where nothing is left", function()
    local text, code, left = run { clean = "assert(os.remove(os.tmpname()))" }
    assert.are.same({ 0, {} }, { code, left }, text)
  end)
end)
