#!/bin/sh
# tests/scripts/dual.sh -- descents in dual variables on an exact kernel, from the command line:
# how near they come to Cholesky, what they report, how they go on, and what they refuse.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

num() { # KEY of the COMMAND's result number N
    printf '%s\n' "$out" | grep "\"command\":\"$2\"" | sed -n "$3p" |
        sed -n "s/.*\"$1\":\([-+0-9.eE]*\).*/\1/p"
}
holds() { awk "BEGIN { exit !($1) }"; }

data='demo friedman1 n=900 seed=2; split test=20% seed=1; kernel matern(nu=3/2)'
data="$data; set l=2 amplitude=1 noise=0.2"

run --format json --seed 7 -s a.gpd -e "$data" \
    -e 'fit solver=exact variance=none; score; fit solver=sdd(batch=128) rtol=1e-12; score' \
    -e 'fit continue=r2 maxit=100; fit model=exact solver=sdd(momentum=0,average=none) maxit=30' \
    -e 'fit solver=gd maxit=20; fit solver=gd(objective=primal) maxit=20; fit solver=sgd maxit=20'
is "all is done, and steps that were planned are no failure" "$rc" 0
best=$(num rmse_scaled score 1) got=$(num rmse_scaled score 2)
ok "sdd is near Cholesky, $best: $got" holds "$got < 1.01 * $best"
is "without features it is the exact kernel" "$(num batch fit 2)" 128
ok "the step is 0.8 of the limit" \
    holds "($(num step fit 2) / $(num step_limit fit 2) - 0.8) ^ 2 < 1e-12"
ok "lambda1 is a share of the rows" holds "0 < $(num lambda1 fit 2) && $(num lambda1 fit 2) < 1"
is "the work of 200 products" "$(num iterations fit 2)" 1125
ok "it goes on from its average" holds "$(num start_residual fit 3) < 0.1"
is "with as many steps as asked for" "$(num iterations fit 3)" 100
has "its residuals are a trace" "$out" '"phase":"cg".*"method":"sdd"'
has "of estimates" "$out" '"estimated":true.*"method":"sdd"'
is "the others are none" "$(printf '%s\n' "$out" | grep -c 'estimated.*"method":"gd"')" 0
ok "the outcome is the true residual" holds "$(num true_residual fit 3) > 0"
is "no step had to be halved" "$(printf '%s\n' "$out" | grep -c '"name":"step"')" 0
p=$(num residual fit 6) d=$(num residual fit 5)
ok "the dual objective gets further than the primal, $p: $d" holds "$d < $p"
run -s a.gpd -e 'plot residual r2 out=r.csv; fit continue=r3 maxit=50'
has "the outcome is no estimate" "$out" 'made its 50 steps of 128 rows: residual'
has "the curve is an estimate" "$(cat r.csv)" 'r2 estimate'
has "beside the true residual" "$(cat r.csv)" 'r2 true'
run --format json -s a.gpd -e 'runs'
is "a session keeps parameters that are words or 0" "$rc" 0

# Blocks: without a step length, nearer in the same work, and stopped and continued as sdd is.
run --format json --seed 7 -e "$data; fit solver=exact variance=none; score" \
    -e 'fit solver=blocks(batch=128) maxit=60 rtol=1e-12; score; fit solver=sdd(batch=128) maxit=60'
ok "blocks are near Cholesky after ten products" \
    holds "($(num rmse_scaled score 2) / $(num rmse_scaled score 1) - 1) ^ 2 < 1e-6"
ok "nearer than sdd" holds "$(num true_residual fit 2) < 0.1 * $(num true_residual fit 3)"
is "they have no step" "$(num step_limit fit 2)" ''
run -e "$data; fit model=features solver=blocks"
has "features have no blocks" "$out$err" 'try *fit model=exact solver=blocks'

