#!/bin/sh
# callgrind.sh BUILD [--write]: counts instructions, which repeat where times do not, as `name value unit` lines: of whole
# processes, and of Koine's own shared object alone (`…_own`). Start-up cancels out: but for `start_…` a figure is the
# difference of two runs. Ratios are to C programs that send and receive the same bytes (bench/baseline).
# Fails when a figure has grown beyond its share of the one in bench/callgrind.txt: 5 % of our own, 4 % of a whole
# process, 10 % of a limiter's wait, whose file differs with the time of day, of an agent's step, in which the collector
# is at work now and then, and of a delta of one of 50 tasks, of which a busy machine brings several at once, which costs
# less. `--write` writes that file. The figures are those of one compiler and its libraries: the file names them, and with
# others nothing is compared.
set -eu
build=$1
out=$build/callgrind
write=${2:-}
known=bench/callgrind.txt
. bench/common.sh
build_programs
${CC:-cc} -O2 -shared -fPIC -o "$out/still.so" bench/still.c
start_server
koine=bench/koine
modules="$build/?.so"
valgrind=$(command -v valgrind) lua=$(command -v "$lua")

# profile COMMAND…: its instructions: in koine/core.so, what it inlined of headers with them, and in all. In the profile
# `ob=` names the object of the cost lines behind it; the line behind `calls=` is what the called function cost, counted
# at its own place. Time and environment, whose length moves the stack, are always the same: Lua makes the seed of its
# hashes of them, and another seed changes counts by up to 2 %.
profile() {
  rm -f "$out/profile"
  env -i LUA_PATH='./lua/?.lua;./lua/?/init.lua;./?.lua' LUA_CPATH="$modules" LD_PRELOAD="$out/still.so" \
    "$valgrind" -q --tool=callgrind --compress-strings=no --callgrind-out-file="$out/profile" "$@" >/dev/null
  awk '/^ob=/ { ours = /koine\/core\.so$/ } /^calls=/ { called = 1; next }
    /^[0-9+*-]/ { if (!called) { all += $2; if (ours) own += $2 } called = 0 } END { printf "%d %d\n", own, all }' \
    "$out/profile"
}

# each SMALL LARGE COMMAND…: the same for each of what the command does @ times: sets own and all.
# shellcheck disable=SC2046
each() {
  small=$1 large=$2
  shift 2
  few=$(profile $(echo "$@" | sed "s|@|$small|g"))
  many=$(profile $(echo "$@" | sed "s|@|$large|g"))
  own=$(((${many% *} - ${few% *}) / (large - small)))
  all=$(((${many#* } - ${few#* }) / (large - small)))
}

say() { echo "$1 $2 ${3:-instructions}"; }

ratio() { awk "BEGIN { printf \"%s %.2f x\n\", \"$1\", $2 / $3 }"; } # NAME OF TO

delta() {
  format=$1
  for n in 2000 12000; do request "${format}_$n" "$format" /stream/$n; done
  each 2000 12000 "$out/lines" x "$url" "$out/${format}_@.request" @
  c=$all
  each 2000 12000 "$lua" $koine/streams.lua delta x "$url" "$format" @
  say "delta_${format}_own" "$own"
  say "delta_${format}" "$all"
  say "delta_${format}_baseline" "$c"
  ratio "delta_${format}_ratio" "$all" "$c"
}

# A handle for each chat, as with this libcurl where it is older than 8.3; handles that are used again. Without an observer;
# what a record costs with one, of which a chat makes four.
chats() {
  request chat anthropic /chat plain
  each 200 1200 "$out/chat" x "$url" "$out/chat.request" @ fresh
  c_fresh=$all
  each 200 1200 "$out/chat" x "$url" "$out/chat.request" @
  c=$all
  each 200 1200 "$lua" $koine/chat.lua small x "$url" @
  chat=$all
  say chat_own "$own"
  say chat_without_observer "$chat"
  say chat_fresh_baseline "$c_fresh"
  ratio chat_fresh_ratio "$chat" "$c_fresh"
  modules="$build/reused/?.so"
  each 200 1200 "$lua" $koine/chat.lua small x "$url" @
  modules="$build/?.so"
  say chat_reused "$all"
  say chat_reused_baseline "$c"
  ratio chat_reused_ratio "$all" "$c"
  each 200 1200 "$lua" $koine/chat.lua observing x "$url" @
  say observe_record $(((all - chat) / 4))
}

# One of 50 streams, each in a task of its own: the server sends one delta every 10 ms, so that each wakes one task.
tasks() {
  for n in 4 24; do request paced_$n anthropic /paced/$n/10; done
  each 4 24 "$out/paced" x "$url" "$out/paced_@.request" 50 @
  c=$all
  each 4 24 "$lua" $koine/streams.lua paced x "$url" 50 @ 10
  say paced_50 $((all / 50))
  say paced_50_baseline $((c / 50))
  ratio paced_50_ratio "$all" "$c"
}

growth() {
  each 5 25 "$lua" $koine/values.lua render x - @
  say render_200_messages "$all"
  for size in 50 2000; do
    each 2 102 "$lua" $koine/growth.lua wait x - $size @
    say limiter_wait_$size "$all"
    [ $size = 2000 ] || few_requests=$all
  done
  ratio limiter_wait_ratio "$all" "$few_requests"
  for size in 3 300; do
    each 2 42 "$lua" $koine/growth.lua step x - $size @ 1
    say agent_step_$size "$all"
    [ $size = 300 ] || few_steps=$all
  done
  ratio agent_step_ratio "$all" "$few_steps"
}

starts() {
  c=$(profile "$out/start" x) bare=$(profile "$lua" -e '') koine_start=$(profile "$lua" $koine/start.lua x)
  say start_baseline "${c#* }"
  say start_lua "${bare#* }"
  say start "${koine_start#* }"
}

{
  for format in anthropic openai responses gemini ollama; do delta $format; done
  chats
  tasks
  growth
  starts
} >"$out/figures"
cat "$out/figures"

made_by="$(${CC:-cc} --version | head -1), libcurl $(pkg-config --modversion libcurl), $("$lua" -v | cut -d' ' -f1,2), \
$(getconf GNU_LIBC_VERSION 2>/dev/null || uname -s)"
if [ "$write" = --write ]; then
  { echo "# $made_by"; grep ' instructions$' "$out/figures" | grep -v '_baseline \|^start_lua '; } >"$known"
  exit
fi
if [ "# $made_by" != "$(head -1 "$known")" ]; then
  echo "callgrind: the known figures are those of $(head -1 "$known" | cut -c3-): not compared"
  exit
fi
awk 'NR == FNR { known[$1] = $2; next }
  $1 in known && $2 > known[$1] * ($1 ~ /_own$/ ? 1.05 : $1 ~ /^(limiter|agent|paced)_/ ? 1.1 : 1.04) {
    printf "callgrind: %s grew from %d to %d\n", $1, known[$1], $2
    bad = 1
  }
  END { exit bad }' "$known" "$out/figures"
