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

run --format json -e "$base; likelihood gaussian; fit"
has "a Gaussian likelihood refuses words and names the ways out" "$err$out" \
    'holds words.*likelihood dirichlet'
states() { printf '%s\n' "$out" | sed -n 's/.*"likelihood":"\([a-z]*\)".*/\1/p' | paste -sd' '; }
run --format json -e "$base; likelihood gaussian; likelihood; undo; likelihood; redo; likelihood"
is "the state is told, undone and done again" "$(states)" 'gaussian gaussian dirichlet gaussian'
has "words are classes by default" "$out" '"name":"class".*holds words: 3 classes, by likelihood di'
run --format json -e "$base; likelihood"
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

# The plots against counts by awk from the same file, or from predictions at the same places.
run --format json -s s.gpd -e 'score; plot confusion out=c.csv; plot reliability out=r.csv' \
    -e 'plot roc out=roc.csv; plot pr out=pr.csv; plot boundary out=b.csv; plot check out=k.csv' \
    -e 'describe confusion; plot confusion; plot reliability; plot pca; plot boundary x1 x2'
is "plots of several classes" "$rc" 0
sed 's/"=rare, one"/rare/g' p.csv >flat.csv
sed 's/"=rare, one"/rare/g' c.csv | awk -F, '$2 == "rows" && $5 > 0 { print $4, $3, $5 }' |
    sort >seen
awk -F, 'NR > 1 { n[$3 " " $4]++ } END { for (k in n) print k, n[k] }' flat.csv | sort >counted
ok "confusion counts the rows" cmp -s counted seen
sed 's/"=rare, one"/rare/g' c.csv | awk -F, '$2 ~ /^share/ { sum[$4] += $5 }
    END { for (k in sum) if (sum[k] < 1 - 1e-9 || sum[k] > 1 + 1e-9) exit 1 }'
is "its shares are of the true class" $? 0
has "its axes have the names of the data" "$out" 'north: most at north'
awk -F, 'NR > 1 { c = $4 == "rare" ? $5 : $4 == "north" ? $6 : $7
    for (b = 0; c > (b + 1) / 15; b++); n[b]++; p[b] += c; y[b] += $3 == $4 }
    END { for (b = 0; b < 15; b++)
        if (n[b]) printf "%.9f %.9f %d\n", p[b] / n[b], y[b] / n[b], n[b] }' flat.csv >counted
awk -F, '$1 == 1 && $2 == "r1" { k++; x[k] = $3; y[k] = $4 } $1 == 2 && $4 > 0 { n[++m] = $4 }
    END { for (i = 1; i <= k; i++) printf "%.9f %.9f %d\n", x[i], y[i], n[i] }' r.csv >seen
ok "reliability has 15 bins, (k/15, (k+1)/15]" cmp -s counted seen
awk -F, 'NR > 1 { print $6, $3 == "north" }' flat.csv | sort -gr >sorted
awk '{ p[NR] = $1; y[NR] = $2; pos += $2 } END { print "0.000000 0.000000"
    for (i = 1; i <= NR; i++) { t += y[i]; f += 1 - y[i]
        if (p[i + 1] != p[i]) printf "%.6f %.6f\n", f / (NR - pos), t / pos } }' sorted >counted
awk -F, '$2 ~ /^north/ { printf "%.6f %.6f\n", $3, $4 }' roc.csv >seen
ok "roc of a class against all others" cmp -s counted seen
awk '{ p[NR] = $1; y[NR] = $2; pos += $2 } END {
    for (i = 1; i <= NR; i++) { t += y[i]
        if (p[i + 1] != p[i]) { if (!n++) printf "%.6f %.6f\n", 0, t / i
            printf "%.6f %.6f\n", t / pos, t / i } } }' sorted >counted
awk -F, '$2 ~ /^north/ { printf "%.6f %.6f\n", $3, $4 }' pr.csv >seen
ok "pr of a class against all others" cmp -s counted seen
sed 's/"[^"]*"/rare/' roc.csv | awk -F, '$2 ~ /^mean/ { x[++n] = $3; y[n] = $4 }
    END { for (i = 2; i <= n; i++) a += (x[i] - x[i - 1]) * (y[i] + y[i - 1]) / 2; print a }' >area
