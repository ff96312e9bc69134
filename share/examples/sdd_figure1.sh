#!/bin/sh
# sdd_figure1.sh -- the shape of Figure 1 of Lin, Padhy, Antoran and others (ICLR 2024): full
# gradients of the primal and of the dual objective. The dual allows steps that are longer by the
# largest eigenvalue of the kernel matrix; at steps of the same length (SAME, of the dual's limit)
# the primal is ahead in the norm of K^2, the dual in that of K.
#
#   ./sdd_figure1.sh [DIRECTORY]  writes sdd_figure1_k.svg, _k2.svg, _rmse.svg, .csv and .txt there
#
# It takes 6 s of processor time. DATA, SHARED, SEED, FIT and TYPE may be set: sdd_figure.sh says
# how.
set -e
OUT=${1:-.}
NAME=sdd_figure1
ROWS=${ROWS:-3000}
SAME=${SAME:-0.005}
CONTENDERS="gd(momentum=0),gd(momentum=0,step=$SAME),gd(objective=primal,momentum=0)"
CONTENDERS="$CONTENDERS,gd(objective=primal,momentum=0,step=0.08)"
. "$(dirname "$0")/sdd_figure.sh"
