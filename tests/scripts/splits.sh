#!/bin/sh
# tests/scripts/splits.sh -- splits by group and by time at the command line, folds that tune again,
# baselines of scores, and paired differences, held to sums by awk.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

# 240 rows of 24 people, whose targets are shifted by person; day has ties.
awk 'BEGIN { srand(5); print "who,day,a,b,y"
    for (p = 0; p < 24; p++) { shift = 4 * rand(); w = 4 + (p * 7) % 13
        for (i = 0; i < w; i++) { a = 4 * rand() - 2; b = rand(); n++
            printf "p%d,%d,%.4f,%.4f,%.5f\n", p, 1 + int(n / 3), a, b,
                sin(2 * a) + 2 * b + shift + 0.2 * rand() } } }' >people.csv
rows=$(($(wc -l <people.csv) - 1))
num() { "$jsonl" get "$1" "\$.$2" <out.json; } # COMMAND PATH

# By group.
run --format json -e 'open people.csv target=y; split group=who test=20%'
printf '%s\n' "$out" >out.json
is "a split by group" "$rc $(num split by) $(num split column) $(num split groups)" "0 group who 24"
ok "reaches its share by whole groups" awk -v t="$(num split test)" -v n="$rows" \
    'BEGIN { exit !(t > 0.17 * n && t < 0.23 * n) }'
has "and says that the column is no input any more" "$out" '"group-input"'
run -q -e 'open people.csv target=y; split group=who test=20%; cols who role=skip; fit features=32 noise=0.3; predict columns=row,who out=t.csv id=who'
run -q -e 'open people.csv target=y; split group=who test=20%; cols who role=id; fit features=32 noise=0.3; predict columns=row,id out=test.csv'
ok "no person is on both sides" awk -F, 'NR == FNR { if (FNR > 1) { test[$2]++; rows++ } next }
    FNR > 1 { all[$1]++ } END { for (p in test) bad += test[p] != all[p]; exit bad || !rows }' \
    test.csv people.csv
run --format json -e 'open people.csv target=y; split group=who test=20% seed=3; undo; split group=who test=20% seed=3'
is "at random, with undo" "$rc $(printf '%s\n' "$out" | grep '"command":"split"' |
    sed 's/"seconds".*//' | sort -u | wc -l)" "0 1"
for wrong in 'split group=nobody' 'split group=y' 'split time=who' 'split group=who time=day' \
    'split group=who folds=30' 'split group=who folds=3 test=10%' 'split group=who ordered'; do
    run -e "open people.csv target=y; $wrong"
    ok "$wrong is refused" test $rc -ne 0
    has "$wrong: and what to do is said" "$err" 'try  '
done

# By time.
run --format json -e 'open people.csv target=y; split time=day test=20% valid=10%'
printf '%s\n' "$out" >out.json
is "a split by time" "$rc $(num split by) $(num split column)" "0 time day"
run -q -e 'open people.csv target=y; cols who,day role=id; split time=day test=20%; fit features=32 noise=0.3; predict columns=row,id out=test.csv'
ok "tests the last days, all rows of a day" awk -F, \
    'NR == FNR { if (FNR > 1) { test[$1] = 1; n++; if (!lo || $3 < lo) lo = $3 } next }
    FNR > 1 { bad += ($2 >= lo) != ((FNR - 1) in test) } END { exit bad || !n }' test.csv people.csv

printf 't,s,y\n1,4,3\n,4,5\n3,4,4\n4,4,9\n' >holes.csv
run -e 'open holes.csv target=y; split time=t'
has "rows without a time are refused" "$err" 'error\[no-time\].*1 missing cell'
run -e 'open holes.csv target=y; split time=s'
has "so is a column of one time" "$err" 'error\[too-few-times\]'

# Sessions keep what a split follows; a rename carries it along.
run -q -s s.gpd -e 'open people.csv target=y; rename who=person; split group=person folds=4; fit features=32 noise=0.3'
run --format json -s s.gpd -e 'score folds'
printf '%s\n' "$out" >out.json
is "a session keeps the groups of folds" "$rc $(num score by) $(num score folds)" "0 group 4"
run -s t.gpd -e 'open people.csv target=y; cols who role=skip; split time=day folds=3; fit features=32 noise=0.3; score folds'
has "folds by time look back, in words" "$out" 'each predicted from the rows before it'
run -s t.gpd -e 'score folds'
has "and in a session" "$out" 'each predicted from the rows before it'

