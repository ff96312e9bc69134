#!/bin/sh
# tests/scripts/prepare.sh -- preparing data as a user does it: names and renaming, conditions,
# computed columns and seasons; in scripts, undo, sessions, and at prediction on new files. Counts
# and means of the shared sets were computed with awk.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"
jq() { printf '%s\n' "$out" | grep "\"command\":\"$1\""; }

# ---- a file without a header shows its first row, and names gives names
awk 'BEGIN { for (i = 1; i <= 60; i++) print i % 7 "," (i * 37 % 101) / 10 "," (i % 5 ? "a" : "b") "," i * i % 13 }' >plain.csv
run -e 'open plain.csv'
has "the columns of a file without a header are shown" "$err$out" \
    'note.names.: no header: .*(row 1: x1=1, x2=3.7, x3=a, x4=1); to name them: names A,B'
run --format json -s s.gpd -e \
    'open plain.csv; names side,"big size",kind,out; rename side=left; where kind = '"'a'"' and left > 0; let ratio = "big size"/left; split test=25% seed=1; kernel rbf; fit l=1 noise=0.2 features=64; script out=s.gps; undo 2; redo 2'
is "preparing ends with 0" $rc 0
has "names are taken" "$(jq names)" '"rows":60,"columns":4,'
has "where leaves rows out" "$(jq where)" '"rows":41,"columns":4,'
has "and says how many" "$out" '"name":"where".*19 rows are left out by kind = '
has "let adds an input" "$(jq let)" '"rows":41,"columns":5,"inputs":4,"target":"out"'
run --format json -s s.gpd -e 'show 1; cols; predict new.csv; data'
awk 'BEGIN { for (i = 1; i <= 6; i++) print i - 3 "," i + 0.5 "," (i % 5 ? "a" : "b") }' >new.csv
run --format json -s s.gpd -e 'show 1; data; predict new.csv out=p.csv'
is "the session comes back" $rc 0
has "with the computed column" "$(jq show)" '"left":1,"big size":3.7,"kind":"a","out":1,"ratio":3.7'
has "and its rows" "$(jq data)" '"rows":41'
has "new data lose rows in the same way" "$out" '4 rows are left out by kind = '
is "and keep their numbers" "$(cut -d, -f1 p.csv | tr '\n' ' ')" "row 4 6 "
"$gpdesk" -q -f s.gps -e 'predict new.csv out=q.csv' >/dev/null 2>&1 </dev/null
ok "the script does the same" cmp p.csv q.csv
awk 'BEGIN { print "kind,left,big size"; for (i = 1; i <= 6; i++) print (i % 5 ? "a" : "b") "," i - 3 "," i + 0.5 }' >named.csv
run -s s.gpd -e 'predict named.csv out=r.csv'
ok "and a file with the new names" cmp p.csv r.csv
printf 'left,kind\n1,a\n2,a\n' >short.csv
run -s s.gpd -e 'predict short.csv'
is "a missing source of an input stops" $rc 1
has "with its name" "$err" 'error.no-column.: input ratio is computed as .*and the file has no column big size'

# ---- lines above the table
{ printf 'a report, of a week\n"an open quote\n\n'; printf 'x,y\n1,2\n2,4\n3,7\n'; } >report.csv
run --format json -e 'open report.csv skip=3'
has "skip= leaves lines out" "$(jq open)" '"rows":3,"columns":2,.*"target":"y"'
run --format json -s t.gpd -e 'open report.csv skiplines=3; fit features=16 l=1 noise=0.1; predict report.csv skip=3; open report.csv skip=x'
has "so does skiplines=, and predict" "$(jq predict)" '"rows":3'
printf 'head\nx,y\n1,2\n2,b\n3,4\n4,5\n' >bad.csv
run -e 'open bad.csv skip=1'
has "lines are counted from the top of the file" "$err" 'bad.csv line 4, column 2'
run -e 'open report.csv skip=99'
has "too many lines are refused" "$err" 'error.empty.'

# ---- the shared sets
test -d "$src/../shared/data/co2" || { finish; }
S=$src/../shared/data
job="open $S/dirty_autos/data.csv.gz header=no; names symboling,losses,make,fuel,aspiration,doors,body,drive,engine,base,length,width,height,weight,type,cylinders,size,system,bore,stroke,ratio,hp,rpm,city,highway,price"
run --format json -e "$job; where make != 'bmw' and hp > 100; let power = hp/weight; show 1; let x = log(losses - 100)"
has "where on real data" "$(jq where)" '"rows":82,'
has "let on real data" "$(jq show)" '"power":0.04356357927786'
has "what has no value is missing and counted" "$out" "log of a number that is not above 0 in [0-9]* rows, first in row"
run --format json -e "open $S/dirty_titanic/data.csv.gz target=survived; where age is missing or fare > 100 and sex = 'female'"
has "missing cells are asked for" "$(jq where)" '"rows":208,'
run --format json -e "open $S/co2/data.csv.gz target=co2; season; where date >= '2000-01-01'"
has "season adds two inputs" "$(jq season)" '"columns":5,"inputs":4,'
has "dates are compared" "$(jq where)" '"rows":244,'
finish
