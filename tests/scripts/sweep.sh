#!/bin/sh
# tests/scripts/sweep.sh -- grids of settings: values, statements, tables, what fails.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

data='demo friedman1 n=300 seed=2; split test=25% seed=1; kernel rbf(l=4); set noise=0.2'
points() { printf '%s\n' "$out" | grep '"command":"sweep"' | tail -n 1 | grep -o "\"$1\":[^,}]*" |
    head -n "$2" | cut -d: -f2 | tr -d '"' | tr '\n' ' '; }

run --format json -e \
    "$data; sweep rank=8..64 fit='features=256 solver=pcg plan=regenerate'; plot sweep out=s.csv"
is "a sweep ends with 0" $rc 0
is "ranks double" "$(points rank 4)" "8 16 32 64 "
it=$(points iterations 4)
ok "a larger rank needs fewer iterations" sh -c "set -- $it; test \$1 -gt \$4"
is "the plot has a point for each" "$(grep -c '^' s.csv)" 5
run --format json -e "$data; fit rank=8 features=256 solver=pcg plan=regenerate"
ok "a point is the fit that one would type" test \
    "$(printf '%s\n' "$out" | sed -n 's/.*"command":"fit".*"iterations":\([0-9]*\).*/\1/p')" = \
    "${it%% *}"

run --format json -e "$data; sweep l=1,2..4,9 noise=0.1,0.3 show=nmll"
is "lists and intervals, the first key fastest" "$(points l 10)" "1 2 3 4 9 1 2 3 4 9 "
is "and the second" "$(points noise 10)" "0.1 0.1 0.1 0.1 0.1 0.3 0.3 0.3 0.3 0.3 "
nmll=$(points nmll 1)
run --format json -e "$data; tune l=1 noise=0.1"
has "each is the value that tune gives" "$out" "\"nmll\":${nmll% }"

run --format json -e 'demo toy n=40; sweep l=0.3..1.5/0.37 fit=""'
has "steps are as their writer has them" "$out" '"lengthscale":"*0\.67"*[,}]'
# Splits by column, their mean; a kernel with commas; quotes.
awk 'BEGIN { srand(2); print "a,b,y,s0,s1,s2"; for (i = 0; i < 120; i++) { a = rand(); b = rand();
    printf "%.4f,%.4f,%.4f,%d,%d,%d\n", a, b, sin(5 * a) + b + 0.1 * rand(), i % 4 == 0, i % 4 == 1, i % 4 == 2 } }' >d.csv
cut -d, -f4-6 d.csv >masks.csv
cut -d, -f1-3 d.csv >xy.csv
run --format json -e \
    "open xy.csv; sweep split=s0..s2 kernel=rbf,'matern(nu=3/2,ard)' file=masks.csv tune='evals=5' fit=''"
is "splits and kernels" $rc 0
is "six points" "$(points split 6)" "s0 s1 s2 s0 s1 s2 "
has "with mean and sd" "$out" '"mean":{"rmse_scaled":0'
begin='open xy.csv; split file=masks.csv column=s0; kernel rbf(l=1); set noise=0.2'
run --format json -e "$begin; sweep split=s0..s2 tune=no fit='features=64'"
same=$out
run --format json -e "$begin; sweep split=s0..s2 file=masks.csv tune=no fit='features=64'"
scores() { printf '%s\n' "$1" | grep '"command":"sweep"' | grep -o \
    '"split":"s[0-9]","run":"r[0-9]","state":"done","rmse_scaled":[0-9.]*'; }
is "columns of the split's own file" "$(scores "$same")" "$(scores "$out")"
is "each split its own score" "$(scores "$out" | sed 's/.*://' | sort -u | wc -l)" 3
run -k --format json -e \
    "open xy.csv; split test=20% seed=1; kernel rbf; fit features=64; score; sweep split=s0,s1 tune=no fit='features=64'"
is "a split that fails is no point, though others go on" \
    "$(printf '%s\n' "$out" | grep '"command":"sweep"' |
    grep -o '"run":null,"state":null,"rmse_scaled":null' | wc -l)" 2
run -e "open xy.csv; sweep kernel=rbf,'matern(nu=3/2,ard)' tune='evals=5'; sweep"
is "the table comes again" "$(printf '%s\n' "$out" | grep -c '^matern(nu=3/2,ard) *r2')" 2

