#!/bin/sh
# tests/scripts/traps.sh -- data of strings and classes that are awkward: repeated strings, one
# letter a million times, strings without words, classes that are alone, separable or sorted, and
# whether anything is learnt from test rows.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

num() { printf '%s\n' "$out" | sed -n "s/.*\"$1\":\([-+0-9.eE]*\)[,}].*/\1/p" | tail -n 1; }
letters='function dna(n,   s) { for (s = ""; length(s) < n;) {
        r = (r * 69069 + 12345) % 2147483648; s = s substr("ACGT", 1 + int(r / 65536) % 4, 1) }
    return s }'

# Of 150 strings 15 differ: the matrix of the points would be singular. Whatever the way to choose,
# at most 15 are kept, and they are as good as all rows.
awk "$letters"' BEGIN { r = 3; print "s,y,z"; for (i = 0; i < 15; i++) s[i] = dna(20)
    for (i = 0; i < 150; i++) { t = s[i % 15]; k = gsub(/A/, "A", t)
        print s[i % 15] "," k + i * 7 % 10 / 10 "," (k + i % 3 > 5 ? "yes" : "no") } }' >again.csv
open='open again.csv types=s=sequence target=y; cols z role=skip; kernel spectrum(n=3)'
run --format json -e "$open; tune; fit rescale=no"
evidence=$(num nmll) amplitude=$(num amplitude) noise=$(num noise)
for way in random greedy 'greedy(subset=30)' pchol dpp 'anneal(steps=300)'; do
    run --format json -e "$open; fit solver=sparse inducing=40 select=$way amplitude=$amplitude \
        noise=$noise rescale=no; score on=train"
    has "repeated strings, $way: fewer points are kept, and told" "$out" '"name":"inducing-fewer"'
    ok "$way: at most those that differ" test "$(num inducing)" -le 15
    ok "$way: the bound is finite and below the evidence" awk -v b="$(num bound)" -v e="$evidence" \
        'BEGIN { exit !(b + 0 == b && b <= -e + 1e-6) }'
done
run --format json -e "$open; fit solver=sparse inducing=40 select=greedy amplitude=$amplitude \
    noise=$noise rescale=no"
ok "greedy points span all rows" awk -v b="$(num bound)" -v e="$evidence" \
    'BEGIN { d = b + e; exit !(d * d < 1e-6) }'
run --format json -e 'open again.csv types=s=sequence target=z; cols y role=skip' \
    -e 'kernel spectrum(n=3); likelihood bernoulli; fit inducing=40; score on=train'
ok "and of two classes" test "$(num inducing)" -le 15

# One letter a million times: counts of 64 bits, and a note that names norm=cosine.
awk "$letters"' BEGIN { r = 5; print "s,y"; for (i = 0; i < 9; i++) print dna(40) "," i
    for (s = "A"; length(s) < 1048576;) s = s s
    print s ",3" }' >million.csv
open='open million.csv types=s=sequence target=y'
run --format json -e "$open; kernel spectrum(n=2); fit amplitude=0.1 noise=0.5" \
    -e 'predict million.csv out=p.csv'
is "a million of one letter" $rc 0
has "its value with itself is that of 1,048,575 words" "$out" \
    '"name":"repeats".*k(x, x) of spectrum is 1.1e+12 in row 10.*norm=cosine'
ok "the row is predicted as it is" awk -F, '$1 == 10 { d = $2 - 3; exit !(d * d < 1e-4) }' p.csv
run --format json -e "$open; kernel spectrum(n=2,norm=cosine); fit amplitude=1 noise=0.5"
lacks "with cosine there is nothing to tell" "$out" '"name":"repeats"'
run --format json -e "$open; kernel wd(n=3); fit amplitude=0.1 noise=0.5"
has "words at places, too" "$out" '"name":"repeats".*k(x, x) of wd'
run --format json -e 'demo motifs n=60; kernel spectrum(n=3); fit noise=0.5'
lacks "nor of strings that are alike" "$out" '"name":"repeats"'
run -e "$open; kernel spectrum(n=2); fit noise=0.5; explain-row row:10"
has "each letter of it changed is too much, and told" "$err" 'row 10 has 1048576 letters'

# No string has a word: the function is 0, means are those of the targets and classes have
# probability 1/2, by every kind of model.
awk 'BEGIN { print "s,y,z"; for (i = 0; i < 40; i++)
    print substr("ACGTAC", 1 + i % 4, 2) "," i % 5 "," (i % 3 ? "yes" : "no") }' >short.csv
open='open short.csv types=s=sequence; cols y,z role=skip; kernel spectrum(n=3)'
for how in 'fit noise=0.9' 'fit features=64 noise=0.9' \
    'kernel spectrum(n=3,norm=cosine); fit noise=0.9'; do
    run --format json -e "$open; cols y role=target; $how; predict short.csv out=p.csv"
    has "no string has a word: $how" "$out" \
        '"name":"short".*40 training sequences are shorter than the words of spectrum'
    ok "all are predicted by the mean" awk -F, 'NR > 1 { d = $2 - 2; n += d * d < 1e-12 }
        END { exit !(n == 40) }' p.csv
