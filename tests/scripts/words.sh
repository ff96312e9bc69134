#!/bin/sh
# tests/scripts/words.sh -- words and motif: weights against closed forms, every kind of model,
# places, both strands, sessions, files, refusals.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

# Letters are words of one letter: Bayesian regression on their two counts, in closed form.
awk 'BEGIN { srand(3); print "seq,y"
    for (i = 0; i < 40; i++) { s = ""; a = 0
        for (j = 0; j < 8 + i % 5; j++) {
            c = (i * 7 + j * j * 3 + int(i * j / 3)) % 5 < 2
            a += c; s = s (c ? "A" : "C")
        }
        print s "," a * 0.7 - (length(s) - a) * 0.2 + (i * 37 % 11) / 11 } }' >ac.csv
run --format json -e 'open ac.csv types=seq=sequence target=y; kernel spectrum(n=1)' \
    -e 'fit amplitude=0.5 noise=0.4 rescale=no; words'
printf '%s\n' "$out" | grep '"command":"words"' >words.json
awk -F, 'NR > 1 { n++; y[n] = $2; m += $2; a[n] = gsub(/A/, "A", $1); c[n] = gsub(/C/, "C", $1) }
    END { m /= n; r = 0.16 / 0.25
        for (i = 1; i <= n; i++) { v += (y[i] - m) ^ 2 / n }
        for (i = 1; i <= n; i++) {
            t = y[i] - m; u += a[i] * t; w += c[i] * t
            p += a[i] ^ 2; q += a[i] * c[i]; s += c[i] ^ 2
        }
        p += r; s += r; d = p * s - q * q
        printf "A %.8f %.8f\n", (s * u - q * w) / d, sqrt(0.16 * v * s / d)
        printf "C %.8f %.8f\n", (p * w - q * u) / d, sqrt(0.16 * v * p / d) }' ac.csv >want
for letter in A C; do
    grep -o "{\"word\":\"$letter\",[^}]*}" words.json |
        sed 's/.*"weight":\([^,]*\),"sd":\([^,]*\),.*/\1 \2/' | cat - want |
        awk -v of=$letter 'NR == 1 { w = $1; s = $2 } $1 == of { d = w - $2; e = s - $3; k = NR }
            END { exit !(k && d < 1e-6 && d > -1e-6 && e < 1e-6 && e > -1e-6) }'
    result $? "weight and sd of $letter in closed form" "$(cat words.json want)"
done

# What is predicted of a row is the sum of its words, for every kind of model.
awk 'BEGIN { srand(5); split("A C G T", l, " "); print "seq,y,z"
    for (i = 0; i < 70; i++) { s = ""
        for (j = 0; j < 12; j++)
            s = s l[1 + (i * i * 5 + j * j * (i + 3) + i * j + int(i * j / 5)) % 4]
        t = s; k = gsub(/CA/, "CA", t); v = k + (i * 29 % 13) / 13
        print s "," v "," (v > 1 ? "yes" : "no") } }' >dna.csv
