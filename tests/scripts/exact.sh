#!/bin/sh
# tests/scripts/exact.sh -- questions about a fit of the exact kernel: its spectrum, why it stopped,
# and what its hyperparameters are worth.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

num() { printf '%s\n' "$out" | sed -n "s/.*\"$1\":\([-+0-9.eE]*\)[,}].*/\1/p" | tail -n 1; }
near() {
    awk -v x="$1" -v y="$2" -v tol="$3" 'BEGIN { exit !(x != "" && (x - y)^2 <= (tol * y)^2) }'
}
data='demo friedman1 n=400 seed=3; split test=20% seed=1; kernel matern(nu=3/2); set l=3 noise=0.3'

# The spectrum is that of the kernel matrix: its effective dimension is the one that the Cholesky
# factor gives, tr K (K + ratio I)^-1.
run --format json -e "$data; fit solver=exact; spectrum"
want=$(num effective_dimension | head -n 1)
fit=$(printf '%s\n' "$out" | grep '"command":"fit"' |
    sed -n 's/.*"effective_dimension":\([0-9.e]*\).*/\1/p')
ok "the effective dimension is that of the factor" near "$want" "$fit" 1e-4
has "there are no features" "$out" '"command":"spectrum".*"features":null'
run -e "$data; fit model=exact solver=pcg rank=20; spectrum; plot spectrum out=s.csv"
has "a fit by products has the same" "$out" 'exact kernel, 320 rows (from 320 rows'
has "with its Ritz values" "$out" 'Ritz values of the solver'
run --format json -e "$data; spectrum model=exact"
ok "and a planned fit" near "$(num effective_dimension)" "$want" 1e-6
run --format json -e "$data; spectrum rows=160 model=exact"
ok "a sample of half of the rows is near" near "$(num effective_dimension)" "$want" 0.1
# Advice on an exact kernel: on as many rows as there are, the iterations are those of the fit.
run --format json -s adv.gpd -e "$data; advise model=exact rank=20,64 rtol=1e-5; fit model=exact solver=pcg rank=20 rtol=1e-5; fit model=exact solver=pcg rank=64 rtol=1e-5"
for r in 20 64; do
    said=$(printf '%s\n' "$out" | grep '"command":"advise"' |
        sed -n "s/.*{\"rank\":$r,\"ratio\":[-0-9.e+]*,\"iterations\":\([0-9]*\),.*/\1/p")
    took=$(printf '%s\n' "$out" | grep '"command":"fit"' | grep "\"rank\":$r," |
        sed -n 's/.*"iterations":\([0-9]*\),"residual.*/\1/p')
    ok "rank $r takes what advise says" near "$took" "$said" 0.1
done
has "beside a factor and solvers by rows" "$out" '"model":"exact","features":null,.*"direct_seconds":[0-9.e-]*,"steps":\[{"solver":"blocks","seconds":[0-9.e-]*,"bytes":[0-9.e+]*},{"solver":"sdd"'
has "fits teach it" "$out" '"name":"advice"'
run -s adv.gpd -e "advise model=exact rank=20,64 rtol=1e-5; plot rank out=a.csv; undo; undo; redo"
has "a session keeps what they took" "$out" '20 .* taken\|20  *[0-9.]*  *[0-9]*  *[0-9]*\.\.[0-9]* .*[0-9]$'
has "its table has the other ways" "$out" '^ *sdd '
run -s adv.gpd -e "plot rank out=b.csv"
ok "and the plot" cmp a.csv b.csv
run -e "$data; advise model=exact rank=70 rows=200"
has "a rank beyond the sample has a line that works" "$err" \
    'try  advise model=exact rank=70 rows=280'
run -e "$data; advise model=exact rank=100 rows=400"
has "and one beyond the rows" "$err" 'try  advise model=exact rank=80'
run -e "$data; advise model=exact rank=70 rows=280 precond=rpchol"
is "which does, with another preconditioner" "$rc" 0
run -e "$data; advise model=exact precond=gram"
has "a factor of features is none" "$err" 'gram'

