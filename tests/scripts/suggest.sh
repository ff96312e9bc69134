#!/bin/sh
# tests/scripts/suggest.sh -- functions, quantiles and chances of `predict` against closed forms;
# `suggest` from files and ranges; `tell`, undo, sessions and scripts.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

awk 'BEGIN { srand(3); print "x,k,y"; for (i = 0; i < 60; i++) { x = 10 * i / 59
    k = i % 2 ? "a" : "b"
    printf "%.6f,%s,%.6f\n", x, k, 5 - (x - 6) ^ 2 / 5 + (k == "a") + 0.05 * (rand() - 0.5) } }' >d.csv
fit='open d.csv target=y; kernel rbf; fit solver=exact l=1 amplitude=2 noise=0.05'

# ---- predict: samples, quantiles, chances ----
awk -F, 'NR == 1 { print "x,k" } NR > 1 && NR % 6 == 2 { print $1 + 0.04 "," $2 }' d.csv >new.csv
run --format json -e "$fit" -e "predict new.csv columns=row,mean,sd_latent,sd samples=400 \
quantiles=5,50,97.5 above=4 out=p.csv"
is "predict with functions ends with 0" $rc 0
is "its columns" "$(sed -n 1p p.csv | sed 's/sample5,.*sample400/../')" \
    'row,mean,sd_latent,sd,sample1,sample2,sample3,sample4,..,q5,q50,q97.5,above'
has "JSON names them" "$out" '"samples":400,"quantiles":\[5,50,97.5\],"above":4,'
# Sample means are within 4.5 standard errors of the mean (10 rows), quantiles are mean + z sd, and
# the chance is 1 - Phi by a series for erf (Abramowitz & Stegun 7.1.5).
ok "functions, quantiles and chances follow from mean and sd" awk -F, 'FNR > 1 { n++; s = 0
    for (i = 5; i < 405; i++) { s += $i - $2; v += ($i - $2) ^ 2 / 400 / $3 ^ 2 }
    if ((s / 400) ^ 2 > 4.5 ^ 2 * $3 ^ 2 / 400) bad = bad " mean" FNR
    far = off($405, $2 - 1.6448536269514722 * $4) + off($406, $2)
    far += off($407, $2 + 1.9599639845400542 * $4); if (far) bad = bad " quantile" FNR
    z = ($2 - 4) / $4 / sqrt(2); p = z > 4 ? 1 : z < -4 ? 0 : 0.5 + erf(z) / 2
    if (($408 - p) ^ 2 > 1e-12) bad = bad " chance" FNR }
    END { if (bad || n != 10) { print bad, n; exit 1 }; if (v / n < 0.8 || v / n > 1.25) exit 2 }
    function off(a, b) { return (a - b) ^ 2 > 1e-18 * (1 + b * b) }
    function erf(z, k, t, s) { t = z; for (k = 0; k < 120; k++) { s += t / (2 * k + 1)
        t *= -z * z / (k + 1) } return 1.1283791670955126 * s }' p.csv
run -e "set threads=1; $fit; predict new.csv samples=3 out=q.csv; predict new.csv samples=3 seed=5 out=r.csv"
run -e "set threads=2; $fit; predict new.csv samples=3 out=t.csv"
ok "the same bits with another number of threads" cmp q.csv t.csv
ok "other functions with another seed" sh -c '! cmp -s q.csv r.csv'
run -e "open d.csv target=y; scale y=none; fit features=64 l=1 noise=0.3 variance=32; predict new.csv samples=2"
has "fewer features for the variances: the fit that can" "$err" 'error\[no-functions\].*all 64'
run -e "$fit; predict quantiles=5,150"
has "a percentage beyond 100" "$err" 'error\[quantiles\]'
run -e "open d.csv target=y; fit solver=exact l=1 noise=0.1 variance=none; predict above=3"
has "chances need variances" "$err" 'error\[no-variance\]'

# ---- functions that a fit solves for: the same bits after a resume and with other threads ----
sol='open d.csv target=y; kernel rbf; fit model=exact solver=pcg samples=12 l=1 amplitude=2 noise=0.3'
run --format json -s f.gpd -e "$sol; predict new.csv samples=12 out=a.csv; score on=train"
is "a fit with functions ends with 0" $rc 0
has "its record" "$out" '"command":"fit".*"samples":12,"samples_residual":[0-9.e-]*,'
has "a note says how far its variances scatter" "$out$err" '"samples".*12 functions and scatter by 41 %'
has "they give scores their intervals" "$out" '"coverage95"'
run -s f.gpd -e 'predict new.csv samples=12 out=b.csv'
ok "a session resumes them to the same bits" cmp a.csv b.csv
run -e "set threads=2; $sol; predict new.csv samples=12 out=c.csv"
ok "the same bits with another number of threads" cmp a.csv c.csv
ok "the sd is the mean square of the functions, and noise" awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    NR > 1 { s = 0; for (k = 1; k <= 12; k++) s += ($at["sample" k] - $at["mean"]) ^ 2 / 12; n++
    if ((s - $at["sd_latent"] ^ 2) ^ 2 > 1e-12 * s * s || $at["sd"] <= $at["sd_latent"]) exit 1 }
    END { exit n != 10 }' a.csv