sums() { # NAME KERNEL COMMANDS HOW
    case $3 in *likelihood*) target=z column=mean_latent ;; *) target=y column=mean ;; esac
    run --format json -e "open dna.csv types=seq=sequence; cols y,z role=skip" \
        -e "cols $target role=target; kernel $2; $3; words count=2 out=w.csv" \
        -e "predict dna.csv columns=row,$column out=p.csv"
    awk -F, -v how="$4" -v target=$target -v level="$(printf '%s\n' "$out" |
        grep '"command":"fit"' | sed -n 's/.*"level":\([-0-9.e]*\).*/\1/p')" '
        function back(w,   i, b) {
            for (i = length(w); i > 0; i--) b = b substr("TGCA", index("ACGT", substr(w, i, 1)), 1)
            return b < w ? b : w }
        FILENAME == "w.csv" { if (FNR > 1) weight[$1 $2] = $3; next }
        FILENAME == "dna.csv" {
            if (FNR > 1) { seq[FNR] = $1; n++; if (target == "y") m += $2 } next }
        FNR > 1 { f = target == "y" ? m / n : level + 0; s = seq[FNR]
            for (i = 1; i <= length(s); i++) {
                one = substr(s, i, 1); two = i < length(s) ? substr(s, i, 2) : ""
                if (how == "places") f += weight[one i]
                if (how == "pairs" || how == "gaps") f += weight[two]
                if (how == "gaps") f += weight[one "." substr(s, i + 2, 1)]
                if (how == "both") f += two == "" ? 0 : weight[back(two)]
                if (how == "orders") f += weight[one]
                if (how == "orders" && two != "")
                    f += weight[two] - weight[substr(two, 1, 1)] - weight[substr(two, 2)]
            }
            d = f - $2; d = d < 0 ? -d : d; if (!(d < most)) most = d; rows++ }
        END { exit !(rows == 70 && n == 70 && most < 1e-4) }' w.csv dna.csv p.csv
    result $? "rows are sums of their words: $1" "$out $err $(head -n 3 w.csv p.csv)"
}
sums "exact" 'spectrum(n=2)' 'fit amplitude=0.5 noise=0.5' pairs
sums "sparse" 'spectrum(n=2)' 'fit solver=sparse inducing=9 amplitude=0.5 noise=0.5' pairs
sums "two classes" 'spectrum(n=2)' 'likelihood bernoulli; fit amplitude=0.7' pairs
sums "two classes, logit" 'spectrum(n=2)' 'likelihood bernoulli link=logit; fit amplitude=0.7' pairs
sums "two classes, sparse" 'spectrum(n=2)' 'likelihood bernoulli; fit inducing=9 amplitude=1' \
    pairs
sums "several orders" 'spectrum(n=1..2)' 'fit amplitude=0.5 noise=0.5' orders
sums "both strands" 'spectrum(n=2,strands=both)' 'fit amplitude=0.5 noise=0.5' both
sums "words that nearly match" 'mismatch(n=2,m=1)' 'fit amplitude=0.5 noise=0.5' pairs
sums "pairs of words" 'gappy(n=1,gap=1)' 'fit amplitude=0.5 noise=0.5' gaps
sums "letters at places" 'wd(n=1)' 'fit amplitude=0.5 noise=0.5' places

