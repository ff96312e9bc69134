#!/bin/sh
# tests/scripts/sequences.sh -- sequences as a user meets them: a column of a table, FASTA with a
# table of targets, what is told of letters, lengths and names, the same predictions from memory,
# disk and session.
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
has "the motif is found wherever it is" "$out" \
    '"kernel":"conv(rbf,width=5,average=sqrt,symbols=21)"'
ok "far better than a constant" between "$(num rmse_scaled)" 0.01 0.65
conv=$(num rmse_scaled)

gzip -c s.fasta >s.fasta.gz
run --format json -s f.gpd -e \
    "open s.fasta.gz targets=y.csv; cols leak role=skip; $fit; score; predict out=p2.csv"
is "FASTA, packed, with a table of targets" $rc 0
has "is read as such" "$out" '"dataset":"s".*"rows":400,"columns":5'
ok "and says the same" test "$(num rmse_scaled)" = "$conv"
run --format json -s f.gpd -e 'predict run=r1 out=p3.csv; data'
is "a session finds both files" $rc 0
ok "and predicts the same" cmp p2.csv p3.csv
run --mem 64MB --format json -e "open s.csv; $fit; predict out=p4.csv"
is "with little memory" $rc 0
ok "the same bits" cmp p1.csv p4.csv

run --format json -e \
    'open s.csv; split test=25% seed=1; kernel fastconv(rbf,width=5,filters=256); tune features=256; fit features=512; score'
ok "filters find it too" between "$(num rmse_scaled)" 0.01 0.7
run --format json -e \
    'open s.csv; split test=25% seed=1; kernel rbf; tune features=256; fit features=512; score'
is "letters by position" $rc 0
has "are warned of where lengths differ" "$out" '"warning","name":"lengths"'

printf 'letter,k,w\nK,1,0\nR,1,0\nW,0,2\nC,0,3\nH,0,4\nA,0,0\n' >letters.csv
for code in blosum62 scales letters.csv; do
    rm -f e.gpd
    run -s e.gpd --format json -e \
        "open s.csv; cols sequence encoding=$code; split test=25% seed=1; kernel conv(rbf,width=5)" \
        -e 'tune features=128; fit features=256; score; predict out=e1.csv; kernel rbf; fit features=64; kernel fastconv(rbf,filters=32); fit features=64'
    is "encoding=$code" $rc 0
    has "is said" "$out" "\"name\":\"encoding\".*$code"
    run -s e.gpd -e 'predict run=r1 out=e2.csv'
    ok "and kept by the session" cmp e1.csv e2.csv
done
run -e 'open s.csv; cols sequence encoding=blossom'
has "no such encoding" "$err" 'neither onehot, blosum62, scales, kmer1 to kmer8 nor a file'

# A linear part fills as many columns as there are letters by position: more than a search looks at.
awk 'BEGIN { srand(9); a = "ACDEFGHIKLMNPQRSTVWY"; print "sequence,y"; for (i = 1; i <= 150; i++) { s = ""
    for (j = 1; j <= 60; j++) s = s substr(a, 1 + int(20 * rand()), 1); print s "," rand() } }' \
        >wide.csv
run --format json -e \
    'open wide.csv; kernel rbf + linear; tune features=2048 evals=3; fit features=2048'
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
has "records without a row are told" "$err" \
    "397 records have no row in the table, first row 4 ('p4', line 10)"
has "and rows without a record" "$err" "1 row of the table has no record, first row 4 ('q9')"
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
run --format json -e 'open s.csv; kernel spectrum(n=2,strands=both); fit features=64'
is "two strands of a protein" $rc 1
has "are refused by the name of the setting" "$out" '"name":"strands"'
# ---- sets of labelled nodes: y is the share of label 2, in any order
awk 'BEGIN { print "node_labels,y"; for (i = 0; i < 30; i++) { s = ""
    for (j = 0; j < 10; j++) s = s (j ? " " : "") 10 * i + j; print s "," i } }' >many.csv
run --format json -e 'open many.csv target=y'
has "labels without end are no nodes" "$out" '"name":"alphabet".*more than 256 different labels'
awk 'BEGIN { srand(5); print "nodes,y"; for (i = 1; i <= 200; i++) { n = 3 + int(9 * rand()); s = ""; y = 0
    for (j = 1; j <= n; j++) { k = int(3 * rand()); s = s (j > 1 ? " " : "") k; y += k == 2 } print s "," y / n } }' >g.csv
run --format json -e \
    'open g.csv types=nodes=sequence target=y; split test=25% seed=1; kernel graph(rbf,average=full); tune features=128; fit features=256; score'
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
run -e 'open mix.csv; cols t role=input; split folds=3 seed=1; kernel conv(rbf,width=5) + linear; fit features=1200; score folds=yes'
is "a score over folds, whose letters are not the same" $rc 0
run -e 'demo friedman1 n=200; split test=25%; kernel rbf on x1,x2 * linear on x4 + rbf on x3; tune features=128; fit features=256; score'
is "columns of each kernel, without sequences" $rc 0
run -e 'demo friedman1 n=200; kernel rbf(ard=group) + rbf on x1; fit features=256'
has "groups read all inputs" "$err" 'ard=group reads all inputs'
run -e 'demo friedman1 n=200; kernel rbf on nothing; fit features=256'
has "no such column" "$err" 'nothing'
# ---- the width of windows by the likelihood: the motif has five letters
run --format json -e \
    'open s.csv; split test=25% seed=1; kernel conv(rbf); tune features=256 evals=10 width=1,4,12; fit features=512'
