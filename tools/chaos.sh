#!/bin/sh
# chaos.sh BUILD SEEDS [FIRST [FAULT]]: spec/chaos against the module of BUILD and, when there is one, again against that
# of BUILD/asan (ASan, UBSan and LeakSanitizer). SEEDS schedules each, from FIRST (1) on; FAULT limits them to faults
# with these words in their names. Without it, servers of MCP are killed after them, for a tenth of the seeds. Fails when
# a call ends wrongly, something is left open, a credential reaches standard error, or a sanitizer says anything. A
# schedule is played again by its seed: chaos.sh BUILD 1 SEED.
set -eu
build=$1 seeds=$2 first=${3:-1} fault=${4:-}
lua=${LUA:-lua5.4}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
  -keyout "$directory/key.pem" -out "$directory/cert.pem" 2>"$directory/openssl" || {
  cat "$directory/openssl" >&2
  exit 1
}
export LUA_PATH="./lua/?.lua;./lua/?/init.lua;;"

# play MODULES MEBIBYTES NAME=VALUE…: all seeds with the module in that folder.
play() {
  modules=$1 mebibytes=$2
  shift 2
  echo "chaos: seeds $first to $((first + seeds - 1)), $modules"
  failed=0
  env "$@" LUA_CPATH="$modules/?.so;;" KOINE_LUA="$lua" timeout 900 "$lua" spec/chaos/main.lua "$directory" "$first" \
    "$((first + seeds - 1))" "$mebibytes" ${fault:+"$fault"} 2>"$directory/stderr" || failed=$?
  if grep -q sk-chaos "$directory/stderr"; then
    echo "chaos: a credential reached standard error" >&2
    exit 1
  fi
  cat "$directory/stderr" >&2
  [ "$failed" = 0 ] && [ ! -s "$directory/stderr" ] || exit 1
  [ -z "$fault" ] || return 0
  env "$@" LUA_CPATH="$modules/?.so;;" KOINE_LUA="$lua" timeout 900 "$lua" spec/chaos/servers.lua "$first" \
    "$((first + (seeds - 1) / 10))"
}

play "$build" 128
if [ -e "$build/asan/koine/core.so" ]; then
  cc=${CC:-cc}
  play "$build/asan" 768 LD_PRELOAD="$($cc -print-file-name=libasan.so) $($cc -print-file-name=libubsan.so)" \
    ASAN_OPTIONS=detect_leaks=1:quarantine_size_mb=16 LSAN_OPTIONS=print_suppressions=0
fi
