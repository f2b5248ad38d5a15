# growth.gp: what must not grow faster than its size.
set terminal svg size 960,340 dynamic background rgb "#fefefe" font "sans-serif,13"
load "bench/plots/common.gp"
unset key
set yrange [0:*]
set offsets 0, 0, graph 0.15, 0
set multiplot layout 1,3 margins 0.058,0.975,0.2,0.87 spacing 0.065
set title "An agent's step, µs"
set xlabel "steps before"
plot FOLDER."steps.dat" using 1:2 with linespoints lw 2 pt 7 ps 0.6 lc rgb KOINE
set title "A rate limiter's wait, µs"
set xlabel "requests in its log"
set xtics 0,500
set xrange [0:*]
plot FOLDER."waits.dat" using 1:2 with linespoints lw 2 pt 7 ps 0.6 lc rgb KOINE
set title "A message in the dispatcher, µs"
set xlabel "threads"
set xtics auto
set xrange [*:*]
set logscale x
plot FOLDER."dispatcher.dat" using 1:2 with linespoints lw 2 pt 7 ps 0.6 lc rgb KOINE
unset multiplot
