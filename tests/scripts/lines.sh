#!/bin/sh
# tests/scripts/lines.sh -- commands about lines, the table of runs, comparisons, and who sets an
# option.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

data='demo friedman1 n=160 seed=3; split test=25% seed=1; kernel rbf'
fits="$data; tune features=64 evals=4; fit features=64 solver=pcg rank=8; score; set l=2 noise=0.3
fit features=128 solver=pcg rank=8; score; note r2 the wide one; star r2"

# -- echo, time, dry
run -q -e 'echo  two  "words; and" more; about'
is "echo prints the rest of its line" "$(printf '%s\n' "$out" | head -n 1)" 'two  "words; and" more'
run --format json -e "$data; time fit features=64; runs"
printf '%s\n' "$out" >time.json
ok "time tells both clocks" "$jsonl" has time seconds processor_seconds <time.json
is "after the job has ended" "$(grep -n '"command":"fit"\|"command":"time"' time.json | cut -d: \
    -f1 | tr '\n' ' ' |
    awk '{ print ($1 < $2) }')" 1
run -q -e "$data; time fit rank=abc"
has "what does not parse is told" "$err" 'rank=abc: not a number'
run --format json -e "$data; dry fit features=512 rank=64 kernel=linear; kernel; runs"
printf '%s\n' "$out" >dry.json
ok "dry plans a fit" "$jsonl" has dry rows inputs solver plan bytes <dry.json
is "no run is made" "$("$jsonl" get runs '$.of' <dry.json)" 0
is "and nothing has changed" "$("$jsonl" get kernel '$.kernel' <dry.json | tail -n 1)" rbf
run -q -e 'dry open nothing.csv'
is "dry looks for files" "$rc" 4
run -q -e "$data; fit features=16; dry pca r1"
is "but not for a run that stands where a file may" "$rc" 0
has "it would run" "$out" 'would run  pca r1'
run -q -e 'dry fti'
has "and parses" "$err" "no command 'fti'"
run -q -e 'pause'
has "without a keyboard nothing is paused" "$err" 'nobody is at the keyboard'

# -- runs
run -q -e "$fits" -e 'echo ---' -e \
    'runs sort=rmse; runs stars; runs where=wide; runs where=nothing; runs fits last=1'
t=$(printf '%s\n' "$out" | sed '1,/^---/d' | grep -o '^[ *>!]*[rt][0-9]' | tr -d ' *!' | tr '\n' \
    ' ')
is "filtered: a star, a word, the newest fit" "${t#* * * }" 'r2 r2 r2 '
has "no such run" "$out" 'no run matches'
has "stars are seen" "$out" '\[star\] the wide one'
run --format json -e "$fits" -e 'runs sort=rmse'
printf '%s\n' "$out" >runs.json
a=$("$jsonl" get runs '$.runs[0].rmse_scaled' <runs.json)
b=$("$jsonl" get runs '$.runs[1].rmse_scaled' <runs.json)
ok "sorted: the least scaled rmse first" awk -v a="$a" -v b="$b" 'BEGIN { exit !(a + 0 < b + 0) }'

# -- compare: settings that differ, results that differ, the same
run -q -e "$fits" -e 'echo ---' -e 'compare r1 r2'
out=$(printf '%s\n' "$out" | sed '1,/^---/d')
has "settings come first" "$(printf '%s\n' "$out" | head -n 1)" 'settings *r1 *r2'
has "with what differs" "$out" '^\*  features *64 *128'
has "results after them" "$out" '^ *results *r1 *r2'
has "what is the same stands in one line" "$out" \
    'The same: data friedman1, split test=25% seed=1, target y, scale y=standard, kernel rbf'
has "and where the curves are" "$out" 'plot residual r1 r2'
awk 'BEGIN { print "a,b,y"; for (i = 0; i < 60; i++) print i "," 3 + i % 7 "," 1 + i * i }' >two.csv
run -q --format json -e 'open two.csv target=y; split ordered test=20%; fit features=32; score' \
    -e 'scale y=log; fit features=32; score; cols y role=input; cols b role=target; fit features=32; score' -e 'compare r1 r2; compare r1 r3'
has "a scale that differs is told" "$(printf '%s\n' "$out" | grep '"compare"' | head -n 1)" \
    '"scale":true'
run -q -e \
    'open two.csv target=y; split ordered test=20%; fit features=32; score; scale y=log; fit features=32; score' \
    -e 'cols y role=input; cols b role=target; fit features=32; score; compare r1 r2; echo ---; compare r1 r3'
one=$(printf '%s\n' "$out" | sed '/^---/,$d') two=$(printf '%s\n' "$out" | sed '1,/^---/d')
has "in a row of its own" "$one" '^\*  scale *y=standard *y=log'
has "errors in the same unit stand side by side" "$one" '^\*  rmse  *[0-9.]*  *[0-9.]'
ok "of two targets never" test -z "$(printf '%s\n' "$two" | grep '^\*  rmse')"
has "but in a line with their units" "$two" '^rmse r1 [0-9.]* (y); r3 [0-9.]* (b)'
has "nor the densities" "$two" '^nlpd r1 [-0-9.]* (y); r3 [-0-9.]* (b)'

# -- who sets an option: `set` before the command line, GPDESK_*, the file, what is built in
who() { "$gpdesk" "$@" -e 'get seed' 2>/dev/null | sed -n \
    's/^seed  *\([0-9]*\)  *\([a-z ]*[a-z]\)   *.*/\1 \2/p' | tail -n 1; }
is "built in" "$(who)" '1 default'
mkdir -p config/gpdesk
echo 'set seed=11' >config/gpdesk/config
is "the file" "$(who)" '11 config file'
is "the environment" "$(GPDESK_SEED=12 who)" '12 environment'
is "the command line" "$(GPDESK_SEED=12 who --seed 13)" '13 command line'
is "set" "$(GPDESK_SEED=12 who --seed 13 -e 'set seed=14')" '14 set'
is "undone, it is the command line's again" "$(who --seed 13 -e 'set seed=14; undo')" \
    '13 command line'
out=$(GPDESK_SEED=12 "$gpdesk" --seed 13 --format json -e 'set seed=14; demo draw n=20 seed=15' \
    2>/dev/null)
has "the option of a command is stronger than all" "$out" 'seed=15'
rm -r config

finish
