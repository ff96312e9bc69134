#!/bin/sh
# tests/scripts/pack.sh -- sessions that hold their data, and names with odd characters.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

make_data() { # FILE SHIFT
    awk -v s="$2" 'BEGIN { print "a,b,y"; for (i = 0; i < 120; i++)
        print i * 37 % 101 "," i * 53 % 89 "," (i * i + s) % 97 }' >"$1"
}
odd="my data; 'x' \$(touch bad) %s.csv"
make_data "$odd" 0
gzip -c "$odd" >packed.csv.gz
quoted="\"my data; 'x' \$(touch bad) %s.csv\""
run -q -s one.gpd -e "open $quoted name=odd" -e \
    'split test=25% seed=1; fit; predict out=before.csv' \
    -e 'open packed.csv.gz name=gz; save data=yes'
is "saved with data" "$rc" 0
has "two files" "$out" 'with its data (2 files more'
run -q -s one.gpd -e 'save data=yes'
has "once only" "$out" 'with its data (0 files more'
mv "$odd" away.csv
run -s one.gpd -e 'data; use odd; predict run=r1 out=after.csv; summary'
is "without the file it opens" "$rc" 0
has "and says where the data is from" "$err" 'is not there: the copy in the session is used'
has "under its own name" "$out" '^[* ]odd  120 rows'
ok "predictions are the same" cmp before.csv after.csv
make_data "$odd" 5
run -s one.gpd -e 'use odd; predict run=r1 out=again.csv; show 3'
has "a file that has changed is told" "$err" 'has changed: the copy in the session is used'
ok "and predictions stay the same" cmp before.csv again.csv
rm packed.csv.gz
run -s one.gpd -e 'save copy.gpd data=yes; use gz; data'
has "a copy holds the data too" "$out" 'a copy of the session is in copy.gpd'
rm -f "$odd"
run -s copy.gpd -e 'data'
is "both come out of it" "$(printf '%s\n' "$out" | grep -c '120 rows')" 2
test ! -e bad
is "no name was run" $? 0

# -- without data=yes: told, and fits still predict
make_data plain.csv 0
run -q -s two.gpd -e 'open plain.csv; fit; save'
rm plain.csv
run -s two.gpd -e 'data'
has "what is not in the session is missed" "$err" 'warning\[session-data\]'

# -- several files stay outside; a demo needs none
printf '>a\nACDE\n>b\nACDF\n>c\nACEF\n>d\nGCDE\n' >s.fasta
printf 'name,y\na,1\nb,2\nc,4\nd,3\n' >s.csv
run -s three.gpd -e 'demo toy; save data=yes; open s.fasta targets=s.csv target=y; save data=yes'
has "a demo is made again" "$(printf '%s\n' "$out" | grep 'with its data' | head -n 1)" \
    '(0 files more'
has "several files are told" "$err" 'is not one file'

# -- sessions with odd names, listed and resumed
name="weird ' name;\$x"
run -q -s "$name.gpd" -e 'demo toy; kernel rbf'
is "a session with an odd name" "$rc" 0
mkdir -p state/gpdesk && cp "$name.gpd" state/gpdesk/
run -e 'sessions'
has "is listed" "$out" "weird ' name"
run -e "resume \"$name\"; kernel"
is "and resumed" "$rc" 0
has "as it was" "$out" 'current: rbf'

finish
