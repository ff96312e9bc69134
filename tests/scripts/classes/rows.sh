#!/bin/sh
# tests/scripts/classes/rows.sh -- the class that explain-row says is predicted, and its
# probability, are those of predict: by both links, at inducing points, by a support vector machine,
# with a rule and calibrated; of columns of numbers, of letters and of a map that learns.
# Of several classes, what each column and letter adds is told of the log of the odds of the
# predicted class against the next likely one: of softmax a difference of predicted probabilities.
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

# ---- several classes
awk 'BEGIN { srand(5); print "x1,x2,x3,kind,y"
    for (i = 1; i <= 200; i++) { a = 4 * rand() - 2; b = 4 * rand() - 2; k = int(2 * rand())
        printf "%.4f,%.4f,%.4f,%s,%s\n", a, b, rand(), (k ? "u" : "v"),
            (a > 0.6 + 0.3 * rand() ? "up" : b + k > 0.4 * rand() ? "left" : "right") } }' >three.csv
several() { # NAME FILE COMMANDS: predicted, p, the next class and all p are those of predict
    rm -f p.csv
    run --format json -e "$3; predict $2 out=p.csv" \
        -e 'explain-row row:3; explain-row row:8; explain-row row:40; explain-row row:61'
    is "$1: ends well" "$rc" 0
    printf '%s\n' "$out" | grep '"command":"explain-row"' |
        sed 's/.*"predicted":"\([a-z]*\)","p":\([0-9.e-]*\),"runner_up":"\([a-z]*\)","probabilities":\[\([^]]*\)\].*/\1 \2 \3 \4/' >told
    ok "$1: class, p and the next class are those of predict ($(cut -d' ' -f1 told | tr '\n' ' '))" \
        awk -v rule="${4:-}" 'NR == FNR { n = split($0, f, ","); for (i = 1; i <= n; i++)
                if (FNR == 1) name[i] = f[i]; else if (name[i] == "class") class[f[1]] = f[i]
                else if (name[i] ~ /^p_/) p[f[1], substr(name[i], 3)] = f[i]; next }
            { row = FNR == 1 ? 3 : FNR == 2 ? 8 : FNR == 3 ? 40 : 61; seen++
              bad += $1 != class[row] || d(p[row, $1], $2)
              k = split($4, part, "{"); last = 2; all = 0
              for (i = 2; i <= k; i++) { split(part[i], q, /[":,}]+/)
                  bad += d(p[row, q[3]], q[5]) || q[5] > last; last = q[5]; all++
                  if (q[3] != $1 && q[5] > p[row, $3] + 1e-9) bad++ }
              bad += all < 2 || $3 == $1 }
            function d(a, b) { return a == "" || a - b > 1e-7 || b - a > 1e-7 }
            END { exit !(seen == 4 && !bad) }' p.csv told
}
base3='open three.csv target=y; split test=20% seed=4; kernel rbf(l=1.5)'
several dirichlet three.csv "$base3; likelihood dirichlet; fit features=64"
several 'the exact kernel' three.csv "$base3; likelihood dirichlet; fit solver=exact"
several softmax three.csv "$base3; likelihood softmax; fit features=64"
several 'softmax with variances' three.csv "$base3; likelihood softmax; fit features=64 variance=all"
several discriminant three.csv "$base3; likelihood discriminant; fit features=64"
several 'several, calibrated' three.csv "$base3; likelihood dirichlet; fit features=64; calibrate rows=40"
several 'several, by a rule' three.csv "$base3; likelihood dirichlet decision=right:0.005; fit features=64"
several 'two by dirichlet' two.csv 'open two.csv target=y; likelihood dirichlet; kernel rbf(l=1.2); fit'
several 'several, a map' three.csv 'open three.csv target=y; likelihood softmax; kernel '"\
mlp(width=16,out=4); tune steps=20; fit"
run -s three.gpd -e "$base3; likelihood dirichlet; fit features=64; explain-row row:8"
one=$(printf '%s\n' "$out" | grep '^row 8 by')
has "in words" "$one" '^row 8 by r1: class [a-z]*; predicted \([a-z]*\) (p 0\.[0-9]*, \([a-z]*\) 0\.[0-9]*, [a-z]* [0-9.e-]*); latent \1 less \2 [-0-9.]*, average of 160 training rows'
run -e 'resume three.gpd; explain-row row:8'
is "of a resumed session, whose factors are made again" "$(printf '%s\n' "$out" | grep '^row 8 by')" "$one"

# The change of column x2 in row 8: the log of the odds less its average over all 200 rows' x2, of a
# file that predict reads.  softmax has no variances, so that its odds are those of the functions.
run -s odds.gpd -e 'open three.csv target=y; likelihood softmax; kernel rbf(l=1.5)' \
    -e 'fit features=64 rtol=1e-6; explain-row row:8 out=e.csv; plot row out=e.svg'
has "which is drawn" "$(cat e.svg)" 'change of the latent [a-z]* less [a-z]*'
pair=$(printf '%s\n' "$out" | sed -n 's/^row 8 by.*latent \([a-z]*\) less \([a-z]*\) .*/\1 \2/p')
awk -F, 'NR == 1 { print } NR == 9 { x1 = $1; x3 = $3; k = $4; y = $5; own = $0 }
    NR > 1 { x2[NR - 1] = $2 }
    END { print own; for (i = 1; i < NR; i++) print x1 "," x2[i] "," x3 "," k "," y }' \
    three.csv >moved.csv
run -s odds.gpd -e 'predict moved.csv out=q.csv'
want=$(awk -F, -v pair="$pair" 'BEGIN { split(pair, c, " ") }
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { f = log($at["p_" c[1]] / $at["p_" c[2]]); if (NR == 2) own = f; else { sum += f; n++ } }
    END { print own - sum / n, n }' q.csv)
ok "a column's change is that of the log of the odds ($want)" \
    awk -F, -v want="${want% *}" '$1 == "x2" { d = $4 - want; found = d < 1e-5 && d > -1e-5 }
        END { exit !found }' e.csv
# Letters: the change when one is another, the same way.
awk 'BEGIN { srand(3); print "seq,y"; for (i = 0; i < 90; i++) { s = ""
    for (j = 0; j < 9; j++) s = s substr("ACGT", 1 + int(4 * rand()), 1)
    print s "," (s ~ /A[CG]/ ? "one" : s ~ /TT/ ? "two" : "else") } }' >dna3.csv
