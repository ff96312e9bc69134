#!/bin/sh
# tests/scripts/classes/likelihoods.sh -- likelihood softmax and discriminant: fit, score, check,
# predict, calibrate, sessions, undo, weights, stops, kinds of rows, and what they refuse.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"
cd "$dir" || exit 99

awk 'BEGIN { srand(5); print "x1,x2,kind"
    for (i = 1; i <= 300; i++) {
        a = 4 * rand() - 2; b = 4 * rand() - 2
        k = a > 1.2 ? "rare" : b > 0 ? "north" : "south"
        printf "%.4f,%.4f,%s\n", a, b, k } }' >three.csv
base='open three.csv target=kind; split test=30% stratify=yes seed=4; kernel rbf(l=1.2)'
each() { printf '%s\n' "$out" | sed -n "s/.*\"command\":\"$1\".*\"$2\":\([-+.0-9e]*\).*/\1/p"; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a < b) }'; }

for l in softmax discriminant; do
    run --format json -s $l.gpd --threads 1 -e "$base; likelihood $l; tune evals=4 features=64" \
        -e 'fit features=128; score; check; why; predict columns=row,y,class,p out=p.csv'
    is "$l: all of it ends well" "$rc" 0
    has "$l: the kernel is tuned by Dirichlet regressions" "$out" \
        '"command":"tune".*"link":"dirichlet"\|"command":"tune"'
    has "$l: its kind" "$out" "\"command\":\"fit\".*\"model\":\"$l\""
    ok "$l: left-out rows have a log loss" less "$(each fit left_out_nlpd)" 0.6
    ok "$l: most rows are right" less 0.85 "$(each score accuracy)"
    has "$l: check judges the probabilities" "$out" '"findings":{"calibration"'
    loss=$(each score log_loss)
    sum=$(awk -F, 'NR == 1 { for (j = 1; j <= NF; j++) at["p_" $0] = j; split($0, name, ",") }
        NR > 1 { for (j = 4; j <= NF; j++) if (name[j] == "p_" $2) s -= log($j)
            t = $4 + $5 + $6; if (t - 1 > 1e-12 || 1 - t > 1e-12) bad++; n++ }
        END { printf "%.9f %d", s / n, bad }' p.csv)
    is "$l: log loss by awk, probabilities that sum to 1" "$(printf '%.9f 0' "$loss")" "$sum"
    cp p.csv first.csv
    run --format json -s $l.gpd --threads 3 -e 'predict columns=row,y,class,p out=p.csv' \
        -e 'likelihood; undo; undo; likelihood softmax; undo; redo; redo'
    ok "$l: a session predicts to the bit" cmp -s first.csv p.csv
    has "$l: and has the likelihood" "$out" "\"likelihood\":\"$l\""
    run --threads 3 -e "$base; likelihood $l; tune evals=4 features=64" \
        -e 'fit features=128; predict columns=row,y,class,p out=p3.csv'
    ok "$l: the same bits with three threads" cmp -s first.csv p3.csv
    run -s $l.gpd -e script
    has "$l: a script has the likelihood" "$out" "^likelihood $l\$"
    run --format json -s $l.gpd -e 'calibrate rows=40; score; calibrate method=conformal level=0.8' \
        -e 'score; compare r1 r2; plot confusion out=c.csv; plot reliability out=r.csv' \
        -e 'plot roc out=roc.csv; plot pr out=pr.csv; plot boundary out=b.csv; report out=r.html'
    is "$l: calibrations, plots, a report" "$rc" 0
    has "$l: a temperature" "$out" '"command":"score".*"temperature":[0-9]'
    has "$l: and sets" "$out" '"set_coverage":'
    has "$l: the report names the method" "$(cat r.html)" 'Parkinson'
    run --format json -e "$base; likelihood $l classweights=balanced decision=rare:0.2" \
        -e 'likelihood; fit features=64 amplitude=3; score'
    has "$l: weights and a rule are in force" "$out" \
        '"classweights":"balanced","rule":"decision=rare:0.2"'
    has "$l: and choose the class" "$out" '"command":"score".*"rule":"decision=rare:0.2"\|decision=r'
    # Damage: a byte of what the model keeps.
    if command -v sqlite3 >/dev/null; then
        for what in state w; do
            cp $l.gpd d.gpd
            sqlite3 d.gpd "update blob set data = substr(data, 1, 40) || x'01' || substr(data, 42)
                where what = '$what'"
            rm -f d.csv
            run -s d.gpd -e 'predict run=r1 out=d.csv'
            ok "$l: a damaged $what is never used" test ! -e d.csv
        done
    fi
done

# What is the same for all classes is told once; what has no iterations says what to look at.
run -e "$base; likelihood dirichlet; fit features=64 amplitude=2"
has "one amplitude for all classes" "$out" 'amplitude 2 (all 3)$'
has "they are called classes" "$out" 'features=64 .*dirichlet\|3 classes  features=64'
run -e "$base; likelihood dirichlet; tune evals=3 features=64; fit features=64"
has "different ones one by one" "$out" 'amplitude [0-9.]* [0-9.]* [0-9.]*$'
run --format json -e "$base; likelihood dirichlet; fit features=64 amplitude=2"
has "a program reads each" "$out" '"amplitude":\[2,2,2\]'
for l in dirichlet discriminant; do
    run --format json -e "$base; likelihood $l; fit features=64; plot residual out=none.csv"
    has "$l: no residuals" "$err$out" 'classes are fitted without them, but under softmax'
    has "$l: no solver is proposed that classes refuse" "$err$out" '"try":"score, then plot rel'
done
run --format json -e "$base; where kind!='rare'; likelihood bernoulli; fit; plot rate out=none.csv"
has "bernoulli: no rate" "$err$out" 'classes are fitted without them'
run --format json -e "$base; likelihood softmax; fit features=64 amplitude=2; plot residual out=r.csv"
is "softmax has them" "$rc" 0

# A stop leaves a usable model, which goes on with its weights.
run --format json --accept-unconverged -s go.gpd \
    -e "$base; likelihood softmax; fit features=64 amplitude=20 maxit=1" \
    -e 'score; fit continue=r1 maxit=50; score; fit features=64 amplitude=20 from=r2'
is "one step, and the rest" "$rc" 0
has "a step is no end" "$out" '"command":"fit".*"outcome":"maxit"'
has "which is told" "$out" '"name":"newton".*gradient is still'
has "the rest is" "$out" '"outcome":"rtol"'
ok "and another log loss" awk -v "l=$(each score log_loss | paste -sd' ')" \
    'BEGIN { split(l, v, " "); exit !(v[1] != v[2]) }'
run -s go.gpd -e 'likelihood discriminant; fit features=64; fit continue=.'
has "a direct fit has nothing to continue" "$err" 'solved directly.*nothing to continue'

# Variances by Laplace's method, made again after a session.
run --format json -s va.gpd -e "$base; likelihood softmax; fit features=64 amplitude=2 variance=all" \
    -e 'predict out=p.csv; fit features=64 amplitude=2; predict out=q.csv'
cp p.csv first.csv
run -s va.gpd --threads 2 -e 'predict run=r1 out=p.csv'
ok "factors are made again to the bit" cmp -s first.csv p.csv
ok "variances make probabilities less sure" awk -F, 'NR == FNR { p[FNR] = $3; next }
    FNR > 1 { m = $3; o = p[FNR]; a += (m > 0.5 ? m : 1 - m); b += (o > 0.5 ? o : 1 - o) }
    END { exit !(b < a) }' first.csv q.csv

# Rows of other kinds: letters, graphs, words; and a learned map.
awk 'BEGIN { srand(2); print "s,y"
    for (i = 0; i < 80; i++) { t = ""; for (j = 0; j < 8; j++)
            t = t substr("ACGT", 1 + int(rand() * (i % 2 ? 2 : 4)), 1)
        print t "," (i % 2 ? "low" : "all") } }' >letters.csv