# Folds that tune again.
run --format json -e 'open people.csv target=y; cols who role=skip; split group=who folds=3; tune features=32 evals=4; fit features=32; score folds tune=yes; score folds'
printf '%s\n' "$out" | grep '"command":"score"' | head -n 1 >out.json
is "each fold is tuned again" "$rc $(num score tuned)" "0 1"
is "and the other score says that it was not" "$(printf '%s\n' "$out" | grep -c folds-not-tuned)" 1
run -e 'open people.csv target=y; cols who role=skip; split folds=3; fit features=32 l=1 noise=0.3; score folds tune=yes'
has "without a tuning there is none to repeat" "$err" 'error\[not-tuned\]'

# Baselines: the training mean by awk; a linear target is learnt by ridge regression alone.
run --format json -e 'open people.csv target=y; cols who role=skip; split ordered test=25%; fit features=64 l=1 noise=0.3; score'
printf '%s\n' "$out" >out.json
held=$(num score rows)
wanted=$(awk -F, -v m="$held" -v n="$rows" 'FNR == 1 { next } FNR - 1 <= n - m { s += $5; next }
    { q += ($5 - s / (n - m)) ^ 2 } END { printf "%.9g", sqrt(q / m) }' people.csv)
ok "the mean alone" awk -v a="$(num score 'baseline[0].rmse')" -v b="$wanted" \
    'BEGIN { exit !(a > 0 && (a - b) ^ 2 < 1e-12) }'
is "then ridge regression" "$(num score 'baseline[1].name') $(num score 'baseline[1].inputs')" \
    'ridge 3'
run -e 'open people.csv target=y; split test=25%; fit features=64 l=1 noise=0.3; score; score baseline=no'
is "a line for both, and none if they are not wanted" \
    "$(printf '%s\n' "$out" | grep -c 'baselines: mean RMSE .* ridge RMSE')" 1
awk 'BEGIN { srand(2); print "a,b,y"; for (i = 0; i < 200; i++) { a = rand(); b = rand()
    printf "%.6f,%.6f,%.6f\n", a, b, 3 + 2 * a - b } }' >line.csv
run --format json -e 'open line.csv target=y; split test=25% seed=1; fit features=64 l=0.2 noise=0.3; score'
printf '%s\n' "$out" >out.json
ok "a line is learnt by ridge regression" awk -v a="$(num score 'baseline[1].rmse_scaled')" \
    'BEGIN { exit !(a != "" && a < 1e-3) }'

# Paired differences, from the predictions.
run --format json -e 'open people.csv target=y; cols who role=skip; split group=who test=30%; fit features=64 l=1 noise=0.3; score; predict columns=row,y,mean out=p1.csv; fit features=64 l=0.3 noise=0.3; score; predict columns=row,y,mean out=p2.csv; compare r1 r2'
printf '%s\n' "$out" >out.json
awk -F, 'FILENAME == "people.csv" { who[FNR - 1] = $1; next } FNR == 1 { next }
    FILENAME == "p1.csv" { e[$1] = ($2 - $3) ^ 2; next }
    { d[$1] = ($2 - $3) ^ 2 - e[$1]; a += e[$1]; b += ($2 - $3) ^ 2; s += d[$1]; n++ }
    END { for (i in d) g[who[i]] += d[i] - s / n
        for (p in g) { G++; q += g[p] ^ 2 }
        printf "%d %.9g %.9g\n", G, sqrt(b / n) - sqrt(a / n),
            sqrt(G / (G - 1) * q) / n / (sqrt(a / n) + sqrt(b / n)) }' people.csv p1.csv p2.csv >want
