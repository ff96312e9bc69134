#!/bin/sh
# tests/scripts/inducing.sh -- sparse models: fit, tune, score, predict, sessions, refusals.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

num() { printf '%s\n' "$out" | sed -n "s/.*\"$1\":\([-+0-9.eE]*\)[,}].*/\1/p" | tail -n 1; }
data='demo friedman1 n=300 seed=3; split test=20% seed=1; kernel matern(nu=5/2); set seed=4'

# Fit and tune. The bound is below the evidence of the exact kernel, and rises with the points.
run --format json -e "$data; tune; fit"
evidence=$(num nmll)
run --format json -e "$data; tune; fit solver=sparse inducing=20; score"
few=$(num bound)
has "a sparse fit says its points" "$out" '"model":"sparse".*"inducing":20'
has "the noise has moved, and is told" "$out" '"name":"sparse-noise"'
has "it is scored" "$out" '"command":"score"'
run --format json -e "$data; tune; fit solver=sparse inducing=120"
many=$(num bound)
ok "the bound rises with the points and stays below the evidence" awk -v a="$few" -v b="$many" \
    -v e="$evidence" 'BEGIN { exit !(a < b && b <= -e + 1e-6) }'
run --format json -e "$data; tune solver=sparse inducing=40; fit solver=sparse inducing=40"
has "a tuning says how often its points were chosen" "$out" '"inducing_choices":1'
tuned=$(num bound)
run --format json -e "$data; fit solver=sparse inducing=40 rescale=no"
ok "and its bound is better than at the start" awk -v a="$tuned" -v b="$(num bound)" \
    'BEGIN { exit !(a > b) }'
run --format json -e "$data; tune solver=sparse inducing=20 select=greedy"
ok "greedy points are chosen again, at most three times" awk -v k="$(num inducing_choices)" \
    'BEGIN { exit !(k >= 1 && k <= 3) }'
run --format json -e "$data; fit model=sparse inducing=9 approx=fitc"
has "fitc has no bound" "$out" '"inducing":9'
is "and says none" "$(printf "%s\n" "$out" | grep -c "\"bound\":-")" 0
run --format json -e "$data; fit inducing=10"
has "inducing= asks for a sparse model" "$out" '"model":"sparse"'
run --format json -e "$data; fit solver=sparse inducing=30 noise=1e-4 amplitude=1"
has "a noise that was given is kept, and its cost told" "$out" '"type":"warning".*sparse-noise'

# Sessions: same bits, points and rounds included.
run -s a.gpd -e "$data; tune; fit solver=sparse inducing=15 select=anneal(steps=60)" \
    -e 'predict out=a.csv'
run -s a.gpd -e 'predict out=b.csv'
ok "a resumed model predicts the same bits" cmp a.csv b.csv
run -s a.gpd --format json -e 'score'
ok "and is scored" test -n "$(num rmse)"
run -e "$data; fit solver=sparse inducing=30; predict samples=3 quantiles=5,95 out=s.csv"
has "functions are drawn" "$(head -n 1 s.csv)" 'sample3'

# Weights of rows and several targets.
run --format json -e 'demo friedman1 n=200 seed=3; let w = x1 + 0.5; cols w role=weight' \
    -e 'fit solver=sparse inducing=20; score on=train'
has "rows can have weights" "$out" '"command":"score"'

# Strings, and refusals.
run --format json -e 'demo friedman1 n=100 seed=1; fit solver=sparse samples=8'
has "samples= is refused with what to do" "$out$err" 'predict samples='
run --format json -e 'demo friedman1 n=100 seed=1; fit solver=sparse select=lucky'
has "an unknown way names the others" "$out$err" 'anneal'
run --format json -e 'demo friedman1 n=100 seed=1; fit solver=sparse inducing=500'
has "there are no more points than rows" "$out" '"inducing":100'
run --format json -e 'demo friedman1 n=100 seed=1; fit solver=pcg inducing=20'
has "points without a sparse model are not used" "$out" '"name":"unused"'

run -e 'demo friedman1 n=100 seed=1; advise model=sparse'
has "advise has no ranks of inducing points, and names what tells their cost" "$err" \
    'try *dry fit solver=sparse inducing=100'
run -e 'demo friedman1 n=100 seed=1; dry fit solver=sparse inducing=20'
has "as dry does" "$out$err" '20 inducing points'

# What is kept, and the plot of it. The loss without a point is that of a fit without it: of two
# points, the bound falls to that of the other one alone.
run --format json -s b.gpd -e 'demo motifs n=120 seed=2; split test=25% seed=1; kernel spectrum(n=3)' \
    -e 'tune; fit solver=sparse inducing=12 select=greedy rescale=no; inducing out=p.csv'
