#!/bin/sh
# Nearest rows beside random features and the exact kernel: split 0, seed 7, the hyperparameters of
# one `tune solver=nn` (exact likelihood of 2,000 rows), then each way of fitting and `score`.
# Usage: tests/bench/nn.sh [DATA...]; protein, kin40k, bike and gb1 by default (bike without x16 and
# x17, which add up to its target).  WAYS, THREADS: see below.  One JSON line for each finished job
# is kept in $OUT (nn.jsonl), which is read back: a job runs once.  tests/bench/nn.sh table prints
# the table from it.
set -u
gpdesk=${GPDESK:-build/gpdesk}
shared=${GPDESK_SHARED:-${top_srcdir:-.}/../shared}
out=${OUT:-nn.jsonl}
ways=${WAYS:-nn(neighbours=400) features sdd}
limit=${LIMIT:-300}
touch "$out"

if [ "${1:-}" = table ]; then
    awk '
    function field(name,   s) {
        s = $0
        if (!sub(".*\"" name "\":\"?", "", s)) return ""
        sub(/[",}].*/, "", s)
        return s
    }
    BEGIN {
        print "| data | model | MSE | NLPD | inside 95 % | fit, s of a core | score, s |"
        print "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    }
    {
        way = $0; sub(/.*"way":"/, "", way); sub(/".*/, "", way)
        inside = "- | -"
        if (field("nlpd") != "null")
            inside = sprintf("%.3f | %.3f", field("nlpd"), field("coverage95"))
        printf "| %s | %s | %.4f | %s | %.0f | %.0f |\n", field("data"), way, field("rmse") ^ 2, \
            inside, field("fit_seconds"), field("score_seconds")
    }' "$out"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

data_of() {
    case $1 in
    gb1) echo "open $shared/data/gb1/data.csv.gz target=target; split column=three_vs_rest" ;;
    *) echo "open $shared/data/$1/data.csv.gz target=y; \
split file=$shared/data/$1/splits.csv.gz column=split0" ;;
    esac
    [ "$1" != bike ] || echo '; cols x16,x17 role=skip'
}
kernel_of() {
    case $1 in gb1) echo rbf ;; *) echo 'matern(nu=3/2,ard)' ;; esac
}
line_of() {
    case $1 in
    features) echo 'fit features=8192 variance=4096' ;;
    sdd) echo 'fit model=exact solver=sdd variance=none' ;;
    *) echo "fit solver=$1" ;;
    esac
}
value() { # COMMAND FIELD NUMBER
    grep "\"command\":\"$1\"" "$work/out" | sed -n "$3p" |
        sed -n "s/.*\"$2\":\([-+0-9.eE]*\)[,}].*/\1/p"
}
g() {
    timeout "$limit" "$gpdesk" --no-config --format json --threads "${THREADS:-1}" \
        --seed "${SEED:-7}" -s "$work/s.gpd" "$@" >"$work/out" 2>"$work/err"
}

for d in ${*:-protein kin40k bike gb1}; do
    rm -f "$work/s.gpd"
    for way in $ways; do
        grep -Fq "\"data\":\"$d\",\"way\":\"$way\"" "$out" && continue
        test -f "$work/s.gpd" || g -e "$(data_of "$d")" -e "kernel $(kernel_of "$d")" \
            -e 'tune solver=nn evals=60' || { echo "$d: tune: exit status $?"; continue; }
        g -e "time $(line_of "$way"); time score baseline=no" || [ $? -eq 3 ] || # 3: at maxit=
            { echo "$d $way: failed"; grep '"error"' "$work/out" "$work/err"; continue; }
        grep -q '"command":"score"' "$work/out" || { echo "$d $way: no time"; continue; }
        printf '{"data":"%s","way":"%s","rmse":%s,"nlpd":%s,"coverage95":%s,"fit_seconds":%s,"score_seconds":%s}\n' \
            "$d" "$way" "$(value score rmse_scaled 1)" "$(value score nlpd_scaled 1)" \
            "$(value score coverage95 1)" "$(value time processor_seconds 1)" \
            "$(value time processor_seconds 2)" | sed 's/:,/:null,/g' | tee -a "$out"
    done
done