is "a tuning for each width" $rc 0
has "the best is told with all" "$out" \
    '"name":"width","run":"t1","message":"width 4 has the least NMLL (1: .*, 4: .*, 12: '
has "and fitted with" "$out" '"command":"fit".*"kernel":"conv(rbf,width=4,'
# ---- words of letters
run -e 'open s.csv; split test=25% seed=1; cols sequence encoding=kmer2; kernel graph(rbf); tune features=256 evals=8; fit features=256; score; explain-row row:3; save kmer.gpd'
is "words of two letters" $rc 0
has "are told" "$err" 'one of 400 words of 2 letters'
was=$(printf "%s\n" "$out" | grep RMSE)
run -s kmer.gpd -e 'score run=r1; predict s.csv out=pk.csv'
is "a session keeps them" "$(printf "%s\n" "$out" | grep RMSE)" "$was"
is "and predicts" "$(wc -l <pk.csv)" 401
run -e 'open s.csv; cols sequence encoding=kmer2; kernel rbf; fit features=256'
has "kernels by position do not read them" "$err" 'encoding=kmer2 is read by kernels over windows'
run -e 'open s.csv; cols sequence encoding=kmer4'
has "there are not too many" "$err" 'more than 65536 words'
run -e 'open s.csv; cols sequence encoding=kmer2; kernel conv(rbf,width=15); fit features=256'
has "a window is of words" "$err" 'the sequence has 15 letters, a window'
# ---- what is wrong with records is told with their names and rows
printf '>a\nMKVLAAGIVG\n>b\n>c\nMKV\n>d\nMKVLXX*AAG-IVGMK\n>e\nMKVLAAGIVGM\n>f\nMKVLAAGIV\n' \
    >bad.fasta
printf 'id,y\na,1\nb,2\nc,1.5\nd,3\nz,9\nw,2\nf,1\n' >bad.csv
run -e 'open bad.fasta targets=bad.csv; kernel conv(rbf,width=5); fit features=64'
has "an empty record" "$err" \
    "warning.empty.*1 record is without a letter, first row 2 ('b', line 3)"
has "letters outside" "$err" \
    "note.letters.*(X.-), first row 4 ('d', line 6): they count as one letter more, of no word"
has "a record without a target" "$err" "1 record has no row in the table, first row 5 ('e', line 8)"
has "targets without records" "$err" "2 rows of the table have no record, first row 5 ('z')"
has "stop a fit, by name" "$err" "row 2 ('b'): the sequence has 0 letters, a window 5"
# what to do about letters outside the alphabet: stay, count as missing, stop
letters() { run -e \
    "open bad.fasta targets=bad.csv unknown=$1; missing drop; kernel conv(rbf,width=3); fit features=64"; }
letters keep
has "kept" "$err" '2 of 6 training rows'
letters missing
has "missing" "$err" \
    "warning.letters.*1 sequence with letters outside the alphabet counts as missing, first row 4 ('d', line 6)"
has "and left out like others" "$err" '3 of 6 training rows'
letters stop
is "or an error" $rc 4
has "with its place" "$err" "row 4 ('d', line 6): letter 5 of column 'sequence', 'X', is not one of protein (ACDEF.*1 row has such letters"
run -e 'open bad.fasta targets=bad.csv unknown=drop'
is "nothing else" $rc 2
printf 'seq,y\nACGT,1\nACNT,2\n,3\nACGA,4\n' >dna.csv
run -e 'open dna.csv unknown=missing; missing drop; kernel conv(rbf,width=2); fit features=64'
has "in a table too" "$err" 'warning.letters.*1 sequence .* first row 2:'
has "as cells without letters" "$err" 'warning.empty.*1 sequence is without a letter, first row 3:'
has "both are left out" "$err" '2 of 4 training rows'
# new data: letters that training has not
awk -F, 'NR < 4 { print } NR == 4 { print "X" substr($1, 2) "," $2 "," $3 }' s.csv >strange.csv
run --format json -e \
    'open s.csv; kernel conv(rbf,width=5); fit features=64; predict strange.csv out=o.csv; kernel fastconv(rbf,filters=16); fit features=64; predict strange.csv out=o.csv'
is "letters of new data" "$(printf '%s\n' "$out" | grep -c \
    '"letters".*1 row holds letters outside the training alphabet, first row 3: they count as one letter more, of no word')" 2
has "are counted" "$out" '"command":"predict".*"letters":1'
printf 'seq,y\nACDEF,1\nACDDF,2\nACAEF,4\nACAAF,5\nCCDEF,2\n' >site.csv
printf 'seq,y\nACDEF,1\nAWDEF,2\nACWEF,3\nACDEFGH,4\n' >site2.csv
run -e 'open site.csv; kernel rbf; fit solver=exact; predict site2.csv out=o.csv'
has "by position: there" "$err" \
    'warning.letters.*1 row holds letters that no training row has at their positions, first row 3: they count as none'