has "inducing lists the points" "$out" '"command":"inducing".*"inducing":12'
is "all of them in the file" "$(wc -l <p.csv)" 13
ok "greedy points are training rows with their targets" awk -F, \
    'NR > 1 && ($2 == "" || $3 == "" || $4 != 0) { bad = 1 } END { exit bad }' p.csv
bound=$(num bound)
ok "the figure is that of the fit" awk -v a="$bound" -v b="$(num log_likelihood)" \
    'BEGIN { exit !((a - b)^2 < 1e-12 * b * b) }'
last=$(awk -F, '$1 == 12 { print $6 }' p.csv)
run --format json -s b.gpd -e 'fit solver=sparse inducing=11 select=greedy rescale=no'
ok "the loss without the last point is that of the fit before it" awk -v a="$bound" -v l="$last" \
    -v b="$(num bound)" 'BEGIN { exit !((a - l - b)^2 < 1e-10 * b * b) }'
run -s b.gpd -e 'plot inducing r1 out=rounds.csv'
is "the plot has a round for each point" "$(grep -c '^[^,]*,of the set' rounds.csv)" 12
has "and the targets of the points" "$(cat rounds.csv)" 'points'
run -s b.gpd --format json -e 'fit solver=sparse inducing=12 select=anneal(steps=40m) seed=3' -e inducing
ok "annealed points are outside, some letters from a row" test "$(num inducing_outside)" -gt 0
run --format json -e 'demo motifs n=60 seed=1; kernel spectrum(n=1); fit solver=sparse inducing=20'
has "rows that others span are left out, and fewer points told" "$out" '"name":"inducing-fewer"'
has "they are as many as there are letters" "$out" '"inducing":4'
run -e 'demo toy n=40; kernel rbf; fit; inducing'
has "a fit without points says what to do" "$err" 'fit solver=sparse'
run -e 'demo motifs n=40 seed=1; kernel spectrum(n=3); fit solver=sparse inducing=5 select=kmeans'
has "kmeans is refused for strings with the other ways" "$err" 'select=greedy'

# Several targets share the points, the kernel and the noise ratio, and each is predicted as alone.
awk 'BEGIN { srand(2); print "a,b,y,z"; for (i = 0; i < 300; i++) { a = rand(); b = rand()
    print a "," b "," sin(6 * a) + b + rand() / 10 "," a * cos(5 * b) + rand() / 10 } }' >two.csv
f='split test=20% seed=1; kernel rbf(l=0.5)
fit solver=sparse inducing=40 select=random rescale=no; predict'
run -e "open two.csv target=y,z" -e "$f out=both.csv"
is "two targets" $rc 0
run -e 'open two.csv target=z; cols y role=skip' -e "$f out=alone.csv"
cut -d, -f5-7 both.csv | paste -d, - alone.csv >cells.csv
ok "the second is predicted as alone" awk -F, 'NR > 1 {
    for (i = 1; i <= 3; i++) if (($i - $(i + 4))^2 > 1e-16) bad = 1 } END { exit bad || NR != 61 }' \
    cells.csv

# Windows of sequences and counts: with all rows as points the model is the exact one.
awk 'BEGIN { srand(4); print "counts,y"; for (i = 0; i < 60; i++) { t = ""; y = 0; p = 0
    for (j = 0; j < 6; j++) { p += 1 + int(4 * rand()); c = 1 + int(5 * rand()); y += p % 3 * c
        t = t (j ? " " : "") p ":" c } print t "," y + rand() } }' >counts.csv
for data in 'open counts.csv; kernel tanimoto' 'demo proteins n=60; kernel conv(rbf,width=5)'; do
    rm -f k.gpd
    run -s k.gpd -e "$data" -e 'split test=20% seed=1; tune; fit rescale=no; predict out=exact.csv' \
        -e 'fit solver=sparse inducing=48 select=random rescale=no; predict out=sparse.csv'
    is "$data" $rc 0
    paste -d, exact.csv sparse.csv >cells.csv
    ok "is the exact model with all rows" awk -F, 'NR > 1 {
        for (i = 2; i <= 4; i++) if (($i - $(i + 4))^2 > 1e-8 * (1 + $i^2)) bad = 1 }
        END { exit bad || NR != 13 }' cells.csv
    run -s k.gpd -e 'predict run=r2 out=again.csv'
    ok "and kept by the session" cmp sparse.csv again.csv
done

finish
