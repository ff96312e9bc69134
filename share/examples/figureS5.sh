#!/bin/sh
# figureS5.sh -- the shape of xGPR's Figures S5 and S6 with gpdesk: molecules in the two leading
# directions of a graph kernel, coloured by their energy; the silhouette of each number of clusters;
# the energies in each cluster.
#
#   ./figureS5.sh [DIRECTORY]      writes figureS5.csv (directions, cluster, energy), figureS5.svg
#       and figureS6.svg
#
# DATA, KERNEL, TUNE, FIT and CLUSTER may be set: commands and options of gpdesk, as below.
set -e
out=${1:-.}
GPDESK=${GPDESK:-gpdesk}
DATA=${DATA:-demo molecules n=2500 seed=7; split test=20% seed=1}
KERNEL=${KERNEL:-kernel graph(rbf,average=none)}
TUNE=${TUNE:-features=1024}
FIT=${FIT:-features=2048}
CLUSTER=${CLUSTER:-k=2..10 dims=20 features=2048}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

"$GPDESK" --no-config --format json --seed 1 -e "$DATA; $KERNEL; tune $TUNE; fit $FIT; score" \
    -e "cluster $CLUSTER out='$out/figureS5.csv'; plot silhouette out='$work/sil.csv'" \
    >"$work/out" 2>/dev/null ||
    { grep '"error"' "$work/out" >&2; exit 1; }
target=$(head -n 1 "$out/figureS5.csv" | sed 's/.*,//')
clusters=$(grep -c . "$work/sil.csv")
[ "$clusters" -gt 1 ] || { echo "figureS5.sh: no clusters" >&2; exit 1; }
command -v gnuplot >/dev/null || exit 0

# row, pc1, pc2, cluster, colour: without the directions in between
awk -F, -v OFS=, 'NR > 1 && $1 == "train" { print $3, $4, $(NF - 1), $NF }' "$out/figureS5.csv" \
    >"$work/rows.csv"
k=$(cut -d, -f3 "$work/rows.csv" | sort -n | tail -n 1)
gnuplot <<END
set datafile separator ","
set terminal svg size 640,480 font "sans,12" background "white"
set output "$out/figureS5.svg"
set xlabel "PC1"; set ylabel "PC2"; set cblabel "$target" noenhanced
set palette defined (0 "#440154", 0.25 "#3b528b", 0.5 "#21908d", 0.75 "#5dc963", 1 "#fde725")
plot "$work/rows.csv" using 1:2:4 with points pt 7 ps 0.4 palette notitle
set terminal svg size 900,400 font "sans,12" background "white"
set output "$out/figureS6.svg"
set multiplot layout 1,2
set xlabel "clusters"; set ylabel "silhouette"; set grid lc rgb "#dddddd"; set yrange [0:]; set xtics 1
plot "< grep '^1,' '$work/sil.csv'" using 3:4 with linespoints lw 2 pt 7 lc rgb "#0072b2" notitle
set xlabel "cluster"; set ylabel "$target" noenhanced; set autoscale y
set style boxplot nooutliers; set style fill solid 0.4; set xrange [-0.6:$k + 0.6]
plot for [c = 0:$k] "$work/rows.csv" using (c):(\$3 == c ? \$4 : 1/0) with boxplot lc rgb "#0072b2" notitle
END
