#!/bin/sh
# foreign.sh BUILD: the core's tests (spec/c) on machines that this one is not: s390x, which has the other order of bytes, and
# arm64, both under qemu, i686, where pointers have 32 bits, and this machine with musl instead of glibc. The tests are linked
# statically, without libcurl: those of spec/c/connect, which need it, are left out. qemu cannot do what a supervisor
# asks of Linux, so the tests of spec/c/process are left out there.
set -eu
cd "$(dirname "$0")/.."
build=$1
multiarch=$(${CC:-cc} -print-multiarch)
failed=0

run_all() { # NAME COMPILER QEMU CFLAGS
  name=$1 cc=$2 qemu=$3 cflags=$4
  if ! command -v "$cc" >/dev/null 2>&1; then echo "foreign: $cc is not there"; return; fi
  if [ -n "$qemu" ] && ! command -v "$qemu" >/dev/null 2>&1; then echo "foreign: $qemu is not there"; return; fi
  dir=$build/foreign/$name
  mkdir -p "$dir"
  programs=$(find spec/c -name '*.c' ! -path 'spec/c/connect/*' ! -name linear.c | LC_ALL=C sort)
  [ -z "$qemu" ] || programs=$(echo "$programs" | grep -v '^spec/c/process/')
  # shellcheck disable=SC2086
  make --no-print-directory BUILD="$dir" CC="$cc" OPT=-O1 SPEC_OPT=-O0 CFLAGS="-static $cflags" CURL_LIB= LUA_INC= \
    $(echo "$programs" | sed "s|^|$dir/|; s|\.c\$||") >"$dir/log" 2>&1 || { tail -20 "$dir/log"; failed=1; return; }
  passed=0
  for program in $programs; do
    if KOINE_EVERY=${KOINE_EVERY:-19} timeout 300 $qemu "$dir/${program%.c}" >"$dir/out" 2>&1; then passed=$((passed + 1))
    else
      failed=1
      echo "foreign: $name: ${program%.c}:"
      tail -5 "$dir/out"
    fi
  done
  echo "foreign: $name: $passed of $(echo "$programs" | wc -l) programs passed"
}
headers="-idirafter /usr/include/$multiarch"
run_all s390x s390x-linux-gnu-gcc qemu-s390x-static "$headers"
run_all arm64 aarch64-linux-gnu-gcc qemu-aarch64-static "$headers"
run_all i686 i686-linux-gnu-gcc "" "$headers"
run_all musl musl-gcc "" "-idirafter /usr/include $headers"
exit $failed
