#!/bin/sh
# tests/scripts/nearest.sh -- solver=nn: fit, tune, score, sessions, undo, analyses, refusals, stop.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

num() { printf '%s\n' "$out" | sed -n "s/.*\"$1\":\([-+0-9.eE]*\)[,}].*/\1/p" | tail -n 1; }
data='demo friedman1 n=300 seed=3; split test=20% seed=1; kernel matern(nu=5/2); set seed=4'

# With as many neighbours as rows it is the exact model.
run -e "$data; fit solver=exact l=1.5 noise=0.3; predict out=exact.csv" \
    -e 'fit solver=nn(neighbours=5000) l=1.5 noise=0.3; predict out=nn.csv'
paste -d, exact.csv nn.csv >cells.csv
ok "all rows as neighbours are the exact model" awk -F, 'NR > 1 {
    for (i = 2; i <= 4; i++) if (($i - $(i + NF / 2))^2 > 1e-15 * (1 + $i^2)) bad = 1 }
    END { exit bad || NR != 61 }' cells.csv
has "there are no more neighbours than rows" "$err" '240 nearest of 240'

# After a tuning left-out rows give noise and amplitude.
run --format json -e "$data; tune solver=nn; fit solver=nn(neighbours=40); score"
has "the fit says its neighbours" "$out" '"model":"nn","features":null,"neighbours":40'
has "and what left-out rows gave" "$out$err" '\[nearest\]\|"name":"nearest"'
rmse=$(num rmse)
run --format json -e "$data; tune; fit; score"
ok "and is near the exact model" awk -v a="$rmse" -v b="$(num rmse)" 'BEGIN { exit !(a < 1.2 * b) }'
run --format json -e "$data; tune; fit model=nn rescale=no; score"
has "model=nn is the same with 400 neighbours" "$out" '"neighbours":240'

# Sessions: the same bits; undo and redo.
rm -f a.gpd
run -s a.gpd -e "$data; tune; fit solver=nn(neighbours=30); predict out=a.csv"
run -s a.gpd -e 'predict out=b.csv; undo; undo; redo; redo; predict out=c.csv'
ok "a resumed model predicts the same bits" cmp a.csv b.csv
run -s a.gpd --format json -e 'score; check; why'
ok "and is scored" test -n "$(num rmse)"
run --threads 1 -e "$data; tune; fit solver=nn(neighbours=30); predict out=one.csv"
run --threads 3 -e "$data; tune; fit solver=nn(neighbours=30); predict out=three.csv"
ok "threads change no bit" cmp one.csv three.csv

# Weights of rows and several targets, kept by a session.
rm -f w.gpd
few='demo friedman1 n=200 seed=3; split test=20%'
run -s w.gpd -e "$few" -e 'let w = x1 + 0.5; cols w role=weight; let z = y * x2' \
    -e 'cols y,z role=target; fit solver=nn(neighbours=20); predict out=w.csv'
is "rows can have weights, and several targets" $rc 0
run -s w.gpd -e 'predict out=again.csv'
ok "and a session keeps them" cmp w.csv again.csv
run -e "$few" -e 'fit solver=nn(neighbours=20); predict out=u.csv'
run -e "$few" -e 'let w = x1 + 0.5; cols w role=weight; fit solver=nn(neighbours=20)' \
    -e 'predict out=v.csv'
no_same() { test -s u.csv && test -s v.csv && ! cmp -s u.csv v.csv; }
ok "weights count" no_same

# Sequences and counts.
awk 'BEGIN { srand(4); print "counts,y"; for (i = 0; i < 60; i++) { t = ""; y = 0; p = 0
    for (j = 0; j < 6; j++) { p += 1 + int(4 * rand()); c = 1 + int(5 * rand()); y += p % 3 * c
        t = t (j ? " " : "") p ":" c } print t "," y + rand() } }' >counts.csv
for d in 'open counts.csv; kernel tanimoto' 'demo proteins n=60; kernel conv(rbf,width=5)'; do
    rm -f k.gpd
    run -s k.gpd -e "$d" -e 'split test=20% seed=1; fit solver=nn(neighbours=12); predict out=p.csv'
    is "$d" $rc 0
    run -s k.gpd -e 'predict out=again.csv'
    ok "and kept by the session" cmp p.csv again.csv
done

# What else there is: folds, calibration, comparison, columns, proposals.
run --format json -e "$data; tune; fit solver=nn(neighbours=25); calibrate share=0.2; score" \
    -e 'compare; effects; importance; split folds=3; fit solver=nn(neighbours=25); score folds=yes'
is "analyses work" $rc 0
has "effects have no bands" "$out$err" 'fit model=features'
for by in ei ucb sd mean; do
    run --format json -e "$data; fit solver=nn(neighbours=25); suggest 2 by=$by"
    has "suggest by=$by" "$out" '"command":"suggest"'
done

# Refusals with a way out.
refused() { # command pattern
    run -e "$data; fit solver=nn(neighbours=25)" -e "$1"
    has "$1" "$out$err" "$2"
}
refused 'predict samples=3' 'fit model=features'
refused 'suggest 2 by=thompson' 'by=ei'
refused 'kernel rbf + linear; fit solver=nn(neighbours=9); plot parts out=p.png' \
    'nearest rows by the whole kernel'
refused 'export r1 out=x.py' '\[predictor\].*nearest of its 240'
refused 'fit solver=nn samples=4' 'takes no samples='
refused 'fit solver=nn(neighbours=1)' 'neighbours=1 is not possible.*2 to 20000'
refused 'fit solver=nn(trees=3)' 'no parameter "trees"'
refused 'fit solver=nn rank=8' '\[unused\].*rank='
refused 'fit solver=nn model=exact' 'nearest training rows, not on model=exact'
run -e 'demo friedman1 n=100 seed=1; let c = y > 14; cols y role=skip; cols c role=target' \
    -e 'likelihood bernoulli; fit solver=nn'
has "two classes" "$out$err" '\[classes\].*solver=nn is for a regression'

# A stop in the middle of a prediction leaves no file, and the session whole.
rm -f s.gpd
run -s s.gpd -e 'demo friedman1 n=8000 seed=1; split test=50%' \
    -e 'fit solver=nn(neighbours=400) l=2 noise=0.3'
"$gpdesk" -s s.gpd --threads 1 --format json -e 'predict out=stopped.csv' >ticks 2>&1 </dev/null &
pid=$!
for i in $(seq 600); do
    grep -q '"phase":"predict"' ticks && break
    kill -0 $pid 2>/dev/null || break
    sleep 0.05
done
kill -INT $pid
wait $pid
is "SIGINT in a prediction gives 130" $? 130
ok "and leaves no file" test ! -e stopped.csv
run -s s.gpd --format json -e 'runs'
has "the run is there" "$out" '"r1"'
finish
