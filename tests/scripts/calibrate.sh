#!/bin/sh
# tests/scripts/calibrate.sh -- calibrate: by validation rows and by rows left out of a new fit, in
# sessions, scores and scripts, and what it refuses.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

num() { printf '%s\n' "$2" | grep "\"command\":\"$1\"" | tail -n 1 |
    sed -n "s/.*\"$3\":\([-+0-9.eE]*\)[,}].*/\1/p"; }
near() { awk "BEGIN { d = $1 - $2; exit !(d * d <= $3 * $3) }"; }
# noise that grows with |x2|
make() { awk -v seed="$1" -v n="$2" 'BEGIN { srand(seed); print "x1,x2,y"
    for (i = 0; i < n; i++) { a = 6 * rand() - 3; b = 2 * rand() - 1
        g = sqrt(-2 * log(1 - rand())) * cos(6.283185307 * rand())
        print a "," b "," sin(a) + (0.05 + 0.5 * (b < 0 ? -b : b)) * g } }'; }
make 1 1200 >a.csv
open='open a.csv target=y; split test=30% valid=25% seed=1; set l=1.3 noise=0.4'

run --format json -s c.gpd -e "$open; fit features=128 rescale=no" \
    -e 'predict columns=row,mean,sd out=p1.csv' \
    -e 'calibrate method=scale; score; predict columns=row,mean,sd out=p2.csv' \
    -e 'score r1 on=valid; predict run=r1 columns=row,y,mean,sd out=v.csv'
is "it succeeds" $rc 0
has "a run of its own" "$out" \
    '"command":"calibrate","run":"r2","from":"r1","method":"scale","rows":300,'
cut -d, -f1,2 p1.csv >m1
cut -d, -f1,2 p2.csv >m2
ok "the means stay to the bit" cmp m1 m2
factor=$(num calibrate "$out" factor)
ok "every sd is the root of the factor larger" awk -F, -v f="$factor" '
    NR == FNR { sd[FNR] = $3; next }
    FNR > 1 { d = $3 / sd[FNR] - sqrt(f); if (d * d > 1e-12) exit 1; n++ } END { exit n != 360 }' \
    p1.csv p2.csv
has "score tells it" "$out" \
    '"calibration":{"method":"scale","rows":300,"factor":[0-9.]*,"quantile":1.9599'
has "and its intervals" "$out" \
    '"interval_level":0.95,"interval_coverage":0.9[0-9]*,"interval_width":[0-9.]*'
run --format json -s c.gpd -e 'predict run=r2 columns=row,mean,sd out=p4.csv; runs; script'
ok "a session keeps it" cmp p2.csv p4.csv
run -s c.gpd -e 'script out=c.gps'
has "the script holds the line" "$(cat c.gps)" '^calibrate method=scale'
run -f c.gps
is "and what it expects comes again" $rc 0

# the quantile: all calibration rows but 10 % are inside, counted by awk over predict
run --format json -e "$open; fit features=128; calibrate method=conformal level=0.9" \
    -e 'score on=valid; score'
share=$(printf '%s\n' "$out" | grep '"on":"valid"' |
    sed -n 's/.*"interval_coverage":\([0-9.]*\).*/\1/p')
is "of 300 calibration rows 271 are inside" "$share" "0.9033333333333333"
ok "of test rows about as many" near "$(num score "$out" interval_coverage)" 0.9 0.05
is "the variances stay" "$(num calibrate "$out" factor)" 1
run -e "$open; fit features=128; calibrate level=0.9; score; compare r1 r2"
has "score in words" "$out" \
    'calibrated by 300 rows (auto): [89][0-9.]* % inside 90 % intervals of width'

# absolute: one sd, the root mean square error of the calibration rows, and one width, inside of
# which all of them but 10 % are; exact, so that no features are needed
run --format json -e "$open; fit solver=exact; score on=valid"
rmse=$(num score "$out" rmse)
run --format json -s abs.gpd -e "$open; fit solver=exact; calibrate method=absolute level=0.9" \
    -e 'score on=valid; predict columns=row,mean,sd,lo90,hi90 out=w1.csv; score'
