#!/bin/sh
# tests/scripts/maps/cnn.sh -- kernel cnn: images are learned, fitted, resumed, and refused where
# the inputs are none.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"

num() { printf '%s\n' "$out" | grep "\"command\":\"$1\"" | tail -n 1 |
    sed -n "s/.*\"$2\":\([-+0-9.eE]*\)[,}].*/\1/p"; }
between() { awk -v x="$1" -v lo="$2" -v hi="$3" 'BEGIN { exit !(x != "" && x >= lo && x <= hi) }'; }

# A stroke of four pixels somewhere in 8 x 8: across, down, slanted; size is the ink of a pixel.
awk 'BEGIN {
    srand(3)
    for (j = 0; j < 64; j++) printf "p%d,", j
    print "ink,stroke"
    split("across down slanted", name, " ")
    for (i = 0; i < 480; i++) {
        way = int(3 * rand()) + 1; ink = 0.5 + rand()
        y = int((way == 1 ? 8 : 5) * rand()); x = int((way == 2 ? 8 : 5) * rand())
        for (j = 0; j < 64; j++) p[j] = 0.05 * rand()
        for (k = 0; k < 4; k++)
            p[8 * (y + (way > 1 ? k : 0)) + x + (way != 2 ? k : 0)] += ink
        for (j = 0; j < 64; j++) printf "%.3f,", p[j]
        printf "%.4f,%s\n", ink, name[way]
    }
}' >strokes.csv
split='split test=25% valid=10% seed=2'
ink="open strokes.csv target=ink; cols stroke role=skip; scale x=common; $split"
strokes="open strokes.csv target=stroke; cols ink role=skip; scale x=common; $split"
small='kernel cnn(shape=8x8,channels=6:8,out=8)'

run --format json -s a.gpd -e "$ink; $small; tune steps=60; fit; score; predict out=p1.csv"
is "numbers of images are learned" $rc 0
ok "and told" between "$(num score rmse_scaled)" 0 0.3
has "with the features of the map" "$out" '"command":"fit".*"features":8'
has "which is printed" "$out" \
    'cnn(shape=8x8,channels=6:8,out=8,norm=layer,rows=plain,weights=[0-9a-f]\{16\})'
run -s a.gpd -e 'predict run=r1 out=p2.csv; fit; predict out=p3.csv; tune continue=t1 steps=3'
is "it goes on in a session" $rc 0
ok "a session predicts the same bits" cmp p1.csv p2.csv
ok "and fits the same bits" cmp p1.csv p3.csv
run -s a.gpd -e 'plot features-learned p20 out=f.csv; describe features-learned'
has "features against a pixel" "$out" '6 of 8 features'
for threads in 2 3; do
    run --threads $threads -e "$ink; $small; tune steps=60; fit; predict out=t$threads.csv"
    ok "$threads threads learn the same bits" cmp p1.csv t$threads.csv
done
run -s a.gpd -e 'undo; undo; undo; fit; script out=s.gps'
run -f s.gps
is "a script repeats it" $rc 0

run --format json -s c.gpd -e "$strokes; likelihood dirichlet; $small; tune steps=80; fit; score" \
    -e 'predict columns=row,y,class,p out=c1.csv; check; why; pca rows=100; calibrate on=valid'
is "classes of images" $rc 0
ok "strokes are told apart wherever they are" between "$(num score accuracy)" 0.9 1
run -s c.gpd -e 'predict run=r1 columns=row,y,class,p out=c2.csv'
ok "a session predicts the same classes" cmp c1.csv c2.csv
for norm in batch none; do
    run --format json -e "$strokes; likelihood dirichlet" \
        -e "kernel cnn(shape=8x8,channels=6:8,out=8,norm=$norm); tune steps=80; fit; score"
    ok "norm=$norm" between "$(num score accuracy)" 0.85 1
done
run --format json -e "$strokes; likelihood dirichlet" \
    -e 'kernel cnn(rbf,shape=4x8x2,channels=6,out=4) + cnn(shape=8x8,channels=4,out=4)' \
    -e 'tune steps=10 features=64; fit features=64; score; pca rows=50'
is "sums, and a kernel behind a map of two numbers a pixel" $rc 0

# A stop keeps the best.
"$gpdesk" --format json -s stop.gpd -e "$ink; kernel cnn(out=8)" -e 'tune steps=100000' \
    >stop.json 2>/dev/null </dev/null &
pid=$!
i=0
while ! grep -q '"phase":"tune"' stop.json 2>/dev/null && [ $i -lt 600 ]; do
    sleep 0.1
    i=$((i + 1))
done
kill -INT $pid
wait $pid
has "a stopped tuning has a result" "$(cat stop.json)" '"command":"tune".*"outcome":"cancelled"'
run -s stop.gpd -e 'fit; score'
is "which a fit can use" $rc 0

# What the images are has to fit the inputs.
refused() { # LINES PATTERN TRY
    run -e "$1"
    has "$1" "$err" "error\\[image\\].*$2"
    has "$1: what to do" "$err" "^  try  .*$3"
}
refused 'demo friedman1 n=100 seed=1; kernel cnn; tune steps=2' \
    '10 inputs are none' 'kernel cnn(shape=2x5)'
refused "$ink; kernel cnn(shape=28x28); tune" '28 x 28 x 1 = 784 numbers, and the data have 64' \
    'shape=8x8'
refused "$ink; kernel cnn(channels=4:4:4:4); tune" 'at least 16 x 16' 'channels=16)'
run -e 'kernel cnn(shape=8)'
has "a shape that is none" "$err" 'expected rows x columns of the image'
run -e 'kernel cnn(channels=0:4)'
has "channels that are none" "$err" 'expected channels of each convolution'
run -e 'help cnn'
has "help" "$out" 'channels=16:32  channels of each convolution'
has "and its shape" "$out" 'shape=square  rows x columns'
finish
