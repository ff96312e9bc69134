#!/bin/sh
# tests/scripts/svm.sh -- fit solver=svm from the command line: scores against sums by awk, words as
# sums, sessions, undo, plots, silence of LIBSVM, stops, and what a support vector machine refuses.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

# 400 rows: two inputs, a class that follows their product.
awk 'BEGIN { srand(3); print "a,b,kind,id"
    for (i = 0; i < 400; i++) {
        a = 4 * rand() - 2; b = 4 * rand() - 2
        print a "," b "," (a * b + 0.4 * (rand() - 0.5) > 0.6 ? "yes" : "no") ",r" i
    } }' >two.csv
open='open two.csv types=kind=category; cols kind role=target; cols id role=id'
base="$open; likelihood bernoulli; split test=30% stratify=yes seed=4; kernel rbf"
at='lengthscale=1.5 amplitude=2'

refuse() { # name commands pattern
    run --format json -e "$2"
    has "refused: $1" "$err$out" "$3"
}
run --format json -e about
if printf '%s\n' "$out" | grep -q '"libsvm":false'; then
    refuse "without the library" "$base; fit solver=svm" '"name":"svm".*apt-get install libsvm-dev'
    finish
fi

run --format json -s s.gpd -e "$base" -e "fit $at; fit solver=svm C=1 $at; score; check" \
    -e 'predict columns=id,y,p,class,mean_latent out=p.csv; predict out=d.csv'
is "the analysis ends well" "$rc" 0
is "LIBSVM prints nothing" "$err$(printf '%s\n' "$out" | grep -cv '^{.*}$')" 0
fit=$(printf '%s\n' "$out" | grep '"solver":"svm"' | tail -n 1)
has "the fit tells its support vectors" "$fit" '"support_vectors":[0-9]*,"support_at_price":[0-9]'
has "and has neither evidence nor variance" "$fit" '"variance_features":null'
score=$(printf '%s\n' "$out" | grep '"command":"score"' | tail -n 1)
near() { # name key expression over the file
    want=$(awk -F, "NR > 1 { n++; y = \$2; p = \$3; $3 } END { printf \"%.9f\", s / n }" p.csv)
    got=$(printf '%s\n' "$score" | grep -o "\"$2\":[-0-9.e]*" | head -1 | cut -d: -f2)
    awk -v a="$want" -v b="$got" 'BEGIN { d = a - b; exit !(b != "" && d < 1e-7 && d > -1e-7) }'
    result $? "$1" "got $got, awk has $want in $score"
}
near "accuracy" accuracy 's += (p >= 0.5) == (y == 1)'
near "log loss" log_loss 's -= log(y == 1 ? p : 1 - p)'
near "Brier score" brier 's += (y - p) ^ 2'
has "the other scores of classes" "$score" '"auroc":0\.9.*"auprc":0\.9.*"calibration_ad":.*"ece":'
has "no score of numbers" "$score" '"rmse":null'
has "check judges the probabilities" "$out" '"findings":{"calibration".*"honesty"'
is "without variances there is no column sd_latent" "$(head -n 1 d.csv)" 'row,id,p,class,mean_latent'
# p = 1/(1 + exp(a f + b)) of each decision value f
number() { printf '%s\n' "$fit" | sed -n "s/.*\"$1\":\([-+0-9.e]*\).*/\1/p"; }
awk -F, -v a="$(number sigmoid_a)" -v b="$(number sigmoid_b)" 'NR > 1 {
    d = $3 - 1 / (1 + exp(a * $5 + b)); bad += d > 1e-9 || d < -1e-9
    bad += ($4 == "yes") != ($3 >= 0.5); n++ } END { exit !(n == 120 && !bad && a < 0) }' p.csv
result $? "p is the sigmoid of mean_latent" "$fit $(head -n 3 p.csv)"

# Sessions, time, scripts, comparison.
run --format json -s s.gpd -e 'predict columns=id,y,p,class,mean_latent out=q.csv; compare r1 r2'
cmp -s p.csv q.csv
result $? "a resumed model predicts the same bytes" "$(diff p.csv q.csv | head -4)"
has "compare shows both" "$out" '"support_vectors":true,"C":true,"left_out_log_loss":true'
run -s s.gpd -e script
has "a script has the price" "$out" "^fit solver=svm C=1 .*"
run --format json -s s.gpd -e 'undo; undo; redo; redo; fit C=3 solver=svm'
has "a later fit in the same session" "$out" '"C":3,'
for t in 1 2 3; do
    run --threads $t -e "$base; fit solver=svm C=2 $at" \
        -e "predict columns=p,mean_latent out=t$t.csv"
