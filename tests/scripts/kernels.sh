#!/bin/sh
# tests/scripts/kernels.sh -- every kernel through every command: tuned, fitted by each way, scored,
# saved, resumed, explored.  The list comes from the program itself.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

num() { printf '%s\n' "$out" | sed -n "s/.*\"$1\":\([-+0-9.eE]*\)[,}].*/\1/p" | tail -n 1; }
between() { awk -v x="$1" -v lo="$2" -v hi="$3" 'BEGIN { exit !(x != "" && x >= lo && x <= hi) }'; }
data='demo friedman1 n=300 seed=1; split test=25% seed=2'

# For kernels of sequences: 240 of 12 to 30 letters, the target a motif's places and a count of
# letters.
awk 'BEGIN { srand(7); a = "ACDEFGHIKLMNPQRSTVWY"; print "name,sequence,target,twice"
    for (i = 1; i <= 240; i++) {
        n = 12 + int(19 * rand()); s = ""; y = 0
        for (j = 1; j <= n; j++) { c = substr(a, 1 + int(20 * rand()), 1); s = s c; y += c ~ /[AILV]/ }
        if (i % 3 == 0) { k = int((n - 6) * rand()); s = substr(s, 1, k) "WWHKC" substr(s, k + 6); y += 6 }
        printf "p%d,%s,%.4f,%.4f\n", i, s, y + rand(), 2 * y } }' >seqs.csv
tables=$data
of() { # data for a kernel
    case $1 in conv*|fastconv*|graph*) data='open seqs.csv; split test=25% seed=2' ;; *) \
        data=$tables ;; esac
}

run --format json -e kernel
all=$(printf '%s\n' "$out" | sed -n 's/.*"kernels":{\([^}]*\)}.*/\1/p' | tr ',' '\n' | sed -n \
    's/^ *"\([a-z]*\)":.*/\1/p')
ok "the registry is told" test "$(echo $all | wc -w)" -ge 10
# tanimoto and tanimotodp read counts, kernels of words letters: counts.sh, sequences.sh; cnn
# images: maps/cnn.sh.
for k in $(echo $all | tr ' ' '\n' | grep -vx -e cnn -e tanimoto -e tanimotodp -e spectrum -e mismatch -e gappy -e wd) 'rbf + linear' 'rbf(l=3) * periodic(period=9) + poly + constant' \
    'matern(nu=3/2,ard) * linear + erf' \
    'conv(matern(nu=1/2),width=5,average=none)' 'fastconv(rbf(ard) + linear,width=5,filters=40)'; do
    rm -f k.gpd p1.csv p2.csv
    of "$k"
    run --format json -s k.gpd -e "$data" -e "kernel $k" -e 'tune features=128 evals=6' -e \
        'fit features=256 solver=pcg' \
        -e 'score' -e 'predict out=p1.csv' -e 'fit features=256 solver=direct' -e 'score' -e \
        'pca features=64 rows=100'
    is "$k: the job ends with 0" $rc 0
    ok "$k: better than a constant" between "$(num rmse_scaled)" 0.01 1.02
    run -s k.gpd -e 'predict run=r1 out=p2.csv; describe residual r1; runs'
    is "$k: resumes" $rc 0
    ok "$k: with the same predictions" cmp p1.csv p2.csv
    [ "$k" != mlp ] || continue # exact by its features, which one way to tune learns: learned.sh
    run --format json -e "$data" -e "kernel $k" -e 'tune solver=exact evals=4' -e \
        'fit solver=exact' -e 'score'
    is "$k: exact" $rc 0
    loo='tune objective=loo features=64 evals=4'
    case $k in *' '*) loo='tune method=lbfgs features=64 evals=4' ;; esac # up to 4 hyperparameters
    run --format json -e "$data" -e "kernel $k" -e "$loo" \
        -e 'tune nmll=approx features=64 evals=3 rank=16' -e \
        'fit features=64 solver=cg maxit=100000 rtol=1e-4 plan=regenerate precision=float variance=none' \
        -e 'score' -e 'cluster k=2 rows=100 features=64'
    is "$k: other ways to tune, fit and look" $rc 0
done
data=$tables

for k in $all; do
    run -e "help $k"
    has "help $k" "$out" "^$k "
done
run -e 'help kernels'
has "the page of kernels tells of sums" "$out" '2.weight'

# Sums and products as a user meets them.
run -e 'kernel rbf(l=2) * periodic(period=0.5) + linear(weight=0.1); set 3.weight=0.2 2.period=0.4; get 2.period; get 3.weight'
is "hyperparameters by number" $rc 0
has "period" "$out" '2.period *0.4'
has "weight" "$out" '3.weight *0.2'
run -e "$data" -e \
    'kernel rbf + linear; fit features=64; kernel matern(ard); fit features=64; compare r1 r2'
has "compare tells hyperparameters by name" "$out" '2.weight  *1  *-'
has "and those of one kernel only" "$out" ' lengthscale  *-  *1 (10)'

