#!/bin/sh
# share/examples/molecules.sh -- error against training size for generated molecules whose energy is
# known: a line through the counts of atoms, graphpoly and graph on what is around each atom.
# Usage: share/examples/molecules.sh [SIZE...]; writes molecules.csv, and molecules.png where
# gnuplot is.
set -eu
gpdesk=${GPDESK:-gpdesk}
[ $# -gt 0 ] || set -- 125 250 500 1000 2000
echo "rows,counts,graphpoly,graph" >molecules.csv
for n in "$@"; do
    "$gpdesk" --no-config --format json --seed 1 -e "demo molecules n=$((n + 500)) seed=7" \
        -e "cols atoms* role=input" -e "split test=$(awk -v n="$n" \
        'BEGIN { printf "%.6f", 50000 / (n + 500) }')% seed=1" \
        -e "kernel linear on atoms*" -e "tune features=64" -e "fit features=64" -e score \
        -e "kernel graphpoly(degree=2,norm=raw,average=none) + linear on atoms*" -e \
        "tune features=1024" -e "fit features=2048" -e score \
        -e "kernel graph(rbf,average=none) + linear on atoms*" -e "tune features=1024" -e \
        "fit features=2048" -e score 2>/dev/null |
        sed -n 's/.*"command":"score".*"mae":\([-+0-9.eE]*\),.*/\1/p' | paste -sd, - | sed \
            "s/^/$n,/" | tee -a molecules.csv
done
command -v gnuplot >/dev/null || exit 0
gnuplot <<'END'
set terminal pngcairo size 800,500
set output "molecules.png"
set datafile separator ","
set logscale xy
set xlabel "training molecules"
set ylabel "mean absolute error (noise 0.02)"
set title "Energy of generated molecules, 500 held out"
set key outside
plot "molecules.csv" every ::1 using 1:2 with linespoints title "linear in counts of atoms", \
     "" every ::1 using 1:3 with linespoints title "graphpoly(degree=2)", \
     "" every ::1 using 1:4 with linespoints title "graph(rbf)"
END
