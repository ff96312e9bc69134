#!/bin/sh
# tests/scripts/learned.sh -- kernel mlp: learned, fitted, resumed, calibrated, damaged, refused.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

num_first() { printf '%s\n' "$out" | grep "\"command\":\"$1\"" | head -n 1 |
    sed -n "s/.*\"$2\":\([-+0-9.eE]*\)[,}].*/\1/p"; }
num() { printf '%s\n' "$out" | grep "\"command\":\"$1\"" | tail -n 1 |
    sed -n "s/.*\"$2\":\([-+0-9.eE]*\)[,}].*/\1/p"; }
between() { awk -v x="$1" -v lo="$2" -v hi="$3" 'BEGIN { exit !(x != "" && x >= lo && x <= hi) }'; }
data='demo friedman1 n=1200 seed=1; split test=25% valid=10% seed=2'
small='kernel mlp(width=48,depth=2,out=16)'

# The noise of friedman1 is 0.2 of its target, which ridge regression misses by a half.
run --format json -s a.gpd -e "$data; $small; tune steps=120; fit; score; predict out=p1.csv"
is "it learns, fits and predicts" $rc 0
ok "nearer to the noise than a straight line" between "$(num score rmse_scaled)" 0.19 0.35
has "tune tells how" "$out" '"command":"tune".*"method":"adam".*"evaluations":120'
has "the features of fit are those of the map" "$out" '"command":"fit".*"features":16'
has "by the weights that were learned" "$out" \
    '"command":"fit".*mlp(width=48,depth=2,out=16,norm=layer,rows=plain,weights=[0-9a-f]\{16\})'
run -s a.gpd -e 'predict run=r1 out=p2.csv; fit; predict out=p3.csv'
ok "a session predicts the same bits" cmp p1.csv p2.csv
ok "and fits the same bits" cmp p1.csv p3.csv
for threads in 1 3; do
    run --threads $threads -e "$data; $small; tune steps=120; fit; predict out=t$threads.csv"
    ok "$threads threads learn the same bits" cmp p1.csv t$threads.csv
done

# Undo and scripts.
run -s a.gpd -e 'undo; fit'
has "undone, it has not learned" "$err" 'error\[learned\].*no weights yet'
has "what to do is told" "$err" 'try  tune, then fit'
cp a.gpd b.gpd
run -s b.gpd -e 'redo; fit; predict out=p4.csv'
ok "redone, it has" cmp p1.csv p4.csv
run -e "$data; $small; tune steps=20; fit; score; script out=s.gps"
run -f s.gps
is "a script repeats it" $rc 0
has "to the figure" "$out" '^same: '

# Rows that were learned from say little about new ones.
cp b.gpd c.gpd
run -s c.gpd -e 'export t1 what=trace out=trace0.csv'
run --format json -s c.gpd -e 'calibrate rows=150; score; predict out=p5.csv'
has "calibrate learns anew" "$out" '"command":"calibrate".*"learned_anew":true'
ok "by rows that nothing was learned from" between "$(num score coverage95)" 0.9 0.99
run -s c.gpd -e 'predict out=p6.csv'
ok "a session keeps the new map" cmp p5.csv p6.csv
# The steps of that learning are its own, as many as those of the tuning that it repeats.
run -s c.gpd -e 'plot training out=t1.csv; describe training; export what=trace out=trace1.csv' \
    -e 'plot training t1 out=t0.csv'
is "the steps of learning anew are kept" "$(wc -l <trace1.csv)" "$(wc -l <trace0.csv)"
has "and drawn" "$out" 'learned without the calibration rows'
is "which is another curve than that of the tuning" "$(cmp -s t0.csv t1.csv; echo $?)" 1
ok "of rows that are fewer: the first likelihood is about as much smaller" \
    awk -F, 'NR == FNR { if (FNR == 2) all = $2; next }
        FNR == 2 { q = $3 / all; exit !(q > 0.6 && q < 0.95) }' trace0.csv trace1.csv
