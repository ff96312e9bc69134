#!/bin/sh
# tests/scripts/diagnosis.sh -- what a fit will cost before it, and what was wrong after it.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

data='demo friedman1 n=900 seed=2; split test=10% seed=1; kernel matern(nu=3/2)'
num() { printf '%s\n' "$out" | grep "\"command\":\"$1\"" | tail -n 1 | sed -n \
    "s/.*\"$2\":\([-+0-9.eE]*\).*/\1/p"; }
between() { awk -v x="${1:-nan}" -v lo="$2" -v hi="$3" 'BEGIN { exit !(x >= lo && x <= hi) }'; }
row() { # KEY of the row of advice for rank $2
    printf '%s\n' "$out" | grep '"command":"advise"' | tail -n 1 | sed "s/.*\"rows\":\[//" | tr \
        '{' '\n' |
        grep "\"rank\":$2," | sed -n "s/.*\"$1\":\([-+0-9.eEa-z]*\).*/\1/p"
}

# ---- advise ----
run --format json -e \
    "$data; advise features=512 rank=8,32,128 l=2 noise=0.1; fit features=512 solver=pcg rank=32 l=2 noise=0.1 plan=regenerate"
is "advise ends with 0" $rc 0
has "with the keys of its table" "$out" \
    '"command":"advise".*"features":512,"rtol":1e-06,.*"effective_dimension":[0-9.]*,.*"direct_seconds":[0-9].*"rows":\[{"rank":null,"ratio":null,"iterations":[0-9]*,"iterations_low":[0-9]*,"iterations_high":[0-9]*,"seconds_build":0,"seconds_solve":[0-9.e-]*,"bytes":[0-9.e+]*,"starred":'
is "one row is starred" "$(printf '%s\n' "$out" | grep '"command":"advise"' | grep -o \
    '"starred":true' | grep -c .)" 1
ok "more rank, fewer iterations" test "$(row iterations 8)" -gt "$(row iterations 128)"
took=$(num fit iterations)
ok "a fit takes what was expected" between "$took" "$(row iterations_low 32)" \
    "$(row iterations_high 32)"
has "and the error is told" "$out" '"name":"advice".*had been expected'
run --format json -e \
    "$data; advise features=512 rank=32 l=2 noise=0.1; fit features=512 solver=pcg rank=32 l=2 noise=0.1; advise features=512 rank=32 l=2 noise=0.1; plot rank out=rank.csv; advise features=512 rank=32 l=2 noise=0.1 law=plain"
has "later advice is corrected by it" "$out" '"correction":[01]\(\.[0-9]*\)\?,"correction_fits":1'
has "unless the plain law is asked for" "$out" '"correction":1,"correction_fits":0'
is "the truth stands beside the expectation" "$(row iterations_taken 32)" "$(num fit iterations)"
ok "and lies over it in the plot" grep -q ',taken,32,' rank.csv
run --format json -e "$data; advise kernel=rbf+linear features=256 solves=10 rtol=1e-3"
is "advise for a sum" $rc 0
run --format json -e "$data; advise kernel='matern(nu=5/2,ard)' features=256 precond=srht rows=200"
is "advise with a lengthscale an input, and another construction" $rc 0
is "from as many rows as asked for" "$(num advise sample)" 200
run -e "$data; advise features=256 precond=none"
has "no rank, no advice" "$err" 'has no rank, so there is nothing to advise on'
run -e "$data; advise features=256 rank=300"
has "a rank beyond the features is refused" "$err" 'between 1 and the 256 features'
run -e "plot rank"
has "the plot says what to do first" "$out" 'try: advise'
run -e "$data; advise l=2 noise=0.1 maxit=9 rank=8,16; fit features=4096 solver=pcg l=2 noise=0.1 maxit=9; spectrum; fit features=4096 solver=pcg rank=512 l=2 noise=0.1; advise l=2 noise=0.1"
has "when no rank ends in time it says so" "$out" 'no rank here ends within maxit=9'
ok "all within 80 columns" sh -c \
    'test "$(printf "%s\n" "$1" | sed -n "/for 1 solve/,/try  fit/p; /over 810 rows/,/plot spectrum/p" | awk "{ if (length > m) m = length } END { print m + 0 }")" -le 80' sh "$out"
for t in 1 2; do
    run --format json --threads $t -e "$data; advise features=512 l=2 noise=0.1"
    eval "t$t=\$(printf '%s\n' \"\$out\" | grep '\"command\":\"advise\"' | grep -o '\"iterations[a-z_]*\":[0-9]*' | tr '\n' ' ')"
done
is "the same for any number of threads" "$t1" "$t2"

# ---- advice stays in the session, with what fits have taught ----
run -e "$data; save kept.gpd; advise features=512 rank=8,32 l=2 noise=0.1; fit features=512 solver=pcg rank=32 l=2 noise=0.1; plot rank out=before.csv"
run -s kept.gpd --format json -e \
    'plot rank out=after.csv; advise features=512 rank=8,32 l=2 noise=0.1'
ok "a session resumed shows the same advice" cmp before.csv after.csv
has "and corrects by the fit of before" "$out" '"correction_fits":1'

# ---- spectrum: an effective dimension by eigenvalues, the fit's own by its Cholesky factor ----
run --format json -e \
    "$data; fit features=512 solver=pcg rank=32 l=2 noise=0.1 plan=regenerate; spectrum; plot spectrum out=s.csv"
