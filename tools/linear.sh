#!/bin/sh
# Counts the instructions that framings, json, schemas, values that grow, vectors, answers in some formats, arguments of
# calls, leaked, text and redact spend on inputs of n and 2n bytes, and all wires on histories of n and 2n; fails where
# the ratio is 2.2 or more.
# Usage: tools/linear.sh [path of the program made from spec/c/linear.c] [n]
set -eu

program=${1:-build/spec/c/linear}
n=${2:-1048576}
status=0

instructions() { # shape, bytes
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" 2>&1 |
    sed -n 's/.*Collected *: *\([0-9][0-9]*\).*/\1/p'
}

printf '%-22s %15s %15s  %s\n' shape "$n bytes" "$((2 * n)) bytes" ratio
for shape in $("$program" list); do
  bytes=$n
  case $shape in history-*) [ "$n" -le 131072 ] || bytes=131072 ;; esac # every wire takes its time with them
  one=$(instructions "$shape" "$bytes")
  two=$(instructions "$shape" "$((2 * bytes))")
  if [ -z "$one" ] || [ -z "$two" ]; then
    echo "$shape: no instruction count: is valgrind installed, does $program run?" >&2
    exit 1
  fi
  awk -v s="$shape" -v a="$one" -v b="$two" 'BEGIN { printf "%-22s %15d %15d  %.3f\n", s, a, b, b / a; exit !(b < 2.2 * a) }' ||
    status=1
done
[ "$status" = 0 ] || echo "not linear: a ratio is 2.2 or more" >&2
exit "$status"
