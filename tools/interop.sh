#!/bin/sh
# interop.sh BUILD: Koine against servers and proxies of others (docs/interop.md): aimock from npm, installed into
# BUILD/interop, nginx and nghttpx from Debian; the loopback provider against clients of others from npm: Google's,
# OpenAI's, Anthropic's and Vercel's; servers of MCP and its conformance suite; served agents against the Agent Client
# Protocol's own client; and the exporter of traces against OpenTelemetry's, from npm. `interop.sh BUILD full`: Koine's
# client of ACP against real agents from npm alone. What is not there is skipped, with a line that says so; it fails
# when a spec fails, or when there was nothing to run.
set -eu
cd "$(dirname "$0")/.."

AIMOCK=1.43.0 # the version that the exceptions in spec/interop were written against
GENAI=3.1.0
ACP=2.4.0
# From 0.217, @opentelemetry/otlp-transformer brings no definitions of the protocol.
OTLP="@opentelemetry/exporter-trace-otlp-http@0.214.0 @opentelemetry/exporter-metrics-otlp-http@0.214.0
  @opentelemetry/otlp-transformer@0.214.0 @opentelemetry/sdk-trace-node@2.6.1 @opentelemetry/sdk-metrics@2.6.1
  @opentelemetry/resources@2.6.1 @opentelemetry/api@1.9.1 @opentelemetry/semantic-conventions@1.45.0"
CLAUDE=0.49.0
CODEX=2.6.0
GEMINI=0.61.0
# The last @anthropic-ai/sdk that speaks version 2023-06-01 of the API, as Koine does, is 0.137.
SHAPES="openai@6.49.0 @anthropic-ai/sdk@0.137.0 ai@6.0.326 @ai-sdk/openai@3.0.141 @ai-sdk/anthropic@3.0.139 zod@4.6.7
  zod-to-json-schema@3.25.2 ajv@8.20.0 ajv-formats@3.0.1"
MCP="@modelcontextprotocol/server-everything@2026.8.31 @modelcontextprotocol/server-filesystem@2026.8.31
  @modelcontextprotocol/server-memory@2026.8.31 @modelcontextprotocol/server@2.4.0
  @modelcontextprotocol/conformance@0.2.0-alpha.12"
NODE=22.23.3 # for these, from npm, where this machine has an older one

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

# Installs npm packages (NAME@VERSION …) in FOLDER for the specs called NAME, with Node.js 22 beside them where this
# machine has an older one; sets KOINE_NODE. False, after a line that says why, where that cannot be.
npm_packages() {
  name=$1 folder=$2
  shift 2
  if ! command -v node >/dev/null 2>&1 || ! command -v npm >/dev/null 2>&1; then
    skip "$name" "it needs npm and Node.js; there is none"
    return 1
  fi
  KOINE_NODE=$(command -v node)
  if ! node -e 'process.exit(parseInt(process.versions.node) >= 22 ? 0 : 1)'; then
    package=node-$(node -p 'process.platform + "-" + process.arch')
    KOINE_NODE=$folder/node_modules/$package/bin/node
    set -- "$@" "$package@$NODE"
  fi
  export KOINE_NODE
  for p in "$@"; do
    [ "$(installed "${p%@*}" "$folder")" = "${p##*@}" ] && continue
    echo "Installing $* from npm into $folder"
    mkdir -p "$folder"
    npm install --prefix "$folder" --no-save --no-audit --no-fund --ignore-scripts --loglevel=error "$@" >/dev/null &&
      return 0
    skip "$name" "npm could not install it"
    return 1
  done
}

# @google/genai, from npm.
genai() {
  npm_packages genai "$KOINE_INTEROP/genai" "@google/genai@$GENAI" || return 0
  specs="$specs spec/interop/genai_interop.lua"
}

# The libraries that ask for answers of a shape, from npm.
shapes() {
  # shellcheck disable=SC2086
  npm_packages shapes "$KOINE_INTEROP/shapes" "@google/genai@$GENAI" $SHAPES || return 0
  specs="$specs spec/interop/shapes_interop.lua spec/interop/shapes_sent_interop.lua spec/interop/judged_interop.lua"
  specs="$specs spec/interop/cassettes_interop.lua"
}

# Servers of MCP and its conformance suite, from npm.
mcp() {
  # shellcheck disable=SC2086
  npm_packages mcp "$KOINE_INTEROP/mcp" $MCP || return 0
  specs="$specs spec/interop/mcp/servers_interop.lua spec/interop/mcp/modern_interop.lua"
  specs="$specs spec/interop/mcp/conformance_interop.lua"
}

# The Agent Client Protocol's own client, from npm.
acp() {
  npm_packages acp "$KOINE_INTEROP/acp" "@agentclientprotocol/sdk@$ACP" ajv@8.20.0 || return 0
  specs="$specs spec/interop/acp_serve_interop.lua spec/interop/acp_client_interop.lua"
}

# OpenTelemetry's exporters, the definitions of its protocol and the names of its conventions, from npm.
otlp() {
  # shellcheck disable=SC2086
  npm_packages otlp "$KOINE_INTEROP/otlp" $OTLP || return 0
  specs="$specs spec/interop/otlp_interop.lua"
}

# Real agents that speak the Agent Client Protocol, from npm.
agent() {
  npm_packages "$1" "$KOINE_INTEROP/$1" "$2" || return 0
  specs="$specs spec/agents/$1_interop.lua"
}

if [ "${2:-}" = full ]; then
  agent claude "@agentclientprotocol/claude-agent-acp@$CLAUDE"
  agent codex "@agentclientprotocol/codex-acp@$CODEX"
  agent gemini "@google/gemini-cli@$GEMINI"
else
  debian nginx-light nghttp2-proxy openssl
  aimock
  genai
  shapes
  mcp
  acp
  otlp
  front nginx
  front nghttpx
fi

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
