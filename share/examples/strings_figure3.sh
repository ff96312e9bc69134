#!/bin/sh
# strings_figure3.sh -- the shape of Figure 3 of a paper on Gaussian processes with inducing points
# that are strings: the log likelihood of test strings and the time of the choice, by the size of
# the random subset from which each greedy round takes its best string; four points each.
#
#   ./strings_figure3.sh [DIRECTORY]    writes strings_figure3.csv (subset, log likelihood of a row
#       with its standard error, processor seconds of a choice) and strings_figure3.svg
#
# It takes half a minute of processor time. DATA, KERNEL, HP, SIZES, RUNS and POINTS may be set:
# data with their split, the kernel, amplitude and noise, sizes, how many seeds, how many points.
set -e
out=${1:-.}
GPDESK=${GPDESK:-gpdesk}
DATA=${DATA:-demo motifs n=2000 seed=1; split test=50% seed=1}
KERNEL=${KERNEL:-kernel spectrum(n=5)}
HP=${HP:-amplitude=0.066 noise=0.63 rescale=no}
SIZES=${SIZES:-5 10 20 50 100 200 500 1000}
RUNS=${RUNS:-20}
POINTS=${POINTS:-4}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# All seeds of a way in one process, whose processor seconds are those of all.
runs() { # WAY FILE
    lines="$DATA; $KERNEL" seed=0
    while [ $seed -lt "$RUNS" ]; do
        seed=$((seed + 1))
        lines="$lines; fit solver=sparse inducing=$POINTS select=$1 $HP seed=$seed"
        lines="$lines; score baseline=no"
    done
    ("$GPDESK" --no-config --threads 1 --format json -e "$lines" >"$work/out" 2>/dev/null || exit 1
        times) >"$2.time" || { grep '"error"' "$work/out" >&2; exit 1; }
    grep '"command":"score"' "$work/out" | sed 's/.*"nlpd":\([-0-9.e+]*\).*/\1/' >"$2"
}
user() { awk 'NR == 2 { split($1, a, /[ms]/); print 60 * a[1] + a[2] }' "$1"; } # of its children
runs random "$work/random"
base=$(user "$work/random.time")
echo "subset,log_likelihood,standard_error,seconds" >"$out/strings_figure3.csv"
for s in $SIZES; do
    runs "greedy(subset=$s)" "$work/some"
    awk -v s="$s" -v base="$base" -v user="$(user "$work/some.time")" '
        { v = -$1; n++; a += v; b += v * v }
        END { d = b / n - (a / n) ^ 2
            printf "%d,%.6g,%.3g,%.4g\n", s, a / n, sqrt((d > 0 ? d : 0) / (n > 1 ? n - 1 : 1)),
                (user > base ? user - base : 0) / n }' "$work/some" >>"$out/strings_figure3.csv"
done
command -v gnuplot >/dev/null || exit 0
gnuplot <<END
set datafile separator ","
set terminal svg size 900,400 font "sans,12" background "white"
set output "$out/strings_figure3.svg"
set multiplot layout 1,2
set grid lc rgb "#dddddd"
set logscale x
set xlabel "strings in the subset"
set ylabel "log likelihood of a test row, nats"
plot "$out/strings_figure3.csv" using 1:2:3 skip 1 with yerrorlines pt 7 lc rgb "#0072b2" notitle
set logscale y
set ylabel "seconds of the choice"
set yrange [0.001:]
plot "$out/strings_figure3.csv" using 1:(\$4 > 0.001 ? \$4 : 0.001) \
    skip 1 with linespoints pt 7 lc rgb "#d55e00" notitle
END
