#!/bin/sh
# rock-test.sh BUILD: installs the checkout with LuaRocks into an empty tree and runs an example from there, nothing of the
# checkout in reach. Dependencies are not fetched: lua-cjson is the system's.
set -eu
build=$1
tools/deps.sh build lint
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
src=$tree/src
mkdir "$src"
git ls-files -z | xargs -0 -I{} cp --parents {} "$src" 2>/dev/null || cp -R src lua rockspec examples "$src"
(cd "$src" && env -u LUA_PATH -u LUA_CPATH luarocks --lua-version 5.4 --tree "$tree/rocks" make --deps-mode none rockspec/koine-scm-1.rockspec)
cd "$tree"
out=$(LUA_PATH="$tree/rocks/share/lua/5.4/?.lua;$tree/rocks/share/lua/5.4/?/init.lua;;" \
      LUA_CPATH="$tree/rocks/lib/lua/5.4/?.so;;" "${LUA:-lua5.4}" "$src/examples/demo.lua")
printf '%s\n' "$out"
case $out in
  *"Take the umbrella"*"Take the umbrella"*) echo "rock-test: the installed library ran the demo" ;;
  *) echo "rock-test: the demo did not finish" >&2; exit 1 ;;
esac