# Why.
run -e "$data; fit model=exact solver=pcg precond=jacobi maxit=3; why"
has "why tells that it stopped at its limit" "$out" 'it stopped at its limit of 3 iterations'
has "and how to go on" "$out" 'maxit=12'
run -e "$data; fit model=exact solver=sdd(batch=64) maxit=900 rtol=1e-12; why" \
    -e 'fit model=exact solver=sdd(batch=64); why'
ok "no remedy allows no iterations" test -z "$(printf '%s\n' "$out" | grep 'maxit=0')"

# Hyperparameters.
run -e "$data; tune solver=features features=64 evals=8; fit solver=exact"
has "a noise that was tuned with features is noted" "$out$err" 'note\[noise-of-features\]'
run -e "$data; tune solver=exact rows=100 evals=8; fit solver=exact"
is "one that was tuned exactly is not" "$(printf '%s\n' "$out$err" | grep -c noise-of-features)" 0
run --format json -e "$data; fit model=exact solver=pcg"
has "a default rank is no given one" "$out" '"rank_chosen":"auto"'
run -n -e 'demo friedman1 n=8000 seed=3; tune solver=exact rows=500'
has "a dry tuning plans for the rows that it uses" "$out" 'Cholesky of 500 rows'

# Whatever solves, estimates or goes on does so on both systems, and with each preconditioner of the
# registry it works or names the line that does.
run -e 'help fit'
preconds=$(printf '%s\n' "$out" | sed -n 's/^ *precond=WORD *//p' | tr -d ,)
ok "there are preconditioners" test "$(echo $preconds | wc -w)" -ge 7
for way in 'model=features features=128' 'model=exact'; do
    solver=solver=$(echo "$way" | sed 's/model=\([a-z]*\).*/\1/')
    rm -f two.gpd
    run --accept-unconverged -s two.gpd \
        -e "$data; fit $way solver=cg maxit=5 rtol=1e-4; why; fit continue=r1 maxit=300" \
        -e "fit from=r2 noise=0.31 $way solver=pcg rtol=1e-4; spectrum; spectrum $way" \
        -e "advise $way; race cg,pcg $way rtol=1e-4"
    is "$way: solved, continued, explained, estimated and raced" $rc 0
    run -s two.gpd -e "tune $solver nmll=approx evals=4 probes=4 features=128" \
        -e "landscape $solver nmll=approx grid=3; plot landscape out=both.csv"
    is "$way: tuned and drawn by probes" $rc 0
    for p in $preconds; do
        run -s two.gpd -e "fit $way solver=pcg precond=$p rtol=1e-3"
        [ $rc -eq 0 ] && continue
        line=$(printf '%s\n' "$err" | sed -n 's/^ *try  \([^,]*\), or.*/\1/p')
        run -s two.gpd -e "$line rtol=1e-3"
        is "$way: precond=$p is refused with a line that works: $line" $rc 0
    done
done

# Clustered rows and hardly any noise: single precision has a floor, and says so.
awk 'BEGIN { srand(2); print "x,z,y"
    for (i = 0; i < 1500; i++) { a = rand(); b = i < 1000 ? 0.5 + 1e-3 * rand() : rand()
        print (i < 1000 ? 0.5 + 1e-3 * a : a) "," b "," sin(6 * a) + b } }' >cluster.csv
run --format json -e 'open cluster.csv target=y; kernel rbf; set l=0.5 amplitude=1 noise=1e-3' \
    -e 'fit model=exact solver=pcg rtol=1e-2 maxit=2000'
has "a noise below single precision is raised" "$out" '"name":"noise-floor"'
is "and the solve does not break down" "$(printf '%s\n' "$out" | grep -c '"outcome":"breakdown"')" 0

finish
