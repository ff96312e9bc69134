#!/bin/sh
# Accuracy on sequences: a kernel by position or over windows, tuned, fitted and scored on the test rows.
# Usage: tests/bench/sequences.sh [JOB...]; all of the table below by default, once for each of $SEEDS
# ("1 2 3").  One JSON line for each finished job is kept in $OUT (sequences.jsonl): a job runs once.
set -u
gpdesk=${GPDESK:-build/gpdesk}
shared=${GPDESK_SHARED:-${top_srcdir:-.}/../shared}
out=${OUT:-sequences.jsonl}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
touch "$out"

field() { sed -n "s/.*\"command\":\"$1\".*\"$2\":\([-+0-9.eE]*\)[,}].*/\1/p" "$work/out" | tail -n 1; }

# gb1: the rows kept for validation train too, as in the published splits.
gb1_mask() {
    { echo mask; gzip -dc "$shared/data/gb1/data.csv.gz" | tail -n +2 | awk -F, '{ print $3 == "test" ? 1 : 0 }'; } \
        >"$work/mask.csv"
}

table='gb1-rbf;gb1;target;split file=MASK column=mask;rbf;2048;8192 rescale=no
fluorescence-conv;fluorescence;target;split column=split;conv(rbf,width=9);2048;8192
fluorescence-sum;fluorescence;target;split column=split;conv(rbf,width=9) + linear;4096 evals=14;8192
fluorescence-fastconv;fluorescence;target;split column=split;fastconv(rbf,width=9,filters=512);2048;8192
aav28-two-conv;aav28;target;split column=two_vs_many;conv(rbf,width=9);1024;4096
aav28-two-rbf;aav28;target;split column=two_vs_many;rbf;1024;4096
aav28-random-conv;aav28;target;split column=random;conv(rbf,width=9);1024;4096
aav28-random-rbf;aav28;target;split column=random;rbf;1024;4096
pab1-rbf;pab1;target;split column=split;rbf;1024;4096
pab1-conv;pab1;target;split column=split;conv(rbf,width=9);1024;4096
stability-random-conv;stability_ssm2;target;split column=random;conv(rbf,width=9);1024;4096
stability-design-conv;stability_ssm2;target;split column=by_design;conv(rbf,width=9);1024;4096
splice-rbf;splice;splice_site;split file=SPLITS column=split0;rbf;1024;4096
splice-conv;splice;splice_site;split file=SPLITS column=split0;conv(rbf,width=9);1024;4096
pbm8mer-conv;pbm8mer;e_score;split column=split;conv(rbf,width=5);1024;4096
dream5-conv;dream5_cebpb;signal;scale y=log; split column=split;conv(rbf,width=7);1024;4096'

job() { # NAME SEED
    grep -q "\"job\":\"$1\",\"seed\":$2," "$out" && return 0
    line=$(printf '%s\n' "$table" | grep "^$1;") || { echo "$1: no such job"; return 1; }
    data=$(printf '%s' "$line" | cut -d';' -f2)
    target=$(printf '%s' "$line" | cut -d';' -f3)
    file=$shared/data/$data/data.csv.gz
    [ -r "$file" ] || { echo "$1: skipped, $file is not here"; return 0; }
    rest=$(printf '%s' "$line" | cut -d';' -f4- | sed "s#MASK#$work/mask.csv#; s#SPLITS#$shared/data/$data/splits.csv.gz#")
    fit=$(printf '%s' "$rest" | awk -F';' '{ print $NF }')
    tune=$(printf '%s' "$rest" | awk -F';' '{ print $(NF - 1) }')
    kernel=$(printf '%s' "$rest" | awk -F';' '{ print $(NF - 2) }')
    how=$(printf '%s' "$rest" | awk -F';' '{ s = $1; for (i = 2; i < NF - 2; i++) s = s ";" $i; print s }')
    [ "$data" = gb1 ] && gb1_mask
    start=$(date +%s)
    "$gpdesk" --no-config --format json --threads "${THREADS:-2}" --seed "$2" -e "open $file target=$target" \
        -e "$how" -e "kernel $kernel" -e "tune features=$tune" -e "fit features=$fit" -e score >"$work/out" 2>"$work/err" ||
        { echo "$1: exit status $?"; grep '"error"' "$work/out"; cat "$work/err"; return 1; }
    printf '{"job":"%s","seed":%s,"spearman":%s,"rmse_scaled":%s,"coverage95":%s,"job_seconds":%s}\n' "$1" "$2" \
        "$(field score spearman)" "$(field score rmse_scaled)" "$(field score coverage95)" $(($(date +%s) - start)) |
        tee -a "$out"
}

[ $# -gt 0 ] || set -- $(printf '%s\n' "$table" | cut -d';' -f1)
for s in ${SEEDS:-1 2 3}; do
    for j in "$@"; do job "$j" "$s"; done
done
