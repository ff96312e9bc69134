#!/bin/sh
# Whether 95 % intervals hold by default: share of test rows inside, NLPD and CRPS after the default
# commands (tune, fit), exactly and with 1024, 4096 and 8192 features, by the default rule for the
# scale of the variances and by rescale=ratio, which takes the likeliest amplitude.
# Usage: tests/bench/coverage.sh [DATA...]; all sets by default.  FITS="exact 1024" runs only those;
# SPLITS="1 2" takes those splits (sets with few test rows: 1 2 3; the others: 1); TRAIN: training
# rows at most; SLOW: a job is skipped where the one before, with a quarter or half of its features,
# took more than a quarter of these seconds of the processor; KEEP: a folder for tuned sessions;
# BEFORE=no leaves out the fits by rescale=ratio, whose cells are then empty.
# One JSON line for each finished job is kept in $OUT (coverage.jsonl), which is read back: a job
# runs once.  tests/bench/coverage.sh table prints the table from it: means over the splits.
set -u
gpdesk=${GPDESK:-build/gpdesk}
shared=${GPDESK_SHARED:-${top_srcdir:-.}/../shared}
out=${OUT:-coverage.jsonl}
train=${TRAIN:-800}
slow=${SLOW:-90}
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
    function before(how, v, none) { return none ? "" : sprintf(how, v) }
    BEGIN {
        print "| data | fit | splits: train, test rows | inside 95 % | before | reach, sd | NLPD |" \
            " before | CRPS | before |"
        print "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    }
    {
        k = field("data") SUBSEP field("fit")
        if (!(k in splits)) key[++keys] = k
        n = field("test"); splits[k]++; train[k] = field("train"); rows[k] = n; all[k] += n
        inside[k] += n * field("coverage95"); inside0[k] += n * field("coverage_before")
        nlpd[k] += field("nlpd"); nlpd0[k] += field("nlpd_before")
        crps[k] += field("crps"); crps0[k] += field("crps_before"); r2[k] += field("r2")
        reach[k] += field("reach"); none[k] = field("nlpd_before") == "null"
    }
    END {
        for (i = 1; i <= keys; i++) {
            k = key[i]; split(k, part, SUBSEP); s = splits[k]
            se = sqrt(0.0475 / all[k]); c = inside[k] / all[k]
            off = c < 0.95 ? 0.95 - c : c - 0.95
            mark = (c >= 0.93 && c <= 0.97) || off <= 2.5 * se ? "" : " (!)"
            worse = !none[k] && (nlpd[k] - nlpd0[k]) / s > 0.005 ? " (!)" : ""
            printf "| %s | %s | %d: %d, %d | %.3f ± %.3f%s | %s | ", part[1], part[2], s, \
                train[k], rows[k], c, se, mark, before("%.3f", inside0[k] / all[k], none[k])
            printf "%.2f | %.3f%s | %s | %.4f | %s |\n", reach[k] / s, nlpd[k] / s, worse, \
                before("%.3f", nlpd0[k] / s, none[k]), crps[k] / s, \
                before("%.4f", crps0[k] / s, none[k])
        }
    }' "$out"
}

if [ "${1:-}" = table ]; then
    table
    exit 0
fi
work=$(mktemp -d)
keep=${KEEP:-$work}
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# The commands that read a set and hold rows out at random.
data_of() { # DATA SPLIT
    case $1 in
    robot) echo "demo robot n=3200 seed=$2; split test=20% seed=$2" ;;
    sulfur) echo "open $shared/data/sulfur/data.csv.gz target=y1; cols y2 role=skip; \
split test=20% seed=$2 train=$train" ;;
    diamonds) echo "open $shared/data/diamonds/data.csv.gz target=price; \
split test=4% seed=$2 train=$train" ;;
    sgemm) # the logarithm of the mean of run1 to run4 is the target
        echo "open $shared/data/sgemm/data.csv.gz target=y; cols run1,run2,run3,run4 role=skip; \
split test=1% seed=$2 train=$train" ;;
    flights200k)
        echo "open $shared/data/$1/data.csv.gz target=y; split test=1% seed=$2 train=$train" ;;
    tamielectric | keggundirected | kin40k | protein)
        echo "open $shared/data/$1/data.csv.gz target=y; split test=4% seed=$2 train=$train" ;;
    *) echo "open $shared/data/$1/data.csv.gz target=y; split test=30% seed=$2 train=$train" ;;
    esac
}

