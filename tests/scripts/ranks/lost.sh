#!/bin/sh
# tests/scripts/ranks/lost.sh -- processes that share the rows come to an end in the middle of a
# fit: killed, stopped, or their front end killed.  The fit has the same bits, and nobody is left.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"

awk 'BEGIN {
    srand(5)
    print "a,b,c,y"
    for (i = 0; i < 9000; i++) {
        a = 4 * rand() - 2; b = 4 * rand() - 2; c = rand()
        printf "%.5f,%.5f,%.5f,%.5f\n", a, b, c, sin(2 * a) + b * c + 0.1 * rand()
    }
}' >rows.csv
fit='open rows.csv target=y; split test=10% seed=2; set l=0.5; fit features=2048 solver=pcg rtol=1e-9 plan=regenerate'
fit="$fit precond=none maxit=150; predict columns=row,mean out"

# The ranks of a front end.
ranks_of() { ps -o pid= --ppid "$1" 2>/dev/null; }
# Waits for a condition, half a minute at most.
await() {
    for i in $(seq 600); do
        if eval "$1"; then return 0; fi
        sleep 0.05
    done
    return 1
}
gone() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:.*[ZX]' "/proc/$1/status" 2>/dev/null; }

run --accept-unconverged -e "$fit=one.csv"
is "one process" $rc 0
# True when each of three has computed for a third of a second.
all_work() {
    set -- $(ranks_of $front)
    test $# -eq 3 || return 1
    for rank; do
        test "$(awk '{ print $14 }' "/proc/$rank/stat" 2>/dev/null || echo 0)" -ge 33 || return 1
    done
}
start() { # out: a fit by three ranks, until they work
    "$gpdesk" --accept-unconverged --ranks 3 --threads 3 -e "$fit=$1" >"$1.txt" 2>&1 </dev/null &
    front=$!
    await all_work
}
start killed.csv
result $? "three ranks iterate" "$(cat killed.csv.txt)"
set -- $(ranks_of $front)
kill -9 "$2"
wait $front
is "a rank is killed" $? 0
ok "and nothing changes" cmp one.csv killed.csv
has "but that it is told" "$(cat killed.csv.txt)" 'warning\[rank-lost\].*it has ended'
start all.csv
result $? "three ranks again" "$(cat all.csv.txt)"
kill -9 $(ranks_of $front)
wait $front
is "all are killed" $? 0
ok "and the front end goes on alone" cmp one.csv all.csv
has "and says so" "$(cat all.csv.txt)" 'warning\[rank'
start front.csv
result $? "three ranks once more" "$(cat front.csv.txt)"
ranks=$(ranks_of $front)
kill -9 $front
wait $front 2>/dev/null
left=
for rank in $ranks; do await "gone $rank" || left="$left $rank"; done
is "no rank outlives its front end" "$left" ''
start stopped.csv
result $? "three ranks to be stopped" "$(cat stopped.csv.txt)"
ranks=$(ranks_of $front)
kill -INT $front
wait $front
left=
for rank in $ranks; do await "gone $rank" || left="$left $rank"; done
is "Ctrl-C ends them" "$left" ''
finish
