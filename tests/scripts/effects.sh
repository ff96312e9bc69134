#!/bin/sh
# tests/scripts/effects.sh -- effects, importance and explain-row against predictions of files that
# are made here, closed forms of linear and additive models, and each other.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

near() { awk -v a="${1:-nan}" -v b="${2:-nan}" -v t="$3" \
    'BEGIN { d = a - b; if (d < 0) d = -d; exit !(a == a + 0 && b == b + 0 && d <= t) }'; }

# y = 2 a - b + noise of a category; a and b are independent of it.
awk 'BEGIN { srand(3); print "a,b,kind,y"
    for (i = 0; i < 240; i++) { a = 4 * rand() - 2; b = rand(); k = int(3 * rand())
        printf "%.6f,%.6f,%s,%.6f\n", a, b, substr("uvw", k + 1, 1), 2 * a - b + k + 0.01 * rand() } }' \
    >lin.csv
lin='open lin.csv; split ordered test=25%; kernel linear'

# ---- the effect of a linear kernel is a line; it is the average of predictions of made-up rows
run --format json -e "$lin; fit solver=exact noise=0.05; effects rows=1000 out=e.csv; plot effects out=e.svg; plot effects out=p.csv; describe effects"
is "effects of a linear fit" $rc 0
ok "the slope is 2 everywhere" awk -F, '$1 == "a" { if (n++) { s = ($3 - y) / ($2 - x); if (s < 1.98 || s > 2.02) bad = 1 } x = $2; y = $3 } END { exit bad || n != 20 }' e.csv
ok "u, v and w are one apart" awk -F, '$1 == "kind" { m[$2] = $3 } END { d = m["v"] - m["u"]; e = m["w"] - m["v"]; exit !(d > 0.97 && d < 1.03 && e > 0.97 && e < 1.03) }' e.csv
head -c 5 e.svg >e.head
is "the picture is one" "$(cat e.head)" '<?xml'
ok "and its numbers hold the average" grep -q '^[0-9]*,average,' p.csv
at=$(awk -F, '$1 == "a" && ++n == 5 { print $2 }' e.csv)
awk -F, -v OFS=, -v at="$at" 'NR == 1 || NR > 181 { if (NR > 1) $1 = at; print $1, $2, $3, $4 }' lin.csv >made.csv
for how in 'solver=exact noise=0.05' 'features=256 noise=0.05'; do
    run -e "$lin; kernel rbf(l=2); fit $how; effects a,kind rows=1000 out=e.csv; predict made.csv out=made.out"
    want=$(awk -F, 'NR > 1 { s += $2; n++ } END { print s / n }' made.out)
    got=$(awk -F, -v at="$at" '$1 == "a" && $2 == at { print $3 }' e.csv)
    ok "the average of predictions: $how" near "$got" "$want" 1e-4
    ok "the band is around it and 80 % of the rows are wider: $how" awk -F, \
        'NR > 1 && !($5 <= $3 && $3 <= $6 && $4 > 0 && $7 <= $3 && $3 <= $8) { bad = 1 } END { exit bad }' e.csv
done

# ---- importance
run --format json -e "$lin; fit solver=exact noise=0.05; importance repeats=40 out=i.csv; plot importance out=i.svg; describe importance"
is "importance of a linear fit" $rc 0
# 2 w^2 var: a is uniform on 4, w = 2
want=$(awk -F, 'NR > 181 { n++; s += $1; q += $1 * $1 } END { print 8 * (q / n - s * s / n / n) }' lin.csv)
got=$(awk -F, '$1 == "a" { print $4 }' i.csv)
ok "the square of the importance is 2 w^2 var" near "$got" "$want" "$(awk -v w="$want" 'BEGIN { print 0.05 * w }')"
ok "a before the category, b last" awk -F, 'NR == 2 { a = $1 } NR == 3 { k = $1 } NR == 4 { b = $1 } END { exit !(a == "a" && k == "kind" && b == "b") }' i.csv
awk 'BEGIN { srand(5); print "a,noise1,noise2,y"; for (i = 0; i < 200; i++) { a = rand(); printf "%.5f,%.5f,%.5f,%.5f\n", a, rand(), rand(), sin(6 * a) + 0.3 * rand() } }' >noise.csv
run -e 'open noise.csv; split test=40% seed=2; kernel rbf(ard); tune features=64; fit features=256; importance'
has "what does not matter is told" "$out" 'within 2 standard errors of 0 ([12] of 3): noise'
run --format json -e "$lin; cols a,b group=both; fit features=64; importance by=group"
has "a group is permuted together" "$out" '"groups":\[{"name":"both","rise":'
same=$(printf '%s\n' "$out" | sed -n 's/.*"groups"//p')
run --format json --threads 1 -e "$lin; cols a,b group=both; fit features=64; importance by=group"
is "and has the same bits with one thread" "$(printf '%s\n' "$out" | sed -n 's/.*"groups"//p')" "$same"
run --format json -e 'open lin.csv; kernel linear; fit; importance'
has "training rows are told" "$out$err" 'no-test'

