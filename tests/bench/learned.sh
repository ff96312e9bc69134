#!/bin/sh
# Kernels whose features are learned: split 0, seed 7, `tune`, `fit`, `score`, then `calibrate
# rows=1000`, which learns anew without these rows, and `score` again.
# Usage: tests/bench/learned.sh [DATA...]; bike and protein by default (bike without x16 and x17,
# which add up to its target); letter, eeg, htru2 and mnist10k are classes (likelihood dirichlet).
# KERNEL: mlp by default; TUNE: further arguments of tune; LABEL: what the table calls them.  One
# JSON line for each finished job is kept in $OUT (learned.jsonl), which is read back: a job runs
# once.  tests/bench/learned.sh all runs every line of learned.md (an hour of a core),
# tests/bench/learned.sh table prints the table, with published figures beside.
set -u
gpdesk=${GPDESK:-build/gpdesk}
shared=${GPDESK_SHARED:-${top_srcdir:-.}/../shared}
out=${OUT:-learned.jsonl}
kernel=${KERNEL:-mlp}
tune=${TUNE:-}
label=${LABEL:-$kernel${tune:+, $tune}}
touch "$out"

if [ "${1:-}" = all ]; then
    KERNEL=mlp "$0" bike protein letter eeg
    KERNEL=cnn "$0" mnist10k
    for k in mlp 'mlp + rbf' 'mlp(out=8) * mlp(out=8)' 'mlp(rbf,out=4)' 'mlp(norm=batch)'; do
        KERNEL=$k "$0" pol kin40k keggundirected sgemm
    done
    exit 0
fi
if [ "${1:-}" = table ]; then
    grep '"log_loss"' "$out" | awk '
    function field(name,   s) {
        s = $0
        if (!sub(".*\"" name "\":\"?", "", s)) return ""
        sub(/[",}].*/, "", s)
        return s
    }
    BEGIN {
        paper["letter mlp"] = "0.027"
        paper["eeg mlp"] = "0.037"
        paper["mnist10k cnn"] = "0.008 *"
        print "| data | map | error | published | log loss | ECE | Brier | calibrated: error |" \
            " log loss | ECE | tune, s of a core |"
        print "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    }
    {
        printf "| %s | %s | %.4f | %s | %.3f | %.3f | %.4f ", field("data"), field("label"), \
            1 - field("accuracy"), paper[field("data") " " field("label")], \
            field("log_loss"), field("ece"), field("brier")
        if (field("calibrated_accuracy") == "")
            printf "| | | "
        else
            printf "| %.4f | %.3f | %.3f ", 1 - field("calibrated_accuracy"), \
                field("calibrated_log_loss"), field("calibrated_ece")
        printf "| %.0f |\n", field("tune_seconds")
    }'
    grep -v '"log_loss"' "$out" >"$out.numbers"
    awk '
    function field(name,   s) {
        s = $0
        if (!sub(".*\"" name "\":\"?", "", s)) return ""
        sub(/[",}].*/, "", s)
        return s
    }
    BEGIN {
        paper["bike mlp"] = "0.047"
        paper["bike mlp(out=8) * mlp(out=8)"] = "0.046"
        paper["protein mlp"] = "0.377"
        paper["protein mlp(out=8) * mlp(out=8)"] = "0.384"
        print "| data | map | MSE | published | NLPD | inside 95 % | calibrated: MSE | NLPD |" \
            " inside 95 % | tune, s of a core |"
        print "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    }
    {
        label = $0; sub(/.*"label":"/, "", label); sub(/","rmse.*/, "", label)
        printf "| %s | %s | %.4f | %s | %.3f | %.3f | %.4f | %.3f | %.3f | %.0f |\n", \
            field("data"), label, field("rmse") ^ 2, paper[field("data") " " label], \
            field("nlpd"), field("coverage95"), \
            field("calibrated_rmse") ^ 2, field("calibrated_nlpd"), \
            field("calibrated_coverage95"), field("tune_seconds")
    }' "$out.numbers"
    rm -f "$out.numbers"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

data_of() {
    echo "open $shared/data/$1/data.csv.gz target=y; \
split file=$shared/data/$1/splits.csv.gz column=split0"
    [ "$1" != bike ] || echo '; cols x16,x17 role=skip'
}
value() { # COMMAND FIELD NUMBER
    grep "\"command\":\"$1\"" "$work/out" | sed -n "$3p" |
        sed -n "s/.*\"$2\":\([-+0-9.eE]*\)[,}].*/\1/p"
}

job() { # DATA
    grep -q "\"data\":\"$1\",\"label\":\"$label\"" "$out" && return 0
    "$gpdesk" --no-config --format json --threads "${THREADS:-1}" --seed "${SEED:-7}" \
        -e "$(data_of "$1")" -e "kernel $kernel; time tune $tune" -e 'fit; score baseline=no' \
        -e 'calibrate rows=1000; score baseline=no' >"$work/out" 2>"$work/err" ||
        { echo "$1: exit status $?"; grep '"error"' "$work/out" "$work/err"; return 1; }
    printf '{"data":"%s","label":"%s","rmse":%s,"nlpd":%s,"coverage95":%s,"calibrated_rmse":%s,"calibrated_nlpd":%s,"calibrated_coverage95":%s,"tune_seconds":%s}\n' \
        "$1" "$label" "$(value score rmse_scaled 1)" "$(value score nlpd_scaled 1)" \
        "$(value score coverage95 1)" "$(value score rmse_scaled 2)" \
        "$(value score nlpd_scaled 2)" "$(value score coverage95 2)" \
        "$(value time processor_seconds 1)" | tee -a "$out"
}

classes() { # DATA
    grep -q "\"data\":\"$1\",\"label\":\"$label\"" "$out" && return 0
    "$gpdesk" --no-config --format json --threads "${THREADS:-1}" --seed "${SEED:-7}" \
        -e "$(data_of "$1")" -e "likelihood dirichlet; kernel $kernel; time tune $tune" \
        -e 'fit; score; calibrate rows=1000; score' >"$work/out" 2>"$work/err" ||
        { echo "$1: exit status $?"; grep '"error"' "$work/out" "$work/err"; return 1; }
    printf '{"data":"%s","label":"%s","accuracy":%s,"log_loss":%s,"ece":%s,"brier":%s,"calibrated_accuracy":%s,"calibrated_log_loss":%s,"calibrated_ece":%s,"tune_seconds":%s}\n' \
        "$1" "$label" "$(value score accuracy 1)" "$(value score log_loss 1)" \
        "$(value score ece 1)" "$(value score brier 1)" "$(value score accuracy 2)" \
        "$(value score log_loss 2)" "$(value score ece 2)" \
        "$(value time processor_seconds 1)" | tee -a "$out"
}

[ $# -gt 0 ] || set -- bike protein
for d in "$@"; do
    case $d in
    letter | eeg | htru2 | mnist10k) classes "$d" ;;
    *) job "$d" ;;
    esac
done
