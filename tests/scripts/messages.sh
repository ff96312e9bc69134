#!/bin/sh
# tests/scripts/messages.sh -- every message has been provoked: each name that can stand in brackets
# is either told here, or another test looks for it by name.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

find "$src/src" -name '*.c' -exec cat {} + | tr '\n' ' ' >all.c
{
    grep -oE 'err_named\([^%;]*' all.c | grep -oE '"[a-z][a-z0-9-]*"'
    grep -oE 'ws_(note|warn|tell)\([^"%;]*"[a-z0-9-]*"' all.c | grep -oE '"[a-z0-9-]*"$'
    grep -oE '(note|warning)\[[a-z][a-z0-9-]*\]' all.c | sed 's/.*\[\(.*\)\]/"\1"/'
} | tr -d '"' | grep -v '^.$' | sort -u >names
ok "the sources name many messages" test "$(wc -l <names)" -gt 100

tell() { "$gpdesk" --format json "$@" >>seen.json 2>/dev/null </dev/null; }
fit='demo toy n=60 seed=1; split test=25%; kernel rbf; fit features=32'

# -- time, the bin, sessions, scripts
tell -e 'summary; about'
tell -e 'undo'
tell -e 'demo toy; branch'
tell -k -e \
    "$fit; expect r1 weight 3; expect r1 features 31; export t1; export out=x.doc; plot race out=x.xyz"
tell -k -e \
    "$fit; at 1; kernel rq; export r1; at 77; at now; drop r1; score r1; runs; export r1; purge yes; at 1"
tell -e "demo toy n=30; tune; export what=weights t1 out=x.csv"
tell -s a.gpd -e "$fit"
tell -s a.gpd -e 'save a.gpd'
tell --strict -e 'open one.csv; about'
printf 'a,b,y\n1,2,3\n' >one.csv
tell --strict -e 'open one.csv; about'
printf 'x%s\n' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 >bad.gps
tell -f bad.gps
tell -e 'demo toy; demo toy'
"$gpdesk" --format json -e 'demo robot n=30000' \
    -e 'fit features=8192 solver=cg rtol=1e-14 maxit=100000 noise=0.001' >sig.json 2>/dev/null &
pid=$!
i=0
while ! grep -q '"type":"tick"' sig.json && [ $i -lt 1200 ]; do
    sleep 0.1
    i=$((i + 1))
done
kill -INT $pid
wait $pid
cat sig.json >>seen.json

# -- data
printf 'a,b,c,d,y\n1,2,3,4,5\n2,3,1,4,6\n3,1,1,2,7\n' >wide.csv
printf 'c,b\n1,2\n' >few.csv
printf 'code,y\n007,1\n008,2\n009,4\n010,3\n' >zeros.csv
printf 'c,y\nb\351,1\na,2\nb\351,3\na,5\n' >latin.csv
awk 'BEGIN { print "a,id,mask,y"; for (i = 1; i < 41; i++) print i * i "," i "," (i == 7 ? 2 : i % 2) "," i * i }' >leak.csv
awk 'BEGIN { print "c,y"; for (i = 0; i < 2600; i++) print "w" i % 1200 "," i % 7 }' >levels.csv
awk 'BEGIN { print "x,k,y"; for (i = 0; i < 60; i++) print i % 13 "," (i == 5 ? "" : i % 7) "," i % 11 }' >gap.csv
tell -e 'open wide.csv'
tell -e 'open zeros.csv'
tell -k -e 'open wide.csv; season; where a > 1; let e = 1/(a-2); split none; fit features=8; predict few.csv'
tell -e 'open latin.csv'
tell -k -e 'open leak.csv; summary; split column=mask'
tell -e 'open levels.csv types=c=category'
tell -k -e 'open gap.csv; fit; missing drop; fit; missing mean; fit'
printf '>a\nACDE\n>b\nAC1E\n' >bad.fasta
printf '>a\nACDE\n>b\nACFE\n>c\nACDF\n' >s.fasta
printf 'name,y\na,1\nb,2\nz,3\nc,4\n' >s.csv
printf 'name,y\na,1\na,2\nb,3\n' >twice.csv
printf 'sequence,y\n' >letters.csv
for c in 'ABCDEFGHIJKLMNOPQRSTUVWXYZ' 'abcdefghijklmnopqrstuvwxyz' '0123456789+*#%&=' ; do echo \
    "$c,1"; done >>letters.csv
tell -e 'open bad.fasta'
tell -k -e 'open s.fasta targets=s.csv target=y; open s.fasta targets=twice.csv target=y'
tell -e 'open letters.csv types=sequence=sequence'

# -- fits, tunings, scores
tell -k -e "$fit; score on=valid; score folds; split none; fit features=32; score"
tell -e 'demo friedman1 n=160 seed=3; split folds=3 seed=1; kernel rbf; tune features=64 evals=5; fit features=64; score folds'
tell -e 'demo friedman1 n=160 seed=3; split test=25% seed=1; kernel rbf(ard); tune features=64 evals=5; fit features=256'
tell -e 'demo friedman1 n=300 seed=1; kernel rbf(ard); tune features=256; fit features=512'
tell -e \
    'demo robot n=600 seed=7; split test=20%; kernel matern(nu=5/2); tune features=64 evals=8; fit features=1024 solver=pcg rank=32'
tell -e 'demo friedman1 n=100; cols x1,x2 group=one; kernel rbf(ard=group); fit features=64'
tell -e 'demo friedman1 n=90000; fit solver=exact'
printf 'x,y\n5,1\n1e12,2\n' >far.csv
awk 'BEGIN { print "x,y"; for (i = 0; i < 160; i++) print i * 37 % 101 "," (i == 150 ? 1e5 : i % 7) }' >out.csv
tell -k -e 'open out.csv; split ordered test=50%; fit; predict far.csv out=p.csv; score'
tell -e \
    'demo friedman1 n=300 seed=3; split test=20% seed=1; kernel rbf(ard); tune features=64 evals=4'
tell -e 'demo robot n=4000; landscape'
tell -s beside.gpd -e 'demo toy n=20'
mkdir beside.gpd-journal
tell -s beside.gpd -e 'runs'

grep -oE '"type":"(error|note|warning)","name":"[a-z0-9-]*"' seen.json | sed 's/.*:"//; s/"$//' |
    sort -u >seen
find "$src/tests" \( -name '*.c' -o -name '*.sh' \) ! -name messages.sh -exec cat {} + >tests.txt
left=
while read -r name; do
    grep -qx -e "$name" seen || grep -qE "\\[$name\\\\?\]|\"$name\"|name\": *\"$name" tests.txt ||
        left="$left $name"
done <names
# Words that the search above takes for names, and why each of the others cannot be told on demand.
known=" approx describe encoding filters pool leaks sample window describe "
more=
for name in $left; do
    case $known in *" $name "*) ;; *) more="$more $name" ;; esac
done
is "each has been provoked, here or in a test that names it" "$more" ""
is "no error comes without what to try" "$(grep '"type":"error"' seen.json | grep -v \
    '"\(hint\|try\)":"[^"]' | head -n 3)" ""
ok "most of them here" test "$(grep -cxFf names seen)" -gt 50

finish