run -e "$sol; predict new.csv samples=13"
has "more than it solved for: the fit that can" "$err" 'error\[no-functions\].*12 functions.*13'
run --format json -e "$sol; suggest 4 x=0..10/0.25; suggest 2 x=0..10/0.25 by=ei"
has "suggest takes them" "$out" '"command":"suggest".*"count":4'
run --format json -e "open d.csv target=y; fit features=256 solver=pcg variance=samples l=1 amplitude=2 noise=0.3; score on=train"
has "variance=samples on features" "$out" '"samples":64,'
has "and their score" "$out" '"command":"score".*"coverage95":[01]'
run -e "open d.csv target=y; fit model=exact solver=pcg samples=8 rtol=0.9 maxit=1 l=1 amplitude=2 noise=0.01"
has "unfinished solves: variances are too large" "$err" 'note\[samples\].*unfinished'

# ---- draw posterior along an input: the functions are those of predict ----
run --format json -e "$fit; draw posterior along=x row:7 n=2 seed=4; plot posterior x row:7 out=f.csv"
is "functions along an input end with 0" $rc 0
has "their record" "$out" '"command":"draw".*"on":"posterior","run":"r1","along":"x","row":7,"functions":2'
k=$(sed -n 8p d.csv | cut -d, -f2)
for c in mean 'draw 1' 'draw 2'; do
    awk -F, -v want="$c" '$2 == want { print $3 "," $4 }' f.csv >"$c.xy"
done
{ echo x,k; cut -d, -f1 mean.xy | sed "s/\$/,$k/"; } >line.csv
run -e "$fit; predict line.csv columns=row,mean samples=2 seed=4 out=l.csv"
ok "mean and functions are those of predict at these places" sh -c "
    paste -d, mean.xy 'draw 1.xy' 'draw 2.xy' |
    sed '1i\\
head' | paste -d, - l.csv | awk -F, 'NR > 1 { n++
    for (i = 0; i < 3; i++) if ((\$(2 + 2 * i) - \$(8 + i)) ^ 2 > 1e-8) exit 1 }
    END { exit n != 201 }'"
run -e "$sol; draw along=x; draw along=k row:3"
is "functions that a fit solved for, along a number and a category" $rc 0
run -q -e "$fit; draw posterior along=x row:7 n=2 seed=4; plot posterior out=last.csv; plot posterior x row:8 out=f9.csv" \
    -e 'plot posterior out=still.csv'
ok "plot posterior takes up the last draw" cmp f.csv last.csv
ok "a file with another line leaves it" cmp last.csv still.csv
ok "and has that line" sh -c '! cmp -s f9.csv last.csv'
run -e "$fit; draw posterior along=x row:900"
has "a row that is not there" "$err" 'row:900.*60 rows'
run -e "$fit; draw along=x kernel=rbf"
has "the kernel is that of the fit" "$err" 'try  draw posterior along=x'
run -e "$fit; draw row:3"
has "a row is of a line along an input" "$err" 'try  draw posterior along='

# ---- suggest from ranges ----
run --format json -e "$fit; suggest 3 x=0..10 k=a by=mean candidates=2000 out=s.csv"
is "suggest ends with 0" $rc 0
is "its file" "$(sed -n 1p s.csv)" 'id,x,k,mean,sd,chance'
ok "the largest mean is near the truth, 6, and the proposals are apart" awk -F, 'NR > 1 { n++
    if ($2 < 5 || $2 > 7 || $3 != "a") exit 1
    if (n > 1 && ($2 - last) ^ 2 < 1e-4) exit 2; last = $2 } END { exit n != 3 }' s.csv
has "its record" "$out" '"command":"suggest".*"out":"s.csv","count":3,"pool":2000,.*"pending":3,.*"best":.*"rows":\[{"id":"s1","row":'
for by in thompson ei ucb mean sd; do
    run -q -e "$fit; suggest 4 x=0..10/0.25 by=$by out=$by.csv; suggest 4 x=0..10/0.25 by=$by seed=7 out=b.csv"
    is "by=$by gives a file of four" "$(wc -l <$by.csv)" 5
    is "and the next four are others" "$(tail -qn +2 $by.csv b.csv | cut -d, -f2,3 | sort -u | wc -l)" 8
    is "with ids that go on" "$(sed -n 2p b.csv | cut -d, -f1)" s5
done
run -q -e "set threads=2; $fit; suggest 4 x=0..10/0.25 out=again.csv"
ok "the same rows for any number of threads" cmp thompson.csv again.csv
run -q -e "$fit; suggest 2 x=0..10 k=b goal=min by=mean out=min.csv; suggest 2 x=0..10 k=b goal=2 by=mean out=two.csv"
ok "goal=min: the end far from 6; goal=2: near 2" awk -F, 'FNR == 2 { n++
    if (n == 1 ? $2 > 0.5 : ($4 - 2) ^ 2 > 0.01) exit 1 }' min.csv two.csv
run -e "$fit; suggest 2"
has "the measured range is told" "$err" 'note\[ranges\]: candidates: x 0..10, k (2 values)'

