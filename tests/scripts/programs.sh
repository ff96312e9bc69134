#!/bin/sh
# tests/scripts/programs.sh -- runs exported as programs in Python and C: each is run on a file of
# new rows, and its means and standard deviations are compared with those that `predict` writes.
# Skips the language that is not there (python3 with NumPy; cc).
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

python=
python3 -c 'import numpy' 2>/dev/null && python=yes
cc=
command -v cc >/dev/null 2>&1 && cc=yes
echo "# python3 with NumPy: ${python:-no, skipped}; cc: ${cc:-no, skipped}"

# Rows with numbers, a category with hostile levels, missing cells, and two positive targets.
awk 'BEGIN { srand(11); split("red|\"a,b\"|o'\''x*/|tab\\t?\?/", L, "|"); print "a,b,\"c \"\"d\"\"\",w,y,z"
    L[2] = "\"a,b\""; for (i = 0; i < 130; i++) {
    a = 4 * rand() - 2; b = 3 * rand(); k = 1 + int(4 * rand()); e = rand() - 0.5
    printf "%s,%.5f,%s,%.3f,%.6f,%.5f\n", i % 17 == 5 ? "" : sprintf("%.6f", a), b,
        i % 23 == 7 ? "" : L[k], 0.5 + rand(), exp(0.6 * sin(2 * a) + 0.3 * b + 0.2 * k + 0.2 * e),
        a * b + k + e } }' >all.csv
sed -n '1p;2,91p' all.csv >train.csv
sed -n '1p;92,$p' all.csv >new.csv

# Compares two files with a line for each row: the largest difference over the sd of the column
# is at most `most` in each. (The ids of rows and all names must agree.)
same() { # most wanted got
    awk -F, -v most="$1" 'FNR == 1 { gsub(/"/, "")
        if (NR > 1 && $0 != head) { print "names: " head; bad = 1 } head = $0; next }
    NR == FNR { n++; for (i = 1; i <= NF; i++) { v[n, i] = $i; s[i] += $i; q[i] += $i * $i } next }
    { m++; for (i = 2; i <= NF; i++) { d = ($i - v[m, i]) / (1e-9 + scale(i)); if (d < 0) d = -d
        if (d > worst || d != d) worst = d } bad += $1 != v[m, 1] }
    END { printf "largest difference %.2g of the sd\n", worst
        exit bad || n == 0 || n != m || !(worst <= most) }
    function scale(i, v2) { v2 = q[i] / n - (s[i] / n) ^ 2
        return sqrt(v2 > 1e-8 * q[i] / n ? v2 : q[i] / n) }' "$2" "$3" >worst.txt || {
        cat worst.txt; return 1; }
}

# A fit, its predictions and both programs.
program() { # name, tolerance, settings, sd
    rm -f p.csv r.py r.c
    run -q -e "$3; predict new.csv columns=row,mean$5 out=p.csv" \
        -e "export r1 as=python out=r.py sd=$4; export r1 as=c out=r.c sd=$4"
    is "$1: written" "$rc" 0
    if test "$python"; then
        python3 r.py new.csv >py.csv 2>py.err
        ok "$1: Python $(tail -n 1 py.err)" same "$2" p.csv py.csv
        echo "# $(cat worst.txt)"
    fi
    if test "$cc"; then
        cc -Wall -Wextra -Werror -o r.exe r.c -lm 2>cc.err && ./r.exe new.csv >c.csv 2>>cc.err
        ok "$1: C $(head -n 3 cc.err)" same "$2" p.csv c.csv
        echo "# $(cat worst.txt)"
    fi
}
sds=,sd_latent,sd,lo95,hi95
open='open train.csv target=y skip=z,w; missing mean; set precision=double seed=5'
fit='fit features=64 noise=0.3'


# ---- features: every kernel by its steps, in two sums; then encodings and targets ----
"$gpdesk" -n -e 'kernel matern(nu=2)' >/dev/null 2>&1 && nu='matern(nu=2)' || nu='matern(nu=3/2)'
program "eight kernels" 1e-9 "$open; kernel rbf + matern(nu=1/2) + cauchy + rq(alpha=2) + periodic \
    + poly + arccos + erf; fit features=256 noise=0.3" yes $sds