run -s c.gpd -e 'plot training out=t2.csv'
ok "also of a resumed session" cmp t1.csv t2.csv
if command -v sqlite3 >/dev/null; then
    cp c.gpd learned.gpd
    sqlite3 learned.gpd "update blob set data = substr(data, 1, 200) || x'00' || substr(data, 202)
        where what = 'learned'"
    run -s learned.gpd -e 'describe training; predict out=t3.csv'
    has "damaged steps are told" "$err" 'session-damage.*learned its features are damaged'
    ok "not drawn" sh -c 'case $1 in *"without the calibration rows"*) exit 1 ;; *t[0-9]:*) ;; *) exit 1
        esac' sh "$out"
    ok "and nothing else is lost" cmp t3.csv p5.csv
fi
run -s c.gpd -e 'calibrate rows=50'
has "what calibrate made has no tuning to repeat" "$err" 'error\[not-tuned\]'
has "and names the run that has" "$err" '^  try  calibrate r[0-9]* rows=50$'
run --format json -s c.gpd -e 'calibrate r1 on=valid; score'
has "validation rows need no new map" "$out" '"command":"calibrate".*"learned_anew":false'
run --format json -e "demo friedman1 n=300 seed=1; split folds=3 seed=1; $small; tune steps=10" \
    -e 'fit; score folds tune=yes'
has "folds learn anew" "$out" '"on":"folds".*"tuned":true'
run -e "demo friedman1 n=300 seed=1; split folds=3 seed=1; $small; tune steps=10; fit; score folds"
has "or are refused" "$err" 'error\[learned\].*the rows of every fold'

# What the user fixes stays.
run --format json -e "$data; $small; tune steps=10 noise=0.25"
is "a noise that is given" "$(num tune noise)" 0.25
run --format json -e "$data; $small; tune steps=30 noise=0.4..0.6"
ok "or a range" between "$(num tune noise)" 0.4 0.6

# Going on, and stopping by rows of which nothing is learned.
run --format json -s more.gpd -e "$data; $small; tune steps=20"
first=$(num tune nmll)
run --format json -s more.gpd -e 'tune continue=t1 steps=20; describe training'
ok "continue= begins where the other ended" between "$(num tune nmll)" -1e9 "$first"
has "plot training tells of the rows kept aside" "$out" 'rows kept aside \(are\|were\) told best'
run -s more.gpd -e 'kernel mlp(width=40,out=16); tune continue=t1'
has "of the same map alone" "$err" 'error\[learned\].*belong to another map'
run -s more.gpd -e 'kernel rbf; fit; kernel mlp; tune continue=r1'
has "and of a tuning" "$err" 'error\[learned\].*no weights from which to continue'
run --format json -e "$data; $small; tune stop=valid steps=400; fit; score"
ok "stop=valid ends early" between "$(num tune evaluations)" 60 399
has "and tells by which rows" "$out" '"aside":{"rows":120,'
ok "with honest variances" between "$(num score coverage95)" 0.9 0.99
run -e "demo toy; split none; $small; tune stop=valid"
has "it needs such rows" "$err" 'error\[no-rows\]'
few='demo friedman1 n=400 seed=1; split test=25% seed=2'
run -e "$few; $small; tune steps=300"
has "few rows and many steps part" "$err" 'warning\[parted\]'
run -e "$few; kernel mlp(width=256,depth=4,out=64,norm=none); tune rate=1 steps=40"
has "steps that are too long are halved, which is told" "$out" 'the rate was halved [1-9]'