# ---- the members of the records, each there and right ----
fields() { # NAME COMMAND KEY...: every record of the command has these members
    name=$1 of=$2
    shift 2
    for key in "$@"; do
        printf '%s\n' "$out" | grep "\"type\":\"result\",\"command\":\"$of\"" | grep -v "\"$key\":" | sed "s/^/without $key: /"
    done >missing
    printf '%s\n' "$out" | grep -q "\"command\":\"$of\"" || echo "no record" >>missing
    is "$name" "$(cut -c1-160 missing)" ''
}
run --format json -e "$fit; suggest 3 x=0..10/0.25 by=ei out=s.csv; tell s1=3 s3=failed; bo table start=12 rounds=1 batch=2 by=mean solver=pcg" \
    -e 'fit model=exact solver=sdd(batch=16) samples=4 maxit=300 l=1 amplitude=2 noise=0.3'
fields "members of fit" fit model batch step step_limit lambda1 samples
has "of an exact fit by sdd" "$out" '"solver":"sdd","model":"exact",.*"batch":16,"step":[0-9.]*,"step_limit":[0-9.]*,"momentum":[0-9.]*,"lambda1":0\.[0-9]*,"samples":4,'
has "and by Cholesky" "$out" '"solver":"exact","model":"exact",.*"batch":null,"step":null,"step_limit":null,"momentum":null,"lambda1":null,"samples":null,'
fields "members of suggest" suggest run out count pool left_out pending by best rows seconds
is "of each of its rows" "$(printf '%s\n' "$out" | grep '"command":"suggest"' |
    grep -o '{"id":"s[123]","row":[0-9]*,"mean":[-0-9.e]*,"sd":[0-9.e]*,"chance":[0-9.e-]*}' | wc -l)" 3
fields "members of tell" tell told pending failed best rows
has "tell counts" "$out" '"command":"tell",.*"told":1,"pending":1,"failed":1,"best":5.99[0-9]*,"rows":61'
fields "members of bo" bo by solver seed round measured best found1 seconds
has "a line of bo" "$out" '"by":"mean","solver":"pcg","seed":1,"round":1,"measured":14,"best":[0-9.]*,"found1":[01][0-9.]*,"seconds":'
# The chance is that of the function to be above the best: Phi((mean - best) / sd of the function),
# whose variance is that of a measurement less the noise, 0.05 standard deviations of y.
best=$(printf '%s\n' "$out" | sed -n 's/.*"command":"suggest".*"best":\([^,]*\),.*/\1/p')
ok "chance follows from mean and sd" awk -F, -v best="$best" 'FNR == NR { if (FNR > 1) { n++
        m += $3; q += $3 * $3 } next }
    FNR > 1 { noise = 0.0025 * (q / n - (m / n) ^ 2); z = ($4 - best) / sqrt(2 * ($5 * $5 - noise))
        p = z > 4 ? 1 : z < -4 ? 0 : 0.5 + erf(z) / 2; k++
        if ((p - $6) ^ 2 > 1e-10) { print p, $6; exit 1 } } END { exit k != 3 }
    function erf(z, k, t, s) { t = z; for (k = 0; k < 120; k++) { s += t / (2 * k + 1)
        t *= -z * z / (k + 1) } return 1.1283791670955126 * s }' d.csv s.csv
# Proposals of a statement keep apart: 1 - exp(-d^2 / 2) of the inputs in standard deviations.
sd=$(awk -F, 'NR > 1 { n++; m += $1; q += $1 * $1 } END { printf "%.12g", sqrt(q / n - (m / n) ^ 2) }' d.csv)
for by in thompson ei ucb mean sd; do
    run -q -e "$fit; suggest 5 x=0..10 k=a by=$by apart=0.2 out=apart.csv"
    ok "by=$by: no two are nearer than apart=" awk -F, -v sd="$sd" 'NR > 1 { x[++n] = $2
        for (i = 1; i < n; i++) if (1 - exp(-((x[i] - $2) / sd) ^ 2 / 2) < 0.2 - 1e-9) exit 1 }
        END { exit n < 2 }' apart.csv
done
# Lengthscales far above the sd of the inputs leave room for a batch at the optimum, all the same:
# rows keep as far away as with a lengthscale of 1 sd.
run -q -e 'open d.csv target=y; kernel rbf; fit solver=exact l=30 amplitude=100 noise=0.1' \
    -e 'suggest 5 x=0..10 k=a by=mean apart=0.05 out=apart.csv'
ok "long lengthscales: none nearer, and none far" awk -F, -v sd="$sd" 'NR > 1 { x[++n] = $2
    for (i = 1; i < n; i++) { r = ((x[i] - x[n]) / sd) ^ 2
        if (1 - exp(-r / 2) < 0.05 - 1e-9 || r > 2) exit 1 } }
    END { exit n != 5 }' apart.csv
# Four functions whose best rows are all too near: others take their places.
run -q -e 'open d.csv target=y; kernel rbf; fit model=exact solver=pcg samples=4 l=1 amplitude=2 noise=0.1' \
    -e 'suggest 4 x=0..10/0.002 k=a by=thompson apart=0.3 out=apart.csv'
