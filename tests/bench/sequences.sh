#!/bin/sh
# Accuracy on sequences and graphs: a kernel tuned by its likelihood, fitted, and scored on the test
#   tests/bench/sequences.sh [JOB...]        every row of the table below, once for each of $SEEDS
# rows.
#       ("1 2 3")
#   tests/bench/sequences.sh table           what is known so far as a table: mean and standard
#       error
# One JSON line for each finished row is kept in $OUT (sequences.jsonl), with what `check` found: a
# row that stands there is not run again, so that an interrupted table goes on where it was.  The
# seed is that of the features; splits are those of the data, graphs and splice take the split of
# the seed's number.
set -u
gpdesk=${GPDESK:-build/gpdesk}
shared=${GPDESK_SHARED:-${top_srcdir:-.}/../shared}
out=${OUT:-sequences.jsonl}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
touch "$out"

# job ; data ; how it is opened ; split and settings, "|" between commands ; kernel ; tune features=
# ; fit features=
rows='gb1-rbf;gb1;target=target;split file=MASK column=mask;rbf;2048;8192
gb1-linear;gb1;target=target;split file=MASK column=mask;linear;1024;1024
fluorescence-conv;fluorescence;target=target;split column=split;conv(rbf,width=9);2048;8192
fluorescence-conv-linear;fluorescence;target=target;split column=split;conv(rbf,width=9) + linear;4096 evals=14;8192
fluorescence-conv-rbf;fluorescence;target=target;split column=split;conv(rbf,width=9) + rbf;2048 evals=14;8192
fluorescence-fastconv;fluorescence;target=target;split column=split;fastconv(rbf,width=9,filters=512);2048;8192
fluorescence-fastconv-linear;fluorescence;target=target;split column=split;fastconv(rbf,width=9,filters=512) + linear;4096 evals=14;8192
fluorescence-linear;fluorescence;target=target;split column=split;linear;4096;4096
fluorescence-blosum;fluorescence;target=target;split column=split|cols sequence encoding=blosum62;conv(rbf,width=9);1024;8192
aav28-two-conv;aav28;target=target;split column=two_vs_many;conv(rbf,width=9);1024;4096
aav28-two-rbf;aav28;target=target;split column=two_vs_many;rbf;1024;4096
aav28-two-fastconv;aav28;target=target;split column=two_vs_many;fastconv(rbf,width=9,filters=512);1024;4096
aav28-two-conv-linear;aav28;target=target;split column=two_vs_many;conv(rbf,width=9) + linear;1024 evals=14;4096
aav28-two-rbf-linear;aav28;target=target;split column=two_vs_many;rbf + linear;1024 evals=14;4096
aav28-two-linear;aav28;target=target;split column=two_vs_many;linear;1024;1024
aav28-random-conv;aav28;target=target;split column=random;conv(rbf,width=9);1024;4096
aav28-random-rbf;aav28;target=target;split column=random;rbf;1024;4096
aav28-random-fastconv;aav28;target=target;split column=random;fastconv(rbf,width=9,filters=512);1024;4096
aav28-random-conv-linear;aav28;target=target;split column=random;conv(rbf,width=9) + linear;1024 evals=14;4096
aav28-random-rbf-linear;aav28;target=target;split column=random;rbf + linear;1024 evals=14;4096
aav28-random-linear;aav28;target=target;split column=random;linear;1024;1024
pab1-rbf;pab1;target=target;split column=split;rbf;2048;8192
pab1-conv;pab1;target=target;split column=split;conv(rbf,width=9);1024;4096
pab1-fastconv;pab1;target=target;split column=split;fastconv(rbf,width=9,filters=512);1024;4096
pab1-rbf-linear;pab1;target=target;split column=split;rbf + linear;2048 evals=14;8192
pab1-linear;pab1;target=target;split column=split;linear;2048;2048
stability-random-conv;stability_ssm2;target=target;split column=random;conv(rbf,width=9);1024;4096
stability-random-linear;stability_ssm2;target=target;split column=random;linear;1024;1024
stability-design-conv;stability_ssm2;target=target;split column=by_design;conv(rbf,width=9);1024;4096
stability-design-linear;stability_ssm2;target=target;split column=by_design;linear;1024;1024
splice-rbf;splice;target=splice_site;split file=SPLITS column=SPLIT;rbf;1024;4096
splice-conv;splice;target=splice_site;split file=SPLITS column=SPLIT;conv(rbf,width=9);1024;4096
splice-linear;splice;target=splice_site;split file=SPLITS column=SPLIT;linear;512;512
pbm8mer-conv;pbm8mer;target=e_score;split column=split;conv(rbf,width=5);1024;4096
pbm8mer-rbf;pbm8mer;target=e_score;split column=split;rbf;1024;4096
pbm8mer-words;pbm8mer;target=e_score;split column=split;spectrum(n=1..5,strands=both);692;692
pbm8mer-three;pbm8mer;target=e_score;split column=split;spectrum(n=3);64;64
dream5-words;dream5_cebpb;target=signal;scale y=log|split column=split;spectrum(n=6,strands=both);2080;2080
dream5-conv;dream5_cebpb;target=signal;scale y=log|split column=split;conv(rbf,width=7);1024;4096
proteins-graph;graph_proteins;target=y types=node_labels=sequence;cols n_nodes role=skip|split file=SPLITS column=SPLIT;graph(rbf);512;1024
proteins-pooled;POOLED graph_proteins;target=y;split file=SPLITS column=SPLIT;rbf;512;1024
enzymes-graph;graph_enzymes;target=y types=node_labels=sequence;cols n_nodes role=skip|split file=SPLITS column=SPLIT;graph(rbf);512;1024
enzymes-pooled;POOLED graph_enzymes;target=y;split file=SPLITS column=SPLIT;rbf;512;1024'

