#!/bin/sh
# Kernels whose features are learned: split 0, seed 7, `tune`, `fit`, `score`, then `calibrate
# rows=1000`, which learns anew without these rows, and `score` again.
# Usage: tests/bench/learned.sh [DATA...]; bike and protein by default (bike without x16 and x17,
# which add up to its target, sgemm without run1 to run4, whose mean is its target, as a logarithm);
# letter, eeg, htru2 and mnist10k are classes (likelihood dirichlet).
# KERNEL: mlp by default; TUNE, FIT: further arguments of tune and fit; LABEL: what the table calls
# them.  One JSON line for each finished job is kept in $OUT (learned.jsonl), which is read back: a
# job runs once.  tests/bench/learned.sh all runs every line of learned.md (an hour of a core),
# tests/bench/learned.sh table prints the table, with published figures beside.
set -u
gpdesk=${GPDESK:-build/gpdesk}
shared=${GPDESK_SHARED:-${top_srcdir:-.}/../shared}
out=${OUT:-learned.jsonl}
kernel=${KERNEL:-mlp}
tune=${TUNE:-}
fit=${FIT:-}
label=${LABEL:-$kernel${tune:+, $tune}${fit:+, $fit}}
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
    for kind in numbers classes; do
        awk -v kind=$kind '
        function field(name,   s) {
            if (!match($0, "\"" name "\":")) return ""
            s = substr($0, RSTART + RLENGTH)
            if (!sub(/^"/, "", s)) sub(/[,}].*/, "", s)
            sub(/".*/, "", s)
            return s
        }
        # What was scored, then what was scored after calibration where that was done.
        function figures(way,   i, v, text) {
            for (i = 1; i <= n; i++) {
                v = field(way name[i])
                v = v == "" ? "" : name[i] == "rmse" ? v ^ 2 : name[i] == "accuracy" ? 1 - v : v
                text = text " | " (v == "" ? "" : sprintf(format[i], v))
                if (i == 1 && way == "")
                    text = text " | " published[field("data") " " field("label")]
                if (way != "" && i == 3)
                    break
            }
            return text
        }
        BEGIN {
            published["bike mlp"] = "0.047"
            published["bike mlp(out=8) * mlp(out=8)"] = "0.046"
            published["protein mlp"] = "0.377"
            published["protein mlp(out=8) * mlp(out=8)"] = "0.384"
            published["letter mlp"] = "0.027"
            published["eeg mlp"] = "0.037"
            published["mnist10k cnn"] = "0.008 *"
            split("%.4f %.3f %.3f %.4f", format, " ")
            if (kind == "numbers") {
                n = split("rmse nlpd coverage95", name, " ")
                print "| data | map | MSE | published | NLPD | inside 95 % | calibrated: MSE" \
                    " | NLPD | inside 95 % | tune, s of a core |"
                print "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
            } else {
                n = split("accuracy log_loss ece brier", name, " ")
                print "| data | map | error | published | log loss | ECE | Brier" \
                    " | calibrated: error | log loss | ECE | tune, s of a core |"
                print "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---:" \
                    " | ---: |"
            }
        }
        /"log_loss"/ == (kind == "classes") {
            printf "| %s | %s%s%s | %.0f |\n", field("data"), field("label"), figures(""),
                figures("calibrated_"), field("tune_seconds")
        }' "$out"
    done
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

data_of() {
    echo "open $shared/data/$1/data.csv.gz target=y; \
split file=$shared/data/$1/splits.csv.gz column=split0"
    case $1 in
    bike) echo '; cols x16,x17 role=skip' ;;
    sgemm) echo '; cols run1,run2,run3,run4 role=skip' ;;
    esac
}
value() { # COMMAND FIELD NUMBER
    grep "\"command\":\"$1\"" "$work/out" | sed -n "$3p" |
        sed -n "s/.*\"$2\":\([-+0-9.eE]*\)[,}].*/\1/p"
}

# DATA LIKELIHOOD NAME:FIELD...: a line of this data with these fields of score; of the first three
# also those after calibration.
job() {
    data=$1
    likelihood=$2
    shift 2
    grep -q "\"data\":\"$data\",\"label\":\"$label\"" "$out" && return 0
    "$gpdesk" --no-config --format json --threads "${THREADS:-1}" --seed "${SEED:-7}" \
        -e "$(data_of "$data")$likelihood" -e "kernel $kernel; time tune $tune" \
        -e "fit $fit; score baseline=no" -e 'calibrate rows=1000; score baseline=no' \
        >"$work/out" 2>"$work/err" ||
        { echo "$data: exit status $?"; grep '"error"' "$work/out" "$work/err"; return 1; }
    before=
    after=
    for f in "$@"; do
        before="$before\"${f%:*}\":$(value score "${f#*:}" 1),"
        [ "$f" = brier:brier ] ||
            after="$after\"calibrated_${f%:*}\":$(value score "${f#*:}" 2),"
    done
    echo "{\"data\":\"$data\",\"label\":\"$label\",$before$after\"tune_seconds\":$(value time \
        processor_seconds 1)}" | tee -a "$out"
}

[ $# -gt 0 ] || set -- bike protein
for d in "$@"; do
    case $d in
    letter | eeg | htru2 | mnist10k)
        job "$d" '; likelihood dirichlet' accuracy:accuracy log_loss:log_loss ece:ece brier:brier
        ;;
    *) job "$d" '' rmse:rmse_scaled nlpd:nlpd_scaled coverage95:coverage95 ;;
    esac
done
