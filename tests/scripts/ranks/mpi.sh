#!/bin/sh
# tests/scripts/ranks/mpi.sh -- processes that mpirun starts are one rank: results have the bits of
# one process, and what is missing is told with what to do.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"
. "$src/tests/scripts/ranks/long.sh"

work='open rows.csv target=y; split test=10% seed=2; tune features=128 rows=6000'
work="$work; fit features=512 solver=pcg rtol=1e-6 plan=regenerate; predict columns=row,mean,sd out"
run -e "$work=one.csv"
is "one process" $rc 0
mkdir empty
env PATH="$dir/empty" "$gpdesk" --hosts mpi:2 -e "$work=none.csv" >said 2>&1 </dev/null
has "without mpirun the work is done here" "$(cat said)" 'warning\[ranks\].*mpirun cannot be started'
ok "with the same bits" cmp one.csv none.csv
if ! mpirun --version >/dev/null 2>&1 || ! test -f "$(dirname "$gpdesk")/libgpdesk-mpi.so"; then
    echo "ok $((n += 1)) - MPI is not here: # SKIP no mpirun, or no module for it was built"
    finish
fi
OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_rmaps_base_oversubscribe
if test "$(id -u)" -eq 0; then
    run --hosts mpi:2 -e "$work=root.csv"
    has "mpirun refuses root, which is told" "$out$err" 'warning\[ranks\]'
    has "with what has to work" "$out$err" 'mpirun -np 2 gpdesk --version'
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
fi
for count in 2 3 4; do
    run --format json --hosts mpi:$count --threads $count -e "$work=$count.csv"
    is "$count processes" $rc 0
    ok "have the same bits" cmp one.csv $count.csv
    has "and are told" "$out" "\"command\":\"fit\".*\"processes\":$count"
done
# They end with the program.
"$gpdesk" --hosts mpi:2 --threads 2 -e "$work=again.csv" >said 2>&1 </dev/null
ok "none is left of a program that has ended" sh -c '! pgrep -P 1 -f "^$1 --rank" >&2' sh "$gpdesk"
# The first process is killed, mpirun is killed: the front end goes on alone, and nobody is left.
run --accept-unconverged -e "$fit=long.csv"
for who in first mpirun; do
    "$gpdesk" --accept-unconverged --hosts mpi:2 --threads 2 -e "$fit=$who.csv" >said 2>&1 \
        </dev/null &
    front=$!
    await 'test "$(children_of $front | wc -w)" -eq 1'
    mpirun=$(children_of $front | tr -d ' ')
    await 'test "$(children_of $mpirun | wc -w)" -eq 2'
    ranks=$(children_of "$mpirun")
    first=$(echo $ranks | cut -d' ' -f1)
    await 'test "$(work_of $first)" -ge 20'
    if test $who = first; then kill -9 "$first"; else kill -9 "$mpirun"; fi
    wait $front
    is "$who is killed" $? 0
    ok "nothing changes" cmp long.csv $who.csv
    left=
    for p in $mpirun $ranks; do await "gone $p" || left="$left $p"; done
    is "nobody is left" "$left" ''
done
finish