# The profile of a row: at each position the sum of the weights of the words over it, from the list
# of words; with norm=cosine divided by the length of the row's counts.
profile() { # NAME KERNEL COMMANDS HOW
    case $3 in *likelihood*) target=z ;; *) target=y ;; esac
    run --format json -e "open dna.csv types=seq=sequence; cols y,z role=skip" \
        -e "cols $target role=target; kernel $2; $3; words count=2 out=w.csv" \
        -e "explain-row row:5 out=e.csv; plot profile out=profile.csv"
    printf '%s\n' "$out" | grep -o '"profile":\[.*' |
        grep -o '"position":[0-9]*,"letter":"[A-Z]","weight":[^,}]*' |
        sed 's/"[a-z]*"://g; s/"//g' >told.csv
    awk -F, -v how="$4" '
        function back(w,   i, b) {
            for (i = length(w); i > 0; i--) b = b substr("TGCA", index("ACGT", substr(w, i, 1)), 1)
            return b < w ? b : w }
        function sum(s, p,   i, k, f, w) { # of the words of s over position p
            for (i = 1; i <= length(s); i++)
                for (k = 1; k <= 4 && i + k - 1 <= length(s); k++) {
                    w = substr(s, i, k)
                    if (p && (i > p || i + k - 1 < p)) continue
                    if (how == "orders" && k == 1) f += weight[w]
                    if (how == "orders" && k == 2)
                        f += weight[w] - weight[substr(w, 1, 1)] - weight[substr(w, 2)]
                    if (how == "both" && k == 2) f += weight[back(w)]
                    if ((how == "pairs" || how == "cosine") && k == 2) f += weight[w]
                    if (how == "places" && k == 1) f += weight[w i]
                    if (how == "gaps" && k > 1 && (k == 2 || p == 0 || p == i || p == i + k - 1))
                        f += weight[substr(w, 1, 1) substr("..", 1, k - 2) substr(w, k)]
                }
            return f / (how == "cosine" ? size(s) : 1) }
        function size(s,   i, n, w, all) {
            for (i = 1; i < length(s); i++) n[substr(s, i, 2)]++
            for (w in n) all += n[w] * n[w]
            return sqrt(all) }
        FILENAME == "w.csv" { if (FNR > 1) weight[$1 $2] = $3; next }
        FILENAME == "dna.csv" { if (FNR == 6) s = $1; next }
        FILENAME == "told.csv" { d = $3 - sum(s, $1); rows++; wrong += $2 != substr(s, $1, 1) }
        FILENAME == "e.csv" && FNR > 1 && $3 != "N" {
            d = $5 - sum(substr(s, 1, $1 - 1) $3 substr(s, $1 + 1), $1); others++ }
        { d = d < 0 ? -d : d; if (!(d < 1e-4)) wrong++ }
        END { exit !(rows == 12 && others == 48 && !wrong) }' w.csv dna.csv told.csv e.csv
    result $? "the words over each position: $1" "$out $err $(head -n 3 w.csv told.csv e.csv)"
    is "the plot has them: $1" "$(grep -c . profile.csv | awk '{ print ($1 >= 13) }')" 1
}
profile "exact" 'spectrum(n=2)' 'fit amplitude=0.5 noise=0.5' pairs
profile "features" 'spectrum(n=2)' 'fit features=64 amplitude=0.5 noise=0.5' pairs
profile "sparse" 'spectrum(n=2)' 'fit solver=sparse inducing=9 amplitude=0.5 noise=0.5' pairs
profile "two classes" 'spectrum(n=2)' 'likelihood bernoulli; fit amplitude=0.7' pairs
profile "several orders" 'spectrum(n=1..2)' 'fit amplitude=0.5 noise=0.5' orders
profile "both strands" 'spectrum(n=2,strands=both)' 'fit amplitude=0.5 noise=0.5' both
profile "words that nearly match" 'mismatch(n=2,m=1)' 'fit amplitude=0.5 noise=0.5' pairs
profile "pairs of words" 'gappy(n=1,gap=2)' 'fit amplitude=0.5 noise=0.5' gaps
profile "divided by the length" 'spectrum(n=2,norm=cosine)' 'fit amplitude=2 noise=0.5' cosine
profile "letters at places" 'wd(n=1)' 'fit amplitude=0.5 noise=0.5' places
run --format json -e 'open dna.csv types=seq=sequence target=z; cols y role=skip; kernel spectrum(n=2)' \
    -e 'likelihood bernoulli positive=yes; fit amplitude=0.7; explain-row row:5'
has "of two classes the row has one" "$out" '"command":"explain-row".*"class":"no"'
run -e 'demo motifs n=40; cols many role=target; cols count role=skip; kernel wd(n=2)' \
    -e 'likelihood bernoulli; fit; explain-row row:5'
has "also where it is a number" "$out" 'row 5   latent mean [-0-9.]*  class [01]  predicted [01] (p [0-9.e-]* of 1)$'
run --format json -e 'open dna.csv types=seq=sequence target=y; cols z role=skip; kernel wd(n=1)' \
    -e 'fit; explain-row row:5'
has "with places, each letter at each position" "$out" \
    '"profile":\[{"position":1,"letter":"[ACGT]","weight":[^,]*,"letters":\[{"letter":"A",'
run -e 'open dna.csv types=seq=sequence target=y; cols z role=skip; kernel conv(rbf,width=3); fit' \
    -e 'explain-row row:5; plot profile'
has "other kernels have none" "$out" 'No row has been explained yet by a kernel of words'

# A text may have a question mark, which is then a letter as any other: no letter is another sign.
awk 'BEGIN { print "t,y"; for (i = 0; i < 40; i++) { s = "so " i "? ok"; print s "," i % 7 } }' >t.csv
run --format json -e 'open t.csv types=t=sequence target=y; kernel spectrum(n=1); fit noise=0.5' \
    -e 'words out=w.csv; explain-row row:3'
