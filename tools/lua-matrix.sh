#!/bin/sh
# lua-matrix.sh BUILD TREE…: Koine with the Lua of each source tree (a folder with lua.h and the rest, or a release, which
# has them in src/), three times: Lua as C, as C++, and with the checks of its API, where the host programs run, too. Each
# time the module is built against it, every Lua file of the project is compiled, and the specs run where their modules can
# be loaded, as they must be by a Lua of KOINE_LUA's version: modules in C are those of one. LUA_MODULES names a folder with
# them for another version, and with the files in Lua that belong to them. Elsewhere the core alone is tried. SPECS (spec)
# names the specs.
set -eu
build=$1
shift
[ $# -gt 0 ] || { echo "lua-matrix: no tree: make lua-matrix LUA_TREES='../lua-5.4.0 ../lua-5.5.0'" >&2; exit 1; }
modules='for _, name in ipairs { "cjson", "lfs", "luv", "busted", "socket", "cqueues", "zlib",
  "openssl.pkey" } do require(name) end'

for tree; do
  for kind in c c++ checks; do
    name=$(basename "$tree")-$kind
    dir=$build/lua-matrix/$name
    mkdir -p "$dir/lua"
    if [ -f "$tree/lua.h" ]; then cp "$tree"/*.[ch] "$dir/lua"; else cp "$tree"/src/*.[ch] "$dir/lua"; fi
    rm -f "$dir/lua/luac.c" "$dir/lua/onelua.c" "$dir/lua/ltests.c"
    compiler=${CC:-cc}
    flags='-std=gnu99'
    case $kind in
      c++) # it raises by throwing; its names stay C's, for modules in C
        compiler=${CXX:-c++} flags='-x c++'
        sed -i 's/^#define LUA_API[[:space:]]*extern$/#ifdef __cplusplus\n#define LUA_API extern "C"\n#else\n#define LUA_API extern\n#endif/' \
          "$dir/lua/luaconf.h" ;;
      checks) # but for one that lua-zlib fails: it leaves values above a luaL_Buffer
        flags="$flags -DLUAI_ASSERT -DLUA_USE_APICHECK"
        sed -i 's/^static char \*prepbuffsize/#undef checkbufferlevel\n#define checkbufferlevel(B, i) ((void)0)\n&/' "$dir/lua/lauxlib.c" ;;
    esac
    mv "$dir/lua/lua.c" "$dir/main.c"
    # shellcheck disable=SC2086
    $compiler $flags -O1 -w -DLUA_USE_LINUX -r -nostdlib -o "$dir/lua.o" "$dir"/lua/*.c
    # shellcheck disable=SC2086
    $compiler $flags -O1 -w -DLUA_USE_LINUX -I"$dir/lua" -o "$dir/interpreter" "$dir/main.c" -x none "$dir/lua.o" -Wl,-E -lm -ldl
    export LUA_INC="-I$dir/lua" LUA_LIB="$dir/lua.o -Wl,-E -ldl" # programs that specs build take them too
    [ "$kind" != c++ ] || LUA_LIB="$LUA_LIB -lstdc++"
    make --no-print-directory BUILD="$dir" OPT='-O1 -Werror' LUA="$KOINE_LUA" all >"$dir/log" 2>&1 ||
      { cat "$dir/log"; exit 1; }
    lua=$(realpath "$dir/interpreter")
    find lua bin examples spec tools bench \( -name '*.lua' -o -path bin/koine \) -exec "$lua" -e \
      'for _, name in ipairs(arg) do assert(loadfile(name)) end' /dev/null {} +
    export LUA_CPATH="$dir/?.so;;" LUA_PATH="./lua/?.lua;./lua/?/init.lua;;"
    version='print(_VERSION)' modules_c=
    if [ "$("$lua" -e "$version")" = "$("$KOINE_LUA" -e "$version")" ]; then # what is installed for it is where its Lua looks
      modules_c=$("$KOINE_LUA" -e 'print(package.cpath)') modules_lua=
    elif [ -n "${LUA_MODULES:-}" ]; then
      modules_c="$LUA_MODULES/?.so" modules_lua="$LUA_MODULES/?.lua;$LUA_MODULES/?/init.lua;"
    fi
    if [ -n "$modules_c" ]; then
      LUA_PATH=$modules_lua$("$KOINE_LUA" -e 'print(package.path)') LUA_CPATH="$dir/?.so;$modules_c"
      "$lua" -e "$modules" || { echo "lua-matrix: $name: it cannot load what $KOINE_LUA's specs need" >&2; exit 1; }
    fi
    if "$lua" -e "$modules" 2>/dev/null; then
      [ "$kind" != checks ] || make --no-print-directory BUILD="$dir" OPT='-O1 -Werror' LUA="$lua" LUA_CPATH="$LUA_CPATH" \
        test-host >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
      # shellcheck disable=SC2086
      KOINE_LUA=$lua "$lua" tools/run-tests.lua ${SPECS:-spec} >"$dir/specs" || { cat "$dir/specs"; exit 1; }
      echo "lua-matrix: $name: $(grep -o '^[0-9]* successes' "$dir/specs")"
    else
      "$lua" -e 'local core = require "koine.core"
        assert(core.encode(core.decode "{\"a\":[1,2.5,null]}") == "{\"a\":[1,2.5,null]}")
        assert(not pcall(core.encode, core.array { 1, nil, 3 }))'
      echo "lua-matrix: $name: every file compiles, the core reads and writes; no specs: it has not the modules for them"
    fi
  done
done
