#!/bin/sh
# figure2b.sh -- the shape of xGPR's Figure 2b with gpdesk: does the predicted sd tell the error
# (above), and how are the sds of training and held-out rows spread (below)? Held-out rows of
# another kind than the training rows are seen by their sds: here variants with more changes than
# any training row.
#
#   ./figure2b.sh [DIRECTORY]      writes figure2b.csv and figure2b.svg there
#
# DATA may be set: one task a line, NAME; commands up to the fit. So on data of your own:
#   DATA='fluorescence; open data.csv.gz target=target; split column=split; kernel
#       conv(rbf,width=9); tune
#   features=2048; fit features=8192' (on one line)
set -e
out=${1:-.}
GPDESK=${GPDESK:-gpdesk}
DATA=${DATA:-ten columns; demo friedman1 n=3000 seed=1; split test=25% seed=1; kernel rbf(ard); tune features=512; fit features=2048
variants, at random; demo proteins n=3000 seed=1; split test=25% seed=1; kernel conv(rbf,width=5); tune features=1024; fit features=2048
variants, few to many; demo proteins n=3000 seed=1; split column=few_vs_many; kernel conv(rbf,width=5); tune features=1024; fit features=2048}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

echo "task,coverage95,mean sd of training rows and of held-out rows" >"$out/figure2b.csv"
printf '%s\n' "$DATA" | awk 'NF' >"$work/tasks"
i=0
while IFS= read -r line; do
    i=$((i + 1))
    printf '%s\n' "${line%%;*}" >"$work/title$i"
    "$GPDESK" --no-config --format json --seed 1 -e \
        "${line#*;}; score; plot sderror out='$work/e$i.csv'; plot sd out='$work/s$i.csv'" \
        </dev/null >"$work/out" 2>/dev/null || { echo "figure2b.sh: ${line%%;*} failed" >&2; grep \
        '"error"' "$work/out" >&2; exit 1; }
    printf '%s,%s,%s\n' "${line%%;*}" "$(sed -n \
        's/.*"command":"score".*"coverage95":\([0-9.]*\).*/\1/p' "$work/out")" \
        "$(sed -n \
        's/.*"plot":"sd".*"verdict":"mean sd \([-0-9.e+]*\) on training rows, \([-0-9.e+]*\) on.*/\1,\2/p' "$work/out")" \
        >>"$out/figure2b.csv"
done <"$work/tasks"
command -v gnuplot >/dev/null || exit 0

{
    echo "set terminal svg size $((320 * i)),560 font \"sans,12\" background \"white\""
    echo "set output \"$out/figure2b.svg\""
    echo "set datafile separator ','"
    echo "set multiplot layout 2,$i"
    echo 'set grid lc rgb "#dddddd"; set key top right samplen 1.5; set xtics nomirror rotate by -45'
    for k in $(seq "$i"); do
        echo "set title '$(tr -d "'" \
            <"$work/title$k")'; set xlabel 'predicted sd'; set ylabel 'mean absolute error'"
        echo "plot \"< grep '^1,MAE,' '$work/e$k.csv'\" using 3:4 with linespoints lw 2 pt 7 lc rgb '#0072b2' notitle"
    done
    for k in $(seq "$i"); do
        echo "set title ''; set ylabel 'share of rows'; set yrange [0:]"
        echo "plot \"< grep '^1,training rows' '$work/s$k.csv'\" using 3:4 with histeps lw 2 lc rgb '#0072b2' title 'training', \\"
        echo "     \"< grep '^1,held-out' '$work/s$k.csv'\" using 3:4 with histeps lw 2 dt 2 lc rgb '#d55e00' title 'held out'"
    done
} >"$work/figure.gp"
gnuplot "$work/figure.gp"
