#!/bin/sh
# tests/scripts/ranks/mpi.sh -- processes that mpirun starts are one rank: results have the bits of
# one process, and what is missing is told with what to do.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"
. "$src/tests/scripts/ranks/long.sh"

work='open rows.csv target=y; split test=8% seed=2; tune features=128 rows=8200 evals=6'
work="$work; fit features=128 solver=svrg maxit=10; predict columns=row,mean out=svrg.csv
fit features=256 solver=direct; predict columns=row,mean,sd out=direct.csv
tune nmll=approx features=256 evals=3 rows=8200; pca out=pca.csv
fit features=256 solver=pcg rtol=1e-6 plan=regenerate; score; predict columns=row,mean,sd out"
# What has to be the same, of the records and in files that each run writes anew.
bits() {
    rm -f "$1.bits"
    cat svrg.csv direct.csv pca.csv "$2" >"$1.bits"
    grep '"type":"result"' .out |
        grep -o '"\(nmll\|rmse\|mean_z2\|residual\|iterations\|noise\|share\)":[^]}]*' |
        sed 's/"seconds":{.*//; s/"[a-z_]*seconds[a-z_]*":[-+0-9.e]*//g' >>"$1.bits"
    rm -f svrg.csv direct.csv pca.csv
}
run --accept-unconverged --format json -e "$work=one.csv"
is "one process" $rc 0
bits one one.csv
mkdir empty
env PATH="$dir/empty" "$gpdesk" --hosts mpi:2 -e "$work=none.csv" >said 2>&1 </dev/null
has "without mpirun the work is done here" "$(cat said)" 'warning\[ranks\].*mpirun cannot be started'
ok "with the same bits" cmp one.csv none.csv
if ! mpirun --version >/dev/null 2>&1 || ! test -f "$(dirname "$gpdesk")/libgpdesk-mpi.so"; then
    echo "ok $((n += 1)) - MPI is not here: # SKIP no mpirun, or no module for it was built"
    finish
fi
if test "$(id -u)" -eq 0; then
    run --hosts mpi:2 -e "$work=root.csv"
    has "mpirun refuses root, which is told" "$out$err" 'warning\[ranks\].*refuses to run as root'
    has "with what has the same bits" "$out$err" 'set hosts=localhost:2'
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
fi
unset OMPI_MCA_rmaps_base_oversubscribe SLURM_NTASKS PBS_NODEFILE
if test "$(nproc)" -lt 4; then
    run --hosts mpi:4 -e "$work=slots.csv"
    has "too few slots are told" "$out$err" "warning\\[ranks\\].*4 processes.*as $(nproc) slot"
    has "with as many as there are" "$out$err" "set hosts=mpi:$(nproc)"
    ok "and the work is done" cmp one.csv slots.csv
fi
OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_rmaps_base_oversubscribe
for count in 1 2 4; do # of two threads each, or one
    threads=$((count < 4 ? 2 * count : count))
    run --accept-unconverged --format json --hosts mpi:$count --threads $threads \
        -e "$work=$count.csv"
    is "$count processes" $rc 0
    bits $count $count.csv
    ok "have the same bits" cmp one.bits $count.bits
    has "and are told" "$out" "\"command\":\"fit\".*\"processes\":$count"
done
# Eight, which on few cores take long to meet.
few='open rows.csv target=y; split test=8% seed=2; set l=0.7; fit features=128 solver=direct'
few="$few; predict columns=row,mean,sd out"
run -e "$few=few.csv"
run --format json --hosts mpi:8 --threads 8 -e "$few=8.csv"
ok "8 processes have the same bits" cmp few.csv 8.csv
has "and are told" "$out" '"command":"fit".*"processes":8'
# They end with the program.
"$gpdesk" --hosts mpi:2 --threads 2 -e "$work=again.csv" >said 2>&1 </dev/null
ok "none is left of a program that has ended" sh -c '! pgrep -P 1 -f "^$1 --rank" >&2' sh "$gpdesk"
# A process, mpirun or, while the first is stopped and sees nothing of it, the front end is killed:
# the front end, if it is there, goes on alone, and nobody is left, nor files in which the processes
# of a machine met.
run --accept-unconverged -e "$fit=long.csv"
for who in first other mpirun front; do
    "$gpdesk" --accept-unconverged --hosts mpi:2 --threads 2 -e "$fit=$who.csv" >said 2>&1 \
        </dev/null &
    front=$!
    await 'test "$(children_of $front | wc -w)" -eq 1'
    mpirun=$(children_of $front | tr -d ' ')
    await 'test "$(children_of $mpirun | wc -w)" -eq 2'
    ranks=$(children_of "$mpirun")
    first=$(echo $ranks | cut -d' ' -f1)
    await 'test "$(work_of $first)" -ge 20'
    named=$(cat /proc/$first/maps | grep '/[a-z]*_segment\.' | grep -v '(deleted)')
    case $who in
    first) kill -9 "$first" ;;
    other) kill -9 "$(echo $ranks | cut -d' ' -f2)" ;;
    mpirun) kill -9 "$mpirun" ;;
    front) kill -STOP "$first" && kill -9 $front ;;
    esac
    wait $front 2>/dev/null
    status=$?
    if test $who != front; then
        is "$who is killed" $status 0
        ok "nothing changes" cmp long.csv $who.csv
    fi
    left=
    for p in $mpirun $ranks; do await "gone $p" || left="$left $p"; done
    is "$who is killed: nobody is left" "$left" ''
    is "$who is killed: nor a file of shared memory" "$named" ''
done
finish
