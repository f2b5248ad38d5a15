--- os.tmpname in the folder that TMPDIR names. Lua's own knows /tmp only; tools/run-tests.lua gives each test a folder,
-- looks into it at the end, and removes it.

local uv = require "luv"

local base = os.getenv "TMPDIR"

if base and base ~= "" then
  function os.tmpname() -- luacheck: ignore
    local fd, path = assert(uv.fs_mkstemp(base .. "/lua_XXXXXX"))
    uv.fs_close(fd)
    return path
  end
end