ok "one sd, the root mean square error, and one width" \
    awk -F, -v s="$rmse" -v q="$(num calibrate "$out" quantile)" 'NR > 1 { n++
        a = $3 / s - 1; b = ($5 - $4) / (2 * q * s) - 1
        if (a * a > 1e-18 || b * b > 1e-18) exit 1 } END { exit n != 360 }' w1.csv
share=$(printf '%s\n' "$out" | grep '"on":"valid"' |
    sed -n 's/.*"interval_coverage":\([0-9.]*\).*/\1/p')
is "271 of 300 calibration rows are inside of it" "$share" "0.9033333333333333"
has "score tells it" "$out" '"calibration":{"method":"absolute","rows":300,'
run -s abs.gpd -e 'predict columns=row,mean,sd,lo90,hi90 out=w2.csv; calibrate method=scale' \
    -e 'predict columns=row,mean,sd out=w3.csv'
ok "a session keeps it" cmp w1.csv w2.csv
cut -d, -f1-3 w1.csv >w4.csv
ok "scale has nothing to mend" awk -F, 'NR == FNR { sd[FNR] = $3; next }
    FNR > 1 { d = $3 / sd[FNR] - 1; if (d * d > 1e-20) exit 1 }' w4.csv w3.csv
run --format json -e 'open a.csv target=y,x2; split test=30% valid=20% seed=1; set l=1 noise=0.5' \
    -e 'fit features=64; calibrate method=absolute; score'
has "targets have a scale each" "$out" '"calibration":{"method":"absolute","rows":240,'

# rows that are left out of a new fit, the same for any number of threads
for threads in 1 2; do
    run --threads $threads --format json -e 'open a.csv target=y; split test=30% seed=1' \
        -e 'set l=1.3 noise=0.4; fit features=128; calibrate rows=100 seed=4 level=0.9' \
        -e 'predict columns=row,mean,sd,lo95 out=t.csv'
    mv t.csv t$threads.csv
done
ok "the same bits for one thread and two" cmp t1.csv t2.csv
has "fitted anew" "$out" '"rows":100,"level":0.9,.*"fitted_anew":true'
run --format json -e 'open a.csv target=y; split test=30% seed=1; set l=1.3 noise=0.4' \
    -e 'fit solver=exact; calibrate share=0.1 level=0.9'
has "a share of the training rows, exactly" "$out" '"command":"calibrate","run":"r2",.*"rows":84,'
run --format json -e 'open a.csv target=y; split test=30% valid=20% seed=1' \
    -e 'tune solver=sparse inducing=20 evals=8; fit solver=sparse inducing=20; calibrate; score'
has "a sparse model" "$out" '"calibration":{"method":"auto","rows":240,'
run --format json -e 'open a.csv target=y,x2; split test=30% valid=20% seed=1' \
    -e 'set l=1 noise=0.5; fit features=64; calibrate; score'
has "several targets have a factor each" "$out" \
    '"factor":\[[0-9.]*,[0-9.]*\],"quantile":\[[0-9.]*,[0-9.]*\]'
has "and a coverage each" "$out" '"interval_coverage":\[[0-9.]*,[0-9.]*\]'

# 20 seeds: the mean coverage is what split conformal prediction promises, 181/201 here, whose
# standard error over 20 sets of 200 calibration and 400 test rows is 0.007
sum=0
for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    make $((100 + seed)) 900 >g.csv
    run --format json -e 'open g.csv target=y; split test=44.4% valid=22.2% seed=1' \
        -e 'set l=1.3 noise=0.4; fit features=64; calibrate level=0.9; score'
    sum=$(awk "BEGIN { print $sum + $(num score "$out" interval_coverage) }")
done
ok "twenty sets: 0.89 to 0.915 inside" \
    awk "BEGIN { exit !($sum / 20 >= 0.885 && $sum / 20 <= 0.918) }"

