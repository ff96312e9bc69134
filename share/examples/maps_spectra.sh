#!/bin/sh
# maps_spectra.sh -- how the eigenvalues of kernels that learn their features fall, in the manner of
# figures 2 to 4 of the paper on feature map Gaussian processes: by the width of the hidden layers,
# by the number of features (the rank), and for a product of two maps beside one map of the same
# rank, an RBF kernel and an exponential one (Matern 1/2).
#
#   ./maps_spectra.sh [DIRECTORY]    writes maps_spectra.csv (panel, kernel, index, eigenvalue over
#       the largest) and maps_spectra.png
#
# It takes a minute of processor time.  ROWS (600), STEPS (100) of the tuning, 1 for the weights of
# the start, and DATA may be set.
set -e
out=${1:-.}
GPDESK=${GPDESK:-gpdesk}
ROWS=${ROWS:-600}
STEPS=${STEPS:-100}
DATA=${DATA:-demo friedman1 n=$ROWS seed=1}
WIDTHS=${WIDTHS:-4 16 64 256}
RANKS=${RANKS:-4 8 16 32 64}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

spectrum() { # PANEL LABEL KERNEL FIT
    "$GPDESK" --no-config --threads "${THREADS:-1}" --seed 7 \
        -e "$DATA; kernel $3; $4; spectrum rows=$ROWS; plot spectrum out=$work/s.csv" \
        >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
    awk -F, -v panel="$1" -v label="$2" '$2 == "eigenvalues" {
        top = top ? top : $4
        if ($4 > 1e-9 * top) print panel "," label "," $3 "," $4 / top }' "$work/s.csv" \
        >>"$out/maps_spectra.csv"
}
echo "panel,kernel,index,eigenvalue" >"$out/maps_spectra.csv"
learn="tune steps=$STEPS; fit"
for w in $WIDTHS; do
    spectrum width "width $w" "mlp(width=$w,out=64)" "$learn"
done
for q in $RANKS; do
    spectrum rank "out $q" "mlp(width=128,out=$q)" "$learn"
done
spectrum product "mlp(out=64)" "mlp(width=128,out=64)" "$learn"
spectrum product "mlp(out=8) * mlp(out=8)" "mlp(width=128,out=8) * mlp(width=128,out=8)" "$learn"
spectrum product "rbf" rbf "tune solver=exact; fit solver=exact"
spectrum product "matern(nu=1/2)" "matern(nu=1/2)" "tune solver=exact; fit solver=exact"
command -v gnuplot >/dev/null || exit 0
{
    cat <<END
set datafile separator ","
set terminal pngcairo size 1400,480 font "sans,12" background "white"
set output "$out/maps_spectra.png"
set multiplot layout 1,3
set grid lc rgb "#dddddd"
set logscale xy
set format y "10^{%T}"
set yrange [1e-9:2]
set xlabel "index"
set ylabel "eigenvalue over the largest"
set key bottom left samplen 1.5 font ",10"
set linetype 1 lc rgb "#0072b2"
set linetype 2 lc rgb "#d55e00"
set linetype 3 lc rgb "#009e73"
set linetype 4 lc rgb "#cc79a7"
set linetype 5 lc rgb "#e69f00"
END
    for panel in width rank product; do
        echo "set title \"$panel\""
        awk -F, -v panel=$panel -v file="$out/maps_spectra.csv" '$1 == panel && !seen[$2]++ {
            printf "%s \"< awk -F, '\''$1 == \\\"%s\\\" && $2 == \\\"%s\\\"'\'' %s\" using 3:4 " \
                "with lines lw 2 title \"%s\"", n++ ? ", \\\n" : "plot ", panel, $2, file, $2 }
            END { print "" }' "$out/maps_spectra.csv"
    done
} >"$work/gp"
gnuplot "$work/gp"
