#!/bin/sh
# tests/scripts/labels_calibrated.sh -- calibrate for classes: temperatures and prediction sets of
# several classes and of two, in sessions, scores, files and scripts, and what is refused.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

num() { printf '%s\n' "$2" | grep "\"command\":\"$1\"" | tail -n 1 |
    sed -n "s/.*\"$3\":\([-+0-9.eE]*\)[,}].*/\1/p"; }
near() { awk "BEGIN { d = $1 - $2; exit !(d * d <= $3 * $3) }"; }
# Three classes that overlap; one has a bar, a comma and what a spreadsheet takes for a formula.
make() { awk -v seed="$1" -v n="$2" 'BEGIN { srand(seed); print "x1,x2,y"
    for (i = 0; i < n; i++) { a = 4 * rand() - 2; b = 4 * rand() - 2
        c = a + 1.2 * (rand() + rand() - 1); d = b + 1.2 * (rand() + rand() - 1)
        k = c > 0.8 ? "\"=a|b, c\"" : d > 0 ? "north" : "south"
        printf "%.5f,%.5f,%s\n", a, b, k } }'; }
make 1 900 >a.csv
open='open a.csv target=y; likelihood dirichlet; split test=40% valid=200/900 seed=1; set l=0.6'
open=$(echo "$open" | sed 's|200/900|22.2222%|')

run --format json -s c.gpd -e "$open; fit features=128; predict columns=row,p out=p1.csv" \
    -e 'score on=valid; calibrate; score on=valid; score; predict columns=row,class,p out=p2.csv'
is "it succeeds" $rc 0
has "several classes get a temperature" "$out" \
    '"command":"calibrate","run":"r2","from":"r1","method":"temperature","rows":200,"temperature":'
has "score tells it" "$out" \
    '"calibration":{"method":"temperature","rows":200,"temperature":[0-9.]*}'
losses=$(printf '%s\n' "$out" | grep '"on":"valid"' | sed 's/.*"log_loss":\([0-9.]*\).*/\1/')
is "the log loss of the calibration rows before and after" "$(echo $losses)" \
    "$(num calibrate "$out" log_loss_before) $(num calibrate "$out" log_loss_after)"
ok "which is less" awk "BEGIN { exit !($(echo $losses | sed 's/ / > /')) }"
ok "probabilities are others, and each row sums to 1" awk -F, '
    NR == FNR { p[FNR] = $NF; next }
    FNR > 1 { other += $NF != p[FNR]; s = $(NF - 2) + $(NF - 1) + $NF
              if (s < 1 - 1e-12 || s > 1 + 1e-12) exit 1 }
    END { exit other < 100 }' p1.csv p2.csv
run --format json -s c.gpd --threads 3 -e 'predict run=r2 columns=row,class,p out=p3.csv' \
    -e 'predict run=r1 columns=row,p out=p4.csv; calibrate r2 method=conformal level=0.9' \
    -e 'score on=valid; score; predict columns=row,y,set,p out=s1.csv; runs'
ok "a session keeps the temperature to the bit" cmp p2.csv p3.csv
ok "and the first run" cmp p1.csv p4.csv
# 201 x 0.9: the 181st of 200 values, so that 181 rows are inside (no two are equal)
is "of 200 calibration rows 181 are inside" "$(printf '%s\n' "$out" | grep '"on":"valid"' |
    sed -n 's/.*"set_coverage":\([0-9.]*\).*/\1/p')" 0.905
has "sets go on from the temperature" "$out" \
    '"calibration":{"method":"conformal","rows":200,"temperature":[0-9.]*,"quantile":0[0-9.]*}'
has "with level, coverage, size and empty ones" "$out" \
    '"set_level":0.9,"set_coverage":0[.0-9]*,"set_size":[0-9.]*,"set_empty":[0-9.]*'
# The sets by awk: classes that lack at most the quantile; the observed one among them.
sed 's/"=a|b, c"/A/g; s/"=a\\|b, c/"=A/g; s/"p_[^"]*"/p_A/' s1.csv |
    sed 's/=a\\|b, c/A/g; s/"//g; s/=A/A/g' >s2.csv