# A race stops a run somewhere on its way: what goes on from there is the unbroken run.
few=$(echo "$data" | sed 's/n=900/n=300/')
for how in 'blocks(batch=16) maxit=20000' 'sdd(batch=16) maxit=20000' 'sgd(batch=16) maxit=4000' 'gd(step=0.1) maxit=4000'; do
    rm -f c.gpd
    run --format json --seed 7 --threads 1 -s c.gpd \
        -e "$few; fit model=exact solver=$how rtol=1e-13; predict out=whole.csv" \
        -e "race pcg,${how% *} model=exact ${how#* } rtol=1e-13 losers=1"
    case $out in
    *'"run":"r3"'*'"outcome":"cancelled"'*) ;;
    *) echo "# $how had ended before it was stopped" && continue ;;
    esac
    run --format json --seed 7 --threads 2 -s c.gpd -e 'fit continue=r3; predict out=on.csv'
    has "$how was stopped and goes on" "$out$err" 'as if it had not been stopped'
    ok "$how: the same bits" cmp -s whole.csv on.csv
done

# Rows that were told: the next fit starts from the weights of the last one, at its rows, although
# means and deviations of the inputs have moved; it needs fewer products, and predicts the same.
awk 'BEGIN { print "a,b,y"; for (i = 0; i < 400; i++) {
    a = (i * 37 % 400) / 100; b = (i * 91 % 397) / 100; print a "," b "," sin(2 * a) * cos(b) } }' >t.csv
system='kernel matern(nu=3/2); set l=1 noise=0.1 amplitude=1 seed=7'
fit='fit model=exact solver=cg rtol=1e-4'
run -s told.gpd -e "open t.csv target=y; $system; $fit samples=8" \
    -e 'suggest 8 a=0..4 b=0..6 out=s.csv'
awk -F, 'NR == 1 { print "id,y"; next } { print $1 "," sin(2 * $2) * cos($3) }' s.csv >plate.csv
run --format json -s told.gpd -e "tell plate.csv; $fit; predict t.csv out=warm.csv columns=mean; $fit"
has "rows that were told start the next fit" "$out" 'rows were told since r1.* at 400 of 408 rows'
is "which is the next one alone" "$(printf '%s\n' "$out" | grep -c 'rows were told since')" 1
warm=$(num iterations fit 1) cold=$(num iterations fit 2)
ok "it saves products: $warm for $cold" holds "$warm <= 0.95 * $cold"
run -s told.gpd -e 'predict t.csv run=r3 out=cold.csv columns=mean'
ok "and predicts the same" awk -F, 'NR > 1 && FNR == NR { want[FNR] = $1 }
    FNR < NR && FNR > 1 && ($1 - want[FNR]) ^ 2 > 1e-6 { bad = 1 } END { exit bad || NR < 800 }' \
    warm.csv cold.csv
run --format json -s told.gpd -e "tell s1=3"
has "a second, different value changes nothing" "$out$err" 'was told before'

# A step that is too long is halved, and why says so, with the line that takes the one of the rule.
run -e "$data; fit solver=sdd(batch=128,step=5) maxit=300; why"
has "a step is halved" "$out$err" 'note\[step\]'
has "why explains it" "$out" ' step  *its steps were too long'
has "and names the step of the rule" "$out" 'try  fit maxit=300 solver=sdd$'

# Variances from functions: a residual counts beside the noise.
few="$(echo "$data" | sed 's/n=900/n=300/'); set threads=1 l=8"
run --format json -e "$few; fit solver=sdd(batch=32) maxit=800 samples=8" \
    -e 'set noise=0.02; fit solver=sdd(batch=32) maxit=800 samples=8'
holds "$(num samples_residual fit 1) < 0.2 * 0.2 && $(num samples_residual fit 2) > 0.2 * 0.02" ||
    echo "# residuals $(num samples_residual fit 1), $(num samples_residual fit 2) test nothing"
has "small beside the noise, they scatter" "$out" '"run":"r1".*functions and scatter by 50 %'
has "else they are too large" "$out" '"run":"r2".*beside a noise of 0.02: unfinished'
ok "more momentum than 0.9 where it pays" holds "$(num momentum fit 1) >= 0.9"

