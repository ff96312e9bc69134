#!/bin/sh
# Whether 95 % intervals hold by default: share of test rows inside, NLPD and CRPS after the default
# commands (tune, fit), exactly and with 1024, 4096 and 8192 features, by the default rule for the
# scale of the variances and by rescale=ratio, which takes the likeliest amplitude.
# Usage: tests/bench/coverage.sh [DATA...]; all sets by default.  FITS="exact 1024" runs only those.
# One JSON line for each finished job is kept in $OUT (coverage.jsonl), which is read back: a job
# runs once.  tests/bench/coverage.sh table prints the table from it.
set -u
gpdesk=${GPDESK:-build/gpdesk}
shared=${GPDESK_SHARED:-${top_srcdir:-.}/../shared}
out=${OUT:-coverage.jsonl}
train=${TRAIN:-1500}
fits=${FITS:-exact 1024 4096 8192}
touch "$out"

table() {
    awk '
    function field(name,   s) {
        s = $0
        if (!sub(".*\"" name "\":\"?", "", s)) return ""
        sub(/[",}].*/, "", s)
        return s
    }
    BEGIN {
        print "| data | fit | train, test rows | inside 95 % | before | NLPD | before | CRPS | before |"
        print "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    }
    {
        n = field("test"); se = sqrt(0.0475 / n); c = field("coverage95")
        off = c < 0.95 ? 0.95 - c : c - 0.95
        mark = (c >= 0.93 && c <= 0.97) || off <= 2.5 * se ? "" : " (!)"
        worse = field("nlpd") - field("nlpd_before") > 0.005 ? " (!)" : ""
        printf "| %s | %s | %d, %d | %.3f ± %.3f%s | %.3f | %.3f%s | %.3f | %.4f | %.4f |\n", \
            field("data"), field("fit"), field("train"), n, c, se, mark, field("coverage_before"), \
            field("nlpd"), worse, field("nlpd_before"), field("crps"), field("crps_before")
    }' "$out"
}

if [ "${1:-}" = table ]; then
    table
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# The commands that read a set and hold rows out at random.
data_of() {
    case $1 in
    robot*) echo "demo robot n=3200 seed=${1#robot}; split test=20% seed=${1#robot}" ;;
    sulfur) echo "open $shared/data/sulfur/data.csv.gz target=y1; cols y2 role=skip; \
split test=20% seed=1 train=$train" ;;
    diamonds) echo "open $shared/data/diamonds/data.csv.gz target=price; \
split test=4% seed=1 train=$train" ;;
    flights200k | sgemm)
        echo "open $shared/data/$1/data.csv.gz target=y; split test=1% seed=1 train=$train" ;;
    tamielectric | keggundirected | kin40k | protein)
        echo "open $shared/data/$1/data.csv.gz target=y; split test=4% seed=1 train=$train" ;;
    *) echo "open $shared/data/$1/data.csv.gz target=y; split test=30% seed=1 train=$train" ;;
    esac
}

# The k-th value of a field in the score records.
score() { grep '"command":"score"' "$work/out" | sed -n "$2s/.*\"$1\":\([-+0-9.eE]*\)[,}].*/\1/p"; }
split_rows() {
    grep '"command":"split"' "$work/$1.tuned" | sed -n "1s/.*\"$2\":\([0-9]*\)[,}].*/\1/p"
}

job() { # DATA FIT
    grep -q "\"data\":\"$1\",\"fit\":\"$2\"" "$out" && return 0
    case $1 in
    robot*) ;;
    *) [ -r "$shared/data/$1/data.csv.gz" ] || return 0 ;;
    esac
    if [ ! -r "$work/$1.gpd" ]; then
        "$gpdesk" --no-config --format json --threads "${THREADS:-1}" -s "$work/$1.gpd" \
            -e "$(data_of "$1"); tune" >"$work/$1.tuned" 2>"$work/err" ||
            { echo "$1: exit status $?"; grep '"error"' "$work/$1.tuned"; return 1; }
    fi
    with="features=$2"
    [ "$2" = exact ] && with=solver=exact
    "$gpdesk" --no-config --format json --threads "${THREADS:-1}" -s "$work/$1.gpd" \
        -e "fit $with; score; fit $with rescale=ratio; score" >"$work/out" 2>"$work/err" ||
        { echo "$1 $2: exit status $?"; grep '"error"' "$work/out"; return 1; }
    printf '{"data":"%s","fit":"%s","train":%s,"test":%s,"coverage95":%s,"coverage_before":%s,"nlpd":%s,"nlpd_before":%s,"crps":%s,"crps_before":%s}\n' \
        "$1" "$2" "$(split_rows "$1" train)" "$(split_rows "$1" test)" "$(score coverage95 1)" \
        "$(score coverage95 2)" "$(score nlpd_scaled 1)" "$(score nlpd_scaled 2)" \
        "$(score crps 1)" "$(score crps 2)" | tee -a "$out"
}

[ $# -gt 0 ] || set -- robot1 robot2 kin40k energy concrete airfoil protein sulfur wine skillcraft \
    bike yacht pol gas sml pumadyn32nm diamonds road3d_sample tamielectric keggundirected sgemm \
    flights200k slice_sample song_sample
for d in "$@"; do
    for f in $fits; do job "$d" "$f"; done
    rm -f "$work/$d.gpd"
done
