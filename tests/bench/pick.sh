#!/bin/sh
# tests/bench/pick.sh BUILD [OUT] -- pick by thompson on molecules of qm9smiles, whose target is
# crippen_logp, as in Figure 4 of Tripp et al. 2023: a fit of 1000 molecules picks 100 of the
# others.
#
#   chosen   mean target of the picked by exact joint draws and by 5000 random features, of 5,000
#            molecules, SEEDS seeds each (10): the difference beside its standard error
#   seconds  processor seconds of a pick by 5000 random features, of pools of 10,000 to 100,000
#            molecules (POOLS): linear
#
# A line of OUT (pick.txt) for each pick and pool; a second call makes only those that are missing.
# Needs a build with RDKit and the shared data; about three minutes of processor time.
build=${1:?usage: tests/bench/pick.sh BUILD [OUT]} out=${2:-pick.txt}
data=${GPDESK_SHARED:-$(dirname "$0")/../../../shared}/data/qm9smiles
[ -x "$build/gpdesk-molecules" ] || {
    echo "no gpdesk-molecules in $build: configure found no RDKit" >&2
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
touch "$out"

# A table of 1000 molecules that train and as many others as are asked for, spread over the file.
table() { # POOL
    gzip -dc "$data/data.csv.gz" | awk -F, -v pool="$1" '
        NR == 1 { print $0 ",part"; next }
        { key[NR] = (NR * 7919) % 133253; line[key[NR]] = $0 }
        END { for (i = 0; i < 133253 && n < pool + 1000; i++)
            if (i in line) { print line[i] (n < 1000 ? ",train" : ",test"); n++ } }' \
        >"$work/$1.csv"
}
begin() { # POOL FIT
    printf '%s' "open $work/$1.csv target=crippen_logp; cols tpsa role=skip; " \
        "cols smiles encoding=morgan(radius=1); split column=part; kernel tanimoto; " \
        "$2 amplitude=1 noise=0.3 rescale=no"
}
picks() { # NAME POOL FIT SEEDS
    lines="$(begin "$2" "$3")" k=0 todo=
    while [ $k -lt "$4" ]; do
        k=$((k + 1))
        grep -q "^$1 $2 $k " "$out" && continue
        todo="$todo $k"
        lines="$lines; pick test count=100 by=thompson seed=$k"
    done
    [ -n "$todo" ] || return
    [ -e "$work/$2.csv" ] || table "$2"
    "$build/gpdesk" --no-config --threads 1 --format json -e "$lines" >"$work/said" 2>&1
    grep '"command":"pick"' "$work/said" >"$work/picked" || {
        grep '"error"' "$work/said" >&2
        exit 1
    }
    awk -v name="$1 $2" -v seeds="$todo" '
        function field(key) {
            match($0, "\"" key "\":[-0-9.e+]*")
            return substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
        }
        BEGIN { split(seeds, k, " ") }
        { print name, k[NR], field("mean_chosen"), field("mean_best"),
            field("mean_chance") }' "$work/picked" >>"$out"
}

picks exact 5000 fit "${SEEDS:-10}"
picks features 5000 'fit features=5000' "${SEEDS:-10}"
# The processor seconds of three picks beyond one, from those of a process with four.
user() { awk 'NR == 2 { split($1, a, /[ms]/); print 60 * a[1] + a[2] }' "$work/time"; }
timed() { # LINES
    ("$build/gpdesk" --no-config --threads 1 --format json -e "$1" >/dev/null 2>&1 || exit 1
        times) >"$work/time" || exit 1
    user
}
for pool in ${POOLS:-10000 20000 50000 100000}; do
    grep -q "^pool $pool " "$out" && continue
    table "$pool"
    lines="$(begin "$pool" 'fit features=5000'); pick test count=100 seed=1"
    timed "$lines" >/dev/null # it fills the cache
    one=$(timed "$lines")
    more="pick test count=100 seed=2; pick test count=100 seed=3; pick test count=100 seed=4"
    four=$(timed "$lines; $more")
    echo "pool $pool $one $four" | awk '{ print $1, $2, ($4 - $3) / 3 }' >>"$out"
done
# kind, pool, seed, means of the chosen, the best and all; of pools the seconds
awk '
    $1 == "pool" { printf "pool %7d  %.3f s a pick, %.2f us a row\n", $2, $3, 1e6 * $3 / $2; next }
    { k = $1; n[k]++; s[k] += $4; q[k] += $4 * $4; best = $5; all = $6 }
    function mean(k) { return s[k] / n[k] }
    function se(k) { return sqrt((q[k] / n[k] - mean(k) ^ 2) / (n[k] - 1)) }
    END {
        for (k in n)
            printf "%-8s  %2d picks of 5,000: chosen %.4f +- %.4f  best %.4f  chance %.4f\n", k,
                n[k], mean(k), se(k), best, all
        d = mean("features") - mean("exact"); e = sqrt(se("exact") ^ 2 + se("features") ^ 2)
        printf "features - exact: %.4f, standard error %.4f: %.2f of them\n", d, e, d / e
    }' "$out"
