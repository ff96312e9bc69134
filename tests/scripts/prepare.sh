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
    'note\[names\]: no header: .*(row 1: x1=1, x2=3.7, x3=a, x4=1); to name them: names A,B'
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
has "with its name" "$err" 'error\[no-column\]: input ratio is computed as .*and the file has no column big size'

# ---- names in the kernel follow; quotes; rows of sets of nodes
run -e 'open plain.csv; kernel rbf on x1,"x2" + linear on x2; rename x1=x2,x2="big size"; kernel; fit features=64; undo; kernel'
is "a kernel of renamed columns" $rc 0
has "has their new names" "$out" '^current: rbf on x2,"big size" + linear on "big size"'
has "until they are undone" "$out" '^current: rbf on x1,"x2" + linear on x2'
run -e 'open plain.csv; kernel rbf on x* ; rename x1=side'
has "a pattern may match others" "$err$out" 'note.kernel.: the kernel reads columns by a pattern'
run -e 'open plain.csv; where x3 = "a"'
has "words in double quotes are names" "$err" "there is no column 'a'"
has "which is told" "$err" "where COLUMN = 'a' *(words have single quotes)"
awk 'BEGIN { srand(3); print "mol,a,b,y"; for (g = 1; g <= 40; g++) { n = 2 + g % 4
    for (i = 0; i < n; i++) printf "g%d,%.3f,%.3f,%d\n", g, g + i / 10, rand(), g } }' >nodes.csv
awk -F, 'NR == 1 || $4 > 10' nodes.csv >fewer.csv
nodes='split test=25% ordered=yes; kernel graph(rbf); fit features=64 l=1 noise=0.1; predict columns=y,mean,sd out='
run --format json -s n.gpd -e "open nodes.csv graph=mol target=y; where y > 10; ${nodes}w.csv"
is "rows of nodes are left out" $rc 0
has "thirty stay" "$(jq where)" '"rows":30,'
run -e "open fewer.csv graph=mol target=y; ${nodes}f.csv"
ok "as if they had never been there" cmp w.csv f.csv
run -s n.gpd -e 'predict columns=y,mean,sd out=again.csv'
ok "in a session, too" cmp w.csv again.csv

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

# ---- cells as spreadsheets write them
printf 'd,share,sum,id,a,a,y\n05/04/2024 10:00,12 %%,"1,234.5",90071992547409931,1,nan,3\n17/04/2024 11:30,7.5 %%,"12.0",90071992547409932,2,2,4\n01/05/2024 00:00,3%%,"1,234,567.25",1,,null,5\n' >sheet.csv
run --format json -e 'open sheet.csv; show 1..3'
has "a sheet opens" "$(jq open)" '"rows":3,"columns":7,.*"missing":3'
# 5 April is day 95 of 2024, so 2024 + (95 + 10/24) / 366; 17 April 107, 1 May 121
has "dates with the day first and a time" "$(jq show)" '"d":2024.26070127'
has "a percentage is its number" "$(jq show)" '"share":12,"sum":1234.5,'
has "thousands marks go" "$(jq show)" '"share":3,"sum":1234567.25,'
has "which is told" "$out" '"name":"percent"'
has "and that dates have the day first" "$out" 'holds dates with the day first: read as years'
has "large whole numbers are told" "$out" '"name":"rounded".*whole numbers beyond 2^53'
has "names that occur twice get a number" "$out" '"name":"duplicate-column".*column 6 is .a_2'
has "usual marks are missing cells" "$out" 'read as missing: .*nan'
printf 'share,y\n12 %%,1\n-,2\n3 %%,3\n' >percents.csv
printf 'when,y\n2024-01-02,1\nNaN,2\n2024-03-01,3\n' >days.csv
for f in percents days; do
    run --format json -e "open $f.csv target=y; cols"
    has "a mark beside $f is a missing cell" "$(jq cols)" '"type":"real","missing":1'
done
printf 'kind,y\na,1\n-,2\nb,3\n' >kinds.csv
run --format json -e "open kinds.csv target=y; cols"
has "beside words it is a word" "$(jq cols)" '"type":"category",.*"missing":0'
printf 'x;y\n1 234,5;1\n12,25;2\n1 000 000,0;3\n' >blanks.csv
run --format json -e 'open blanks.csv; show 1..3'
has "blanks between thousands" "$(jq show)" '"x":1234.5,.*"x":12.25,.*"x":1000000,'
run -e 'open sheet.csv; show 1..3; summary d'
for day in '1  2024-04-05 10:00' '2  2024-04-17 11:30' '3        2024-05-01'; do
    has "dates are shown as dates" "$out" "^ *$day "
