#!/bin/sh
# tanimoto_figures.sh -- Figures 1 to 3 of a paper on random features of Tanimoto kernels (Tripp et
# al. 2023): errors of features of 1000 molecules of GuacaMol beside those that were published.
#
#   ./tanimoto_figures.sh [DIRECTORY]    writes tanimoto_exact.txt (exact values beside published
#       ones: it fails where one differs), tanimoto_mse.csv (each line of the reference with our
#       mean and sd, ok or apart), tanimoto_variance.csv, tanimoto_prefactor.csv and
#       tanimoto_figure1.svg to tanimoto_figure3.svg
#
# BENCH is the program bench_tanimoto (make tests/bench/bench_tanimoto), DATA a directory with
# fingerprints.csv.gz and reference_mse.csv.  Of the reference it takes the lines of the figures;
# LINES=all takes all of them; PICTURE=png writes png files.  TRIALS seeds and at most MOST features
# take two minutes of processor time; with LINES=all, TRIALS=5 and MOST=100000 it is some hours.
set -e
out=${1:-.}
BENCH=${BENCH:-bench_tanimoto}
DATA=${DATA:-../shared/data/guacamol}
TRIALS=${TRIALS:-3}
MOST=${MOST:-10000}
LINES=${LINES:-figures}
PICTURE=${PICTURE:-svg}
terminal='svg size 1000,420 font "sans,12" background "white"'
[ "$PICTURE" = svg ] || terminal='pngcairo size 1000,420 font "sans,11"'
at=1000 # features of the left half of figure 3
[ "$MOST" -lt 10000 ] || at=10000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
gzip -dc "$DATA/fingerprints.csv.gz" >"$work/counts"
bench() { "$BENCH" "$@" <"$work/counts"; }

bench exact >"$out/tanimoto_exact.txt" || {
    grep WRONG "$out/tanimoto_exact.txt" >&2
    exit 1
}
awk -F, -v all="$LINES" -v at=$at 'NR == 1 || all == "all" || $1 == "tmm" || $3 ~ /_p-1.0_R4/ ||
    ($3 ~ /_none_.*_R4/ && $4 == at)' "$DATA/reference_mse.csv" >"$work/reference"
{ echo "kernel,fingerprint,variant,features,published,sd,mse,mse_sd,within"
  bench mse "$work/reference" "$TRIALS" "$MOST"; } >"$out/tanimoto_mse.csv" || :
bench variance 20000 >"$out/tanimoto_variance.csv"
bench prefactor "$TRIALS" "$MOST" >"$out/tanimoto_prefactor.csv"
awk -F, 'NR > 1 { n++; ok += $9 == "ok"; s += log($7 / $5) }
    END { printf "%d of %d errors within 4 standard deviations or 5 %% of the published; on the " \
        "average they are %.3f times as large\n", ok, n, exp(s / n) }' "$out/tanimoto_mse.csv"

command -v gnuplot >/dev/null || exit 0
mse() { # a file that gnuplot reads: KERNEL FINGERPRINT VARIANT, ours
    awk -F, -v k="$1" -v f="$2" -v v="$3" 'NR > 1 && $1 == k && $2 == f && $3 == v {
        print $4, $5, $7, $8 }' "$out/tanimoto_mse.csv"
}
for f in count binary; do
    for v in Rademacher Gaussian; do mse tmm $f $v >"$work/$v.$f"; done
    for b in none normalize sketch_error; do mse tdp $f "tdp_${b}_p-1.0_R4" >"$work/$b.$f"; done
    for p in -2.0 -1.5 -1.0 -0.5 0.0 0.5 1.0 1.5 2.0; do
        mse tdp $f "tdp_none_p${p}_R4" | awk -v p=$p -v at=$at '$1 == at { print p, $2, $3, $4 }'
    done >"$work/shares.$f"
done
for f in counts bits; do
    for r in 1 3; do
        awk -F, -v f=$f -v r=$r '$1 == "count" && $2 == f && $3 == r { n[$4]++; s[$4] += $7 }
            END { for (m in n) print m, s[m] / n[m] }' "$out/tanimoto_prefactor.csv" |
            sort -n >"$work/prefactor.$f$r"
        awk -F, -v f=$f -v r=$r '$1 == "shape" && $2 == f && $3 == r {
            if ($5 != was) print ""; was = $5; print $5, $6, $7 < 1e-30 ? -30 : log($7) / log(10)
            }' "$out/tanimoto_prefactor.csv" >"$work/shape.$f$r"
    done
done
plot() { # NAME, commands on the standard input
    { echo "set terminal $terminal; set grid"
      echo "set output '$out/tanimoto_$1.$PICTURE'; set multiplot layout 1,2; cd '$work'"
      cat
    } | gnuplot
}
case $out in /*) ;; *) out=$(pwd)/$out ;; esac
plot figure1 <<END
set logscale xy; set xlabel "features"; set ylabel "mean squared error"
plot for [v in "Rademacher Gaussian"] for [f in "count binary"] v.".".f using 1:3 \
    with linespoints title v." ".f, for [v in "Rademacher Gaussian"] for [f in "count binary"] \
    v.".".f using 1:2 with points pt 6 lc rgb "black" notitle
unset logscale; set datafile separator ","; set key top left
set xlabel "similarity"; set ylabel "variance of a feature"
plot for [w in "signs normal"] for [f in "counts bits"] "$out/tanimoto_variance.csv" \
    using (strcol(1) eq w." ".f ? \$2 : NaN):4 with points title w." ".f, \
    1 - x * x dashtype 2 lc rgb "black" notitle, 1 + 2 * x - x * x dashtype 2 lc rgb "black" notitle
END
plot figure2 <<END
set logscale xy; set xlabel "shape / that of lemma 4.6"; set ylabel "rate / that of lemma 4.6"
set title "log10 of the error, bits, r = 1"; set cbrange [-30:0]
plot "shape.bits1" using 1:2:3 with points pt 5 ps 2.5 lc palette notitle
unset title; set xlabel "features"; set ylabel "mean squared error"
plot for [f in "counts1 counts3 bits1 bits3"] "prefactor.".f with linespoints title f
END
plot figure3 <<END
set logscale y; set xlabel "p, where term r has r^p of the features"
set ylabel "mean squared error"
plot for [f in "count binary"] "shares.".f using 1:3:4 with yerrorlines title f, \
    for [f in "count binary"] "shares.".f using 1:2 with points pt 6 lc rgb "black" notitle
set logscale xy; set xlabel "features"
plot for [v in "none normalize sketch_error"] v.".binary" using 1:3 with linespoints \
    title "bias ".v noenhanced, for [v in "none normalize sketch_error"] v.".binary" using 1:2 \
    with points pt 6 lc rgb "black" notitle
END