printf 'seq,y\nACGT,1\nACTT,2\nCCGT,4\nGGGT,5\n' >dna2.csv
run -e 'open dna2.csv; kernel conv(rbf,width=2); fit features=64; predict dna.csv out=o.csv'
is "an empty row of new data stops" $rc 1
run -e 'open dna2.csv; missing drop; kernel conv(rbf,width=2); fit features=64; predict dna.csv out=o.csv'
has "or is dropped, which is told" "$err" 'note.dropped.*1 row was left out'
has "letters of DNA count as none" "$err" 'first row 2: they count as none'
# partners
run -e 'open bad.fasta targets=bad.csv unmatched=stop'
is "records without a row may be an error" $rc 4
has "with their place" "$err" "1 record has no row in the table, first row 5 ('e', line 8)"
head -n 7 bad.fasta | sed '/^>c/,/^M/d' >some.fasta
grep -v '^[ez]' bad.csv >some.csv
run -e 'open some.fasta targets=some.csv unmatched=stop'
is "and rows without a record" $rc 4
has "with theirs" "$err" "have no record, first row 3 ('c')"
run -e 'open some.csv target=y twice=mean'
has "which belongs to targets=" "$err" 'there is none'
# names that repeat
printf '>a\nMKVLA\n>b\nMKVLC\n>a\nMKVLD\n>c\nMKVLE\n' >rep.fasta
printf 'id,y,w\na,1,u\nb,2,v\nb,4,w\nb,,w\nc,9,u\n' >rep.csv
run -e 'open rep.fasta targets=rep.csv'
is "rows that repeat a name stop" $rc 4
has "unless the user says" "$err" "'b' stands in column 'id' twice (rows 2 and 3).*"
has "how" "$err" 'twice=first .*twice=mean'
run -q -e 'open rep.fasta targets=rep.csv twice=mean; show 1..4'
has "means of those that are there" "$out" '2 .*b .*MKVLC.* 3'
has "records that repeat one are told" "$err" \
    "warning.twice.*1 record has a name that stood before, first row 3 ('a', line 5): each takes"
has "and rows" "$err" \
    "warning.twice.*2 rows of the table repeat a name, first row 3 ('b', of row 2): their numbers are averaged"
has "each takes the row" "$out" '3 .*a .*MKVLD.* 1'
run -e 'open rep.fasta targets=rep.csv twice=first; show 1..4; missing drop; kernel rbf; fit solver=exact'
has "the first one" "$out" '2 .*b .*MKVLC.* 2'
has "counts" "$err" 'the first of each name counts'
has "of records too" "$err" '1 of 4 training rows'
sed '/^b,4/d; /^b,,/d' rep.csv >once.csv
run -e 'open rep.fasta targets=once.csv twice=stop'
is "records may stop" $rc 4
has "with their place" "$err" "1 record has a name that stood before, first row 3 ('a', line 5)"
run -e 'open bad.fasta targets=bad.csv; missing drop; kernel conv(rbf,width=5); fit features=64'
has "unless they are to be left out" "$err" \
    '2 training sequences are shorter than a window of 5, first in row 2'
has "which is counted" "$err" '3 of 6 training rows'
printf '>a\nMK1LA\n' >bad.fasta
run -e 'open bad.fasta'
has "no letter, with its line" "$err" "bad.fasta, line 2, record 'a': '1' is not a letter"
printf '>a\nMKLA\n>b\nMA\n' >bad.fasta
printf 'id,y\na,1\nb,2\na,3\n' >bad.csv
run -e 'open bad.fasta targets=bad.csv'
has "a name that stands twice" "$err" "'a'"
is "stops" $rc 4
printf 'sequence,y\nMKVLAAGIVG,1\nMKVLACGIVG,2\nMKVLA AGIVA,2\n' >bad.csv
run -e 'open bad.csv'
has "a blank in a sequence" "$err" "'sequence' is not read as sequences: row 3 has a blank"
printf 'graph,x,y\ng1,1,2\n,2,3\ng2,3,1\n' >bad.csv
run -e 'open bad.csv graph=graph'
has "a node of no graph" "$err" "row 2: column 'graph' is empty"
printf 'node_labels,n_nodes,y\n0 1 0,3,1\n,0,2\n1 0,2,1\n0 0,2,4\n1 1,2,3\n' >bad.csv
run -e 'open bad.csv target=y; kernel graph(rbf); fit features=64'
has "a graph without nodes" "$err" 'row 2: the sequence has 0 letters'
has "what to do" "$err" 'missing drop'
# ---- labels of nodes that are words
printf 'node_labels,n_nodes,y\nC Cl,2,1\nO C O,3,2\nCl,1,1\nO O,2,4\nC C Cl O,4,3\n' >words.csv
run -e 'open words.csv target=y; kernel graph(rbf,average=none); fit features=64; save words.gpd; predict words.csv out=w1.csv'
is "labels of several letters" $rc 0
has "are numbers of nodes" "$err" 'sets of 1 to 4 nodes, each with 3 numbers (label=C, ..)'
run -s words.gpd -e 'predict words.csv out=w2.csv'
ok "a session predicts the same" cmp w1.csv w2.csv
# ---- small windows by dense filters
run -e 'open s.csv; split test=25% seed=1; kernel conv(rbf,width=3); fit features=256; score; save dense.gpd'
has "small windows have dense filters, which is told" "$err" \
    'note.plan.*3 x 21.*dense random filters'