done
has "and summarised as such" "$out" '^d .* 2024-04-05 10:00 .* 2024-04-17 11:30 .* 2024-05-01  '
printf 'p,y\n"1,200",1\n"2,300",2\n"14,500",3\n' >marks.csv
run --format json -e 'open marks.csv'
has "words that may be numbers with thousands marks are told" "$out" \
    '"name":"thousands".*column 1 .p. holds cells such as 1,234 as words: open FILE thousands=comma'
run --format json -e 'open marks.csv thousands=comma; show 3; open marks.csv decimal=comma; show 3'
has "and read as either" "$(jq show | tr '\n' ' ')" '"p":14500,.*"p":14.5,'
printf 'p,y\n950,1\n"2,300",2\n20,3\n' >some.csv
run -e 'open some.csv'
has "beside numbers they are refused, with the way out" "$err" 'try  open FILE thousands=comma'
printf 'd,y\n05/04/2024,1\n06/04/2024,2\n07/04/2024,4\n' >unclear.csv
run --format json -e 'open unclear.csv'
has "unclear dates are words, and told" "$out" 'dates=dmy, or dates=mdy'
run -e 'open unclear.csv types=d=date'
has "or refused" "$err" 'error\[dates\]: .*the day or the month first'
run --format json -e 'open unclear.csv dates=mdy; show 1; season; cols'
# 4 May is day 124 of 2024
has "dates= says which" "$(jq show)" '"d":2024.3387978'
has "and season follows" "$(jq season)" '"columns":4,"inputs":3,'
awk 'BEGIN { print "x,y"; for (i = 1; i < 9000; i++) print (i == 8000 ? "NA" : i % 13) "," i % 7 + i / 3e5 }' >late.csv
run --format json -e 'open late.csv'
has "a mark may come late" "$(jq open)" '"missing":1,'
has "and is told" "$out" 'read as missing: NA (with'
printf 'PAR1\025\004PAR1' >t.parquet
run -e 'open t.parquet'
has "Parquet has its way out" "$err" "p.read_parquet('FILE').to_csv('FILE.csv'"
printf 'PK\003\004\024\000xl/' >t.xlsx
run -e 'open t.xlsx'
has "and a spreadsheet" "$err" 'libreoffice --headless --convert-to csv FILE'

# ---- ARFF; SQLite is in tests/check_formats.c, and here where its program is
cat >w.arff <<'END'
% a comment
@RELATION 'week days'

@attribute outlook {sunny, 'over cast', rainy}
@attribute "temp C" NUMERIC
@attribute when date "yyyy-MM-dd"
@attribute play real
@DATA
sunny, 85.5, "2024-01-01", 1
% another
'over cast',?,2024-07-02,0
rainy,70,2024-12-31,1
END
run --format json -e 'open w.arff; show 1..3; cols'
has "ARFF is read" "$(jq open)" '"rows":3,"columns":4,.*"target":"play","missing":1,'
has "with its values" "$(jq show)" '"outlook":"over cast","temp C":null,"when":2024.5,"play":0'
has "and types" "$(jq cols)" '"column":"outlook","role":"input","type":"category"'
printf '@relation a\n@attribute x real\n@attribute y real\n@data\n1,2\n3,four\n' >bad.arff
run -e 'open bad.arff'
has "a bad cell has its line" "$err" "bad.arff line 6, column 2 'y': 'four'"
printf '@relation a\n@attribute x real\n@attribute y real\n@data\n1,2\n3\n' >bad.arff
run -e 'open bad.arff'
has "as a short line has" "$err" '\[arff\]: bad.arff line 6: 1 values, but there are 2'
if command -v sqlite3 >/dev/null; then
    sqlite3 s.sqlite "PRAGMA journal_mode=wal; create table one(a,y); insert into one values (1,2),(2,3),(4,9); create table two(b); create view three as select 1" >/dev/null
    cp s.sqlite before.sqlite
    printf 'no journal of ours' >s.sqlite-journal
    run -e 'open s.sqlite'
    has "tables are listed" "$err" '\[sqlite\]: s.sqlite has the tables one, two$'
    run --format json -s q.gpd -e 'open s.sqlite table=one; fit features=16 l=1 noise=0.1; predict s.sqlite table=one'
    has "a table is read" "$(jq open)" '"rows":3,"columns":2,"inputs":1,"target":"y"'
    has "and predicted" "$(jq predict)" '"rows":3'
    run --format json -s q.gpd -e 'data'
    has "and found again" "$(jq data)" '"rows":3'
    ok "the database is as it was" cmp s.sqlite before.sqlite
    ok "and nothing beside it is touched" grep -q 'no journal of ours' s.sqlite-journal
fi

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