# Features against effective dimension, as the fits say it; and beside each other in compare.
run --format json -e \
    "$data; sweep features=32,64,128 tune=no show=effdim fit='solver=pcg rank=16'; plot sweep; compare r1 r3"
told=$(printf '%s\n' "$out" | grep '"command":"fit"' | sed \
    's/.*"effective_dimension":\([0-9.]*\).*/\1/' | while read -r v; do printf '%.0f ' "$v"; done)
is "effective dimensions in the table" "$(printf '%s\n' "$out" | grep '"command":"sweep"' | grep \
    -o '"effective_dimension":[0-9]*' |
    sed 's/.*://' | head -n 3 | paste -sd' ') " "$told"
run -e "$data; sweep features=32,128 tune=no; compare r1 r2; fit solver=exact; compare r2 r3"
has "compare shows them of how many" "$out" '^\*  effective_dimension  [0-9]* of 32 *[0-9]* of 128'
has "and those of the exact kernel" "$out" '^\*  effective_dimension  [0-9]* of 128 *[0-9]* of 225'

# A learning curve: rows of one split, set aside and back again; each point is what one would type.
run --format json -e \
    "$data; sweep rows=50,100,400 tune=no fit='features=1024 variance=none'; plot learning out=l.csv; split train=all"
is "rows" "$rc $(points rows 3)" "0 50 100 400 "
is "fewer rows train than there are" "$(printf '%s\n' "$out" | grep '"command":"fit"' | sed \
    's/.*"rows":\([0-9]*\).*/\1/' | tr '\n' ' ')" "50 100 225 "
has "all train again" "$(printf '%s\n' "$out" | grep '"command":"split"' | tail -n 1)" \
    '"train":225,"valid":0,"test":75,"left":0'
has "none before" "$(printf '%s\n' "$out" | grep '"command":"split"' | sed -n 2p)" \
    '"train":50,"valid":0,"test":75,"left":175'
is "the plot has the rows that there were" "$(cut -d, -f3 l.csv | tr '\n' ' ')" "x 50 100 225 "
rmse=$(points rmse_scaled 3)
ok "more rows, less error" sh -c \
    "set -- $rmse; awk -v a=\$1 -v b=\$2 -v c=\$3 'BEGIN { exit !(a > b && b > c) }'"
run --format json -s thin.gpd -e "$data; split train=100; fit features=1024 variance=none; score"
is "a point is the fit that one would type" "$(printf '%s\n' "$out" | sed -n \
    's/.*"rmse_scaled":\([-0-9.e]*\).*/\1/p' | tail -n 1)" "$(set -- $rmse; echo $2)"
run --format json -s thin.gpd -e "score on=train; split train=all"
has "a session keeps what was set aside" "$out" '"rows":100,'
has "and gives it back" "$out" '"train":225,"valid":0,"test":75,"left":0'
run --format json -e "$data; sweep rows=50,200 fit='features=128'"
is "each number of rows is tuned for" "$(printf '%s\n' "$out" | grep -c '"command":"tune"')" 2
run -e "$data; split train=few"
has "how many rows" "$err" 'give a number of rows'
run -e "$data; split folds=3 train=100"
has "not with folds" "$err" 'folds'
run -e "$data; plot learning"
has "no curve yet" "$out$err" 'sweep rows='

# What fails at one point does not stop the others; what cannot be parsed runs nothing.
run --format json -k -e "$data; sweep features=1,64,128 fit='solver=direct'"
has "a point that cannot be" "$err$out" 'features=1'
run --format json -e "$data; sweep features=64,128 nonsense=1,2"
ok "an unknown key" test $rc -ne 0
has "is named" "$out" 'nonsense'
run -e "$data; sweep rank="
has "no values" "$err" 'no values'
run -e "$data; sweep l=-1..5"
has "an interval that needs a step" "$err" 'needs a step'
run -e "$data; sweep l=1,2,3,4,5,6,7,8,9,10 noise=1,2,3,4,5,6,7,8,9,10 rank=1,2,3,4,5"
has "too many points" "$err" 'too many'
run -e "$data; sweep show=beauty l=1,2"
has "what to show" "$err" 'one of rmse'
run -e "sweep"
has "nothing yet" "$err" 'nothing has been swept'
finish
