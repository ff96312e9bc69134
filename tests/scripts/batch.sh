#!/bin/sh
# tests/scripts/batch.sh -- the program without anybody at the keyboard: exit status, streams,
# order.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

# -- arguments
run --version
is "--version succeeds" "$rc" 0
has "--version says it" "$out" '^gpdesk [0-9]'
run --help
is "--help succeeds" "$rc" 0
run --bogus
is "an unknown option is usage" "$rc" 2
run --seed x -e about
is "a bad value of an option is usage" "$rc" 2
has "and says what was expected" "$err" 'whole number'
run -e
is "-e without a line is usage" "$rc" 2
run --format xml -e about
is "an unknown format is usage" "$rc" 2

# -- exit status
run -e 'about'
is "done is 0" "$rc" 0
run -e 'summary'
is "a command that fails is 1" "$rc" 1
has "with the way out" "$err" '  try  open FILE'
run -e 'about' -e 'fitt'
is "what does not parse is 2" "$rc" 2
is "and nothing was run" "$out" ""
has "the nearest word is told" "$err" '  try  fit'
run -e 'open missing.csv'
is "a missing input is 4" "$rc" 4
run missing.csv
is "a missing FILE is 4" "$rc" 4
printf 'a,b\n1,2\n3\n' >ragged.csv
run -e 'open ragged.csv'
is "a malformed input is 4" "$rc" 4
has "with its line" "$err" 'line 3'
run -e 'open .'
is "a directory is 4" "$rc" 4
run -e 'demo friedman1 n=400; split test=20%' -e \
    'fit features=256 solver=cg rtol=1e-13 maxit=3 noise=0.01'
is "a fit that stops short is 3" "$rc" 3
run --accept-unconverged -e 'demo friedman1 n=400; split test=20%' \
    -e 'fit features=256 solver=cg rtol=1e-13 maxit=3 noise=0.01'
is "unless that is accepted" "$rc" 0
run --strict -e 'demo friedman1 n=8; about; fit; get seed'
is "without a warning --strict changes nothing" "$rc" 0
printf 'a,b,y\n1,2,3\n' >one.csv
run -e 'open one.csv; get seed'
is "a warning is no failure" "$rc" 0
run --strict -e 'open one.csv; get seed'
is "with --strict it is" "$rc" 1

# -- order, streams
run -e 'set seed=3' -e 'get seed' -e 'set seed=4; get seed'
is "-e lines run in their order" "$(printf '%s\n' "$out" | grep -c '^seed')" 4
has "the last one wins" "$(printf '%s\n' "$out" | tail -n 1)" '^seed  4  set'
run --seed 5 -e 'get seed'
has "the command line sets an option" "$out" '^seed  5  command line'
GPDESK_SEED=6 run -e 'get seed'
out=$(GPDESK_SEED=6 "$gpdesk" -e 'get seed')
has "so does the environment" "$out" '^seed  6  environment'
mkdir -p config/gpdesk
echo 'set seed=9 precision=double' >config/gpdesk/config
run -e 'get seed'
has "and the configuration file" "$out" '^seed  9  config file'
run --no-config -e 'get seed'
has "unless it is not read" "$out" '^seed  1  default'
echo 'fit now' >config/gpdesk/config
run -e 'get seed'
has "a bad line of it is told" "$err" 'warning\[config\]'
rm -r config
run -q -e 'demo toy; fit'
is "-q says no notes" "$err" ""
run -k -e 'summary' -e 'about'
is "-k goes on" "$rc" 1
has "and runs the rest" "$out" '^gpdesk '
run -e 'summary; about'
is "without it the rest is not run" "$out" ""

# -- scripts
cat >good.gps <<'EOF'
#!/usr/bin/env -S gpdesk -f
demo toy n=50 seed=2   # a remark
split test=20% \
      seed=3
