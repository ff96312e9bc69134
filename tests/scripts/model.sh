#!/bin/sh
# tests/scripts/model.sh -- tune, fit, score, predict, look: the commands a user types, on data
# with a known answer.  Friedman 1 has noise sd 1 and signal sd about 4.9.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

# num KEY: the last value of a key in the JSON lines of the last run
num() { printf '%s\n' "$out" | sed -n "s/.*\"$1\":\([-+0-9.eE]*\)[,}].*/\1/p" | tail -n 1; }
between() { awk -v x="$1" -v lo="$2" -v hi="$3" 'BEGIN { exit !(x != "" && x >= lo && x <= hi) }'; }
data='demo friedman1 n=600 seed=1; split test=25% seed=2; kernel rbf'

run --format json -e "$data; tune; fit; score; check"
is "exact job ends with 0" $rc 0
has "few rows are fitted exactly, and it is said" "$out" '"name":"exact"'
has "outcome is direct" "$out" '"outcome":"direct"'
ok "rmse lies between the noise and twice the noise" between "$(num rmse)" 0.9 2.0
ok "coverage95 is honest" between "$(num coverage95)" 0.88 1.0
ok "nlpd is below that of the noiseless-mean guess" between "$(num nlpd)" 1.0 2.5
exact=$(num rmse)
hp=$(printf '%s\n' "$out" | sed -n \
    's/.*"command":"tune".*"lengthscale":\([^,]*\),"amplitude":\([^,]*\),"noise":\([^}]*\)}.*/l=\1 amplitude=\2 noise=\3/p')

run --format json --threads 1 -e "$data; fit features=2048 solver=pcg rank=128 $hp; score"
ok "random features come within 15 % of exact" between "$(num rmse)" \
    "$(awk -v e="$exact" 'BEGIN { print 0.85 * e }')" \
    "$(awk -v e="$exact" 'BEGIN { print 1.15 * e }')"
has "converged" "$out" '"outcome":"rtol"'
# Threads hold some memory each.
strip() { printf '%s\n' "$out" | grep '"result"' | sed \
    's/"[a-z]*_bytes":[0-9]*,//g; s/"seconds":[^,}]*//g; s/"seconds":{[^}]*}//g; s/"[a-z]*":[0-9.e-]*\(,"[a-z]*":[0-9.e-]*\)*}//g'; }
one=$(strip)
run --format json --threads 3 -e "$data; fit features=2048 solver=pcg rank=128 $hp; score"
is "3 threads give the figures of 1 thread" "$(strip)" "$one"

# Features stored in float16: the same answer, told; refused where they may not be rounded.
run --format json -s half.gpd -e \
    "$data; fit features=2048 solver=pcg rank=128 precision=float plan=store store=float32 $hp; score"
whole=$(num rmse)
has "plan=store says how" "$out" '"plan":"store","store":"float32"'
run --format json -s half.gpd -e \
    "$data; fit features=2048 solver=pcg rank=128 precision=float store=float16 $hp; score"
has "store=float16 is a plan, too" "$out" '"plan":"store","store":"float16"'
has "and ends at rtol" "$out" '"outcome":"rtol"'
has "the note says so, with the others" "$out" \
    'stores the features in float16 (.*; instead storing the features ('
ok "and predicts as float32 does" between "$(num rmse)" \
    "$(awk -v e="$whole" 'BEGIN { print 0.999 * e }')" \
    "$(awk -v e="$whole" 'BEGIN { print 1.001 * e }')"
run --format json -s half.gpd -e "fit continue=r2 rtol=1e-7"
has "a resumed session goes on in float16" "$out" '"store":"float16"'
run -e "$data; fit features=512 kernel=linear store=float16 precision=float"
is "no float16 for features without a bound" $rc 1
has "and it is said why" "$err" 'only sums of stationary kernels'
run -e "$data; fit features=512 solver=lbfgs store=float16 precision=float $hp"
has "nor for solvers that do not correct it" "$err" 'only pcg and cg correct'
run -e "$data; fit features=512 plan=regenerate store=float16 precision=float $hp"
has "nor with another plan" "$err" 'store= is how plan=store keeps features'

run --format json -e "$data; fit features=256 solver=cg maxit=3 $hp"
is "a fit that stops short ends with 3" $rc 3
has "and says so" "$out" '"outcome":"maxit"'
run --accept-unconverged -e "$data; fit features=256 solver=cg maxit=3 $hp"
is "--accept-unconverged ends with 0" $rc 0

# Every solver of the registry fits the same system; what it may be told, and what it tells.
for s in pcg cg lbfgs 'lbfgs(wolfe=1)' 'svrg(batch=64)' 'psvrg(batch=64)' direct; do
    run --format json -e \
        "$data; fit features=128 rank=32 solver=$s rtol=1e-4 noise=1 l=3 variance=none"
    is "solver=$s ends with 0" $rc 0
done
for plan in store regenerate direct; do
    run --format json -e \
        "$data; fit features=128 rank=32 solver=psvrg(batch=64) plan=$plan rtol=1e-4 noise=1 l=3 precision=float"
    is "psvrg with plan=$plan ends with 0" $rc 0
    has "which counts its passes" "$out" '"passes":[1-9]'
    has "and says what has iterated" "$out" '"solver":"psvrg"'
