#!/bin/sh
# tests/scripts/counts.sh -- columns of counts and the kernel tanimoto, from the file to sessions:
# what a cell must be, tables beside one another, fits on molecules against reference scores.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

# Cells.
bad() { # cell what
    printf 'c,name,y\n3:1 4:2,a,2\n3:1,b,3\n%s,d,4\n4:1,e,5\n' "$1" >bad.csv
    run --format json -e 'open bad.csv types=c=counts'
    has "$1: $2" "$err$out" "\"name\":\"counts\".*row 3 .*column 'c', character $3 .*$2"
}
bad '5:1 4:2' 'below the one before it' 5
bad '4:1 4:2' 'stands there twice' 5
bad '4:-1 5:2' 'a value is below 0' 3
bad '4:1 5:inf' 'not finite' 7
bad '4:1 5:1e999' 'not finite' 7
bad '4:1 4294967296:1' 'above 4294967295' 5
bad '4:1 5' 'a pair like 33:4' 5
bad '4:1 5:' 'a value of 0 or more' 7
bad '4:x 5:1' 'a value of 0 or more' 3
bad '3:1;4:2' 'a value of 0 or more' 3

cat >few.csv <<'END'
c,t,y
3:1 4:2,10:30,2
3:1,11:15,3
0:0,12:00,4
7:0 300:300 4294967295:0.25,09:00,5
,10:00,3
END
run --format json -e 'open few.csv; summary; cols t role=skip; kernel tanimoto; fit' -k \
    -e 'missing drop; fit; predict few.csv out=p.csv columns=row,mean'
has "counts are recognised" "$out" '"name":"counts".*0 to 2 places'
has "a missing cell is told with what to do" "$out$err" '"name":"missing".*"try":"missing drop'
is "four rows remain, and one of them is empty" "$(sed 1d p.csv | wc -l | tr -d ' ')" 4

# A table beside another.
printf 'y,name\n1,a\n2,b\n4,c\n' >first.csv
printf 'fp,temp\n1:1 2:3,0.5\n1:2,0.25\n2:3 9:1,1\n' >second.csv
run --format json -e 'open first.csv beside=second.csv; cols'
has "columns are added" "$out" '"rows":3,"columns":4'
printf 'fp\n1:1 2:3\n' >second.csv
run --format json -e 'open first.csv beside=second.csv'
has "another number of rows is refused" "$out$err" '"name":"beside".*1 rows, the table beside it 3'
printf 'name\nq\nr\ns\n' >second.csv
run --format json -e 'open first.csv beside=second.csv'
has "and a name that is there" "$out$err" '"name":"beside".*name.* is in both'

# Two columns of counts, numbers beside them, longer rows than in training.
awk 'BEGIN { srand(3); print "ligand,other,temp,y"
    for (i = 0; i < 90; i++) { y = 0
        for (c = 0; c < 2; c++) { s = ""
            for (p = 0; p < 40; p++) if (rand() < 0.2) { v = 1 + int(rand() * 300)
                s = s (s == "" ? "" : " ") p "00000000:" v; if (c == 0) y += v * (p % 3 - 1) }
            cell[c] = s == "" ? "0:0" : s }
        t = rand(); printf "%s,%s,%.4f,%.4f\n", cell[0], cell[1], t, y / 300 + t } }' >two.csv
lines='open two.csv; cols other,temp role=input; split test=20% seed=2'
run --format json -e "$lines; kernel tanimoto; fit"
has "one of two columns has to be named" "$out$err" '"name":"counts".*(ligand, other).*"try":"kernel tanimoto on ligand'
run -e "$lines; kernel tanimoto on ligand * matern on temp + linear on temp; tune; fit; score;
    save two.gpd; predict two.csv out=a.csv"
is "counts times numbers are tuned, fitted and scored" "$rc" 0
run -s two.gpd -e 'predict two.csv out=b.csv; undo; redo; predict two.csv out=c.csv'
ok "a session predicts the same" cmp a.csv b.csv
ok "and after undo and redo" cmp a.csv c.csv
awk 'NR < 6' two.csv | sed 's/^\([0-9: ]*\),/\1 4294967294:1e-9 4294967295:1,/; s/^0:0 //' \
    >longer.csv
