#!/bin/sh
# tests/screens/proposals.sh -- the plots of suggest, bo and draw posterior: small and large, live,
# with the spread over seeds; a file of another line leaves the picture.
. "$(dirname "$0")/lib.sh"

signs() { screen | grep -v gpdesk | tr -dc "$1" | wc -c; }
at_least() { [ "$(signs "$1")" -ge "$2" ]; }
dots() { screen | LC_ALL=C grep -o "$(printf '\342[\240-\243][\201-\277]')" | wc -l; }
more_dots() { [ "$(dots)" -gt "$1" ]; }

for size in '80 24' '200 60'; do
    # shellcheck disable=SC2086
    start $size
    waitfor "F1 help"
    type_line "demo friedman1 n=120 seed=5; kernel rbf; fit l=2; suggest 4 seed=1"
    expect "r1 suggests 4 of" "proposals at $size"
    type_line "plot suggest"
    expect "sd of a new measurement" "their plot"
    # Four and that of the key.
    waituntil at_least + 5
    verdict $? "each has its sign, although candidates cover it"
    type_line "draw posterior along=x1 row:3 n=2"
    expect "Functions of r1, through row 3" "functions along an input come forward"
    type_line "plot posterior x2 row:5 out=f.csv"
    expect "posterior written to f.csv" "a file of another line"
    expect "Functions of r1, through row 3" "leaves the picture"
    absent "through row 5" "as it is"
    type_line "bo draw dims=2 l=0.4 start=150 rounds=900 batch=1 by=mean,random"
    expect "Best measured value" "bo comes forward while it runs"
    expect "round 3" "and tells its rounds"
    waituntil more_dots 10
    verdict $? "with a curve"
    keys C-c
    expect "bo was stopped after" "and it is stopped"
    type_line "bo draw dims=2 start=30 rounds=4 batch=2 by=mean,random seeds=3"
    expect "means of 3" "the curves are means over the seeds"
    expect "+ random" "each rule in the key"
    waituntil more_dots 150
    verdict $? "and bands of their spread"
    leave 0 "quits"
done
done_testing