done
run -e "$data; fit features=128 solver=amsgrad rtol=1e-9 noise=1 l=3"
is "amsgrad stops short of nine digits" $rc 3
has "and names what does not" "$out" 'solver=pcg'
run --format json -e "$data; fit features=128 solver=cg rtol=1e-8 noise=1 l=3"
ok "cg tells its condition number" between "$(num condition)" 2 1e4
is "which is that of the system itself" "$(num condition_plain)" "$(num condition)"
run --format json -e "$data; fit features=512 solver=pcg noise=0.3 l=3"
has "an automatic rank says what it expected" "$out" '"name":"rank".*iterations expected; it took'
has "and shows the others" "$out" \
    '"rank_chosen":"auto","rank_predicted_iterations":[0-9].*"ranks":\[{"rank":0,'
ok "its error is told" between "$(num rank_prediction_error)" -0.6 1.5
auto=$(num iterations)
run --format json -e "$data; fit features=512 solver=pcg noise=0.3 l=3 rank=auto"
is "rank=auto is that" "$(num iterations)" "$auto"
run --format json -e "$data; fit features=512 solver=pcg noise=0.3 l=3 rank=64"
has "a given rank is not second-guessed" "$out" \
    '"rank":64,.*"rank_chosen":"given","rank_predicted_iterations":null'
run --accept-unconverged --format json -e \
    "$data; fit features=512 solver=pcg rank=32 noise=0.3 l=3 maxit=9; fit continue=r1 maxit=500; fit features=512 solver=pcg rank=32 noise=0.3 l=3; compare r2 r3"
is "a stopped fit continues" $rc 0
has "from where it was" "$out" '"run":"r2",.*"outcome":"rtol".*"start_residual":0\.0'
has "with its features" "$out" '"command":"fit","run":"r2",.*"features":512,'
run -e "$data; fit features=512 solver=pcg rank=32 noise=0.3 l=3; fit continue=r1 l=2"
has "continue= is the same fit" "$err" 'fit from=RUN'
run --format json -e \
    "$data; fit features=512 solver=pcg rank=32 noise=0.3 l=3; fit features=512 solver=pcg rank=32 noise=0.3 l=3.1 from=r1"
has "a fit begins at another's weights" "$out" '"name":"start"'
run --format json -e \
    "$data; fit features=256 solver=pcg rank=32 noise=0.3 l=3; fit features=512 solver=pcg rank=32 noise=0.3 l=3; fit features=512 solver=pcg rank=32 noise=0.3 l=3 from=r1; score r2; score r3"
has "or at the predictions of other features" "$out" \
    'started from the predictions of r[0-9]*: its first residual is 0\.'
is "and ends where it would have" "$(printf '%s\n' "$out" | grep '"command":"score"' | sed \
    's/.*"rmse":\([0-9.]\{5\}\).*/\1/' | sort -u | wc -l)" 1
run --accept-unconverged --format json -e \
    "$data; fit features=256 solver=pcg rank=32 noise=0.3 l=3 maxit=5; fit continue=r1 features=512 maxit=500"
has "a stopped fit goes on with more features" "$out" \
    '"run":"r2",.*"features":512,.*"outcome":"rtol"'
has "from its predictions" "$out" 'started from the predictions'
run -e "$data; fit features=256 solver=pcg rank=32 noise=0.3 l=3; cols x1 role=skip; fit features=256 solver=pcg rank=32 noise=0.3 l=3 from=r1"
has "but not those of other inputs" "$err" 'inputs'
run --format json -e \
    "$data; tune features=512 nmll=approx rank=16 probes=16 evals=12; tune features=512 nmll=approx rank=16 probes=16 evals=13; tune features=512 nmll=approx rank=16 probes=16 l=0.3..0.4 evals=9; compare t1 t2; compare t1 t3"
is "approximate likelihoods are compared" "$(printf '%s\n' "$out" | grep -c \
    '"command":"compare"')" 2
has "closer than their error is a tie" "$(printf '%s\n' "$out" | grep '"compare"' | head -n 1)" \
    '"ties":\[{"run":"t1","with":"t2","difference":'
has "further apart is none" "$(printf '%s\n' "$out" | grep '"compare"' | tail -n 1)" '"ties":\[\]'
run --format json -e \
    "$data; tune features=512 nmll=approx rank=128 evals=6 error=1%; tune features=512 nmll=approx rank=16 evals=6 error=0.01%"
ok "the error that was asked for is reached" awk -v \
    e="$(printf '%s\n' "$out" | sed -n \
    's/.*"run":"t1".*"nmll":\([-0-9.e]*\),"nmll_error":\([-0-9.e]*\),.*/\2\/\1/p')" \
    'BEGIN { split(e, v, "/"); r = v[1] / v[2]; if (r < 0) r = -r; exit !(r > 0 && r <= 0.0102) }'
has "or what was is told" "$out" '"name":"approx".*"the standard error of the NMLL is .* above the limit of 0.01 %'
run --format json -e "$data; tune features=512 nmll=approx evals=6"
ok "the rank that was chosen is told" between "$(printf '%s\n' "$out" | grep '"command":"tune"' |
    sed -n 's/.*"rank":\([0-9]*\),.*/\1/p')" 16 256
