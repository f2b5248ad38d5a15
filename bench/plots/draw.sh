#!/bin/sh
# draw.sh: draws docs/img/bench/*.svg of the *.dat beside them, with gnuplot. Ink and background follow the page's light or
# dark; the lines' and bars' colours are fit for both.
set -eu
style='<style>svg { color: #1b1e23; } .back { fill: #fff; stroke: #e1e4e9; }
@media (prefers-color-scheme: dark) { svg { color: #e6e8eb; } .back { fill: #14161a; stroke: #2b3037; } }</style>'
for script in cpu memory growth peers; do
  title=$(sed -n '1s/^# [^:]*: \(.*\)\.$/\1/p' "bench/plots/$script.gp")
  drawn=$(gnuplot "bench/plots/$script.gp")
  printf '%s\n' "$drawn" | awk -v style="$style" -v title="$title" '
    /^<title>/ { $0 = "<title>" title "</title>" }
    /^<desc>/ { next }
    /^<g id="gnuplot_canvas">/ { print style }
    { gsub(/rgb\( *0, *0, *0\)/, "currentColor"); gsub(/black/, "currentColor") }
    /fill="#fefefe"/ { sub(/fill="#fefefe"/, "class=\"back\"") }
    { print }' >"docs/img/bench/$script.svg"
done
