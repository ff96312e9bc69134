#!/bin/sh
# tests/scripts/examples.sh -- every example of the command table runs on bundled data.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

# What an example may rely on: data, a split, a kernel, a tuning, two fits and a score.
before='demo friedman1 n=120 seed=1; split test=25% seed=2; kernel rbf; tune features=64 evals=4;
fit features=64; fit features=128; score'
# What takes long at the size of its example is run with fewer rows and features.
mkdir -p "$dir/share/examples"
for file in "$src"/share/*; do
    test "${file##*/}" = examples || ln -s "$file" "$dir/share/${file##*/}"
done
for file in "$src"/share/examples/*; do
    case $file in
    */demo.gps) sed 's/n=4000/n=400/; s/=1024/=128/' "$file" \
        >"$dir/share/examples/demo.gps" ;;
    *) ln -s "$file" "$dir/share/examples/${file##*/}" ;;
    esac
done
is "the demonstration has its steps" "$(grep -c \
    '^fit$\|^tune .*=128$\|^demo .*n=400 ' \
    "$dir/share/examples/demo.gps")" 3
cd "$src" || exit 99
"$gpdesk" -q -e 'help' | sed -n 's/^  \([a-z]*\) .*/\1/p' >"$dir/verbs"
ok "there are verbs" test -s "$dir/verbs"
while read -r verb; do
    "$gpdesk" -q -e "help $verb" | sed -n '/^example  /,/^[a-z]/{s/^example  //p;s/^         //p}' \
        >"$dir/lines"
    while read -r line; do
        before_this=$before
        case $verb in
        resume) # needs a session that somebody left
            (cd "$dir" && "$gpdesk" -q -e 'demo toy; save' >/dev/null 2>&1)
            before_this= ;;
        salvage) # needs a session to read, whole or not
            (cd "$dir" && "$gpdesk" -q -s broken.gpd -e "demo toy" >/dev/null 2>&1)
            before_this= ;;
        source) before_this= ;;
        tell) before_this="$before; suggest 2" ;;
        season) before_this='demo co2' ;; # needs a column of dates
        calibrate) # needs 19 rows to keep aside
            before_this=$(printf '%s\n' "$before" | sed 's/n=120/n=400/') ;;
        inducing) before_this="$before; fit solver=sparse inducing=10" ;;
        words | motif) before_this='demo motifs n=60; kernel spectrum(n=3); fit' ;;
        cliffs) # needs molecules
            printf 'smiles,y\nCCO,1\nCCCO,1.2\nCCCCO,9\nCCN,4\nCCCN,5\n' >"$dir/molecules.csv"
            before_this='open molecules.csv' ;;
        redo) before_this="$before; set l=2; undo" ;;
        esac
        case $line in
        stop*) # with nothing to stop it says so
            "$gpdesk" -q -e "$before_this" -e "$line" >"$dir/.o" 2>&1
            has "$line" "$(cat "$dir/.o")" 'no job is running' ;;
        pause*) # the same
            "$gpdesk" -q -e "$line" >"$dir/.o" 2>&1
            has "$line" "$(cat "$dir/.o")" 'no job is paused' ;;
        *)
            # Files that examples write land in the test's own directory.
            run_this=$line
            test "$verb" != sweep || run_this=$(printf '%s\n' "$line" |
                sed '/features=/!s/$/ features=128/')
            (cd "$dir" && timeout 300 "$gpdesk" -q -e "$before_this" -e "$run_this" >.o 2>&1)
            result $? "$line" "$(tail -n 5 "$dir/.o")" ;;
        esac
    done <"$dir/lines"
done <"$dir/verbs"

# The figure of the paper, smaller: every construction and rank came to its end, and both files are
# pictures.
if command -v gnuplot >/dev/null; then
    ok "figure1.sh runs" env GPDESK="$gpdesk" \
        DATA='demo robot n=600 seed=7; split test=20% seed=7' \
        FIT='features=256 l=3 noise=0.3 rtol=1e-4 variance=none' RANKS='16 64' RANK=64 \
        sh "$src/share/examples/figure1.sh" "$dir"
    is "with six fits by PCG" "$(grep -c '^pcg,.*,rtol,' "$dir/figure1a.csv")" 6
    ok "more rank takes fewer iterations" awk -F, '$1 == "pcg" { it[$3 "," $2] = $5 }
        END { exit !(it["srht2,64"] < it["srht2,16"] && it["gauss,64"] < it["gauss,16"]) }' \
        "$dir/figure1a.csv"
    ok "two pictures" grep -q '</svg>' "$dir/figure1a.svg" "$dir/figure1b.svg"
    ok "the second of passes" grep -q 'passes over the data' "$dir/figure1b.svg"
    # Sequences and molecules: three ways to compare windows; sds of rows like the training rows and
    # of others; directions, clusters and energies.
    ok "figure1d.sh runs" env GPDESK="$gpdesk" \
        DATA='few; demo proteins n=400 seed=1; split test=25% seed=1' SIZES='100 200' \
        KERNELS='conv(rbf,width=5) convdense(rbf,width=5) fastconv(rbf,width=5,filters=64)' \
        SEEDS='1 2' TUNE='features=64 evals=4' FIT='features=128' \
        sh "$src/share/examples/figure1d.sh" "$dir"
    is "a line for each kernel, size and seed" \
        "$(awk -F, 'NR > 1 && NF == 6 && $5 > 0 && $6 * $6 <= 1' "$dir/figure1d.csv" | wc -l)" 12
    is "a mean for each kernel and size" "$(awk -F, 'NF == 6 && $6 >= 0' "$dir/figure1d-mean.csv" \
        | wc -l)" 6
    ok "figure2b.sh runs" env GPDESK="$gpdesk" \
        DATA='near; demo proteins n=400 seed=1; split test=25% seed=1; kernel conv(rbf,width=5); tune features=128 evals=6; fit features=256
