#!/bin/sh
# tests/scripts/undo.sh -- undo and redo over the whole command table: what each command changes of
# the state (data, columns, policies, kernel, settings, runs, bin) is taken back and done again, to
# the letter; what changes nothing leaves nothing to undo; what lasts says so.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

before='demo friedman1 n=60 seed=1; split test=25% seed=2; kernel rbf; fit features=32; fit features=64; score; point 0 1'
before="$before; use friedman1; drop r1; set l=0.5; undo"
state='data; cols *; missing; scale; likelihood; kernel; set; bind; runs; runs bin; runs stars'
printf 'a,b,y\n1,2,3\n2,3,5\n3,1,4\n4,4,9\n' >own.csv
echo 'kernel linear; set noise=0.3' >own.gps
printf '0.1\n' >new.csv
printf 'smiles,y\nCCO,1\nCCCO,1.2\nCCCCO,9\nCCN,4\nCCCN,5\n' >molecules.csv
"$gpdesk" -q -s other.gpd -e 'demo toy n=30; fit' >/dev/null 2>&1

# VERB|LINE|WHAT: undo (changed, undone, redone), same (nothing changed), runs (a run more, which
# stays; the rest as before or undone), lasts (cannot be undone).
cat >table <<'END'
open|open own.csv target=y|undo
demo|demo toy n=20|undo
data|data|same
use|use points|undo
show|show 1..3|same
summary|summary|same
cols|cols x1,x2 role=skip|undo
missing|missing mean|undo
scale|scale y=none|undo
split|split test=40% seed=5|undo
names|names a,b,c,d,e,f,g,h,i,j,k|undo
rename|rename x1=width x2=depth|undo
where|where x1 > 0.3|undo
let|let ratio = x1 / x2|undo
season|season x3 week|undo
kernel|kernel matern(nu=5/2) + linear|undo
tune|tune features=32 evals=3|runs
fit|fit features=16|runs
race|race cg,pcg(rank=4) features=16|runs
score|score|same
check|check|same
predict|predict out=p.csv|same
suggest|suggest 2 candidates=20|undo
pick|pick test count=2|same
cliffs|open molecules.csv; cliffs|undo
likelihood|let two = x1 > 0.5; cols two role=target; cols y role=skip; likelihood bernoulli|undo
words|demo motifs n=60; kernel spectrum(n=2); fit; words|runs
motif|demo motifs n=60; kernel spectrum(n=2); fit; motif|runs
inducing|fit solver=sparse inducing=5; inducing|runs
calibrate|fit features=16; calibrate share=0.4 level=0.5|runs
bo|bo table start=10 rounds=1 batch=3 tune=no|same
ask|ask x1=0 x2=0 x3=0.5 x4=1 x5=0 x6=0 x7=0 x8=0 x9=0 x10=|undo
tell|suggest 2 candidates=20; tell s1=3|undo
pca|pca|same
cluster|cluster k=2|same
advise|advise features=32 rank=4,8|same
spectrum|spectrum|same
why|why|same
neighbours|neighbours row:1|same
explain-row|explain-row row:1|same
effects|effects x1|same
importance|importance|same
landscape|landscape grid=3|same
tradeoff|tradeoff|same
sweep|sweep l=1,2 features=16|runs
star|star r2|undo
drop|drop r2|undo
purge|purge yes|lasts
pause|pause|same
jobs|jobs|same
stop|stop|same
wait|wait|same
runs|runs|same
compare|compare r1 r2|same
note|note r2 "a remark"|undo
plot|plot columns|same
describe|describe columns|same
view|view 2|same
layout|layout main|lasts
theme|theme light|undo
palette|palette fit|same
copy|copy columns|same
bind|bind view F9 "runs"|lasts
draw|draw n=3 l=0.2|undo
point|point 1 2|undo
explain|explain rmse|same
lesson|lesson 1|same
answer|answer a|same
tour|tour|same
save|save copy.gpd|same
sessions|sessions|same
resume|resume other.gpd|lasts
salvage|salvage other.gpd rescued.gpd|same
script|script out=s.gps|same
history|history|same
undo|undo|undo
redo|redo|undo
at|at 2; at now|same
branch|at 2; branch|undo
expect|expect r2 features 64|same
export|export r2 out=r2.json|same
report|report r2 out=r2.html|same
source|source own.gps|undo
echo|echo hello|same
time|time set l=3|undo
dry|dry set l=3|same
help|help fit|same
about|about|same
quit|echo|same
set|set l=2 noise=0.3 theme=dark threads=1|undo
get|get theme|same
END