ok "the paired difference and its error, by groups" awk -v g="$(num compare 'paired[0].groups')" \
    -v d="$(num compare 'paired[0].rmse_difference')" -v s="$(num compare 'paired[0].rmse_se')" \
    '{ exit !(g == $1 && (d - $2) ^ 2 < 1e-12 && (s - $3) ^ 2 < 1e-12 && s > 0) }' want
# The simple models' scores stay with the run: in compare, a session, exports and the report.
run --format json -s b.gpd -e 'open line.csv target=y; split test=25% seed=1; fit features=64 l=0.2 noise=0.3; score; fit features=64 l=0.4 noise=0.3; score baseline=no; fit features=64 l=0.5; score'
printf '%s\n' "$out" | grep '"command":"score"' >scores.json
first=$(sed -n 1p scores.json | grep -o '"baseline":\[[^]]*\]')
run --format json -s b.gpd -e 'compare r1 r2 r3; export r1 out=r1.json; export r1 out=r1.txt; report r1 out=r1.html'
printf '%s\n' "$out" >out.json
is "a session keeps the scores of simple models to the last digit" \
    "$rc $(grep '"command":"compare"' out.json | grep -o '"baseline":\[[^]]*\]' | head -n 1)" "0 $first"
ok "and a score without them has none" grep -q '"baseline":null' out.json
is "an export has them" "$(grep -o '"baseline":\[[^]]*\]' r1.json)" "$first"
mean=$(sed -n 1p scores.json >out.json; num score 'baseline[0].rmse')
shown=$(awk -v m="$mean" 'BEGIN { printf "%.4g", m }')
run -s b.gpd -e 'compare r1 r2 r3'
is "and no figure that these runs do not have" \
    "$(printf '%s\n' "$out" | grep -c 'bound\|support\|iterations 0')" 0
is "compare shows them once for runs on the same rows" \
    "$(printf '%s\n' "$out" | grep -c "^baselines of r1 r3: mean RMSE $shown, NLPD .*;  ridge RMSE ")" 1
has "words about a run have them" "$(tr '\n' ' ' <r1.txt)" "The training mean alone has RMSE .* and NLPD .* ridge regression"
ok "the report has their columns" awk -v m="$mean" '/<th class="n">mean<.*<th class="n">ridge</ { head = 1 }
    head && /<td>rmse</ { split($0, cell, /<[^>]*>/); for (i in cell) found += cell[i] != "" &&
        (cell[i] - m) ^ 2 < 1e-6 * m * m } END { exit !(found == 1) }' r1.html
run -e 'open people.csv target=y; split test=30%; fit features=64 l=1; score; split test=20%; fit features=64 l=1; score; compare r1 r2'
has "other rows are not compared" "$out" 'not compared row by row'
run -s c.gpd -q -e 'open people.csv target=y; split test=30%; fit features=64 l=1; score; fit features=64 l=2; score'
run -s c.gpd -e 'compare r1 r2; score r1; score r2; compare r1 r2'
has "a session says to score again" "$out" 'keeps the scores of r1 and not its predictions'
has "and then they are compared" "$out" 'r2 against r1 on the same'

# Real tables: the last months, a passenger's port, sequences with a number for each letter.
data=$src/../shared/data
if test -r "$data/co2/data.csv.gz" && test -r "$data/dirty_titanic/data.csv.gz"; then
    run --format json -e "open $data/co2/data.csv.gz target=co2; split time=date test=20%; kernel rbf; fit features=64 l=1 noise=0.1; score"
    printf '%s\n' "$out" >out.json
    ok "of the last months ridge regression predicts the trend" awk \
        -v mean="$(num score 'baseline[0].rmse')" -v ridge="$(num score 'baseline[1].rmse')" \
        'BEGIN { exit !(ridge > 0 && ridge < 0.2 * mean) }'
    run --format json -e "open $data/dirty_titanic/data.csv.gz target=survived; cols alive role=skip; missing mean; split group=embark_town test=20%; fit features=64 l=5 noise=0.5; score"
    printf '%s\n' "$out" >out.json
    is "rows without a port are a group" "$rc $(num split groups)" "0 4"
    has "which is said" "$out" '"missing-group"'
else
    echo "# skipped: co2 and dirty_titanic are not there"
fi
finish