run --format json --accept-unconverged -e \
    "$data; race pcg(rank=32),psvrg(rank=32,batch=64),lbfgs(wolfe=1) features=128 noise=1 l=3 rtol=1e-4"
is "a race ends with 0" $rc 0
is "with a fit each" "$(printf '%s\n' "$out" | grep -c '"command":"fit"')" 3
has "on one clock" "$out" '"command":"plot".*passes over the data'
run --accept-unconverged -e \
    "$data; race pcg(rank=32),lbfgs,svrg(batch=64),psvrg(rank=32,batch=64),amsgrad features=128 noise=1 l=3 rtol=1e-3 maxit=40; plot race out=figure1.csv"
is "all of Figure 1 on one clock" "$(cut -d, -f2 figure1.csv | grep -o 'r[1-5] [a-z]*' | sort |
    uniq -c | awk '$1 > 3 { printf "%s ", $3 }')" "pcg lbfgs svrg psvrg amsgrad "
run --format json --accept-unconverged -e \
    "$data; race pcg,cg by=seconds rank=16 features=128 noise=1 l=3; runs"
has "or another" "$out" '"command":"plot".*seconds'
run --format json --accept-unconverged -e \
    "$data; race rank=4,16,64 features=128 noise=0.05 l=1 rtol=1e-5; race; plot race out=race.csv"
is "a race of ranks" "$(printf '%s\n' "$out" | grep '"command":"fit"' | grep -o '"rank":[0-9]*' |
    tr -dc '0-9\n' | tr '\n' ' ')" "4 16 64 "
has "its table has the largest first" "$out" \
    '"command":"race","by":"passes","rtol":1e-05,"first":"r3","contenders":\[{"place":1,"run":"r3","name":"pcg rank=64","state":"done","iterations":[0-9]*,"passes":[0-9]*,"seconds":[0-9.e-]*,"residual":[0-9.e-]*,"arrival":[0-9]*},{"place":2,"run":"r2"'
is "and is shown again" "$(printf '%s\n' "$out" | grep -c '"command":"race"')" 2
ok "the plot names contenders by what differs" grep -q 'r1 pcg rank=4' race.csv
run --format json --accept-unconverged -e \
    "$data; race kernel=rbf,matern(nu=3/2) precond=gauss,srht2 rank=16 features=128 noise=0.3 l=1"
is "kernels and preconditioners, every combination" \
    "$(printf '%s\n' "$out" | grep '"command":"race"' | grep -o '"name":"[^"]*"' | sort | tr '\n' \
    ' ')" \
    '"name":"pcg matern(nu=3/2) precond=gauss" "name":"pcg matern(nu=3/2) precond=srht2" "name":"pcg rbf precond=gauss" "name":"pcg rbf precond=srht2" '
run --format json -e \
    "$data; fit features=128 solver=pcg precond=gram precision=float noise=0.01 l=1 rtol=1e-6"
is "the whole factor as a preconditioner" $rc 0
ok "leaves a few iterations" test "$(printf '%s\n' "$out" | sed -n \
    's/.*"preconditioner":"gram".*"iterations":\([0-9]*\).*/\1/p')" -le 10
has "and has no rank" "$out" '"rank":null,"preconditioner":"gram"'
run -e "$data; fit features=128 solver=pcg precond=gram noise=0.1 l=1"
has "the run says so" "$out" 'pcg precond=gram'
# What has no use beside the rest is named; what is used is not.
unused() { # SETTINGS; what the note says
    run --format json --accept-unconverged -e "$data; fit noise=1 l=3 maxit=5 $1"
    has "fit $1 names what it leaves aside" "$(printf '%s\n' "$out" | grep '"name":"unused"')" "$2"
}
unused 'solver=cg features=64 precond=srht2' 'solver=cg does not use precond='
unused 'solver=lbfgs features=64 rank=8 precond=gauss' 'solver=lbfgs does not use rank=, precond='
unused 'solver=direct features=64 rank=8' 'solver=direct does not use rank=, maxit='
unused 'solver=exact features=64 rank=8' 'solver=exact does not use features=, rank='
unused 'solver=pcg features=64 precond=jacobi rank=8' 'precond=jacobi has no rank'
unused 'solver=pcg features=64 rank=100' 'rank=100 is more than the 64 features'
unused 'solver=pcg features=63 rank=8' 'features come in pairs, so 64'
for s in 'solver=pcg features=64 rank=8 precond=gauss' 'solver=psvrg features=64 rank=8' 'solver=cg features=64' 'features=64 rank=8' ''; do
    run --format json --accept-unconverged -e "$data; fit noise=1 l=3 $s"
    is "fit $s leaves nothing aside" "$(printf '%s\n' "$out" | grep -c '"name":"unused"')" 0
done
# The session of an exact fit keeps its inputs and weights; the factor for variances follows from
# them when it is needed, with the same bits, also when the data are gone. A star keeps it.
fit='fit solver=exact l=2 noise=0.1'
run -q -s e.gpd -e "demo robot n=600 seed=7; split test=20% seed=7; $fit; predict out=e1.csv; plot slice out=s1.csv"
ok "a small session ($(wc -c <e.gpd) bytes)" test "$(wc -c <e.gpd)" -lt 400000 # the factor: 924,960
run -q -s e.gpd -e 'plot slice out=s2.csv'
ok "has the bands of a plot" cmp s1.csv s2.csv
run -q -s e.gpd -e score
run -s e.gpd -e 'plot parity'
has "a plot after another start knows that the run was scored" "$out$err" \
    'keeps the scores of this run and *not its predictions'
run -q -s e.gpd -e 'predict out=e2.csv'
ok "has the bits of its predictions" cmp e1.csv e2.csv
awk 'BEGIN { srand(9); print "a,b,y"; for (i = 0; i < 200; i++) { a = rand(); b = rand()
    printf "%.4f,%.4f,%.5f\n", a, b, sin(5 * a) + b * b + 0.05 * rand() } }' >gone.csv
