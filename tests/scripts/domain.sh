#!/bin/sh
# tests/scripts/domain.sh -- how alike held-out rows are to the training rows, in `check` and `plot
# similarity`: bins and their figures against awk's from the cells and the predictions; rows that
# nothing is known about; several columns.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

# 150 rows of counts, 120 of them for training. Of the other 30 the first 12 have places that no
# training row has, so that nothing but the training mean is left to predict them by.
awk 'BEGIN { srand(7); print "fp,seq,y,part"
    for (i = 0; i < 150; i++) { far = i >= 120 && i < 132; s = ""; y = 0; q = ""
        for (p = 1; p <= 24; p++) if (rand() < 0.4) { v = 1 + int(rand() * 3)
            s = s (s == "" ? "" : " ") (far ? p + 100 : p) ":" v; y += v * sin(p) }
        for (j = 0; j < 10; j++) q = q substr("ACGT", 1 + int((j < 5 ? 4 : 1.3) * rand()), 1)
        if (i == 0) { first = s; high = y + 12 } else if (i == 140) s = first
        else if (i == 141) { s = first " 50:1"; y = high }
        printf "%s,%s,%.4f,%s\n", s == "" ? "0:0" : s, q, far ? 4 * rand() : y,
            i < 120 ? "train" : "test" } }' >rows.csv
open='open rows.csv types=fp=counts,seq=sequence target=y; split column=part'

# The bins, from the cells and p.csv (row,y,mean,sd,lo95,hi95): similarity by counts or letters.
cat >bins.awk <<'END_AWK'
function counts(a, b,    i, n, t, u, m, lo, hi, p) {
    split("", t); lo = hi = 0
    n = split(a, u, " "); for (i = 1; i <= n; i++) { split(u[i], m, ":"); t[m[1]] = m[2] }
    n = split(b, u, " ")
    for (i = 1; i <= n; i++) { split(u[i], m, ":"); p = m[1] in t ? t[m[1]] + 0 : 0
        lo += p < m[2] ? p : m[2]; hi += p < m[2] ? m[2] : p; delete t[m[1]] }
    for (p in t) hi += t[p]
    return hi > 0 ? lo / hi : 1
}
function letters(a, b,    i, same) {
    for (i = 1; i <= length(a); i++) same += substr(a, i, 1) == substr(b, i, 1)
    return same / length(a)
}
function nearest(i,    j, s, best) {
    for (j = 1; j <= n; j++) if (part[j] == "train" && j != i) {
        s = by == "letters" ? letters(seq[i], seq[j]) : counts(fp[i], fp[j])
        best = s > best ? s : best }
    return best
}
FNR == 1 { next }
FILENAME == "rows.csv" { split($0, c, ","); n++; fp[n] = c[1]; seq[n] = c[2]; y[n] = c[3]
    part[n] = c[4]; if (c[4] == "train") { mean += c[3]; train++ } next }
{ split($0, c, ","); m[c[1]] = c[3]; sd[c[1]] = c[4]; lo[c[1]] = c[5]; hi[c[1]] = c[6] }
END { mean /= train
    for (i = 1; i <= n; i++) {
        k = int((1 - nearest(i)) / width + 1e-9); last = int(1 / width + 0.5) - 1
        k = k < last ? k : last; k = k < 19 ? k : 19
        if (part[i] == "train") { left[k]++; continue }
        e[k] += (y[i] - m[i]) ^ 2; v[k] += sd[i] ^ 2; g[k] += (y[i] - mean) ^ 2; rows[k]++
        in95[k] += y[i] >= lo[i] && y[i] <= hi[i] }
    for (k = 19; k >= 0; k--) if (rows[k] + left[k] > 0) {
        printf "%.4g %d %d", 1 - k * width, rows[k], left[k]
        if (rows[k]) printf " %.4g %.4g %.4g %.4g", sqrt(e[k] / rows[k]), sqrt(v[k] / rows[k]),
            in95[k] / rows[k], sqrt(g[k] / rows[k])
        print "" } }
END_AWK
# The same of the first column of a record.
told() {
    printf '%s\n' "$out" | sed -n 's/.*"bins":\[\([^]]*\)\].*/\1/p' | sed 's/},{/\n/g' |
        tr -d '{}"' | awk -F '[,:]' '{ printf "%.4g %d %d", $4, $6, $8
            if ($6) printf " %.4g %.4g %.4g %.4g", $10, $12, $14, $16; print "" }'
}
fit='fit noise=0.3; predict out=p.csv columns=row,y,mean,sd,lo95,hi95'
run --format json -e "$open; cols seq role=skip; kernel tanimoto; $fit; check" \
    -e 'plot similarity out=s.csv; plot similarity out=s.svg; describe similarity'
