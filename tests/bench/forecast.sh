#!/bin/sh
# Is the truth inside the range?  A grid of 60 ill-conditioned fits: ten data sets, each with six
# settings of kernel, lengthscale, noise and rank at which conjugate gradients are slow or stall.
# Each is asked of `advise` and then made; the iterations taken must lie inside the range that was
# given before the run for nine cases of ten ("more than N" has no upper end).  A fit that ends at
# maxit has needed more than that: its range must reach beyond it.
# Usage: tests/bench/forecast.sh [DATA...]   ROWS=3000 FEATURES=1024 MAXIT=8000
# about ten minutes of processor time.  The table is kept in tests/bench/forecast.md.  The last line
# is JSON.
set -u
gpdesk=${GPDESK:-build/gpdesk}
shared=${GPDESK_SHARED:-${top_srcdir:-.}/../shared}
rows=${ROWS:-3000}
features=${FEATURES:-1024}
maxit=${MAXIT:-8000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
[ $# -gt 0 ] || set -- bike kin40k airfoil pol protein sml sulfur skillcraft \
    keggundirected road3d_sample

# Kernel, lengthscale, noise, rank (0: no preconditioner).
cat > "$work/settings" <<'END'
rbf 3 1e-4 512
rbf 3 1e-3 128
rbf 1 1e-2 0
matern(nu=5/2) 2 1e-3 128
matern(nu=3/2) 1 3e-4 256
rbf 5 1e-3 0
END

# The first columns of a set: ROWS rows, evenly spread, its one target last.
rows_of() {
    zcat "$shared/data/$1/data.csv.gz" > "$work/all.csv"
    awk -v rows="$rows" -v all="$(wc -l < "$work/all.csv")" '
        BEGIN { step = (all - 1) / rows; if (step < 1) step = 1; next_row = 0 }
        NR == 1 || NR - 2 >= next_row { print; if (NR > 1) next_row += step }' "$work/all.csv"
}

for data in "$@"; do
    [ -r "$shared/data/$data/data.csv.gz" ] || { echo "$data: skipped"; continue; }
    rows_of "$data" > "$work/$data.csv"
    skip=
    target=y
    case $data in
    bike) skip=' skip=x16,x17' ;; # they add up to the target
    sulfur) target=y1; skip=' skip=y2' ;;
    esac
    while read -r kernel l noise rank; do
        solver="pcg rank=$rank"
        [ "$rank" -gt 0 ] || solver=cg
        with="features=$features maxit=$maxit rescale=no l=$l noise=$noise amplitude=1"
        "$gpdesk" --no-config --format json --threads "${THREADS:-2}" --seed "${SEED:-7}" \
            -e "open $work/$data.csv target=$target$skip; split none; kernel $kernel" \
            -e "advise $with rank=$rank law=plain" \
            -e "fit solver=$solver $with variance=none" > "$work/out" 2> "$work/err"
        awk -v name="$data $kernel l=$l noise=$noise" -v r="$rank" '
            function num(s, key,   i) {
                i = index(s, "\"" key "\":")
                return i ? substr(s, i + length(key) + 3) + 0 : "nan" }
            /"type":"result","command":"advise"/ {
                n = split(substr($0, index($0, "\"rows\":[")), row, "{")
                for (i = 2; i <= n; i++)
                    if (num(row[i], "rank") == r) {
                        want = num(row[i], "iterations"); low = num(row[i], "iterations_low")
                        high = num(row[i], "iterations_high")
                        more = row[i] ~ /"iterations_more":true/ } }
            /"type":"result","command":"fit"/ {
                took = num($0, "iterations"); ended = $0 ~ /"outcome":"rtol"/
                cond = num($0, "condition") }
            END {
                ok = took >= low && (more || (ended ? took <= high : took < high))
                if (!ended && took < low) ok = 1 # it was stopped before the range begins
                printf "%-44s rank %4d  condition %8.2g  %s%d..%s  taken %s%d  %s\n", name, r, cond,
                    more ? "more than " : want ", ", low, more ? "" : high, ended ? "" : "> ", took,
                    ok ? "inside" : "OUTSIDE" }' "$work/out"
    done < "$work/settings"
done | tee "$work/table"
all=$(grep -c 'rank' "$work/table")
good=$(grep -c 'inside$' "$work/table")
printf '{"bench":"forecast","all":%d,"inside":%d}\n' "$all" "$good"
[ "$((10 * good))" -ge "$((9 * all))" ]
