#!/bin/sh
# tests/scripts/analyses.sh -- three whole analyses, from a file to a report, in ten commands or
# fewer: a table without names and with missing cells, a series with dates, and sequences. Here in a
# batch, and again from the script that the session writes; tests/screens/analyses.sh types them.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

data=$src/../shared/data
scores() { sed -n '/<h2>Scores/,/<h2>Check/p' "$1"; }
analysis() { # name, largest RMSE in training sds, then what stands on the page
    job=$1 most=$2
    shift 2
    is "$job: ten commands or fewer" "$(grep -v '^#' "$job.gps" | awk 'END { print NR <= 10 }')" 1
    run --format json -s "$job.gpd" -f "$job.gps"
    is "$job: runs" "$rc" 0
    ok "$job: predicts" awk -v r="$("$jsonl" get score '$.rmse_scaled' <.out)" -v most="$most" \
        'BEGIN { print r; exit !(r > 0 && r < most) }'
    for fact; do has "$job: $fact" "$(cat "$job.html")" "$fact"; done
    scores "$job.html" >first
    run -q -s "$job.gpd" -e 'script out=again.gps'
    run -q -f again.gps -e "report out=$job.html"
    is "$job: so does its script" "$rc" 0
    scores "$job.html" >second
    ok "$job: with the same scores" cmp first second
}

# The shipped example: years with a fraction.
cp "$src/share/examples/co2.gps" .
analysis co2 0.3 'let year_year_sin = sin(2\*pi()\*yearshare(year))' '<th>split</th>.*ordered'

if ! test -d "$data/dirty_autos"; then
    echo "# ../shared/data is not there: the analyses of autos, dates and sequences are left out"
    finish
fi
ln -s "$data" data
cp "$src"/tests/scripts/analyses/*.gps .
# Least squares on its numbers with the medians filled in: 0.379 (README of the data).
analysis autos 0.379 'rename x1=symboling' 'where price &#62; 0' 'let power = hp/weight' \
    'filled with the mean' 'standardised after taking logarithms' '<th>test rows</th><td class="t">50<'
# The trend alone: 10.909 ppm, about half of the sd of the training rows.
analysis dates 0.3 'let date_year_sin = ' 'where date &#62;= ' '<th>split</th>'
# Counts of 3 letters: 0.635.
analysis sequences 0.635 '<th>test rows</th><td class="t">9' 'sequence' 'conv(rbf'
finish