ok "as many as functions that a fit solved for, and none nearer" awk -F, -v sd="$sd" 'NR > 1 { x[++n] = $2
    for (i = 1; i < n; i++) if (1 - exp(-((x[i] - x[n]) / sd) ^ 2 / 2) < 0.3 - 1e-9) exit 1 }
    END { exit n != 4 }' apart.csv

# ---- suggest from a file: what was measured or is there twice is left out ----
{ echo 'name,x,k'; echo 'far,6.01,a'; echo 'twin,6.01,a'; echo 'low,1,b'; echo 'mid,4,b'
  awk -F, 'NR == 37 { print "old," $1 "," $2 }' d.csv; } >pool.csv
run --format json -e "$fit; suggest 9 pool=pool.csv by=mean apart=0 out=s.csv"
is "each distinct new row once" "$(cut -d, -f1-4 s.csv | tail -n +2 | tr '\n' ' ')" \
    's1,far,6.01,a s2,mid,4,b s3,low,1,b '
has "a warning says that there are few" "$out" '"type":"warning".*"few"'
has "a note says what is left out" "$out" '"measured".*2 of 5 candidates'
run -q -e "$fit; suggest 9 pool=pool.csv by=mean apart=0 again=yes out=s.csv"
is "again=yes allows all" "$(wc -l <s.csv)" 6
run -e "$fit; suggest 2 z=1..2"
has "an unknown column" "$err" 'error.*z'
run -e "$fit; suggest 2 x=5..1"
has "a range that is upside down" "$err" 'error\[range\]'
run -e "$fit; suggest 2 k=c"
has "a category that there is not" "$err" 'error\[range\].*no such category'
run -e "$fit; suggest 2 y=1..2"
has "a target has no range" "$err" 'error\[range\].*target'
run -e "$fit; suggest 2 pool=pool.csv x=1..2"
has "a file and a range" "$err" 'error.*beside pool='

# ---- tell ----
run -q -s a.gpd -e "$fit; suggest 4 x=0..10/0.25 by=ei out=plate.csv"
# Any order, one missing, one failed.
awk -F, -v OFS=, 'NR == 1 { print $0, "y"; next } { row[NR] = $0 }
    END { print row[4], 3.25; print row[2], "failed"; print row[3], ""; print row[5], 1.5 }' \
    plate.csv >back.csv
run --format json -s a.gpd -e 'tell back.csv; data'
is "tell in a later program ends with 0" $rc 0
has "told, pending, failed" "$out" '"command":"tell".*"told":2,"pending":1,"failed":1,'
run --format json -s a.gpd -e 'tell back.csv'
has "the same again changes nothing" "$out" '"told":0,"pending":1,"failed":0,.*"rows":62'
run -s a.gpd -e 'tell s3=3.5'
has "another value names the line" "$err" 'error\[told\]: s3=3.5: s3 was told before'
run -s a.gpd -e 'tell s2=1 s9=2'
has "so does an unknown id" "$err" 'error\[told\].*s9'
run --format json -s a.gpd -e 'tell s2=2.5' -e 'fit solver=exact l=1 amplitude=2 noise=0.05' \
    -e 'suggest 4 x=0..10/0.25 by=ei out=next.csv'
has "the rest; what was wrong has changed nothing" "$out" '"told":1,"pending":0,.*"rows":63'
is "no proposal twice" "$(tail -qn +2 plate.csv next.csv | cut -d, -f2,3 | sort -u | wc -l)" 8
is "ids go on" "$(sed -n 2p next.csv | cut -d, -f1)" s5
run --format json -s a.gpd -e 'undo; undo; tell s2=9'
has "undo takes back what was told" "$out" '"told":1,"pending":0,.*"best":9,"rows":63'
# A script has the rows and their values: other rows, which another processor might propose, cannot
# come under their ids, no plate is written over, and no file is needed.  Ids are not used again.
run -q -s p.gpd -e "$fit; suggest 3 out=p1.csv; undo; suggest 2 by=mean out=p2.csv; ask x=5 k=b; script out=x.gps"
is "ids are not used again, although suggest was undone" "$(cut -d, -f1 p2.csv | tr '\n' ' ')" 'id s4 s5 '
sed '1s/$/,y/; 2s/$/,7.5/; 3s/$/,failed/' p2.csv >back.csv
sed '3s/,failed$/,2/' back.csv | sed '2s/^s4,[^,]*/s4,1.5/' >wrong.csv
run -s p.gpd -e 'tell wrong.csv'
has "inputs of another plate are refused by row and column" "$err" "error\[told\]: row 1 (s4): x is '1.5' where s4 was"
awk -F, -v OFS=, 'NR > 1 { $2 = sprintf("%.2f", $2) } { print }' back.csv >round.csv
run --format json -s p.gpd -e 'tell round.csv; tell s6=2; fit solver=exact l=1 noise=0.05; predict new.csv out=a.csv columns=row,mean' \
    -e 'script out=x.gps; data'