run -s two.gpd -e 'predict longer.csv out=d.csv columns=row,mean'
is "rows with more places than any in training are predicted" "$rc" 0
# Neighbours: by hand 1/3 and sqrt(2 (1 - 1/3)) for the second row, 1 and 0 for the fourth; their
# targets 2, 4 and 2 differ by 1, 3 and 1 from that of the first, 1.
cat >four.csv <<'END'
c,y
3:1 4:2,1
4:1,2
5:3,4
3:1 4:2,2
END
run --format json -e 'open four.csv; kernel tanimoto; fit; neighbours row:1'
has "neighbours by exact values" "$out" '"features":null.*"row":4,"similarity":1,"distance":0,'
has "the next one" "$out" '"row":2,"similarity":0.33333333333333[0-9]*,"distance":1.15470053837925'
has "and an unrelated one" "$out" '"row":3,"similarity":0,"distance":1.414213562373'
has "targets beside the row's own" "$out" \
    '"target":2,"difference":1,.*"target":2,"difference":1,.*"target":4,"difference":3,'
run --format json -e 'open four.csv; kernel tanimoto; fit; neighbours row:3'
has "a smaller target differs by less than 0" "$out" '"target":1,"difference":-3,'
# Rows by their cells of text: c2 is row 2; two rows are called c1.
sed '1s/$/,name/; 2s/$/,c1/; 3s/$/,c2/; 4s/$/,c3/; 5s/$/,c1/' four.csv >named.csv
named='open named.csv types=name=text target=y; kernel tanimoto; fit'
run --format json -e "$named; neighbours c2"
has "a row by its name" "$out" '"command":"neighbours".*"row":2,'
run -e "$named; neighbours c1"
has "several rows of one name" "$err" '2 rows have the cell c1, the first of them is row 1'
run -e "$named; neighbours c9"
has "a name that no row has" "$err" 'c9 is not a row: rows are numbered from 1'
# Features of tanimoto: everything that works by features, twice with the same bits; as bits.
run --format json -e 'open two.csv; kernel tanimoto; fit'
has "the plan says what features would cost" "$out" \
    '"name":"plan".*exact: Cholesky.*; features=4096 would take .* miss a similarity by up to 0.016'
run --format json -e 'open two.csv; cols temp role=input; split test=20% seed=2;
    kernel tanimoto * rbf on temp + tanimoto(xi=gauss); tune features=64;
    race pcg,psvrg features=256;
    fit features=256 solver=pcg; score; pca; cluster k=2 dims=2; advise; why; spectrum;
    landscape features=64; neighbours row:3; save hashed.gpd; predict two.csv out=a.csv'
is "features of products and sums: tuned, fitted, scored, pca and the like" "$rc" 0
run -s hashed.gpd -e 'predict two.csv out=b.csv'
ok "a session predicts the same" cmp a.csv b.csv
for threads in 1 2; do
    run --threads $threads --format json -e "open two.csv; kernel tanimoto;
        fit solver=pcg features=512 store=bits plan=store; predict two.csv out=t$threads.csv"
done
has "kept as bits" "$out" '"plan":"store".*"store":"bits"'
has "as the plan says" "$out" 'keeps the features as bits'
ok "the same for any number of threads" cmp t1.csv t2.csv
run --format json -e 'open two.csv; kernel tanimoto; fit features=64 store=float32'
has "bits are not stored as numbers" "$out$err" 'signs, which are kept as bits.*"try":"fit plan=store'
run --format json -e 'open two.csv; cols temp role=input; cols ligand role=skip; kernel rbf;
    fit features=64 store=bits'
has "nor numbers as bits" "$out$err" 'only features that are signs.*"try":"fit plan=store store=fl'

# Features of tanimotodp: the same; constants of the training rows belong to the model.
for threads in 1 2; do
    run --threads $threads --format json -e "open two.csv; cols temp role=input
        split test=20% seed=2; kernel tanimotodp(power=1,bias=sketch) * rbf on temp + tanimotodp
        tune features=64
        race pcg,psvrg features=256; fit features=256 solver=pcg; score; pca; cluster k=2 dims=2
        advise; why
        spectrum; landscape features=64; save tensor$threads.gpd; predict two.csv out=a$threads.csv"
    is "features of dot products: tuned, fitted, scored, pca and the like" "$rc" 0
done
ok "the same for any number of threads" cmp a1.csv a2.csv
run -s tensor1.gpd -e 'predict two.csv out=b.csv'
ok "a session predicts the same" cmp a1.csv b.csv
run -s tensor1.gpd --format json -e 'runs'
has "the model keeps the norms of its rows" "$out" 'bias=sketch,largest=.*,zeta=0.'
sed 's/:1/:90/g' four.csv >large.csv
run --format json \
    -e 'open four.csv; kernel tanimotodp; fit features=64; predict large.csv out=l.csv'