# gb1: the rows kept for validation train too, as in the published splits.
gb1_mask() {
    { echo mask; gzip -dc "$shared/data/gb1/data.csv.gz" | tail -n +2 | awk -F, \
        '{ print $3 == "test" ? 1 : 0 }'; } \
        >"$work/mask.csv"
}

# What a mean over nodes knows of a graph: how many there are, and the share of each label.
pooled() { # DATA
    gzip -dc "$shared/data/$1/data.csv.gz" | awk -F, \
        'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; print "y,nodes,a,b,c,d"; next }
        { n = split($at["node_labels"], l, " "); for (k = 0; k < 9; k++) c[k] = 0; for (i = 1; i <= n; i++) c[l[i]]++
          printf "%s,%d,%.6g,%.6g,%.6g,%.6g\n", $at["y"], n, c[0] / n, c[1] / n, c[2] / n, c[3] / n }' >"$work/pooled.csv"
}

field() { sed -n "s/.*\"command\":\"$1\".*\"$2\":\([-+0-9.eE]*\)[,}].*/\1/p" "$work/out" | tail -n \
    1; }
# What check found to be wrong, as one string.
findings() {
    grep '"command":"check"' "$work/out" | grep -o '"[a-z-]*":{"ok":false,"text":"[^"]*"' |
        sed 's/^"\([a-z-]*\)":{"ok":false,"text":"/\1: /; s/"$//' | awk \
            '{ printf "%s%s", (NR > 1 ? "; " : ""), $0 }'
}
# Processor seconds of all that this shell has started.
processor() {
    times >"$work/times"
    sed -n 's/m/ /g; s/s//g; 2p' "$work/times" | awk \
        '{ printf "%.0f", 60 * $1 + $2 + 60 * $3 + $4 }'
}

job() { # NAME SEED
    grep -q "\"job\":\"$1\",\"seed\":$2," "$out" && return 0
    line=$(printf '%s\n' "$rows" | grep "^$1;") || { echo "$1: no such job"; return 1; }
    IFS=';' read -r name data open how kernel tune fit <<EOF
$line
EOF
    file=$shared/data/${data#POOLED }/data.csv.gz
    [ -r "$file" ] || { echo "$1: skipped, $file is not here"; return 0; }
    [ "$data" = gb1 ] && gb1_mask
    case $data in POOLED*) data=${data#POOLED } && pooled "$data" && file=$work/pooled.csv ;; esac
    {
        printf 'open %s %s\n' "$file" "$open"
        printf '%s\n' "$how" | tr '|' '\n' |
            sed "s#MASK#$work/mask.csv#; s#SPLITS#$shared/data/$data/splits.csv.gz#; s#SPLIT#split$(($2 - 1))#"
        printf 'kernel %s\ntune features=%s\nfit features=%s\nscore\ncheck\n' "$kernel" "$tune" \
            "$fit"
    } >"$work/job.gps"
    (
        "$gpdesk" --no-config --format json --threads "${THREADS:-2}" --seed "$2" -f \
            "$work/job.gps" >"$work/out" 2>"$work/err"
        rc=$?
        processor >"$work/seconds"
        exit $rc
    ) || { echo "$1: exit status $?"; grep '"error"' "$work/out"; cat "$work/err"; return 1; }
    printf '{"job":"%s","seed":%s,"kernel":"%s","features":"%s, %s","spearman":%s,"rmse_scaled":%s,"coverage95":%s,"nlpd_scaled":%s,"processor_seconds":%s,"check":"%s"}\n' \
        "$1" "$2" "$kernel" "${tune%% *}" "${fit%% *}" "$(field score spearman)" \
        "$(field score rmse_scaled)" \
        "$(field score coverage95)" "$(field score nlpd_scaled)" "$(cat "$work/seconds")" \
        "$(findings)" | tee -a "$out"
}

# Mean and standard error over the seeds, in the order of the rows above.
table() {
    echo '| row | kernel | features: tune, fit | seeds | Spearman | RMSE / sd | share in 95 % | processor s |'
    echo '| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |'
    printf '%s\n' "$rows" | cut -d';' -f1 | while read -r j; do
        grep "\"job\":\"$j\"," "$out" | awk -v job="$j" '
            function get(key,   s) { s = $0; if (!sub(".*\"" key "\":\"?", "", s)) return ""; sub("\"?,\"[a-z0-9_]*\":.*", "", s); return s }
            function add(key,   v) { v = get(key); sum[key] += v; sq[key] += v * v }
            function show(key, d,   m, e) { m = sum[key] / n; e = n > 1 ? sqrt((sq[key] / n - m * m) / (n - 1)) : 0
                return n > 1 ? sprintf("%.*f ± %.*f", d, m, d, e > 0 ? e : 0) : sprintf("%.*f", d, m) }
            { n++; add("spearman"); add("rmse_scaled"); add("coverage95"); add("processor_seconds"); k = get("kernel"); f = get("features") }
            END { if (n) printf "| %s | %s | %s | %d | %s | %s | %s | %.0f |\n", job, k, f, n, show("spearman", 3),
                      show("rmse_scaled", 3), show("coverage95", 3), sum["processor_seconds"] / n }'
    done
}

[ "${1:-}" = table ] && { table; exit 0; }
[ $# -gt 0 ] || set -- $(printf '%s\n' "$rows" | cut -d';' -f1)
for s in ${SEEDS:-1 2 3}; do
    for j in "$@"; do job "$j" "$s"; done
done