# Noise that grows with |x2|: a local scale keeps the level in every fifth of |x2|, and the ordinary
# intervals do not.  Means over 20 seeds of 800 test rows, so that the share in a fifth of them
# scatters by sqrt(.9 .1 (1/160 + 1/400)/20) = .006 and more, because every scale is learned.
fifths() { # QUANTILE: the shares in p.csv, whose rows are those of g.csv
    awk -F, -v q="$1" 'NR == FNR { x[FNR - 1] = $2 < 0 ? -$2 : $2; next }
        FNR > 1 { d = $2 - $3; print x[$1], (d < 0 ? -d : d) <= q * $4 }' g.csv p.csv |
        sort -g | awk '{ s[int((NR - 1) / 160)] += $2 / 160 }
            END { for (i = 0; i < 5; i++) print s[i] }'
}
: >local
: >cv+
: >conformal
: >absolute
for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    make $((100 + seed)) 1600 >g.csv
    for method in local conformal absolute cv+; do
        valid=' valid=25%'
        test $method = cv+ && valid=
        run --format json -e "open g.csv target=y; split test=50%$valid seed=1" \
            -e "set l=1.3 noise=0.4; fit features=64; calibrate method=$method level=0.9" \
            -e 'score; predict columns=row,y,mean,sd out=p.csv'
        all=$(num score "$out" interval_coverage)
        fifths "$(num calibrate "$out" quantile)" | paste -s -d' ' | sed "s/^/$all /" >>$method
    done
done
within() { # FILE FROM TO: the mean coverage, and those of all fifths
    awk -v from="$2" -v to="$3" '{ for (i = 1; i <= 6; i++) s[i] += $i / 20 } END {
        for (i = 2; i <= 6; i++) { print s[i]; if (s[i] < from || s[i] > to) bad = 1 }
        exit bad || NR != 20 || s[1] < 0.89 || s[1] > 0.915 }' "$1"
}
ok "local: 0.84 to 0.99 inside in each fifth" within local 0.84 0.99
ok "conformal: 0.89 to 0.915 inside of all" within conformal 0 1.01
ok "absolute: 0.89 to 0.915 inside of all" within absolute 0 1.01
ok "cv+: 0.89 to 0.915 inside of all" within cv+ 0 1.01
not_within() { ! within conformal 0.84 0.99 >/dev/null; }
ok "but not in each fifth" not_within
run --format json -s l.gpd -e "$open; fit features=64; calibrate method=local level=0.9" \
    -e 'score; predict columns=row,mean,sd,lo95 out=l1.csv; export sd=yes out=l.py'
has "score tells it" "$out" '"calibration":{"method":"local","rows":300,'
has "programs do not have it" "$out" '"name":"predictor".*local scale of r2'
run -s l.gpd -e 'predict columns=row,mean,sd,lo95 out=l2.csv'
ok "a session keeps it" cmp l1.csv l2.csv
run --threads 1 -e "$open; fit features=64; calibrate method=local level=0.9" \
    -e 'predict columns=row,mean,sd,lo95 out=l3.csv'
ok "threads change no bit" cmp l1.csv l3.csv
# What plots and proposals show of new values is what predict writes for the same rows.
at_rows() { # FILE of a plot: x and the band's ends of its first series
    awk -F, -v OFS=, 'NR > 1 && $2 == "95 % of new values" { print $3, $4, $5 }' "$1"
}
agree() { # FILE FILE: all numbers to 1e-6, and there are some
    paste -d, "$1" "$2" | awk -F, '{ for (i = 1; i <= NF / 2; i++) {
        d = $i - $(i + NF / 2); if (d * d > 1e-12 * (1 + $i * $i)) bad = 1 } }
        END { exit bad || NR < 5 }'
}
for method in local cv+; do
    run -e "$open; fit features=64; calibrate method=$method" \
        -e 'plot slice x2 row:1 out=slice.csv; predict columns=row,y,mean,sd out=p.csv' \
        -e 'save plotted.gpd'
    at_rows slice.csv | awk -F, -v OFS=, -v x1="$(awk -F, 'NR == 2 { print $1 }' a.csv)" \
        'BEGIN { print "x1,x2" } { print x1, $1 }' >axis.csv
    at_rows slice.csv | cut -d, -f2,3 >band.csv
    run -s plotted.gpd -e 'predict axis.csv columns=row,lo95,hi95 out=q.csv' \
        -e 'suggest 5 pool=axis.csv by=sd again=yes apart=0 out=s.csv' \
        -e 'predict s.csv columns=row,mean,sd out=q2.csv'
    tail -n +2 q.csv | cut -d, -f2,3 >wanted.csv
    ok "$method: the band of new values in plot slice" agree wanted.csv band.csv
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { print $at["mean"] "," $at["sd"] }' s.csv >band.csv
    tail -n +2 q2.csv | cut -d, -f2,3 >wanted.csv
    ok "$method: the sd of proposals" agree wanted.csv band.csv
    rm -f plotted.gpd*
