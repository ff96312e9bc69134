#!/bin/sh
# tests/scripts/parts.sh -- rows of several parts: two sequences, two lists of counts and a number
# in one expression, from the file to sessions; what each kernel reads without "on"; rows longer
# than any in training, missing and empty cells.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

# 120 rows: y follows a letter in each sequence, the counts of the ligand and the temperature.
awk 'BEGIN { srand(5); print "ligand,extra,heavy,light,temp,y"
    for (i = 0; i < 120; i++) { y = 0
        for (c = 0; c < 2; c++) { s = ""
            for (p = 0; p < 30; p++) if (rand() < 0.2) { v = 1 + int(rand() * 3)
                s = s (s == "" ? "" : " ") p "43165576:" v; if (c == 0) y += 0.3 * v * (p < 9) }
            cell[c] = s == "" ? "0:0" : s }
        n = 8 + int(5 * rand()); h = ""; l = ""
        for (j = 0; j < n; j++) h = h substr("ACDEFGHIKLMNPQRSTVWY", 1 + int(20 * rand()), 1)
        for (j = 0; j < 20 - n; j++) l = l substr("ACGT", 1 + int(4 * rand()), 1)
        t = h; y += gsub(/[ACDE]/, "", t); t = l; y -= 0.5 * gsub(/G/, "", t); t = rand()
        printf "%s,%s,%s,%s,%.4f,%.4f\n", cell[0], cell[1], h, l, t, y + t } }' >all.csv
open='open all.csv types=heavy=sequence,light=sequence,ligand=counts,extra=counts target=y;
    cols ligand,extra,heavy,light,temp role=input; split test=25% seed=1'

# Counts times a sequence, exactly.
run -s exact.gpd -e "$open" \
    -e 'kernel tanimoto on ligand * conv(rbf,width=3) on heavy + rbf on temp' \
    -e 'tune evals=8; fit; score; check; neighbours row:2; explain-row row:2; importance; effects temp' \
    -e 'spectrum; predict all.csv out=a.csv columns=row,mean,sd'
is "counts times a sequence, and a number" "$rc" 0
has "each kernel reads its part" "$out" \
    'tanimoto(flat=1,part=1/2) on ligand \* conv(rbf,.*flat=1,part=2/2) on heavy + rbf(inputs=1:1)'
has "inputs that none reads are told" "$err" "note.unread.*2 inputs are read by no kernel"
has "a whole column moves" "$out" '^  heavy  '
run -s exact.gpd -e 'predict all.csv out=b.csv columns=row,mean,sd; undo; redo' \
    -e 'predict all.csv run=r1 out=c.csv columns=row,mean,sd'
ok "a session predicts the same" cmp a.csv b.csv
ok "and after undo and redo" cmp a.csv c.csv
run -s exact.gpd --format json -e 'fit features=64' -k -e 'pca; export r1 out=x.py'
has "features are refused" "$out$err" '"name":"no-features".*"try":"fit model=exact'
has "a program is refused" "$out$err" '"name":"predictor"'

# The value at two rows by hand: the kernels of rows 1 and 2 alone, multiplied.  With noise 1 and
# amplitude 1, the mean of row 2 after training on row 1 and a row like nothing else.
cat >two.csv <<'END'
fp,s,u,temp,y
3:1 4:2,ACD,GG,1,1
4:1,ACE,GT,1,0
7:5,WWWW,CC,1,0
END
two='open two.csv types=fp=counts,s=sequence,u=sequence; cols fp,s,u,temp role=input; scale y=none'
value() { # kernel: the similarity of rows 1 and 2
    run --format json -e "$two; $1; fit model=exact; neighbours row:1"
    printf '%s\n' "$out" | sed -n 's/.*"row":2,"similarity":\([^,]*\),.*/\1/p'
}
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a - b < 1e-12 && b - a < 1e-12) }'; }
t=$(value 'kernel tanimoto on fp')
s=$(value 'kernel wd(n=2) on s * tanimoto on fp')
u=$(value 'kernel tanimoto on fp * spectrum(n=1,norm=cosine) on u')
b=$(value 'kernel spectrum(n=1,norm=cosine) on u * tanimoto on fp * wd(n=2) on s')
ok "counts by hand: 1/3" near "$t" 0.33333333333333333
ok "words of u: 2 / sqrt(4 2)" near "$u" 0.2357022603955158
# wd: 3 equal letters and 2 equal pairs against 2 and 1, weights 2/3 and 1/3: 5/3 of 8/3.
ok "letters at the same place" near "$s" 0.20833333333333333
ok "three parts are their product" near "$b" 0.14731391274719741

# Two sequences by features.
two='kernel conv(rbf,width=3) on heavy + conv(rbf,width=2) on light + rbf on temp'
run -s sum.gpd -e "$open" -e "$two" -e 'tune features=256 evals=8; fit features=512; score; pca' \
    -e 'neighbours row:2; importance; effects temp; predict all.csv out=a.csv columns=row,mean,sd'
