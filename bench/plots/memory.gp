# memory.gp: memory of a process by the number of its open streams.
set terminal svg size 620,360 dynamic background rgb "#fefefe" font "sans-serif,13"
load "bench/plots/common.gp"
set title "Memory of the process, MiB, by open streams"
set xlabel "streams"
set format x "%'.0f"
set xrange [0:5200]
set yrange [0:*]
plot FOLDER."memory.dat" using 1:2 with linespoints lw 2 pt 7 ps 0.6 lc rgb C title "C", \
  "" using 1:3 with linespoints lw 2 pt 7 ps 0.6 lc rgb KOINE title "Koine"