done
ok "the same bits with one thread and two" cmp t1.csv t2.csv
ok "and three" cmp t1.csv t3.csv
run -s s.gpd -e 'fit solver=svm; score; plot calibration out=c.svg; plot roc out=r.svg' \
    -e 'plot pr out=pr.svg; plot check out=k.svg; report out=r.html'
for f in c r pr k; do
    ok "plot $f.svg is whole" grep -q '</svg>' $f.svg
done
has "a report tells its support vectors" "$(cat r.html)" 'support vectors'
run --format json -e "$open; likelihood bernoulli; kernel rbf; split folds=3 stratify=yes" \
    -e "fit solver=svm $at; score folds"
has "score folds" "$out" '"log_loss"'
run --format json -e "$base; sweep C=0.1,1 solver=svm lengthscale=1.5"
has "sweep over prices" "$out" '"C":0\.1'
run -e "$open; likelihood bernoulli; kernel rbf; split test=30%; dry fit solver=svm"
has "dry says what it takes" "$out" 'svm: 6 trainings of 280 rows at C=1 in .* about .*, by the price up to '

# Prediction sets of a calibrated one, whose copy predicts, too; a temperature is refused.
run --format json -s c.gpd -e "$base; fit solver=svm $at; calibrate share=0.2; score" \
    -e 'predict columns=row,p out=c1.csv'
has "calibrate gives prediction sets" "$out" '"command":"calibrate".*"method":"conformal"'
run -s c.gpd -e 'predict columns=row,p out=c2.csv'
ok "which a session brings back" cmp c1.csv c2.csv
refuse "a temperature" "$base; fit solver=svm; calibrate share=0.2 method=temperature" \
    '"name":"calibration-method".*a sigmoid by left-out rows already'
run -e "$base; fit solver=svm $at; plot boundary out=b.svg"
ok "plot boundary is whole" grep -q '</svg>' b.svg

# Words: rows are the sum of their words less rho.
awk 'BEGIN { split("A C G T", l, " "); print "seq,z"
    for (i = 0; i < 70; i++) { s = ""
        for (j = 0; j < 12; j++)
            s = s l[1 + (i * i * 5 + j * j * (i + 3) + i * j + int(i * j / 5)) % 4]
        t = s; k = gsub(/CA/, "CA", t)
        print s "," (k + (i * 29 % 13) / 13 > 1 ? "yes" : "no") } }' >dna.csv
run -e 'open dna.csv types=seq=sequence target=z; likelihood bernoulli; kernel spectrum(n=2)' \
    -e 'fit solver=svm amplitude=0.7; words count=2 out=w.csv' \
    -e 'predict dna.csv columns=row,mean_latent out=m.csv'
awk -F, 'FILENAME == "w.csv" { if (FNR > 1) weight[$1] = $3; next }
    FILENAME == "dna.csv" { if (FNR > 1) seq[FNR] = $1; next }
    FNR > 1 { f = -$2; for (i = 1; i < 12; i++) f += weight[substr(seq[FNR], i, 2)]
        if (n++ == 0) rho = f; d = f - rho; bad += d > 1e-8 || d < -1e-8 }
    END { exit !(n == 70 && !bad) }' w.csv dna.csv m.csv
result $? "rows are sums of their words" "$err $(head -n 3 w.csv m.csv)"

# What cannot be done, with a way out.
refuse "a number" "$open; cols kind role=skip; cols b role=target; fit solver=svm" \
    '"name":"svm".*the likelihood is that of a number.*likelihood bernoulli'
refuse "several classes" "$open; likelihood dirichlet; fit solver=svm" \
    '"name":"svm".*that of several.*likelihood bernoulli'