has "rounded inputs are not; nothing was changed before" "$out" '"told":1,"pending":1,"failed":1,'
rm -f p1.csv p2.csv round.csv back.csv
run --format json -s q.gpd -f x.gps -e 'predict new.csv out=b.csv columns=row,mean' -e 'tell s4=7.5 s5=failed s6=2; script out=y.gps'
is "the script runs" $rc 0
has "it has told the same" "$out" '"told":0,"pending":0,"failed":0,.*"rows":62'
ok "and predicts the same" cmp a.csv b.csv
is "it writes no plate" "$(ls p1.csv p2.csv 2>/dev/null)" ''
sed -n 's/^ask //p; s/^tell //p' x.gps | tr -d "'" >want
sed -n 's/^ask //p; s/^tell //p' y.gps | tr -d "'" >got
ok "its own script has the same rows and values" cmp want got
run -q -s s.gpd -e "$fit; suggest 1000 x=0..10/0.01 by=sd apart=0; undo; suggest 1000 x=0..10/0.01 by=sd apart=0 seed=2; undo" \
    -e 'suggest 900 x=0..10/0.01 by=sd apart=0; fit solver=exact l=1 noise=0.05; undo; suggest 1 by=mean; script out=x.gps; tell s2901=1'
run --format json -f x.gps -e 'tell s2901=1'
has "many rows are several commands, which undo takes back together" "$out" '"told":1,"pending":0,'
# ---- rows that are more than columns: counts are told, sets of nodes are not kept ----
awk 'BEGIN { srand(5); print "bits,y"; for (i = 0; i < 40; i++) { s = ""; y = 0
    for (k = 1; k < 9; k++) { c = int(3 * rand()); if (c) s = s (s ? " " : "") k ":" c; y += c * k }
    print (s ? s : "0:0") "," y } }' >c.csv
{ sed -n 1p c.csv | cut -d, -f1; sed -n 30,41p c.csv | cut -d, -f1; } >cpool.csv
sed -i 30,41d c.csv
run --format json -s c.gpd -e 'open c.csv target=y types=bits=counts; kernel tanimoto; fit noise=0.2' \
    -e 'suggest 3 by=mean apart=0 pool=cpool.csv types=bits=counts out=c1.csv; suggest 20 by=mean apart=0 pool=cpool.csv types=bits=counts out=c2.csv' \
    -e 'tell s1=90 s2=80; fit noise=0.2; suggest 1 by=mean again=yes pool=cpool.csv types=bits=counts'
is "counts are proposed and told" $rc 0
has "and are in the next fit" "$out" '"command":"fit".*"rows":30,'
is "none is proposed twice" "$(tail -qn +2 c1.csv c2.csv | cut -d, -f2 | sort | uniq -d)" ''
awk 'BEGIN { srand(4); print "mol,a,b,y"; for (m = 1; m <= 60; m++) { n = 3 + int(4 * rand()); y = 0
    for (i = 0; i < n; i++) { A[i] = rand(); B[i] = rand(); y += A[i] * B[i] }
    for (i = 0; i < n; i++) print "m" m "," A[i] "," B[i] "," y } }' >nodes.csv
awk -F, 'NR == 1 || substr($1, 2) + 0 > 38' nodes.csv | cut -d, -f1-3 >npool.csv
awk -F, 'NR == 1 || substr($1, 2) + 0 <= 40' nodes.csv >nhad.csv
run --format json -s n.gpd -e 'open nhad.csv target=y graph=mol; kernel graph(rbf); fit features=64 noise=0.2' \
    -e 'suggest 5 by=mean apart=0 pool=npool.csv graph=mol out=n.csv; data'
has "sets of nodes: told apart by their numbers" "$out" '"count":5,"pool":22,"left_out":2,"pending":0,'
has "and not kept, which is said" "$out" '"unkept".*cannot be told one by one'
# ---- ask: rows of one's own ----
run -s r.gpd -e "$fit; ask x=5 k=a; ask x=6.5 k=; suggest 2 x=5 k=a again=no by=mean" -e 'tell s1=5.5 s2=3'
is "rows of one's own" $rc 0
has "wait for tell" "$out" 's2 waits for a measurement; 2 pending'
has "and are not proposed" "$err" 'only 0 of 2 rows'
for try in "x=5;no value of the input k" "x=5 k=a y=1;is the target" "x=5 x=6 k=a;there twice" "x=five k=a;none" \
    "x=5 k=a z=1;no column" "'[{\"id\":\"s1\",\"x\":2}]';s1 already" "'[{\"id\":\"a\",\"x\":2}]';not s1, s2" \
    "'[{\"id\":\"s9\",\"x\":\"2\"}]';numbers, not words" "'[{\"id\":';from character 8" "'[]';from character"; do
    run -s r.gpd -e "ask ${try%%;*}"
    has "ask ${try%%;*}" "$err" "error.*${try#*;}"
done
run -e 'open d.csv target=y,x; fit solver=exact l=1 noise=0.1; ask k=a; tell s1=1' -k -e 'tell s1=1,2; fit solver=exact l=1 noise=0.1'
has "several targets: a value for each" "$err$out" 'there are 2 targets, and 1 value'
has "with commas" "$out" '61 rows  2 targets  exact'
run --format json -e "$fit; ask x=5 k=a; tell s1=4.2 goal=3.9"
has "the best is the nearest to a goal" "$out" '"best":3.9[0-9]*,'
run -q -s f.gpd -e "$fit; suggest 2 by=mean; tell s1=7; fit solver=exact l=1 amplitude=2 noise=0.05" \
    -e 'predict new.csv out=one.csv'