ok "the mean curve has the mean area" awk -v a="$(cat area)" -v b="$(figure auroc)" \
    'BEGIN { exit !(a - b < 0.005 && b - a < 0.005) }'
awk -F, 'BEGIN { print "x1,x2" } $2 ~ /^probability/ { print $3 "," $4 }' b.csv >places.csv
awk -F, '$2 ~ /^probability/ { printf "%d %.6f\n", $6, $5 }' b.csv >seen
run -s s.gpd -e 'predict places.csv run=r1 columns=class,p out=at.csv'
sed 's/"=rare, one"/rare/g' at.csv | tr -d '\r' | awk -F, 'NR > 1 {
    k = $1 == "rare" ? 0 : $1 == "north" ? 1 : 2
    printf "%d %.6f\n", k, $(k + 2) }' >counted
is "boundary has 61 x 61 places" "$(wc -l <seen)" 3721
ok "and the class and probability that predict gives there" cmp -s counted seen
is "check has four panels" "$(awk -F, 'NR > 1 { print $1 }' k.csv | sort -u | paste -sd' ')" \
    '1 2 3 4'

# Sessions: the same bytes, also where the factors are made again; other numbers of threads.
cp p.csv first.csv
run --format json -s s.gpd --threads 3 -e 'predict columns=row,id,y,class,p out=p.csv; likelihood'
ok "a session predicts to the bit" cmp -s first.csv p.csv
has "and has the likelihood" "$out" '"likelihood":"dirichlet"'
cp b.csv boundary.csv
run -s s.gpd -e 'plot boundary out=b.csv'
ok "and draws the boundary, for which the factors are made again" cmp -s b.csv boundary.csv
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
has "a class that only new rows have is counted" "$out" \
    '"name":"new-class".*1 of 2 rows are of classes'
is "and is an empty cell" "$(sed 's/\r//' n.csv | paste -sd' ')" \
    'y,class north,north ,north'

# Few rows get the exact kernel; features and it nearly agree, and it resumes to the bit.
run --format json -s x.gpd -e "$base; split test=30% stratify=yes seed=4; likelihood dirichlet" \
    -e 'kernel rbf; tune evals=9; fit; score; predict columns=row,class,p out=p.csv' \
    -e 'fit model=features; score; compare r1 r2; fit features=256; fit model=exact'
has "few rows are tuned under the exact kernel" "$out" '"command":"tune".*"features":null'
is "which model= and features= choose" "$(printf '%s\n' "$out" |
    sed -n 's/.*"command":"fit".*"model":"\([a-z-]*\)".*/\1/p' | paste -sd' ')" \
    'dirichlet-exact dirichlet dirichlet dirichlet-exact'
ok "both nearly agree" awk -v "loss=$(printf '%s\n' "$out" |
    sed -n 's/.*"command":"score".*"log_loss":\([0-9.]*\).*/\1/p' | paste -sd' ')" \
    'BEGIN { split(loss, l, " "); d = l[1] - l[2]; exit !(d < 0.01 && d > -0.01) }'
run -s x.gpd -e 'plot path out=path.csv; report r1 out=r1.html plots=path'
ok "a path has an amplitude" grep -q amplitude r1.html
is "and no noise" "$(grep -c 'noise of t1' r1.html)" 0
has "the methods name their source" "$(cat r1.html)" 'Dirichlet regressions: Milios et al'
cp p.csv first.csv
run --format json -s x.gpd --threads 3 -e 'predict run=r1 columns=row,class,p out=p.csv'
ok "the exact one resumes to the bit" cmp -s first.csv p.csv

run --format json -e "$base; likelihood dirichlet alpha=0.1; kernel matern(nu=3/2)" \
    -e 'split folds=3 stratify=yes; fit features=64; score folds'
has "folds" "$out" '"accuracy":'
run --format json -e "$base; likelihood dirichlet; split test=20%; fit features=64 amplitude=2" \
    -e 'score; fit features=64 amplitude=4; score; compare r1 r2'
