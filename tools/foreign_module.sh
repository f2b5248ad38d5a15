#!/bin/sh
# foreign_module.sh BUILD: the whole module on s390x and arm64, under qemu: Debian's Lua, libcurl and lua-cjson of that machine
# are fetched with apt into BUILD, beside this machine's own, the module is built against them, and tools/foreign.lua chats and
# streams with the loopback provider, which runs here. On other systems than Debian there is nothing to do.
set -eu
cd "$(dirname "$0")/.."
build=$1
command -v apt-get >/dev/null 2>&1 || { echo "foreign: no apt-get, so no module for other machines"; exit 0; }

# NAME DEBIAN'S NAME COMPILER'S NAME
try() {
  name=$1 arch=$2 triplet=$3
  top=$(pwd)/$build/foreign/$name-debian root=$(pwd)/$build/foreign/$name-debian/root module=$build/foreign/$name-module
  if [ ! -x "$root/usr/bin/lua5.4" ]; then
    mkdir -p "$top/lists/partial" "$top/cache/archives/partial" "$root"
    : >"$top/status"
    printf '%s\n' "APT::Architecture \"$arch\";" "APT::Architectures { \"$arch\"; };" "Dir::State::lists \"$top/lists\";" \
      "Dir::State::status \"$top/status\";" "Dir::Cache \"$top/cache\";" "APT::Sandbox::User \"root\";" >"$top/conf"
    APT_CONFIG=$top/conf apt-get update -qq
    APT_CONFIG=$top/conf apt-get install -y -qq --no-install-recommends --download-only \
      lua5.4 liblua5.4-dev libcurl4-openssl-dev lua-cjson >/dev/null
    for package in "$top"/cache/archives/*.deb; do dpkg -x "$package" "$root"; done
  fi
  # shellcheck disable=SC2046
  make --no-print-directory BUILD="$module" CC="$triplet-gcc" OPT=-O1 LUA_INC="-I$root/usr/include/lua5.4" \
    CFLAGS="-idirafter $root/usr/include/$triplet" LDFLAGS='-Wl,--unresolved-symbols=ignore-all' \
    CURL_LIB="$root/usr/lib/$triplet/libcurl.so.4" all >"$top/log" 2>&1 || { tail -20 "$top/log"; exit 1; }
  KOINE_FOREIGN="LUA_CPATH='$module/?.so;$root/usr/lib/$triplet/lua/5.4/?.so' qemu-${triplet%%-*}-static -L '$root' \
    -E LD_LIBRARY_PATH='$root/usr/lib/$triplet:$root/lib/$triplet' '$root/usr/bin/lua5.4'" "${LUA:-lua5.4}" tools/foreign.lua
  echo "foreign: $name: the module chats and streams"
}
try s390x s390x s390x-linux-gnu
try arm64 arm64 aarch64-linux-gnu
