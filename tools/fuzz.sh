#!/bin/sh
# fuzz.sh BUILD SECONDS [TARGET…]: builds the targets of fuzz/ (all of them unless some are named) with clang,
# libFuzzer, ASan and UBSan, and runs each for that long. New inputs are kept under BUILD/corpus; a finding ends the run
# with its input's path. At the end: what each target executed, and how much of the code linked into it its corpus
# reaches.
set -eu
build=$1 seconds=$2
shift 2
flags="-std=c11 -D_GNU_SOURCE -g -O1 -Isrc $(pkg-config --cflags "${LUA_PC:-lua5.4}")
  -fsanitize=address,undefined -fno-sanitize-recover=undefined"
libs="$(pkg-config --libs "${LUA_PC:-lua5.4}") $(pkg-config --libs libcurl) -ldl -lm -lpthread"
[ $# -gt 0 ] || for target in fuzz/*.c; do set -- "$@" "$(basename "$target" .c)"; done

# The core and the binding as one archive: a target takes what it calls.
rm -rf "$build/obj"
mkdir -p "$build/obj"
for source in $(find src/core src/binding -name '*.c'); do
  object=$(echo "${source%.c}" | tr / _)
  # shellcheck disable=SC2086
  clang $flags -fsanitize=fuzzer-no-link -c -o "$build/obj/$object.o" "$source"
done
rm -f "$build/libkoine.a"
ar rcs "$build/libkoine.a" "$build"/obj/*.o
for name in "$@"; do
  # shellcheck disable=SC2086
  clang $flags -fsanitize=fuzzer -o "$build/$name" "fuzz/$name.c" "$build/libkoine.a" $libs
done

# The last number behind a word in what libFuzzer says of its progress.
figure() {
  grep -e '^#' -e '^INFO' -e '^stat' "$log" | grep -o "$1 *[0-9][0-9]*" | tail -n 1 | grep -o '[0-9]*$' || echo 0
}

table=$build/coverage.txt
printf '%-17s %8s %11s %7s %9s %9s %7s\n' target seconds executions edges 'of edges' features inputs >"$table"
for name in "$@"; do
  mkdir -p "$build/corpus/$name"
  log=$build/$name.log
  seeds=
  [ -d "fuzz/corpus/$name" ] && seeds=fuzz/corpus/$name
  # A Lua state keeps memory between two inputs, which is no leak; those that are show when the run ends.
  leaks=1
  grep -q lua_value.h "fuzz/$name.c" && leaks=0
  echo "fuzz: $name for $seconds s"
  # shellcheck disable=SC2086
  if ! "$build/$name" -max_total_time="$seconds" -rss_limit_mb=2048 -print_final_stats=1 -detect_leaks=$leaks \
      -artifact_prefix="$build/$name-" "$build/corpus/$name" $seeds >"$log" 2>&1; then
    grep -v '^#[0-9]*	' "$log" | tail -n 40 >&2
    echo "fuzz: $name: a finding, see above and $log" >&2
    exit 1
  fi
  printf '%-17s %8s %11s %7s %9s %9s %7s\n' "$name" "$seconds" "$(figure number_of_executed_units:)" "$(figure cov:)" \
    "$(figure 'modules *(')" "$(figure ft:)" "$(figure corp:)" >>"$table"
done
cat "$table"
