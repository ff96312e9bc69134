#!/bin/sh
# tests/fuzz/runs.sh -- random scripts of the examples of all commands: run in a session, killed at
# random, reopened, damaged and salvaged. Held to: no crash, no hang, no report of a sanitizer, and
# a session that opens again. Three rounds in `make check`, FUZZ_SECONDS of them in `make fuzz`. The
# rounds begin at number FUZZ_SEED; the script of one that fails is left in the directory FUZZ_KEEP.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

ASAN_OPTIONS="allocator_may_return_null=1:exitcode=86:$ASAN_OPTIONS"
UBSAN_OPTIONS="halt_on_error=1:exitcode=86:print_stacktrace=1:$UBSAN_OPTIONS"
export ASAN_OPTIONS UBSAN_OPTIONS
end=$(($(date +%s) + ${FUZZ_SECONDS:-0}))

# The pool: an example of every command, made small, and lines that bring kinds of data and models.
"$gpdesk" -q -e 'help' 2>/dev/null | sed -n 's/^  \([a-z-]*\) .*/\1/p' >verbs
while read -r verb; do
    "$gpdesk" -q -e "help $verb" 2>/dev/null |
        sed -n '/^example  /,/^[a-z]/{s/^example  //p;s/^         //p}'
done <verbs | grep -vE '^(quit|tour|lesson|pause|wait|sessions|resume|salvage|source|save|bind)' |
    sed -E 's/(features|variance)=[0-9]+/\1=64/g; s/n=[0-9]+/n=90/g; s/rows=[0-9]+/rows=60/g
        s/evals=[0-9]+/evals=3/g; s/rank=[0-9]{3,}/rank=16/g; s/^(tune|fit)$/\1 features=64/
        s/^(tune.*)/\1 evals=3/; s/^(advise|race|landscape|sweep|stop)(.*)/\1\2/' >pool
cat >>pool <<'END'
demo toy n=40
demo friedman1 n=90 seed=3; split test=25% seed=1
demo proteins n=60 seed=1; split test=25% seed=1; kernel conv(rbf,width=3)
demo molecules n=40 seed=2; split test=25%; kernel graph(rbf)
demo co2; season; split test=20% ordered=yes
open some.csv; missing mean; split test=20% seed=2
open some.csv target=y,z; missing drop
where x > 0.3
where "x" is missing or kind = 'b'
let w = x^2 + log(y)
let x = if(x > 0.5, x, -x)
rename x=x1
names p,q,r,s
kernel rbf(ard) + linear on x
kernel matern(nu=3/2) * periodic
scale y=log
fit features=64 solver=pcg rank=8 noise=0.05 maxit=20
fit solver=exact l=1 noise=0.1
fit features=64 solver=svrg maxit=3
tune features=64 evals=3
tune solver=exact evals=4
score
check
report out=r.html
predict out=p.csv
predict some.csv columns=row,id,mean,sd,unlike
export out=m.json
export as=python out=m.py
export as=c out=m.c sd=yes
undo
undo 3
redo
at 2
at now
branch
drop run:r1
purge yes
star r1
note r1 "a note"
script out=again.gps
history
runs
compare
why
effects
importance
plot slice
plot parity out=p.svg
plot ard out=p.txt
landscape grid=4 features=64
sweep features=32..64
race rank=8,16 features=64 maxit=9
save copy.gpd
save data=yes
stop *
set precision=double
set l=0.5..2 noise=0.1
open some.csv beside=more.csv target=y
split group=kind test=25%
split time=x test=25%
split folds=3 seed=1
score folds tune=yes
score baseline=yes
compare r1 r2
explain-row row:3
effects all rows=20
importance pairs=yes rows=20
kernel tanimoto
neighbours row:3 count=4
pick test count=5 by=ucb similar=0.9
pick some.csv count=3 by=mean out=chosen.csv
suggest 2
suggest 3 pool=some.csv by=ei out=ideas.csv
tell s1=0.5 s2=failed
tell ideas.csv
bo table start=10 rounds=1 batch=2 candidates=50
bo 'sin(5*x)' x=-1..1 rounds=1 start=3 candidates=50
draw posterior along=x n=2
draw posterior along=x1 row:3
plot suggest out=p.png
plot bo
plot posterior
END
awk 'BEGIN { print "more,k"; for (i = 0; i < 70; i++) printf "%d,%s\n", i * i % 17, i % 5 }' >more.csv
printf 'x,kind,y,z\n' >some.csv
awk 'BEGIN { srand(5); for (i = 0; i < 70; i++) printf "%s,%s,%.4f,%.4f\n", i % 9 ? rand() : "",
    substr("abc", 1 + i % 3, 1), 1 + rand(), rand() * i }' >>some.csv

bad() { # STATUS OUTPUT: an end that no script may bring
    case $1 in
    [0-5] | 137) ! grep -qE 'Sanitizer|runtime error:|error.internal' "$2" ;;
    *) false ;;
    esac
    test $? -ne 0
}
step() { # NAME ARGUMENTS of gpdesk: runs it, and says whether the end was bad
    what=$1
    shift
    timeout -s ABRT 240 "$gpdesk" -k "$@" >.o 2>&1 </dev/null
    code=$?
    if bad $code .o; then
        echo "# round $round: $what ended with $code"
        grep -E -A12 'Sanitizer|runtime error:|internal' .o | head -n 40 | sed 's/^/# /'
        cp script.gps "${FUZZ_KEEP:-$dir}/round-$round-$what.gps"
        return 1
    fi
}
one_round() {
    rm -f s.gpd* t.gpd* broken.gpd* copy.gpd*
    awk -v seed="$round" 'BEGIN { srand(seed) } { line[n++] = $0 }
        END { for (k = 3 + int(rand() * 10); k > 0; k--) print line[int(rand() * n)] }' pool \
        >script.gps
    step run -s s.gpd -f script.gps || return 1
    step reopen -s s.gpd -e 'runs; history; data; undo; redo; predict' -e 'fit features=32; runs' ||
        return 1
    test $((round % 3)) -ne 0 || { # killed in the middle, then opened
        "$gpdesk" -k -s t.gpd -f script.gps >.k 2>&1 </dev/null &
        pid=$!
        sleep "0.$((round * 7 % 10))"
        kill -9 $pid 2>/dev/null
        wait $pid 2>/dev/null
        test ! -e t.gpd || step killed -s t.gpd -e 'runs; history; data; script; predict' ||
            return 1
    }
    test -e s.gpd || return 0
    cp s.gpd broken.gpd
    size=$(wc -c <broken.gpd)
    awk -v seed="$round" -v size="$size" 'BEGIN { srand(seed)
        for (k = 1 + int(rand() * 4); k > 0; k--) print int(rand() * size) }' | while read -r at; do
        printf '\252\125\377garbage' | dd of=broken.gpd bs=1 seek="$at" conv=notrunc 2>/dev/null
    done
    step damaged -s broken.gpd -e 'runs; data' || return 1
    rm -f mended.gpd*
    step salvage -e 'salvage broken.gpd mended.gpd' || return 1
    test ! -e mended.gpd || step salvaged -s mended.gpd -e 'runs; history; data; script; predict'
}
round=${FUZZ_SEED:-1} failures=0 rounds=0
while [ "$rounds" -lt 3 ] || [ "$(date +%s)" -lt "$end" ]; do
    one_round || failures=$((failures + 1))
    round=$((round + 1)) rounds=$((rounds + 1))
done
is "$rounds random scripts: none crashed or lost its session" "$failures" 0
finish
