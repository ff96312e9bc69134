#!/bin/sh
# kill -9 in mid-fit, at the keyboard: everything but the last seconds comes back, predictions to
# the bit, with and without a session named.
. "$(dirname "$0")/lib.sh"

long="fit solver=pcg features=4096 rank=16 noise=0.0001 rtol=1e-12 maxit=100000 plan=regenerate"

i=0
echo "a,b,y" > "$work/own.csv"
while [ $i -lt 200 ]; do
    echo "$((i * 37 % 101)),$((i * 53 % 89)),$((i * i % 97))" >> "$work/own.csv"
    i=$((i + 1))
done

start 160 30 -- --threads 2 -s "$work/own.gpd"
type_line "open own.csv target=y; split test=25% seed=3; kernel rbf"
expect "test 50" "own data, split"
type_line "fit features=256; predict out=before.csv"
expect "before.csv" "a fit and its predictions"
type_line "demo robot n=20000 seed=2"
expect "robot 20,000 x" "more data"
type_line "$long"
expect "r2 cg" "a long fit runs"
# The points of a running trace are written every two seconds.
on_disk() { cksum "$work"/own.gpd*; }
was=$(on_disk)
written() { [ "$(on_disk)" != "$was" ]; }
waituntil written
verdict $? "its trace is written"
pid=$(pid_of)
kill -KILL "$pid"
waituntil ended "$pid"
verdict $? "killed"

start 160 30 -- --threads 2 -s "$work/own.gpd"
expect "going on with" "the session opens at once, without a lock in the way"
keys M-9
expect "r2 was interrupted" "the killed fit is named"
type_line "predict run=r1 out=after.csv"
expect "after.csv" "the earlier fit predicts again"
cmp -s "$work/before.csv" "$work/after.csv"
verdict $? "with the same bits"
type_line "use own; fit features=128"
expect "r3  rbf" "and work goes on"
leave 0 "quit"

# Nobody named a session: one was kept in the state directory.
start 160 30 -- --threads 2
type_line "demo toy n=50 seed=5; kernel rbf"
expect "saved as you work" "an automatic session is told"
type_line "fit features=64"
expect "r1  rbf" "a fit"
pid=$(pid_of)
waitfor " ready"
kill -KILL "$pid"
waituntil ended "$pid"
verdict $? "killed, too"
start 160 30 -- --threads 2
type_line "resume"
expect "resumed" "resume finds it"
type_line "predict out=toy.csv"
expect "toy.csv" "its fit predicts"
type_line "sessions"
expect "1 run" "and it is listed"
leave 0 "quit again"
done_testing
