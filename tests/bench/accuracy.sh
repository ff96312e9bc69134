#!/bin/sh
# Accuracy with one lengthscale for each input: Matern 3/2, tuned on at most 10,000 rows and 2048
# features (the last evaluations see all rows), fitted with 8192, beside published exact GPs.
# Usage: tests/bench/accuracy.sh [DATA:SPLIT...]; all of the table by default.  One JSON line for
# each finished job is kept in $OUT (accuracy.jsonl), which is read back: a job runs once.
set -u
gpdesk=${GPDESK:-build/gpdesk}
shared=${GPDESK_SHARED:-${top_srcdir:-.}/../shared}
out=${OUT:-accuracy.jsonl}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
touch "$out"

field() { sed -n "s/.*\"command\":\"$1\".*\"$2\":\([-+0-9.eE]*\)[,}].*/\1/p" "$work/out" | tail -n \
    1; }

job() { # DATA SPLIT
    grep -q "\"data\":\"$1\",\"split\":\"$2\"" "$out" && return 0
    [ -r "$shared/data/$1/data.csv.gz" ] || { echo "$1: skipped, $shared/data/$1 is not here"; \
        return 0; }
    start=$(date +%s)
    "$gpdesk" --no-config --format json --threads "${THREADS:-2}" --seed "${SEED:-7}" \
        -e "open $shared/data/$1/data.csv.gz target=y" \
        -e "split file=$shared/data/$1/splits.csv.gz column=$2" -e 'kernel matern(nu=3/2,ard)' \
        -e 'tune features=2048 rows=10000' -e 'fit features=8192' -e 'score' >"$work/out" \
        2>"$work/err" ||
        { echo "$1 $2: exit status $?"; grep '"error"' "$work/out"; cat "$work/err"; return 1; }
    printf '{"data":"%s","split":"%s","rmse_scaled":%s,"nlpd_scaled":%s,"coverage95":%s,"tune_seconds":%s,"job_seconds":%s,"effective_dimension":%s}\n' \
        "$1" "$2" "$(field score rmse_scaled)" "$(field score nlpd_scaled)" \
        "$(field score coverage95)" \
        "$(field tune seconds)" $(($(date +%s) - start)) "$(field fit effective_dimension)" | tee \
        -a "$out"
}

if [ $# -eq 0 ]; then
    set -- pol:split0 bike:split0 pumadyn32nm:split0 kin40k:split0 protein:split0 \
        keggundirected:split0
    for d in sml wine pumadyn32nm concrete; do
        for s in 0 1 2 3 4; do set -- "$@" $d:split$s; done
    done
fi
for j in "$@"; do job "${j%%:*}" "${j##*:}"; done
