#!/bin/sh
# portable.sh: reads every C file as strict C11 (-pedantic-errors, no GNU language extensions) with each compiler that is
# there: gcc and clang for this machine, i686-linux-gnu-gcc, where pointers have 32 bits, and musl-gcc. Nothing is made.
# The headers of Lua, libcurl and the kernel are this machine's: they are the same on all of these.
set -eu
cd "$(dirname "$0")/.."
flags='-std=c11 -pedantic-errors -Werror -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
  -D_GNU_SOURCE -O1 -fsyntax-only -Isrc'
lua=${LUA_INC-$(pkg-config --cflags "${LUA_PC:-lua5.4}")}
system="-idirafter /usr/include -idirafter /usr/include/$(${CC:-cc} -print-multiarch)"
failed=0

read_all() { # NAME COMPILER…
  name=$1
  shift
  if ! command -v "$1" >/dev/null 2>&1; then echo "portable: $1 is not there"; return; fi
  # shellcheck disable=SC2086
  if find src spec/c -name '*.c' | LC_ALL=C sort | xargs "$@" $flags -Ispec/c $lua; then echo "portable: $name: clean"
  else failed=1; fi
}
read_all gcc gcc
read_all clang clang
# shellcheck disable=SC2086
read_all 'gcc for 32 bits' i686-linux-gnu-gcc -idirafter "/usr/include/$(${CC:-cc} -print-multiarch)"
# shellcheck disable=SC2086
read_all musl musl-gcc $system
exit $failed