# Expressions of maps: products, sums with random features, kernels behind a map.
friend='demo friedman1 n=500 seed=1; split test=25% valid=10% seed=2'
expression() { # NAME KERNEL FEATURES PATTERN: learned, fitted, resumed, undone, by a script
    rm -f e.gpd
    run --format json -s e.gpd -e "$friend; kernel $2; tune steps=60 features=96" \
        -e 'fit features=512; score; predict out=e1.csv'
    is "$1: learned and fitted" $rc 0
    ok "$1: nearer than a straight line" between "$(num score rmse_scaled)" 0.15 0.53
    has "$1: its features" "$out" "\"command\":\"fit\".*\"features\":$3"
    has "$1: what was learned" "$out" "\"command\":\"tune\".*$4"
    run --format json -s e.gpd -e 'predict run=r1 out=e2.csv; fit features=512; predict out=e3.csv' \
        -e 'tune continue=t1 steps=5; undo; undo; redo; redo; script out=e.gps'
    ok "$1: a session predicts the same bits" cmp e1.csv e2.csv
    ok "$1: and fits the same bits" cmp e1.csv e3.csv
    has "$1: continue= in a session" "$out" '"command":"tune","run":"t2"'
    run --threads 3 -e "$friend; kernel $2; tune steps=60 features=96; fit features=512" \
        -e 'predict out=e4.csv'
    ok "$1: 3 threads learn the same bits" cmp e1.csv e4.csv
    run -f e.gps
    is "$1: a script repeats it" $rc 0
    has "$1: to the figures" "$out" '^same: '
}
map='width=32,depth=2'
expression product "mlp($map,out=4) * mlp($map,out=8)" 32 \
    'out=4,[^ ]*weights=[0-9a-f]*) [*] mlp([^ ]*out=8,[^ ]*weights='
expression sum "mlp($map,out=8) + matern(nu=5/2)" 512 '"2.lengthscale":.*"2.weight":'
expression behind "mlp(rbf,$map,out=4)" 512 'mlp(rbf,width=32,depth=2,out=4,[^ ]*weights=.*"lengthscale":'
expression batch "mlp($map,out=16,norm=batch)" 16 'out=16,norm=batch,'
run --format json -e "$friend; kernel mlp($map,out=8) + rbf; tune steps=5; fit; score" \
    -e 'calibrate rows=60; score; split folds=3; tune steps=5; fit features=128; score folds tune=yes'
has "a sum: the features of maps, and others" "$out" '"command":"fit".*"features":4104'
is "calibrated, by folds" $rc 0
run --format json -e "$friend; kernel mlp(rbf,$map) + linear; tune steps=5 1.lengthscale=0.7" \
    -e 'fit features=128; spectrum; pca rows=200; neighbours 3; why; check; effects x1; suggest 2' \
    -e 'cluster k=2 rows=200; landscape; advise; report out=r.html; export r1; plot path; plot nmll'
is "views of a model with a kernel behind a map" $rc 0
has "a lengthscale that is given" "$out" '"command":"tune".*"1.lengthscale":0.7,'
run -e "$friend; kernel mlp(rbf); tune steps=2; fit; export out=m.py"
has "programs of a kernel behind a map" "$err" 'has learned its features'
run -e "$friend; kernel mlp($map,out=8) + rbf; tune steps=2; fit features=8"
has "features= has to hold those of the map" "$err" 'must be even and at least 10'

# Several classes: half a dozen rings, which no straight line tells apart.
awk 'BEGIN { srand(2); print "a,b,ring"; for (i = 0; i < 900; i++) {
    a = 4 * rand() - 2; b = 4 * rand() - 2; r = int(2.2 * sqrt(a * a + b * b))
    print a "," b ",ring" r } }' >rings.csv
rings='open rings.csv target=ring; split test=25% valid=10% seed=2; likelihood dirichlet'
run --format json -s rings.gpd -e "$rings; kernel mlp(width=64,out=16); tune; fit; score" \
    -e 'predict columns=row,y,class,p out=c1.csv; describe training; plot training out=c.svg'
is "classes are learned and told" $rc 0
has "tune tells of rows kept aside" "$out" \
    '"command":"tune".*"aside":{"rows":58,"error":0[.0-9]*,"log_loss":0[.0-9]*,"log_loss_least":'
