#!/bin/sh
# tests/scripts/time.sh -- undo, looking back, branches, the bin, and scripts that check themselves.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

data='demo friedman1 n=120 seed=3; split test=25% seed=1; kernel rbf'

# -- undo and redo say what they did and what is current now
run -q -e "$data; cols x1,x2 role=skip; undo; cols; redo; data"
is "undo and redo" "$rc" 0
has "undo names the line" "$out" '^undone: cols x1,x2 role=skip'
has "and what is current" "$out" 'now friedman1, test=25% seed=1, rbf'
has "the columns are back" "$out" '^x1 *input'
has "redo does it again" "$out" '8 inputs'
run -e 'undo'
is "nothing to undo is a failure" "$rc" 1
has "with its name" "$err" 'error\[no-step\]'
run -q -e "$data; set noise=0.5 l.min=9 l.max=2; get noise" -k
has "a command that fails changes nothing" "$out" '^noise  0.1 '

# -- history and looking back
run --format json -e \
    "$data; fit features=32; cols x1 role=skip; fit features=32; history; at 4; runs;
    data; at now; runs"
is "a history in JSON" "$rc" 0
printf '%s\n' "$out" >time.json
ok "every line is a record" "$jsonl" check <time.json
ok "keys of history" "$jsonl" has history commands undo redo view <time.json
is "its length" "$("$jsonl" get history '$.undo' <time.json)" 4
is "then: one run" "$(sed '/"command":"at","view":null/,$d' time.json | "$jsonl" get runs \
    '$.runs[#-1].run')" r1
is "now: two" "$("$jsonl" get runs '$.runs[#-1].run' <time.json)" r2
run -q -e "$data; at 2; kernel linear"
is "an earlier state cannot be changed" "$rc" 1
has "and says what to do" "$err" '  try  at now   |   branch, then kernel'
run -q -e "$data; kernel linear; at 3; branch; kernel; undo; kernel"
has "a branch goes on from there" "$(printf '%s\n' "$out" | grep '^current')" 'current: rbf'
has "and is undone as a whole" "$(printf '%s\n' "$out" | grep '^current' | tail -n 1)" \
    'current: linear'
run -e 'demo toy; at 99'
has "a number that is none" "$err" 'error\[no-command\]'
run -e 'demo toy; at never'
has "a word that is none" "$err" "'never' is not a place"

# -- the bin
run -q -e \
    "$data; fit features=32; fit features=64; star r1; drop r2; runs; undo; drop dataset:friedman1; data"
has "a dropped run is gone" "$(printf '%s\n' "$out" | grep -c ' r2 ')" '^0'
has "so is a dataset" "$out" 'no data is loaded'
run -q -e "$data; fit features=32; drop r1; score"
has "what is in the bin is told" "$err" 'nothing has been fitted\|in the bin'

# -- it survives the program
"$gpdesk" -q -s time.gpd -e \
    "$data; cols x3 role=skip; fit features=32; note r1 kept; set theme=dark" >/dev/null
run -q -s time.gpd -e 'undo 3; cols; at 3; at now; history'
has "undo after resume" "$out" '^undone: cols x3 role=skip and 2 more'
has "columns of then" "$out" '^x3 *input'
run -q -s time.gpd -e 'redo 3; get theme; runs'
has "redo after another resume" "$out" '^theme *dark'
has "with the remark" "$out" 'kept'

# -- a script checks itself
same() { # name commands
    run -q -e "$2; script out=one.gps; script all=yes out=all.gps"
    is "$1: runs" "$rc" 0
    for s in one all; do
        run -q -f $s.gps
        is "$1: $s runs again" "$rc" 0
        has "$1: $s says same" "$(printf '%s\n' "$out" | tail -n 1)" '^same: [1-9][0-9]* figures$'
    done
}
same "tuned" \
    "$data; tune features=64 evals=5; fit features=128 solver=pcg rank=16; score; fit from=r1 features=128 solver=pcg rank=16 noise=0.2; score"
same "undone" \
    "$data; cols x1 role=skip; tune features=64 evals=4; fit features=64; undo; fit features=32; score r1; note r2 x"
printf 'a,b,y1,y2\n' >two.csv
i=0
while [ $i -lt 60 ]; do
    echo "$((i * 37 % 61)),$((i * 53 % 59)),$((i * i % 47)),$((i * 7 % 31))" >>two.csv
    i=$((i + 1))
done
same "several targets" \
    "open two.csv target=y1,y2; split test=20%; tune features=64 evals=4; fit features=64; score"
same "a sweep" "$data; sweep features=32,64 rank=8,16 fit='solver=pcg noise=0.3'"
printf 'sequence,y\n' >seq.csv
i=0
while [ $i -lt 40 ]; do
    printf 'ACDEFGHIKLMNPQRSTVWY' | cut -c$((i % 11 + 1))-$((i % 11 + 8)) | tr '\n' ','
    echo "$((i * i % 17))"
    i=$((i + 1))
done >>seq.csv
same "sequences" \
    "open seq.csv types=sequence=sequence target=y; split test=20%; kernel conv(rbf,width=3); tune features=32 evals=3; fit features=64; score"
sed 's/rmse_scaled [0-9.]*/rmse_scaled 0.5/' one.gps >wrong.gps
run -q -f wrong.gps
is "a difference is a failure" "$rc" 1
has "and the first is named" "$err" 'error\[differs\]: r1 rmse_scaled is .*, not 0.5 ('
run -q -k -f wrong.gps
has "-k counts them" "$err" 'error\[differs\]: 1 of [0-9]* figures differ; the first'
run -q -e "$data; fit features=32; expect r1 weight 3"
has "a figure that is none" "$err" "no figure 'weight'"

finish