program "sums and products" 1e-9 "$open; kernel rbf(ard) on a,b * linear + periodic * arccos \
    + poly(degree=3) * $nu + constant + linear; fit features=128 noise=0.3" yes $sds
program "two targets, weights, flags" 1e-9 "open train.csv target=y,z; cols w role=weight; \
    missing median flag=yes; set precision=double; kernel rbf; $fit" yes $sds
program "two targets, tuned: intervals have a reach of their own" 1e-9 "open train.csv \
    target=y,z skip=w; missing mean; set precision=double seed=5; kernel rbf; \
    tune features=64 evals=6; fit features=64" yes $sds
ok "each another one" awk '/^targets|targets\[\]/ { on = 1 } on && /"[yz]", / { gsub(/[^-+0-9.e,]/, "")
    n = split($0, v, ","); while (v[n] == "") n--; r[++k] = v[n]; if (k == 2) exit }
    END { exit !(r[1] > 0 && r[2] > 0 && r[1] != r[2] && r[1] != 1.9599639845400542) }' r.c
program "y=log, groups, a smaller map for the variance" 1e-9 "$open; scale y=log; \
    cols a,b group=g; kernel matern(nu=3/2,ard=group); $fit variance=32" no $sds
program "y=log without variances, rows left out" 1e-9 "open train.csv target=y skip=z,w; \
    missing drop; scale y=log x=none; set precision=double; kernel rbf; $fit variance=none" no
# Features rounded to float32 (6e-8), times weights of norm 10 or so.
program "single precision" 1e-5 "$open; kernel rbf; set precision=float; $fit precision=float" \
    yes $sds

# ---- exact models: every kernel by its expression ----
exact='fit solver=exact noise=0.3'
program "exact: eight kernels" 1e-9 "$open; kernel rbf + matern(nu=1/2) + matern(nu=3/2) + cauchy \
    + rq(alpha=2) + poly + arccos + erf; $exact" yes $sds
program "exact: sums and products" 1e-9 "$open; kernel rbf(ard) on a,b * linear + \
    periodic(ard) * arccos + poly(degree=3) * matern(nu=5/2) + constant; $exact" yes $sds
program "exact: two targets, y=none" 1e-9 "open train.csv target=y,z skip=w; missing mean; \
    scale y=none; kernel erf(ard); $exact" no

# ---- two classes: probabilities, which need the variance, at the temperature of a calibration ----
awk 'BEGIN { srand(13); print "a,b,y"; for (i = 0; i < 120; i++) { a = 4 * rand() - 2; b = rand()
    print a "," b "," (a + b * b + rand() - 0.5 > 0.4 ? "is \"so, so\"" : "is not") } }' |
    sed 's/is "so, so"/"is ""so, so"""/' >classes.csv
number() { sed 's/,"is ""so, so""",/,1,/; s/,is not,/,2,/' "$1"; } # a class as a number
two='open classes.csv target=y; split valid=30% seed=1; kernel rbf'
for link in probit logit; do
    rm -f p.csv r.py r.c
    run -q -e "$two; likelihood bernoulli link=$link; set l=1.2 amplitude=2" \
        -e 'fit; calibrate method=temperature; predict classes.csv out=p.csv' \
        -e 'export r2 as=python out=r.py; export r2 as=c out=r.c'
    is "$link: written" "$rc $err" '0 '
    number p.csv >want.csv
    is "$link: two classes occur" "$(cut -d, -f3 want.csv | sort -u | tr '\n' ' ')" '1 2 class '
    test -z "$python" || { python3 r.py classes.csv 2>py.err | sed 's/\r//' >py.csv
        number py.csv >got.csv
        ok "$link: Python $(tail -n 1 py.err)" same 1e-9 want.csv got.csv; }
    test -z "$cc" || { cc -Wall -Wextra -Werror -o r.exe r.c -lm 2>c.err &&
        ./r.exe classes.csv >c.csv 2>c.err
        number c.csv >got.csv
        ok "$link: C $(head -n 3 c.err)" same 1e-9 want.csv got.csv; }
