-- The spec that docs/testing.md shows, run by busted as the page says, in a folder with the function that it tests.

local files = require "spec.support.files"
local folders = require "spec.support.folder"
local lfs = require "lfs"
local search_path = require "spec.support.search_path"

describe("the page about testing", function()
  local folder

  before_each(function() folder = folders.new() end)
  after_each(function() folders.remove(folder) end)

  it("shows a spec that busted runs", function()
    local page = files.read "docs/testing.md"
    local name, code = page:match "```lua\n%-%- sketch: (spec/[%w_]+%.lua)\n(.-)```"
    local command = assert(page:match "```sh\n(lua5%.4 %$%(command %-v busted%) [^\n]*)\n")
    assert(lfs.mkdir(folder .. "/spec"))
    files.write(folder .. "/capital.lua", page:match "```lua\n%-%- sketch: capital%.lua\n(.-)```")
    files.write(folder .. "/" .. name, code)
    command = command:gsub("^lua5%.4", os.getenv "KOINE_LUA" or "lua5.4")
    local pipe = assert(io.popen(("cd '%s' && export LUA_PATH='./?.lua;%s' LUA_CPATH='%s' && %s 2>&1"):format(folder,
      search_path(package.path), search_path(package.cpath), command)))
    local output = pipe:read "a"
    assert.is_true(pipe:close(), output)
    assert.is_truthy(output:find("1 success / 0 failures / 0 errors", 1, true), output)
  end)
end)
