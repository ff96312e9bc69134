#!/bin/sh
# tests/scripts/report.sh -- a run as one HTML page: well-formed, alone in the world (no script, no
# link, no other file), with the figures that the program reports, whatever the names hold; and as
# PDF, in which all of that stands, too.
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
refused "another format" 1 'fit features=32; report out=x.txt' 'is written as .html or .pdf'
refused "a tuning as PDF" 1 'fit features=32; report t1 out=x.pdf' 't1 has no fitted model'
refused "an unknown plot" 1 'fit features=32; report out=x.html plots=parity,nosuch' 'nosuch'
refused "a directory that is not there" 1 'fit features=32; report out=/nosuch/x.html' '/nosuch'
if test -w /dev/full; then
    ln -s /dev/full full.html
    refused "a full disk" 5 'fit features=32; report out=full.html' 'full.html'
fi
ok "nothing else was written" test ! -e x.html -a ! -e x.pdf

# ---- PDF ----
# Without gnuplot, or with one that fails, the old file stays.
without() { # name program pattern
    echo old >old.pdf
    GPDESK_GNUPLOT=$2
    export GPDESK_GNUPLOT
    run -q -e 'demo toy n=40; fit features=16; report out=old.pdf; report out=after.html'
    unset GPDESK_GNUPLOT
    is "$1: exit" "$rc $(cat old.pdf)" "1 old"
    has "$1: why" "$err" "$3"
    has "$1: the way out" "$err" 'try  out=FILE.html needs no gnuplot'
    ok "$1: nothing is left" test ! -e after.html -a -z "$(ls -d .gpdesk-plot-* 2>/dev/null)"
}
without "no gnuplot" /nowhere/gnuplot 'old.pdf: gnuplot is not installed, and pdf files need it'
printf '#!/bin/sh\ncat >/dev/null; printf %%%%PDF-1.5 >plot.pdf\n' >eight
chmod +x eight
without "eight bytes" "$dir/eight" 'old.pdf: gnuplot wrote only the beginning'

# Every text of the HTML page in that of the PDF: page by page without what is below the foot of the
# words (figures come after it), without blanks, because lines are broken at other places.
cat >facts.py <<'END'
import re, subprocess, sys, unicodedata, xml.etree.ElementTree as tree
def plain(s):
    s = unicodedata.normalize("NFC", re.sub(r"\s", "", s)).replace("\ufffd", "?")
    return "".join(c if ord(c) < 0x500 or 0x2000 <= ord(c) < 0x2600 else
                   "\\u%04x" % ord(c) if ord(c) < 0x10000 else "\\U%08x" % ord(c) for c in s)
html, pdf = sys.argv[1:]
page = tree.fromstring(open(html, encoding="utf-8").read().split("\n", 1)[1])
raw = subprocess.run(["pdftotext", "-raw", pdf, "-"], check=True, capture_output=True)
pages = [plain(p) for p in raw.stdout.decode().split("\f")[:-1]]
foot = plain(page.find("head/title").text)[:40]
words = "".join(re.sub("(?s)" + re.escape(foot) + "[^/]*page%dof%d" % (i + 1, len(pages)) + ".*",
                       "", p, count=1) for i, p in enumerate(pages))
missed = n = 0
for e in page.find("body").iter():
    if e.tag in ("h1", "h2", "p", "th", "td", "li", "caption", "pre"):
        for line in "".join(e.itertext()).split("\n"):
            n += 1
            if plain(line) not in words:
                missed += 1
                print("missed:", ascii(line[:200]))
    elif e.tag == "figcaption":
        for t in e.itertext():
            n += 1
            if plain(t) not in words:
                missed += 1
                print("missed:", ascii(t[:200]))
boxes = subprocess.run(["pdftotext", "-bbox", pdf, "-"], check=True, capture_output=True).stdout
for m in re.finditer(r'xMin="([-\d.]+)" yMin="([-\d.]+)" xMax="([-\d.]+)" yMax="([-\d.]+)"',
                     boxes.decode()):
    x0, y0, x1, y1 = map(float, m.groups())
    if x0 < 40 or x1 > 595.3 - 40 or y0 < 40 or y1 > 842 - 30:
        missed += 1
        print("in the margin:", m.group(0))