done
for fit in 'fit features=64' 'fit solver=exact'; do
    rm -f v.gpd
    run --threads 1 --format json -s v.gpd -e "$open; $fit" \
        -e 'calibrate method=cv+ folds=5 level=0.9; score; predict columns=row,mean,sd,lo95 out=v1.csv' \
        -e 'predict run=r1 columns=row,mean out=v0.csv'
    has "cv+ after $fit" "$out" '"method":"cv+","rows":540,"level":0.9,"factor":null,.*"folds":5,'
    run --threads 2 -s v.gpd -e 'predict run=r2 columns=row,mean,sd,lo95 out=v2.csv'
    ok "a session keeps it, for any number of threads" cmp v1.csv v2.csv
    cut -d, -f1,2 v1.csv >v3.csv
    ok "and the means stay to the bit" cmp v0.csv v3.csv
    run --format json -s v.gpd -e 'calibrate r2 method=scale; score'
    has "another calibration takes its place" "$out" '"calibration":{"method":"scale","rows":300,'
done
for fit in 'fit solver=exact' 'fit solver=nn(neighbours=40)' 'fit solver=sparse inducing=20'; do
    run --format json -e "$open; $fit; calibrate method=local; calibrate method=scale; score"
    has "local after $fit, then scale" "$out" '"calibration":{"method":"scale","rows":300,'
done

refused() { # name line pattern
    run -e "open a.csv target=y; split test=30% seed=1; set l=1 noise=0.4; fit features=64; $2"
    test $rc -ne 0
    result $? "$1" "exit $rc"
    has "$1, with a reason" "$out$err" "$3"
}
refused "no validation rows" calibrate 'error\[no-rows\]: r1 has no validation rows'
refused "training rows" 'calibrate on=train' 'the model was fitted to these rows'
refused "test rows" 'calibrate on=test' 'would then say nothing about new ones'
refused "other rows" 'calibrate on=moon' 'there are no such rows'
refused "cv+ and rows" 'calibrate method=cv+ rows=50' 'takes all training rows, fold by fold'
refused "cv+ of nearest rows" 'fit solver=nn(neighbours=20); calibrate method=cv+' \
    '\[calibration-method\]: method=cv+ is for random features'
refused "cv+ of too few rows" \
    'demo friedman1 n=8; fit features=16; calibrate method=cv+ folds=3 level=0.9' \
    '\[few-calibration-rows\]: [1-8] calibration rows are too few'
refused "two ways" 'calibrate share=0.1 rows=10' 'choose on=valid, share= or rows='
refused "too few rows" 'calibrate rows=8 level=0.9' \
    '\[few-calibration-rows\]: 8 calibration rows are too few for intervals at 90 %: at least 9'
refused "all rows" 'calibrate rows=840' '840 of 840 training rows cannot be kept aside'
refused "no variances" 'fit features=64 variance=none; calibrate rows=50' 'error\[no-variance\]'
refused "folds" 'split folds=3; fit features=64; calibrate rows=50' 'split into folds'
run -e 'demo motifs n=120; cols many role=target; cols count role=skip; likelihood bernoulli' \
    -e 'kernel spectrum(n=2); split test=30% valid=20%; fit; calibrate method=scale'
has "classes" "$out$err" 'method=scale is of variances of numbers, and r1 predicts classes'
run -e 'open a.csv target=y; split test=30% valid=20%; kernel poly(degree=2) + linear' \
    -e 'fit solver=exact; calibrate method=local'
is "kernels without lengthscales have a scale, too" $rc 0
run -e "$open; fit features=64; calibrate; undo; runs"
is "undo" $rc 0
finish