data; get seed
EOF
run -f good.gps
is "a script runs" "$rc" 0
has "all of it" "$out" '^toy  train 40'
run good.gps
is "a script may be a FILE" "$rc" 0
chmod +x good.gps
out=$("$gpdesk" <good.gps 2>/dev/null)
has "or standard input" "$out" '^toy  train 40'
out=$(echo 'get seed' | "$gpdesk" -f - 2>/dev/null)
has "also as -f -" "$out" '^seed'
printf 'about\nfit rank=abc\nnosuch\n' >bad.gps
run -f bad.gps
is "a script that does not parse is 2" "$rc" 2
is "none of it was run" "$out" ""
has "the line is named" "$err" 'line 2 of bad.gps'
has "and the next one too" "$err" 'line 3 of bad.gps'
echo 'source bad.gps' >outer.gps
run -f outer.gps
is "neither is what it sources" "$rc" 2
echo 'source loop.gps' >loop.gps
run -f loop.gps
is "a script that sources itself ends" "$rc" 2
printf 'x,y\n1,2\n2,3\n3,5\n' >points.csv
run points.csv -e 'data'
is "FILE may be data" "$rc" 0
has "that is opened" "$out" '^points  3 rows'
run -f missing.gps
is "a missing script is 4" "$rc" 4
head -c 2000 /dev/zero >zeros.gps
run -f zeros.gps
is "a binary one too" "$rc" 4
run -e 'quit; summary'
is "quit ends with 0" "$rc" 0
run -e ''
is "an empty line is nothing" "$rc" 0

run -s work.gpd -e 'demo toy; split test=20%; fit'
is "a session is made" "$rc" 0
run work.gpd -e 'runs; score'
is "and goes on, as a FILE" "$rc" 0
has "with its runs" "$out" 'r1 *done'
run -s work.gpd other.gpd
is "a session that is not there is 4" "$rc" 4
run --format json missing.csv
is "in JSON, too" "$rc" 4
ok "as a record" "$jsonl" check <.out
out=$("$gpdesk" -e 'open -; data' <points.csv 2>&1)
has "data may come from standard input" "$out" '3 rows'
HOME=$dir run -e 'open ~/points.csv'
is "~ is the home directory" "$rc" 0
"$gpdesk" -e 'demo toy' >&- 2>/dev/null
is "a closed stdout does no harm" "$?" 0

# -- dry runs
run -n -f good.gps
is "-n parses" "$rc" 0
has "and says so" "$out" 'nothing was run'
run -n -e 'open missing.csv; fit'
is "-n looks for files" "$rc" 4
run -n -e 'fit rank=abc'
is "-n finds what does not parse" "$rc" 2
run -n --mem 1GB -e 'demo toy; fit features=100000 solver=direct'
is "-n predicts the memory" "$rc" 5
run -n -e 'demo friedman1 n=500; split test=20%; fit features=512; score'
has "of what would be fitted" "$out" '400 rows x 10 inputs'
run -n -e 'demo toy; cols nosuch role=skip'
is "-n finds a column that is not there" "$rc" 1

# -- JSON
"$gpdesk" --format json -e 'demo friedman1 n=300 seed=1' -e 'split test=20% seed=2' \
    -e 'tune features=64 evals=5' -e 'fit features=128 solver=pcg rank=32' -e 'score' -e 'runs' \
    -e 'compare r1 t1' -e 'summary' -e 'cols' -e 'show 1..2' -e 'set l=2' -e 'get' -e \
    'note r1 "x"' \
    -e 'help fit' -e 'about' -e 'jobs' -e 'data' -e 'wait' >run.json 2>run.err
is "a whole job in JSON" $? 0
is "stderr stays empty" "$(cat run.err)" ""
ok "every line is a record" "$jsonl" check <run.json
ok "keys of open and demo" "$jsonl" has demo dataset rows inputs target missing duplicates seconds \
    <run.json
ok "keys of tune" "$jsonl" has tune run kernel features evaluations nmll \
    hyperparameters.lengthscale \
    hyperparameters.amplitude hyperparameters.noise seconds <run.json
ok "keys of fit" "$jsonl" has fit run solver features rank outcome iterations residual \
    true_residual \
    ratio variance_features seconds.features seconds.precond seconds.solve seconds.variance \
    seconds.total predicted_bytes peak_bytes effective_dimension <run.json
