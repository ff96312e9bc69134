#!/bin/sh
# tests/scripts/why.sh -- each cause provoked once stands first, with a way out that parses; a
# healthy fit has none.  tests/bench/why.sh does it over seeds, sizes and kernels.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

GPDESK=$gpdesk SEEDS=2 SIZES=300 KERNELS=rbf
export GPDESK SEEDS SIZES KERNELS
for cause in rank noise duplicates columns bound float32 starved features nonstationary; do
    ok "$cause is found" sh "$src/tests/bench/why.sh" $cause
done
KERNELS='matern(nu=5/2)' SIZES=600
ok "a healthy fit has no cause" sh "$src/tests/bench/why.sh" healthy

# what it says to try mends it
SEEDS=1 SIZES=300 KERNELS=rbf
for cause in rank noise duplicates columns bound float32 starved features nonstationary; do
    ok "what is tried for $cause mends it" sh "$src/tests/bench/mend.sh" $cause
done

# noise that is larger in one place, of a target of both signs: nothing that could be typed mends
# that, and it is said
. "$src/tests/bench/causes.sh"
data_of nonstationary 2 300 >scaled.csv
run --format json -e \
    'open scaled.csv target=y; cols w role=skip; kernel rbf; tune features=128 evals=6; fit features=256; why; explain nonstationary; cols w role=weight; tune features=128 evals=6; fit features=256; why'
has "weights are named" "$out" \
    '"name":"nonstationary".*weights (cols NAME role=weight) or calibrate method=local help","try":"explain nonstationary"'
has "and the page knows them" "$out" 'a column of 1 / noise^2'
has "with them nothing is wrong" "$(printf '%s\n' "$out" | grep '"command":"why"' | tail -n 1)" \
    '"causes":\[\]'

data='demo friedman1 n=300 seed=2; split test=10% seed=1; kernel rbf'
run --format json -e "$data; fit features=1024 l=6 noise=0.001; why"
is "why ends with 0" $rc 0
has "with the keys of a cause" "$out" \
    '"command":"why","run":"r1","causes":\[{"name":"noise","score":0\.[0-9]*,"evidence":"the noise is [^"]*","try":"tune noise=[0-9.e-]*\.\.[0-9.e+]*; fit features=1024"}'
run -e "$data; fit features=1024 l=6 noise=0.001; why"
has "in words" "$out" '^ 1 noise  '
has "and with what to type" "$out" 'try  tune noise='
ok "within 80 columns" sh -c \
    'test "$(printf "%s\n" "$1" | sed -n "/^r1  [0-9]* cause/,\$p" | awk "{ if (length > m) m = length } END { print m + 0 }")" -le 80' sh "$out"
run --format json -e "$data; tune features=256 evals=8; why"
has "before any fit the last tuning is" "$out" '"command":"why","run":"t1"'
run --format json -e "$data; tune features=256 evals=8 l=0.01..0.05; why t1"
has "a tuning is asked as well" "$out" '"command":"why","run":"t1","causes":\[{"name":"bound"'
run --format json -e \
    "$data; tune kernel=matern(nu=3/2)+linear solver=exact evals=12 polish=no; fit solver=exact; why"
is "an exact fit of a sum" $rc 0
has "too" "$out" '"command":"why","run":"r1"'
run --format json --mem 100MB --keep-going -e "$data" -e "fit features=65536 solver=pcg; why" -e \
    "why r1"
has "a fit that failed has its reason first" "$out" \
    '"command":"why","run":"r1","causes":\[{"name":"memory","score":1,"evidence":"it failed: features=65536 needs[^"]*","try":"fit solver=pcg features=[0-9]*"}'
try=$(printf '%s\n' "$out" | grep '"command":"why"' | tail -n 1 | sed \
    's/"},{.*//; s/.*"try":"\([^"]*\).*/\1/')
run --format json --mem 100MB -e "$data" -e "$try"
is "and what it says to try has the room" $rc 0
run --format json --accept-unconverged -e \
    "$data; fit features=512 solver=pcg rank=128 maxit=3 l=2 noise=0.1; why; fit continue=r1 maxit=200; why r2"
has "a limit of iterations is a cause" "$out" \
    '"causes":\[{"name":"iterations","score":0.[89][0-9]*,"evidence":"it stopped at its limit of 3 iterations, with a residual of [0-9.]*; more than [0-9]* are expected","try":"fit continue=r1 maxit=[0-9]*"}'
ok "and not of a fit that ended" sh -c \
    '! printf "%s\n" "$1" | grep "\"command\":\"why\"" | tail -n 1 | grep -q iterations' sh "$out"
run -e "$data; why"
has "without a run it says so" "$err" 'fit'
finish
