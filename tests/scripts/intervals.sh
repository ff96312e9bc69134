#!/bin/sh
# tests/scripts/intervals.sh -- predictive intervals: what a fit moves and says, one judgement in
# score, check, why and explain, and rows that are unlike the training rows.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

between() { awk "BEGIN { exit !($1 >= $2 && $1 <= $3) }"; }
lacks() { # name text pattern
    ! printf '%s\n' "$2" | grep -q -e "$3"
    result $? "$1" "a line like '$3' in: $2"
}
num() { printf '%s\n' "$2" | grep "\"command\":\"$1\"" | tail -n 1 |
    sed -n "s/.*\"$3\":\([-+0-9.eE]*\)[,}].*/\1/p"; }
data='demo robot n=1000 seed=2; split test=30% seed=1; tune features=256 evals=20'

# rescale=ratio leaves left-out residuals too large on smooth data; the scale makes their mean z^2
# 1 and does not touch the predictions
run --format json -e "$data; fit features=512; score; fit features=512 rescale=ratio; score"
new=$(printf '%s\n' "$out" | head -n "$(printf '%s\n' "$out" | grep -n '"command":"score"' |
    head -n 1 | cut -d: -f1)")
ok "left-out residuals have mean z^2 of about 1" between "$(num fit "$new" left_out_z2)" 0.9 1.000001
ok "at the likeliest amplitude they have more" between "$(num fit "$out" left_out_z2)" 1.1 2
is "the predictions are the same" "$(num score "$new" rmse)" "$(num score "$out" rmse)"
ok "and the density is better" \
    awk "BEGIN { exit !($(num score "$new" nlpd_scaled) < $(num score "$out" nlpd_scaled)) }"
has "the fit says what it moved" "$out" \
    'suit these features better than [^"]*: the ratio by the leave-one-out error of its own features, the scale by left-out rows, whose mean z^2 is [01].[09][0-9] (it was 1\.'
# more columns than the search for the ratio takes: the noise that 64 features saw, half of the
# target's sd, becomes that of the data, which is 1
run --format json -e 'demo friedman1 n=4200 seed=3; kernel rbf; tune features=64 evals=20' \
    -e 'fit solver=direct features=8192 variance=none; score on=train'
sd=$(printf '%s\n' "$out" | grep '"command":"score"' | sed -n 's/.*"mean","rmse":\([0-9.]*\).*/\1/p')
noise() { awk "BEGIN { print $sd * $(num "$1" "$out" noise) }"; }
ok "64 features count as noise what they miss" between "$(noise tune)" 2 4
ok "the search among 8192 finds the noise of the data" between "$(noise fit)" 0.85 1.15

run -e "$data; fit features=512 rescale=scale"
has "the scale alone" "$out$err" 'better than [0-9. and]*: the scale by left-out rows'
run -e "$data; fit features=512 rescale=perhaps"
is "another word is refused" $rc 2
has "with those there are" "$out$err" 'yes|ratio|scale|no\|yes, ratio, scale'

# the interval has its own reach: a target without relation to the input, uniform on [-1, 1], of
# which 1.96 sd hold all and .95 sqrt 3 = 1.65 sd hold 95 %; and errors of which 3 % are 20 times as
# large
awk 'BEGIN { srand(5); print "x,y"; for (i = 0; i < 2000; i++) print 10 * rand() "," 2 * rand() - 1 }' >uniform.csv
awk 'BEGIN { srand(6); print "x,y"; for (i = 0; i < 1500; i++) { x = 10 * rand()
    a = sqrt(-2 * log(1 - rand())) * cos(6.283185307 * rand())
    print x "," sin(x) + (rand() < 0.03 ? 2 : 0.1) * a } }' >tails.csv
share() { # of the rows of p.csv between lo and hi
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { n++; in95 += $at["lo95"] <= $at["y"] && $at["y"] <= $at["hi95"]
          r = ($at["hi95"] - $at["mean"]) / $at["sd"]; if (!(r > 0)) bad = 1 }
        END { printf "%.6f %.6f\n", in95 / n, bad ? "nan" : r }' p.csv
}
near() { awk "BEGIN { d = $1 - $2; exit !(d * d <= $3 * $3) }"; }
for with in 'solver=exact' 'features=64'; do
    run --format json -s u.gpd -e "open uniform.csv target=y; split test=50% seed=1; tune evals=12" \
        -e "fit $with; score" \
        -e "predict columns=row,y,mean,sd,lo95,hi95,lo90,hi90 quantiles=2.5,97.5 out=p.csv"
    set -- $(share)
    ok "uniform errors, $with: 95 % of them reach 1.65 sd" near "$2" 1.645 0.04
    is "the fit says so" "$(num fit "$out" interval95 | cut -c1-5)" "$(echo "$2" | cut -c1-5)"
    has "in its line" "$out" '"name":"rescale".*intervals at 95 % reach 1.[67][0-9] sd instead of 1.96, because 100.0 % of'
    ok "score counts the rows that predict writes" near "$(num score "$out" coverage95)" "$1" 1e-5
    ok "95 % of them" near "$1" 0.95 0.03
    ok "quantiles are the ends" awk -F, 'NR > 1 && ($5 - $9 > 1e-9 || $9 - $5 > 1e-9 || $6 - $10 > 1e-9 ||
        $10 - $6 > 1e-9 || $7 <= $5 || $8 >= $6) { exit 1 }' p.csv
    cp p.csv before.csv
    run -s u.gpd -e "predict columns=row,y,mean,sd,lo95,hi95,lo90,hi90 quantiles=2.5,97.5 out=p.csv"
    ok "a session keeps the reach" cmp p.csv before.csv
    run -s u.gpd -e "score; check; plot calibration out=c.txt; explain coverage"
    has "check agrees" "$out" 'ok calibration .*'
    has "and the plot" "$(cat c.txt)" '95 % interval of 1.6[0-9] sd.*honest\|honest'
    run --format json -s u.gpd -e "fit $with rescale=ratio; score; why" \
        -e 'predict columns=row,y,mean,sd,lo95,hi95 out=p.csv'
    set -- $(share)
    ok "rescale=ratio: 1.96 sd" near "$2" 1.959964 1e-6
    is "hold all" "$1" 1.000000
    has "why names the intervals, and what mends them" "$out" '"intervals".*rescale=yes'
    run -s u.gpd -e 'predict columns=row,y,mean,sd,lo95,hi95 out=p.csv'
    set -- $(share)
    ok "a session without a word of it: 1.96 sd" near "$2" 1.959964 1e-6
    rm -f u.gpd*