# Where one split would say little: up to 800 test rows, or a few large errors that decide.
splits_of() {
    case $1 in
    robot | energy | concrete | airfoil | yacht | wine | gas | song_sample)
        echo "${SPLITS:-1 2 3}" ;;
    slice_sample) echo "${SPLITS:-1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23}" ;;
    diamonds) echo "${SPLITS:-1 2}" ;;
    *) echo "${SPLITS:-1}" ;;
    esac
}

# The k-th value of a field in the score records.
score() { grep '"command":"score"' "$work/out" | sed -n "$2s/.*\"$1\":\([-+0-9.eE]*\)[,}].*/\1/p"; }
reach() { # of the first fit
    grep '"command":"fit"' "$work/out" | sed -n '1s/.*"interval95":\([-+0-9.eE]*\)[,}].*/\1/p'
}
split_rows() { # DATA SPLIT FIELD
    grep '"command":"split"' "$keep/$1.$2.tuned" | sed -n "1s/.*\"$3\":\([0-9]*\)[,}].*/\1/p"
}

# Seconds of the processor that children of this shell had taken when it wrote its times.
spent() {
    awk 'END { split($0, t, /[ms ]+/); printf "%d", 60 * t[1] + t[2] }' "$work/times"
}

job() { # DATA SPLIT FIT
    grep -q "\"data\":\"$1\",\"split\":$2,\"fit\":\"$3\"" "$out" && return 0
    if [ ! -r "$keep/$1.$2.gpd" ]; then
        "$gpdesk" --no-config --format json --threads "${THREADS:-1}" -s "$work/tuned.gpd" \
            -e "$(data_of "$1" "$2"); tune" >"$keep/$1.$2.tuned" 2>"$work/err" ||
            { echo "$1: exit status $?"; grep '"error"' "$keep/$1.$2.tuned"; return 1; }
        mv "$work/tuned.gpd" "$keep/$1.$2.gpd"
    fi
    rm -f "$work/fit.gpd"*
    cp "$keep/$1.$2.gpd" "$work/fit.gpd"
    with="features=$3"
    [ "$3" = exact ] && with=solver=exact
    times >"$work/times"
    before=$(spent)
    all="fit $with; score baseline=no"
    [ "${BEFORE:-yes}" = no ] || all="$all; fit $with rescale=ratio; score baseline=no"
    "$gpdesk" --no-config --format json --threads "${THREADS:-1}" -s "$work/fit.gpd" \
        -e "$all" >"$work/out" 2>"$work/err" ||
        { echo "$1 $3: exit status $?"; grep '"error"' "$work/out"; return 1; }
    took=0
    times >"$work/times"
    [ "$3" = exact ] || took=$(($(spent) - before))
    printf '{"data":"%s","split":%s,"fit":"%s","train":%s,"test":%s,"coverage95":%s,"coverage_before":%s,"nlpd":%s,"nlpd_before":%s,"crps":%s,"crps_before":%s,"r2":%s,"reach":%s,"seconds":%s}\n' \
        "$1" "$2" "$3" "$(split_rows "$1" "$2" train)" "$(split_rows "$1" "$2" test)" \
        "$(score coverage95 1)" \
        "$(score coverage95 2)" "$(score nlpd_scaled 1)" "$(score nlpd_scaled 2)" \
        "$(score crps 1)" "$(score crps 2)" "$(score r2 1)" "$(reach)" "$took" |
        sed 's/:,/:null,/g' | tee -a "$out"
}

[ $# -gt 0 ] || set -- robot kin40k energy concrete airfoil protein sulfur wine skillcraft bike \
    yacht pol gas sml pumadyn32nm diamonds road3d_sample tamielectric keggundirected sgemm \
    flights200k slice_sample song_sample
for d in "$@"; do
    [ "$d" = robot ] || [ -r "$shared/data/$d/data.csv.gz" ] || continue
    for s in $(splits_of "$d"); do
        took=0
        for f in $fits; do
            if [ "$took" -gt $((slow / 4)) ]; then
                echo "$d, split $s, $f: skipped, it would take more than $slow s"
                continue
            fi
            job "$d" "$s" "$f"
        done
    done
done