# ---- interactions
pair() { run --format json -e "open lin.csv; split ordered test=25%; cols kind role=skip; kernel $1; fit $2 noise=0.05; effects a*b"
    h=$(printf '%s\n' "$out" | sed -n 's/.*"pairs":\[{"a":"a","b":"b","h":\([-0-9.e+]*\).*/\1/p'); }
for how in solver=exact features=128; do
    pair 'rbf(l=1) on a + rbf(l=1) on b' $how
    ok "an additive kernel has no interactions: $how" near "$h" 0 1e-4
done
awk -F, 'NR == 1 { print "a,b,kind,y" } NR > 1 { printf "%s,%s,%s,%.6f\n", $1, $2, $3, $1 * $2 }' lin.csv >t.csv
mv t.csv lin.csv
pair 'rbf(l=1.5)' solver=exact
# a (b - mean b) interacts, and a mean b is the effect of a alone
want=$(awk -F, 'NR > 181 { n++; sb += $2; qb += $2 * $2 } END { m = sb / n; v = qb / n - m * m; print sqrt(v / (v + m * m)) }' lin.csv)
ok "a product has the H of its closed form" near "$h" "$want" 0.12
run -e 'open lin.csv; split ordered test=25%; fit features=64; importance pairs=yes; effects a*b; plot effects a,kind,a*b out=h.csv; plot importance out=i.svg'
is "maps and pairs" $rc 0
is "two curves and a map" "$(cut -d, -f1 h.csv | sort -u | grep -c '^[0-9]')" 3
run -e 'open lin.csv; split ordered test=25%; fit features=64; effects kind; describe effects'
has "the intervals of levels in words" "$out" '95 % of the average: [uvw] [-0-9.e]* to [-0-9.e]*, [uvw] '
run -e 'open lin.csv; split ordered test=25%; fit features=64; importance pairs=yes'
has "the cost comes first" "$err" 'note.cost.: at most [0-9,]* predictions'
has "pairs are named" "$out" 'largest interactions: .* H 0'

# ---- explain-row
awk 'BEGIN { print "a,y"; for (i = 0; i < 40; i++) print i / 10 "," (i < 20 ? "low" : "high") }' >c2.csv
run -e 'open c2.csv target=y; likelihood bernoulli positive=high; fit l=1 amplitude=3; explain-row row:40'
has "a row of two classes has its class and a latent mean" "$out" \
    'row 40 by r1: class high; predicted high (p 0.[0-9]* of high); latent mean [0-9.]* (above 0: high), latent average of 40'
run --format json -e 'open c2.csv target=y; likelihood bernoulli; fit l=1 amplitude=3; explain-row row:1'
has "and neighbours of a class" "$out" '"neighbours":.*"row":2,[^}]*"class":"low".*"class":"low"'
run --format json -e "$lin; fit solver=exact noise=0.05; explain-row row:7 out=r.csv; plot row out=r.svg; describe row"
is "explain-row of numbers and categories" $rc 0
has "values, typical ones, changes, neighbours" "$out" \
    '"columns":\[{"column":"[a-z]*","value":"[^"]*","typical":"[^"]*","change":[-0-9.e]*}.*"neighbours":\[{"row":[0-9]*,"similarity":'
num() { printf '%s\n' "$out" | sed -n "s/.*\"command\":\"explain-row\".*\"$1\":\([-0-9.e+]*\).*/\1/p"; }
ok "of an additive model the changes add up" near "$(num together)" \
    "$(awk -v m="$(num mean)" -v a="$(num average)" 'BEGIN { print m - a }')" 1e-6
run -e 'demo friedman1 n=60; fit features=64; explain-row 7; explain-row 61'
has "no such row" "$err" 'row 61: the data have 60 rows'

# ---- kinds of data
awk 'BEGIN { srand(4); print "a,b,kind,w,y1,y2"
    for (i = 0; i < 200; i++) { a = rand() * 4; b = rand(); k = substr("uvw", 1 + i % 3, 1)
        y = 3 + sin(a) + b + (i % 3) / 4 + 0.1 * rand()
        printf "%s,%.4f,%s,%.3f,%.4f,%.4f\n", i % 40 == 7 ? "" : sprintf("%.4f", a), b, k,
            0.5 + rand(), y, cos(a) + 0.1 * rand() } }' >mixed.csv