ok "keys of score" "$jsonl" has score run rows rmse mae rmse_scaled mae_scaled r2 spearman nlpd \
    nlpd_scaled nlpd_constant crps coverage50 coverage90 coverage95 seconds <run.json
is "rows of a demo" "$("$jsonl" get demo '$.rows' <run.json)" 300
is "inputs of it" "$("$jsonl" get demo '$.inputs' <run.json)" 10
is "test rows of the score" "$("$jsonl" get score '$.rows' <run.json)" 60
"$gpdesk" --format json -e 'nosuch' >bad.json 2>bad.err
is "an error in JSON" $? 2
is "on stdout" "$("$jsonl" type error not-found <bad.json)" 1
is "and not on stderr" "$(cat bad.err)" ""
printf '"na\033[31mme\n%%s",y\n1,2\n2,4\n3,7\n' >hostile.csv
"$gpdesk" --format json -e 'open hostile.csv; summary; cols; show 1..2' >hostile.json
ok "hostile names make good JSON" "$jsonl" check <hostile.json
run -e 'open hostile.csv; summary; cols; show 1..2'
is "and reach no terminal raw" "$(printf '%s' "$out$err" | LC_ALL=C tr -d '\n' | LC_ALL=C grep -c \
    '[[:cntrl:]]')" 0

# -- streams that close
"$gpdesk" -e 'help; help fit; help kernels; about; about; about' 2>closed.err | head -n 1 >/dev/null
is "a closed pipe ends quietly" "$(cat closed.err)" ""
if test -w /dev/full; then
    "$gpdesk" -e about >/dev/full 2>full.err
    is "a full disk behind stdout is 5" $? 5
    has "and told" "$(cat full.err)" 'cannot write'
    for a in --dump=man --dump=html --help --version --complete=f; do
        "$gpdesk" $a >/dev/full 2>full.err
        is "$a into a full disk is 5" $? 5
    done
fi

# A dry run names the plan as the fit itself does; ways out are in "try", not in the words.
run -n --format json -e 'demo toy n=30; fit'
has "a dry run plans an exact fit" "$out" '"solver":"exact","plan":"exact"'
run --format json -e 'demo toy n=30; fit'
has "starting values: what to try" "$out" \
    '"name":"untuned","run":null,"message":"the hyperparameters are starting values, not tuned ones","try":"tune, then fit"'

is "- alone is a script" "$(echo 'echo "from a pipe"' | "$gpdesk" - 2>&1)" 'from a pipe'
is "with commands it is data" "$(printf 'a,y\n1,2\n2,3\n' | "$gpdesk" -q --format json - -e \
    'show 1..1' 2>&1 |
    grep -c '"cells":{"a":1,"y":2}')" 1
# A script that sources itself is an error before anything runs, however many doubled lines it has.
printf 'about\nsource loop.gps\nsource loop2.gps\n' >loop.gps
printf 'source loop.gps\nsource ./loop2.gps\n' >loop2.gps
run -f loop.gps
is "a script that sources itself is refused" "$rc" 2
is "once for each line that does" "$(printf '%s\n' "$err" | grep -c 'sources itself')" 3
is "and nothing of it runs" "$out" ""
run -e 'open */../*/../*.npy'
has "a pattern with .. behind a wildcard is refused" "$err" 'no .. after them'
run -e 'open */*/*/*/*/*.npy'
has "and one with a wildcard in many directories" "$err" 'at most 4 parts'
# OpenBLAS would wait for ever where its memory cannot be mapped.
if ! grep -q __asan_init "$gpdesk" && ! grep -q __tsan_init "$gpdesk"; then
    (ulimit -v 250000 && exec "$gpdesk" --no-config --threads 2 --format json -e 'fit') \
        >narrow 2>&1 </dev/null
    is "a limit on the address space that is too low is an error" "$?" 5
    has "that says what is needed" "$(cat narrow)" '"name":"address-space".*limited to 244 MB'
fi
finish
