#!/bin/sh
# curl-matrix.sh BUILD: builds and tests what stands on libcurl against the system's and against the newer one that Debian
# offers in backports: unpacked below BUILD, not installed. Host programs, and the specs of whatever sends requests.
set -eu
build=$1
lua=${LUA:-lua5.4}
specs="spec/lua/net spec/lua/binding spec/lua/call spec/lua/testing/contract spec/lua/whole spec/lua/codec/media_spec.lua"
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")-backports
arch=$(${CC:-cc} -print-multiarch)
root=$(pwd)/$build/curl/root

# The packages of backports, with lists of their own: the system's stay as they are.
fetch() {
  state=$(pwd)/$build/curl/apt
  rm -rf "$root" "$state"
  mkdir -p "$root" "$state/lists/partial" "$state/debs"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" \
    >"$state/sources.list"
  apt="apt-get -qq -o Dir::Etc::sourcelist=$state/sources.list -o Dir::Etc::sourceparts=- -o Dir::State::lists=$state/lists"
  $apt update
  # shellcheck disable=SC2086
  (cd "$state/debs" && $apt download libcurl4 libcurl4-openssl-dev 2>/dev/null)
  for deb in "$state"/debs/*.deb; do dpkg-deb -x "$deb" "$root"; done
}

# Tests one libcurl: BUILD [make's variables]
try() {
  into=$1
  shift
  make --no-print-directory BUILD="$into" "$@" all test-host
  LUA_PATH="./lua/?.lua;./lua/?/init.lua;;" LUA_CPATH="$into/?.so;;" "$lua" -e 'print("libcurl " .. require("koine").libcurl)'
  # shellcheck disable=SC2086
  LUA_PATH="./lua/?.lua;./lua/?/init.lua;;" LUA_CPATH="$into/?.so;;" "$lua" "$(command -v busted)" --output=plainTerminal $specs
}

try "$build"
fetch
lib=$root/usr/lib/$arch
export LD_LIBRARY_PATH="$lib"
try "$build/curl" CFLAGS="-I$root/usr/include/$arch" CURL_LIB="-L$lib -lcurl"
echo "curl-matrix: both libcurls passed"
