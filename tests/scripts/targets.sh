#!/bin/sh
# tests/scripts/targets.sh -- several targets: one fit of them against fits of one at a time at the
# same hyperparameters (another path through the solver), every command that knows of targets,
# sessions; on ../shared/data/sulfur too where that is.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

# arr KEY I: element I (from 1) of the last array of a key in the last run's JSON; num KEY: a number
arr() { printf '%s\n' "$out" | sed -n "s/.*\"$1\":\[\([^]]*\)\].*/\1/p" | tail -n 1 | cut -d, \
    -f"$2"; }
num() { printf '%s\n' "$out" | sed -n "s/.*\"$1\":\([-+0-9.eE]*\)[,}].*/\1/p" | tail -n 1; }
near() { awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { d = a - b; d = d < 0 ? -d : d;
    s = (a < 0 ? -a : a); exit !(a != "" && b != "" && d <= t * (1e-3 + s)) }'; }

awk 'BEGIN { srand(4); print "a,b,w,y1,y 2,id"; for (i = 0; i < 400; i++) {
    a = 4 * rand() - 2; b = 4 * rand() - 2; e = rand() + rand() + rand() - 1.5; f = rand() - 0.5
    printf "%.6f,%.6f,%.3f,%.6f,%.6f,%d\n", a, b, 0.5 + rand(),
        sin(2 * a) + b + 0.2 * e, 50 + 10 * a * b + 4 * f, i } }' >two.csv
data='open two.csv target="y1,y 2" skip=w id=id; split test=25% seed=2; kernel matern(nu=5/2)'

run --format json -e "$data" -e 'fit solver=exact l=1.2 amplitude=1 noise=0.2; score'
is "a fit of two targets ends with 0" $rc 0
has "both are named" "$out" '"command":"open".*"inputs":2,"target":"y1","targets":\["y1","y 2"\]'
has "scores are arrays in their order" "$out" \
    '"command":"score".*"targets":\["y1","y 2"\],"rmse":\[[0-9.]*,[0-9.]*\]'
has "amplitude and noise are as given" "$out" '"amplitude":\[1,1\],"noise":\[0.2,0.2\]'
has "nothing else is an array" "$out" '"command":"fit".*"residual":null'

# One at a time: its own scale, the same ratio.
both() { # settings of the fit of both; tolerance
    run --format json -e "$data; tune features=64 evals=4 polish=no seed=3" -e "fit $1; score"
    is "fit $1 ends with 0" $rc 0
    l=$(num lengthscale) a1=$(arr amplitude 1) a2=$(arr amplitude 2)
    n1=$(arr noise 1) n2=$(arr noise 2) r1=$(arr rmse 1) r2=$(arr rmse 2)
    d1=$(arr nlpd 1) d2=$(arr nlpd 2) c2=$(arr crps 2)
    ok "one ratio of noise to amplitude" near "$(awk -v a="$a1" -v n="$n1" \
        'BEGIN { print n / a }')" \
        "$(awk -v a="$a2" -v n="$n2" 'BEGIN { print n / a }')" 1e-9
    run --format json -e \
        "open two.csv target=y1 skip='w,id,y 2'; split test=25% seed=2; kernel matern(nu=5/2)" \
        -e "fit $1 l=$l amplitude=$a1 noise=$n1; score"
    ok "the first target's rmse is that of its own fit" near "$(num rmse)" "$r1" "$2"
    ok "and its nlpd" near "$(num nlpd)" "$d1" "$2"
    run --format json -e \
        "open two.csv target='y 2' skip=w,id,y1; split test=25% seed=2; kernel matern(nu=5/2)" \
        -e "fit $1 l=$l amplitude=$a2 noise=$n2; score"
    ok "the second target's rmse is that of its own fit" near "$(num rmse)" "$r2" "$2"
    ok "and its nlpd" near "$(num nlpd)" "$d2" "$2"
    ok "and its crps" near "$(num crps)" "$c2" "$2"
}
both 'solver=exact rescale=no' 1e-7
both 'solver=pcg features=128 rank=32 rtol=1e-9 rescale=no precision=double' 1e-6
both 'solver=direct features=128' 1e-6
both 'solver=pcg features=128 rank=32 rtol=1e-7 rescale=no precision=float plan=store store=float16' 1e-4

