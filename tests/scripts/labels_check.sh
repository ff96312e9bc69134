#!/bin/sh
# tests/scripts/labels_check.sh -- check and why for classes: the judgement of probabilities, sure
# errors by row and class, rare classes, equal inputs of different classes; figures by awk.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

last() { printf '%s\n' "$out" | grep "\"command\":\"$1\"" | tail -n 1; }
num() { printf '%s\n' "$1" | sed -n "s/.*\"$2\":\([-+0-9.eE]*\)[,}].*/\1/p"; }
# Inputs on a grid, so that rows repeat, and labels with noise.
awk 'BEGIN { srand(3); print "x1,x2,y"; for (i = 0; i < 600; i++) {
    a = int(12 * rand()); b = int(12 * rand()); s = a + b + 4 * (rand() - 0.5)
    k = s > 11.5 ? a > 9 ? "r,are" : "big" : "small"
    print a "," b ",\"" k "\"" } }' >grid.csv
open='open grid.csv target=y; likelihood dirichlet; split file=mask.csv column=s'
awk 'BEGIN { print "s"; for (i = 0; i < 600; i++) print i % 3 == 1 }' >mask.csv

run --format json -s s.gpd -e "$open; fit features=128 l=0.4 amplitude=25; check; score; why" \
    -e 'predict columns=row,y,class,p out=p.csv'
is "it succeeds" $rc 0
check=$(last check)
# The figures from the file: classes are big, "r,are", small.
sed 's/"r,are"/rare/g; s/"p_r,are"/p_rare/' p.csv | awk -F, 'NR > 1 {
    most = $4 > $5 ? $4 : $5; if ($6 > most) most = $6
    n++; sure += most; var += most * (1 - most); right += $2 == $3
    for (k = 4; k <= 6; k++) if ($k < 0.05) { rare += $k
        if ($2 == (k == 4 ? "big" : k == 5 ? "rare" : "small")) odd++ }
    if ($2 != $3 && most > worst) { worst = most; row = $1 } }
    END { printf "%.9f %.9f %.9f %d %d %.1f\n", sure / n, right / n, sqrt(var) / n, row, odd, rare
    }' >sums
is "confidence, its share and standard error; the surest error" \
    "$(printf '%.9f %.9f %.9f %d' "$(num "$check" confidence)" "$(num "$check" confidence_share)" \
        "$(num "$check" confidence_se)" "$(printf '%s\n' "$check" |
        sed 's/.*"confident_errors":\[{"row":\([0-9]*\).*/\1/')")" "$(cut -d' ' -f1-4 sums)"
read -r _ _ _ _ odd rare <sums
has "rows of a class with little probability, and what was expected" "$check" \
    "\"confident\":{\"ok\":[a-z]*,\"text\":\"$odd rows .* less than 5 % (expected $rare); the surest"
has "the errors have classes" "$check" \
    '"confident_errors":\[{"row":[0-9]*,"class":"[a-z,]*","taken_for":"[a-z,]*","p":0.[0-9]*}'
# Training rows (every third is a test row) whose inputs occur with several classes.
sed 's/"//g; s/r,are/rare/' grid.csv | awk -F, 'NR > 1 && (NR - 2) % 3 != 1 {
    k = $1 "," $2; n[k]++; c[k, $3]++; if (!((k, $3) in seen)) { seen[k, $3]; kinds[k]++ }
    if (c[k, $3] > most[k]) most[k] = c[k, $3] }
    END { for (k in n) if (kinds[k] > 1) { rows += n[k]; inputs++; wrong += n[k] - most[k] }
          print rows, inputs, wrong }' >conflicts
read -r rows inputs wrong <conflicts
has "conflicts are counted" "$check" \
    "\"conflicts\":{\"rows\":$rows,\"inputs\":$inputs,\"least_wrong\":$wrong}"
has "and told with two rows" "$check" \
    "\"conflicts\":{\"ok\":false,\"text\":\"$rows training rows have .* at least $wrong of them"