rmse() { printf "%s\n" "$out" | grep 'RMSE.*MAE'; } # baselines tell how long they took
was=$(rmse)
run -s dense.gpd -e 'compare r1; score run=r1'
is "a session keeps the filters that were chosen" "$(rmse)" "$was"
run -e 'open s.csv; split test=25% seed=1; kernel convdense(rbf,width=3); fit features=256; score'
is "they are those of convdense" "$(rmse)" "$was"
is "which nobody has to tell" "$(printf "%s\n" "$err" | grep -c "dense random")" 0
run -e 'open s.csv; split test=25% seed=1; kernel convdense(rbf,width=12); fit features=256; kernel convdense(matern(nu=3/2),width=3,average=full) + conv(rbf,width=5); tune features=256 evals=8; fit solver=exact; check; fit features=256; pca'
is "convdense of any width, in sums, exact, under pca" $rc 0
run -e 'demo friedman1 n=60; tune width=3,5'
has "columns have no windows" "$err" 'this kernel has none'
# ---- one row as the model sees it
run --format json -e \
    'open s.csv; kernel conv(rbf,width=5); fit features=512 l=2; neighbours row:3 count=4; explain-row row:3 out=x.csv; plot row out=row.csv; describe row'
is "neighbours and explain-row" $rc 0
has "neighbours come with similarity and target" "$out" \
    '"command":"neighbours".*"row":3,.*"neighbours":\[{"row":[0-9]*,"similarity":[0-9.]*,"distance":[0-9.]*,"target":[0-9.]*'
len=$(sed -n 4p s.csv | cut -d, -f1 | tr -d '\n' | wc -c)
ok "each letter at each position, and masked" test "$(wc -l <x.csv)" = $((1 + 21 * len))
ok "its own letters change nothing" awk -F, \
    'NR > 1 && $2 == $3 && ($4 > 1e-9 || $4 < -1e-9) { bad = 1 } END { exit bad }' x.csv
# a mutant that is made and predicted is what explain-row said
awk -F, \
    'NR == 4 { print "sequence,y,n_changed"; print $0; print "W" substr($1, 2) "," $2 "," $3 }' \
    s.csv >mut.csv
run -e 'open s.csv; kernel conv(rbf,width=5); fit features=512 l=2; predict mut.csv out=m.out'
ok "as a prediction of the mutant says" awk -F, \
    'FNR == NR { if ($1 == 1 && $3 == "W") want = $4; next } FNR == 2 { a = $2 } FNR == 3 { d = $2 - a - want; exit !(d < 1e-6 && d > -1e-6) }' x.csv m.out
run -e 'open s.csv; kernel conv(rbf,width=5); fit features=64; neighbours row:401'
has "there must be such a row" "$err" 'row 401: the data have 400 rows'
run -e 'open s.csv; kernel conv(rbf,width=5); fit features=64; explain-row first'
has "a row is a number" "$err" 'row:123'
run -e 'open s.csv; kernel conv(rbf,width=5); fit features=64; plot slice'
has "there is no slice through letters, but" "$err" 'try  explain-row row:1'
run -e 'demo friedman1 n=60; fit features=64; neighbours 7; explain-row 7'
is "columns have neighbours" $rc 0
has "and changes" "$out" 'row 7 by r1: mean'
run --format json -e \
    'demo molecules n=60; cols atoms* role=input; kernel graph(rbf,average=none) + linear on atoms*; fit features=128; explain-row row:2 out=n5.csv'
has "each node left out" "$out" '"command":"explain-row".*"nodes":\[{"position":[0-9]*,"change":'
# ---- sets of nodes with numbers: y is a sum over the nodes of w times a, over two tables
awk 'BEGIN { srand(7); print "graph,a,w,colour" >"n.csv"; print "graph,y" >"gy.csv"
    for (g = 1; g <= 240; g++) { n = 2 + int(6 * rand()); y = 0
        for (j = 1; j <= n; j++) { a = 2 * rand() - 1; w = 2 * rand() - 1; c = rand() < 0.5; y += a * w + c
            line[++m] = sprintf("g%d,%.4f,%.4f,%s", g, a, w, c ? "red" : "blue") }
        printf "g%d,%.5f\n", g, y >"gy.csv" }
    for (i = 1; i <= m; i += 2) print line[i] >"n.csv"; for (i = 2; i <= m; i += 2) print line[i] >"n.csv" }' </dev/null
rm -f n.gpd
run -s n.gpd --format json -e \
    'open n.csv graph=graph targets=gy.csv target=y; split test=25% seed=1' \
    -e 'kernel graphpoly(degree=2,norm=raw,average=none); tune features=256; fit features=512; score' \
    -e 'kernel graph(rbf,average=none) + linear; tune features=256; fit features=512; score; predict out=n1.csv'
is "rows of nodes, scattered, and a table of graphs" $rc 0
has "are told" "$out" 'sets of 2 to 7 nodes, each with 4 numbers'
ok "graph and means together learn a product in each node" between "$(num rmse_scaled)" 0.0 0.25
run -s n.gpd -e 'predict run=r2 out=n2.csv; predict n.csv graph=graph run=r2 out=n3.csv'
ok "the session predicts the same" cmp n1.csv n2.csv
ok "and new tables of nodes" test "$(wc -l <n3.csv)" = 241
run -s n.gpd -e 'predict run=r2 n.csv out=n4.csv'
has "without graph= it says how" "$err" 'graph='
run -e 'open n.csv graph=graph targets=gy.csv target=y; kernel graphpoly(degree=3) * rbf; fit features=128; kernel rbf; fit features=128' \
    -e 'kernel fastconv(rbf,width=1,filters=16); fit features=64; kernel graph(cauchy,norm=unit); fit solver=exact; check; pca rows=100 features=64'
