#!/bin/sh
# fuzz.sh BUILD SECONDS: builds every target of fuzz/ with clang, libFuzzer, ASan and UBSan, and runs each for that long.
# New inputs are kept under BUILD; a finding ends the run with the input's path.
set -eu
build=$1 seconds=$2
mkdir -p "$build"
for target in fuzz/*.c; do
  name=$(basename "$target" .c)
  clang -std=c11 -D_GNU_SOURCE -g -O1 -Isrc -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
    -o "$build/$name" "$target" $(ls src/core/*.c | grep -v -e /http -e /call.c -e /pollset.c) -lm -lpthread
  mkdir -p "$build/corpus/$name"
  seeds=
  [ -d "fuzz/corpus/$name" ] && seeds=fuzz/corpus/$name
  echo "fuzz: $name for $seconds s"
  # shellcheck disable=SC2086
  "$build/$name" -max_total_time="$seconds" -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$build/$name-" \
    "$build/corpus/$name" $seeds 2>&1 | tail -n 8
done