has "why names them" "$(last why)" "{\"name\":\"conflicts\",.*\"evidence\":\"$rows of 400 training"
pair=$(printf '%s\n' "$check" | sed 's/.*as rows \([0-9]*\) and \([0-9]*\):.*/\1 \2/')
is "these rows have the same inputs" "$(sed -n "$((${pair% *} + 1))p" grid.csv | cut -d, -f1,2)" \
    "$(sed -n "$((${pair#* } + 1))p" grid.csv | cut -d, -f1,2)"
run --format json -s s.gpd -e 'check'
is "a session has the same check" "$(last check | sed 's/"seconds".*//')" \
    "$(printf '%s\n' "$check" | sed 's/"seconds".*//')"

# Too sure: labels that have nothing to do with the inputs; too cautious: few features, no doubt.
awk 'BEGIN { srand(9); print "x1,x2,y"; for (i = 0; i < 900; i++)
    print 4 * rand() "," 4 * rand() "," (rand() < 0.3 ? "a" : rand() < 0.5 ? "b" : "c") }' >none.csv
run --format json -e 'open none.csv target=y; likelihood dirichlet; split test=50% seed=1' \
    -e 'fit features=512 l=0.05 amplitude=30; score; check; why'
has "probabilities that are too sure" "$(last check)" '"probabilities":"are too sure"'
has "why says so, with a way out" "$(last why)" \
    '"name":"probabilities".*are too sure","try":"calibrate r1 share=0.1"'
has "and that the inputs tell nothing" "$(last why)" '"name":"information"'
has "and that there are too many sure errors" "$(last why)" '"name":"confident".*"try":"show '
run --format json -e 'open none.csv target=y; likelihood dirichlet; split test=30% valid=20% seed=1' \
    -e 'fit features=512 l=0.05 amplitude=30; score; why'
has "validation rows are there already" "$(last why)" '"try":"calibrate r1 on=valid"'
awk 'BEGIN { srand(4); print "x,y"; for (i = 0; i < 600; i++) { x = 8 * rand()
    print x "," int(x) % 3 } }' >sure.csv
run --format json -e 'open sure.csv target=y; likelihood dirichlet alpha=0.5; split test=50% seed=1' \
    -e 'fit features=128 l=0.3; score; check; why'
has "too cautious ones" "$(last check)" '"probabilities":"are too cautious"'
has "labels agree" "$(last check)" '"conflicts":{"rows":0,"inputs":0,"least_wrong":0}'

# A class of few rows that is hardly found, and one without training rows.
awk 'BEGIN { srand(5); print "x,y"; for (i = 0; i < 1200; i++) { x = 6 * rand()
    k = rand() < 0.025 ? "seldom" : x > 3 ? "left" : "right"; print x "," k } }' >seldom.csv
run --format json -e 'open seldom.csv target=y; likelihood dirichlet; split test=50% stratify=yes' \
    -e 'fit features=64; score; check; why'
has "a rare class behind a high accuracy" "$(last check)" \
    '"imbalance":{"ok":false,"text":"the commonest class, [a-z]*, has .* accuracy alone flatters"'
has "why says it" "$(last why)" '"name":"imbalance".*class seldom has [0-9]* of 600 training rows'
awk 'BEGIN { print "x,y"; for (i = 0; i < 40; i++)
    printf "%d,%s\n", i, i == 39 ? "last" : i % 2 ? "odd" : "even" }' >late.csv
run --format json -e 'open late.csv target=y; likelihood dirichlet; split ordered test=10%' \
    -e 'fit features=64; why; score; why'
has "a class without training rows" "$(last why)" \
    '"name":"imbalance".*no training row is of class last, of which there are 1 test rows'

# A rule of decision chooses other classes: the probabilities are judged as before.
run --format json -e 'open seldom.csv target=y; likelihood dirichlet; split test=50% stratify=yes' \
    -e 'fit features=64; check; likelihood dirichlet decision=seldom:0.001; fit features=64; check'
is "the judgement is of the likeliest class, with a rule or without" \
    "$(printf '%s\n' "$out" | grep '"command":"check"' |
        sed 's/.*\("confidence":.*"probabilities":"[a-z ]*"\).*/\1/' | sort -u | grep -c .)" 1
is "what is found follows the rule" "$(printf '%s\n' "$out" | grep '"command":"check"' |
    sed 's/.*"imbalance":{"ok":[a-z]*,"text":"[^"]*, of which \([0-9.]*\) %.*/\1/' | sort -u | grep -c .)" 2

# Two classes with one function; tunings; what has no model.
sed 's/"r,are"/big/; 302q' grid.csv >two.csv
run --format json -e 'open two.csv target=y; likelihood bernoulli; split test=30% seed=2' \
    -e 'tune evals=6; why; fit amplitude=40; score; check; why'
has "two classes have conflicts" "$(last check)" '"conflicts":{"rows":[1-9][0-9]*,'
has "why, too" "$(last why)" '"name":"conflicts"'
sed 's/,b$/,c/' none.csv >two.csv
run --format json -e 'open two.csv target=y; likelihood bernoulli; split test=50% seed=2' \
    -e 'fit amplitude=30 l=0.1; score; check; why'
has "and a judgement" "$(last check)" '"confidence_se":0.[0-9]*,"probabilities":"are too sure"'
has "and a way out" "$(last why)" '"name":"probabilities".*"try":"calibrate r1 share=0.1"'
run -e 'open sure.csv target=y; likelihood dirichlet; fit features=128 l=0.3; why'
has "nothing wrong" "$out" 'no problem was found; checked: rows, columns, labels; once it is scored'
finish
