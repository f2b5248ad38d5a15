#!/bin/sh
# interop.sh BUILD: Koine against servers and proxies of others (docs/interop.md): aimock from npm, installed into
# BUILD/interop, nginx and nghttpx from Debian; and the loopback provider against Google's own client, @google/genai from
# npm. What is not there is skipped, with a line that says so; it fails when a spec fails, or when there was nothing to
# run.
set -eu
cd "$(dirname "$0")/.."

AIMOCK=1.43.0 # the version that the exceptions in spec/interop were written against
GENAI=3.1.0
NODE=22.23.3 # for GENAI, from npm, where this machine has an older one

build=$1
mkdir -p "$build/interop"
KOINE_INTEROP=$(cd "$build/interop" && pwd)
KOINE_INTEROP_TMP=$(mktemp -d)
export KOINE_INTEROP KOINE_INTEROP_TMP
trap 'rm -rf "$KOINE_INTEROP_TMP"' EXIT
trap 'exit 130' INT TERM HUP

specs=
skip() { echo "interop: skipped: $1: $2"; }

# Debian's packages of the arguments, where they are missing and can be had.
debian() {
  missing=
  command -v apt-get >/dev/null 2>&1 || return 0
  for p in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing="$missing $p"
  done
  [ -n "$missing" ] || return 0
  sudo=
  [ "$(id -u)" = 0 ] || sudo=sudo
  echo "Installing Debian packages:$missing"
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086
  { $sudo apt-get update -qq && $sudo apt-get install -y -qq --no-install-recommends $missing; } >/dev/null || true
}

# Whether the spec NAME can run: its program is there.
front() {
  if ! command -v openssl >/dev/null 2>&1; then
    skip "$1" "there is no openssl to make its certificate"
  elif ! PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v "$1" >/dev/null 2>&1; then
    skip "$1" "it is not installed"
  else
    specs="$specs spec/interop/$1_interop.lua"
  fi
}

# The version of the npm package NAME in FOLDER; nothing when it is not there.
installed() {
  node -p 'require(process.argv[1]).version' "$2/node_modules/$1/package.json" 2>/dev/null || true
}

# aimock, from npm.
aimock() {
  enough='const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || a == 20 && b >= 15 ? 0 : 1)'
  if ! command -v node >/dev/null 2>&1 || ! command -v npm >/dev/null 2>&1; then
    skip aimock "it needs Node.js 20.15 or later, with npm; there is none"
    return 0
  elif ! node -e "$enough"; then
    skip aimock "it needs Node.js 20.15 or later; this is $(node --version)"
    return 0
  fi
  if [ "$(installed @copilotkit/aimock "$KOINE_INTEROP")" != "$AIMOCK" ]; then
    echo "Installing @copilotkit/aimock $AIMOCK from npm into $build/interop"
    if ! npm install --prefix "$KOINE_INTEROP" --no-save --no-audit --no-fund --ignore-scripts --loglevel=error \
      "@copilotkit/aimock@$AIMOCK" >/dev/null; then
      skip aimock "npm could not install it"
      return 0
    fi
  fi
  specs="$specs spec/interop/aimock_contract_interop.lua spec/interop/aimock_interop.lua"
}

# @google/genai, from npm, in a folder of its own; Node.js 22 beside it where it is needed.
genai() {
  if ! command -v node >/dev/null 2>&1 || ! command -v npm >/dev/null 2>&1; then
    skip genai "it needs npm and Node.js; there is none"
    return 0
  fi
  folder=$KOINE_INTEROP/genai
  KOINE_NODE=$(command -v node)
  packages="@google/genai@$GENAI"
  have=$(installed @google/genai "$folder")
  if ! node -e 'process.exit(parseInt(process.versions.node) >= 22 ? 0 : 1)'; then
    package=node-$(node -p 'process.platform + "-" + process.arch')
    KOINE_NODE=$folder/node_modules/$package/bin/node
    packages="$packages $package@$NODE"
    [ "$(installed "$package" "$folder")" = "$NODE" ] || have=
  fi
  export KOINE_NODE
  if [ "$have" != "$GENAI" ]; then
    echo "Installing $packages from npm into $build/interop/genai"
    mkdir -p "$folder"
    # shellcheck disable=SC2086
    if ! npm install --prefix "$folder" --no-save --no-audit --no-fund --ignore-scripts --loglevel=error $packages \
      >/dev/null; then
      skip genai "npm could not install it"
      return 0
    fi
  fi
  specs="$specs spec/interop/genai_interop.lua"
}

debian nginx-light nghttp2-proxy openssl
aimock
genai
front nginx
front nghttpx

if [ -z "$specs" ]; then
  echo "interop: nothing to run" >&2
  exit 1
fi
export PATH="$PATH:/usr/sbin:/usr/local/sbin"
lua=${KOINE_LUA:-lua5.4}
"$lua" -e 'print("interop: libcurl " .. require("koine").libcurl)
  local problem = require("koine.core").http2_problem
  if problem then print("interop: skipped: HTTP/2: " .. problem) end'
# shellcheck disable=SC2086
"$lua" "$(command -v busted)" --output=utfTerminal --pattern=_interop $specs
