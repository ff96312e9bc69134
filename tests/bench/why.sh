#!/bin/sh
# Does why find the cause?  For each cause data or settings that provoke it, over seeds, sizes and
# kernels; the cause must stand first in nine of ten, and healthy fits must have none.
# Usage: tests/bench/why.sh [CASE...]   SEEDS="1 2 3" SIZES="400 800" KERNELS="rbf"   about 20 minutes.
set -u
gpdesk=${GPDESK:-build/gpdesk}
seeds=${SEEDS:-1 2 3 4 5 6 7 8 9 10}
sizes=${SIZES:-300 600 1200}
kernels=${KERNELS:-rbf matern(nu=5/2)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# rows SEED N NOISE KIND > CSV: y = sin(2 x1) + x2 x3 / 2 + cos(x4) + noise, and what the kind adds
rows() {
    awk -v seed="$1" -v n="$2" -v noise="$3" -v kind="$4" '
        function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.283185307179586 * rand()) }
        BEGIN {
            srand(seed); OFS = ","
            print "x1,x2,x3,x4" (kind ~ /column/ ? ",x5" : "") ",y"
            for (i = 0; i < n; i++) {
                if (!(kind == "repeats" && i % 5 == 4)) for (j = 1; j <= 4; j++) x[j] = 4 * rand() - 2
                f = sin(2 * x[1]) + x[2] * x[3] / 2 + cos(x[4])
                y = f + noise * normal()
                if (kind == "scale") y *= exp(1.2 * x[1])
                if (kind == "repeats" && i % 5 == 4) y = f + 0.7 * normal()
                extra = kind == "columns1" ? sprintf(",%.10g", exp(6 * normal())) : \
                        kind == "columns2" ? sprintf(",%.12g", 5000 + 1e-3 * normal()) : ""
                printf "%.8g,%.8g,%.8g,%.8g%s,%.10g\n", x[1], x[2], x[3], x[4], extra, y
            }
        }'
}

# lines CASE SEED: what is typed after the data are open
lines() {
    case $1 in
    healthy) echo "tune features=512 evals=15; fit features=1024" ;;
    rank) echo "fit features=1024 l=2 noise=0.01 solver=pcg rank=4 maxit=20 rtol=1e-8 variance=none" ;;
    noise) echo "fit features=1024 l=1.5 noise=0.003" ;;
    duplicates) echo "fit features=1024 l=1.5 noise=0.01" ;;
    columns) echo "tune features=512 evals=15; fit features=1024" ;;
    bound) echo "tune features=512 evals=15 l=0.01..0.1; fit features=1024" ;;
    float32) echo "fit features=512 l=2 noise=0.01 solver=pcg rank=256 rtol=1e-13 maxit=400 precision=float plan=regenerate variance=none" ;;
    starved) echo "tune features=512 evals=15; fit features=1024 solver=pcg variance=16" ;;
    features) echo "tune features=512 evals=15; fit features=24" ;;
    nonstationary) echo "tune features=512 evals=15; fit features=1024" ;;
    esac
}

[ $# -gt 0 ] || set -- rank noise duplicates columns bound float32 starved features nonstationary healthy
status=0
for what in "$@"; do
    all=0
    good=0
    for seed in $seeds; do
        for n in $sizes; do
            case $what in
            noise) rows "$seed" "$n" 0.3 plain ;;
            duplicates) rows "$seed" "$n" 0.01 repeats ;;
            columns) rows "$seed" "$n" 0.1 columns$((seed % 2 + 1)) ;;
            nonstationary) rows "$seed" "$n" 0.3 scale ;;
            rank | float32) rows "$seed" "$n" 0.01 plain ;;
            *) rows "$seed" "$n" 0.1 plain ;;
            esac > "$work/d.csv"
            echo "$kernels" | tr ' ' '\n' > "$work/kernels"
            while read -r kernel; do
                if [ "$what" = healthy ] && [ "$n" = 300 ]; then continue; fi
                "$gpdesk" --no-config --format json --threads "${THREADS:-2}" --seed "$seed" -e "open $work/d.csv target=y" \
                    -e "split test=10% seed=$seed" -e "kernel $kernel" -e "$(lines "$what")" -e why < /dev/null > "$work/out" 2> "$work/err"
                line=$(grep '"type":"result","command":"why"' "$work/out")
                first=$(printf '%s\n' "$line" | sed -n 's/.*"causes":\[{"name":"\([a-z0-9-]*\)".*/\1/p')
                [ -n "$line" ] || first=failed
                way=$(printf '%s\n' "$line" | sed -n 's/.*"causes":\[{[^}]*"try":"\([^"]*\)"}.*/\1/p')
                if [ -n "$way" ] && ! "$gpdesk" --no-config -n -e "open $work/d.csv; $way" > /dev/null 2>&1; then
                    first="$way does not parse"
                fi
                wanted=$what
                [ "$what" = healthy ] && wanted=
                all=$((all + 1))
                if [ "$first" = "$wanted" ]; then
                    good=$((good + 1))
                else
                    echo "  $what seed $seed, $n rows, $kernel: ${first:-nothing} first: $(printf '%s\n' "$line" | sed 's/.*"causes"://' | cut -c1-${WIDE:-300})"
                fi
            done < "$work/kernels"
        done
    done
    echo "$what: $good of $all"
    if [ "$what" = healthy ]; then [ "$good" = "$all" ] || status=1; fi
    [ $((10 * good)) -ge $((9 * all)) ] || status=1
done
exit $status
