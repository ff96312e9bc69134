#!/bin/sh
# sdd_figure2.sh -- the shape of Figure 2 of Lin, Padhy, Antoran and others (ICLR 2024): gradients
# of the dual objective from random coordinates (sdd), from random coordinates of the product alone,
# and from random features, which need much shorter steps.
#
#   ./sdd_figure2.sh [DIRECTORY]  writes sdd_figure2_k.svg, _k2.svg, _rmse.svg, .csv and .txt there
#
# DATA, SHARED, SEED, FIT, ROWS and TYPE may be set: sdd_figure.sh says how. On 1500 rows with
# FIT='rtol=1e-9 maxit=300' it takes 1.5 s of processor time; the work grows with rows squared.
set -e
OUT=${1:-.}
NAME=sdd_figure2
CONTENDERS="sdd,sdd(noise=product),sdd(noise=features,step=8e-6),sdd(noise=features,step=8e-5)"
. "$(dirname "$0")/sdd_figure.sh"
