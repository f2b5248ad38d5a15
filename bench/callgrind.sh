#!/bin/sh
# callgrind.sh BUILD [--write]: instructions inside Koine's own shared object per streamed delta and per small chat, as
# `name value instructions` lines. Start-up cancels out: each figure is the difference of two runs. Fails when one has grown by
# more than 5 % over bench/callgrind.txt; `--write` writes that file. The figures are those of one compiler: the file
# names it, and with another nothing is compared.
set -eu
build=$1
write=${2:-}
lua=${LUA:-lua5.4}
out=$build/callgrind
known=bench/callgrind.txt
mkdir -p "$out"
rm -f "$out/port"
# shellcheck disable=SC2046
${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -Ibench -o "$out/server" bench/server.c $(pkg-config --libs libcurl)
"$out/server" >"$out/port" &
server=$!
trap 'kill $server 2>/dev/null' EXIT
while ! [ -s "$out/port" ]; do sleep 0.05; done
url=http://127.0.0.1:$(tr -cd 0-9 <"$out/port")

# Instructions inside koine/core.so, what it inlined of headers with them: CASE N. In the profile `ob=` names the object of the
# cost lines behind it; the line behind `calls=` is what the called function cost, counted at its own place.
count() {
  rm -f "$out/profile"
  valgrind -q --tool=callgrind --compress-strings=no --callgrind-out-file="$out/profile" \
    "$lua" bench/koine.lua "$1" x "$url" "$2" >/dev/null
  awk '/^ob=/ { ours = /koine\/core\.so$/ } /^calls=/ { called = 1; next }
    /^[0-9+*-]/ { if (ours && !called) sum += $2; called = 0 } END { printf "%d\n", sum }' "$out/profile"
}

# CASE NAME SMALL LARGE
figure() {
  small=$(count "$1" "$3")
  large=$(count "$1" "$4")
  echo "$2 $(((large - small) / ($4 - $3))) instructions"
}

{
  figure delta_anthropic instructions_per_delta_anthropic 2000 12000
  figure delta_openai instructions_per_delta_openai 2000 12000
  figure delta_gemini instructions_per_delta_gemini 2000 12000
  figure delta_ollama instructions_per_delta_ollama 2000 12000
  figure chat instructions_per_chat 200 1200
} >"$out/figures"
cat "$out/figures"

compiler=$(${CC:-cc} --version | head -1)
if [ "$write" = --write ]; then
  { echo "# $compiler"; cat "$out/figures"; } >"$known"
  exit
fi
if [ "# $compiler" != "$(head -1 "$known")" ]; then
  echo "callgrind: the known figures are those of $(head -1 "$known" | cut -c3-): not compared"
  exit
fi
awk 'NR == FNR { known[$1] = $2; next }
  $2 > known[$1] * 1.05 { printf "callgrind: %s grew from %d to %d\n", $1, known[$1], $2; bad = 1 }
  END { exit bad }' "$known" "$out/figures"
