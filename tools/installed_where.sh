#!/bin/sh
# installed_where.sh PREFIX: says that Koine is in PREFIX, and what a shell needs where Lua does not look there by
# itself.
set -eu
prefix=$1
echo "installed in $prefix"
if env -u LUA_PATH -u LUA_CPATH -u LUA_PATH_5_4 -u LUA_CPATH_5_4 "${LUA:-lua5.4}" -e "
  local path, cpath = arg[1] .. '/share/lua/5.4/?.lua', arg[1] .. '/lib/lua/5.4/?.so'
  local own = (';' .. package.path .. ';'):find(';' .. path .. ';', 1, true)
    and (';' .. package.cpath .. ';'):find(';' .. cpath .. ';', 1, true)
  os.exit(own ~= nil)" - "$prefix" </dev/null; then exit 0; fi
cat <<LINES
Lua does not look there by itself; these lines of a shell change that:
export LUA_PATH="$prefix/share/lua/5.4/?.lua;$prefix/share/lua/5.4/?/init.lua;\${LUA_PATH:-;}"
export LUA_CPATH="$prefix/lib/lua/5.4/?.so;\${LUA_CPATH:-;}"
export PATH="$prefix/bin:\$PATH"
LINES
