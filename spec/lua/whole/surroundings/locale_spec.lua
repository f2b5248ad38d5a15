-- The order of names whose order is promised, and the letters of URLs, do not depend on the locale that a program sets.

local folder = require "spec.support.folder"

local LUA = os.getenv "KOINE_LUA" or "lua5.4"

-- What the probe prints in a locale; `path`: where the locale is.
local function probe(locale, path)
  local dir = folder.in_memory()
  local pipe = assert(io.popen(("LC_ALL=C LOCPATH=%s %s spec/lua/whole/surroundings/probe.lua %s %s 2>&1"):format(path,
    LUA, locale, dir)))
  local text = pipe:read "a"
  local ok = pipe:close()
  folder.remove(dir)
  assert.is_true(ok, text)
  return text
end

-- Makes Czech with that encoding in the folder `path`; false where it cannot be made.
local function has_locale(encoding, path)
  return os.execute(("localedef --no-archive -i cs_CZ -f %s %s/cs_CZ.%s 2>/dev/null"):format(encoding, path, encoding))
end

describe("names", function()
  it("have the order of their bytes in a locale that has another one", function()
    local path = folder.in_memory()
    finally(function() folder.remove(path) end)
    if not has_locale("UTF-8", path) then return pending "localedef, or its sources, are not installed" end
    assert.are.equal(probe("C", path), probe("cs_CZ.UTF-8", path))
  end)

  it("in URLs have no letters but those of ASCII, in a locale whose bytes are letters", function()
    local path = folder.in_memory()
    finally(function() folder.remove(path) end)
    if not has_locale("ISO-8859-2", path) then return pending "localedef, or its sources, are not installed" end
    assert.are.equal(probe("C", path), probe("cs_CZ.ISO-8859-2", path))
  end)
end)
