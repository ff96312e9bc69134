#!/bin/sh
# tests/scripts/labels.sh -- several classes (likelihood dirichlet): tune, fit, score, check,
# predict; scores against sums by awk, sessions, undo, and what several classes refuse.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"
cd "$dir" || exit 99

# Three classes in two inputs, one of them rare, and its text is hostile to spreadsheets and CSV.
awk 'BEGIN { srand(5); print "id,x1,x2,kind"
    for (i = 1; i <= 240; i++) {
        a = 4 * rand() - 2; b = 4 * rand() - 2
        k = a > 1.2 ? "\"=rare, one\"" : b > 0 ? "north" : "south"
        printf "n%d,%.4f,%.4f,%s\n", i, a, b, k } }' >three.csv
base='open three.csv target=kind; cols id role=id'

run --format json -e "$base; fit"
has "a Gaussian likelihood refuses words and names the ways out" "$err$out" \
    'holds words.*likelihood dirichlet'
run --format json -e "$base; likelihood dirichlet; likelihood; undo; likelihood; redo; likelihood"
is "the state is told, undone and done again" "$(printf '%s\n' "$out" |
    sed -n 's/.*"likelihood":"\([a-z]*\)".*/\1/p' | paste -sd' ')" \
    'dirichlet dirichlet gaussian dirichlet'
has "with its classes in ascending order" "$out" '"classes":\["=rare, one","north","south"\]'
has "and their counts" "$out" '"alpha":0.01'

run --format json -s s.gpd -e "$base; split test=30% stratify=yes seed=4" \
    -e 'likelihood dirichlet; kernel rbf; tune evals=12 features=128' \
    -e 'fit features=256; score; check; predict columns=row,id,y,class,p out=p.csv; runs'
score=$(printf '%s\n' "$out" | grep '"command":"score"' | head -n 1)
is "all of it ends well" "$rc" 0
has "it learns: most rows are right" "$score" '"accuracy":0\.9'
has "no score of numbers" "$score" '"rmse":null'
has "the fit has an evidence" "$out" '"evidence":-[0-9]'
has "check judges the probabilities" "$out" \
    '"findings":{"calibration".*"confident".*"classes".*"information"'
is "the head of the predictions" "$(head -n 1 p.csv)" \
    'row,id,y,class,"p_=rare, one",p_north,p_south'
# Accuracy, log loss and Brier score by awk from the file; names have a comma.
sed 's/"=rare, one"/rare/g' p.csv | awk -F, 'NR > 1 {
    n++; right += $3 == $4; k = $3 == "rare" ? 5 : $3 == "north" ? 6 : 7
    loss -= log($k); sum = $5 + $6 + $7; if (sum - 1 > 1e-12 || 1 - sum > 1e-12) bad++
    for (j = 5; j <= 7; j++) brier += ($j - (j == k)) ^ 2 }
    END { printf "%.9f %.9f %.9f %d\n", right / n, loss / n, brier / n, bad }' >sums
figure() { printf '%s\n' "$score" | sed -n "s/.*\"$1\":\\([-0-9.e]*\\).*/\\1/p"; }
is "accuracy, log loss, Brier score; probabilities sum to 1" \
    "$(printf '%.9f %.9f %.9f 0' "$(figure accuracy)" "$(figure log_loss)" "$(figure brier)")" \
    "$(cat sums)"
has "the confusions by class" "$score" \
    '"confusion":{"=rare, one":\[[0-9, ]*\],"north":\[[0-9, ]*\],"south":\[[0-9, ]*\]}'
ok "their sum is the number of rows" awk -v n="$(figure rows)" -v text="$score" 'BEGIN {
    sub(/.*"confusion":\{/, "", text); sub(/\}.*/, "", text); gsub(/"[^"]*":/, "", text)
    gsub(/[^0-9]+/, " ", text); k = split(text, v, " "); for (i = 1; i <= k; i++) s += v[i]
    exit s != n || k != 9 }'

