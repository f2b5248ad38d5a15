#!/bin/sh
# pack-test.sh BUILD: Koine as a stranger gets it, each way from an empty folder with nothing of the checkout in reach:
# `make install`, a C program linked with libkoine.a, and LuaRocks from a file server that has nothing but a packed
# Koine, which `make release` made of a clone of the last commit, and stubs of its dependencies.
set -eu
build=$1
lua=${LUA:-lua5.4}
top=$(pwd)
tmp=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server"; fi; rm -rf "$tmp"' EXIT
unset ANTHROPIC_API_KEY OPENAI_API_KEY # with a key the demo would go out

fail() { echo "pack-test: $*" >&2; exit 1; }

# Runs the demo in an empty folder, with the modules of these directories alone: NAME LUADIR CPATH
demo() {
  mkdir "$tmp/run-$1"
  cp examples/demo.lua tools/installed.lua "$tmp/run-$1"
  (
    cd "$tmp/run-$1"
    export LUA_PATH="$2/?.lua;$2/?/init.lua;;" LUA_CPATH="$3/?.so;;"
    where=$("$lua" -e 'print(package.searchpath("koine", package.path), package.searchpath("koine.core", package.cpath))')
    case $where in "$2"*"$3"*) ;; *) fail "$1: another Koine was found: $where" ;; esac
    "$lua" demo.lua >out || fail "$1: the demo failed"
    grep -q "Take the umbrella" out || fail "$1: the demo did not finish"
    "$lua" installed.lua >ran || fail "$1: an executor, a session or a stream failed"
  )
  echo "pack-test: $1: the demo ran"
}

# 1. make install
make --no-print-directory BUILD="$build" PREFIX=/usr DESTDIR="$tmp/dest" install >"$tmp/log" || { cat "$tmp/log"; exit 1; }
demo install "$tmp/dest/usr/share/lua/5.4" "$tmp/dest/usr/lib/lua/5.4"
(cd "$tmp" && env -u LUA_PATH -u LUA_CPATH "$lua" "$tmp/dest/usr/bin/koine" --version >out) || fail "install: koine finds no modules"

# 2. a C program with everything in it: Lua linked statically, libcurl dynamically, no file of Koine's at run time
mkdir "$tmp/embed" "$tmp/empty"
cp examples/embed/* "$tmp/embed"
make --no-print-directory BUILD="$build" PREFIX="$tmp/prefix" install >>"$tmp/log" || { cat "$tmp/log"; exit 1; }
export PKG_CONFIG_PATH="$tmp/prefix/lib/pkgconfig"
names=$(nm -g --defined-only "$tmp/prefix/lib/libkoine.a" | awk 'NF == 3 { print $3 }' | sort | tr '\n' ' ')
[ "$names" = "koine_preload luaopen_koine_core " ] || fail "embed: libkoine.a has other names than its two: $names"
archive=$(${CC:-cc} -print-file-name=liblua5.4.a)
# shellcheck disable=SC2046
${CC:-cc} -std=c11 -D_GNU_SOURCE -DKOINE_STATIC $(pkg-config --cflags koine) -o "$tmp/empty/host" "$tmp/embed"/*.c \
  "$tmp/prefix/lib/libkoine.a" "$archive" $(pkg-config --libs libcurl) -ldl -lm -lpthread -Wl,-E
if ldd "$tmp/empty/host" | grep -q liblua; then fail "embed: Lua is not in the program"; fi
printf '%s\n' 'local koine = require "koine"' 'local a = koine.anthropic { model = "claude-sonnet-4-5", key = "k", base_url = os.getenv "URL" }' \
  'print(koine.run(function() return assert(a:chat "Hello?"):text() end))' >"$tmp/empty/script.lua"

LUA_PATH="./lua/?.lua;./lua/?/init.lua;;" LUA_CPATH="$build/?.so;;" "$lua" - "$tmp/empty" <<'SCRIPT' || fail "embed: the program failed"
local server = assert(require "koine".testing.start())
assert(server:script "echo")
local status = os.execute(("cd %s && URL=%s LUA_PATH=none ./host script.lua >out"):format(arg[1], server.url))
server:stop()
os.exit(status or false)
SCRIPT
grep -q "You said: Hello?" "$tmp/empty/out" || fail "embed: no answer"
echo "pack-test: embed: a program with libkoine.a answered from an empty folder"

# 3. LuaRocks: the release's rockspec, its tarball and its dependencies from a file server
mkdir "$tmp/served" "$tmp/stub"
stub() { # NAME VERSION: a rock without anything in it; the real module is the system's
  mkdir "$tmp/stub/$1"
  printf 'package = "%s"\nversion = "%s-1"\nsource = { url = "file:///dev/null" }\nbuild = { type = "none" }\n' "$1" "$2" \
    >"$tmp/stub/$1/$1-$2-1.rockspec"
  (cd "$tmp/stub/$1" && luarocks --lua-version 5.4 --tree "$tmp/stub/tree" make --deps-mode none "$1-$2-1.rockspec" &&
    luarocks --lua-version 5.4 --tree "$tmp/stub/tree" pack "$1") >>"$tmp/log" 2>&1 || { cat "$tmp/log"; fail "stub of $1"; }
  mv "$tmp/stub/$1"/*.rock "$tmp/served"
}
for rock in lua-cjson argparse; do stub "$rock" 2.1.0; done
"$lua" tools/file_server.lua "$tmp/served" >"$tmp/port" &
server=$!
while ! [ -s "$tmp/port" ]; do sleep 0.05; done
url=http://127.0.0.1:$(cat "$tmp/port")
version=99.0.0
git clone -q --no-hardlinks "$top" "$tmp/clone"
export GIT_AUTHOR_NAME=pack-test GIT_AUTHOR_EMAIL=pack-test@localhost GIT_COMMITTER_NAME=pack-test \
  GIT_COMMITTER_EMAIL=pack-test@localhost
make --no-print-directory -C "$tmp/clone" VERSION="$version" SOURCE_URL="$url/koine-$version.tar.gz" \
  HOMEPAGE="$url/" ISSUES_URL="$url/issues" release >>"$tmp/log" 2>&1 || { cat "$tmp/log"; fail "make release"; }
grep -q "homepage = \"$url/\"" "$tmp/clone/koine-$version-1.rockspec" || fail "the rockspec has no homepage"
mv "$tmp/clone/koine-$version.tar.gz" "$tmp/clone/koine-$version-1.rockspec" "$tmp/served"
luarocks-admin --lua-version 5.4 make_manifest "$tmp/served" >>"$tmp/log" 2>&1 || { cat "$tmp/log"; fail "manifest"; }
env -u LUA_PATH -u LUA_CPATH luarocks --lua-version 5.4 --tree "$tmp/rocks" --only-server "$url" install koine "$version" \
  >>"$tmp/log" 2>&1 || { cat "$tmp/log"; fail "luarocks install"; }
for rock in lua-cjson argparse koine; do
  [ -d "$tmp/rocks/lib/luarocks/rocks-5.4/$rock" ] || fail "LuaRocks did not install $rock"
done
demo luarocks "$tmp/rocks/share/lua/5.4" "$tmp/rocks/lib/lua/5.4"
(cd "$tmp/run-luarocks" && luarocks --lua-version 5.4 --tree "$tmp/rocks" pack koine "$version" >>"$tmp/log" && ls koine-*.rock)
