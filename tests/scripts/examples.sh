#!/bin/sh
# tests/scripts/examples.sh -- every example of the command table runs on bundled data.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

# What an example may rely on: data, a split, a kernel, a tuning, two fits and a score.
before='demo friedman1 n=120 seed=1; split test=25% seed=2; kernel rbf; tune features=64 evals=4;
fit features=64; fit features=128; score'
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
        source) before_this= ;;
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
            (cd "$dir" && ln -sfn "$src/share" share &&
                timeout 300 "$gpdesk" -q -e "$before_this" -e "$line" >.o 2>&1)
            result $? "$line" "$(tail -n 5 "$dir/.o")" ;;
        esac
    done <"$dir/lines"
done <"$dir/verbs"

# The figure of the paper, smaller: every construction and rank came to its end, and both files are
# pictures.
if command -v gnuplot >/dev/null; then
    ok "figure1.sh runs" env GPDESK="$gpdesk" DATA='demo robot n=600 seed=7; split test=20% seed=7' \
        FIT='features=256 l=3 noise=0.3 rtol=1e-4 variance=none' RANKS='16 64' RANK=64 \
        sh "$src/share/examples/figure1.sh" "$dir"
    is "with six fits by PCG" "$(grep -c '^pcg,.*,rtol,' "$dir/figure1a.csv")" 6
    ok "more rank takes fewer iterations" awk -F, '$1 == "pcg" { it[$3 "," $2] = $5 }
        END { exit !(it["srht2,64"] < it["srht2,16"] && it["gauss,64"] < it["gauss,16"]) }' \
        "$dir/figure1a.csv"
    ok "two pictures" grep -q '</svg>' "$dir/figure1a.svg" "$dir/figure1b.svg"
    ok "the second of passes" grep -q 'passes over the data' "$dir/figure1b.svg"
else
    echo "# no gnuplot: figure1.sh is not run"
fi

finish
