#!/bin/sh
# tests/scripts/classes/rows.sh -- the class that explain-row says is predicted, and its
# probability, are those of predict: by both links, at inducing points, by a support vector machine,
# with a rule and calibrated; of columns of numbers, of letters and of a map that learns.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"
cd "$dir" || exit 99

awk 'BEGIN { srand(9); print "x1,x2,y"
    for (i = 1; i <= 160; i++) { a = 4 * rand() - 2; b = 4 * rand() - 2
        printf "%.4f,%.4f,%s\n", a, b, (a + b + 2 * rand() - 1 > 1.2 ? "yes" : "no") } }' >two.csv
awk 'BEGIN { srand(3); print "seq,y"; for (i = 1; i <= 80; i++) { s = ""
    for (j = 0; j < 9; j++) s = s substr("ACGT", 1 + int(4 * rand()), 1)
    print s "," (s ~ /A[CG]/ ? "on" : "off") } }' >dna.csv
told() { printf '%s\n' "$out" | grep '"command":"explain-row"' |
    sed 's/.*"predicted":"\([a-z]*\)","p":\([0-9.e-]*\).*/\1 \2/'; }
same() { # NAME FILE COMMANDS
    rm -f p.csv
    run --format json -e "$3; predict $2 columns=row,class,p out=p.csv" \
        -e 'explain-row row:3; explain-row row:8; explain-row row:40; explain-row row:61'
    is "$1: ends well" "$rc" 0
    told >told
    awk -F, 'NR > 1 && ($1 == 3 || $1 == 8 || $1 == 40 || $1 == 61) { print $2, $3 }' p.csv >want
    ok "$1: class and p are those of predict ($(tr '\n' ' ' <told))" \
        sh -c 'paste -d" " told want |
            awk "{ d = \$2 - \$4; bad += \$1 != \$3 || d > 1e-7 || d < -1e-7 }
            END { exit !(NR == 4 && !bad) }"'
}
base='open two.csv target=y; split test=20% seed=4; kernel rbf(l=1.2)'
same probit two.csv "$base; likelihood bernoulli; fit amplitude=2"
same logit two.csv "$base; likelihood bernoulli link=logit positive=no; fit amplitude=2"
same 'a rule' two.csv "$base; likelihood bernoulli decision=yes:0.01; fit amplitude=2"
ok "that chooses the class against 1/2" grep -q '^yes 0\.[0-4]' told
same sparse two.csv "$base; likelihood bernoulli; fit solver=sparse inducing=20 amplitude=2"
same calibrated two.csv "$base; likelihood bernoulli; fit amplitude=2; calibrate rows=40"
same words dna.csv 'open dna.csv types=seq=sequence target=y; likelihood bernoulli'"; \
kernel spectrum(n=2); fit amplitude=2"
same map two.csv 'open two.csv target=y; kernel mlp(width=16,out=4); likelihood dirichlet'"; \
tune steps=20; likelihood bernoulli; fit"
run -e "$base; likelihood bernoulli; fit amplitude=2; explain-row row:3"
has "in words" "$out" '^row 3 by r1: class [a-z]*; predicted [a-z]* (p 0\.[0-9]* of yes); latent mean'
run --format json -e 'demo toy; fit; explain-row row:3'
is "a number has no class" "$(printf '%s\n' "$out" | grep -c '"average".*"predicted"')" 0
run --format json -e about
if ! printf '%s\n' "$out" | grep -q '"libsvm":false'; then
    same svm two.csv "$base; likelihood bernoulli; fit solver=svm amplitude=2"
fi
finish
