#!/bin/sh
# tests/bench/classes.sh BUILD [DIRECTORY] [JOB...] -- what classes.md shows, from the shared data
# sets: two classes with all rows, at inducing points, and beside them what others do.  Each job
# leaves a file of output in DIRECTORY (classes) and is not run again where it exists.
#
#   tune-*    the amplitude (and lengthscale) that the fits of this kernel use
#   spl3-*    splice sites by spectrum(n=3): all rows, 50 points random and greedy
#   wd6-*     splice sites by wd(n=6): all rows; 50 random, 50 greedy, 200 random points
#   *-svm     a support vector machine at C=1 and the same amplitude; *-price: amplitude 1 and the
#             price of seven with the least log loss of left-out training rows
#   wd6-aside every fifth training row left out: by how much its latent values are to be multiplied
#   sms-*     messages by spectrum(n=3,norm=cosine), 100 and 500 points
#   covbin10k, htru2, eeg   rbf, 300 random points
#   speed     20 sweeps of expectation propagation, 40,000 rows, 100 points
build=${1:?usage: tests/bench/classes.sh BUILD [DIRECTORY] [JOB...]}
build=$(cd "$build" && pwd) src=$(cd "$(dirname "$0")/../.." && pwd)
data=$(cd "${GPDESK_SHARED:-$src/../shared}/data" && pwd) || exit 77
mkdir -p "${2:-classes}" && cd "${2:-classes}" || exit 1
[ $# -gt 2 ] && shift 2 && only=" $* " || only=

job() { # NAME LINES
    case ${only:-" $1 "} in *" $1 "*) ;; *) return ;; esac
    [ -s "$1.txt" ] && return
    { time -p "$build/gpdesk" --no-config --format json --threads 1 -e "$2"; } >"$1.part" 2>&1 &&
        mv "$1.part" "$1.txt" || { grep '"type":"error"' "$1.part"; echo "$1: not finished"; }
}
field() { # JOB NAME: its last value
    grep -v '"command":"tune"' "$1.txt" 2>/dev/null | grep -o "\"$2\":[-+0-9.e]*" | tail -n 1 |
        cut -d: -f2
}
# The tuned settings of a job, as words of fit.
tuned() { # JOB
    grep '"type":"result"' "$1.txt" 2>/dev/null | grep '"command":"tune"' |
        sed -n 's/.*"amplitude":\([0-9.e+-]*\).*/amplitude=\1/p' | tail -n 1
}

open="open $data/splice/data.csv.gz target=splice_site; likelihood bernoulli
    split file=$data/splice/splits.csv.gz column=split0"
job tune-spl3 "$open; kernel spectrum(n=3); tune solver=sparse inducing=50"
a=$(tuned tune-spl3)
job spl3-random50 "$open; kernel spectrum(n=3); fit solver=sparse inducing=50 $a; score"
job spl3-greedy50 "$open; kernel spectrum(n=3); fit inducing=50 select=greedy $a; score"
job spl3-full "$open; kernel spectrum(n=3); fit $a; score"
job tune-wd6 "$open; kernel wd(n=6); tune rows=500"
a=$(tuned tune-wd6)
job wd6-random50 "$open; kernel wd(n=6); fit solver=sparse inducing=50 $a; score"
job wd6-greedy50 "$open; kernel wd(n=6); fit inducing=50 select=greedy $a; score"
job wd6-random200 "$open; kernel wd(n=6); fit solver=sparse inducing=200 $a; score"
job wd6-full "$open; kernel wd(n=6); fit $a; score
    predict columns=y,mean_latent,sd_latent out=wd6-full.csv"
job wd6-svm "$open; kernel wd(n=6); fit solver=svm C=1 $a; score"
job spl3-svm "$open; kernel spectrum(n=3); fit solver=svm C=1 $(tuned tune-spl3); score"
price() { # NAME KERNEL
    lines=
    for C in 0.001 0.004 0.016 0.06 0.25 1 4; do
        lines="$lines; fit solver=svm amplitude=1 C=$C"
    done
    job "tune-$1-svm" "$open; kernel $2 $lines"
    C=$(sed -n 's/.*"C":\([^,]*\),.*"left_out_log_loss":\([^,]*\),.*/\2 \1/p' "tune-$1-svm.txt" \
        2>/dev/null | sort -g | head -n 1 | cut -d' ' -f2)
    job "$1-svm-price" "$open; kernel $2; fit solver=svm amplitude=1 C=${C:-1}; score"
}
price spl3 'spectrum(n=3)'
price wd6 'wd(n=6)'

# The 2,000 training rows of splice, every fifth of them held out.
gzip -dc "$data/splice/splits.csv.gz" | cut -d, -f1 >part.csv
gzip -dc "$data/splice/data.csv.gz" | paste -d, - part.csv |
    awk -F, 'NR == 1 { print $2 ",splice_site,part"; next }
        $5 == 0 { print $2 "," $4 "," (n++ % 5 == 4) }' >aside.csv