head -n 20 gone.csv >some.csv
run -q -s g.gpd -e "open gone.csv; $fit; predict some.csv out=g1.csv"
mv gone.csv kept.csv
run -q -s g.gpd -e 'predict some.csv out=g2.csv'
ok "without its data" cmp g1.csv g2.csv
run -q -s star.gpd -e "demo robot n=600 seed=7; $fit; star r1"
ok "a star keeps the factor ($(wc -c <star.gpd) bytes)" test "$(wc -c <star.gpd)" -gt 1400000

# A precision that the line names counts more than that of `set`.
for line in float double; do
    run -e "$data; set precision=double; fit features=64 precision=$line; export r1 out=r1.json"
    has "precision=$line of the line" "$(cat r1.json)" "\"precision\": *\"$line\""
done
unused 'model=exact solver=cg features=64 rank=8' 'solver=cg does not use features=, rank='
unused 'model=exact solver=pcg features=64 plan=store' 'model=exact does not use features='
unused 'model=exact solver=sdd features=64 rank=8 plan=store' 'solver=sdd does not use features=, rank='
near() { awk -v x="$1" -v y="$2" -v tol="$3" 'BEGIN { exit !(x != "" && (x - y)^2 <= (tol * y)^2) }'; }
# The exact kernel by products: the weights of the Cholesky factor, means, sessions, starts.
products="demo friedman1 n=300 seed=3; split test=20% seed=1; kernel matern(nu=3/2); set l=3 noise=0.3"
run --format json -e "$products; fit solver=exact variance=none; score"
want=$(num rmse)
for s in 'pcg rank=20' 'pcg precond=rpchol rank=20' 'pcg precond=jacobi' cg lbfgs direct; do
    run --format json -e "$products; fit model=exact solver=$s rtol=1e-6; score"
    ok "model=exact solver=$s has the error of the Cholesky factor" near "$(num rmse)" "$want" 1e-4
    has "its record says which model" "$out" '"model":"exact"'
done
run --format json -e "$products; fit model=exact solver=svrg"
has "a solver of features is refused, with what works" "$out" 'fit model=exact solver=pcg'
run --format json -e "$products; fit model=exact solver=pcg precond=gram"
has "and so is a preconditioner of features" "$out" 'precond=pchol'
run --format json -s exact.gpd -e "$products; fit model=exact solver=pcg rtol=1e-2; fit from=r1 model=exact solver=pcg"
has "a fit starts from another one" "$out" 'started from the weights'
run --format json -s exact.gpd -e 'fit continue=r1 rtol=1e-6; score; predict out=exact.csv; score r1'
ok "a session resumes it, and it continues" near "$(num rmse)" "$want" 1e-2
has "a continued fit is of the same kind" "$out" '"model":"exact"'
has "without a factor there are means" "$(head -n 1 exact.csv)" '^row,mean$'
run --format json -e "$products; fit model=exact solver=pcg variance=all; score"
has "variance=all makes the factor" "$out" '"nlpd":'
run -n -e "$products; fit model=exact solver=pcg"
has "a dry run tells what it takes" "$out" 'exact: pcg about .* Cholesky about .* means only'
run --format json -e "$products; fit model=exact"
has "and auto takes the cheapest" "$out" 'exact: Cholesky about .*; pcg about'
# Rows that are asked for are all that an exact tuning uses.
run --format json --mem 64MB -e 'demo friedman1 n=4000; tune solver=exact evals=3'
has "all rows are too many for the memory" "$out" 'exact-size'
has "with a line that works" "$out" 'tune solver=exact rows=3000'
run --mem 64MB -e 'demo friedman1 n=4000; tune solver=exact rows=200 evals=3'
is "some of them are not" "$rc" 0
# Probes need no factor; the value is that of a factor of the same rows, within four errors.
run --format json --mem 64MB -e \
    'demo friedman1 n=4000; kernel rbf; tune solver=exact nmll=approx rank=64 evals=3 error=5%'
is "products need no matrix" "$rc" 0
has "what they take is told first" "$out" 'a value of 4,000 rows .* with a Cholesky factor .* 122 MB'
given="tune solver=exact l=2 amplitude=1 noise=0.3"
run --format json -s probes.gpd -e "demo friedman1 n=600; kernel rbf; $given; $given nmll=approx"
ok "values by a factor and by probes agree" awk -v v="$(printf '%s\n' "$out" |
    sed -n 's/.*"nmll":\([-0-9.e+]*\),"nmll_error":\([-0-9.e+]*\),.*/\1 \2/p;
            s/.*"nmll":\([-0-9.e+]*\),"hyperp.*/\1/p' | tr '\n' ' ')" \
    'BEGIN { n = split(v, p, " "); d = p[1] - p[2]; exit !(n == 3 && p[3] > 0 && d * d < 16 * p[3] * p[3]) }'
