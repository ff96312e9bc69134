#!/bin/sh
# Exact kernels at scale on real data (../shared/data), split 0: conjugate gradients, dual descent
# with functions of the posterior, Cholesky, random features; proposals and their rounds.
# Usage: tests/bench/dual.sh [JOB...]; all jobs by default.  "tests/bench/dual.sh list" names them.
# One JSON line for each finished job is kept in $OUT (dual.jsonl), which is read back: a job runs
# once.  "tests/bench/dual.sh table" prints what is there.  THREADS, SEED and KEEP (a folder for
# sessions and outputs) may be set, and MAXIT, the steps of sdd in robot-N, keggundirected, sgemm.
set -u
gpdesk=${GPDESK:-build/gpdesk}
shared=${GPDESK_SHARED:-${top_srcdir:-.}/../shared}
out=${OUT:-dual.jsonl}
threads=${THREADS:-2}
seed=${SEED:-7}
work=$(mktemp -d)
keep=${KEEP:-$work}
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
touch "$out"
mkdir -p "$keep"

list="pol-cholesky pol-pcg pol-sdd bike-pcg bike-cholesky bike-sdd protein-pcg protein-sdd
pol-tune robot-50000 robot-100000 robot-200000 robot-50000-features keggundirected
keggundirected-features sgemm sgemm-features gb1-bo gb1-loop
bo-0.2-7 bo-0.2-8 bo-0.2-9 bo-0.2-10 bo-0.2-11 bo-0.3-7 bo-0.3-8 bo-0.3-9 bo-0.3-10 bo-0.3-11
bo-0.5-7 bo-0.5-8 bo-0.5-9 bo-0.5-10 bo-0.5-11"

# The last value of a field in the records of a command.
field() { # COMMAND NAME
    grep "\"type\":\"result\".*\"command\":\"$1\"" "$work/out" | tail -n 1 |
        sed -n "s/.*\"$2\":\"\{0,1\}\([^\",}]*\).*/\1/p"
}

# One run of the program with its costs; what it printed is in $work/out and $keep/JOB.json.
run() { # JOB LINE...
    job=$1
    shift
    : >"$work/job.gps"
    for line in "$@"; do printf '%s\n' "$line" >>"$work/job.gps"; done
    /usr/bin/time -v -o "$work/time" "$gpdesk" --no-config --accept-unconverged --format json \
        --threads "$threads" --seed "$seed" -s "$keep/$job.gpd" -f "$work/job.gps" \
        >"$work/all" 2>"$work/err" || {
        echo "$job: exit status $?"
        grep '"error"' "$work/all" | head -n 3
        return 1
    }
    grep -v '"type":"tick"' "$work/all" | tee "$keep/$job.json" >"$work/out"
}

# The line of a job: NAME VALUE pairs, then what time(1) says.
done_with() { # JOB [NAME VALUE]...
    awk -v job="$1" -v pairs="$(shift; echo "$@")" '
    /User time/ { user = $NF }  /System time/ { sys = $NF }
    /Maximum resident/ { peak = $NF / 1024 }
    /Elapsed/ { k = split($NF, t, ":"); wall = 0; for (i = 1; i <= k; i++) wall = 60 * wall + t[i] }
    END {
        printf "{\"job\":\"%s\"", job
        n = split(pairs, p, " ")
        for (i = 1; i < n; i += 2)
            printf p[i + 1] ~ /^[-+0-9.eE]+$/ ? ",\"%s\":%s" : ",\"%s\":\"%s\"", p[i], p[i + 1]
        printf ",\"cpu\":%.1f,\"wall\":%.1f,\"peak_mb\":%.0f}\n", user + sys, wall, peak
    }' "$work/time" | tee -a "$out"
}

or_none() { echo "${1:-none}"; }
scores() {
    for f in rmse_scaled nlpd_scaled coverage95; do
        printf '%s %s ' $f "$(or_none "$(field score $f)")"
    done
}
fits() {
    for f in iterations residual passes step_halved samples_residual solve; do
        printf '%s %s ' $f "$(or_none "$(field fit $f)")"
    done
}

opened() { # DATA
    echo "open $shared/data/$1/data.csv.gz target=y; split file=$shared/data/$1/splits.csv.gz" \
        "column=split0; kernel matern(nu=3/2,ard)"
    [ "$1" != sgemm ] || echo '; cols run1,run2,run3,run4 role=skip' # their mean is the target
}

# The published hyperparameters of split 0.
published() { # DATA
    sed -n "s/^$1,0,//p" "$shared/data/sdd_hyperparameters.csv" | awk -F, '{
        gsub(" ", ",", $3); printf "set noise=%s amplitude=%s l=%s\n", $1, $2, $3 }'
}

solved() { # JOB DATA FIT
    run "$1" "$(opened "$2")" "$(published "$2")" "fit $3" score &&
        done_with "$1" $(scores) $(fits)
}

# Hyperparameters by the exact likelihood of 1000 rows, then steps on all rows, or features; those
# of robot's features by 2048 of them.
found() { # JOB SOURCE FIT
    case $1 in
    robot-*-features) tune="tune features=2048" ;;
    *) tune="tune solver=exact rows=1000" ;;
    esac
    run "$1" "$2" "$tune" "fit $3" score &&
        done_with "$1" $(scores) $(fits) tune "$(field tune seconds)"
}
robot() { # ROWS
    echo "demo robot n=$1 seed=7; split test=4% seed=7; kernel matern(nu=3/2,ard)"
}
steps() {
    echo "model=exact solver=sdd plan=regenerate variance=none rtol=1e-6 maxit=${MAXIT:-$1}"
}