is "other kernels of nodes" $rc 0
has "means over nodes are told" "$err" 'note.pool'
printf 'graph,a\ng1,1\n,2\n' >bad1.csv
run -e 'open bad1.csv graph=graph'
has "a node of no graph" "$err" 'row 2.*the graph of this node is unknown'
printf 'graph,a,y\ng1,1,5\ng1,2,6\n' >bad2.csv
run -e 'open bad2.csv graph=graph target=y'
has "a graph with two targets" "$err" "row 2: graph 'g1' has the target 6 here and 5 in row 1"
printf 'graph,a\ng1,1\ng2,\n' >bad3.csv
run -e 'open bad3.csv graph=graph'
has "a node without a number" "$err" "row 2: 'a' of a node of graph 'g2' is missing"
run -e 'open n.csv graph=nothing'
has "no such column" "$err" 'no such column'
printf 'graph,y\ng1,1\ng2,2\ng3,4\nx9,3\n' >few2.csv
run -e 'open n.csv graph=graph targets=few2.csv'
has "targets without nodes are told" "$err" "1 row of the table has no nodes, first row 4 ('x9')"
has "and graphs without targets" "$err" "237 graphs have no row in the table, first row 4 ('g4')"
# atoms: the energy falls with the sixth power of the distance of pairs
awk 'BEGIN { srand(21); split("C H O", k, " "); print "mol,element,x,y,z" >"at.csv"; print "mol,e" >"ae.csv"
    for (g = 1; g <= 200; g++) { n = 2 + int(5 * rand()); e = 0
        for (j = 1; j <= n; j++) { t[j] = 1 + int(3 * rand()); x[j] = 1.5 * j + 0.6 * rand(); y[j] = rand(); z[j] = rand()
            printf "m%d,%s,%.4f,%.4f,%.4f\n", g, k[t[j]], x[j], y[j], z[j] >"at.csv"
            for (i = 1; i < j; i++) { d = (x[i]-x[j])^2 + (y[i]-y[j])^2 + (z[i]-z[j])^2; e -= (t[i] * t[j]) / d^3 } }
        printf "m%d,%.6f\n", g, e >"ae.csv" } }' </dev/null
run --format json -e \
    'open at.csv graph=mol targets=ae.csv target=e describe=neighbours; split test=25% seed=1' \
    -e 'kernel graphpoly(degree=2,norm=raw,average=none) + linear; tune features=512; fit features=1024; score; predict at.csv graph=mol describe=neighbours out=a1.csv'
is "atoms by what is around them" $rc 0
ok "a dispersion energy is learnt" between "$(num rmse_scaled)" 0.0 0.35
run --format json -e \
    'demo molecules n=400 seed=3; cols atoms* role=input; split test=25% seed=1; kernel linear on atoms*; fit features=64; score' \
    -e 'kernel graph(rbf,average=none) + linear on atoms*; tune features=256; fit features=512; score'
is "generated molecules" $rc 0
ok "one fifth of the error of a line through the counts of atoms" \
    awk -v a="$(num mae)" -v b="$(printf '%s\n' "$out" | sed -n \
    's/.*"mae":\([0-9.e-]*\)[,}].*/\1/p' | head -n 1)" 'BEGIN { exit !(a > 0 && 5 * a < b) }'
printf 'mol,element,x,y,z\nm1,C,0,0,0\nm1,H,0,0,0\n' >one.csv
run -e 'open one.csv graph=mol describe=neighbours'
has "two atoms in one place" "$err" "rows 2 and 1: two atoms of graph 'm1' are in one place"
run -e 'open n.csv graph=graph describe=neighbours'
has "no atoms" "$err" 'reads columns element, x, y, z'
# a series: each value from the ten before it
awk 'BEGIN { srand(2); print "t,v"; for (i = 1; i <= 400; i++) printf "%d,%.4f\n", i, sin(i / 5) + 0.05 * rand() }' >ser.csv
run --format json -e \
    'open ser.csv window=v:10 target=v skip=t; missing drop; split ordered=yes test=25%; kernel rbf; tune features=128; fit features=256; score' \
    -e 'kernel conv(rbf,width=4); fit features=128'
is "a series from its past" $rc 0
has "is told" "$out" "the 10 values of 'v' from 10 to 1 rows before each"
ok "is foretold" between "$(printf '%s\n' "$out" | sed -n \
    's/.*"rmse_scaled":\([0-9.e-]*\)[,}].*/\1/p' | head -n 1)" 0.0 0.15
run -e 'open ser.csv window=v'
has "a window has a width" "$err" 'window=temp:24'

# rows with more changes than training: told with numbers, and drawn
shifted='kernel conv(rbf,width=5); tune features=256 evals=8; fit features=512; check; plot mutations out=m.csv; describe mutations'
run --format json -e "demo proteins n=600 seed=2; split column=few_vs_many; $shifted"
is "variants with more changes than training" $rc 0
has "check counts the letters" "$out" \
    '"changes":{"ok":false,"text":"5 letters differ from the training consensus at the median (most 10), in training rows 2 (most 3);'
has "and says what that is" "$out" \
    '100 % have more changes than 99 % of the training rows: an extrapolation'
has "sd is compared too" "$out" \
    '"shift":{"ok":false,"text":"sd of these rows against sd of left-out training rows: 1.[0-9]* x on average'
has "the plot says how wrong it gets" "$out" \
    'beyond the 3 letters of training errors are [1-9][0-9.]* x the sd, overconfident'
ok "errors grow with the letters" awk -F, \
    '/^1,"*RMSE/ { e[++n] = $NF == "" ? $4 : $4 } END { exit !(n >= 5 && e[n] > 1.3 * e[1]) }' m.csv