is "a sum of two sequences and a number" "$rc" 0
run -s sum.gpd -e 'predict all.csv out=b.csv columns=row,mean,sd'
ok "a session predicts the same" cmp a.csv b.csv
run --mem 64MB --threads 1 -e "$open" -e "$two" \
    -e 'tune features=256 evals=8; fit features=512; predict all.csv out=c.csv columns=row,mean,sd'
ok "the same bits with little memory" cmp a.csv c.csv
run -s sum.gpd -e 'fit model=exact; predict all.csv out=x.csv columns=row,mean,sd'
is "and exactly" "$rc" 0
run --format json -s sum.gpd -k -e 'explain-row row:2; explain-row row:2 column=light' \
    -e 'explain-row row:2 column=temp'
has "the letters of the first sequence" "$out" '"command":"explain-row".*"column":"heavy"'
has "those of the other" "$out" '"command":"explain-row".*"column":"light".*"mutation":"[ACGT]'
has "a number has no letters" "$out$err" '"name":"not-found".*"try":"one of: heavy, light'

# New rows: the first sequence longer than any in training.  Other rows do not change.
for run in r1 r2; do
    sed -n '1,6p' all.csv >some.csv
    sed '2s/,[A-Z]*,/,WYVTWYVTWYVTWYVTWYVTWYVTWYVT,/' some.csv >longer.csv
    run -s sum.gpd -e "predict some.csv run=$run out=s.csv; predict longer.csv run=$run out=l.csv"
    is "longer sequences are predicted by $run" "$rc" 0
    ok "and leave other rows alone" test "$(sed 2d s.csv)" = "$(sed 2d l.csv)"
    ok "only that row has changed" test "$(sed -n 2p s.csv)" != "$(sed -n 2p l.csv)"
done
sed '3s/,[A-Z]*,\([ACGT]*\),/,,\1,/' some.csv >hole.csv
run --format json -s sum.gpd -k -e 'predict hole.csv types=heavy=sequence run=r2 out=h.csv' \
    -e 'missing drop; predict hole.csv run=r2 out=h.csv'
has "an empty sequence is refused" "$out$err" '"name":"short".*row 2.*missing drop'

# What is read without "on".
run -k --format json -e "$open" -e 'kernel conv(rbf,width=3)' -e fit -e 'kernel tanimoto' -e fit
has "one of two sequences has to be named" "$out$err" \
    '"name":"sequence".*conv reads one sequence: 2 inputs are (heavy, light).*"try":"kernel conv(rbf,width=9) on heavy'
has "and of two lists of counts" "$out$err" '"name":"counts".*(ligand, extra)'
run -e "$open" -e 'cols extra,light role=skip; kernel tanimoto * conv(rbf,width=3); fit; score'
is "one of each needs no name" "$rc" 0
run -e "$open" -e 'cols extra,light role=skip; missing drop' \
    -e 'kernel rbf on temp + conv(rbf,width=9) on heavy; fit'
has "rows too short for a window are left out" "$err" 'shorter than a window of 9'

# Filters of two sequences; each with letters of its own alphabet.
run -s filters.gpd -e "$open" \
    -e 'kernel fastconv(rbf,width=3,filters=16) on heavy + fastconv(linear,width=2,filters=8) on light' \
    -e 'fit features=64; predict all.csv out=a.csv' \
    -e 'kernel conv(rbf,width=2) on light + fastconv(rbf,width=3,filters=16) on heavy' \
    -e 'fit features=64; predict all.csv out=c.csv'
is "filters of two sequences" "$rc" 0
run -s filters.gpd -e 'predict all.csv run=r1 out=b.csv; predict all.csv run=r2 out=d.csv'
ok "a session has both" cmp a.csv b.csv
ok "and windows beside filters" cmp c.csv d.csv
run -s coded.gpd -e "$open" -e 'cols heavy,light encoding=kmer2' \
    -e 'kernel graph(rbf) on heavy * graph(rbf) on light; fit; score; predict all.csv out=a.csv'
is "words of two alphabets" "$rc" 0
has "one has its own" "$err" 'one of 400 words of 2 letters'
has "and the other" "$err" 'one of 16 words of 2 letters'
run -s coded.gpd -e 'predict all.csv run=r1 out=b.csv'
ok "in a session, too" cmp a.csv b.csv

# Positions of one sequence, the counts beside it as a whole.
awk -F, 'NR == 1 || length($3) == 9' all.csv >nine.csv
run -e 'open nine.csv types=heavy=sequence,ligand=counts,light=text,extra=text target=y' \
    -e 'cols ligand,heavy role=input; kernel tanimoto on ligand + conv(rbf,width=3) on heavy' \
    -e 'fit; importance by=position window=3'
is "importance by position beside counts" "$rc" 0
has "positions" "$out" '^  positions heavy 4-6 '
has "and the counts" "$out" '^  ligand '
finish
