#!/bin/sh
# tests/scripts/ranks/lost.sh -- processes that share the rows come to an end in the middle of a
# fit: killed, stopped, or their front end killed.  The fit has the same bits, and nobody is left.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"
. "$src/tests/scripts/ranks/long.sh"

run --accept-unconverged -e "$fit=one.csv"
is "one process" $rc 0
# True when each of three has computed for a third of a second.
all_work() {
    set -- $(children_of $front)
    test $# -eq 3 || return 1
    for rank; do
        test "$(work_of "$rank")" -ge 33 || return 1
    done
}
start() { # out: a fit by three ranks, until they work
    "$gpdesk" --accept-unconverged --ranks 3 --threads 3 -e "$fit=$1" >"$1.txt" 2>&1 </dev/null &
    front=$!
    await all_work
}
start killed.csv
result $? "three ranks iterate" "$(cat killed.csv.txt)"
set -- $(children_of $front)
kill -9 "$2"
wait $front
is "a rank is killed" $? 0
ok "and nothing changes" cmp one.csv killed.csv
has "but that it is told" "$(cat killed.csv.txt)" 'warning\[rank-lost\].*it has ended'
start all.csv
result $? "three ranks again" "$(cat all.csv.txt)"
kill -9 $(children_of $front)
wait $front
is "all are killed" $? 0
ok "and the front end goes on alone" cmp one.csv all.csv
has "and says so" "$(cat all.csv.txt)" 'warning\[rank'
start front.csv
result $? "three ranks once more" "$(cat front.csv.txt)"
ranks=$(children_of $front)
kill -9 $front
wait $front 2>/dev/null
left=
for rank in $ranks; do await "gone $rank" || left="$left $rank"; done
is "no rank outlives its front end" "$left" ''
start stopped.csv
result $? "three ranks to be stopped" "$(cat stopped.csv.txt)"
ranks=$(children_of $front)
kill -INT $front
wait $front
left=
for rank in $ranks; do await "gone $rank" || left="$left $rank"; done
is "Ctrl-C ends them" "$left" ''
finish