run -e 'open mixed.csv target=y1,y2 weight=w; missing mean; split test=30% seed=1; fit features=64; effects target=y2; importance target=y2; explain-row row:3 target=y2; plot effects a target=y1 out=m.csv'
is "missing cells, weights, two targets" $rc 0
has "the target is named" "$out" 'effects of r1 on y2'
run -e 'open mixed.csv target=y1; cols y2 role=skip; missing mean; scale y=log; fit features=64; effects; importance; explain-row row:3'
is "a target on a log scale" $rc 0
run --format json -e 'demo co2; season year; split test=20%; fit features=64; effects'
is "the season moves with its date" "$(printf '%s\n' "$out" | grep '"command":"effects"' | grep -o '"column":"[^"]*"')" '"column":"year"'
run -s s.gpd -e 'demo friedman1 n=80; split test=25%; fit features=64 variance=none; effects x1; script out=s.gps'
has "without variances there is no band, and that is said" "$err" 'note.no-variance.'
run -e 'resume s.gpd; effects x1; importance; plot effects x4 out=x.svg'
is "of a resumed fit" $rc 0
run -s exact.gpd -e 'demo friedman1 n=80; split test=25%; fit solver=exact l=2 noise=0.3; effects x1 out=a.csv'
run -s exact.gpd -e 'effects x1 out=b.csv'
ok "with the bands that it had before" sh -c '[ -n "$(sed -n "2s/.*,.*,.*,\([0-9.e-]*\),.*,.*,.*,.*/\1/p" a.csv)" ] && cmp a.csv b.csv'
run -e 'demo friedman1 n=80; fit features=64; effects nosuch'
has "an unknown column" "$err" 'nosuch'
run -e 'demo proteins n=60; fit features=64; effects'
has "of a sequence there is" "$err" 'explain-row row:1'
run -e 'demo proteins n=60; fit features=64; importance'
has "or of one alone" "$err" 'importance by=position  |  explain-row row:1'

# ---- positions: y = 2 a - b, a and b the places of letters 3 and 6 of 8 in ACGT. Permuting a
# column of numbers w_p adds 2 var(w_p) to the squared error (methods.md 14.4).
awk 'BEGIN { srand(4); print "s,y,a,b"
    for (i = 0; i < 320; i++) { w = ""
        for (p = 1; p <= 8; p++) w = w (c[p] = substr("ACGT", 1 + int(4 * rand()), 1))
        a = index("ACGT", c[3]); b = index("ACGT", c[6])
        printf "%s,%.4f,%s,%s\n", w, 2 * a - b + 0.05 * rand(), a, b } }' >dna.csv
dna='open dna.csv target=y types=s=sequence; cols a,b role=skip; split ordered test=50%'
twice() { awk -F, -v k="$1" -v w="$2" 'NR > 161 { n++; s += $k; q += $k * $k }
    END { print 2 * w * w * (q / n - s * s / n / n) }' dna.csv; }
rise() { awk -F, -v name="$1" '$1 == name { print $4 }' i.csv; }
run --format json -e "$dna; kernel linear; tune features=64 evals=15; fit solver=exact; importance by=position repeats=40 out=i.csv; plot importance out=i.svg; describe importance; importance by=position repeats=40 window=4 out=w.csv"
is "importance by position" $rc 0
third=$(twice 3 2) sixth=$(twice 4 1)
ok "letter 3 adds twice its variance" near "$(rise 3)" "$third" "$(awk -v v="$third" 'BEGIN { print 0.06 * v }')"
ok "and letter 6" near "$(rise 6)" "$sixth" "$(awk -v v="$sixth" 'BEGIN { print 0.06 * v }')"
is "no other letter matters" "$(awk -F, 'NR > 3 && ($2 > 0.01 || $2 < -0.01)' i.csv; wc -l <i.csv)" 9
has "they are drawn along the sequence" "$out" 'Importance along the sequence (r1).*rise: 8 points'
has "JSON has first and last" "$out" '"positions":\[{"name":"3","first":3,"last":3,'
mv w.csv i.csv
ok "a window of four has one of them" near "$(rise 1-4)" "$third" "$(awk -v v="$third" 'BEGIN { print 0.06 * v }')"
run --format json -e "$dna; kernel conv(rbf,width=1,average=none); fit solver=exact l=1 noise=0.1; importance by=position out=i.csv"
is "of windows it is asked of the symbols" "$rc $(wc -l <i.csv)" '0 9'
run -k -e "$dna; kernel rbf; fit features=64; importance by=position window=9; importance window=2"
has "a window of more than all" "$err" 'window=9: there are 8 positions'
has "a window of columns" "$err" 'importance by=position window=2'
run -e 'demo molecules n=60; kernel graph(rbf); fit features=64; importance by=position'
has "nodes have no order" "$err" 'have no order.*'
has "and what to do" "$err" 'explain-row row:1  leaves out each node'
run -e 'demo molecules n=60; kernel rbf; fit features=64; importance by=position'
has "with a kernel of columns the means over nodes are permuted" "$out" 'importance by r1'
run -e 'demo friedman1 n=60; fit features=64; importance by=position'
has "there are none in columns" "$err" 'reads no sequence'

# ---- a new name for a column, or for one that was computed from it, does not part them
run --format json -e 'demo co2; season year; rename year=when,year_year_sin=wave; split test=20%; fit features=64; importance; effects; explain-row row:3'
is "all that comes from the dates is one column" "$rc $(printf '%s\n' "$out" | grep -c '"columns":\[{"\(name\|column\)":"when"[^{]*}\]')" '0 3'
run -k -e 'demo friedman1 n=80; plot effects; plot importance out=x.svg'
has "nothing to draw yet" "$err" 'try  importance'
finish
