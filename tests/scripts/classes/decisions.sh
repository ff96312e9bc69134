#!/bin/sh
# tests/scripts/classes/decisions.sh -- decision= and cost= under every likelihood of two classes:
# the class of each row by hand from its probability, the scores from these classes, and everything
# that does not move; sessions, scripts, undo, folds, plots, exported programs, refusals.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"
cd "$dir" || exit 99

awk 'BEGIN { srand(9); print "x1,x2,y"
    for (i = 1; i <= 160; i++) { a = 4 * rand() - 2; b = 4 * rand() - 2
        printf "%.4f,%.4f,%s\n", a, b, (a + b + 2 * rand() - 1 > 1.2 ? "yes" : "no") } }' >two.csv
base='open two.csv target=y; split test=40% stratify=yes seed=4; kernel rbf(l=1.2)'
one() { printf '%s\n' "$out" | sed -n "s/.*\"command\":\"$1\".*\"$2\":\([-+.0-9e]*\).*/\1/p" | tail -n 1; }

# rule NAME LIKELIHOOD FIT RULE TEST: fits with the rule, and has awk choose by TEST of p, the
# probability of yes. Writes p.csv.
rule() {
    run --format json -e "$base; likelihood $2 $4; fit $3; score" \
        -e 'predict columns=row,y,class,p out=p.csv'
    is "$1, $4: ends well" "$rc" 0
    awk -F, -v bern="$2" 'function yes(s) { return s == "yes" || s == "1" }
        NR == 1 { for (j = 4; j <= NF; j++) if ($j == "p" || $j == "p_yes") at = j; next }
        { p = $at; c = ('"$5"'); t = yes($2); n[t]++; hit[t] += c == t; cell[t, c]++
          if ((c ? "yes" : "no") != $3) bad++; yes_n += c }
        END { printf "%d %.9f %.9f %d,%d %d,%d\n", bad, (hit[0] + hit[1]) / (n[0] + n[1]),
            (hit[0] / n[0] + hit[1] / n[1]) / 2, cell[0, 0], cell[0, 1], cell[1, 0], cell[1, 1]
        }' p.csv >hand
    is "$1, $4: classes, accuracy and the mean over classes by hand" \
        "$(printf '0 %.9f %.9f' "$(one score accuracy)" "$(one score balanced_accuracy)")" \
        "$(cut -d' ' -f1-3 hand)"
    has "$1, $4: the confusions" "$out" "\"confusion\":{\"no\":\[$(cut -d' ' -f4 hand)\],\"yes\":\
\[$(cut -d' ' -f5 hand)\]}"
    has "$1, $4: the error" "$out" "\"command\":\"score\".*\"error\":$(awk '{ printf "%.6f", 1 - $2 }' \
        hand | sed 's/0*$//')"
}
all() { # NAME LIKELIHOOD FIT
    rule "$1" "$2" "$3" '' 'p >= 0.5'
    cut -d, -f1,2,4- p.csv >plain.csv
    loss=$(one score log_loss) area=$(one score auroc) ece=$(one score ece)
    rule "$1" "$2" "$3" 'decision=yes:0.2' 'p >= 0.2'
    cut -d, -f1,2,4- p.csv >ruled.csv
    ok "$1: probabilities stay to the bit" cmp -s plain.csv ruled.csv
    is "$1: and so do log loss, area and ECE" \
        "$(one score log_loss) $(one score auroc) $(one score ece)" "$loss $area $ece"
    has "$1: the rule is told" "$out" '"command":"score".*"rule":"decision=yes:0.2"'
    rule "$1" "$2" "$3" 'decision=no:0.9' '!(1 - p >= 0.9)'
    rule "$1" "$2" "$3" 'cost=yes>no:5' 'p * 5 > 1 - p'
    rule "$1" "$2" "$3" 'cost=no>yes:3,yes>no:2' 'p * 2 > (1 - p) * 3'
}
all probit bernoulli amplitude=3
all logit 'bernoulli link=logit' amplitude=3
all sparse bernoulli 'amplitude=3 solver=sparse inducing=20'
all svm bernoulli 'amplitude=3 solver=svm C=1'
all dirichlet dirichlet 'features=64'
all softmax softmax 'features=64 amplitude=3'
all discriminant discriminant 'features=64'

# A positive class that is not the greater word: the rule is of names.
run --format json -e "$base; likelihood bernoulli positive=no decision=yes:0.2; fit amplitude=3" \
    -e 'predict columns=row,class,p out=q.csv'
is "the positive class is another one" "$(awk -F, 'NR > 1 {
    c = 1 - $3 >= 0.2 ? "yes" : "no"; if (c != $2) bad++ } END { print bad + 0 }' q.csv)" 0