# Sessions: the same bytes, also where the factors are made again; other numbers of threads.
cp p.csv first.csv
run --format json -s s.gpd --threads 3 -e 'predict columns=row,id,y,class,p out=p.csv; likelihood'
ok "a session predicts to the bit" cmp -s first.csv p.csv
has "and has the likelihood" "$out" '"likelihood":"dirichlet"'
run -s s.gpd -e script
has "a script has the likelihood" "$out" '^likelihood dirichlet$'
has "and expects class scores" "$out" 'expect r1 accuracy 0[.][0-9]*, log_loss 0[.]'
printf '%s\n' "$out" >again.gps
run again.gps
is "the script runs again" "$rc" 0
head -n 5 three.csv | cut -d, -f1-3 >new.csv
run --format json -s s.gpd -e 'predict new.csv run=r1 out=n.csv'
is "new rows without the target" "$(wc -l <n.csv)" 5
printf 'id,x1,x2,kind\na,0,1,north\nb,0,1,other\n' >new.csv
run --format json -s s.gpd -e 'predict new.csv run=r1 columns=y,class out=n.csv'
is "a class that only new rows have is an empty cell" "$(sed 's/\r//' n.csv | paste -sd' ')" \
    'y,class north,north ,north'

run --format json -e "$base; likelihood dirichlet alpha=0.1; kernel matern(nu=3/2)" \
    -e 'split folds=3 stratify=yes; fit features=64; score folds'
has "folds" "$out" '"accuracy":'
run --format json -e "$base; likelihood dirichlet; split test=20%; fit features=64 amplitude=2" \
    -e 'score; fit features=64 amplitude=4; score; compare r1 r2'
has "compare has the paired log loss" "$out" '"log_loss"'

# Two classes, numbers as classes, a class without training rows, rows all of one class.
awk 'BEGIN { print "x,y"; for (i = 0; i < 40; i++) printf "%d,%d\n", i, i < 20 ? 10 : 9 }' >two.csv
run --format json -e 'open two.csv target=y; likelihood dirichlet; split test=25% seed=1' \
    -e 'fit features=64 l=0.5; score; predict columns=p,class'
has "numbers are ordered as numbers" "$out" '"classes":\["9","10"\]'
has "two classes are told apart" "$out" '"accuracy":1'
awk 'BEGIN { print "x,y"; for (i = 0; i < 40; i++)
    printf "%d,%s\n", i, i == 39 ? "last" : i % 2 ? "odd" : "even" }' >late.csv
run --format json -e 'open late.csv target=y; likelihood dirichlet; split ordered test=10%' \
    -e 'fit features=64; score'
has "a class without training rows is told" "$err$out" '"name":"unseen-class"'
has "its rows are scored" "$out" '"rows":4'

# What has no meaning for several classes is refused, with what to do instead.
refuse() { # COMMAND WORDS
    run --format json -s s.gpd -e "$1"
    has "refused: $1" "$err$out" "$2"
}
refuse 'fit solver=exact' 'solver= belongs to a regression.*fit features='
refuse 'tune objective=loo' 'objective= belongs to a regression'
refuse 'advise' 'linear system of a regression.*likelihood gaussian'
refuse 'calibrate run=r1 share=0.2 method=scale' 'predicts classes'
refuse 'likelihood dirichlet positive=north' 'of several classes none is the positive one'
refuse 'likelihood gaussian alpha=1' 'alpha= belongs to several classes'
refuse 'predict columns=mean' 'mean is of a number, and this run predicts several classes'
refuse 'predict columns=mean_latent' 'mean_latent is of two classes'
run -s s.gpd -e 'score' -e 'plot roc out=no.svg'
has "a plot of two classes says so" "$err$out" 'several classes'
run -s s.gpd -e 'score' -e 'plot parity out=no.svg'
has "a plot of numbers, too" "$err$out" 'several classes'
awk 'BEGIN { print "x,y"; for (i = 0; i < 700; i++) printf "%d,w%d\n", i, i % 70 }' >many.csv
run --format json -e 'open many.csv target=y; likelihood dirichlet'
has "more than 64 values" "$err$out" 'more than 64 different values'
run --format json -e "open three.csv target=kind; cols x2 role=weight; likelihood dirichlet" \
    -e 'where x2 > 0; fit features=64'
has "weights of rows" "$err$out" 'weights of rows belong to Gaussian noise'

finish
