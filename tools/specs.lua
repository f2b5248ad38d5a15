-- specs.lua [ARGUMENT…]: what `luarocks --lua-version 5.4 test` runs: busted over spec/, or with these arguments of its
-- own. The Lua files are the checkout's; the C module is that of `make` where there is one, else what `luarocks make`
-- installed. Run from the project's root. Compiles on older Luas, which get one sentence.
package.path = "./?.lua;./?/init.lua;./lua/?.lua;./lua/?/init.lua;" .. package.path
package.cpath = "./build/?.so;" .. package.cpath

local function fail(text)
  io.stderr:write("specs: " .. text .. "\n")
  os.exit(1)
end

local unfit = require "koine.data.host.interpreter"(_VERSION, rawget(_G, "jit"))
if unfit then fail(unfit .. " LuaRocks runs another one by `luarocks --lua-version 5.4 test`.") end

local function need(module, how)
  if not package.searchpath(module, package.path) and not package.searchpath(module, package.cpath) then
    fail(("cannot find '%s': %s"):format(module, how))
  end
end

need("koine.core", "`luarocks --lua-version 5.4 make` builds it; "
  .. [[`eval "$(luarocks --lua-version 5.4 path)"` says where it is]])
for _, module in ipairs {
  { "busted", "busted", "busted" },
  { "luv", "luv", "luv" },
  { "lfs", "luafilesystem", "filesystem" },
  { "socket", "luasocket", "socket" },
  { "cqueues", "cqueues", "cqueues" },
  { "zlib", "lua-zlib", "zlib" },
  { "openssl.pkey", "luaossl", "luaossl" },
} do
  need(module[1], ("`luarocks --lua-version 5.4 install %s`, or Debian's lua-%s"):format(module[2], module[3]))
end

-- Programs that the specs start find the same.
local uv = require "luv"
for name, value in pairs { LUA_PATH = package.path, LUA_CPATH = package.cpath } do
  uv.os_setenv(name, value)
  uv.os_unsetenv(name .. "_5_4")
end

require "busted.runner" { standalone = false }