# What keeps it: sessions, scripts, undo; folds and a calibration choose by it.
run --format json -s k.gpd -e "$base; likelihood bernoulli decision=yes:0.2; fit amplitude=3" \
    -e 'likelihood; score; predict columns=row,y,class,p out=p1.csv'
has "likelihood tells it" "$out" '"command":"likelihood".*"rule":"decision=yes:0.2"'
run --format json -s k.gpd -e 'predict columns=row,y,class,p out=p2.csv; likelihood; undo; undo' \
    -e 'likelihood; redo; redo; likelihood; script'
ok "a session chooses alike" cmp -s p1.csv p2.csv
has "a script has it" "$out" 'likelihood bernoulli decision=yes:0.2'
run -s k.gpd -e 'score; plot confusion out=c.csv; calibrate share=0.2; predict columns=class,p out=t.csv'
has "the score of people tells it" "$out" 'classes are chosen by decision=yes:0.2: mean over classes'
is "a temperature is applied before the rule" "$(awk -F, 'NR > 1 {
    if (($2 >= 0.2 ? "yes" : "no") != $1) bad++ } END { print bad + 0 }' t.csv)" 0
run --format json -e "$base; split folds=3 seed=1; likelihood bernoulli decision=yes:0.2" \
    -e 'fit amplitude=3; score folds'
has "folds have the mean over classes" "$out" '"balanced_accuracy_folds":\['

# Programs that export writes choose by the rule, too.
for how in 'decision=yes:0.2' 'decision=no:0.9' 'cost=yes>no:5' ''; do
    run -e "$base; likelihood bernoulli $how; fit amplitude=3; score; export out=m.py; export out=m.c" \
        -e 'predict two.csv columns=class out=w.csv'
    is "export ($how)" "$rc" 0
    sed 1d w.csv >wanted
    if python3 -c 'import numpy' 2>/dev/null; then
        python3 m.py two.csv 2>/dev/null | cut -d, -f3 | sed 1d >got
        ok "the program in Python chooses so ($how)" cmp -s wanted got
    fi
    if command -v "${CC:-cc}" >/dev/null; then
        "${CC:-cc}" -O1 -o m m.c -lm && ./m two.csv | cut -d, -f3 | sed 1d >got
        ok "the program in C, too ($how)" cmp -s wanted got
    fi
done

refused() { # RULE PATTERN
    run --format json -e "$base; likelihood $1"
    has "refused: $1" "$err$out" "$2"
}
refused 'bernoulli decision=maybe:0.3' "there is no class 'maybe'"
refused 'bernoulli decision=yes' 'form NAME:PROBABILITY.*"try":"likelihood bernoulli decision=no:0.3'
refused 'bernoulli decision=yes:0.3 cost=yes>no:2' 'give one of them.*likelihood bernoulli decision'
refused 'bernoulli cost=yes>yes:2' 'right class, which costs nothing'
refused 'gaussian cost=yes>no:2' 'belongs to a likelihood of classes'
refused 'gaussian classweights=balanced' 'belongs to classes.*likelihood dirichlet classweights='

# With weights the rare class is found more often, by Laplace's method and by expectation
# propagation, too, and the session keeps the word and the fit.
awk 'BEGIN { srand(4); print "a,b,y"; for (i = 0; i < 600; i++) { a = 4 * rand() - 2; b = rand()
    print a "," b "," (rand() < 0.25 / (1 + exp(-3 * a)) ? "rare" : "common") } }' >rare.csv
recall() { printf '%s\n' "$out" | sed -n 's/.*"command":"score".*"recall":\[[0-9.]*,\([0-9.]*\)\].*/\1/p'; }
sed 301q rare.csv >fewer.csv # without inducing points a tuning takes the cube of the rows
weights() { # LINK SOLVER FILE
    job="open $3 target=y; split test=40% seed=3; kernel rbf"
    run --format json -e "$job; likelihood bernoulli link=$1; tune solver=$2; fit solver=$2; score"
    plain=$(recall)
    rm -f weights.gpd
    run --format json -s weights.gpd -e "$job; likelihood bernoulli link=$1 classweights=balanced" \
        -e "tune solver=$2; fit solver=$2; score"
    has "$1, $2: weights of two classes are told" "$out" "\"link\":\"$1\".*\"classweights\":\"balanced\""
    weighed=$(recall)
    ok "$1, $2: and find more of the rare one ($plain, $weighed)" \
        awk "BEGIN { exit !($plain < 0.2 && $weighed > 0.5) }"
    run --format json -s weights.gpd -e "likelihood; score; fit solver=$2; score"
    has "$1, $2: the session keeps them" "$out" '"classweights":"balanced"'
    is "$1, $2: and the probabilities, made anew as well" "$(recall | sort -u)" "$weighed"
}
weights logit exact fewer.csv
weights probit exact fewer.csv
weights probit 'sparse inducing=20' rare.csv
finish