run --format json -s probes.gpd -e "undo; undo; redo; compare t1 t2"
is "a session keeps and undoes it" "$rc" 0
has "a value within the error is a tie" "$out" '"ties":\[{"run":"t1","with":"t2"'

# The end of precision is told as that, with the way out of it, and not as a lack of iterations.
run -e "$data; fit features=256 solver=pcg rank=64 plan=regenerate precision=float maxit=2000 noise=1e-2 l=3 rtol=1e-14"
has "single precision has an end" "$out" \
    'Single precision can go no lower. try: fit precision=double'
ok "which more iterations do not move" test -z "$(printf '%s\n' "$out" | grep 'maxit=')"
run -e "$data; fit features=128 solver=psvrg(step=1e-6) rank=16 l=3 noise=1e-3 maxit=5"
has "a solver that stands still is not asked to go on" "$out" 'try: fit continue=r1 solver=pcg'
run --format json --accept-unconverged -e \
    "$data; race pcg(rank=64),svrg(step=1e-6),pcg(rank=32) losers=2 features=128 noise=0.05 l=1 maxit=200000"
has "losers are stopped" "$out" '"name":"race","run":"r2".*has taken [0-9.]* times what r1 took'
has "and have no place" "$(printf '%s\n' "$out" | grep '"command":"race"')" \
    '"place":null,"run":"r2","name":"svrg(step=1e-6)","state":"stopped"'
has "the others run on" "$(printf '%s\n' "$out" | grep '"command":"race"')" \
    '"run":"r3","name":"pcg rank=32","state":"done"'
run --format json -k -e "$data; race pcg,cg rank=16 features=128 noise=0.3 l=1 precond=nobody; race"
has "a race whose contenders all fail has a table" "$out" \
    '"first":null,"contenders":\[{"place":null,"run":null'
run -e "$data; race"
has "no race, no table" "$err" 'no race has been run yet'
run -e "$data; race rank=16 features=128"
has "a race needs at least two contenders" "$err" 'a race needs at least two contenders'
for bad in 'rank=1,2,3,4,5,6,7,8,9' 'by=nothing' 'losers=0.5' 'for=never' 'pcg,direct' 'pcg,,cg' 'pcg(rank=3' 'pcg,nobody' 'svrg(batch=0)'; do
    run -e "$data; race $bad features=128"
    ok "race $bad is refused" test $rc -ne 0
done
run -e "$data; fit features=128 solver=svrg(batch=0)"
ok "a batch without rows is refused" test $rc -ne 0
has "with the range" "$err" 'rows of a batch, 1 to'
run -e "$data; fit features=128 solver=newton"
has "an unknown solver is answered by the known ones" "$err" 'lbfgs'
run -e "$data; fit features=128 solver=lbfgs noise=1 l=3; describe residual by=passes"
has "the residual over passes" "$out" 'passes over the data'

# Predictions: every test row, the header of the contract, sd at least sd_latent.
run --format json -e "$data; fit features=256 $hp; score; predict out=p.csv"
is "predict ends with 0" $rc 0
is "header" "$(head -n 1 p.csv)" "row,mean,sd_latent,sd"
is "one line a test row" "$(($(wc -l <p.csv) - 1))" 150
ok "sd holds the noise" awk -F, 'NR > 1 && !($4 > $3 && $3 > 0) { bad = 1 } END { exit bad }' p.csv
run -e "$data" -e "show 1..3" -e "fit features=256 $hp" -e "predict out=/nonexistent/p.csv"
is "an unwritable place is an error" $rc 1
printf 'old' >kept.csv
run -e "$data; fit features=256 $hp; predict /nonexistent.csv out=kept.csv"
is "a missing input file is 4" $rc 4
is "what was there stays" "$(cat kept.csv)" old

# New files: columns by name in any order, categories never seen, ids carried over.
awk 'BEGIN { srand(1); print "id,a,b,kind,y"; for (i = 0; i < 120; i++) { a = rand(); b = rand(); k = i % 3 ? "u" : "v";
    printf "\"n,%d\",%.4f,%.4f,%s,%.4f\n", i, a, b, k, 3 * a - b + (k == "u") + 0.05 * rand() } }' \
        >train.csv
printf 'kind,b,id,a\nu,0.5,first,0.5\nw,0.25,second,0.75\n' >new.csv
run --format json -e \
    'open train.csv; cols id role=id; missing mean; fit kernel=rbf features=128 noise=0.1; predict new.csv out=q.csv'
is "new file" $rc 0
has "unseen categories are counted" "$out" '"unseen":1'
is "ids are carried over" "$(head -n 1 q.csv) $(sed -n 2p q.csv | cut -d, -f2)" \
    "row,id,mean,sd_latent,sd first"
run -e 'open train.csv; fit kernel=rbf features=128 noise=0.1; predict new.csv out=no.csv'
ok "under missing error they are refused" test $rc -ne 0
has "by value and column" "$err" "'w' in column 'kind'"
ok "a prediction near the truth" between "$(sed -n 2p q.csv | cut -d, -f3)" 1.7 2.35
printf 'b,a\n0.5,0.5\n' >lacks.csv
run -e 'open train.csv; cols id role=id; fit kernel=rbf features=128; predict lacks.csv out=z.csv'
ok "a file that lacks a column is refused" test $rc -ne 0
has "by name" "$err" 'kind'