has "a fit with the features of the map" "$out" '"command":"fit".*"features":16'
ok "rings are told apart" between "$(num score accuracy)" 0.88 1
ok "with fair probabilities" between "$(num score log_loss)" 0 0.35
has "plot training has the share of wrong classes" "$out" 'share of wrong classes'
run -s rings.gpd -e 'predict run=r1 columns=row,y,class,p out=c2.csv; fit'
run -s rings.gpd -e 'predict run=r2 columns=row,y,class,p out=c3.csv; script out=rings.gps'
ok "a session predicts the same classes" cmp c1.csv c2.csv
ok "and fits the same" cmp c1.csv c3.csv
run --threads 3 -e "$rings; kernel mlp(width=64,out=16); tune; fit" \
    -e 'predict columns=row,y,class,p out=c4.csv'
ok "3 threads learn the same bits of classes" cmp c1.csv c4.csv
run -f rings.gps
is "a script of classes runs again" $rc 0
# Learned anew it is by the classes, too, not by their numbers as values.
awk -F, 'NR == 1 { print; next } { sub(/ring/, "", $3); print $1 "," $2 ",c" $3 * 3 % 7 }' \
    rings.csv >mixed.csv
run --format json -e "open mixed.csv target=ring; split test=25% seed=2; likelihood dirichlet" \
    -e 'kernel mlp(width=64,out=16); tune; fit; calibrate rows=120; score'
has "classes are learned anew" "$out" '"command":"calibrate".*"learned_anew":true'
ok "and told apart" between "$(num score accuracy)" 0.86 1
ok "with fair probabilities behind the temperature" between "$(num score log_loss)" 0 0.4
run --format json -e "$rings; kernel mlp(width=64,out=16); tune stop=valid steps=60" \
    -e 'tune continue=t1 steps=10 amplitude=0.5; split folds=3; fit; score folds tune=yes'
is "stop=valid and continue=" $rc 0
has "an amplitude that is given serves all classes" "$out" '"run":"t2".*"amplitude":0.5,'
run --format json -e "$rings; kernel mlp(rbf,width=32,out=2); tune steps=60 features=96" \
    -e 'fit features=256; score'
ok "a kernel behind a map learns classes" between "$(num score accuracy)" 0.8 1
run -e "$rings; kernel mlp; tune solver=exact"
has "classes by features alone" "$err" 'error\[classes\].*what a map learns are features'

# A stop keeps the best.
: >stop.json
"$gpdesk" --format json -s stop.gpd -e "$data; kernel mlp(width=256,out=16)" \
    -e 'tune steps=100000' >stop.json 2>/dev/null </dev/null &
pid=$!
i=0
while ! grep -q '"phase":"tune"' stop.json && [ $i -lt 600 ]; do
    sleep 0.1
    i=$((i + 1))
done
kill -INT $pid
wait $pid
has "a stopped tuning has a result" "$(cat stop.json)" '"command":"tune".*"outcome":"cancelled"'
run -s stop.gpd -e 'fit; score'
is "which a fit can use" $rc 0

# Damage: a byte of the weights in every place that keeps them.
if command -v sqlite3 >/dev/null; then
    cp a.gpd d.gpd
    sqlite3 d.gpd "update blob set data = substr(data, 1, 400) || x'00' || substr(data, 402)
        where what = 'weights'"
    run -s d.gpd -e 'data; predict run=r1 out=p7.csv'
    has "damaged weights are told" "$err" 'session-damage.*weights of t1 is damaged'
    ok "and never used" test ! -e p7.csv
    has "the data are whole" "$out" '^\*friedman1  1,*200 rows'
    cp e.gpd d.gpd
    run -s d.gpd -e "kernel mlp(width=24,out=4) * mlp(width=24,out=2); tune steps=2; fit" \
        -e 'predict out=p8.csv'
    sqlite3 d.gpd "update blob set data = substr(data, 1, length(data) - 300) || x'00' ||
        substr(data, length(data) - 298) where what = 'weights'"
    run -s d.gpd -e 'data; predict run=r3 out=p9.csv'
    has "damage in the second map of a product" "$err" 'session-damage.*weights of'
    ok "is never used" test ! -e p9.csv
else
    echo "# sqlite3 is not here: damaged weights are not tested"
