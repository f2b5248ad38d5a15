#!/bin/sh
# json-schema-suite.sh BUILD: the validator of koine.schema against the public JSON Schema Test Suite, drafts 6 and 7. The
# suite is Debian's package json-schema-test-suite, unpacked in BUILD/json-schema-suite; it is not part of Koine.
set -eu
cd "$(dirname "$0")/.."

suite=$1/json-schema-suite
tests=$suite/usr/share/json-schema-test-suite/tests

if [ ! -d "$tests" ]; then
  command -v apt-get >/dev/null 2>&1 || { echo "json-schema-suite: it needs Debian's apt-get" >&2; exit 1; }
  mkdir -p "$suite"
  (cd "$suite" && apt-get download -qq json-schema-test-suite >/dev/null 2>&1) ||
    { echo "json-schema-suite: cannot download the package json-schema-test-suite" >&2; exit 1; }
  dpkg-deb -x "$suite"/json-schema-test-suite_*.deb "$suite"
fi
exec "${KOINE_LUA:-lua5.4}" tools/json-schema-suite.lua "$tests"
