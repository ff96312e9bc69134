#!/bin/sh
# tests/scripts/maps/classes.sh -- a map that learns under two classes with one latent function:
# what was learned by dirichlet serves them, and what has learned nothing says what to do.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"

awk 'BEGIN { srand(2); print "a,b,c"; for (i = 0; i < 120; i++) { a = rand(); b = rand()
    print a "," b "," (a * b > 0.3 ? "up" : "down") } }' >two.csv
base='open two.csv target=c; split test=25% seed=1; likelihood bernoulli'

for kernel in 'mlp(width=16,out=4)' 'mlp(rbf,width=16,out=2)' 'mlp(width=16,out=4) + rbf'; do
    for how in fit 'fit solver=sparse' 'fit solver=svm'; do
        run --format json -e "$base; kernel $kernel; $how"
        has "$kernel, $how: without weights" "$out$err" \
            '"name":"learned".*no weights yet.*"try":"likelihood dirichlet, then tune, then likelih'
    done
    run -e "$base link=logit; kernel $kernel; fit"
    has "$kernel, by Laplace's method" "$err" 'error\[learned\].*no weights yet'
done
run -e "$base; kernel mlp(width=16,out=4); tune steps=2"
has "tuning says the same" "$err" 'try  likelihood dirichlet, then tune, then likelihood bernoulli'
# And what it says works.
run --format json -e "$base; kernel mlp(width=16,out=4); likelihood dirichlet; tune steps=60" \
    -e 'likelihood bernoulli; fit; score'
is "the way out ends well" "$rc" 0
area=$(printf '%s\n' "$out" | sed -n 's/.*"command":"score".*"auroc":\([0-9.]*\).*/\1/p')
ok "and finds the classes ($area)" awk "BEGIN { exit !($area > 0.9) }"
finish