run --format json -e 'open letters.csv target=y; cols s type=sequence; split test=25% seed=1' \
    -e 'kernel conv(rbf,width=3); likelihood softmax; fit features=64; score' \
    -e 'likelihood discriminant; fit features=64; score'
is "sequences" "$rc" 0
run --format json -e "$base; likelihood softmax; kernel mlp(width=8,depth=1,out=4)" \
    -e 'tune steps=5; fit; score; likelihood discriminant; fit; score'
is "a learned map" "$rc" 0
has "left-out rows that the map has seen are told" "$out" \
    '"name":"seen".*trained on these, too.*"try":"split test=20% valid=10%, then tune'
run --format json -e "${base%%;*}; split test=20% valid=20% seed=4; likelihood softmax" \
    -e 'kernel mlp(width=16,depth=1,out=8); tune steps=20; fit; score; calibrate on=valid; score' \
    -e 'fit amplitude=3; likelihood dirichlet; fit'
has "with validation rows a temperature by them is proposed" "$out" '"name":"seen".*"try":"calibrate on'
is "not where an amplitude is given, nor for regressions" \
    "$(printf '%s\n' "$out" | grep -c '"name":"seen"')" 1
has "it is found" "$out" '"command":"score".*"method":"temperature"'

# What they refuse.
run -e "$base; likelihood softmax; fit solver=exact"
has "the exact kernel" "$err" 'error\[classes\].*works on random features'
has "with what to do instead" "$err" 'likelihood dirichlet'
run -e "$base; likelihood softmax; fit variance=1000"
has "a number of features for the variance" "$err" 'none or all'
run -e "$base; likelihood discriminant; fit variance=all"
has "a discriminant's variances" "$err" 'variance= belongs to a regression'
run -e "$base; likelihood softmax link=logit"
has "a link" "$err" 'has no link logit'
run -e "$base; likelihood softmax positive=rare"
has "a positive class" "$err" 'none is the positive one'
finish