has "compare has the log loss" "$out" '"log_loss"'
paired=$(printf '%s\n' "$out" | grep '"command":"compare"')
scores=$(printf '%s\n' "$out" | grep '"command":"score"')
each() { printf '%s\n' "$scores" | sed "s/.*\"$1\":\([0-9.]*\).*/\1/" | paste -sd' '; }
pair() { printf '%s\n' "$paired" | sed "s/.*\"$1\":\([-0-9.e]*\).*/\1/"; }
ok "and row by row: the differences of log loss and error rate" awk -v l="$(each log_loss)" \
    -v a="$(each accuracy)" -v dl="$(pair nlpd_difference)" -v da="$(pair error_difference)" '
    BEGIN { split(l, x, " "); split(a, y, " "); p = x[2] - x[1] - dl; q = y[1] - y[2] - da
            exit p * p > 1e-20 || q * q > 1e-20 }'
has "of classes no squared error" "$paired" '"rmse_difference":null'

# Two classes, numbers as classes, a class without training rows, rows all of one class.
awk 'BEGIN { print "x,y"; for (i = 0; i < 40; i++) printf "%d,%d\n", i, i < 20 ? 10 : 9 }' >two.csv
run --format json -e 'open two.csv target=y; likelihood dirichlet; split test=25% seed=1' \
    -e 'fit features=64 l=0.5; score; predict columns=p,class'
has "numbers are ordered as numbers" "$out" '"classes":\["9","10"\]'
has "two classes are told apart" "$out" '"accuracy":1'
run --format json -e 'open two.csv target=y; split test=25% seed=1; likelihood bernoulli' \
    -e 'fit; score; predict columns=y,p out=b.csv; plot confusion out=c.csv' \
    -e 'plot reliability out=r.csv; plot calibration; plot roc out=roc.csv'
is "plots of two classes" "$rc" 0
tr -d '\r' <b.csv | awk -F, 'NR > 1 { n[$1 ? 10 : 9 "", $2 >= 0.5 ? 10 : 9 ""]++ }
    END { for (k in n) { split(k, v, SUBSEP); print v[1], v[2], n[k] } }' | sort >counted
awk -F, '$2 == "rows" && $5 > 0 { print $4, $3, $5 }' c.csv | sort >seen
ok "confusion of two classes" cmp -s counted seen
run --format json -e 'open two.csv target=y; split test=25% seed=1; likelihood bernoulli; fit' \
    -e 'plot boundary out=no.csv'
has "boundary needs two numbers" "$err$out" 'needs two different inputs of numbers'
run --format json -k -e 'open two.csv target=y; fit; score on=train; plot confusion out=no.csv' \
    -e 'plot boundary out=no.csv'
has "confusion is of classes" "$err$out" 'this run predicts numbers'
has "and boundary" "$err$out" 'boundary is of classes'
awk 'BEGIN { print "a,b,c,y"; for (i = 0; i < 60; i++)
    printf "%d,%d,%d,%s\n", i % 7, i % 11, i % 5, (i % 7 > 3) ? "odd" : "even" }' >wide.csv
run -e 'open wide.csv target=y; fit; plot boundary a b'
has "boundary of three inputs tells of the third" "$out" 'all other inputs at typical values'
run -e 'open wide.csv target=y; cols c role=skip; fit; plot boundary a b'
is "of two there is nothing to tell" "$rc:$(printf '%s' "$out" | grep -c 'all other inputs')" 0:0
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
refuse 'fit solver=pcg' 'solver=pcg is for a regression.*fit solver=exact'
refuse 'tune solver=sparse' 'solver=sparse is for a regression.*tune features='
refuse 'kernel mlp(width=8,out=2); fit solver=exact' 'what a map learns are features'
refuse 'tune objective=loo' 'objective= belongs to a regression'
refuse 'advise' 'linear system of a regression.*likelihood gaussian'
refuse 'calibrate run=r1 share=0.2 method=scale' 'predicts classes'
refuse 'likelihood dirichlet positive=north' 'of several classes none is the positive one'
refuse 'likelihood gaussian alpha=1' 'alpha= belongs to several classes'
refuse 'predict columns=mean' 'mean is of a number, and this run predicts several classes'
refuse 'predict columns=mean_latent' 'mean_latent is of two classes'
run -s s.gpd -e 'score' -e 'plot parity out=no.svg'
has "a plot of numbers, too" "$err$out" 'several classes'
awk 'BEGIN { print "x,y"; for (i = 0; i < 700; i++) printf "%d,w%d\n", i, i % 300 }' >many.csv
run --format json -e 'open many.csv target=y; likelihood dirichlet'
has "more than 256 values" "$err$out" 'more than 256 different values'
has "are told when the file is opened" "$out" '"name":"class".*more than 256 different words'

