#!/bin/sh
# sdd_figure3.sh -- the shape of Figure 3 of Lin, Padhy, Antoran and others (ICLR 2024): stochastic
# dual descent without momentum, with it, and with an arithmetic or a geometric average.
#
#   ./sdd_figure3.sh [DIRECTORY]  writes sdd_figure3_k.svg, _k2.svg, _rmse.svg, .csv and .txt there
#
# DATA, SHARED, SEED, FIT, ROWS and TYPE may be set: sdd_figure.sh says how. On 1500 rows with
# FIT='rtol=1e-9 maxit=300' it takes 1.5 s of processor time; the work grows with rows squared.
set -e
OUT=${1:-.}
NAME=sdd_figure3
CONTENDERS="sdd(momentum=0,average=none),sdd(momentum=0.9,average=none)"
CONTENDERS="$CONTENDERS,sdd(momentum=0.9,average=arithmetic),sdd(momentum=0.9)"
. "$(dirname "$0")/sdd_figure.sh"
