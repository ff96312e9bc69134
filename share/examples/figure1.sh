#!/bin/sh
# figure1.sh -- the shape of xGPR's Figure 1 with gpdesk: how many iterations a fit takes against
# the rank of its preconditioner, for three constructions of it (a); how far other solvers come in
# as many passes over the data (b).
#
#   ./figure1.sh [DIRECTORY]       writes figure1a.svg, figure1a.csv and figure1b.svg there
#
# DATA, KERNEL, FIT, RANKS and RANK may be set: commands and options of gpdesk, as below.
set -e
out=${1:-.}
GPDESK=${GPDESK:-gpdesk}
DATA=${DATA:-demo robot n=12000 seed=7; split test=20% seed=7}
KERNEL=${KERNEL:-kernel matern(nu=5/2)}
FIT=${FIT:-features=4096 l=3 noise=0.05 rtol=1e-6 variance=none}
RANKS=${RANKS:-32 64 128 256 512 1024}
RANK=${RANK:-256}

script=
for rank in $RANKS; do
    for precond in gauss srht srht2; do
        script="$script; fit solver=pcg $FIT maxit=3000 precond=$precond rank=$rank"
    done
done
# run, rank, construction, iterations: one line for each fit that came to its end
"$GPDESK" --format json -k --accept-unconverged -e \
    "$DATA; $KERNEL$script; fit solver=lbfgs(wolfe=1) $FIT maxit=3000" |
    sed -n 's/.*"command":"fit".*"solver":"\([a-z]*\)".*"rank":\([a-z0-9]*\),"preconditioner":"*\([a-z0-9]*\)"*,.*"outcome":"\([a-z]*\)","iterations":\([0-9]*\),.*/\1,\2,\3,\4,\5/p' >"$out/figure1a.csv"
sed 1q "$out/figure1a.csv" | grep -q . || { echo "figure1.sh: no fit came to its end" >&2; exit 1; }
lbfgs=$(sed -n 's/^lbfgs,.*,//p' "$out/figure1a.csv")
stopped=$(sed -n 's/^lbfgs,.*,maxit,\([0-9]*\)/, stopped at \1/p' "$out/figure1a.csv")
least=$(printf '%s\n' $RANKS | sort -n | head -n 1)
most=$(printf '%s\n' $RANKS | sort -n | tail -n 1)

gnuplot <<END
set terminal svg size 720,480 font "sans,12" background "white"
set output "$out/figure1a.svg"
set datafile separator ","
set logscale xy
set xrange [$least / 1.3 : $most * 1.3]
set xlabel "rank of the preconditioner"
set ylabel "iterations to rtol"
set key outside top center horizontal
set grid ytics lc rgb "#dddddd"
set xtics ($(echo $RANKS | tr " " ","))
at(p) = sprintf("< grep '^pcg,.*,%s,rtol,' '$out/figure1a.csv'", p)
plot at("gauss") using 2:5 with linespoints lw 2 pt 7 title "Gaussian", \\
     at("srht")  using 2:5 with linespoints lw 2 pt 5 title "SRHT", \\
     at("srht2") using 2:5 with linespoints lw 2 pt 9 title "SRHT, two passes", \\
     ${lbfgs:-1/0} with lines dt 2 lc rgb "#777777" title "L-BFGS$stopped"
END

# One clock for all: passes over the data, those of checks and power iterations included.
"$GPDESK" -q -k --accept-unconverged -e "$DATA; $KERNEL" \
    -e "fit solver=pcg $FIT rank=$RANK maxit=100" -e "fit solver=psvrg $FIT rank=$RANK maxit=30" \
    -e "fit solver=svrg $FIT maxit=30" -e "fit solver=lbfgs(wolfe=1) $FIT maxit=100" \
    -e "fit solver=amsgrad $FIT maxit=30" \
    -e "plot residual r1 r2 r3 r4 r5 by=passes out='$out/figure1b.svg'" >"$out/figure1b.txt"
