#!/bin/sh
# curl-matrix.sh BUILD TARGET…: builds Koine and makes the targets, which test it, with the system's libcurl and with the
# newer one that Debian offers in backports, with its tool: unpacked below BUILD, not installed.
set -eu
build=$1
shift
tests=$*
lua=${LUA:-lua5.4}
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
  [ "$(id -u)" != 0 ] || apt="$apt -o APT::Sandbox::User=root" # else apt warns of a folder that its own user cannot write
  $apt update
  # shellcheck disable=SC2086
  (cd "$state/debs" && $apt download curl libcurl4 libcurl4-openssl-dev) ||
    { echo "curl-matrix: cannot download libcurl of $suite" >&2; exit 1; }
  for deb in "$state"/debs/*.deb; do dpkg-deb -x "$deb" "$root"; done
}

export LUA_PATH="./lua/?.lua;./lua/?/init.lua;;"

# Tests one libcurl, which is not the one before: BUILD [make's variables]
before=
try() {
  into=$1
  shift
  make --no-print-directory BUILD="$into" "$@" all
  export LUA_CPATH="$into/?.so;;"
  version=$("$lua" -e 'print(require("koine").libcurl)')
  [ "$version" != "$before" ] || { echo "curl-matrix: both builds run with libcurl $version" >&2; exit 1; }
  before=$version
  echo "libcurl $version"
  # shellcheck disable=SC2086
  make --no-print-directory BUILD="$into" "$@" $tests
}

fetch
try "$build"
lib=$root/usr/lib/$arch
export LD_LIBRARY_PATH="$lib" PATH="$root/usr/bin:$PATH" # with curl's own tool, which some specs ask
try "$build/curl" CFLAGS="-I$root/usr/include/$arch" CURL_LIB="-L$lib -lcurl"
echo "curl-matrix: both libcurls passed"