is "rows of counts are checked" "$rc" 0
is "every bin is as by hand" "$(told)" "$(awk -v width=0.1 -f bins.awk rows.csv p.csv)"
# Rows of cliffs: at least 0.7 alike to any other row, not equal, and the targets differ by the sd.
cat >cliffs.awk <<'END_AWK'
END { for (i = 1; i <= n; i++) { sum += y[i]; sum2 += y[i] * y[i] }
    most = sqrt(sum2 / n - (sum / n) ^ 2)
    for (i = 121; i <= n; i++) { in_ = 0
        for (j = 1; j <= n; j++) { s = counts(fp[i], fp[j]); d = y[i] - y[j]; d = d < 0 ? -d : d
            if (j != i && s >= 0.7 && s < 1 && d >= most) in_ = 1 }
        k[in_]++; q[in_] += (y[i] - m[i]) ^ 2 }
    printf "%d %.4g %d %.4g\n", k[1], sqrt(q[1] / k[1]), k[0], sqrt(q[0] / k[0]) }
END_AWK
is "rows of cliffs as by hand" "$(printf '%s\n' "$out" | sed -n \
    's/.*"cliffs":{"similar":0.7,.*"in":{"rows":\([0-9]*\),"rmse":\([0-9.]*\),.*"out":{"rows":\([0-9]*\),"rmse":\([0-9.]*\),.*/\1 \2 \3 \4/p' |
    awk '{ printf "%d %.4g %d %.4g\n", $1, $2, $3, $4 }')" \
    "$(sed '/^END/,$d' bins.awk >both.awk; cat cliffs.awk >>both.awk; awk -f both.awk rows.csv p.csv)"
has "there it only guesses" "$out" '"domain":{"ok":false,"text":"nearest.*up to 0.1 the model only guesses (12 rows'
has "in JSON, too" "$out" '"by":"tanimoto","rows":30,"train_rows":120,.*"guesses_below":0.1,"guesses":12'
has "the plot has the errors" "$(cat s.csv)" '^1,"RMSE, held-out rows",0\.05,'
has "and the rows" "$(cat s.csv)" '^3,held-out rows,0\.05,0\.4'
has "and where it guesses" "$(cat s.csv)" 'guesses up to here,0\.1'
ok "the picture is written" grep -q '</svg>' s.svg
run -e "$open; cols seq role=skip; kernel tanimoto; fit noise=0.3; score; plot similarity
    plot similarity r1 out=t.csv"
ok "the plot of a score is the same" cmp s.csv t.csv

# Sequences by letters, 10 each: the bins are 0.1 wide as well.
run --format json -e "$open; cols fp role=skip; cols seq role=input; kernel rbf; $fit; check"
is "sequences: every bin is as by hand" "$(told)" "$(awk -v width=0.1 -v by=letters -f bins.awk \
    rows.csv p.csv)"
has "the training rows are the same kind" "$out" '"by":"letters".*"guesses_below"'

# Several columns: each for itself.
awk -F, 'NR == 1 { print "heavy,light,temp,y" } NR > 1 { h = $2; l = substr($2, 3, 5) substr($2, 1, 3)
    gsub(/A/, "C", h); print h "," l "," NR % 7 "," $3 }' rows.csv >two.csv
run --format json -e 'open two.csv types=heavy=sequence,light=sequence target=y' \
    -e 'cols heavy,light,temp role=input; split test=20%' \
    -e 'kernel conv(rbf,width=3) on heavy + conv(rbf,width=2) on light + rbf on temp' \
    -e 'fit noise=0.3; check; plot similarity out=u.csv'
is "rows of two sequences are checked" "$rc" 0
has "changes of both" "$out" '"changes":{"ok":[a-z]*,"text":"heavy: .* away.*\. light: .* away'
has "and similarities" "$out" '"domain":\[{"column":"heavy",.*{"column":"light",'
has "and panels" "$(cat u.csv)" '^6,held-out rows'
run --format json -e 'open two.csv types=heavy=sequence,light=sequence target=y' \
    -e 'cols heavy,light,temp role=input; split test=20%' \
    -e 'kernel conv(rbf,width=2) on light; fit noise=0.3; check'
has "only what the model reads" "$out" '"domain":\[{"column":"light"'
ok "and nothing else" sh -c "! printf '%s' '$(printf '%s\n' "$out" | tail -n 1 | tr -d "'")' |
    grep -q '\"column\":\"heavy\"'"

# Where there is nothing to compare.
run -e 'demo robot n=100; split test=20%; kernel rbf; fit; score; check; plot similarity'
has "numbers have none" "$out" 'No input is a molecule, counts or a sequence of letters. try: plot sderror'
run -e 'plot similarity'
has "nothing without a fit" "$out" 'There is no fit yet'
run -e "$open; cols seq role=skip; split none; kernel tanimoto; fit noise=0.3; score on=train
    plot similarity"
has "nor without held-out rows" "$out" 'no predictions of held-out rows. try: split test=20%'
finish
