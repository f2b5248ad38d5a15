#!/bin/sh
# run.sh BUILD: the whole benchmark, `name value unit` a line. Each figure is the best of five runs (of three where
# streams are paced), taken in turn with those it is compared with; ratios are of the figures above them. One C server
# serves all; `ulimit -n` is raised to the hard limit, for 5,000 streams.
set -eu
build=$1
out=$build/bench
lua=${LUA:-lua5.4}
mkdir -p "$out"
flags="-std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Ibench"
for p in server baseline_discard baseline_lines baseline_chat baseline_streams baseline_paced baseline_start; do
  # shellcheck disable=SC2046,SC2086
  ${CC:-cc} $flags -o "$out/$p" "bench/$p.c" $(pkg-config --libs libcurl)
done
echo "ulimit -n raised from $(ulimit -Sn) to $(ulimit -Hn)" >&2
ulimit -n "$(ulimit -Hn)"

: >"$out/port" # that of an earlier run must not be read
"$out/server" >"$out/port" &
server=$!
trap 'kill $server 2>/dev/null' EXIT
while ! [ -s "$out/port" ]; do sleep 0.05; done
url=http://127.0.0.1:$(tr -cd 0-9 <"$out/port")

events=200000
raw=$out/raw
: >"$raw"
for _ in 1 2 3 4 5; do
  for shape in anthropic openai gemini ollama; do
    stream=$url/$shape-stream?n=$events
    "$out/baseline_discard" "delta_${shape}_discard_ns" "$stream" $events
    "$out/baseline_lines" "delta_${shape}_lines_ns" "$stream" $events
    "$lua" bench/koine.lua "delta_$shape" "delta_${shape}_koine_ns" "$url" $events
  done
  "$out/baseline_chat" small_chat_baseline "$url/chat" 5000
  "$lua" bench/koine.lua chat small_chat_koine "$url" 5000
  "$out/baseline_chat" one_chat_baseline "$url/chat" 1
  "$lua" bench/koine.lua chat one_chat_koine "$url" 1
  "$lua" bench/koine.lua render render_200_messages_us "$url" 200
  "$lua" bench/koine.lua growing growing "$url" 100000
  "$lua" bench/koine.lua vectors vector_number "$url" 1000
  "$out/baseline_start" start_baseline_ms
  "$lua" bench/koine.lua start start_koine_ms "$url"
  "$lua" bench/dispatcher.lua
  "$lua" bench/stores.lua
done >>"$raw"
"$out/baseline_streams" streams_1000_baseline "$url/idle" 1000 >>"$raw"
"$lua" bench/koine.lua streams streams_1000_koine_rss_mb "$url" 1000 >>"$raw"
"$out/baseline_streams" idle_5000_baseline "$url/idle" 5000 each >>"$raw"
"$lua" bench/koine.lua each idle_5000_koine "$url" 5000 >>"$raw"
"$lua" bench/koine.lua cancel cancel "$url" 500 >>"$raw"
for _ in 1 2 3; do
  for n in 1 1000; do
    "$out/baseline_paced" paced_${n}_baseline "$url/paced?n=100" $n 100
    "$lua" bench/koine.lua paced paced_${n}_koine "$url" $n 100
  done
done >>"$raw"

"$lua" bench/report.lua <"$raw"