# Groups of inputs.
rm -f k.gpd
run -s k.gpd --format json -e "$data" -e 'cols x1,x2 group=pair; cols x6,x7,x8,x9,x10 group=rest' \
    -e 'kernel rbf(ard=group)' \
    -e 'tune features=128' -e 'fit features=256; score; pca features=64 rows=50; predict out=p1.csv'
is "a lengthscale for each group" $rc 0
ok "as good as friedman1 allows" between "$(num rmse_scaled)" 0.01 0.5
has "five of them" "$out" '"lengthscale":\[[-0-9.e]*,[-0-9.e]*,[-0-9.e]*,[-0-9.e]*,[-0-9.e]*\]'
has "told by name" "$out" \
    '5 lengthscales for 10 inputs: 1 pair (x1 x2), 2 x3, 3 x4, 4 x5, 5 rest (x6 x7 x8 x9 x10)'
has "in the kernel" "$out" 'rbf(ard=1x2:2:3:4:5x5)'
run -s k.gpd -e 'cols; predict run=r1 out=p2.csv; fit features=256; describe residual r1'
is "resumes" $rc 0
has "with its groups" "$out" 'x7  *input .* rest'
ok "and the same predictions" cmp p1.csv p2.csv
run -s k.gpd -e 'cols x3 group=pair; fit features=256'
has "a tuned kernel keeps its groups" "$err" 'kernel rbf(ard=group)'
run -e "$data" -e 'cols x1 group=a; cols x1 group=none; cols' -e \
    'kernel matern(nu=3/2) ard=group + linear' -e 'fit features=256 solver=direct; fit solver=exact'
is "without groups each input is one" $rc 0
is "no group is left" "$(printf '%s\n' "$out" | grep -c ' group$')" 0
has "as many lengthscales as inputs" "$err" '10 lengthscales for 10 inputs'

run -e 'kernel rbf + intercept'
has "another name of a kernel" "$err" 'kernel constant'
run -e 'kernel (rbf + linear) * periodic'
has "brackets" "$err" 'a \* c + b \* c'
run -e 'kernel rbf + '
has "an open sum" "$err" 'ends too early'
run -e 'demo toy; kernel rbf; fit 2.l=3'
has "there is one kernel only" "$err" 'has no 2.lengthscale'
run -e 'demo toy; kernel rbf + rbf + rbf; fit features=4'
has "too few features" "$err" 'at least 6'
run --format json -e 'demo co2; split ordered test=20%' -e \
    'kernel poly + rbf(l=3) * periodic(period=0.0701) + rbf(l=0.3)' -e 'tune 3.period=0.0701' -e \
    'fit; score'
ok "the season and the trend of CO2 twelve years ahead, within 2 ppm" between "$(num rmse)" 0.1 2

# A list sets the lengthscales of all inputs: as each by itself, in `fit`, scripts and sessions.
ls='0.8,0.9,1,1.1,1.2,4,5,6,7,8'
set='kernel matern(nu=3/2,ard); set noise=0.3'
run --format json -e "$data; $set; set l=$ls; fit; score"
want=$(num rmse)
has "a list is the value of each input" "$out" '"lengthscale":\[0.8,0.9,1,1.1,1.2,4,5,6,7,8\]'
each=$(echo "$ls" | tr ',' '\n' | awk '{ printf " l[%d]=%s", NR, $1 }')
run --format json -e "$data; $set; set l=$ls; set$each; fit; score"
is "and each by itself" "$(num rmse)" "$want"
run --format json -s list.gpd -e "$data; $set; fit l=$ls; score; set l=$ls; script out=list.gp"
is "fit takes a list for itself" "$(num rmse)" "$want"
run --format json list.gp -e 'fit; score r2'
is "a script has it" "$(num rmse)" "$want"
run --format json -s list.gpd -e 'get l; fit; score'
has "a session keeps it" "$out" '"name":"lengthscale\[10\]","value":8'
is "and fits with it" "$(num rmse)" "$want"
run -e "$data; $set; set l=$ls; undo; get l"
has "undo takes it back" "$out" '^ *lengthscale  *1 '
run --format json -e "$data; $set; tune l=$ls evals=3"
has "tune holds it" "$out" '"command":"tune".*"lengthscale":\[0.8,0.9,1,1.1,1.2,4,5,6,7,8\]'
run -e "$data; $set; set l=1,2,3"
has "the error tells how many are needed" "$err" '10 values are needed, .*; 3 are given'
run -e "$data; $set; set l=$ls; set l=1,2,3"
has "also once they are known" "$err" '10 values are needed'
run -e "$data; kernel rbf; set l=1,2,3"
has "without ard there is one" "$err" 'kernel rbf has one'
run -e "$set; set l=1,2,3"
has "without data it is unknown" "$err" 'try  open FILE'
for bad in 1,,2 1,2..3 1, ,1 1,x; do
    run -e "$data; $set; set l=$bad"
    is "l=$bad is no list" "$rc" 2
done
finish