# Folds, log targets, groups, pictures.
run --format json -e \
    "demo friedman1 n=200 seed=1; split folds=4 seed=2; kernel rbf; fit l=4 noise=0.2 amplitude=2; score folds"
is "folds" $rc 0
has "one score a fold" "$out" '"rmse_folds":\[[^,]*,[^,]*,[^,]*,[^,]*\]'
ok "nothing was tuned, and nothing is said of it" test -z "$(printf '%s\n' "$out" | grep folds-not-tuned)"
run --format json -e "demo friedman1 n=200 seed=1; split folds=4 seed=2; kernel rbf; tune features=64 evals=5; fit features=64; score folds"
has "a tuning on the rows of all folds is told" "$out" '"folds-not-tuned".*hyperparameters of t1'
awk 'BEGIN { srand(2); print "x,y"; for (i = 0; i < 300; i++) { x = 4 * rand(); printf "%.5f,%.6f\n", x, exp(x + 0.1 * (rand() - 0.5)) } }' >log.csv
run --format json -e \
    'open log.csv; scale y=log; split test=30% seed=1; kernel rbf; tune; fit; score'
is "log target" $rc 0
ok "scores are in units of y" between "$(num rmse)" 0.05 3
# Scaled scores are divided by the sd of y itself over the training rows (here by awk), whatever the
# scale.
sd=$(awk -F, \
    'NR > 1 && NR <= 211 { n++; s += $2; q += $2 * $2 } END { printf "%.12g", sqrt(q / n - (s / n) ^ 2) }' log.csv)
for y in log none standard; do
    run --format json -e \
        "open log.csv; scale y=$y; split ordered test=30%; kernel rbf; fit l=1 noise=0.1 amplitude=2; score"
    ok "y=$y: scaled scores are in units of the sd of y" awk -v a="$(num rmse)" -v \
        b="$(num rmse_scaled)" -v sd="$sd" \
        'BEGIN { r = a / (b * sd); exit !(r > 0.99999 && r < 1.00001) }'
done
run --format json -e "$data; fit features=256 $hp; pca dims=3; cluster k=2..4"
is "pca and cluster" $rc 0
has "silhouettes of each k" "$out" '"silhouettes":\['

run --format json -e \
    "plot residual; plot nmll; plot parity; plot calibration; plot sd; plot sderror; plot pca; plot columns"
is "a plot without data draws its reason and succeeds" $rc 0
is "each gives its reason" "$(printf '%s\n' "$out" | grep -c '"reason":"')" 8
run --format json -e \
    "$data; tune features=64 evals=5; fit features=256 solver=pcg rank=32 $hp; score; cluster k=3" \
    -e "plot residual out=residual.csv; plot nmll out=nmll.csv; plot parity out=parity.csv; plot calibration out=calibration.csv" \
    -e "plot sd out=sd.csv; plot sderror out=sderror.csv; plot pca out=pca.csv; plot columns out=columns.txt; plot residual out=residual.svg"
is "exports" $rc 0
for f in residual nmll parity calibration sd sderror pca; do
    ok "$f.csv has numbers" test "$(wc -l <$f.csv)" -gt 3
done
ok "columns.txt is a picture" grep -q . columns.txt
ok "residual.svg is SVG" grep -q '<svg' residual.svg
ok "the residual in the picture falls below 1e-6" awk -F, \
    '$4 != "" && $4 + 0 < 1e-6 { ok = 1 } END { exit !ok }' residual.csv

# A fit without variances has a mean and its scores, and null where a variance is needed.
for y in standard log; do
    run --format json -e \
        "$data; scale y=$y; fit features=128 solver=pcg rank=16 variance=none $hp; score; predict out=n.csv"
    is "variance=none, y=$y" $rc 0
    has "scores of the mean" "$out" '"r2":0.'
    has "nlpd is null" "$out" '"nlpd":null,"nlpd_scaled":null'
    is "a mean alone is written" "$(head -n 1 n.csv)" "row,mean"
done

# Missing cells: what is said counts the scored rows alone, and dropped rows are not filled.
awk 'BEGIN { print "a,y"; for (i = 0; i < 40; i++) print (i % 4 == 3 ? "" : i) "," i % 7 }' \
    >holes.csv
run -e 'open holes.csv target=y; missing mean; split ordered test=20%; fit; score'
has "8 test rows hold 2 of the 10 holes" "$err" '2 missing cells were filled'
run -e 'open holes.csv target=y; missing drop; split ordered test=20%; fit; score'
has "or 2 of them are left out" "$err" '2 rows were left out'
ok "and nothing is filled" test -z "$(printf '%s\n' "$err" | grep 'were filled')"

# One row of 60 that lies far away: the squared error without it, by the predictions themselves.
awk 'BEGIN { print "a,b,y"; for (i = 0; i < 300; i++) print i % 50 "," (i == 299 ? 4000 : i % 7) "," i % 50 + i % 7 }' >far.csv
run -e 'open far.csv target=y; split ordered test=20%; set l=30 amplitude=30 noise=0.01; fit features=256; score; predict out=far-p.csv'
has "a row that makes the error is named" "$err" 'dominated.: row 300 accounts for'
has "and what is strange about it" "$err" 'its b, 4000, lies'
has "and where to look" "$err" 'show 300..300'
rest=$(awk -F, \
    'FNR == NR { if (FNR > 1) y[FNR - 1] = $3; next } FNR > 1 && $1 != 300 { e = y[$1] - $2; s += e * e; n++ } END { printf "%.4g", sqrt(s / n) }' far.csv far-p.csv)
