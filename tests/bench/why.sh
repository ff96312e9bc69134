#!/bin/sh
# Does why find the cause?  For each cause data or settings that provoke it, over seeds, sizes and
# kernels; the cause must stand first in nine of ten, and healthy fits must have none.
# Usage: tests/bench/why.sh [CASE...]   SEEDS="1 2 3" SIZES="400 800" KERNELS="rbf"   about 20
# minutes.
set -u
gpdesk=${GPDESK:-build/gpdesk}
seeds=${SEEDS:-1 2 3 4 5 6 7 8 9 10}
sizes=${SIZES:-300 600 1200}
kernels=${KERNELS:-rbf matern(nu=5/2)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

. "$(dirname "$0")/causes.sh"

[ $# -gt 0 ] || set -- rank noise duplicates columns bound float32 starved features nonstationary \
    healthy
status=0
for what in "$@"; do
    all=0
    good=0
    for seed in $seeds; do
        for n in $sizes; do
            data_of "$what" "$seed" "$n" > "$work/d.csv"
            echo "$kernels" | tr ' ' '\n' > "$work/kernels"
            while read -r kernel; do
                if [ "$what" = healthy ] && [ "$n" = 300 ]; then continue; fi
                "$gpdesk" --no-config --format json --threads "${THREADS:-2}" --seed "$seed" -e \
                    "open $work/d.csv target=y" \
                    -e "split test=10% seed=$seed" -e "kernel $kernel" -e "$(lines "$what")" -e \
                    why < /dev/null > "$work/out" 2> "$work/err"
                line=$(grep '"type":"result","command":"why"' "$work/out")
                first=$(printf '%s\n' "$line" | sed -n \
                    's/.*"causes":\[{"name":"\([a-z0-9-]*\)".*/\1/p')
                [ -n "$line" ] || first=failed
                way=$(printf '%s\n' "$line" | sed -n \
                    's/.*"causes":\[{\([^}]*\)}.*/\1/; s/.*"try":"//p' | sed 's/"$//; s/\\"/"/g')
                if [ -n "$way" ] && ! "$gpdesk" --no-config -n -e \
                    "open $work/d.csv target=y; $(printf '%s\n' "$way" | sed 's/continue=r1//')" > \
                    /dev/null 2>&1; then
                    first="$way does not parse"
                fi
                wanted=$what
                [ "$what" = healthy ] && wanted=
                all=$((all + 1))
                if [ "$first" = "$wanted" ]; then
                    good=$((good + 1))
                else
                    echo "  $what seed $seed, $n rows, $kernel: ${first:-nothing} first: $(printf \
                        '%s\n' "$line" | sed 's/.*"causes"://' | cut -c1-${WIDE:-300})"
                fi
            done < "$work/kernels"
        done
    done
    echo "$what: $good of $all"
    if [ "$what" = healthy ]; then [ "$good" = "$all" ] || status=1; fi
    [ $((10 * good)) -ge $((9 * all)) ] || status=1
done
exit $status
