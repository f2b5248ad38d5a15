#!/bin/sh
# deps.sh WHAT…: makes sure that the Debian packages for WHAT (a set of packages, below) are there: installs what is
# missing with apt-get (through sudo when not root) and says so; on other systems names what it could not find.
set -eu

packages() {
  case $1 in
    build) echo "gcc libc6-dev pkg-config lua5.4 liblua5.4-dev libcurl4-openssl-dev lua-cjson lua-luv lua-argparse" ;;
    test)  echo "lua-busted lua-socket lua-filesystem lua-cqueues lua-zlib lua-luaossl lua-sql-sqlite3 lua-readline curl openssl libssl-dev locales" ;;
    lint)  echo "lua-check codespell valgrind clang libclang-rt-14-dev libfuzzer-14-dev luarocks" ;;
    analyse) echo "cppcheck clang-tidy" ;;
    # of stores; specs start their own and are pending without
    engines) echo "redis-server lua-redis postgresql lua-sql-postgres" ;;
    # LDoc is written for Lua 5.2, and lua-discount built for it
    docs)  echo "lua5.2 lua-ldoc lua-discount" ;;
    plots) echo "gnuplot-nox" ;;
    browser) echo "chromium fonts-dejavu-core" ;;
    hosts) echo "lighttpd lighttpd-modules-lua neomutt gringo dnsmasq-base-lua dovecot-core dovecot-auth-lua prosody valgrind" ;;
    portable) echo "clang musl-tools gcc-i686-linux-gnu libc6-dev-i386-cross" ;;
    foreign) echo "musl-tools gcc-i686-linux-gnu libc6-dev-i386-cross gcc-aarch64-linux-gnu libc6-dev-arm64-cross
      gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user-static" ;;
    *)     echo "deps.sh: no such set: $1" >&2; exit 2 ;;
  esac
}

# Elsewhere than on Debian: what can be seen from here.
look() {
  missing=
  command -v "${CC:-cc}" >/dev/null 2>&1 || missing="$missing a C compiler,"
  command -v pkg-config >/dev/null 2>&1 || missing="$missing pkg-config,"
  command -v "${LUA:-lua5.4}" >/dev/null 2>&1 || missing="$missing Lua 5.4 (set LUA=…),"
  pkg-config --exists libcurl 2>/dev/null || missing="$missing libcurl with headers (7.84 or later),"
  pkg-config --exists "${LUA_PC:-lua5.4}" 2>/dev/null || missing="$missing Lua 5.4's headers (set LUA_PC=…),"
  "${LUA:-lua5.4}" -e 'require "cjson"' 2>/dev/null || missing="$missing lua-cjson,"
  "${LUA:-lua5.4}" -e 'require "luv"' 2>/dev/null || missing="$missing luv,"
  "${LUA:-lua5.4}" -e 'require "argparse"' 2>/dev/null || missing="$missing argparse,"
  case " $* " in *" test "*)
    command -v busted >/dev/null 2>&1 || missing="$missing busted,"
    command -v curl >/dev/null 2>&1 || missing="$missing curl,"
    "${LUA:-lua5.4}" -e 'require "socket"' 2>/dev/null || missing="$missing luasocket,"
    "${LUA:-lua5.4}" -e 'require "lfs"' 2>/dev/null || missing="$missing LuaFileSystem,"
    "${LUA:-lua5.4}" -e 'require "cqueues"' 2>/dev/null || missing="$missing cqueues,"
    "${LUA:-lua5.4}" -e 'require "zlib"' 2>/dev/null || missing="$missing lua-zlib,"
    "${LUA:-lua5.4}" -e 'require "openssl.pkey"' 2>/dev/null || missing="$missing luaossl," ;;
  esac
  [ -z "$missing" ] && return 0
  echo "Koine needs, and could not find:${missing%,}. Install them with your system's packages or LuaRocks." >&2
  exit 1
}

if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-query >/dev/null 2>&1; then
  look "$@"
  exit 0
fi

missing=
for set in "$@"; do
  for p in $(packages "$set"); do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing="$missing $p"
  done
done
[ -z "$missing" ] && exit 0

sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
echo "Installing Debian packages:$missing"
export DEBIAN_FRONTEND=noninteractive
# Servers are for specs, which start them: none runs because it was installed.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | $sudo tee "$policy" >/dev/null
  $sudo chmod 755 "$policy"
  trap '$sudo rm -f "$policy"' EXIT
fi
$sudo apt-get update -qq
# shellcheck disable=SC2086
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