has "the error without it" "$err" "(without it the RMSE is $rest)"

# One lengthscale an input: friedman1 uses five of its ten; the session keeps them, single ones can
# be set, and another number of inputs is refused.
ard='demo friedman1 n=400 seed=2; split test=20% seed=1; kernel rbf(ard)'
run --format json -s ard.gpd -e \
    "$ard; tune features=256; fit features=256; score; predict out=a1.csv"
is "an ARD job ends with 0" $rc 0
has "lengthscales come as an array" "$out" '"hyperparameters":{"lengthscale":\['
has "the kernel knows its inputs" "$out" '"kernel":"rbf(ard=10)"'
has "inputs without influence are named" "$out" \
    '"message":"5 of 10 inputs hardly matter (lengthscale above 100): x6, x7, x8, x9, x10"'
run -s ard.gpd -e \
    'predict out=a2.csv; pca; set l[2]=0.5; get l[2]; fit features=64; kernel rbf(ard=3); fit features=64'
ok "a resumed ARD model predicts the same" cmp a1.csv a2.csv
has "one lengthscale can be set" "$out" 'lengthscale\[2\]  0.5'
has "another number of inputs is refused" "$err" \
    'a lengthscale for each of 3 inputs, the data have 10'

# Leave-one-out as the objective.
run --format json -e \
    'demo friedman1 n=200; split test=20%; kernel rbf; tune objective=loo features=128; fit features=128; score'
is "a leave-one-out tuning ends with 0" $rc 0
has "its score is told beside the nmll" "$out" '"objective":"loo","nmll":[-0-9.e+]*,"loo":'
run -e 'demo friedman1 n=200; tune objective=loo solver=exact'
has "and it is for features" "$err" 'objective=loo is for feature models'
has "with a line that works" "$err" 'try  tune objective=loo features=2048'
run -e 'demo friedman1 n=200; tune objective=loo nmll=approx features=64'
has "probes are for the likelihood" "$err" 'objective=loo does not ask for it'
run -e 'demo friedman1 n=200; tune nmll=approx solver=sparse'
has "not of a sparse model" "$err" 'a sparse model has'
# No iteration, no share of it: a target orthogonal to constant inputs.
awk 'BEGIN { srand(6); print "a,y"; for (i = 0; i < 60; i++) print "1," rand() }' >flat.csv
run -e 'open flat.csv target=y; fit features=64 kernel=rbf solver=pcg noise=1'
has "a rank is told with what was expected" "$err" 'iterations\{0,1\} expected; it took [0-9]*$'
run --format json -e \
    'demo friedman1 n=300; split valid=20% test=20%; kernel rbf; tune objective=validation features=128; fit features=128; score'
is "a tuning by validation ends with 0" $rc 0
has "and tells its score" "$out" '"objective":"validation","nmll":[-0-9.e+]*,"validation":'
run -e 'demo friedman1 n=200; tune objective=validation features=64'
has "it needs rows kept for it" "$err" 'no validation rows'

# Weights: a row of weight 2 is the same row twice, up to a known constant of the likelihood.
# (Left-out errors are not the same: of a row that is there twice, the other one stays.)
awk 'BEGIN { srand(4); print "a,b,y,w"; for (i = 0; i < 90; i++) { a = rand(); b = rand(); w = i % 3 ? 1 : 2;
    printf "%.4f,%.4f,%.4f,%d\n", a, b, sin(6 * a) + b + 0.3 * (rand() - 0.5), w } }' >w.csv
awk -F, '{ print $1 "," $2 "," $3 } NR > 1 && $4 == 2 { print $1 "," $2 "," $3 }' w.csv >twice.csv
for how in "solver=exact" "features=128 precision=double"; do
    run --format json -s w.gpd -e \
        "open w.csv target=y weight=w; scale x=none y=none; kernel rbf; tune l=0.5 amplitude=1 noise=0.3 $how; fit $how rescale=no" \
        -e 'predict twice.csv out=w1.csv; pca'
    is "a weighted job ends with 0 ($how)" $rc 0
    weighted=$(num nmll)
    run -s w.gpd -e 'predict twice.csv out=w3.csv; score on=train'
    is "and resumes ($how)" $rc 0
    ok "with the same predictions ($how)" cmp w1.csv w3.csv
    run --format json -e \
        "open twice.csv target=y; scale x=none y=none; kernel rbf; tune l=0.5 amplitude=1 noise=0.3 $how; fit $how rescale=no; predict twice.csv out=w2.csv"
    ok "weights count in the likelihood ($how)" between "$(num nmll)" \
        "$(awk -v w="$weighted" \
        'BEGIN { print w + 30 * log(0.6 * sqrt(3.14159265358979)) - 1e-3 }')" \
        "$(awk -v w="$weighted" \
        'BEGIN { print w + 30 * log(0.6 * sqrt(3.14159265358979)) + 1e-3 }')"
    ok "and in the predictions ($how)" awk -F, \
        'NR == FNR { m[FNR] = $2; next } FNR > 1 && (m[FNR] - $2) ^ 2 > 1e-8 { bad = 1 } END { exit bad }' w1.csv w2.csv