sys.exit(missed > 0 or n < 40)
END
same() { # name PAGE: the facts of PAGE.html in PAGE.pdf
    is "$1: the file is whole" "$(head -c 5 "$2.pdf")$(tail -c 6 "$2.pdf" | tr -d '\n')" '%PDF-%%EOF'
    if test "$xml" && command -v pdftotext >/dev/null 2>&1; then
        ok "$1: all facts of the page, within the margins" python3 facts.py "$2.html" "$2.pdf"
    else
        echo "# skipped: $1: all facts of the page (needs pdftotext and python3)"
    fi
    rm -f "$2.html" "$2.pdf"
}
if command -v gnuplot >/dev/null 2>&1; then
    both='report out=p.pdf; report out=p.html'
    run --format json -e "$data; fit features=128; report out=p.pdf score=no" \
        -e 'report out=p.html score=no'
    is "a run without scores: exit" "$rc" 0
    same "without scores" p
    run --format json -e "$data; fit features=128; note r1 \"it's one\"; $both"
    is "a scored run: exit" "$rc" 0
    has "JSON says what is in it" "$out" \
        '"command":"report","run":"r1","out":"p.pdf","bytes":[1-9][0-9]*,"plots":\["parity",.*true'
    if command -v pdftotext >/dev/null 2>&1; then
        has "the RMSE to the digit" "$(pdftotext -layout p.pdf -)" \
            "^ *rmse  *$("$jsonl" get score '$.rmse' <.out | awk '{ printf "%.4g", $1 }') "
        has "pages have numbers" "$(pdftotext -layout p.pdf -)" 'page 2 of [3-9]'
    fi
    same "a scored run" p
    run -q -e "open two.csv target=u,v; where a>0.1; scale y=log; split test=25% seed=1" \
        -e "fit solver=exact; $both"
    is "two targets: exit" "$rc" 0
    same "two targets" p
    awk 'BEGIN { srand(6); print "a,b,y"; for (i = 0; i < 90; i++) { a = rand(); b = rand()
        printf "%.4f,%.4f,%s\n", a, b, (a + 0.3 * b > 0.6) ? "yes" : "no" } }' >class.csv
    run -q -e "open class.csv target=y; split test=25% seed=1; likelihood bernoulli; fit; $both"
    is "a class target: exit" "$rc" 0
    has "its methods are those of classes" "$(cat p.html)" \
        'target is a class: two classes, .* Posterior: .* On 2[0-9] test rows: accuracy [01]'
    ok "and not of a regression" sh -c '! grep -E "Gaussian noise|training standard dev|nan" p.html'
    same "a class target" p
    # Names that try to be commands, and letters of all kinds.
    python3 -c '
import csv, random, sys
names = ["it\x27s \"quoted\" \\ back\\slash", "x]]>y", "$(touch HACK)", "`touch HACK`",
         "\x27; system(\x27touch HACK\x27); #", "line\nbreak\nset output", "W" * 300,
         "\u202eright\u2066 \u05e9\u05dc\u05d5\u05dd", "\u0426\u0435\u043d\u0430 \u03a9\u03bc",
         "\u65e5\u672c\U0001f642", "%s %d %n {/Symbol a}_b^c @x &y ~z", "e\u0301te\u0301",
         "\u0429" * 200, "\x1b[31mred", "x" * 200, "y"]
random.seed(1)
w = csv.writer(open("names.csv", "w", newline="", encoding="utf-8"))
w.writerow(names)
for i in range(80):
    w.writerow(["%.4f" % random.random() for _ in names])
w = csv.writer(open("wide.csv", "w", newline=""))
w.writerow(["number_%03d" % i for i in range(200)] + ["y"])
for i in range(60):
    w.writerow(["%.4f" % random.random() for _ in range(201)])' 2>/dev/null
    if test -s wide.csv; then
        run -e 'open names.csv target=y; split test=25% seed=1; kernel rbf(ard)' \
            -e "tune features=32 evals=3; fit features=32; $both"
        is "hostile names: exit" "$rc" 0
        has "letters as numbers are told" "$out$err" 'note\[gnuplot\]: letters that fonts often lack'
        same "hostile names" p
        ok "and nothing was run" test ! -e HACK
        run -q -e "open wide.csv target=y; split test=25% seed=1; fit features=32; $both"
        is "200 columns: exit" "$rc" 0
        same "200 columns" p
    fi
else
    echo "# skipped: reports as PDF (needs gnuplot)"
fi
run -e 'help report'
has "help shows it" "$out" 'report out=report.html'
finish
