#!/bin/sh
# strings_table3.sh -- the shape of Table 3 of a paper on Gaussian processes with inducing points
# that are strings: by which powers of the number n of training strings and m of points the time of
# each way to choose them grows, and that of the fits.
#
#   ./strings_table3.sh [DIRECTORY]     writes strings_table3.csv (way, n, m, processor seconds),
#       strings_table3.txt (the exponents: slopes in logarithms) and strings_table3.svg
#
# It takes three minutes of processor time. ROWS, POINTS, AT, WITH, WAYS and HP may be set: sizes n
# at WITH points, sizes m at AT strings, the ways, amplitude and noise.
set -e
out=${1:-.}
GPDESK=${GPDESK:-gpdesk}
ROWS=${ROWS:-500 1000 2000 4000}
POINTS=${POINTS:-16 32 64 128}
AT=${AT:-1000}
WITH=${WITH:-64}
WAYS=${WAYS:-random greedy greedy(subset=100) anneal(steps=2000) dpp pchol exact}
HP=${HP:-amplitude=0.066 noise=0.63 rescale=no}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# The processor seconds of some lines.
seconds() {
    ("$GPDESK" --no-config --threads 1 --format json -e "$1" >"$work/out" 2>/dev/null || exit 1
        times) >"$work/time" || { grep '"error"' "$work/out" >&2; exit 1; }
    awk 'NR == 2 { split($1, a, /[ms]/); print 60 * a[1] + a[2] }' "$work/time" # of its children
}
measure() { # WAY N M
    open="demo motifs n=$2 seed=1; kernel spectrum(n=5)"
    how="solver=sparse inducing=$3 select=$1"
    [ "$1" = exact ] && how="solver=exact"
    # a choice is timed beside a random one, random points and exact fits beside no fit
    beside="; fit solver=sparse inducing=$3 select=random $HP"
    case $1 in random | exact) beside= ;; esac
    before=$(seconds "$open$beside") after=$(seconds "$open; fit $how $HP")
    awk -v a="$before" -v b="$after" -v of="$1,$2,$3" 'BEGIN { printf "%s,%.2f\n", of, b - a }'
}
echo "way,n,m,seconds" >"$out/strings_table3.csv"
for way in $WAYS; do
    for n in $ROWS; do
        measure "$way" "$n" "$WITH"
    done
    for m in $POINTS; do
        [ "$way" = exact ] || [ "$m" = "$WITH" ] || measure "$way" "$AT" "$m"
    done
done >>"$out/strings_table3.csv"
awk -F, -v at="$AT" -v with="$WITH" '
    function slope(way, by,   i, k, x, y, sx, sy, sxx, sxy) { # of what takes long enough
        for (i = 1; i <= rows; i++) {
            if (w[i] != way || s[i] < 0.05 || (by == "n" ? m[i] != with : n[i] != at)) continue
            x = log(by == "n" ? n[i] : m[i]); y = log(s[i])
            k++; sx += x; sy += y; sxx += x * x; sxy += x * y
        }
        if (k < 2) return "-"
        return sprintf("%.1f", (k * sxy - sx * sy) / (k * sxx - sx * sx)) }
    NR > 1 { rows++; w[rows] = $1; n[rows] = $2; m[rows] = $3; s[rows] = $4
        if (!($1 in seen)) { seen[$1] = 1; way[++ways] = $1 } }
    END { printf "%-20s %12s %12s\n", "time grows with", "power of n", "power of m"
        for (j = 1; j <= ways; j++)
            printf "%-20s %12s %12s\n", way[j], slope(way[j], "n"), \
                way[j] == "exact" ? "-" : slope(way[j], "m") }' \
    "$out/strings_table3.csv" >"$out/strings_table3.txt"
cat "$out/strings_table3.txt"
command -v gnuplot >/dev/null || exit 0
curves() { # COLUMN OTHER VALUE
    for way in $WAYS; do
        [ "$way$1" = exact3 ] && continue
        printf "\"< awk -F, '\$1 == \\\\\"%s\\\\\" && \$%s == %s' '%s' | sort -t, -k%s,%sg\" " \
            "$way" "$2" "$3" "$out/strings_table3.csv" "$1" "$1"
        printf 'using %s:4 ' "$1"
        printf 'with linespoints pt 7 ps 0.6 title "%s" noenhanced, ' "$way"
    done | sed 's/, $//'
}
gnuplot <<END
set datafile separator ","
set terminal svg size 1000,440 font "sans,12" background "white"
set output "$out/strings_table3.svg"
set multiplot layout 1,2
set grid lc rgb "#dddddd"
set logscale xy
set key outside below
set yrange [0.01:]
set ylabel "processor seconds"
set xlabel "training strings, $WITH points"
plot $(curves 2 3 "$WITH")
set xlabel "points, $AT training strings"
plot $(curves 3 2 "$AT")
END