run --format json -e "demo proteins n=600 seed=2; split test=25%; $shifted"
has "a random split has none of it" "$out" '"changes":{"ok":true,.*the same kind of rows"}'
ok "nor the plot" test "$(printf "%s\n" "$out" | grep -c "x the sd, overconfident")" = 0
run --format json -e "open s.csv; split test=25% seed=1; $shifted"
has "unrelated sequences go by the nearest" "$out" \
    '"changes":{"ok":true,"text":"nearest training row [0-9]* letters away (of training rows: [0-9]*): the same kind of rows'
has "in the plot too" "$out" 'letters that differ from the nearest training row'
run -e 'demo robot n=100; split test=20%; kernel rbf; fit; score; plot mutations'
has "a table has no letters" "$out" 'No input is a sequence of letters. try: plot sderror'

# coordinates coloured by length: its own column of the file, whose second half is as long as it
# says
run -e 'open s.csv; kernel conv(rbf,width=5); pca dims=2 rows=400 features=128 color=length out=len.csv; pca color=nothing'
has "no such colour" "$err" 'there is no column nothing to colour by'
is "by length" "$(head -n 1 len.csv)" "set,row,pc1,pc2,length"
awk -F, 'NR > 1 { print length($1) }' s.csv >lengths
is "the letters of each row" "$(awk -F, 'NR > 1 { print $NF }' len.csv | cmp - lengths && echo \
    same)" same

run -e 'open s.csv; kernel conv(rbf,width=5); pca rows=400 features=128 color=n_changed; plot pca out=few.txt; pca rows=400 features=128 color=y; plot pca out=many.txt'
ok "a value that is one of few has its own colour" sh -c \
    "grep -q 'n_changed 0' few.txt && grep -q 'n_changed 1' few.txt"
is "others have fifths, by where they begin and end" \
    "$(grep -c ' y -*[0-9.]* to [0-9.]*' many.txt)" 5

run -e 'open s.csv; plot columns out=col.csv; demo proteins n=200; plot columns out=pro.csv'
is "rows by their length" "$(awk -F, '$1 == 1 && $2 == "" { n += $4 } END { print n }' col.csv)" 400
ok "of one length: the shares of letters" awk -F, \
    '$1 == 1 && $2 == "" { n++; s += $4 } END { exit !(n == 20 && s > 0.999 && s < 1.001) }' pro.csv

# lengths from one letter to tens of thousands
awk 'BEGIN { srand(4); split("A C G T", a, " "); print "dna,y"
    for (i = 0; i < 24; i++) { n = i < 6 ? 1 : i < 22 ? 20 + i * 40 : 20000 + 10000 * (i - 22); s = ""
        for (j = 0; j < n; j++) s = s a[1 + int(4 * rand())]; printf "%s,%.4f\n", s, log(n) + 0.1 * rand() } }' >long.csv
run --format json -e \
    'open long.csv; kernel conv(rbf,width=1,average=none); fit features=64; kernel graph(rbf); fit features=64; kernel fastconv(rbf,width=1,filters=16); fit features=64; predict long.csv out=long.out'
is "one letter, and thirty thousand" $rc 0
has "are told" "$out" 'length 1 to 30000'
run -e 'open long.csv; missing drop; kernel conv(rbf,width=9); fit features=64'
has "those without a window are counted" "$err" \
    'note.short.*6 training sequences are shorter than a window of 9'
# memory: 20,000 sequences whose one-hot matrix takes 192 MB, in 64; what a fit says it needs is
# what it takes
awk 'BEGIN { srand(7); a = "ACDEFGHIKLMNPQRSTVWY"; print "sequence,y"; for (i = 0; i < 20000; i++) { s = ""
    for (j = 0; j < 60; j++) s = s substr(a, 1 + int(20 * rand()), 1); t = s; print s "," gsub(/[KR]/, "", t) + rand() } }' >mem.csv
run --mem 64MB --format json -e \
    'open mem.csv; about; kernel conv(rbf,width=5); fit features=512 l=2; about'
is "many sequences in little memory" $rc 0
before=$(printf '%s\n' "$out" | sed -n 's/.*"memory_peak":\([0-9]*\),.*/\1/p' | head -n 1)
ok "stay within it" between "$(num memory_peak)" 1e6 64e6
ok "and within what was predicted" between "$(num memory_peak)" 1e6 \
    "$(awk -v a="$before" -v b="$(num predicted_bytes)" 'BEGIN { print a + 1.1 * b }')"

run -e 'open s.csv types=sequence=text; cols'
has "text on demand" "$out" 'sequence *skip *text'
run -e 'open s.csv; split test=25% seed=1; kernel conv(rbf,width=5); fit features=64; pca dims=2 rows=100 features=64; cluster k=2 rows=100 features=64; check'
is "looked at" $rc 0
# Variants of one long protein: only where they vary does anything matter, and the picture shows
# that stretch.
awk 'BEGIN { print "sequence,y"; a = "ACDEFGHIKL"; for (i = 0; i < 10; i++) for (j = 0; j < 10; j += 2)
    print "MKTAYIAKQRQISF" substr(a, 1 + i, 1) "K" substr(a, 1 + j, 1) "HFSRQLEERLGLIEVQAPILSRVGDGTQ," i - j / 2 }' >long.csv
run -e 'open long.csv target=y; kernel rbf; fit features=64 l=2; explain-row row:7; plot row out=long.txt size=90x40; plot row out=long.svg'
has "of a long protein only what varies changes anything" "$out" \
    'only positions 15 to 17 of 45 change anything'
