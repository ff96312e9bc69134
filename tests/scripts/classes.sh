#!/bin/sh
# tests/scripts/classes.sh -- likelihood bernoulli from the command line: which targets are two
# classes, scores against sums by awk, sessions, undo, and what two classes refuse.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

# 400 rows: two inputs, a class in words that follows their product, another of three values.
awk 'BEGIN { srand(3); print "a,b,kind,three,id"
    for (i = 0; i < 400; i++) {
        a = 4 * rand() - 2; b = 4 * rand() - 2
        print a "," b "," (a * b + 0.4 * (rand() - 0.5) > 0.6 ? "yes" : "no") "," i % 3 "," "r" i
    } }' >two.csv

run --format json -e 'open two.csv target=three types=kind=category; cols kind role=skip; cols id role=id' -k \
    -e 'likelihood bernoulli' -k -e 'fit'
has "three values are refused with their counts" "$err$out" \
    'exactly two values.*has 3: 0 (134), 1 (133), 2 (133)'

base='open two.csv types=kind=category; cols kind role=target; cols three role=skip; cols id role=id'
run --format json -e "$base"
has "two words are told to be classes, of bernoulli if wanted" "$err$out" \
    '"name":"class".*2 classes, by likelihood dirichlet.*"try":"likelihood bernoulli'
run --format json -e "$base; likelihood gaussian; fit"
has "words are refused under a Gaussian likelihood, with the way out" "$err$out" \
    'holds words.*"try":"likelihood bernoulli'
run --format json -e "$base; likelihood bernoulli; likelihood bernoulli positive=no; likelihood"
is "the rarer word is the positive class unless positive= says otherwise" \
    "$(printf '%s\n' "$out" | grep -o '"positive":"[a-z]*"' | tr '\n' ' ')" \
    '"positive":"yes" "positive":"no" "positive":"no" '
run --format json -e "$base; likelihood bernoulli positive=maybe"
has "a value that the target does not have" "$err$out" "positive='maybe' is no value of 'kind'"
run --format json -e "$base; likelihood bernoulli; undo; likelihood; redo; likelihood"
is "undo and redo" "$(printf '%s\n' "$out" | grep -o '"likelihood":"[a-z]*"' | tr '\n' ' ')" \
    '"likelihood":"bernoulli" "likelihood":"dirichlet" "likelihood":"bernoulli" '

printf 'text,y\none two,ham\ntwo,spam\nthree four,ham\nfive,spam\n' >words.csv
run --format json -e 'open words.csv; likelihood bernoulli'
has "without numbers the last column of words is the target" "$out" '"positive":"spam","negative":"ham"'

# Every part has the shares of all rows.
run --format json -e "$base; split test=30% stratify=yes seed=4" -e 'likelihood bernoulli; kernel rbf; tune' \
    -e 'fit; score; check; predict columns=id,y,p,class,mean_latent,sd_latent out=p.csv' -s s.gpd
is "the analysis ends well" "$rc" 0
yes=$(grep -c ',yes,' two.csv)
awk -F, -v yes="$yes" 'NR > 1 { n++; y += $2 } END { d = y - yes * n / 400; exit !(n == 120 && d < 1 && d > -1) }' p.csv
result $? "stratify=yes: the test rows have the share of all rows" "$(head -3 p.csv)"

# Scores from the predictions themselves.
score=$(printf '%s\n' "$out" | grep '"type":"score"' | head -1)
test -n "$score" || score=$(printf '%s\n' "$out" | grep '"log_loss"' | head -1)
near() { # name key expression over the file
    want=$(awk -F, "NR > 1 { n++; y = \$2; p = \$3; $3 } END { printf \"%.9f\", s / n }" p.csv)
    got=$(printf '%s\n' "$score" | grep -o "\"$2\":[-0-9.e]*" | head -1 | cut -d: -f2)
    awk -v a="$want" -v b="$got" 'BEGIN { d = a - b; exit !(b != "" && d < 1e-7 && d > -1e-7) }'
    result $? "$1" "got $got, awk has $want in $score"
}
near "accuracy" accuracy 's += (p >= 0.5) == (y == 1)'
near "log loss" log_loss 's -= log(y == 1 ? p : 1 - p)'
near "Brier score" brier 's += (y - p) ^ 2'
near "base rate" base_rate 's += y'
awk -F, 'NR > 1 { ok += ($4 == "yes") == ($3 >= 0.5) && ($5 >= 0) == ($3 >= 0.5) && $6 > 0 } END { exit !(ok == 120) }' p.csv
result $? "class and latent mean follow the probability" "$(head -4 p.csv)"
has "it learns: most rows are right" "$score" '"accuracy":0\.9'
has "no score of numbers" "$score" '"rmse":null'
has "check judges the probabilities" "$out" '"findings":{"calibration".*"honesty".*"confident".*"ranking"'

