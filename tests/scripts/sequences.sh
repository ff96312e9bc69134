#!/bin/sh
# tests/scripts/sequences.sh -- sequences as a user meets them: a column of a table, FASTA with a table of
# targets, what is told of letters, lengths and names, the same predictions from memory, disk and session.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

num() { printf '%s\n' "$out" | sed -n "s/.*\"$1\":\([-+0-9.eE]*\)[,}].*/\1/p" | tail -n 1; }
between() { awk -v x="$1" -v lo="$2" -v hi="$3" 'BEGIN { exit !(x != "" && x >= lo && x <= hi) }'; }

# 400 proteins of 15 to 40 letters: y counts K and R, and adds 8 where there is a motif.
awk 'BEGIN { srand(3); a = "ACDEFGHIKLMNPQRSTVWY"
    print "id,y,leak" >"y.csv"; print "sequence,y,n_changed" >"s.csv"
    for (i = 1; i <= 400; i++) {
        n = 15 + int(26 * rand()); s = ""; y = 0
        for (j = 1; j <= n; j++) s = s substr(a, 1 + int(20 * rand()), 1)
        if (i % 2) { k = int((n - 6) * rand()); s = substr(s, 1, k) "WCHWC" substr(s, k + 6); y = 8 }
        t = s; y += gsub(/[KR]/, "", t) + rand()
        printf ">p%d made up\n%s\n%s\n", i, substr(s, 1, 10), substr(s, 11) >"s.fasta"
        printf "p%d,%.4f,%.4f\n", i, y, y >"y.csv"
        printf "%s,%.4f,%d\n", s, y, i % 2 >"s.csv" } }'
fit='split test=25% seed=1; kernel conv(rbf,width=5); tune features=256; fit features=512'

run --format json -e "open s.csv; cols; $fit; score; predict out=p1.csv"
is "a column named sequence" $rc 0
has "is told with its alphabet" "$out" 'protein, 20 letters (ACDEFGHIKLMNPQRSTVWY), length 15 to 40'
has "its type" "$out" '"column":"sequence","role":"input","type":"sequence"'
has "other columns wait" "$out" '"name":"cols".*n_changed'
has "the motif is found wherever it is" "$out" '"kernel":"conv(rbf,width=5,average=sqrt,symbols=21)"'
ok "far better than a constant" between "$(num rmse_scaled)" 0.01 0.65
conv=$(num rmse_scaled)

gzip -c s.fasta >s.fasta.gz
run --format json -s f.gpd -e "open s.fasta.gz targets=y.csv; cols leak role=skip; $fit; score; predict out=p2.csv"
is "FASTA, packed, with a table of targets" $rc 0
has "is read as such" "$out" '"dataset":"s".*"rows":400,"columns":5'
ok "and says the same" test "$(num rmse_scaled)" = "$conv"
run --format json -s f.gpd -e 'predict run=r1 out=p3.csv; data'
is "a session finds both files" $rc 0
ok "and predicts the same" cmp p2.csv p3.csv
run --mem 64MB --format json -e "open s.csv; $fit; predict out=p4.csv"
is "with little memory" $rc 0
ok "the same bits" cmp p1.csv p4.csv

run --format json -e 'open s.csv; split test=25% seed=1; kernel fastconv(rbf,width=5,filters=256); tune features=256; fit features=512; score'
ok "filters find it too" between "$(num rmse_scaled)" 0.01 0.7
run --format json -e 'open s.csv; split test=25% seed=1; kernel rbf; tune features=256; fit features=512; score'
is "letters by position" $rc 0
has "are warned of where lengths differ" "$out" '"warning","name":"lengths"'

printf 'letter,k,w\nK,1,0\nR,1,0\nW,0,2\nC,0,3\nH,0,4\nA,0,0\n' >letters.csv
for code in blosum62 scales letters.csv; do
    rm -f e.gpd
    run -s e.gpd --format json -e "open s.csv; cols sequence encoding=$code; split test=25% seed=1; kernel conv(rbf,width=5)" \
        -e 'tune features=128; fit features=256; score; predict out=e1.csv; kernel rbf; fit features=64; kernel fastconv(rbf,filters=32); fit features=64'
    is "encoding=$code" $rc 0
    has "is said" "$out" "\"name\":\"encoding\".*$code"
    run -s e.gpd -e 'predict run=r1 out=e2.csv'
    ok "and kept by the session" cmp e1.csv e2.csv
done
run -e 'open s.csv; cols sequence encoding=blossom'
has "no such encoding" "$err" 'neither onehot, blosum62, scales nor a file'

# A linear part fills as many columns as there are letters by position: more than a search looks at.
awk 'BEGIN { srand(9); a = "ACDEFGHIKLMNPQRSTVWY"; print "sequence,y"; for (i = 1; i <= 150; i++) { s = ""
    for (j = 1; j <= 60; j++) s = s substr(a, 1 + int(20 * rand()), 1); print s "," rand() } }' >wide.csv
run --format json -e 'open wide.csv; kernel rbf + linear; tune features=2048 evals=3; fit features=2048'
is "rbf + linear of 1200 letters by position" $rc 0