# Commands.
run --format json -e "$data; fit solver=pcg features=128 rank=16 l=1 noise=0.2 rtol=1e-8; score"
ok "iterations are the largest" test "$(num iterations)" -ge "$(arr target_iterations 1)"
ok "of the two" test "$(num iterations)" -ge "$(arr target_iterations 2)"
has "each has its residual" "$out" '"target_true_residual":\[[0-9.e-]*,[0-9.e-]*\]'
one=$(printf '%s\n' "$out" | grep '"command":"score"' | sed 's/"seconds":[^,}]*//')
run --format json --threads 3 -e \
    "$data; fit solver=pcg features=128 rank=16 l=1 noise=0.2 rtol=1e-8; score"
is "3 threads give the figures of 1" "$(printf '%s\n' "$out" | grep '"command":"score"' | sed \
    's/"seconds":[^,}]*//')" "$one"
run -e "$data; fit l=1 noise=0.2; score; check target='y 2'; check; plot parity target='y 2'; describe sd"
is "looking at one of them ends with 0" $rc 0
has "the score is a table" "$out" '^  y 2  *[0-9.]*  *[0-9.]*'
has "check says which" "$out" 'test rows: target y 2'
has "the first by default" "$out" 'test rows: target y1'
has "the plot says which" "$out" 'Predicted against observed of y 2, r1'
has "and describe" "$out" 'sd of y1, r1'
for c in check 'plot parity' 'describe calibration' compare; do
    run -e "$data; fit l=1 noise=0.2; fit l=2 noise=0.2; score r1; score r2; $c target=a"
    is "$c of a column that is no target is refused" $rc 1
    has "with those there are" "$err" 'y1, y 2'
done
run -e "$data; fit l=1 noise=0.2; fit l=2 noise=0.2; score r1; score r2; compare target='y 2'; compare; runs"
is "runs are compared" $rc 0
has "by the second target" "$out" 'target  *y 2 (1 of 2)'
run -e "$data; fit l=1 noise=0.2 features=64 solver=pcg; predict out=p.csv; predict two.csv out=q.csv"
is "predictions are written" $rc 0
is "with the columns of each" "$(head -n 1 p.csv)" \
    'row,id,mean_y1,sd_latent_y1,sd_y1,mean_y 2,sd_latent_y 2,sd_y 2'
is "all of them" "$(awk -F, 'NF != 8' p.csv | wc -l)" 0
run -e "$data; fit l=1 noise=0.2 features=64 solver=pcg variance=none; predict out=p.csv; score"
is "and without variances" "$(head -n 1 p.csv)" 'row,id,mean_y1,mean_y 2'
run --format json -e \
    "$data; cols w role=weight; fit l=1 noise=0.2; score; split folds=3 seed=1; fit l=1 noise=0.2; score folds=yes"
is "weights and folds" $rc 0
has "a mean over folds for each" "$out" \
    '"on":"folds".*"rmse":\[[0-9.]*,[0-9.]*\],"rmse_folds":{"y1":\[[0-9.,]*\],"y 2":\['
run -e "$data; sweep features=64,128 tune='evals=3 features=64' fit='solver=pcg rank=16'"
is "sweep" $rc 0
run -e "$data; race pcg(rank=16),lbfgs features=64 rtol=1e-3 l=1 noise=0.3"
is "race" $rc 0
run -e "$data; fit l=1 noise=0.2 features=64; pca color='y 2'; cluster k=2..3"
is "pca and cluster" $rc 0
for k in 'rbf(ard)' 'rbf + linear' 'periodic * rbf' 'arccos' 'poly(degree=2)'; do
    run -e "$data; tune kernel='$k' features=64 evals=4; fit features=128; score"
    is "kernel $k" $rc 0
done
for o in solver=exact objective=loo objective=validation 'nmll=approx features=128 rank=32' \
    method=lbfgs method=bobyqa; do
    run --format json -e "$data; split test=20% valid=20% seed=1; tune $o evals=5 rows=100"
    is "tune $o" $rc 0
    has "a scale for each" "$out" '"command":"tune".*"amplitude":\[[0-9.]*,[0-9.]*\],"noise":\['