# An unfinished solve only bounds the likeliest amplitude, which Cholesky tells: it moves no further
# than the bounds ask for, and the density of new rows is not that of an amplitude ten times lower.
hard="$data; tune solver=exact"
run --format json -e "$hard; fit solver=exact rescale=ratio; score"
best=$(num amplitude fit 1)
run --format json -s open.gpd -e "$hard; fit solver=sdd(batch=64) maxit=400 samples=64; score" \
    -e 'tune solver=exact l=8 amplitude=0.1 noise=0.01; fit solver=sdd(batch=64) maxit=400'
has "it is kept where the bounds hold it, and that is told" "$out" '"name":"likeliest","run":"r1"'
ok "near Cholesky's, $best" holds "($(num amplitude fit 1) / $best - 1) ^ 2 < 0.01"
ok "one below them moves to the lower" \
    holds "$(num amplitude fit 2) > 0.2 && $(num amplitude fit 2) < $best"
run -s open.gpd -e 'report out=open.html'
has "a resumed report says so" "$(cat open.html)" 'an unfinished solve does not tell where'

run -e "$data; fit model=features solver=sdd"
has "features have no rows of the kernel" "$out$err" 'try *fit model=exact solver=sdd'
run -e "$data; fit solver=sdd(average=median)"
has "a word is one of its words" "$out$err" 'geometric,arithmetic,none'
run --format json -e "$data" -e 'race sdd,pcg(precond=pchol) model=exact maxit=20'
is "it races" "$(printf '%s\n' "$out" | grep -c '"command":"fit"')" 2

# Against the solution: the K^2 norm of the error is the sum of the squared differences of the
# predictions of training rows, in standard deviations of the target.
awk 'BEGIN { srand(3); print "a,b,y"; for (i = 0; i < 300; i++) { a = rand(); b = rand()
    print a "," b "," sin(6 * a) + b * b + 0.1 * rand() } }' >ab.csv
run --format json --seed 7 -s d.gpd -e 'open ab.csv target=y; kernel matern(nu=3/2)' \
    -e 'set l=1 noise=0.3; fit solver=exact variance=none; predict ab.csv out=a.csv' \
    -e 'race sdd(batch=64),pcg,gd(objective=primal) model=exact against=r1 maxit=60' \
    -e 'predict ab.csv out=b.csv; plot race of=k out=k.csv'
is "a race against the solution" "$rc" 0
of() { # KEY of the contender with this NAME
    printf '%s\n' "$out" | grep '"command":"race"' | tail -n 1 |
        sed "s/.*\"name\":\"$2\"[^}]*\"$1\":\([-+0-9.eE]*\).*/\1/"
}
ok "pcg ends at the solution" holds "$(of error_k pcg) < 1e-9 && $(of error_k2 pcg) < 1e-9"
want=$(paste -d, a.csv b.csv ab.csv | awk -F, 'NR > 1 { d = $2 - $4; s += d * d; n++
    m += $NF; q += $NF * $NF } END { m /= n; printf "%.6g", s / (q / n - m * m) }')
got=$(of error_k2 'gd(objective=primal)')
ok "the error in the K^2 norm, $got: $want" holds "($got / $want - 1) ^ 2 < 1e-4"
has "ticks have the errors" "$out" '"phase":"cg".*"error_k":.*"error_k2":.*"rmse_scaled":'
is "curves of the errors" "$(cut -d, -f2 k.csv | grep -o 'r[234] [a-z]*' | sort -u | tr '\n' ,)" \
    'r2 sdd,r3 pcg,r4 gd,'
run -s d.gpd -e 'set l=3; fit model=exact solver=pcg against=r1'
has "another system has another solution" "$out$err" 'not a fit of the same system'
run -s d.gpd -e 'fit model=features solver=pcg against=r1'
has "features have other weights" "$out$err" 'two fits of the exact kernel'
finish
