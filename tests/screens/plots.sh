#!/bin/sh
# tests/screens/plots.sh -- plots without a view of their own stand in view 8, as their line says,
# small and large, full screen, with gnuplot and without.
. "$(dirname "$0")/lib.sh"

dots() { screen | LC_ALL=C grep -o "$(printf '\342[\240-\243][\201-\277]')" | wc -l; }
more_dots() { [ "$(dots)" -gt "$1" ]; }
check() { waituntil more_dots "$1"; verdict $? "$2"; }

for size in '80 24' '200 60'; do
    # shellcheck disable=SC2086
    start $size
    waitfor "F1 help"
    type_line \
        "demo friedman1 n=300 seed=5; split test=20%; kernel rbf + linear; tune features=64 evals=4"
    waitfor "t1  "
    type_line "landscape 1.l=0.5..10 noise=0.05..1 grid=9 features=64"
    expect "evaluations of t1" "landscape shows by itself at $size"
    type_line "fit features=128; score; plot check"
    expect "normal quant" "check has its panels at $size"
    type_line "plot slice x1 x4"
    expect "Slice of r1: mean" "a slice of two inputs at $size"
    check 100 "has a surface of dots"
    before=$(dots)
    to_view
    keys P
    check "$before" "P gives it the whole screen"
    keys P
    keys i
    type_line "plot pairs x3"
    expect "correlation" "pairs of the column asked for"
    test "$size" = '80 24' && expect_gone "x4" "and of no other"
    type_line "describe parts"
    expect "part 2: linear" "words of the parts, computed first"
    leave 0 "quits"
done
start 200 60
waitfor "F1 help"
type_line "demo friedman1 n=200 seed=5; kernel rbf; fit features=64 l=2; cluster k=2..3 features=64"
expect "clusters, silhouette" "clusters on a wide screen"
expect "No predictions yet" "the pane beside them has words"
expect_gone "columns of 200 rows" "and not the sentence of the plot that was there"
waituntil sh -c "tmux -L $SOCKET capture-pane -p -t a | LC_ALL=C grep -q 'cluster 1'"
verdict $? "clusters have a key"
waituntil sh -c \
    "tmux -L $SOCKET capture-pane -p -t a | sed -n '5,24p' | cut -c 48-120 | grep -q '+.*[*]\|[*].*+'"
verdict $? "and signs among the dots, whatever the colours"
leave 0 "quits"
start 80 24 GPDESK_GNUPLOT=/nowhere/gnuplot
waitfor "F1 help"
type_line "demo friedman1 n=300 seed=5; kernel rbf; fit features=64 l=2; plot slice x1"
expect "95 % of the function" "without gnuplot the same plot"
check 60 "of dots"
leave 0 "quits"
done_testing
