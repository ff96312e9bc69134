#!/bin/sh
# tests/bench/onecore.sh OLD NEW [ROUNDS] -- processor seconds of each job on one thread by two
# builds in turn: the least of ROUNDS (5), and their ratio.  Both take the same kernels of OpenBLAS.
#
# The commands of a job's row are made once by each build in each round, in one process; `time`
# says what each took.
set -eu
old=$1 new=$2 rounds=${3:-5}
[ -n "${OPENBLAS_CORETYPE:-}" ] || echo "OPENBLAS_CORETYPE is not set: builds may differ in it" >&2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# build who n M -> lines "who job n M seconds"
job()
{
    OPENBLAS_NUM_THREADS=1 "$1" --no-config --format json --threads 1 --seed 7 \
        -e "demo friedman1 n=$3 seed=3; kernel rbf; set hp l=2 noise=0.3 amplitude=1" \
        -e "time fit features=$4 solver=pcg rank=64 plan=store; time score on=train" \
        -e "time fit features=$4 solver=pcg rank=64 plan=regenerate" \
        -e "time fit features=$4 solver=direct; time score on=train; time pca features=$4" \
        -e "time tune features=$4 evals=3 polish=no rows=$3" \
        -e "time tune features=$4 evals=2 nmll=approx polish=no rows=$3" 2>"$dir/errors" |
        awk -v who="$2" -v n="$3" -v M="$4" '
            BEGIN { split("stored mean made direct variance pca tune slq", name, " ") }
            /"type":"error"/ { print > "/dev/stderr" }
            /"command":"time"/ && match($0, /"processor_seconds":[0-9.e+-]+/) {
                print who, name[++k], n, M, substr($0, RSTART + 20, RLENGTH - 20) }'
}
exact()
{
    OPENBLAS_NUM_THREADS=1 "$1" --no-config --format json --threads 1 --seed 7 \
        -e "demo friedman1 n=$3 seed=3; kernel rbf; set hp l=2 noise=0.3 amplitude=1" \
        -e "time fit solver=exact" 2>"$dir/errors" |
        awk -v who="$2" -v n="$3" '
            /"command":"time"/ && match($0, /"processor_seconds":[0-9.e+-]+/) {
                print who, "exact", n, n, substr($0, RSTART + 20, RLENGTH - 20) }'
}
i=0
while [ "$i" -lt "$rounds" ]; do
    for at in "10000 512" "100000 512" "20000 2048"; do
        # shellcheck disable=SC2086
        { job "$old" old $at; job "$new" new $at; } >>"$dir/all"
    done
    { exact "$old" old 1000; exact "$new" new 1000; exact "$old" old 3000
      exact "$new" new 3000; } >>"$dir/all"
    i=$((i + 1))
done
awk '
    {
        row = $2 " " $3 " " $4
        key = $1 " " row
        if (!(row in seen))
            order[++rows] = row
        seen[row] = 1
        if (!(key in least) || $5 < least[key])
            least[key] = $5
    }
    END {
        printf "%-10s %9s %6s %12s %12s %8s\n", "job", "n", "M", "old, s", "new, s", "new/old"
        for (i = 1; i <= rows; i++) {
            split(order[i], p, " ")
            printf "%-10s %9d %6d %12.4f %12.4f %8.2f\n", p[1], p[2], p[3],
                least["old " order[i]], least["new " order[i]],
                least["new " order[i]] / least["old " order[i]]
        }
    }' "$dir/all"
