#!/bin/sh
# tests/scripts/stored.sh -- the matrix of an exact kernel, stored or computed in each product: the
# same results, within --mem, and what cannot be stored is refused with what can.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

num() { printf '%s\n' "$out" | sed -n "s/.*\"$1\":\([-+0-9.eE]*\)[,}].*/\1/p" | tail -n 1; }
near() { awk -v x="$1" -v y="$2" -v tol="$3" 'BEGIN { exit !(x != "" && (x - y)^2 <= (tol * y)^2) }'; }
data='demo friedman1 n=300 seed=3; split test=20% seed=1; kernel matern(nu=3/2); set l=3 noise=0.3'

# In float32 every bit is that of computed products, with each solver and number of threads.
for s in 'pcg rank=20' 'lbfgs' 'sdd maxit=200' 'sgd maxit=50'; do
    run -e "$data; fit model=exact solver=$s plan=regenerate; predict out=made.csv"
    run --threads 2 --format json \
        -e "$data; fit model=exact solver=$s plan=store; predict out=kept.csv"
    has "solver=$s says how it stores" "$out" '"plan":"exact","store":"float32"'
    ok "solver=$s has the same bits as without" cmp made.csv kept.csv
done
has "the note tells the cost of both" "$out" \
    'kernel matrix stored in float32 (computed in each product: '

# In float16 true residuals come from computed values.
run --format json -e "$data; fit solver=exact variance=none; score"
want=$(num rmse)
run --format json -s half.gpd \
    -e "$data; fit model=exact solver=pcg rank=20 store=float16 rtol=1e-7; score"
has "float16 is taken" "$out" '"store":"float16"'
ok "and has the error of the Cholesky factor" near "$(num rmse)" "$want" 1e-5
run --format json -s half.gpd -e 'fit continue=r1 rtol=1e-8'
has "a resumed session goes on in float16" "$out" '"store":"float16"'
run -e "$data; fit model=exact solver=sdd store=float16"
has "what does not correct its rounding is refused" "$err" 'float16: only pcg and cg correct'
run -e "$data; set noise=1e-3; fit model=exact solver=pcg store=float16"
has "and so is a noise below the rounding" "$err" 'try  fit model=exact plan=store store=float32'
run -e "$data; fit model=exact solver=pcg plan=regenerate store=float32"
has "no other plan stores" "$err" 'store= is how plan=store keeps the kernel matrix'
run -e "$data; fit model=exact solver=pcg plan=direct"
has "products have no plan=direct" "$err" 'try  fit solver=exact'
run --format json -e "$data; fit model=exact plan=direct"
has "the exact kernel alone has" "$out" '"solver":"exact"'

# Kernels that are computed pair by pair.
arccos='demo friedman1 n=300 seed=3; split test=20% seed=1; kernel arccos; set noise=0.3'
run --format json -e "$arccos; fit solver=exact variance=none; score"
want=$(num rmse)
run --format json -e "$arccos; fit model=exact solver=pcg rtol=1e-7; score"
has "they are stored by themselves" "$out" '"store":"float32"'
ok "with the error of the Cholesky factor" near "$(num rmse)" "$want" 1e-5

# Memory: 4000 rows are 66 MB in float32, half of that in float16.
big='demo friedman1 n=4000 seed=3; split none; kernel matern(nu=3/2); set l=3'
for kernel in 'matern(nu=3/2)' arccos; do
    run -n --mem 200MB -e "$big; kernel $kernel; fit model=exact solver=pcg noise=0.3 plan=store"
    has "$kernel: where there is room, it is float32" "$out" 'matrix stored in float32'
    run -n --mem 64MB -e "$big; kernel $kernel; fit model=exact solver=pcg noise=0.3 plan=store"
    has "$kernel: float16 where that has none" "$out" 'matrix stored in float16'
done
run -n --mem 64MB -e "$big; kernel arccos; fit model=exact solver=pcg noise=0.01"
has "unless its rounding would count" "$out" '(with the kernel matrix stored: '
run --mem 64MB -e "$big; fit model=exact solver=pcg plan=store store=float32"
has "what does not fit is refused" "$err" 'fit model=exact plan=regenerate'
run -n --mem 200MB -e "$big; kernel arccos; fit model=exact solver=pcg plan=regenerate"
has "plan=regenerate computes" "$out" '(with the kernel matrix stored: '

finish
