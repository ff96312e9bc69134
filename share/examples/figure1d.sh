#!/bin/sh
# figure1d.sh -- the shape of xGPR's Figure 1d with gpdesk: three ways to compare windows of
# sequences. The error on held-out rows for each (left), and how long each takes to tune against the
# number of rows (right). conv makes structured random features of all windows, convdense dense
# ones, fastconv keeps each random filter's largest value.
#
#   ./figure1d.sh [DIRECTORY]      writes figure1d.csv and figure1d.svg there
#
# DATA (one task a line: NAME; commands), KERNELS, SIZES, SEEDS, TUNE and FIT may be set, as below.
set -e
out=${1:-.}
GPDESK=${GPDESK:-gpdesk}
DATA=${DATA:-random split; demo proteins n=4000 seed=1; split test=25% seed=1
few to many; demo proteins n=4000 seed=1; split column=few_vs_many}
KERNELS=${KERNELS:-conv(rbf,width=5) convdense(rbf,width=5) fastconv(rbf,width=5,filters=512)}
SIZES=${SIZES:-250 500 1000 2000}
SEEDS=${SEEDS:-1 2 3}
TUNE=${TUNE:-features=1024 evals=12}
FIT=${FIT:-features=2048}

# task, kernel, rows, seed, seconds of the tuning, Spearman
echo "task,kernel,rows,seed,tune_seconds,spearman" >"$out/figure1d.csv"
printf '%s\n' "$DATA" | while IFS= read -r line; do
    task=${line%%;*}
    for kernel in $KERNELS; do
        for rows in $SIZES; do
            for seed in $SEEDS; do
                "$GPDESK" --no-config --format json --seed "$seed" -e \
                    "${line#*;}; split train=$rows; kernel $kernel" \
                    -e "tune $TUNE; fit $FIT; score" </dev/null 2>/dev/null |
                    awk -v head="$task,${kernel%%(*},$rows,$seed" '
                        function get(key,   s) { s = $0; return sub(".*\"" key "\":", "", s) ? s + 0 : "" }
                        /"type":"result","command":"tune"/ { t = get("seconds") }
                        /"type":"result","command":"score"/ { print head "," t "," get("spearman") }' >>"$out/figure1d.csv"
            done
        done
    done
done
test "$(wc -l <"$out/figure1d.csv")" -gt 1 || { echo "figure1d.sh: no run came to its end" >&2; \
    exit 1; }

# Mean and standard error over the seeds.
summary() {
    awk -F, 'NR > 1 { k = $1 "," $2 "," $3; if (!(k in n)) order[++m] = k
            n[k]++; t[k] += $5; s[k] += $6; q[k] += $6 * $6 }
        END { for (i = 1; i <= m; i++) { k = order[i]; a = s[k] / n[k]; v = q[k] / n[k] - a * a
            printf "%s,%.6g,%.6g,%.6g\n", k, t[k] / n[k], a, (n[k] > 1 && v > 0) ? sqrt(v / (n[k] - 1)) : 0 } }' "$out/figure1d.csv"
}
summary >"$out/figure1d-mean.csv"
tasks=$(cut -d, -f1 "$out/figure1d-mean.csv" | uniq)
kernels=$(cut -d, -f2 "$out/figure1d-mean.csv" | awk '!seen[$0]++')
command -v gnuplot >/dev/null || exit 0

curves() { # TASK COLUMNS: one curve a kernel
    pt=5
    printf '%s\n' "$kernels" | while read -r k; do
        printf '%s"< grep \047^%s,%s,\047 \047%s/figure1d-mean.csv\047" using %s with %s lw 2 pt %d title "%s"' \
            "$([ $pt = 5 ] || echo ', ')" "$1" "$k" "$out" "$2" "$3" $pt "$k"
        pt=$((pt + 2))
    done
}
n=$(printf '%s\n' "$tasks" | wc -l)
{
    echo "set terminal svg size $((360 * (n + 1))),400 font \"sans,12\" background \"white\""
    echo "set output \"$out/figure1d.svg\""
    echo 'set datafile separator ","'
    echo "set multiplot layout 1,$((n + 1))"
    echo 'unset key; set grid ytics lc rgb "#dddddd"; set logscale x 2; set xlabel "training rows"'
    echo "set xtics ($(echo $SIZES | tr ' ' ',')); set xrange [$(echo $SIZES | tr ' ' '\n' | sort \
        -n | sed -n 1p) / 1.3 : $(echo $SIZES | tr ' ' '\n' | sort -n | sed -n '$p') * 1.3]"
    echo 'set ylabel "Spearman on held-out rows"; set yrange [:1]'
    printf '%s\n' "$tasks" | while read -r task; do
        echo "set title \"$task\""
        echo "plot $(curves "$task" 3:5:6 yerrorlines)"
    done
    echo 'set title "tuning"; set ylabel "seconds"; set logscale y; set autoscale y; set key top left'
    echo "plot $(curves "$(printf '%s\n' "$tasks" | sed -n 1p)" 3:4 linespoints)"
} >"$out/figure1d.gp"
gnuplot "$out/figure1d.gp"
rm -f "$out/figure1d.gp"