# ---- what is told
head -n 4 s.fasta >few.fasta
printf '>odd\nMK!LA\n' >bad.fasta
run -e 'open bad.fasta'
is "no letter" $rc 4
has "is told with line and record" "$err" "line 2, record 'odd': '!'"
run -e 'open s.fasta targets=few.csv'
is "a table that is not there" $rc 4
printf 'id,y\np1,1\np2,2\np3,3\nq9,4\n' >few.csv
run -e 'open s.fasta targets=few.csv'
is "a table with few rows" $rc 0
has "records without a row are told" "$err" "397 records have no row in the table, first 'p4'"
has "and rows without a record" "$err" "1 rows of the table have no record, first 'q9'"
run -e 'open s.fasta targets=few.csv; fit'
has "and nothing is dropped in silence" "$err" 'missing drop'
run -e "open s.csv; kernel conv(rbf,width=20); fit features=64"
is "a window wider than a sequence" $rc 1
has "is told with its row" "$err" 'letters, a window 20'
run -e "open s.csv; missing drop; kernel conv(rbf,width=20); fit features=64"
is "and left out on demand" $rc 0
has "with their number" "$err" 'shorter than a window of 20'
run -e "open s.csv; cols n_changed role=input; kernel conv(rbf); fit features=64"
has "conv reads nothing else" "$err" "conv reads the sequence and no other input"
has "and how it would" "$err" 'kernel conv(rbf) + rbf on n_changed'
run -e "open s.csv; cols n_changed role=input; kernel fastconv(rbf,filters=32); fit features=64"
is "fastconv does" $rc 0
run -e "demo friedman1 n=50; kernel conv(rbf); fit features=64"
has "there must be a sequence" "$err" 'no input is one'
# ---- sets of labelled nodes: y is the share of label 2, in any order
awk 'BEGIN { srand(5); print "nodes,y"; for (i = 1; i <= 200; i++) { n = 3 + int(9 * rand()); s = ""; y = 0
    for (j = 1; j <= n; j++) { k = int(3 * rand()); s = s (j > 1 ? " " : "") k; y += k == 2 } print s "," y / n } }' >g.csv
run --format json -e 'open g.csv types=nodes=sequence target=y; split test=25% seed=1; kernel graph(rbf,average=full); tune features=128; fit features=256; score'
is "labels of nodes" $rc 0
ok "are learnt from" between "$(num rmse_scaled)" 0.0 0.1
run -e 'open g.csv types=nodes=sequence target=y; kernel graph(rbf,average=full); fit features=64; predict g.csv out=g.out'
is "and predicted for new ones" $rc 0

# ---- sums and products with kernels of other columns: y is the motif's 8, a line in z, a wave in t
awk -F, 'BEGIN { srand(11); print "sequence,t,z,w,y" } NR > 1 { t = 6 * rand(); z = rand()
    printf "%s,%.4f,%.4f,%.4f,%.4f\n", $1, t, z, rand(), $2 + 6 * sin(t) + 12 * z }' s.csv >mix.csv
run -e 'open mix.csv; kernel conv(rbf,width=5) + rbf on t; fit features=64'
is "a column that is no input" $rc 1
has "is told, and how to make it one" "$err" 'cols t role=input'
rm -f m.gpd
run -s m.gpd --format json -e 'open mix.csv; cols t,z,w role=input; split test=25% seed=1' \
    -e 'kernel conv(rbf,width=5) + rbf on t + linear on z; tune features=256; fit features=512; score; predict out=m1.csv' \
    -e 'kernel conv(rbf,width=5); cols t,z,w role=skip; tune features=256; fit features=512; score'
is "conv + rbf on one column + linear on another" $rc 0
has "an input that none reads is told" "$out" '"name":"unread".*w'
with=$(printf '%s\n' "$out" | sed -n 's/.*"rmse_scaled":\([0-9.e-]*\)[,}].*/\1/p' | head -n 1)
ok "the sum is far better than the sequence alone" \
    awk -v a="$with" -v b="$(num rmse_scaled)" 'BEGIN { exit !(a > 0 && a < 0.6 * b) }'
run -s m.gpd --mem 64MB -e 'predict run=r1 out=m2.csv'
ok "the session predicts the same" cmp m1.csv m2.csv
run -e 'open mix.csv; cols t,z,w role=input; split test=25% seed=1; kernel linear on z,w * conv(rbf,width=5) * rbf on "t" + linear' \
    -e 'tune features=1536 evals=4; fit features=1536; score; pca rows=100 features=1536; fit solver=exact; score'
is "a product, and letters by position beside it" $rc 0
run -e 'open mix.csv; cols t,z,w role=input; kernel fastconv(rbf,width=5,filters=32) on t + rbf(ard) on z,w' \
    -e 'tune features=128 evals=8; fit features=256; check; predict mix.csv out=m3.csv'
is "fastconv with a column, beside others" $rc 0
run -e 'demo friedman1 n=200; split test=25%; kernel rbf on x1,x2 * linear on x4 + rbf on x3; tune features=128; fit features=256; score'
is "columns of each kernel, without sequences" $rc 0
run -e 'demo friedman1 n=200; kernel rbf(ard=group) + rbf on x1; fit features=256'
has "groups read all inputs" "$err" 'ard=group reads all inputs'
run -e 'demo friedman1 n=200; kernel rbf on nothing; fit features=256'
has "no such column" "$err" 'nothing'
run -e 'kernel conv(rbf) * graph(rbf)'
has "one conv in a product" "$err" 'one conv or graph in a product'
run -e 'open s.csv types=sequence=text; cols'
has "text on demand" "$out" 'sequence *skip *text'
run -e 'open s.csv; split test=25% seed=1; kernel conv(rbf,width=5); fit features=64; pca dims=2 rows=100 features=64; cluster k=2 rows=100 features=64; check'
is "looked at" $rc 0
finish
