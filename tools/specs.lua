-- specs.lua [ARGUMENT…]: what `luarocks test` runs: busted over spec/, or with these arguments of its own. The Lua
-- files are the checkout's; the C module is that of `make` where there is one, else what `luarocks make` installed.
-- Run from the project's root.
package.path = "./?.lua;./lua/?.lua;./lua/?/init.lua;" .. package.path
package.cpath = "./build/?.so;" .. package.cpath

local function need(module, how)
  if not package.searchpath(module, package.path) and not package.searchpath(module, package.cpath) then
    io.stderr:write(("specs: cannot find '%s': %s\n"):format(module, how))
    os.exit(1)
  end
end

need("koine.core", "`luarocks make` builds it; `eval $(luarocks path)` says where it is")
need("busted", "`luarocks install busted`, or Debian's lua-busted")
need("luv", "`luarocks install luv`, or Debian's lua-luv")
need("lfs", "`luarocks install luafilesystem`, or Debian's lua-filesystem")
require "busted.runner" { standalone = false }
