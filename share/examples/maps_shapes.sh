#!/bin/sh
# maps_shapes.sh -- the shapes that learned maps recover (the experiment of figure 8 of the paper on
# feature map Gaussian processes).  Points near a circle and near a torus are warped into 20 inputs,
# x = B tanh(A z) with random A and B.  A map with few features learns labels from these: of the
# circle its twelve sectors, of the torus four labels drawn at random with probabilities that are
# linear in the place z, so that what they can tell is z itself.  The features show the shape again,
# the torus roughly.  They are known up to a linear change and drawn as principal components of
# equal length.
#
#   ./maps_shapes.sh [DIRECTORY]    writes maps_circle.csv and maps_torus.csv (the angles over a
#       turn, the place z, the place f that was learned) and maps_shapes.png
#
# It takes half a minute.  ROWS (8000, of the circle a quarter), STEPS (150), WIDTH (96) and STARTS
# (4, of which the best is taken: some starts end in a folded circle) may be set.
set -e
out=${1:-.}
GPDESK=${GPDESK:-gpdesk}
ROWS=${ROWS:-8000}
STEPS=${STEPS:-150}
WIDTH=${WIDTH:-96}
STARTS=${STARTS:-4}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

points() { # SHAPE DIMENSIONS ROWS: x1 .. x20, the label, the angles and the place
    awk -v shape="$1" -v d="$2" -v n="$3" '
    function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.283185307 * rand()) }
    function circle(a) {
        z[1] = cos(turn * a); z[2] = sin(turn * a); z[3] = 0
        return int(12 * a)
    }
    function torus(a, b,   p, s, side) { # labels: the corners of a tetrahedron
        z[1] = (1 + 0.5 * cos(turn * b)) * cos(turn * a)
        z[2] = (1 + 0.5 * cos(turn * b)) * sin(turn * a)
        z[3] = 0.5 * sin(turn * b); p = rand()
        for (s = 1; s < 4; s++) {
            side = z[1] * (s % 2 ? 1 : -1) + z[2] * (s > 2 ? 1 : -1) + z[3] * (s == 1 ? 1 : -1)
            p -= (1 + side / 2.2) / 4
            if (p < 0) break
        }
        return s
    }
    BEGIN {
        srand(7); turn = 6.283185307
        for (i = 1; i <= 20; i++) {
            for (j = 1; j <= d; j++) A[i, j] = normal()
            for (j = 1; j <= 20; j++) B[i, j] = normal()
            printf "x%d,", i
        }
        print "label,angle,other,z1,z2,z3"
        for (r = 0; r < n; r++) {
            a = rand(); b = rand(); s = shape == "circle" ? circle(a) : torus(a, b)
            for (j = 1; j <= d; j++) z[j] += 0.03 * normal()
            for (i = 1; i <= 20; i++) {
                h[i] = 0; for (j = 1; j <= d; j++) h[i] += A[i, j] * z[j]
                h[i] = 1 - 2 / (exp(2 * h[i]) + 1)
            }
            for (i = 1; i <= 20; i++) {
                x = 0; for (j = 1; j <= 20; j++) x += B[i, j] * h[j]
                printf "%.6g,", x
            }
            printf "s%d,%.6g,%.6g,%.6g,%.6g,%.6g\n", s, a, b, z[1], z[2], z[3]
        }
    }'
}

learn() { # SHAPE DIMENSIONS FEATURES ROWS SPLIT STOP
    points "$1" "$2" "$4" >"$work/$1.csv"
    "$GPDESK" --no-config --threads "${THREADS:-1}" --seed 7 \
        -e "open $work/$1.csv target=label skip=angle,other,z1,z2,z3; likelihood dirichlet" \
        -e "split $5; kernel mlp(width=$WIDTH,out=$3)" \
        -e "tune steps=$STEPS subsets=1 restarts=$STARTS stop=$6; fit" \
        -e "pca dims=$2 rows=$4 out=$work/$1.pca" >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; exit 1; }
    awk -F, -v d="$2" '
        FNR == 1 && NR > 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        NR == FNR { if (FNR > 1) z[FNR - 1] = $22 "," $23 "," $24 "," $25 "," $26; next }
        { of[++n] = z[$at["row"]]
            for (k = 1; k <= d; k++) { f[n, k] = $at["pc" k]; q[k] += f[n, k] ^ 2 } }
        END { print "angle,other,z1,z2,z3,f1,f2,f3"
            for (i = 1; i <= n; i++) { printf "%s", of[i]
                for (k = 1; k <= 3; k++) printf ",%.6g", (k > d ? 0 : f[i, k] / sqrt(q[k] / n))
                print "" } }' "$work/$1.csv" "$work/$1.pca" >"$out/maps_$1.csv"
}
learn circle 2 2 $((ROWS / 4)) none steps
learn torus 3 3 "$ROWS" "test=0 valid=20% seed=1" valid
command -v gnuplot >/dev/null || exit 0
gnuplot <<END
set datafile separator ","
set terminal pngcairo size 1000,900 font "sans,12" background "white"
set output "$out/maps_shapes.png"
set multiplot layout 2,2
set palette defined (0 "#0072b2", 0.25 "#009e73", 0.5 "#e69f00", 0.75 "#cc79a7", 1 "#0072b2")
unset colorbox
set cbrange [0:1]
set size ratio -1
set title "points near a circle"
set xlabel "z1"; set ylabel "z2"
plot "$out/maps_circle.csv" skip 1 using 3:4:1 with points pt 7 ps 0.4 palette notitle
set title "features of mlp(out=2) of 20 warped inputs"
set xlabel "first component"; set ylabel "second component"
plot "$out/maps_circle.csv" skip 1 using 6:7:1 with points pt 7 ps 0.4 palette notitle
set view 35,30
set size noratio
set ticslevel 0
set view equal xyz
set title "points near a torus"
set xlabel "z1"; set ylabel "z2"; set zlabel "z3"
splot "$out/maps_torus.csv" skip 1 using 3:4:5:1 with points pt 7 ps 0.25 palette notitle
set view noequal
set title "features of mlp(out=3)"
set xlabel "first"; set ylabel "second"; set zlabel "third"
splot "$out/maps_torus.csv" skip 1 using 6:7:8:1 with points pt 7 ps 0.25 palette notitle
END
