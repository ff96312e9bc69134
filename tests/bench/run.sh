#!/bin/sh
# tests/bench/run.sh -- the benchmarks that `make bench` runs: a table for people (bench.txt), the
# same rows for programs (bench.json) and the machine they ran on (machine.json), in $1 or
# build/bench.
# From make: top_builddir, GPDESK_VERSION, GPDESK_CC.  README.md here says how to read them.
set -eu
programs=${top_builddir:-build}/tests/bench
out=${1:-${top_builddir:-build}/bench}
export OPENBLAS_NUM_THREADS=1
mkdir -p "$out"
rm -f "$out/rows" "$out/failed"
GPDESK_BENCH_ROWS=$out/rows
export GPDESK_BENCH_ROWS
part() {
    echo
    echo "== $1"
    shift
    "$@" || { echo "$1: exit status $?"; : > "$out/failed"; }
}
{
    part "the machine" "$programs/bench_machine" "$out/machine.json" "${GPDESK_VERSION:-unknown}" \
        "${GPDESK_CC:-unknown}"
    part "inner loops and passes" "$programs/bench_compute"
    part "windows of sequences" "$programs/bench_windows"
    part "dense algebra" "$programs/bench_solve" dense 1024 2048
    part "memory of fits" "$programs/bench_memory"
    part "exact GP" "$programs/bench_solve" exact 4000
    part "products with exact kernels" "$programs/bench_products"
    part "inducing points" "$programs/bench_inducing"
    part "maps that learn" "$programs/bench_learn"
    part "schedules on many cores" "$programs/bench_scaling" --small
    echo
    echo "* a published figure, measured elsewhere; everything else is of this run"
} | tee "$out/bench.txt"
{
    printf '{"v":1,\n"machine":'
    cat "$out/machine.json"
    printf ',"rows":[\n'
    sed '$!s/$/,/' "$out/rows"
    printf ']}\n'
} > "$out/bench.json"
rm -f "$out/rows"
awk '/"reached":true/ { yes++ } /"reached":false/ { no++ } END {
    printf "\n%d floors reached, %d missed\n", yes, no }' "$out/bench.json" | tee -a \
        "$out/bench.txt"
echo "table:   $out/bench.txt"
echo "rows:    $out/bench.json"
echo "machine: $out/machine.json"
[ ! -e "$out/failed" ] || { rm -f "$out/failed"; exit 1; }