is "no letter is none of the text's" "$(printf '%s\n' "$out" |
    grep -o '"position":5,"letter":"?","weight":[-0-9.e]*' | sed 's/.*://' |
    awk -F, 'NR == FNR { got = $1; next } $1 == "?" { d = got - $3; print (d * d < 1e-12) }' \
        - w.csv)" 1

# Rows with a word, by class; the same after a session; the picture.
open='open dna.csv types=seq=sequence target=z; cols y role=skip; likelihood bernoulli positive=yes'
run --format json -s s.gpd -e "$open; kernel spectrum(n=2); fit inducing=9 amplitude=0.7" \
    -e 'words count=3; motif'
first=$(printf '%s\n' "$out" | grep -o '"words":\[.*\]')
word=$(printf '%s\n' "$first" | sed 's/.*\[{"word":"\([A-Z]*\)".*/\1/')
is "rows with the first word, of each class" \
    "$(printf '%s\n' "$first" | sed 's/}.*//; s/.*"rows":/"rows":/; s/[^0-9,]//g')" \
    "$(awk -F, -v w="$word" 'NR > 1 && index($1, w) { n++; k += $3 == "yes" }
        END { print n "," k "," n - k }' dna.csv)"
has "the lengths of windows" "$out" '"command":"motif".*"width":8'
run --format json -s s.gpd -e 'words r1 count=3; plot words out=words.svg; plot words out=words.txt'
is "a session weighs the same words" "$(printf '%s\n' "$out" | grep -o '"words":\[.*\]')" "$first"
has "plot words" "$(cat words.txt)" 'weight, latent units'

# X of proteins is no letter of a word: a row is predicted as the sum of its words without one.
awk 'BEGIN { r = 11; a = "ACDEFGHIKLMNPQRSTVWY"; print "seq,y"
    for (i = 0; i < 80; i++) { s = ""
        for (j = 0; j < 9 + i % 4; j++) {
            r = (r * 1103 + 12345) % 65536
            s = s (i % 3 == 0 && j == 4 ? "X" : substr(a, 1 + int(r / 16) % 20, 1))
        }
        t = s; print s "," gsub(/[AL]/, "", t) + (i * 29 % 13) / 13 } }' >prot.csv
for how in '' 'solver=sparse inducing=30'; do
    run --format json -e 'open prot.csv types=seq=sequence target=y; kernel spectrum(n=2)' \
        -e "fit $how amplitude=0.5 noise=0.5; words count=2 out=w.csv" \
        -e 'predict prot.csv columns=row,mean out=p.csv'
    has "other letters are told" "$out" '(X), first row 1[^"]*as one letter more, of no word'
    has "the kernel says which" "$out" '"kernel":"spectrum(n=2,symbols=20+1)"'
    is "no word has an X" "$(cut -d, -f1 w.csv | grep -c X)" 0
    awk -F, 'FILENAME == "w.csv" { if (FNR > 1) weight[$1] = $3; next }
        FILENAME == "prot.csv" { if (FNR > 1) { seq[FNR] = $1; n++; m += $2 } next }
        FNR > 1 { f = m / n
            for (i = 1; i < length(seq[FNR]); i++) f += weight[substr(seq[FNR], i, 2)]
            d = f - $2; d = d < 0 ? -d : d; if (!(d < most)) most = d; rows++ }
        END { exit !(rows == 80 && most < 1e-4) }' w.csv prot.csv p.csv
    result $? "rows with an X are sums of their other words: $how" "$out $err"
done
grep -v X prot.csv >pure.csv
for k in 'spectrum(n=2)' 'conv(rbf,width=3)'; do
    run --format json -e "open pure.csv types=seq=sequence target=y; kernel $k" \
        -e 'fit solver=sparse inducing=5 select=anneal(steps=2000) noise=0.5; inducing out=z.csv'
    is "$k: annealed points have letters of the alphabet" \
        "$(cut -d, -f2- z.csv | grep -cE '[A-Z]{9}'),$(cut -d, -f2- z.csv | grep -c X)" 5,0
done