run -q -s f.gpd -e 'predict new.csv out=two.csv'
ok "a resumed fit on rows that were told predicts the same" cmp one.csv two.csv
run -e "$fit; tell s1=4"
has "without proposals" "$err" 'try  suggest 8 out=plate.csv'
run -e "$fit; suggest 1 by=mean; tell s1=high"
has "a value that is no number" "$err" 'error\[told\]: s1=high: .high. is neither'

# ---- bo: the data replayed; the best row of 200 is where the function has its peak ----
awk 'BEGIN { srand(9); print "a,b,y"; for (i = 0; i < 200; i++) { a = rand(); b = rand()
    printf "%.6f,%.6f,%.6f\n", a, b, exp(-8 * ((a - 0.7) ^ 2 + (b - 0.3) ^ 2)) } }' >peak.csv
run --format json -e 'open peak.csv; kernel rbf' \
    -e 'bo table start=12 rounds=3 batch=4 by=ei,mean,random seeds=2; data'
is "bo ends with 0" $rc 0
is "a line for each round of each rule and seed" \
    "$(printf '%s\n' "$out" | grep -c '"command":"bo","by":.*"seconds":')" 24
rounds() { printf '%s\n' "$out" | grep "\"by\":\"$1\",\"solver\":[^,]*,\"seed\":$2,\"round\":$3,"; }
is "rules share the rows that a seed starts with" \
    "$(rounds ei 1 0 | sed 's/.*"measured"/"measured"/')" \
    "$(rounds random 1 0 | sed 's/.*"measured"/"measured"/')"
has "ei finds both of the best two rows" "$(rounds ei 2 3)" '"measured":24,.*"found1":1,'
has "the data stay as they were" "$out" '"rows":200,"pending":0,'
printf '%s\n' "$out" | grep '"command":"bo"' | sed 's/,"seconds.*//' >one.json
run --format json -e 'set threads=2; open peak.csv; kernel rbf' \
    -e 'bo table start=12 rounds=3 batch=4 by=ei,mean,random seeds=2'
printf '%s\n' "$out" | grep '"command":"bo"' | sed 's/,"seconds.*//' >two.json
ok "the same for any number of threads" cmp one.json two.json
run -e 'open peak.csv; kernel rbf; bo table start=300'
has "a start that leaves nothing" "$err" 'error.*200 rows.*start=300'
run --format json -e 'open peak.csv; kernel rbf(ard)' \
    -e 'bo table start=12 rounds=3 batch=4 by=ei solver=exact tune=start'
has "a lengthscale for each input" "$out" \
    '"by":"ei","solver":"exact","seed":1,"round":3,"measured":24,.*"found1":1,'
run -e 'open peak.csv; bo table by=best'
has "an unknown rule" "$err" 'error.*by=best'

# ---- bo: a drawn function, and a formula ----
draw="kernel matern(nu=3/2); bo draw dims=2 l=0.4 start=40 rounds=2 batch=5 candidates=500"
run --format json -e "$draw by=thompson,mean,random solver=exact,pcg,sdd seeds=2 noise=0.1"
is "bo draw ends with 0" $rc 0
is "a line for each round; the choice at random once" \
    "$(printf '%s\n' "$out" | grep -c '"command":"bo","by":.*"solver":.*"found1":null,')" 42
has "each solver" "$(rounds mean 2 2)" '"solver":"sdd","seed":2,"round":2,"measured":50,'
# Conjugate gradients to 0.01 give nearly the functions of the factor: the best values are alike.
best() { rounds "$1" 1 0 | grep "\"solver\":$2" | sed 's/.*"best":\([^,]*\),.*/\1/'; }
is "solvers and rules share the truth and the start" \
    "$(for by in thompson mean; do best $by '"exact"'; best $by '"pcg"'; done | sort -u)" \
    "$(best random null)"
printf '%s\n' "$out" | grep '"command":"bo"' | sed 's/,"seconds.*//' >one.json
run --format json -e "set threads=2; $draw by=thompson,mean,random solver=exact,pcg,sdd seeds=2 noise=0.1"
printf '%s\n' "$out" | grep '"command":"bo"' | sed 's/,"seconds.*//' >two.json
ok "the same for any number of threads" cmp one.json two.json
# Solvers on products make no factor, which for 3000 rows takes 69 MB.
many="kernel matern(nu=3/2); bo draw dims=2 l=0.4 start=3000 rounds=1 batch=6 candidates=200 noise=0.1"
run --mem 64MB --format json -e "$many by=thompson,ei solver=pcg"
is "no variances need a factor beside a solver on products" "$(rounds ei 1 1 | grep -c '"measured":3006,')" 1
is "nor do functions" "$(rounds thompson 1 1 | grep -c '"measured":3006,')" 1
run --mem 64MB -e "$many by=mean solver=exact"
has "a factor does not fit" "$err" 'error\[exact-size\].*3,000 rows'
# Kernels without random features stay exact beyond 4000 rows: 4010 of all words of 6 letters.
awk 'BEGIN { print "s,y"; for (i = 0; i < 4096; i++) { s = ""; v = 0
    for (k = 0; k < 6; k++) { c = int(i / 4 ^ k) % 4; v += c * (k + 1); s = s substr("ACDE", c + 1, 1) }
    print s "," v } }' >words.csv