awk -F, -v q="$(num calibrate "$out" quantile)" '
    NR > 1 { split("A north south", name, " "); set = "|" $3 "|"; n++
        for (k = 1; k <= 3; k++) { in_it = 1 - $(3 + k) <= q; size += in_it
            if (in_it != (index(set, "|" name[k] "|") > 0)) { print; exit 1 }
            if (in_it && name[k] == $2) held++ } }
    END { printf "%.12g %.12g\n", held / n, size / n }' s2.csv >sums
is "coverage and mean size by awk from the file" \
    "$(printf '%.12g %.12g' "$(num score "$out" set_coverage)" "$(num score "$out" set_size)")" \
    "$(cat sums)"
has "the likeliest class is first; bars in names have a backslash" "$(cat s1.csv)" \
    ',"=a\\|b, c|north",'
run --format json -s c.gpd -e 'predict run=r3 columns=row,y,set,p quote=formulas out=g.csv' \
    -e 'predict run=r3 columns=row,y,set,p out=s3.csv; script out=c.gps'
ok "a session keeps the sets" cmp s1.csv s3.csv
has "a spreadsheet does not run them" "$(cat g.csv)" ",\"'=a"
run c.gps
is "the script runs again, with what it expects" $rc 0
run --format json -s c.gpd -e 'calibrate r3 method=temperature; score; undo; runs'
ok "a new temperature leaves the old sets behind" test -z "$(num score "$out" set_coverage)"
run -e "$open; fit features=128; calibrate; calibrate method=conformal level=0.9; score"
has "score in words" "$out" \
    'calibrated by 200 rows (conformal): temperature [0-9.]*: [89][0-9.]* % of the rows have their'

# Rows that are left out of a new fit, the same for any number of threads.
for threads in 1 2; do
    run --threads $threads --format json -s t$threads.gpd \
        -e 'open a.csv target=y; likelihood dirichlet; split test=40% seed=1; set l=0.6' \
        -e 'fit features=64; calibrate rows=100 seed=4; calibrate r1 share=0.2 method=conformal' \
        -e 'predict columns=row,set,p out=t.csv; predict run=r2 columns=p out=u.csv'
    mv t.csv t$threads.csv; mv u.csv u$threads.csv
done
ok "the same sets for one thread and two" cmp t1.csv t2.csv
ok "the same probabilities" cmp u1.csv u2.csv
has "fitted anew" "$out" '"method":"conformal","rows":108,.*"fitted_anew":true'
run -s t1.gpd -e 'predict run=r3 columns=row,set,p out=t.csv; predict run=r2 columns=p out=u.csv'
ok "a session makes the factors again without these rows" cmp t.csv t1.csv
ok "and the probabilities" cmp u.csv u1.csv

# Two classes with one function.
sed 's/"=a|b, c"/north/' a.csv >two.csv
for link in probit logit; do
    run --format json -s $link.gpd -e 'open two.csv target=y' \
        -e "likelihood bernoulli link=$link; split test=40% valid=20% seed=1; set l=0.6" \
        -e 'fit amplitude=8; predict columns=row,mean_latent,sd_latent out=l1.csv; calibrate' \
        -e 'score on=valid; predict columns=row,mean_latent,sd_latent out=l2.csv' \
        -e 'predict columns=row,class,p out=q1.csv; calibrate method=conformal level=0.8; score'
    has "$link: a temperature" "$out" '"method":"temperature","rows":180,"temperature":'
    ok "$link: the function stays to the bit" cmp l1.csv l2.csv
    ok "$link: which is less than before" awk "BEGIN { exit !($(num calibrate "$(printf '%s\n' \
        "$out" | grep '"method":"temperature"')" 'log_loss_before":[0-9.]*,"log_loss_after' |
        tail -n 1) < $(num calibrate "$(printf '%s\n' "$out" |
        grep '"method":"temperature"')" log_loss_before)) }"
    is "$link: the log loss of the calibration rows" "$(num score "$(printf '%s\n' "$out" |
        grep '"on":"valid"')" log_loss | cut -c1-12)" "$(num calibrate "$(printf '%s\n' "$out" |
        grep '"method":"temperature"')" log_loss_after | cut -c1-12)"
    has "$link: sets" "$out" '"set_level":0.8,"set_coverage":0[.0-9]*'
    run --format json -s $link.gpd -e 'predict run=r2 columns=row,class,p out=q2.csv' \
        -e 'predict run=r3 columns=row,y,class,set out=q3.csv'
    ok "$link: a session keeps it" cmp q1.csv q2.csv
    has "$link: its sets have names" "$(cut -d, -f4 q3.csv | sort -u | tr '\n' ' ')" 'north.*south'
