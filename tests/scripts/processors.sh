#!/bin/sh
# tests/scripts/processors.sh -- --cpu LEVEL: one fit at every level that this machine has, made
# anew and stored, agrees with the portable one; a level that it lacks, or that there is not, is
# refused.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

num() { printf '%s\n' "$out" | sed -n "s/.*\"$1\":\([-+0-9.eE]*\)[,}].*/\1/p" | tail -n 1; }
near() { awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { d = a - b; d = d < 0 ? -d : d;
    exit !(a > 0 && b > 0 && d <= t * b) }'; }

awk 'BEGIN { srand(4); print "a,b,y"; for (i = 0; i < 900; i++) {
    a = 4 * rand() - 2; b = 4 * rand() - 2; e = rand() + rand() + rand() - 1.5
    printf "%.6f,%.6f,%.6f\n", a, b, sin(2 * a) + b + 0.2 * e } }' >data.csv
job='open data.csv target=y; split test=25% seed=2; kernel matern(nu=5/2)'

# Float features differ in the last bits, so the errors do from the fifth digit on.
seen=0
for level in portable avx2 avx512 amx; do
    run --cpu $level --format json -e about
    if test $rc -ne 0; then
        is "$level: this processor has none, which is a wrong call" $rc 2
        has "and is said" "$err" "this processor has no $level"
        continue
    fi
    seen=$((seen + 1))
    has "$level: is what about says" "$out" "\"cpu\":\"$level\""
    for plan in regenerate store; do
        run --cpu $level --precision float --format json -e "$job" \
            -e "fit features=512 solver=pcg rtol=1e-5 plan=$plan l=0.8 amplitude=1 noise=0.2 seed=3; score"
        is "$level, plan=$plan: a fit ends with 0" $rc 0
        rmse=$(num rmse)
        test $level$plan = portableregenerate && first=$rmse
        ok "its error is that of the portable loops" near "$rmse" "$first" 1e-4
        test $plan = regenerate && anew=$rmse
    done
    is "stored features give the same digits as new ones" "$rmse" "$anew"
done
ok "there is a level on every processor" test $seen -gt 0
run --cpu sse9 -e about
is "an unknown level is a wrong call" $rc 2
has "and all are named" "$err" 'portable, avx2, avx512 or amx'
finish
