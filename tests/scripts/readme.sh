#!/bin/sh
# tests/scripts/readme.sh -- what the README tells a newcomer to type works when it is typed: its
# five minutes as one script, its command line, and every command in its text.  Numbers of rows and
# features are cut.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"
readme=$src/README.md
small='s/n=4000/n=300/; s/features=4096/features=256/; s/features=1024/features=128/; s/features=8192/features=256/
    s/features=2048/features=128/; s/rank=256/rank=32/; s/rank=64\.\.512/rank=16..32/; s/rank=1024/rank=32/
    s/k=2\.\.6/k=2..3/; /^sweep/{/features=/!s/ *$/ features=128/;}'

# Indented lines of a section; remarks stand behind two blanks.
sed -n '/^## Five minutes/,/^Esc leaves/p' "$readme" | sed -n 's/^    \([a-z].*\)/\1/p' | sed \
    's/   *.*//' >all.gps
sed "$small" all.gps >tour.gps
ok "there are its lines" test "$(wc -l <tour.gps)" -gt 20
for verb in demo tune fit score check sweep predict script undo export report; do
    has "one of them: $verb" "$(cat tour.gps)" "^$verb"
done
run -f tour.gps
is "five minutes run through" "$rc" 0
is "without an error" "$(printf '%s\n' "$err" | grep '^error')" ""
for file in predictions.csv parity.svg mine.gpd mine.gps r1.json r1.py report.html; do
    ok "$file is there" test -s $file
done
run -f mine.gps
is "the script replays" "$rc" 0
has "to the same figures" "$out$err" 'same'
run -s mine.gpd -e runs
has "the session goes on" "$out" '^ *r2 '

# The command line, its continuation lines joined.
awk 'BEGIN { print "x1,x2,y"; for (i = 0; i < 400; i++) { a = i * 37 % 101 / 10; b = i * 53 % 89 / 9
    print a "," b "," sin(a) + b } }' | gzip >data.csv.gz
sed -n '/^## In a script/,/^prints/p' "$readme" | sed -n 's/^    \(.*\)/\1/p' | sed -e :a -e \
    '/\\$/N; s/\\\n//; ta' |
    sed "$small" >line.sh
has "there is a command line" "$(cat line.sh)" '^gpdesk --format json'
PATH=$(dirname "$gpdesk"):$PATH sh line.sh >line.json 2>line.err </dev/null
is "it runs" $? 0
ok "prints objects" grep -q '"command":"score"' line.json
is "all with v and type" "$(grep -vc '^{"v":1,"type":"' line.json)" 0

# `kernel matern(nu=5/2)` and so on: what begins with a command and names no file of the reader's.
"$gpdesk" -q -e help | sed -n 's/^  \([a-z-]*\) .*/\1/p' >verbs
tr '\n' ' ' <"$readme" | grep -o '`[^`]*`' | tr -d '`' | grep -v \
    '[A-Z]\|\.csv\|\.npy\|\.fasta\|\.md\|mine\.\|^make\|^man' |
    sed 's/  */ /g' | grep ' ' | sort -u >spans
wrong=

while read -r span; do
    grep -qx -e "${span%% *}" verbs || continue
    "$gpdesk" -n -e "$span" >/dev/null 2>said </dev/null
    test $? -eq 2 && wrong="$wrong [$span: $(head -n 1 said)]"
    echo >>tried
done <spans
is "commands in the text are commands" "$wrong" ""
ok "there are some" test "$(wc -l <tried)" -gt 4
finish
