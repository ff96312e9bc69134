#!/bin/sh
# tests/scripts/report.sh -- a run as one HTML page: well-formed, alone in the world (no script, no
# link, no other file), with the figures that the program reports, whatever the names hold.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

data='demo friedman1 n=160 seed=3; split test=25% seed=1; kernel rbf(ard); tune features=64 evals=4'
run --format json -s r.gpd -e "$data; fit features=128; report out=bare.html score=no" \
    -e 'report out=r.html; report r1 plots=parity,rate out=two.html; script out=r.gps'
is "reports are written" $rc 0
has "JSON says what is in it" "$out" \
    '"command":"report","run":"r1","out":"r.html".*"plots":\["parity","check".*"scored":true'
has "and what was asked for" "$out" '"out":"two.html".*"plots":\["parity","rate"\]'
has "a run without scores says so" "$(cat bare.html)" 'was not scored. In gpdesk: score r1'
for part in Data Model Scores 'Check and plots' Methods Script; do
    has "there is a part $part" "$(cat r.html)" "^<h2>$part</h2>"
done
is "what was not scored is scored once" "$(grep -c '"command":"score"' .out)" 1
is "as a line of the script" "$(grep -c '^score r1$' r.gps)" 1
has "what check finds" "$(cat r.html)" '<th>calibration</th><td>[ok!]*</td>.*inside the 95 % interval'
rmse=$("$jsonl" get score '$.rmse' <.out | awk '{ printf "%.4g", $1 }')
has "the RMSE is that of score" "$(cat r.html)" "<td>rmse</td><td class=\"n\">$rmse</td>"
has "the script is in it" "$(cat r.html)" 'split test=25% seed=1'
has "the paragraph too" "$(cat r.html)" 'Model: Gaussian process with covariance rbf(ard=10)'
alone() { # no script, no handler, no link, no import; the only address is the name of SVG
    ! grep -iE '<script|<link|<iframe|<object|@import|javascript:| on[a-z]+=|src=|href=' "$1" &&
        ! grep -oiE 'https?://[^"<> ]*' "$1" | grep -qv '^http://www.w3.org/2000/svg$'
}
ok "the page needs nothing else" alone r.html
is "a drawing for each plot" "$(grep -c '</svg>' r.html)" "$(grep -c '<figure id=' r.html)"
ok "no two elements share a name" test -z "$(grep -oE ' id="[^"]*"' r.html | sort | uniq -d)"
has "dark and printed pages have their colours" "$(cat r.html)" 'prefers-color-scheme:dark'

wellformed() { python3 -c '
import sys, xml.etree.ElementTree as tree, html.parser
text = open(sys.argv[1], encoding="utf-8").read()
tree.fromstring(text.split("\n", 1)[1])
html.parser.HTMLParser().feed(text)' "$1"; }
xml=
python3 -c 'import xml.etree.ElementTree' 2>/dev/null && xml=yes
test "$xml" && ok "the page is well-formed" wellformed r.html

# ---- names that try to leave their place ----
evil='</pre><script>alert(1)</script>'
awk -v a="$evil" 'BEGIN { srand(2); printf "\"%s\",\"\"\"><img onerror=x\",b]]>,y\n", a
    for (i = 0; i < 60; i++) printf "%.4f,%.4f,%s,%.4f\n", rand(), rand(),
        i % 2 ? "<b>" : "&amp;", rand() }' >'evil<i>.csv'
printf '\001\377' | cat - 'evil<i>.csv' | sed '1s/^\(..\)"/"\1/' >both.csv
for f in 'evil<i>.csv' both.csv; do
    run -q -e "open '$f' target=y; split test=25% seed=1; kernel rbf; fit features=32; score" \
        -e "note r1 \"$evil\"; report r1 out=e.html plots=parity,columns,ard,check"
    is "$f: written" $rc 0
    ok "$f: no tag comes from outside" sh -c '! grep -qiE "<script|<img|<b>|<i>" e.html'
    has "$f: the name is there, as text" "$(cat e.html)" '&#60;script&#62;alert(1)'
    test "$xml" && ok "$f: well-formed" wellformed e.html
done

# ---- several targets, an exact fit, y=log, a resumed session ----
awk 'BEGIN { srand(4); print "a,b,u,v"; for (i = 0; i < 80; i++) { a = rand(); b = rand()
    printf "%.4f,%.4f,%.4f,%.4f\n", a, b, exp(a) + 0.1 * rand(), 2 + a * b } }' >two.csv
run -q -e 'open two.csv target=u,v; scale y=log; split test=25% seed=1; fit solver=exact' \
    -e 'report out=t.html'
is "two targets, exact, y=log" $rc 0
is "a table of scores for each" "$(grep -c 'test rows of [uv]</caption>' t.html)" 2
has "the log of the target is told" "$(cat t.html)" 'after taking logarithms'
awk 'BEGIN { srand(8); print "a,copy,y"; for (i = 0; i < 80; i++) { y = rand()
    printf "%.4f,%.6f,%.6f\n", rand(), y, y } }' >leak.csv
run -q -e 'open leak.csv target=y; split test=25% seed=1; fit solver=exact; score; report out=l.html'
has "an input that gives the target away" "$(cat l.html)" '<strong>Warning:</strong> .*copy'
run -s r.gpd -e 'report r1 out=again.html; history'
is "a resumed session writes it again" $rc 0
is "with the same scores" "$(grep -A40 '<h2>Scores' again.html | grep -c '<td>rmse')" \
    "$(grep -A40 '<h2>Scores' r.html | grep -c '<td>rmse')"
run -e "$data; split none; fit features=32; report out=none.html"
has "rows held out are missed" "$(cat none.html)" 'No rows were held out to score on'
has "in the result too" "$out" 'it has no scores, because no rows were held out'

# ---- what is refused; a disk that is full leaves the old file ----
refused() { # name exit commands pattern
    run -q -e "$data; $3"
    is "$1: exit" $rc "$2"
    has "$1: why" "$err" "$4"
}
refused "a tuning" 1 'fit features=32; report t1 out=x.html' 't1 has no fitted model'
refused "another format" 1 'fit features=32; report out=x.pdf' 'a report is one HTML file'
has "and how to get it" "$err" 'a browser prints it as PDF'
refused "an unknown plot" 1 'fit features=32; report out=x.html plots=parity,nosuch' 'nosuch'
refused "a directory that is not there" 1 'fit features=32; report out=/nosuch/x.html' '/nosuch'
if test -w /dev/full; then
    ln -s /dev/full full.html
    refused "a full disk" 5 'fit features=32; report out=full.html' 'full.html'
fi
ok "nothing else was written" test ! -e x.html
run -e 'help report'
has "help shows it" "$out" 'report out=report.html'
finish