done
run --accept-unconverged --format json -e \
    "$data; fit features=128 solver=pcg rank=16 maxit=3 l=1 noise=0.1; fit continue=r1 maxit=500; fit from=r2 features=128 solver=pcg rank=16 l=1.01 noise=0.1"
is "continue and from" $rc 0
ok "a warm start" test "$(num start_residual)" != 1
run -e "$data; fit features=128 solver=pcg rank=16 l=1 noise=0.1; cols y1 role=target; fit from=r1 features=128 solver=pcg rank=16 l=1 noise=0.1"
is "other targets are no start" $rc 1
has "and that is said" "$err" '2 targets'

# Missing cells of one target: the policy in force, counted.
awk -F, 'BEGIN { OFS = "," } NR % 50 == 3 { $5 = "" } { print }' two.csv >gaps.csv
run -e "open gaps.csv target='y1,y 2' skip=w,id; fit l=1 noise=0.2"
is "a target with gaps is refused" $rc 1
has "by name" "$err" "target 'y 2' is missing in 8 of the rows"
run -e "open gaps.csv target='y1,y 2' skip=w,id; missing drop; fit l=1 noise=0.2"
is "or its rows are dropped" $rc 0
has "and counted" "$err" '8 of 400 training rows'

# Sessions: what belongs to a target comes back, bit for bit; and a script replays.
run -s t.gpd -e \
    "$data; tune evals=3 features=64; fit features=128 solver=pcg rank=16; score; predict out=p.csv; script out=out.gps"
is "a session" $rc 0
run --format json -s t.gpd -e 'predict out=q.csv; show r1; runs; check r1 target="y 2"'
is "goes on" $rc 0
is "with the same predictions" "$(cksum <q.csv)" "$(cksum <p.csv)"
has "the same names and scores" "$out" \
    '"command":"runs".*"targets":\["y1","y 2"\],"rmse":\[[0-9.]*,[0-9.]*\]'
has "and scales" "$out" '"command":"show".*"amplitude":\[[0-9.]*,[0-9.]*\]'
ok "with arrays" grep -q '"amplitudes":' t.gpd
run -s u.gpd -e \
    "open two.csv target=y1 skip=w; split test=25%; tune evals=3 features=64; fit features=128; score"
is "one target" $rc 0
ok "is kept as it always was" sh -c '! grep -qE "\"(amplitudes|noises|more)\":|\"targets\":\\[" u.gpd'
run -f out.gps -e "predict out=r.csv"
is "a script replays" "$(cksum <r.csv)" "$(cksum <p.csv)"

# Sulfur: two outputs of a plant.
sulfur=${GPDESK_SHARED:-$src/../shared}/data/sulfur/data.csv.gz
if test -r "$sulfur"; then
    fit='fit features=1024 solver=pcg rank=256 rtol=1e-7 variance=512 precision=double l=0.7'
    run --format json -e "open $sulfur target=y1,y2; split test=20% seed=1; kernel matern(nu=5/2)" \
        -e "$fit amplitude=5 noise=0.6; score"
    is "sulfur, both targets" $rc 0
    r1=$(arr rmse 1) r2=$(arr rmse 2) d1=$(arr nlpd 1) d2=$(arr nlpd 2) p=$(num passes)
    run --format json -e \
        "open $sulfur target=y1 skip=y2; split test=20% seed=1; kernel matern(nu=5/2)" \
        -e "$fit amplitude=5 noise=0.6; score"
    ok "y1: rmse" near "$(num rmse)" "$r1" 1e-5
    ok "y1: nlpd" near "$(num nlpd)" "$d1" 1e-5
    p1=$(num passes)
    run --format json -e \
        "open $sulfur target=y2 skip=y1; split test=20% seed=1; kernel matern(nu=5/2)" \
        -e "$fit amplitude=5 noise=0.6; score"
    ok "y2: rmse" near "$(num rmse)" "$r2" 1e-5
    ok "y2: nlpd" near "$(num nlpd)" "$d2" 1e-5
    p2=$(num passes)
    ok "one pass serves both" awk -v p="$p" -v a="$p1" -v b="$p2" \
        'BEGIN { m = a > b ? a : b; exit !(p <= 1.1 * m + 2 && p < 0.7 * (a + b)) }'
else
    echo "# no $sulfur"
fi
finish
