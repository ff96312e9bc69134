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

# ---- a table that was prepared: the program says what it needs, and gets it ready-made ----
awk 'BEGIN { srand(12); print "a,b,y"; for (i = 0; i < 60; i++) { a = 1 + rand(); b = 1 + rand()
    printf "%.5f,%.5f,%.5f\n", a, b, sin(3 * a) + a / b } }' >plain.csv
awk -F, 'NR == 1 { print "base,ratio"; next } { printf "%s,%.17g\n", $2, $1 / $2 }' plain.csv >ready.csv
run --format json -e 'open plain.csv target=y; set precision=double; rename a=one,b=base; let q = one/base' \
    -e 'rename q=ratio; where ratio > 0.4; cols one role=skip' -e "$fit; predict plain.csv columns=row,mean out=p.csv" \
    -e 'export r1 out=r.py; export r1 out=r.c'
is "prepared: written" "$rc" 0
has "prepared: the result says so" "$out" '"name":"prepared".*with those that let computes: ratio'
for f in r.py r.c; do
    has "$f: its head has the columns" "$(head -n 12 $f)" 'It reads the columns base, ratio\.'
    has "$f: and the steps" "$(head -n 12 $f)" ' rename q=ratio$'
done
test -z "$python" || { python3 r.py ready.csv >py.csv; ok "prepared: Python" same 1e-9 p.csv py.csv; }
test -z "$cc" || { cc -o r.exe r.c -lm && ./r.exe ready.csv >c.csv; ok "prepared: C" same 1e-9 p.csv c.csv; }
test -z "$python" || { python3 r.py plain.csv 2>py.err
    has "prepared: a file as it was" "$(cat py.err)" "no column 'base' (the head of this program"; }

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