is "spectrum ends with 0" $rc 0
has "with its keys" "$out" \
    '"command":"spectrum","run":"r1",.*"noise_ratio":0.01.*,"rank":32,"ratio":[0-9.]*,"condition_before":[0-9.]*,"condition_after":[0-9.]*,"eigenvalues":\[{"index":1,"value":[0-9.]*,"carried_on":false}.*"ritz":\[[0-9]'
dim=$(num fit effective_dimension)
ok "its effective dimension is the fit's" between "$(num spectrum effective_dimension)" \
    "$(awk -v d="$dim" 'BEGIN { print 0.99 * d }')" "$(awk -v d="$dim" 'BEGIN { print 1.01 * d }')"
cond=$(num fit condition_plain)
ok "its condition number is not above the sketch's bound" between \
    "$(num spectrum condition_before)" "$(awk -v d="$cond" 'BEGIN { print 0.7 * d }')" "$cond"
is "and the one that the solver saw" "$(num spectrum condition_after)" "$(num fit condition)"
ok "the plot has a line for the noise" grep -q '^1,noise,' s.csv
# A fit that was killed has its settings, which have a spectrum.
"$gpdesk" --format json -s killed.gpd -e "$data; fit features=512 solver=cg maxit=10000000 \
    rtol=1e-15 l=2 noise=0.1 variance=none plan=regenerate" >.killed 2>&1 </dev/null &
pid=$!
i=0
while test $i -lt 600 && ! grep -q '"residual":' .killed; do sleep 0.1; i=$((i + 1)); done
kill -9 $pid
wait $pid 2>/dev/null
run --format json -s killed.gpd -e 'spectrum r1'
is "spectrum of a fit that was killed" $rc 0
ok "is that of its settings" between "$(num spectrum condition_before)" \
    "$(awk -v d="$cond" 'BEGIN { print 0.7 * d }')" "$cond"
has "which is told" "$out" '"name":"unfinished"'
run --format json -e "$data; tune features=64 evals=2; spectrum t1"
has "a tuning has none" "$err$out" 't1 is a tuning, which has no spectrum'
run --format json -e "$data; spectrum features=256 l=2 noise=0.1"
has "before a fit, too" "$out" '"command":"spectrum","run":null,.*"ritz_values":0'
run --format json -e "$data; fit l=2 noise=0.1; spectrum rows=300"
has "an exact fit has the spectrum of its kernel" "$out" \
    '"command":"spectrum","run":"r1".*"sample":300,"features":null'

# ---- landscapes by probes: each value within its error of the one by decomposition ----
nums() { printf '%s\n' "$out" | grep '"command":"landscape"' | sed -n "${2}p" | sed -n \
    "s/.*\"$1\":\[\([^]]*\)\].*/\1/p"; }
within() { # 25 VALUES, ESTIMATES and their ERRORS: within four of them
    printf '%s\n%s\n%s\n' "$1" "$2" "$3" | awk '
        NR == 1 { n = split($0, e, ",") } NR == 2 { split($0, a, ",") } NR == 3 { split($0, s, ",") }
        END {
            for (i = 1; i <= n; i++)
                if ((a[i] - e[i]) ^ 2 > (4 * s[i] + 0.01) ^ 2) { print i, e[i], a[i], s[i]; bad++ }
            exit bad > 0 || n != 25
        }'
}
robot='demo robot n=700 seed=1; split test=20%; kernel rbf'
run --format json -e "$robot; landscape l=1..6 noise=0.1..0.6 grid=5 amplitude=2 features=256" \
    -e "landscape l=1..6 noise=0.1..0.6 grid=5 amplitude=2 features=256 nmll=approx probes=16" \
    -e "landscape l=2..3 noise=0.2 amplitude=2 grid=9 features=256 nmll=approx probes=4; plot landscape out=l.csv"
is "a landscape by probes ends with 0" $rc 0
ok "its values are those of the decomposition" within "$(nums nmll 1)" "$(nums nmll 2)" \
    "$(nums nmll_error 2)"
ties=$(printf '%s\n' "$out" | grep '"command":"landscape"' | sed -n \
    's/.*"within_error":\([0-9]*\).*/\1/p' | tail -n 1)
is "places within the error are drawn" "$(grep -c '^1,within the error' l.csv)" "$ties"
run -e "$robot; landscape features=9000"
has "too many features for decompositions have another way" "$err" \
    'landscape features=9000 nmll=approx'
run --format json -e "$robot; landscape solver=exact l=1..6 noise=0.1..0.6 grid=5 amplitude=2" \
    -e "landscape solver=exact l=1..6 noise=0.1..0.6 grid=5 amplitude=2 nmll=approx probes=16"
has "the exact kernel has probes, too" "$out" '"exact":true.*"nmll_error":'
ok "whose values are those of the decomposition" within "$(nums nmll 1)" "$(nums nmll 2)" \
    "$(nums nmll_error 2)"
run -e "$robot; landscape solver=exact rows=5000"
has "they serve more rows than decompositions" "$err" 'solver=exact nmll=approx rows=5000'

# ---- pictures that do not mislead ----
run --format json -e \
    "$robot; tune features=256 noise=0.3..0.5 evals=8; plot path out=p.csv; tune features=256 evals=8 noise=0.0002..3; plot path out=q.csv"
ok "what a tuning keeps is marked in its path" grep -q '^1,kept,' p.csv
has "and told" "$out" 'kept: evaluation [0-9]'
ok "bounds of the noise are drawn" test "$(grep -c '^3,bounds' p.csv)" -ge 1
run --format json -e \
    "$robot; tune features=256 evals=8; sweep rank=16,32,64 fit='features=256 solver=pcg rtol=1e-10'; plot sweep"
has "a sweep without differences says so" "$out" 'at every point (they differ by less than 0.1 %)'
finish
