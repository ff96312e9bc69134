#!/bin/sh
# tests/scripts/kinds.sh -- every command and every plot on data that are no columns of numbers:
# letters, sets of nodes, stretches of a series, counts.  Each works, or refuses with a sentence
# that says what to do instead.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

awk 'BEGIN { srand(5); a = "ACDEFGHIKLMNPQRSTVWY"; print "sequence,y"
    for (i = 0; i < 90; i++) { s = ""; n = 8 + int(rand() * 12)
        for (j = 0; j < n; j++) s = s substr(a, 1 + int(rand() * 20), 1)
        printf "%s,%.3f\n", s, gsub(/[ACDEF]/, "&", s) + 0.1 * rand() } }' >letters.csv
awk 'BEGIN { srand(6); print "t,x"; for (i = 0; i < 90; i++) printf "%d,%.4f\n", i, sin(i / 5) + 0.05 * rand() }' >series.csv
fits='split test=25% seed=2; tune features=64 evals=4; fit features=64; fit features=128; score; check; pca; cluster k=2;
spectrum; neighbours row:13; explain-row row:13'
run -e "open letters.csv; kernel conv(rbf,width=3); $fits; landscape; save letters.gpd"
is "letters" "$rc" 0
run -e "demo molecules n=60 seed=2; kernel graph(rbf,average=none); $fits; save nodes.gpd"
is "nodes" "$rc" 0
run -e "open series.csv window=x:6 target=x; cols t role=skip; missing drop; kernel conv(rbf,width=3); $fits; save series.gpd"
is "a series" "$rc" 0
awk 'BEGIN { srand(7); print "counts,temp,y"
    for (i = 0; i < 90; i++) { y = rand(); s = i == 7 ? " 0:0" : ""
        for (p = 0; p < 40; p++) if (i != 7 && rand() < 0.2) {
            v = 1 + int(rand() * 3); s = s " " p ":" v; y += v * (p % 3 - 1) }
        printf "%s,%.3f,%.4f\n", substr(s, 2), rand(), y } }' >counts.csv
run -e 'open counts.csv; kernel tanimoto; split test=25% seed=2; tune; fit; fit; score; check;
neighbours row:13; save counts.gpd'
is "counts" "$rc" 0

"$gpdesk" -q -e 'help' | sed -n 's/^  \([a-z-]*\) .*/\1/p' >verbs
"$gpdesk" -q -e 'help plots' | sed -n 's/^  \([a-z]*\)  .*/\1/p' | sort -u >plots
ok "there are commands" test "$(wc -l <verbs)" -gt 50
ok "there are plots" test "$(wc -l <plots)" -gt 25

# A session of that kind, and lines for one process: each is done, or refused with what to try. 
# (One process for a line would take ten times as long.)  "in" of an error says which line it is of.
tried() { # kind lines
    cp "$1.gpd" work.gpd
    timeout 200 "$gpdesk" -q -k --format json -s work.gpd -f "$2" >.o 2>.e </dev/null
    code=$?
    cat .o .e >.all
    test $code -lt 10 # 1, 2, 5: one was refused; 3: stopped short of the tolerance
    result $? "$1: every line of $2 is worked through" "exit $code: $(tail -n 2 .all)"
    i=0
    while read -r line; do
        i=$((i + 1))
        grep "\"type\":\"error\".*(line $i of " .all >.refused
        bad=$(grep -v '"try":' .refused)
        test -z "$bad"
        result $? "$1: $line" "$bad"
    done <"$2"
}
# Words that need an argument are refused before anything runs: each with its usage.
# (advise alone takes 8192 features, which the lines below spare.)
grep -vxE 'quit|wait|stop|pause|sessions|resume|source|tour|demo|open|lesson|advise' verbs \
    >all.gps # of no data, or no job
"$gpdesk" -q --format json -f all.gps >.o 2>&1 </dev/null
is "words that lack an argument" $? 2
has "are told how" "$(cat .o)" '"type":"error".*"try":"neighbours ROW'
is "each of them" "$(grep '"type":"error"' .o | grep -v '"try":')" ""
sed -n 's/.*(line \([0-9]*\) of all.gps.*/\1/p' .o | sort -un | sed 's/$/d/' >lacking
sed -f lacking all.gps >verbs.gps
ok "most need none" test "$(wc -l <verbs.gps)" -gt 40
cat >lines.gps <<'END'
advise features=256
race rank=16,32 features=64
sweep features=64..128
landscape
fit solver=exact
fit solver=svrg features=64 maxit=5
fit features=64 plan=regenerate precision=double
tune features=64 evals=3 objective=loo
tune width=2,3 features=64 evals=3
kernel spectrum(n=2)
tune n=2..3 features=64 evals=3
kernel conv(rbf,width=3)
predict out=o.csv
compare r1 r2
export r1 out=o.json
script out=o.gps
kernel rbf
fit features=256
kernel linear
fit
kernel rbf(ard)
tune features=64 evals=3
kernel periodic
fit features=256
kernel fastconv(rbf,width=3,filters=32)
fit features=64
kernel graphpoly(degree=2)
fit features=64
kernel convdense(matern(nu=1/2),width=2)
fit features=64
kernel conv(rbf,width=1) * rbf
fit features=256
END
sed 's/^/plot /' plots >plots.gps
for kind in letters nodes series counts; do
    tried $kind verbs.gps
    test $kind = series && cp plots.gps all.plots && echo 'plot spectrum' >plots.gps # rest: letters
    test $kind = counts && cp all.plots plots.gps
    tried $kind plots.gps
    tried $kind lines.gps
done
finish