# The best value after the last round of a rule and a solver.
last_best() { # RULE SOLVER
    grep "\"by\":\"$1\",\"solver\":$2," "$work/out" | tail -n 1 |
        sed -n 's/.*"best":\([-+0-9.eE]*\).*/\1/p'
}
bo_draw() { # JOB L SEED
    run "$1" "kernel matern(nu=3/2)" "bo draw dims=8 l=$2 start=2000 rounds=8 batch=100 seed=$3 \
by=thompson,random solver=exact,sdd" &&
        done_with "$1" exact "$(last_best thompson '"exact"')" sdd "$(last_best thompson '"sdd"')" \
            random "$(last_best random null)"
}
found1() { # RULE: mean over the seeds after the last round
    grep "\"by\":\"$1\"" "$work/out" | grep '"round":5,' |
        sed -n 's/.*"found1":\([-+0-9.eE]*\).*/\1/p' | awk '{ s += $1 } END { print s / NR }'
}
gb1_bo() {
    run gb1-bo "open $shared/data/gb1/data.csv.gz target=target" "kernel rbf" \
        "bo table start=96 rounds=5 batch=96 seeds=5 by=thompson,mean,random" &&
        done_with gb1-bo thompson "$(found1 thompson)" mean "$(found1 mean)" random \
            "$(found1 random)"
}

# 4,000 measured variants, the others a pool: fit, propose 96, tell what the file says, fit again.
gb1_loop() {
    gzip -dc "$shared/data/gb1/data.csv.gz" | cut -d, -f1,2 |
        awk -v d="$work" 'NR == 1 { print >(d "/had.csv"); print "sequence" >(d "/pool.csv"); next }
            NR % 2 { split($0, p, ","); print p[1] >(d "/pool.csv"); next }
            { print >(d "/had.csv") }'
    /usr/bin/time -v -o "$work/time" sh -c '
        d=$1 gpdesk=$2
        shift 2
        "$gpdesk" "$@" -e "open $d/had.csv target=target; kernel rbf; tune; fit; \
suggest 96 pool=$d/pool.csv out=$d/plate.csv"
        gzip -dc "$0" | awk -F, "FNR == 1 && NR > 1 { print \$0 \",target\"; next }
            NR == FNR { y[\$1] = \$2; next } { print \$0 \",\" y[\$2] }" - "$d/plate.csv" >"$d/told.csv"
        "$gpdesk" "$@" -e "tell $d/told.csv; fit"' "$shared/data/gb1/data.csv.gz" "$work" \
        "$gpdesk" --no-config --accept-unconverged --format json --threads "$threads" \
        --seed "$seed" -s "$work/gb1.gpd" >"$work/all" 2>"$work/err" ||
        { echo "gb1-loop: exit status $?"; cat "$work/err"; return 1; }
    grep -v '"type":"tick"' "$work/all" | tee "$keep/gb1-loop.json" >"$work/out"
    done_with gb1-loop told "$(field tell told)" best_before "$(field suggest best)" \
        best "$(field tell best)" rows "$(field fit rows)"
}

start() { # JOB
    case $1 in
    *-pcg) solved "$1" "${1%-pcg}" "model=exact solver=pcg precond=pchol rank=100 rtol=1e-3 \
maxit=3000 variance=none" ;;
    *-cholesky) solved "$1" "${1%-cholesky}" "solver=exact variance=none" ;;
    *-sdd) solved "$1" "${1%-sdd}" "model=exact solver=sdd maxit=5000 samples=64 variance=samples" ;;
    pol-tune)
        run "$1" "$(opened pol)" "tune solver=exact rows=3000" "fit solver=exact" score &&
            done_with "$1" $(scores) tune "$(field tune seconds)" ;;
    robot-*-features) found "$1" "$(robot 50000)" "features=8192" ;;
    robot-200000) found "$1" "$(robot 200000)" "$(steps 200)" ;;
    robot-*) found "$1" "$(robot "${1#robot-}")" "$(steps 2000)" ;;
    *-features) found "$1" "$(opened "${1%-features}")" "features=8192" ;;
    gb1-bo) gb1_bo ;;
    gb1-loop) gb1_loop ;;
    bo-*) bo_draw "$1" "$(echo "$1" | cut -d- -f2)" "$(echo "$1" | cut -d- -f3)" ;;
    keggundirected) found "$1" "$(opened "$1")" "$(steps 2000)" ;;
    sgemm) found "$1" "$(opened "$1")" "$(steps 1000)" ;;
    *)
        echo "$1: no such job; tests/bench/dual.sh list names them" >&2
        exit 2 ;;
    esac
}

case ${1:-} in
list)
    echo $list | tr ' ' '\n'
    exit 0 ;;
table)
    sed 's/^{//; s/}$//; s/"//g; s/,/  /g; s/:/ /g' "$out"
    exit 0 ;;
esac
[ $# -gt 0 ] || set -- $list
for j in "$@"; do
    grep -q "\"job\":\"$j\"" "$out" || start "$j"
done
