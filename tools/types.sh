#!/bin/sh
# types.sh BUILD: checks the types for editors, and the examples with them, by lua-language-server (the program that LUALS
# names), as an editor does. Debian has no package of it.
set -eu
luals=${LUALS:-lua-language-server}
command -v "$luals" >/dev/null || {
  echo "types.sh: no lua-language-server: put it on PATH, or name it by LUALS=…" >&2
  exit 1
}
place=$1/types
top=$(pwd)
rm -rf "$place"
mkdir -p "$place/examples"
cp examples/*.lua "$place/examples"
printf '{ "runtime.version": "Lua 5.4", "workspace.library": ["%s/types"] }\n' "$top" >"$place/examples/.luarc.json"
found=$place/found.json
for checked in types "$place/examples"; do
  if "$luals" --check="$checked" --checklevel=Hint --logpath="$place/log" --check_format=json --check_out_path="$found" \
    >"$place/out"; then continue; fi
  "${LUA:-lua5.4}" - "$found" <<'SCRIPT' || cat "$place/out"
local file <close> = assert(io.open(arg[1]))
for path, problems in pairs(require "cjson".decode(file:read "a")) do
  for _, problem in ipairs(problems) do
    print(("%s:%d: %s"):format(path:gsub("^file://", ""), problem.range.start.line + 1, problem.message))
  end
end
SCRIPT
  exit 1
done
echo "types: lua-language-server found nothing in the types and the examples"