# Sessions: the model predicts the same bytes; the likelihood is in force again.
run --format json -s s.gpd -e 'predict columns=id,y,p,class,mean_latent,sd_latent out=q.csv; likelihood; fit'
cmp -s p.csv q.csv
result $? "a resumed model predicts the same bytes" "$(diff p.csv q.csv | head -4)"
has "the likelihood is in force after resume" "$out" '"likelihood":"bernoulli","link":"probit","positive":"yes"'
run -s s.gpd -e script
has "a script has the likelihood" "$out" '^likelihood bernoulli$'
has "the tuning is kept" "$out" '^expect t1 nmll [1-9]'

# The other link, folds, comparison, plots.
run --format json -s s.gpd -e 'likelihood bernoulli link=logit; tune rows=150; fit; score; compare r1 r3' \
    -e 'script; plot calibration out=c.svg; plot roc out=r.svg; plot pr out=p.svg; plot check out=k.svg'
has "the NMLL is that of the rows that were used" "$out" '"command":"tune","run":"t2".*"rows":150,'
has "Laplace's method, too" "$out" '"accuracy":0\.9.*"log_loss"'
has "a script expects class scores" "$out" 'expect r1 accuracy 0[.][0-9]*, log_loss 0[.]'
for f in c r p k; do
    ok "plot $f.svg is whole" grep -q '</svg>' $f.svg
done
run -s s.gpd -e 'score' -e 'plot parity out=no.svg'
has "a plot of numbers refuses with those that suit" "$err$out" 'plot roc or plot pr'
run --format json -e "$base; likelihood bernoulli; kernel rbf; split folds=3 stratify=yes; fit; score folds"
has "score folds" "$out" '"log_loss"'

# New rows: words, one of them unknown.
printf 'a,b,kind\n1.5,1.5,yes\n1.5,-1.5,no\n-1.5,1,perhaps\n' >new.csv
run -s s.gpd -e 'predict new.csv run=r1 columns=y,p,class out=n.csv'
is "new rows" "$(cut -d, -f1,3 n.csv | tr '\n' ' ')" 'y,class 1,yes 0,no ,no '

# Inducing points: as many as span all rows give at least the full model's evidence; a session predicts the
# same bytes; every way to choose; what has no meaning is refused.
run --format json -e "$base; likelihood bernoulli; split test=30% seed=4; kernel rbf; fit lengthscale=1.5 amplitude=3" \
    -e 'fit solver=sparse inducing=200 lengthscale=1.5 amplitude=3; tune solver=sparse inducing=20' \
    -e 'fit inducing=20 select=greedy; score; predict columns=id,y,p,mean_latent,sd_latent out=sp.csv; inducing' -s sp.gpd
printf '%s\n' "$out" | grep -o '"evidence":-[0-9.]*' | cut -d: -f2 | head -2 | tr '\n' ' ' |
    awk '{ d = $2 - $1; exit !(NF == 2 && d < 0.5 && d > -1e-3) }'
result $? "points that span all rows have the full model's evidence, or more by their level" "$(printf '%s\n' "$out" | grep -o '"evidence":[-0-9.]*')"
has "twenty points learn the classes, too" "$out" '"accuracy":0\.9'
has "inducing lists them with their classes" "$out" '"approx":"fitc","inducing":20,.*"target":1,"class":"yes"'
run --format json -s sp.gpd -e 'plot inducing out=points.csv'
is "a plot of the points of a target of words" "$rc $(awk -F, '$2 == "points" { print $3 }' points.csv |
    sort | tr '\n' ' ')" '0 0 1 '
run --format json -s sp.gpd -e inducing
has "and with what each adds" "$out" '"command":"inducing".*"loss":[0-9.]*[,}]'
run --format json -s sp.gpd -e 'predict columns=id,y,p,mean_latent,sd_latent out=sq.csv'
cmp -s sp.csv sq.csv
result $? "a resumed sparse model of classes predicts the same bytes" "$(diff sp.csv sq.csv | head -4)"
for way in random kmeans 'greedy(subset=10)' pchol dpp; do
    run --format json -e "$base; likelihood bernoulli; split test=30% seed=4; kernel rbf" \
        -e "fit solver=sparse inducing=15 select=$way lengthscale=1.5 amplitude=3"
    has "select=$way" "$out" '"evidence":-[0-9]'
done
run --format json -s sp.gpd -e 'fit solver=sparse approx=vfe'
has "vfe is for a regression" "$err$out" 'approx=vfe is for a regression'
run --format json -s sp.gpd -e 'likelihood bernoulli link=logit; fit solver=sparse'
has "Laplace's method takes all rows" "$err$out" "solver=sparse has no Laplace's method.*link=probit"