done
run -e "$two; likelihood bernoulli; fit solver=sparse inducing=9; export r1 out=r2.c"
has "a sparse one is refused" "$err" 'probabilities need variances'
has "with what writes them" "$err" 'try  predict run=r1 out=FILE'

# ---- a table that was prepared: the program renames, computes and leaves out by itself ----
awk 'BEGIN { srand(12); split("red,dark blue,-,NA", K, ","); print "a,b,kind,when,y"
    for (i = 0; i < 90; i++) { a = 1 + rand(); b = i % 13 == 4 ? 0 : 1 + rand(); k = 1 + i % 4
    printf "%s,%.5f,%s,20%02d-%02d-%02dT%02d:30,%.5f\n", i % 19 == 7 ? "" : sprintf("%.5f", a), b,
        K[k], i % 30, 1 + i % 12, 1 + i % 28, i % 24, 2 + sin(3 * a) + b + k / 9 } }' >plain.csv
# Predictions of the file as it was read: name, steps.
steps() {
    rm -f p.csv r.py r.c
    run --format json -e "open plain.csv target=y missing='NA'; missing mean; set precision=double" -e "$2" \
        -e "$fit; predict plain.csv columns=row,mean out=p.csv" \
        -e 'export r1 out=r.py; export r1 out=r.c'
    is "$1: written" "$rc $err" '0 '
    test -z "$python" || { python3 r.py plain.csv >py.csv 2>py.err
        ok "$1: Python $(tail -n 1 py.err)" same 1e-9 p.csv py.csv; }
    test -z "$cc" || { cc -Wall -Wextra -Werror -o r.exe r.c -lm 2>c.err &&
        ./r.exe plain.csv >c.csv 2>c.err
        ok "$1: C $(head -n 3 c.err)" same 1e-9 p.csv c.csv; }
}
steps "let, rename, where" 'rename a=one,b=base; let q = one/base; rename q=ratio; where ratio > 0.7;
    let one = log(one) + min(ratio, base, 1.5)^2; cols base,kind,when role=skip'
has "the result says so" "$out" '"name":"prepared".*the program renames, computes'
for f in r.py r.c; do
    has "$f: its head has the columns" "$(head -n 12 $f)" 'It reads the columns'
    has "$f: and the steps" "$(head -n 14 $f)" ' rename q=ratio$'
done
left=$(awk -F, 'NR > 1 && !($1 != "" && $2 > 0 && $1 / $2 > 0.7) { n++ } END { print n }' plain.csv)
test -z "$python" || has "Python tells the rows" "$(cat py.err)" "^$left rows are left out by where ratio > 0.7"
test -z "$cc" || has "C tells the rows" "$(cat c.err)" "^$left rows are left out by where ratio > 0.7"
# A file that has the columns ready-made, or lacks what a condition needs.
printf 'one,ratio\n0.5,0.9\n0.7,0.8\n' >ready.csv
printf 'a\n1\n' >lacks.csv
for p in "python3 r.py" ./r.exe; do
    case $p in py*) test "$python" || continue;; *) test "$cc" || continue;; esac
    is "$p: what is ready-made is used" "$($p ready.csv 2>ready.err | wc -l) $(cat ready.err)" '3 '
    $p lacks.csv >/dev/null 2>lacks.err
    has "$p: what a computed column lacks" "$(cat lacks.err)" "there is no column '*b"
done
steps "words, missing cells, logic" "let q = if(kind = 'dark blue' or kind = '-', 'low', kind);
    let z = coalesce(a, 7) * 2 - abs(b - 1.5) / 3;
    where not (kind = 'red' and b < 1.4) and a is not missing;
    let t = (kind is missing) + (b = 0)*2 + mod(b, 0.3) + round(10*a) + sign(b - 1.5) - -a^2;
    cols kind role=skip"
steps "dates" "season when period=year; season when period=week; let m = month(when) + day(when)/40;
    let h = hour(when) + weekday(when); where when > '2003-02-01' and year(when) != 2011"
steps "many terms, a condition on the target" "let s = $(awk 'BEGIN {
    for (i = 1; i <= 120; i++) printf "%sa*%d", (i > 1 ? " + " : ""), i % 5 }')/200; where y > 2.4"
