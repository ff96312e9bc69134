#!/bin/sh
# tests/scripts/ranks/lost.sh -- processes that share the rows come to an end in the middle of a
# fit: killed, stopped, or their front end killed.  The fit has the same bits, and nobody is left.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"
. "$src/tests/scripts/ranks/long.sh"

run --accept-unconverged -e "$fit=one.csv"
is "one process" $rc 0
start() { # out: a fit by three ranks, until they have made an iteration
    "$gpdesk" --accept-unconverged --format json --ranks 3 --threads 3 -e "$fit=$1" >"$1.txt" 2>&1 \
        </dev/null &
    front=$!
    await "grep -q '\"phase\":\"cg\",\"iterations\":[1-9]' $1.txt"
}
# Ctrl-C is answered long before a process that hangs counts as lost, which takes 20 s; bounds are
# wide, since a machine may be busy.
interrupted() { # name
    began=$(date +%s)
    kill -INT $front
    wait $front
    is "$1" $? 130
    ok "$1: at once" test $(($(date +%s) - began)) -lt 12
}
start killed.csv
result $? "three ranks iterate" "$(cat killed.csv.txt)"
set -- $(children_of $front)
kill -9 "$2"
wait $front
is "a rank is killed" $? 0
ok "and nothing changes" cmp one.csv killed.csv
has "but that it is told" "$(cat killed.csv.txt)" \
    '"type":"warning","name":"rank-lost".*it has ended'
start all.csv
result $? "three ranks again" "$(cat all.csv.txt)"
kill -9 $(children_of $front)
wait $front
is "all are killed" $? 0
ok "and the front end goes on alone" cmp one.csv all.csv
has "and says so" "$(cat all.csv.txt)" '"type":"warning","name":"ranks".*went on alone'
is "once, and of no device" \
    "$(grep -c '"type":"warning","name":"\(rank\|device-lost\)' all.csv.txt)" 1
start front.csv
result $? "three ranks once more" "$(cat front.csv.txt)"
ranks=$(children_of $front)
set -- $ranks
kill -STOP "$1" # it does not see that the front end is gone
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
has "and the fit keeps its iterate" "$(cat stopped.csv.txt)" \
    '"outcome":"cancelled","iterations":[1-9]'
start hung.csv
result $? "three ranks of which one will hang" "$(cat hung.csv.txt)"
ranks=$(children_of $front)
set -- $ranks
kill -STOP "$2"
interrupted "Ctrl-C while a rank hangs"
has "the fit keeps its iterate, too" "$(cat hung.csv.txt)" \
    '"outcome":"cancelled","iterations":[1-9]'
left=
for rank in $ranks; do await "gone $rank" || left="$left $rank"; done
is "and it is not left" "$left" ''
# A host whose ssh ends: the rank there is told by the end of its input.
printf '#!/bin/sh\ncat | "%s" --rank | cat\n' "$gpdesk" >ssh
chmod +x ssh
GPDESK_SSH=$dir/ssh "$gpdesk" --accept-unconverged --hosts a:1,localhost:1 --threads 2 \
    -e "$fit=ssh.csv" >said 2>&1 </dev/null &
front=$!
await 'test "$(children_of $front | wc -w)" -eq 2'
for p in $(children_of $front); do # the one that has started others
    test "$(children_of "$p" | wc -w)" -eq 3 && ssh=$p
done
rank=$(pgrep -P "$ssh" -f -- --rank)
await 'test "$(work_of $rank)" -ge 20'
result $? "a rank by ssh iterates" "$(cat said)"
for p in $ssh $(children_of "$ssh"); do test "$p" = "$rank" || kill -9 "$p"; done
wait $front
is "its ssh ends" $? 0
ok "and nothing changes" cmp one.csv ssh.csv
has "but that it is told" "$(cat said)" 'warning.rank-lost.*rank 1 of 2 on a: it has ended'
await "gone $rank"
result $? "and the rank ends" "$rank"
# A host that does not answer at all.
printf '#!/bin/sh\necho $$ >asleep\nexec sleep 100\n' >ssh
chmod +x ssh
GPDESK_SSH=$dir/ssh "$gpdesk" --hosts a:1 -e "$fit=silent.csv" >said 2>&1 </dev/null &
front=$!
await 'test -s asleep'
interrupted "Ctrl-C while a host is waited for"
await "gone $(cat asleep)"
result $? "its ssh is ended" "$(cat said)"
ok "and nothing is said of lost processes" sh -c '! grep -q "warning.rank" said'
finish