run --format json -e 'open words.csv target=y types=s=sequence; kernel wd; bo table start=4010 rounds=1 batch=5 by=mean tune=no'
is "exact beyond 4000 rows" "$(rounds mean 1 1 | grep -c '"measured":4015,')" 1
run -e "$draw by=mean solver=pcg noise=1e-4"
has "single precision needs some noise, told" "$err" 'note\[noise\]: pcg fits in single precision'
run --format json -e "kernel rbf(ard); bo draw dims=3 start=30 rounds=1 batch=2 tune=each"
has "ard without data" "$out" '"round":1,"measured":32,'
run --format json -e "bo 'sin(5*x)*(1-tanh(x^2))' x=-2..2 rounds=15 by=ei"
# The largest value on -2..2 is 0.90943 at x = 0.2892, by a grid of 4e6 points.
has "the best of a formula" "$(rounds ei 1 15)" '"measured":20,"best":0\.90[89]'
run --format json -e "bo '-(n-3)^2-(x-0.5)^2' n=1..5/1 x=0.25,0.5,0.75 start=3 rounds=20 by=mean"
is "each of 15 rows once, and no row twice" "$(rounds mean 1 20 | sed 's/.*"measured":\([0-9]*\),.*/\1/')" 15
has "and the best of them" "$(rounds mean 1 20)" '"best":0,'
for try in "x+z x=0..1;z has no range" "x+ x=0..1;expression ends" \
    "x x=2..1;first end" "y<3 y=0..1;no number" "x x=0..1 dims=3;dims= belongs to bo draw" \
    "system(x) x=0..1;no function .system" "table noise=1;no noise=" "draw x=1..2;takes no" \
    "draw solver=best;best"; do
    run -e "open peak.csv; bo ${try%%;*}"
    has "bo ${try%%;*}" "$err" "error.*${try#*;}"
done
run -e "bo 'sqrt(x)' x=-1..-0.5"
has "a formula without a value" "$err" 'error\[formula\]: the formula has no value at x=-'
# The plots: means and standard errors over seeds, by hand; the proposals and their file.
run --format json -e "kernel rbf; bo draw dims=2 start=20 rounds=3 batch=2 by=mean,random seeds=3" \
    -e 'plot bo out=bo.csv; describe bo'
printf '%s\n' "$out" | grep '"by":"mean".*"round":3,' | sed 's/.*"best":\([^,]*\),.*/\1/' |
    awk '{ s += $1; q[NR] = $1 } END { for (i in q) v += (q[i] - s / 3) ^ 2
        printf "%.6f %.6f\n", s / 3, s / 3 - sqrt(v / 6) }' >want
awk -F, '$1 == 1 && $3 == 26 { if ($2 == "" && lo == "") lo = $4; if ($2 == "mean") m = $4 }
    END { printf "%.6f %.6f\n", m, lo }' bo.csv >got
ok "plot bo: the mean of the seeds, and its standard error" cmp want got
run -q -e "$fit; suggest 5 x=0..10 candidates=400 out=s.csv; plot suggest out=plot.csv; plot suggest out=s.svg"
tail -n +2 s.csv | awk -F, '{ printf "%.9g %.9g\n", $5, $4 }' >want
awk -F, '$2 == "proposed" { printf "%.9g %.9g\n", $3, $4 }' plot.csv >got
ok "plot suggest: sd and mean of the proposals" cmp want got
is "and of the candidates" "$(grep -c ,candidates, plot.csv)" 400
run -k -e 'plot suggest out=x.svg; plot bo out=x.svg'
has "before there is one" "$err$out" 'bo draw dims=3'
# A batch is full although proposals keep apart: more functions are drawn.
run --format json -e 'kernel rbf; bo draw dims=1 l=0.1 start=10 rounds=1 batch=40 candidates=4000'
has "forty rows, each unlike the others" "$out" '"round":1,"measured":50,'
# A stop keeps the rounds so far, which were told while it ran.
mkfifo stop
"$gpdesk" --format json -e "bo draw dims=4 start=900 rounds=900 batch=1 by=mean" >stop 2>err.txt &
pid=$!
{   while read -r line; do
        case $line in *'"round":2,'*) break ;; esac
    done
    kill -INT $pid
    cat >rest
} <stop
wait $pid
is "Ctrl-C ends it, after a line of the second round while it runs" $? 130
has "and it says so" "$(cat rest)" 'bo was stopped after'
# ---- pick: the test rows, beside what awk makes of predictions and values ----
split='split test=40% seed=2'
echo 'pick test count=5 by=mean seed=3 out=c.csv' >pick.gps
run --format json -e "open d.csv target=y; $split; kernel rbf" -e 'fit solver=exact l=1 amplitude=2 noise=0.05' \
    -e 'predict out=p.csv columns=row,mean; source pick.gps'