done
run --format json -e 'open two.csv target=y; likelihood bernoulli; split test=40% valid=20%' \
    -e 'fit solver=sparse inducing=20; calibrate; score; calibrate rows=60 r1; score'
has "a sparse model" "$out" '"calibration":{"method":"temperature","rows":60,'
awk 'BEGIN { print "x,y"; for (i = 0; i < 80; i++) printf "%d,%s\n", i, i < 40 ? "a" : "b" }' >e.csv
run --format json -e 'open e.csv target=y; likelihood bernoulli link=logit' \
    -e 'split valid=20% seed=3; set l=0.3; fit amplitude=20; calibrate'
has "rows ask for surer probabilities than a temperature gives" "$out$err" \
    '"temperature-bound".*at 0.02, the end of its range.*"try":"likelihood softmax, then fit"'
run --format json -e 'open e.csv target=y; likelihood bernoulli link=logit' \
    -e 'split valid=20% seed=3; set l=0.3; fit amplitude=20; calibrate; score on=valid' \
    -e 'likelihood softmax; fit; calibrate; score on=valid'
losses=$(printf '%s\n' "$out" | grep '"on":"valid"' | sed 's/.*"log_loss":\([-0-9.e]*\).*/\1/')
ok "the way out makes them surer" awk "BEGIN { exit !(3 * $(echo $losses | sed 's/.* //') < \
    $(echo $losses | sed 's/ .*//')) }"
run -e 'open e.csv target=y; likelihood dirichlet; split valid=20% seed=3; set l=0.3' \
    -e 'fit amplitude=20; calibrate'
has "rows without errors are told where they make probabilities less sure" "$out$err" \
    'note.temperature-bound.*: the temperature [1-9][.0-9]* takes each to be wrong with .* 1/18'
is "and say not that these were too sure" "$(printf '%s\n' "$out$err" | grep -c 'too sure')" 0

# 20 sets of three classes: the mean coverage is what split conformal prediction promises.
sum=0
for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    make $((200 + seed)) 900 >g.csv
    run --format json -e 'open g.csv target=y; likelihood dirichlet; set l=0.6' \
        -e 'split test=44.4% valid=22.2% seed=1; fit features=64' \
        -e 'calibrate method=conformal level=0.9; score'
    sum=$(awk "BEGIN { print $sum + $(num score "$out" set_coverage) }")
done
ok "twenty sets: 0.89 to 0.915 hold their class" \
    awk "BEGIN { print $sum / 20; exit !($sum / 20 >= 0.89 && $sum / 20 <= 0.915) }"

run -s probit.gpd -e 'export r3'
has "the paragraph tells both" "$(echo $out)" \
    'By 180 rows that .* the temperature [0-9.]*, and prediction sets at 80 % were made'
is "and no noise" "$(printf '%s\n' "$out" | grep -c noise)" 0
refused() { # name line pattern
    run -e "$open; fit features=64; $2"
    test $rc -ne 0
    result $? "$1" "exit $rc"
    has "$1, with a reason" "$out$err" "$3"
}
refused "variances" 'calibrate method=scale' 'error\[calibration-method\]: method=scale is of var'
refused "no sets" 'predict columns=row,set' 'error\[no-sets\]: columns=: r1 has no prediction sets'
refused "too few rows for a level" 'calibrate rows=8 method=conformal level=0.9' \
    '8 calibration rows are too few for prediction sets at 90 %: at least 9'
refused "too few rows for a temperature" 'calibrate rows=9' 'too few for a temperature: at least 10'
refused "training rows" 'calibrate on=train' 'the model was fitted to these rows'
refused "a program" 'calibrate; export r2 as=c out=p.c' 'classes'
run -e 'demo friedman1 n=200; split test=20% valid=20%; fit features=64' \
    -e 'calibrate method=temperature'
has "numbers" "$out$err" 'method=temperature is of prob.* of classes, and r1 predicts numbers'
run -e 'demo friedman1 n=200; split test=20%; fit features=64; predict columns=set'
has "numbers have no sets" "$out$err" 'set is of two classes'
finish
