#!/bin/sh
# tests/scripts/maps/rare.sh -- a class of one row: every likelihood of several classes fits it, by
# a fixed kernel and by a map that learns, with finite probabilities that sum to 1.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"

# Above and below the diagonal; row 17 alone is of the third class, and is among the training rows.
awk 'BEGIN { print "a,b,c"; for (i = 1; i <= 120; i++) {
    a = i * 37 % 121 / 121; b = i * 53 % 127 / 127
    print a "," b "," (i == 17 ? "rare" : a > b ? "up" : "down") } }' >one.csv
# Rows, the largest difference of a sum from 1, numbers that are none, the mean of the rare class.
sums() { awk -F, 'NR == 1 { for (j = 2; j <= NF; j++) if ($j == "p_rare") at = j; next }
    { s = 0; for (j = 2; j <= NF; j++) { s += $j; if ($j !~ /^[-+0-9.e]+$/) bad++ }
      d = s > 1 ? s - 1 : 1 - s; if (d > most) most = d; rare += $at }
    END { print NR - 1, most + 0, bad + 0, at ? rare / (NR - 1) : -1 }' "$1"; }
fair() { sums "$1" | awk '{ exit !($1 == 30 && $2 <= 1e-12 && $3 == 0 && $4 >= 0 && $4 < 0.15) }'; }

for kernel in rbf 'mlp(width=16,out=4)'; do
    for l in dirichlet softmax discriminant; do
        rm -f p.csv
        run --format json -e "open one.csv target=c; split test=25% seed=1; likelihood $l" \
            -e "kernel $kernel; tune steps=60; fit; score; predict columns=row,p out=p.csv"
        is "$l, $kernel: a class of one row" $rc 0
        ok "$l, $kernel: finite probabilities that sum to 1" fair p.csv
        ok "$l, $kernel: the row is one to train on" sh -c '! grep -q ^17, p.csv'
        has "$l, $kernel: three classes are scored" "$out" '"command":"score".*"rare"'
    done
done
finish