is "pick in a script ends with 0" $rc 0
awk -F, 'FNR > 1 { print $1, $2 }' p.csv | sort -k2,2gr -k1,1g | head -n 5 | cut -d' ' -f1 >want
is "by=mean picks the best means" "$(sed 1d c.csv | cut -d, -f1 | tr '\n' ' ')" "$(tr '\n' ' ' <want)"
value() { printf '%s\n' "$out" | sed -n "s/.*\"$1\":\([-0-9.e]*\).*/\1/p" | tail -n 1; }
ok "means of the chosen, the best and chance are those of the rows" awk -F, -v m="$(value mean_chosen)" \
    -v b="$(value mean_best)" -v bm="$(value mean_by_mean)" -v ch="$(value mean_chance)" '
    FILENAME == "want" { in5[$1] = 1; next } FILENAME == "p.csv" { if (FNR > 1) t[$1] = 1; next }
    FNR > 1 && FNR - 1 in t { y = $3; s += y; n++; v[n] = y; if (FNR - 1 in in5) c += y / 5 }
    END { for (i = 1; i <= 5; i++) { k = 1; for (j = 1; j <= n; j++) if (v[j] > v[k]) k = j
            top += v[k] / 5; v[k] = -1e9 }
        print n, c, m, top, b, s / n, ch, bm
        exit n != 24 || far(c, m) || far(top, b) || far(s / n, ch) || far(c, bm) }
    function far(p, q) { return q == "" || (p - q) ^ 2 > 1e-18 }' want p.csv d.csv
pick="open d.csv target=y; $split; kernel rbf; fit features=256 l=1 amplitude=2 noise=0.05"
run -e "set threads=1; $pick; pick test count=6 out=1.csv; pick test count=6 goal=min by=ucb similar=0.5 out=m.csv"
run -e "set threads=2; $pick; predict out=p.csv columns=row,mean; pick test count=6 out=2.csv"
ok "functions pick the same with another number of threads" cmp 1.csv 2.csv
ok "only test rows, none twice" awk -F, 'FNR == 1 { next } FILENAME == "p.csv" { t[$1]; next }
    !($1 in t) || seen[$1]++ { exit 1 } { n++ } END { exit n != 6 }' p.csv 1.csv
run --format json -e "open d.csv target=y; fit features=32; pick test"
has "without test rows pick says what to do" "$out$err" '"no-rows".*"try":"split test=20%'
run --format json -e "$pick; pick d.csv count=3 by=mean"
has "nothing measured is picked from a file" "$out" '"count":0,"pool":60,"left_out":60'

# Variances of the chosen rows alone are those that predict gives them.
run -e "$pick; predict out=p.csv columns=row,mean,sd; pick test count=4 seed=2 out=t.csv" \
    -e 'pick test count=4 by=mean out=m.csv'
for by in t m; do
    ok "the sd of rows picked by $by is that of predict" sh -c \
        "awk -F, 'NR == FNR { sd[\$1] = \$3; next } FNR > 1 { d = \$(NF - 1) / sd[\$1]; n++
            if (d < 0.999999999 || d > 1.000000001) exit 1 } END { exit n != 4 }' p.csv $by.csv"
done

# Rows near the best measured ones are drawn by the order of their values, so that only negative
# values, or values far from 0, change nothing: weights y + min y would turn negative here.
for by in 0 10000; do
    awk -v by=$by 'BEGIN { print "x,y"
        for (i = 0; i < 64; i++)
            printf "%.6f,%.10f\n", i * 10 / 64, int(4096 - 164 * (i * 10 / 64 - 6) ^ 2) / 1024 - by }' >"y$by.csv"
    run -e "open y$by.csv target=y; kernel rbf; fit solver=exact l=1 amplitude=2 noise=0.05" \
        -e "suggest 6 x=0..10/0.001 candidates=500 by=mean out=s$by.csv" \
        -e "suggest 6 x=0..10/0.001 candidates=500 by=thompson out=t$by.csv"
    is "proposals beside values less $by end with 0" $rc 0
    ok "they are near the best value" awk -F, '
        FNR > 1 { n++; if (($2 - 6) ^ 2 > 4) exit 1 } END { exit n != 12 }' "s$by.csv" "t$by.csv"
    cut -d, -f1,2 "s$by.csv" "t$by.csv" >"rows$by.csv"
done
ok "the same rows for values and for the same values less 10,000" cmp rows0.csv rows10000.csv

# Classes have no largest number.
awk 'BEGIN { print "a,b,y"
    for (i = 0; i < 40; i++) print i % 7 "," i % 5 "," (i % 7 + i % 5 > 5 ? "yes" : "no") }' >class.csv
run --format json -k -e 'open class.csv target=y; likelihood bernoulli; fit; pick class.csv' \
    -e 'suggest 2 pool=class.csv; likelihood dirichlet; fit; pick class.csv'
is "classes are refused, with what to do" "$(printf '%s\n' "$out$err" |
    grep -c '"name":"classes".*is a class.*"try":"predict FILE out=p.csv')" 3
finish