refuse "a price elsewhere" "$base; fit C=2" '"name":"svm".*C= is the price.*fit solver=svm C=2'
refuse "or in a regression" 'demo toy; fit C=2' '"name":"svm".*C= is the price'
refuse "a price of 0" "$base; fit solver=svm C=0" 'C=0: out of range'
refuse "tuning" "$base; tune solver=svm" '"name":"svm".*no evidence.*tune, then fit solver=svm'
refuse "tuning of a number" 'demo toy; tune solver=svm' '"name":"svm".*no evidence'
refuse "variances" "$base; fit solver=svm; predict columns=p,sd_latent out=x.csv" \
    '"name":"no-variance".*predict columns=row,p,class,mean_latent'
refuse "suggestions" "$base; fit solver=svm; suggest" '"name":"classes".*is a class.*predict FILE'
refuse "a program" "$base; fit solver=svm; export out=x.py" 'is a support vector machine'
refuse "points" "$base; fit solver=svm; inducing" 'keeps no inducing points, but support vectors'
refuse "a plot of points" "$base; fit solver=svm; plot inducing out=x.svg" '"name":"no-plot"'
refuse "continuing" "$base; fit solver=svm; fit continue=r1" 'nothing to continue'
refuse "a start" "$base; fit; fit solver=svm from=r1" 'from= belongs to a regression'
awk 'BEGIN { print "x,y"; for (i = 0; i < 12000; i++) print i "," (i % 7 > 3) }' >many.csv
refuse "weights of classes" \
    "$open; likelihood bernoulli classweights=balanced; kernel rbf; fit solver=svm $at" \
    '"name":"svm".*one price.*"try":"likelihood bernoulli'
refuse "too many rows" 'open many.csv; likelihood bernoulli; kernel rbf; fit solver=svm' \
    '"name":"classes-size".*12,000 training rows are more than 10000'
run --format json -e "$base; fit solver=svm C=1e9 amplitude=30 lengthscale=1.6"
has "a price at which it does not end is told" "$out$err" \
    '"name":"svm".*had not converged after 9000000 steps.*fit solver=svm C=1e+07'
is "and LIBSVM's own warning is not" "$(printf '%s\n' "$err$out" | grep -c 'WARNING')" 0

# Classes that nothing tells apart, and one row alone of a class.
awk 'BEGIN { print "x,y"; for (i = 0; i < 60; i++) print i % 30 "," (i < 30) }' >none.csv
run --format json -e 'open none.csv; likelihood bernoulli; kernel rbf; fit solver=svm'
has "decision values that rank nothing are told" "$out" '"name":"platt".*no better than chance'
awk 'BEGIN { print "x,y"; for (i = 0; i < 60; i++) print i "," (i == 20) }' >lone.csv
run --format json -e 'open lone.csv; likelihood bernoulli; kernel rbf; fit solver=svm'
has "one row alone of a class is told" "$out" '"name":"platt".*they are too sure'

# Ctrl-C in the middle of a training that would take minutes.
awk 'BEGIN { srand(8); print "a,b,y"; for (i = 0; i < 1500; i++)
    print rand() "," rand() "," (rand() > 0.5) }' >noise.csv
"$gpdesk" --format json -e 'open noise.csv; likelihood bernoulli; kernel rbf' \
    -e 'fit solver=svm C=1e7' >stop.json 2>stop.err </dev/null &
pid=$!
i=0
while ! grep -q '"phase":"folds"' stop.json && [ $i -lt 600 ]; do
    sleep 0.1
    i=$((i + 1))
done
kill -INT $pid
wait $pid
is "Ctrl-C ends it" "$?" 130
has "and the run was stopped" "$(cat stop.json stop.err)" '"name":"stopped"'

# A probability of 0 of what is observed would make the log loss infinite: it counts as 1e-15, 34.5
# nats, and this is told.  The sigmoid of a point a million away is 0 or 1.
awk 'BEGIN { print "x,y"
    for (i = 0; i < 80; i++) print (i % 2 ? 1.5 : -1.5) + (i % 7) / 5 "," (i % 2 ? "yes" : "no")
    print "-1000000,yes"; print "900000,yes" }' >far.csv
far='open far.csv target=y; split test=2.4% ordered; likelihood bernoulli; kernel linear; fit solver=svm C=1'
run --format json -e "$far; score"
has "a clipped probability is counted" "$out" '"command":"score".*"log_loss":17.2693881[0-9]*,.*"clipped":1,'
run -e "$far; score"
has "and told" "$out" '1 row of a class with probability 0: counted as 1e-15, 34.5 nats each'
finish