"$gpdesk" -q -e 'help' | sed -n 's/^  \([a-z-]*\) .*/\1/p' | sort >verbs
cut -d'|' -f1 table | sort >known
is "every command of the table is here" "$(comm -3 verbs known | tr '\n\t' '  ')" ""

part() { sed -n "/^PART $1\$/,/^PART $(($1 + 1))\$/p" all | sed '/^PART/d'; }
settled() { grep -vE '^(now|undone|redone|.*saved )' "$1" >"$2" || :; }
while IFS='|' read -r verb line what; do
    steps=$("$gpdesk" --format json -k -e "$before" -e 'history' -e "$line" -e 'history' \
        2>/dev/null </dev/null |
        grep '"command":"history"' | grep -o '"undo":[0-9]*' | cut -d: -f2 | tail -n 2 | tr '\n' \
            ' ')
    n1=${steps%% *} n2=${steps#* } n2=${n2%% *}
    d=$((${n2:-0} - ${n1:-0}))
    [ "$verb" != undo ] || d=-1
    case $d in -1) back='redo' forth='undo' ;; 0 | -*) back='' forth='' ;; *) back="undo $d" \
        forth="redo $d" ;; esac
    "$gpdesk" -q -k -e "$before" -e "echo PART 1; $state; echo PART 2" -e "$line" -e \
        "echo PART 3; $state; echo PART 4" \
        -e "${back:-echo}" -e "echo PART 5; $state; echo PART 6" -e "${forth:-echo}" -e \
        "echo PART 7; $state; echo PART 8" \
        >all 2>err </dev/null
    for i in 1 3 5 7; do part $i >part$i; done
    case $what in
    same)
        cmp -s part1 part3 && [ "$d" -eq 0 ]
        result $? "$verb: changes nothing, leaves nothing to undo" \
            "$(diff part1 part3 | head -n 5) ($d steps)" ;;
    undo)
        ! cmp -s part1 part3 && [ "$d" -ne 0 ]
        result $? "$verb: changes something" "$line ($d steps)"
        cmp -s part1 part5
        result $? "$verb: undone" "$(diff part1 part5 | head -n 6) $(head -n 3 err)"
        cmp -s part3 part7
        result $? "$verb: and redone" "$(diff part3 part7 | head -n 6)" ;;
    runs)
        for i in 1 5; do grep -vE '^ *[*>~!x]* *[rt][0-9]+ |^ *run |last fit' part$i >rest$i; done
        cmp -s rest1 rest5
        result $? "$verb: all but its runs is undone" "$(diff rest1 rest5 | head -n 6)"
        [ "$(grep -cE '^ *[*>~!x]* *[rt][0-9]+ ' part5)" -gt \
            "$(grep -cE '^ *[*>~!x]* *[rt][0-9]+ ' part1)" ]
        result $? "$verb: they stay" "$(head -n 3 err)" ;;
    lasts)
        cmp -s part1 part3
        result $((!$?)) "$verb: changes something that lasts" "" ;;
    esac
done <table
has "purge says that it lasts" "$("$gpdesk" -q -e 'help purge')" 'undo cannot take back'
has "so does bind, with the way back" "$("$gpdesk" -q -e 'help bind')" 'undo does not change keys'
has "and resume" "$("$gpdesk" -q -e 'help resume')" 'undo does not'
finish
