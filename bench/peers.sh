#!/bin/sh
# peers.sh BUILD: CPU per chat and per delta of other SDKs (bench/peers) beside Koine and C, in the same run, against the
# same server: `name value unit` lines, the best of three rounds. Needs Node 20 or later and npm, which installs the SDKs
# below BUILD.
set -eu
out=$1/bench
. bench/common.sh
build_programs
mkdir -p "$out/peers"
cp bench/peers/package.json bench/peers/peers.mjs "$out/peers"
npm install --prefix "$out/peers" --silent --no-audit --no-fund >&2
start_server
events=100000

request chat anthropic /chat plain
for format in anthropic openai; do request $format $format /stream/$events; done
for _ in 1 2 3; do
  apart "$out/chat" chat_c "$url" "$out/chat.request" 1000
  apart "$lua" bench/koine/chat.lua small chat_koine "$url" 1000
  for format in anthropic openai; do
    apart "$out/lines" "delta_${format}_c_ns" "$url" "$out/$format.request" $events
    apart "$lua" bench/koine/streams.lua delta "delta_${format}_koine_ns" "$url" $format $events
  done
  for peer in anthropic openai ai-anthropic ai-openai; do
    apart node "$out/peers/peers.mjs" $peer chat "chat_${peer}_us" "$url" 1000
    apart node "$out/peers/peers.mjs" $peer delta "delta_${peer}_ns" "$url" $events
  done
done | awk '/_rss_mb/ { next }
  !($1 in best) { order[++n] = $1; unit[$1] = $3 }
  !($1 in best) || $2 < best[$1] { best[$1] = $2 }
  END { for (i = 1; i <= n; i++) print order[i], best[order[i]], unit[order[i]] }' >"$out/peers.figures"
cat "$out/peers.figures"
