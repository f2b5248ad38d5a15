# peers.gp: CPU of a chat and of a delta, beside SDKs of others; both scales are logarithmic.
set terminal svg size 960,320 dynamic background rgb "#fefefe" font "sans-serif,13"
load "bench/plots/common.gp"
unset key
unset border
unset xtics
unset grid
set ytics scale 0
set logscale x
set yrange [5.6:-0.6]
set boxwidth 0.7
colour(who) = who eq "C" ? 0x8a929c : who eq "Koine" ? 0x3f7fdb : 0xc07a22
set multiplot
set tmargin at screen 0.86
set bmargin at screen 0.03

set lmargin at screen 0.18
set rmargin at screen 0.54
set title "CPU of a small chat, µs, on a log scale"
set xrange [5:4000]
plot FOLDER."peers.dat" using (5):0:(5):2:($0-0.35):($0+0.35):(colour(strcol(1))):ytic(1) with boxxyerror lc rgb variable, \
  "" using 2:0:(sprintf("%.4g", $2)) with labels left offset 0.6,0

set lmargin at screen 0.60
set rmargin at screen 0.96
set title "CPU of a delta, µs, on a log scale"
set xrange [0.03:80]
unset ytics
plot FOLDER."peers.dat" using (0.03):0:(0.03):3:($0-0.35):($0+0.35):(colour(strcol(1))) with boxxyerror lc rgb variable, \
  "" using 3:0:(sprintf("%.2g", $3)) with labels left offset 0.6,0
unset multiplot
