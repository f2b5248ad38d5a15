-- The order of names whose order is promised does not depend on the locale that a program sets.

local folder = require "spec.support.folder"

local LUA = os.getenv "KOINE_LUA" or "lua5.4"

-- What the probe prints in a locale; `path`: where the locale is.
local function probe(locale, path)
  local dir = folder.in_memory()
  local pipe = assert(io.popen(("LC_ALL=C LOCPATH=%s %s spec/lua/whole/locale/probe.lua %s %s 2>&1"):format(path, LUA,
    locale, dir)))
  local text = pipe:read "a"
  local ok = pipe:close()
  folder.remove(dir)
  assert.is_true(ok, text)
  return text
end

describe("names", function()
  it("have the order of their bytes in a locale that has another one", function()
    local path = folder.in_memory()
    finally(function() folder.remove(path) end)
    if not os.execute(("localedef --no-archive -i cs_CZ -f UTF-8 %s/cs_CZ.UTF-8 2>/dev/null"):format(path)) then
      return pending "localedef, or its sources, are not installed"
    end
    assert.are.equal(probe("C", path), probe("cs_CZ.UTF-8", path))
  end)
end)
