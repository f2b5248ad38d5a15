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
${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -o "$out/server" bench/server/*.c
"$out/server" >"$out/port" &
server=$!
trap 'kill $server 2>/dev/null' EXIT
while ! [ -s "$out/port" ]; do sleep 0.05; done
url=http://127.0.0.1:$(tr -cd 0-9 <"$out/port")

# Instructions inside koine/core.so, what it inlined of headers with them, of a program of bench/koine and its arguments. In
# the profile `ob=` names the object of the cost lines behind it; the line behind `calls=` is what the called function cost,
# counted at its own place.
count() {
  rm -f "$out/profile"
  valgrind -q --tool=callgrind --compress-strings=no --callgrind-out-file="$out/profile" \
    "$lua" "bench/koine/$@" >/dev/null
  awk '/^ob=/ { ours = /koine\/core\.so$/ } /^calls=/ { called = 1; next }
    /^[0-9+*-]/ { if (ours && !called) sum += $2; called = 0 } END { printf "%d\n", sum }' "$out/profile"
}

# NAME SMALL LARGE PROGRAM ARGUMENT…
figure() {
  name=$1 few=$2 many=$3
  shift 3
  small=$(count "$@" "$few")
  large=$(count "$@" "$many")
  echo "$name $(((large - small) / (many - few))) instructions"
}

{
  for format in anthropic openai responses gemini ollama; do
    figure instructions_per_delta_$format 2000 12000 streams.lua delta x "$url" $format
  done
  figure instructions_per_chat 200 1200 chat.lua small x "$url"
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