# What two classes refuse, each with a sentence.
refuse() { # command pattern
    run --format json -s s.gpd -e "$1"
    has "refused: $1" "$err$out" "$2"
}
refuse 'fit features=100' 'features= belongs to a regression.*fit solver=sparse inducing=100'
refuse 'tune features=100' 'features= belongs to a regression.*tune solver=sparse inducing=100'
refuse 'fit solver=pcg' 'solver=pcg is for a regression'
refuse 'fit variance=none' 'variance= belongs'
refuse 'tune objective=loo' 'objective= belongs'
refuse 'tune nmll=approx' 'nmll=approx estimates'
refuse 'advise' 'linear system of a regression'
refuse 'spectrum' 'linear system of a regression'
refuse 'predict columns=mean' 'mean is of a number'
refuse 'predict quantiles=5' 'are of a predicted number'
refuse 'fit continue=r1' 'nothing to continue'
refuse 'likelihood gaussian positive=yes' 'no positive class'
for line in 'set noise=0.1' 'set l=2 noise=0.1..1' 'fit noise=0.1' 'tune noise.max=1' \
    'sweep noise=0.1,0.2'; do
    refuse "$line" 'noise=.*noise belongs to numbers, and the target is a class.*without noise='
done
awk 'BEGIN { print "x,y"; for (i = 0; i < 6000; i++) print i "," (i % 7 > 3) }' >many.csv
run --format json -e 'open many.csv; likelihood bernoulli; kernel rbf; fit'
has "too many rows are refused before any work" "$err$out" '"name":"classes-size".*6,000 training rows are more than 5000.*solver=sparse.*split train=5000'
awk 'BEGIN { print "x,w,y"; for (i = 0; i < 60; i++) print i "," 1 + i % 3 "," (i > 30) }' >w.csv
run --format json -e 'open w.csv; cols w role=weight; likelihood bernoulli; kernel rbf; fit'
has "weights of rows are refused" "$err$out" 'weights of rows belong to Gaussian noise'
run --format json -e 'open w.csv; likelihood bernoulli; kernel rbf; split test=50% ordered; fit'
has "one class in the training rows" "$err$out" 'all 30 training rows are of one class\|of one class'
run --format json -e 'open w.csv; likelihood bernoulli; kernel rbf; tune; fit; score on=train'
has "separable classes are fitted" "$out" '"accuracy":1,'

{ cat w.csv; echo '7,1,2'; } | awk -F, 'BEGIN { OFS = "," } NR > 1 { $3 = NR == 20 ? 1 : 0 } { print }' >lone.csv
run --format json -e 'open lone.csv; cols w role=skip; likelihood bernoulli; kernel rbf; fit'
has "one row alone of a class is told" "$err$out" '"name":"lone-row".*one training row alone'

# Sites that do not settle are an outcome, and those of rows explained beyond doubt are held and
# counted: no error, and probabilities that score.
awk 'BEGIN { print "x,y"; for (i = 0; i < 60; i++) print i "," (i > 30) }' >sites.csv
open='open sites.csv target=y; likelihood bernoulli; kernel rbf'
for how in '' ' inducing=59'; do
    run --format json -e "$open; fit amplitude=1e6 lengthscale=0.1$how; score on=train"
    lacks "100 sweeps that did not suffice are no error:$how" "$out$err" '"type":"error"'
    is "but what has not converged, by the exit status" "$rc" 3
    has "and told" "$out$err" '"type":"warning","name":"sweeps".*100 sweeps'
    has "and the outcome" "$out" '"outcome":"maxit","iterations":100,'
    has "which is scored" "$out" '"command":"score".*"log_loss":[0-9]'
    run --format json -e "$open; fit amplitude=1e6 lengthscale=3$how; score on=train"
    has "site precisions below the least are held and counted" "$out$err" \
        '"name":"held".*[0-9] of 60 rows are explained so well'
    has "and the fit converges" "$out" '"outcome":"rtol"'
    has "with all rows right" "$out" '"accuracy":1,'
done

# Neighbours read rows alone: of words by the cosine of their counts, (2, 1) and (2, 2) here.
printf 's,y\nAAC,no\nAACC,yes\nCCCC,no\nAAAA,yes\nACCC,no\n' >near.csv
for how in 'likelihood bernoulli; fit' 'likelihood bernoulli; fit inducing=3' \
    'likelihood dirichlet; fit'; do
    run --format json -e "open near.csv types=s=sequence target=y; kernel spectrum(n=1,norm=cosine)" \
        -e "$how amplitude=1; neighbours row:1 count=1"
    has "the nearest row and its class: $how" "$out" \
        '"class":"no","neighbours":\[{"row":2,"similarity":0.94868329.*"class":"yes"}\]'
done

finish