fi
run -s a.gpd -e 'drop t1; drop r1; drop r2; purge yes'
run -s a.gpd -e data
has "without runs the session is whole" "$out" '^\*friedman1'
run -e 'kernel mlp(weights=0123456789abcdef)'
has "weights that nobody has" "$err" 'error\[weights\].*0123456789abcdef'

# Few features, unbounded, and hardly any noise: single precision is not taken for them.
run -e "$data; $small; tune steps=20 noise=0.003; fit; predict out=double.csv"
run -e "$data; $small; tune steps=20 noise=0.003; fit precision=float; predict out=float.csv"
has "precision= has no effect" "$err" 'note\[unused\].*precision='
ok "and changes no bit" cmp double.csv float.csv
# Restarts begin at other weights, and the likeliest serves the fit.
run --format json -e "$data; $small; tune steps=10 restarts=3; fit"
best=$(printf '%s\n' "$out" | grep '"command":"tune"' |
    sed 's/.*weights=\([0-9a-f]*\).*"nmll":\([-0-9.e+]*\),.*/\2 \1/' | sort -g | sed -n '1s/.* //p')
is "three restarts learn three maps" "$(printf '%s\n' "$out" | grep '"command":"tune"' |
    sed 's/.*weights=\([0-9a-f]*\).*/\1/' | sort -u | wc -l)" 3
has "the likeliest is fitted" "$out" "\"command\":\"fit\".*weights=$best"

# Several targets share a map, and rows of little weight have more noise: 0.1 divided by the root of
# their weight, which is 0.05 for half of them.
awk 'BEGIN { srand(4); print "a,b,w,y,z"; for (i = 0; i < 1500; i++) {
    a = 4 * rand() - 2; b = 4 * rand() - 2; w = rand() < 0.5 ? 1 : 0.05
    e = 0.173 * (rand() + rand() + rand() + rand() - 2)
    f = 0.173 * (rand() + rand() + rand() + rand() - 2)
    y = sin(2 * a) + b * b / 2 + e / sqrt(w)
    printf "%.5f,%.5f,%g,%.6f,%.6f\n", a, b, w, y, cos(a * b) + f
    } }' >both.csv
weighted='open both.csv target=y; cols z role=skip; split test=20% valid=10% seed=1; scale y=none'
both='open both.csv target=y,z; split test=20% seed=1'
small_map='kernel mlp(width=64,out=16)'
run --format json -s w.gpd -e "$weighted; cols w role=weight; $small_map; tune steps=100" \
    -e 'fit; score; predict out=w1.csv; tune stop=valid steps=20'
is "rows of unequal weight" $rc 0
ok "the noise is that of rows of weight 1" between "$(num_first tune noise)" 0.07 0.15
run -s w.gpd -e 'predict run=r1 out=w2.csv; fit; predict out=w3.csv'
ok "a session predicts the same" cmp w1.csv w2.csv
run --threads 3 -e "$weighted; cols w role=weight; $small_map; tune steps=100; fit" \
    -e 'predict out=w4.csv'
ok "3 threads learn the same bits with weights" cmp w1.csv w4.csv
run --format json -e "$weighted; cols w role=skip; $small_map; tune steps=100"
ok "without weights it is that of all rows" between "$(num_first tune noise)" 0.25 0.45
run --format json -s two.gpd -e "$both; cols w role=skip; $small_map; tune steps=100; fit; score" \
    -e 'predict out=two1.csv; tune continue=t1 steps=10; kernel mlp(width=16,out=4) + rbf' \
    -e 'tune steps=10; fit features=100; score; calibrate rows=100'
is "several targets" $rc 0
has "each has an amplitude and a noise" "$out" \
    '"command":"tune","run":"t1".*"amplitude":\[0[.0-9]*,0[.0-9]*\],"noise":\[0[.0-9]*,0[.0-9]*\]'