done
run --format json -e "open tails.csv target=y; split test=50% seed=1; tune evals=15; fit; score" \
    -e 'predict columns=row,y,mean,sd,lo95,hi95 out=p.csv; plot calibration out=c.txt'
set -- $(share)
ok "heavy tails: the interval reaches less far" between "$2" 0.4 1.3
ok "and holds 95 %" near "$1" 0.95 0.025
ok "as score says" near "$(num score "$out" coverage95)" "$1" 1e-5

# few rows may all lie inside, although squared errors are far smaller than predicted: score, check,
# plot and explain say the same
run -e "demo robot n=400 seed=2; split test=15% seed=1; tune evals=10; fit noise=0.4; score; check" \
    -e 'plot calibration out=c.txt; explain coverage'
has "score calls them wide" "$out" 'the intervals are too wide'
has "check too" "$out" '! *calibration .* of the targets lie inside'
has "explain too" "$out" 'the model is too cautious'
has "and the plot" "$(tr '\n' ' ' <c.txt)" 'too  *cautious'

# one judgement: noise of a third is narrow in the fit, the score, check, why and explain
run -e "$data; fit features=512 noise=0.1; score; check; explain coverage; explain spread; why"
has "the fit says so" "$out$err" 'predicting each training row from the others gives mean z^2 [0-9.]* (standard error'
has "the score has standard errors" "$out" 'interval: [0-9.]* +- 2.9 / [0-9.]* +- 1.7 / [0-9.]* +- 1.3 %'
has "the score says so" "$out" 'the intervals are too narrow (mean z^2'
has "check says so" "$out" '! *calibration  [0-9.]* % of the targets lie inside the 95 % interval (standard'
has "explain says so" "$out" 'the model is overconfident'
has "of both figures" "$out" 'Error bars are too small'
has "why names it" "$out" '^ [0-9] intervals '
has "with what mends it" "$out" 'try  tune features=256 evals=20; fit features=512'
run -e "$data; fit features=512; score; why"
lacks "after that nothing is said" "$out" 'the intervals are'

# a warning of the fit stays true in check
run -e "$data; fit features=512; check"
has "starved at the fit" "$out$err" 'warning\[starved\]'
has "starved in check" "$out" '! *starvation .*it'
lacks "and not the contrary" "$out" 'are not starved'

# check without test rows judges left-out rows: the figures of the fit, not those of the rows that
# the model was fitted to, of which the noise of a third lets nearly all lie inside
all='demo robot n=600 seed=2; tune features=256 evals=20'
for with in 'features=512' 'features=512 noise=0.05'; do
    run --format json -e "$all; fit $with; check"
    inside=$(awk -v c="$(num fit "$out" left_out_coverage95)" 'BEGIN { printf "%.1f", 100 * c }')
    z2=$(awk -v z="$(num fit "$out" left_out_z2)" 'BEGIN { printf "%.2f", z }')
    has "training rows are judged as left-out ones: $with" "$out" \
        "predicted from the others, $inside % of the targets lie inside the 95 % interval"
    has "and their squared errors: $with" "$out" \
        "predicted from the others, squared errors are $z2 x the predicted variance"
done

# variance=auto: all features up to 4096 or where the solve leaves the factor; else 4096 where the
# factor of all takes longer than the fit
auto() {
    run --format json -e "demo toy n=60 seed=1; fit features=$1 l=1 noise=0.3 $2"
    num fit "$out" variance_features
}
is "all features where they are few" "$(auto 256)" 256
is "and where the solve leaves the factor of all" "$(auto 4160 solver=direct)" 4160
is "else no more than 4096, when the fit is quick" "$(auto 4160 'solver=pcg rank=16')" 4096
is "but for variance=all" "$(auto 4160 'solver=pcg rank=16 variance=all')" 4160

# rows far from the training data are marked, exactly and with features
awk 'BEGIN { srand(3); print "x,y"; for (i = 0; i < 200; i++) { x = i / 20
    print x "," sin(x) + 0.1 * (rand() - 0.5) } }' >train.csv
awk 'BEGIN { print "x"; for (i = 1; i < 10; i++) print i + 0.01; for (i = 1; i < 10; i++) print 30 + i }' \
    >new.csv
for with in solver=exact features=256; do
    run -e "open train.csv target=y; kernel rbf; tune evals=15; fit $with; predict new.csv out=p.csv columns=row,unlike"
    has "far rows are told of with $with" "$out$err" 'note\[unlike\]: 9 of 18 rows are unlike the training rows'
    is "and marked" "$(tail -n +2 p.csv | cut -d, -f2 | tr -d '\n')" 000000000111111111
done
finish
