#!/bin/sh
# dist.sh: koine-VERSION.tar.gz and koine-VERSION-1.rockspec from the last commit, for `luarocks upload`. It asks for what
# LuaRocks, and a stranger, need, before it makes anything:
#   SOURCE_URL  where LuaRocks finds the release: the tarball's address, or git+https://… for the tag vVERSION
#   HOMEPAGE, ISSUES_URL   the project's pages
# LuaRocks' own check (luarocks lint) reads the result. `make release` sets the version; this only reads it.
set -eu
lua=${LUA:-lua5.4}
version=$(sed -n 's/^return "\(.*\)"/\1/p' lua/koine/data/version.lua)
fail() { echo "dist: $*" >&2; exit 1; }

# NAME VALUE: one line, an address that others can reach. 127.0.0.1 is for tests of this script.
address() {
  case $2 in
    "") fail "set $1: make dist SOURCE_URL=https://… HOMEPAGE=https://… ISSUES_URL=https://…" ;;
    *[!A-Za-z0-9._~:/?#@!\&+,\;=%-]*) fail "$1: no address: $2" ;;
    https://?*.?* | http://127.0.0.1:*) ;;
    git+https://?*.?* | git+http://127.0.0.1:*) [ "$1" = SOURCE_URL ] || fail "$1: an address that begins with https://, not $2" ;;
    *) fail "$1: an address that begins with https:// (SOURCE_URL also git+https://), not $2" ;;
  esac
}
address SOURCE_URL "${SOURCE_URL:-}"
address HOMEPAGE "${HOMEPAGE:-}"
address ISSUES_URL "${ISSUES_URL:-}"
command -v luarocks >/dev/null 2>&1 || fail "luarocks is not there, which checks the rockspec"
[ -z "$(git status --porcelain)" ] || fail "there are changes that are not committed"
[ "$(git rev-parse -q --verify "v$version^{commit}" || :)" = "$(git rev-parse HEAD)" ] ||
  fail "the last commit has no tag v$version: make release VERSION=$version makes both"
grep -q "^## $version " CHANGELOG.md || fail "CHANGELOG.md has no section $version"

case $SOURCE_URL in
  git+*) source="url = \"$SOURCE_URL\", tag = \"v$version\"" ;;
  *"$version"*) source="url = \"$SOURCE_URL\", dir = \"koine-$version\"" ;;
  *) fail "SOURCE_URL: the address of koine-$version.tar.gz, with the version in it, not $SOURCE_URL" ;;
esac

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
rockspec=koine-$version-1.rockspec
git archive --format=tar.gz --prefix="koine-$version/" -o "$made/koine-$version.tar.gz" HEAD
git show HEAD:rockspec/koine-scm-1.rockspec | "$lua" -e '
  local text, version, source, homepage, issues = io.read "a", table.unpack(arg, 1)
  local function replace(pattern, by)
    local n
    text, n = text:gsub(pattern, (by:gsub("%%", "%%%%")))
    assert(n == 1, "the rockspec has changed: " .. pattern)
  end
  replace("^%-%-.-\nrockspec_format", "rockspec_format")
  replace("\nversion = [^\n]*", ("\nversion = %q"):format(version .. "-1"))
  replace("\nsource = [^\n]*", "\nsource = { " .. source .. " }")
  replace("\n(  license = [^\n]*)", ("\n  license = \"MIT\",\n  homepage = %q,\n  issues_url = %q,"):format(homepage, issues))
  io.write(text)' /dev/null "$version" "$source" "$HOMEPAGE" "$ISSUES_URL" >"$made/$rockspec"
luarocks lint "$made/$rockspec" || fail "LuaRocks refuses the rockspec"
mv "$made/koine-$version.tar.gz" "$made/$rockspec" .
echo "koine-$version.tar.gz $rockspec"
