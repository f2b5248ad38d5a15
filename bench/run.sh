#!/bin/sh
# run.sh BUILD: the whole benchmark, `name value unit` a line, kept in BUILD/bench/figures. Each figure is the best of five
# rounds (of three where streams are paced), taken in turn with those it is compared with; ratios are of the figures above
# them. Then the points of curves, the best of three, in BUILD/bench/curves. One C server serves all; `ulimit -n` is raised
# to the hard limit, for 5,000 streams. BUILD/reused has the module whose libcurl handles are used again.
set -eu
build=$1
out=$build/bench
. bench/common.sh
build_programs
echo "ulimit -n raised from $(ulimit -Sn) to $(ulimit -Hn)" >&2
ulimit -n "$(ulimit -Hn)"
start_server
koine=bench/koine

events=200000
formats="anthropic openai responses gemini ollama"
for format in $formats; do request "$format" "$format" /stream/$events; done
request chat anthropic /chat plain
request idle anthropic /idle
request paced anthropic /paced/100

deltas() {
  for format in $formats; do
    apart "$out/discard" "delta_${format}_discard_ns" "$url" "$out/$format.request" $events
    apart "$out/lines" "delta_${format}_lines_ns" "$url" "$out/$format.request" $events
    apart "$lua" $koine/streams.lua delta "delta_${format}_koine_ns" "$url" "$format" $events
  done
}

chats() {
  apart "$out/chat" small_chat_baseline "$url" "$out/chat.request" 5000
  apart "$out/chat" small_chat_fresh_baseline "$url" "$out/chat.request" 5000 fresh
  apart env LUA_CPATH="$build/reused/?.so;;" "$lua" $koine/chat.lua small small_chat_koine "$url" 5000
  apart "$lua" $koine/chat.lua small small_chat_fresh_koine "$url" 5000
  together "$lua" $koine/chat.lua observed observe_record "$url" 5000
  apart "$lua" $koine/chat.lua observed observe_record_apart "$url" 5000
  apart "$out/chat" one_chat_baseline "$url" "$out/chat.request" 1
  apart "$lua" $koine/chat.lua small one_chat_koine "$url" 1
}

starts() {
  for _ in 1 2 3 4 5; do
    "$out/start" start_baseline_ms
    "$lua" -e 'print("start_lua_ms", os.clock() * 1e3, "ms")'
    "$lua" $koine/start.lua start_koine_ms
  done
}

values() {
  "$lua" $koine/values.lua render render_200_messages_us - 200
  "$lua" $koine/values.lua growing growing - 100000
  "$lua" $koine/values.lua vectors vector_number - 1000
  "$lua" $koine/growth.lua step agent_step_3_us - 3 3 50
  "$lua" $koine/growth.lua step agent_step_300_us - 300 10 1
  for size in 50 2000; do "$lua" $koine/growth.lua wait limiter_wait_${size}_us - $size 20; done
  "$lua" $koine/dispatcher.lua
  "$lua" $koine/stores.lua
}

many() {
  apart "$out/streams" streams_1000_baseline_rss_mb "$url" "$out/idle.request" 1000
  apart "$lua" $koine/streams.lua open streams_1000_koine_rss_mb "$url" 1000
  apart "$out/streams" idle_5000_baseline_each_kb "$url" "$out/idle.request" 5000 each
  apart "$lua" $koine/streams.lua each idle_5000_koine_each_kb "$url" 5000
  apart "$lua" $koine/streams.lua cancel cancel "$url" 500
  for _ in 1 2 3; do
    for n in 1 1000; do
      apart "$out/paced" paced_${n}_baseline "$url" "$out/paced.request" $n 100
      apart "$lua" $koine/streams.lua paced paced_${n}_koine "$url" $n 100
    done
  done
}

# Points of the curves of docs/img/bench, as NAME_NUMBER.
curves() {
  for n in 1 10 100 500 1000 2000 5000; do
    "$out/streams" memory_${n}_c "$url" "$out/idle.request" $n
    "$lua" $koine/streams.lua open memory_${n}_koine "$url" $n
  done
  for n in 3 50 100 150 200 250 300; do "$lua" $koine/growth.lua step step_$n - $n 10 2; done
  for n in 50 250 500 1000 1500 2000; do "$lua" $koine/growth.lua wait wait_$n - $n 20; done
  "$lua" $koine/dispatcher.lua 10 30 100 300 1000
}

{
  for _ in 1 2 3 4 5; do
    deltas
    chats
    starts
    values
  done
  many
} >"$out/raw"
"$lua" bench/report.lua <"$out/raw" >"$out/figures"
cat "$out/figures"

for _ in 1 2 3; do curves; done | awk '!($1 in best) { order[++n] = $1 }
  !($1 in best) || $2 < best[$1] { best[$1] = $2 }
  END { for (i = 1; i <= n; i++) print order[i], best[order[i]] }' >"$out/curves"
