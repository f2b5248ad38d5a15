# cpu.gp: CPU of a delta of each format, and of a chat.
set terminal svg size 960,340 dynamic background rgb "#fefefe" font "sans-serif,13"
load "bench/plots/common.gp"
set multiplot
set style data histogram
set style histogram cluster gap 1
set yrange [0:*]
set offsets 0, 0, graph 0.08, 0
set xtics font ",12"

set lmargin at screen 0.05
set rmargin at screen 0.74
set bmargin at screen 0.13
set tmargin at screen 0.88
set title "CPU of a delta, µs"
plot FOLDER."cpu.dat" every ::1 using 2:xtic(1) title "C, lines only" lc rgb C, "" every ::1 using 3 title "Koine" lc rgb KOINE, \
  "" every ::1 using ($0-0.17):2:(sprintf("%.2f", $2)) with labels offset 0,0.6 notitle, \
  "" every ::1 using ($0+0.17):3:(sprintf("%.2f", $3)) with labels offset 0,0.6 notitle

set lmargin at screen 0.81
set rmargin at screen 0.98
unset key
set title "CPU of a small chat, µs"
set style data boxes
set boxwidth 0.7
set xrange [0.4:2.6]
set xtics ("C" 1, "Koine" 2)
plot FOLDER."cpu.dat" every ::0::0 using (1):2 lc rgb C, "" every ::0::0 using (2):3 lc rgb KOINE, \
  "" every ::0::0 using (1):2:(sprintf("%.1f", $2)) with labels offset 0,0.6, \
  "" every ::0::0 using (2):3:(sprintf("%.1f", $3)) with labels offset 0,0.6
unset multiplot