awk -F, '{ print $1 "," $2 "," $3 "," $4 }' OFS=, plain.csv >blind.csv
for p in "python3 r.py" ./r.exe; do
    case $p in py*) test "$python" || continue;; *) test "$cc" || continue;; esac
    $p blind.csv >blind.out 2>blind.err
    is "$p: without the target all rows stay" "$(wc -l <blind.out) $(grep -c 'no row is left out by where y > 2.4.*no column y' blind.err)" '91 1'
done
steps "types, weights that are computed" "let k = floor(3*b); cols k type=category; let w = 1 + b; cols w role=weight;
    cols a type=category; where a != '1.5'; cols a role=skip"

# ---- what is refused, and says what to do ----
refused() { # name settings export pattern
    run -q -e "$2" -e "export $3"
    is "$1: exit, no file" "$rc $(ls none.* 2>/dev/null)" '1 '
    has "$1: why" "$err" "$4"
}
refused "no file" "$open; $fit" as=python 'which needs a file'
refused "sd without variances" "$open; $fit variance=none" 'out=none.py sd=yes' 'has no variances'
printf 's,y\nACDE,1\nACDF,2\nACCE,3\nAADE,2\n' >seq.csv
refused "sequences" 'open seq.csv types=s=sequence target=y; kernel conv(rbf,width=3); fit features=32' \
    out=none.c 'reads sequences or graphs'
has "sequences: the way out" "$err" "gpdesk -s FILE.gpd -e 'predict"
refused "a tuning" "$open; tune features=32 evals=2" 't1 out=none.py' 't1 has no fitted model'
if "$gpdesk" -n -e 'kernel matern(nu=2)' >/dev/null 2>&1; then
    refused "a kernel without an expression" "$open; kernel matern(nu=2); fit solver=exact" \
        out=none.py 'is no function of the standard libraries'
    has "and features instead" "$err" 'fit features=2048, then export'
fi
run --format json -e "$open; scale y=log; kernel rbf; $fit; export out=log.py" \
    -e 'set precision=float; fit features=64; export out=log.c' \
    -e 'kernel matern(nu=1.7); fit solver=exact; export out=none.c'
has "single precision: a note" "$out" '"name":"single"'
ls none.* 2>/dev/null || has "a kernel that cannot be written" "$out" '"name":"predictor"\|nu='
has "y=log: the factor is there, and a note" "$out" '"name":"log-mean"'
run --format json -e "open train.csv target=y skip=z,w; missing mean; kernel rbf; \
    fit solver=exact; export as=c out=e.c"
is "exact models are computed in double precision: none" \
    "$rc $(printf '%s\n' "$out" | grep -c '"name":"single"') $(grep -c 'single precision' e.c)" '0 0 0'

refused "words made of computed numbers" "open plain.csv target=y missing=NA; missing mean; \
    let k = floor(3*b); cols k type=category; where k != '3'; cols kind,when role=skip; $fit" \
    out=none.py 'words that were made of the computed numbers k'
cp plain.csv gone.csv
rm -f gone.gpd; run -s gone.gpd -e 'open gone.csv target=y missing=NA; missing mean; where a != b' \
    -e 'let b = b + 1; let a = a + 1; fit features=32 solver=direct'
rm gone.csv; run --format json -s gone.gpd -e 'export r1 out=none.py'
has "types that no data show" "$err$out" '"column-type".*whether column a holds words or numbers'

# ---- the programs say what is wrong with a file ----
run -q -e "open train.csv target=z skip=y,w; missing drop; kernel rbf; $fit" \
    -e 'export r1 out=r.py; export r1 out=r.c'
printf 'a,b\n1,2\n' >lacks.csv
if test "$python"; then
    python3 r.py lacks.csv >/dev/null 2>py.err
    has "Python: a column that is missing" "$(cat py.err)" 'there is no column .*c "d"'
fi
if test "$cc"; then
    cc -o r.exe r.c -lm && ./r.exe lacks.csv >/dev/null 2>c.err
    is "C: ends with 1" $? 1
    has "C: a column that is missing" "$(cat c.err)" 'there is no column c "d" (the head of this'
fi
test "$python" || test "$cc" || exit 77
finish
