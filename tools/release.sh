#!/bin/sh
# release.sh VERSION: a release: the version in lua/koine/data/version.lua, the top section of CHANGELOG.md under the version
# and today's date, a commit, the tag vVERSION, and what dist.sh makes, which takes SOURCE_URL, HOMEPAGE and ISSUES_URL.
# Nothing is pushed. Where a step fails, all is as it was before: the commit and the tag are gone, the files too.
set -eu
version=${1:-}
fail() { echo "release: $*" >&2; exit 1; }
is_version() { echo "$1" | grep -Eqx '(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)'; }

# Whether version $1 is less than $2.
less() {
  awk -v a="$1" -v b="$2" 'BEGIN {
    split(a, x, "."); split(b, y, ".")
    for (i = 1; i <= 3; i++) if (x[i] != y[i]) exit !(x[i] + 0 < y[i] + 0)
    exit 1 }'
}

is_version "$version" || fail "a version has three numbers: make release VERSION=1.2.3"
[ -z "$(git status --porcelain)" ] || fail "there are changes that are not committed"
if git rev-parse -q --verify "refs/tags/v$version" >/dev/null; then fail "there is a tag v$version already"; fi
current=$(sed -n 's/^return "\(.*\)"/\1/p' lua/koine/data/version.lua)
if git rev-parse -q --verify "refs/tags/v$current" >/dev/null; then
  less "$current" "$version" || fail "$version is not greater than $current, which is released"
elif less "$version" "$current"; then
  fail "$version is less than $current, the version that is worked on"
fi
awk '/^## / { sections++ } sections == 1 && /^[-*] / { entry = 1 } sections == 1 && /^## Unreleased/ { top = 1 }
  END { exit !(top && entry) }' CHANGELOG.md || fail "the top section of CHANGELOG.md is not \"Unreleased\", or says nothing"

before=$(git rev-parse HEAD)
undo() {
  status=$?
  trap - EXIT
  rm -f "CHANGELOG.md.new" "koine-$version.tar.gz" "koine-$version-1.rockspec"
  git tag -d "v$version" >/dev/null 2>&1 || :
  git reset -q --hard "$before"
  echo "release: failed; all is as it was before" >&2
  exit "$status"
}
trap undo EXIT
trap 'exit 130' INT TERM HUP

printf '%s\n' '--- The version of Koine, as a string.' "return \"$version\"" >lua/koine/data/version.lua
awk -v heading="## $version ($(date -u +%Y-%m-%d))" '!done && /^## Unreleased/ { print "## Unreleased\n"; print heading; done = 1; next }
  { print }' CHANGELOG.md >CHANGELOG.md.new
mv CHANGELOG.md.new CHANGELOG.md
git commit -q -m "release: publish version $version" -- lua/koine/data/version.lua CHANGELOG.md
git tag -a -m "Koine $version" "v$version"
tools/dist.sh
trap - EXIT
echo "release: v$version is committed and tagged here; git push --follow-tags, then luarocks upload koine-$version-1.rockspec"
