# shellcheck shell=sh
# common.sh: what the programs of `make bench` and `make callgrind` share, to be read by `.`: builds the C programs into
# $out, starts the server, which ends with the shell, and takes the requests that both sides send. Sets `url`.
# Needs: out, a folder. Uses: CC, LUA.
lua=${LUA:-lua5.4}

# The C programs; the server stands for itself.
build_programs() {
  mkdir -p "$out"
  flags="-std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra"
  # shellcheck disable=SC2086
  ${CC:-cc} $flags -o "$out/server" bench/server/*.c
  for p in same discard lines chat streams paced start; do
    # shellcheck disable=SC2046,SC2086
    ${CC:-cc} $flags -o "$out/$p" "bench/baseline/$p.c" $(pkg-config --libs libcurl)
  done
}

start_server() {
  : >"$out/port" # that of an earlier run must not be read
  "$out/server" >"$out/port" &
  server=$!
  trap 'kill $server 2>/dev/null' EXIT
  while ! [ -s "$out/port" ]; do sleep 0.05; done
  url=http://127.0.0.1:$(tr -cd 0-9 <"$out/port")
}

# on PROCESSOR COMMAND…: runs the command on the first processor, and the server on the one named; where the system refuses
# that, both run where it likes.
on() {
  if taskset -cp "$1" "$server" >/dev/null 2>&1 && taskset -c 0 true 2>/dev/null; then
    shift
    taskset -c 0 "$@"
  else
    shift
    "$@"
  fi
}

# apart COMMAND…: with the server on another processor: a provider works elsewhere, too. Else the system chooses anew in each
# run whether both share one, and a chat that waits for another processor takes twice as long.
apart() { on $(($(nproc) - 1)) "$@"; }

# together COMMAND…: with the server on the same processor: no time goes into waking another one, where only what is done
# beside a chat is measured.
together() { on 0 "$@"; }

# request NAME FORMAT PATH [plain]: what Koine sends, in the file $out/NAME.request; fails where a C program sends other
# bytes for it.
request() {
  "$lua" bench/koine/request.lua "$2" "$url" "$3" ${4:-} >"$out/$1.request"
  "$out/same" "$url" "$out/$1.request"
}
