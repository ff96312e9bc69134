#!/bin/sh
# tests/scripts/tries.sh -- whoever makes a mistake is told what to try: every key of every command
# with nonsense behind it, every command without data, with a name that is not there, files that are
# none. No error comes without "try", and what is to be tried is a command of the table or plain
# advice.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

# Errors of line mode, one a line; those without a way out.
untold() { awk \
    '/^error\[/ { if (e && !t) print e; e = $0; t = 0 } /^  try /{ t = 1 } END { if (e && !t) print e }' "$1"; }
line_mode() { "$gpdesk" -i --plain --no-config --threads 1 <"$1" >"$2" 2>&1; }

"$gpdesk" -q -e 'help' | sed -n 's/^  \([a-z]*\) .*/\1/p' | sort -u >verbs
ok "there are verbs" test "$(wc -l <verbs)" -gt 60
while read -r verb; do
    echo "$verb nosuchkey=1"
    echo "$verb 'unclosed"
    echo "$verb ="
    "$gpdesk" --complete "$verb " | grep '=$' | sed \
        "s/^/$verb /; s/\$/@?!/p; s/@?!\$/-1e999/p; s/-1e999\$/a,,b..c/"
done <verbs >keys
printf '%s\n' nosuchverb '=' '=1' 'l=2' "'" '"' '((' ';;;fi fi' 'f' 's' '# only' '\' 'fit;;nosuch' \
    'kernel rbf(' 'kernel rbf(l=)' \
    'kernel nosuch' 'kernel rbf + ' 'kernel rbf on nosuch' 'kernel conv(rbf,width=0)' \
    'plot nosuch' 'describe nosuch' \
    'explain nosuch' 'help nosuch' 'help /nosuchword' 'theme nosuch' 'layout nosuch' 'view nosuch' \
    'lesson 99' \
    'set nosuch=1' 'get nosuch' 'bind nosuch x' 'bind view z' 'at 99' 'undo' 'redo' 'branch' \
    'stop r9' 'stop q9' 'source nosuch.gps' \
    'source .' 'open nosuch.csv' 'open .' 'resume nosuch' 'save /nosuch/dir/x.gpd' 'dry' \
    'dry nosuch' 'time nosuch' >>keys
line_mode keys keys.out
ok "nonsense behind every key is refused" test "$(grep -c '^error\[' keys.out)" -gt 1000
is "each error says what to try" "$(untold keys.out | sort | uniq -c | sort -rn | head -n 5)" ""

# Without data, with data and without a run, with a run: names that are not there, states that do
# not fit.
sed 's/$/; echo/' verbs | grep -vE '^(quit|demo|lesson|tour|source|wait|bell|purge)' >bare
while read -r verb; do printf '%s\n' "$verb nosuch" "$verb r9" "$verb nosuch nosuch" \
    "$verb run:r9" "$verb dataset:nosuch"; done \
    <verbs | grep -vE '^(quit|demo|lesson|tour|echo|note|save|history|purge|help) ' >objects
{ cat bare objects; } >none.gps
{ echo 'demo friedman1 n=60 seed=1; split test=25% seed=2; wait'; cat objects; } >data.gps
{ echo 'demo friedman1 n=60 seed=1; split test=25% seed=2; fit features=32; score; wait'; cat \
    objects; cat <<'END'; } >run.gps
cols nosuch role=skip
cols * role=skip; fit
undo
cols y role=input; fit
undo
split test=150%
split column=nosuch
split by=nosuch
split folds=1000
split test=99.9%; fit; score
undo
missing drop; scale y=nosuch
show 1000..2000
show run:r9
fit features=1 rank=5
fit features=32 rank=4096
fit solver=exact features=64
fit solver=nosuch
fit continue=r9
fit noise=0
fit rtol=0
tune evals=0
tune bounds=l:2..1
tune l=5..1
predict nosuch.csv
predict out=/nosuch/dir/p.csv
export r1 out=/nosuch/dir/x.json
export r1 out=x.nosuch
export r9
plot residual out=/nosuch/x.svg
plot residual out=x.nosuch
plot pca
plot landscape
plot slice nosuch
plot parts
compare r1 r9
note r9 x
star r9
drop r9
drop dataset:nosuch
expect r1 rmse -5
expect r9 rmse 1
cluster k=1000
cluster k=2..1
pca dims=1000
advise rank=100000
race nosuch
race cg(nosuch=1)
sweep nosuch=1,2
sweep l=1
landscape x=nosuch
neighbours row:1000
explain-row row:1000
effects nosuch
effects x1*nosuch
importance r9
plot effects nosuch
draw posterior along=nosuch
answer z
script out=/nosuch/x.gps
save data=yes /nosuch/x.gpd
copy nosuch
pause
END
for s in none data run; do
    line_mode $s.gps $s.out
    ok "with ${s}: mistakes are refused" test "$(grep -c '^error\[' $s.out)" -gt 60
    is "with ${s}: each error says what to try" \
        "$(untold $s.out | sort | uniq -c | sort -rn | head -n 5)" ""
done

# Files.
: >empty.csv
printf '\n\n' >blank.csv
printf 'a,b,y\n' >head.csv
printf 'a,b,y\n1,2\n' >short.csv
printf 'a,b,y\n1,2,3,4\n1,2,3\n' >long.csv
printf 'a,b,y\n1,"2,3\n' >quote.csv
printf 'a,y\n1,2\n\0\0,3\n' >nul.csv
printf 'a,y\nx,1\nz,2\n' >words.csv
printf 'a,a\n1,2\n2,3\n' >twice.csv
printf 'a,y\n1,x\n2,z\n3,w\n' >target.csv
awk 'BEGIN { for (i = 0; i < 60000; i++) printf "x,"; print "y" }' >wide.csv
printf 'a;b,y\n1;2,3\n1;3,3\n' >both.csv
printf '\223NUMPY\1\0v\0nonsense' >bad.npy
printf '\037\213\10nonsense' >bad.csv.gz
printf '(\265/\375nonsense' >bad.csv.zst
printf 'SQLite format 3\0nonsense' >bad.gpd
printf 'PK\3\4nonsense' >sheet.xlsx
printf '%%PDF-1.4\n' >page.pdf
printf 'PAR1nonsense' >table.parquet
printf '>a\n>b\n' >none.fasta
mkdir -p directory
for f in *.csv *.npy *.gz *.zst *.xlsx *.pdf *.parquet *.fasta directory /dev/null nosuch.csv \
    '*.nosuch' "x'y" ; do
    echo "open \"$f\" target=y as=d"
done >open.gps
printf '%s\n' 'resume bad.gpd' 'open twice.csv target=nosuch' \
    'open words.csv target=y types=a=real' 'open words.csv target=y sep=;;' \
    'open words.csv target=y decimal=x' 'open words.csv targets=nosuch.csv' \
    'open words.csv weight=nosuch' 'open words.csv header=perhaps' >>open.gps
line_mode open.gps open.out
ok "files that are none are refused" test "$(grep -c '^error\[' open.out)" -gt 24
is "each error says what to try" "$(untold open.out | head -n 5)" ""

# On the command line.
for a in '--nosuch' '--threads=x' '--mem=' '--seed=-1.5' '--format=xml' '-f nosuch.gps' \
    'nosuch.csv' '-s /nosuch/x.gpd -e about' '--dump=x' \
    'bad.gpd bad.npy' '-e fi -e nosuch' '--cpu=x' '--device=x' '-s bad.gpd -e about'; do
    # shellcheck disable=SC2086
    "$gpdesk" $a </dev/null >arg.out 2>&1
    ok "gpdesk $a: says what to try" grep -q '^  try ' arg.out
done

# What is to be tried is there: the first word of every hint is a command, or plain advice.
cat keys.out none.out data.out run.out open.out | sed -n 's/^  try  *//p' | tr '|' '\n' | sed \
    's/^ *//' | sort -u >hints
sed -n 's/^\(help\|explain\) \([a-z0-9-]*\).*/\1 \2/p' hints | sort -u >pages
while read -r page; do "$gpdesk" -q -e "$page" >/dev/null 2>&1 || echo "$page"; done <pages >gone
is "every page that is named is there" "$(cat gone)" ""
finish