done
sed '5s/,[12]$/,0/' w.csv >w0.csv
run -e 'open w0.csv target=y weight=w; fit features=64 kernel=rbf'
has "a weight of 0 is refused, with its row" "$err" "the weight 'w' is 0 in row 4"
run -e 'open train.csv target=y weight=kind'
has "words are no weights" "$err" 'weights are numbers above 0'

# Refusals: a constant target at the fit, hyperparameters that cannot be, unknown names.
printf 'x,y\n1,2\n2,2\n3,2\n4,2\n5,2\n6,2\n' >const.csv
run -e 'open const.csv; fit features=64 kernel=rbf'
is "a constant target is refused at the fit" $rc 1
run -e "$data; fit l=-1"
ok "a negative lengthscale is refused" test $rc -ne 0
run -e "$data; fit solver=nonsense"
ok "an unknown solver is refused" test $rc -ne 0
has "with the known ones" "$err" 'pcg'
run -e "$data; plot nonsense"
has "an unknown plot is refused with the known ones" "$err" 'parity'

# Restarts: runs of one line, of which the best counts.
runs3='demo friedman1 n=300 seed=1; split test=25% seed=2; kernel rbf + periodic; tune features=64 restarts=3 evals=9'
run --format json -s restarts.gpd -e "$runs3; runs; history; set"
is "three restarts are three tunings" "$(printf '%s\n' "$out" | grep '"command":"tune"' | grep -o \
    '"run":"t[0-9]"' | tr '\n' ' ')" '"run":"t1" "run":"t2" "run":"t3" '
is "each says which it is" "$(printf '%s\n' "$out" | grep '"command":"tune"' | grep -o \
    '"restart":[0-9],"restarts":3' | tr '\n' ' ')" \
    '"restart":1,"restarts":3 "restart":2,"restarts":3 "restart":3,"restarts":3 '
least=$(printf '%s\n' "$out" | grep '"command":"tune"' | sed \
    's/.*"run":"\([^"]*\)".*"nmll":\([-0-9.e]*\),.*/\2 \1/' | sort -g | head -n 1)
is "the best is that of least NMLL" "$(printf '%s\n' "$out" | sed -n \
    's/.*"command":"restarts","best":"\([^"]*\)".*/\1/p')" "${least##* }"
is "its noise is the current one" "$(printf '%s\n' "$out" | grep '"command":"set"' | grep -o \
    '"noise","value":[0-9.]*' | tail -n 1 | tr -d 'a-z,:"')" \
    "$(printf '%s\n' "$out" | grep "\"command\":\"tune\",\"run\":\"${least##* }\"" | grep -o \
    '"noise":[0-9.]*' | tr -d 'a-z,:"')"
is "and no worse than the first" "$(printf '%s\n' "$out" | grep '"command":"restarts"' | grep -c \
    '"above":-')" 0
is "the line is one line of the history" "$(printf '%s\n' "$out" | grep '"command":"history"' |
    grep -o '"line":"tune [^"]*"' | wc -l)" 1
run --format json -s restarts.gpd -e \
    'runs; undo; set; compare t1 t2 t3; plot nmll t1 t2 t3 out=restarts.csv'
is "the session has them" "$(printf '%s\n' "$out" | grep '"command":"runs"' | grep -o \
    '"restart":[0-9]' | tr '\n' ' ')" '"restart":1 "restart":2 "restart":3 '
has "undo takes them back at once" "$out" '"command":"undo".*restarts=3'
has "to the starting values" "$(printf '%s\n' "$out" | grep '"command":"set"')" \
    '"noise","value":0.1,'
has "they lie side by side" "$(printf '%s\n' "$out" | grep '"command":"compare"')" '"restart":3'
ok "and over each other" grep -q 't3 restart 3' restarts.csv
run -e "$runs3; compare t1 t2 t3"
has "in words, too" "$out" 'plot nmll t1 t2 t3 draws their curves together'
for m in grid lbfgs neldermead bobyqa; do
    run --format json -e \
        "demo friedman1 n=200 seed=1; kernel rbf; tune features=64 restarts=2 evals=6 method=$m"
    is "method=$m ends with 0" $rc 0
    has "and has two" "$out" \
        '"command":"restarts","best":"t[12]","objective":"nmll","runs":\[{"run":"t1".*{"run":"t2"'
done
run --format json -e \
    "$data; tune features=64 restarts=2 evals=6 objective=loo; tune features=512 nmll=approx rank=16 restarts=2 evals=4"
has "by another objective" "$out" \
    '"command":"restarts","best":"t[12]","objective":"loo","runs":\[{"run":"t1","state":"done","evaluations":[0-9]*,"loo":'
has "by probes" "$out" '"command":"restarts","best":"t[34]","objective":"nmll"'
run --format json -e "$data; tune features=64 restarts=2 noise=-1"
is "a line that cannot be tuned is one error" "$(printf '%s\n' "$out" | grep -c '"type":"error"')" 1
run -e "$data; tune restarts=99"
has "there are not too many" "$err" 'restarts'

finish