is "positions without influence are not listed" \
    "$(printf '%s\n' "$out" | grep -c '^  [A-Z][0-9]* ')" 2
ok "the picture has both ways" grep -q 'lowers the mean' long.svg
is "and, tall enough, every letter" "$(grep -c '^ [A-Z]┤' long.txt)" 21

# Words: the same predictions from a session, n by the likelihood, and what is refused.
rm -f w.gpd
run -s w.gpd -e 'open s.csv target=y; split test=25% seed=1; kernel spectrum(n=1..2); tune evals=6; fit; predict out=w1.csv'
is "words" $rc 0
run -s w.gpd -e 'predict out=w2.csv'
ok "of a session predict the same" cmp -s w1.csv w2.csv
lacks "of an exact model nothing is said of columns" "$err" 'words that there can be'
# A column for each word makes the same model, whose rows are told apart by no more than rounding.
run -s w.gpd -e 'fit features=512 solver=direct rescale=no; predict out=w3.csv; check'
has "words as features" "$err" 'note.plan.*a column for each of the 420 words that there can be'
has "are the kernel itself" "$out" 'kernel itself'
ok "predict the same" sh -c "paste -d, w1.csv w3.csv | awk -F, '
    NR > 1 { for (i = 1; i <= NF / 2; i++) { d = \$i - \$(i + NF / 2); if (d * d > 1e-12) exit 1 } }'"
run -s w.gpd -e 'predict out=w4.csv'
ok "and so they do in a session" cmp -s w3.csv w4.csv
run -s w.gpd -e 'fit features=64 solver=pcg precision=double; predict out=w5.csv; pca dims=2 features=64'
is "or hashes of words" $rc 0
has "how many words there can be is told" "$err" \
    'note.plan.*signed hashing: the 420 words that there can be share 64 columns'
run -s w.gpd --threads 3 -e 'predict out=w6.csv; export as=python out=w.py'
ok "of a session predict the same" cmp -s w5.csv w6.csv
has "and no program" "$err" 'error.predictor.: .* reads sequences or graphs'
run --threads 3 -e 'open s.csv target=y; split test=25% seed=1; kernel spectrum(n=1..2); set amplitude=0.1 noise=0.4;
    fit features=64 solver=pcg plan=regenerate variance=none; predict out=w7.csv'
run --threads 1 --mem 64MB -e 'open s.csv target=y; split test=25% seed=1; kernel spectrum(n=1..2); set amplitude=0.1 noise=0.4;
    fit features=64 solver=pcg plan=regenerate variance=none; predict out=w8.csv'
ok "threads change nothing" cmp -s w7.csv w8.csv
# beside and times a kernel of numbers
run --format json -e 'open s.csv target=y; cols n_changed role=input; split test=25% seed=1
    kernel spectrum(n=1..2) on sequence + rbf on n_changed; tune features=1024 evals=6; fit features=1024; score
    kernel spectrum(n=1) on sequence * rbf on n_changed; tune features=256 evals=6; fit features=1024; score'
is "words beside a column, and times one" $rc 0
ok "it knows where the motif is" between "$(num rmse_scaled)" 0.01 0.35
has "they take the columns that they need" "$out" 'a column for each of the 420 words'
# texts: their bytes are letters, blanks and umlauts too
awk 'BEGIN { srand(8); split("call now free win prize \303\274ber see you at noon ok gr\303\274n", w, " "); print "text,y"
    for (i = 0; i < 300; i++) { s = ""; y = 0; for (j = 0; j < 6; j++) { k = 1 + int(12 * rand()); s = s (j ? " " : "") w[k]; y += k == 3 || k == 6 }
        printf "%s,%.3f\n", s, y + 0.1 * rand() } }' >text.csv
printf 'text,y\nfree noon,1\nFREE {win},1\n' >new.csv
rm -f x.gpd
run -s x.gpd --format json -e 'open text.csv types=text=sequence; split test=25% seed=1
    kernel spectrum(n=3,norm=cosine); tune evals=8; fit; score; predict out=x1.csv; predict new.csv out=n1.csv'
is "texts" $rc 0
has "are told with the letters that can be printed" "$out" 'letters, [0-9]* letters ( abcefgiklnoprstuwyz and 2 other bytes)'
ok "words of three letters say which words count" between "$(num rmse_scaled)" 0 0.2
has "new letters are outside the alphabet" "$out" '1 row holds letters outside the training alphabet, first row 2: they count as none'
run -s x.gpd -e 'predict run=r1 out=x2.csv; predict new.csv run=r1 out=n2.csv'
ok "texts of a session predict the same" cmp -s x1.csv x2.csv
ok "new ones, too" cmp -s n1.csv n2.csv
# rows shorter than a word have none: told, no error, and the mean is predicted for them
awk 'BEGIN { srand(9); print "dna,y"; for (i = 0; i < 60; i++) { n = i < 7 ? 2 : 12; s = ""
    for (j = 0; j < n; j++) s = s substr("ACGT", 1 + int(4 * rand()), 1); t = s; print s "," gsub(/AC/, "", t) + 0.1 * rand() } }' >few.csv