# A motif: every string of the upper half has one word, at its own place.
awk 'BEGIN { print "seq,y"; r = 7
    for (i = 0; i < 40; i++) { s = ""
        for (j = 0; j < 20; j++) {
            r = (r * 1103 + 12345) % 65536
            s = s substr("AC", 1 + int(r / 256) % 2, 1)
        }
        if (i % 2) s = substr(s, 1, i % 15) "GTTG" substr(s, i % 15 + 5)
        print s "," i % 2 + i / 100 } }' >motif.csv
run --format json -e 'open motif.csv types=seq=sequence target=y; kernel spectrum(n=3)' \
    -e 'fit amplitude=0.3 noise=0.2; motif width=4 out=logo.svg'
has "the heaviest window" "$out" '"heaviest":"GTTG"'
is "letters by share" "$(printf '%s\n' "$out" |
    grep -o '"letters":\[{"letter":"[A-Z]","share":[0-9.]*' |
    sed 's/.*letter":"//; s/","share":/ /' | tr '\n' ' ')" "G 1 T 1 T 1 G 1 "
is "two bits at each position" "$(printf '%s\n' "$out" | grep -o '"information":[0-9.]*' |
    tr '\n' ' ')" '"information":2 "information":2 "information":2 "information":2 '
has "the logo is an SVG" "$(head -n 1 logo.svg)" '^<svg xmlns="http://www.w3.org/2000/svg"'
is "one letter for each position, and numbers below" "$(grep -c 'textLength' logo.svg)" 4

# Refusals.
refuse() { # pattern commands
    run --format json -e 'open motif.csv types=seq=sequence target=y' -e "$2"
    has "refused: $2" "$out$err" "$1"
}
refuse '"name":"words".*does not count words alone.*"try":"kernel spectrum(n=3), then fit' \
    'kernel conv(rbf,width=3); fit features=16; words'
refuse '"name":"words".*does not count words alone' 'kernel spectrum(n=2) + linear; fit; motif'
refuse '"name":"words".*a window of 2 letters holds no word' \
    'kernel spectrum(n=3); fit; motif width=2'
refuse '"name":"words".*no training row has a word of 30 letters' \
    'kernel spectrum(n=3); fit; motif width=30'

# A column of texts is left out, with a way in: as sequences, which a kernel of words compares.
awk 'BEGIN { print "text,label"
    for (i = 0; i < 80; i++)
        print (i % 2 ? "win prize number " i * 37 % 101 " now" : "see you at " i * 53 % 97 " then") \
            " " i "," (i % 2 ? "spam" : "ham") }' >texts.csv
run -e 'open texts.csv target=label; tune'
has "a text is left out, with a way in" "$err" 'note.skip.: column .text. .*type=sequence'
has "and so is it where nothing is left" "$err" 'try  cols NAME type=sequence, then kernel spectrum'
run -e 'open texts.csv target=label; cols text role=input'
has "it can be no number" "$err" 'try  cols NAME type=sequence, then kernel spectrum'
run --format json -e 'open texts.csv target=label; cols text type=sequence' \
    -e 'kernel spectrum(n=3,norm=cosine); split test=25%; tune; fit; score'
is "by that way a model is found" "$rc" 0
has "which tells the texts apart" "$out" '"command":"score".*"accuracy":1[,}]'

# Every member of these records is in the document of exports.
open='demo motifs n=60 seed=2; split test=25% seed=1; kernel spectrum(n=3)'
run --format json -e "$open; fit solver=sparse inducing=4; inducing; words count=1; motif width=3" \
    -e 'fit; explain-row row:3; neighbours row:3 count=1; cols count role=skip; cols many role=target' \
    -e 'likelihood bernoulli; split test=20% stratify=yes; fit; neighbours row:1 count=1'
for c in inducing words motif explain-row neighbours likelihood split; do
    missing=$(printf '%s\n' "$out" | grep "\"type\":\"result\",\"command\":\"$c\"" |
        grep -o '"[a-z_0-9]*":' | tr -d '":' | sort -u | grep -vxE 'v|type|command' |
        while read -r key; do
            grep "^| .$c. |" "$src/share/doc/export.md" | grep -qF "\`$key\`" || echo "$key"
        done)
    is "export.md has all members of $c" "$missing" ''
    has "which was told" "$out" "\"type\":\"result\",\"command\":\"$c\""
done
finish
