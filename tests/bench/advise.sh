#!/bin/sh
# Expected iterations beside those taken: kin40k, protein, pol and sml, tuned with 2048 features, at
# 4096 and 8192 features and ranks 64, 256, 1024; within a factor of 1.5 for at least 22 of the 24.
# The law is used as it is (law=plain): no fit corrects it.
# Usage: tests/bench/advise.sh [DATA...]   KERNEL='matern(nu=3/2)' for another kernel; about a
# quarter of an hour.  The last line is JSON.
set -u
gpdesk=${GPDESK:-build/gpdesk}
shared=${GPDESK_SHARED:-${top_srcdir:-.}/../shared}
kernel=${KERNEL:-rbf}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
[ $# -gt 0 ] || set -- sml pol protein kin40k
all=0
good=0
for data in "$@"; do
    file=$shared/data/$data/data.csv.gz
    [ -r "$file" ] || { echo "$data: skipped, $file is not here"; continue; }
    {
        printf 'open %s target=y\nsplit file=%s/data/%s/splits.csv.gz column=split0\nkernel %s\ntune features=2048\n' \
            "$file" "$shared" "$data" "$kernel"
        for m in 4096 8192; do
            echo "advise features=$m rank=64,256,1024 maxit=4000 law=plain"
            for r in 64 256 1024; do echo \
                "fit solver=pcg features=$m rank=$r maxit=4000 variance=none"; done
        done
    } > "$work/job.gps"
    "$gpdesk" --no-config --format json --threads "${THREADS:-2}" --seed "${SEED:-7}" -f \
        "$work/job.gps" \
        > "$work/out" 2> "$work/err" || { grep '"error"' "$work/out"; cat "$work/err"; }
    awk -v data="$data" -v kernel="$kernel" '
        function num(s, key,   i) { i = index(s, "\"" key "\":"); return i ? substr(s, i + length(key) + 3) + 0 : "nan" }
        /"type":"result","command":"advise"/ {
            m = num($0, "features"); spent = num(substr($0, index($0, "\"rows\":[")), "seconds")
            n = split(substr($0, index($0, "\"rows\":[")), row, "{")
            for (i = 2; i <= n; i++) if (index(row[i], "\"rank\":null") == 0) {
                r = num(row[i], "rank"); want[m, r] = num(row[i], "iterations")
                low[m, r] = num(row[i], "iterations_low"); high[m, r] = num(row[i], "iterations_high") }
            seconds[m] = $0; sub(/.*"seconds":/, "", seconds[m]); seconds[m] += 0 }
        /"type":"result","command":"fit"/ {
            m = num($0, "features"); r = num($0, "rank"); it = num($0, "iterations"); off = want[m, r] / it
            ok = $0 ~ /"outcome":"rtol"/ && off <= 1.5 && off >= 1 / 1.5
            printf "%-8s %-14s %5d features  rank %4d  expected %5d (%d..%d)  taken %5d  %.2f%s  (%.1f s of advice)\n",
                data, kernel, m, r, want[m, r], low[m, r], high[m, r], it, off, ok ? "" : "  MISSED", seconds[m]
            all++; good += ok }
        END { print all + 0, good + 0 > "/dev/stderr" }' "$work/out" 2> "$work/count"
    read -r a g < "$work/count"
    all=$((all + a))
    good=$((good + g))
done
echo "$good of $all within a factor of 1.5"
printf '{"bench":"advise","kernel":"%s","data":"%s","all":%d,"within_1.5":%d}\n' "$kernel" "$*" \
    "$all" "$good"
[ "$((12 * good))" -ge "$((11 * all))" ]