has "larger rows are told" "$out$err" '"name":"shortened".*rows have greater counts'
run --format json -e 'open four.csv; kernel tanimotodp(terms=1,bias=sketch)'
has "a residual needs two terms" "$out$err" 'needs two terms.*"try":"kernel tanimotodp(terms=2'
run --format json -e 'open four.csv; kernel tanimotodp(shares=9)'
has "shares within bounds" "$out$err" 'shares is a number from -4 to 4'

# Two lists of counts multiplied have no features.
awk -F, '{ print NR == 1 ? "c,e,y" : $1 "," $1 "," $2 }' four.csv >both.csv
both='open both.csv; cols e role=input; kernel tanimoto on c * tanimotodp on e'
run --format json -e "$both; fit features=64"
has "features are refused" "$out$err" '"name":"no-features".*"try":"fit model=exact'
while IFS='|' read -r line try; do
    run --format json -e "$both; fit; $line"
    has "what $line says to do" "$out$err" "\"name\":\"no-features\".*\"try\":\"$try"
done <<'END'
pca|kernel rbf; fit; pca"
cluster k=2 dims=2|kernel rbf; fit; cluster"
advise|spectrum model=exact"
tune features=64|tune, without features=
landscape features=64|without features=
END
run --format json -e "$both; spectrum"
has "what a planned fit's spectrum says to do" "$out$err" '"try":"spectrum model=exact"'
run -e "$both; spectrum model=exact; tune evals=2"     -e 'kernel rbf; fit; pca; cluster k=2 dims=2'
is "and all of that is possible" "$rc" 0
run -e 'open two.csv; kernel tanimoto; fit solver=pcg; fit solver=exact'
is "by products, too" "$rc" 0
run --format json -e 'open two.csv; kernel rbf; fit'
has "kernels of columns read the places" "$out" '"name":"places".* 40 numbers'
awk 'BEGIN { print "c,y"
    for (i = 0; i < 90; i++) { s = ""; for (p = 0; p < 50; p++) s = s " " i * 1000 + p ":1"
        print substr(s, 2) "," i } }' >many.csv
run --format json -e 'open many.csv; kernel rbf; fit'
has "but not any number of them" "$out$err" '"name":"places".*"try":"kernel tanimoto'

# pick: similarities by hand.  The first row of the pool is one of training, the others are 2/3, 1/2
# and 0 like the nearest of training, and 1/3, 0 and 0 like one another.
cat >pool.csv <<'END'
c,name
3:1 4:2,p1
3:1 4:1,p2
4:1 5:1,p3
9:1,p4
END
pick='open four.csv; kernel tanimoto; fit; pick pool.csv'
run --format json -e "$pick count=3 by=mean out=picked.csv"
has "pick leaves training rows out" "$out" '"count":3,"pool":4,"left_out":1,"by":"mean"'
for one in '"name":"p2","row":2,.*"nearest":0.66666666666666' '"name":"p4","row":4,.*"nearest":0}' \
    '"name":"p3","row":3,[^}]*"nearest":0.5}' '"diversity":0.8888888888888'; do
    has "pick tells $one" "$out" "$one"
done
is "its file" "$(sed -n 1p picked.csv; grep -c . picked.csv)" 'row,c,name,mean,sd,nearest
4'
run --format json -e "$pick count=3 by=mean similar=0.3"
has "similar= keeps two of them apart" "$out" '"count":2,.*"diversity":1,'
has "and the third is told" "$out$err" '"name":"few".*only 2 of 3'
run --format json -e "$pick count=3 by=improvement similar=0.4; pick pool.csv count=3"
has "by improvement" "$out" '"count":3,.*"by":"improvement"'
has "by functions, which are drawn by features" "$out" '"count":3,.*"by":"thompson"'
run --format json -e "open four.csv; kernel tanimotodp; fit; pick pool.csv count=3"
has "joint draws need no features" "$out" '"count":3,.*"by":"thompson"'

# Molecules with counts of radius 1, five splits: 0.675 and 23.4 is what NumPy finds.
mean() { # set
    data=${GPDESK_SHARED:-$src/../shared}/data/$1 sum=0
    for k in 0 1 2 3 4; do
        run --format json -e "open $data/data.csv.gz beside=$data/fingerprints.csv.gz target=target;
            kernel tanimoto; split file=$data/splits.csv.gz column=split$k; tune; fit; score"
        one=$(printf '%s\n' "$out" | grep -o '"rmse":[0-9.]*' | tail -n 1)
        sum="$sum + ${one#*:}"
    done
    awk "BEGIN { printf \"%.3g\", ($sum) / 5 }"
}
if test -d "${GPDESK_SHARED:-$src/../shared}/data/esol"; then
    is "esol: mean RMSE of five splits" "$(mean esol)" 0.675
    is "photoswitch" "$(mean photoswitch)" 23.4
fi
finish