done
run -e "$open; cols y role=target; fit solver=sparse inducing=5"
has "there is no point to keep" "$err" 'every training row with itself is 0'
for link in probit logit; do
    run --format json -e "$open; cols z role=target; likelihood bernoulli link=$link; tune; fit" \
        -e 'score on=train; predict short.csv columns=row,p out=p.csv'
    ok "two classes, $link: a half for each" awk -F, 'NR > 1 { n += $2 == 0.5 }
        END { exit !(n == 40) }' p.csv
    ok "and the average precision of equal probabilities is the base rate" awk \
        -v a="$(num auprc)" -v b="$(num base_rate)" 'BEGIN { d = a - b; exit !(d * d < 1e-20) }'
done
# Some strings have none.
awk "$letters"' BEGIN { r = 9; print "s,z"; for (i = 0; i < 60; i++) {
    s = dna(i < 7 ? 2 : 12); t = s
    print s "," (gsub(/AC/, "", t) || i == 3 ? "yes" : "no") } }' >some.csv
for how in 'fit' 'fit solver=sparse inducing=12' 'likelihood bernoulli link=logit; fit'; do
    run --format json -e 'open some.csv types=s=sequence target=z' \
        -e "likelihood bernoulli positive=yes; kernel spectrum(n=3); $how; score on=train" \
        -e 'predict some.csv columns=row,p out=p.csv'
    # By inducing points they have the probability at the level, that of the class as a whole.
    case $how in *sparse*) level=1 ;; *) level=0 ;; esac
    ok "strings without words beside others: $how" awk -F, -v level=$level '
        NR == 2 { p = level ? $2 : 0.5 } NR > 1 && NR < 9 { n += $2 == p && (!level || p != 0.5) }
        NR > 8 { n += $2 > 0 && $2 < 1 } END { exit !(n == 60) }' p.csv
done

# Classes: none of one in the test rows; separable ones; sorted ones.
awk 'BEGIN { print "x,y,part"; for (i = 0; i < 80; i++)
    print i / 10 "," (i > 39) "," (i < 60 ? "train" : "test") }' >sorted.csv
open='open sorted.csv target=y; cols part role=skip; likelihood bernoulli; kernel rbf'
run --format json -e "$open; split column=part; fit; score; check"
is "a class that no test row has" $rc 0
has "is scored by what has a meaning" "$out" '"command":"score".*"base_rate":1,"log_loss":[0-9]'
lacks "which no order of the rows has" "$out" '"auroc"\|"auprc"'
run --format json -e "$open; tune; fit"
has "separable classes have an amplitude at its bound, told" "$out" '"name":"at-bound".*amplitude'
run --format json -e "$open; split test=25%; fit; score"
ok "a sorted file is split at random" awk -v b="$(num base_rate)" \
    'BEGIN { exit !(b > 0.2 && b < 0.8) }'
run -e "$open; split test=50% ordered; fit"
has "in its order there is one class, and told" "$err" 'of one class'

# Nothing is learnt from test rows: lengths of words, points, amplitudes and intervals are the same
# whatever they hold.
for f in one other; do
    awk -v f=$f "$letters"' BEGIN { r = 21; print "s,y,z,part"
        for (i = 0; i < 90; i++) { s = dna(14); if (i > 59 && f == "other") s = "AAAAAAAAAAAAAA"
            t = s; k = gsub(/CA/, "", t)
            y = i > 59 && f == "other" ? 1000 + i : k + i * 29 % 13 / 13
            print s "," y "," (y > 1 ? "yes" : "no") "," (i < 60 ? "train" : "test") } }' >$f.csv
done
sed 1,61d one.csv | sed '1i s,y,z,part' >new.csv
run --format json -e about
svm='cols z role=target; likelihood bernoulli; fit solver=svm'
case $out in *'"libsvm":false'*) svm='cols z role=target; likelihood bernoulli; fit' ;; esac
for how in 'cols y role=target; tune n=1..3 evals=4; fit' \
    'cols y role=target; kernel spectrum(n=3); fit inducing=9 select=greedy noise=0.5' \
    'cols y role=target; kernel spectrum(n=3); fit inducing=9 select=anneal(steps=200) noise=0.5' \
    'cols z role=target; likelihood bernoulli; tune; fit' \
    'cols z role=target; likelihood bernoulli; fit; calibrate share=0.3' \
    "$svm" \
    'cols z role=target; likelihood bernoulli; fit inducing=9 select=greedy amplitude=1'; do
    for f in one other; do
        run -e "open $f.csv types=s=sequence; cols y,z,part role=skip; split column=part" \
            -e "kernel spectrum(n=2); $how; predict new.csv out=$f.p.csv"
    done
    ok "test rows change nothing: $how" cmp one.p.csv other.p.csv
    is "in all rows" "$(wc -l <one.p.csv | tr -d ' ')" 31
done

# Points outside the training strings come back from a session as they were.
rm -f s.gpd
run -s s.gpd --format json -e 'open one.csv types=s=sequence target=y; cols z,part role=skip' \
    -e 'split test=20% seed=1; kernel spectrum(n=3)' \
    -e 'fit inducing=12 select=anneal(steps=3000) noise=0.5' \
    -e 'predict out=a.csv; predict new.csv out=a2.csv; inducing out=ai.csv'
ok "annealed points are outside" test "$(num inducing_outside)" -gt 6
run -s s.gpd --threads 2 -e 'predict out=b.csv; predict new.csv out=b2.csv; inducing out=bi.csv'
ok "a resumed model predicts the same bytes" cmp a.csv b.csv
ok "of new strings, too" cmp a2.csv b2.csv
ok "and lists the same points" cmp ai.csv bi.csv

finish