far; demo proteins n=400 seed=1; split column=few_vs_many; kernel conv(rbf,width=5); tune features=128 evals=6; fit features=256' \
        sh "$src/share/examples/figure2b.sh" "$dir"
    ok "sds are larger, and too small, on rows unlike the training rows" awk -F, \
        '$1 == "near" { c = $2; r = $4 / $3 }
        $1 == "far" { d = $2; s = $4 / $3 } END { exit !(c > 0.85 && d < c - 0.1 && s > 1.1 * r) }' "$dir/figure2b.csv"
    ok "maps_spectra.sh runs" env GPDESK="$gpdesk" ROWS=150 STEPS=5 WIDTHS='4 32' RANKS='2 16' \
        sh "$src/share/examples/maps_spectra.sh" "$dir"
    ok "a map of rank 2 has two eigenvalues, and all fall" awk -F, 'NR > 1 {
            if ($2 == was && $4 > last * 1.000001) exit bad = 1
            was = $2; last = $4; n[$2]++ }
        END { exit bad || n["out 2"] != 2 || n["out 16"] > 16 || n["rbf"] < 40 }' \
        "$dir/maps_spectra.csv"
    ok "maps_shapes.sh runs" env GPDESK="$gpdesk" ROWS=800 STEPS=20 WIDTH=16 STARTS=1 \
        sh "$src/share/examples/maps_shapes.sh" "$dir"
    ok "principal components have mean 0 and length 1" awk -F, 'FNR == 1 { next }
        { n[FILENAME]++; s[FILENAME] += $7; q[FILENAME] += $7 ^ 2 }
        END { for (f in n) if (q[f] / n[f] < 0.99 || q[f] / n[f] > 1.01 || (s[f] / n[f]) ^ 2 > 0.01)
                  exit 1 }' "$dir/maps_circle.csv" "$dir/maps_torus.csv"
    ok "maps as pictures" test -s "$dir/maps_spectra.png" -a -s "$dir/maps_shapes.png"
    ok "strings_figure3.sh runs" env GPDESK="$gpdesk" RUNS=2 SIZES='2 100' POINTS=3 \
        DATA='demo motifs n=200 seed=1; split test=50% seed=1' \
        sh "$src/share/examples/strings_figure3.sh" "$dir"
    is "a line for each size" "$(awk -F, 'NR > 1 && NF == 4 && $2 < 0 && $3 >= 0 && $4 >= 0' \
        "$dir/strings_figure3.csv" | wc -l)" 2
    ok "strings_table3.sh runs" env GPDESK="$gpdesk" ROWS='100 200' POINTS='8 16' AT=100 WITH=8 \
        WAYS='random greedy(subset=10) anneal(steps=2000) exact' \
        sh "$src/share/examples/strings_table3.sh" "$dir"
    is "a line for each way and size" "$(awk -F, 'NR > 1 && NF == 4' "$dir/strings_table3.csv" |
        wc -l)" 11
    is "and a line of exponents for each way" "$(wc -l <"$dir/strings_table3.txt" | tr -d ' ')" 5
    ok "as pictures" grep -q '</svg>' "$dir/strings_table3.svg" "$dir/strings_figure3.svg"
    ok "figureS5.sh runs" env GPDESK="$gpdesk" \
        DATA='demo molecules n=200 seed=7; split test=20% seed=1' TUNE='features=128 evals=4' \
        FIT='features=256' CLUSTER='k=2..4 dims=6 features=256' sh \
        "$src/share/examples/figureS5.sh" "$dir"
    ok "the first direction goes with the energy" awk -F, \
        'NR > 1 { n++; a += $3; b += $NF; aa += $3 * $3; bb += $NF * $NF; ab += $3 * $NF }
        END { r = (n * ab - a * b) / sqrt((n * aa - a * a) * (n * bb - b * b)); exit !(n == 160 && r * r > 0.5) }' "$dir/figureS5.csv"
    # Descents in dual variables: the dual objective gets further than the primal; random features
    # do not reach what coordinates do; momentum helps.
    for i in 1 2 3; do
        ok "sdd_figure$i.sh runs" env GPDESK="$gpdesk" FIT='maxit=400' \
            DATA='demo friedman1 n=300 seed=2; split test=20% seed=1; kernel matern(nu=3/2);
set l=2 amplitude=1 noise=0.2' sh "$src/share/examples/sdd_figure$i.sh" "$dir"
        ok "sdd_figure$i has three pictures" grep -q '</svg>' "$dir/sdd_figure${i}_k.svg" \
            "$dir/sdd_figure${i}_k2.svg" "$dir/sdd_figure${i}_rmse.svg"
    done
    last() { # FIGURE RUN: the last error of a curve
        awk -F, -v r="^\"*$2 " '{ sub(/,*$/, "") } $2 ~ r { v = $NF } END { print v + 0 }' \
            "$dir/sdd_figure$1.csv"
    }
    ok "dual before primal" awk "BEGIN { exit !($(last 1 r2) < $(last 1 r4)) }"
    ok "coordinates before features" awk "BEGIN { exit !($(last 2 r2) < $(last 2 r4)) }"
    ok "momentum before none" awk "BEGIN { exit !($(last 3 r3) < $(last 3 r2)) }"
    for f in 1d 2b S5 S6; do ok "figure$f is a picture" grep -q '</svg>' "$dir/figure$f.svg"; done
else
    echo "# no gnuplot: figures of the paper are not drawn"
fi

finish