has "and is told" "$out" '"command":"score","run":"r1".*"r2":\[0[.]8[0-9]*,0[.]9[5-9]'
run -s two.gpd -e 'predict run=r1 out=two2.csv'
ok "a session predicts the same two" cmp two1.csv two2.csv
run --threads 2 -e "$both; cols w role=skip; $small_map; tune steps=100; fit; predict out=two3.csv"
ok "2 threads learn the same bits of two" cmp two1.csv two3.csv
run -e "$both; cols w role=weight; $small_map; tune steps=5; fit; score"
is "several targets of rows with weights" $rc 0

# Batch norm predicts a row by the statistics of training, whatever rows are beside it.
run -s n.gpd -e "$both; cols w,z role=skip; kernel mlp(width=32,out=8,norm=batch); tune steps=10" \
    -e 'fit; predict both.csv out=together.csv columns=mean,sd'
sed -n '1p;42p' both.csv >one.csv
run -s n.gpd -e 'predict one.csv out=alone.csv columns=mean,sd'
sed -n '42p' together.csv >wanted
tail -n 1 alone.csv >given
paste -d, wanted given >rows # single precision, whose sums have another order in larger groups
ok "a row alone is predicted like among others" awk -F, 'function off(a, b) { return (a - b) ^ 2 }
    { exit !(NF == 4 && $2 > 0 && off($1, $3) < 1e-10 && off($2, $4) < 1e-10) }' rows

# What has no meaning is refused, with what to do instead.
refused() { # lines, pattern
    run -e "$data; $1"
    has "$1" "$err" "error\\[learned\\].*$2"
    has "$1: what to do" "$err" '^  try  '
}
refused 'kernel mlp * rbf' 'multiplied with other maps alone'
refused 'kernel rbf * mlp(rbf)' 'multiplied with other maps alone'
refused 'kernel mlp * mlp' 'too many features'
refused 'kernel mlp(mlp)' 'stands before a kernel of another kind'
refused 'kernel mlp(rbf(ard))' 'scales its coordinates itself'
refused 'kernel mlp + conv(rbf)' 'no layer'
refused 'kernel mlp on x1' 'learns from all inputs'
refused "$small; tune solver=exact" 'would only take longer'
refused 'kernel mlp(rbf); plot draws out=d.svg' 'no weights yet'
refused "$small; tune objective=loo" 'exact marginal likelihood'
refused "$small; fit" 'no weights yet'
awk 'BEGIN { print "x,y"; for (i = 0; i < 60; i++) print i * 37 % 61 "," (i % 7 > 3) }' >class.csv
run -e "open class.csv target=y; likelihood bernoulli; $small; tune steps=2"
has "two classes by a posterior" "$err" 'error\[learned\].*likelihood dirichlet'
awk 'BEGIN { print "x,w,c"; for (i = 0; i < 60; i++) print i * 37 % 61 "," 1 + i % 3 ",c" i % 4 }' \
    >heavy.csv
run -e "open heavy.csv target=c; cols w role=weight; $small; tune steps=2"
has "weights of classes" "$err" 'error\[learned\].*equal weight where they have classes'
# Other kinds of models take the covariances of what was learned. Of a map alone the exact model is
# that of its features, and one of all training rows as nearest ones is the exact one.
few='demo friedman1 n=240 seed=1; split test=25% seed=2'
apart() { # FILE FILE: the largest distance of their means
    paste -d, "$1" "$2" | awk -F, 'NR > 1 { d = $2 - $4; d = d < 0 ? -d : d; if (d > m) m = d }
        END { print (NR > 20 ? m : 1) }'
}
for kernel in 'mlp(width=32,out=8)' 'mlp(width=16,out=4) * mlp(width=16,out=4)' \
    'cnn(shape=5x2,channels=4,out=8)' 'mlp(width=16,norm=batch,rows=unit)'; do
    run -s other.gpd -e "$few; kernel $kernel; tune steps=4" \
        -e 'fit; predict columns=row,mean out=f.csv; fit solver=exact' \
        -e 'predict columns=row,mean out=e.csv; fit solver=nn(neighbours=180)' \
        -e 'predict columns=row,mean out=n.csv; fit solver=sparse inducing=10; score'
    is "$kernel: other kinds of models" $rc 0
    ok "$kernel: by features and exact" between "$(apart f.csv e.csv)" 0 1e-4
    ok "$kernel: exact and by all rows as nearest" between "$(apart e.csv n.csv)" 0 1e-4
    run -s other.gpd -e 'predict run=r2 columns=row,mean out=e2.csv'
    ok "$kernel: a session keeps the exact model" cmp e.csv e2.csv
    rm -f other.gpd
