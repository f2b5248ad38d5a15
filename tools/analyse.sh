#!/bin/sh
# analyse.sh: static analysis of the C code by three programs; any finding fails. What is left out, and why:
# - insecureAPI.DeprecatedOrUnsafeBufferHandling wants the functions of C11's Annex K, which no C library here has;
# - valist.Uninitialized does not see va_start through the compiler's builtins (clang 14);
# - easily-swappable-parameters, branch-clone, implicit-widening, narrowing-conversions, not-null-terminated-result,
#   sizeof-expression speak of style: the code has str with a length in place of NUL, and -Wconversion where it matters.
# A finding that is none has NOLINT and the reason beside it.
# gcc's analyser enters inline functions, and then takes every member that the code knows to be there for a missing one:
# KOINE_ANALYSED shows it a declaration only.
set -eu
files=$(find src -name '*.c' | LC_ALL=C sort)
include="-Isrc $(pkg-config --cflags "${LUA_PC:-lua5.4}")"
flags="-std=c11 -D_GNU_SOURCE $include"
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# shellcheck disable=SC2086
for f in $files; do
  gcc $flags -DKOINE_ANALYSED -O1 -fanalyzer -c -o /dev/null "$f" 2>>"$out" || exit 1
done
if [ -s "$out" ]; then cat "$out"; exit 1; fi
echo "analyse: gcc -fanalyzer has nothing to say"

# shellcheck disable=SC2086
cppcheck -q --std=c11 --error-exitcode=1 --enable=warning,performance,portability --inline-suppr -D_GNU_SOURCE \
  -Isrc --suppress=missingIncludeSystem -DLUA_VERSION_NUM=504 $files
echo "analyse: cppcheck has nothing to say"

checks='-*,clang-analyzer-*,bugprone-*'
checks=$checks,-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling,-clang-analyzer-valist.Uninitialized
for style in easily-swappable-parameters branch-clone implicit-widening-of-multiplication-result narrowing-conversions \
  not-null-terminated-result sizeof-expression; do
  checks=$checks,-bugprone-$style
done
# shellcheck disable=SC2086
echo $files | tr ' ' '\n' | xargs -P 2 -n 8 sh -c '
  checks=$1 flags=$2; shift 2
  clang-tidy --quiet --warnings-as-errors="*" --checks="$checks" "$@" -- $flags 2>/dev/null' _ "$checks" "$flags"
echo "analyse: clang-tidy has nothing to say"