printf 'dna\nAC\nGTT\nTT\n' >two.csv
for norm in none cosine; do
    rm -f x.gpd
    run -s x.gpd -e "open few.csv target=y types=dna=sequence; kernel spectrum(n=3,norm=$norm); fit; predict two.csv out=t1.csv
        fit features=64 solver=direct; predict two.csv out=t2.csv"
    is "rows without words, norm=$norm" $rc 0
    has "are counted" "$err" 'note.short.*7 training sequences are shorter than the words of spectrum, 3 letters, first in row 1'
    is "and predicted alike" "$(cut -d, -f2- t1.csv | sed -n 2p)" "$(cut -d, -f2- t1.csv | sed -n 4p)"
    is "by features, too" "$(cut -d, -f2- t2.csv | sed -n 2p)" "$(cut -d, -f2- t2.csv | sed -n 4p)"
    ok "by numbers" awk -F, 'NR > 1 && $2 + 0 != $2 { exit 1 }' t2.csv
    run -s x.gpd -e 'predict two.csv run=r1 out=t3.csv'
    ok "and in a session" cmp -s t1.csv t3.csv
done
# words that differ, and pairs of words: exact and with a column each the same
for k in 'mismatch(n=2,m=1)' 'gappy(n=1,gap=1,norm=cosine)'; do
    rm -f w.gpd
    run -s w.gpd -e "open s.csv target=y; split test=25% seed=1; kernel $k; set amplitude=0.1 noise=0.4
        fit; predict out=m1.csv; fit features=882 solver=direct rescale=no; predict out=m2.csv"
    is "$k" $rc 0
    ok "$k: a column for each word" sh -c "paste -d, m1.csv m2.csv | awk -F, '
        NR > 1 { for (i = 1; i <= NF / 2; i++) { d = \$i - \$(i + NF / 2); if (d * d > 1e-12) exit 1 } }'"
    run -s w.gpd -e 'predict run=r1 out=m3.csv; predict run=r2 out=m4.csv'
    ok "$k: of a session" cmp -s m1.csv m3.csv
    is "$k: with features, too" "$(cut -d, -f2 m2.csv)" "$(cut -d, -f2 m4.csv)"
done
run -e 'open s.csv target=y; kernel mismatch(n=9,m=3); fit'
has "too many words that differ" "$err" 'error.*mismatch: with 2[01] letters, words have at most 4 of them, not 9'
run -e 'open s.csv target=y; kernel mismatch(n=3,m=9)'
has "m has bounds" "$err" 'mismatch: m is a whole number from 0 to 8'
for k in 'spectrum(n=2)' 'mismatch(n=2,m=1)' 'gappy(n=2,gap=1)' 'wd(n=2)'; do
    run --format json -e "open s.csv target=y; kernel $k; tune n=1..3 evals=4; fit"
    best=$(echo "$out" | sed -n 's/.*"name":"width".*"message":"n=\([123]\) has the least NMLL.*/\1/p')
    has "$k: a tuning for each n" "$out" '(1: [-0-9.]*, 2: [-0-9.]*, 3: [-0-9.]*)'
    has "$k: the best is kept and fitted with" "$out" \
        "\"command\":\"fit\".*\"kernel\":\"${k%%(*}(n=$best,"
    least=$(echo "$out" | sed -n 's/.*least NMLL (1: \(.*\), 2: \(.*\), 3: \(.*\))".*/\1\n\2\n\3/p' |
        sort -g | head -n 1)
    run -e "open s.csv target=y; kernel ${k%%(*}(n=$best${k#*n=2}; tune evals=4"
    has "$k: and is what a tuning of n=$best alone finds" "$out" "NMLL $least nats"
done
n_of='s/.*"command":"fit".*"kernel":"\([^"]*\)".*/\1/p'
run --format json -s n.gpd -e 'open s.csv target=y; kernel spectrum(n=1..2); tune n=2..3 evals=4' \
    -e 'fit; undo; undo'
best=$(echo "$out" | sed -n "$n_of")
has "of a range the longest words" "$best" '^spectrum(n=1..[23],'
has "undone" "$out" '"command":"undo"'
run --format json -s n.gpd -e 'redo; redo; fit; script out=n.gps'
is "as it was, with a session" "$(echo "$out" | sed -n "$n_of")" "$best"
has "a script has the line" "$(cat n.gps)" '^tune evals=4 n=2..3$'
run -e 'open s.csv target=y; kernel spectrum(n=3..4); tune n=2,3'
has "below the shortest words" "$err" 'n: at most 16 values, each from 3 to 1024'
run -e 'open s.csv target=y; kernel spectrum(n=2); tune n=1,2,15 evals=4'
has "too many letters end it before anything is tuned" "$err" \
    'error.*with 2[01] letters, words have at most 14 of them, not 15'
run -e 'open s.csv target=y; kernel spectrum(n=2); tune width=2'
has "width= is for windows" "$err" 'width= sets the windows of .*conv.*but this kernel has none'
has "and n= for words" "$err" 'try  tune n=2..6'
run -e 'open s.csv target=y; kernel conv(rbf); tune n=2'
has "and the other way round" "$err" 'n= sets the letters of the words of spectrum, .*this kernel'
run -e 'open s.csv target=y; kernel spectrum(n=2) + conv(rbf,width=2); tune n=2 width=3'
has "one at a time" "$err" 'try  tune n=2, then tune width=3'
run -e 'open s.csv target=y; kernel spectrum(n=15); fit'
has "words that 64 bits cannot hold" "$err" 'error.*with 2[01] letters, words have at most 14 of them, not 15'
has "and the way out" "$err" 'kernel spectrum(n=14)'
run -e 'open s.csv target=y; kernel spectrum(n=5..1)'
has "an empty range" "$err" 'n is a whole number from 1 to 1024, or a range of them, as in n=1..5'

finish
