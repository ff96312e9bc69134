#!/bin/sh
# tests/scripts/maps/aside.sh -- the amplitude of softmax and discriminant on a map that learns is
# chosen by the rows that its training kept aside: probabilities then hold on new rows. A session
# knows these rows again; rows dealt out otherwise, or seen by a tuning before, are not taken.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"
cd "$dir" || exit 99

awk 'BEGIN { srand(1); print "a,b,c,d,y"; for (i = 0; i < 2000; i++) { a = 4 * rand() - 2
    b = 4 * rand() - 2; c = rand(); d = rand(); e = 3 * (rand() + rand() - 1)
    print a "," b "," c "," d "," (sin(2 * a) + b * b / 2 + e > 1.5 ? "hi" : \
        sin(2 * a) - b + e > 0 ? "mid" : "lo") } }' >three.csv
one() { printf '%s\n' "$out" | sed -n "s/.*\"command\":\"score\".*\"$1\":\([-0-9.e]*\).*/\1/p"; }
base='open three.csv target=y; split test=50% seed=1; kernel mlp(width=64,out=16)'
for l in softmax discriminant; do
    rm -f s.gpd p.csv
    run --format json -s s.gpd -e "$base; likelihood $l; tune steps=150 seed=2" \
        -e 'fit; score; predict columns=row,p out=p.csv'
    has "$l: a tenth of the training rows is new to the map" "$out" \
        '"name":"aside".*by the 100 rows that the training of the map kept aside'
    ok "$l: probabilities hold where they are judged ($(one ece))" \
        awk "BEGIN { exit !($(one ece) < 0.12) }"
    cp p.csv first.csv
    run --format json -s s.gpd -e 'fit; predict columns=row,p out=p.csv'
    has "$l: a session knows them" "$out" '"name":"aside".*by the 100 rows'
    ok "$l: and fits the same" cmp -s first.csv p.csv
    run --format json -s s.gpd -e 'split test=50% seed=9; fit'
    has "$l: other training rows are another matter" "$out" '"name":"seen"'
    run --format json -e "$base; likelihood $l; tune steps=20; tune continue=t1 steps=5; fit"
    has "$l: so is a tuning that goes on" "$out" '"name":"seen"'
    run --format json -e "$base; likelihood $l; tune steps=40; fit; calibrate rows=200; score"
    is "$l: calibrate learns and searches anew" "$rc" 0
    run --format json -e "$base; likelihood $l; tune steps=10; fit amplitude=2"
    is "$l: a given amplitude is not searched" \
        "$(printf '%s\n' "$out" | grep -c '"name":"aside"')" 0
done
run --format json -e "$base; likelihood dirichlet; tune steps=10; fit"
is "regressions search for none" "$(printf '%s\n' "$out" | grep -c '"name":"aside"')" 0
finish