run -s letters.gpd -e 'open dna3.csv types=seq=sequence target=y; likelihood softmax' \
    -e 'kernel conv(rbf,width=3); fit features=128 rtol=1e-6; explain-row row:5 out=l.csv; plot row out=l.svg'
is "several classes of sequences" "$rc" 0
pair=$(printf '%s\n' "$out" | sed -n 's/^row 5 .*latent \([a-z]*\) less \([a-z]*\) .*/\1 \2/p')
awk -F, 'NR == FNR { if (FNR == 6) { s = $1; y = $2 } next }
    FNR == 1 { print "seq,y"; print s "," y; next }
    $3 ~ /[ACGT]/ { print substr(s, 1, $1 - 1) $3 substr(s, $1 + 1) "," y }' dna3.csv l.csv >mut.csv
run -s letters.gpd -e 'predict mut.csv out=m.csv'
ok "a letter's change is that of the log of the odds ($pair)" \
    awk -F, -v pair="$pair" 'BEGIN { split(pair, c, " ") }
        NR == FNR { if (FNR > 1 && $3 ~ /[ACGT]/) told[++k] = $4; next }
        FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { f = log($at["p_" c[1]] / $at["p_" c[2]]); if (FNR == 2) own = f
          else { d = f - own - told[++n]; bad += d > 1e-5 || d < -1e-5 } }
        END { exit !(n == k && n == 36 && !bad) }' l.csv m.csv
# A linear kernel adds: the changes make up the whole difference, of the kernel itself, too.
for how in 'fit solver=exact' 'fit features=8'; do
    run --format json -e "open three.csv target=y; likelihood dirichlet; kernel linear; $how; explain-row row:8"
    ok "of a linear kernel the changes add up ($how)" sh -c 'printf "%s\n" "$1" |
        grep "\"command\":\"explain-row\"" | sed "s/.*\"mean\":\([-0-9.e]*\).*\"average\":\([-0-9.e]*\),\"together\":\([-0-9.e]*\).*/\1 \2 \3/" |
        awk "{ d = \$1 - \$2 - \$3; exit !(NF == 3 && d < 1e-6 && d > -1e-6) }"' sh "$out"
done
run -e "$base; likelihood bernoulli; fit amplitude=2; explain-row row:3"
has "in words" "$out" '^row 3 by r1: class [a-z]*; predicted [a-z]* (p 0\.[0-9]* of yes); latent mean'
run --format json -e 'demo toy; fit; explain-row row:3'
is "a number has no class" "$(printf '%s\n' "$out" | grep -c '"average".*"predicted"')" 0
run --format json -e about
if ! printf '%s\n' "$out" | grep -q '"libsvm":false'; then
    same svm two.csv "$base; likelihood bernoulli; fit solver=svm amplitude=2"
fi
finish