# Which class is chosen, and weights of classes: labels and figures of probabilities stay.
flat() { sed 's/"=rare, one"/rare/g' "$1" | tr -d '\r'; }
rule() { # RULE AWK: the classes of predict are those that AWK finds from p_NAME; so is accuracy
    run --format json -s d.gpd -e "likelihood dirichlet $1; fit features=64 l=0.9; score" \
        -e 'predict columns=y,class,p out=d.csv; likelihood'
    flat d.csv | awk -F, "NR > 1 { r = \$3; n = \$4; s = \$5; $2; all++; right += \$1 == c
        bad += c != \$2 } END { printf \"%d %.9f\n\", bad, right / all }" >counted
    score=$(printf '%s\n' "$out" | grep '"command":"score"' | head -n 1)
    is "chosen: $1" "0 $(printf '%.9f' "$(figure accuracy)")" "$(cat counted)"
}
run -s d.gpd -e "$base; split test=30% stratify=yes seed=4; kernel rbf"
likeliest='c = r >= n && r >= s ? "rare" : n >= s ? "north" : "south"'
rule '' "$likeliest"
plain="$(figure log_loss) $(figure ece) $(figure auroc)"
rule 'decision=north:0.2' "$likeliest; c = n >= 0.2 ? \"north\" : r >= s ? \"rare\" : \"south\""
is "probabilities stay" "$(figure log_loss) $(figure ece) $(figure auroc)" "$plain"
has "score tells the rule" "$score" '"rule":"decision=north:0.2"'
has "and likelihood" "$out" '"command":"likelihood".*"rule":"decision=north:0.2"'
rule 'decision="=rare, one:0.95"' 'c = r >= 0.95 ? "rare" : n >= s ? "north" : "south"'
rule 'cost=south>north:6,north>south:0.5' 'R = n + s; N = r + 6 * s; S = r + 0.5 * n
        c = R <= N && R <= S ? "rare" : N <= S ? "north" : "south"'
rule 'cost="=rare, one>south:9,south>=rare, one:2"' 'R = n + 2 * s; N = r + s; S = 9 * r + n
        c = R <= N && R <= S ? "rare" : N <= S ? "north" : "south"'
rule 'classweights=balanced' "$likeliest"
has "balanced is told" "$out" '"classweights":"balanced"'
ok "balanced probabilities are others" test "$(figure log_loss)" != "${plain%% *}"
flat d.csv | cut -d, -f1 >labels; flat flat.csv | cut -d, -f3 >were
ok "the labels stay" cmp -s labels were
cp d.csv first.csv
run --format json -s d.gpd -e 'predict columns=y,class,p out=d.csv; likelihood; undo; undo' \
    -e 'likelihood'
ok "a session predicts to the bit" cmp -s first.csv d.csv
has "and keeps the weights" "$out" '"classweights":"balanced"'
run -s d.gpd -e script
has "a script has the line" "$out" '^likelihood dirichlet'
awk 'BEGIN { srand(2); print "x,y"; for (i = 0; i < 60; i++)
    printf "%.3f,%s\n", rand() + i % 2, i % 2 ? "b" : "a" }' >even.csv
run --format json -e 'open even.csv target=y; likelihood dirichlet; fit features=32 amplitude=2' \
    -e 'predict even.csv out=e1.csv; likelihood dirichlet classweights=balanced' \
    -e 'fit features=32 amplitude=2; predict even.csv out=e2.csv'