job wd6-aside "open aside.csv target=splice_site; cols part role=skip; likelihood bernoulli
    split column=part; kernel wd(n=6); fit $a
    predict columns=y,mean_latent,sd_latent out=wd6-aside.csv"
# z = mean/sqrt(1 + var) of the latent function, p = Phi(s z): the s with the least log loss of the
# rows held out, and the log loss of the test rows at 1 and at s.
[ -s wd6-aside.csv ] && [ -s wd6-full.csv ] && awk -F, '
    function Phi(x,   t, k) { # Abramowitz & Stegun 26.2.17, to 1e-7
        t = 1 / (1 + 0.2316419 * (x < 0 ? -x : x))
        k = 1.781477937 + t * (-1.821255978 + t * 1.330274429)
        k = t * (0.319381530 + t * (-0.356563782 + t * k)) * exp(-x * x / 2) * 0.3989422804
        return x < 0 ? k : 1 - k }
    function loss(of, s,   i, sum) {
        for (i = 1; i <= n[of]; i++) sum -= log(Phi(s * z[of, i])); return sum / n[of] }
    FNR > 1 { z[FILENAME, ++n[FILENAME]] = ($1 > 0.5 ? 1 : -1) * $2 / sqrt(1 + $3 * $3) }
    END { best = 1
        for (s = 0.5; s <= 4; s += 0.05)
            if (loss("wd6-aside.csv", s) < loss("wd6-aside.csv", best)) best = s
        printf "wd6: z times %.2f by %d rows held out; test log loss %.4f at 1, %.4f there\n", best,
            n["wd6-aside.csv"], loss("wd6-full.csv", 1), loss("wd6-full.csv", best)
    }' wd6-aside.csv wd6-full.csv

# Messages without the second header line, in 57 letters: lower case, "_" for blanks and for what
# is rare.  Two of them have two letters, where no word of three begins: each gets a "_" more.
gzip -dc "$data/smsspam/data.csv.gz" | sed 2d | LC_ALL=C awk 'NR == 1 { print "text,y"; next }
    { y = t = $0; sub(/.*,/, "", y); sub(/,[a-z]*\r?$/, "", t); t = tolower(t)
      if (t ~ /^".*"$/) t = substr(t, 2, length(t) - 2)
      gsub(/[^a-z0-9.!?&*\/:;+#$%()@=<>\x27-]/, "_", t); while (length(t) < 3) t = t "_"
      print t "," y }' >sms.csv
gzip -dc "$data/smsspam/splits.csv.gz" | sed 2d >sms_splits.csv
open="open sms.csv types=text=sequence target=y; likelihood bernoulli positive=spam
    split file=sms_splits.csv column=split0; kernel spectrum(n=3,norm=cosine)"
job tune-sms "$open; tune solver=sparse inducing=100 rows=1000"
a=$(tuned tune-sms)
for m in 100 500; do
    job "sms-random$m" "$open; fit solver=sparse inducing=$m $a; score"
    job "sms-greedy$m" "$open; fit inducing=$m select=greedy(subset=20) $a; score"
done

for name in covbin10k htru2 eeg; do
    how="file=$data/$name/splits.csv.gz column=split0"
    [ $name = covbin10k ] && how="column=split"
    job $name "open $data/$name/data.csv.gz target=y; likelihood bernoulli; split $how
        kernel rbf; tune solver=sparse inducing=100; fit solver=sparse inducing=300; score"
done

awk 'BEGIN { srand(1); print "a,b,c,y"
    for (i = 0; i < 40000; i++) { for (j = 0; j < 3; j++) x[j] = 4 * rand() - 2
        f = 3 * sin(2 * x[0]) * x[1] + x[2] + rand() - 0.5
        printf "%.6f,%.6f,%.6f,%d\n", x[0], x[1], x[2], (f > 0) } }' >big.csv
job speed "open big.csv target=y; likelihood bernoulli; kernel rbf
    fit solver=sparse inducing=100 lengthscale=1 amplitude=3"

echo '| job | rows, points | AUPRC | accuracy | log loss | calibration_ad | ece | fit, s | processor, s |'
echo '| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
for f in *.txt; do
    j=${f%.txt}
    case $j in tune-* | wd6-aside) continue ;; esac
    printf '| %s | %s, %s | %.4f | %.4f | %.4f | %.4f | %.4f | %.2f | %s |\n' "$j" \
        "$(grep '"command":"fit"' "$f" | grep -o '"rows":[0-9]*' | cut -d: -f2 | tail -n 1)" \
        "$(field "$j" inducing)" "$(field "$j" auprc)" \
        "$(field "$j" accuracy)" "$(field "$j" log_loss)" "$(field "$j" calibration_ad)" \
        "$(field "$j" ece)" \
        "$(grep '"command":"fit"' "$f" | grep -o '"total":[0-9.e+-]*' | cut -d: -f2 | tail -n 1)" \
        "$(sed -n 's/^user //p' "$f")"
done