done
# Behind a map random features come near the exact model, the more the nearer.
run -e "$few; kernel mlp(rbf,width=32,out=2); tune steps=10" \
    -e 'fit features=16384; predict columns=row,mean out=f.csv' \
    -e 'fit solver=exact; predict columns=row,mean out=e.csv'
ok "a kernel behind a map, exactly" between "$(apart f.csv e.csv)" 0 0.3
run -e "$data; $small; tune steps=2; cols x1 role=skip; fit"
has "other columns" "$err" 'learned for 10 inputs, the data have 9'
run -e "$data; $small; tune steps=2; fit; export out=m.c"
has "programs" "$err" 'has learned its features'
run -e 'kernel mlp(norm=group)'
has "another norm" "$err" 'expected layer, batch or none'
run -e "$data; kernel rbf; tune evals=2 steps=9 features=64"
has "steps= without a map" "$err" 'note\[unused\].*kernel that learns'
run -e "$data; $small; tune steps=2 features=64"
has "features= with one" "$err" 'note\[unused\].*features='

# What was learned against an input: the features that vary most, the first more than the second.
of_csv() { # FILE: series, places and spread of each, in order
    awk -F, 'NR > 1 { if (!n[$2]++) name[++k] = $2; v = $(NF - 2); s[$2] += v; q[$2] += v * v }
        END { for (i = 1; i <= k; i++) { m = name[i]
            print n[m], sqrt(q[m] / n[m] - (s[m] / n[m]) ^ 2) } }' "$1"
}
falls() { awk -v n="$1" -v k="$2" '$1 != n || (NR > 1 && $2 > was * 1.0000001) { exit 1 }
    { was = $2 } END { exit NR != k }'; }
run -e "$data; $small; tune steps=20; fit; plot features-learned x4 out=f1.csv" \
    -e 'describe features-learned; plot features-learned x1 x2 row:5 out=f2.csv; plot features-learned'
has "plot features-learned" "$out" '6 of 16 features, those that vary most here'
of_csv f1.csv >f1
ok "six lines of 201 places" falls 201 6 <f1
awk -F, 'NR == 1 { print; next } { t = $5; $5 = ""; print $1 "," $2 "," $3 "," t ",,"}' f2.csv >f3.csv
of_csv f3.csv >f2
ok "four images of 41 x 41 places" falls 1681 4 <f2
run -e "$data; kernel mlp(rbf,width=16,out=2); tune steps=3 features=32; fit features=64" \
    -e 'plot features-learned x3 out=f4.csv; describe features-learned'
has "of a kernel behind a map its coordinates" "$out" '2 of 2 coordinates.*100 %'
run -e "$data; kernel rbf; fit features=64; plot features-learned out=f5.csv"
has "of others it is refused" "$err" 'error\[learned\].*of kernels that learn'
run -e "$data; $small; tune steps=2; fit; plot features-learned nobody"
has "and of other columns" "$err" 'nobody is not an input'

run -e "$data; $small; tune steps=10; advise"
has "advise in words" "$out" '16 features  rtol'
ok "wants no more of them" sh -c 'test "$(grep -c "more of them help")" = 0' <<END
$out
END

# Everything that looks at a model looks at this one.
run --format json -e "$data; $small; tune steps=40; fit" \
    -e 'spectrum; pca rows=200; neighbours 3; why; check; effects x1; explain-row 5' \
    -e 'suggest 2; cluster k=2 rows=200; landscape; advise; report out=r.html; export r1; plot nmll'
is "views of a model" $rc 0
has "advise knows how many features there are" "$out" '"command":"advise".*"features":16,'
has "pca tells its features" "$out" '"command":"pca".*"features":16'
finish
