#!/bin/sh
# rock-test.sh: builds the checkout with LuaRocks, installs it into an empty tree, runs specs by `luarocks test` with the
# module from there; then, with nothing of the checkout in reach, the demo, and what installed.lua wants of an executor, a
# session and a stream. The module exports its entry alone. Dependencies are not fetched: lua-cjson and luv are the system's.
set -eu
tools/deps.sh build test lint
lua=${LUA:-lua5.4}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/src"
cp -R src lua bin rockspec spec tools types LICENSE "$tree/src"
cp examples/demo.lua tools/installed.lua "$tree"
(
  cd "$tree/src"
  env -u LUA_PATH -u LUA_CPATH luarocks --lua-version 5.4 --tree "$tree/rocks" \
    make --deps-mode none rockspec/koine-scm-1.rockspec
) >"$tree/log" 2>&1 || { cat "$tree/log"; exit 1; }
(
  cd "$tree/src"
  LUA_CPATH="$tree/rocks/lib/lua/5.4/?.so;;" luarocks --lua-version 5.4 test rockspec/koine-scm-1.rockspec \
    spec/lua/data spec/lua/provider/names_spec.lua spec/lua/call/adapter/adapter_spec.lua
) >"$tree/log" 2>&1 || { cat "$tree/log"; exit 1; }
grep -q " 0 failures / 0 errors" "$tree/log" || { cat "$tree/log"; exit 1; }
echo "rock-test: luarocks test ran"
rm -rf "$tree/src"

cd "$tree"
unset ANTHROPIC_API_KEY OPENAI_API_KEY # with a key the demo would go out
export LUA_PATH="$tree/rocks/share/lua/5.4/?.lua;$tree/rocks/share/lua/5.4/?/init.lua;;"
export LUA_CPATH="$tree/rocks/lib/lua/5.4/?.so;;"
"$lua" -e 'print("rock-test: " .. package.searchpath("koine", package.path))
           print("rock-test: " .. package.searchpath("koine.core", package.cpath))' >where
[ "$(grep -c " $tree/rocks/" where)" = 2 ] || { cat where; echo "rock-test: another Koine was found" >&2; exit 1; }
types=$(luarocks --lua-version 5.4 --tree "$tree/rocks" show --rock-dir koine)/types
[ -f "$types/koine/init.lua" ] || { echo "rock-test: no types for editors in $types" >&2; exit 1; }
names=$(nm -D --defined-only rocks/lib/lua/5.4/koine/core.so | awk '{ print $NF }')
[ "$names" = luaopen_koine_core ] || {
  echo "rock-test: core.so exports $(printf '%s\n' "$names" | wc -l) names, not luaopen_koine_core alone" >&2
  exit 1
}
"$lua" installed.lua >ran
sed 's/^/rock-test: the installed library ran /' ran
[ "$(wc -l <ran)" = 3 ] || { echo "rock-test: an executor, a session or a stream failed" >&2; exit 1; }
out=$("$lua" demo.lua)
printf '%s\n' "$out"
case $out in
  *"Take the umbrella"*"Take the umbrella"*) echo "rock-test: the installed library ran the demo" ;;
  *) echo "rock-test: the demo did not finish" >&2; exit 1 ;;
esac
