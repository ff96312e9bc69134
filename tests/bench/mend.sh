#!/bin/sh
# Does the way out that why names mend the fit?  Provokes a cause, types what stands behind `try` of
# the first one, and compares: the cause must be gone from why, and the figure that it spoils must
# be better (held-out NLPD; for an iteration its true residual; for starved variances the share of
# their features in use).
# Usage: tests/bench/mend.sh [CASE...]   SEEDS="1 2 3" SIZES="300 600" KERNELS="rbf"   a few seconds
# a case.
set -u
gpdesk=${GPDESK:-build/gpdesk}
seeds=${SEEDS:-1 2 3}
sizes=${SIZES:-300 600}
kernels=${KERNELS:-rbf matern(nu=5/2)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
. "$(dirname "$0")/causes.sh"

# figure KEY COMMAND WHICH: a number of the first or last result of a command
figure() {
    grep "\"type\":\"result\",\"command\":\"$2\"" "$work/out" | sed -n "${3}p" |
        sed -n "s/.*\"$1\":\([-+0-9.eE]*\).*/\1/p"
}
share() { # of variance features, of fit number $1
    awk -v d="$(figure effective_dimension fit "$1")" -v m="$(figure variance_features fit "$1")" \
        'BEGIN { if (m > 0) print d / m }'
}
session() { # lines...: what was typed, at once
    set -- -e "open $work/d.csv target=y; split test=20% seed=$seed; kernel $kernel" "$@"
    "$gpdesk" --no-config --format json --accept-unconverged --threads "${THREADS:-2}" --seed \
        "$seed" "$@" \
        < /dev/null > "$work/out" 2> "$work/err"
}
[ $# -gt 0 ] || set -- rank noise duplicates columns bound float32 starved features nonstationary
status=0
for what in "$@"; do
    all=0
    good=0
    for seed in $seeds; do
        for n in $sizes; do
            data_of "$what" "$seed" "$n" > "$work/d.csv"
            echo "$kernels" | tr ' ' '\n' > "$work/kernels"
            while read -r kernel; do
                session -e "$(lines "$what")" -e why
                way=$(grep '"command":"why"' "$work/out" | tail -n 1 |
                    sed -n 's/.*"causes":\[{\([^}]*\)}.*/\1/; s/.*"try":"//p' | sed \
                        's/"$//; s/\\"/"/g')
                case $way in # no line mends that, weights do where they are known
                "explain nonstationary") \
                    way="$way; cols w role=weight; tune features=512 evals=15; fit features=1024" ;;
                esac
                all=$((all + 1))
                session -e "$(lines "$what")" -e score -e why -e "$way" -e score -e why
                left=$(grep '"command":"why"' "$work/out" | sed -n 2p)
                case $what in
                rank | float32)
                    before=$(figure true_residual fit 1) after=$(figure true_residual fit 2)
                    by="true residual" ;;
                starved) \
                    # the share of variance features that the effective dimension takes; NLPD is
                    # mostly noise
                    before=$(share 1) after=$(share 2)
                    by="share taken" ;;
                *)
                    before=$(figure nlpd score 1) after=$(figure nlpd score 2)
                    by=NLPD ;;
                esac
                gone=no
                case $left in
                '') ;;
                *"\"name\":\"$what\""*) ;;
                *) gone=yes ;;
                esac
                better=$(awk -v a="$after" -v b="$before" \
                    'BEGIN { print (a != "" && b != "" && a + 0 < b + 0) ? "yes" : "no" }')
                [ "$gone$better" = yesyes ] && good=$((good + 1))
                printf '%-13s seed %-2s %5s rows  %-14s %s %s -> %s%s%s\n    %s\n' "$what" "$seed" \
                    "$n" "$kernel" \
                    "$by" "$before" "$after" "$([ $better = yes ] || echo '  NOT BETTER')" \
                    "$([ $gone = yes ] || echo '  STILL THERE')" "$way"
            done < "$work/kernels"
        done
    done
    echo "$what: $good of $all mended"
    [ $((10 * good)) -ge $((9 * all)) ] || status=1
done
exit $status