paste -d, e1.csv e2.csv | tr -d '\r' | awk -F, 'NR > 1 { for (i = 2; i <= NF / 2; i++) {
    d = $i - $(i + NF / 2); if (d > 1e-6 || d < -1e-6) bad++ } n++ }
    END { exit bad > 0 || n != 60 }'
is "balanced where classes are even changes nothing" $? 0
badly() { # ARGUMENTS WORDS
    run --format json -e "$base; likelihood $1"
    has "refused: likelihood $1" "$err$out" "$2"
}
badly 'dirichlet decision=west:0.3' "there is no class 'west'"
badly 'dirichlet decision=north' 'form NAME:PROBABILITY'
badly 'dirichlet decision=north:1.5' 'above 0 and below 1'
badly 'dirichlet cost=north>west:5' "there is no class 'west'"
badly 'dirichlet cost=north:5' 'form TRUE>PREDICTED:NUMBER'
badly 'dirichlet cost=north>north:5' 'of the right class'
badly 'dirichlet decision=north:0.3 cost=north>south:5' 'give one of them'
badly 'gaussian classweights=balanced' 'belongs to classes'
badly 'gaussian decision=north:0.3' 'belongs to a likelihood of classes'

# The likelihood follows the target: in files, roles, types, sessions, folds, sweeps and races.
awk 'BEGIN { srand(9); print "x,n,w,one"; for (i = 0; i < 90; i++) { x = rand()
    printf "%.3f,%d,%s,same\n", x, 2 * x, (x > 0.5 ? "up" : "down") } }' >follow.csv
run --format json -s f.gpd -e 'open follow.csv target=w skip=one; likelihood; cols n role=target' \
    -e 'likelihood; cols n type=category; likelihood; cols n type=real; likelihood' \
    -e 'cols w role=target; likelihood'
is "by role and by type" "$(states)" 'dirichlet gaussian dirichlet gaussian dirichlet'
has "two words can be of bernoulli, too" "$out" '"try":"likelihood bernoulli'
has "numbers are told not to be" "$out" '"name":"class".*holds numbers: likelihood gaussian'
run --format json -e 'open follow.csv target=n; likelihood'
is "few whole numbers stay numbers" "$(states)" gaussian
has "and are told" "$out" \
    '"name":"class".*2 different values, all whole: it is taken for a number'
run --format json -s f.gpd -e 'likelihood; cols n role=target; likelihood; undo; likelihood'
is "in a session, and undone" "$(states)" 'dirichlet gaussian dirichlet'
run --format json -e 'open follow.csv target=n types=n=category skip=one,w; likelihood'
is "by types=" "$(states)" dirichlet
run --format json -e 'open follow.csv target=w; likelihood bernoulli; cols n role=target' \
    -e 'likelihood'
is "what likelihood says stays" "$(states)" 'bernoulli bernoulli'
run --format json -e 'open follow.csv target=one; likelihood; fit'
has "one word alone" "$out" '"name":"class".*one word alone'
has "is no class" "$err$out" 'holds words'
run --format json -e 'open follow.csv target=w skip=one,n; split test=30% stratify=yes' \
    -e "sweep features=32,64 fit='l=0.3'; split folds=3; fit features=32; score folds"
is "folds and sweeps of words" "$rc" 0
has "a sweep shows the log loss" "$out" '"command":"sweep","show":"log_loss".*"log_loss":0'
run --format json -k -e 'open follow.csv target=w skip=one; race cg,sdd features=32; advise'
is "race and advise refuse with the way out" \
    "$(printf '%s\n' "$err$out" | grep '"error"' | grep -c '"try":".*likelihood gaussian')" 2
run --format json -e 'open follow.csv target=w skip=one,n; where x < 0.45; fit features=32'
has "one class in the table" "$err$out" 'fewer than two of at most 256 different values: down'
run --format json -e 'open follow.csv target=w skip=one,n; let part = x > 0.4' \
    -e 'cols part role=skip; split column=part; fit features=32'
has "one class in training" "$err$out" 'training rows are of one class'
run --format json -e "open three.csv target=kind; cols x2 role=weight; likelihood dirichlet" \
    -e 'where x2 > 0; fit features=64'
has "weights of rows" "$err$out" 'weights of rows belong to Gaussian noise'

finish
