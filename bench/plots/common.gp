# common.gp: what the pictures share. Ink is black here: draw.sh makes it follow the page's light or dark.
set encoding utf8
set border 3 lw 1
set title offset 0,-0.3
set tics nomirror out scale 0.6
set grid ytics lc rgb "#9aa3ad" lw 0.5 dt 3
set key top left Left reverse samplen 1.5 spacing 1.2
set style fill solid 1 noborder
C = "#8a929c"
KOINE = "#3f7fdb"
OTHER = "#c07a22"
FOLDER = "docs/img/bench/"
